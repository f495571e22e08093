//! Results of `regard solve` and `regard eval` as JSON.

use regard::routes::evaluate::Evaluation;
use regard::routes::solve::{Solution, Stage, describe};
use regard::routing::formats::solution::SolutionFormat;
use regard::routing::{Instance, Itinerary, Route, Stop};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::plain;

use crate::args::EvalJob;

/// The result of `regard solve` for one file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SolveResult<'a> {
    /// Name of the instance.
    instance: &'a str,
    /// The file it was read from.
    file: String,
    n: usize,
    /// Cost in the file's own metric, or the prize.
    cost: f64,
    /// Best-known cost, when there is one.
    best_known: Option<f64>,
    /// Gap to the best-known cost, as a fraction.
    gap: Option<f64>,
    /// Name of the problem.
    problem: &'static str,
    /// Node ids of the file in the order of the tour, without the depot.
    #[serde(skip_serializing_if = "Option::is_none")]
    tour: Option<Vec<NodeId<'a>>>,
    /// Vehicle routes, each with node ids of the file in order, without the depot.
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<Vec<NodeId<'a>>>>,
    /// Load of each route, of problems with vehicles.
    #[serde(skip_serializing_if = "Option::is_none")]
    loads: Option<Vec<f64>>,
    /// Length of each route, of problems with vehicles.
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<Vec<f64>>,
    /// Amount delivered at each stop of each route, of problems with vehicles; several may share a customer's demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    deliveries: Option<Vec<Vec<f64>>>,
    /// Time of arrival at each stop of each route, from leaving the depot to being back, where there are time windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<Vec<Vec<f64>>>,
    /// Time waited at each of these stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Vec<Vec<f64>>>,
    metric: &'static str,
    unit: &'static str,
    /// If true, the network got coordinates computed from the matrix of distances.
    scaled_coordinates: bool,
    stages: Vec<StageResult<'a>>,
    /// Name of the model; null without one.
    model: Option<&'a str>,
    seconds: f64,
    /// If true, the independent checker accepted the tour, and the written file if there is one.
    checked: bool,
    /// Files written.
    written: Vec<String>,
    /// The instance and its solution, for the solutions of stages.
    #[serde(skip)]
    solved: (&'a Instance, &'a Solution),
}

/// One stage of a solution.
#[derive(Debug, Serialize, JsonSchema)]
struct StageResult<'a> {
    /// `start`, `network`, `construct` or `improve`.
    by: &'static str,
    name: &'a str,
    /// Cost of the best solution after this stage, or its prize.
    cost: f64,
    /// Change against the stage before, as a fraction.
    gain: Option<f64>,
    seconds: f64,
    /// The best solution after this stage as a tour, with `--stage-solutions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tour: Option<Vec<NodeId<'a>>>,
    /// The same as vehicle routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<Vec<NodeId<'a>>>>,
}

/// A node id: a number when every id of the file is one, else a text.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(untagged)]
enum NodeId<'a> {
    Number(i64),
    Text(&'a str),
}

impl Serialize for NodeId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NodeId::Number(id) => serializer.serialize_i64(*id),
            NodeId::Text(id) => serializer.serialize_str(id),
        }
    }
}

impl<'a> SolveResult<'a> {
    /// Collects the result; `written` names the files that were written.
    pub(crate) fn new(
        file: &std::path::Path,
        instance: &'a Instance,
        solution: &'a Solution,
        model: Option<&'a str>,
        written: &[String],
    ) -> Self {
        let sites = instance.sites();
        let value = instance.value(&solution.tour);
        let (tour, routes) = named(instance, &solution.tour);
        let sign = if instance.maximises() { -1.0 } else { 1.0 };
        let of_vehicles = routes.is_some().then(|| Itinerary::of(instance, &solution.tour).routes);
        let lengths = of_vehicles.as_ref().map(|routes| routes.iter().map(|route| route.length).collect());
        let amounts = |route: &Route| route.inner().iter().map(|stop| stop.amount).collect();
        let deliveries = of_vehicles.as_ref().and_then(|routes| routes.iter().map(amounts).collect());
        let times = |of: fn(&Stop) -> Option<f64>| {
            let routes = of_vehicles.as_ref().filter(|_| instance.times().is_some())?;
            Some(routes.iter().map(|route| route.stops.iter().filter_map(of).collect()).collect())
        };
        let (arrivals, waiting) = (times(|stop| Some(stop.arrival)), times(|stop| stop.waiting));
        Self {
            instance: sites.name(),
            file: file.display().to_string(),
            n: sites.len(),
            cost: value,
            best_known: instance.best_known(),
            gap: instance.gap(value),
            problem: instance.problem(),
            tour,
            routes,
            loads: of_vehicles.and_then(|routes| routes.iter().map(|route| route.load).collect()),
            lengths,
            deliveries,
            arrivals,
            waiting,
            metric: sites.metric_name(),
            unit: sites.unit(),
            scaled_coordinates: plain::scaled(sites),
            stages: solution.stages.iter().map(|found| stage(found, sign)).collect(),
            model,
            seconds: solution.seconds,
            checked: true,
            written: written.to_vec(),
            solved: (instance, solution),
        }
    }

    /// The result with the solution after each stage.
    pub(crate) fn with_stage_solutions(mut self) -> Self {
        let (instance, solution) = self.solved;
        for (result, stage) in self.stages.iter_mut().zip(&solution.stages) {
            (result.tour, result.routes) = named(instance, &stage.solution);
        }
        self
    }
}

/// The tour, or the vehicle routes, by node ids.
type Named<'a> = (Option<Vec<NodeId<'a>>>, Option<Vec<Vec<NodeId<'a>>>>);

fn named<'a>(instance: &'a Instance, solution: &[usize]) -> Named<'a> {
    let ids = node_ids(instance.sites().ids());
    let mut routes: Vec<Vec<NodeId<'a>>> =
        instance.routes(solution).iter().map(|route| route.iter().map(|&node| ids[node]).collect()).collect();
    match instance.solution_format() {
        SolutionFormat::Routes => (None, Some(routes)),
        _ => (Some(routes.pop().unwrap_or_default()), None),
    }
}

/// A solution in a file of its own.
#[derive(Debug, Serialize)]
struct SolutionFile<'a> {
    instance: &'a str,
    problem: &'static str,
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tour: Option<Vec<NodeId<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<Vec<NodeId<'a>>>>,
}

/// Writes a solution as JSON: `instance`, `problem`, `cost`, and `tour` or `routes` by node ids.
pub(crate) fn write_solution(path: &std::path::Path, instance: &Instance, found: &Solution) -> anyhow::Result<()> {
    let text = solution_text(instance, found)?;
    regard::data::file::write_atomic(path, |out| out.write_all(text.as_bytes()))?;
    Ok(())
}

/// The text of [`write_solution`].
pub(crate) fn solution_text(instance: &Instance, found: &Solution) -> anyhow::Result<String> {
    let (tour, routes) = named(instance, &found.tour);
    let (name, cost) = (instance.sites().name(), instance.value(&found.tour));
    let file = SolutionFile { instance: name, problem: instance.problem(), cost, tour, routes };
    Ok(serde_json::to_string(&file)? + "\n")
}

/// Writes the solutions of an evaluation as JSON lines: `instance` (from 1), `cost` and `solution`, nodes by index with
/// the depot (0) between routes.
pub(crate) fn write_solutions(path: &std::path::Path, found: &Evaluation) -> anyhow::Result<()> {
    regard::data::file::write_atomic(path, |out| {
        for (at, (cost, solution)) in found.costs.iter().zip(&found.solutions).enumerate() {
            writeln!(out, "{}", serde_json::json!({"instance": at + 1, "cost": cost, "solution": solution}))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn stage(stage: &Stage, sign: f64) -> StageResult<'_> {
    StageResult {
        by: stage.kind.name(),
        name: &stage.name,
        cost: sign * stage.cost,
        gain: stage.gain,
        seconds: stage.seconds,
        tour: None,
        routes: None,
    }
}

/// Ids as numbers when all of them are integers written plainly (no `007`, no `+7`).
fn node_ids(ids: &[String]) -> Vec<NodeId<'_>> {
    let number = |id: &String| id.parse::<i64>().ok().filter(|number| number.to_string() == *id);
    let numbers: Option<Vec<NodeId<'_>>> = ids.iter().map(|id| number(id).map(NodeId::Number)).collect();
    numbers.unwrap_or_else(|| ids.iter().map(|id| NodeId::Text(id)).collect())
}

/// The result of `regard eval`.
#[derive(Debug, Serialize)]
pub(crate) struct EvalResult<'a> {
    mean_cost: f64,
    /// Standard error of the mean, of several instances.
    std_error: Option<f64>,
    instances: usize,
    /// Wall time of decoding and local search, without loading.
    seconds: f64,
    instances_per_second: f64,
    /// Mean gap as a fraction.
    gap: Option<f64>,
    /// Mean cost that the gap refers to, if given.
    reference: Option<f64>,
    /// Mean cost before local search, when there was one.
    mean_cost_network: Option<f64>,
    data: &'a str,
    decode: String,
    /// Views of each instance.
    augment: usize,
    improve: bool,
    seed: u64,
    model: &'a str,
}

impl<'a> EvalResult<'a> {
    /// Collects the result.
    pub(crate) fn new(
        job: &EvalJob,
        found: &Evaluation,
        reference: Option<f64>,
        data: &'a str,
        model: &'a str,
    ) -> Self {
        Self {
            mean_cost: found.mean_cost,
            std_error: found.std_error,
            instances: found.instances,
            seconds: found.seconds,
            instances_per_second: found.instances_per_second(),
            gap: found.gap,
            reference,
            mean_cost_network: found.mean_cost_network,
            data,
            decode: describe(job.options.decode, job.options.augment),
            augment: job.options.augment,
            improve: job.options.improve,
            seed: job.options.seed,
            model,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(ids: &[&str]) -> String {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        serde_json::to_string(&node_ids(&ids)).unwrap()
    }

    #[test]
    fn ids_stay_as_they_are_in_the_file() {
        assert_eq!(json(&["1", "2", "-3"]), "[1,2,-3]");
        assert_eq!(json(&["1", "Rome"]), r#"["1","Rome"]"#);
        assert_eq!(json(&["007", "8"]), r#"["007","8"]"#);
    }
}
