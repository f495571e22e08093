"""Writes small checkpoints with random weights by running the original codes, and what these compute from them.

    python3 golden/checkpoints.py SET_TRANSFORMER GRAPHTRANSFORMER PATCHTST OUT

The first three are clones of juho-lee/set_transformer, graphdeeplearning/graphtransformer and yuqinie98/PatchTST; OUT is
`golden/checkpoints`. Each file is saved as the training script of its project does. Needs PyTorch. No weights and no
code of these projects are in the repository: the weights are random numbers.
"""

import argparse
import contextlib
import csv
import json
import pathlib
import sys
import types

import torch

# C, N, O and the bonds between them, by their numbers in the benchmark's ZINC.
MOLECULES = {
    "CCO": ([0, 0, 1], [(0, 1, 1), (1, 2, 1)]),
    "C=CN": ([0, 0, 2], [(0, 1, 2), (1, 2, 1)]),
    "CC(C)=O": ([0, 0, 0, 1], [(0, 1, 1), (1, 2, 1), (1, 3, 2)]),
}


@contextlib.contextmanager
def code_of(folder):
    """Imports find the modules of a folder; those of the next project may have the same names."""
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    for name in set(sys.modules) - known:
        if name.split(".")[0] in ("models", "modules", "layers", "nets"):
            del sys.modules[name]


def randomised(module):
    """Every number of a module drawn anew, so that none stands at its first value."""
    for name, value in module.named_parameters():
        if value.requires_grad:
            torch.nn.init.normal_(value, std=0.4)
    for name, value in module.named_buffers():
        if name.endswith("running_mean"):
            torch.nn.init.normal_(value, std=0.3)
        if name.endswith("running_var"):
            torch.nn.init.uniform_(value, 0.5, 2.0)
    return module.eval()


def set_transformer(folder, out):
    with code_of(folder):
        from models import SetTransformer

    net = randomised(SetTransformer(2, 3, 4, num_inds=3, dim_hidden=8, num_heads=4))
    points = torch.round(torch.randn(7, 2) * 300) / 100
    torch.save({"state_dict": net.state_dict()}, out / "set_transformer.tar")
    raw = net.double()(points.double().unsqueeze(0))[0]
    return {"points": points.tolist(), "answer": raw.tolist()}


class Graph:
    """What the layers ask of a graph of DGL."""

    def __init__(self, source, target, nodes):
        self.source, self.target, self.nodes = source, target, nodes
        self.ndata, self.edata = {}, {}

    def edges(self):
        return self.source, self.target

    def apply_edges(self, function):
        take = lambda index: {name: value[index] for name, value in self.ndata.items()}
        view = types.SimpleNamespace(src=take(self.source), dst=take(self.target), data=self.edata)
        self.edata.update(function(view))

    def send_and_recv(self, _, message, reduce):
        sums = message(self)
        total = torch.zeros(self.nodes, *sums.shape[1:], dtype=sums.dtype).index_add(0, self.target, sums)
        self.ndata[reduce] = total


def stand_in_for_dgl():
    dgl, function = types.ModuleType("dgl"), types.ModuleType("dgl.function")
    function.src_mul_edge = lambda node, edge, _: lambda g: g.ndata[node][g.source] * g.edata[edge]
    function.copy_edge = lambda edge, _: lambda g: g.edata[edge]
    function.sum = lambda _, result: result
    dgl.function = function
    dgl.mean_nodes = lambda g, name: g.ndata[name].mean(0, keepdim=True)
    dgl.sum_nodes = lambda g, name: g.ndata[name].sum(0, keepdim=True)
    sys.modules["dgl"], sys.modules["dgl.function"] = dgl, function


def graph_transformer(folder, out):
    stand_in_for_dgl()
    with code_of(folder):
        from nets.molecules_graph_regression.graph_transformer_net import GraphTransformerNet

    settings = dict(
        num_atom_type=28, num_bond_type=4, hidden_dim=8, out_dim=8, n_heads=4, in_feat_dropout=0.0, dropout=0.0, L=2,
        readout="sum", layer_norm=False, batch_norm=True, residual=True, edge_feat=True, device="cpu",
        lap_pos_enc=False, wl_pos_enc=False,
    )
    net = randomised(GraphTransformerNet(settings))
    torch.save(net.state_dict(), out / "graph_transformer.pkl")
    net, answers = net.double(), []
    for atoms, bonds in MOLECULES.values():
        both = bonds + [(b, a, kind) for a, b, kind in bonds]
        source, target, kinds = (torch.tensor(column) for column in zip(*both))
        answers.append(net(Graph(source, target, len(atoms)), torch.tensor(atoms), kinds).item())
    return {"smiles": list(MOLECULES), "answers": answers}


def patchtst(folder, out):
    with code_of(folder / "PatchTST_supervised"):
        from models.PatchTST import Model

    configs = types.SimpleNamespace(
        enc_in=2, seq_len=24, pred_len=4, e_layers=2, n_heads=2, d_model=8, d_ff=12, dropout=0.0, fc_dropout=0.0,
        head_dropout=0.0, individual=0, patch_len=8, stride=4, padding_patch="end", revin=1, affine=0, subtract_last=0,
        decomposition=0, kernel_size=25,
    )
    net = randomised(Model(configs))
    torch.save(net.state_dict(), out / "patchtst.pth")
    steps = torch.arange(40, dtype=torch.float64)
    rows = torch.stack([10 + 3 * torch.sin(steps / 3), 5 - steps / 8 + torch.cos(steps)], 1)
    rows = torch.round(rows * 1000) / 1000
    with open(out / "patchtst.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["date", "a", "b"])
        for hour, row in enumerate(rows.tolist()):
            table.writerow([f"2024-01-{1 + hour // 24:02} {hour % 24:02}:00:00"] + row)
    # As in the authors' data loader: scaled by the training rows, here the first 30.
    mean, deviation = rows[:30].mean(0), rows[:30].std(0, unbiased=False)
    found = net.double()(((rows[-24:] - mean) / deviation).unsqueeze(0))[0] * deviation + mean
    return {"train_rows": 30, "forecast": found.T.tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("set_transformer", "graphtransformer", "patchtst", "out"):
        parser.add_argument(name, type=pathlib.Path)
    args = parser.parse_args()
    torch.manual_seed(3)
    args.out.mkdir(exist_ok=True)
    with torch.no_grad():
        expected = {
            "set_transformer": set_transformer(args.set_transformer, args.out),
            "graph_transformer": graph_transformer(args.graphtransformer, args.out),
            "patchtst": patchtst(args.patchtst, args.out),
        }
    (args.out / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
