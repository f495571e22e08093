"""Solving, policies, files."""

from __future__ import annotations

import json
import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import regard
from conftest import EXAMPLES


def test_a_tour_visits_every_row_once(points: npt.NDArray[np.float64]) -> None:
    solution = regard.solve(points)
    assert sorted(solution.tour) == list(range(30))
    stops = points[[*solution.tour, solution.tour[0]]]
    assert solution.cost == pytest.approx(np.hypot(*np.diff(stops, axis=0).T).sum())
    assert [stage.kind for stage in solution.stages][-1] == "improve"
    assert solution.instance.value(solution.routes) == solution.cost


def test_distances_need_no_coordinates(points: npt.NDArray[np.float64]) -> None:
    matrix = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    by_matrix = regard.solve(distance_matrix=matrix)
    assert by_matrix.cost == pytest.approx(regard.solve(points).cost, rel=0.01)
    assert regard.solve(points, distance_matrix=matrix).cost == pytest.approx(by_matrix.cost, rel=0.01)


def test_vehicles_keep_their_capacity(points: npt.NDArray[np.float64], rng: np.random.Generator) -> None:
    demands = rng.integers(1, 9, size=30)
    demands[3] = 0
    solution = regard.solve(points, demands=demands, capacity=25, depot=3)
    assert sorted(node for route in solution.routes for node in route) == [row for row in range(30) if row != 3]
    assert max(demands[route].sum() for route in solution.routes) <= 25
    assert solution.instance.problem == "cvrp" and solution.instance.depot == 3
    with pytest.raises(regard.InputError, match="6 routes|routes"):
        _ = solution.tour


def test_prizes_are_collected_within_a_length(points: npt.NDArray[np.float64], rng: np.random.Generator) -> None:
    prizes = rng.integers(1, 9, size=30).astype(float)
    prizes[0] = 0
    solution = regard.solve(points, prizes=prizes, max_length=2.0)
    assert solution.instance.maximises
    assert solution.cost == prizes[solution.tour].sum() > 0
    stops = points[[0, *solution.tour, 0]]
    assert np.hypot(*np.diff(stops, axis=0).T).sum() <= 2.0 + 1e-9


def test_loads_are_picked_up_before_they_are_delivered(points: npt.NDArray[np.float64]) -> None:
    # The depot is row 4, and the loads of the last ten rows are picked up at the first ones.
    pickups = np.full(30, -1)
    pickups[20:] = [0, 1, 2, 3, 5, 5, 5, 6, 7, 8]
    solution = regard.solve(points, pickups=pickups, depot=4)
    assert solution.instance.problem == "pdp"
    assert sorted(solution.tour) == [row for row in range(30) if row != 4]
    at = {row: place for place, row in enumerate(solution.tour)}
    assert all(at[pickups[row]] < at[row] for row in range(20, 30))
    stops = points[[4, *solution.tour, 4]]
    assert solution.cost == pytest.approx(np.hypot(*np.diff(stops, axis=0).T).sum())
    pickups[3] = 30
    with pytest.raises(regard.InputError, match="pickup.*node 3"):
        regard.solve(points, pickups=pickups, depot=4)


def test_degrees_are_kilometres() -> None:
    places = [[48.8566, 2.3522], [52.52, 13.405], [40.4168, -3.7038], [41.9028, 12.4964]]
    solution = regard.solve(places, metric="degrees", names=["Paris", "Berlin", "Madrid", "Rome"])
    assert solution.instance.unit == "km" and 4000 < solution.cost < 6000
    assert solution.instance.names[2] == "Madrid"


def test_a_start_is_never_made_worse(points: npt.NDArray[np.float64]) -> None:
    best = regard.solve(points)
    again = regard.solve(points, start=best.routes, decode="greedy")
    assert again.cost <= best.cost and again.stages[0].kind == "start"


def test_a_time_limit_holds(rng: np.random.Generator) -> None:
    solution = regard.solve(rng.random((400, 2)), time_limit=0.5)
    assert solution.seconds < 1.5 and sorted(solution.tour) == list(range(400))


def test_the_same_seed_gives_the_bits_of_the_command_line(command: Callable[..., str]) -> None:
    for name, options, arguments in [
        ("capitals.csv", [], {}),
        ("capitals.csv", ["--decode", "sample:64", "--no-improve"], {"decode": "sample:64", "improve": False}),
        ("deliveries.csv", [], {}),
    ]:
        found = json.loads(command("solve", EXAMPLES / name, "--seed", "5", "--json", *options))
        solution = regard.solve(EXAMPLES / name, seed=5, **arguments)  # type: ignore[arg-type]
        routes = found["routes"] if "routes" in found else [found["tour"]]
        names = solution.instance.names
        ids = [[str(node) for node in route] for route in routes]
        assert solution.cost == found["cost"]
        assert [[names[node] for node in route] for route in solution.routes] == ids


def test_batches_give_the_bits_of_the_command_line(command: Callable[..., str], tmp_path: Path) -> None:
    for problem, decode in [("tsp", "greedy"), ("tsp", "sample:8"), ("cvrp", "multistart:4"), ("op", "beam:3")]:
        batch = regard.generate(problem, 1100, 12, seed=3)
        path = tmp_path / f"{problem}.npz"
        regard.write_set(path, batch)
        command_costs = json.loads(
            command("eval", "--data", path, "--model", f"regard-{problem}", "--decode", decode, "--seed", "9", "--json")
        )
        found = regard.Policy.load(problem).decode(batch, decode, seed=9)
        mean = abs(command_costs["mean_cost"])
        assert abs(found.cost.mean()) == pytest.approx(mean, abs=1e-12), (problem, decode)


def test_policies_decode_batches() -> None:
    policy = regard.Policy.load("tsp")
    batch = regard.generate("tsp", 20, 15, seed=1)
    greedy = policy.greedy(batch)
    assert greedy.actions.shape == (20, 15) and (np.sort(greedy.actions) == np.arange(15)).all()
    assert (greedy.lengths == 15).all() and (greedy.reward == -greedy.cost).all() and len(greedy) == 20
    stops = np.take_along_axis(batch["locs"], greedy.actions[..., None], axis=1).astype(float)
    steps = stops - np.roll(stops, 1, axis=1)
    assert greedy.cost == pytest.approx(np.hypot(steps[..., 0], steps[..., 1]).sum(axis=1), rel=1e-6)
    assert policy.sample(batch, 64).cost.mean() <= greedy.cost.mean()
    assert policy.multistart(batch, augment=8).cost.mean() <= greedy.cost.mean()
    assert policy.beam(batch, 5).cost.mean() <= greedy.cost.mean() + 1e-9
    assert policy.greedy(batch["locs"]).cost.tolist() == greedy.cost.tolist()
    improved = policy.greedy(batch, improve=True)
    assert improved.cost.mean() < greedy.cost.mean()


def test_arrays_of_any_strides_and_types_are_read_in_place() -> None:
    policy = regard.Policy.load("tsp")
    locs = regard.generate("tsp", 8, 10, seed=2)["locs"]
    expected = policy.greedy(locs).cost.tolist()
    read_only = locs.copy()
    read_only.flags.writeable = False
    wide = np.zeros((8, 10, 4), dtype=np.float32)
    wide[..., ::2] = locs
    for same in (locs.astype(np.float64), read_only, np.asfortranarray(locs), wide[..., ::2], locs[::-1][::-1]):
        assert policy.greedy(same).cost.tolist() == expected
    assert policy.greedy(locs.astype(">f4")).cost.tolist() == expected


def test_problems_with_a_depot_take_their_arrays() -> None:
    batch = regard.generate("cvrp", 5, 10, seed=4)
    assert set(batch) == {"locs", "depot", "demand", "capacity"}
    policy = regard.Policy.load("cvrp")
    found = policy.decode(batch["locs"], depot=batch["depot"], demand=batch["demand"], capacity=batch["capacity"])
    assert found.cost.tolist() == policy.greedy(batch).cost.tolist()
    for at in range(5):
        loads = [batch["demand"][at][np.array(route) - 1].sum() for route in found.routes(at)]
        assert max(loads) <= batch["capacity"][at]
        assert sorted(node for route in found.routes(at) for node in route) == list(range(1, 11))


def test_sets_of_the_field_are_read_and_written(tmp_path: Path) -> None:
    batch = regard.generate("pctsp", 4, 6, seed=5)
    for ending in ("pkl", "npz"):
        path = tmp_path / f"set.{ending}"
        regard.write_set(path, batch)
        again = regard.read_set(path)
        assert {name: array.shape for name, array in again.items()} == {name: array.shape for name, array in batch.items()}
        assert all(np.allclose(again[name], batch[name]) for name in batch)


def test_files_of_instances_and_solutions(tmp_path: Path, points: npt.NDArray[np.float64]) -> None:
    instance = regard.Instance.read(EXAMPLES / "capitals.csv")
    assert len(instance) == 47 and instance.unit == "km" and instance.problem == "tsp"
    solution = regard.solve(instance, decode="greedy", improve=False)
    for ending in ("tour", "csv", "geojson"):
        solution.write(tmp_path / f"capitals.{ending}")
    assert instance.read_solution(tmp_path / "capitals.tour") == solution.routes
    regard.Instance(points).write(tmp_path / "points.csv")
    assert np.allclose(regard.Instance.read(tmp_path / "points.csv").coords, points)
    notes: list[str] = []
    words = tmp_path / "stops.csv"
    words.write_text("Ort;Breite;Laenge\nUlm;48,4;9,99\nBonn;50,73;7,1\n", encoding="utf-8")
    regard.Instance.read(words, warn=notes.append)
    assert any("Breite" in note for note in notes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        regard.Instance.read(words)
    assert [str(warning.message) for warning in caught] == notes


def test_everything_pickles_small(points: npt.NDArray[np.float64]) -> None:
    policy = regard.Policy.load("tsp")
    assert len(pickle.dumps(policy)) < 500
    again = pickle.loads(pickle.dumps(policy))
    assert (again.greedy(points[None]).actions == policy.greedy(points[None]).actions).all()
    instance = regard.Instance(points, demands=np.r_[0, np.ones(29)], capacity=5)
    assert len(pickle.dumps(instance)) < 2_000
    assert pickle.loads(pickle.dumps(instance)).problem == "cvrp"
    file = regard.Instance.read(EXAMPLES / "capitals.csv")
    copy = pickle.loads(pickle.dumps(file))
    assert copy.value([list(range(47))]) == file.value([list(range(47))])
    solution = regard.solve(points)
    assert pickle.loads(pickle.dumps(solution)).cost == solution.cost


def test_solutions_are_drawn(tmp_path: Path, points: npt.NDArray[np.float64]) -> None:
    solution = regard.solve(points)
    solution.plot(tmp_path / "tour.svg")
    assert (tmp_path / "tour.svg").read_text(encoding="utf-8").startswith(("<svg", "<?xml"))
    assert "<svg" in solution._repr_html_() and "improve" in solution._repr_html_()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = solution.plot()
    assert len(axes.lines) == 2


def test_a_policy_explains_itself(points: npt.NDArray[np.float64]) -> None:
    trace = regard.solve(points[:6]).explain()
    probability = trace["decode.0.probability"]
    assert probability.values.sum() == pytest.approx(1.0, abs=1e-5)
    assert list(probability.axes) == ["batch", "query", "node"] or "node" in probability.axes
    assert np.asarray(probability).dtype == np.float32
    assert len(trace) == len(trace.names) == len(list(trace)) and "decode.0.mask" in trace
    assert trace.part(step=1).names[0].startswith("decode.1.")
    with pytest.raises(KeyError, match="did you mean"):
        _ = trace["decode.0.probabilty"]
    page = trace._repr_html_()
    assert page.startswith("<iframe") and len(page) > 10_000
    assert json.loads(trace.to_json())["schema"].startswith("regard-trace/")


def test_two_threads_use_one_policy() -> None:
    policy = regard.Policy.load("tsp")
    batch = regard.generate("tsp", 200, 20, seed=6)
    expected = policy.greedy(batch).cost.tolist()
    found: list[list[float]] = []
    workers = [threading.Thread(target=lambda: found.append(policy.greedy(batch).cost.tolist())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


# What type checkers would refuse before.
ANY: Any = regard
RAGGED: Any = [[0, 0], [1]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ANY.solve([[0, 0, 0]]), regard.InputError, r"coords: has the shape \[1, 3\], expected \[nodes, 2\]"),
        (lambda: ANY.solve([]), regard.InputError, "coords"),
        (lambda: ANY.solve(np.zeros((0, 2))), regard.InputError, "empty"),
        (lambda: ANY.solve([[0, np.nan], [1, 1]]), regard.InputError, r"coords: \[0, 1\] is nan"),
        (lambda: ANY.solve([[0, np.inf], [1, 1]]), regard.InputError, r"is inf"),
        (lambda: ANY.solve([["a", "b"]]), regard.ArrayTypeError, "array of <U1"),
        (lambda: ANY.solve(np.array([[None, 1], [1, 2]], dtype=object)), regard.ArrayTypeError, "array of objects"),
        (lambda: ANY.solve(RAGGED), regard.ArrayTypeError, "coords: cannot be read as an array"),
        (lambda: ANY.solve(np.zeros((3, 2), dtype=complex)), regard.InputError, "complex128"),
        (lambda: ANY.solve(), regard.InputError, "coords: are missing"),
        (lambda: ANY.solve(np.eye(3)[:, :2], demands=[0, 1]), regard.InputError, r"demands: has the shape \[2\], expected \[3\]"),
        (lambda: ANY.solve(np.eye(3)[:, :2], demands=[0, 1, 1]), regard.InputError, "capacity"),
        (lambda: ANY.solve(np.eye(3)[:, :2], demands=[0, 1, -1], capacity=3), regard.InputError, "`demand` of node 2: found -1"),
        (lambda: ANY.solve(np.eye(3)[:, :2], demands=[0, 1, 9], capacity=3), regard.InputError, "above the capacity"),
        (lambda: ANY.solve(np.eye(3)[:, :2], demands=[5, 1, 1], capacity=3), regard.InputError, "the depot"),
        (lambda: ANY.solve(np.eye(3)[:, :2], capacity="much"), regard.ArrayTypeError, "capacity: found str"),
        (lambda: ANY.solve(np.eye(3)[:, :2], depot=7), regard.InputError, "`depot`: is 7, expected a row from 0 to 2"),
        (lambda: ANY.solve(np.eye(3)[:, :2], colour=1), regard.ArrayTypeError, "colour: is no argument"),
        (lambda: ANY.solve(np.eye(3)[:, :2], metric="miles"), regard.InputError, "metric: is 'miles'"),
        (lambda: ANY.solve([[100, 0], [1, 1]], metric="degrees"), regard.InputError, "latitude of node 0"),
        (lambda: ANY.solve(distance_matrix=[[0, 1], [2, 0]], prizes=[0, 1], max_length=9), regard.InputError, "by direction"),
        (lambda: ANY.solve(distance_matrix=[[1, 1], [1, 0]]), regard.InputError, "diagonal"),
        (lambda: ANY.solve(distance_matrix=[[0, 1, 2], [1, 0, 3]]), regard.InputError, r"expected \[nodes, nodes\]"),
        (lambda: ANY.solve(np.eye(3)[:, :2], decode="best"), regard.InputError, "not a decoding method"),
        (lambda: ANY.solve(np.eye(9)[:, :2], augment=3), regard.InputError, "augment: is 3"),
        (lambda: ANY.solve(np.eye(3)[:, :2], time_limit=-1), regard.InputError, "time_limit: is -1"),
        (lambda: ANY.solve(np.eye(3)[:, :2], time_limit="long"), regard.ArrayTypeError, "time_limit"),
        (lambda: ANY.solve(np.eye(3)[:, :2], seed=-1), regard.InputError, "seed: is -1"),
        (lambda: ANY.solve(np.eye(3)[:, :2], seed=1.5), regard.ArrayTypeError, "seed: found float"),
        (lambda: ANY.solve(np.eye(4)[:, :2], start=[[0, 1, 1, 2]]), regard.InputError, "not a solution"),
        (lambda: ANY.solve(np.eye(4)[:, :2], start=[[0, 1, 9, 2]]), regard.InputError, "has node 9"),
        (lambda: ANY.solve("nowhere.csv"), FileNotFoundError, "nowhere.csv"),
        (lambda: ANY.solve(np.eye(4)[:, :2], policy="cvrp"), regard.InputError, "solves `cvrp`"),
        (lambda: regard.Policy.load("nothing"), FileNotFoundError, "nothing"),
        (lambda: regard.Policy.load("regard-max"), regard.InputError, "kind"),
        (lambda: regard.Policy.load("tsp").greedy([[0.5, 0.5]]), regard.InputError, r"expected \[batch, nodes, 2\]"),
        (lambda: regard.Policy.load("tsp").greedy(np.full((1, 4, 2), 2.0)), regard.InputError, "coordinate 2 of node 0, expected 0 to 1"),
        (lambda: regard.Policy.load("tsp").greedy(np.zeros((0, 4, 2))), regard.InputError, "at least one instance"),
        (lambda: regard.Policy.load("tsp").greedy(np.zeros((1, 4, 2)), demand=[[1]]), regard.InputError, "demand|depot|customers|`tsp`"),
        (lambda: regard.Policy.load("tsp").sample(np.zeros((1, 4, 2)), 0), regard.InputError, "samples: is 0"),
        (lambda: regard.generate("nothing", 1, 5), regard.InputError, "no such problem"),
        (lambda: regard.generate("tsp", 1, 5, distribution="star"), regard.InputError, "distribution"),
        (lambda: regard.read_set("nowhere.npz"), FileNotFoundError, "nowhere.npz"),
        (lambda: regard.write_set("set.txt", np.zeros((1, 4, 2))), regard.InputError, ".pkl or .npz"),
    ],
)
def test_wrong_input_says_what_and_how(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_distances_may_differ_by_direction() -> None:
    rng = np.random.default_rng(3)
    points, heights = rng.random((40, 2)), rng.random(40)
    flat = np.linalg.norm(points[:, None] - points[None], axis=-1)
    matrix = flat + np.maximum(heights[None] - heights[:, None], 0)
    tour = regard.solve(distance_matrix=matrix)
    order = [int(node) for node in tour.routes[0]]
    assert tour.cost == pytest.approx(sum(matrix[a, b] for a, b in zip(order, order[1:] + order[:1])))
    turned = regard.solve(distance_matrix=matrix.T)
    assert turned.cost == pytest.approx(tour.cost, rel=0.01)
    demands = np.r_[0, np.ones(39)]
    routes = regard.solve(distance_matrix=matrix, demands=demands, capacity=10)
    legs = [[0, *map(int, route), 0] for route in routes.routes]
    assert routes.cost == pytest.approx(sum(matrix[a, b] for leg in legs for a, b in zip(leg, leg[1:])))
    assert sorted(node for leg in legs for node in leg if node) == list(range(1, 40))


def test_errors_have_hints() -> None:
    with pytest.raises(regard.InputError) as found:
        regard.solve(distance_matrix=[[1, 1], [1, 0]])
    assert found.value.hint is not None and found.value.hint in str(found.value)
    assert issubclass(regard.InputError, ValueError) and issubclass(regard.ArrayTypeError, TypeError)
    assert issubclass(regard.ComputeError, RuntimeError) and issubclass(regard.InternalError, RuntimeError)
    with pytest.raises(regard.InputError) as found:
        regard.solve(np.random.default_rng(1).random((500, 2)), decode="beam:100000", time_limit=0.01)
    assert "--" not in str(found.value)
