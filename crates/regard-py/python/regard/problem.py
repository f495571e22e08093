"""A routing problem of your own: rules as numpy callbacks over batches, trained and decoded by the engine."""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from regard import _regard
from regard._arrays import count, invalid, numbers, seed_of, wrong_type
from regard._progress import Progress
from regard._store import PackedModel
from regard.routes import Decoded

__all__ = ["Law", "Problem", "ProblemPolicy", "check_problem"]

#: Arrays whose first axis counts instances or partial solutions.
Batch = dict[str, npt.NDArray[Any]]


class Problem(ABC):
    """A routing problem whose rules are numpy functions over a batch.

    A network (Attention Model) looks at features of the nodes, points at one allowed node after another, and is trained by
    REINFORCE or POMO on instances that `draw` makes. Everything is computed for a whole batch: the first axis of every
    array counts instances, or partial solutions of them.

    Subclasses set `name` and the flags below, and write `draw`, `cost`, and unless every node is visited once also
    `reset`, `action_mask`, `step` and `done`. `context` and `dynamic` give the network what cannot be seen in the last
    node.

    Attributes
    ----------
    name : str
        Name of the problem, in lower case with hyphens; it stands in the models.
    depot : bool
        If true, node 0 is a depot with an embedding of its own, of its coordinates alone.
    every_node_once : bool
        If true, every node is visited once and all that are left are allowed: rules are known, and training is faster.
        `reset`, `action_mask`, `step`, `done`, `context` and `dynamic` are not called.
    maximises : bool
        If true, `cost` is the negative of a prize.
    symmetric : bool
        If true, costs do not change when the square is turned or mirrored, so that ``augment=8`` is possible.

    Examples
    --------
    The travelling salesman with a cost of its own: crossings of the middle line are dear.

    >>> class Bridge(Problem):
    ...     name, depot, every_node_once, symmetric = "bridge", False, True, False
    ...
    ...     def draw(self, rng, batch, nodes):
    ...         return {"locs": rng.random((batch, nodes, 2))}
    ...
    ...     def cost(self, instances, actions):
    ...         stops = numpy.take_along_axis(instances["locs"], actions[..., None], axis=1)
    ...         steps = numpy.roll(stops, -1, axis=1) - stops
    ...         crossed = (stops[..., 0] > 0.5) != (numpy.roll(stops, -1, axis=1)[..., 0] > 0.5)
    ...         return numpy.hypot(steps[..., 0], steps[..., 1]).sum(1) + 0.5 * crossed.sum(1)
    >>> all(law.broken is None for law in check_problem(Bridge(), nodes=6, learn=False))
    True
    """

    name: str = ""
    depot: bool = True
    every_node_once: bool = False
    maximises: bool = False
    symmetric: bool = True

    @abstractmethod
    def draw(self, rng: np.random.Generator, batch: int, nodes: int) -> Batch:
        """Random instances, the generator of RL4CO.

        Parameters
        ----------
        rng : numpy.random.Generator
            Everything random follows from it.
        batch : int
            Number of instances.
        nodes : int
            Their size: ``data.nodes`` of the training, a depot not counted.

        Returns
        -------
        dict of numpy.ndarray
            ``locs`` (batch, nodes, 2), places in the unit square, a depot first; and whatever the problem adds, its first
            axis the batch.
        """

    def features(self, instances: Batch) -> npt.ArrayLike:
        """What the network sees of the nodes before the first step.

        Returns
        -------
        array_like, shape (batch, nodes, features)
            Coordinates first; numbers about as large as they are. Of a depot, the coordinates alone count. By default
            the coordinates.
        """
        return instances["locs"]

    def reset(self, instances: Batch) -> Batch:
        """The empty solution of every instance (``env.reset``).

        Parameters
        ----------
        instances : dict of numpy.ndarray
            Read-only arrays; one instance may occur several times.

        Returns
        -------
        dict of numpy.ndarray
            Whatever `action_mask`, `context`, `step` and `done` need; the first axis counts partial solutions. The engine
            selects rows of it, when solutions end and in beam search.
        """
        raise NotImplementedError("reset is needed unless every_node_once is True")

    def action_mask(self, state: Batch) -> npt.ArrayLike:
        """The nodes that may be visited next.

        Returns
        -------
        array_like of bool, shape (batch, nodes)
            At least one true in every row of a solution that is not finished.
        """
        raise NotImplementedError("action_mask is needed unless every_node_once is True")

    def context(self, state: Batch) -> npt.ArrayLike:
        """Numbers that the network sees before each step beside the last node, such as the load.

        Returns
        -------
        array_like, shape (batch, numbers)
        """
        return np.zeros((_rows(state), 0), dtype=np.float32)

    def dynamic(self, state: Batch) -> npt.ArrayLike | None:
        """A number of every node that changes from step to step, such as the demand that is left.

        Returns
        -------
        array_like, shape (batch, nodes), or None
        """
        return None

    def step(self, state: Batch, action: npt.NDArray[np.int64]) -> Batch:
        """Visit a node in every partial solution.

        Parameters
        ----------
        state : dict of numpy.ndarray
            It may be changed in place, but not the arrays of instances in it.
        action : numpy.ndarray of int64, shape (batch,)
            The nodes, all of them allowed.

        Returns
        -------
        dict of numpy.ndarray
            The next state.
        """
        raise NotImplementedError("step is needed unless every_node_once is True")

    def done(self, state: Batch) -> npt.ArrayLike:
        """Which solutions are finished, shape (batch,) of bool."""
        raise NotImplementedError("done is needed unless every_node_once is True")

    @abstractmethod
    def cost(self, instances: Batch, actions: npt.NDArray[np.int64]) -> npt.ArrayLike:
        """Costs of finished solutions, the negative reward.

        Parameters
        ----------
        instances : dict of numpy.ndarray
            One for each solution.
        actions : numpy.ndarray of int64, shape (batch, steps)
            Nodes in the order visited; shorter solutions are filled up with 0, or with their last node where there is no
            depot.

        Returns
        -------
        array_like, shape (batch,)
        """

    def check(self, instance: Batch, actions: list[int]) -> str | None:
        """The first rule that a solution breaks, by code that shares nothing with `action_mask`; None for a good one.

        Parameters
        ----------
        instance : dict of numpy.ndarray
            One instance, without the axis of the batch.
        actions : list of int
            Its nodes in the order visited.
        """
        return None

    def view(self, instances: Batch, view: int) -> Batch:
        """Instances under one of the eight symmetries of the square; by default of ``locs`` alone."""
        return {**instances, "locs": symmetry(instances["locs"], view)}

    # What follows is not to be written by subclasses.

    def _native(self) -> _regard.Environment:
        """The problem as the engine takes it, registered under its name."""
        known: _regard.Environment | None = self.__dict__.get("_environment")
        if known is None:
            # The engine keeps the rules, and they must not keep the problem, which keeps the environment.
            rules = Rules(weakref.proxy(self))
            known = _regard.Environment(rules, **rules.spec())
            self.__dict__["_environment"] = known
        known.register()
        return known

    def _smallest(self) -> int:
        """Nodes of the instances on which the engine finds what it needs to know."""
        return 4

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_environment"}

    def _trainer(
        self, settings: Mapping[str, Any] | None, arguments: dict[str, Any]
    ) -> tuple[Callable[[list[str], dict[str, Any]], dict[str, Any]], list[str]]:
        """What `regard.train` needs: the training, and its assignments."""
        from regard._estimator import assignments

        nodes = arguments.pop("nodes", None)
        plain = [key for key in arguments if "__" not in key]
        if plain:
            hint = "settings have their section before them, such as train__epochs; nodes= is the size of instances"
            raise wrong_type(plain[0], "is no argument of train", hint)
        if nodes is not None:
            arguments["data__nodes"] = count(nodes, "nodes", least=2) if np.ndim(nodes) == 0 else list(nodes)
        native = self._native()
        sets = [*assignments(settings, **arguments), *assignments(None, task__problem=self.name)]
        return native.train, sets

    def policy(self, model: str | os.PathLike[str]) -> ProblemPolicy:
        """Open a policy that was trained for this problem; `regard.Policy.load` with ``problem=`` does the same."""
        return ProblemPolicy._opened(PackedModel.of(os.fspath(model)), self)

    def generate(self, instances: int, nodes: int, *, seed: int | np.random.Generator = 1234) -> Batch:
        """Random instances of a seed, as training draws them."""
        rules = Rules(self)
        return rules.drawn(seed_of(seed), count(instances, "instances"), count(nodes, "nodes"))


def symmetry(locs: npt.NDArray[Any], view: int) -> npt.NDArray[Any]:
    """View 0 to 7 of points of the unit square (Kwon et al. 2020, section 4.2), shape (..., 2)."""
    seen = locs[..., ::-1] if view & 1 else locs
    x = 1 - seen[..., 0] if view & 2 else seen[..., 0]
    y = 1 - seen[..., 1] if view & 4 else seen[..., 1]
    return np.stack([x, y], axis=-1)


def _rows(batch: Batch) -> int:
    return len(next(iter(batch.values()))) if batch else 0


def _checked_batch(batch: Any, what: str, rows: int | None = None) -> Batch:
    if not isinstance(batch, Mapping) or not batch:
        raise wrong_type(what, f"gave {type(batch).__name__}, expected a dict of arrays")
    arrays = {str(name): np.asarray(value) for name, value in batch.items()}
    expected = rows if rows is not None else next(iter(arrays.values())).shape[:1]
    for name, array in arrays.items():
        found = array.shape[:1]
        if found != ((expected,) if isinstance(expected, int) else expected):
            raise invalid(what, f"gave `{name}` with the shape {list(array.shape)}, expected {expected} rows")
    return arrays


class Rules:
    """The callbacks of a problem, with their results checked; the engine calls it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        name = problem.name
        if not isinstance(name, str) or not name or not all(c.isalnum() or c == "-" for c in name):
            raise invalid("name", f"is {name!r}, expected letters, digits and hyphens such as 'pickup-delivery'")
        if name in dict(_regard.problems()):
            raise invalid("name", f"is {name!r}, which is a problem of regard itself", "choose another")

    def spec(self) -> dict[str, Any]:
        """What the engine needs to know, found on two small instances."""
        problem = self.problem
        sample = self.drawn(0, 2, problem._smallest())
        features = np.asarray(problem.features(sample))
        if features.ndim != 3 or features.shape[-1] < 2:
            raise invalid("features", f"gave the shape {list(features.shape)}, expected [batch, nodes, features] with at least the coordinates")
        scalars, dynamic = 0, False
        if not problem.every_node_once:
            state = _checked_batch(problem.reset(sample), "reset", 2)
            context = np.asarray(problem.context(state))
            if context.ndim != 2 or len(context) != 2:
                raise invalid("context", f"gave the shape {list(context.shape)}, expected [batch, numbers]")
            scalars, dynamic = context.shape[1], problem.dynamic(state) is not None
        return {
            "name": problem.name,
            "features": features.shape[-1],
            "depot": bool(problem.depot),
            "every_node_once": bool(problem.every_node_once),
            "scalars": scalars,
            "dynamic": dynamic,
            "maximises": bool(problem.maximises),
        }

    def drawn(self, seed: int, instances: int, nodes: int) -> Batch:
        """Instances of a seed."""
        drawn = self.problem.draw(np.random.default_rng(seed), instances, nodes)
        return self._instances(drawn, "draw", instances)

    def _instances(self, batch: Any, what: str, rows: int | None = None) -> Batch:
        arrays = _checked_batch(batch, what, rows)
        if "locs" not in arrays:
            raise invalid(what, f"gave {', '.join(arrays)}, expected `locs` among them")
        locs = numbers(arrays["locs"], "locs", ("batch", "nodes", 2))
        if locs.min(initial=0.0) < 0 or locs.max(initial=0.0) > 1:
            raise invalid("locs", "has places outside of the unit square", "scale them to 0 to 1")
        arrays["locs"] = locs
        for name, array in arrays.items():
            # A step that changes an instance in place would change it for all its solutions.
            seen = array.view()
            seen.flags.writeable = False
            arrays[name] = seen
        return arrays

    def given(self, batch: Mapping[str, Any]) -> Batch:
        """Instances of the caller."""
        return self._instances(dict(batch), "batch")

    def size(self, instances: Batch) -> tuple[int, int]:
        """Number of instances and of nodes."""
        rows, nodes, _ = instances["locs"].shape
        return rows, nodes

    def select(self, batch: Batch, places: npt.NDArray[np.int64]) -> Batch:
        """Rows of instances or of states."""
        return {name: array[places] for name, array in batch.items()}

    def views(self, instances: Batch, views: int) -> Batch:
        """Every instance in all views, one after another."""
        if not self.problem.symmetric:
            raise invalid("augment", f"is {views}, but `{self.problem.name}` has no symmetry", "use augment=1")
        seen = [self._instances(self.problem.view(instances, view), "view") for view in range(views)]
        rows = _rows(instances)
        return {
            name: np.stack([one[name] for one in seen], axis=1).reshape((rows * views, *array.shape[1:]))
            for name, array in instances.items()
        }

    def features(self, instances: Batch) -> npt.NDArray[np.float32]:
        """Features as the engine reads them."""
        rows, nodes = self.size(instances)
        found = numbers(self.problem.features(instances), "features", (rows, nodes, "features"))
        return np.ascontiguousarray(found, dtype=np.float32)

    def costs(
        self, instances: Batch, actions: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Costs of solutions."""
        if not self.problem.depot and actions.shape[1] and lengths.min(initial=0) < actions.shape[1]:
            last = np.take_along_axis(actions, np.maximum(lengths - 1, 0)[:, None], axis=1)
            actions = np.where(np.arange(actions.shape[1]) < lengths[:, None], actions, last)
        found = numbers(self.problem.cost(instances, actions), "cost", (len(actions),), finite=False)
        return np.ascontiguousarray(found, dtype=np.float64)

    def reset(self, instances: Batch) -> tuple[Batch, npt.NDArray[np.bool_]]:
        """Empty solutions, and which are finished already."""
        state = _checked_batch(self.problem.reset(instances), "reset", _rows(instances))
        return state, self._done(state, _rows(instances))

    def _done(self, state: Batch, rows: int) -> npt.NDArray[np.bool_]:
        return _flags(self.problem.done(state), "done", (rows,))

    def inputs(
        self, state: Batch
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32], npt.NDArray[np.float32] | None]:
        """Masks, contexts and dynamic features of the next step."""
        rows = _rows(state)
        mask = _flags(self.problem.action_mask(state), "action_mask", (rows, None))
        context = np.asarray(self.problem.context(state), dtype=np.float32)
        if context.ndim != 2 or len(context) != rows:
            raise invalid("context", f"gave the shape {list(context.shape)}, expected [{rows}, numbers]")
        dynamic = self.problem.dynamic(state)
        if dynamic is not None:
            dynamic = np.ascontiguousarray(np.asarray(dynamic, dtype=np.float32))
            if dynamic.shape != mask.shape:
                raise invalid("dynamic", f"gave the shape {list(dynamic.shape)}, expected {list(mask.shape)}")
        return mask, np.ascontiguousarray(context), dynamic

    def step(self, state: Batch, action: npt.NDArray[np.int64]) -> tuple[Batch, npt.NDArray[np.bool_]]:
        """The next states, and which are finished."""
        state = _checked_batch(self.problem.step(state, action), "step", len(action))
        return state, self._done(state, len(action))


def _flags(values: Any, what: str, shape: tuple[int | None, ...]) -> npt.NDArray[np.bool_]:
    array = np.asarray(values)
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        expected = ", ".join("nodes" if length is None else str(length) for length in shape)
        raise invalid(what, f"gave the shape {list(array.shape)}, expected [{expected}]")
    if array.dtype != np.bool_:
        raise wrong_type(what, f"gave an array of {array.dtype}, expected bool", "compare, as in `array > 0`")
    return np.ascontiguousarray(array)


class ProblemPolicy:
    """A policy for a problem of your own. Made by training, or by `regard.Policy.load` with ``problem=``."""

    def __init__(self) -> None:
        raise TypeError("a policy is made by Policy.load(path, problem=...), or by training")

    @classmethod
    def _opened(cls, packed: PackedModel, problem: Problem) -> ProblemPolicy:
        policy = cls.__new__(cls)
        policy.problem_ = problem
        policy._packed = packed
        with packed.folder() as folder:
            policy._native = problem._native().open(folder)
        return policy

    problem_: Problem
    _packed: PackedModel
    _native: _regard.EnvironmentPolicy

    def __reduce__(self) -> tuple[Any, ...]:
        return (ProblemPolicy._opened, (self._packed, self.problem_))

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._packed.name

    @property
    def problem(self) -> str:
        """Name of the problem."""
        return self.problem_.name

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return self._native.parameters

    def __repr__(self) -> str:
        return f"ProblemPolicy({self.name!r}, problem={self.problem!r}, parameters={self.parameters})"

    def decode(
        self,
        instances: Mapping[str, npt.ArrayLike],
        decode_type: str = "greedy",
        *,
        augment: int = 1,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int | np.random.Generator = 1234,
        progress: bool | None = None,
    ) -> Decoded:
        """Solve a batch of instances, as `regard.Policy.decode`.

        Parameters
        ----------
        instances : mapping of array_like
            As `Problem.draw` and `Problem.generate` give them.
        decode_type, augment, temperature, top_p, seed, progress
            See `regard.Policy.decode`.

        Returns
        -------
        Decoded
        """
        batch = Rules(self.problem_).given(instances)
        with Progress(f"{self.name} {decode_type}", progress) as bar:
            found = self._native.decode(
                batch, decode_type, augment, float(temperature), float(top_p), seed_of(seed), bar.advance
            )
        return Decoded(**found)

    def greedy(self, instances: Mapping[str, npt.ArrayLike], **options: Any) -> Decoded:
        """The most probable node at every step; see `decode`."""
        return self.decode(instances, "greedy", **options)

    def sample(self, instances: Mapping[str, npt.ArrayLike], samples: int = 1280, **options: Any) -> Decoded:
        """The best of so many sampled solutions; see `decode`."""
        return self.decode(instances, f"sample:{count(samples, 'samples')}", **options)

    def multistart(
        self, instances: Mapping[str, npt.ArrayLike], starts: int | None = None, **options: Any
    ) -> Decoded:
        """The best of greedy solutions from several first nodes (POMO); see `decode`."""
        return self.decode(instances, "multistart" if starts is None else f"multistart:{starts}", **options)

    def beam(self, instances: Mapping[str, npt.ArrayLike], width: int = 10, **options: Any) -> Decoded:
        """The best solutions that beam search finds; see `decode`."""
        return self.decode(instances, f"beam:{count(width, 'width')}", **options)


@dataclass(frozen=True)
class Law:
    """A law that every routing problem keeps.

    Attributes
    ----------
    name : str
        The law, a sentence.
    broken : str or None
        How the problem breaks it; None where it keeps it.
    """

    name: str
    broken: str | None


def check_problem(
    problem: Problem,
    nodes: int = 10,
    *,
    batch: int = 8,
    seed: int = 1234,
    learn: bool = True,
) -> list[Law]:
    """Check the laws that every routing problem of the engine keeps.

    Random policies end in feasible solutions; masks are never empty before the end; rows of a batch do not depend on each
    other; views keep costs; kernels and tensor operations decode the same; the one pass that training takes gives the
    log-probability of the rollout; every parameter learns.

    Parameters
    ----------
    problem : Problem
    nodes : int
        Size of the instances.
    batch : int
        Number of instances.
    seed : int
        Seed of instances and policies.
    learn : bool
        If false, the laws of training are left out.

    Returns
    -------
    list of Law
        All of them; `broken` says what is wrong.
    """
    native = problem._native()
    rules = Rules(problem)
    laws = [
        _law(name, check, problem, rules, count(nodes, "nodes", 2), count(batch, "batch", 2), seed_of(seed))
        for name, check in _OWN_LAWS
        if not (problem.every_node_once and check in _STEPWISE)
    ]
    found = native.laws(nodes, batch, seed_of(seed), learn)
    return [*laws, *(Law(name, broken) for name, broken in found)]


def _law(
    name: str,
    check: Callable[[Problem, Rules, Batch, np.random.Generator], str | None],
    problem: Problem,
    rules: Rules,
    nodes: int,
    batch: int,
    seed: int,
) -> Law:
    try:
        return Law(name, check(problem, rules, rules.drawn(seed, batch, nodes), np.random.default_rng(seed)))
    except Exception as error:
        return Law(name, f"{type(error).__name__}: {error}")


def _walk(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> list[list[int]]:
    """Solutions of a policy that chooses at random among the allowed nodes."""
    rows, nodes = rules.size(instances)
    if problem.every_node_once:
        return [[int(node) for node in rng.permutation(nodes)] for _ in range(rows)]
    state, done = rules.reset(instances)
    walks: list[list[int]] = [[] for _ in range(rows)]
    active = np.flatnonzero(~done)
    state = rules.select(state, active)
    for _ in range(8 * max(nodes, 8)):
        if len(active) == 0:
            return walks
        mask, _, _ = rules.inputs(state)
        if not mask.any(axis=1).all():
            raise invalid("action_mask", "forbids every node of a solution that is not finished")
        chosen = np.argmax(np.where(mask, rng.random(mask.shape), -1.0), axis=1)
        for row, node in zip(active, chosen, strict=True):
            walks[row].append(int(node))
        state, done = rules.step(state, chosen)
        state, active = rules.select(state, np.flatnonzero(~done)), active[~done]
    raise invalid("done", f"solutions do not end within {8 * max(nodes, 8)} steps")


def _padded(walks: list[list[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    lengths = np.array([len(walk) for walk in walks], dtype=np.int64)
    actions = np.zeros((len(walks), int(lengths.max(initial=0))), dtype=np.int64)
    for row, walk in enumerate(walks):
        actions[row, : len(walk)] = walk
    return actions, lengths


def _ends_feasible(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    for row, walk in enumerate(_walk(problem, rules, instances, rng)):
        broken = problem.check({name: array[row] for name, array in instances.items()}, walk)
        if broken:
            return f"instance {row}, {walk}: {broken}"
    return None


def _seed_decides(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    rows, nodes = rules.size(instances)
    size = nodes - int(problem.depot)
    one, other = rules.drawn(7, rows, size), rules.drawn(7, rows, size)
    different = [name for name in one if not np.array_equal(one[name], other[name], equal_nan=True)]
    return f"`{different[0]}` differs between two draws of one seed" if different else None


def _rows_are_alone(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    rows, _ = rules.size(instances)
    order = rng.permutation(rows)
    together, shuffled = rules.reset(instances)[0], rules.reset(rules.select(instances, order))[0]
    for step in range(4):
        mask, context, _ = rules.inputs(together)
        other_mask, other_context, _ = rules.inputs(shuffled)
        if not np.array_equal(mask[order], other_mask):
            return f"action_mask of step {step + 1} depends on the other rows of the batch"
        if not np.allclose(context[order], other_context):
            return f"context of step {step + 1} depends on the other rows of the batch"
        chosen = np.argmax(np.where(mask, rng.random(mask.shape), -1.0), axis=1)
        together, done = rules.step(together, chosen)
        shuffled, other_done = rules.step(shuffled, chosen[order])
        if not np.array_equal(done[order], other_done):
            return f"done of step {step + 1} depends on the other rows of the batch"
        if done.any():
            break
    return None


def _views_keep_costs(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    if not problem.symmetric:
        return None
    actions, lengths = _padded(_walk(problem, rules, instances, rng))
    own = rules.costs(instances, actions, lengths)
    for view in range(8):
        seen = rules.costs(rules._instances(problem.view(instances, view), "view"), actions, lengths)
        if not np.allclose(own, seen, rtol=1e-5, atol=1e-5):
            return f"view {view} has other costs; set symmetric = False, or write view()"
    return None


def _costs_are_numbers(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    actions, lengths = _padded(_walk(problem, rules, instances, rng))
    costs = rules.costs(instances, actions, lengths)
    if not np.isfinite(costs).all():
        return f"the cost of instance {int(np.argmin(np.isfinite(costs)))} is {costs[~np.isfinite(costs)][0]}"
    if problem.every_node_once:
        return None
    longer = np.concatenate([actions, np.zeros((len(actions), 2), dtype=np.int64)], axis=1)
    if not np.allclose(costs, rules.costs(instances, longer, lengths)):
        return "costs change when solutions are filled up at their end"
    return None


def _allowed(rules: Rules, instance: Batch, walk: list[int]) -> bool:
    """If true, the masks allow this whole solution of one instance, and it is finished."""
    state, done = rules.reset(instance)
    for node in walk:
        if done[0] or not rules.inputs(state)[0][0, node]:
            return False
        state, done = rules.step(state, np.array([node], dtype=np.int64))
    return bool(done[0])


def _checker_refuses(problem: Problem, rules: Rules, instances: Batch, rng: np.random.Generator) -> str | None:
    if type(problem).check is Problem.check:
        return None
    walks = _walk(problem, rules, instances, rng)
    for row, walk in enumerate(walks):
        own = {name: array[row] for name, array in instances.items()}
        shorter = [walk[1:], walk[:-1]]
        if len(walk) < 3 or any(problem.check(own, one) is not None for one in shorter):
            continue
        # Where nodes are optional, fewer of them may be a solution too.
        one = rules.select(instances, np.array([row]))
        if problem.every_node_once or not any(_allowed(rules, one, some) for some in shorter):
            return f"check accepts instance {row} without its first step and without its last: {walk}"
    return None


_OWN_LAWS: list[tuple[str, Callable[[Problem, Rules, Batch, np.random.Generator], str | None]]] = [
    ("a seed decides the instances", _seed_decides),
    ("random policies end in feasible solutions", _ends_feasible),
    ("rows of a batch do not depend on each other", _rows_are_alone),
    ("costs are finite and do not depend on padding", _costs_are_numbers),
    ("all eight views have the same costs", _views_keep_costs),
    ("the checker refuses solutions that lack a step", _checker_refuses),
]
_STEPWISE = {_rows_are_alone}
