"""Training steps of the Attention Model in PyTorch, as the published `train.py` does them, and as POMO's does."""

import copy

import torch
from torch import nn

from torch_network import AttentionModel, InstanceNorm, greedy, lengths, sampled
from torch_trajectories import TrajectoryModel, tour_lengths

LEARNING_RATE, MAX_NORM = 1e-4, 1.0
# Instances of a step of POMO, and the layers of its encoder.
POMO_BATCH, POMO_LAYERS = 64, 6


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


class PomoTrainer:
    """The model of POMO (Kwon et al. 2020) in training mode and its optimiser; an instance's tours are the baseline."""

    def __init__(self, style):
        self.model = TrajectoryModel(style, POMO_LAYERS, InstanceNorm).train()
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)

    def step(self, points):
        """One step with a tour from every node and the gradient through every step of their rollout."""
        log_likelihood, tours = self.model.decode(self.model.encode(points), points.shape[1], given=True)
        self.update(tour_lengths(points, tours), log_likelihood)

    def step_forced(self, points):
        """One step that samples without a gradient, then takes that of all steps in one pass."""
        nodes = self.model.encode(points)
        with torch.no_grad():
            _, tours = self.model.decode(nodes, points.shape[1], given=True)
        self.update(tour_lengths(points, tours), self.model.log_likelihood(nodes, tours))

    def update(self, cost, log_likelihood):
        """Gradient with the mean of an instance's tours as baseline, and Adam."""
        self.optimiser.zero_grad()
        ((cost - cost.mean(dim=1, keepdim=True)) * log_likelihood).mean().backward()
        self.optimiser.step()
