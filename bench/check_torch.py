#!/usr/bin/env python3
"""Checks the PyTorch side of the comparison against itself.

    PYTHON_WITH_TORCH bench/check_torch.py

For tours that were sampled step by step, the one-pass form gives the same log-likelihoods and the same gradient, for
one tour of each instance and for many; the two styles of writing give the same embeddings and likelihoods for the same
weights; one training step of each kind runs.
"""

import torch

import torch_weights
from torch_network import STYLES, WIDTH, AttentionModel, InstanceNorm, greedy, sampled
from torch_training import PomoTrainer, Trainer
from torch_trajectories import RepeatedModel, TrajectoryModel, tour_lengths

INSTANCES, SIZES = 16, (2, 5, 20)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for n in SIZES:
        points = torch.rand(INSTANCES, n, 2)
        for style in STYLES:
            check_likelihood(style, points)
            if n > 2:
                check_trajectories(style, points)
            check_steps(style, points)
            check_best(style, points)
        check_styles(points)
    print("ok")


def check_likelihood(style, points):
    """Step by step and in one pass: log-likelihoods and gradients of the same tours."""
    model = AttentionModel(style).train()
    nodes = model.encode(points)
    stepwise, tour = model.decode(nodes, sampled)
    once = model.log_likelihood(nodes, tour)
    assert torch.equal(tour.sort(dim=1).values, torch.arange(points.shape[1]).expand_as(tour)), "not a tour"
    same_gradients(model, stepwise, once, f"{style}, n = {points.shape[1]}")


def check_trajectories(style, points):
    """The same with a tour from every node, all of them given their first nodes."""
    n = points.shape[1]
    model = TrajectoryModel(style, 2, InstanceNorm).train()
    nodes = model.encode(points)
    stepwise, tours = model.decode(nodes, n, given=True)
    assert torch.equal(tours.sort(dim=2).values, torch.arange(n).expand_as(tours)), "not tours"
    assert torch.equal(tours[:, :, 0], torch.arange(n).expand(INSTANCES, n)), "other first nodes than those given"
    same_gradients(model, stepwise, model.log_likelihood(nodes, tours), f"trajectories, {style}, n = {n}")


def same_gradients(model, stepwise, once, name):
    """Two forms of the same log-likelihoods are equal, and so are their gradients."""
    close(once, stepwise, f"log-likelihood, {name}")
    weight = torch.randn_like(once)
    names, parameters = zip(*model.named_parameters())
    # Tours that are given their first nodes do not use the placeholder.
    kept = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    gradients = [torch.autograd.grad((weight * value).sum(), parameters, **kept) for value in (stepwise, once)]
    scale = torch.cat([gradient.flatten() for gradient in gradients[0]]).norm() / 1e2
    for parameter, expected, found in zip(names, *gradients):
        close(found / scale, expected / scale, f"gradient of {parameter}, {name}")


def check_best(style, points):
    """The best of many sampled tours is a tour, of the length given, and about as long in one form as in the other."""
    found, repeated, shared = [], RepeatedModel(style).eval(), TrajectoryModel(style).eval()
    shared.load_state_dict(repeated.state_dict())
    with torch.inference_mode():
        for model in (repeated, shared):
            length, tour = model.best(points[:1])
            assert torch.equal(tour.sort(dim=1).values, torch.arange(points.shape[1])[None]), "not a tour"
            close(tour_lengths(points[:1], tour[:, None]).squeeze(1), length, f"length of the best tour, {style}")
            found.append(length.item())
    assert max(found) < 1.25 * min(found), f"{style}: the best tours of both forms are {found} long"


def check_styles(points):
    """The same weights in both styles give the same embeddings and tours."""
    heads, sdpa = AttentionModel("heads").eval(), AttentionModel("sdpa").eval()
    weights = heads.state_dict()
    for layer in range(len(heads.layers)):
        prefix = f"layers.{layer}.attention."
        per_head = [weights.pop(prefix + name) for name in ("query", "key", "value", "out")]
        weights |= {prefix + name: value for name, value in torch_weights.attention(per_head, "sdpa").items()}
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
        "pomo": lambda trainer: trainer.step(points),
        "pomo-forced": lambda trainer: trainer.step_forced(points),
    }
    for cell, step in steps.items():
        trainer = PomoTrainer(style) if cell.startswith("pomo") else Trainer(style)
        before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        step(trainer)
        for name, value in trainer.model.state_dict().items():
            assert value.isfinite().all(), f"{cell}, {style}: {name} is not finite"
            trained = name.startswith(("embed", "layers")) or cell != "train-encoder"
            # Given first nodes leave the placeholder without a gradient.
            trained = trained and not (cell.startswith("pomo") and name == "placeholder")
            if points.shape[1] > 5:
                assert trained != torch.equal(value, before[name]), f"{cell}, {style}: {name}, trained: {trained}"
        frozen = {} if cell.startswith("pomo") else trainer.baseline.state_dict()
        for name, value in frozen.items():
            assert torch.equal(value, before[name]), f"{cell}, {style}: {name} of the baseline changed"


def close(found, expected, name):
    """Fails when two tensors differ by more than single precision explains."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3, msg=lambda words: f"{name}: {words}")


if __name__ == "__main__":
    main()
