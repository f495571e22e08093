#!/usr/bin/env python3
"""Peak resident memory of one command.

    python bench/memory.py [--limit MIB] [--save results/NAME.json] -- COMMAND...

For the project's own limit, 10,000 instances of 100 places, greedy, in one process:

    python bench/memory.py --limit 512 --save results/memory-eval-tsp100.json -- \\
        target/release/regard eval --model MODEL --paper-set tsp100 --decode greedy --json

Exits with 1 when the command failed or took more than the limit.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

import records


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, help="MiB")
    parser.add_argument("--save", type=Path, help="JSON file for RESULTS.md")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    peak, seconds, code = run(options.command)
    print(f"peak {peak:.1f} MiB resident, {seconds:.1f} s, exit code {code}")
    if options.save and code == 0:
        record = {
            "format": 1,
            "kind": "memory",
            "date": datetime.date.today().isoformat(),
            "command": shown(options.command),
            "peak_mib": round(peak, 1),
            "limit_mib": options.limit,
            "seconds": round(seconds, 2),
        }
        records.save(options.save, record)
    within = options.limit is None or peak < options.limit
    sys.exit(0 if code == 0 and within else 1)


def run(command):
    """Peak resident MiB, wall seconds and exit code of a command; its standard output is shown on standard error."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return usage.ru_maxrss / unit, time.monotonic() - start, os.waitstatus_to_exitcode(status)


def shown(command):
    """The command without the folders of this machine."""
    return " ".join(Path(word).name if os.path.isabs(word) or word.startswith("target/") else records.bare(word) for word in command)


if __name__ == "__main__":
    main()
