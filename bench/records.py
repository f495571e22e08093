"""Small JSON files of measurements: written whole or not at all, read in a fixed order."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path


def save(path, record):
    """Writes a record through a temporary name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    partial.replace(path)
    print(f"written {path}", file=sys.stderr)


def bare(word):
    """An argument of a command without the folders of this machine."""
    name, equals, value = word.rpartition("=")
    return f"{name}{equals}{Path(value).name if os.sep in value and Path(value).exists() else value}"


def read(folder, kind):
    """The records of one kind in a folder as `(file name, record)`, sorted by file name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        if record.get("format") != 1:
            sys.exit(f"{path}: format {record.get('format')!r}, expected 1")
        if record.get("kind") == kind:
            found.append((path.name, record))
    return found


def answer(command, kept=None, limit=None):
    """What a command answers in JSON and its processor seconds; none if it takes more of them than the limit. With a path, the answer is kept there."""
    if kept and kept.exists():
        return json.loads(kept.read_text())
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    bound = lambda: limit and resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    before = spent()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=bound)
    if limit and done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}")
    found = {"result": json.loads(done.stdout), "seconds": spent() - before}
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    return found
