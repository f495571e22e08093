#!/usr/bin/env python3
"""The four families on a graphics card, beside the processor and beside PyTorch on the same card.

    python bench/card.py --regard BIN --worker BIN --data FOLDER [--device cuda]

`BIN` are `regard` and `regard-bench`, built for the card (see "Other devices" in the book); the Python that runs this has
PyTorch for it.

*Accuracy*: a preset of each family is trained for some steps with one seed: on the processor, and twice on the card. All
models are evaluated on both. What is kept: whether the two trainings on the card gave the same bits, their times, and the
measure of each model on each device.

*Speed*: the cells of `compare.py` that have a form for cards, regard and PyTorch asked in turn; and regard on all cores of the
processor of the same machine. An iteration ends when the card has done its work. PyTorch is measured in two styles, and the faster
one counts. The matrix units of NVIDIA's cards multiply numbers of single precision with 10 bits of their fractions (TF32), and
Burn lets them; PyTorch does so if it is asked to, and here it is.

The record is written to results/.
"""

import argparse
import concurrent.futures
import datetime
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compare
import machine
import records
import speed
import tables
import workers

SEED = 7
ZINC, ETTH1 = "graphs/zinc/zinc12k_rebuilt.csv", "series/ETTh1.csv"
# Preset, steps, settings with files of the folder of data, arguments of the evaluation, and the measure that it prints.
FAMILIES = {
    "routes": ("routes/tsp20", 100, {}, ["--paper-set", "tsp20", "--decode", "greedy"], "mean_cost"),
    "sets": ("sets/max", 500, {}, [], "mae"),
    "graphs": ("graphs/zinc", 100, {"data.path": ZINC, "eval.blend": "false"}, ["--training-data"], "mae"),
    "series": ("series/etth1", 60, {"data.path": ETTH1}, ["--training-data"], "mse"),
}
# The cells of `compare.py` that have a form for cards, in their largest size; of those that train routes the smallest too.
CELLS = {cell: speed.SIZES.get(cell, speed.NODES)[-1:] for cell in (*speed.INFERENCE, *speed.TRAINING) if cell not in ("cvrp", "sampling")}
CELLS |= {cell: (speed.NODES[0], speed.NODES[-1]) for cell in ("train-encoder", "reinforce")}


def main():
    options = arguments()
    name, *details = card()
    run = {
        "format": 1,
        "kind": "card",
        "date": datetime.date.today().isoformat(),
        "commit": options.commit or machine.commit(workers.BENCH),
        "machine": machine.description(),
        "card": name,
        "card_details": details,
        "families": [],
        "cells": [],
    }
    path = options.out / f"card-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if options.families:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                run["families"] = list(pool.map(functools.partial(family, options, Path(folder)), options.families))
            records.save(path, run)
    if options.cells:
        cells(options, run, begun)
    records.save(path, run)
    report(run)


def arguments():
    words = lambda text: [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--regard", required=True, help="the program")
    parser.add_argument("--worker", required=True, help="regard-bench")
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {ZINC} and {ETTH1}")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--families", type=words, default=list(FAMILIES), help=f"some of {','.join(FAMILIES)}")
    parser.add_argument("--cells", type=words, default=list(CELLS), help=f"some of {','.join(CELLS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="of one worker in one round")
    parser.add_argument("--warm", type=float, default=0.2, help="seconds of warm-up of each worker and style")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no further cell is begun")
    parser.add_argument("--commit", help="what was built, where git does not say")
    parser.add_argument("--out", type=Path, default=workers.BENCH.parent / "results")
    return parser.parse_args()


def card():
    """Name, memory and driver of the first card."""
    if not shutil.which("nvidia-smi"):
        return ["none"]
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [part.strip() for part in found.splitlines()[0].split(",")]


def family(options, folder, name):
    """A preset trained and evaluated on both devices."""
    preset, steps, settings, evaluation, measure = FAMILIES[name]
    sets = []
    for key, value in settings.items():
        sets += ["--set", f"{key}={options.data / value if key == 'data.path' else value}"]
    found = {"family": name, "preset": preset, "steps": steps, "measure": measure, "trained": {}, "evaluated": {}}
    weights = {}
    for model, device in (("cpu", "cpu"), ("card", options.device), ("card again", options.device)):
        out, begun = folder / f"{name}-{model.replace(' ', '-')}", time.monotonic()
        command = [options.regard, "train", preset, *sets, "--steps", str(steps), "--seed", str(SEED)]
        answer(command + ["--out", out, "--device", device, "-q"])
        seconds = round(time.monotonic() - begun, 1)
        found["trained"][model], weights[model] = {"seconds": seconds}, (out / "model.safetensors").read_bytes()
        print(f"{name}: trained on {model} in {seconds} s", file=sys.stderr)
        if model != "card again":
            evaluate = [options.regard, "eval", "--model", out, *evaluation, "--device"]
            places = {"cpu": "cpu", "card": options.device}
            found["evaluated"][model] = {place: answer([*evaluate, named])[measure] for place, named in places.items()}
    found["repeats"], found["same_as_cpu"] = weights["card"] == weights["card again"], weights["cpu"] == weights["card"]
    return found


def answer(command):
    """What a command answers in JSON."""
    # The families take turns on the card, and share the processor.
    threads = max(1, os.cpu_count() // len(FAMILIES))
    command = [*map(str, command), "--threads", str(threads), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def cells(options, run, begun):
    """Times of all cells, into `run`."""
    all_cores = os.cpu_count()
    on_card = {"BENCH_DEVICE": options.device}
    torch = [sys.executable, str(workers.BENCH / "attention_model.py")]
    started = {
        "regard": workers.Worker("regard", [options.worker], all_cores, on_card),
        "torch": workers.Worker("torch", torch, all_cores, on_card | {"BENCH_PRECISION": "high"}, workers.STYLES),
        "regard-cpu": workers.Worker("regard-cpu", [options.worker], all_cores),
    }
    run["workers"] = {name: worker.hello for name, worker in started.items()}
    run["threads"], run["batch"] = all_cores, started["regard"].hello["batch"]
    for cell in options.cells:
        for n in CELLS[cell]:
            if time.monotonic() - begun > options.limit:
                print(f"{cell} n = {n}: left out, no time", file=sys.stderr)
                continue
            # Kernels of a card are compiled when they are first needed: that is no part of a time.
            for _, ask in compare.variants(started, cell, n):
                try:
                    ask(0.0)
                except RuntimeError:
                    pass
            times = compare.times(started, options, cell, n)
            run["cells"].append({"cell": cell, "n": n, "times": times})
            medians = ", ".join(f"{name} {one['median']} ms" for name, one in times.items())
            print(f"{cell} n = {n}: {medians}", file=sys.stderr)
    for worker in started.values():
        worker.close()


def table(run):
    """Times on the card, and of the processor."""
    head = ["cell", "n", "regard, card", "PyTorch, card", "ratio", "teacher-forced", "ratio", "regard, processor"]
    rows = []
    for cell in run["cells"]:
        teacher = "torch" + speed.TEACHER
        rows.append([
            f"`{cell['cell']}`",
            f"{cell['n']:,}",
            *(short(cell, name) for name in ("regard", "torch")),
            tables.times(speed.ratio(cell, "torch", "regard")),
            short(cell, teacher),
            tables.times(speed.ratio(cell, teacher, "regard")),
            short(cell, "regard-cpu"),
        ])
    return head, rows


def short(cell, name):
    """`27.62 ms`."""
    found = cell["times"].get(name)
    return "-" if found is None else f"{found['median']:,.2f} ms"


def accuracy_table(run):
    """What models trained on either device give on either."""
    head = ["preset", "steps", "measure", "trained and evaluated on the processor", "the same model on the card"]
    head += ["trained on the card", "the same model on the processor", "training on the card repeats its bits"]
    rows = []
    for one in run["families"]:
        cpu, card = one["evaluated"]["cpu"], one["evaluated"]["card"]
        values = [f"{value:.6f}" for value in (cpu["cpu"], cpu["card"], card["card"], card["cpu"])]
        rows.append([f"`{one['preset']}`", f"{one['steps']:,}", one["measure"], *values, "yes" if one["repeats"] else "no"])
    return head, rows


def report(run):
    """Prints both tables."""
    for head, rows in (table(run), accuracy_table(run)):
        if rows:
            print(tables.markdown(head, rows))


if __name__ == "__main__":
    main()
