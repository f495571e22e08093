//! Settings of the section `[train]`, and their presets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::routes::model::unknown_preset;
use crate::train::{OptimizerKind, OptimizerOptions};

/// Baseline that the cost of a sampled solution is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BaselineKind {
    /// No baseline.
    None,
    /// An exponential moving average of the costs.
    Exponential,
    /// A second network that learns to predict the cost.
    Critic,
    /// The greedy solution of the best policy so far (Kool et al. 2019, section 4).
    Rollout,
    /// The mean over several solutions of the same instance (POMO, Kwon et al. 2020, section 4.2).
    Shared,
}

impl BaselineKind {
    /// The word in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            BaselineKind::None => "none",
            BaselineKind::Exponential => "exponential",
            BaselineKind::Critic => "critic",
            BaselineKind::Rollout => "rollout",
            BaselineKind::Shared => "shared",
        }
    }

    /// The usual [`TrainSettings::num_starts`].
    pub(super) fn usual_starts(self) -> usize {
        usize::from(self != BaselineKind::Shared)
    }
}

/// Loss of the policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// REINFORCE: the log-likelihood of a solution, weighted by its cost minus the baseline (Williams 1992).
    #[default]
    Reinforce,
    /// Preference loss: of two solutions of an instance, the shorter one becomes more probable; the size of the
    /// difference does not matter.
    Preference,
}

/// Choice of the first node when several solutions are sampled per instance; a single solution chooses its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstNode {
    /// Each solution starts at a different given node; the choice is not learned (POMO, Kwon et al. 2020).
    Given,
    /// Each solution starts at a different given node, and the policy also learns which start nodes give short tours,
    /// so that a single greedy tour starts at a good one.
    Learned,
    /// The policy chooses the first node.
    Sampled,
}

/// Section `[train]`: the training of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// Preset: a named group of training settings, used for every setting that the experiment does not give.
    #[serde(default)]
    #[schemars(extend("x-words" = crate::routes::model::PRESETS))]
    pub preset: Option<String>,
    /// Model folder with the initial weights, for a network of the same sizes or one with more layers; empty for random
    /// weights.
    pub init_from: String,
    /// Baseline of the policy gradient.
    pub baseline: BaselineKind,
    /// Loss of the policy; `preference` needs the baseline `shared`.
    #[serde(default)]
    pub loss: Loss,
    /// Factor on the log-likelihoods in the preference loss.
    #[serde(default = "preference_scale")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub preference_scale: f64,
    /// Number of solutions sampled per instance. With the baseline `shared`: 2 or more, or 0 for one from every node;
    /// with other baselines: 1. The default depends on the baseline.
    pub num_starts: usize,
    /// Choice of the first node when several solutions are sampled per instance.
    pub first_node: FirstNode,
    /// Number of best sampled solutions per instance that the local search of the problem improves in every step; the
    /// policy learns from the improved ones too. 0 for none; needs the baseline `shared` and a problem with a local
    /// search.
    #[serde(default)]
    #[schemars(range(max = 10_000))]
    pub improved_tours: usize,
    /// Factor on the weight of improved solutions in the loss, for `improved_tours`.
    #[serde(default = "improved_weight")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub improved_weight: f64,
    /// Number of instances per step.
    #[schemars(range(min = 1, max = 65536))]
    pub batch_size: usize,
    /// Number of shards into which the batch of a step is cut: several ranks share them, and the result depends on their
    /// number but not on that of the ranks; 0 for 1, or 8 under `mpirun`. Batch norm takes the statistics of each shard.
    #[serde(default)]
    #[schemars(range(max = 1024))]
    pub shards: usize,
    /// Number of instances per epoch.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub epoch_size: usize,
    /// Number of epochs.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub epochs: usize,
    /// Optimiser of the weights.
    #[serde(default)]
    pub optimizer: OptimizerKind,
    /// Learning rate of the network.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Learning rate of the critic, for the baseline `critic`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub critic_learning_rate: f64,
    /// Factor by which the learning rates are multiplied after every epoch.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub learning_rate_decay: f64,
    /// Number of epochs over which the learning rate rises linearly from 0; 0 for none.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub warmup_epochs: f64,
    /// Maximum norm of the gradient; a larger gradient is scaled down; 0 for no clipping.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Number of first epochs in which the exponential baseline is blended with the selected one; 0 for none.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub baseline_warmup_epochs: usize,
    /// Decay of the exponential baseline.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub baseline_decay: f64,
    /// Significance level of the t-test by which a better policy replaces that of the rollout baseline.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub baseline_significance: f64,
    /// Number of instances on which the rollout baseline compares policies.
    #[schemars(range(min = 2, max = 10_000_000))]
    pub baseline_instances: usize,
    /// Decay of the exponential moving average (EMA) of the weights, which is evaluated and saved; 0 for no averaging.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub ema_decay: f64,
    /// Random seed of the training.
    pub seed: u64,
    /// Number of steps between two lines of `metrics.jsonl`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub log_steps: usize,
    /// Maximum time between two checkpoints, in minutes. A checkpoint is also written after each epoch.
    #[schemars(range(max = 525_600), extend("exclusiveMinimum" = 0))]
    pub checkpoint_minutes: f64,
}

/// Far below 1, so that a pair counts by its order and hardly by how sure the policy is of it.
fn preference_scale() -> f64 {
    0.03
}

/// An improved solution counts as much as a sampled one of its cost.
fn improved_weight() -> f64 {
    1.0
}

impl TrainSettings {
    /// Training as in Kool, van Hoof and Welling (2019), section 5 and appendix A.
    pub fn kool_2019() -> Self {
        Self {
            preset: Some("kool-2019".into()),
            init_from: String::new(),
            baseline: BaselineKind::Rollout,
            loss: Loss::Reinforce,
            preference_scale: preference_scale(),
            num_starts: 1,
            first_node: FirstNode::Given,
            improved_tours: 0,
            improved_weight: improved_weight(),
            batch_size: 512,
            shards: 0,
            epoch_size: 1_280_000,
            epochs: 100,
            optimizer: OptimizerKind::Adam,
            learning_rate: 1e-4,
            critic_learning_rate: 1e-4,
            learning_rate_decay: 1.0,
            warmup_epochs: 0.0,
            max_grad_norm: 1.0,
            baseline_warmup_epochs: 1,
            baseline_decay: 0.8,
            baseline_significance: 0.05,
            baseline_instances: 10_000,
            ema_decay: 0.0,
            seed: 1234,
            log_steps: 50,
            checkpoint_minutes: 5.0,
        }
    }

    /// Our own training for the TSP: the shared baseline of POMO (Kwon et al. 2020) over as many
    /// tours as there are nodes, of which the policy chooses the first node too, and a running
    /// average of the weights.
    pub fn regard_tsp() -> Self {
        Self {
            preset: Some("regard-tsp".into()),
            baseline: BaselineKind::Shared,
            num_starts: 0,
            first_node: FirstNode::Sampled,
            batch_size: 64,
            epoch_size: 100_000,
            learning_rate: 5e-4,
            baseline_warmup_epochs: 0,
            ema_decay: 0.999,
            ..Self::kool_2019()
        }
    }

    /// Our own training for the problems with a depot: as [`Self::regard_tsp`].
    pub fn regard_cvrp() -> Self {
        Self { preset: Some("regard-cvrp".into()), ..Self::regard_tsp() }
    }

    /// Training as in Kwon et al. 2020: the shared baseline over tours from every node, which is
    /// given; Adam at 1e-4, 100,000 instances an epoch.
    pub fn pomo_2020() -> Self {
        Self {
            preset: Some("pomo-2020".into()),
            baseline: BaselineKind::Shared,
            num_starts: 0,
            first_node: FirstNode::Given,
            batch_size: 64,
            epoch_size: 100_000,
            epochs: 2_000,
            max_grad_norm: 0.0,
            baseline_warmup_epochs: 0,
            ..Self::kool_2019()
        }
    }

    /// Settings of the optimiser.
    pub(crate) fn optimizer_options(&self) -> OptimizerOptions {
        OptimizerOptions { kind: self.optimizer, max_grad_norm: self.max_grad_norm, weight_decay: 0.0 }
    }

    /// A preset by its name.
    ///
    /// # Errors
    /// [`crate::Error::Config`] naming the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "kool-2019" => Ok(Self::kool_2019()),
            "regard-tsp" => Ok(Self::regard_tsp()),
            "regard-cvrp" => Ok(Self::regard_cvrp()),
            "pomo-2020" => Ok(Self::pomo_2020()),
            _ => Err(unknown_preset(name)),
        }
    }
}
