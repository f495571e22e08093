"""Compares `regard solve` with Concorde's heuristics on tours through very many places.

    python bench/large.py target/release/regard CONCORDE [--places 10000,100000] [--time 60] [--seed 1234]
                          [--save results/large.json]

CONCORDE is a folder with the built sources of Concorde (github.com/matthelb/concorde, commit of the record):
`LINKERN/linkern` is chained Lin-Kernighan, `KDTREE/kdtree -g -Z -h` the greedy tour with 2-opt and moves of segments. Places
are uniform in a square, and thick around a hundred centres; distances are rounded to whole numbers (EUC_2D). All programs
run on one core; regard and chained Lin-Kernighan at the same time on two, and they change cores after every instance. The
length of every tour is computed here from its places.

Exit status 1: a program gave something else than a tour through all places.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
SIDE = 1_000_000
CENTRES = 100
# The optimum of n uniform places is asymptotically 0.7124 sqrt(n A) long (Beardwood, Halton & Hammersley 1959; Johnson & McGeoch
# 1996); in a square of finite n it is longer, since places at the border have fewer neighbours.
ASYMPTOTE = 0.7124


def instance(kind, count, seed):
    """Different places of an instance."""
    draws = random.Random(seed)
    centres = [(draws.random(), draws.random()) for _ in range(CENTRES)]
    places = {}
    while len(places) < count:
        x, y = draws.random(), draws.random()
        if kind == "clustered":
            x, y = (middle + draws.gauss(0, 0.02) for middle in draws.choice(centres))
        if 0 <= x < 1 and 0 <= y < 1:
            places[int(SIDE * x), int(SIDE * y)] = None
    return list(places)


def length(places, tour):
    """Length of a tour; ends the program where it is none."""
    if sorted(tour) != list(range(len(places))):
        sys.exit("this is no tour through all places")
    steps = zip(tour, tour[1:] + tour[:1])
    return sum(int(math.dist(places[a], places[b]) + 0.5) for a, b in steps)


def run(words, core, folder):
    words = ["taskset", "-c", str(core), *map(str, words)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def answer_of(process):
    """Standard output of a program; ends this one where it failed."""
    out, said = process.communicate()
    if process.returncode:
        sys.exit(f"{process.args[3]} ended with exit code {process.returncode}: {said}")
    return out


def cycle(path):
    """A tour as Concorde writes it: the number of places, and their order or their edges."""
    lines = path.read_text().splitlines()
    rows = [[int(word) for word in line.split()] for line in lines[1:]]
    if not all(len(row) == 3 for row in rows):
        return [node for row in rows for node in row]
    # Edges stand in the order of the tour, with their lengths.
    if any(row[1] != after[0] for row, after in zip(rows, rows[1:])):
        sys.exit(f"{path}: the edges are in no order")
    return [row[0] for row in rows]


def measure(program, concorde, kind, count, seconds, seed, cores):
    places = instance(kind, count, seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        file = folder / "places.tsp"
        lines = [f"{at} {x} {y}" for at, (x, y) in enumerate(places, 1)]
        head = ["NAME : places", "TYPE : TSP", f"DIMENSION : {count}", "EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
        file.write_text("\n".join([*head, *lines, "EOF\n"]))
        ours = ["-q", "--threads", 1, "--seed", seed, "--json", "solve", file, "--time", f"{seconds}s", "--out", folder / "ours.tour"]
        # Kicks without end: the time ends the search.
        chained = ["-s", seed, "-R", 1 << 30, "-t", seconds, "-Q", "-o", folder / "chained.cyc", file]
        begun = time.time()
        both = [run([program, *ours], cores[0], folder), run([concorde / "LINKERN/linkern", *chained], cores[1], folder)]
        answer = json.loads(answer_of(both[0]))
        ended = time.time() - begun
        answer_of(both[1])
        taken = {"regard": ended, "linkern": time.time() - begun}
        begun = time.time()
        greedy = [concorde / "KDTREE/kdtree", "-g", "-Z", "-h", "-s", seed, "-o", folder / "greedy.cyc", file]
        answer_of(run(greedy, cores[1], folder))
        taken["greedy"] = time.time() - begun
        tour = [int(line) - 1 for line in (folder / "ours.tour").read_text().split("TOUR_SECTION\n")[1].split("\n-1")[0].split()]
        costs = {"regard": length(places, tour), "linkern": length(places, cycle(folder / "chained.cyc"))}
        costs["greedy"] = length(places, cycle(folder / "greedy.cyc"))
        if costs["regard"] != answer["cost"]:
            sys.exit(f"regard says {answer['cost']}, its tour is {costs['regard']} long")
    row = {"kind": kind, "places": count, "cost": costs, "seconds": {name: round(one, 2) for name, one in taken.items()}}
    if kind == "uniform":
        row["asymptote"] = round(ASYMPTOTE * math.sqrt(count) * SIDE)
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("concorde", type=Path)
    parser.add_argument("--places", default="10000,100000", help="sizes, separated by commas")
    parser.add_argument("--time", type=float, default=60, help="seconds of each program for each instance")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--save", type=Path, default=ROOT / "results/large.json")
    arguments = parser.parse_args()
    cores, rows = sorted(os.sched_getaffinity(0))[:2], []
    if len(cores) < 2:
        sys.exit("two cores are needed, one for each program")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=arguments.concorde, capture_output=True, text=True)
    for count in map(int, arguments.places.split(",")):
        for kind in ("uniform", "clustered"):
            words = arguments.program.resolve(), arguments.concorde.resolve(), kind, count
            rows.append(measure(*words, arguments.time, arguments.seed, cores))
            cores.reverse()
    record = {
        "format": 1,
        "kind": "large",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "concorde": commit.stdout.strip(),
        "seconds": arguments.time,
        "seed": arguments.seed,
        "rows": rows,
    }
    records.save(arguments.save, record)


if __name__ == "__main__":
    main()
