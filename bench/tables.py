"""The tables of a speed comparison as text: `compare.py` prints them, `results.py` writes them to RESULTS.md."""

import speed


def main_table(run):
    """Evaluation mode: our times against both forms of PyTorch."""
    head = ["cell", "n", "regard, ms", "PyTorch, ms", "ratio", "forced AVX-512, ms", "ratio", "bounds"]
    rows = []
    for cell in speed.cells(run, speed.INFERENCE):
        rows.append([*comparison(cell), bounds(run, cell)])
        if any(name + speed.SHARED in cell["times"] for name in speed.RIVALS):
            rows.append([*comparison(cell, speed.SHARED), bounds(run, cell, speed.SHARED)])
    return head, rows


def training_table(run):
    """Training: the same, with the teacher-forced form of PyTorch and our rate."""
    head = ["cell", "n", "regard, ms", "PyTorch, ms", "ratio", "forced AVX-512, ms", "ratio"]
    head += ["teacher-forced, ms", "ratio / forced AVX-512", "bounds", "GFLOP/s", "of peak"]
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
            share_verdict(part, speed.PEAK_TARGETS.get((cell["cell"], cell["n"]))),
        ])
    return head, rows


def rate_table(run):
    """Our rate in evaluation mode against the measured peak, and the comparison without AVX-512."""
    head = ["cell", "n", "GFLOP", "GFLOP/s", "of peak", "regard AVX2, ms", "PyTorch AVX2, ms", "ratio", "bound"]
    rows = []
    for cell in speed.cells(run, speed.INFERENCE):
        rate, part = speed.share(run, cell)
        target = speed.AVX2_TARGET if cell["cell"] == "encoder" else None
        rows.append([
            cell["cell"],
            str(cell["n"]),
            f"{speed.gflop(cell['cell'], cell['n'], run['batch']):.1f}",
            "-" if rate is None else f"{rate:.0f}",
            share_verdict(part, speed.PEAK_TARGETS.get((cell["cell"], cell["n"]))),
            milliseconds(cell, "regard-avx2"),
            milliseconds(cell, "torch-avx2"),
            verdict(speed.ratio(cell, "torch-avx2", "regard-avx2"), target),
            times(speed.bound(run, cell, "torch-avx2", "avx2")),
        ])
    return head, rows


def memory_table(run):
    """Memory of one training step, what it takes above what the process held before it; and that of inference."""
    head = ["step", "n", "regard", "PyTorch", "regard / PyTorch"]
    rows = [
        [one["cell"], str(one["n"]), mebibytes(one["regard"]), mebibytes(one["torch"]), memory_verdict(one)]
        for one in run.get("memory", [])
    ]
    return head, rows


def memory_verdict(one):
    """`0.30 of 0.33, reached`, or for inference `301 MiB of 1024 MiB, reached`."""
    if one["cell"] in speed.LIMITS:
        if one["regard"] is None:
            return "-"
        peak, limit = one["regard"]["peak_mib"], speed.LIMITS[one["cell"]]
        return f"{peak:.0f} MiB of {limit} MiB, {'reached' if peak < limit else 'missed'}"
    share = speed.memory_ratio(one)
    if share is None:
        return "-"
    return f"{share:.2f} of {speed.MEMORY_TARGET:.2f}, {'reached' if share <= speed.MEMORY_TARGET else 'missed'}"


def comparison(cell, form=""):
    """The columns that both tables of times begin with; targets are for the published form alone."""
    targets = speed.TARGETS.get((cell["cell"], cell["n"]) if not form else None, (None, None))
    columns = [cell["cell"] + form, str(cell["n"]), milliseconds(cell, "regard")]
    for name, target in zip(speed.RIVALS, targets):
        columns += [milliseconds(cell, name + form), verdict(speed.ratio(cell, name + form, "regard"), target)]
    return columns


def bounds(run, cell, form=""):
    """The ratios at 100 % of the peak, against PyTorch as installed and with its AVX-512 path forced."""
    return " / ".join(times(speed.bound(run, cell, name + form)) for name in speed.RIVALS)


def times(value):
    """`3.12x`."""
    return "-" if value is None else f"{value:.2f}x"


def verdict(value, target):
    """`3.12x` with its target: `3.12x of 3.0x, reached`."""
    if value is None or target is None:
        return times(value)
    return f"{value:.2f}x of {target:.1f}x, {'reached' if value >= target else 'missed'}"


def share_verdict(part, target):
    """`84 % of 80 %, reached`."""
    if part is None:
        return "-"
    if target is None:
        return f"{part:.0%}"
    return f"{part:.0%} of {target:.0%}, {'reached' if part >= target else 'missed'}"


def milliseconds(cell, name):
    """`27.6 (27.1-28.0)`: median and quartiles."""
    found = cell["times"].get(name)
    if found is None:
        return "-"
    style = f", {found['style']}" if "style" in found else ""
    return f"{found['median']:.1f} ({found['low']:.1f}-{found['high']:.1f}{style})"


def mebibytes(found):
    """`310 MiB (45 to 355)`: what the step took, and the sizes before and at most."""
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
