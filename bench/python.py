#!/usr/bin/env python3
"""The Python package beside the command line, beside the same problems in Rust, beside PyTorch and beside RL4CO, in one run.

    PYTHON bench/python.py [--program target/release/regard] [--python PYTHON_WITH_TORCH] [--parts NAMES]
                           [--short] [--save results/python-NAME.json]

PYTHON has the package installed. Measurements that are compared alternate, and medians count. Parts:

    import    time of `import regard` beyond numpy, at most 100 ms
    batch     10,000 instances of the travelling salesman with 50 nodes, greedily: `Policy.greedy` on a numpy array, at least
              0.95 of the throughput of `regard eval` on the same instances; PyTorch's network (batches of 512) beside them
    single    one instance: the time of a call, at most 1 ms, and of the network in it as `solve` reports it
    problem   training with batches of 512 instances of 50 nodes: problems written in Python, at least half of the throughput
              of the same problems in Rust; pickup and delivery with the settings of its example in Rust
    rl4co     the same training beside RL4CO, at least 3 times its throughput

A part whose package or program is missing is skipped with a word. Exits with 1 when a limit is missed. `--short` does little
work, to see that everything runs.
"""

import argparse
import datetime
import importlib.util
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
import workers

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("import", "batch", "single", "problem", "rl4co")
IMPORT_MS, BATCH_SHARE, SINGLE_MS, PROBLEM_SHARE, RL4CO_TIMES = 100, 0.95, 1.0, 0.5, 3.0
NODES, BATCH = 50, 512
# One sampled rollout and its gradient, with the network of Kool et al.: the sizes are also RL4CO's.
TRAINING = {
    "train.preset": "kool-2019",
    "train.baseline": "exponential",
    "train.baseline_warmup_epochs": 0,
    "train.batch_size": BATCH,
    "train.epochs": 1,
    "train.learning_rate": 1e-4,
    "train.learning_rate_decay": 1.0,
    "eval.instances": 64,
}
# Settings of crates/regard/examples/pickup_delivery.rs.
EXAMPLE = {"train.preset": "regard-cvrp", "train.batch_size": 32, "eval.instances": 64}


class Skipped(Exception):
    """A part that cannot be measured here, with the reason."""


class Sizes:
    """Amounts of work."""

    def __init__(self, short):
        self.instances = 1_000 if short else 10_000
        self.rounds = 1 if short else 5
        self.training_rounds = 1 if short else 3
        self.steps = 3 if short else 10
        self.example_steps = 20 if short else 100
        self.calls = 50 if short else 1_000
        self.seconds = 0.5 if short else 3.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/regard")
    parser.add_argument("--example", type=Path, default=ROOT / "target/release/examples/pickup_delivery")
    parser.add_argument("--python", default=os.environ.get("BENCH_PYTHON", sys.executable), help="Python with torch and rl4co")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--short", action="store_true", help="little work, to see that it runs")
    parser.add_argument("--save", type=Path, help="JSON file for RESULTS.md")
    options = parser.parse_args()
    if importlib.util.find_spec("regard") is None:
        sys.exit("the package regard is missing: pip install ./crates/regard-py")
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    import numpy
    import regard

    measures = {"import": imports, "batch": batches, "single": singles, "problem": problems, "rl4co": rivals}
    record = {
        "format": 1,
        "kind": "python",
        "date": datetime.date.today().isoformat(),
        "machine": machine.description(),
        "commit": machine.commit(ROOT),
        "threads": options.threads,
        "versions": {"python": sys.version.split()[0], "numpy": numpy.__version__, "regard": regard.__version__},
    }
    missed = []
    for name in options.parts.split(","):
        print(f"{name} …", file=sys.stderr)
        try:
            record[name], found = measures[name](options, Sizes(options.short))
            missed += found
        except Skipped as reason:
            record[name] = {"skipped": str(reason)}
            print(f"{name}: skipped, {reason}", file=sys.stderr)
    print(json.dumps(record, indent=1))
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if options.save:
        records.save(options.save, record)
    sys.exit(1 if missed else 0)


def has(python, package):
    """If true, that Python has the package."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def imports(options, sizes):
    """Milliseconds of `import regard` in a process that has imported numpy."""
    code = "import numpy, time; t = time.perf_counter(); import regard; print(1000 * (time.perf_counter() - t))"
    run = lambda: float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    run()
    found = round(statistics.median(run() for _ in range(9)), 1)
    return {"ms": found}, [f"import takes {found} ms"] if found > IMPORT_MS else []


def batches(options, sizes):
    """Instances a second of the package, the command line and PyTorch on the same batch."""
    import numpy as np
    import regard

    if not options.program.exists():
        raise Skipped(f"no program {options.program.name}")
    places = np.random.default_rng(1).random((sizes.instances, NODES, 2)).astype(np.float32)
    policy = regard.Policy.load("tsp")
    torch, version, reason = None, None, "PyTorch is not installed"
    if has(options.python, "torch"):
        command = [options.python, str(ROOT / "bench/attention_model.py")]
        torch = workers.Worker("torch", command, options.threads, styles=workers.STYLES)
        version = torch.hello["version"].partition("+")[0]
    seconds = {"package": [], "command": [], **({f"torch-{style}": [] for style in torch.styles} if torch else {})}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "set.npz"
        regard.write_set(file, places)
        command = [options.program.resolve(), "eval", "--model", policy.name, "--data", file, "--decode", "greedy", "--json"]
        policy.greedy(places)
        for _ in range(sizes.rounds):
            begun = time.perf_counter()
            ours = policy.greedy(places).cost.mean()
            seconds["package"].append(time.perf_counter() - begun)
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            result = json.loads(text.splitlines()[-1])
            seconds["command"].append(result["seconds"])
            if abs(result["mean_cost"] - ours) > 1e-6 * ours:
                sys.exit(f"batch: the command line has the mean cost {result['mean_cost']}, the package {ours}")
            for style in torch.styles if torch else ():
                answer = torch.ask(sizes.seconds, cell="rollout", n=NODES, style=style)
                seconds[f"torch-{style}"] += [ms / 1000 * sizes.instances / BATCH for ms in answer["ms"]]
    if torch:
        torch.close()
    speed = {name: round(sizes.instances / statistics.median(some), 1) for name, some in seconds.items()}
    found = {
        "instances": sizes.instances,
        "nodes": NODES,
        "model": policy.name,
        "package": speed["package"],
        "command": speed["command"],
        "share": round(speed["package"] / speed["command"], 3),
        "torch": max(speed[f"torch-{style}"] for style in workers.STYLES) if torch else {"skipped": reason},
        "torch_version": version,
    }
    return found, [f"batch: {found['share']} of the command line"] if found["share"] < BATCH_SHARE else []


def singles(options, sizes):
    """Milliseconds of calls for one instance."""
    import numpy as np
    import regard

    policy = regard.Policy.load("tsp")
    rows, missed = [], []
    for nodes in (20, NODES):
        places = np.random.default_rng(nodes).random((sizes.calls, 1, nodes, 2))
        calls, network, solves = [], [], []
        for one in places:
            begun = time.perf_counter()
            policy.greedy(one)
            calls.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            solution = regard.solve(one[0], decode="greedy", improve=False)
            solves.append(time.perf_counter() - begun)
            network.append(sum(stage.seconds for stage in solution.stages if stage.kind == "network"))
        middle = lambda times: round(1000 * statistics.median(times), 3)
        row = {"nodes": nodes, "greedy_ms": middle(calls), "solve_ms": middle(solves), "network_ms": middle(network)}
        rows.append(row)
        missed += [f"single: {nodes} nodes take {row['greedy_ms']} ms"] if row["greedy_ms"] > SINGLE_MS else []
    return {"calls": sizes.calls, "rows": rows}, missed


def own_problems():
    """The travelling salesman and vehicle routing as a user writes them."""
    import numpy as np
    import regard

    def length(places, stops):
        here = np.take_along_axis(places.astype(float), stops[..., None], axis=1)
        return np.hypot(*np.moveaxis(np.diff(here, axis=1), -1, 0)).sum(axis=1)

    class Tour(regard.Problem):
        name, depot, every_node_once = "tsp-numpy", False, True

        def draw(self, rng, batch, nodes):
            return {"locs": rng.random((batch, nodes, 2), dtype=np.float32)}

        def cost(self, instances, actions):
            return length(instances["locs"], np.concatenate([actions, actions[:, :1]], axis=1))

    class Steps(Tour):
        name, every_node_once = "tsp-steps-numpy", False

        def reset(self, instances):
            return {"left": np.ones(instances["locs"].shape[:2], dtype=bool)}

        def action_mask(self, state):
            return state["left"]

        def step(self, state, action):
            state["left"][np.arange(len(action)), action] = False
            return state

        def done(self, state):
            return ~state["left"].any(axis=1)

    class Vehicles(regard.Problem):
        name = "cvrp-numpy"

        def draw(self, rng, batch, nodes):
            demand = rng.integers(1, 10, (batch, nodes + 1)) / np.float32(40)
            demand[:, 0] = 0
            return {"locs": rng.random((batch, nodes + 1, 2), dtype=np.float32), "demand": demand.astype(np.float32)}

        def features(self, instances):
            return np.concatenate([instances["locs"], instances["demand"][..., None]], axis=2)

        def reset(self, instances):
            left = np.ones(instances["demand"].shape, dtype=bool)
            left[:, 0] = False
            free = np.ones(len(left), dtype=np.float32)
            return {"left": left, "free": free, "at_depot": np.ones(len(left), bool), "demand": instances["demand"]}

        def action_mask(self, state):
            mask = state["left"] & (state["demand"] <= state["free"][:, None] + 1e-5)
            mask[:, 0] = ~state["at_depot"]
            return mask

        def context(self, state):
            return state["free"][:, None]

        def step(self, state, action):
            rows, depot = np.arange(len(action)), action == 0
            state["left"][rows, action] = False
            free = np.where(depot, np.float32(1), state["free"] - state["demand"][rows, action])
            return {**state, "free": free, "at_depot": depot}

        def done(self, state):
            return ~state["left"].any(axis=1)

        def cost(self, instances, actions):
            return length(instances["locs"], np.pad(actions, ((0, 0), (1, 1))))

    return {"tour": Tour(), "steps": Steps(), "vehicles": Vehicles()}


def training(problem, settings, steps, nodes):
    """Seconds of the steps of a training but of its first two, each from the end of the step before."""
    import regard

    ends = []
    clock = lambda event: ends.append(time.perf_counter()) if event.kind == "step" else None
    settings = {**settings, "train.epoch_size": settings["train.batch_size"] * (steps + 2), "train.epochs": 1}
    where = {"data.nodes": nodes} if isinstance(problem, str) else {}
    with tempfile.TemporaryDirectory() as folder:
        run = lambda **more: regard.train(problem, Path(folder) / "run", callbacks=[clock], progress=False, **more)
        run(settings={**settings, **where}, **({} if isinstance(problem, str) else {"nodes": nodes}))
    return [after - before for before, after in zip(ends[1:], ends[2:])]


def problems(options, sizes):
    """Training of problems in Python and of the same ones in Rust."""
    own = own_problems()
    # Name, in Python, in Rust, and if true, with a limit: the last one steps through what Rust knows beforehand.
    pairs = [
        ("travelling salesman", own["tour"], "routes/tsp50", True),
        ("vehicle routing", own["vehicles"], "routes/cvrp50", True),
        ("travelling salesman, step by step", own["steps"], "routes/tsp50", False),
    ]
    rows, missed = [], []
    for name, problem, experiment, limited in pairs:
        times = {"python": [], "rust": []}
        for _ in range(sizes.training_rounds):
            times["python"] += training(problem, TRAINING, sizes.steps, NODES)
            times["rust"] += training(experiment, TRAINING, sizes.steps, NODES)
        speed = {who: round(BATCH / statistics.median(some), 1) for who, some in times.items()}
        rows.append({"problem": name, "batch": BATCH, "nodes": NODES, **speed, "share": round(speed["python"] / speed["rust"], 3), "limited": limited})
    example = pickup_delivery(options, sizes)
    rows += [example] if example else []
    missed = [f"problem: {row['problem']} at {row['share']} of Rust" for row in rows if row["limited"] and row["share"] < PROBLEM_SHARE]
    return {"rows": rows, "baseline": TRAINING["train.baseline"]}, missed


def pickup_delivery(options, sizes):
    """The example in Python beside the one in Rust, whose time of a step is the difference of two runs."""
    if not options.example.exists():
        print(f"problem: no program {options.example.name}, pickup and delivery is skipped", file=sys.stderr)
        return None
    path = ROOT / "crates/regard-py/examples/pickup_delivery.py"
    spec = importlib.util.spec_from_file_location("pickup_delivery", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def rust(steps):
        begun = time.perf_counter()
        subprocess.run([options.example.resolve(), str(steps)], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    few, many = sizes.example_steps // 10, sizes.example_steps
    times = {"python": [], "rust": []}
    for _ in range(sizes.training_rounds):
        times["python"] += training(module.PickupDelivery(), EXAMPLE, many, 20)
        times["rust"].append((rust(many) - rust(few)) / (many - few))
    batch = EXAMPLE["train.batch_size"]
    speed = {who: round(batch / statistics.median(some), 1) for who, some in times.items()}
    return {"problem": "pickup and delivery", "batch": batch, "nodes": 20, **speed, "share": round(speed["python"] / speed["rust"], 3), "limited": True}


def rivals(options, sizes):
    """Training of the built-in problems, and of those in Python, beside RL4CO."""
    if not (has(options.python, "rl4co") and has(options.python, "torch")):
        raise Skipped("RL4CO is not installed (--python)")
    own = own_problems()
    rows, missed, versions = [], [], {}
    for name, word, experiment, problem in (
        ("travelling salesman", "tsp", "routes/tsp50", own["tour"]),
        ("vehicle routing", "cvrp", "routes/cvrp50", own["vehicles"]),
    ):
        command = [options.python, ROOT / "bench/rl4co_training.py", "--problem", word, "--nodes", NODES, "--batch", BATCH]
        command = [str(word) for word in (*command, "--steps", sizes.steps, "--threads", options.threads)]
        times = {"rust": [], "python": [], "rl4co": []}
        for _ in range(sizes.training_rounds):
            times["rust"] += training(experiment, TRAINING, sizes.steps, NODES)
            times["python"] += training(problem, TRAINING, sizes.steps, NODES)
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            answer = json.loads(done.stdout.splitlines()[-1])
            times["rl4co"] += answer["seconds"]
            versions = answer["versions"]
        speed = {who: round(BATCH / statistics.median(some), 1) for who, some in times.items()}
        row = {"problem": name, "batch": BATCH, "nodes": NODES, **speed, "times": round(speed["rust"] / speed["rl4co"], 2)}
        rows.append({**row, "parameters": answer["parameters"]})
        missed += [f"rl4co: {name} at {row['times']} times RL4CO"] if row["times"] < RL4CO_TIMES else []
    return {"rows": rows, "versions": versions, "baseline": TRAINING["train.baseline"], "precision": "float32"}, missed


if __name__ == "__main__":
    main()
