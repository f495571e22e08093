"""Training with callbacks, early stopping, Ctrl-C and resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard

#: A network and a training of seconds.
SMALL: dict[str, Any] = {
    "model.width": 32,
    "model.num_heads": 4,
    "model.num_layers": 2,
    "model.feed_forward": 64,
    "train.batch_size": 32,
    "train.epoch_size": 256,
    "train.epochs": 2,
    "eval.instances": 64,
}


def test_events_come_in_order(tmp_path: Path) -> None:
    seen: list[regard.Event] = []
    run = regard.train("routes/tsp20", tmp_path / "run", callbacks=[seen.append], settings=SMALL)
    assert run.ended == "complete"
    assert run.steps == 16
    steps = [event.step for event in seen if event.kind == "step"]
    assert steps == sorted(steps) and steps[-1] == 16
    assert seen[0].kind == "started"
    assert [event.kind for event in seen].count("valid") >= 2
    assert all(np.isfinite(list(event.metrics.values())).all() for event in seen)
    assert run.metrics()
    assert run.model().greedy(np.random.default_rng(0).random((3, 20, 2))).actions.shape == (3, 20)


def test_early_stopping_ends_with_a_checkpoint_that_goes_on(tmp_path: Path) -> None:
    whole = regard.train("routes/tsp20", tmp_path / "whole", settings=SMALL, seed=4)
    stop = regard.train(
        "routes/tsp20", tmp_path / "parts", settings=SMALL, seed=4, callbacks=[lambda event: event.step == 5]
    )
    assert stop.ended == "interrupted"
    assert stop.steps < whole.steps
    again = regard.train(out=tmp_path / "parts", resume=True)
    assert (again.ended, again.steps) == ("complete", whole.steps)
    weights = [(tmp_path / which / "model.safetensors").read_bytes() for which in ("whole", "parts")]
    assert weights[0] == weights[1]


def test_the_class_of_early_stopping(tmp_path: Path) -> None:
    stopping = regard.EarlyStopping(patience=1, min_delta=1e6)
    run = regard.train(
        "routes/tsp20", tmp_path / "run", settings={**SMALL, "train.epochs": 50}, callbacks=[stopping]
    )
    assert run.ended == "interrupted"
    with pytest.raises(regard.InputError, match="metric"):
        regard.EarlyStopping(metric="nothing")(regard.Event("valid", metrics={"cost": 1.0}))


def test_what_a_callback_raises_is_raised(tmp_path: Path) -> None:
    def fail(event: regard.Event) -> None:
        if event.step == 3:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        regard.train("routes/tsp20", tmp_path / "run", settings=SMALL, callbacks=[fail])


def test_ctrl_c_leaves_a_checkpoint(tmp_path: Path) -> None:
    code = (
        "import regard, sys\n"
        "def tell(event):\n"
        "    if event.kind == 'step': print(event.step, flush=True)\n"
        "try:\n"
        f"    regard.train('routes/tsp20', {str(tmp_path / 'run')!r}, callbacks=[tell], settings={dict(SMALL, **{'train.epochs': 500})!r})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 3:
        pass
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0]
    assert "interrupted" in rest
    run = regard.train(out=tmp_path / "run", resume=True, callbacks=[lambda event: event.kind == "step"])
    assert run.steps > 3


def test_the_lock_of_the_interpreter_is_free_meanwhile(tmp_path: Path) -> None:
    ticks = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.005)

    other = threading.Thread(target=count)
    other.start()
    before = time.monotonic()
    regard.train("routes/tsp20", tmp_path / "run", settings=SMALL)
    took = time.monotonic() - before
    ended.set()
    other.join()
    assert ticks > 0.1 * took / 0.005


def test_the_same_bits_as_from_the_command_line(command: Callable[..., str], tmp_path: Path) -> None:
    regard.train("routes/tsp20", tmp_path / "python", settings=SMALL, seed=9)
    sets = [argument for key, value in SMALL.items() for argument in ("--set", f"{key}={value}")]
    command("train", "routes/tsp20", "--out", tmp_path / "shell", *sets, "--set", "train.seed=9")
    weights = [(tmp_path / which / "model.safetensors").read_bytes() for which in ("python", "shell")]
    assert weights[0] == weights[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_after_use_is_an_exception() -> None:
    code = (
        "import os, numpy, regard, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "regard.solve(numpy.random.default_rng(0).random((12, 2)))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        regard.solve(numpy.random.default_rng(0).random((12, 2)))\n"
        "    except regard.ComputeError as error:\n"
        "        os._exit(7 if 'spawn' in str(error) else 8)\n"
        "    os._exit(9)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "7"


def test_the_import_is_fast() -> None:
    code = "import numpy, time; t = time.perf_counter(); import regard; print(time.perf_counter() - t)"
    took = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    )
    assert took < 0.1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"experiment": "routes/none"}, regard.InputError, "routes/none"),
        ({"experiment": None}, regard.InputError, "experiment: is missing"),
        ({"experiment": "routes/tsp20", "steps": -1}, regard.InputError, "steps"),
        ({"experiment": "routes/tsp20", "time_limit": "long"}, regard.ArrayTypeError, "time_limit"),
        ({"experiment": "routes/tsp20", "epochs": 3}, regard.ArrayTypeError, "epochs: is no argument"),
        ({"experiment": "routes/tsp20", "train__epoch": 3}, regard.InputError, "epoch"),
        ({"experiment": "routes/tsp20", "settings": 3}, regard.ArrayTypeError, "settings"),
        ({"experiment": "routes/tsp20", "callbacks": [3]}, regard.ArrayTypeError, "callbacks"),
        ({"experiment": "routes/tsp20", "resume": True}, regard.InputError, ""),
    ],
)
def test_bad_input_is_an_exception(
    arguments: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        regard.train(out=tmp_path / "run", **arguments)
