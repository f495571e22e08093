"""Training steps of the Attention Model in PyTorch, as the published `train.py` does them."""

import copy

import torch
from torch import nn

from torch_network import AttentionModel, greedy, lengths, sampled

LEARNING_RATE, MAX_NORM = 1e-4, 1.0


class Trainer:
    """A model in training mode, its optimiser, and the frozen copy whose greedy tours are the baseline."""

    def __init__(self, style):
        self.model = AttentionModel(style).train()
        self.baseline = copy.deepcopy(self.model).eval().requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)

    def encoder(self, points, cotangent):
        """One step of the encoder alone; the loss is the sum of the embeddings times a fixed tensor."""
        self.update((self.model.encode(points) * cotangent).sum())

    def reinforce(self, points):
        """One step of REINFORCE with the gradient through every step of the rollout."""
        baseline = self.baseline_costs(points)
        cost, log_likelihood, _ = self.model.rollout(points, sampled)
        self.update(((cost - baseline) * log_likelihood).mean())

    def reinforce_forced(self, points):
        """One step of REINFORCE that samples without a gradient, then takes that of all steps in one pass."""
        baseline = self.baseline_costs(points)
        nodes = self.model.encode(points)
        with torch.no_grad():
            _, tour = self.model.decode(nodes, sampled)
        log_likelihood = self.model.log_likelihood(nodes, tour)
        self.update(((lengths(points, tour) - baseline) * log_likelihood).mean())

    def baseline_costs(self, points):
        """Costs of the frozen copy's greedy tours."""
        with torch.no_grad():
            return self.baseline.rollout(points, greedy)[0]

    def update(self, loss):
        """Gradient, limit of its norm over all parameters, and Adam."""
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.optimiser.step()
