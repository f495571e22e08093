"""The sections of RESULTS.md on sets: the paper's table, and cross-validations."""

import records
import tables


def sections(folder):
    """The sections there is something to say in."""
    yield from paper(folder)
    yield from folds(folder)


def paper(folder):
    """The Set Transformer's table, ours beside the paper's."""
    for _, record in records.read(folder, "table"):
        yield "## Sets: the table of the Set Transformer\n"
        yield (
            "`regard bench paper --table set-transformer`: max regression (§5.1 of Lee et al. 2019) and amortised clustering "
            "(§5.3), trained anew with the authors' network and generators and measured on 1,000 sets of our own seed. The "
            "learning rate falls to a tenth for the last steps. `oracle` is the likelihood under the mixtures the points were "
            "drawn from.\n"
        )
        rows = []
        for row in record["rows"]:
            for at, measure in enumerate(row["measures"]):
                ours, theirs = row["ours"][at], row["paper"][at]
                if at and theirs is None and measure == "rmse":
                    continue
                first = [row["name"]] if not at else [""]
                last = [f"{row['steps']:,}", f"{row['seconds'] / 60:.1f}"] if not at else ["", ""]
                rows.append([*first, measure, number(ours), number(theirs), number(row["oracle"]), *last])
        head = ["row", "measure", "ours", "paper", "oracle", "steps", "minutes"]
        yield tables.markdown(head, rows) + "\n"


def folds(folder):
    """Cross-validations of experiments on files of sets."""
    rows = []
    for _, record in records.read(folder, "folds"):
        found = record["result"]
        measures = [name for name in ("accuracy", "auc", "mae", "rmse", "ndcg5") if name in found]
        told = ", ".join(f"{name} {found[name]:.3f} ± {found['deviation'][name]:.3f}" for name in measures)
        cut = f"{found['folds']} x {len(found['repeats'])}"
        rows.append([found["data"], f"`{record['experiment']}`", str(found["sets"]), cut, told, number(found.get("majority"))])
    if rows:
        yield "## Sets: cross-validation\n"
        yield (
            "`regard eval EXPERIMENT --folds … --repeats …`: means over the repeats, in each of which every set was held out "
            "once; the deviation is that of the repeats. \"Majority\" is the share of the most frequent class.\n"
        )
        yield tables.markdown(["data", "experiment", "sets", "folds x repeats", "measured", "majority"], rows) + "\n"


def number(value):
    """Four decimals, or a dash."""
    return "-" if value is None else f"{value:.4f}"
