"""The Graph Transformer (Dwivedi & Bresson 2021) in PyTorch: rows gathered for every edge, sums scattered back.

* `heads`: sums by `index_add_`;
* `sdpa`: the same by `scatter_add_`; there is no attention along edges in PyTorch itself.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS = 10, 8
# Width, nodes of a graph, types of nodes, answers of a row, whether edges carry rows.
MOLECULES, BLOCKS = (64, 23, 28, 1, True), (80, 117, 7, 6, False)


def ring(nodes, reach, chords):
    """Edges of a graph both ways: every node with the `reach` next ones, and chords."""
    pairs = [(node, (node + step) % nodes) for node in range(nodes) for step in range(1, reach + 1)]
    pairs += [(chord, chord + nodes // 2) for chord in range(chords)]
    return pairs + [(b, a) for a, b in pairs]


def batch(kind, graphs):
    """Sources and targets of a batch, by target, and the graph of each node."""
    nodes = kind[1]
    edges = ring(nodes, 1, 2) if kind is MOLECULES else ring(nodes, 18, 2)
    edges = sorted(edges, key=lambda edge: edge[1])
    source, target = (torch.tensor([edge[end] for edge in edges]) for end in (0, 1))
    shift = (torch.arange(graphs) * nodes)[:, None]
    return (source + shift).flatten(), (target + shift).flatten(), torch.arange(graphs).repeat_interleave(nodes)


class Stream(nn.Module):
    """Projection, feed-forward part and batch norms of nodes or edges."""

    def __init__(self, width):
        super().__init__()
        self.out, self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.first, self.second = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def forward(self, before, attended):
        x = self.first(before + self.out(attended))
        return self.second(x + self.outer(F.relu(self.inner(x))))


class Layer(nn.Module):
    """The authors' layer, with and without edge stream."""

    def __init__(self, width, edges, style):
        super().__init__()
        self.width, self.style = width, style
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.edge = nn.Linear(width, width, bias=False) if edges else None
        self.nodes, self.edges = Stream(width), Stream(width) if edges else None

    def forward(self, h, e, source, target):
        count, head = len(source), self.width // HEADS
        score = self.key(h).index_select(0, source) * self.query(h).index_select(0, target) / math.sqrt(head)
        if e is not None:
            score = score * self.edge(e)
        power = score.view(count, HEADS, head).sum(-1).clamp(-5, 5).exp()
        value = self.value(h).index_select(0, source).view(count, HEADS, head) * power[:, :, None]
        summed = self.summed(value.view(count, self.width), target, len(h)).view(-1, HEADS, head)
        attended = summed / (self.summed(power, target, len(h))[:, :, None] + 1e-6)
        h = self.nodes(h, attended.view(-1, self.width))
        return h, None if e is None else self.edges(e, score)

    def summed(self, rows, target, nodes):
        """Sums of rows over the edges of each target."""
        zeros = rows.new_zeros(nodes, rows.shape[1])
        if self.style == "heads":
            return zeros.index_add_(0, target, rows)
        return zeros.scatter_add_(0, target[:, None].expand_as(rows), rows)


class GraphTransformer(nn.Module):
    """Embeddings, ten layers, the mean of the nodes where graphs are asked about, three layers."""

    def __init__(self, kind, style):
        super().__init__()
        width, _, types, outputs, edges = kind
        self.kind = kind
        self.node, self.place = nn.Embedding(types, width), nn.Linear(8, width)
        self.bond = nn.Embedding(4, width) if edges else None
        self.layers = nn.ModuleList(Layer(width, edges, style) for _ in range(LAYERS))
        sizes = [width, width // 2, width // 4, outputs]
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, source, target, graph, types, places, bonds):
        h = self.node(types) + self.place(places)
        e = None if self.bond is None else self.bond(bonds)
        for layer in self.layers:
            h, e = layer(h, e, source, target)
        if self.kind is MOLECULES:
            h = h.view(-1, self.kind[1], h.shape[1]).mean(1)
        for linear in self.head[:-1]:
            h = F.relu(linear(h))
        return self.head[-1](h)


def inputs(kind, graphs):
    """A batch with random types and places."""
    source, target, graph = batch(kind, graphs)
    nodes = len(graph)
    return source, target, graph, torch.randint(kind[2], (nodes,)), torch.randn(nodes, 8), torch.randint(4, (len(source),))


def evaluation(model, graphs):
    """An iteration in evaluation mode."""
    given = inputs(model.kind, graphs)
    model.eval()
    return torch.inference_mode()(lambda: model(*given))


def training(model, graphs):
    """A training step: forward, loss, backward, Adam."""
    given = inputs(model.kind, graphs)
    molecules = model.kind is MOLECULES
    targets = torch.randn(graphs, 1) if molecules else torch.randint(6, (len(given[2]),))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    model.train()

    def step():
        optimizer.zero_grad()
        answers = model(*given)
        loss = (answers - targets).abs().mean() if molecules else F.cross_entropy(answers, targets)
        loss.backward()
        optimizer.step()

    return step
