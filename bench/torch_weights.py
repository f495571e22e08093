"""Weights and instances that our worker wrote, in the safetensors format: the length of the header in 8 bytes, the
header as JSON, and the raw values."""

import json
import os
from pathlib import Path

import torch

from torch_network import HEAD, HEADS, LAYERS, WIDTH

# Our names and the published ones.
DECODER = {
    "tables": "project_node_embeddings",
    "fixed": "project_fixed_context",
    "step": "project_step_context",
    "out": "project_out",
}


def read(name):
    """The tensors of `name.safetensors` in the folder that `BENCH_VEHICLES` names."""
    path = Path(os.environ.get("BENCH_VEHICLES", ".")) / f"{name}.safetensors"
    if not path.exists():
        raise ValueError(f"{path} is missing: `regard-bench --vehicles FOLDER` writes it, BENCH_VEHICLES names it")
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    found = {}
    for tensor, entry in json.loads(content[8:start]).items():
        if tensor != "__metadata__":
            low, high = (start + offset for offset in entry["data_offsets"])
            values = torch.frombuffer(bytearray(content[low:high]), dtype=torch.float32)
            found[tensor] = values.reshape(entry["shape"])
    return found


def renamed(published, style):
    """Weights under the names of the published code as those of our modules."""
    found = {f"{ours}.weight": published[f"{theirs}.weight"] for ours, theirs in DECODER.items()}
    for ours, theirs in (("embed", "init_embed"), ("depot", "init_embed_depot")):
        found |= {f"{ours}.{part}": published[f"{theirs}.{part}"] for part in ("weight", "bias")}
    for layer in range(LAYERS):
        ours, theirs = f"layers.{layer}", f"embedder.layers.{layer}"
        heads = [published[f"{theirs}.0.module.{name}"] for name in ("W_query", "W_key", "W_val", "W_out")]
        found |= {f"{ours}.attention.{name}": value for name, value in attention(heads, style).items()}
        for part in ("weight", "bias"):
            found[f"{ours}.expand.{part}"] = published[f"{theirs}.2.module.0.{part}"]
            found[f"{ours}.reduce.{part}"] = published[f"{theirs}.2.module.2.{part}"]
        for norm, number in (("first_norm", 1), ("second_norm", 3)):
            for part in ("weight", "bias", "running_mean", "running_var"):
                found[f"{ours}.{norm}.{part}"] = published[f"{theirs}.{number}.normalizer.{part}"]
            found[f"{ours}.{norm}.num_batches_tracked"] = torch.tensor(0)
    return found


def attention(heads, style):
    """Matrices per head in a style: `[heads, width, width / heads]`, that of the output `[heads, width / heads, width]`."""
    query, key, value, out = heads
    if style == "heads":
        return {"query": query, "key": key, "value": value, "out": out}
    columns = [part.permute(0, 2, 1).reshape(WIDTH, WIDTH) for part in (query, key, value)]
    return {"project.weight": torch.cat(columns), "out.weight": out.reshape(HEADS * HEAD, WIDTH).T}
