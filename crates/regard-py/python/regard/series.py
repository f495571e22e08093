"""Forecasts of many time series, after neuralforecast and statsforecast."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard import _regard
from regard._arrays import count, invalid, seed_of, wrong_type
from regard._estimator import assignments, run_folder
from regard._progress import Progress
from regard._store import PackedModel
from regard.explain import Attribution, Trace, attribution_of
from regard.training import Event, watcher

__all__ = ["Forecaster"]

#: Name of the column of forecasts.
NAME = "regard"


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas"


def _columns(frame: Any, name: str) -> list[str]:
    if not hasattr(frame, "columns"):
        if hasattr(frame, "column_names"):
            return [str(column) for column in frame.column_names]
        raise wrong_type(name, f"found {type(frame).__name__}, expected a data frame of pandas or polars")
    return [str(column) for column in frame.columns]


def _has_arrow(frame: Any) -> bool:
    """Whether a frame gives its columns through Arrow's C interface; pandas needs pyarrow for that."""
    if not hasattr(frame, "__arrow_c_stream__"):
        return False
    if not _is_pandas(frame):
        return True
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    # Columns of Python objects that are no texts cannot cross.
    return True


def _numpy_columns(frame: Any, reading: Mapping[str, Any], has_values: bool) -> dict[str, Any]:
    """The columns of a pandas frame as arrays, none of it row by row."""
    import pandas as pd

    ids, stamps = frame[reading["id"]], frame[reading["date"]]
    codes, uniques = pd.factorize(ids)
    if (codes < 0).any():
        raise invalid(f"`{reading['id']}` of row {int(np.argmax(codes < 0))}", "is missing")
    numbers, dates = _stamp_numbers(stamps, reading["date"])

    def single(name: str) -> npt.NDArray[np.float32]:
        try:
            values: npt.NDArray[np.float32] = pd.to_numeric(frame[name]).to_numpy(dtype=np.float32, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise wrong_type(f"column `{name}`", f"found {frame[name].dtype}, expected numbers") from error
        return values

    return {
        "names": [str(name) for name in uniques],
        "series": codes.astype(np.int64),
        "stamps": numbers,
        "dates": dates,
        "values": single(reading["target"]) if has_values else None,
        "covariates": [single(name) for name in reading["covariates"]],
    }


def _stamp_numbers(stamps: Any, name: str) -> tuple[npt.NDArray[np.int64], bool]:
    """Stamps of a pandas column as milliseconds of the clock on the wall, or as whole numbers."""
    import pandas as pd

    if stamps.isna().any():
        raise invalid(f"`{name}` of row {int(np.argmax(stamps.isna().to_numpy()))}", "is missing")
    if pd.api.types.is_integer_dtype(stamps):
        return stamps.to_numpy(dtype=np.int64), False
    if isinstance(stamps.dtype, pd.PeriodDtype):
        stamps = stamps.dt.to_timestamp()
    if isinstance(stamps.dtype, pd.DatetimeTZDtype):
        stamps = stamps.dt.tz_localize(None)
    if not pd.api.types.is_datetime64_any_dtype(stamps):
        try:
            stamps = pd.to_datetime(stamps)
        except (TypeError, ValueError) as error:
            reason = f"found {stamps.dtype}, expected time stamps, dates or whole numbers"
            raise wrong_type(f"column `{name}`", reason, "convert it by pandas.to_datetime") from error
    return stamps.to_numpy().astype("datetime64[ms]").astype(np.int64), True


class Forecaster:
    """Forecasts every series of a data frame, with prediction intervals.

    By default simple forecasters (naive, seasonal, Theta, ETS, MSTL, ridge maps) and a small network are fitted to the
    frame, weighted by a rolling-origin back-test, and blended, with a network that was trained on generated series. With
    `experiment`, a PatchTST is trained by `fit` and blended with the simple ones.

    Parameters
    ----------
    h : int, optional
        Horizon: values after the last of each series. `predict` may choose another where no network is trained.
    freq : str, optional
        Distance of time stamps, such as ``"day"``, ``"15min"`` or ``"month"``; by default the most common one.
    season_length : int or sequence of int, optional
        Values after which series repeat; by default those of the calendar, or found in the values.
    keep_outliers : bool
        If true, a single value of the last rows that is far from all others counts for forecasts.
    experiment : str, optional
        The settings of a network that `fit` trains, such as ``"series/forecast"``.
    settings : mapping, optional
        Settings of that network, such as ``{"model.look_back": 96}``.
    only : {"network", "base"}, optional
        One part of the blend alone.
    pretrained : bool, str or path
        The network on generated series that takes part where `experiment` and `only` are not given: the built-in one, none
        if false, or a model folder of ``regard train series/pretrained``.
    time_limit : float or None
        Seconds for a forecast; forecasters that do not end in time are left out, with a warning. None for no limit.
    duplicates : {"error", "mean", "last"}
        Two rows of one series and time.
    id_col, time_col, target_col : str
        Names of the columns.
    callbacks : sequence of callable
        For training, see `regard.train`.
    seed : int
        Seed; the same gives the same bits, unless the time limit cuts something short.
    warn : callable, optional
        Takes each note on what was filled, sorted, merged or left out; by default ``warnings.warn``.
    verbose : bool, optional
        If true, progress is shown; by default where a terminal or a notebook waits longer than a second.

    Attributes
    ----------
    members_ : list of dict
        After `predict`: forecasters with their weights and back-test errors, the heaviest first.
    back_test_ : dict or None
        After `predict` without a trained network: errors on the last rows, by which nothing was chosen.

    Examples
    --------
    >>> import pandas
    >>> days = pandas.date_range("2024-01-01", periods=60)
    >>> df = pandas.DataFrame({"unique_id": "a", "ds": days, "y": numpy.arange(60) % 7})
    >>> forecast = Forecaster(season_length=7, only="base").fit(df).predict(7, level=[80])
    >>> list(forecast.columns), len(forecast)
    (['unique_id', 'ds', 'regard', 'regard-lo-80', 'regard-hi-80'], 7)
    """

    def __init__(
        self,
        h: int | None = None,
        *,
        freq: str | None = None,
        season_length: int | Sequence[int] | None = None,
        keep_outliers: bool = False,
        experiment: str | None = None,
        settings: Mapping[str, Any] | None = None,
        only: str | None = None,
        pretrained: bool | str | os.PathLike[str] = True,
        time_limit: float | None = 40.0,
        duplicates: str = "error",
        id_col: str = "unique_id",
        time_col: str = "ds",
        target_col: str = "y",
        callbacks: Sequence[Callable[[Event], object]] = (),
        seed: int = 1234,
        warn: Callable[[str], None] | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.h = h
        self.freq = freq
        self.season_length = season_length
        self.keep_outliers = keep_outliers
        self.experiment = experiment
        self.settings = settings
        self.only = only
        self.pretrained = pretrained
        self.time_limit = time_limit
        self.duplicates = duplicates
        self.id_col = id_col
        self.time_col = time_col
        self.target_col = target_col
        self.callbacks = callbacks
        self.seed = seed
        self.warn = warn
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Forecaster:
        """Set parameters."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise invalid(name, "is no parameter of Forecaster", f"there are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ("h", "freq", "experiment", "only", "time_limit")
        return f"Forecaster({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @classmethod
    def load(cls, model: str | os.PathLike[str], **params: Any) -> Forecaster:
        """A forecaster with a trained network.

        Parameters
        ----------
        model : str or path
            A folder, or the name of a built-in model.
        **params
            Those of `Forecaster`.

        Returns
        -------
        Forecaster
            Its `predict` takes a frame with the series of the training.
        """
        forecaster = cls(**params)
        forecaster._packed = PackedModel.of(Path(model) if not isinstance(model, str) else model)
        forecaster.h = forecaster.h or forecaster._model().horizon
        return forecaster

    _packed: PackedModel | None = None
    _panel: _regard.Panel | None = None
    _frame: Any = None
    _static: Any = None
    _native: _regard.SeriesModel | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_native", "_panel")}

    def _model(self) -> _regard.SeriesModel:
        if self._native is None:
            if self._packed is None:
                raise invalid("Forecaster", "has no trained network", "give experiment='series/forecast', then fit")
            with self._packed.folder() as folder:
                self._native = _regard.SeriesModel.open(folder, self.only)
        return self._native

    def _reading(self, covariates: list[str], statics: list[str]) -> dict[str, Any]:
        known = self._model().static_covariates if self._packed is not None and statics else None
        return {
            "id": self.id_col,
            "date": self.time_col,
            "target": self.target_col,
            "covariates": covariates,
            "statics": statics,
            "frequency": self.freq,
            "duplicates": self.duplicates,
            "known_statics": known,
        }

    def _read(self, df: Any, static_df: Any, X_df: Any, quiet: bool = False) -> _regard.Panel:
        """The panel of a frame, with notes on what was changed."""
        names = _columns(df, "df")
        for column in (self.id_col, self.time_col, self.target_col):
            if column not in names:
                raise invalid("df", f"has no column `{column}`", f"the columns are {', '.join(names[:12])}; see id_col, time_col, target_col")
        if len(df) == 0:
            raise invalid("df", "is empty, expected at least one row")
        covariates: list[str] = []
        if X_df is not None:
            covariates = [name for name in _columns(X_df, "X_df") if name not in (self.id_col, self.time_col)]
            missing = [name for name in covariates if name not in names]
            if missing:
                raise invalid("X_df", f"has the column `{missing[0]}`, which df does not have")
            if not covariates:
                raise invalid("X_df", "has no columns of covariates")
        extra = [n for n in names if n not in (self.id_col, self.time_col, self.target_col, *covariates)]
        if extra and not quiet:
            self._tell(f"columns that are not used: {', '.join(extra)}; X_df gives them for the future")
        statics = [] if static_df is None else [n for n in _columns(static_df, "static_df") if n != self.id_col]
        reading = self._reading(covariates, statics)
        frames = [frame for frame in (df, static_df, X_df) if frame is not None]
        if all(_has_arrow(frame) for frame in frames) and not any(_is_pandas(frame) for frame in frames):
            panel = _regard.Panel.of_arrow(df, X_df, static_df, reading)
        else:
            panel = _regard.Panel.of_columns(
                _numpy_columns(_pandas(df), reading, True),
                None if X_df is None else _numpy_columns(_pandas(X_df), reading, False),
                None if static_df is None else _static_texts(_pandas(static_df), reading),
                reading,
            )
        if not quiet:
            gaps, out_of_order, duplicates, missing_values = panel.changes
            for number, what in (
                (gaps, "time stamps without a row, filled as missing values (freq= changes the distance)"),
                (out_of_order, "rows out of order, sorted"),
                (duplicates, "rows of a time stamp seen before, merged (duplicates= changes it)"),
                (missing_values - gaps, "missing values"),
            ):
                if number > 0:
                    self._tell(f"{number} {what}")
        return panel

    def _tell(self, text: str) -> None:
        if self.warn is not None:
            self.warn(text)
            return
        import warnings

        warnings.warn(text, stacklevel=4)

    def fit(self, df: Any, static_df: Any = None, X_df: Any = None) -> Forecaster:
        """Read a frame, and train the network where there is an `experiment`.

        Forecasters without a trained network depend on the horizon: they are fitted by `predict`.

        Parameters
        ----------
        df : pandas.DataFrame or polars.DataFrame
            Columns ``unique_id``, ``ds`` and ``y``, a row for each value, in any order.
        static_df : data frame, optional
            A row for each series with features that never change.
        X_df : data frame, optional
            Columns ``unique_id``, ``ds`` and covariates that are known in the future; `df` has these covariates for the
            past.

        Returns
        -------
        Forecaster
        """
        panel = self._read(df, static_df, X_df)
        self._frame, self._static = df, static_df
        if self.experiment is not None:
            self._train(panel)
            if static_df is not None:
                # Static features are now those of training.
                panel = self._read(df, static_df, X_df, quiet=True)
        self._panel = panel
        return self

    def _train(self, panel: _regard.Panel) -> None:
        if self.h is None:
            raise invalid("h", "is missing: a network is trained for its horizon")
        sets = assignments(
            self.settings,
            task__horizon=count(self.h, "h"),
            data__path="frame in memory",
            train__seed=seed_of(self.seed),
        )
        shown = True if self.verbose else self.verbose
        with run_folder(None) as folder, watcher(f"fit {self.experiment}", self.callbacks, shown) as watch:
            options = {
                "out": os.fspath(folder),
                "resume": False,
                "steps": None,
                "seconds": None,
                "command": "Forecaster.fit",
                "watch": watch.report,
            }
            assert self.experiment is not None
            self.training_ = _regard.train_series(self.experiment, sets, panel, options)
            self._packed = PackedModel.of(folder)
        self._native = None

    def predict(
        self,
        h: int | None = None,
        *,
        level: Sequence[float] = (),
        df: Any = None,
        static_df: Any = None,
        X_df: Any = None,
    ) -> Any:
        """Forecast every series.

        Parameters
        ----------
        h : int, optional
            Values after the last of each series; by default the forecaster's.
        level : sequence of float
            Levels of prediction intervals in per cent, such as ``[80, 95]``.
        df : data frame, optional
            Another frame than that of `fit`, with newer rows.
        static_df, X_df : data frame, optional
            As for `fit`; `X_df` has the covariates of the horizon.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame, as the frame is
            Columns ``unique_id``, ``ds``, ``regard``, and ``regard-lo-80``, ``regard-hi-80`` for each level.
        """
        frame = self._frame if df is None else df
        if frame is None:
            raise invalid("Forecaster", "has no series yet", "call fit(df) first, or predict(df=df)")
        if df is not None or X_df is not None or self._panel is None:
            self._panel = self._read(frame, self._static if static_df is None else static_df, X_df, quiet=df is None)
        horizon = self.h if h is None else h
        if horizon is None:
            raise invalid("h", "is missing", "give it to predict or to Forecaster")
        found = self._forecast(self._panel, count(horizon, "h"), [float(one) for one in level])
        return self._frame_of(found, frame)

    def _forecast(self, panel: _regard.Panel, horizon: int, levels: list[float]) -> dict[str, Any]:
        shown = True if self.verbose else self.verbose
        with Progress("forecast", shown) as bar:

            def report(name: str, done: int, of: int) -> None:
                bar.line(f"{name} {done:,} of {of:,}", done / max(of, 1))

            if self._packed is not None:
                found = self._model().forecast(panel, horizon, levels, self.time_limit, self.keep_outliers, report)
                self.members_ = [{"name": name, "weight": weight} for name, weight in found["members"]]
                self.back_test_ = None
                if found["unknown"]:
                    self._tell(f"no forecast for series that training did not have: {', '.join(found['unknown'][:5])}")
            else:
                seasons = [] if self.season_length is None else np.atleast_1d(self.season_length).tolist()
                pretrained = None if isinstance(self.pretrained, bool) else os.fspath(self.pretrained)
                if pretrained is not None and self.only is not None:
                    raise invalid("pretrained", "takes no part beside `only`", "leave one of the two out")
                found = _regard.forecast_panel(
                    panel,
                    horizon,
                    levels,
                    seasons,
                    self.keep_outliers,
                    self.only,
                    bool(self.pretrained),
                    pretrained,
                    self.time_limit,
                    seed_of(self.seed),
                    report,
                )
                self.members_ = json.loads(found["members"])
                self.back_test_ = json.loads(found["back_test"])
                self.seasons_ = found["seasons"]
        for warning in found["warnings"]:
            self._tell(warning)
        return found

    def cross_validation(
        self,
        df: Any,
        h: int | None = None,
        *,
        n_windows: int = 1,
        step_size: int | None = None,
        level: Sequence[float] = (),
        static_df: Any = None,
        X_df: Any = None,
        refit: bool = True,
    ) -> Any:
        """Forecast from several origins in the past, each without the rows after it.

        Parameters
        ----------
        df : data frame
            As for `fit`.
        h : int, optional
            Horizon; by default the forecaster's.
        n_windows : int
            Number of origins; the last window ends with each series.
        step_size : int, optional
            Rows from one origin to the next; by default the horizon.
        level : sequence of float
            Levels of prediction intervals in per cent.
        static_df, X_df : data frame, optional
            As for `fit`.
        refit : bool
            If true, a network of an `experiment` is trained for every window, else once before the first.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame, as the frame is
            Columns ``unique_id``, ``ds``, ``cutoff``, ``y``, ``regard`` and those of intervals.
        """
        horizon = count(self.h if h is None else h, "h")
        windows = count(n_windows, "n_windows")
        step = horizon if step_size is None else count(step_size, "step_size")
        panel = self._read(df, static_df, X_df)
        needed = horizon + (windows - 1) * step + 1
        shortest = min(panel.lengths)
        if shortest < needed:
            at = panel.lengths.index(shortest)
            raise invalid(
                "n_windows",
                f"is {windows}: series `{panel.names[at]}` has {shortest} rows, and they need at least {needed}",
                "choose fewer windows, a smaller step_size or a shorter horizon",
            )
        parts = []
        for window in range(windows):
            ahead = horizon + (windows - 1 - window) * step
            before = panel.without_last(ahead)
            if self.experiment is not None and (refit or window == 0):
                self.h = horizon
                self._train(before)
            found = self._forecast(before, horizon, [float(one) for one in level])
            values, _ = panel.before_end(ahead, ahead - horizon)
            _, cuts = panel.before_end(ahead + 1, ahead)
            place = {name: at for at, name in enumerate(panel.names)}
            order = [place[name] for name in found["names"]]
            found["y"] = np.asarray([values[at] for at in order], dtype=np.float32)
            found["cutoff"] = np.repeat([cuts[at][0] for at in order], horizon).reshape(-1, horizon)
            parts.append(found)
        return _concatenated([self._frame_of(part, df) for part in parts])

    def _frame_of(self, found: dict[str, Any], like: Any) -> Any:
        """Forecasts as a frame of the kind and the types of another."""
        horizon = found["values"].shape[1]
        stamps = [found["stamps"], *([found["cutoff"]] if "cutoff" in found else [])]
        columns: dict[str, Any] = {
            self.id_col: np.repeat(np.asarray(found["names"], dtype=object), horizon),
            self.time_col: stamps[0].ravel(),
        }
        if "cutoff" in found:
            columns["cutoff"] = stamps[1].ravel()
            columns[self.target_col] = found["y"].ravel()
        columns[NAME] = found["values"].ravel()
        for level, low, high in found["intervals"]:
            columns[f"{NAME}-lo-{level:g}"] = low.ravel()
            columns[f"{NAME}-hi-{level:g}"] = high.ravel()
        dated = [name for name in (self.time_col, "cutoff") if name in columns and found["dates"]]
        if _is_pandas(like) or not hasattr(like, "schema"):
            return self._pandas_frame(columns, dated, like)
        return self._polars_frame(columns, dated, like)

    def _pandas_frame(self, columns: dict[str, Any], dated: list[str], like: Any) -> Any:
        import pandas as pd

        for name in dated:
            stamps = pd.Series(columns[name].astype("datetime64[ms]"))
            own = like[self.time_col].dtype
            if isinstance(own, pd.DatetimeTZDtype):
                stamps = stamps.dt.tz_localize(own.tz, ambiguous="NaT", nonexistent="shift_forward").astype(own)
            elif pd.api.types.is_datetime64_any_dtype(own):
                stamps = stamps.astype(own)
            else:
                stamps = stamps.astype("datetime64[ns]")
            columns[name] = stamps
        frame = pd.DataFrame(columns)
        if _is_pandas(like):
            with contextlib.suppress(TypeError, ValueError):
                frame[self.id_col] = frame[self.id_col].astype(like[self.id_col].dtype)
        return frame

    def _polars_frame(self, columns: dict[str, Any], dated: list[str], like: Any) -> Any:
        import polars as pl

        own = like.schema[self.time_col]
        frame = pl.DataFrame({**columns, self.id_col: [str(name) for name in columns[self.id_col]]})
        for name in (self.time_col, "cutoff"):
            if name not in frame.columns:
                continue
            stamps = pl.col(name)
            if name in dated:
                stamps = stamps.cast(pl.Datetime("ms"))
                zone = getattr(own, "time_zone", None)
                stamps = stamps.dt.replace_time_zone(zone) if zone else stamps
            frame = frame.with_columns(stamps.cast(own))
        return frame.with_columns(pl.col(self.id_col).cast(like.schema[self.id_col]))

    def explain(self, series: str | None = None, df: Any = None) -> Trace:
        """Everything that a trained network computes on the end of a series.

        Parameters
        ----------
        series : str, optional
            Which; by default the first.
        df : data frame, optional
            Another frame than that of `fit`.

        Returns
        -------
        Trace
        """
        panel = self._panel_of(df)
        names = self._model().series
        if series is not None and series not in names:
            raise invalid("series", f"is {series!r}, which training did not have", f"there are {', '.join(names[:5])}")
        return Trace(self._model().explain(panel, 0 if series is None else names.index(series)))

    def _panel_of(self, df: Any) -> _regard.Panel:
        if df is not None:
            return self._read(df, self._static, None, quiet=True)
        if self._panel is None:
            if self._frame is None:
                raise invalid("Forecaster", "has no series yet", "call fit(df) first")
            self._panel = self._read(self._frame, self._static, None, quiet=True)
        return self._panel

    def attribute(
        self,
        method: str = "occlusion",
        *,
        df: Any = None,
        h: int | None = None,
        samples: int = 32,
        steps: int = 256,
        seed: int = 1234,
    ) -> dict[str, Attribution]:
        """How much each lag of the last window changes the mean of the next values, by a trained network.

        Parameters
        ----------
        method : {"occlusion", "leave-one-out", "shapley", "integrated-gradients"}
            Method of attribution; ``"shapley"`` is of patches.
        df : data frame, optional
            Another frame than that of `fit`.
        h : int, optional
            Values that count; by default all that the network predicts.
        samples, steps, seed : int
            Permutations of ``"shapley"``, steps of ``"integrated-gradients"``, and their seed.

        Returns
        -------
        dict of Attribution
            By series; parts are lags, or patches as ``"lag 8-1"``.
        """
        model = self._model()
        horizon = model.horizon if h is None else count(h, "h")
        found = model.attribute(self._panel_of(df), horizon, method, samples, steps, seed)
        result = {}
        for name, patches, of_patches, of_lags in found:
            if of_lags is not None:
                lags = len(of_lags["values"])
                result[name] = attribution_of(method, [f"lag {lags - at}" for at in range(lags)], of_lags)
            elif of_patches is not None:
                result[name] = attribution_of(method, [f"lag {a}-{b}" for a, b in patches], of_patches)
        return result

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the trained network as a folder, which the command line and `load` open."""
        self._model()
        assert self._packed is not None
        if Path(folder).exists():
            raise invalid("folder", f"{os.fspath(folder)} exists", "give the name of a new one")
        self._packed.unpack(Path(folder))


_PARAMETERS = [name for name in inspect.signature(Forecaster.__init__).parameters if name != "self"]


def _pandas(frame: Any) -> Any:
    if _is_pandas(frame):
        return frame
    if hasattr(frame, "to_pandas"):
        return frame.to_pandas()
    raise wrong_type("df", f"found {type(frame).__name__}, expected a data frame of pandas or polars")


def _static_texts(frame: Any, reading: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    def text(value: Any) -> str:
        return "" if value is None or value != value else str(value)

    names = [text(name) for name in frame[reading["id"]].tolist()]
    return names, [[text(value) for value in frame[column].tolist()] for column in reading["statics"]]


def _concatenated(frames: list[Any]) -> Any:
    if _is_pandas(frames[0]):
        import pandas as pd

        return pd.concat(frames, ignore_index=True)
    import polars as pl

    return pl.concat(frames)
