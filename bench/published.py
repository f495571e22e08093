"""Reference costs: table 1 of Kool et al. 2019 (10,000 instances), and the best that was measured here.

In orienteering the value is a prize: evaluations report it as a negative cost, the paper as it is.
"""

import records

# The best of the paper's methods (for the TSP the optimum, for CVRP LKH3) and the Attention Model's values, two decimals.
PAPER = {
    "tsp20": {"optimal": 3.84, "greedy": 3.85, "1280 samples": 3.84},
    "tsp50": {"optimal": 5.70, "greedy": 5.80, "1280 samples": 5.73},
    "tsp100": {"optimal": 7.76, "greedy": 8.12, "1280 samples": 7.94},
    "cvrp20": {"optimal": 6.14, "greedy": 6.40, "1280 samples": 6.25},
    "cvrp50": {"optimal": 10.38, "greedy": 10.98, "1280 samples": 10.62},
    "cvrp100": {"optimal": 15.65, "greedy": 16.80, "1280 samples": 16.23},
    "sdvrp20": {"optimal": 6.25, "greedy": 6.39, "1280 samples": 6.25},
    "sdvrp50": {"optimal": 10.59, "greedy": 10.92, "1280 samples": 10.59},
    "sdvrp100": {"optimal": 16.27, "greedy": 16.83, "1280 samples": 16.27},
    "op_dist20": {"optimal": 5.39, "greedy": 5.19, "1280 samples": 5.30},
    "op_dist50": {"optimal": 16.17, "greedy": 15.64, "1280 samples": 16.07},
    "op_dist100": {"optimal": 33.19, "greedy": 31.62, "1280 samples": 32.68},
    "pctsp_det20": {"optimal": 3.13, "greedy": 3.18, "1280 samples": 3.15},
    "pctsp_det50": {"optimal": 4.48, "greedy": 4.60, "1280 samples": 4.52},
    "pctsp_det100": {"optimal": 5.98, "greedy": 6.25, "1280 samples": 6.08},
    "pctsp_stoch20": {"optimal": 3.26, "greedy": 3.26},
    "pctsp_stoch50": {"optimal": 4.64, "greedy": 4.65},
    "pctsp_stoch100": {"optimal": 6.16, "greedy": 6.32},
}
WHOLE = 10_000


def of_networks(folder):
    """Evaluations of networks alone, at temperature 1: `{(set, model): {decoding: result}}`."""
    found = {}
    for _, record in records.read(folder, "eval"):
        result = record["result"]
        if "--temperature" not in record["arguments"] and not result.get("improve"):
            found.setdefault((record["set"], result["model"]), {})[result["decode"]] = result
    return found


def references(folder):
    """Reference costs of gaps, by set: the lowest mean over the whole set that local search reached here, else
    the optimal mean printed in the paper."""
    found = {name: costs["optimal"] for name, costs in PAPER.items()}
    best = {}
    for _, record in records.read(folder, "eval"):
        result = record["result"]
        if result.get("improve") and result["instances"] == WHOLE and result["mean_cost"] > 0:
            best[record["set"]] = min(result["mean_cost"], best.get(record["set"], result["mean_cost"]))
    return found | best


def gap(references, name, mean_cost):
    """Relative difference of a mean cost to the reference of its set; None for another set."""
    reference = references.get(name)
    if reference is None:
        return None
    return 1 + mean_cost / reference if mean_cost < 0 else mean_cost / reference - 1
