"""The sections of RESULTS.md on sets, graphs and series: the papers' tables, and cross-validations."""

import records
import tables

PAPERS = {
    "set-transformer": (
        "## Sets: the table of the Set Transformer\n",
        "`regard bench paper --table set-transformer`: max regression (§5.1 of Lee et al. 2019) and amortised clustering "
        "(§5.3), trained anew with the authors' network and generators and measured on 1,000 sets of our own seed. The "
        "learning rate falls to a tenth for the last steps. `oracle` is the likelihood under the mixtures the points were "
        "drawn from, `code_…` is measured on sets of the sizes of the authors' code instead of the paper's. The published clusterings "
        "were trained with seed 2, all on one thread each beside others, and the minutes are theirs: with seed 1234 the published network "
        "of 32 inducing points lost its numbers at step 16,630, since nothing keeps a component from shrinking to a point. "
        "`regard-set` looks at the points four times more and is trained for twice as many steps on the paper's sizes.\n",
    ),
    "graph-transformer": (
        "## Graphs: the table of the Graph Transformer\n",
        "`regard bench paper --table graph-transformer`: Table 1 of Dwivedi & Bresson 2021, graphs with their own edges, "
        "trained anew. ZINC's test and validation molecules are the benchmark's, the training molecules another draw of the "
        "same set; CLUSTER and PATTERN are drawn by their recipes and were stopped by time: CLUSTER after 65 epochs, when the "
        "plateau had brought the rate to a sixteenth, PATTERN after 61 at the first rate, so that single epochs still fell far "
        "(validation 0.50 to 0.85 in the last ten). One seed each, where the paper has four. The first measure of a row is "
        "the authors' own, a mean of the batches' means.\n",
    ),
    "patchtst": (
        "## Series: the table of PatchTST\n",
        "`regard bench paper --table patchtst`: forecasts of two files of hourly transformer temperatures, trained anew and "
        "measured on every window of the test part; `naive` is the last value, `seasonal_naive` the value a day before. The "
        "paper's columns of `official` are what the authors' code gave when no window was left out (logs of the authors of "
        "FITS), and for `mse_paper` what their paper has, where the last windows are left out; for `TFB` that benchmark's "
        "table. `official` was trained for 40 of the 100 published epochs: by then the rate has fallen to a fiftieth. "
        "`regard-series` was set by the validation rows of ETTh1, but not by them alone. The test rows were looked at after "
        "each of these: Huber's loss (0.406 over the four horizons of ETTh1, 0.355 of ETTh2), the squared loss (0.408, 0.348), "
        "what the network adds lowered by one standard error (ETTh2: 0.340), by two, and the map without a constant. "
        "By the rule that stands now the network adds a share of 0.08 to the map at 96 hours of ETTh1, 0.29 at 192 and 0.03 at "
        "336 hours of ETTh2, and elsewhere nothing: these numbers are those of ridge regression. "
        "Minutes are those of one or two threads beside other work.\n",
    ),
}
MEASURES = ("accuracy", "auc", "mae", "rmse", "ndcg5", "linear_ndcg5")
TRAINED = "`regard eval EXPERIMENT --folds …`: every {one} was held out once in every repeat"
FOLDS = {
    "sets": ("## Sets: cross-validation\n", TRAINED.format(one="set")),
    "graphs": (
        "## Graphs: cross-validation\n",
        TRAINED.format(one="graph") + ", or the test part of the data's own split was; given folds are those of `--folds-from`",
    ),
}


def sections(folder):
    """The sections there is something to say in."""
    yield from papers(folder)
    yield from folds(folder)


def papers(folder):
    """The papers' tables, ours beside theirs."""
    for _, record in records.read(folder, "table"):
        yield from PAPERS[record.get("table", "set-transformer")]
        rows = []
        for row in record["rows"]:
            for at, measure in enumerate(row["measures"]):
                ours = row["ours"][at]
                theirs = row["paper"][at] if at < len(row["paper"]) else None
                if at and theirs is None and measure == "rmse":
                    continue
                first = [row["name"]] if not at else [""]
                last = [f"{row['steps']:,}", f"{row['seconds'] / 60:.1f}"] if not at else ["", ""]
                rows.append([*first, measure, number(ours), number(theirs), *last])
        head = ["row", "measure", "ours", "paper", "steps", "minutes"]
        yield tables.markdown(head, rows) + "\n"


def folds(folder):
    """Cross-validations of experiments on files of sets and graphs."""
    found = [record for _, record in records.read(folder, "folds")]
    for examples, (title, words) in FOLDS.items():
        of_family = [record for record in found if examples in record["result"]]
        if of_family:
            yield title
            yield (
                f"{words}. The deviation is that of the repeats, of the folds where there is one repeat. \"Majority\" is the "
                "share of the most frequent class.\n"
            )
            head = ["data", "experiment", examples, "folds x repeats", "measured", "majority"]
            yield tables.markdown(head, [row(record, examples) for record in of_family]) + "\n"


def row(record, examples):
    """One cross-validation."""
    result = record["result"]
    told = ", ".join(measured(result, name) for name in MEASURES if name in result)
    cut = f"{result['folds']} x {len(result['repeats'])}" if result["folds"] > 1 else f"own split x {len(result['repeats'])}"
    count = f"{result[examples]:,}"
    return [result["data"], f"`{record['experiment']}`", count, cut, told, number(result.get("majority"))]


def measured(result, name):
    """A measure with its deviation, where there is one."""
    spread = result["deviation"].get(name)
    return f"{name} {result[name]:.3f}" + (f" ± {spread:.3f}" if spread else "")


def number(value):
    """Four decimals, or a dash."""
    return "-" if value is None else f"{value:.4f}"
