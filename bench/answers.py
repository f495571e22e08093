"""Records what the program answers on fixed inputs, and checks that another build answers the same.

    python3 bench/answers.py record target/release/regard answers.json
    python3 bench/answers.py check target/release/regard answers.json

Answers are those of every shipped model, of a short training of every built-in experiment (the digest of the
weights), and of `solve` on ten files. They depend on the processor's instruction set, so a record is compared
with a check on the same machine only. Names of columns and keys may change between the two; numbers may not.
Experiments that need a file take one of `examples/`, or of the folder that REGARD_SHARED names.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SHARED = Path(os.environ.get("REGARD_SHARED", ROOT.parent / "shared")) / "data"
STEPS = 30
# Times differ from run to run.
CLOCKS = re.compile(r'"[a-z_]*(second|wall|created|time)[a-z_]*"\s*:\s*("[^"]*"|[-0-9.e+]+),?')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
DIGEST = re.compile(r'"sha256"\s*:\s*"[0-9a-f]+",?')

ROUTES = ["--set", "eval.instances=128"]
# Settings that name data; the rest of an experiment stays as it is.
DATA = {
    "sets/mil": [f"data.path={EXAMPLES / 'digit_bags.csv'}", "data.group_by=bag", "data.target=has_nine"],
    "sets/bags": ["data.path=totals.csv", "data.group_by=set", "data.target=total"],
    "sets/ranking": [f"data.path={SHARED / 'sets/ltr/lgbm_rank.train'}"],
    "graphs/zinc": [f"data.path={SHARED / 'graphs/zinc/zinc12k_rebuilt.csv'}"],
    "graphs/zinc-2021": [f"data.path={SHARED / 'graphs/zinc/zinc12k_rebuilt.csv'}"],
    "graphs/molecules": [f"data.path={EXAMPLES / 'molecules.csv'}", "data.id=name", "data.target=boiling_point_c"],
    "graphs/tu": [f"data.path={SHARED / 'graphs/tu/MUTAG.txt'}"],
    "graphs/cora": [f"data.path={SHARED / 'graphs/cora/cora_nodes.txt'}"],
    "series/forecast": [f"data.path={EXAMPLES / 'loaves.csv'}", "task.horizon=28", "model.look_back=56"],
    "series/etth1": [f"data.path={SHARED / 'series/ETTh1.csv'}"],
    "series/etth1-tfb": [f"data.path={SHARED / 'series/ETTh1.csv'}"],
    "series/etth1-ours": [f"data.path={SHARED / 'series/ETTh1.csv'}"],
    "series/etth2": [f"data.path={SHARED / 'series/ETTh2.csv'}"],
    "series/etth2-tfb": [f"data.path={SHARED / 'series/ETTh2.csv'}"],
    "series/etth2-ours": [f"data.path={SHARED / 'series/ETTh2.csv'}"],
}
FILES = [EXAMPLES / "capitals.csv", EXAMPLES / "deliveries.csv"] + [
    SHARED / "routes" / name
    for name in (
        "tsplib/berlin52.tsp",
        "tsplib/eil101.tsp",
        "tsplib/ali535.tsp",
        "tsplib/bayg29.tsp",
        "cvrplib/A/A-n45-k6.vrp",
        "cvrplib/X/X-n101-k25.vrp",
        "oplib/gen1/att48-gen1-50.oplib",
        "oplib/gen1/eil51-gen1-50.oplib",
    )
]
PAPER_SETS = {
    "regard-tsp": "tsp20",
    "regard-tsp20": "tsp20",
    "regard-tsp50": "tsp50",
    "regard-cvrp": "cvrp20",
    "regard-cvrp20": "cvrp20",
    "regard-cvrp50": "cvrp50",
    "regard-sdvrp": "sdvrp20",
    "regard-op": "op_dist20",
    "regard-pctsp": "pctsp20",
    "regard-spctsp": "spctsp20",
}


def run(program, arguments, folder):
    """Standard output of a command, or the end of what it said."""
    command = [program, "-q", "--no-progress", "--threads", "2", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.stdout if done.returncode == 0 else "FAILED " + done.stderr[-200:]


def numbers(text):
    """All numbers of a text but times and digests of files."""
    if text.startswith("FAILED"):
        return text
    return NUMBER.findall(DIGEST.sub("", CLOCKS.sub("", text)))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing"


def tables(folder):
    """Small tables of sets: the rows of `numbers.csv`, and in `totals.csv` their sums."""
    sets = [[(row * 37) % 101 for row in range(5 * at, 5 * at + 5)] for at in range(40)]
    numbers = [f"{at},{value}" for at, values in enumerate(sets) for value in values]
    totals = [f"{at},{value},{sum(values)}" for at, values in enumerate(sets) for value in values]
    (Path(folder) / "numbers.csv").write_text("set,x\n" + "\n".join(numbers) + "\n")
    (Path(folder) / "totals.csv").write_text("set,x,total\n" + "\n".join(totals) + "\n")


def trainings(program, folder):
    for path in sorted((ROOT / "experiments").glob("*/*.toml")):
        name = f"{path.parent.name}/{path.stem}"
        settings = DATA.get(name, [])
        missing = [s for s in settings if s.startswith("data.path=") and not (Path(folder) / s[10:]).exists()]
        if missing or (name == "series/classify"):
            continue
        out = Path(folder) / name.replace("/", "-")
        more = ROUTES if name.startswith("routes/") else []
        for setting in settings:
            more = [*more, "--set", setting]
        said = run(program, ["train", name, "--steps", STEPS, "--seed", 7, "--out", out, "--json", *more], folder)
        yield f"train {name}", digest(out / "model.safetensors") if not said.startswith("FAILED") else said


def predictions(program, folder):
    models = ROOT / "models"
    for model, paper_set in PAPER_SETS.items():
        for decode in ("greedy", "sample:4"):
            wanted = ["eval", "--model", models / model, "--paper-set", paper_set, "--limit", 64, "--decode", decode]
            yield f"eval {model} {decode}", numbers(run(program, [*wanted, "--json"], folder))
    molecules, towns = EXAMPLES / "molecules.csv", EXAMPLES / "towns.csv"
    for model, file, more in (
        ("regard-solubility", molecules, []),
        ("regard-zinc", molecules, ["--skip-bad"]),
        ("regard-clusters", towns, ["--group-by", "town", "--rescale"]),
        ("regard-clusters", towns, ["--group-by", "town", "--rescale", "--refine", 20]),
    ):
        label = " ".join(["predict", model, *map(str, more)])
        yield label, numbers(run(program, ["predict", "--model", models / model, file, *more], folder))
    wanted = ["predict", "--model", models / "regard-max", "numbers.csv", "--group-by", "set"]
    yield "predict regard-max", numbers(run(program, wanted, folder))
    if (SHARED / "series/ETTh1.csv").exists():
        wanted = ["forecast", "--model", models / "regard-etth1", SHARED / "series/ETTh1.csv", "--horizon", 96, "--wide"]
        yield "forecast regard-etth1", numbers(run(program, wanted, folder))


def solutions(program, folder):
    for path in FILES:
        if path.exists():
            found = run(program, ["solve", path, "--json", "--seed", 3], folder)
            if found.startswith("FAILED"):
                yield f"solve {path.name}", found
                continue
            found = json.loads(found)
            keys = ("cost", "tour", "routes")
            yield f"solve {path.name}", json.dumps([found.get(key) for key in keys], sort_keys=True)


def answers(program):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        tables(folder)
        for family in (solutions, predictions, trainings):
            for name, answer in family(program, folder):
                found[name] = answer
                state = "FAILED" if str(answer).startswith("FAILED") else "done"
                print(f"{state:7} {name}", file=sys.stderr, flush=True)
    return found


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("record", "check"):
        sys.exit(__doc__)
    _, mode, program, file = sys.argv
    found = answers(str(Path(program).resolve()))
    if mode == "record":
        Path(file).write_text(json.dumps(found, indent=1))
        return
    expected = json.loads(Path(file).read_text())
    differing = [name for name in expected if found.get(name) != expected[name]]
    for name in differing:
        print(f"differs: {name}\n  {str(expected[name])[:200]}\n  {str(found.get(name))[:200]}")
    print(f"{len(expected) - len(differing)} of {len(expected)} answers are the same")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
