#!/usr/bin/env python3
"""Trains the network of Dwivedi & Bresson 2021 on the same molecules with the authors' code and with ours.

    git clone https://github.com/graphdeeplearning/graphtransformer
    python bench/graph_transformer.py --code graphtransformer --regard BIN --graphs zinc.jsonl --smiles zinc.csv --runs FOLDER

Layers, network, positional encodings, epochs and evaluation of the authors are imported from that folder and run as they
are. Ours is what they read from a pickle (graphs of DGL from the lines of the file) and the loop over epochs. Both follow
their settings for ZINC, but for a cosine schedule of few epochs. Ours is trained on the graphs of the file, and on graphs
read from SMILES. Runs that FOLDER has already are not repeated. Writes `results/authors-zinc.json`; needs torch and dgl.
"""

import argparse
import datetime
import json
import math
import random
import subprocess
import sys
import types
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = "configs/molecules_GraphTransformer_LapPE_ZINC_500k_sparse_graph_BN.json"
# Types of atoms and bonds of the authors' dataset.
ATOM_TYPES, BOND_TYPES = 28, 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--code", type=Path, required=True, help="clone of the authors' repository")
    parser.add_argument("--regard", default=str(ROOT / "target/release/regard"), help="the binary")
    parser.add_argument("--graphs", type=Path, required=True, help="molecules as JSON lines: split, x, e, y")
    parser.add_argument("--smiles", type=Path, required=True, help="the same molecules as a table: split, smiles, target")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", default="41,95", help="separated by commas")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args()
    words = {"graphs": ["data.path=" + str(options.graphs), 'data.smiles=""', 'data.targets=["y"]'], "SMILES": [f"data.path={options.smiles}"]}
    seeds = [int(seed) for seed in options.seeds.split(",")]
    runs = {"authors' code, graphs": lambda seed: authors(options, seed)}
    runs |= {f"regard, {name}": lambda seed, name=name, sets=sets: ours(options, seed, name, sets) for name, sets in words.items()}
    rows = []
    for code, run in runs.items():
        found = [run(seed) for seed in seeds]
        rows.append({"code": code, **{part: [one[part] for one in found] for part in ("validation", "test")}})
    date = datetime.date.today().isoformat()
    record = {"format": 1, "kind": "authors", "date": date, "epochs": options.epochs, "seeds": seeds, "rows": rows}
    records.save(options.out / "authors-zinc.json", record)


def ours(options, seed, name, sets):
    """Errors of our network after the last epoch."""
    folder = options.runs / f"regard-{name}-{seed}"
    sets = [*sets, "train.schedule=cosine", f"train.epochs={options.epochs}", f"train.seed={seed}"]
    words = [word for one in sets for word in ("--set", one)]
    call = lambda *rest: subprocess.run([options.regard, "--threads", "1", *rest, "--json", "--no-progress"], check=True, stdout=subprocess.PIPE, text=True).stdout
    if not (folder / "model.safetensors").exists():
        call("train", "graphs/zinc-2021", *words, "--out", str(folder))
    test = json.loads(call("eval", "--model", str(folder), "--training-data"))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    validated = [line for line in lines if line["kind"] == "valid"]
    return {"validation": validated[-1]["mae_paper"], "test": test["mae_paper"]}


def authors(options, seed):
    """Errors of the authors' network after the last epoch."""
    kept = options.runs / f"authors-{seed}.json"
    found = json.loads(kept.read_text()) if kept.exists() else []
    if len(found) < options.epochs:
        found = trained_by_authors(options, seed)
        records.save(kept, found)
    return found[-1]


class Missing(types.ModuleType):
    """`dgl.graphbolt`, whose binary fits one version of PyTorch; nothing here uses it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def trained_by_authors(options, seed):
    """The errors of every epoch; the loop of `main_molecules_graph_regression.py`."""
    sys.path.insert(0, str(options.code))
    sys.modules["dgl.graphbolt"] = Missing("dgl.graphbolt")
    import dgl
    import dgl.function
    import numpy
    import torch

    # Names of DGL 0.5.
    dgl.function.src_mul_edge, dgl.function.copy_edge = dgl.function.u_mul_e, dgl.function.copy_e
    dgl.DGLGraph.adjacency_matrix_scipy = lambda graph, return_edge_ids: graph.adj_external(scipy_fmt="csr")
    from data.molecules import MoleculeDataset, laplacian_positional_encoding
    from nets.molecules_graph_regression.load_net import gnn_model
    from train.train_molecules_graph_regression import evaluate_network, train_epoch

    torch.set_num_threads(1)
    settings = json.loads((options.code / CONFIGURATION).read_text())
    params, network = settings["params"], settings["net_params"]
    network |= {"device": torch.device("cpu"), "num_atom_type": ATOM_TYPES, "num_bond_type": BOND_TYPES}

    parts = {"train": [], "val": [], "test": []}
    for line in options.graphs.read_text().splitlines():
        molecule = json.loads(line)
        bonds = sorted(edge for a, b, kind in molecule["e"] for edge in ((a, b, kind), (b, a, kind)))
        sources, targets, kinds = (torch.tensor([bond[field] for bond in bonds]) for field in range(3))
        graph = dgl.graph((sources, targets), num_nodes=len(molecule["x"]))
        graph.ndata["feat"], graph.edata["feat"] = torch.tensor(molecule["x"]), kinds
        graph = laplacian_positional_encoding(graph, network["pos_enc_dim"])
        # The authors' molecules have more atoms than encodings; smaller ones get zeros, as in ours.
        vectors = graph.ndata["lap_pos_enc"]
        missing = network["pos_enc_dim"] - vectors.shape[1]
        graph.ndata["lap_pos_enc"] = torch.nn.functional.pad(vectors, (0, missing))
        parts[molecule["split"]].append((graph, numpy.float32(molecule["y"])))

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    model = gnn_model(settings["model"], network)
    optimizer = torch.optim.Adam(model.parameters(), lr=params["init_lr"], weight_decay=params["weight_decay"])
    collate = lambda samples: MoleculeDataset.collate(None, samples)
    size = params["batch_size"]
    load = lambda part: torch.utils.data.DataLoader(parts[part], batch_size=size, shuffle=part == "train", collate_fn=collate)
    loaders = {part: load(part) for part in parts}
    found = []
    for epoch in range(options.epochs):
        optimizer.param_groups[0]["lr"] = params["init_lr"] * (1 + math.cos(math.pi * epoch / options.epochs)) / 2
        loss, _, _ = train_epoch(model, optimizer, network["device"], loaders["train"], epoch)
        validation, test = (evaluate_network(model, network["device"], loaders[part], epoch)[0] for part in ("val", "test"))
        found.append({"train": loss, "validation": validation, "test": test})
        print(f"epoch {epoch + 1}", json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    main()
