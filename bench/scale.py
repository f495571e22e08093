"""Measures training on several ranks, predictions for a stream, and training from files that are larger than memory; writes
results/scale.json.

    python3 bench/scale.py target/release/regard [--rows 100000000] [--steps 40] [--gib 20] [--only ranks|stream|file|series]

Weak scaling: one rank of one thread trains with a batch, two ranks of one thread each train with twice that batch; the
efficiency is the time of the first by that of the second. Needs `mpirun` and a program built with `--features mpi`. The
time on 64 machines is calculated from these numbers, see `machines`. The stream is a table of points in sets of a hundred,
written while it is read; the address space of the program is limited. The file is a table of customers with visits, from
which a classifier is trained without base learners. The file of series has hourly values of many sensors, a row for each value,
from which a forecaster is trained without base forecasters.
"""

import argparse
import datetime
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent
# Experiment, examples of a batch for each rank, and settings.
TRAININGS = [
    ("routes/tsp20", 256, ["eval.instances=64"]),
    ("routes/tsp100", 64, ["eval.instances=64"]),
    ("sets/max", 64, []),
    ("series/forecast", 64, [f"data.path={ROOT / 'examples/station.csv'}"]),
]
# What is measured, each on its own or all together.
PARTS = ["ranks", "stream", "file", "series"]
# Bits a second of a network, and the seconds of a message on its way.
NETWORKS = {"1 Gbit/s": (1e9, 50e-6), "10 Gbit/s": (1e10, 20e-6), "100 Gbit/s": (1e11, 5e-6)}
MACHINES = 64
SET = 100
# Bytes of address space: a program with its threads takes some without using it.
ADDRESSES = 3 << 30
# The same for training from a file, the columns of its table and the rows of a set.
ADDRESSES_OF_TRAINING = 2 << 30
COLUMNS, VISITS = 40, 3
# Hourly values of a sensor, and bytes of address space for a training from a file of series.
HOURS = 20_000
ADDRESSES_OF_SERIES = 6 << 30


def trained(program, experiment, ranks, batch, settings, steps, folder):
    """Seconds of a step, the share of waiting, and the number of weights."""
    words = ["train", experiment, "--steps", steps, "--seed", 7, "--json", "-q", "--threads", 1, "--out", folder / f"{ranks}"]
    for one in [*settings, f"train.batch_size={batch * ranks}", f"train.shards={ranks}", "train.checkpoint_minutes=60", "train.log_steps=10"]:
        words += ["--set", one]
    words = [program, *map(str, words)]
    if ranks > 1:
        words = ["mpirun", "-n", str(ranks), "--bind-to", "core", *words]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | root)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    lines = [json.loads(line) for line in (folder / f"{ranks}/timings.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "seconds" in line and "step" in line]
    # The first lines hold the start.
    first, last = lines[len(lines) // 4], lines[-1]
    seconds = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
    return seconds, found.get("ranks", {}).get("waiting", 0.0), found["parameters"]


def machines(seconds, weights, bits, latency):
    """Efficiency on 64 machines: each computes a step in the same time as one does alone, then the gradient goes up and down a
    binary tree, whole in every message (4 bytes a weight), one message after the other on each of its levels."""
    levels = MACHINES.bit_length() - 1
    messages = 2 * levels * (latency + 32 * weights / bits)
    return seconds / (seconds + messages)


def ranks(program, steps):
    rows = []
    for experiment, batch, settings in TRAININGS:
        with tempfile.TemporaryDirectory() as folder:
            of = [trained(program, experiment, count, batch, settings, steps, Path(folder)) for count in (1, 2)]
        (one, _, weights), (two, waiting, _) = of
        far = {name: round(machines(one, weights, *network), 3) for name, network in NETWORKS.items()}
        row = {"experiment": experiment, "batch": batch, "step_ms": [1e3 * one, 1e3 * two], "efficiency": one / two}
        rows.append(row | {"waiting": waiting, "weights": weights, "on_64": far})
        print(rows[-1], file=sys.stderr)
    return rows


def table(out, rows):
    """Writes a table of sets while it is read."""
    out.write(b"bag,value\n")
    # A block of values is the same for all sets: what is measured is reading, not chance.
    values = [f",{(7919 * at) % 997 / 10}\n".encode() for at in range(SET)]
    for first in range(0, rows // SET, 1000):
        names = [str(name).encode() for name in range(first, min(first + 1000, rows // SET))]
        out.write(b"".join(name + value for name in names for value in values))
    out.close()


def stream(program, rows):
    """Rows a second and peak memory of predictions for a stream."""
    words = [str(program), "predict", "--model", "regard-max", "--group-by", "bag", "-"]
    limited = ["sh", "-c", f'ulimit -v {ADDRESSES >> 10}; exec "$0" "$@"', *words]
    begun = time.monotonic()
    process = subprocess.Popen(limited, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if os.fork() == 0:
        process.stdout.close()
        table(process.stdin, rows)
        os._exit(0)
    process.stdin.close()
    status, peak, lines = Path(f"/proc/{process.pid}/status"), 0, 0
    while block := process.stdout.read(1 << 20):
        lines += block.count(b"\n")
        peak = max([peak, *(int(found) for found in re.findall(r"VmHWM:\s+(\d+)", status.read_text()))])
    said = process.stderr.read().decode()
    if process.wait():
        sys.exit(said)
    seconds = time.monotonic() - begun
    assert lines == rows // SET + 1, lines
    return {"rows": rows, "sets": rows // SET, "seconds": seconds, "per_second": rows / seconds, "peak_mib": peak / 1024}


def visits(path, size):
    """Writes a table of so many bytes; returns the number of its sets."""
    draws = random.Random(7)
    blocks = []
    # A block of customers is there many times under other names.
    for _ in range(1000):
        left = draws.randrange(2)
        numbers = [[f"{draws.gauss(left if column < 4 else 0, 1):.3f}" for column in range(COLUMNS)] for _ in range(VISITS)]
        blocks.append([f",{left},{','.join(row)}\n".encode() for row in numbers])
    written = sets = 0
    with open(path, "wb") as out:
        out.write(("customer,left," + ",".join(f"x{column}" for column in range(COLUMNS)) + "\n").encode())
        while written < size:
            names = (str(sets + at).encode() for at in range(len(blocks)))
            written += out.write(b"".join(name + row for name, rows in zip(names, blocks) for row in rows))
            sets += len(blocks)
    return sets


def hours(path, size):
    """Writes a table of so many bytes with a row for each value; returns the number of its series."""
    draws, start = random.Random(7), datetime.datetime(2020, 1, 1)
    stamps = [(start + datetime.timedelta(hours=hour)).strftime("%Y-%m-%d %H:%M:%S") for hour in range(HOURS)]
    level = lambda hour: 10 * math.sin(2 * math.pi * hour / 24) + draws.gauss(20, 3)
    # The same values are there many times under other names.
    blocks = [[f",{stamp},{level(hour):.2f}\n".encode() for hour, stamp in enumerate(stamps)] for _ in range(10)]
    written = series = 0
    with open(path, "wb") as out:
        out.write(b"sensor,time,value\n")
        while written < size:
            name = f"s{series}".encode()
            written += out.write(b"".join(name + row for row in blocks[series % len(blocks)]))
            series += 1
    return series


def file(program, gib, steps):
    """A classifier of sets, trained from a file."""
    settings = ["data.group_by=customer", "data.target=left", "task.kind=classification"]
    with tempfile.TemporaryDirectory(dir=ROOT.parent) as folder:
        path = Path(folder) / "visits.csv"
        sets = visits(path, gib << 30)
        row = {"sets": sets, "columns": COLUMNS, "rows": sets * VISITS}
        return row | trained_from(path, program, "sets/bags", settings, steps, ADDRESSES_OF_TRAINING)


def series(program, gib, steps):
    """A forecaster, trained from a file."""
    with tempfile.TemporaryDirectory(dir=ROOT.parent) as folder:
        path = Path(folder) / "sensors.csv"
        count = hours(path, gib << 30)
        row = {"series": count, "rows": count * HOURS}
        return row | trained_from(path, program, "series/forecast", [], steps, ADDRESSES_OF_SERIES)


def trained_from(path, program, experiment, settings, steps, limit):
    """Seconds to the first step and of the rest, and peak memory, of a training from a file."""
    words = [program, "train", experiment, "--steps", steps, "--no-progress", "--out", path.parent / "out"]
    given = [f"data.path={path}", "eval.blend=false", "train.log_steps=1", *settings]
    words += [word for one in given for word in ("--set", one)]
    limited = ["sh", "-c", f'ulimit -v {limit >> 10}; exec "$0" "$@"', *map(str, words)]
    begun, first = time.monotonic(), None
    process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    status, said, peak = Path(f"/proc/{process.pid}/status"), [], 0
    for line in process.stderr:
        said.append(line)
        peak = max([peak, *(int(found) for found in re.findall(r"VmHWM:\s+(\d+)", status.read_text()))])
        if first is None and line.startswith("epoch"):
            first = time.monotonic() - begun
    if process.wait() or first is None:
        sys.exit("".join(said))
    seconds = time.monotonic() - begun
    row = {"bytes": path.stat().st_size, "limit_bytes": limit, "peak_mib": peak / 1024}
    return row | {"seconds_to_first_step": first, "seconds": seconds, "steps": steps, "threads": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--gib", type=int, default=20)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    program, saved = arguments.program.resolve(), ROOT / "results/scale.json"
    record = json.loads(saved.read_text()) if saved.exists() else {}
    now = {"date": time.strftime("%Y-%m-%d"), "machine": machine.description(), "commit": machine.commit(ROOT)}
    # Parts that are not measured anew keep the date and the machine of their own.
    before = {key: record[key] for key in now if key in record}
    for part in PARTS:
        if part in record:
            record.setdefault("measured", {}).setdefault(part, before)
    record |= {"format": 1, "kind": "scale"} | now
    measures = {
        "ranks": lambda: ranks(program, arguments.steps),
        "stream": lambda: stream(program, arguments.rows),
        "file": lambda: file(program, arguments.gib, arguments.steps),
        "series": lambda: series(program, arguments.gib, arguments.steps),
    }
    for part in [arguments.only] if arguments.only else PARTS:
        record[part] = measures[part]()
        record.setdefault("measured", {})[part] = now
    records.save(saved, record)


if __name__ == "__main__":
    main()
