"""The Attention Model for vehicle routing (Kool et al. 2019) in PyTorch: greedy routes, as in the published code."""

import torch
from torch import nn

import torch_weights
from torch_network import WIDTH, AttentionModel, greedy, lengths, take


class VehicleModel(AttentionModel):
    """Encoder and decoder with the weights that both sides share; node 0 is the depot."""

    def __init__(self, style):
        super().__init__(style)
        del self.placeholder
        self.embed, self.depot = nn.Linear(3, WIDTH), nn.Linear(2, WIDTH)
        self.step = nn.Linear(WIDTH + 1, WIDTH, bias=False)
        self.load_state_dict(torch_weights.renamed(torch_weights.read("weights"), style))

    def encode(self, points, demands):
        """Node embeddings `[batch, n, width]` of points `[batch, n, 2]` and demands `[batch, n]` in capacities."""
        customers = torch.cat((points[:, 1:], demands[:, 1:, None]), dim=2)
        return self.mix(torch.cat((self.depot(points[:, :1]), self.embed(customers)), dim=1))

    def rollout(self, points, demands):
        """Costs of greedy routes, and nodes `[batch, steps]` in order; those done wait at the depot for the others."""
        nodes = self.encode(points, demands)
        batch, n, _ = nodes.shape
        tables = self.decoder_tables(nodes)
        visited = torch.zeros(batch, n, dtype=torch.bool)
        here, used, walk = torch.zeros(batch, dtype=torch.long), torch.zeros(batch), []
        while not visited[:, 1:].all():
            context = torch.cat((take(nodes, here[:, None]).squeeze(1), 1 - used[:, None]), dim=-1)
            barred = closed(visited, demands, here, used)
            _, here = greedy(self.log_probabilities(self.step(context), tables, barred))
            used = (used + demands.gather(1, here[:, None]).squeeze(1)) * (here != 0)
            visited = visited.scatter(1, here[:, None], True)
            walk.append(here)
        walk = torch.stack(walk, dim=1)
        start = torch.zeros(batch, 1, dtype=torch.long)
        return lengths(points, torch.cat((start, walk), dim=1)), walk


def closed(visited, demands, here, used):
    """Nodes that may not be next: customers visited or too large, and the depot again while a customer may be."""
    customers = visited[:, 1:] | (demands[:, 1:] + used[:, None] > 1)
    depot = (here == 0) & ~customers.all(dim=1)
    return torch.cat((depot[:, None], customers), dim=1)
