//! Trace of the Attention Model on one instance: embeddings, and every step of greedy decoding.

use regard_nn::NodeSelection;
use regard_nn::trace::{Operation, Step, record};
use regard_routing::registry::with_problem;
use regard_routing::{Instance, Problem, ProblemVisitor, SolverInstance, State};

use super::decode::{check_probabilities, features};
use super::environment::{ProblemEnvironment, Walk};
use super::model::{AttentionModel, Distances, PAIR_FEATURES, WithDistances};
use super::solve::{SolveOptions, solve};
use crate::explain::{Labels, Layout, Trace, check_size};
use crate::{Error, Result};

/// Alternatives at each step whose regret is computed, at most.
const ALTERNATIVES: usize = 3;

impl AttentionModel {
    /// Every intermediate of encoder and greedy decoding on one instance, from the model's own forward pass. Steps of the
    /// encoder are named `encoder.LAYER.…`, those of the decoder `decode.STEP.…`; both count from 0. `decode.STEP.regret`
    /// is what it would have cost to take one of the next-best nodes and go on greedily, and `solution.cost` the cost after
    /// each stage of [`solve`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an instance whose trace would not fit into memory, or of another problem than the
    /// model's; [`Error::NotFinite`] where a probability is not a number.
    pub fn explain(&self, name: &str, instance: &Instance) -> Result<Trace> {
        struct Explain<'a> {
            model: &'a AttentionModel,
            name: &'a str,
            instance: &'a Instance,
        }
        impl ProblemVisitor for Explain<'_> {
            type Output = Option<Result<Trace>>;

            fn run<I: SolverInstance>(self) -> Self::Output {
                Some(explain(self.model, self.name, self.instance.downcast_ref::<I>()?))
            }
        }
        with_problem(instance.problem(), Explain { model: self, name, instance }).flatten().unwrap_or_else(|| {
            let reason = "this version cannot explain it".to_owned();
            Err(Error::Unsupported { what: instance.problem().to_owned(), reason })
        })
    }
}

fn explain<I: SolverInstance>(model: &AttentionModel, name: &str, instance: &I) -> Result<Trace> {
    let problem = instance.in_unit_square();
    let sites = instance.sites();
    check_size(sites.name(), "nodes", problem.nodes(), |nodes| numbers(model, nodes))?;
    model.check_pairs(sites.name(), problem.nodes())?;
    let device = model.device();
    let environment = ProblemEnvironment::<I::Problem>::default();
    let features = features(&environment, std::slice::from_ref(&problem), model.distance_bias, &device)?;
    let encode = || model.encode(features.clone());
    let distances = model.distances.then(|| Distances::of(&problem));
    let construct = |embeddings, starts: Vec<_>| {
        let starts = starts.into_iter().map(|start| WithDistances::new(start, distances.clone())).collect();
        model.rollout().construct(embeddings, vec![starts], NodeSelection::Greedy)
    };
    let (outcomes, mut recording) = record(|| construct(encode(), vec![problem.start()]));
    regard_data::cancel::check();
    let walks: Vec<Walk> = outcomes
        .iter()
        .flatten()
        .map(|found| Walk { nodes: I::Problem::solution(&found.state.state), log_probability: found.log_probability })
        .collect();
    check_probabilities(std::slice::from_ref(&walks), |_| 0)?;
    let tour = walks.into_iter().next().map_or_else(Vec::new, |walk| walk.nodes);
    let own = instance.cost(&tour);
    let mut decisions = decisions::<I::Problem>(&problem, &tour, &recording.steps);
    let starts = decisions.iter_mut().flat_map(|decision| std::mem::take(&mut decision.starts)).collect();
    let completed = construct(encode(), starts);
    let mut costs =
        completed.iter().flatten().map(|found| instance.cost(&I::Problem::solution(&found.state.state)) - own);
    let mut labels = Labels::from([("node", sites.ids().to_vec())]);
    for decision in decisions.into_iter().rev() {
        let after = decision.after;
        recording.steps.splice(after..after, decision.steps);
    }
    for step in recording.steps.iter_mut().filter(|step| step.name.ends_with(".regret")) {
        step.values = costs.by_ref().take(step.notes.len()).map(|cost| cost as f32).collect();
    }
    labels.insert("feature", feature_names::<I::Problem>());
    labels.insert("scalar", I::Problem::SCALAR_NAMES.iter().map(|&name| name.to_owned()).collect());
    labels.insert("pair feature", PAIR_FEATURES.map(str::to_owned).to_vec());
    labels.insert("customer", sites.ids().iter().skip(1).cloned().collect());
    labels.insert("coordinate", ["x", "y"].map(str::to_owned).to_vec());
    if problem.nodes() > 1 {
        let stages = solve(Some(model), instance, &SolveOptions::default())?.stages;
        let costs: Vec<f32> = stages.iter().map(|stage| stage.cost as f32).collect();
        // Two places have one tour, which no stage needs to find.
        if !costs.is_empty() {
            let formula = "cost after each stage of `regard solve`";
            recording.steps.push(own_step("solution.cost", formula, "stage", costs, vec![]));
        }
        labels.insert("stage", stages.into_iter().map(|stage| stage.name).collect());
    }
    let depot = I::Problem::DEPOT;
    let closed = |route: Vec<usize>| -> Vec<usize> {
        let end = if depot { Some(0) } else { route.first().copied() };
        end.filter(|_| depot).into_iter().chain(route).chain(end).collect()
    };
    let mut trace = Trace::new(name.to_owned(), sites.name().to_owned(), recording, &labels).with_layout(Layout {
        axis: "node",
        labels: sites.ids().to_vec(),
        places: sites.places().to_vec(),
        routes: instance.routes(&tour).into_iter().map(closed).collect(),
        depot,
        ..Layout::default()
    });
    for step in trace.steps.iter_mut().filter(|step| step.recorded.name.ends_with(".choice")) {
        step.recorded.notes.iter_mut().for_each(|node| *node = sites.ids()[node_of(node)].clone());
    }
    for step in trace.steps.iter_mut().filter(|step| step.recorded.name.ends_with(".regret")) {
        step.axes[0].labels =
            std::mem::take(&mut step.recorded.notes).iter().map(|node| sites.ids()[node_of(node)].clone()).collect();
    }
    Ok(trace)
}

/// The steps that describe the choice of one decoding step, beside the recorded ones.
struct Decision<S> {
    /// The steps of the trace, and the place of the first.
    steps: Vec<Step>,
    after: usize,
    /// States after the next-best nodes.
    starts: Vec<S>,
}

/// The choice of each decoding step, the log-probability so far, and the next-best nodes with their regret still to come.
fn decisions<P: Problem>(problem: &P, tour: &[usize], recorded: &[Step]) -> Vec<Decision<P::State>> {
    let (mut state, mut likelihood) = (problem.start(), 0.0_f32);
    let mut found = Vec::with_capacity(tour.len());
    for (at, &node) in tour.iter().enumerate() {
        let name = |of: &str| format!("decode.{at}.{of}");
        let Some(place) = recorded.iter().position(|step| step.name == name("probability")) else { break };
        let (probability, logarithm) = (&recorded[place].values, &recorded[place - 1]);
        likelihood += logarithm.values[node];
        let mut others: Vec<usize> =
            (0..probability.len()).filter(|&other| other != node && probability[other] > 0.0).collect();
        others.sort_by(|&a, &b| probability[b].total_cmp(&probability[a]));
        others.truncate(ALTERNATIVES);
        let before = (at > 0).then(|| format!("decode.{}.log_likelihood", at - 1));
        let from = before.into_iter().chain([logarithm.name.clone(), name("choice")]).collect();
        let choice = Step {
            notes: vec![node.to_string()],
            ..own_step(
                &name("choice"),
                "the first node of the largest x",
                "value",
                vec![node as f32],
                vec![recorded[place].name.clone()],
            )
        };
        let sum = "the log-likelihood before, and the log-probability of the choice";
        let sum = own_step(&name("log_likelihood"), sum, "value", vec![likelihood], from);
        let regret = Step {
            notes: others.iter().map(usize::to_string).collect(),
            ..own_step(
                &name("regret"),
                "cost of the policy's greedy solution after this node instead, less the cost of its own",
                "node instead",
                vec![0.0; others.len()],
                vec![recorded[place].name.clone()],
            )
        };
        let start = |&other: &usize| {
            let mut start = state.clone();
            start.step(other);
            start
        };
        let starts = others.iter().map(start).collect();
        found.push(Decision { steps: vec![choice, sum, regret], after: place + 1, starts });
        state.step(node);
    }
    found
}

/// Names of the features of nodes: the coordinates, and what the problem adds.
pub(super) fn feature_names<P: Problem>() -> Vec<String> {
    ["x", "y"].iter().chain(P::ADDED_FEATURES).map(|&name| name.to_owned()).collect()
}

/// The node that a note of a regret means.
fn node_of(note: &str) -> usize {
    note.parse().unwrap_or_else(|_| unreachable!("written as a number"))
}

/// A step of one axis that no tensor operation made.
pub(super) fn own_step(name: &str, formula: &'static str, axis: &str, values: Vec<f32>, from: Vec<String>) -> Step {
    Step {
        name: name.to_owned(),
        operation: Operation::Formula(formula.into()),
        source: "",
        axes: vec![axis.to_owned()],
        shape: vec![values.len()],
        values,
        from,
        parameters: vec![],
        notes: vec![],
    }
}

/// The numbers that the trace of an instance holds.
fn numbers(model: &AttentionModel, nodes: usize) -> usize {
    let layers = model.encoder.layers.len();
    let (width, heads) = (model.decoder.out.weight.dims()[0], model.decoder.heads);
    // Scores before and after the scale, and weights; rows of a layer; the decoder's scores at every step.
    let encoder = layers * nodes * (3 * heads * nodes + 12 * width);
    // What the encoder sees of pairs, and the bias and the sum of the scores.
    let pairs = if model.distance_bias { (PAIR_FEATURES.len() + 1 + 2 * layers * heads) * nodes * nodes } else { 0 };
    encoder + pairs + 2 * nodes * (nodes * (3 * heads + 6) + 8 * width)
}
