"""Compares the local search for the travelling salesman of two builds at the same amount of work.

    git worktree add ../before COMMIT
    (cd ../before && cargo build --release -p regard-routing --example tsplib_gaps)
    cargo build --release -p regard-routing --example tsplib_gaps
    python3 bench/search.py ../before/target/release/examples/tsplib_gaps target/release/examples/tsplib_gaps

Writes results/search-tsplib.json: means over the files and seeds. Time is that of the thread on the processor, so
that other processes do not change it. TSPLIB comes from the folder that REGARD_SHARED names.
"""

import argparse
import csv
import os
import statistics
import subprocess
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("REGARD_SHARED", ROOT.parent / "shared")) / "data/routes/tsplib"
SIZES = ((400, 800), (800, 1200), (1200, 3000))


def measure(program, work, seeds):
    """Means by size: seconds, gap and the share of runs that end with an optimum."""
    words = [program, FOLDER, "--places", f"{SIZES[0][0]}..{SIZES[-1][1]}", "--work", work, "--seeds", seeds]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    runs = [(int(row[1]), float(row[4]), float(row[5])) for row in csv.reader(done.stdout.splitlines()[1:])]
    for low, high in SIZES:
        some = [(seconds, gap) for places, seconds, gap in runs if low <= places < high]
        yield {
            "places": [low, high],
            "work": work,
            "runs": len(some),
            "cpu_seconds": round(statistics.mean(seconds for seconds, _ in some), 3),
            "gap_percent": round(statistics.mean(gap for _, gap in some), 4),
            "median_gap_percent": round(statistics.median(gap for _, gap in some), 4),
            "optimal": sum(gap <= 0 for _, gap in some),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--work", default="20", help="perturbations per node, separated by commas")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    amounts = [int(part) for part in arguments.work.split(",")]
    programs = {"before": arguments.before, "after": arguments.after}
    builds = {
        name: [row for work in amounts for row in measure(program, work, arguments.seeds)]
        for name, program in programs.items()
    }
    record = {"format": 1, "kind": "search", "machine": machine.description(), "commit": machine.commit(ROOT), "builds": builds}
    records.save(ROOT / "results/search-tsplib.json", record)


if __name__ == "__main__":
    main()
