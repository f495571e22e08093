#!/usr/bin/env python3
"""Saves accuracy for RESULTS.md: the output of `regard eval --json` and `regard solve --json`, and training runs.

    python bench/collect.py eval  --regard BIN --model DIR --set tsp20 [--limit N] [-- more arguments of regard eval]
    python bench/collect.py solve --regard BIN [--model DIR] FILE... [-- more arguments of regard solve]
    python bench/collect.py lib   --regard BIN [--model DIR] --collection NAME FOLDER... [-- more arguments of bench lib]
    python bench/collect.py table --regard BIN --runs FOLDER [--table set-transformer] [--join] [-- more arguments of bench paper, such as --rows max]
    python bench/collect.py folds --regard BIN --name NAME FILE [--experiment sets/mil] [-- more arguments of regard eval]
    python bench/collect.py train DIR [--name NAME] [--commit C] [--machine M] [--threads N]

Each call writes one JSON file to results/ (`--out`): `eval-<model>-<set>-<decode>.json`, `solve-<collection>.json` or
`train-<name>.json`. A training run is read from its folder (`training_run.py`), together with the evaluations of its
model that results/ already has.
Instances and imported models stay where they are; only names and numbers are saved.
"""

import argparse
import datetime
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import records
import training_run

ROOT = Path(__file__).resolve().parent.parent
RESULT_FIELDS = ("instance", "n", "cost", "best_known", "gap", "metric", "unit", "checked", "seconds")


def main():
    words, extra = split(sys.argv[1:])
    options = arguments(words)
    record = {"format": 1, "kind": options.verb, "date": datetime.date.today().isoformat(), "arguments": [records.bare(word) for word in extra]}
    if options.verb == "eval":
        name = evaluate(options, extra, record)
    elif options.verb == "solve":
        name = solve(options, extra, record)
    elif options.verb == "lib":
        name = library(options, extra, record)
    elif options.verb == "table":
        name = table(options, extra, record)
    elif options.verb == "folds":
        name = folds(options, extra, record)
    else:
        name = train(options, record)
    records.save(options.out / f"{slug(name)}.json", record)


def split(words):
    """Arguments before and after `--`."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def arguments(words):
    out = argparse.ArgumentParser(add_help=False)
    out.add_argument("--out", type=Path, default=ROOT / "results")
    shared = argparse.ArgumentParser(add_help=False, parents=[out])
    default = os.environ.get("REGARD", str(ROOT / "target/release/regard"))
    shared.add_argument("--regard", default=default, help="the binary")
    shared.add_argument("--model", help="model folder")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    eval_ = verbs.add_parser("eval", parents=[shared])
    eval_.add_argument("--set", required=True, help="tsp20, tsp50, tsp100, ...")
    eval_.add_argument("--limit", type=int, help="first instances only")
    solve_ = verbs.add_parser("solve", parents=[shared])
    solve_.add_argument("--collection", default="TSPLIB", help="name of the collection")
    solve_.add_argument("--most", type=int, help="leave out files whose name ends in a larger number of nodes")
    solve_.add_argument("files", nargs="+")
    lib_ = verbs.add_parser("lib", parents=[shared])
    lib_.add_argument("--collection", required=True, help="name of the collection")
    lib_.add_argument("folders", nargs="+")
    table_ = verbs.add_parser("table", parents=[shared])
    table_.add_argument("--runs", required=True, help="folder of the runs")
    table_.add_argument("--table", default="set-transformer", help="or graph-transformer, patchtst")
    table_.add_argument("--join", action="store_true", help="join the seeds of these runs with those on record, instead of replacing them")
    folds_ = verbs.add_parser("folds", parents=[shared])
    folds_.add_argument("--name", required=True, help="of the data")
    folds_.add_argument("--experiment", default="sets/mil")
    folds_.add_argument("file")
    train_ = verbs.add_parser("train", parents=[out])
    train_.add_argument("folder", type=Path, help="the run: manifest.json, metrics.jsonl, timings.jsonl")
    train_.add_argument("--name", help="of the record; else the folder's")
    train_.add_argument("--commit", help="else the manifest's")
    train_.add_argument("--machine", help="else the manifest's")
    train_.add_argument("--threads", type=int, help="else the manifest's")
    return parser.parse_args(words)


def evaluate(options, extra, record):
    """Runs `regard eval` on a paper set; gives the name of the record."""
    command = [options.regard, "eval", "--paper-set", options.set, "--json", "--no-progress", *extra]
    command += ["--model", options.model] if options.model else []
    command += ["--limit", str(options.limit)] if options.limit else []
    (output,) = run(command)
    record |= {"set": options.set, "result": output}
    improved = "-improved" if output.get("improve") else ""
    return f"eval-{output.get('model', 'model')}-{options.set}-{output.get('decode', 'greedy')}{improved}"


def solve(options, extra, record):
    """Runs `regard solve` on every file, one at a time so that times can be compared; gives the record's name."""
    results = []
    for file in sorted(options.files, key=order):
        if options.most and order(file)[0] > options.most:
            continue
        command = [options.regard, "solve", file, "--json", "--no-progress", *extra]
        command += ["--model", options.model] if options.model else []
        (output,) = run(command)
        record["model"] = output.get("model")
        results.append({field: output[field] for field in RESULT_FIELDS if field in output})
        print(f"{output['instance']}: {output['cost']} gap {output.get('gap')}", file=sys.stderr)
    record |= {"collection": options.collection, "instances": results}
    return f"solve-{options.collection}"


def library(options, extra, record):
    """Runs `regard bench lib` on every folder; gives the record's name."""
    results = []
    for folder in options.folders:
        command = [options.regard, "bench", "lib", folder, "--json", "--no-progress", *extra]
        command += ["--model", options.model] if options.model else []
        (output,) = run(command)
        for one in output["instances"]:
            names = {"instance": Path(one["file"]).stem, "n": one["n"]}
            results.append(names | {key: one[key] for key in ("cost", "best_known", "gap", "seconds")})
        print(f"{folder}: mean gap {output['mean_gap']}", file=sys.stderr)
    results.sort(key=lambda one: (one["n"], one["instance"]))
    record |= {"kind": "solve", "command": "regard bench lib", "collection": options.collection, "instances": results}
    return f"solve-{options.collection}"


def table(options, extra, record):
    """Trains or goes on with the rows of a paper's table; gives the record's name."""
    command = [options.regard, "bench", "paper", "--table", options.table, "--out", options.runs, "--json"]
    (rows,) = run([*command, "--no-progress", *extra])
    # Other rows of the table may have been made with others.
    rows = [row | {"arguments": extra} for row in rows]
    path = options.out / f"table-{options.table}.json"
    known = {row["name"]: row for row in (json.loads(path.read_text())["rows"] if path.exists() else [])}
    if options.join:
        rows = [joined(known[row["name"]], row) for row in rows]
    del record["arguments"]
    record |= {"table": options.table, "rows": list((known | {row["name"]: row for row in rows}).values())}
    return f"table-{options.table}"


def joined(known, more):
    """A row over the seeds on record and those of other runs."""
    if twice := sorted(set(known["seeds"]) & set(more["seeds"])):
        sys.exit(f"{known['name']}: seeds on record already: {twice}")
    both = known | {name: known[name] + more[name] for name in ("seeds", "steps", "seconds")}
    sizes = [len(row["seeds"]) for row in (known, more)]
    both["ours"] = [sum(size * mean for size, mean in zip(sizes, means)) / sum(sizes) for means in zip(known["ours"], more["ours"])]
    both["deviations"] = []
    for means, deviations in zip(zip(known["ours"], more["ours"]), zip(known["deviations"], more["deviations"])):
        # Sums of squares within both, where one seed has no deviation, and between them.
        within = sum((size - 1) * (deviation or 0) ** 2 for size, deviation in zip(sizes, deviations))
        between = sizes[0] * sizes[1] / sum(sizes) * (means[0] - means[1]) ** 2
        both["deviations"].append(math.sqrt((within + between) / (sum(sizes) - 1)))
    return both


def folds(options, extra, record):
    """Cross-validates an experiment on a file of sets or graphs; gives the record's name."""
    command = [options.regard, "eval", options.experiment, "--set", f"data.path={options.file}", "--json", *extra]
    (output,) = run([*command, "--no-progress"])
    output["data"] = options.name
    # A file of an experiment has the name it would have built in.
    experiment = "/".join(Path(options.experiment).with_suffix("").parts[-2:])
    record |= {"experiment": experiment, "result": output}
    return f"folds-{experiment}-{options.name}"


def train(options, record):
    """Reads a training run and the evaluations of its model; gives the name of the record."""
    name = options.name or options.folder.resolve().name
    given = {key: getattr(options, key) for key in ("commit", "machine", "threads")}
    known = [found for _, found in records.read(options.out, "eval")]
    of = lambda model: [found for found in known if found["result"].get("model") == model]
    # A folder's name may be that of another model, too.
    evaluated = of(name) or of(options.folder.resolve().name)
    del record["arguments"]
    record |= {"name": name, **training_run.read(options.folder, given)}
    record["evals"] = training_run.evals(evaluated)
    return f"train-{name}"


def run(command):
    """The JSON objects a command prints, one a line."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def order(file):
    """Number of nodes in the file's name, then the name: the usual order of TSPLIB."""
    stem = Path(file).stem
    number = re.search(r"(\d+)$", stem)
    return (int(number.group(1)) if number else 0, stem)


def slug(text):
    """A file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


if __name__ == "__main__":
    main()
