"""Runs every fuzz target for some minutes, and writes what was tried and found to results/fuzz.json.

    python3 fuzz/campaign.py --minutes 10              # all targets
    python3 fuzz/campaign.py --minutes 480 tsplib csv  # some of them, overnight
    python3 fuzz/campaign.py --keep                    # afterwards: the small part of each corpus into fuzz/seeds

Needs a nightly compiler and `cargo install cargo-fuzz`. A target starts from fuzz/seeds/TARGET and from what earlier
campaigns found (fuzz/corpus/TARGET, not in the repository). A finding stands in fuzz/artifacts/TARGET; the exit status is
1 if there is one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SAVED = HERE.parent / "results" / "fuzz.json"
# A corpus in the repository has this many files of this many bytes at most.
MOST_FILES, MOST_BYTES = 24, 1024


def targets():
    return [target["name"] for target in tomllib.loads((HERE / "Cargo.toml").read_text())["bin"]]


def fuzz(*arguments, **options):
    command = ["cargo", "+nightly", "fuzz", *arguments[:1], "--fuzz-dir", str(HERE), "--features", "models", *arguments[1:]]
    return subprocess.run(command, cwd=HERE, text=True, stdin=subprocess.DEVNULL, **options)


def folders(target):
    found, seeds = HERE / "corpus" / target, HERE / "seeds" / target
    found.mkdir(parents=True, exist_ok=True)
    return [str(folder) for folder in (found, seeds) if folder.is_dir()]


def run(target, minutes):
    """One target for some minutes: executions, edges covered, and the findings."""
    limits = [f"-max_total_time={int(minutes * 60)}", "-timeout=25", "-rss_limit_mb=4096", "-print_final_stats=1"]
    end = fuzz("run", target, *folders(target), "--", *limits, capture_output=True)
    log = end.stderr
    number = lambda pattern: int(found[-1]) if (found := re.findall(pattern, log)) else 0
    findings = re.findall(r"Test unit written to \S*/(\S+)", log)
    if end.returncode and not findings:
        print(log[-4000:], file=sys.stderr)
    return {
        "target": target,
        "minutes": minutes,
        "executions": number(r"stat::number_of_executed_units: (\d+)"),
        "edges": number(r"cov: (\d+)"),
        "findings": findings or (["ended early"] if end.returncode else []),
    }


def keep(target):
    """Puts the files that cover most into fuzz/seeds, small ones only, in the place of those of earlier campaigns."""
    with tempfile.TemporaryDirectory() as merged:
        fuzz("run", target, merged, *folders(target), "--", "-merge=1", f"-max_len={MOST_BYTES}", capture_output=True)
        files = sorted(pathlib.Path(merged).iterdir(), key=lambda file: -file.stat().st_size)[:MOST_FILES]
        seeds = HERE / "seeds" / target
        seeds.mkdir(parents=True, exist_ok=True)
        # Files with a name of their own were written by people.
        for old in seeds.iterdir():
            if re.fullmatch(r"[0-9a-f]{40}", old.name):
                old.unlink()
        for file in files:
            shutil.copy(file, seeds / file.name)
        print(f"{target}: {len(files)} files")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    known = targets()
    if unknown := set(arguments.targets) - set(known):
        parser.error(f"no target {', '.join(sorted(unknown))}; expected {', '.join(known)}")
    chosen = arguments.targets or known
    if arguments.keep:
        for target in chosen:
            keep(target)
        return 0
    fuzz("build", check=True)
    saved = {record["target"]: record for record in json.loads(SAVED.read_text())["targets"]} if SAVED.exists() else {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for found in pool.map(lambda target: run(target, arguments.minutes), chosen):
            saved[found["target"]] = found
            part = SAVED.with_suffix(".partial")
            record = {"format": 1, "kind": "fuzz", "date": time.strftime("%Y-%m-%d"), "targets": [saved[name] for name in known if name in saved]}
            part.write_text(json.dumps(record, indent=1) + "\n")
            os.replace(part, SAVED)
            findings = ", ".join(found["findings"]) or "no finding"
            print(f"{found['target']}: {found['executions']:,} executions, {found['edges']:,} edges, {findings}", flush=True)
    return 1 if any(saved[target]["findings"] for target in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
