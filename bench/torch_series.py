"""PatchTST in PyTorch with the settings of its authors and of TFB for ETTh1.

* `heads`: scores by a matrix product, softmax, and a second product;
* `sdpa`: `scaled_dot_product_attention` where no scores are carried from layer to layer.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS, PATCH, STRIDE = 7, 16, 8
# Look-back, horizon, width, heads, hidden width, layers, dropout, and whether the form is the authors'.
OFFICIAL, TFB = (336, 96, 16, 4, 128, 3, 0.3, True), (512, 192, 128, 8, 512, 2, 0.1, False)


class Layer(nn.Module):
    """Attention among patches and a feed-forward part, a norm behind each."""

    def __init__(self, kind, style):
        super().__init__()
        _, _, width, self.heads, hidden, _, rate, self.official = kind
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, hidden), nn.Linear(hidden, width)
        norm = nn.BatchNorm1d if self.official else nn.LayerNorm
        self.first, self.second = norm(width), norm(width)
        self.rate, self.drop, self.style = rate, nn.Dropout(rate), style

    def normed(self, norm, x):
        return norm(x.transpose(1, 2)).transpose(1, 2) if self.official else norm(x)

    def forward(self, x, before):
        rows, patches, width = x.shape
        q, k, v = (f(x).view(rows, patches, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        if self.official or self.style == "heads":
            scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
            if self.official:
                before = scores = scores if before is None else scores + before
            weights = scores.softmax(-1)
            attended = (weights if self.official else self.drop(weights)) @ v
        else:
            attended = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate if self.training else 0.0)
        predicted = self.drop(self.out(attended.transpose(1, 2).reshape(rows, patches, width)))
        x = self.normed(self.first, x + (self.drop(predicted) if self.official else predicted))
        predicted = self.drop(self.outer(self.drop(F.gelu(self.inner(x)))))
        return self.normed(self.second, x + predicted), before


class PatchTST(nn.Module):
    """Windows normalised, cut, encoded, read out."""

    def __init__(self, kind, style):
        super().__init__()
        look_back, horizon, width, _, _, layers, rate, self.official = kind
        self.patches = (look_back + STRIDE - PATCH) // STRIDE + 1
        self.embed = nn.Linear(PATCH, width, bias=self.official)
        places = torch.empty(self.patches, width).uniform_(-0.02, 0.02)
        self.places = nn.Parameter(places) if self.official else nn.Buffer(places)
        self.layers = nn.ModuleList(Layer(kind, style) for _ in range(layers))
        self.last = nn.Identity() if self.official else nn.LayerNorm(width)
        self.head, self.drop = nn.Linear(width * self.patches, horizon), nn.Dropout(rate)

    def forward(self, x):
        mean = x.mean(2, keepdim=True).detach()
        deviation = torch.sqrt(x.var(2, keepdim=True, unbiased=False) + 1e-5).detach()
        patches = F.pad((x - mean) / deviation, (0, STRIDE), mode="replicate").unfold(2, PATCH, STRIDE)
        rows = self.drop(self.embed(patches.flatten(0, 1)) + self.places)
        before = None
        for layer in self.layers:
            rows, before = layer(rows, before)
        predicted = self.head(self.last(rows).transpose(1, 2).flatten(1)).view(*x.shape[:2], -1)
        return (predicted if self.official else self.drop(predicted)) * deviation + mean


def evaluation(kind, model, windows):
    """A forecast of a batch of windows."""
    x = torch.rand(windows, CHANNELS, kind[0]) - 0.5
    model.eval()
    return lambda: model(x)


def training(kind, model, windows):
    """A training step on a batch of windows."""
    x, target = (torch.rand(windows, CHANNELS, length) - 0.5 for length in kind[:2])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    model.train()

    def step():
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()
        optimizer.step()

    return step
