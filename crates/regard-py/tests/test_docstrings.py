"""Examples of the docstrings."""

from __future__ import annotations

import doctest
import importlib

import numpy
import pytest

MODULES = [
    "regard",
    *(f"regard.{name}" for name in ("explain", "graphs", "problem", "rl4co", "routes", "series", "sets", "training")),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), extraglobs={"numpy": numpy})
    assert found.failed == 0
