"""Attention on structured data: routes, sets, graphs and time series.

The engine is the Rust library `regard`; this package takes and gives numpy arrays and data frames.

Routes
    `solve` one instance; `Policy` for batches; `Instance` for the field's files; `Problem` for a problem of your own,
    and `check_problem` for its laws.
Sets and graphs
    `SetClassifier`, `SetRegressor`, `SetClusterer`, `GraphClassifier`, `GraphRegressor` and `NodeClassifier`, after
    scikit-learn.
Time series
    `Forecaster`, on frames with the columns `unique_id`, `ds` and `y`.
Training and explanation
    `train` runs an experiment with callbacks; models explain themselves by `Trace` and `Attribution`.

Modules are imported when they are first used, so that `import regard` takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from regard._regard import ArrayTypeError, ComputeError, InputError, InternalError, __version__

if TYPE_CHECKING:
    from regard.explain import Attribution, Trace, TraceStep
    from regard.graphs import GraphClassifier, GraphRegressor, Graphs, NodeClassifier, molecules
    from regard.problem import Law, Problem, check_problem
    from regard.routes import Decoded, Instance, Policy, Solution, Stage, generate, read_set, solve, write_set
    from regard.series import Forecaster
    from regard.sets import RaggedArray, SetClassifier, SetClusterer, SetRegressor
    from regard.training import EarlyStopping, Event, Run, train

_PLACES = {
    "explain": ["Attribution", "Trace", "TraceStep"],
    "graphs": ["GraphClassifier", "GraphRegressor", "Graphs", "NodeClassifier", "molecules"],
    "problem": ["Law", "Problem", "check_problem"],
    "routes": ["Decoded", "Instance", "Policy", "Solution", "Stage", "generate", "read_set", "solve", "write_set"],
    "series": ["Forecaster"],
    "sets": ["RaggedArray", "SetClassifier", "SetClusterer", "SetRegressor"],
    "training": ["EarlyStopping", "Event", "Run", "train"],
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}
_MODULES = [*_PLACES, "rl4co"]

__all__ = [
    "ArrayTypeError",
    "Attribution",
    "ComputeError",
    "Decoded",
    "EarlyStopping",
    "Event",
    "Forecaster",
    "GraphClassifier",
    "GraphRegressor",
    "Graphs",
    "InputError",
    "Instance",
    "InternalError",
    "Law",
    "NodeClassifier",
    "Policy",
    "Problem",
    "RaggedArray",
    "Run",
    "SetClassifier",
    "SetClusterer",
    "SetRegressor",
    "Solution",
    "Stage",
    "Trace",
    "TraceStep",
    "__version__",
    "check_problem",
    "generate",
    "molecules",
    "read_set",
    "set_precision",
    "set_threads",
    "solve",
    "train",
    "write_set",
]


def set_precision(precision: Literal["float32", "bfloat16"]) -> None:
    """Choose the precision of products with the weights of attention blocks in forward passes, for the whole process.

    Both factors are rounded to bfloat16, and their products are added in single precision. Linear layers outside
    attention blocks, gradients, norms, softmax and products of activations with each other stay in single precision, and
    so do explanations.

    Parameters
    ----------
    precision : {"float32", "bfloat16"}
        ``"bfloat16"`` needs a processor with AVX-512 BF16; where that is a fast one, answers come in about two
        thirds of the time.

    Raises
    ------
    InputError
        If it is another word, or a precision that this processor does not have.
    """
    from regard import _regard

    _regard.set_precision(precision)


def set_threads(threads: int) -> None:
    """Limit the threads of every computation of this process.

    Without it there is one for each core, or as many as the environment variable ``RAYON_NUM_THREADS`` says. Results
    do not depend on it.

    Parameters
    ----------
    threads : int
        Number of threads, at least 1.

    Raises
    ------
    InputError
        If it is less than 1, or this process already computes with another number.
    """
    from regard import _regard

    _regard.set_threads(threads)


def __getattr__(name: str) -> Any:
    if name in _PLACE:
        return getattr(importlib.import_module(f"regard.{_PLACE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"regard.{name}")
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
