"""Induced set attention (Lee et al. 2019, section 3.1) in PyTorch, as the authors write it.

* `heads`: heads side by side in the batch, explicit products and softmax, as in the published code;
* `sdpa`: the same with `scaled_dot_product_attention`.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

SETS, INDUCING, WIDTH, HEADS = 10, 32, 128, 4


class Block(nn.Module):
    """The authors' MAB without norms: projections, attention, residuals, one feed-forward layer."""

    def __init__(self, style):
        super().__init__()
        self.style = style
        self.query, self.key, self.value, self.feed = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, y):
        query, key, value = self.query(x), self.key(y), self.value(y)
        x = query + (self.explicit if self.style == "heads" else self.fused)(query, key, value)
        return x + F.relu(self.feed(x))

    @staticmethod
    def explicit(query, key, value):
        """Attention with the heads stacked in the batch."""
        stacked = lambda rows: torch.cat(rows.split(WIDTH // HEADS, 2), 0)
        scores = stacked(query).bmm(stacked(key).transpose(1, 2)) / math.sqrt(WIDTH)
        heads = torch.softmax(scores, 2).bmm(stacked(value))
        return torch.cat(heads.split(query.size(0), 0), 2)

    @staticmethod
    def fused(query, key, value):
        """Attention by PyTorch's own function."""
        split = lambda rows: rows.view(*rows.shape[:2], HEADS, -1).transpose(1, 2)
        heads = F.scaled_dot_product_attention(split(query), split(key), split(value), scale=1 / math.sqrt(WIDTH))
        return heads.transpose(1, 2).reshape(query.shape)


class InducedBlock(nn.Module):
    """ISAB: inducing points look at the items, the items look at what they saw."""

    def __init__(self, style):
        super().__init__()
        bound = math.sqrt(6 / (WIDTH * (INDUCING + 1)))
        self.inducing = nn.Parameter(torch.empty(1, INDUCING, WIDTH).uniform_(-bound, bound))
        self.first, self.second = Block(style), Block(style)

    def forward(self, x):
        return self.second(x, self.first(self.inducing.repeat(x.size(0), 1, 1), x))


def evaluation(block, n):
    """An iteration in evaluation mode."""
    x = torch.randn(SETS, n, WIDTH)
    return torch.inference_mode()(lambda: block(x))


def training(block, n):
    """Forward and backward, down to the items."""
    x, cotangent = torch.randn(SETS, n, WIDTH, requires_grad=True), torch.randn(SETS, n, WIDTH)

    def step():
        x.grad = None
        block.zero_grad(set_to_none=True)
        block(x).backward(cotangent)

    return step
