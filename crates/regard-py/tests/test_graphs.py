"""Estimators on graphs, molecules and nodes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import clone

import regard
from conftest import EXAMPLES

# What type checkers would refuse before.
ANY: Any = regard

SMILES = ["CCO", "CCCCCC", "c1ccccc1", "CC(=O)O", "CCN", "CCCCCCCC", "OCCO", "c1ccc2ccccc2c1", "CCCO", "CCCCl"] * 6


def rings_and_paths(count: int) -> tuple[list[Any], npt.NDArray[np.str_]]:
    graphs = [nx.cycle_graph(5 + at % 4) if at % 2 else nx.path_graph(5 + at % 4) for at in range(count)]
    for graph in graphs:
        nx.set_node_attributes(graph, "atom", "type")
    return graphs, np.where(np.arange(count) % 2, "ring", "path")


def test_molecules_are_regressed() -> None:
    y = np.array([text.count("C") - 2.0 * text.count("O") for text in SMILES])
    regressor = regard.GraphRegressor(epochs=2).fit(SMILES, y)
    predicted = regressor.predict(SMILES)
    assert predicted.shape == (60,)
    assert np.corrcoef(predicted, y)[0, 1] > 0.5
    copy = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_array_equal(copy.predict(SMILES[:5]), predicted[:5])


def test_graphs_of_networkx_arrays_and_mappings_are_the_same() -> None:
    graphs, labels = rings_and_paths(60)
    classifier = regard.GraphClassifier(epochs=2).fit(graphs, labels)
    expected = classifier.predict_proba(graphs[:6])
    assert classifier.classes_.tolist() == ["path", "ring"]
    arrays = [
        regard.graphs.Graph(np.array(list(graph.edges)).T, len(graph), node_types=["atom"] * len(graph))
        for graph in graphs[:6]
    ]
    mappings = [{"edges": one.edges, "num_nodes": one.num_nodes, "node_types": one.node_types} for one in arrays]
    np.testing.assert_array_equal(classifier.predict_proba(arrays), expected)
    np.testing.assert_array_equal(classifier.predict_proba(mappings), expected)
    np.testing.assert_array_equal(classifier.predict_proba(regard.Graphs(graphs[:6])), expected)
    assert ANY.GraphClassifier.score(classifier, graphs, labels) > 0.5


def test_graphs_of_pytorch_geometric_are_read() -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    graphs, labels = rings_and_paths(40)
    of_pyg = []
    for graph in graphs:
        edges = torch.tensor(list(graph.edges)).T
        both = torch.cat([edges, edges.flip(0)], dim=1)
        of_pyg.append(data.Data(x=torch.ones(len(graph), 2), edge_index=both))
    classifier = regard.GraphClassifier(epochs=1).fit(of_pyg, labels)
    assert classifier.predict(of_pyg).shape == (40,)


def test_nodes_are_classified() -> None:
    graph = nx.karate_club_graph()
    clubs = np.array([graph.nodes[node]["club"] for node in graph])
    plain = nx.Graph()
    plain.add_nodes_from((node, {"x": [float(graph.degree(node))]}) for node in graph)
    plain.add_edges_from((a, b, {}) for a, b in graph.edges)
    known = np.arange(len(clubs)) % 2 == 0
    classifier = regard.NodeClassifier(epochs=10).fit(plain, clubs, train_mask=known)
    assert classifier.predict(plain).shape == (34,)
    np.testing.assert_allclose(classifier.predict_proba(plain).sum(axis=1), 1, atol=1e-6)


def test_the_built_in_solubility_agrees_with_the_command_line(command: Callable[..., str]) -> None:
    model = regard.graphs.load("regard-solubility")
    assert isinstance(model, regard.GraphRegressor)
    smiles = pd.read_csv(EXAMPLES / "molecules.csv")["smiles"].tolist()
    ours = model.predict([str(text) for text in smiles])
    theirs = pd.read_csv(io.StringIO(command("predict", EXAMPLES / "molecules.csv", "--model", "regard-solubility")))
    assert len(theirs) == len(ours)
    numbers = theirs.select_dtypes("number")
    assert any(np.allclose(numbers[name], ours, atol=1e-4) for name in numbers)


def test_the_same_bits_as_from_the_command_line(command: Callable[..., str], tmp_path: Path) -> None:
    y = np.array([float(len(text)) for text in SMILES], dtype=np.float32)
    pd.DataFrame({"smiles": SMILES, "y": y}).to_csv(tmp_path / "molecules.csv", index=False)
    regressor = regard.GraphRegressor(epochs=1, random_state=3).fit(SMILES, y)
    regressor.save(tmp_path / "python")
    settings = [text for text in regressor._assignments(True) if not text.startswith("data.path=")]
    settings += [f"data.path={tmp_path / 'molecules.csv'}", 'data.targets=["y"]']
    options = [part for text in settings for part in ("--set", text)]
    command("train", "graphs/molecules", "--out", tmp_path / "shell", *options)
    weights = [(tmp_path / which / "model.safetensors").read_bytes() for which in ("python", "shell")]
    assert weights[0] == weights[1]


def test_attributions_are_of_atoms() -> None:
    model = regard.graphs.load("regard-solubility")
    found = model.attribute(["CCO"], "leave-one-out")
    assert found[0].parts == ["node 0", "node 1", "node 2", "edge 0-1", "edge 1-2"]
    assert "<" in model.explain(["CCO"])._repr_html_()


def test_estimators_are_cloned() -> None:
    estimator: Any = regard.GraphRegressor(epochs=3)
    assert clone(estimator).get_params() == estimator.get_params()


def test_molecules_tell_which_smiles_cannot_be_read() -> None:
    kept, places = regard.molecules(["CCO", "not a molecule", "C"])
    assert kept == ["CCO", "C"]
    assert places == [0, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ANY.GraphRegressor().fit([], []), regard.InputError, "there are no graphs"),
        (lambda: ANY.GraphRegressor().fit(["C(", "CC"], [1, 2]), regard.InputError, "C\\("),
        (lambda: ANY.GraphRegressor().fit(SMILES, [1.0]), regard.InputError, "y"),
        (lambda: ANY.GraphRegressor().fit([3, 4], [1, 2]), regard.ArrayTypeError, r"X\[0\]: found int"),
        (lambda: ANY.GraphClassifier().fit([{"edges": [[0], [5]], "num_nodes": 2}], ["a"]), regard.InputError, "the edge 0 -> 5, expected nodes from 0 to 1"),
        (lambda: ANY.GraphClassifier().fit([{"edge": []}], ["a"]), regard.InputError, "has the key 'edge'"),
        (lambda: ANY.GraphClassifier().fit([{"edges": [[0.5], [1]]}], ["a"]), regard.ArrayTypeError, "edges"),
        (lambda: ANY.GraphClassifier().predict(["C"]), Exception, "not fitted"),
    ],
)
def test_bad_input_is_an_exception(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
