//! Tours sampled from a policy, and what they cost.

use burn::tensor::Tensor;
use rayon::prelude::*;
use regard_nn::NodeSelection;
use regard_nn::ops::Tours;

use crate::Result;
use crate::routes::decode::{check_probabilities, spread_starts};
use crate::routes::experiment::FirstNode;
use crate::routes::model::AttentionModel;
use regard_routing::Problem;

/// A tour and its cost.
pub(super) type CostedTour = (Vec<usize>, f64);

/// Sampled tours of a batch.
pub(super) struct Sampled {
    pub(super) tours: Tours,
    /// `[batch * trajectories]`.
    pub(super) costs: Vec<f64>,
    /// Log-probabilities of what was chosen, `[batch * trajectories]`; nodes given do not count.
    pub(super) log_probabilities: Vec<f32>,
}

/// Samples `trajectories` tours an instance from `policy` over `embeddings [batch, nodes, width]`;
/// several of them are given their first nodes, unless they are sampled too: spread over the nodes
/// as they are numbered (Kwon et al. 2020, §4.1). `None` when a probability is no number: the tours mean
/// nothing then.
pub(super) fn sample<P: Problem>(
    policy: &AttentionModel,
    embeddings: Tensor<3>,
    problems: &[P],
    trajectories: usize,
    first: FirstNode,
    seed: u64,
) -> Option<Sampled> {
    let [batch, nodes, _] = embeddings.dims();
    let given = trajectories > 1 && first != FirstNode::Sampled;
    let trajectories = if given { trajectories.min(nodes) } else { trajectories };
    let states = match given {
        true => spread_starts(problems, trajectories),
        false => problems.iter().map(|problem| vec![problem.start(); trajectories]).collect(),
    };
    let pick = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed };
    let outcomes = policy.rollout().construct(embeddings, states, pick);
    if outcomes.iter().flatten().any(|outcome| !outcome.log_probability.is_finite()) {
        return None;
    }
    let found: Vec<Vec<(Vec<usize>, f64)>> = outcomes
        .par_iter()
        .zip(problems)
        .map(|(outcomes, problem)| {
            let tours = outcomes.iter().map(|outcome| P::solution(&outcome.state));
            tours.map(|tour| (problem.cost(&tour), tour)).map(|(cost, tour)| (tour, cost)).collect()
        })
        .collect();
    let log_probabilities = outcomes.iter().flatten().map(|outcome| outcome.log_probability).collect();
    let forced = usize::from(given && first == FirstNode::Given);
    let costs = found.iter().flatten().map(|(_, cost)| *cost).collect();
    let walk = |(tour, _): &(Vec<usize>, f64)| tour.iter().map(|&node| node as u32).collect::<Vec<u32>>();
    let tours = match P::EVERY_NODE_ONCE {
        true => Tours::new([batch, trajectories, nodes], found.iter().flatten().flat_map(walk).collect(), forced),
        false => {
            let starts: Vec<P::State> = problems.iter().map(P::start).collect();
            let walks: Vec<Vec<Vec<u32>>> = found.iter().map(|found| found.iter().map(walk).collect()).collect();
            Tours::replay(&starts, &walks, [nodes, P::SCALARS, forced], P::DYNAMIC)
        }
    };
    Some(Sampled { tours, costs, log_probabilities })
}

/// The greedy tours of `policy`, one an instance, and their costs.
///
/// # Errors
/// [`crate::Error::NotFinite`] where a probability is not a number.
pub(super) fn greedy<P: Problem>(
    policy: &AttentionModel,
    embeddings: Tensor<3>,
    problems: &[P],
) -> Result<Vec<CostedTour>> {
    let states = problems.iter().map(|problem| vec![problem.start()]).collect();
    let outcomes = policy.rollout().construct(embeddings, states, NodeSelection::Greedy);
    check_probabilities::<P>(&outcomes, |b| b)?;
    let found = |(outcomes, problem): (&Vec<_>, &P)| {
        let of = |outcome: &regard_nn::Outcome<P::State>| {
            let tour = P::solution(&outcome.state);
            let cost = problem.cost(&tour);
            (tour, cost)
        };
        outcomes.first().map_or((vec![], 0.0), of)
    };
    Ok(outcomes.par_iter().zip(problems).map(found).collect())
}
