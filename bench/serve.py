#!/usr/bin/env python3
"""The service under load on this machine: latency, throughput and memory beside the command line on the same batch.

    python bench/serve.py [--program target/release/regard] [--seconds N] [--requests N] [--save results/serve-NAME.json]

The load generator is wrk (Debian: wrk). Each request solves one small instance or predicts for one molecule; the command
line does the same for a batch of 256 of them in one call. Exits with 1 when a limit is missed: throughput at 256
connections at least 0.7 of the command line, resident memory after all requests at most a tenth above that after the
first tenth of them, no request without an answer.
"""

import argparse
import datetime
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS = (1, 16, 256)
BATCH = 256
NODES = 20
SHARE = 0.7
GROWTH = 1.1

# Requests one after the other from a list of bodies; the answers by status at the end.
SCRIPT = """
local bodies = {}
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local at = 0
local headers = { ["Content-Type"] = "application/json" }
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", nil, headers, bodies[at])
end
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests": %d, "microseconds": %d, "p50": %f, "p99": %f, "failed": %d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/regard")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--requests", type=int, default=100_000, help="of the measurement of memory")
    parser.add_argument("--save", type=Path, help="JSON file for RESULTS.md")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is missing (Debian: apt-get install wrk)")
    program = options.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        workloads = [routes(work), molecules(work)]
        service, url = start(program, work)
        try:
            rows = [measure(workload, program, work, url, options.seconds) for workload in workloads]
            memory = resident(workloads[1], work, url, service.pid, options.requests)
        finally:
            service.terminate()
            service.wait(timeout=60)
    record = {
        "format": 1,
        "kind": "serve",
        "date": datetime.date.today().isoformat(),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "workloads": rows,
        "memory": memory,
    }
    print(json.dumps(record, indent=1))
    if options.save:
        records.save(options.save, record)
    sys.exit(0 if all(fine(row) for row in rows) and memory["growth"] <= GROWTH else 1)


def fine(row):
    """If true, a workload keeps its limits."""
    return row["share"] >= SHARE and all(one["failed"] == 0 for one in row["connections"])


def routes(work):
    """Small instances of the travelling salesman's problem."""
    draw = random.Random(1)
    texts = []
    for _ in range(BATCH):
        nodes = [f"{node},{draw.random():.6f},{draw.random():.6f}" for node in range(NODES)]
        texts.append("id,x,y\n" + "\n".join(nodes) + "\n")
    names = []
    for at, text in enumerate(texts):
        names.append(f"small{at}.csv")
        (work / names[-1]).write_text(text)
    return {
        "name": f"travelling salesman, {NODES} nodes",
        "path": "/v1/solve",
        "bodies": [{"file": {"name": "small.csv", "content": text}} for text in texts],
        "command": ["solve", *names, "--json"],
        "shown": f"regard solve ({BATCH} files)",
    }


def molecules(work):
    """Molecules of the examples, one in each request."""
    header, *rows = (ROOT / "examples/molecules.csv").read_text().splitlines()
    rows = [rows[at % len(rows)] for at in range(BATCH)]
    (work / "batch.csv").write_text("\n".join([header, *rows]) + "\n")
    return {
        "name": "solubility of one molecule",
        "path": "/v1/predict",
        "bodies": [
            {"file": {"name": "one.csv", "content": f"{header}\n{row}\n"}, "model": "regard-solubility"} for row in rows
        ],
        "command": ["predict", "--model", "regard-solubility", "batch.csv", "--json"],
        "shown": f"regard predict ({BATCH} molecules in one file)",
    }


def start(program, work):
    """The service, and its address."""
    command = [program, "serve", "--listen", "127.0.0.1:0", "--json", "--quiet"]
    service = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True)
    return service, json.loads(service.stdout.readline())["url"].rstrip("/")


def measure(workload, program, work, url, seconds):
    """Latency and throughput at each number of connections, and the throughput of the command line."""
    times = []
    for _ in range(3):
        begun = time.monotonic()
        subprocess.run([program, *workload["command"]], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - begun)
    by_command = BATCH / sorted(times)[1]
    connections = []
    for count in CONNECTIONS:
        found = load(workload, work, url, count, seconds)
        connections.append({
            "connections": count,
            "p50_ms": round(found["p50"] / 1000, 2),
            "p99_ms": round(found["p99"] / 1000, 2),
            "per_second": round(1e6 * found["requests"] / found["microseconds"], 1),
            "failed": found["failed"],
        })
    return {
        "name": workload["name"],
        "command": workload["shown"],
        "command_per_second": round(by_command, 1),
        "connections": connections,
        "share": round(connections[-1]["per_second"] / by_command, 3),
    }


def load(workload, work, url, connections, seconds):
    """One run of the load generator."""
    bodies = work / "bodies.txt"
    bodies.write_text("".join(json.dumps(body) + "\n" for body in workload["bodies"]))
    script = work / "post.lua"
    script.write_text(SCRIPT.replace("BODIES", str(bodies)))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", script, url + workload["path"]]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(re.search(r"^RESULT (.*)$", text, re.M)[1])


def resident(workload, work, url, process, requests):
    """Resident memory in MiB after a tenth of so many requests, and after all."""
    done, marks = 0, []
    for goal in (requests // 10, requests):
        while done < goal:
            done += load(workload, work, url, CONNECTIONS[-1], 5)["requests"]
        marks.append(pages(process))
    with urllib.request.urlopen(url + "/healthz") as answer:
        answer.read()
    return {"requests": done, "mib": marks, "growth": round(marks[1] / marks[0], 3)}


def pages(process):
    """Resident memory of a process in MiB."""
    words = Path(f"/proc/{process}/statm").read_text().split()
    return round(int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def cpu():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.machine()


if __name__ == "__main__":
    main()
