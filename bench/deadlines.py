"""Checks that `regard solve --time` keeps its end on a busy machine and that more time gives no longer routes.

    python3 bench/deadlines.py target/release/regard [--times 1,2,5] [--busy 0,4,12]

Solves 30 instances of four problems in three sizes for every time, beside so many processes that do nothing but keep
a core busy, and writes results/deadlines.json. TSPLIB and CVRPLIB come from the folder that REGARD_SHARED names;
instances of the other problems are generated.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("REGARD_SHARED", ROOT.parent / "shared")) / "data/routes"
# Problem, size in words, files.
FILES = [
    ("TSP", "100 to 200", ["tsplib/kroC100.tsp", "tsplib/ch130.tsp", "tsplib/d198.tsp"]),
    ("TSP", "400 to 700", ["tsplib/rd400.tsp", "tsplib/rat575.tsp", "tsplib/p654.tsp"]),
    ("TSP", "1,000 to 2,400", ["tsplib/dsj1000.tsp", "tsplib/vm1084.tsp", "tsplib/pr2392.tsp"]),
    ("CVRP", "100 to 200", ["cvrplib/X/X-n101-k25.vrp", "cvrplib/X/X-n143-k7.vrp", "cvrplib/X/X-n200-k36.vrp"]),
    ("CVRP", "300 to 400", ["cvrplib/X/X-n298-k31.vrp", "cvrplib/X/X-n344-k43.vrp", "cvrplib/X/X-n367-k17.vrp"]),
    ("CVRP", "500 to 1,000", ["cvrplib/X/X-n876-k59.vrp", "cvrplib/X/X-n936-k151.vrp", "cvrplib/X/X-n1001-k43.vrp"]),
]
GENERATED = [(problem, size) for problem in ("OP", "PCTSP") for size in (100, 400, 1000)]
# The end may be missed by this share and by so many seconds.
SHARE, SECONDS = 0.05, 0.02
SPIN = "while True: pass"


def instances(program, folder):
    """Problem, size and path of every instance."""
    found = [(problem, size, SHARED / name) for problem, size, names in FILES for name in names]
    for problem, size in GENERATED:
        out = Path(folder) / f"{problem}-{size}"
        words = ["data", "generate", "--problem", problem.lower(), "--n", size, "--instances", 2, "--out", out]
        subprocess.run([program, "-q", *map(str, words)], check=True, capture_output=True)
        found += [(problem, f"{size:,}", path) for path in sorted(out.glob("*.csv"))]
    return found


def solve(program, path, seconds):
    """What the program reports about one instance, and the seconds of the whole process."""
    begun = time.monotonic()
    words = [program, "-q", "solve", str(path), "--time", f"{seconds}s", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    return json.loads(done.stdout), time.monotonic() - begun


def measure(program, busy, times, found):
    """One row for each instance and time."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(busy)]
    try:
        for problem, size, path in found:
            for seconds in times:
                answer, whole = solve(program, path, seconds)
                constructed = [stage["cost"] for stage in answer["stages"] if stage["by"] == "construct"]
                yield {
                    "problem": problem,
                    "size": size,
                    "instance": answer["instance"],
                    "busy": busy,
                    "time": seconds,
                    "cost": answer["cost"],
                    "gap": answer.get("gap"),
                    "constructed": constructed[0] if constructed else None,
                    "seconds": round(answer["seconds"], 4),
                    "process_seconds": round(whole, 4),
                }
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def report(rows):
    """Prints what was kept and what was not; returns the number of deadlines missed."""
    late = [row for row in rows if row["seconds"] > row["time"] * (1 + SHARE) + SECONDS]
    for row in late:
        print(f"late: {row['problem']} {row['instance']}, {row['busy']} busy, {row['time']} s: {row['seconds']} s")
    for busy in sorted({row["busy"] for row in rows}):
        for seconds in sorted({row["time"] for row in rows}):
            some = [row for row in rows if (row["busy"], row["time"]) == (busy, seconds)]
            over = max(row["seconds"] - seconds for row in some)
            gaps = [row["gap"] for row in some if row["gap"] is not None]
            print(f"{busy} busy, {seconds} s: {1000 * over:.0f} ms over at most, mean gap {100 * statistics.mean(gaps):.3f} %")
    return len(late)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--times", default="1,2,5", help="seconds, separated by commas")
    parser.add_argument("--busy", default="0,4,12", help="numbers of busy processes, separated by commas")
    arguments = parser.parse_args()
    numbers = lambda text: [int(part) for part in text.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        found = instances(arguments.program, folder)
        for busy in numbers(arguments.busy):
            rows += measure(arguments.program, busy, numbers(arguments.times), found)
    late = report(rows)
    record = {
        "format": 1,
        "kind": "deadlines",
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "load": os.getloadavg()[1],
        "rows": rows,
    }
    records.save(ROOT / "results/deadlines.json", record)
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
