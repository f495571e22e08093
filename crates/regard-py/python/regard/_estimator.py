"""What the estimators share: parameters, training into memory, pickling."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from regard._arrays import invalid, seed_of, wrong_type
from regard._store import PackedModel
from regard.training import Event, watcher

if TYPE_CHECKING:

    class BaseEstimator:
        """Stands in for scikit-learn's where types are checked."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Any: ...

    class ClassifierMixin:
        """Stands in for scikit-learn's where types are checked."""

    class RegressorMixin:
        """Stands in for scikit-learn's where types are checked."""

    class ClusterMixin:
        """Stands in for scikit-learn's where types are checked."""

    HAS_SKLEARN = True
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin

        HAS_SKLEARN = True
    except ImportError:
        import inspect

        HAS_SKLEARN = False

        class BaseEstimator:
            """Parameters as scikit-learn has them, where it is not installed."""

            @classmethod
            def _names(cls):
                return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

            def get_params(self, deep=True):
                """Parameters by name."""
                return {name: getattr(self, name) for name in self._names()}

            def set_params(self, **params):
                """Set parameters."""
                for name, value in params.items():
                    if name not in self._names():
                        raise ValueError(f"{name!r} is no parameter of {type(self).__name__}")
                    setattr(self, name, value)
                return self

            def __repr__(self):
                shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
                return f"{type(self).__name__}({shown})"

        class ClassifierMixin:
            """Accuracy as the score."""

            def score(self, X, y, sample_weight=None):
                """Accuracy of the predicted classes."""
                return float(np.average(np.asarray(self.predict(X)) == np.asarray(y), weights=sample_weight))

        class RegressorMixin:
            """R2 as the score."""

            def score(self, X, y, sample_weight=None):
                """Coefficient of determination."""
                y = np.asarray(y, dtype=float)
                error = np.average((y - self.predict(X)) ** 2, weights=sample_weight)
                return float(1 - error / np.average((y - np.average(y, weights=sample_weight)) ** 2, weights=sample_weight))

        class ClusterMixin:
            """`fit_predict`."""

            def fit_predict(self, X, y=None):
                """Fit and give the clusters."""
                return self.fit(X, y).labels_


Model = TypeVar("Model")

#: Takes an experiment, assignments, data and options, and trains.
Trainer = Callable[[str, list[str], Any, dict[str, Any]], dict[str, Any]]


def assignments(settings: Mapping[str, Any] | None, **given: Any) -> list[str]:
    """Settings as assignments ``section.key=value``, those of arguments first."""
    both = {key: value for key, value in given.items() if value is not None}
    both = {key.replace("__", "."): value for key, value in both.items()}
    if settings is not None:
        if not isinstance(settings, Mapping):
            raise wrong_type("settings", f"found {type(settings).__name__}, expected a mapping such as {{'train.epochs': 5}}")
        both.update(settings)
    return [f"{key}={_text(value)}" for key, value in both.items()]


def _text(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        # An empty text and one with quotes have to be quoted; a word may stand as it is.
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (np.integer, np.floating)):
        return repr(value.item())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(one) for one in value) + "]"
    return repr(value)


@contextlib.contextmanager
def run_folder(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folder of a training: the one that is named, or one that goes away."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        yield Path(folder) / "model"


class ModelEstimator(BaseEstimator):
    """An estimator whose fitted state is a model that packs into bytes."""

    verbose: bool
    random_state: Any
    settings: Mapping[str, Any] | None

    def _train(
        self,
        trainer: Trainer,
        experiment: str,
        sets: Sequence[str],
        data: Any,
        callbacks: Sequence[Callable[[Event], object]] = (),
    ) -> None:
        """Train into memory."""
        with run_folder(None) as folder:
            with watcher(f"fit {type(self).__name__}", callbacks, True if self.verbose else None) as watch:
                options = {
                    "out": os.fspath(folder),
                    "resume": False,
                    "steps": None,
                    "seconds": None,
                    "command": f"{type(self).__name__}.fit",
                    "watch": watch.report,
                }
                self.training_ = trainer(experiment, list(sets), data, options)
            self.events_ = watch.events
            self._packed = PackedModel.of(folder)
        self._reset()

    def _reset(self) -> None:
        """Drop the opened model."""
        self._opened_model: dict[str | None, Any] = {}

    def _open(self, opener: Callable[[str, str | None], Model], only: str | None = None) -> Model:
        """The model of the engine, opened once."""
        if "_packed" not in self.__dict__:
            raise not_fitted(self)
        opened: dict[str | None, Any] = self.__dict__.setdefault("_opened_model", {})
        if only not in opened:
            with self._packed.folder() as folder:
                opened[only] = opener(folder, only)
        found: Model = opened[only]
        return found

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_opened_model", None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return "_packed" in self.__dict__

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model as a folder, which the command line and `load` open.

        Parameters
        ----------
        folder : path
            A folder that does not exist.
        """
        if "_packed" not in self.__dict__:
            raise not_fitted(self)
        if Path(folder).exists():
            raise invalid("folder", f"{os.fspath(folder)} exists", "give the name of a new one")
        self._packed.unpack(Path(folder))

    def _seed(self) -> int:
        state = self.random_state
        return seed_of(np.random.default_rng() if state is None else state, "random_state")


def not_fitted(estimator: Any) -> Exception:
    """scikit-learn's exception for an estimator that is not fitted."""
    text = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return invalid(type(estimator).__name__, "is not fitted yet; call fit first")
    return NotFittedError(text)  # type: ignore[no-any-return]


def given(y: Any) -> npt.NDArray[Any]:
    """Answers as an array; a column is taken as its numbers, with scikit-learn's warning."""
    if y is None:
        raise invalid("y", "the estimator requires y to be passed, but the target y is None")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        try:
            from sklearn.exceptions import DataConversionWarning as Category
        except ImportError:
            Category = UserWarning
        text = "A column-vector y was passed when a 1d array was expected; its column is taken (y.ravel() does the same)"
        warnings.warn(text, Category, stacklevel=3)
        array = array[:, 0]
    return array


def unboxed(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """An array of Python's numbers as one of numbers."""
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_type(name, f"found an array of objects, expected numbers: {error}") from error


def labels_of(y: Any, name: str = "y") -> tuple[list[float] | list[str], npt.NDArray[Any]]:
    """Labels as the engine takes them, and as an array: numbers where they are numbers, else texts."""
    array = given(y)
    if array.ndim != 1:
        raise invalid(name, f"has the shape {list(array.shape)}, expected [samples]")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise invalid(name, "contains NaN or infinity")
    if array.dtype.kind in "fiub":
        return [float(value) for value in array], array
    if any(value is None or value != value for value in array.tolist()):
        raise invalid(name, "contains missing values")
    return [str(value) for value in array], array
