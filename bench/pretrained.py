#!/usr/bin/env python3
"""What a network that was trained on generated series adds to `regard forecast`, on the panels of bench/base_series.py; writes
results/pretrained.json.

    REGARD_SHARED=../shared python bench/pretrained.py --regard BIN --model FOLDER [--panels NAME,NAME]

The last `horizon` values of each series are held out. Errors are mean absolute scaled errors: of the forecast without and
with the network, which is one more member of the blend, and of the network alone. Nothing of these panels was in its training.
"""

import argparse
import datetime
import json
import subprocess
import tempfile
from pathlib import Path

import base_series
import machine
import numpy as np
import records

ROOT = Path(__file__).resolve().parent.parent
LIMIT = "60s"


def forecast(options, path, count, words):
    """Forecasts of all series, `[series][horizon]`, and the weights of the members."""
    command = [options.regard, "forecast", path, "--id", "unique_id", "--json", "-q", "--no-progress", *words]
    found = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)
    rows = {f"s{at}": [] for at in range(count)}
    for row in found["forecast"]:
        rows[row["unique_id"]].append(row["forecast"])
    weights = {one["name"]: one["weight"] for one in found.get("members") or [] if "weight" in one}
    return [np.array(rows[f"s{at}"], float) for at in range(count)], weights


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regard", default=str(ROOT / "target/release/regard"), help="the binary")
    parser.add_argument("--model", type=Path, default=ROOT / "models/regard-forecaster", help="the network")
    parser.add_argument("--panels", default="", help="parts of names, separated by commas; all without")
    parser.add_argument("--out", type=Path, default=ROOT / "results/pretrained.json")
    options = parser.parse_args()
    rows = []
    for name, make in base_series.PANELS.items():
        if options.panels and not any(part in name for part in options.panels.split(",")):
            continue
        series, horizon, seasons = make()
        histories, tests = [y[:-horizon] for y in series], [y[-horizon:] for y in series]
        scales = [base_series.scale(y, seasons[0] if seasons else 1) for y in histories]
        longest = max(map(len, histories))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "panel.csv"
            with open(path, "w") as file:
                file.write("unique_id,ds,y\n")
                for at, y in enumerate(histories):
                    for row, value in enumerate(y):
                        file.write(f"s{at},{longest - len(y) + row},{'' if np.isnan(value) else repr(float(value))}\n")
            words = ["--horizon", horizon, "--time", LIMIT]
            words += ["--season", ",".join(map(str, seasons))] if seasons else []
            without, _ = forecast(options, path, len(series), [*words, "--pretrained", "none"])
            both, weights = forecast(options, path, len(series), [*words, "--pretrained", options.model])
            alone, _ = forecast(options, path, len(series), ["--horizon", horizon, "--model", options.model])
        error = lambda found: base_series.mase(found, tests, scales)
        rows.append({
            "panel": name,
            "series": len(series),
            "horizon": horizon,
            "mase": {"without": error(without), "with": error(both), "alone": error(alone)},
            "weight": weights.get("pretrained network", 0.0),
        })
        print(json.dumps(rows[-1]), flush=True)
    ratios = [row["mase"]["with"] / row["mase"]["without"] for row in rows]
    print(f"with / without: geometric mean {np.exp(np.mean(np.log(ratios))):.4f}, better on {sum(r < 1 for r in ratios)} of {len(rows)}")
    head = {"format": 1, "kind": "pretrained", "date": datetime.date.today().isoformat(), "commit": machine.commit(ROOT)}
    rounded = json.loads(json.dumps(rows), parse_float=lambda text: float(f"{float(text):.4g}"))
    records.save(options.out, head | {"command": "python bench/pretrained.py", "limit": LIMIT, "panels": rounded})


if __name__ == "__main__":
    main()
