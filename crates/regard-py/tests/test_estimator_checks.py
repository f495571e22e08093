"""scikit-learn's checks of estimators, with an array of features as sets of one row."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import regard

#: Checks that do not apply, with the reason.
LEFT_OUT = {
    "check_classifiers_train": "fits a list of flat lists, which is a list of sets of one feature here",
    "check_regressors_train": "fits a list of flat lists, which is a list of sets of one feature here",
}

FAST = {"model.width": 16, "model.heads": 2}

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


#: Checks that fit nothing. The others fit an array of features, which is neither graphs, nor one graph with its nodes, nor
#: sets of points that are clustered each by itself: they do not apply to these estimators.
OF_PARAMETERS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("check", OF_PARAMETERS)
@pytest.mark.parametrize(
    "estimator",
    [regard.SetClusterer(), regard.GraphClassifier(), regard.GraphRegressor(), regard.NodeClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parameters(estimator: Any, check: str) -> None:
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)
