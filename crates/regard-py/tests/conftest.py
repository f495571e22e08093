"""What the tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True, scope="session")
def threads() -> None:
    """Two threads whatever the machine: results do not depend on it, and a test run stays bounded."""
    import regard

    regard.set_threads(2)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def points(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return rng.random((30, 2))


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the command `regard` that came with the package, and gives its standard output."""
    path = shutil.which("regard", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    program = [path] if path else [sys.executable, "-m", "regard"]

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [*program, "--threads", "2", *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
