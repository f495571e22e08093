//! Tours sampled from a policy, and what they cost.

use burn::tensor::Tensor;
use regard_nn::NodeSelection;
use regard_nn::ops::Tours;

use crate::Result;
use crate::routes::decode::check_probabilities;
use crate::routes::environment::{Environment, RolloutOptions, Rollouts, Start};
use crate::routes::experiment::FirstNode;
use crate::routes::model::AttentionModel;

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
///
/// # Errors
/// Those of the environment.
pub(super) fn sample<E: Environment>(
    policy: &AttentionModel,
    environment: &E,
    embeddings: Tensor<3>,
    instances: &[E::Instance],
    trajectories: usize,
    first: FirstNode,
    seed: u64,
) -> Result<Option<Sampled>> {
    let nodes = embeddings.dims()[1];
    let given = trajectories > 1 && first != FirstNode::Sampled;
    let start = match given {
        true => Start::Spread(trajectories.min(nodes)),
        false => Start::Empty(trajectories),
    };
    let selection = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed };
    let forced = usize::from(given && first == FirstNode::Given);
    let options = RolloutOptions { start, selection, record: Some(forced) };
    let Rollouts { walks, tours } = environment.rollouts(&policy.rollout(), embeddings, instances, options)?;
    let Some(tours) = tours else { return Ok(None) };
    let costs = environment.costs_of(instances, &walks)?.concat();
    let log_probabilities = walks.iter().flatten().map(|walk| walk.log_probability).collect();
    Ok(Some(Sampled { tours, costs, log_probabilities }))
}

/// The greedy tours of `policy`, one an instance, and their costs.
///
/// # Errors
/// [`crate::Error::NotFinite`] where a probability is not a number; those of the environment.
pub(super) fn greedy<E: Environment>(
    policy: &AttentionModel,
    environment: &E,
    embeddings: Tensor<3>,
    instances: &[E::Instance],
) -> Result<Vec<CostedTour>> {
    let options = RolloutOptions { start: Start::Empty(1), selection: NodeSelection::Greedy, record: None };
    let walks = environment.rollouts(&policy.rollout(), embeddings, instances, options)?.walks;
    check_probabilities(&walks, |b| b)?;
    let costs = environment.costs_of(instances, &walks)?;
    let found = walks.into_iter().zip(costs).map(|(walks, costs)| {
        let tour = walks.into_iter().next().map_or_else(Vec::new, |walk| walk.nodes);
        (tour, costs.first().copied().unwrap_or(0.0))
    });
    Ok(found.collect())
}
