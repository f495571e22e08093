#!/usr/bin/env python3
"""Copies the model of a finished run to models/, with a description on its card.

    python bench/ship.py runs/cvrp20 regard-cvrp --text "Trained on ..."

The card, the manifest and the metrics are copied too, checkpoints are not.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

MODELS = Path(__file__).resolve().parent.parent / "models"
KEPT = ("config.json", "model.safetensors", "metrics.jsonl")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--text", required=True, help="what it predicts, its training data and its accuracy")
    options = parser.parse_args()
    folder = MODELS / options.name
    folder.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (options.run / name).is_file():
            shutil.copyfile(options.run / name, folder / name)
    manifest = json.loads((options.run / "manifest.json").read_text())
    whole = {"created": manifest.pop("created", None), "command": manifest.pop("command", None), "description": options.text}
    (folder / "manifest.json").write_text(bare(json.dumps({**whole, **manifest}, indent=2, ensure_ascii=False)))
    card = bare((options.run / "README.md").read_text())
    (folder / "README.md").write_text(described(card, options.run.name, options.name, options.text))
    print(f"written {folder}")


def bare(text):
    """Text without the folders of the machine it was written on."""
    return re.sub(r"(?<![\w./])/(?:[^\s\"'/]+/)+(?=[^\s\"'/])", "", text)


def described(card, before, name, text):
    """The card under the model's name, with the description where `regard` writes it: before the settings."""
    title, _, rest = card.partition("\n")
    assert title == f"# {before}", f"the card is headed {title!r}"
    head, table, tail = rest.partition("\n| setting |")
    tail = tail.replace(f"--model {before}", f"--model {name}").replace(f"model show {before}", f"model show {name}")
    return f"# {name}\n{head}\n{text}\n{table}{tail}"


if __name__ == "__main__":
    main()
