"""Estimators on sets of rows, after scikit-learn: bags, clouds of points, groups of a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from regard import _regard
from regard._arrays import invalid, numbers, wrong_type
from regard._estimator import (
    ClassifierMixin,
    ClusterMixin,
    ModelEstimator,
    RegressorMixin,
    assignments,
    given,
    labels_of,
    unboxed,
)
from regard._store import PackedModel
from regard.explain import Attribution, Trace, attribution_of
from regard.training import Event

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Clusters", "RaggedArray", "SetClassifier", "SetClusterer", "SetRegressor", "load"]


class Clusters(NamedTuple):
    """The mixture of normal distributions that was found in one set of points.

    Attributes
    ----------
    weights : numpy.ndarray, shape (clusters,)
        Shares of the clusters.
    means, deviations : numpy.ndarray, shape (clusters, features)
        Their means and standard deviations.
    labels : numpy.ndarray of int64, shape (points,)
        The most probable cluster of each point.
    """

    weights: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    deviations: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]


class RaggedArray(Sequence[npt.NDArray[Any]]):
    """Sets of any sizes in one array, cut at offsets. It can be indexed as a list of arrays.

    Parameters
    ----------
    values : array_like, shape (rows, features)
        The rows of all sets, one after another; NaN where a value is missing.
    offsets : array_like of int, shape (sets + 1,)
        Set `i` has the rows ``offsets[i]:offsets[i + 1]``.
    names : sequence of str, optional
        Names of the features.
    ids : sequence of str, optional
        Names of the sets, no two alike.

    Examples
    --------
    >>> bags = RaggedArray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 2, 3])
    >>> len(bags), bags[1].tolist(), len(bags[[1, 0]])
    (2, [[5.0, 6.0]], 2)
    """

    def __init__(
        self,
        values: npt.ArrayLike,
        offsets: npt.ArrayLike,
        names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        self.values = numbers(values, "values", ("rows", "features"), finite=False)
        cuts = numbers(offsets, "offsets", ("sets + 1",))
        if cuts.dtype.kind == "f":
            raise wrong_type("offsets", "found an array of floats, expected whole numbers")
        self.offsets = cuts.astype(np.int64)
        cuts_fit = len(cuts) > 0 and cuts[0] == 0 and cuts[-1] == len(self.values) and (np.diff(cuts) >= 0).all()
        if not cuts_fit:
            raise invalid("offsets", f"have to grow from 0 to the number of rows, {len(self.values)}")
        self.names = None if names is None else [str(name) for name in names]
        if self.names is not None and len(self.names) != self.values.shape[1]:
            raise invalid("names", f"are {len(self.names)}, expected one for each of {self.values.shape[1]} features")
        self.ids = None if ids is None else [str(name) for name in ids]
        if self.ids is not None and len(self.ids) != len(self):
            raise invalid("ids", f"are {len(self.ids)}, expected one for each of {len(self)} sets")

    @classmethod
    def of_arrays(cls, sets: Sequence[npt.ArrayLike], names: Sequence[str] | None = None) -> RaggedArray:
        """Sets of a list of arrays, each of shape (rows, features); one-dimensional ones have one feature."""
        if len(sets) == 0:
            raise invalid("X", "is empty, expected at least one set")
        parts = []
        for at, one in enumerate(sets):
            part = numbers(one, f"X[{at}]", finite=False)
            part = part[:, None] if part.ndim == 1 else part
            if part.ndim != 2:
                raise invalid(f"X[{at}]", f"has the shape {list(part.shape)}, expected [rows, features]")
            parts.append(part)
        widths = {part.shape[1] for part in parts if len(part)}
        if len(widths) > 1:
            odd = next(at for at, part in enumerate(parts) if len(part) and part.shape[1] != parts[0].shape[1])
            raise invalid(f"X[{odd}]", f"has {parts[odd].shape[1]} features, X[0] has {parts[0].shape[1]}")
        width = widths.pop() if widths else parts[0].shape[1]
        filled = [part.reshape(-1, width) for part in parts]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in filled])])
        return cls(np.concatenate(filled), offsets, names)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame | Any,
        group_by: str,
        *,
        features: Sequence[str] | None = None,
        target: str | None = None,
    ) -> tuple[RaggedArray, npt.NDArray[Any] | None]:
        """Sets of the groups of a data frame (pandas or polars), in the order in which they first occur.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            A row for each item.
        group_by : str
            Column whose equal values make a set.
        features : sequence of str, optional
            Columns of numbers; by default all but `group_by` and `target`.
        target : str, optional
            Column of the target, the same in all rows of a set.

        Returns
        -------
        sets : RaggedArray
            With ids and names of features.
        y : numpy.ndarray, shape (sets,) or None
            The target of each set.
        """
        columns = [str(name) for name in frame.columns]
        for name in [group_by, *(features or []), *([target] if target else [])]:
            if name not in columns:
                raise invalid("the frame", f"has no column `{name}`", f"the columns are {', '.join(columns[:12])}")
        keys = np.asarray(frame[group_by])
        if any(key is None or key != key for key in keys.tolist()):
            raise invalid(f"`{group_by}`", "has a missing value, expected the name of a set in every row")
        _, first, codes = np.unique(keys.astype(str), return_index=True, return_inverse=True)
        order_of = np.empty(len(first), dtype=np.int64)
        order_of[np.argsort(first)] = np.arange(len(first))
        codes = order_of[codes]
        order = np.argsort(codes, kind="stable")
        chosen = list(features) if features is not None else [c for c in columns if c not in (group_by, target)]
        if not chosen:
            raise invalid("features", "are none, expected at least one column of numbers")
        values = np.column_stack([numbers(np.asarray(frame[name]), f"`{name}`", finite=False) for name in chosen])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(first)))])
        starts = np.sort(first)
        sets = cls(values[order], offsets, chosen, [str(key) for key in keys[starts]])
        if target is None:
            return sets, None
        answers = np.asarray(frame[target])
        y = answers[starts]
        differs = answers != y[codes]
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            raise invalid(
                f"`{target}` of row {row}",
                f"is {answers[row]}, but the set `{keys[row]}` has {y[codes[row]]} in its first row",
                "a set has one target, the same in all its rows",
            )
        return sets, y

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, (int, np.integer)):
            place = range(len(self))[at]
            return self.values[self.offsets[place] : self.offsets[place + 1]]
        chosen = np.arange(len(self))[at]
        parts = [self.values[self.offsets[place] : self.offsets[place + 1]] for place in chosen]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        values = np.concatenate(parts) if parts else self.values[:0]
        ids = None
        if self.ids is not None and len(set(chosen.tolist())) == len(chosen):
            ids = [self.ids[place] for place in chosen]
        return RaggedArray(values, offsets, self.names, ids)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return (self[at] for at in range(len(self)))

    def __repr__(self) -> str:
        return f"RaggedArray(sets={len(self)}, rows={len(self.values)}, features={self.values.shape[1]})"


#: What estimators take: a list of arrays, a ragged array, an array of sets of one size, or of sets of one row.
Sets = RaggedArray | Sequence[npt.ArrayLike] | npt.NDArray[Any]


def _ragged(X: Any) -> RaggedArray:
    if isinstance(X, RaggedArray):
        return X
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = [str(name) for name in X.columns]
        values = np.column_stack([numbers(np.asarray(X[name]), f"`{name}`", finite=False) for name in X.columns])
        return RaggedArray(values, np.arange(len(values) + 1), names)
    if isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        array = np.asarray(X)
        if array.dtype.kind != "O" or array.ndim > 1:
            values = numbers(unboxed(array, "X"), "X", finite=False)
            if values.ndim == 2:
                return RaggedArray(values, np.arange(len(values) + 1))
            if values.ndim == 3:
                sets, rows, width = values.shape
                return RaggedArray(values.reshape(sets * rows, width), np.arange(sets + 1) * rows)
            hint = (
                "an array of sets has the shape [sets, rows, features]; [sets, features] are sets of one row. Reshape your "
                "data by X.reshape(1, -1) if it is one row"
            )
            raise invalid("X", f"Expected 2D array, got {values.ndim}D array of shape {list(values.shape)}", hint)
    if isinstance(X, (str, bytes)) or not isinstance(X, Sequence) and not isinstance(X, np.ndarray):
        if hasattr(X, "toarray"):
            raise wrong_type("X", "is sparse; sparse data is not supported", "use X.toarray()")
        raise wrong_type("X", f"found {type(X).__name__}, expected a list of arrays, a RaggedArray or an array")
    return RaggedArray.of_arrays(list(X))


class _SetEstimator(ModelEstimator):
    """Sets in, one answer for each out."""

    experiment: str
    epochs: int | None
    learning_rate: float | None
    blend: bool
    standardise: bool
    validation_fraction: float
    only: str | None
    callbacks: Sequence[Callable[[Event], object]]

    _task: str

    def _assignments(self) -> list[str]:
        return assignments(
            self.settings,
            task__kind=self._task,
            data__source="file",
            data__path="arrays in memory",
            data__standardise=self.standardise,
            data__validation_fraction=self.validation_fraction,
            train__seed=self._seed(),
            train__epochs=self.epochs,
            train__learning_rate=self.learning_rate,
            eval__blend=self.blend,
        )

    def _checked(self, X: Any) -> RaggedArray:
        """Sets with the features of training."""
        sets = _ragged(X)
        width = sets.values.shape[1]
        if width != self.n_features_in_:
            text = f"X has {width} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise invalid("X", text)
        return sets

    def _fit_sets(self, X: Any, labels: list[float] | list[str] | None, count: int | None) -> RaggedArray:
        sets = _ragged(X)
        if len(sets.values) == 0 or sets.values.shape[1] == 0:
            what = "0 feature(s)" if sets.values.shape[1] == 0 else "0 sample(s)"
            text = f"Found array with {what} (shape={sets.values.shape}) while a minimum of 1 is required."
            raise invalid("X", text)
        if len(sets) < 2:
            raise invalid("X", "has 1 sample, expected at least two: some are held out")
        if count is not None and count != len(sets):
            raise invalid("y", f"has {count} values, expected one for each of {len(sets)} sets: inconsistent lengths")
        if np.isinf(sets.values).any():
            raise invalid("X", "Input X contains infinity or a value too large for dtype('float32').")
        if not self.standardise and np.isnan(sets.values).any():
            raise invalid("X", "Input X contains NaN.", "standardise=True puts the mean in place of missing values")
        bags = _bags(sets, labels)
        self._train(_regard.train_sets, self.experiment, self._assignments(), bags, self.callbacks)
        self.n_features_in_ = sets.values.shape[1]
        if sets.names is not None:
            self.feature_names_in_ = np.asarray(sets.names, dtype=object)
        return sets

    def _model(self) -> _regard.SetModel:
        return self._open(_regard.SetModel.open, self.only)

    def _predicted(self, X: Any, importance: bool = False) -> dict[str, Any]:
        model = self._model()
        return model.predict(_bags(self._checked(X), None), importance)

    def explain(self, X: Any, example: int = 0) -> Trace:
        """Everything that the network computes on one set, step by step.

        Parameters
        ----------
        X : sets
            As for ``fit``.
        example : int
            Which of them.

        Returns
        -------
        Trace
        """
        model = self._model()
        return Trace(model.explain(_bags(self._checked(X), None), example))

    @property
    def blend_weights_(self) -> tuple[float, float]:
        """Weights of the network and of the base learners in the answer."""
        weights = self._model().weights
        return (1.0, 0.0) if weights is None else (weights[0], weights[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self.standardise
        tags.non_deterministic = self.random_state is None
        return tags


def _bags(sets: RaggedArray, labels: list[float] | list[str] | None) -> _regard.Bags:
    return _regard.Bags(
        sets.values,
        [int(cut) for cut in sets.offsets],
        sets.names or [],
        sets.ids or [],
        labels,
        None,
    )


class _Attributed(_SetEstimator):
    def attribute(
        self,
        X: Any,
        method: str = "leave-one-out",
        *,
        samples: int = 32,
        steps: int = 256,
        seed: int = 1234,
    ) -> list[Attribution]:
        """How much each row of each set changes the prediction.

        Parameters
        ----------
        X : sets
            As for ``fit``.
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
            One for each set; its parts are rows.
        """
        sets = self._checked(X)
        found = self._model().attribute(_bags(sets, None), method, samples, steps, seed)
        rows = np.diff(sets.offsets)
        return [
            attribution_of(method, [f"row {row}" for row in range(rows[at])], found.at(at)) for at in range(len(found))
        ]

    def attention(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The attention weight of each row, for a network with attention pooling.

        Weights say where the network looks, not what its answer depends on: see `attribute`.

        Returns
        -------
        list of numpy.ndarray, shape (rows,)
        """
        sets = self._checked(X)
        found = self._model().predict(_bags(sets, None), True)
        return np.split(found["rows"], sets.offsets[1:-1])


class SetClassifier(ClassifierMixin, _Attributed):
    """Classifies sets of rows: multiple-instance learning with a network and base learners beside it.

    Parameters
    ----------
    experiment : str
        The settings to start from, a built-in experiment or a file.
    epochs : int, optional
        Epochs of the network; by default those of the experiment.
    learning_rate : float, optional
        Learning rate; by default that of the experiment.
    blend : bool
        If true, base learners (boosting, kernels, linear models on pooled columns) are fitted beside the network, and the
        answer is a blend, weighted on sets that neither was trained on.
    standardise : bool
        If true, features are standardised, and missing values become the mean.
    validation_fraction : float
        Share of the sets that choose the epoch and the weights of the blend.
    only : {"network", "base"}, optional
        One part of the blend alone.
    callbacks : sequence of callable
        See `regard.train`.
    settings : mapping, optional
        Any other settings, such as ``{"model.pooling": "attention"}``.
    random_state : int, optional
        Seed; the same gives the same bits.
    verbose : bool
        If true, progress is shown.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (classes,)
        The classes in order.
    n_features_in_ : int
        Features of a row.
    training_ : dict
        Steps, seconds and validation cost of the training.

    Examples
    --------
    >>> rng = numpy.random.default_rng(0)
    >>> X = [rng.normal(size=(rng.integers(2, 6), 3)) for _ in range(60)]
    >>> y = ["high" if rows[:, 0].max() > 1 else "low" for rows in X]
    >>> SetClassifier(epochs=1, blend=False).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    _task = "classification"

    def __init__(
        self,
        experiment: str = "sets/mil",
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        blend: bool = True,
        standardise: bool = True,
        validation_fraction: float = 0.2,
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
        self.standardise = standardise
        self.validation_fraction = validation_fraction
        self.only = only
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Sets, y: Any) -> SetClassifier:
        """Train on labelled sets.

        Parameters
        ----------
        X : list of array_like, RaggedArray or array_like
            Sets: arrays of shape (rows, features), or one array of shape (sets, rows, features); an array of shape (sets,
            features) is sets of one row.
        y : array_like, shape (sets,)
            The class of each set.

        Returns
        -------
        SetClassifier
        """
        X = _ragged(X)
        labels, answers = labels_of(y)
        if answers.dtype.kind == "f" and not (answers == np.round(answers)).all():
            raise invalid("y", "Unknown label type: continuous", "classes are texts or whole numbers")
        self.classes_, codes = np.unique(answers, return_inverse=True)
        if len(self.classes_) < 2:
            raise invalid("y", "has one class, expected at least two: a classifier cannot be trained on one class")
        self._fit_sets(X, labels, len(answers))
        names = self._model().classes
        first = {name: _class_of(name, labels, answers) for name in names}
        place = {value: at for at, value in enumerate(self.classes_.tolist())}
        # The place among `classes_` of each class of the network.
        self._order = np.array([place[first[name]] for name in names], dtype=np.int64)
        return self

    def predict_proba(self, X: Sets) -> npt.NDArray[np.float64]:
        """Probabilities of the classes.

        Returns
        -------
        numpy.ndarray, shape (sets, classes)
        """
        found = self._predicted(X)["probabilities"]
        ordered: npt.NDArray[np.float64] = np.zeros_like(found)
        ordered[:, self._order] = found
        return ordered

    def predict(self, X: Sets) -> npt.NDArray[Any]:
        """The class of each set: the most probable one, or where a class is rare in training, the one that is most
        probable beside its share.

        Returns
        -------
        numpy.ndarray, shape (sets,)
        """
        decided = self._predicted(X)["decided"]
        chosen: npt.NDArray[Any] = self.classes_[self._order[decided]]
        return chosen


def _class_of(name: str, labels: list[float] | list[str], answers: npt.NDArray[Any]) -> Any:
    """The label that the engine calls by a name."""
    for label, answer in zip(labels, answers.tolist(), strict=True):
        if label == name:
            return answer
        if isinstance(label, float) and float(name) == label:
            return answer
        try:
            if isinstance(label, str) and float(label) == float(name):
                return answer
        except ValueError:
            continue
    raise invalid("y", f"has no label {name}")


class SetRegressor(RegressorMixin, _Attributed):
    """Predicts a number for each set of rows. Parameters are those of `SetClassifier`.

    Parameters
    ----------
    experiment : str
        The settings to start from, a built-in experiment or a file.
    epochs, learning_rate, blend, standardise, validation_fraction, only, callbacks, settings, random_state, verbose
        See `SetClassifier`.

    Attributes
    ----------
    n_features_in_ : int
        Features of a row.
    training_ : dict
        Steps, seconds and validation cost of the training.
    """

    _task = "regression"

    def __init__(
        self,
        experiment: str = "sets/mil",
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        blend: bool = True,
        standardise: bool = True,
        validation_fraction: float = 0.2,
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
        self.standardise = standardise
        self.validation_fraction = validation_fraction
        self.only = only
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Sets, y: Any) -> SetRegressor:
        """Train on sets with numbers; see `SetClassifier.fit`.

        Parameters
        ----------
        X : sets
        y : array_like, shape (sets,)
            The number of each set.

        Returns
        -------
        SetRegressor
        """
        answers = numbers(unboxed(given(y), "y"), "y", finite=False)
        if answers.ndim != 1:
            raise invalid("y", f"has the shape {list(answers.shape)}, expected [sets]")
        if not np.isfinite(answers).all():
            raise invalid("y", "Input y contains infinity or NaN.")
        self._fit_sets(X, [float(value) for value in answers], len(answers))
        return self

    def predict(self, X: Sets, level: Sequence[float] | None = None) -> Any:
        """The number of each set.

        Parameters
        ----------
        X : sets
        level : sequence of float, optional
            Levels of prediction intervals in per cent.

        Returns
        -------
        numpy.ndarray, shape (sets,)
            With `level` also a dict of arrays of shape (sets, 2), low and high, by level.
        """
        values = self._predicted(X)["values"]
        if level is None:
            return values
        widths = self._model().half_widths([float(one) for one in level])
        return values, {one: np.column_stack([values - w, values + w]) for one, w in zip(level, widths, strict=True)}


class SetClusterer(ClusterMixin, _SetEstimator):
    """Finds clusters in each set of points by one pass of a network that has learnt to (Lee et al. 2019, section 5.3).

    Parameters
    ----------
    model : str, path or None
        The network: a built-in one or a folder, with which `fit` trains nothing. None trains one on the sets.
    n_clusters : int
        Number of clusters of a network that is trained.
    refine : int
        Steps of expectation maximisation after the network.
    rescale : bool
        If true, each set is moved and scaled to the points that the network was trained on.
    experiment : str
        The settings of a network that is trained.
    epochs, learning_rate, standardise, validation_fraction, callbacks, settings, random_state, verbose
        See `SetClassifier`.

    Attributes
    ----------
    labels_ : list of numpy.ndarray of int64
        The cluster of every row of each set of `fit`.

    Examples
    --------
    >>> rng = numpy.random.default_rng(0)
    >>> centres = numpy.array([[0, 0], [5, 0], [0, 5], [5, 5]])
    >>> towns = centres[rng.integers(4, size=200)] + rng.normal(scale=0.3, size=(200, 2))
    >>> clusterer = SetClusterer(refine=10).fit([towns])
    >>> clusterer.clusters([towns])[0].means.shape, len(set(clusterer.labels_[0].tolist()))
    ((4, 2), 4)
    """

    _task = "clustering"

    def __init__(
        self,
        model: str | os.PathLike[str] | None = "regard-clusters",
        *,
        n_clusters: int = 4,
        refine: int = 0,
        rescale: bool = True,
        experiment: str = "sets/clustering",
        epochs: int | None = None,
        learning_rate: float | None = None,
        standardise: bool = True,
        validation_fraction: float = 0.2,
        callbacks: Sequence[Callable[[Event], object]] = (),
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 1234,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.refine = refine
        self.rescale = rescale
        self.experiment = experiment
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.standardise = standardise
        self.validation_fraction = validation_fraction
        self.callbacks = callbacks
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    @property
    def only(self) -> None:  # type: ignore[override]
        """There are no base learners beside a network that finds clusters."""

    @property
    def blend(self) -> bool:  # type: ignore[override]
        """See `only`."""
        return False

    def _assignments(self) -> list[str]:
        return [*super()._assignments(), *assignments(None, model__num_seeds=self.n_clusters)]

    def fit(self, X: Sets, y: Any = None) -> SetClusterer:
        """Find the clusters of the sets, by a network that is trained on them where there is no `model`.

        Parameters
        ----------
        X : sets
        y : ignored

        Returns
        -------
        SetClusterer
        """
        if self.model is None:
            self._fit_sets(X, None, None)
        else:
            self._packed = PackedModel.of(self.model)
            self._reset()
            self.n_features_in_ = self._model().inputs
        self.labels_ = self.predict(X)
        return self

    def clusters(self, X: Sets) -> list[Clusters | None]:
        """The mixture of normal distributions of each set.

        Returns
        -------
        list of Clusters
            None for a set without points.
        """
        model = self._model()
        found = model.clusters(_bags(self._checked(X), None), self.refine, self.rescale)
        return [None if one is None else Clusters(**one) for one in found]

    def predict(self, X: Sets) -> list[npt.NDArray[np.int64]]:
        """The cluster of every row of each set.

        Returns
        -------
        list of numpy.ndarray of int64, shape (rows,)
        """
        return [np.zeros(0, np.int64) if one is None else one.labels for one in self.clusters(X)]

    def fit_predict(self, X: Sets, y: Any = None, **params: Any) -> list[npt.NDArray[np.int64]]:
        """`fit`, and the cluster of every row of each set."""
        return self.fit(X).labels_


def load(model: str | os.PathLike[str]) -> SetClassifier | SetRegressor | SetClusterer:
    """The estimator of a trained model on sets.

    Parameters
    ----------
    model : str or path
        A folder, or the name of a built-in model such as ``"regard-max"``.

    Returns
    -------
    SetClassifier, SetRegressor or SetClusterer
        By the task of the model.
    """
    packed = PackedModel.of(Path(model) if not isinstance(model, str) else model)
    with packed.folder() as folder:
        native = _regard.SetModel.open(folder, None)
    kinds: dict[str, Any] = {"classification": SetClassifier, "clustering": SetClusterer}
    estimator: Any = kinds.get(native.task, SetRegressor)()
    estimator._packed = packed
    estimator.n_features_in_ = native.inputs
    if native.features:
        estimator.feature_names_in_ = np.asarray(native.features, dtype=object)
    if native.task == "classification":
        estimator.classes_ = np.asarray(native.classes)
        estimator._order = np.arange(len(native.classes))
    found: SetClassifier | SetRegressor | SetClusterer = estimator
    return found
