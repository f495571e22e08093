"""Routes: solving instances, and policies on batches of instances."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from regard import _regard
from regard._arrays import Numbers, count, invalid, numbers, seed_of, wrong_type
from regard._progress import Progress
from regard._store import PackedModel

if TYPE_CHECKING:
    from regard.explain import Trace
    from regard.problem import Problem, ProblemPolicy

__all__ = ["Decoded", "Instance", "Policy", "Solution", "Stage", "generate", "read_set", "solve", "write_set"]

#: Columns of nodes by the argument that gives them.
_COLUMNS = {
    "demands": "demand",
    "prizes": "prize",
    "penalties": "penalty",
    "real_prizes": "real_prize",
    "pickups": "pickup",
}
#: Columns of the begin and the end of a time window, and of the service time.
_WINDOW = ("ready", "due")


@dataclass(frozen=True)
class Stage:
    """A stage of solving.

    Attributes
    ----------
    kind : str
        ``"start"``, ``"network"``, ``"construct"`` or ``"improve"``.
    name : str
        What was done, such as ``"16 starts x 8 views"``.
    cost : float
        Cost of the best solution after the stage; the prize where one is maximised.
    gain : float or None
        Change against the stage before, as a fraction: -0.03 is 3 % shorter.
    seconds : float
        Time of the stage.
    """

    kind: str
    name: str
    cost: float
    gain: float | None
    seconds: float


class Instance:
    """An instance of a routing problem, of arrays or of a file.

    Parameters
    ----------
    coords : array_like, shape (nodes, 2), optional
        Places in the plane, or latitudes and longitudes in degrees with ``metric="degrees"``. Beside a
        `distance_matrix` they are for the network and for drawings alone.
    distance_matrix : array_like, shape (nodes, nodes), optional
        Distances from the node of the row to that of the column. They may differ by direction for tours and vehicle routes.
    demands : array_like, shape (nodes,), optional
        Demands, 0 at the depot; with `capacity`, vehicle routing.
    capacity : float, optional
        Capacity of a vehicle.
    prizes : array_like, shape (nodes,), optional
        Prizes of nodes: orienteering with `max_length`, prize collecting with `penalties`.
    penalties : array_like, shape (nodes,), optional
        What a node costs that is not visited.
    real_prizes : array_like, shape (nodes,), optional
        Prizes that are revealed at the visit; `prizes` are then expected ones.
    max_length : float, optional
        The longest that a route may be.
    required_prize : float, optional
        The prize that has to be collected.
    time_windows : array_like, shape (nodes, 2), optional
        The first and the last time at which service may begin at a node, the last one infinite where there is none; with
        `demands` and `capacity`, vehicle routing with time windows. A unit of distance takes a unit of time.
    service_times : float or array_like, shape (nodes,), optional
        Time of a visit.
    pickups : array_like of int, shape (nodes,), optional
        The row at which the load of a node is picked up, -1 where there is none: pickup and delivery.
    split : bool
        If true, several vehicles may serve one customer.
    depot : int
        Row of the depot, where the problem has one.
    metric : {"euclidean", "degrees"}
        Straight distances, or great-circle kilometres.
    names : sequence of str, optional
        Names of the nodes for drawings and files.
    name : str
        Name of the instance.

    Examples
    --------
    >>> square = Instance([[0, 0], [0, 3], [4, 3], [4, 0]])
    >>> square.problem, len(square), square.value([[0, 1, 2, 3]])
    ('tsp', 4, 14.0)
    """

    _native: _regard.Instance
    _arguments: dict[str, Any]

    def __init__(
        self,
        coords: npt.ArrayLike | None = None,
        *,
        distance_matrix: npt.ArrayLike | None = None,
        demands: npt.ArrayLike | None = None,
        capacity: float | None = None,
        prizes: npt.ArrayLike | None = None,
        penalties: npt.ArrayLike | None = None,
        real_prizes: npt.ArrayLike | None = None,
        max_length: float | None = None,
        required_prize: float | None = None,
        time_windows: npt.ArrayLike | None = None,
        service_times: npt.ArrayLike | None = None,
        pickups: npt.ArrayLike | None = None,
        split: bool = False,
        depot: int = 0,
        metric: str = "euclidean",
        names: Sequence[str] | None = None,
        name: str = "instance",
    ) -> None:
        arguments = {key: value for key, value in locals().items() if key not in ("self",) and value is not None}
        if coords is None and distance_matrix is None:
            raise invalid("coords", "are missing, and so is distance_matrix")
        if metric not in ("euclidean", "degrees"):
            raise invalid("metric", f"is {metric!r}, expected 'euclidean' or 'degrees'")
        if metric == "degrees" and distance_matrix is not None:
            raise invalid("metric", "is 'degrees', but distance_matrix gives the distances")
        places = None if coords is None else numbers(coords, "coords", ("nodes", 2))
        matrix = None if distance_matrix is None else numbers(distance_matrix, "distance_matrix", ("nodes", "nodes"))
        nodes = len(places) if places is not None else len(matrix) if matrix is not None else 0
        if nodes == 0:
            raise invalid("coords" if coords is not None else "distance_matrix", "is empty, expected at least one node")
        columns: list[tuple[str, Numbers]] = []
        for argument, role in _COLUMNS.items():
            if arguments.get(argument) is not None:
                columns.append((role, numbers(arguments[argument], argument, (nodes,))))
        options: list[tuple[str, float]] = []
        for option, value in (
            ("capacity", capacity),
            ("max_length", max_length),
            ("required_prize", required_prize),
        ):
            if value is not None:
                options.append((option, _number(value, option)))
        if split:
            options.append(("split", 1.0))
        if time_windows is not None:
            windows = numbers(time_windows, "time_windows", (nodes, 2))
            columns += [(role, windows[:, side]) for side, role in enumerate(_WINDOW)]
        if service_times is not None:
            times = np.asarray(service_times)
            if times.ndim == 0:
                options.append(("service_time", _number(service_times, "service_times")))
            else:
                columns.append(("service", numbers(service_times, "service_times", (nodes,))))
        labels = [] if names is None else [str(label) for label in names]
        self._native = _regard.Instance.of_columns(
            name, metric, places, matrix, columns, labels, count(depot, "depot", least=0), options
        )
        self._arguments = arguments

    @classmethod
    def _of(cls, native: _regard.Instance, arguments: dict[str, Any]) -> Instance:
        found = cls.__new__(cls)
        found._native = native
        found._arguments = arguments
        return found

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        depot: str | None = None,
        skip_bad: bool = False,
        warn: Callable[[str], None] | None = None,
        **options: float,
    ) -> Instance:
        """Read an instance from a file: TSPLIB, CVRPLIB, OPLib or CSV.

        Parameters
        ----------
        path : path
            The file. Its name and its content decide the format and the problem.
        columns : mapping, optional
            Columns of a table by their role, such as ``{"demand": "Weight"}``.
        depot : str, optional
            Id of the depot in a table.
        skip_bad : bool
            If true, rows that cannot be read are left out.
        warn : callable, optional
            Takes each note of the reader on what was guessed, filled or left out; by default ``warnings.warn``.
        **options : float
            Numbers that the table does not say, such as ``capacity=100``.

        Returns
        -------
        Instance
            Its rows are the nodes in the order of the file, the depot first.
        """
        roles = [f"{role}={name}" for role, name in (columns or {}).items()]
        values = [(option, _number(value, option)) for option, value in options.items()]
        native, notes = _regard.Instance.read(os.fspath(path), roles, values, depot, skip_bad)
        _tell(notes, warn)
        return cls._of(native, {"path": os.path.abspath(path), "columns": columns, "depot": depot, **options})

    @property
    def problem(self) -> str:
        """Name of the problem, such as ``"tsp"``."""
        return self._native.problem

    @property
    def name(self) -> str:
        """Name of the instance."""
        return self._native.name

    @property
    def unit(self) -> str:
        """Unit of distances, ``"km"`` or empty."""
        return self._native.unit

    @property
    def depot(self) -> int | None:
        """Row of the depot; None for a problem without one."""
        return self._native.depot

    @property
    def best_known(self) -> float | None:
        """The best cost known, or the highest prize where one is maximised."""
        return self._native.best_known

    @property
    def maximises(self) -> bool:
        """If true, the value of a solution is a prize, the more the better."""
        return self._native.maximises

    @property
    def coords(self) -> npt.NDArray[np.float64]:
        """Places of the nodes in the plane, shape (nodes, 2), for drawings."""
        return self._native.places()

    @property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return self._native.names()

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Instance({self.name!r}, problem={self.problem!r}, nodes={len(self)})"

    def value(self, routes: Sequence[Sequence[int]]) -> float:
        """Cost of a solution, or its prize, after it was checked.

        Parameters
        ----------
        routes : sequence of sequences of int
            Rows of each route; one route for a tour.

        Raises
        ------
        InputError
            With the first rule that the solution breaks.
        """
        return self._native.value([[int(node) for node in route] for route in routes])

    def read_solution(self, path: str | os.PathLike[str]) -> list[list[int]]:
        """Read a solution (``.tour``, ``.sol``, ``.csv``, ``.json``): the rows of each route."""
        return self._native.read_solution(os.fspath(path))

    def write_solution(self, path: str | os.PathLike[str], routes: Sequence[Sequence[int]]) -> None:
        """Write a solution (``.tour``, ``.sol``, ``.csv``, ``.geojson``, ``.gpx``)."""
        self._native.write_solution(os.fspath(path), [[int(node) for node in route] for route in routes])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the instance as ``.csv``, ``.tsp``, ``.vrp`` or ``.oplib``; the ending decides."""
        path = Path(path)
        text = self._native.render(path.suffix.lstrip(".").lower())
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)

    def __reduce__(self) -> tuple[Any, ...]:
        if "path" not in self._arguments:
            return (_rebuilt, (self._arguments,))
        # On another machine the file may not be there.
        for ending in _regard.instance_endings():
            try:
                text = self._native.render(ending)
            except _regard.InputError:
                continue
            return (_reread, (text, ending, self.name))
        raise invalid("instance", "of this file cannot be pickled", "make it of arrays")


def _rebuilt(arguments: dict[str, Any]) -> Instance:
    return Instance(**arguments)


def _reread(text: str, ending: str, name: str) -> Instance:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{Path(name).name or 'instance'}.{ending}"
        path.write_text(text, encoding="utf-8")
        native, _ = _regard.Instance.read(os.fspath(path), [], [], None, False)
    return Instance._of(native, {"path": name})


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise wrong_type(name, f"found {type(value).__name__}, expected a number") from error


def _tell(notes: list[str], warn: Callable[[str], None] | None) -> None:
    if warn is not None:
        for note in notes:
            warn(note)
        return
    import warnings

    for note in notes:
        warnings.warn(note, stacklevel=3)


@dataclass(frozen=True)
class Solution:
    """A solution of an instance, which an independent checker has accepted.

    Attributes
    ----------
    cost : float
        Cost in the instance's own metric; the prize where one is maximised.
    routes : list of list of int
        Rows of the nodes of each route, without the depot; one route for a tour.
    stages : list of Stage
        What was done, in order.
    seconds : float
        Time of all stages.
    instance : Instance
        What was solved.
    policy : Policy or None
        The network that took part.
    """

    cost: float
    routes: list[list[int]]
    stages: list[Stage]
    seconds: float
    instance: Instance = field(repr=False)
    policy: Policy | None = field(repr=False, default=None)

    @property
    def tour(self) -> list[int]:
        """The nodes of the only route.

        Raises
        ------
        InputError
            If there are several routes.
        """
        if len(self.routes) != 1:
            raise invalid("tour", f"there are {len(self.routes)} routes, see `routes`")
        return self.routes[0]

    @property
    def gap(self) -> float | None:
        """Gap to the best known cost as a fraction; None where none is known."""
        best = self.instance.best_known
        if best is None or best == 0:
            return None
        gap = (self.cost - best) / abs(best)
        return -gap if self.instance.maximises else gap

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the solution (``.tour``, ``.sol``, ``.csv``, ``.geojson``, ``.gpx``)."""
        self.instance.write_solution(path, self.routes)

    def plot(self, path: str | os.PathLike[str] | None = None, ax: Any = None) -> Any:
        """Draw the solution.

        Parameters
        ----------
        path : path, optional
            A file, ``.svg`` or ``.png``, in the style of the command line.
        ax : matplotlib.axes.Axes, optional
            Without `path`: where to draw.

        Returns
        -------
        matplotlib.axes.Axes or None
            None with `path`.
        """
        if path is not None:
            self.instance._native.draw(os.fspath(path), self.routes)
            return None
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot() needs matplotlib; plot('solution.svg') does not") from error
        axes = plt.gca() if ax is None else ax
        coords, depot = self.instance.coords, self.instance.depot
        for route in self.routes:
            stops = [depot, *route, depot] if depot is not None else [*route, *route[:1]]
            axes.plot(*coords[stops].T, linewidth=1)
        axes.plot(*coords.T, "o", markersize=3, color="black")
        if depot is not None:
            axes.plot(*coords[depot], "s", color="tab:orange")
        axes.set_aspect("equal")
        axes.set_title(f"{self.instance.name}: {self.cost:,.6g} {self.instance.unit}".strip())
        return axes

    def explain(self) -> Trace:
        """Everything that the policy computed, step by step.

        Returns
        -------
        Trace
            Encoder, masks, logits, probabilities and regret of every decoding step.
        """
        if self.policy is None:
            raise invalid("policy", "no network took part", "solve with policy=")
        return self.policy.explain(self.instance)

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "solution.svg"
            self.plot(path)
            picture = path.read_text(encoding="utf-8")
        rows = "".join(
            f"<tr><td>{stage.kind}</td><td>{stage.name}</td><td>{stage.cost:,.6g}</td>"
            f"<td>{'' if stage.gain is None else f'{100 * stage.gain:+.1f} %'}</td><td>{stage.seconds:.3f} s</td></tr>"
            for stage in self.stages
        )
        table = f"<table><tr><th>stage</th><th></th><th>cost</th><th></th><th>time</th></tr>{rows}</table>"
        return f'<div style="max-width:40em">{picture[picture.index("<svg"):]}</div>{table}'


@lru_cache(maxsize=32)
def _built_in(problem: str) -> Policy | None:
    return Policy.load(problem) if dict(_regard.problems()).get(problem) else None


def solve(
    coords: npt.ArrayLike | Instance | str | os.PathLike[str] | None = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    network: bool = True,
    decode: str | None = None,
    augment: int | None = None,
    improve: bool = True,
    time_limit: float | None = None,
    start: Sequence[Sequence[int]] | None = None,
    objective: str = "cost",
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int | np.random.Generator = 1234,
    progress: bool | None = None,
    **arguments: Any,
) -> Solution:
    """Solve an instance: a network constructs, local search improves, a checker decides.

    Parameters
    ----------
    coords : array_like of shape (nodes, 2), Instance or path
        The instance: places, an instance, or a file.
    policy : Policy, str or path, optional
        The network; by default the one that is built in for the problem.
    network : bool
        If false, no network takes part, where the problem has a construction heuristic.
    decode : str, optional
        ``"greedy"``, ``"sample:K"``, ``"multistart"``, ``"multistart:K"`` or ``"beam:K"``; by default greedy, then 16
        starts in 8 views.
    augment : {1, 8}, optional
        Views of the instance under the symmetries of the square.
    improve : bool
        If true, local search follows.
    time_limit : float, optional
        Seconds for everything; without it the work is bounded, and the seed alone decides the solution.
    start : sequence of sequences of int, optional
        Routes that the search starts from; the result is never worse.
    objective : {"cost", "vehicles"}
        The cost alone, or fewer vehicles first, for problems with time windows.
    temperature, top_p : float
        Softmax temperature and nucleus of ``"sample:K"``.
    seed : int or numpy.random.Generator
        Seed of sampling and of local search.
    progress : bool, optional
        If true, progress is shown; by default where a terminal or a notebook waits longer than a second.
    **arguments
        Those of `Instance` for an instance of arrays: `distance_matrix`, `demands`, `capacity`, `time_windows` and so on.

    Returns
    -------
    Solution
        Cost, routes and stages.

    Raises
    ------
    InputError
        For numbers, shapes and combinations that are no instance, and where no feasible solution was found.

    Examples
    --------
    >>> solution = solve([[0, 0], [0, 3], [4, 3], [4, 0], [2, 1]])
    >>> round(solution.cost, 3), len(solution.tour)
    (14.472, 5)
    """
    instance = _instance(coords, arguments)
    chosen = _policy(policy, instance.problem) if network else None
    if decode is not None and not isinstance(decode, str):
        raise wrong_type("decode", f"found {type(decode).__name__}, expected text such as 'sample:1280'")
    if augment is not None and augment not in (1, 8):
        raise invalid("augment", f"is {augment}, expected 1 or 8")
    if not improve and time_limit is not None:
        raise invalid("time_limit", "applies to local search, but improve is False")
    search = {
        "decode": decode,
        "augment": augment,
        "improve": improve,
        "time_limit": None if time_limit is None else _number(time_limit, "time_limit"),
        "start": None if start is None else [[int(node) for node in route] for route in start],
        "objective": objective,
        "temperature": _number(temperature, "temperature"),
        "top_p": _number(top_p, "top_p"),
        "seed": seed_of(seed),
    }
    with Progress(f"solve {instance.name}", progress) as bar:
        found = _regard.solve(instance._native, None if chosen is None else chosen._native, search, bar.stage)
    sign = -1.0 if instance.maximises else 1.0
    stages = [Stage(kind, name, sign * cost, gain, seconds) for kind, name, cost, gain, seconds in found.stages]
    return Solution(found.cost, found.routes, stages, found.seconds, instance, chosen)


def _instance(coords: Any, arguments: dict[str, Any]) -> Instance:
    if isinstance(coords, Instance):
        if arguments:
            raise invalid(next(iter(arguments)), "belongs to an instance of arrays, but an Instance is given")
        return coords
    if isinstance(coords, (str, os.PathLike)):
        return Instance.read(coords, **arguments)
    try:
        return Instance(coords, **arguments)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            name = str(error).split("'")[1]
            known = ", ".join(sorted({*_COLUMNS, "capacity", "distance_matrix", "max_length", "time_windows"}))
            raise wrong_type(name, "is no argument of an instance", f"there are {known}, ...; see Instance") from None
        raise


def _policy(policy: Policy | str | os.PathLike[str] | None, problem: str) -> Policy | None:
    if policy is None:
        return _built_in(problem)
    return policy if isinstance(policy, Policy) else Policy.load(policy)


@dataclass(frozen=True)
class Decoded:
    """Solutions of a batch of instances.

    Attributes
    ----------
    cost : numpy.ndarray, shape (batch,)
        Cost of each solution; negative prizes where a prize is maximised.
    actions : numpy.ndarray of int64, shape (batch, steps)
        Nodes in the order visited, filled up with 0, the depot.
    lengths : numpy.ndarray of int64, shape (batch,)
        Steps of each solution.
    log_likelihood : numpy.ndarray of float32, shape (batch,)
        Log-probability of each solution, in the view in which it was found.
    """

    cost: npt.NDArray[np.float64]
    actions: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    log_likelihood: npt.NDArray[np.float32]

    @property
    def reward(self) -> npt.NDArray[np.float64]:
        """Negative costs, as RL4CO has them."""
        return -self.cost

    def __len__(self) -> int:
        return len(self.cost)

    def tour(self, at: int) -> list[int]:
        """The steps of one solution."""
        return [int(node) for node in self.actions[at, : self.lengths[at]]]

    def routes(self, at: int) -> list[list[int]]:
        """The routes between visits of the depot, node 0, of one solution of a problem with a depot."""
        routes: list[list[int]] = [[]]
        for node in self.tour(at):
            if node == 0:
                routes.append([])
            else:
                routes[-1].append(node)
        return [route for route in routes if route]


class Policy:
    """A network that constructs solutions node by node (Attention Model, Kool et al. 2019).

    Made by `load`, or by training. It can be pickled and used from several threads.

    Examples
    --------
    >>> policy = Policy.load("tsp")
    >>> batch = generate("tsp", 3, 20, seed=1)
    >>> policy.greedy(batch).actions.shape
    (3, 20)
    """

    _native: _regard.Policy
    _packed: PackedModel

    def __init__(self) -> None:
        raise TypeError("a policy is made by Policy.load(name or path), or by training")

    @overload
    @classmethod
    def load(cls, model: str | os.PathLike[str], problem: None = None) -> Policy: ...

    @overload
    @classmethod
    def load(cls, model: str | os.PathLike[str], problem: Problem) -> ProblemPolicy: ...

    @classmethod
    def load(cls, model: str | os.PathLike[str], problem: Problem | None = None) -> Policy | ProblemPolicy:
        """Open a policy.

        Parameters
        ----------
        model : str or path
            Name of a problem (``"tsp"``), of a built-in model (``"regard-tsp"``), or a folder.
        problem : Problem, optional
            The problem of your own that the model was trained for.

        Returns
        -------
        Policy, or ProblemPolicy for a problem of your own
        """
        if problem is not None:
            return problem.policy(model)
        name = os.fspath(model)
        if dict(_regard.problems()).get(name) and not Path(name).is_dir():
            name = f"regard-{name}"
        return cls._opened(PackedModel.of(name))

    @classmethod
    def _opened(cls, packed: PackedModel) -> Policy:
        policy = cls.__new__(cls)
        policy._packed = packed
        with packed.folder() as folder:
            policy._native = _regard.Policy.open(folder)
        return policy

    def __reduce__(self) -> tuple[Any, ...]:
        return (Policy._opened, (self._packed,))

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._packed.name

    @property
    def problem(self) -> str:
        """Name of the problem that it solves."""
        return self._native.problem

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return self._native.parameters

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, problem={self.problem!r}, parameters={self.parameters})"

    def decode(
        self,
        batch: npt.ArrayLike | Mapping[str, npt.ArrayLike],
        decode_type: str = "greedy",
        *,
        augment: int = 1,
        improve: bool = False,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int | np.random.Generator = 1234,
        progress: bool | None = None,
        **arrays: npt.ArrayLike,
    ) -> Decoded:
        """Solve a batch of instances of one size in the unit square.

        Parameters
        ----------
        batch : array_like of shape (batch, nodes, 2), or mapping of arrays
            Places, or the arrays of an archive as `read_set`, `generate` and RL4CO give them: ``locs``, ``depot`` and
            what the problem adds.
        decode_type : str
            ``"greedy"``, ``"sample:K"``, ``"multistart"``, ``"multistart:K"`` or ``"beam:K"``.
        augment : {1, 8}
            Views of each instance; the best solution counts.
        improve : bool
            If true, local search follows.
        temperature, top_p : float
            Softmax temperature and nucleus of sampling.
        seed : int or numpy.random.Generator
            Seed of sampling; the same as the command line's gives the same solutions.
        progress : bool, optional
            If true, progress is shown; by default where a terminal or a notebook waits longer than a second.
        **arrays : array_like
            Beside places: ``depot`` (batch, 2), ``demand`` (batch, customers), ``capacity``, and so on.

        Returns
        -------
        Decoded
        """
        named = _batch(batch, arrays)
        with Progress(f"{self.name} {decode_type}", progress) as bar:
            found = self._native.decode(
                named,
                decode_type,
                augment,
                improve,
                _number(temperature, "temperature"),
                _number(top_p, "top_p"),
                seed_of(seed),
                bar.advance,
            )
        return Decoded(**found)

    def greedy(self, batch: npt.ArrayLike | Mapping[str, npt.ArrayLike], **options: Any) -> Decoded:
        """The most probable node at every step; see `decode`."""
        return self.decode(batch, "greedy", **options)

    def sample(
        self, batch: npt.ArrayLike | Mapping[str, npt.ArrayLike], samples: int = 1280, **options: Any
    ) -> Decoded:
        """The best of so many sampled solutions; see `decode`."""
        return self.decode(batch, f"sample:{count(samples, 'samples')}", **options)

    def multistart(
        self, batch: npt.ArrayLike | Mapping[str, npt.ArrayLike], starts: int | None = None, **options: Any
    ) -> Decoded:
        """The best of greedy solutions from so many first nodes, or from all of them (POMO); see `decode`."""
        decode_type = "multistart" if starts is None else f"multistart:{count(starts, 'starts')}"
        return self.decode(batch, decode_type, **options)

    def beam(self, batch: npt.ArrayLike | Mapping[str, npt.ArrayLike], width: int = 10, **options: Any) -> Decoded:
        """The best of the most probable solutions that beam search finds; see `decode`."""
        return self.decode(batch, f"beam:{count(width, 'width')}", **options)

    def explain(self, instance: Instance | npt.ArrayLike | str | os.PathLike[str], **arguments: Any) -> Trace:
        """Everything that the policy computes on one instance, step by step.

        Parameters
        ----------
        instance : Instance, array_like of shape (nodes, 2) or path
            The instance.
        **arguments
            Those of `Instance`, for one of arrays.

        Returns
        -------
        Trace
        """
        from regard.explain import Trace

        return Trace(self._native.explain(_instance(instance, arguments)._native))


def _batch(batch: Any, arrays: Mapping[str, Any]) -> dict[str, Numbers]:
    if isinstance(batch, Mapping):
        both = {**batch, **arrays}
        return {name: numbers(value, name) for name, value in both.items()}
    named = {name: numbers(value, name) for name, value in arrays.items()}
    return {"locs": numbers(batch, "batch", ("batch", "nodes", 2)), **named}


def generate(
    problem: str,
    instances: int,
    nodes: int,
    *,
    seed: int | np.random.Generator = 1234,
    distribution: str = "uniform",
) -> dict[str, npt.NDArray[Any]]:
    """Random instances in the unit square, as the command ``regard data generate`` makes them.

    Parameters
    ----------
    problem : str
        Name of the problem.
    instances, nodes : int
        Number of instances, and nodes of each, a depot not counted.
    seed : int or numpy.random.Generator
        Seed.
    distribution : {"uniform", "cluster", "gaussian-mixture", "mixed"}
        Distribution of the places.

    Returns
    -------
    dict of numpy.ndarray
        ``locs`` (instances, nodes, 2), ``depot`` (instances, 2) and what the problem adds.
    """
    archive = _regard.generate(
        problem, count(instances, "instances"), count(nodes, "nodes"), seed_of(seed), distribution
    )
    return _loaded(archive)


def read_set(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Read a set of instances from a file of the field: ``.pkl`` as Kool's code writes it, or ``.npz``.

    Nothing in a pickle is run.

    Returns
    -------
    dict of numpy.ndarray
        ``locs`` (instances, nodes, 2), ``depot`` (instances, 2) and what the problem adds.
    """
    return _loaded(_regard.read_set(os.fspath(path)))


def write_set(path: str | os.PathLike[str], batch: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> None:
    """Write a set of instances as ``.pkl`` or ``.npz``; see `read_set`."""
    _regard.write_set(os.fspath(path), _batch(batch, {}))


def _loaded(archive: bytes) -> dict[str, npt.NDArray[Any]]:
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
