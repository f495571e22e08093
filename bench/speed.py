"""What the numbers of a speed comparison mean: operations, targets, and the table made of them.

`compare.py` prints the table, `results.py` writes it to RESULTS.md; both read the same JSON.
"""

WIDTH, LAYERS, HIDDEN = 128, 3, 512

# Ratios to be reached against PyTorch: as installed, and with its AVX-512 path forced.
TARGETS = {
    ("encoder", 20): (3.0, 1.8),
    ("encoder", 50): (3.0, 1.8),
    ("encoder", 100): (3.0, 1.8),
    ("rollout", 20): (3.8, 2.4),
    ("rollout", 50): (4.2, 2.6),
    ("rollout", 100): (4.5, 2.8),
}
# Share of the measured peak that the encoder has to reach, by number of nodes.
PEAK_TARGETS = {50: 0.80}
# Without AVX-512, against PyTorch without AVX-512, encoder.
AVX2_TARGET = 1.5


def gflop(cell, n, batch):
    """Floating-point operations of one iteration in 10^9; a multiply-add counts two.

    Encoder, for each node: the embedding 2·2·d; in each layer three projections and the output projection 4·2·d²,
    scores and weighted values 2·2·n·d, two feed-forward products 2·2·d·f. Softmax, norms and activations are left out.

    Rollout: the encoder; for each node the tables of the decoder, which are keys, values, logit keys, their product
    with the output projection, and the two context projections, 6·2·d²; and n steps of scores, values and logits,
    3·2·n·d in all. This is the least work we know how to do it with; PyTorch's step by step form does more.
    """
    d, f = WIDTH, HIDDEN
    node = 2 * 2 * d + LAYERS * (4 * 2 * d * d + 2 * 2 * n * d + 2 * 2 * d * f)
    if cell == "rollout":
        node += 6 * 2 * d * d + 3 * 2 * n * d
    return batch * n * node / 1e9


def peak(run, simd=None):
    """Peak of the threads used in 10^9 operations a second: of one set of instructions, or of the best."""
    peaks = run["peak"]
    names = [simd] if simd else list(peaks)
    return max((peaks[name].get(str(run["threads"]), 0.0) for name in names if name in peaks), default=0.0)


def ratio(cell, theirs, ours):
    """How many times faster `ours` is than `theirs`; None when one was not measured."""
    times = cell["times"]
    if theirs not in times or ours not in times:
        return None
    return times[theirs]["median"] / times[ours]["median"]


def bound(run, cell, theirs, simd=None):
    """The ratio that an implementation at 100 % of the measured peak would reach against `theirs`."""
    limit = peak(run, simd)
    if theirs not in cell["times"] or not limit:
        return None
    return cell["times"][theirs]["median"] / (gflop(cell["cell"], cell["n"], run["batch"]) / limit * 1e3)


def share(run, cell, ours="regard", simd=None):
    """Rate of `ours` in 10^9 operations a second, and its share of the measured peak."""
    if ours not in cell["times"]:
        return None, None
    rate = gflop(cell["cell"], cell["n"], run["batch"]) / cell["times"][ours]["median"] * 1e3
    limit = peak(run, simd)
    return rate, rate / limit if limit else None


def verdict(value, target):
    """`3.12x` with its target: `3.12x of 3.0x, reached`."""
    if value is None:
        return "-"
    if target is None:
        return f"{value:.2f}x"
    return f"{value:.2f}x of {target:.1f}x, {'reached' if value >= target else 'missed'}"


def milliseconds(cell, name):
    """`27.6 (27.1-28.0)`: median and quartiles."""
    times = cell["times"].get(name)
    if times is None:
        return "-"
    style = f", {times['style']}" if "style" in times else ""
    return f"{times['median']:.1f} ({times['low']:.1f}-{times['high']:.1f}{style})"


def main_table(run):
    """Our times against both forms of PyTorch."""
    head = ["cell", "n", "regard, ms", "PyTorch, ms", "ratio", "forced AVX-512, ms", "ratio", "bounds"]
    rows = []
    for cell in run["cells"]:
        stock, forced = TARGETS.get((cell["cell"], cell["n"]), (None, None))
        bounds = [bound(run, cell, name) for name in ("torch", "torch-forced")]
        rows.append([
            cell["cell"],
            str(cell["n"]),
            milliseconds(cell, "regard"),
            milliseconds(cell, "torch"),
            verdict(ratio(cell, "torch", "regard"), stock),
            milliseconds(cell, "torch-forced"),
            verdict(ratio(cell, "torch-forced", "regard"), forced),
            " / ".join("-" if value is None else f"{value:.2f}x" for value in bounds),
        ])
    return head, rows


def rate_table(run):
    """The encoder's rate against the measured peak, and the comparison without AVX-512."""
    head = ["cell", "n", "GFLOP", "GFLOP/s", "of peak", "regard AVX2, ms", "PyTorch AVX2, ms", "ratio", "bound"]
    rows = []
    for cell in run["cells"]:
        rate, part = share(run, cell)
        encoder = cell["cell"] == "encoder"
        target = PEAK_TARGETS.get(cell["n"]) if encoder else None
        limit = bound(run, cell, "torch-avx2", "avx2")
        rows.append([
            cell["cell"],
            str(cell["n"]),
            f"{gflop(cell['cell'], cell['n'], run['batch']):.1f}",
            "-" if rate is None else f"{rate:.0f}",
            share_verdict(part, target),
            milliseconds(cell, "regard-avx2"),
            milliseconds(cell, "torch-avx2"),
            verdict(ratio(cell, "torch-avx2", "regard-avx2"), AVX2_TARGET if encoder else None),
            "-" if limit is None else f"{limit:.2f}x",
        ])
    return head, rows


def share_verdict(part, target):
    """`84 % of 80 %, reached`."""
    if part is None:
        return "-"
    if target is None:
        return f"{part:.0%}"
    return f"{part:.0%} of {target:.0%}, {'reached' if part >= target else 'missed'}"


def markdown(head, rows):
    """A table as markdown with aligned columns."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    line = lambda row: "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])
