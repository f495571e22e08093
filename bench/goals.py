"""The goals that were set for the shipped models, and what the saved runs reach: results/goals.md."""

import statistics

import history
import published
import records
import tables
import training_run

# Goals of `regard-NAME` by one greedy solution, and from all starts in 8 views: gaps to the optimum for the TSP, else mean costs
# (prizes for orienteering), and what the papers have: Kool et al. 2019 (AM) and Kwon et al. 2020 (POMO).
GREEDY = {
    ("regard-tsp20", "tsp20"): (0.0025, "AM .34 %"),
    ("regard-tsp50", "tsp50"): (0.013, "AM 1.76 %"),
    ("regard-tsp100", "tsp100"): (0.035, "AM 4.53 %"),
    ("regard-cvrp20", "cvrp20"): (6.35, "AM 6.40"),
    ("regard-cvrp50", "cvrp50"): (10.85, "AM 10.98"),
    ("regard-cvrp100", "cvrp100"): (16.5, "AM 16.80"),
    ("regard-op", "op_dist20"): (5.20, "AM 5.19"),
    ("regard-pctsp", "pctsp_det20"): (3.18, "AM 3.18"),
    ("regard-sdvrp", "sdvrp20"): (6.37, "AM 6.39"),
}
EVERY_START = {
    ("regard-tsp20", "tsp20"): (0.0, "POMO .00 %"),
    ("regard-tsp50", "tsp50"): (0.001, "POMO .03 %"),
    ("regard-tsp100", "tsp100"): (0.005, "POMO .14 %"),
    ("regard-cvrp20", "cvrp20"): (6.15, "AM, 1,280 samples, 6.25"),
    ("regard-cvrp50", "cvrp50"): (10.50, "AM, 1,280 samples, 10.62"),
    ("regard-cvrp100", "cvrp100"): (15.95, "AM, 1,280 samples, 16.23; POMO 15.73"),
}
# Rows of the table of Dwivedi and Bresson 2021: goal, if more is better, and others' numbers.
GRAPHS = {
    "ZINC: regard-graph": (0.09, False, "GNN+ .065, GRIT .059"),
    "ZINC: BN + Lap": (0.24, False, "GT .226"),
    "CLUSTER: BN + Lap": (0.730, True, "GT .7317"),
    "PATTERN: BN + Lap": (0.847, True, "GT .8481"),
}
# Accuracy on classical sets of bags, and that of attention in Ilse et al. 2018.
BAGS = {
    "elephant": (0.875, ".868"),
    "musk1": (0.905, ".892"),
    "musk2": (0.87, ".858"),
    "tiger": (0.85, ".839"),
    "fox": (0.65, ".615"),
}
# Mean squared error over the horizons of a file, and DUET's.
SERIES = {"ETTh1": (0.398, "DUET .398"), "ETTh2": (0.332, "DUET .334")}


def page(folder):
    """The page, from the records of a folder."""
    rows = [*routes(folder), *alone(folder), *time_windows(folder), *graphs(folder), *bags(folder), *series(folder)]
    head = ["what", "goal", "reached", "", "beside it", "core hours"]
    return "\n".join([
        "# Goals for the shipped models, and what is reached\n",
        history.GENERATED,
        "Routes: 10,000 instances of the sets of Kool et al. 2019; a greedy solution of the network, or the best of all starts in 8 "
        f"views. Gaps are those of `regard eval`, to the best of the paper's methods; {lower(folder)}. \"Met\" compares numbers as "
        "they are shown. One seed, except for the series (three) and where the row names more. "
        "Core hours are those of all trainings on the way to the model; in the row of a set of bags, of its 50 trainings. "
        "[RESULTS.md](../RESULTS.md) has the commands.\n",
        tables.markdown(head, rows) + "\n",
    ])


def lower(folder):
    """The sets on which local search is below the reference of `regard eval`."""
    references = {}
    for _, record in records.read(folder, "eval"):
        references[record["set"]] = record["result"].get("reference") or references.get(record["set"])
    best = published.references(folder)
    # The paper's own means are rounded to two decimals: they say nothing here.
    measured = [name for name in ("tsp20", "tsp50", "tsp100") if references.get(name) and best[name] != published.PAPER[name]["optimal"]]
    found = " and ".join(f"{1 - best[name] / references[name]:.2%} (`{name}`)" for name in measured)
    return f"local search finds tours that are shorter by {found}"


def row(what, goal, reached, shown, beside, hours, more=False):
    """A row; `shown` writes a number."""
    # What is shown is compared: a gap of 0.001 % meets a goal of 0.00 %.
    number = lambda value: float(shown(value).rstrip("%").replace(",", ""))
    met = number(reached) >= number(goal) if more else number(reached) <= number(goal)
    return [what, shown(goal), shown(reached), "met" if met else "missed", beside, hours]


def routes(folder):
    """One greedy solution, and all starts in 8 views."""
    found = published.of_networks(folder)
    hours = {record["name"]: training_run.core_hours(record) for _, record in records.read(folder, "train")}
    for goals, decode, how in ((GREEDY, "greedy", "greedy"), (EVERY_START, "every start x 8 views", "all starts, 8 views")):
        for (model, name), (goal, beside) in goals.items():
            is_gap = name.startswith("tsp")
            shown = tables.gap if is_gap else (lambda cost: f"{cost:.3f}")
            what, result = f"{model}, {how}", found.get((name, model), {}).get(decode)
            if result is None:
                yield [what, shown(goal), "-", "not measured", beside, hours[model]]
            else:
                reached = result["gap"] if is_gap else abs(result["mean_cost"])
                yield row(what, goal, reached, shown, beside, hours[model], more=name.startswith("op"))


def alone(folder):
    """Networks on larger files."""
    for _, record in records.read(folder, "alone"):
        gaps = [one["starts_in_8_views"]["gap"] for one in record["rows"] if one["model"] == "regard-tsp"]
        what = "TSPLIB, 200 to 1,000 places, regard-tsp alone, all starts, 8 views"
        yield row(what, 0.08, statistics.mean(gaps), lambda gap: f"{gap:.1%}", "ELG 8 %, INViT 4 to 6 %", "")


def time_windows(folder):
    """Solomon's instances."""
    for _, record in records.read(folder, "solomon"):
        mean = lambda solver: statistics.mean(one[solver]["gap_percent"] for one in record["rows"]) / 100
        what = f"Solomon, {len(record['rows'])} files, {record['seconds']:g} s, one core: over the best known distances"
        yield row(what, 0.007, mean("regard"), tables.gap, f"PyVRP in the same run {mean('pyvrp'):.2%}", "")


def graphs(folder):
    """Rows of the table of Dwivedi and Bresson."""
    for _, record in records.read(folder, "table"):
        if record.get("table") != "graph-transformer":
            continue
        for name, (goal, more, beside) in GRAPHS.items():
            found = next(one for one in record["rows"] if one["name"] == name)
            at = next(at for at, measure in enumerate(found["measures"]) if measure.endswith("_paper"))
            seeds = len(found.get("seeds", []))
            what = f"{name}, mean of {seeds} seeds" if seeds > 1 else name
            yield row(what, goal, found["ours"][at], lambda value: f"{value:.3f}", beside, f"{found['seconds'] / 3600:.1f}", more)


def bags(folder):
    """Accuracy on the classical sets of bags."""
    for _, record in records.read(folder, "bags"):
        for one in record["rows"]:
            goal, beside = BAGS[one["name"]]
            reached, hours = statistics.mean(one["accuracy"]["blend"]), f"{one['seconds']['blend'] / 3600:.1f}"
            yield row(f"{one['name']}, accuracy of the blend", goal, reached, lambda value: f"{value:.3f}", f"Ilse et al. {beside}", hours, more=True)


def series(folder):
    """Errors on the transformers' temperatures, the mean over horizons."""
    for _, record in records.read(folder, "table"):
        if record.get("table") != "patchtst":
            continue
        for name, (goal, beside) in SERIES.items():
            found = [one for one in record["rows"] if one["name"].startswith(f"{name} ") and one["name"].endswith(": regard-series")]
            errors = [one["ours"][one["measures"].index("mse")] for one in found]
            hours = f"{sum(one['seconds'] for one in found) / 3600:.1f}"
            yield row(f"{name}, mean squared error, {len(found)} horizons", goal, statistics.mean(errors), lambda value: f"{value:.3f}", beside, hours)
