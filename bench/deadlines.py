"""Checks that `regard solve --time` keeps its end on a busy machine, that no answer is worse than construction and 2-opt,
and that more time gives no longer routes.

    python3 bench/deadlines.py target/release/regard [--times 0.02,0.1,1,2,5] [--busy 0,4,12]

Exit status 1: an end was missed by more than 5 % and 20 ms, an answer of the travelling salesman's or the vehicles' problem is
worse than construction and 2-opt (the program's savings without a time limit, and for tours 2-opt, here), or the median gap grows
with the time.

Solves 30 instances of four problems in three sizes for every time, beside so many processes that do nothing but keep
a core busy, and writes results/deadlines.json. TSPLIB and CVRPLIB come from the folder that REGARD_SHARED names;
instances of the other problems are generated.
"""

import argparse
import json
import math
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
# A median gap may grow by this much from one time to the next: chance, not decline.
NOISE = 0.001


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


def nearest(places, count=10):
    """The nearest places of each, from a raster with about two places a cell."""
    low = [min(place[axis] for place in places) for axis in (0, 1)]
    high = [max(place[axis] for place in places) for axis in (0, 1)]
    size = max(math.sqrt(2 * max(high[0] - low[0], 1e-9) * max(high[1] - low[1], 1e-9) / len(places)), 1e-9)
    cells = {}
    cell = lambda place: tuple(int((place[axis] - low[axis]) / size) for axis in (0, 1))
    for number, place in enumerate(places):
        cells.setdefault(cell(place), []).append(number)
    lists = []
    for number, place in enumerate(places):
        (x, y), around, reach = cell(place), [], 0
        while len(around) <= count and reach < 2 * len(places):
            reach += 1 if reach == 0 else reach
            span = range(-reach, reach + 1)
            around = [other for i in span for j in span for other in cells.get((x + i, y + j), ()) if other != number]
            if len(around) >= min(count, len(places) - 1):
                break
        lists.append(sorted(around, key=lambda other: math.dist(place, places[other]))[:count])
    return lists


def simple_tour(path):
    """Length of the tour by nearest neighbours and 2-opt between near places, in the metric of the file; None for others
    than EUC_2D."""
    text = path.read_text()
    if "EUC_2D" not in text:
        return None
    rows = [line.split() for line in text.split("NODE_COORD_SECTION")[1].split("EOF")[0].strip().splitlines()]
    places = [(float(x), float(y)) for _, x, y in rows]
    length = lambda a, b: int(math.dist(places[a], places[b]) + 0.5)
    near, tour, left = nearest(places), [0], set(range(1, len(places)))
    while left:
        last = tour[-1]
        step = next((other for other in near[last] if other in left), None)
        step = min(left, key=lambda other: math.dist(places[last], places[other])) if step is None else step
        tour.append(step)
        left.remove(step)
    position = {node: at for at, node in enumerate(tour)}
    improved = True
    while improved:
        improved = False
        for a in range(len(places)):
            for b in near[a]:
                i, j = sorted((position[a], position[b]))
                after = [tour[(i + 1) % len(tour)], tour[(j + 1) % len(tour)]]
                ends = [tour[i], tour[j]]
                gain = length(ends[0], after[0]) + length(ends[1], after[1]) - length(*ends) - length(*after)
                if gain > 0:
                    tour[i + 1 : j + 1] = reversed(tour[i + 1 : j + 1])
                    position.update((node, at) for at, node in enumerate(tour[i + 1 : j + 1], i + 1))
                    improved = True
    return sum(length(tour[at - 1], tour[at]) for at in range(len(tour)))


def simple(program, problem, path):
    """Cost of construction and 2-opt: of the two for tours, of the program's savings for vehicles; None for others."""
    if problem == "TSP":
        return simple_tour(path)
    if problem != "CVRP":
        return None
    words = [program, "-q", "solve", str(path), "--no-improve", "--json"]
    stages = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["stages"]
    constructed = [stage["cost"] for stage in stages if stage["by"] == "construct"]
    return constructed[0] if constructed else None


def measure(program, busy, times, found, bounds):
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
                    "simple": bounds[path],
                    "seconds": round(answer["seconds"], 4),
                    "process_seconds": round(whole, 4),
                }
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def report(rows):
    """Prints what was kept and what was not; returns the number of faults."""
    late = [row for row in rows if row["seconds"] > row["time"] * (1 + SHARE) + SECONDS]
    for row in late:
        print(f"late: {row['problem']} {row['instance']}, {row['busy']} busy, {row['time']} s: {row['seconds']} s")
    for busy in sorted({row["busy"] for row in rows}):
        for seconds in sorted({row["time"] for row in rows}):
            some = [row for row in rows if (row["busy"], row["time"]) == (busy, seconds)]
            over = max(row["seconds"] - seconds for row in some)
            gaps = [row["gap"] for row in some if row["gap"] is not None]
            print(f"{busy} busy, {seconds} s: {1000 * over:.0f} ms over at most, mean gap {100 * statistics.mean(gaps):.3f} %")
    worse = [row for row in rows if row["simple"] is not None and row["cost"] > row["simple"]]
    for row in worse:
        print(f"worse than the simple thing: {row['problem']} {row['instance']}, {row['busy']} busy, {row['time']} s: "
              f"{row['cost']} against {row['simple']}")
    growing = 0
    for busy in sorted({row["busy"] for row in rows}):
        medians = []
        for seconds in sorted({row["time"] for row in rows}):
            gaps = [row["gap"] for row in rows if (row["busy"], row["time"]) == (busy, seconds) and row["gap"] is not None]
            medians.append((seconds, statistics.median(gaps)))
        for (less, before), (more, after) in zip(medians, medians[1:]):
            if after > before + NOISE:
                growing += 1
                print(f"more time, longer routes: {busy} busy, {less} s: {100 * before:.3f} %, {more} s: {100 * after:.3f} %")
    return len(late) + len(worse) + growing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--times", default="0.02,0.1,1,2,5", help="seconds, separated by commas")
    parser.add_argument("--busy", default="0,4,12", help="numbers of busy processes, separated by commas")
    arguments = parser.parse_args()
    numbers = lambda text: [float(part) if "." in part else int(part) for part in text.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        found = instances(arguments.program, folder)
        bounds = {path: simple(arguments.program, problem, path) for problem, _, path in found}
        for busy in numbers(arguments.busy):
            rows += measure(arguments.program, busy, numbers(arguments.times), found, bounds)
    faults = report(rows)
    record = {
        "format": 1,
        "kind": "deadlines",
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "load": os.getloadavg()[1],
        "rows": rows,
    }
    records.save(ROOT / "results/deadlines.json", record)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
