#!/usr/bin/env python3
"""Compares regard with PyTorch on this machine, in one run.

    python bench/compare.py --python PYTHON_WITH_TORCH

All workers are started first and asked in turn, many short rounds, so that a change of the machine's speed meets all of
them alike; a worker that is not asked is stopped by a signal. Every cell is warmed up until the heap is warm. Times are
medians over all rounds, with quartiles. PyTorch is measured in two styles of writing, and the faster one counts.

Nothing else should run meanwhile: the share of processor time that others took is measured, printed and saved.
The result is a table here and a JSON file in bench/results/, from which RESULTS.md is generated.
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

import speed
import workers

NAMES = ["regard", "regard-avx2", "torch", "torch-forced", "torch-avx2"]


def main():
    options = arguments()
    run = {
        "format": 1,
        "kind": "speed",
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "threads": options.threads,
        "rounds": options.rounds,
        "foreign_load": 0.0,
        "peak": {},
        "cells": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        started = workers.start(options.workers, options.python, options.threads, folder)
        hellos = {name: worker.hello for name, worker in started.items()}
        run["workers"] = hellos
        run["batch"] = next((hello["batch"] for hello in hellos.values() if "batch" in hello), 512)
        try:
            measure(started, options, run)
        finally:
            for worker in started.values():
                worker.close()
    report(run)
    if not options.dry_run:
        print(f"written {save(run, options.out)}")


def arguments():
    numbers = lambda text: [int(part) for part in text.split(",")]
    words = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default=os.environ.get("BENCH_PYTHON", sys.executable), help="Python with torch")
    parser.add_argument("--cells", type=words, default=["encoder", "rollout"])
    parser.add_argument("--sizes", type=numbers, default=[20, 50, 100])
    parser.add_argument("--workers", type=words, default=NAMES, help=f"some of {','.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one worker in one round")
    parser.add_argument("--warm", type=float, default=2.0, help="seconds of warm-up of each worker and style")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=workers.BENCH / "results")
    parser.add_argument("--dry-run", action="store_true", help="print only")
    options = parser.parse_args()
    unknown = set(options.workers) - set(NAMES)
    if unknown:
        parser.error(f"unknown workers {sorted(unknown)}, expected some of {NAMES}")
    return options


def measure(started, options, run):
    """Fills `run`: the peak before and after, and every cell between."""
    before = busy(), sum(worker.seconds_used() for worker in started.values())
    peaks(started, options, run)
    for cell in options.cells:
        for n in options.sizes:
            print(f"{cell} n = {n}", file=sys.stderr)
            run["cells"].append({"cell": cell, "n": n, "times": times(started, options, cell, n)})
    peaks(started, options, run)
    all_used = busy() - before[0]
    ours = sum(worker.seconds_used() for worker in started.values()) - before[1]
    run["foreign_load"] = round(max(0.0, 1.0 - ours / max(all_used, 1e-9)), 3)


def peaks(started, options, run):
    """Measures the peak of multiply-adds; the best of all measurements counts."""
    if "regard" not in started:
        return
    for simd in ("avx512", "avx2"):
        for threads in sorted({1, options.threads}):
            try:
                answer = started["regard"].ask(cell="peak", simd=simd, threads=threads, seconds=1.0)
            except RuntimeError as missing:
                print(missing, file=sys.stderr)
                continue
            best = run["peak"].setdefault(simd, {})
            best[str(threads)] = round(max(answer["gflops"], best.get(str(threads), 0.0)), 1)


def times(started, options, cell, n):
    """Median and quartiles of each worker in one cell, the better style of those that have two."""
    samples = {}
    for worker, style in list(variants(started)):
        try:
            worker.ask(cell=cell, n=n, style=style or "", seconds=options.warm)
            samples[worker.name, style] = []
        except RuntimeError as missing:
            print(f"  left out: {missing}", file=sys.stderr)
    for _ in range(options.rounds):
        for worker, style in variants(started):
            if (worker.name, style) in samples:
                answer = worker.ask(cell=cell, n=n, style=style or "", seconds=options.seconds)
                samples[worker.name, style].extend(answer["ms"])
    best = {}
    for (name, style), values in samples.items():
        found = summary(values) | ({"style": style} if style else {})
        if name not in best or found["median"] < best[name]["median"]:
            best[name] = found
    return best


def variants(started):
    """Every worker with each of its styles."""
    return ((worker, style) for worker in started.values() for style in worker.styles)


def summary(values):
    """Median, quartiles and number of values, in milliseconds."""
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    low, median, high = (round(value, 2) for value in quarters)
    return {"median": median, "low": low, "high": high, "samples": len(values)}


def busy():
    """Processor seconds used by everybody since the start of the machine, stolen time included."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    user, nice, system, _idle, _wait, irq, soft, steal = fields
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def machine():
    """What the machine is."""
    text = Path("/proc/cpuinfo").read_text()
    field = lambda name: (re.findall(rf"^{name}\s*: (.*)$", text, re.MULTILINE) or ["unknown"])[0]
    memory = int(re.findall(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[0])
    return {
        "cpu": field("model name"),
        "family": field("cpu family"),
        "model": field("model"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**20),
    }


def commit():
    """The commit that was measured; with `+` when files differ from it."""
    git = lambda *words: subprocess.run(["git", *words], cwd=workers.BENCH, capture_output=True, text=True)
    head = git("rev-parse", "--short", "HEAD")
    if head.returncode != 0:
        return None
    return head.stdout.strip() + ("+" if git("status", "--porcelain").stdout.strip() else "")


def report(run):
    """Prints the tables."""
    print(f"{run['machine']['cpu']}, {run['threads']} threads, batch {run['batch']}")
    for simd, values in run["peak"].items():
        print(f"peak {simd}: " + ", ".join(f"{count} threads {rate} GFLOP/s" for count, rate in values.items()))
    print(speed.markdown(*speed.main_table(run)))
    print(speed.markdown(*speed.rate_table(run)))
    if run["foreign_load"] > 0.05:
        print(f"warning: other processes took {run['foreign_load']:.0%} of the processor time; measure again alone")


def save(run, folder):
    """Writes `<date>-<cpu>.json` through a temporary name."""
    cpu = re.sub(r"[^a-z0-9]+", "-", run["machine"]["cpu"].lower()).strip("-")
    path = folder / f"{run['date']}-{cpu}-{run['machine']['family']}-{run['machine']['model']}.json"
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".json.partial")
    partial.write_text(json.dumps(run, indent=1) + "\n")
    partial.replace(path)
    return path


if __name__ == "__main__":
    main()
