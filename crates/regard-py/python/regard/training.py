"""Training with callbacks, early stopping, checkpoints and resume."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard import _regard
from regard._arrays import count, invalid, seed_of, wrong_type
from regard._progress import Progress

if TYPE_CHECKING:
    from regard.problem import Problem

__all__ = ["EarlyStopping", "Event", "Run", "experiments", "train"]


@dataclass(frozen=True)
class Event:
    """An event of a training.

    Attributes
    ----------
    kind : str
        ``"started"``, ``"step"``, ``"valid"``, ``"saved"``, ``"note"`` or ``"warning"``.
    step : int
        Steps of the optimiser that are done.
    steps : int
        Steps at which the training is complete.
    epoch : int
        Epochs that are complete.
    instances : int
        Instances seen.
    metrics : dict of float
        Metrics of the step or of the validation; ``cost`` is what training minimises.
    text : str
        The sentence of a note or a warning.
    """

    kind: str
    step: int = 0
    steps: int = 0
    epoch: int = 0
    instances: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    text: str = ""


class EarlyStopping:
    """Ends a training when its validation no longer improves.

    Parameters
    ----------
    patience : int
        Validations without an improvement.
    min_delta : float
        The least improvement that counts.
    metric : str
        The metric, the lower the better.

    Examples
    --------
    >>> stopping = EarlyStopping(patience=1)
    >>> [stopping(Event("valid", metrics={"cost": cost})) for cost in (3.0, 2.0, 2.5)]
    [False, False, True]
    """

    def __init__(self, patience: int = 3, min_delta: float = 0.0, metric: str = "cost") -> None:
        self.patience = count(patience, "patience")
        self.min_delta = min_delta
        self.metric = metric
        self.best = math.inf
        self.waited = 0

    def __call__(self, event: Event) -> bool:
        """True when the training shall end."""
        if event.kind != "valid":
            return False
        if self.metric not in event.metrics:
            known = ", ".join(event.metrics)
            raise invalid("metric", f"is {self.metric!r}, but a validation has {known}")
        cost = event.metrics[self.metric]
        if cost < self.best - self.min_delta:
            self.best, self.waited = cost, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


#: Takes an event; true ends the training after a checkpoint.
Callback = Callable[[Event], object]


class Watcher:
    """Hands the events of the engine to callbacks and to a progress bar."""

    def __init__(self, callbacks: Sequence[Callback], bar: Progress) -> None:
        for callback in callbacks:
            if not callable(callback):
                raise wrong_type("callbacks", f"found {type(callback).__name__}, expected functions of an event")
        self.events: list[Event] = []
        self._callbacks = list(callbacks)
        self._bar = bar
        self._steps = 0

    def tell(self, told: dict[str, Any]) -> bool:
        """Take an event; true ends the training."""
        self._steps = told.get("steps", self._steps)
        known = {key: told[key] for key in ("kind", "step", "epoch", "instances", "metrics", "text") if key in told}
        event = Event(steps=self._steps, **known)
        if event.kind != "step":
            self.events.append(event)
        self._show(event)
        # Every callback sees every event, also where an earlier one has ended the training.
        return any([bool(callback(event)) for callback in self._callbacks])

    def _show(self, event: Event) -> None:
        if event.kind in ("step", "valid"):
            shown = [f"{name} {value:.4g}" for name, value in event.metrics.items() if name in ("cost", "loss")]
            self._bar.line(f"step {event.step:,} of {self._steps:,} {' '.join(shown)}", event.step / max(self._steps, 1))


@contextlib.contextmanager
def watcher(title: str, callbacks: Sequence[Callback], shown: bool | None) -> Iterator[Watcher]:
    """A watcher with its progress bar."""
    with Progress(title, shown) as bar:
        yield Watcher(callbacks, bar)


@dataclass(frozen=True)
class Run:
    """A training that has ended, with its folder.

    Attributes
    ----------
    folder : pathlib.Path
        The model as it stands, a checkpoint to go on from, ``metrics.jsonl`` and ``experiment.toml``.
    ended : str
        ``"complete"``, ``"steps"``, ``"time"`` or ``"interrupted"`` (by a callback).
    steps, instances : int
        Steps and instances in all.
    seconds : float
        Seconds of training in all.
    validation_cost : float
        What training minimises, on the validation set.
    parameters : int
        Trainable parameters of the network.
    events : list of Event
        Every event but the steps.
    """

    folder: Path
    ended: str
    steps: int
    instances: int
    seconds: float
    validation_cost: float
    parameters: int
    events: list[Event] = field(repr=False, default_factory=list)
    _problem: Any = field(repr=False, default=None)

    def model(self) -> Any:
        """The trained model: a `Policy`, or the estimator of the family.

        Returns
        -------
        Policy, SetClassifier, SetRegressor, SetClusterer, GraphClassifier, GraphRegressor, NodeClassifier or Forecaster
        """
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        kind = config["kind"]
        if kind == "attention-model":
            from regard.routes import Policy

            return Policy.load(self.folder, problem=self._problem)
        if kind == "set-transformer":
            from regard.sets import load

            return load(self.folder)
        if kind == "graph-transformer":
            from regard.graphs import load as load_graphs

            return load_graphs(self.folder)
        from regard.series import Forecaster

        return Forecaster.load(self.folder)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``."""
        lines = (self.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def train(
    experiment: str | os.PathLike[str] | Problem | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    callbacks: Sequence[Callback] = (),
    resume: bool = False,
    steps: int | None = None,
    time_limit: float | None = None,
    seed: int | np.random.Generator | None = None,
    progress: bool | None = None,
    settings: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Run:
    """Train an experiment, or a policy for a problem of your own.

    Parameters
    ----------
    experiment : str, path or Problem
        A built-in experiment such as ``"routes/tsp20"`` (see `experiments`), a file of settings, or a problem.
    out : path
        The folder of the run.
    callbacks : sequence of callable
        Each takes every `Event`; one that gives true ends the training, with a checkpoint. What one raises ends it too,
        and is raised here.
    resume : bool
        If true, the run in the folder goes on, to the same bits as if it had not ended.
    steps : int, optional
        Ends after so many steps in all.
    time_limit : float, optional
        Ends after so many seconds from now; the schedule of the learning rate ends with it.
    seed : int or numpy.random.Generator, optional
        ``train.seed``.
    progress : bool, optional
        If true, progress is shown; by default where a terminal or a notebook waits longer than a second.
    settings : mapping, optional
        Settings such as ``{"train.epochs": 5, "model.width": 64}``.
    **arguments
        Settings with ``__`` for the point: ``train__epochs=5``. For a `Problem` also ``nodes=20``.

    Returns
    -------
    Run

    Notes
    -----
    Ctrl-C ends the training after the current step; the folder has a checkpoint, and ``resume=True`` goes on.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> run = train("routes/tsp20", folder, steps=2, train__batch_size=8, eval__instances=8, model__width=16)
    >>> run.ended, run.steps
    ('steps', 2)
    """
    from regard._estimator import assignments

    if out is None:
        raise invalid("out", "is missing, expected the folder of the run")
    folder = Path(out)
    if isinstance(seed, np.random.Generator) or seed is not None:
        arguments.setdefault("train__seed", seed_of(seed))
    problem = None
    if experiment is not None and not isinstance(experiment, (str, os.PathLike)):
        problem = experiment
        name = problem.name
        trainer, sets = problem._trainer(settings, arguments)
    else:
        if experiment is None:
            if not resume:
                raise invalid("experiment", "is missing", "give a name such as 'routes/tsp20', or resume=True")
            experiment = folder / "experiment.toml"
        name = os.fspath(experiment)
        unknown = [key for key in arguments if "__" not in key]
        if unknown:
            hint = "settings have their section before them, such as train__epochs"
            raise wrong_type(unknown[0], "is no argument of train", hint)
        sets = assignments(settings, **arguments)

        def trainer(sets: list[str], options: dict[str, Any]) -> dict[str, Any]:
            return _regard.train(name, sets, options)

    if time_limit is not None and not isinstance(time_limit, (int, float)):
        raise wrong_type("time_limit", f"found {type(time_limit).__name__}, expected seconds")
    with watcher(f"train {name}", callbacks, progress) as watch:
        options = {
            "out": os.fspath(folder),
            "resume": bool(resume),
            "steps": None if steps is None else count(steps, "steps"),
            "seconds": None if time_limit is None else float(time_limit),
            "command": f"regard.train({name!r})",
            "watch": watch.tell,
        }
        found = trainer(sets, options)
    return Run(folder=folder, events=watch.events, _problem=problem, **found)


def experiments() -> dict[str, str]:
    """Names of the built-in experiments, with a sentence for each."""
    return dict(_regard.experiments())
