"""Estimators on graphs, molecules and nodes, after scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard import _regard
from regard._arrays import count, invalid, numbers, wrong_type
from regard._estimator import ClassifierMixin, ModelEstimator, RegressorMixin, assignments, labels_of, unboxed
from regard._store import PackedModel
from regard.explain import Attribution, Trace, attribution_of
from regard.sets import _class_of
from regard.training import Event

__all__ = ["Graph", "GraphClassifier", "GraphRegressor", "Graphs", "NodeClassifier", "load", "molecules"]


@dataclass
class Graph:
    """One graph as arrays.

    Attributes
    ----------
    edges : array_like of int, shape (2, edges)
        The nodes that each edge joins, numbered from 0; PyG's ``edge_index``. Shape (edges, 2) is taken too where it is
        not (2, 2).
    num_nodes : int, optional
        Number of nodes; by default one more than the largest in `edges`, or the length of `nodes`.
    nodes : array_like, shape (num_nodes, features), optional
        Numbers of the nodes.
    node_types : sequence, shape (num_nodes,), optional
        A type for each node: a word or a whole number.
    edge_features : array_like, shape (edges, features), optional
        Numbers of the edges.
    edge_types : sequence, shape (edges,), optional
        A type for each edge.
    directed : bool
        If false, every edge leads both ways. PyG's undirected graphs list both directions: they are ``directed=True``.
    """

    edges: Any
    num_nodes: int | None = None
    nodes: Any = None
    node_types: Any = None
    edge_features: Any = None
    edge_types: Any = None
    directed: bool = False


def _of_networkx(graph: Any) -> Graph:
    """A graph of networkx; the attributes ``x`` and ``type`` of nodes and edges are their numbers and types."""
    place = {node: at for at, node in enumerate(graph.nodes)}
    ends = [(place[a], place[b]) for a, b in graph.edges()]
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))

    def column(items: list[Any], key: str) -> Any:
        values = [data.get(key) for *_, data in items]
        have = [value is not None for value in values]
        if not any(have):
            return None
        if not all(have):
            at = have.index(False)
            raise invalid(f"attribute {key!r}", f"is missing at {items[at][:-1]}, expected it everywhere or nowhere")
        return values

    return Graph(
        np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        len(place),
        column(nodes, "x"),
        column(nodes, "type"),
        column(edges, "x"),
        column(edges, "type"),
        directed=bool(graph.is_directed()),
    )


def _of_pyg(data: Any) -> Graph:
    """A `Data` of PyTorch Geometric: ``edge_index``, ``x``, ``edge_attr``; whole numbers in one column are types."""

    def parts(values: Any) -> tuple[Any, Any]:
        if values is None:
            return None, None
        array = values.detach().cpu().numpy()
        array = array[:, None] if array.ndim == 1 else array
        whole = array.dtype.kind in "iu" and array.shape[1] == 1
        return (None, array[:, 0]) if whole else (array.astype(np.float32), None)

    nodes, node_types = parts(getattr(data, "x", None))
    edge_features, edge_types = parts(getattr(data, "edge_attr", None))
    edges = data.edge_index.detach().cpu().numpy()
    return Graph(edges, int(data.num_nodes), nodes, node_types, edge_features, edge_types, directed=True)


def _graph(value: Any, at: int) -> Graph:
    if isinstance(value, Graph):
        return value
    if isinstance(value, Mapping):
        unknown = set(value) - set(Graph.__dataclass_fields__)
        if unknown:
            known = ", ".join(Graph.__dataclass_fields__)
            raise invalid(f"X[{at}]", f"has the key {sorted(unknown)[0]!r}", f"keys of a graph are {known}")
        return Graph(**value)
    if hasattr(value, "edge_index") and hasattr(value, "num_nodes"):
        return _of_pyg(value)
    if hasattr(value, "nodes") and hasattr(value, "is_directed"):
        return _of_networkx(value)
    raise wrong_type(
        f"X[{at}]",
        f"found {type(value).__name__}, expected a Graph, a mapping of its parts, a networkx graph or a PyG Data",
    )


class _Columns:
    """Features of all nodes, or of all edges, while graphs are put together."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.numbers: list[npt.NDArray[Any]] = []
        self.types: list[str] = []
        self.has: tuple[bool, bool] | None = None

    def add(self, at: int, values: Any, types: Any, length: int) -> None:
        has = (values is not None, types is not None)
        if self.has is not None and has != self.has:
            raise invalid(f"X[{at}]", f"has other features of {self.what} than X[0]")
        self.has = has
        if values is not None:
            array = numbers(values, f"{self.what} of X[{at}]")
            array = array[:, None] if array.ndim == 1 else array
            if array.ndim != 2 or len(array) != length:
                raise invalid(f"{self.what} of X[{at}]", f"have the shape {list(array.shape)}, expected [{length}, features]")
            if self.numbers and array.shape[1] != self.numbers[0].shape[1]:
                width = self.numbers[0].shape[1]
                raise invalid(f"{self.what} of X[{at}]", f"have {array.shape[1]} features, those of X[0] have {width}")
            self.numbers.append(array)
        if types is not None:
            words = [str(kind) for kind in (types.tolist() if hasattr(types, "tolist") else types)]
            if len(words) != length:
                raise invalid(f"types of {self.what} of X[{at}]", f"are {len(words)}, expected {length}")
            self.types += words

    def native(self) -> dict[str, Any]:
        names: list[str] = sorted(set(self.types), key=_by_value)
        place = {name: at for at, name in enumerate(names)}
        return {
            "types": [place[kind] for kind in self.types],
            "type_names": names,
            "numbers": np.concatenate(self.numbers) if self.numbers else None,
            "names": [],
        }


def _by_value(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, 0.0, text)


class Graphs(Sequence[Any]):
    """Graphs in the engine's form, made once and used several times.

    Estimators make it themselves of what they get; it saves time where the same graphs are used again. It can be sliced
    as a list.

    Parameters
    ----------
    graphs : sequence of Graph, mapping, networkx.Graph or torch_geometric.data.Data, or of SMILES
        The graphs.
    rule : {"described", "zinc"}
        Features of atoms and bonds, for SMILES.

    Examples
    --------
    >>> len(Graphs(["CCO", "c1ccccc1"])), len(Graphs([Graph([[0, 1], [1, 2]])]))
    (2, 1)
    """

    def __init__(self, graphs: Sequence[Any] | Any, rule: str = "described") -> None:
        if rule not in ("described", "zinc"):
            raise invalid("rule", f"is {rule!r}, expected 'described' or 'zinc'")
        self.rule = rule
        self.items = _items(graphs)
        if not self.items:
            raise invalid("X", "Found array with 0 sample(s) while a minimum of 1 is required: there are no graphs")
        self.are_molecules = isinstance(self.items[0], str)
        if self.are_molecules:
            odd = next((at for at, one in enumerate(self.items) if not isinstance(one, str)), None)
            if odd is not None:
                raise wrong_type(f"X[{odd}]", f"found {type(self.items[odd]).__name__}, expected a SMILES as X[0] is")
            self.native = _regard.Graphs.of_smiles([str(one) for one in self.items], rule)
        else:
            self.native = _built([_graph(one, at) for at, one in enumerate(self.items)])

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, (int, np.integer)):
            return self.items[at]
        chosen = np.arange(len(self))[at]
        return Graphs([self.items[place] for place in chosen], self.rule)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Graphs, (self.items, self.rule))


def _items(graphs: Any) -> list[Any]:
    if isinstance(graphs, Graphs):
        return graphs.items
    if isinstance(graphs, (str, bytes)):
        raise wrong_type("X", "found a text, expected a list of SMILES or of graphs")
    if isinstance(graphs, (Graph, Mapping)):
        raise wrong_type("X", "found one graph, expected a list of graphs")
    if hasattr(graphs, "tolist") and getattr(graphs, "ndim", 1) == 1:
        return list(graphs.tolist())
    try:
        return list(graphs)
    except TypeError as error:
        raise wrong_type("X", f"found {type(graphs).__name__}, expected a list of graphs") from error


def _built(graphs: list[Graph]) -> _regard.Graphs:
    node_counts, edge_counts, all_ends = [], [], []
    nodes, edges = _Columns("nodes"), _Columns("edges")
    directed = graphs[0].directed
    for at, graph in enumerate(graphs):
        if graph.directed != directed:
            raise invalid(f"X[{at}]", "is directed and X[0] is not, or the reverse")
        ends = numbers(graph.edges, f"edges of X[{at}]")
        if ends.size == 0:
            ends = np.zeros((2, 0), dtype=np.int64)
        if ends.ndim == 2 and ends.shape[0] != 2 and ends.shape[1] == 2:
            ends = ends.T
        if ends.ndim != 2 or ends.shape[0] != 2:
            raise invalid(f"edges of X[{at}]", f"have the shape {list(ends.shape)}, expected [2, edges]")
        if ends.dtype.kind == "f":
            raise wrong_type(f"edges of X[{at}]", "found floats, expected whole numbers of nodes")
        largest = int(ends.max()) + 1 if ends.size else 0
        length = None if graph.nodes is None else len(graph.nodes)
        length = len(graph.node_types) if length is None and graph.node_types is not None else length
        total = graph.num_nodes if graph.num_nodes is not None else largest if length is None else length
        node_counts.append(count(total, f"num_nodes of X[{at}]", least=0))
        edge_counts.append(ends.shape[1])
        all_ends.append(ends)
        nodes.add(at, graph.nodes, graph.node_types, total)
        edges.add(at, graph.edge_features, graph.edge_types, ends.shape[1])
    together = np.ascontiguousarray(np.concatenate(all_ends, axis=1), dtype=np.int64)
    return _regard.Graphs.of_arrays(node_counts, edge_counts, together, directed, nodes.native(), edges.native(), [])


def molecules(smiles: Sequence[str]) -> tuple[list[str], list[int]]:
    """The SMILES that can be read, and their places: for tables with mistakes.

    Parameters
    ----------
    smiles : sequence of str

    Returns
    -------
    good : list of str
        Those that can be read.
    places : list of int
        Their places in `smiles`.

    Examples
    --------
    >>> molecules(["CCO", "C1CC", "N"])
    (['CCO', 'N'], [0, 2])
    """
    places = []
    for at, one in enumerate(smiles):
        try:
            _regard.Graphs.of_smiles([str(one)], "described")
        except _regard.InputError:
            continue
        places.append(at)
    return [str(smiles[at]) for at in places], places


class _GraphEstimator(ModelEstimator):
    experiment: str | None
    epochs: int | None
    learning_rate: float | None
    blend: bool
    rule: str
    validation_fraction: float
    only: str | None
    callbacks: Sequence[Callable[[Event], object]]

    _kind: str
    _level = "graph"

    def _assignments(self, of_molecules: bool) -> list[str]:
        return assignments(
            self.settings,
            task__kind=self._kind,
            task__level=self._level,
            data__source="file",
            data__path="graphs in memory",
            data__smiles="smiles" if of_molecules else "",
            data__atom_features=self.rule,
            data__validation_fraction=self.validation_fraction,
            data__test_fraction=0.0,
            data__seed=self._seed(),
            train__seed=self._seed(),
            train__epochs=self.epochs,
            train__learning_rate=self.learning_rate,
            eval__blend=self.blend,
        )

    def _checked(self, X: Any) -> _regard.Graphs:
        if "_packed" not in self.__dict__:
            self._model()
        rule = self._model().smiles_rule or self.rule
        graphs = X if isinstance(X, Graphs) and (X.rule == rule or not X.are_molecules) else Graphs(X, rule)
        return graphs.native

    def _model(self) -> _regard.GraphModel:
        return self._open(_regard.GraphModel.open, self.only)

    def _fit_graphs(self, graphs: Graphs, native: _regard.Graphs) -> None:
        sets = self._assignments(graphs.are_molecules)
        experiment = self.experiment or ("graphs/molecules" if graphs.are_molecules else "graphs/tu")
        self._train(_regard.train_graphs, experiment, sets, native, self.callbacks)

    def explain(self, X: Any, example: int = 0) -> Trace:
        """Everything that the network computes on one graph, step by step.

        Parameters
        ----------
        X : sequence of graphs
        example : int
            Which of them.

        Returns
        -------
        Trace
        """
        return Trace(self._model().explain(self._checked(X), example))

    def attribute(
        self,
        X: Any,
        method: str = "leave-one-out",
        *,
        samples: int = 32,
        steps: int = 256,
        seed: int = 1234,
    ) -> list[Attribution]:
        """How much each node and each edge of each graph changes the prediction.

        Parameters
        ----------
        X : sequence of graphs
        method : {"leave-one-out", "shapley", "integrated-gradients"}
            Method of attribution.
        samples : int
            Permutations of ``"shapley"``.
        steps : int
            Steps of ``"integrated-gradients"``.
        seed : int
            Seed of permutations and random orders.

        Returns
        -------
        list of Attribution
            One for each graph; its parts are nodes, then edges.
        """
        found = self._model().attribute(self._checked(X), method, samples, steps, seed)
        all_parts = []
        for nodes, edges, values in found:
            parts = [f"node {node}" for node in range(nodes)] + [f"edge {a}-{b}" for a, b in edges]
            all_parts.append(attribution_of(method, parts, values))
        return all_parts

    @property
    def blend_weights_(self) -> tuple[float, float]:
        """Weights of the network and of the base learners in the answer."""
        weights = self._model().weights
        return (1.0, 0.0) if weights is None else (weights[0], weights[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        tags.non_deterministic = self.random_state is None
        return tags


class _Classes:
    """The classes of a classifier in scikit-learn's order."""

    classes_: npt.NDArray[Any]
    _order: npt.NDArray[np.int64]

    def _learn_classes(self, names: list[str], labels: list[float] | list[str], answers: npt.NDArray[Any]) -> None:
        place = {value: at for at, value in enumerate(self.classes_.tolist())}
        self._order = np.array([place[_class_of(name, labels, answers)] for name in names], dtype=np.int64)

    def _probabilities(self, found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ordered = np.zeros_like(found)
        ordered[:, self._order] = found
        return ordered


class GraphClassifier(ClassifierMixin, _GraphEstimator, _Classes):
    """Classifies graphs or molecules, with base learners beside the network.

    Parameters
    ----------
    experiment : str, optional
        The settings to start from; by default ``"graphs/molecules"`` for SMILES and ``"graphs/tu"`` for other graphs.
    epochs : int, optional
        Epochs of the network; by default those of the experiment.
    learning_rate : float, optional
        Learning rate; by default that of the experiment.
    blend : bool
        If true, base learners on counts, subgraphs and descriptors are fitted beside the network, and the answer is a
        blend, weighted on graphs that neither was trained on.
    rule : {"described", "zinc"}
        Features of atoms and bonds of SMILES.
    validation_fraction : float
        Share of the graphs that choose the epoch and the weights of the blend.
    only : {"network", "base"}, optional
        One part of the blend alone.
    callbacks : sequence of callable
        See `regard.train`.
    settings : mapping, optional
        Any other settings, such as ``{"model.layers": 6}``.
    random_state : int, optional
        Seed; the same gives the same bits.
    verbose : bool
        If true, progress is shown.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (classes,)
        The classes in order.
    training_ : dict
        Steps, seconds and validation cost of the training.

    Examples
    --------
    >>> X = ["CCO", "CCN", "CCC", "CCCC", "CO", "CN", "CC", "OCCO"] * 4
    >>> y = ["O" in smiles for smiles in X]
    >>> GraphClassifier(epochs=1, blend=False).fit(X, y).predict_proba(X[:3]).shape
    (3, 2)
    """

    _kind = "classification"

    def __init__(
        self,
        experiment: str | None = None,
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        blend: bool = True,
        rule: str = "described",
        validation_fraction: float = 0.1,
        only: str | None = None,
        callbacks: Sequence[Callable[[Event], object]] = (),
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 1234,
        verbose: bool = False,
    ) -> None:
        self.experiment = experiment
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.blend = blend
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.only = only
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> GraphClassifier:
        """Train on labelled graphs.

        Parameters
        ----------
        X : sequence of SMILES, Graph, mapping, networkx.Graph or torch_geometric.data.Data
        y : array_like, shape (graphs,)
            The class of each.

        Returns
        -------
        GraphClassifier
        """
        graphs = X if isinstance(X, Graphs) else Graphs(X, self.rule)
        labels, answers = _labelled(y, len(graphs))
        self.classes_ = np.unique(answers)
        if len(self.classes_) < 2:
            raise invalid("y", "has one class, expected at least two")
        self._fit_graphs(graphs, _with_labels(graphs.native, labels, of_nodes=False))
        self._learn_classes(self._model().classes, labels, answers)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probabilities of the classes, shape (graphs, classes)."""
        return self._probabilities(self._model().predict(self._checked(X))["probabilities"])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each graph; where a class is rare in training, the one most probable beside its share."""
        decided = self._model().predict(self._checked(X))["decided"]
        chosen: npt.NDArray[Any] = self.classes_[self._order[decided]]
        return chosen


def _labelled(y: Any, expected: int) -> tuple[list[float] | list[str], npt.NDArray[Any]]:
    labels, answers = labels_of(y)
    if len(answers) != expected:
        raise invalid("y", f"has {len(answers)} values, expected one for each of {expected} graphs")
    return labels, answers


def _with_labels(native: _regard.Graphs, labels: Sequence[Any], of_nodes: bool) -> _regard.Graphs:
    if any(isinstance(label, str) for label in labels):
        return native.with_targets(of_nodes, ["target"], None, list(labels))
    return native.with_targets(of_nodes, ["target"], list(labels), None)


class GraphRegressor(RegressorMixin, _GraphEstimator):
    """Predicts one or several numbers for each graph or molecule. Parameters are those of `GraphClassifier`.

    Parameters
    ----------
    experiment, epochs, learning_rate, blend, rule, validation_fraction, only, callbacks, settings, random_state, verbose
        See `GraphClassifier`.

    Attributes
    ----------
    training_ : dict
        Steps, seconds and validation cost of the training.
    """

    _kind = "regression"

    def __init__(
        self,
        experiment: str | None = None,
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        blend: bool = True,
        rule: str = "described",
        validation_fraction: float = 0.1,
        only: str | None = None,
        callbacks: Sequence[Callable[[Event], object]] = (),
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 1234,
        verbose: bool = False,
    ) -> None:
        self.experiment = experiment
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.blend = blend
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.only = only
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> GraphRegressor:
        """Train on graphs with numbers.

        Parameters
        ----------
        X : sequence of SMILES, Graph, mapping, networkx.Graph or torch_geometric.data.Data
        y : array_like, shape (graphs,) or (graphs, tasks)
            The numbers of each; NaN where one is missing, but not all of a task.

        Returns
        -------
        GraphRegressor
        """
        graphs = X if isinstance(X, Graphs) else Graphs(X, self.rule)
        if y is None:
            raise invalid("y", "the estimator requires y to be passed, but the target y is None")
        answers = numbers(unboxed(np.asarray(y), "y"), "y", finite=False)
        self._single = answers.ndim == 1
        answers = answers[:, None] if answers.ndim == 1 else answers
        if answers.ndim != 2 or len(answers) != len(graphs):
            raise invalid("y", f"has the shape {list(answers.shape)}, expected one row for each of {len(graphs)} graphs")
        if np.isinf(answers).any():
            raise invalid("y", "Input y contains infinity.")
        names = ["target"] if answers.shape[1] == 1 else [f"target {task + 1}" for task in range(answers.shape[1])]
        values = [None if value != value else float(value) for value in answers.ravel().tolist()]
        self._fit_graphs(graphs, graphs.native.with_targets(False, names, values, None))
        return self

    def predict(self, X: Any, level: Sequence[float] | None = None) -> Any:
        """The numbers of each graph.

        Parameters
        ----------
        X : sequence of graphs
        level : sequence of float, optional
            Levels of prediction intervals in per cent.

        Returns
        -------
        numpy.ndarray, shape (graphs,) or (graphs, tasks)
            With `level` also a dict of arrays with low and high in their last axis, by level.
        """
        values = self._model().predict(self._checked(X))["values"]
        single = getattr(self, "_single", values.shape[1] == 1)
        shown = values[:, 0] if single else values
        if level is None:
            return shown
        widths = self._model().half_widths([float(one) for one in level])
        by_level = {one: np.asarray(width) for one, width in zip(level, widths, strict=True)}
        return shown, {
            one: np.stack([shown - (w[0] if single else w), shown + (w[0] if single else w)], axis=-1)
            for one, w in by_level.items()
        }


class NodeClassifier(ClassifierMixin, _GraphEstimator, _Classes):
    """Classifies the nodes of one graph, or of several. Parameters are those of `GraphClassifier`.

    Parameters
    ----------
    experiment : str
        The settings to start from; ``"graphs/cora"`` is for one graph with few labels.
    epochs, learning_rate, blend, validation_fraction, only, callbacks, settings, random_state, verbose
        See `GraphClassifier`.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (classes,)
        The classes in order.
    """

    _kind = "classification"
    _level = "node"
    rule = "described"

    def __init__(
        self,
        experiment: str = "graphs/cora",
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        blend: bool = True,
        validation_fraction: float = 0.1,
        only: str | None = None,
        callbacks: Sequence[Callable[[Event], object]] = (),
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 1234,
        verbose: bool = False,
    ) -> None:
        self.experiment = experiment
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.blend = blend
        self.validation_fraction = validation_fraction
        self.only = only
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, train_mask: Any = None, val_mask: Any = None) -> NodeClassifier:
        """Train on the labelled nodes.

        Parameters
        ----------
        X : Graph, mapping, networkx.Graph, torch_geometric.data.Data, or a sequence of them
            The graph, with all its nodes.
        y : array_like, shape (nodes,)
            The class of each node of all graphs; None where it is not known.
        train_mask, val_mask : array_like of bool, shape (nodes,), optional
            Nodes to learn from, and nodes that choose the epoch; by default all that have a class, some of them held
            out.

        Returns
        -------
        NodeClassifier
        """
        graphs = Graphs(_one_or_more(X))
        nodes = sum(graphs.native.node_counts())
        values = list(np.asarray(y, dtype=object))
        if len(values) != nodes:
            raise invalid("y", f"has {len(values)} values, expected one for each of {nodes} nodes")
        known = np.array([value is not None and value == value for value in values])
        given = [value for value, there in zip(values, known, strict=True) if there]
        labels, answers = labels_of(given)
        self.classes_ = np.unique(answers)
        if len(self.classes_) < 2:
            raise invalid("y", "has one class, expected at least two")
        left = iter(labels)
        targets = [next(left) if there else None for there in known]
        native = _with_labels(graphs.native, targets, of_nodes=True)
        if train_mask is not None or val_mask is not None:
            native = native.with_parts(True, _parts(nodes, train_mask, val_mask))
        self._fit_graphs(graphs, native)
        self._learn_classes(self._model().classes, labels, answers)
        return self

    def _nodes(self, X: Any) -> dict[str, Any]:
        return self._model().predict(Graphs(_one_or_more(X)).native)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probabilities of the classes of every node, shape (nodes, classes)."""
        return self._probabilities(self._nodes(X)["probabilities"])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every node."""
        chosen: npt.NDArray[Any] = self.classes_[self._order[self._nodes(X)["decided"]]]
        return chosen


def _one_or_more(X: Any) -> Any:
    single = isinstance(X, (Graph, Mapping)) or hasattr(X, "edge_index") or hasattr(X, "is_directed")
    return [X] if single else X


def _parts(nodes: int, train_mask: Any, val_mask: Any) -> list[int]:
    parts = np.full(nodes, 3)
    for mask, part, name in ((train_mask, 0, "train_mask"), (val_mask, 1, "val_mask")):
        if mask is None:
            continue
        chosen = np.asarray(mask)
        if chosen.dtype != bool or chosen.shape != (nodes,):
            raise invalid(name, f"is an array of {chosen.dtype} {list(chosen.shape)}, expected bool [{nodes}]")
        parts[chosen] = part
    return [int(part) for part in parts]


def load(model: str | os.PathLike[str]) -> GraphClassifier | GraphRegressor | NodeClassifier:
    """The estimator of a trained model on graphs.

    Parameters
    ----------
    model : str or path
        A folder, or the name of a built-in model such as ``"regard-solubility"``.

    Returns
    -------
    GraphClassifier, GraphRegressor or NodeClassifier
        By the task of the model.

    Examples
    --------
    >>> load("regard-solubility").predict(["CCO", "c1ccccc1"]).shape
    (2,)
    """
    packed = PackedModel.of(Path(model) if not isinstance(model, str) else model)
    with packed.folder() as folder:
        native = _regard.GraphModel.open(folder, None)
    kinds: dict[tuple[str, str], Any] = {
        ("classification", "graph"): GraphClassifier,
        ("classification", "node"): NodeClassifier,
    }
    estimator: Any = kinds.get((native.task, native.level), GraphRegressor)()
    estimator._packed = packed
    if native.smiles_rule is not None:
        estimator.rule = native.smiles_rule
    if native.task == "classification":
        estimator.classes_ = np.asarray(native.classes)
        estimator._order = np.arange(len(native.classes))
    elif native.level == "graph":
        estimator._single = len(native.tasks) == 1
    found: GraphClassifier | GraphRegressor | NodeClassifier = estimator
    return found
