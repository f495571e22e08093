"""The Attention Model for the travelling salesman problem (Kool et al. 2019) in PyTorch, as a timing worker.

This is the other side of the comparison in `compare.py`: the same network, the same batch, evaluation mode, two threads,
written the two ways in which such models are usually written; the driver keeps the faster one of each cell:

* `heads`: one weight matrix per head and explicit products, softmax and masks, as in the published code;
* `sdpa`: one fused projection and `scaled_dot_product_attention`.

The worker reads one JSON object a line and answers with one:

    {"cell": "encoder", "n": 20, "style": "heads", "seconds": 0.5}   ->   {"ms": [83.1, 82.9, ...]}

The first iteration of every request is not timed: after a pause the caches hold another process's data.
"""

import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, WIDTH, HEADS, LAYERS, HIDDEN, CLIP = 512, 128, 8, 3, 512, 10.0
HEAD = WIDTH // HEADS


class HeadsAttention(nn.Module):
    """Multi-head attention with one matrix per head: `[heads, width, width / heads]`."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Parameter(uniform(HEADS, WIDTH, HEAD)) for _ in range(3))
        self.out = nn.Parameter(uniform(HEADS, HEAD, WIDTH))

    def forward(self, x):
        batch, n, _ = x.shape
        rows = x.reshape(-1, WIDTH)
        query, key, value = (
            torch.matmul(rows, weight).view(HEADS, batch, n, HEAD) for weight in (self.query, self.key, self.value)
        )
        weights = torch.softmax(torch.matmul(query, key.transpose(2, 3)) / math.sqrt(HEAD), dim=-1)
        heads = torch.matmul(weights, value).permute(1, 2, 0, 3).reshape(-1, WIDTH)
        return torch.mm(heads, self.out.view(-1, WIDTH)).view(batch, n, WIDTH)


class SdpaAttention(nn.Module):
    """Multi-head attention with one fused projection and PyTorch's own attention."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, n, _ = x.shape
        query, key, value = self.project(x).view(batch, n, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4).unbind(0)
        heads = F.scaled_dot_product_attention(query, key, value)
        return self.out(heads.transpose(1, 2).reshape(batch, n, WIDTH))


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with a skip connection and batch normalisation."""

    def __init__(self, style):
        super().__init__()
        self.attention = HeadsAttention() if style == "heads" else SdpaAttention()
        self.expand, self.reduce = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.first_norm, self.second_norm = nn.BatchNorm1d(WIDTH), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        shape = x.shape
        x = self.first_norm((x + self.attention(x)).view(-1, WIDTH))
        return self.second_norm(x + self.reduce(F.relu(self.expand(x)))).view(shape)


class AttentionModel(nn.Module):
    """Encoder and greedy decoder; `style` is `heads` or `sdpa`."""

    def __init__(self, style):
        super().__init__()
        self.style = style
        self.embed = nn.Linear(2, WIDTH)
        self.layers = nn.ModuleList(EncoderLayer(style) for _ in range(LAYERS))
        self.tables = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.fixed = nn.Linear(WIDTH, WIDTH, bias=False)
        self.step = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.placeholder = nn.Parameter(torch.rand(2 * WIDTH) * 2 - 1)

    def encode(self, points):
        """Node embeddings `[batch, n, width]` of points `[batch, n, 2]`."""
        x = self.embed(points)
        for layer in self.layers:
            x = layer(x)
        return x

    def glimpse(self, query, key, value, visited):
        """Masked attention of one query per instance; `visited` is `[batch, n]`."""
        query = query.view(-1, HEADS, 1, HEAD)
        if self.style == "sdpa":
            heads = F.scaled_dot_product_attention(query, key, value, attn_mask=~visited[:, None, None])
        else:
            scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(HEAD)
            scores = scores.masked_fill(visited[:, None, None], -math.inf)
            heads = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.out(heads.view(-1, WIDTH))

    def rollout(self, points):
        """Greedy tours of `points`: costs, log-likelihoods and nodes in order."""
        nodes = self.encode(points)
        batch, n, _ = nodes.shape
        fixed = self.fixed(nodes.mean(dim=1))
        key, value, logit_key = self.tables(nodes).chunk(3, dim=-1)
        key, value = (t.view(batch, n, HEADS, HEAD).transpose(1, 2).contiguous() for t in (key, value))
        logit_key = logit_key.contiguous()
        rows = torch.arange(batch)
        visited = torch.zeros(batch, n, dtype=torch.bool)
        context = self.placeholder.expand(batch, 2 * WIDTH)
        tour, log_likelihood = [], 0.0
        for _ in range(n):
            glimpse = self.glimpse(fixed + self.step(context), key, value, visited)
            logits = torch.bmm(logit_key, glimpse[:, :, None]).squeeze(2) / math.sqrt(WIDTH)
            logits = (CLIP * torch.tanh(logits)).masked_fill(visited, -math.inf)
            log_p, node = torch.log_softmax(logits, dim=-1).max(dim=-1)
            log_likelihood = log_likelihood + log_p
            visited = visited.scatter(1, node[:, None], True)
            tour.append(node)
            context = torch.cat((nodes[rows, tour[0]], nodes[rows, node]), dim=-1)
        tour = torch.stack(tour, dim=1)
        ordered = points.gather(1, tour[:, :, None].expand(-1, -1, 2))
        return (ordered - ordered.roll(-1, dims=1)).norm(dim=2).sum(1), log_likelihood, tour


def uniform(*shape):
    """The published initialisation: uniform within one over the square root of the last axis."""
    return (torch.rand(*shape) * 2 - 1) / math.sqrt(shape[-1])


class Cells:
    """Models and inputs, made when first asked for."""

    def __init__(self):
        self.models, self.points = {}, {}

    def run(self, cell, n, style):
        """A function that does one iteration of a cell."""
        if style not in self.models:
            self.models[style] = AttentionModel(style).eval()
        if n not in self.points:
            self.points[n] = torch.rand(BATCH, n, 2)
        model, points = self.models[style], self.points[n]
        if cell == "encoder":
            return lambda: model.encode(points)
        if cell == "rollout":
            return lambda: model.rollout(points)
        raise ValueError(f"unknown cell {cell!r}, expected encoder or rollout")


def timings(run, seconds):
    """Milliseconds of iterations that fill `seconds`, at least one, after one that is not timed."""
    run()
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        run()
        times.append((time.perf_counter() - before) * 1e3)
    return times


def main():
    torch.set_num_threads(int(os.environ.get("BENCH_THREADS", "2")))
    torch.manual_seed(0)
    cells = Cells()
    hello = {
        "worker": "torch",
        "version": torch.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "batch": BATCH,
    }
    print(json.dumps(hello), flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            request = json.loads(line)
            try:
                run = cells.run(request["cell"], request.get("n", 0), request.get("style", "sdpa"))
                answer = {"ms": timings(run, request["seconds"])}
            except (ValueError, KeyError) as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
