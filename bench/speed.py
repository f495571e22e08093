"""Meaning of the numbers of a comparison with PyTorch: operations, ratios, shares of the peak.

`tables.py` turns them into text; `compare.py --json` prints them.
"""

WIDTH, LAYERS, HIDDEN = 128, 3, 512
INFERENCE = ("encoder", "rollout", "cvrp", "sampling", "isab", "molecules", "blocks", "etth1", "etth1-tfb")
TRAINING = (
    "train-encoder",
    "reinforce",
    "pomo",
    "train-isab",
    "train-molecules",
    "train-blocks",
    "train-etth1",
    "train-etth1-tfb",
)
NODES = (20, 50, 100)
# Nodes of the cells that have sizes of their own; of `cvrp` customers, of `isab` items, of the last ones graphs.
SIZES = {
    "cvrp": (50, 100),
    "sampling": (100,),
    "pomo": (50,),
    "isab": (1_000, 10_000, 100_000),
    "train-isab": (1_000,),
    "molecules": (128,),
    "train-molecules": (128,),
    "blocks": (32,),
    "train-blocks": (32,),
    "etth1": (128,),
    "train-etth1": (128,),
    "etth1-tfb": (32,),
    "train-etth1-tfb": (32,),
}
ALL_SIZES = sorted({*NODES, *(n for all in SIZES.values() for n in all)})
# Width, layers, nodes and directed edges of a graph, and whether edges carry rows.
GRAPHS = {"molecules": (64, 10, 23, 50, True), "blocks": (80, 10, 117, 4_216, False)}
# Patches of a window, width, layers, hidden width, values of a patch and horizon; channels of a window.
SERIES = {"etth1": (42, 16, 3, 128, 16, 96), "etth1-tfb": (64, 128, 2, 512, 16, 192)}
CHANNELS = 7
# Sets of a batch of `isab`, its inducing points; points of the set of which the memory is measured.
SETS, INDUCING, MANY_POINTS = 10, 32, 1_000_000
# Edges of the graph of which the memory is measured.
MANY_EDGES = 1_000_000
# Tours of the one instance of `sampling`; instances of a step of `pomo`, with a tour from every node; layers of `pomo`.
SAMPLES, POMO_BATCH, POMO_LAYERS = 1280, 64, 6
# PyTorch as installed, and with its AVX-512 path forced; with an ending, not the published form but one with our
# algorithm: the teacher-forced training step, and samples that share an instance's tables.
RIVALS = ("torch", "torch-forced")
TEACHER, SHARED = "-teacher", "-shared"
# Ending and request of the cells that have such a form.
FORMS = {
    "sampling": (SHARED, "sampling-shared"),
    "reinforce": (TEACHER, "reinforce-forced"),
    "pomo": (TEACHER, "pomo-forced"),
}

# Memory is measured of the whole process, not of one step: of one that decodes 10,000 instances of `cvrp` greedily, of one
# that takes a set of 1,000,000 points through two induced blocks and a pooling, and of one that takes a graph of 1,000,000
# edges through the Graph Transformer.
WHOLE_PROCESS = ("cvrp", "isab", "edges")
# The memory measurement that belongs to a cell, and its size; none for the size that was requested.
MEMORY = {
    "reinforce": ("reinforce", None),
    "cvrp": ("cvrp", None),
    "isab": ("isab", MANY_POINTS),
    "blocks": ("edges", MANY_EDGES),
    "train-molecules": ("train-molecules", 128),
    "train-blocks": ("train-blocks", 32),
}


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

    Sampling: the encoder and the tables of one instance, and the steps of all samples.

    Pomo: as reinforce without the baseline, with six layers, 64 instances, and the steps of n tours of each; the tables
    are counted once for all of them.

    Cvrp: as rollout with the depot as one more node, and as many steps as nodes. That is the least there can be; how
    often routes return to the depot depends on the weights.

    Isab: for each item four products with the width, 4·2·d², and scores and values with the inducing points twice,
    2·2·2·m·d; for each inducing point four products with the width. Train-isab: three times that.

    Molecules, blocks: in each layer for each node three projections, the output projection and two feed-forward products,
    16·d²; for each edge scores and values, 4·d, and where edges carry rows a projection, an output projection and two
    feed-forward products, 12·d². Embeddings and read-out are left out. Training: three times that.

    Etth1: for each channel of each window and each patch the embedding, 2·16·d; in each layer four projections, 8·d²,
    scores and values, 4·p·d with p patches, and two feed-forward products, 4·d·f; and the read-out, 2·d·h with horizon h.
    Training: three times that.
    """
    if cell.removeprefix("train-") in SERIES:
        p, d, layers, f, patch, h = SERIES[cell.removeprefix("train-")]
        window = p * (2 * patch * d + layers * (8 * d * d + 4 * p * d + 4 * d * f) + 2 * d * h)
        return n * CHANNELS * window * (3 if cell.startswith("train-") else 1) / 1e9
    if cell.removeprefix("train-") in GRAPHS:
        d, layers, nodes, edges, stream = GRAPHS[cell.removeprefix("train-")]
        layer = nodes * 16 * d * d + edges * (4 * d + (12 * d * d if stream else 0))
        return n * layers * layer * (3 if cell.startswith("train-") else 1) / 1e9
    if cell in ("isab", "train-isab"):
        items, points = n * (4 * 2 * WIDTH**2 + 8 * INDUCING * WIDTH), INDUCING * 4 * 2 * WIDTH**2
        return SETS * (items + points) * (1 if cell == "isab" else 3) / 1e9
    d, f, n = WIDTH, HIDDEN, n + (cell == "cvrp")
    layer = 4 * 2 * d * d + 2 * 2 * n * d + 2 * 2 * d * f
    encoder, pomo_encoder = (2 * 2 * d + layers * layer for layers in (LAYERS, POMO_LAYERS))
    tables, steps = 6 * 2 * d * d, 3 * 2 * n * d
    count, node = {
        "encoder": (batch, encoder),
        "rollout": (batch, encoder + tables + steps),
        "cvrp": (batch, encoder + tables + steps),
        "sampling": (1, encoder + tables + SAMPLES * steps),
        "train-encoder": (batch, 3 * encoder),
        "reinforce": (batch, encoder + tables + steps + 3 * encoder + tables + steps + 3 * (tables + steps / 2)),
        "pomo": (POMO_BATCH, 3 * pomo_encoder + tables + n * steps + 3 * (tables + n * steps / 2)),
    }[cell]
    return count * n * node / 1e9


def sizes(cell, asked):
    """The sizes of those asked for in which a cell is measured."""
    return [n for n in asked if n in SIZES.get(cell, NODES)]


def cells(run, names):
    """The measured cells of some names."""
    return [cell for cell in run["cells"] if cell["cell"] in names]


def peak(run, simd=None):
    """Peak of the threads used in 10^9 operations a second: of one set of instructions, or of the best."""
    peaks = run["peak"]
    names = [simd] if simd else list(peaks)
    return max((peaks[name].get(str(run["threads"]), 0.0) for name in names if name in peaks), default=0.0)


def ratio(cell, theirs, ours):
    """Time of `theirs` divided by the time of `ours`; None if one was not measured."""
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
    """Memory of a training step above that of the process before it."""
    return found["peak_mib"] - found["before_mib"]


def memory_ratio(one):
    """Memory of our training step as a share of PyTorch's; None when one was not measured."""
    if one["cell"] in WHOLE_PROCESS or one["regard"] is None or one["torch"] is None:
        return None
    return step_mib(one["regard"]) / step_mib(one["torch"])


def memory_numbers(one):
    """Memory as a share of PyTorch's, or the peak of our process in MiB."""
    names = {"cell": one["cell"], "n": one["n"]}
    if one["cell"] in WHOLE_PROCESS:
        return names | {"peak_mib": one["regard"] and one["regard"]["peak_mib"]}
    return names | {"ratio": rounded(memory_ratio(one))}


def ratios(run):
    """The ratios of a run, as one object."""
    found = []
    for cell in run["cells"]:
        rate, part = share(run, cell)
        one = {
            "cell": cell["cell"],
            "n": cell["n"],
            "regard_ms": cell["times"].get("regard", {}).get("median"),
            "ratio_stock": ratio(cell, "torch", "regard"),
            "ratio_forced": ratio(cell, "torch-forced", "regard"),
            "ratio_avx2": ratio(cell, "torch-avx2", "regard-avx2"),
            "ratio_stock_teacher": ratio(cell, "torch" + TEACHER, "regard"),
            "ratio_forced_teacher": ratio(cell, "torch-forced" + TEACHER, "regard"),
            "ratio_stock_shared": ratio(cell, "torch" + SHARED, "regard"),
            "ratio_forced_shared": ratio(cell, "torch-forced" + SHARED, "regard"),
            "gflops": rate,
            "share_of_peak": part,
        }
        found.append({name: rounded(value) for name, value in one.items()})
    memory = [memory_numbers(one) for one in run.get("memory", [])]
    return {"cells": found, "memory": memory, "peak": run["peak"], "foreign_load": run["foreign_load"]}


def rounded(value):
    """A number with three decimals; anything else as it is."""
    return round(value, 3) if isinstance(value, float) else value
