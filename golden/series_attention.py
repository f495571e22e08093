"""Golden cases of ProbAttention and TwoStageAttentionLayer of Time-Series-Library.

    git -C Time-Series-Library checkout 4e938a1767106324dd753b2a44832bf870a0252e
    python golden/series_attention.py Time-Series-Library golden/cases

Needs torch, numpy, einops and safetensors. Runs the original classes on small random inputs of ours and writes the
folders `prob_attention` and `two_stage_attention` with their entries of `manifest.json`.

The keys that ProbAttention draws with `torch.randint` are drawn here instead, handed to it and stored as an input. Its
seed is the first for which no query comes near the border between those that are selected and those that are not, so
that rounding cannot change the selection.
"""

import argparse
import math
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from case_writer import merge, write_case

ORIGIN = {
    "repository": "thuml/Time-Series-Library",
    "commit": "4e938a1767106324dd753b2a44832bf870a0252e",
    "files": ["layers/SelfAttention_Family.py", "utils/masking.py"],
}
# Distance of the sparsity measures on either side of the border, against an error of about 1e-6.
GAP = 1e-2


def original(checkout):
    """The original module; the one class that needs `reformer_pytorch` is not used here."""
    sys.path.insert(0, str(checkout))
    absent = types.ModuleType("reformer_pytorch")
    absent.LSHSelfAttention = None
    sys.modules.setdefault("reformer_pytorch", absent)
    import layers.SelfAttention_Family as family

    return family


class HeadsBack(torch.nn.Module):
    """ProbAttention with its heads moved behind the positions, as the authors of Informer have it since 2021-04."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args, **kwargs):
        out, weights = self.inner(*args, **kwargs)
        return out.transpose(1, 2).contiguous(), weights


def randomise(module, random):
    """Weights of ours: uniform like the layers' own, scales of norms around one."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            bound = 1.0 if weight.dim() == 3 else 1 / math.sqrt(weight.shape[-1])
            values = random.uniform(-bound, bound, weight.shape)
            values += 1.0 if "norm" in name and name.endswith("weight") else 0.0
            weight.copy_(torch.from_numpy(values.astype(np.float32)))


def prob_arrays(config, random):
    batch, queries, keys, width = (config[key] for key in ("B", "L", "S", "d_model"))
    shapes = {"x": (batch, queries, width)}
    if not config["self_attention"]:
        shapes = {"queries": (batch, queries, width), "keys": (batch, keys, width), "values": (batch, keys, width)}
    shapes["R"] = (batch, queries, width)
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    count = min(keys, config["factor"] * math.ceil(math.log(keys)))
    return arrays | {"index_sample": random.integers(0, keys, (queries, count))}


def prob_case(family, config, seed):
    """The layer, its inputs and how to run it; `None` where rounding could change what it selects."""
    random = np.random.default_rng(seed)
    # For more queries than keys the original cannot give its weights: it makes room for as many rows as keys.
    with_weights = config["L"] <= config["S"]
    inner = family.ProbAttention(config["mask_flag"], config["factor"], None, 0.0, with_weights)
    wrapped = inner if config["mix"] else HeadsBack(inner)
    layer = family.AttentionLayer(wrapped, config["d_model"], config["n_heads"], config["d_keys"], config["d_values"])
    randomise(layer, random)
    arrays = prob_arrays(config, random)

    def run(layer, inputs):
        x = [inputs[name] for name in ("x", "queries", "keys", "values") if name in inputs]
        choose, selected = inner._prob_QK, []

        def recorded(*args, **kwargs):
            scores, top = choose(*args, **kwargs)
            selected.append(top)
            return scores, top

        index = torch.from_numpy(arrays["index_sample"])
        drawn = mock.patch.object(torch, "randint", lambda high, size: index)
        with mock.patch.object(inner, "_prob_QK", recorded), drawn:
            y, weights = layer(*(x * 3 if len(x) == 1 else x), attn_mask=None)
        top = selected[0].sort(-1).values
        if not with_weights:
            return y, {"selected": top}
        # The rows of the selected queries; for the others the original gives 1/S whatever it does.
        rows = top.unsqueeze(-1).expand(*top.shape, config["S"])
        return y, {"selected": top, "attn_selected": weights.gather(2, rows)}

    return (layer, arrays, run) if selection_gap(layer, arrays, config) > GAP else None


def selection_gap(layer, arrays, config):
    """The distance between the last measure that is selected and the first that is not, over items and heads."""
    queries, keys, heads = config["L"], config["S"], config["n_heads"]
    count = min(queries, config["factor"] * math.ceil(math.log(queries)))
    if count == queries:
        return math.inf

    def projected(linear, x):
        y = x.astype(np.float64) @ linear.weight.detach().numpy().T.astype(np.float64) + linear.bias.detach().numpy()
        return y.reshape(*y.shape[:2], heads, -1)

    query = projected(layer.query_projection, arrays.get("x", arrays.get("queries")))
    key = projected(layer.key_projection, arrays.get("x", arrays.get("keys")))
    dots = np.einsum("blhe,bluhe->bhlu", query, key[:, arrays["index_sample"]])
    measure = np.sort(dots.max(-1) - dots.sum(-1) / keys, axis=-1)
    return float((measure[..., -count] - measure[..., -count - 1]).min())


def two_stage_case(family, config, seed):
    random = np.random.default_rng(seed)
    shape = tuple(config[key] for key in ("B", "channels", "seg_num", "d_model"))
    settings = types.SimpleNamespace(factor=config["factor"], dropout=0.0)
    sizes = [config[key] for key in ("seg_num", "factor", "d_model", "n_heads", "d_ff")]
    layer = family.TwoStageAttentionLayer(settings, *sizes, dropout=0.0)
    randomise(layer, random)
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name in ("x", "R")}
    return layer, arrays, lambda layer, inputs: (layer(inputs["x"]), {})


def prob_config(**given):
    config = {"B": 2, "L": 12, "S": 12, "d_model": 12, "n_heads": 3, "d_keys": 4, "d_values": 4, "factor": 1}
    config |= {"mask_flag": False, "mix": False, "attention": "ProbAttention", "self_attention": True, "dropout": 0}
    return config | given


CAUSAL = prob_config(L=10, S=10, factor=2, mask_flag=True)
PROB = {
    "self": ("self attention, 3 of 12 queries selected", prob_config()),
    "self_mix": ("self attention, 3 of 12 queries selected, mixed", prob_config(mix=True)),
    "causal": ("masked self attention, 6 of 10 queries selected", CAUSAL),
    "causal_mix": ("masked self attention, 6 of 10 queries selected, mixed", CAUSAL | {"mix": True}),
    "cross": ("9 queries, 14 keys", prob_config(L=9, S=14, d_keys=3, d_values=5, self_attention=False)),
    "cross_short": ("14 queries, 5 keys", prob_config(L=14, S=5, factor=2, self_attention=False)),
    "all_selected": ("every query selected", prob_config(L=7, S=7, factor=5)),
}
PROB_NOTES = [
    "loss = sum(y * input.R)",
    "input.index_sample[l] are the keys sampled for query l, the same for every item and head",
    "mix: the original's view of [B, H, L, D] as [B, L, H * D]; else heads are moved back before, as in Informer2020",
    "output.attn_selected are the rows of output.selected, ascending",
]

SIZES = {"B": 2, "channels": 5, "seg_num": 4, "factor": 3, "d_model": 12, "n_heads": 3, "d_ff": 20, "dropout": 0}
TWO_STAGE = {
    "small": ("five channels, four segments, three routers", SIZES),
    "wide": ("default hidden width, more routers than channels",
             SIZES | {"B": 1, "channels": 3, "seg_num": 6, "factor": 5, "d_model": 8, "n_heads": 2, "d_ff": None}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="folder of Time-Series-Library")
    parser.add_argument("cases", type=Path, help="folder with manifest.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    family, new = original(arguments.checkout), []

    def add(name, made, **entry):
        new.append(write_case(arguments.cases, name, *made, origin=ORIGIN, **entry))

    for name, (what, config) in PROB.items():
        made = next(made for seed in range(1, 1000) if (made := prob_case(family, config, seed)))
        what = f"AttentionLayer + ProbAttention, {what}"
        add(f"prob_attention/{name}", made, what=what, config=config, notes=PROB_NOTES)
    for seed, (name, (what, config)) in enumerate(TWO_STAGE.items(), 1):
        what = f"TwoStageAttentionLayer, {what}"
        made = two_stage_case(family, config, seed)
        add(f"two_stage_attention/{name}", made, what=what, config=config, notes=PROB_NOTES[:1])
    merge(arguments.cases / "manifest.json", new)


if __name__ == "__main__":
    main()
