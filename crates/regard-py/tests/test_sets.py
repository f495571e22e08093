"""Estimators on sets of rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import regard
from conftest import EXAMPLES

# What type checkers would refuse before.
ANY: Any = regard


def bags(count: int, seed: int = 0) -> tuple[list[npt.NDArray[np.float64]], npt.NDArray[np.str_]]:
    """Sets of three features; one with a large first feature is positive."""
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(rng.integers(2, 7), 3)) for _ in range(count)]
    positive = np.arange(count) % 2 == 1
    for at in np.flatnonzero(positive):
        sets[at][0, 0] += 5
    for at in np.flatnonzero(~positive):
        sets[at][:, 0] = np.minimum(sets[at][:, 0], 1)
    return sets, np.where(positive, "yes", "no")


@pytest.fixture(scope="module")
def classifier() -> regard.SetClassifier:
    return regard.SetClassifier(epochs=4).fit(*bags(120))


def test_products_in_bfloat16_change_little() -> None:
    # A blend may leave the network out, and one without attention has no such products.
    classifier = regard.SetClassifier(epochs=2, blend=False, settings={"model.encoder": "isab"}).fit(*bags(60))
    sets, _ = bags(60, seed=1)
    exact = classifier.predict_proba(sets)
    try:
        regard.set_precision("bfloat16")
    except regard.InputError as error:
        assert "does not have" in str(error)
        return
    try:
        found = classifier.predict_proba(sets)
    finally:
        regard.set_precision("float32")
    np.testing.assert_allclose(found, exact, atol=0.05)
    assert not np.array_equal(found, exact)
    np.testing.assert_array_equal(classifier.predict_proba(sets), exact)
    with pytest.raises(regard.InputError, match="expected float32 or bfloat16"):
        ANY.set_precision("half")


def test_a_classifier_learns_and_gives_probabilities(classifier: regard.SetClassifier) -> None:
    sets, labels = bags(60, seed=1)
    assert classifier.classes_.tolist() == ["no", "yes"]
    probabilities = classifier.predict_proba(sets)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert (classifier.predict(sets) == labels).mean() > 0.9
    assert ANY.SetClassifier.score(classifier, sets, labels) > 0.9
    assert classifier.training_["steps"] > 0


def test_every_kind_of_input_gives_the_same(classifier: regard.SetClassifier) -> None:
    sets, _ = bags(20, seed=2)
    expected = classifier.predict_proba(sets)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in sets])])
    ragged = regard.RaggedArray(np.concatenate(sets), offsets)
    single = [np.asfortranarray(one.astype(np.float32)) for one in sets]
    np.testing.assert_array_equal(classifier.predict_proba(ragged), expected)
    np.testing.assert_array_equal(classifier.predict_proba([one.tolist() for one in sets]), expected)
    np.testing.assert_allclose(classifier.predict_proba(single), expected, atol=1e-5)
    rows = pd.DataFrame(ragged.values, columns=["a", "b", "c"]).assign(bag=np.repeat(np.arange(20), np.diff(offsets)))
    for frame in (rows, pl.from_pandas(rows)):
        of_frame, y = regard.RaggedArray.from_frame(frame, "bag")
        assert y is None
        np.testing.assert_array_equal(classifier.predict_proba(of_frame), expected)


def test_the_same_seed_gives_the_same_bits() -> None:
    sets, labels = bags(60)
    one, two = (regard.SetClassifier(epochs=1, random_state=5).fit(sets, labels) for _ in range(2))
    other = regard.SetClassifier(epochs=1, random_state=6).fit(sets, labels)
    np.testing.assert_array_equal(one.predict_proba(sets), two.predict_proba(sets))
    assert (one.predict_proba(sets) != other.predict_proba(sets)).any()


def test_estimators_clone_pickle_and_save(classifier: regard.SetClassifier, tmp_path: Path) -> None:
    sets, _ = bags(10, seed=3)
    expected = classifier.predict_proba(sets)
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(copy.predict_proba(sets), expected)
    fresh: Any = clone(classifier)
    assert fresh.get_params() == classifier.get_params()
    with pytest.raises(Exception, match="not fitted"):
        fresh.predict(sets)
    classifier.save(tmp_path / "model")
    loaded = regard.sets.load(tmp_path / "model")
    assert isinstance(loaded, regard.SetClassifier)
    np.testing.assert_array_equal(loaded.predict_proba(sets), expected)


def test_a_grid_search_and_a_pipeline_choose() -> None:
    sets, labels = bags(60)
    X: Any = np.empty(60, dtype=object)
    X[:] = sets
    estimator: Any = regard.SetClassifier(epochs=1, blend=False)
    search = GridSearchCV(estimator, {"learning_rate": [1e-4, 1e-3]}, cv=2).fit(X, labels)
    assert search.best_params_["learning_rate"] in (1e-4, 1e-3)

    def doubled(sets: Any) -> list[Any]:
        return [2 * np.asarray(one) for one in sets]

    pipeline: Any = make_pipeline(FunctionTransformer(doubled), regard.SetClassifier(epochs=1, blend=False))
    assert pipeline.fit(sets, labels).predict(sets).shape == (60,)


def test_a_regressor_has_intervals() -> None:
    sets, _ = bags(120)
    y = np.array([one[:, 0].max() for one in sets])
    regressor = regard.SetRegressor(epochs=3).fit(sets, y)
    values, intervals = regressor.predict(sets, level=[80, 95])
    assert np.corrcoef(values, y)[0, 1] > 0.8
    assert (np.ptp(intervals[95], axis=1) >= np.ptp(intervals[80], axis=1)).all()
    covered = (intervals[95][:, 0] <= y) & (y <= intervals[95][:, 1])
    assert covered.mean() > 0.7


def test_clusters_are_found_without_training() -> None:
    rng = np.random.default_rng(3)
    of_rows = rng.integers(4, size=300)
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    points = centres[of_rows] + rng.normal(scale=0.4, size=(300, 2))
    clusterer = regard.SetClusterer(refine=20).fit([points])
    (labels,) = clusterer.labels_
    assert all(len(set(labels[of_rows == cluster])) == 1 for cluster in range(4))
    (found,) = clusterer.clusters([points])
    assert found is not None
    distances = np.linalg.norm(found.means[:, None] - centres, axis=2)
    assert distances.min(axis=0).max() < 0.5


def test_attributions_add_up_and_traces_are_shown(classifier: regard.SetClassifier) -> None:
    sets, _ = bags(4, seed=4)
    of_sets = classifier.attribute(sets, "integrated-gradients")
    assert [len(one.parts) for one in of_sets] == [len(one) for one in sets]
    assert "<table" in of_sets[0]._repr_html_() or "<svg" in of_sets[0]._repr_html_()
    trace = classifier.explain(sets, 1)
    assert len(trace) > 3
    assert "<" in trace._repr_html_()


def test_callbacks_end_the_training() -> None:
    seen: list[str] = []

    def stop(event: regard.Event) -> bool:
        seen.append(event.kind)
        return event.kind == "valid"

    sets, labels = bags(60)
    classifier = regard.SetClassifier(epochs=50, blend=False, callbacks=[stop]).fit(sets, labels)
    assert "step" in seen
    assert classifier.training_["ended"] == "interrupted"


def test_the_same_bits_as_from_the_command_line(command: Callable[..., str], tmp_path: Path) -> None:
    sets, labels = bags(60)
    rows = pd.DataFrame(np.concatenate(sets).astype(np.float32), columns=["a", "b", "c"])
    counts = [len(one) for one in sets]
    rows["bag"], rows["label"] = np.repeat([f"s{at}" for at in range(60)], counts), np.repeat(labels, counts)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    of_frame, y = regard.RaggedArray.from_frame(rows, "bag", target="label")
    estimator = regard.SetClassifier(epochs=2, random_state=11).fit(of_frame, y)
    estimator.save(tmp_path / "python")
    settings = [text for text in estimator._assignments() if not text.startswith("data.path=")]
    settings += [f"data.path={tmp_path / 'rows.csv'}", "data.group_by=bag", "data.target=label"]
    command("train", "sets/mil", "--out", tmp_path / "shell", *(part for text in settings for part in ("--set", text)))
    weights = [(tmp_path / which / "model.safetensors").read_bytes() for which in ("python", "shell")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s, y: ANY.SetClassifier().fit([], []), regard.InputError, "empty"),
        (lambda s, y: ANY.SetClassifier().fit(s, y[:-1]), regard.InputError, "y: has 9 values"),
        (lambda s, y: ANY.SetClassifier().fit(s, ["a"] * 10), regard.InputError, "one class"),
        (lambda s, y: ANY.SetClassifier().fit("text", y), regard.ArrayTypeError, "found str"),
        (lambda s, y: ANY.SetClassifier().fit(s, [None] * 10), regard.InputError, "missing"),
        (lambda s, y: ANY.SetClassifier().fit(s, [[1, 2]] * 10), regard.InputError, r"y: has the shape \[10, 2\]"),
        (lambda s, y: ANY.SetClassifier().fit([*s[:-1], np.zeros((2, 9))], y), regard.InputError, r"X\[9\]: has 9 features"),
        (lambda s, y: ANY.SetClassifier().fit([*s[:-1], np.array([["a"] * 3])], y), regard.ArrayTypeError, r"X\[9\]"),
        (lambda s, y: ANY.SetClassifier().fit([*s[:-1], [[1, np.inf, 2]]], y), regard.InputError, "infinity"),
        (lambda s, y: ANY.SetClassifier("sets/none").fit(s, y), FileNotFoundError, "sets/none"),
        (lambda s, y: ANY.SetClassifier(epochs=-1).fit(s, y), regard.InputError, "epochs"),
        (lambda s, y: ANY.SetClassifier(settings={"model.wid": 1}).fit(s, y), regard.InputError, "wid"),
        (lambda s, y: ANY.SetRegressor().fit(s, np.full(10, np.nan)), regard.InputError, "y"),
        (lambda s, y: regard.RaggedArray(np.zeros((3, 2)), [0, 2]), regard.InputError, "offsets"),
        (lambda s, y: regard.RaggedArray(np.zeros((3, 2)), [0, 2.5, 3]), regard.ArrayTypeError, "offsets"),
        (lambda s, y: regard.RaggedArray.from_frame(pd.DataFrame({"a": [1]}), "bag"), regard.InputError, "no column `bag`"),
    ],
)
def test_bad_input_is_an_exception(call: Callable[[Any, Any], object], error: type[Exception], message: str) -> None:
    sets, labels = bags(10)
    with pytest.raises(error, match=message):
        call(sets, labels)


def test_a_target_is_the_same_in_all_rows_of_a_set() -> None:
    frame = pd.DataFrame({"bag": ["a", "a"], "x": [1.0, 2.0], "y": [0, 1]})
    with pytest.raises(regard.InputError, match="`y` of row 1: is 1, but the set `a` has 0"):
        regard.RaggedArray.from_frame(frame, "bag", target="y")


def test_the_example_file_is_read_as_from_the_command_line(command: Callable[..., str]) -> None:
    import json

    rows = pd.read_csv(EXAMPLES / "bags.csv")
    sets, _ = regard.RaggedArray.from_frame(rows, "bag", features=["value"])
    model = regard.sets.load("regard-max")
    if not isinstance(model, regard.SetRegressor):
        pytest.fail("regard-max predicts numbers")
    said = json.loads(command("predict", EXAMPLES / "bags.csv", "--model", "regard-max", "--group-by", "bag", "--json"))
    assert len(sets) == len(model.predict(sets)) > 0
    assert said
