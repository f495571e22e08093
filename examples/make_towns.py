"""Makes `towns.csv`: households of three invented towns, each of four quarters.

    python examples/make_towns.py
"""

import csv
import math
import random
from pathlib import Path

# Name, households, width in kilometres, deviation of a quarter as a share of it.
TOWNS = (("Aldermere", 420, 12.0, 0.045), ("Brackwater", 250, 5.0, 0.06), ("Caldbeck", 130, 2.4, 0.05))
# Quarters of a town, how far apart their middles are at least, as a share of its width, and a seed.
QUARTERS, APART, SEED = 4, 0.2, 21


def main():
    draw = random.Random(SEED)
    with open(Path(__file__).resolve().parent / "towns.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["town", "east_km", "north_km"])
        for town, households, width, share in TOWNS:
            centres = []
            while len(centres) < QUARTERS:
                place = draw.uniform(0, width), draw.uniform(0, width)
                if all(math.dist(place, other) > APART * width for other in centres):
                    centres.append(place)
            weights = [draw.uniform(0.3, 1.0) for _ in range(QUARTERS)]
            for _ in range(households):
                place = draw.choices(centres, weights)[0]
                table.writerow([town, *(f"{draw.gauss(at, share * width):.3f}" for at in place)])


if __name__ == "__main__":
    main()
