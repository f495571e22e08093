#!/usr/bin/env python3
"""Copies the model of a finished run to models/, with a description on its card.

    python bench/ship.py runs/cvrp20 regard-cvrp --text "Trained on ..."

The card, the manifest and the metrics are copied too, checkpoints are not. Weights of routing policies are stored in half
precision. `--half FOLDER` does that to a model that is there already.
"""

import argparse
import json
import re
import shutil
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
BUILD = ROOT / "crates/regard-models/build.rs"
KEPT = ("config.json", "model.safetensors", "metrics.jsonl")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--text", help="what it predicts, its training data and its accuracy")
    parser.add_argument("--half", type=Path, metavar="FOLDER", help="store the weights of this model in half precision")
    options = parser.parse_args()
    if options.half:
        return halve(options.half / "model.safetensors")
    if not (options.run and options.name and options.text):
        parser.error("a run, a name and --text are needed")
    folder = MODELS / options.name
    folder.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (options.run / name).is_file():
            shutil.copyfile(options.run / name, folder / name)
    if json.loads((folder / "config.json").read_text())["kind"] == "attention-model":
        halve(folder / "model.safetensors")
    manifest = json.loads((options.run / "manifest.json").read_text())
    whole = {"created": manifest.pop("created", None), "command": manifest.pop("command", None), "description": options.text}
    (folder / "manifest.json").write_text(bare(json.dumps({**whole, **manifest}, indent=2, ensure_ascii=False)))
    card = bare((options.run / "README.md").read_text())
    (folder / "README.md").write_text(described(card, options.run.name, options.name, options.text))
    print(f"written {folder}")


def halve(path):
    """Stores the weights of a safetensors file in half precision: the nearest of its numbers."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, values, halves = json.loads(data[8 : 8 + length]), data[8 + length :], bytearray()
    for tensor in sorted((entry for name, entry in header.items() if name != "__metadata__"), key=lambda one: one["data_offsets"]):
        begin, end = tensor["data_offsets"]
        at = len(halves)
        if tensor["dtype"] == "F32":
            count = (end - begin) // 4
            halves += struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", values[begin:end]))
            tensor["dtype"] = "F16"
        else:
            halves += values[begin:end]
        tensor["data_offsets"] = [at, len(halves)]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + halves)


def bare(text):
    """Text without the folders of the machine it was written on."""
    return re.sub(r"(?<![\w./])/(?:[^\s\"'/]+/)+(?=[^\s\"'/])", "", text)


def is_built_in(name):
    """If true, the program has the model inside, as crates/regard-models/build.rs decides."""
    others = re.search(r"const OTHERS.*?= \[(.*?)\];", BUILD.read_text(), re.DOTALL).group(1)
    problem = json.loads((MODELS / name / "config.json").read_text()).get("problem")
    return f'"{name}"' in others or name == f"regard-{problem}"


def described(card, before, name, text):
    """The card under the model's name, with the description where `regard` writes it: before the settings."""
    title, _, rest = card.partition("\n")
    assert title == f"# {before}", f"the card is headed {title!r}"
    head, table, tail = rest.partition("\n| setting |")
    argument = name if is_built_in(name) else f"models/{name}"
    tail = re.sub(rf"(--model|model show) (?:\S*/)?{re.escape(before)}(?!\S)", rf"\1 {argument}", tail)
    return f"# {name}\n{head}\n{text}\n{table}{tail}"


if __name__ == "__main__":
    main()
