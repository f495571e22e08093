"""Tables of a speed comparison as text: `compare.py` prints them, `history.py` writes them to results/speed.md."""

import speed


def main_table(run):
    """Evaluation mode: our times against both forms of PyTorch."""
    head = ["cell", "n", "regard, ms", "PyTorch, ms", "ratio", "PyTorch AVX-512 forced, ms", "ratio", "bounds"]
    rows = []
    for cell in speed.cells(run, speed.INFERENCE):
        rows.append([*comparison(cell), bounds(run, cell)])
        if any(name + speed.SHARED in cell["times"] for name in speed.RIVALS):
            rows.append([*comparison(cell, speed.SHARED), bounds(run, cell, speed.SHARED)])
    return head, rows


def training_table(run):
    """Training: the same, with the teacher-forced form of PyTorch and our rate."""
    head = ["cell", "n", "regard, ms", "PyTorch, ms", "ratio", "PyTorch AVX-512 forced, ms", "ratio"]
    head += ["teacher-forced, ms", "ratio / AVX-512 forced", "bounds", "GFLOP/s", "of peak"]
    rows = []
    for cell in speed.cells(run, speed.TRAINING):
        rate, part = speed.share(run, cell)
        teacher = [speed.ratio(cell, name + speed.TEACHER, "regard") for name in speed.RIVALS]
        rows.append([
            *comparison(cell),
            milliseconds(cell, "torch" + speed.TEACHER),
            "-" if teacher == [None, None] else " / ".join(map(times, teacher)),
            bounds(run, cell),
            "-" if rate is None else f"{rate:.0f}",
            percent(part),
        ])
    return head, rows


def rate_table(run):
    """Our rate in evaluation mode against the measured peak, and the comparison without AVX-512."""
    head = ["cell", "n", "GFLOP", "GFLOP/s", "of peak", "regard AVX2, ms", "PyTorch AVX2, ms", "ratio", "bound"]
    rows = []
    for cell in speed.cells(run, speed.INFERENCE):
        rate, part = speed.share(run, cell)
        rows.append([
            cell["cell"],
            str(cell["n"]),
            f"{speed.gflop(cell['cell'], cell['n'], run['batch']):.1f}",
            "-" if rate is None else f"{rate:.0f}",
            percent(part),
            milliseconds(cell, "regard-avx2"),
            milliseconds(cell, "torch-avx2"),
            times(speed.ratio(cell, "torch-avx2", "regard-avx2")),
            times(speed.bound(run, cell, "torch-avx2", "avx2")),
        ])
    return head, rows


def memory_table(run):
    """Memory of training steps beside PyTorch's, and of whole processes of ours."""
    head = ["cell", "n", "regard", "PyTorch", "regard / PyTorch"]
    rows = []
    for one in run.get("memory", []):
        share = speed.memory_ratio(one)
        sizes = [mebibytes(one["regard"]), mebibytes(one["torch"])]
        rows.append([one["cell"], str(one["n"]), *sizes, "-" if share is None else f"{share:.2f}"])
    return head, rows


def comparison(cell, form=""):
    """The columns that both tables of times begin with."""
    columns = [cell["cell"] + form, str(cell["n"]), milliseconds(cell, "regard")]
    for name in speed.RIVALS:
        columns += [milliseconds(cell, name + form), times(speed.ratio(cell, name + form, "regard"))]
    return columns


def bounds(run, cell, form=""):
    """The ratios at 100 % of the peak, against PyTorch as installed and with its AVX-512 path forced."""
    return " / ".join(times(speed.bound(run, cell, name + form)) for name in speed.RIVALS)


def times(value):
    """`3.12x`."""
    return "-" if value is None else f"{value:.2f}x"


def percent(share):
    """`84%`."""
    return "-" if share is None else f"{share:.0%}"


def gap(value):
    """A fraction as a percentage with two decimals; what rounds to nothing has no sign."""
    text = "-" if value is None else f"{value:.2%}"
    return text.removeprefix("-") if text == "-0.00%" else text


def milliseconds(cell, name):
    """`27.6 (27.1-28.0)`: median and quartiles."""
    found = cell["times"].get(name)
    if found is None:
        return "-"
    style = f", {found['style']}" if "style" in found else ""
    return f"{found['median']:.1f} ({found['low']:.1f}-{found['high']:.1f}{style})"


def mebibytes(found):
    """`310 MiB (45 to 355)`: memory of the step, and the sizes before and at most."""
    if found is None:
        return "-"
    style = f", {found['style']}" if "style" in found else ""
    return f"{speed.step_mib(found):.0f} MiB ({found['before_mib']:.0f} to {found['peak_mib']:.0f}{style})"


def markdown(head, rows):
    """A table as markdown with aligned columns."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    line = lambda row: "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])
