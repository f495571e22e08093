"""Writes golden cases: runs a layer in double precision for the numbers and in single precision for the tolerances,
saves numbers, inputs and weights, and describes them in `manifest.json` (README.md says how)."""

import hashlib
import json
import math

import numpy as np
import torch
from safetensors.numpy import save_file


def evaluated(layer, arrays, run, dtype):
    """Outputs and gradients by their names in the files; `run(layer, inputs)` gives the result and more to keep."""
    layer = layer.to(dtype)
    layer.zero_grad()
    floats = {name: value for name, value in arrays.items() if value.dtype == np.float32}
    inputs = {name: torch.from_numpy(value).to(dtype).requires_grad_(name != "R") for name, value in floats.items()}
    y, beside = run(layer, inputs)
    loss = (y * inputs["R"]).sum()
    loss.backward()
    found = {"output.y": y, "output.loss": loss} | {f"output.{name}": value for name, value in beside.items()}
    found |= {f"grad.input.{name}": value.grad for name, value in inputs.items() if name != "R"}
    found |= {f"grad.weight.{name}": weight.grad for name, weight in layer.named_parameters()}
    return {name: value.detach().numpy().copy() for name, value in found.items()}


def rounded_up(value):
    """To two digits, upwards."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.1e}")


def tolerance(name, exact, error, largest_gradient):
    floor = 4e-6 * float(np.abs(exact).max())
    if name.startswith("grad."):
        floor = max(floor, 5e-7 * largest_gradient)
    return rounded_up(max(16 * error, floor))


def described(name, value):
    return {"name": name, "dtype": str(value.dtype), "shape": list(value.shape), "role": name.split(".")[0]}


def write_case(root, name, layer, arrays, run, **entry):
    """Saves `name`, a folder and a file, below `root`; its entry of the manifest, `entry` with what was found."""
    weights = {f"weight.{key}": value.detach().numpy().copy() for key, value in layer.named_parameters()}
    single, exact = evaluated(layer, arrays, run, torch.float32), evaluated(layer, arrays, run, torch.float64)
    files = {f"input.{key}": value for key, value in arrays.items()} | weights
    infos = [described(key, value) for key, value in files.items()]
    largest = max(float(np.abs(value).max()) for key, value in exact.items() if key.startswith("grad."))
    worst = {"output": (0.0, ""), "grad": (0.0, "")}
    for key, value in exact.items():
        whole = value.dtype == np.int64
        assert not whole or (value == single[key]).all(), f"{name}: rounding changes {key}"
        error = 0.0 if whole else float(np.abs(value - single[key]).max())
        files[key] = value if whole or value.ndim == 0 else value.astype(np.float32)
        info = described(key, files[key])
        infos.append(info if whole else info | {"tol_abs": tolerance(key, value, error, largest)})
        worst[info["role"]] = max(worst[info["role"]], (error, key))
    path = root / f"{name}.safetensors"
    path.parent.mkdir(exist_ok=True)
    save_file({key: np.ascontiguousarray(value) for key, value in files.items()}, path)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {
        "name": name,
        **entry,
        "files": [{"path": f"{name}.safetensors", "bytes": len(content), "sha256": digest}],
        "measured_f32_vs_f64": {role: {"max_abs": float(f"{e:.2e}"), "worst": key} for role, (e, key) in worst.items()},
        "tensors": infos,
    }


def merge(path, new):
    """Puts the cases `new` into the manifest in place of those of the same folders; a line for each case and tensor."""
    manifest = json.loads(path.read_text())
    folders = {entry["name"].split("/")[0] for entry in new}
    cases = [entry for entry in manifest["cases"] if entry["name"].split("/")[0] not in folders] + new
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(manifest[key])}" for key in manifest if key != "cases")

    def text(entry):
        tensors = ",\n".join(json.dumps(tensor) for tensor in entry["tensors"])
        rest = json.dumps({key: value for key, value in entry.items() if key != "tensors"})
        return f'{rest[:-1]},\n"tensors": [\n{tensors}\n]}}'

    path.write_text("{\n" + head + ',\n"cases": [\n' + ",\n".join(map(text, cases)) + "\n]\n}\n")
