"""Solves, predicts and back-tests with joblib, Dask and Ray: one process or node for each part of the work.

    python many_instances.py joblib|dask|ray
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

import regard


def solve(seed: int) -> float:
    """The cost of one random vehicle routing problem. Every worker computes with one thread; workers share the cores."""
    regard.set_threads(1)
    rng = np.random.default_rng(seed)
    demands = np.append(0, rng.integers(1, 10, 30))
    return regard.solve(rng.random((31, 2)), demands=demands, capacity=40, seed=seed).cost


def predict(part: tuple[Any, list[Any]]) -> Any:
    """Predictions of a fitted estimator for a part of the sets; the estimator travels as the bytes of its model."""
    estimator, sets = part
    regard.set_threads(1)
    return estimator.predict(sets)


def back_test(part: pd.DataFrame) -> pd.DataFrame:
    """Forecasts of a part of the series from three origins."""
    regard.set_threads(1)
    forecaster = regard.Forecaster(7, only="base", season_length=7, time_limit=None, verbose=False)
    return forecaster.cross_validation(part, n_windows=3)


def with_joblib(call: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """The calls in processes of this machine."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=2)(delayed(call)(part) for part in parts))


def with_dask(call: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """The calls on a cluster of Dask; `Client("scheduler:8786")` takes one that runs."""
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        return list(client.gather(client.map(call, list(parts))))


def with_ray(call: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """The calls on a cluster of Ray; `ray.init("auto")` takes one that runs."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        remote = ray.remote(call)
        return list(ray.get([remote.remote(part) for part in parts]))
    finally:
        ray.shutdown()


def main(which: str) -> None:
    """Maps the three calls, and compares them with those of this process."""
    regard.set_threads(1)
    run = {"joblib": with_joblib, "dask": with_dask, "ray": with_ray}[which]
    costs = run(solve, range(8))

    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(rng.integers(2, 8), 3)) for _ in range(200)]
    y = np.array([rows[:, 0].max() for rows in sets])
    regressor = regard.SetRegressor(epochs=1).fit(sets, y)
    parts = [(regressor, sets[start : start + 50]) for start in range(0, 200, 50)]
    predictions = np.concatenate(run(predict, parts))

    days = pd.date_range("2025-01-01", periods=140)
    weeks = np.tile([5.0, 4, 3, 4, 5, 9, 8], 20)
    frames = [
        pd.DataFrame({"unique_id": f"shop {shop}", "ds": days, "y": shop + weeks + 0.1 * rng.normal(size=140)})
        for shop in range(4)
    ]
    forecasts = pd.concat(run(back_test, frames))

    assert costs == [solve(seed) for seed in range(8)]
    assert (predictions == regressor.predict(sets)).all()
    assert len(forecasts) == 4 * 3 * 7
    error = (forecasts.y - forecasts.regard).abs().mean()
    print(f"{which}: mean cost {np.mean(costs):.4f}, {len(predictions)} predictions, back-test MAE {error:.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
