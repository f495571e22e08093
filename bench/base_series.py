"""Compares the forecasts of `regard-base` with statsforecast on held-out ends of series.

    cargo build --release -p regard-base --example forecast
    pip install statsforecast
    REGARD_SHARED=../shared python bench/base_series.py [--only NAME,NAME] [--cache FILE] [--markdown FILE] \
        [--save results/panels-NAME.json]

Each panel is a stretch of a public file under `$REGARD_SHARED/data/series`, or made here from a seed. Its last
`horizon` values are held out; for the M4 series they are the competition's test values. Errors are mean absolute scaled
errors (Hyndman & Koehler 2006) with the first season of the panel, averaged over series. `best` is the base learner
that turned out best on the held-out values, which nobody knows before. `--cache` keeps the forecasts of statsforecast
and their time. `--save` writes a record with one object for each panel: scaled errors, percent of the held-out values
inside the intervals of 80 and 95 %, and CPU-seconds; those of statsforecast are one model's each.
"""

import argparse
import datetime
import json
import os
import pickle
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import records

warnings.filterwarnings("ignore")
ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("REGARD_SHARED", ROOT / "../shared")) / "data/series"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = TARGET / "release/examples/forecast"


def m4(kind, horizon, seasons, part=slice(None)):
    train = pd.read_csv(DATA / f"m4_{kind}_a_train.csv")
    test = pd.read_csv(DATA / f"m4_{kind}_a_test.csv")
    names = list(train.unique_id.unique())[part]
    values = lambda table: {n: g.y.to_numpy(float) for n, g in table.groupby("unique_id")}
    train, test = values(train), values(test)
    return [np.concatenate([train[n], test[n][:horizon]]) for n in names], horizon, seasons


def wide(name, horizon, seasons, rows=None, before=0, every=1, columns=None):
    table = pd.read_csv(DATA / name)
    table = table.iloc[:, 1:] if not name.startswith(("heart", "aus")) else table
    values = table.to_numpy(float)
    if every > 1:
        count = len(values) // every
        values = values[len(values) - count * every :].reshape(count, every, -1).mean(1)
    values = values[: len(values) - before]
    values = values[-rows:] if rows else values
    return [values[:, c] for c in columns or range(values.shape[1])], horizon, seasons


def made(kind, count, horizon, seasons, seed):
    random = np.random.default_rng(seed)
    series = []
    for at in range(count):
        rows = {"monthly": random.integers(60, 240), "daily": random.integers(150, 700), "hourly": 840, "quarter": 1600,
                "weekly": random.integers(120, 400), "minute": 1500}[kind] + horizon
        t = np.arange(rows)
        level = 100 * np.exp(random.normal())
        noise = random.uniform(0.01, 0.08)
        walk = np.cumsum(random.normal(size=rows)) * noise * random.choice([0, 0.2, 0.7])
        trend = random.normal() * random.choice([0, 1, 3]) * t / rows * 0.3
        shift = random.normal() * 0.3 * (t > random.uniform(0.2, 0.9) * rows) * (random.random() < 0.25)
        season = np.zeros(rows)
        for m in seasons:
            shape = np.convolve(random.normal(size=3 * m), np.ones(max(1, m // 6)) / max(1, m // 6), "same")[m : 2 * m]
            strength = random.choice([0.3, 1.0, 2.5]) * 0.08
            season += strength * np.tile(shape / (shape.std() + 1e-9), rows // m + 1)[:rows]
        rest = np.zeros(rows)
        ar, shocks = random.choice([0, 0.5, 0.9]), random.normal(size=rows) * noise
        for i in range(1, rows):
            rest[i] = ar * rest[i - 1] + shocks[i]
        total = walk + trend + shift + season + rest
        series.append(level * (np.exp(total) if random.random() < 0.5 else 3 + total))
    return series, horizon, seasons


def intermittent(count, horizon, seed):
    random = np.random.default_rng(seed)
    return [random.poisson(random.uniform(0.1, 2) * (1 + 0.5 * np.sin(np.arange(200) * 2 * np.pi / 7))).astype(float)
            for _ in range(count)], horizon, [7]


PANELS = {
    "m4 hourly a": lambda: m4("hourly", 48, [24, 168], slice(0, None, 2)),
    "m4 hourly b": lambda: m4("hourly", 48, [24, 168], slice(1, None, 2)),
    "m4 weekly a": lambda: m4("weekly", 13, [52], slice(0, None, 2)),
    "m4 weekly b": lambda: m4("weekly", 13, [52], slice(1, None, 2)),
    "ETTh1 30 d, 24": lambda: wide("ETTh1.csv", 24, [24, 168], 744),
    "ETTh1 60 d, 96": lambda: wide("ETTh1.csv", 96, [24, 168], 1536, 3000),
    "ETTh2 30 d, 24": lambda: wide("ETTh2.csv", 24, [24, 168], 744, 5000),
    "ETTh2 30 d, 96": lambda: wide("ETTh2.csv", 96, [24, 168], 816, 9000),
    "ETTh1 daily": lambda: wide("ETTh1.csv", 14, [7], 300, 0, 24),
    "ETTh2 daily": lambda: wide("ETTh2.csv", 14, [7], 400, 100, 24),
    "ETTh1 4-hourly": lambda: wide("ETTh1.csv", 42, [6, 42], 800, 500, 4),
    "ILI": lambda: wide("national_illness.csv", 24, [52], 420),
    "ILI early": lambda: wide("national_illness.csv", 12, [52], 400, 200),
    "AirPassengers": lambda: wide("AirPassengers.csv", 12, [12]),
    "AirPassengers early": lambda: wide("AirPassengers.csv", 12, [12], None, 30),
    "milk": lambda: wide("monthly-milk-incomplete.csv", 12, [12]),
    "tourism": lambda: wide("australian_tourism.csv", 8, [4]),
    "EPF 60 d": lambda: wide("EPF-NP.csv", 24, [24, 168], 1464, 700),
    "EPF daily": lambda: wide("EPF-NP.csv", 14, [7], 500, 30, 24),
    "heart rate": lambda: wide("heart_rate.csv", 60, []),
    "heart rate early": lambda: wide("heart_rate.csv", 30, [], 600, 900),
    "made monthly": lambda: made("monthly", 40, 18, [12], 1),
    "made daily": lambda: made("daily", 30, 14, [7], 2),
    "made hourly": lambda: made("hourly", 12, 48, [24, 168], 3),
    "made quarter hours": lambda: made("quarter", 6, 96, [96], 4),
    "made weekly": lambda: made("weekly", 20, 13, [52], 5),
    "made minutes": lambda: made("minute", 8, 60, [60], 6),
    "intermittent": lambda: intermittent(30, 14, 7),
}


def scale(history, season):
    lag = season if len(history) > season else 1
    difference = np.abs(history[lag:] - history[:-lag])
    return max(np.nanmean(difference), 1e-9)


def mase(forecasts, tests, scales):
    return float(np.mean([np.nanmean(np.abs(f - y)) / s for f, y, s in zip(forecasts, tests, scales)]))


def statsforecast(histories, horizon, seasons):
    from statsforecast.models import MSTL, AutoETS, AutoTheta, SeasonalNaive

    season = seasons[0] if seasons else 1
    models = {
        "SeasonalNaive": lambda: SeasonalNaive(season),
        # AutoETS of statsforecast takes no season of more than 24 steps.
        "AutoETS": lambda: AutoETS(season_length=season if season <= 24 else 1),
        "AutoTheta": lambda: AutoTheta(season_length=season),
    }
    if seasons:
        models["MSTL"] = lambda: MSTL(season_length=seasons)
    found = {}
    for name, model in models.items():
        begun = time.process_time()
        forecasts = []
        for y in histories:
            y = pd.Series(y).interpolate().bfill().to_numpy()
            try:
                forecast = np.asarray(model().forecast(y=y, h=horizon)["mean"])
            except Exception:
                forecast = np.full(horizon, np.nan)
            # A model that cannot be fitted is replaced by the naive forecast.
            forecasts.append(np.where(np.isfinite(forecast), forecast, y[-1]))
        found[name] = (forecasts, time.process_time() - begun)
    return found


def regard(histories, horizon, seasons, budget=None):
    rows = max(map(len, histories))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.csv"
        with open(path, "w") as file:
            file.write("unique_id,ds,y\n")
            for at, y in enumerate(histories):
                for row, value in enumerate(y):
                    text = "" if np.isnan(value) else repr(float(value))
                    file.write(f"s{at},{rows - len(y) + row},{text}\n")
        text = ",".join(map(str, seasons)) or "none"
        command = [PROGRAM, path, "--horizon", str(horizon), "--seasons", text, "--members"]
        command += ["--budget", str(budget)] if budget else []
        before = os.times()
        output = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    order = [output["unique_id"].index(f"s{at}") for at in range(len(histories))]
    pick = lambda all: [np.array(all[at], float) for at in order]
    output["blend"] = pick([one["values"] for one in output["series"]])
    output["inside"] = [
        (pick([one["intervals"][at]["low"] for one in output["series"]]),
         pick([one["intervals"][at]["high"] for one in output["series"]])) for at in range(2)
    ]
    output["members_at_end"] = {name: pick(all) for name, all in output["member_forecasts"]}
    return output, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--cache", default="")
    parser.add_argument("--markdown", default="")
    parser.add_argument("--save", type=Path, help="JSON file for RESULTS.md")
    arguments = parser.parse_args()
    cache = {}
    if arguments.cache and Path(arguments.cache).exists():
        cache = pickle.loads(Path(arguments.cache).read_bytes())
    head = ["panel", "series", "blend", "best", "of", "AutoETS", "AutoTheta", "MSTL", "SeasonalNaive", "80 %", "95 %",
            "s", "ETS s", "Theta s"]
    table, panels = [], []
    for name, make in PANELS.items():
        if arguments.only and not any(part in name for part in arguments.only.split(",")):
            continue
        series, horizon, seasons = make()
        histories, tests = [y[:-horizon] for y in series], [y[-horizon:] for y in series]
        scales = [scale(y, seasons[0] if seasons else 1) for y in histories]
        if name not in cache:
            cache[name] = statsforecast(histories, horizon, seasons)
            if arguments.cache:
                Path(arguments.cache).write_bytes(pickle.dumps(cache))
        others = {key: mase(value[0], tests, scales) for key, value in cache[name].items()}
        output, seconds = regard(histories, horizon, seasons)
        members = {key: mase(all, tests, scales) for key, all in output["members_at_end"].items()}
        best = min(members, key=members.get)
        inside = [100 * np.nanmean([np.where(np.isnan(y), np.nan, (l <= y) & (y <= h)).mean() if not np.isnan(y).any()
                                    else ((l <= y) & (y <= h))[~np.isnan(y)].mean()
                                    for l, h, y in zip(low, high, tests)]) for low, high in output["inside"]]
        row = [name, len(series), mase(output["blend"], tests, scales), members[best], best, others["AutoETS"],
               others["AutoTheta"], others.get("MSTL", np.nan), others["SeasonalNaive"], *inside, seconds,
               cache[name]["AutoETS"][1], cache[name]["AutoTheta"][1]]
        table.append(row)
        panels.append({
            "panel": name,
            "series": len(series),
            "horizon": horizon,
            "mase": {"blend": row[2], "best_base_learner": members[best], **others},
            "best_base_learner": best,
            "coverage": {"80": inside[0], "95": inside[1]},
            "cpu_seconds": {"blend": seconds, **{key: value[1] for key, value in cache[name].items()}},
        })
        print(*[f"{x:.3f}" if isinstance(x, float) else x for x in row], output["rule"], sep="\t", flush=True)
    frame = pd.DataFrame(table, columns=head)
    within = frame.blend <= 1.02 * frame.best
    summary = (
        f"blend within 2 % of the best base learner or better on {within.sum()} of {len(frame)} panels; "
        f"median of blend / best {(frame.blend / frame.best).median():.3f}, / AutoETS "
        f"{(frame.blend / frame.AutoETS).median():.3f}, / AutoTheta {(frame.blend / frame.AutoTheta).median():.3f}; "
        f"coverage: mean {frame['80 %'].mean():.1f} and {frame['95 %'].mean():.1f}, "
        f"within 75-88 on {frame['80 %'].between(75, 88).sum()}, within 91-98 on {frame['95 %'].between(91, 98).sum()}"
    )
    print(frame.round(3).to_string(index=False))
    print(summary)
    if arguments.save:
        rounded = json.loads(json.dumps(panels), parse_float=lambda text: float(f"{float(text):.4g}"))
        records.save(arguments.save, {
            "format": 1,
            "kind": "panels",
            "date": datetime.date.today().isoformat(),
            "command": "python bench/base_series.py",
            "panels": rounded,
        })
    if arguments.markdown:
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in row) + " |" for row in table]
        Path(arguments.markdown).write_text("\n".join(lines) + "\n\n" + summary + "\n")


if __name__ == "__main__":
    main()
