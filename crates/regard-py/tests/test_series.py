"""Forecasts of frames."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import regard

# What type checkers would refuse before.
ANY: Any = regard


def frame(rows: int = 120, series: int = 2, freq: str = "D") -> pd.DataFrame:
    """Weekly patterns with a trend."""
    stamps = pd.date_range("2024-01-01", periods=rows, freq=freq)
    rng = np.random.default_rng(0)
    parts = []
    for at in range(series):
        y = 10 + at + np.tile([0.0, 1, 4, 2, 0, -3, -4], rows // 7 + 1)[:rows] + 0.01 * np.arange(rows)
        parts.append(pd.DataFrame({"unique_id": f"s{at}", "ds": stamps, "y": y + 0.1 * rng.normal(size=rows)}))
    joined: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return joined


def base(**parameters: Any) -> regard.Forecaster:
    return regard.Forecaster(**{"only": "base", "time_limit": None, "season_length": 7, **parameters})


def test_a_frame_is_forecast_with_intervals() -> None:
    df = frame()
    forecaster = base().fit(df)
    found = forecaster.predict(14, level=[80, 95])
    assert found.columns.tolist() == [
        "unique_id", "ds", "regard", "regard-lo-80", "regard-hi-80", "regard-lo-95", "regard-hi-95",
    ]
    assert len(found) == 28
    assert found.ds.iloc[0] == df.ds.max() + pd.Timedelta(days=1)
    assert (found["regard-lo-95"] <= found["regard-lo-80"]).all()
    assert (found["regard-hi-80"] <= found["regard-hi-95"]).all()
    weeks = found[found.unique_id == "s0"].regard.to_numpy().reshape(2, 7)
    assert np.abs(weeks[0] - weeks[1]).max() < 1
    assert sum(member["weight"] for member in forecaster.members_) == pytest.approx(1, abs=1e-6)


def test_polars_gives_what_pandas_gives() -> None:
    df = frame()
    of_pandas = base().fit(df).predict(5, level=[90])
    of_polars = base().fit(pl.from_pandas(df)).predict(5, level=[90])
    assert isinstance(of_polars, pl.DataFrame)
    assert of_polars.schema["ds"] == pl.from_pandas(df).schema["ds"]
    np.testing.assert_array_equal(of_polars["regard"].to_numpy(), of_pandas.regard.to_numpy())
    assert of_polars["ds"].to_list() == [stamp.to_pydatetime() for stamp in of_pandas.ds]


def test_rows_in_any_order_and_gaps_are_told() -> None:
    df = frame()
    expected = base().fit(df).predict(5)
    said: list[str] = []
    shuffled = df.sample(frac=1, random_state=1)
    shuffled = pd.concat([shuffled[shuffled.unique_id == "s0"], shuffled[shuffled.unique_id == "s1"]])
    found = base(warn=said.append).fit(shuffled).predict(5)
    np.testing.assert_array_equal(found.regard, expected.regard)
    assert any("out of order" in text for text in said)
    said.clear()
    base(warn=said.append).fit(df.drop(index=50))
    assert any("without a row" in text for text in said)
    with pytest.warns(UserWarning, match="not used"):
        base().fit(df.assign(extra=1))


def test_stamps_of_every_kind() -> None:
    df = frame(60, 1)
    whole = df.assign(ds=np.arange(60))
    found = base().fit(whole).predict(3)
    assert found.ds.tolist() == [60, 61, 62]
    zoned = df.assign(ds=df.ds.dt.tz_localize("Europe/Berlin"))
    assert base().fit(zoned).predict(3).ds.dtype == zoned.ds.dtype
    texts = df.assign(ds=df.ds.astype(str))
    assert base().fit(texts).predict(3).ds.iloc[0] == pd.Timestamp("2024-03-01")
    months = df.head(48).assign(ds=pd.date_range("2020-01-01", periods=48, freq="MS"))
    assert base().fit(months).predict(3).ds.tolist() == list(pd.date_range("2024-01-01", periods=3, freq="MS"))


def test_cross_validation_sees_nothing_of_the_future() -> None:
    df = frame()
    found = base().cross_validation(df, 7, n_windows=3, step_size=7)
    assert found.columns.tolist() == ["unique_id", "ds", "cutoff", "y", "regard"]
    assert len(found) == 2 * 3 * 7
    cuts = sorted(found.cutoff.unique())
    assert cuts[-1] == df.ds.max() - pd.Timedelta(days=7)
    last = found[found.cutoff == cuts[0]]
    before = df[df.ds <= cuts[0]]
    again = base().fit(before).predict(7)
    np.testing.assert_array_equal(last.regard.to_numpy(), again.regard.to_numpy())
    joined = found.merge(df, on=["unique_id", "ds"], suffixes=("", "_true"))
    np.testing.assert_allclose(joined.y, joined.y_true, rtol=1e-6)


def test_a_network_is_trained_and_blended(tmp_path: Path) -> None:
    df = frame(300)
    settings = {"model.look_back": 28, "train.epochs": 2, "model.width": 16}
    forecaster = regard.Forecaster(7, experiment="series/forecast", settings=settings, time_limit=None).fit(df)
    found = forecaster.predict(level=[80])
    assert len(found) == 14
    copy = pickle.loads(pickle.dumps(forecaster))
    pd.testing.assert_frame_equal(copy.predict(level=[80]), found)
    forecaster.save(tmp_path / "model")
    loaded = regard.Forecaster.load(tmp_path / "model", time_limit=None)
    pd.testing.assert_frame_equal(loaded.predict(df=df, level=[80]), found)
    trace = forecaster.explain("s1")
    assert "<" in trace._repr_html_()
    assert set(forecaster.attribute()) == {"s0", "s1"}


def test_a_network_on_generated_series_takes_part_unless_it_is_told_not_to() -> None:
    df = frame(rows=90)

    def members(**parameters: Any) -> list[str]:
        forecaster = base(only=None, time_limit=60.0, **parameters).fit(df)
        forecaster.predict(7)
        return [member["name"] for member in forecaster.members_]

    assert "pretrained network" in members() == members(pretrained="regard-forecaster")
    assert "pretrained network" not in members(pretrained=False)
    with pytest.raises(ValueError, match="pretrained"):
        base(pretrained="regard-forecaster").fit(df).predict(7)
    with pytest.raises(ValueError, match="generated"):
        members(pretrained="regard-etth1")


def test_covariates_and_static_features_are_used() -> None:
    df = frame(300)
    rng = np.random.default_rng(2)
    df["price"] = rng.normal(size=len(df))
    df["y"] += 3 * df["price"]
    days = pd.date_range(df.ds.max() + pd.Timedelta(days=1), periods=7)
    future = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": days, "price": [-2.0, 2, -2, 2, -2, 2, -2]}) for name in ("s0", "s1")
    )
    static = pd.DataFrame({"unique_id": ["s0", "s1"], "kind": ["a", "b"]})
    settings = {"model.look_back": 28, "train.epochs": 2, "model.width": 16}
    forecaster = regard.Forecaster(7, experiment="series/forecast", settings=settings, time_limit=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = forecaster.fit(df, static_df=static, X_df=future).predict(X_df=future, static_df=static)
    assert len(found) == 14
    assert np.isfinite(found.regard).all()


def test_the_same_bits_as_from_the_command_line(command: Callable[..., str], tmp_path: Path) -> None:
    df = frame()
    df["y"] = df["y"].astype(np.float32)
    df.to_csv(tmp_path / "long.csv", index=False)
    out = tmp_path / "forecast.csv"
    command("forecast", tmp_path / "long.csv", "--horizon", "7", "--only", "base", "--season", "7", "--out", out)
    theirs = pd.read_csv(out)
    ours = base().fit(df).predict(7)
    column = next(name for name in theirs.select_dtypes("number") if "lo" not in name and "hi" not in name)
    np.testing.assert_allclose(theirs[column].to_numpy(np.float32), ours.regard.to_numpy(np.float32), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda df: base().fit(df.drop(columns="y")), regard.InputError, "no column `y`"),
        (lambda df: base().fit(df.head(0)), regard.InputError, "empty"),
        (lambda df: base().fit(df.assign(y="text")), regard.ArrayTypeError, "column `y`"),
        (lambda df: base().fit(df.assign(ds="someday")), regard.ArrayTypeError, "column `ds`"),
        (lambda df: base().fit(df.assign(unique_id=None)), regard.InputError, "`unique_id` of row 0"),
        (lambda df: base().fit(pd.concat([df, df.tail(1)])), regard.InputError, "already occurs in row"),
        (lambda df: base().fit([1, 2]), regard.ArrayTypeError, "found list"),
        (lambda df: base().fit(df).predict(), regard.InputError, "h: is missing"),
        (lambda df: base().fit(df).predict(0), regard.InputError, "h"),
        (lambda df: base().fit(df).predict(3, level=[120]), regard.InputError, "level"),
        (lambda df: base().predict(3), regard.InputError, "has no series yet"),
        (lambda df: base().cross_validation(df, 60, n_windows=9), regard.InputError, "n_windows: is 9"),
        (lambda df: base(freq="fortnight").fit(df), regard.InputError, "freq"),
        (lambda df: ANY.Forecaster(only="tree").fit(df).predict(3), regard.InputError, "only"),
        (lambda df: base().set_params(colour=1), regard.InputError, "colour"),
        (lambda df: regard.Forecaster.load("nowhere"), Exception, "nowhere"),
        (lambda df: base().fit(df.assign(y=np.nan)), regard.InputError, "no value in any row"),
    ],
)
def test_bad_input_is_an_exception(
    call: Callable[[pd.DataFrame], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(frame(60, 1))
