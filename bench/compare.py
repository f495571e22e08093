#!/usr/bin/env python3
"""Compares regard with PyTorch on this machine, in one run.

    python bench/compare.py --python PYTHON_WITH_TORCH

All workers are started first and asked in turn, many short rounds, so that a change of the machine's speed meets all of
them alike; a worker that is not asked is stopped by a signal. Every cell is warmed up until the heap is warm. Times are
medians over all rounds, with quartiles. PyTorch is measured in two styles of writing, and the faster one counts.
Training cells are measured without the workers that are limited to AVX2. With `reinforce` and `pomo` comes PyTorch's
teacher-forced form, with `sampling` the form in which all samples share the instance's tables.

The cells, of the TSP unless they say otherwise:

    encoder        512 instances, evaluation mode
    rollout        the same with greedy tours
    cvrp           greedy vehicle routing, 512 instances of 50 or 100 customers; a pass over 10,000 would be 20 such
                   batches one after the other, and take PyTorch minutes in every round
    sampling       the best of 1280 tours sampled for one instance of 100 nodes, which both sides encode once; PyTorch
                   repeats it, as published
    train-encoder  the encoder's training step
    reinforce      a training step of REINFORCE as published, with the greedy rollout as baseline
    pomo           a training step of POMO as published: 64 instances of 50 nodes, a tour from each of them, six layers

and of the Set Transformer:

    isab           an induced set attention block, 10 sets of 1,000, 10,000 and 100,000 items, 32 inducing points, width
                   128; evaluation mode
    train-isab     forward and backward of the same, 10 sets of 1,000 items

and of the Graph Transformer with ten layers and batch norm, where PyTorch gathers rows for edges and scatters sums:

    molecules      128 graphs of the size of ZINC's (23 nodes, 50 directed edges), width 64, with edge stream
    blocks         32 graphs of the size of CLUSTER's (117 nodes, 4,216 directed edges), width 80, without
    train-...      training steps of both

and of PatchTST on windows of 7 channels:

    etth1          128 windows of 336 values, 96 ahead, width 16: the authors' settings for ETTh1
    etth1-tfb      32 windows of 512 values, 192 ahead, width 128: TFB's
    train-...      training steps of both

At the end the memory of one training step of both sides is measured for `reinforce`, `train-molecules` and `train-blocks`, each
in a process of its own; with `cvrp` that of our process that decodes 10,000 instances, with `isab` that of our network on one
set of 1,000,000 points, with `blocks` that of our network on one graph of 1,000,000 edges.

Nothing else should run meanwhile: the share of processor time that others took is measured, printed and saved.
The result is tables here, or with --json one object with the ratios, and a JSON file in bench/results/, from which
RESULTS.md is generated.
"""

import argparse
import datetime
import functools
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import machine
import records
import speed
import tables
import workers

NAMES = ["regard", "regard-avx2", "torch", "torch-forced", "torch-avx2"]
CELLS = [*speed.INFERENCE, *speed.TRAINING]
# A cell in which an iteration takes longer, in milliseconds, is measured in fewer rounds.
SLOW_MS, SLOW_ROUNDS = 2000.0, 3


def main():
    options = arguments()
    run = {
        "format": 1,
        "kind": "speed",
        "date": datetime.date.today().isoformat(),
        "commit": machine.commit(workers.BENCH),
        "machine": machine.description(),
        "threads": options.threads,
        "rounds": options.rounds,
        "foreign_load": 0.0,
        "peak": {},
        "cells": [],
        "memory": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        started = workers.start(options.workers, options.cells, options.python, options.threads, folder)
        hellos = {name: worker.hello for name, worker in started.items()}
        run["workers"] = hellos
        run["batch"] = next((hello["batch"] for hello in hellos.values() if "batch" in hello), 512)
        try:
            measure(started, options, run)
        finally:
            for worker in started.values():
                worker.close()
        for cell in options.cells if options.memory else []:
            if cell in speed.MEMORY:
                what, n = speed.MEMORY[cell]
                run["memory"].append(memory(started, what, n or options.memory))
    report(run, options.json)
    if not options.dry_run:
        records.save(options.out / file_name(run, options.cells), run)


def arguments():
    numbers = lambda text: [int(part) for part in text.split(",")]
    words = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=os.environ.get("BENCH_PYTHON", sys.executable), help="Python with torch")
    parser.add_argument("--cells", type=words, default=CELLS, help=f"some of {','.join(CELLS)}")
    parser.add_argument("--sizes", type=numbers, default=speed.ALL_SIZES)
    parser.add_argument("--workers", type=words, default=NAMES, help=f"some of {','.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one worker in one round")
    parser.add_argument("--warm", type=float, default=2.0, help="seconds of warm-up of each worker and style")
    parser.add_argument("--memory", type=int, default=100, help="nodes when memory is measured; 0 leaves it out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=workers.BENCH / "results")
    parser.add_argument("--dry-run", action="store_true", help="print only")
    parser.add_argument("--json", action="store_true", help="print the ratios as one JSON object")
    options = parser.parse_args()
    for what, given, known in (("workers", options.workers, NAMES), ("cells", options.cells, CELLS)):
        unknown = sorted(set(given) - set(known))
        if unknown:
            parser.error(f"unknown {what} {unknown}, expected some of {known}")
    return options


def measure(started, options, run):
    """Fills `run`: the peak before and after, and every cell between."""
    before = machine.busy(), sum(worker.seconds_used() for worker in started.values())
    peaks(started, options, run)
    for cell in options.cells:
        for n in speed.sizes(cell, options.sizes):
            print(f"{cell} n = {n}", file=sys.stderr)
            run["cells"].append({"cell": cell, "n": n, "times": times(started, options, cell, n)})
    peaks(started, options, run)
    all_used = machine.busy() - before[0]
    ours = sum(worker.seconds_used() for worker in started.values()) - before[1]
    run["foreign_load"] = round(max(0.0, 1.0 - ours / max(all_used, 1e-9)), 3)


def peaks(started, options, run):
    """Measures the peak of multiply-adds; the best of all measurements counts."""
    if "regard" not in started:
        return
    for simd in ("avx512", "avx2"):
        for threads in sorted({1, options.threads}):
            try:
                answer = started["regard"].ask(1.0, cell="peak", simd=simd, threads=threads)
            except RuntimeError as missing:
                print(missing, file=sys.stderr)
                continue
            best = run["peak"].setdefault(simd, {})
            best[str(threads)] = round(max(answer["gflops"], best.get(str(threads), 0.0)), 1)


def times(started, options, cell, n):
    """Median and quartiles of each worker in one cell, the better style of those that have two."""
    samples, rounds = {}, options.rounds
    for name, ask in variants(started, cell, n):
        try:
            warm = ask(options.warm)["ms"]
        except RuntimeError as missing:
            print(f"  left out: {missing}", file=sys.stderr)
            continue
        samples[name] = (ask, [])
        rounds = min(rounds, SLOW_ROUNDS) if statistics.median(warm) > SLOW_MS else rounds
    for _ in range(rounds):
        for ask, values in samples.values():
            values.extend(ask(options.seconds)["ms"])
    best = {}
    for (name, style), (_, values) in samples.items():
        found = summary(values) | ({"style": style} if style else {})
        if name not in best or found["median"] < best[name]["median"]:
            best[name] = found
    return best


def variants(started, cell, n):
    """Measurements of a cell: `((name, style), ask)`, where `ask` takes seconds."""
    for worker in started.values():
        if cell in speed.TRAINING and worker.name.endswith("-avx2"):
            continue
        forms = [("", cell)]
        if cell in speed.FORMS and worker.name in speed.RIVALS:
            forms.append(speed.FORMS[cell])
        for ending, asked in forms:
            for style in worker.styles:
                ask = functools.partial(worker.ask, cell=asked, n=n, style=style or "")
                yield (worker.name + ending, style), ask


def memory(started, cell, n):
    """Resident sizes around a training step of both sides, or around our inference; None for one not measured."""
    found = {"cell": cell, "n": n, "regard": None, "torch": None}
    for name in ("regard",) if cell in speed.WHOLE_PROCESS else ("regard", "torch"):
        try:
            found[name] = started[name].memory(cell, n) if name in started else None
        except RuntimeError as missing:
            print(f"left out: {missing}", file=sys.stderr)
            found[name] = None
    return found


def summary(values):
    """Median, quartiles and number of values, in milliseconds."""
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    low, median, high = (round(value, 2) for value in quarters)
    return {"median": median, "low": low, "high": high, "samples": len(values)}


def report(run, as_json):
    """Prints the tables, or the ratios as JSON."""
    if as_json:
        print(json.dumps(speed.ratios(run)))
    else:
        print(f"{run['machine']['cpu']}, {run['threads']} threads, batch {run['batch']}")
        for simd, values in run["peak"].items():
            print(f"peak {simd}: " + ", ".join(f"{count} threads {rate} GFLOP/s" for count, rate in values.items()))
        for table in (tables.main_table, tables.rate_table, tables.training_table, tables.memory_table):
            head, rows = table(run)
            if rows:
                print(tables.markdown(head, rows))
    if run["foreign_load"] > 0.05:
        share = f"{run['foreign_load']:.0%}"
        print(f"warning: other processes took {share} of the processor time; measure again alone", file=sys.stderr)


def file_name(run, cells):
    """`<date>-<cpu>.json`, with the names of the cells when they are not all."""
    some = "" if set(cells) == set(CELLS) else "-" + "-".join(cells)
    return f"{run['date']}-{machine.slug(run['machine'])}{some}.json"


if __name__ == "__main__":
    main()
