"""Reference costs: table 1 of Kool et al. 2019 (10,000 instances), and the best that was measured here."""

import records

# Optimal (Concorde) and the Attention Model's costs, two decimals.
PAPER = {
    "tsp20": {"optimal": 3.84, "greedy": 3.85, "1280 samples": 3.84},
    "tsp50": {"optimal": 5.70, "greedy": 5.80, "1280 samples": 5.73},
    "tsp100": {"optimal": 7.76, "greedy": 8.12, "1280 samples": 7.94},
}
WHOLE = 10_000


def references(folder):
    """The cost that gaps are taken to, by set: the lowest mean over the whole set that local search reached here, else
    the optimal mean printed in the paper."""
    found = {name: costs["optimal"] for name, costs in PAPER.items()}
    best = {}
    for _, record in records.read(folder, "eval"):
        result = record["result"]
        if result.get("improve") and result["instances"] == WHOLE:
            best[record["set"]] = min(result["mean_cost"], best.get(record["set"], result["mean_cost"]))
    return found | best


def gap(references, name, mean_cost):
    """How far a mean cost is from the reference of its set, as a fraction; None for another set."""
    reference = references.get(name)
    return None if reference is None else mean_cost / reference - 1
