#!/usr/bin/env python3
"""Trains a forecaster on each public file and measures its network, base forecasters and blend on the test rows.

    REGARD_SHARED=../shared python bench/trained_series.py --regard BIN

Writes `results/trained-series.json`. The experiment is `series/forecast` with its own settings but for the horizon; a
day or a year of the file, or the horizon of its competition.
"""

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("REGARD_SHARED", ROOT / "../shared")) / "data/series"
# Horizons, and settings that say which columns are series.
FILES = {
    "AirPassengers.csv": (12, []),
    "monthly-milk-incomplete.csv": (12, []),
    "national_illness.csv": (24, []),
    "heart_rate.csv": (60, []),
    "m4_hourly_a_train.csv": (48, []),
    "m4_weekly_a_train.csv": (13, []),
    "EPF-NP.csv": (24, ['data.columns=["OT"]']),
    "ETTh1.csv": (96, ["data.split=etth"]),
    "ETTh2.csv": (96, ["data.split=etth"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regard", default=os.environ.get("REGARD", str(ROOT / "target/release/regard")), help="the binary")
    parser.add_argument("--data", default=",".join(FILES), help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args()
    found = [measured(name, options.regard) for name in options.data.split(",")]
    record = {
        "format": 1,
        "kind": "trained-series",
        "date": datetime.date.today().isoformat(),
        "command": "python bench/trained_series.py",
        "files": found,
    }
    records.save(options.out / "trained-series.json", record)


def measured(name, regard):
    """The record of one file."""
    horizon, more = FILES[name]
    settings = [f"data.path={DATA / name}", f"task.horizon={horizon}", *more]
    words = [word for setting in settings for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as folder:
        begun = seconds()
        run([regard, "train", "series/forecast", *words, "--out", f"{folder}/model", "--json", "--no-progress"])
        trained = seconds() - begun
        errors = run([regard, "eval", "--model", f"{folder}/model", "--json"])
    part = lambda which: {key: errors["blend"][which][key] for key in ("mase", "mse", "mae")}
    record = {
        "file": name,
        "horizon": horizon,
        "weights": errors["blend"]["weights"],
        "origins": errors["blend"]["origins"],
        **{which: part(which) for which in ("network", "base", "blend")},
        "network_of_all_windows": {key: errors[key] for key in ("mase", "mse", "mae")},
        "seasonal_naive_mase": errors["seasonal_naive"]["mase"],
        "train_cpu_seconds": round(trained, 1),
    }
    print(json.dumps(record), file=sys.stderr)
    return record


def run(command):
    """The answer of a command as JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def seconds():
    """Processor seconds of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
