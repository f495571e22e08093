"""Environments of RL4CO as problems of the engine, where RL4CO and torch are installed.

    from rl4co.envs import PDPEnv
    problem = regard.rl4co.Environment(PDPEnv(generator_params={"num_loc": 20}))
    run = regard.train(problem, "runs/pdp", nodes=20)
    out = run.model().decode(problem.generate(100, 20), decode_type="greedy")
    out.reward, out.actions

The rules stay those of the environment: ``env.reset``, ``td["action_mask"]``, ``env.step`` and the reward are called for
whole batches of tensors on the CPU, which share their memory with the arrays of the engine. The reward is that of finished
solutions that followed the masks; ``env.check_solution_validity`` is called by `regard.check_problem`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from regard._arrays import invalid
from regard.problem import Batch, Problem

__all__ = ["Environment"]

#: Features of nodes beside coordinates, numbers of the context, and the dynamic number of nodes, by the environment's name:
#: what RL4CO's own embeddings look at. `$` stands for the scale of a number.
_KNOWN: dict[str, dict[str, Any]] = {
    "tsp": {"nodes": [], "context": [], "once": True},
    "atsp": {},
    "cvrp": {"nodes": ["demand"], "context": [("vehicle_capacity", "-used_capacity")]},
    "sdvrp": {"nodes": ["demand"], "context": [("vehicle_capacity", "-used_capacity")], "dynamic": "demand_with_depot"},
    "op": {"nodes": ["prize"], "context": [("max_length_context", "-tour_length")]},
    "pctsp": {"nodes": ["expected_prize", "penalty"], "context": [("prize_required", "-cur_total_prize")]},
    "spctsp": {"nodes": ["expected_prize", "penalty"], "context": [("prize_required", "-cur_total_prize")]},
    "pdp": {"nodes": ["partner", "is_pickup"], "context": []},
}


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("an environment of RL4CO needs torch and rl4co: pip install rl4co") from error
    return torch


class Environment(Problem):
    """A problem of the engine whose rules are an environment of RL4CO.

    Parameters
    ----------
    env : rl4co.envs.RL4COEnvBase
        The environment, with its generator.
    node_features : sequence of str or callable, optional
        Keys of ``td`` with a number for every node or every customer, or a function of ``td`` that gives a tensor (batch,
        nodes, features) beside the coordinates. By default those that RL4CO's embeddings of this environment look at.
    context : sequence of str or callable, optional
        Keys of ``td`` with a number for every solution, or a function of ``td`` that gives a tensor (batch, numbers).
    dynamic : str or callable, optional
        A key of ``td`` with a number for every node that changes from step to step, or a function.
    depot : bool, optional
        If true, node 0 is a depot; by default where ``td`` has the key ``depot`` or the environment is known to.
    every_node_once : bool, optional
        If true, every node is visited once.
    name : str, optional
        By default that of the environment with ``rl4co-`` before it.
    """

    def __init__(
        self,
        env: Any,
        *,
        node_features: Sequence[str] | Callable[[Any], Any] | None = None,
        context: Sequence[str] | Callable[[Any], Any] | None = None,
        dynamic: str | Callable[[Any], Any] | None = None,
        depot: bool | None = None,
        every_node_once: bool | None = None,
        name: str | None = None,
    ) -> None:
        _torch()
        self.env = env
        known = _KNOWN.get(str(env.name), {})
        if not known and (node_features is None or context is None):
            hint = "give node_features= and context=: keys of td, or functions of it"
            raise invalid("env", f"is {env.name!r}, whose features are not known", hint)
        self.name = name or f"rl4co-{str(env.name).replace('_', '-')}"
        self.every_node_once = bool(known.get("once", False)) if every_node_once is None else every_node_once
        self.depot = not self.every_node_once if depot is None else depot
        self._node_features = known.get("nodes", []) if node_features is None else node_features
        self._context = known.get("context", []) if context is None else context
        self._dynamic = known.get("dynamic") if dynamic is None else dynamic

    # Tensors and arrays share their memory.

    def _arrays(self, td: Any) -> Batch:
        return {key: value.numpy() for key, value in td.items() if hasattr(value, "numpy")}

    def _td(self, batch: Mapping[str, npt.NDArray[Any]]) -> Any:
        torch = _torch()
        from tensordict import TensorDict

        rows = len(next(iter(batch.values())))
        tensors = {key: torch.from_numpy(np.require(value, requirements="W")) for key, value in batch.items()}
        return TensorDict(tensors, batch_size=[rows])

    def draw(self, rng: np.random.Generator, batch: int, nodes: int) -> Batch:
        """Instances of the environment's own generator; its size is that of the environment."""
        torch = _torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63 - 1)))
            generated = self.env.generator(batch_size=[batch])
        size = getattr(self.env.generator, "num_loc", nodes)
        if size != nodes:
            raise invalid("nodes", f"is {nodes}, but the environment generates {size}", f"give nodes={size}")
        arrays = self._arrays(generated)
        # As RL4CO's reset puts it: the depot is the first of the places.
        if "depot" in arrays:
            arrays["given_locs"] = arrays["locs"]
            arrays["locs"] = np.concatenate([arrays["depot"][:, None], arrays["locs"]], axis=1)
        return arrays

    def _smallest(self) -> int:
        # A generator of RL4CO makes instances of one size.
        return int(getattr(self.env.generator, "num_loc", super()._smallest()))

    def _start(self, instances: Batch) -> Any:
        given = {key: value for key, value in instances.items() if key not in ("locs", "given_locs")}
        given["locs"] = instances["given_locs"] if "given_locs" in instances else instances["locs"]
        return self.env.reset(self._td({key: value.copy() for key, value in given.items()}))

    def _column(self, td: Any, key: str) -> Any:
        torch = _torch()
        nodes = td["locs"].shape[1]
        pairs = (nodes - 1) // 2
        if key == "partner":
            locs = td["locs"]
            return torch.cat([torch.zeros_like(locs[:, :1]), locs[:, 1 + pairs :], locs[:, 1 : 1 + pairs]], 1)
        if key == "is_pickup":
            flags = torch.zeros_like(td["locs"][..., :1])
            flags[:, 1 : 1 + pairs] = 1
            return flags
        if key not in td.keys():
            raise invalid(f"key {key!r}", f"is not in td, which has {', '.join(sorted(td.keys()))}")
        values = td[key].float()
        values = values[..., None] if values.ndim == 2 else values
        if values.shape[1] == nodes - 1:
            values = torch.cat([torch.zeros_like(values[:, :1]), values], 1)
        return values

    def features(self, instances: Batch) -> npt.ArrayLike:
        """Coordinates, and what is known of the nodes."""
        torch = _torch()
        td = self._start(instances)
        if callable(self._node_features):
            extra = [self._node_features(td)]
        else:
            extra = [self._column(td, key) for key in self._node_features]
        found: npt.NDArray[np.float32] = torch.cat([td["locs"], *extra], -1).numpy()
        return found

    def reset(self, instances: Batch) -> Batch:
        """``env.reset`` on these instances."""
        return self._arrays(self._start(instances))

    def action_mask(self, state: Batch) -> npt.ArrayLike:
        """``td["action_mask"]``."""
        return state["action_mask"].astype(bool)

    def context(self, state: Batch) -> npt.ArrayLike:
        """What RL4CO's context embedding looks at beside the last node."""
        td = self._td(state)
        if callable(self._context):
            found: npt.NDArray[np.float32] = self._context(td).float().numpy()
            return found
        columns = [self._number(td, entry) for entry in self._context]
        rows = len(state["action_mask"])
        return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), dtype=np.float32)

    def _number(self, td: Any, entry: Any) -> npt.NDArray[np.float32]:
        if isinstance(entry, str):
            values: npt.NDArray[np.float32] = td[entry].float().reshape(len(td), -1)[:, 0].numpy()
            return values
        first, second = entry
        if first == "max_length_context":
            # The longest way back to the depot from every node; that of the depot itself is the whole length.
            whole = td["max_length"].float().reshape(len(td), -1)[:, 0].numpy()
        else:
            whole = td[first].float().reshape(len(td), -1)[:, 0].numpy()
        used = td[second.lstrip("-")].float().reshape(len(td), -1)[:, 0].numpy()
        left: npt.NDArray[np.float32] = whole - used
        return left

    def dynamic(self, state: Batch) -> npt.ArrayLike | None:
        """A number of every node that changes."""
        if self._dynamic is None:
            return None
        td = self._td(state)
        if callable(self._dynamic):
            found: npt.NDArray[np.float32] = self._dynamic(td).float().numpy()
            return found
        column: npt.NDArray[np.float32] = self._column(td, self._dynamic)[..., 0].numpy()
        return column

    def step(self, state: Batch, action: npt.NDArray[np.int64]) -> Batch:
        """``env.step``, without the reward."""
        torch = _torch()
        td = self._td(state)
        td.set("action", torch.from_numpy(action))
        return self._arrays(self.env._step(td))

    def done(self, state: Batch) -> npt.ArrayLike:
        """``td["done"]``."""
        return state["done"].reshape(len(state["done"]), -1).all(axis=1)

    def cost(self, instances: Batch, actions: npt.NDArray[np.int64]) -> npt.ArrayLike:
        """The negative reward of the environment."""
        torch = _torch()
        # Not `get_reward`, whose check of validity refuses solutions that are filled up at their end.
        reward = self.env._get_reward(self._start(instances), torch.from_numpy(actions))
        costs: npt.NDArray[np.float64] = -reward.double().reshape(len(actions)).numpy()
        return costs

    def check(self, instance: Batch, actions: list[int]) -> str | None:
        """``env.check_solution_validity``."""
        torch = _torch()
        batch = {key: value[None] for key, value in instance.items()}
        try:
            self.env.check_solution_validity(self._start(batch), torch.tensor([actions]))
        except AssertionError as error:
            return str(error) or "check_solution_validity refuses it"
        return None

    def view(self, instances: Batch, view: int) -> Batch:
        """The instances with all their places under a symmetry."""
        from regard.problem import symmetry

        places: Batch = {key: symmetry(instances[key], view) for key in ("locs", "given_locs", "depot") if key in instances}
        return {**instances, **places}
