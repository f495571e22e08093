"""Compares `regard solve` with OR-Tools on pickup and delivery: one vehicle, each pickup before its delivery.

    pip install ortools==9.15.6755
    python bench/pickup_delivery.py target/release/regard [--time 10] [--instances 5] [--save results/pickup-delivery.json]

Places are uniform in a square, half of them pickups, as RL4CO draws them. OR-Tools (routing with the cheapest insertion in
parallel, then guided local search) has the same time limit at the same time. Each program has one core, and they change cores
after every instance; nothing else should run meanwhile. Every length is computed again here.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ortools.constraint_solver import pywrapcp, routing_enums_pb2

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
SIZES = (20, 50, 100, 200, 500, 1000)
SIDE = 1_000_000


def write(path, places):
    """A table; the load of a node in the second half is picked up at that in the first half."""
    pairs = (len(places) - 1) // 2
    pickup = lambda node: node - pairs if node > pairs else ""
    rows = "".join(f"{node},{x},{y},{pickup(node)}\n" for node, (x, y) in enumerate(places))
    path.write_text(f"id,x,y,pickup\n{rows}")


def length(places, visits):
    """Length of the trip from the depot through these nodes; each has to be there once, after its pickup."""
    pairs = (len(places) - 1) // 2
    at = {node: place for place, node in enumerate(visits)}
    assert sorted(visits) == list(range(1, len(places))) and all(at[node] < at[node + pairs] for node in range(1, pairs + 1))
    return sum(math.dist(places[a], places[b]) for a, b in zip([0, *visits], [*visits, 0]))


def peer(places, seconds):
    """The trip that OR-Tools finds."""
    pairs = (len(places) - 1) // 2
    distances = np.rint(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))).astype(int).tolist()
    manager = pywrapcp.RoutingIndexManager(len(places), 1, 0)
    routing = pywrapcp.RoutingModel(manager)
    way = routing.RegisterTransitMatrix(distances)
    routing.SetArcCostEvaluatorOfAllVehicles(way)
    routing.AddDimension(way, 0, 4 * SIDE * len(places), True, "way")
    travelled, solver = routing.GetDimensionOrDie("way"), routing.solver()
    for node in range(1, pairs + 1):
        pickup, delivery = manager.NodeToIndex(node), manager.NodeToIndex(node + pairs)
        routing.AddPickupAndDelivery(pickup, delivery)
        solver.Add(travelled.CumulVar(pickup) <= travelled.CumulVar(delivery))
    options = pywrapcp.DefaultRoutingSearchParameters()
    options.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PARALLEL_CHEAPEST_INSERTION
    options.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    options.time_limit.FromMilliseconds(int(1000 * seconds))
    solution = routing.SolveWithParameters(options)
    if solution is None:
        return None
    visits, index = [], solution.Value(routing.NextVar(routing.Start(0)))
    while not routing.IsEnd(index):
        visits.append(manager.IndexToNode(index))
        index = solution.Value(routing.NextVar(index))
    return visits


def both(arguments, path, places, cores):
    """Lengths of both programs; that of OR-Tools is none where it finds no trip in time."""
    write(path, places)
    words = [arguments.program, "-q", "--threads", 1, "--json", "solve", path, "--time", f"{arguments.time}s"]
    running = subprocess.Popen(["taskset", "-c", str(cores[0]), *map(str, words)], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(0, {cores[1]})
    theirs = peer(places, arguments.time)
    os.sched_setaffinity(0, set(cores))
    found = json.loads(running.communicate()[0] or "{}")
    if running.returncode:
        sys.exit(f"regard ended with exit code {running.returncode}")
    visits = [int(node) for node in found["tour"] if node != "0"]
    ours = length(places, visits)
    assert abs(ours - found["cost"]) < 1e-6 * ours
    return ours, theirs and length(places, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--time", type=float, default=10, help="seconds of each search")
    parser.add_argument("--instances", type=int, default=5, help="instances of each size")
    parser.add_argument("--save", type=Path, default=ROOT / "results/pickup-delivery.json")
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    cores, rows = sorted(os.sched_getaffinity(0))[:2], []
    if len(cores) < 2:
        sys.exit("two cores are needed, one for each program")
    with tempfile.TemporaryDirectory() as folder:
        for nodes in SIZES:
            draw = np.random.default_rng(nodes)
            lengths = []
            for _ in range(arguments.instances):
                places = draw.integers(0, SIDE, (nodes + 1, 2))
                lengths.append([found and found / SIDE for found in both(arguments, Path(folder) / "loads.csv", places, cores)])
                cores.reverse()
            rows.append({"nodes": nodes, "regard": [ours for ours, _ in lengths], "ortools": [theirs for _, theirs in lengths]})
            print(rows[-1], flush=True)
    record = {
        "format": 1,
        "kind": "pickup-delivery",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "versions": {"ortools": version("ortools"), "python": platform.python_version()},
        "seconds": arguments.time,
        "rows": rows,
    }
    records.save(arguments.save, record)


if __name__ == "__main__":
    main()
