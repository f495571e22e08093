#!/usr/bin/env python3
"""Checks the PyTorch side of the comparison against itself.

    PYTHON_WITH_TORCH bench/check_torch.py

For tours that were sampled step by step, the one-pass form gives the same log-likelihoods and the same gradient; the
two styles of writing give the same embeddings and likelihoods for the same weights; one training step of each kind runs.
"""

import torch

from torch_network import HEADS, STYLES, WIDTH, AttentionModel, greedy, sampled
from torch_training import Trainer

INSTANCES, SIZES = 16, (2, 5, 20)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for n in SIZES:
        points = torch.rand(INSTANCES, n, 2)
        for style in STYLES:
            check_likelihood(style, points)
            check_steps(style, points)
        check_styles(points)
    print("ok")


def check_likelihood(style, points):
    """Step by step and in one pass: log-likelihoods and gradients of the same tours."""
    model = AttentionModel(style).train()
    nodes = model.encode(points)
    stepwise, tour = model.decode(nodes, sampled)
    once = model.log_likelihood(nodes, tour)
    assert torch.equal(tour.sort(dim=1).values, torch.arange(points.shape[1]).expand_as(tour)), "not a tour"
    close(once, stepwise, f"log-likelihood, {style}, n = {points.shape[1]}")
    weight = torch.randn(INSTANCES)
    names, parameters = zip(*model.named_parameters())
    gradients = [
        torch.autograd.grad((weight * value).sum(), parameters, retain_graph=True) for value in (stepwise, once)
    ]
    scale = torch.cat([gradient.flatten() for gradient in gradients[0]]).norm() / 1e2
    for name, expected, found in zip(names, *gradients):
        close(found / scale, expected / scale, f"gradient of {name}, {style}, n = {points.shape[1]}")


def check_styles(points):
    """The same weights in both styles give the same embeddings and tours."""
    heads, sdpa = AttentionModel("heads").eval(), AttentionModel("sdpa").eval()
    weights = heads.state_dict()
    for layer in range(len(heads.layers)):
        prefix = f"layers.{layer}.attention."
        query, key, value, out = (weights.pop(prefix + name) for name in ("query", "key", "value", "out"))
        columns = [part.permute(0, 2, 1).reshape(WIDTH, WIDTH) for part in (query, key, value)]
        weights[prefix + "project.weight"] = torch.cat(columns)
        weights[prefix + "out.weight"] = out.reshape(HEADS * (WIDTH // HEADS), WIDTH).T
    sdpa.load_state_dict(weights)
    with torch.inference_mode():
        close(sdpa.encode(points), heads.encode(points), "embeddings of both styles")
        _, tour = heads.decode(heads.encode(points), greedy)
        likelihoods = [model.log_likelihood(model.encode(points), tour) for model in (sdpa, heads)]
        close(*likelihoods, "likelihoods of both styles")


def check_steps(style, points):
    """A training step changes every parameter it trains, the running statistics, and never the baseline."""
    steps = {
        "train-encoder": lambda trainer: trainer.encoder(points, torch.randn(*points.shape[:2], WIDTH)),
        "reinforce": lambda trainer: trainer.reinforce(points),
        "reinforce-forced": lambda trainer: trainer.reinforce_forced(points),
    }
    for cell, step in steps.items():
        trainer = Trainer(style)
        before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        step(trainer)
        for name, value in trainer.model.state_dict().items():
            assert value.isfinite().all(), f"{cell}, {style}: {name} is not finite"
            trained = cell != "train-encoder" or name.startswith(("embed", "layers"))
            if points.shape[1] > 5:
                assert trained != torch.equal(value, before[name]), f"{cell}, {style}: {name}, trained: {trained}"
        for name, value in trainer.baseline.state_dict().items():
            assert torch.equal(value, before[name]), f"{cell}, {style}: {name} of the baseline changed"


def close(found, expected, name):
    """Fails when two tensors differ by more than single precision explains."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3, msg=lambda words: f"{name}: {words}")


if __name__ == "__main__":
    main()
