"""Numbers of Kool et al. 2019, table 1, 10,000 instances: optimal (Concorde) and the Attention Model's costs."""

PAPER = {
    "tsp20": {"optimal": 3.84, "greedy": 3.85, "1280 samples": 3.84},
    "tsp50": {"optimal": 5.70, "greedy": 5.80, "1280 samples": 5.73},
    "tsp100": {"optimal": 7.76, "greedy": 8.12, "1280 samples": 7.94},
}


def gap(name, mean_cost):
    """How far a mean cost is from the optimal one printed there, as a fraction; None for another set."""
    optimal = PAPER.get(name, {}).get("optimal")
    return None if optimal is None else mean_cost / optimal - 1
