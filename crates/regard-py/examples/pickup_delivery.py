"""One vehicle picks up goods and delivers them; each delivery comes after its pickup. Trained in minutes on two cores."""

import numpy as np

import regard


class PickupDelivery(regard.Problem):
    name = "pickup-delivery-py"

    def draw(self, rng, batch, nodes):  # a depot, the pickups, and their deliveries in the same order
        return {"locs": rng.random((batch, 1 + 2 * (nodes // 2), 2), dtype=np.float32)}

    def features(self, instances):  # coordinates, those of the partner, and 1 for a pickup
        depot, pickups, deliveries = np.split(instances["locs"], [1, 1 + instances["locs"].shape[1] // 2], axis=1)
        partner = np.concatenate([np.zeros_like(depot), deliveries, pickups], axis=1)
        is_pickup = np.zeros_like(instances["locs"][..., :1])
        is_pickup[:, 1 : 1 + pickups.shape[1]] = 1
        return np.concatenate([instances["locs"], partner, is_pickup], axis=2)

    def reset(self, instances):
        batch, nodes, _ = instances["locs"].shape
        allowed = np.zeros((batch, nodes), dtype=bool)
        allowed[:, 1 : 1 + nodes // 2] = True
        return {"allowed": allowed, "aboard": np.zeros(batch), "left": np.full(batch, nodes - 1)}

    def action_mask(self, state):
        return state["allowed"]

    def context(self, state):  # the fraction of pairs on board
        return state["aboard"][:, None] / (state["allowed"].shape[1] // 2)

    def step(self, state, action):
        pairs, rows = state["allowed"].shape[1] // 2, np.arange(len(action))
        picked = action <= pairs
        state["allowed"][rows, action] = False
        state["allowed"][rows[picked], action[picked] + pairs] = True
        return {**state, "aboard": state["aboard"] + np.where(picked, 1, -1), "left": state["left"] - 1}

    def done(self, state):
        return state["left"] == 0

    def cost(self, instances, actions):
        stops = np.take_along_axis(instances["locs"].astype(float), np.pad(actions, ((0, 0), (1, 1)))[..., None], axis=1)
        return np.hypot(*np.moveaxis(np.diff(stops, axis=1), -1, 0)).sum(axis=1)


if __name__ == "__main__":
    run = regard.train(PickupDelivery(), "runs/pickup-delivery", nodes=20, train__epochs=10, train__epoch_size=51_200)
    print(run.ended, run.validation_cost, run.model().greedy(PickupDelivery().generate(100, 20)).cost.mean())
