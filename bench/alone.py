#!/usr/bin/env python3
"""Routing networks alone, without local search, on TSPLIB files that are larger than the instances of their training; writes
results/alone.json.

    REGARD_SHARED=../shared python bench/alone.py --regard BIN [--models regard-tsp,regard-tsp100] [--from 200] [--to 1000]
"""

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("REGARD_SHARED", ROOT / "../shared")) / "data/routes/tsplib"
DECODES = {"greedy": ["--decode", "greedy"], "starts_in_8_views": ["--decode", "multistart", "--augment", "8"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--regard", default=os.environ.get("REGARD", str(ROOT / "target/release/regard")), help="the binary")
    parser.add_argument("--models", default="regard-tsp,regard-tsp100", help="names in models/, separated by commas")
    parser.add_argument("--from", dest="smallest", type=int, default=200)
    parser.add_argument("--to", dest="largest", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=ROOT / "results/alone.json")
    options = parser.parse_args()
    files = list(csv.DictReader((DATA / "best_known.csv").open()))
    files = [row for row in files if options.smallest <= int(row["dimension"]) <= options.largest and (DATA / f"{row['name']}.tsp").exists()]
    rows = []
    for model in options.models.split(","):
        for row in files:
            found = {"model": model, "instance": row["name"], "n": int(row["dimension"]), "best_known": float(row["bks"])}
            for decode, words in DECODES.items():
                command = [options.regard, "solve", DATA / f"{row['name']}.tsp", "--model", ROOT / "models" / model, "--no-improve", "--json", "-q", *words]
                done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
                answer = json.loads(done.stdout)
                found[decode] = {"gap": answer["cost"] / found["best_known"] - 1, "seconds": answer["seconds"]}
            rows.append(found)
            print(rows[-1], file=sys.stderr)
    head = {"format": 1, "kind": "alone", "date": datetime.date.today().isoformat(), "machine": machine.description(), "commit": machine.commit(ROOT)}
    records.save(options.out, head | {"rows": rows})


if __name__ == "__main__":
    main()
