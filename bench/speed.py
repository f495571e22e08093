"""What the numbers of a comparison with PyTorch mean: operations, targets, ratios.

`tables.py` makes text of them; `compare.py --json` prints them.
"""

WIDTH, LAYERS, HIDDEN = 128, 3, 512
INFERENCE = ("encoder", "rollout")
TRAINING = ("train-encoder", "reinforce")
# PyTorch as installed, and with its AVX-512 path forced; with the ending, its teacher-forced REINFORCE step.
RIVALS = ("torch", "torch-forced")
TEACHER = "-teacher"

# Ratios to be reached against PyTorch: as installed, and with its AVX-512 path forced.
TARGETS = {
    ("encoder", 20): (3.0, 1.8),
    ("encoder", 50): (3.0, 1.8),
    ("encoder", 100): (3.0, 1.8),
    ("rollout", 20): (3.8, 2.4),
    ("rollout", 50): (4.2, 2.6),
    ("rollout", 100): (4.5, 2.8),
    ("train-encoder", 20): (3.2, 1.7),
    ("train-encoder", 50): (3.6, 2.1),
    ("train-encoder", 100): (3.5, 2.2),
    ("reinforce", 20): (3.5, 2.3),
    ("reinforce", 50): (5.0, 3.0),
    ("reinforce", 100): (6.0, 4.4),
}
# Share of the measured peak that has to be reached.
PEAK_TARGETS = {("encoder", 50): 0.80, ("reinforce", 50): 0.60}
# Without AVX-512, against PyTorch without AVX-512, encoder.
AVX2_TARGET = 1.5
# Memory of a training step, as a share of PyTorch's; at most.
MEMORY_TARGET = 1 / 3


def gflop(cell, n, batch):
    """Floating-point operations of one iteration in 10^9; a multiply-add counts two.

    Encoder, for each node: the embedding 2·2·d; in each layer three projections and the output projection 4·2·d²,
    scores and weighted values 2·2·n·d, two feed-forward products 2·2·d·f. Softmax, norms and activations are left out.

    Rollout: the encoder; for each node the tables of the decoder, which are keys, values, logit keys, their product
    with the output projection, and the two context projections, 6·2·d²; and n steps of scores, values and logits,
    3·2·n·d in all. This is the least work we know how to do it with; PyTorch's step by step form does more.

    Train-encoder: three times the encoder, forward and the two products of each product's gradient. What is computed
    again in the backward pass is not counted, nor is the optimiser.

    Reinforce: the rollout of the baseline; three times the encoder; the sampled tours, which are tables and steps as in
    a rollout; and their likelihood in one pass with its gradient, three times the tables and the triangular half of
    scores, values and logits.
    """
    d, f = WIDTH, HIDDEN
    encoder = 2 * 2 * d + LAYERS * (4 * 2 * d * d + 2 * 2 * n * d + 2 * 2 * d * f)
    tables, steps = 6 * 2 * d * d, 3 * 2 * n * d
    node = {
        "encoder": encoder,
        "rollout": encoder + tables + steps,
        "train-encoder": 3 * encoder,
        "reinforce": (encoder + tables + steps) + 3 * encoder + (tables + steps) + 3 * (tables + steps / 2),
    }[cell]
    return batch * n * node / 1e9


def cells(run, names):
    """The measured cells of some names."""
    return [cell for cell in run["cells"] if cell["cell"] in names]


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


def step_mib(found):
    """What a training step takes above what the process held before it."""
    return found["peak_mib"] - found["before_mib"]


def memory_ratio(one):
    """Memory of our training step as a share of PyTorch's; None when one was not measured."""
    if one["regard"] is None or one["torch"] is None:
        return None
    return step_mib(one["regard"]) / step_mib(one["torch"])


def ratios(run):
    """The numbers that are compared with targets, as one object."""
    found = []
    for cell in run["cells"]:
        stock, forced = TARGETS.get((cell["cell"], cell["n"]), (None, None))
        rate, part = share(run, cell)
        one = {
            "cell": cell["cell"],
            "n": cell["n"],
            "regard_ms": cell["times"].get("regard", {}).get("median"),
            "ratio_stock": ratio(cell, "torch", "regard"),
            "target_stock": stock,
            "ratio_forced": ratio(cell, "torch-forced", "regard"),
            "target_forced": forced,
            "ratio_avx2": ratio(cell, "torch-avx2", "regard-avx2"),
            "ratio_stock_teacher": ratio(cell, "torch" + TEACHER, "regard"),
            "ratio_forced_teacher": ratio(cell, "torch-forced" + TEACHER, "regard"),
            "gflops": rate,
            "share_of_peak": part,
            "target_share": PEAK_TARGETS.get((cell["cell"], cell["n"])),
        }
        found.append({name: rounded(value) for name, value in one.items()})
    memory = [
        {"cell": one["cell"], "n": one["n"], "ratio": rounded(memory_ratio(one)), "target": rounded(MEMORY_TARGET)}
        for one in run.get("memory", [])
    ]
    return {"cells": found, "memory": memory, "peak": run["peak"], "foreign_load": run["foreign_load"]}


def rounded(value):
    """A number with three decimals; anything else as it is."""
    return round(value, 3) if isinstance(value, float) else value
