#!/usr/bin/env python3
"""How often leave-one-out puts a nine first in the digit bags that have one: results/attribution-digit-bags.json.

    python bench/attribution.py --regard BIN

A model is trained as the book does it (`book/src/sets.md`), and the rows of every bag are ordered by their attribution.
"""

import argparse
import csv
import datetime
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
BAGS = ROOT / "examples/digit_bags.csv"
DATA = [f"data.path={BAGS}", "data.group_by=bag", "data.target=has_nine"]
METHODS = ["leave-one-out", "shapley"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regard", required=True, type=Path, help="the program")
    regard = parser.parse_args().regard.resolve()
    digits = defaultdict(list)
    with open(ROOT / "examples/digit_bags_rows.csv", newline="") as file:
        for row in csv.DictReader(file):
            digits[row["bag"]].append(int(row["digit"]))
    with_nine = [bag for bag, found in digits.items() if 9 in found]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "nines"
        settings = [word for setting in [*DATA, "model.pooling=attention"] for word in ("--set", setting)]
        subprocess.run([regard, "--quiet", "train", "sets/mil", *settings, "--out", run], check=True)
        first = {}
        for method in METHODS:
            # The network alone: the bag's rows are its input, those of the base learners are statistics of them.
            asked = [regard, "--quiet", "predict", "--model", run, BAGS, "--only", "network", "--attribution", method, "--json"]
            found = json.loads(subprocess.run(asked, check=True, stdout=subprocess.PIPE).stdout)
            # The attribution is that of the predicted class: of a bag without a predicted nine the sign is turned.
            first[method] = sum(is_first(one, digits[one["id"]]) for one in found if one["id"] in with_nine)
    record = {
        "format": 1,
        "kind": "attribution",
        "date": datetime.date.today().isoformat(),
        "bags_with_nine": len(with_nine),
        "nine_first": first,
    }
    print(first, "of", len(with_nine))
    records.save(ROOT / "results/attribution-digit-bags.json", record)


def is_first(found, digits):
    sign = 1 if found["prediction"] == "yes" else -1
    values = [sign * value for value in found["attribution"]]
    return digits[values.index(max(values))] == 9


if __name__ == "__main__":
    main()
