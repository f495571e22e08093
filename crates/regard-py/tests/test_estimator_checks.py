"""scikit-learn's checks of estimators, with an array of features as sets of one row."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import regard

#: Checks that do not apply, with the reason.
LEFT_OUT: dict[str, str] = {}

FAST = {"model.width": 16, "model.num_heads": 2}


CHECKS: Any = parametrize_with_checks(
    [
        regard.SetClassifier(epochs=5, blend=False, settings=FAST),
        regard.SetRegressor(epochs=5, blend=False, settings=FAST),
    ],
    expected_failed_checks=lambda estimator: LEFT_OUT,
)


@CHECKS  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
