"""The section of RESULTS.md on training runs: how the validation cost fell, and what the model reached."""

import published
import records
import tables

ROWS = 12


def sections(folder):
    """A table of the curve and one of the evaluations for each run."""
    runs = records.read(folder, "train")
    references = published.references(folder)
    if runs:
        yield "## Training\n"
    for _, record in runs:
        yield f"### {record['name']}\n"
        yield words(record) + "\n"
        if record["curve"]:
            yield tables.markdown(["epoch", "instances", "hours", "validation cost"], curve(record["curve"])) + "\n"
        if record["evals"]:
            yield tables.markdown(["set", "decode", "augment", "mean cost", "gap"], evals(record["evals"], references)) + "\n"


def words(record):
    """What was trained, where and for how long."""
    known = lambda name: "not recorded" if record.get(name) is None else f"{record[name]}"
    count = lambda name: "not recorded" if record.get(name) is None else f"{record[name]:,}"
    return (
        f"`{known('command')}`; commit {known('commit')}, {known('machine')}, threads: {known('threads')}. "
        f"{hours(record.get('seconds'))} hours, {count('steps')} steps, {count('instances')} instances."
    )


def curve(points):
    """At most `ROWS` points, evenly chosen, the first and the last among them."""
    last = len(points) - 1
    chosen = sorted({round(row * last / (ROWS - 1)) for row in range(ROWS)})
    return [
        [str(point["epoch"]), f"{point['instances']:,}", hours(point["seconds"]), f"{point['validation_cost']:.4f}"]
        for point in (points[index] for index in chosen)
    ]


def evals(found, references):
    """Rows of mean costs with the gap to the reference of their set."""
    rows = []
    for one in found:
        gap = published.gap(references, one["set"], one["mean_cost"])
        shown = "-" if gap is None else f"{gap:.2%}"
        rows.append([one["set"], one["decode"], str(one["augment"]), f"{one['mean_cost']:.5f}", shown])
    return rows


def hours(seconds):
    """Seconds as hours."""
    return "-" if seconds is None else f"{seconds / 3600:.2f}"
