"""Reads the folder of a training run as the fields of a record for results/.

* `manifest.json`: `command`, and where it has them `commit`, `machine`, `threads` and `earlier` (the trainings before it);
* `metrics.jsonl`: lines `{"kind": "valid", "step", "epoch", "instances", "cost"}` among others;
* `timings.jsonl`: lines `{"step", "seconds"}` with the seconds of training until that step.

A step that was written twice, before and after the run was resumed, counts as it was written last.
"""

import bisect
import json
import sys


def read(folder, given):
    """The fields of a record, without its evaluations; what is `given` goes before the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    metrics = lines(folder / "metrics.jsonl")
    timings = {line["step"]: line["seconds"] for line in lines(folder / "timings.jsonl")}
    valid = {line["step"]: line for line in metrics if line.get("kind") == "valid"}
    curve = [
        {
            "epoch": line["epoch"],
            "instances": line["instances"],
            "validation_cost": line["cost"],
            "seconds": seconds_at(timings, step),
        }
        for step, line in sorted(valid.items())
    ]
    known = {key: manifest.get(key) if value is None else value for key, value in given.items()}
    return {
        "command": manifest.get("command"),
        **known,
        "seconds": timings[max(timings)] if timings else manifest.get("wall_seconds"),
        "steps": max([*timings, *(line["step"] for line in metrics if "step" in line)], default=None),
        "instances": max((line["instances"] for line in metrics if "instances" in line), default=None),
        **({"earlier": manifest["earlier"]} if manifest.get("earlier") else {}),
        "curve": curve,
    }


def core_hours(record):
    """Hours of one core of a training and those before it, as text; those whose time is not known are left out, which `>` says."""
    trainings = [*record.get("earlier", []), {"wall_seconds": record["seconds"], "threads": record["threads"]}]
    known = [one["wall_seconds"] * one["threads"] for one in trainings if one.get("wall_seconds") and one.get("threads")]
    return f"{'> ' if len(known) < len(trainings) else ''}{sum(known) / 3600:.1f}"


def evals(records):
    """Evaluations in the short form of a training record, in the order of their sets."""
    found = [
        {
            "set": record["set"],
            "decode": decoding(record["result"], record["arguments"]),
            "augment": record["result"].get("augment") or 1,
            "mean_cost": record["result"]["mean_cost"],
            "gap": record["result"].get("gap"),
        }
        for record in records
    ]
    return sorted(found, key=lambda one: (len(one["set"]), one["set"], one["decode"], one["augment"]))


def decoding(result, arguments):
    """Name of the way of decoding."""
    at = arguments.index("--temperature") if "--temperature" in arguments else None
    warm = "" if at is None else f", temperature {arguments[at + 1]}"
    return result.get("decode", "greedy") + warm + (" + improve" if result.get("improve") else "")


def seconds_at(timings, step):
    """Seconds until a step: its own line, or that of the last step before it; None when there are no lines at all."""
    if not timings:
        return None
    steps = sorted(timings)
    at = bisect.bisect_right(steps, step)
    return timings[steps[at - 1]] if at else 0.0


def lines(path):
    """The objects of a file with one a line; a last line that is cut short is left out."""
    if not path.exists():
        print(f"{path} is missing", file=sys.stderr)
        return []
    found = []
    written = path.read_text().splitlines()
    for number, line in enumerate(written, 1):
        try:
            found.append(json.loads(line))
        except ValueError:
            if number < len(written):
                sys.exit(f"{path}:{number}: not JSON")
    return found
