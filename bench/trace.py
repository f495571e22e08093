#!/usr/bin/env python3
"""The cost of the trace where nothing is recorded, beside the shortest forward pass: results/trace-tsp20.json.

    python bench/trace.py
"""

import datetime
import json
import os
import subprocess
from pathlib import Path

import machine
import records
import workers

ROOT = Path(__file__).resolve().parent.parent


def main():
    ours = workers.build_regard()
    environment = {**os.environ, "BENCH_THREADS": "1"}
    measured = json.loads(subprocess.run([ours, "--trace"], stdout=subprocess.PIPE, check=True, env=environment).stdout)
    record = {
        "format": 1,
        "kind": "trace",
        "date": datetime.date.today().isoformat(),
        "machine": machine.description(),
        **{key: value for key, value in measured.items() if key != "kind"},
    }
    print(f"{measured['steps']} steps of {measured['step_ns']:.1f} ns in {measured['pass_us']:.0f} us: {measured['share']:.3%}")
    records.save(ROOT / "results/trace-tsp20.json", record)


if __name__ == "__main__":
    main()
