#!/usr/bin/env python3
"""Time of a clean release build and size of the program, for several commits one after the other on one machine.

    python bench/builds.py --save results/build-NAME.json [--keep DIR] COMMIT...

Each commit is built from nothing in a folder of its own. `--keep` names the target folder of the last commit, which stays.
Nothing else should run on the machine; the share of the processors that others took is in the record.
"""

import argparse
import datetime
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import records

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--save", type=Path, required=True, help="JSON file for RESULTS.md")
    parser.add_argument("--keep", type=Path, help="target folder of the last commit, must not exist")
    parser.add_argument("commits", nargs="+")
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        sys.exit(f"{options.keep}: exists, so a build there would not be clean")
    rows = []
    for place, commit in enumerate(options.commits):
        with tempfile.TemporaryDirectory() as scratch:
            keep = options.keep if place + 1 == len(options.commits) else None
            rows.append(build(commit, Path(scratch), keep))
            print(rows[-1], file=sys.stderr)
    records.save(options.save, {
        "format": 1,
        "kind": "build",
        "date": datetime.date.today().isoformat(),
        "machine": machine.description(),
        "command": "cargo build --release --locked",
        "builds": rows,
    })


def build(commit, scratch, keep):
    """Builds one commit from nothing; gives its seconds, processor seconds and sizes."""
    source, target = scratch / "source", keep or scratch / "target"
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    git("worktree", "add", "--detach", str(source), commit)
    try:
        subprocess.run(["cargo", "fetch", "--locked", "-q"], cwd=source, check=True)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        environment.pop("CARGO_INCREMENTAL", None)
        before, others, start = resource.getrusage(resource.RUSAGE_CHILDREN), machine.busy(), time.monotonic()
        subprocess.run(["cargo", "build", "--release", "--locked", "-q"], cwd=source, env=environment, check=True)
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        others = max(0.0, machine.busy() - others - processor)
        program = target / "release/regard"
        stripped = scratch / "stripped"
        subprocess.run(["strip", "-o", str(stripped), str(program)], check=True)
        return {
            "commit": git("rev-parse", "--short", commit),
            "seconds": round(seconds),
            "processor_seconds": round(processor),
            "other_load": round(others / (seconds * os.cpu_count()), 3),
            "bytes": program.stat().st_size,
            "stripped_bytes": stripped.stat().st_size,
        }
    finally:
        git("worktree", "remove", "--force", str(source))


if __name__ == "__main__":
    main()
