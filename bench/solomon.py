"""Compares `regard solve` with PyVRP on Solomon's instances with time windows.

    pip install pyvrp==0.14.1
    python bench/solomon.py target/release/regard [FOLDER] [--time 10] [--seed 1234] [--only NAME,NAME]
                            [--save results/solomon.json]

Both solve the same file at the same time, each on one core, and change cores after every file. Nothing else should run
meanwhile: the share of processor time that others took is measured, printed and saved. Distances and driving times are
cut to one decimal (the rule of the 12th DIMACS Implementation Challenge), the total distance counts, and the number of
vehicles of the file is a limit. Each solution is checked by the other program. FOLDER has files in Solomon's format,
named C101.txt to RC208.txt; the default is that of the folder that REGARD_SHARED names.

Exit status 1: a solution violates a rule of the other program, or its distance differs there.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import pyvrp
from pyvrp.stop import MaxRuntime

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("REGARD_SHARED", ROOT.parent / "shared")) / "data/routes/solomon"
# Best-known distances of CVRPLIB by class, from the solutions in tests/data/cvrplib/Vrp-Set-Solomon of
# github.com/PyVRP/VRPLIB, commit cb2406f; `regard data verify` confirms each of them.
BEST_KNOWN = {
    "C1": (827.3, 827.3, 826.3, 822.9, 827.3, 827.3, 827.3, 827.3, 827.3),
    "C2": (589.1, 589.1, 588.7, 588.1, 586.4, 586.0, 585.8, 585.8),
    "R1": (1637.7, 1466.6, 1208.7, 971.5, 1355.3, 1234.6, 1064.6, 932.1, 1146.9, 1068.0, 1048.7, 948.6),
    "R2": (1143.2, 1029.6, 870.8, 731.3, 949.8, 875.9, 794.0, 701.0, 854.8, 900.5, 746.7),
    "RC1": (1619.8, 1457.4, 1258.0, 1132.3, 1513.7, 1372.7, 1207.8, 1114.2),
    "RC2": (1261.8, 1092.3, 923.7, 783.5, 1154.0, 1051.1, 962.9, 776.1),
}
SOLVERS = ("regard", "pyvrp")
# PyVRP computes with whole numbers: tenths.
TENTHS = 10


def best_known(name):
    """Best-known distance of an instance."""
    return BEST_KNOWN[name[:-2]][int(name[-2:]) - 1]


def instances(folder, only):
    """Name and path of every instance, in the order of the names."""
    found = {path.stem.upper(): path for path in folder.glob("*.txt")}
    names = only.upper().split(",") if only else sorted(found)
    if missing := [name for name in names if name not in found]:
        sys.exit(f"{folder}: has no file of {', '.join(missing)}")
    return [(name, found[name]) for name in names]


def problem(path):
    """A file as data of PyVRP, in tenths."""
    lines = [line.split() for line in path.read_text().splitlines()]
    rows = [[int(word) for word in words] for words in lines if words and words[0].isdigit()]
    (vehicles, capacity), (depot, *customers) = rows[0], rows[1:]
    model = pyvrp.Model()
    places = [model.add_location(x, y) for _, x, y, *_ in rows[1:]]
    model.add_depot(places[0])
    _, _, _, _, opens, closes, _ = depot
    model.add_vehicle_type(vehicles, capacity, tw_early=TENTHS * opens, tw_late=TENTHS * closes)
    for place, (_, _, _, demand, ready, due, service) in zip(places[1:], customers):
        model.add_client(place, demand, service_duration=TENTHS * service, tw_early=TENTHS * ready, tw_late=TENTHS * due)
    for start, (_, x, y, *_) in zip(places, rows[1:]):
        for end, (_, other_x, other_y, *_) in zip(places, rows[1:]):
            tenths = math.isqrt(TENTHS**2 * ((x - other_x) ** 2 + (y - other_y) ** 2))
            model.add_edge(start, end, distance=tenths, duration=tenths)
    return model.data()


def solve(program, path, data, seconds, seed, cores):
    """Solutions of one file by regard and by PyVRP as `(cost, routes, seconds)`, each on one of the two cores."""
    words = [program, "-q", "--threads", 1, "--seed", seed, "--json", "solve", path, "--time", f"{seconds}s"]
    ours = subprocess.Popen(["taskset", "-c", str(cores[0]), *map(str, words)], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(0, {cores[1]})
    result = pyvrp.solve(data, MaxRuntime(seconds), seed=seed, collect_stats=False)
    os.sched_setaffinity(0, set(cores))
    answer = json.loads(ours.communicate()[0] or "{}")
    if ours.returncode:
        sys.exit(f"{path}: {program} ended with exit code {ours.returncode}")
    if not result.is_feasible():
        sys.exit(f"{path}: PyVRP found no feasible solution")
    # Customers of PyVRP begin at 0, nodes of the file with the depot.
    routes = [[visit.idx + 1 for visit in route if visit.is_client()] for route in result.best.routes()]
    theirs = result.best.distance() / TENTHS, routes, result.runtime
    return {"regard": (answer["cost"], answer["routes"], answer["seconds"]), "pyvrp": theirs}


def check_ours(data, cost, routes):
    """Checks a solution of regard by the rules of PyVRP."""
    solution = pyvrp.Solution(data, [[node - 1 for node in route] for route in routes])
    if not solution.is_feasible() or solution.distance() != round(TENTHS * cost):
        return f"PyVRP finds {solution.distance() / TENTHS} instead of {cost}, feasible: {solution.is_feasible()}"
    return None


def check_theirs(program, path, cost, routes):
    """Checks a solution of PyVRP with `regard data verify`."""
    lines = [f"Route #{at}: {' '.join(map(str, route))}" for at, route in enumerate(routes, 1)]
    with tempfile.NamedTemporaryFile("w", suffix=".sol") as file:
        file.write("\n".join([*lines, f"Cost {cost}\n"]))
        file.flush()
        words = [program, "--json", "data", "verify", path, file.name]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    found = json.loads(done.stdout) if done.stdout else {"ok": False, "violated": done.stderr}
    if not found["ok"] or round(TENTHS * found["cost"]) != round(TENTHS * cost):
        return f"regard finds {found.get('cost')} instead of {cost}, violated: {found['violated']}"
    return None


def measure(program, found, seconds, seed):
    """One row for each instance, and the faults that the checks found."""
    cores, rows, faults = sorted(os.sched_getaffinity(0))[:2], [], []
    if len(cores) < 2:
        sys.exit("two cores are needed, one for each solver")
    for name, path in found:
        data, best = problem(path), best_known(name)
        solutions = solve(program, path, data, seconds, seed, cores)
        checks = [check_ours(data, *solutions["regard"][:2]), check_theirs(program, path, *solutions["pyvrp"][:2])]
        faults += [f"{name}: {check}" for check in checks if check]
        row = {"instance": name, "best_known": best}
        for solver, (cost, routes, taken) in solutions.items():
            gap = round(100 * (cost / best - 1), 4)
            row[solver] = {"cost": cost, "gap_percent": gap, "vehicles": len(routes), "seconds": round(taken, 3)}
        rows.append(row)
        costs = [f"{solver} {row[solver]['cost']} ({row[solver]['gap_percent']:.2f} %)" for solver in SOLVERS]
        print(f"{name}: best known {best}, {', '.join(costs)}", flush=True)
        cores.reverse()
    return rows, faults


def processor_seconds():
    """Processor seconds that this process and the ended solvers used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--time", type=float, default=10, help="seconds of each solver for each file")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--only", help="names of instances, separated by commas")
    parser.add_argument("--save", type=Path, default=ROOT / "results/solomon.json")
    arguments = parser.parse_args()
    before = machine.busy(), processor_seconds()
    found = instances(arguments.folder, arguments.only)
    rows, faults = measure(arguments.program.resolve(), found, arguments.time, arguments.seed)
    all_used = machine.busy() - before[0]
    foreign_load = max(0.0, 1 - (processor_seconds() - before[1]) / all_used)
    print(f"others used {foreign_load:.1%} of the processor time")
    mean = lambda solver, what: round(statistics.mean(row[solver][what] for row in rows), 4)
    record = {
        "format": 1,
        "kind": "solomon",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "versions": {"pyvrp": version("pyvrp"), "python": platform.python_version()},
        "seconds": arguments.time,
        "seed": arguments.seed,
        "foreign_load": round(foreign_load, 3),
        "means": {solver: {what: mean(solver, what) for what in ("gap_percent", "vehicles")} for solver in SOLVERS},
        "rows": rows,
    }
    records.save(arguments.save, record)
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
