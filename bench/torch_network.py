"""The Attention Model for the travelling salesman problem (Kool et al. 2019) in PyTorch, one tour of each instance.

It is written the two ways in which such models are usually written:

* `heads`: one weight matrix per head and explicit products, softmax and masks, as in the published code;
* `sdpa`: one fused projection and `scaled_dot_product_attention`.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH, WIDTH, HEADS, LAYERS, HIDDEN, CLIP = 512, 128, 8, 3, 512, 10.0
HEAD = WIDTH // HEADS
STYLES = ("heads", "sdpa")


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


class BatchNorm(nn.BatchNorm1d):
    """Normalisation over batch and nodes, per channel (Kool et al. 2019)."""

    def forward(self, x):
        return super().forward(x.view(-1, WIDTH)).view(x.shape)


class InstanceNorm(nn.InstanceNorm1d):
    """Normalisation over the nodes of an instance, per channel (POMO, Kwon et al. 2020)."""

    def __init__(self, width):
        super().__init__(width, affine=True, track_running_stats=False)

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with a skip connection and a normalisation."""

    def __init__(self, style, norm):
        super().__init__()
        self.attention = HeadsAttention() if style == "heads" else SdpaAttention()
        self.expand, self.reduce = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.first_norm, self.second_norm = norm(WIDTH), norm(WIDTH)

    def forward(self, x):
        x = self.first_norm(x + self.attention(x))
        return self.second_norm(x + self.reduce(F.relu(self.expand(x))))


class AttentionModel(nn.Module):
    """Encoder and decoder; `style` is `heads` or `sdpa`."""

    def __init__(self, style, layers=LAYERS, norm=BatchNorm):
        super().__init__()
        self.style = style
        self.embed = nn.Linear(2, WIDTH)
        self.layers = nn.ModuleList(EncoderLayer(style, norm) for _ in range(layers))
        self.tables = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.fixed = nn.Linear(WIDTH, WIDTH, bias=False)
        self.step = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.placeholder = nn.Parameter(torch.rand(2 * WIDTH) * 2 - 1)

    def encode(self, points):
        """Node embeddings `[batch, n, width]` of points `[batch, n, 2]`."""
        return self.mix(self.embed(points))

    def mix(self, x):
        """The layers of the encoder."""
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

    def decoder_tables(self, nodes):
        """Tensors that all steps share: the graph's part of the query, keys, values, and keys of the logits."""
        key, value, logit_key = self.tables(nodes).chunk(3, dim=-1)
        key, value = (split_heads(table).contiguous() for table in (key, value))
        return self.fixed(nodes.mean(dim=1)), key, value, logit_key.contiguous()

    def log_probabilities(self, query, tables, barred):
        """Log-probabilities `[batch, n]` of a step; `query` is without the graph's part."""
        fixed, key, value, logit_key = tables
        glimpse = self.glimpse(fixed + query, key, value, barred)
        logits = torch.bmm(logit_key, glimpse[:, :, None]).squeeze(2) / math.sqrt(WIDTH)
        return torch.log_softmax((CLIP * torch.tanh(logits)).masked_fill(barred, -math.inf), dim=-1)

    def decode(self, nodes, choose):
        """Tours from node embeddings, one step after the other: log-likelihoods, and nodes in order.

        `choose` gives for the log-probabilities `[batch, n]` of a step those of the nodes chosen, and the nodes.
        """
        batch, n, _ = nodes.shape
        tables = self.decoder_tables(nodes)
        visited = torch.zeros(batch, n, dtype=torch.bool)
        context = self.placeholder.expand(batch, 2 * WIDTH)
        first, tour, log_likelihood = None, [], 0.0
        for _ in range(n):
            log_p, node = choose(self.log_probabilities(self.step(context), tables, visited))
            log_likelihood = log_likelihood + log_p
            visited = visited.scatter(1, node[:, None], True)
            tour.append(node)
            here = take(nodes, node[:, None]).squeeze(1)
            first = here if first is None else first
            context = torch.cat((first, here), dim=-1)
        return log_likelihood, torch.stack(tour, dim=1)

    def rollout(self, points, choose):
        """Tours of `points`: costs, log-likelihoods and nodes in order."""
        log_likelihood, tour = self.decode(self.encode(points), choose)
        return lengths(points, tour), log_likelihood, tour

    def log_likelihood(self, nodes, tour):
        """Log-likelihoods of given tours, all steps in one pass.

        Nodes are taken in the order of the tour backwards: the step at a position then sees the keys up to that
        position, which is the causal mask, and chooses the node at that position, which is the diagonal.
        """
        batch, n, _ = nodes.shape
        ordered = take(nodes, tour.flip(1))
        key, value, logit_key = self.tables(ordered).chunk(3, dim=-1)
        weight_first, weight_last = self.step.weight.chunk(2, dim=1)
        later = F.linear(ordered[:, 1:], weight_last) + F.linear(ordered[:, -1], weight_first)[:, None]
        start = self.step(self.placeholder).expand(batch, 1, WIDTH)
        query = self.fixed(nodes.mean(dim=1))[:, None] + torch.cat((later, start), dim=1)
        query, key, value = (split_heads(table) for table in (query, key, value))
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
        if self.style == "sdpa":
            heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(HEAD)
            heads = torch.matmul(torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1), value)
        glimpse = self.out(heads.transpose(1, 2).reshape(batch, n, WIDTH))
        logits = torch.bmm(glimpse, logit_key.transpose(1, 2)) / math.sqrt(WIDTH)
        logits = (CLIP * torch.tanh(logits)).masked_fill(hidden, -math.inf)
        return torch.log_softmax(logits, dim=-1).diagonal(dim1=1, dim2=2).sum(1)


def greedy(log_p):
    """Chooses the likeliest node."""
    return log_p.max(dim=-1)


def sampled(log_p):
    """Chooses a node at random."""
    node = log_p.exp().flatten(0, -2).multinomial(1).view(*log_p.shape[:-1], 1)
    return log_p.gather(-1, node).squeeze(-1), node.squeeze(-1)


def lengths(points, tour):
    """Lengths of closed tours."""
    ordered = take(points, tour)
    return (ordered - ordered.roll(-1, dims=1)).norm(dim=2).sum(1)


def take(rows, index):
    """The rows `[batch, k, width]` of `[batch, n, width]` that `[batch, k]` names."""
    return rows[torch.arange(rows.shape[0])[:, None], index]


def split_heads(rows):
    """`[batch, n, width]` as `[batch, heads, n, width / heads]`."""
    return rows.view(rows.shape[0], -1, HEADS, HEAD).transpose(1, 2)


def uniform(*shape):
    """The published initialisation: uniform within one over the square root of the last axis."""
    return (torch.rand(*shape) * 2 - 1) / math.sqrt(shape[-1])
