"""Writes examples/station.csv: made-up hourly loads and oil temperature of a transformer, with the columns of ETTh1."""

import datetime
import math
import random
from pathlib import Path

# Mean, daily and half-daily swing, noise; the oil follows the loads slowly.
LOADS = {"HUFL": (8, 5, 2, 1.2), "HULL": (2, 1.2, 0.5, 0.5), "MUFL": (5, 4.5, 1.8, 1), "MULL": (1, 0.8, 0.3, 0.4), "LUFL": (3, 1, 0.4, 0.3), "LULL": (0.8, 0.3, 0.1, 0.15)}
HOURS = 400


def main():
    draw = random.Random(11)
    start = datetime.datetime(2026, 1, 5)
    noise, oil = dict.fromkeys(LOADS, 0.0), 14.0
    lines = ["date," + ",".join(LOADS) + ",OT"]
    for hour in range(HOURS):
        now = start + datetime.timedelta(hours=hour)
        angle = 2 * math.pi * (now.hour - 8) / 24
        values = []
        for name, (mean, day, half, spread) in LOADS.items():
            noise[name] = 0.7 * noise[name] + draw.gauss(0, spread)
            rest = 0.8 if now.weekday() >= 5 else 1.0
            values.append(rest * (mean + day * math.sin(angle) + half * math.sin(2 * angle)) + noise[name])
        oil += 0.05 * (8 + 0.9 * values[0] - oil) + draw.gauss(0, 0.3)
        lines.append(f"{now:%Y-%m-%d %H:%M:%S}," + ",".join(f"{value:.3f}" for value in [*values, oil]))
    Path(__file__).with_name("station.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
