"""Cells of the PyTorch worker: one iteration of each, with its model and input."""

import torch

import torch_graphs
import torch_series
import torch_sets
import torch_weights
from torch_network import BATCH, STYLES, WIDTH, AttentionModel, greedy
from torch_training import POMO_BATCH, PomoTrainer, Trainer
from torch_trajectories import RepeatedModel, TrajectoryModel
from torch_vehicles import VehicleModel

EVALUATION = ("encoder", "rollout", "cvrp", "sampling", "sampling-shared", "isab", "molecules", "blocks", "etth1", "etth1-tfb")
TRAINING = ("train-encoder", "reinforce", "reinforce-forced", "pomo", "pomo-forced", "train-isab", "train-molecules")
TRAINING += ("train-blocks", "train-etth1", "train-etth1-tfb")


class Cells:
    """Models and inputs, made when first asked for."""

    def __init__(self):
        self.kept = {}

    def run(self, cell, n, style):
        """A function that does one iteration of a cell."""
        known = EVALUATION + TRAINING
        if cell not in known or style not in STYLES:
            raise ValueError(f"unknown cell {cell!r} or style {style!r}, expected one of {known} and {STYLES}")
        if cell in EVALUATION:
            return torch.inference_mode()(self.evaluation(cell, n, style))
        return self.training(cell, n, style)

    def evaluation(self, cell, n, style):
        """An iteration in evaluation mode."""
        if cell in ("molecules", "blocks"):
            return torch_graphs.evaluation(self.graphs(cell, style), n)
        if cell.startswith("etth1"):
            return torch_series.evaluation(*self.series(cell, style), n)
        if cell == "isab":
            return torch_sets.evaluation(self.made(("isab", style), lambda: torch_sets.InducedBlock(style)), n)
        if cell == "cvrp":
            model = self.made(("vehicles", style), lambda: VehicleModel(style).eval())
            instances = self.made(("vehicles", n), lambda: torch_weights.read(f"cvrp-{n}"))
            return lambda: model.rollout(instances["points"], instances["demands"])
        if cell.startswith("sampling"):
            maker = RepeatedModel if cell == "sampling" else TrajectoryModel
            model = self.made((cell, style), lambda: maker(style).eval())
            points = self.points(1, n)
            return lambda: model.best(points)
        model = self.made(("tours", style), lambda: AttentionModel(style).eval())
        points = self.points(BATCH, n)
        return (lambda: model.encode(points)) if cell == "encoder" else (lambda: model.rollout(points, greedy))

    def training(self, cell, n, style):
        """A training step."""
        if cell in ("train-molecules", "train-blocks"):
            return torch_graphs.training(self.graphs(cell, style), n)
        if cell.startswith("train-etth1"):
            return torch_series.training(*self.series(cell, style), n)
        if cell == "train-isab":
            return torch_sets.training(self.made(("isab", style), lambda: torch_sets.InducedBlock(style)), n)
        if cell.startswith("pomo"):
            trainer, points = self.made((cell, style), lambda: PomoTrainer(style)), self.points(POMO_BATCH, n)
            step = trainer.step if cell == "pomo" else trainer.step_forced
            return lambda: step(points)
        trainer, points = self.made((cell, style), lambda: Trainer(style)), self.points(BATCH, n)
        if cell == "train-encoder":
            cotangent = self.made(("cotangent", n), lambda: torch.randn(BATCH, n, WIDTH))
            return lambda: trainer.encoder(points, cotangent)
        step = trainer.reinforce if cell == "reinforce" else trainer.reinforce_forced
        return lambda: step(points)

    def graphs(self, cell, style):
        """A network on molecules or on graphs of communities."""
        kind = torch_graphs.MOLECULES if cell.endswith("molecules") else torch_graphs.BLOCKS
        return self.made((cell, style), lambda: torch_graphs.GraphTransformer(kind, style))

    def series(self, cell, style):
        """The settings of a network on time series, and the network."""
        kind = torch_series.TFB if cell.endswith("tfb") else torch_series.OFFICIAL
        return kind, self.made((cell, style), lambda: torch_series.PatchTST(kind, style))

    def points(self, batch, n):
        """Instances `[batch, n, 2]`."""
        return self.made(("points", batch, n), lambda: torch.rand(batch, n, 2))

    def made(self, key, make):
        """The value of a key, made when it is missing."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]
