//! Tours sampled from a policy, and what they cost.

use burn::tensor::Tensor;
use regard_nn::NodeSelection;
use regard_nn::ops::Tours;

use super::improved::{Improved, improve};
use crate::Result;
use crate::routes::decode::check_probabilities;
use crate::routes::environment::{Environment, RolloutOptions, Rollouts, Start, Walk};
use crate::routes::experiment::FirstNode;
use crate::routes::model::AttentionModel;

/// A tour and its cost.
pub(super) type CostedTour = (Vec<usize>, f64);

/// Sampled tours of a batch.
pub(super) struct Sampled {
    /// `[batch, trajectories + improved]`.
    pub(super) tours: Tours,
    /// Number of sampled tours of an instance.
    pub(super) trajectories: usize,
    /// `[batch * trajectories]`.
    pub(super) costs: Vec<f64>,
    /// Log-probabilities of what was chosen, `[batch * trajectories]`; nodes given do not count.
    pub(super) log_probabilities: Vec<f32>,
    /// Tours that local search made of them; each instance has them behind those sampled.
    pub(super) improved: Improved,
}

impl Sampled {
    /// Values of all tours, `[batch * (trajectories + improved)]`, apart: of those sampled and of those improved.
    pub(super) fn apart<T: Copy>(&self, all: &[T]) -> (Vec<T>, Vec<T>) {
        let rows = all.chunks_exact((self.trajectories + self.improved.count).max(1));
        let (sampled, improved): (Vec<&[T]>, Vec<&[T]>) = rows.map(|row| row.split_at(self.trajectories)).unzip();
        (sampled.concat(), improved.concat())
    }

    /// The reverse of [`Self::apart`].
    pub(super) fn together<T: Copy>(&self, sampled: &[T], improved: &[T]) -> Vec<T> {
        if improved.is_empty() {
            return sampled.to_vec();
        }
        let rows = sampled.chunks_exact(self.trajectories).zip(improved.chunks_exact(self.improved.count));
        rows.flat_map(|(sampled, improved)| sampled.iter().chain(improved).copied()).collect()
    }
}

/// The sampling of tours.
pub(super) struct SampleOptions {
    /// Tours of an instance.
    pub(super) trajectories: usize,
    pub(super) first: FirstNode,
    pub(super) seed: u64,
    /// Tours of an instance that are improved.
    pub(super) improved: usize,
    /// If true, the log-likelihoods of improved tours are computed.
    pub(super) likelihoods: bool,
}

/// Samples tours of each instance from `policy` over `embeddings [batch, nodes, width]`, and improves the best of them;
/// several tours are given their first nodes, unless they are sampled too: spread over the nodes
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
    options: &SampleOptions,
) -> Result<Option<Sampled>> {
    let &SampleOptions { trajectories, first, seed, .. } = options;
    let nodes = embeddings.dims()[1];
    let given = trajectories > 1 && first != FirstNode::Sampled;
    let start = match given {
        true => Start::Spread(trajectories.min(nodes)),
        false => Start::Empty(trajectories),
    };
    let selection = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed };
    let forced = usize::from(given && first == FirstNode::Given);
    // Tours that are improved are recorded together with the improved ones.
    let record = (options.improved == 0).then_some(forced);
    let rollout_options = RolloutOptions { start, selection, record };
    let found = environment.rollouts(&policy.rollout(), embeddings.clone(), instances, rollout_options)?;
    let Rollouts { walks, tours } = found;
    let log_probabilities: Vec<f32> = walks.iter().flatten().map(|walk| walk.log_probability).collect();
    if log_probabilities.iter().any(|value| !value.is_finite()) {
        return Ok(None);
    }
    let costs = environment.costs_of(instances, &walks)?;
    let (tours, improved) = match tours {
        Some(tours) => (tours, Improved::default()),
        None => with_improved(policy, environment, embeddings, instances, (&walks, &costs), forced, options)?,
    };
    Ok(Some(Sampled { tours, trajectories, costs: costs.concat(), log_probabilities, improved }))
}

/// Masks and contexts of sampled tours with these costs and of those that local search makes of the best of them.
///
/// # Errors
/// Those of the environment.
fn with_improved<E: Environment>(
    policy: &AttentionModel,
    environment: &E,
    embeddings: Tensor<3>,
    instances: &[E::Instance],
    (walks, costs): (&[Vec<Walk>], &[Vec<f64>]),
    forced: usize,
    options: &SampleOptions,
) -> Result<(Tours, Improved)> {
    let mut all: Vec<Vec<&[usize]>> =
        walks.iter().map(|walks| walks.iter().map(|walk| walk.nodes.as_slice()).collect()).collect();
    let (found, costs) = improve(environment, instances, &all, costs, options.improved)?;
    let found: Vec<Vec<&[usize]>> = found.iter().map(|tours| tours.iter().map(Vec::as_slice).collect()).collect();
    let mut log_likelihoods = vec![];
    if options.likelihoods {
        // Weights of the preference loss depend on them, so they have to be known before the pass that learns.
        let tours = environment.tours(&policy.rollout(), instances, &found, forced)?;
        let policy = policy.rollout().policy_loss(embeddings, &tours, vec![0.0; costs.len()]);
        log_likelihoods = policy.log_likelihood.into_data().iter::<f32>().collect();
    }
    all.iter_mut().zip(&found).for_each(|(tours, found)| tours.extend(found));
    let improved = Improved { count: options.improved, costs, log_likelihoods };
    Ok((environment.tours(&policy.rollout(), instances, &all, forced)?, improved))
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
