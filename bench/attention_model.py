"""The Attention Model (Kool et al. 2019) in PyTorch, as a timing worker.

This is the other side of the comparison in `compare.py`: the same network, the same batch, two threads, written in two
styles (`torch_network.py`); the driver keeps the faster one of each cell.

The worker reads one JSON object a line and answers with one:

    {"cell": "encoder", "n": 20, "style": "heads", "seconds": 0.5}   ->   {"ms": [83.1, 82.9, ...]}

Cells (`torch_cells.py`): `encoder`, `rollout`, `cvrp`, `sampling`, `isab`, `molecules`, `blocks`, `etth1` and `etth1-tfb` in evaluation mode;
`train-encoder`, `reinforce`, `pomo`, `train-isab`, `train-molecules`, `train-blocks` and those of series, `reinforce` and `pomo` with the
ending `-forced` too. For `cvrp` the environment names the folder of weights and
instances that both sides read, `BENCH_VEHICLES`; all but that cell can run on a card, `BENCH_DEVICE=cuda`,
and with the precision of products that `BENCH_PRECISION` names: `highest`, `high`, `medium`, `autocast` for the types of
numbers that PyTorch chooses with bfloat16, or `bfloat16` for all numbers. A request with `"error": true` is answered with the deviation from the result in
single precision instead of times.
The first iteration of every request is not timed, unless it is a slow one: after a pause the caches hold another
process's data.

    python bench/attention_model.py --memory reinforce 100 --style sdpa

does one `reinforce` step in this process and prints its resident size before the step and at its peak.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

import torch

from torch_cells import Cells
from torch_network import BATCH, STYLES

# Seconds from which an iteration is too long for the state of the caches to matter.
SLOW = 2.0


def timings(run, seconds):
    """Milliseconds of iterations that fill `seconds`, at least one, after one that is not timed if it was quick."""
    first = timed(run)
    if first > max(seconds, SLOW):
        return [first * 1e3]
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        times.append(timed(run) * 1e3)
    return times


def timed(run):
    """Seconds of one iteration."""
    before = time.perf_counter()
    run()
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - before


def deviation(run):
    """Root of the mean squared difference of a result from that in single precision, beside the root of its mean square."""
    asked = torch.get_float32_matmul_precision()
    with torch.autocast("cpu", enabled=False):
        torch.set_float32_matmul_precision("highest")
        exact = first(run())
        torch.set_float32_matmul_precision(asked)
    found = first(run())
    return float((found.double() - exact.double()).norm() / exact.double().norm())


def first(result):
    """The tensor of a result of several."""
    return result if isinstance(result, torch.Tensor) else first(result[0])


def memory(cell, n, style):
    """Resident MiB before the first iteration of a cell in this process, and at most until its end."""
    run = Cells().run(cell, n, style)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"before_mib": round(before, 1), "peak_mib": round(peak, 1)}


def serve():
    """Answers requests until the input ends."""
    hello = {
        "worker": "torch",
        "version": torch.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "batch": BATCH,
    }
    print(json.dumps(hello), flush=True)
    cells = Cells()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            run = cells.run(request["cell"], request.get("n", 0), request.get("style", "sdpa"))
            answer = {"deviation": deviation(run)} if request.get("error") else {"ms": timings(run, request["seconds"])}
        except (ValueError, KeyError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memory", nargs=2, metavar=("CELL", "N"), help="one iteration on N nodes, for its memory")
    parser.add_argument("--style", choices=STYLES, default="sdpa", help="with --memory")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("BENCH_THREADS", "2")))
    torch.set_default_device(os.environ.get("BENCH_DEVICE", "cpu"))
    precision = os.environ.get("BENCH_PRECISION", "highest")
    torch.set_float32_matmul_precision(precision if precision in ("highest", "high", "medium") else "highest")
    torch.set_default_dtype(torch.bfloat16 if precision == "bfloat16" else torch.float32)
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
        if options.memory is None:
            serve()
        else:
            cell, n = options.memory
            print(json.dumps(memory(cell, int(n), options.style)))


if __name__ == "__main__":
    main()
