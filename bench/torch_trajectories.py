"""Many tours of each instance in PyTorch.

* `RepeatedModel` repeats an instance for each of its tours, as the published code of the Attention Model does;
* `TrajectoryModel` takes a step of all tours of an instance as one product with its tables, which they share, as the
  published code of POMO does (Kwon et al. 2020).
"""

import math

import torch
import torch.nn.functional as F

from torch_network import CLIP, HEAD, WIDTH, AttentionModel, lengths, sampled, split_heads

# Tours of the one instance of the `sampling` cell.
SAMPLES = 1280


class RepeatedModel(AttentionModel):
    """The Attention Model with many tours of one instance, which is encoded once."""

    def decoder_tables(self, nodes):
        """The tables of the one instance, for each of its copies `[batch, n, width]`."""
        fixed, key, value, logit_key = (
            table.expand(len(nodes), *table.shape[1:]) for table in super().decoder_tables(nodes[:1])
        )
        if self.style == "heads":
            # A product of matrices would copy them at every step.
            key, value = key.contiguous(), value.contiguous()
        return fixed, key, value, logit_key

    def best(self, points):
        """The shortest of the tours sampled for an instance `[1, n, 2]`: lengths `[1]` and nodes in order."""
        _, tours = self.decode(self.encode(points).expand(SAMPLES, -1, -1), sampled)
        length, best = lengths(points.expand(SAMPLES, -1, -1), tours).min(dim=0, keepdim=True)
        return length, tours[best]


class TrajectoryModel(AttentionModel):
    """The Attention Model, decoding `[batch, trajectories]` tours."""

    def glimpses(self, query, key, value, barred):
        """Masked attention of `query [batch, steps, width]`; `barred` is `[batch, steps, n]`."""
        query = split_heads(query)
        if self.style == "sdpa":
            heads = F.scaled_dot_product_attention(query, key, value, attn_mask=~barred[:, None])
        else:
            scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(HEAD)
            heads = torch.matmul(torch.softmax(scores.masked_fill(barred[:, None], -math.inf), dim=-1), value)
        return self.out(heads.transpose(1, 2).flatten(2))

    def log_probabilities(self, query, tables, barred):
        """Log-probabilities `[batch, steps, n]` of steps; `query` is without the graph's part."""
        fixed, key, value, logit_key = tables
        glimpse = self.glimpses(fixed[:, None] + query, key, value, barred)
        logits = torch.bmm(glimpse, logit_key.transpose(1, 2)) / math.sqrt(WIDTH)
        return torch.log_softmax((CLIP * torch.tanh(logits)).masked_fill(barred, -math.inf), dim=-1)

    def decode(self, nodes, count, given):
        """`count` sampled tours of each instance, step by step: log-likelihoods `[batch, count]`, and nodes in order.

        Tours that are `given` their first nodes begin at different ones, spread over all.
        """
        batch, n, _ = nodes.shape
        tables, (from_first, from_last) = self.decoder_tables(nodes), self.step.weight.chunk(2, dim=1)
        barred = torch.zeros(batch, count, n, dtype=torch.bool)
        log_likelihood = 0.0
        if given:
            node = (torch.arange(count) * n // count).expand(batch, count)
        else:
            query = self.step(self.placeholder).expand(batch, count, WIDTH)
            log_likelihood, node = sampled(self.log_probabilities(query, tables, barred))
        tour, first = [node], F.linear(rows_of(nodes, node), from_first)
        for _ in range(n - 1):
            barred = barred.scatter(2, node[:, :, None], True)
            query = first + F.linear(rows_of(nodes, node), from_last)
            log_p, node = sampled(self.log_probabilities(query, tables, barred))
            log_likelihood = log_likelihood + log_p
            tour.append(node)
        return log_likelihood, torch.stack(tour, dim=2)

    def log_likelihood(self, nodes, tours):
        """Log-likelihoods `[batch, count]` of tours `[batch, count, n]` with given first nodes, in one pass."""
        batch, count, n = tours.shape
        from_first, from_last = self.step.weight.chunk(2, dim=1)
        first = rows_of(F.linear(nodes, from_first), tours[:, :, 0])
        last = rows_of(F.linear(nodes, from_last), tours[:, :, :-1].flatten(1)).view(batch, count, n - 1, WIDTH)
        query = (first[:, :, None] + last).flatten(1, 2)
        barred = tours.argsort(dim=2)[:, :, None] <= torch.arange(n - 1)[:, None]
        log_p = self.log_probabilities(query, self.decoder_tables(nodes), barred.flatten(1, 2))
        return log_p.gather(2, tours[:, :, 1:].flatten(1)[:, :, None]).view(batch, count, n - 1).sum(2)

    def best(self, points):
        """The shortest of sampled tours of each instance, which is encoded once: lengths and nodes in order."""
        _, tours = self.decode(self.encode(points), SAMPLES, given=False)
        length, best = tour_lengths(points, tours).min(dim=1)
        return length, tours[torch.arange(len(tours)), best]


def tour_lengths(points, tours):
    """Lengths `[batch, count]` of closed tours `[batch, count, n]`."""
    count = tours.shape[1]
    repeated = points[:, None].expand(-1, count, -1, -1).flatten(0, 1)
    return lengths(repeated, tours.flatten(0, 1)).view(-1, count)


def rows_of(rows, index):
    """The rows `[batch, k, width]` of `[batch, n, width]` that `[batch, k]` names, as published code gathers them."""
    return rows.gather(1, index[:, :, None].expand(-1, -1, rows.shape[2]))
