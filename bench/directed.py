"""Compares `regard solve` with LKH and PyVRP where distances differ by direction.

    pip install elkai==2.0.1 pyvrp==0.14.1
    python bench/directed.py target/release/regard [--time 10] [--seed 1234] [--save results/directed.json]

Places and heights are drawn at random; a way is as long as the straight line, and longer by what it climbs, rounded to whole
numbers. Tours are compared with LKH (by way of elkai), which has no time limit and runs to its end, vehicle routes with PyVRP,
which has the same limit at the same time. Each program has one core; nothing else should run meanwhile. Every cost is computed
again here.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import elkai
import numpy as np
import pyvrp
from pyvrp.stop import MaxRuntime

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
SIZES = (50, 100, 200, 500, 1000)
CAPACITY = 100


def ways(nodes, seed):
    """Distances `[nodes, nodes]` and demands; the depot comes first."""
    draw = np.random.default_rng(seed)
    places, heights = draw.integers(0, 1000, (nodes, 2)), draw.integers(0, 1000, nodes)
    flat = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    matrix = np.rint(flat + np.maximum(heights[None] - heights[:, None], 0)).astype(int)
    np.fill_diagonal(matrix, 0)
    return matrix, np.r_[0, draw.integers(1, 10, nodes - 1)]


def write(path, matrix, demands):
    """A TSPLIB file; vehicle routes where there are demands."""
    kind = "ATSP" if demands is None else f"ACVRP\nCAPACITY: {CAPACITY}"
    rows = "\n".join(" ".join(map(str, row)) for row in matrix)
    text = f"TYPE: {kind}\nDIMENSION: {len(matrix)}\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n{rows}\n"
    if demands is not None:
        loads = "\n".join(f"{node} {demand}" for node, demand in enumerate(demands, 1))
        text += f"DEMAND_SECTION\n{loads}\nDEPOT_SECTION\n1\n-1\n"
    path.write_text(text + "EOF\n")


def length(matrix, tour):
    """Length of a closed tour."""
    return int(sum(matrix[a, b] for a, b in zip(tour, [*tour[1:], tour[0]])))


def start(arguments, path, core):
    """Begins a search on one core."""
    words = [arguments.program, "-q", "--threads", 1, "--seed", arguments.seed, "--json", "solve", path]
    words += ["--time", f"{arguments.time}s"]
    return subprocess.Popen(["taskset", "-c", str(core), *map(str, words)], stdout=subprocess.PIPE, text=True)


def answer(running):
    """The solution of a search."""
    found = json.loads(running.communicate()[0] or "{}")
    if running.returncode:
        sys.exit(f"regard ended with exit code {running.returncode}")
    return found


def tour(arguments, path, matrix, cores):
    """Costs and times of tours."""
    write(path, matrix, None)
    running = start(arguments, path, cores[0])
    os.sched_setaffinity(0, {cores[1]})
    began = time.monotonic()
    theirs = elkai.DistanceMatrix(matrix.tolist()).solve_tsp(runs=1)[:-1]
    seconds = time.monotonic() - began
    os.sched_setaffinity(0, set(cores))
    found = answer(running)
    assert sorted(theirs) == list(range(len(matrix))) and found["cost"] == length(matrix, [int(node) - 1 for node in found["tour"]])
    return {"regard": (found["cost"], found["seconds"]), "lkh": (length(matrix, theirs), seconds)}


def routes(arguments, path, matrix, demands, cores):
    """Costs and times of vehicle routes."""
    write(path, matrix, demands)
    model = pyvrp.Model()
    places = [model.add_location(0, 0) for _ in matrix]
    model.add_depot(places[0])
    model.add_vehicle_type(len(matrix), CAPACITY)
    for place, demand in zip(places[1:], demands[1:]):
        model.add_client(place, int(demand))
    for a, one in enumerate(places):
        for b, other in enumerate(places):
            model.add_edge(one, other, distance=int(matrix[a, b]))
    data = model.data()
    running = start(arguments, path, cores[0])
    os.sched_setaffinity(0, {cores[1]})
    result = pyvrp.solve(data, MaxRuntime(arguments.time), seed=arguments.seed, collect_stats=False)
    os.sched_setaffinity(0, set(cores))
    found = answer(running)
    ours = pyvrp.Solution(data, [[int(node) - 2 for node in route] for route in found["routes"]])
    assert ours.is_feasible() and ours.distance() == found["cost"] and result.is_feasible()
    return {"regard": (found["cost"], found["seconds"]), "pyvrp": (result.best.distance(), result.runtime)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--time", type=float, default=10, help="seconds of each search")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--save", type=Path, default=ROOT / "results/directed.json")
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    cores, rows = sorted(os.sched_getaffinity(0))[:2], []
    if len(cores) < 2:
        sys.exit("two cores are needed, one for each program")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ways.atsp"
        for nodes in SIZES:
            matrix, demands = ways(nodes, nodes)
            for problem in ("tsp", "cvrp"):
                found = tour(arguments, path, matrix, cores) if problem == "tsp" else routes(arguments, path, matrix, demands, cores)
                rows.append({"problem": problem, "nodes": nodes, **{name: {"cost": cost, "seconds": round(taken, 2)} for name, (cost, taken) in found.items()}})
                print(rows[-1], flush=True)
                cores.reverse()
    record = {
        "format": 1,
        "kind": "directed",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "versions": {name: version(name) for name in ("elkai", "pyvrp")} | {"python": platform.python_version()},
        "seconds": arguments.time,
        "seed": arguments.seed,
        "rows": rows,
    }
    records.save(arguments.save, record)


if __name__ == "__main__":
    main()
