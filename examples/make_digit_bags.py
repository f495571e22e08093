"""Makes `digit_bags.csv` and `digit_bags_rows.csv` from `experiments/sets/digits.npz`.

    pip install numpy
    python examples/make_digit_bags.py

Bags of handwritten digits in the manner of Ilse, Tomczak & Welling, "Attention-based Deep Multiple Instance Learning",
2018: a bag is said to have a nine or not, and not which of its images is one. Every image stands in one bag at most.
"""

import csv
from pathlib import Path

import numpy as np

BAGS, SIZES, NINE, SEED = 160, range(4, 10), 9, 1234
FOLDER = Path(__file__).resolve().parent


def main():
    digits = np.load(FOLDER.parent / "experiments/sets/digits.npz")
    images, labels = digits["images"], digits["labels"]
    draw = np.random.default_rng(SEED)
    nines, others = (list(draw.permutation(np.flatnonzero(mask))) for mask in (labels == NINE, labels != NINE))
    pixels = [f"p{row}{column}" for row in range(8) for column in range(8)]
    with open(FOLDER / "digit_bags.csv", "w", newline="") as bags, open(FOLDER / "digit_bags_rows.csv", "w", newline="") as rows:
        bags, rows = csv.writer(bags, lineterminator="\n"), csv.writer(rows, lineterminator="\n")
        bags.writerow(["bag", "has_nine", *pixels])
        rows.writerow(["bag", "row", "digit"])
        for bag in range(BAGS):
            size = int(draw.choice(SIZES))
            count = int(draw.integers(1, 3)) if bag % 2 else 0
            chosen = draw.permutation([nines.pop() for _ in range(count)] + [others.pop() for _ in range(size - count)])
            for row, image in enumerate(chosen, 1):
                bags.writerow([f"bag{bag + 1}", "yes" if count else "no", *images[image]])
                rows.writerow([f"bag{bag + 1}", row, labels[image]])


if __name__ == "__main__":
    main()
