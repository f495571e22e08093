#!/usr/bin/env python3
"""Forward passes with products in bfloat16: speed and error, beside PyTorch's own, and the error on golden cases.

    python bench/bfloat16.py --regard BIN --python PYTHON_WITH_TORCH

*Cells*: those of `compare.py` in evaluation mode, regard in both precisions, PyTorch in single precision with its AVX-512 path
forced, under `torch.autocast` and with all numbers in bfloat16; asked in turn. The error of a result is the root of its
mean squared difference from that in single precision, beside the root of its mean square; weights are fresh.

*Golden cases*: outputs of the original projects, and the largest error of each beside its largest value, from the golden
tests in bfloat16.

*Models*: what shipped models give on the papers' sets in both precisions.

Nothing else should run meanwhile. The record is written to results/.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import compare
import machine
import records
import speed
import tables
import workers

ROOT = workers.BENCH.parent
CELLS = {cell: speed.SIZES.get(cell, speed.NODES) for cell in speed.INFERENCE if cell not in ("cvrp", "sampling")}
CELLS["isab"] = (10_000,)
# Cells whose result is a solution have no error.
WITHOUT_ERROR = ("rollout",)
MODELS = {"regard-tsp20": "tsp20", "regard-tsp50": "tsp50", "regard-tsp100": "tsp100", "regard-cvrp50": "cvrp50", "regard-cvrp100": "cvrp100"}
LINE = re.compile(r"bfloat16 (?P<family>\w+)/(?P<case>\S+) (?P<output>\S+) (?P<error>\S+)$", re.MULTILINE)


def main():
    options = arguments()
    run = {
        "format": 1,
        "kind": "bfloat16",
        "date": datetime.date.today().isoformat(),
        "commit": machine.commit(workers.BENCH),
        "machine": machine.description(),
        "threads": options.threads,
        "golden": golden(),
        "models": models(options),
        "cells": [],
    }
    cells(options, run)
    records.save(options.out / f"bfloat16-{machine.slug(run['machine'])}.json", run)
    for head, rows in (cell_table(run), golden_table(run), model_table(run)):
        print(tables.markdown(head, rows))


def arguments():
    words = lambda text: [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--regard", required=True, help="the program")
    parser.add_argument("--python", default=os.environ.get("BENCH_PYTHON", sys.executable), help="Python with torch")
    parser.add_argument("--cells", type=words, default=list(CELLS), help=f"some of {','.join(CELLS)}")
    parser.add_argument("--models", type=words, default=list(MODELS), help=f"some of {','.join(MODELS)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one worker in one round")
    parser.add_argument("--warm", type=float, default=1.0, help="seconds of warm-up of each worker and style")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    return parser.parse_args()


def cells(options, run):
    """Times and errors of all cells, into `run`."""
    torch = [options.python, str(workers.BENCH / "attention_model.py")]
    with tempfile.TemporaryDirectory() as folder:
        ours, forced = workers.build_regard(), {"LD_PRELOAD": str(workers.build_override(folder))}
        theirs = lambda precision: forced | {"BENCH_PRECISION": precision}
        started = [
            workers.Worker("regard", [ours], options.threads),
            workers.Worker("regard-bfloat16", [ours], options.threads, {"BENCH_PRECISION": "bfloat16"}),
            workers.Worker("torch", torch, options.threads, theirs("highest"), workers.STYLES),
            workers.Worker("torch-autocast", torch, options.threads, theirs("autocast"), workers.STYLES),
            workers.Worker("torch-bfloat16", torch, options.threads, theirs("bfloat16"), workers.STYLES),
        ]
        started = {worker.name: worker for worker in started}
        run["torch"], run["batch"] = started["torch"].hello["version"], started["regard"].hello["batch"]
        for cell in options.cells:
            for n in CELLS[cell]:
                found = {"cell": cell, "n": n, "times": compare.times(started, options, cell, n), "errors": {}}
                for name in ("regard-bfloat16", "torch-autocast") if cell not in WITHOUT_ERROR else ():
                    ask = lambda style: started[name].ask(0.0, cell=cell, n=n, style=style or "", error=True)["deviation"]
                    found["errors"][name] = min(map(ask, started[name].styles))
                run["cells"].append(found)
                print(f"{cell} n = {n}: {found}", file=sys.stderr)
        for worker in started.values():
            worker.close()


def golden():
    """Errors of outputs of golden cases, family by family."""
    command = ["cargo", "test", "--locked", "--workspace", "--test", "golden", "with_kernels", "--"]
    # The published weights of other problems are tested by mean costs, to more digits than bfloat16 has.
    command += ["--skip", "published_problems", "--nocapture", "--test-threads", "1"]
    environment = {**os.environ, "REGARD_GOLDEN_PRECISION": "bfloat16"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}\n{done.stdout}")
    found = {}
    for line in LINE.finditer(done.stdout):
        outputs = found.setdefault(line["family"], {})
        name = f"{line['case']} {line['output']}"
        outputs[name] = max(float(line["error"]), outputs.get(name, 0.0))
    return found


def models(options):
    """Mean costs of shipped models in both precisions."""
    rows = []
    for name in options.models:
        command = [options.regard, "eval", "--model", str(ROOT / "models" / name), "--paper-set", MODELS[name]]
        command += ["--decode", "greedy", "--threads", str(options.threads), "--json", "--precision"]
        answers = {precision: records.answer([*command, precision])["result"] for precision in ("float32", "bfloat16")}
        rows.append({"model": name, "set": MODELS[name], "mean_cost": {key: one["mean_cost"] for key, one in answers.items()}})
        print(rows[-1], file=sys.stderr)
    return rows


def cell_table(run):
    """Times and errors of both sides in both precisions."""
    head = ["cell", "n", "regard", "in bfloat16", "faster", "PyTorch", "autocast", "all in bfloat16", "ratio in bfloat16"]
    head += ["error", "error of autocast"]
    rows = []
    for cell in run["cells"]:
        names = ("regard", "regard-bfloat16", "torch", "torch-autocast", "torch-bfloat16")
        ms = {name: cell["times"][name]["median"] for name in names}
        text = {name: f"{value:,.1f} ms" for name, value in ms.items()}
        theirs = min(ms["torch-autocast"], ms["torch-bfloat16"])
        error = lambda name: f"{cell['errors'][name]:.2%}" if name in cell["errors"] else "-"
        rows.append([
            f"`{cell['cell']}`",
            f"{cell['n']:,}",
            text["regard"],
            text["regard-bfloat16"],
            tables.times(ms["regard"] / ms["regard-bfloat16"]),
            *(text[name] for name in ("torch", "torch-autocast", "torch-bfloat16")),
            tables.times(theirs / ms["regard-bfloat16"]),
            error("regard-bfloat16"),
            error("torch-autocast"),
        ])
    return head, rows


def golden_table(run):
    """Errors of golden cases by family."""
    rows = []
    for family, outputs in run["golden"].items():
        worst = max(outputs, key=outputs.get)
        median = statistics.median(outputs.values())
        rows.append([f"`{family}`", str(len(outputs)), f"{median:.2%}", f"{outputs[worst]:.2%}", f"`{worst}`"])
    return ["golden cases", "outputs", "median error", "largest", "which"], rows


def model_table(run):
    """Mean costs of shipped models."""
    rows = []
    for one in run["models"]:
        single, half = (one["mean_cost"][precision] for precision in ("float32", "bfloat16"))
        rows.append([f"`{one['model']}`", one["set"], f"{single:.5f}", f"{half:.5f}", f"{half / single - 1:+.4%}"])
    return ["model", "set, greedy", "mean cost in float32", "in bfloat16", "difference"], rows


if __name__ == "__main__":
    main()
