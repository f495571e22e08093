//! Baselines of REINFORCE: the values that the costs of sampled tours are compared with.
//!
//! Subtracting a number that does not depend on the tour leaves the gradient's mean as it is; a good one
//! makes it less noisy.

use std::sync::Arc;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData, activation};
use regard_data::stats::{mean, paired_t_test};
use regard_nn::ops;
use regard_nn::{Encoder, EncoderConfig, EncoderLayerConfig};

use super::source::InstanceSource;
use super::validation::costs;
use crate::Result;
use crate::routes::decode::DecodeOptions;
use crate::routes::environment::Environment;
use crate::routes::experiment::RouteExperiment;
use crate::routes::model::{AttentionModel, AttentionModelConfig, norm_kind, of_nodes};
use crate::train::{BaselineComparison, Stream, derived};

/// The mean over each instance's tours (Kwon et al. 2020, §4.2): one value for each of `costs`,
/// which hold `trajectories` tours an instance.
pub fn shared(costs: &[f64], trajectories: usize) -> Vec<f64> {
    let means = costs.chunks_exact(trajectories).map(mean);
    means.flat_map(|mean| std::iter::repeat_n(mean, trajectories)).collect()
}

/// The values that the tours of one step are compared with, and what they are made of.
#[derive(Debug, Default)]
pub(super) struct BaselineValues {
    /// One value for each tour.
    pub(super) values: Vec<f64>,
    /// Share of [`Self::own`]; the rest is [`Self::mean`].
    pub(super) share: f64,
    /// The running mean of costs, where it has a share.
    pub(super) mean: Option<f64>,
    /// Costs of the frozen policy's greedy tours, or the critic's predictions, where they have a share.
    pub(super) own: Option<Vec<f64>>,
}

/// A running mean of costs: `value = beta · value + (1 − beta) · mean cost` of a batch; the first batch sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    beta: f64,
    value: Option<f64>,
}

impl Exponential {
    /// Decay `beta`, between 0 and 1; `value` from which to go on.
    pub fn new(beta: f64, value: Option<f64>) -> Self {
        Self { beta, value }
    }

    /// The value before any, or after the last batch.
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// The value that a batch of costs is compared with, itself taken in.
    pub fn update(&mut self, costs: &[f64]) -> f64 {
        self.update_mean(mean(costs))
    }

    /// As [`Self::update`], for a batch whose costs have this mean.
    pub(super) fn update_mean(&mut self, mean: f64) -> f64 {
        let value = self.value.map_or(mean, |value| self.beta * value + (1.0 - self.beta) * mean);
        self.value = Some(value);
        value
    }
}

/// For the first epochs an exponential baseline is mixed in, less with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    epochs: u64,
}

impl WarmUp {
    /// A warm-up of so many epochs; 0 for none.
    pub fn new(epochs: u64) -> Self {
        Self { epochs }
    }

    /// Share of the baseline itself in epoch `epoch`, counted from 0: 0 in the first, 1 after the
    /// warm-up. (The original let it grow beyond 1 until its pull request 56.)
    pub fn alpha(&self, epoch: u64) -> f64 {
        if epoch >= self.epochs { 1.0 } else { epoch as f64 / self.epochs as f64 }
    }
}

/// The greedy tour of a frozen copy of the policy (Kool et al. 2019, §4.1), which a better one replaces.
pub(super) struct Frozen<E: Environment> {
    /// The policy, in evaluation.
    pub(super) policy: AttentionModel,
    /// Number of replacements of the policy; numbers the set.
    pub(super) updates: u64,
    set: ComparisonSet<E>,
    costs: Vec<f64>,
}

/// The instances on which two policies are compared, drawn anew for each frozen one.
#[derive(Clone)]
pub(super) struct ComparisonSet<E: Environment> {
    experiment: RouteExperiment,
    source: Arc<InstanceSource<E>>,
}

impl<E: Environment> ComparisonSet<E> {
    /// The sets of an experiment; instances have its largest size.
    pub(super) fn of(experiment: &RouteExperiment, source: &Arc<InstanceSource<E>>) -> Self {
        Self { experiment: experiment.clone(), source: source.clone() }
    }

    fn costs(&self, policy: &AttentionModel, updates: u64) -> Result<Vec<f64>> {
        let RouteExperiment { train, data, .. } = &self.experiment;
        let seed = derived(train.seed, Stream::Baseline, updates);
        let instances = self.source.draw(seed, train.baseline_instances, data.nodes.high())?;
        costs(policy, self.source.environment(), &instances, &DecodeOptions::default(), train.shards)
    }
}

/// A policy and the frozen one on the same instances.
pub(super) struct Challenge {
    /// Costs of the policy, one an instance.
    pub(super) costs: Vec<f64>,
    /// Costs of the frozen policy.
    pub(super) frozen: Vec<f64>,
    /// The test, and whether the policy is better.
    pub(super) comparison: BaselineComparison,
}

impl<E: Environment> Frozen<E> {
    /// Freezes `policy`, which was frozen `updates` times before.
    pub(super) fn new(policy: AttentionModel, set: ComparisonSet<E>, updates: u64) -> Result<Self> {
        let costs = set.costs(&policy, updates)?;
        Ok(Self { policy, updates, set, costs })
    }

    /// Replaces the policy when `challenger` is better on the set: a lower mean, and a one-sided
    /// paired t-test at `alpha`. The set is drawn anew then, against overfitting to it.
    pub(super) fn challenge(&mut self, challenger: &AttentionModel, alpha: f64) -> Result<Challenge> {
        let (costs, frozen) = (self.set.costs(challenger, self.updates)?, self.costs.clone());
        let test = paired_t_test(&costs, &frozen);
        let (low, high) = (mean(&costs), mean(&frozen));
        let p_value = test.map(|test| test.p_less());
        let baseline_updated = low < high && p_value.is_some_and(|p| p < alpha);
        if baseline_updated {
            // A copy of its own: the challenger goes on learning.
            *self = Self::new(challenger.valid(), self.set.clone(), self.updates + 1)?;
        }
        let mean_difference = test.map_or(low - high, |test| test.mean_difference);
        let t_statistic = test.map(|test| test.t);
        let comparison = BaselineComparison { baseline_updated, mean_difference, t_statistic, p_value };
        Ok(Challenge { costs, frozen, comparison })
    }
}

/// A network that predicts the cost of a policy's tour (Kool et al. 2019, `critic_network.py`; Bello et al. 2016): an
/// encoder of its own, and a small network on the mean of its embeddings.
#[derive(Module, Debug)]
pub(super) struct Critic {
    embedding: Linear,
    encoder: Encoder,
    hidden: Linear,
    value: Linear,
}

impl Critic {
    /// Fresh weights, with the sizes of the policy.
    pub(super) fn new(config: &AttentionModelConfig, device: &Device) -> Self {
        let width = config.width;
        let layer =
            EncoderLayerConfig::new(width, config.heads, config.feedforward_width).with_norm(norm_kind(config.norm));
        Self {
            embedding: LinearConfig::new(config.problem_spec().features, width).init(device),
            encoder: EncoderConfig::new(config.layers, layer).init(device),
            hidden: LinearConfig::new(width, width).init(device),
            value: LinearConfig::new(width, 1).init(device),
        }
    }

    /// Predicted costs `[batch]` of nodes with features `points [batch, nodes, features]`.
    pub(super) fn forward(&self, points: Tensor<3>) -> Tensor<1> {
        let batch = points.dims()[0];
        let points = of_nodes(points, self.embedding.weight.dims()[0]);
        let graph = self.encoder.forward(ops::linear(&self.embedding, points)).mean_dim(1);
        let width = graph.dims()[2];
        let hidden = activation::relu(self.hidden.forward(graph.reshape([batch, width])));
        self.value.forward(hidden).reshape([batch])
    }

    /// Predictions, and their mean squared error `[1]`.
    pub(super) fn loss(&self, points: Tensor<3>, costs: &[f64]) -> (Vec<f64>, Tensor<1>) {
        let device = points.device();
        let predicted = self.forward(points);
        let values = predicted.to_data().iter::<f64>().collect();
        let costs: Vec<f32> = costs.iter().map(|&cost| cost as f32).collect();
        let count = costs.len();
        let costs: Tensor<1> = Tensor::from_data(TensorData::new(costs, [count]), &device);
        (values, (predicted - costs).square().mean())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shared_baseline_is_the_mean_of_an_instance() {
        assert_eq!(super::shared(&[1.0, 3.0, 5.0, 6.0], 2), [2.0, 2.0, 5.5, 5.5]);
    }
}
