"""Small JSON files of measurements: written whole or not at all, read in a fixed order."""

import json
import os
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
