#!/usr/bin/env python3
"""Time from the start of a command to its end, files in the cache: the waiting time for a short answer.

    python bench/start.py [--limit MS] [--rounds N] --save results/start-NAME.json -- COMMAND...

Exits with 1 when the command failed or its median took more than the limit.
"""

import argparse
import datetime
import statistics
import subprocess
import sys
import time
from pathlib import Path

import records
from memory import shown


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, help="milliseconds")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--save", type=Path, help="JSON file for RESULTS.md")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    once(options.command)
    times = sorted(once(options.command) for _ in range(options.rounds))
    low, median, high = statistics.quantiles(times, n=4)
    print(f"median {median:.1f} ms, quartiles {low:.1f} to {high:.1f} ms")
    if options.save:
        record = {
            "format": 1,
            "kind": "start",
            "date": datetime.date.today().isoformat(),
            "command": shown(options.command),
            "rounds": options.rounds,
            "milliseconds": [round(value, 1) for value in (low, median, high)],
            "limit_milliseconds": options.limit,
        }
        records.save(options.save, record)
    sys.exit(0 if options.limit is None or median < options.limit else 1)


def once(command):
    """Milliseconds of one run."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return 1000 * (time.monotonic() - start)


if __name__ == "__main__":
    main()
