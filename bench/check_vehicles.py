#!/usr/bin/env python3
"""Checks that both sides of the `cvrp` cell do the same work.

    PYTHON_WITH_TORCH bench/check_vehicles.py

Our worker is built and writes weights, instances and its walks through them; PyTorch's greedy routes for the same have
to be the same walks in both styles of writing, but for a few in which two nodes are equally likely within rounding.
"""

import os
import tempfile

import torch

import torch_weights
import workers
from torch_network import STYLES
from torch_vehicles import VehicleModel

SIZES, SAME = (50, 100), 0.98


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= workers.write_vehicles(workers.build_regard(), folder)
        for style in STYLES:
            model = VehicleModel(style).eval()
            for customers in SIZES:
                check(model, customers)
    print("ok")


def check(model, customers):
    """The walks of the other side are routes, and PyTorch's are the same."""
    instances = torch_weights.read(f"cvrp-{customers}")
    points, demands, expected = instances["points"], instances["demands"], instances["walks"].long()
    check_routes(expected, demands)
    with torch.inference_mode():
        costs, found = model.rollout(points, demands)
    check_routes(found, demands)
    steps = max(found.shape[1], expected.shape[1])
    filled = [torch.nn.functional.pad(walks, (0, steps - walks.shape[1])) for walks in (found, expected)]
    same = (filled[0] == filled[1]).all(dim=1).float().mean().item()
    print(f"{model.style}, {customers} customers: {same:.1%} of the walks are the same, mean cost {costs.mean():.4f}")
    assert same >= SAME, "the two sides build different routes"


def check_routes(walks, demands):
    """Every customer is visited once, and no vehicle carries more than its capacity."""
    used = torch.zeros(len(walks))
    counts = torch.zeros_like(demands)
    for here in walks.T:
        used = (used + demands.gather(1, here[:, None]).squeeze(1)) * (here != 0)
        assert (used <= 1 + 1e-5).all(), "a vehicle carries too much"
        counts = counts.scatter_add(1, here[:, None], torch.ones(len(walks), 1))
    assert (counts[:, 1:] == 1).all(), "a customer is not visited once"


if __name__ == "__main__":
    main()
