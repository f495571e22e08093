"""Problems of one's own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import regard
from regard.problem import Batch

PICKUP_DELIVERY = Path(__file__).resolve().parents[1] / "examples" / "pickup_delivery.py"

#: A network and a training of seconds.
SMALL = {
    "model.width": 32,
    "model.heads": 4,
    "model.layers": 2,
    "model.feedforward_width": 64,
    "train.batch_size": 32,
    "train.epoch_size": 256,
    "train.epochs": 2,
    "eval.instances": 64,
}


class Tour(regard.Problem):
    """The travelling salesman step by step."""

    name = "tour-py"
    depot = False

    def draw(self, rng: np.random.Generator, batch: int, nodes: int) -> Batch:
        return {"locs": rng.random((batch, nodes, 2), dtype=np.float32)}

    def reset(self, instances: Batch) -> Batch:
        return {"left": np.ones(instances["locs"].shape[:2], dtype=bool)}

    def action_mask(self, state: Batch) -> npt.ArrayLike:
        return state["left"]

    def step(self, state: Batch, action: npt.NDArray[np.int64]) -> Batch:
        state["left"][np.arange(len(action)), action] = False
        return state

    def done(self, state: Batch) -> npt.ArrayLike:
        return ~state["left"].any(axis=1)

    def cost(self, instances: Batch, actions: npt.NDArray[np.int64]) -> npt.ArrayLike:
        stops = np.take_along_axis(instances["locs"].astype(float), actions[..., None], axis=1)
        legs = np.roll(stops, -1, axis=1) - stops
        lengths: npt.NDArray[np.float64] = np.hypot(legs[..., 0], legs[..., 1]).sum(axis=1)
        return lengths


@pytest.fixture(scope="module")
def pickup_delivery() -> Any:
    spec = importlib.util.spec_from_file_location("pickup_delivery", PICKUP_DELIVERY)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pickup_delivery"] = module
    spec.loader.exec_module(module)
    return module.PickupDelivery()


def test_the_example_is_short() -> None:
    assert len(PICKUP_DELIVERY.read_text(encoding="utf-8").splitlines()) <= 50


def test_the_laws_hold_for_the_example(pickup_delivery: Any) -> None:
    laws = regard.check_problem(pickup_delivery, nodes=8)
    assert len(laws) > 5
    assert [law for law in laws if law.broken is not None] == []


def test_pickup_and_delivery_is_learnt(pickup_delivery: Any, tmp_path: Path) -> None:
    run = regard.train(pickup_delivery, tmp_path / "run", nodes=10, settings={**SMALL, "train.epochs": 6}, seed=1)
    assert run.ended == "complete"
    costs = [event.metrics["cost"] for event in run.events if event.kind == "valid"]
    assert costs[-1] < 0.95 * costs[0]
    policy = run.model()
    batch = pickup_delivery.generate(16, 10, seed=5)
    greedy = policy.greedy(batch)
    sampled = policy.sample(batch, samples=32)
    beam = policy.beam(batch, width=4)
    assert (sampled.cost <= greedy.cost + 1e-5).mean() > 0.5
    assert (beam.cost <= greedy.cost + 1e-5).all()
    pairs = 5
    for at in range(16):
        tour = greedy.tour(at)
        place = {node: step for step, node in enumerate(tour)}
        assert all(place[pickup] < place[pickup + pairs] for pickup in range(1, pairs + 1))
    np.testing.assert_allclose(greedy.cost, pickup_delivery.cost(batch, greedy.actions), rtol=1e-5)


def test_a_training_goes_on_to_the_same_bits(pickup_delivery: Any, tmp_path: Path) -> None:
    whole = regard.train(pickup_delivery, tmp_path / "whole", nodes=6, settings=SMALL, seed=3)
    half = regard.train(pickup_delivery, tmp_path / "parts", nodes=6, settings=SMALL, seed=3, steps=9)
    assert (whole.ended, half.ended) == ("complete", "steps")
    again = regard.train(pickup_delivery, tmp_path / "parts", nodes=6, settings=SMALL, seed=3, resume=True)
    assert again.ended == "complete"
    weights = [(tmp_path / which / "model.safetensors").read_bytes() for which in ("whole", "parts")]
    assert weights[0] == weights[1]


def test_a_problem_with_known_rules_is_the_same_as_step_by_step() -> None:
    class Known(Tour):
        name = "tour-known-py"
        every_node_once = True

    for problem in (Tour(), Known()):
        assert [law for law in regard.check_problem(problem, nodes=7, learn=False) if law.broken] == []


def test_the_rules_that_a_law_checks_are_named() -> None:
    class Twice(Tour):
        name = "twice-py"

        def check(self, instance: Batch, actions: list[int]) -> str | None:
            return "node 0 is first" if actions[0] == 0 else None

    broken = [law for law in regard.check_problem(Twice(), nodes=5, learn=False) if law.broken]
    assert any("node 0 is first" in str(law.broken) for law in broken)


def test_a_checker_may_accept_fewer_nodes_where_they_are_optional() -> None:
    class AnyNodes(Tour):
        """From the depot to some nodes and back, each at most once."""

        name, depot = "any-nodes-py", True

        def reset(self, instances: Batch) -> Batch:
            rows, nodes, _ = instances["locs"].shape
            left = np.ones((rows, nodes), dtype=bool)
            left[:, 0] = False
            return {"left": left, "home": np.zeros(rows, dtype=bool)}

        def action_mask(self, state: Batch) -> npt.ArrayLike:
            mask: npt.NDArray[np.bool_] = state["left"].copy()
            mask[:, 0] = ~state["left"][:, 1:].all(axis=1)
            return mask

        def step(self, state: Batch, action: npt.NDArray[np.int64]) -> Batch:
            return {**super().step(state, action), "home": action == 0}

        def done(self, state: Batch) -> npt.ArrayLike:
            home: npt.NDArray[np.bool_] = state["home"]
            return home

        def check(self, instance: Batch, actions: list[int]) -> str | None:
            return None if len(set(actions)) == len(actions) else "a node is visited twice"

    assert [law for law in regard.check_problem(AnyNodes(), nodes=7, learn=False) if law.broken] == []


def broken(name: str, method: str, replacement: Callable[..., Any]) -> regard.Problem:
    problem: regard.Problem = type("Broken", (Tour,), {"name": name, method: replacement})()
    return problem


@pytest.mark.parametrize(
    ("name", "method", "replacement", "error", "message"),
    [
        ("raises-py", "step", lambda self, state, action: 1 / 0, ZeroDivisionError, "division by zero"),
        ("shape-py", "action_mask", lambda self, state: np.ones((2, 3), bool), regard.InputError, "action_mask"),
        ("forbids-py", "action_mask", lambda self, state: np.zeros_like(state["left"]), regard.InputError, "forbids"),
        ("type-py", "action_mask", lambda self, state: state["left"].astype("U1"), regard.ArrayTypeError, "action_mask"),
        ("cost-shape-py", "cost", lambda self, instances, actions: np.zeros(3), regard.InputError, "cost"),
        ("cost-nan-py", "cost", lambda self, i, a: np.full(len(a), np.nan), regard.InputError, "cost"),
        ("none-py", "step", lambda self, state, action: None, regard.ArrayTypeError, "step"),
        ("fewer-py", "step", lambda self, state, action: {"left": state["left"][:1]}, regard.InputError, "step"),
        ("done-py", "done", lambda self, state: np.zeros(1, bool), regard.InputError, "done"),
        ("places-py", "draw", lambda self, rng, b, n: {"locs": 5 * np.ones((b, n, 2))}, regard.InputError, "unit square"),
        ("locs-py", "draw", lambda self, rng, b, n: {"places": np.ones((b, n, 2))}, regard.InputError, "`locs`"),
        ("tsp", "done", Tour.done, regard.InputError, "a problem of regard itself"),
        ("no name", "done", Tour.done, regard.InputError, "letters, digits and hyphens"),
    ],
)
def test_a_broken_callback_is_an_exception(
    name: str, method: str, replacement: Callable[..., Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        regard.train(broken(name, method, replacement), tmp_path / "run", nodes=5, settings=SMALL)


def test_a_callback_that_raises_later_leaves_a_checkpoint_or_none(tmp_path: Path) -> None:
    calls = 0

    def late(self: Tour, instances: Batch, actions: npt.NDArray[np.int64]) -> npt.ArrayLike:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise RuntimeError("the disk is full")
        return Tour.cost(self, instances, actions)

    with pytest.raises(RuntimeError, match="the disk is full"):
        regard.train(broken("late-py", "cost", late), tmp_path / "run", nodes=5, settings=SMALL)


# torch and what it imports warn of themselves.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["TSP", "CVRP", "SDVRP", "OP", "PCTSP", "SPCTSP", "PDP"])
def test_the_laws_hold_for_an_environment_of_rl4co(name: str) -> None:
    envs = pytest.importorskip("rl4co.envs", exc_type=ImportError)
    problem = regard.rl4co.Environment(getattr(envs, f"{name}Env")(generator_params={"num_loc": 8}))
    assert [law for law in regard.check_problem(problem, nodes=8, learn=False) if law.broken] == []


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["TSP", "CVRP"])
def test_an_environment_of_rl4co_is_trained(name: str, tmp_path: Path) -> None:
    envs = pytest.importorskip("rl4co.envs", exc_type=ImportError)
    problem = regard.rl4co.Environment(getattr(envs, f"{name}Env")(generator_params={"num_loc": 6}))
    run = regard.train(problem, tmp_path / "run", nodes=6, settings=SMALL)
    batch = problem.generate(4, 6)
    found = run.model().greedy(batch)
    np.testing.assert_allclose(found.cost, problem.cost(batch, found.actions), rtol=1e-5)
