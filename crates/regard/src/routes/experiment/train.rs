//! Settings of the section `[train]`, and their presets.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::routes::model::unknown_preset;

/// What the cost of a tour is compared with in the policy gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaselineKind {
    /// Nothing.
    None,
    /// A running mean of costs.
    Exponential,
    /// A second network that learns to predict the cost.
    Critic,
    /// The greedy tour of the best network so far (Kool et al. 2019, section 4).
    Rollout,
    /// The mean over several tours of the same instance (POMO, Kwon et al. 2020, section 4.2).
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

/// What is made of the costs of sampled tours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// How much each tour costs above the baseline (Williams 1992).
    #[default]
    Reinforce,
    /// Which of two tours of an instance is the shorter, whatever the difference
    /// ([`preference`](crate::routes::train::preference)).
    Preference,
}

/// How several tours of an instance get their first nodes; one tour alone chooses its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstNode {
    /// Each tour is given another one, and nothing is learned about it (POMO, Kwon et al. 2020).
    Given,
    /// Each tour is given another one, and the policy learns which of them lead to short tours: a
    /// single greedy tour then begins well.
    Learned,
    /// The policy chooses.
    Sampled,
}

/// Section `[train]`: how the network is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// The preset the settings started from, one of [`PRESETS`](crate::routes::model::PRESETS); settings written out overrule it.
    #[serde(default)]
    pub preset: Option<String>,
    /// Folder of a model to begin with, which must have the same sizes; empty for fresh weights.
    pub init_from: String,
    /// What costs are compared with.
    pub baseline: BaselineKind,
    /// What is made of the costs; `preference` takes several tours an instance.
    #[serde(default)]
    pub loss: Loss,
    /// Factor of log-likelihoods in the preference loss; above 0.
    #[serde(default = "preference_scale")]
    pub preference_scale: f64,
    /// Trajectories of an instance with the shared baseline, 2 to the largest number of nodes; 0 for
    /// one from every node. 1 with every other baseline. Follows the baseline where it is left out.
    pub num_starts: usize,
    /// How the tours of an instance get their first nodes.
    pub first_node: FirstNode,
    /// Instances of a step, 1 to 65536.
    pub batch_size: usize,
    /// Instances of an epoch, at least 1.
    pub epoch_size: usize,
    /// Epochs, at least 1.
    pub epochs: usize,
    /// Learning rate of the network; above 0.
    pub learning_rate: f64,
    /// Learning rate of the critic; above 0.
    pub critic_learning_rate: f64,
    /// Factor on the learning rates after every epoch; above 0, at most 1.
    pub learning_rate_decay: f64,
    /// Epochs over which the learning rate rises linearly from 0; 0 for none.
    #[serde(default)]
    pub warmup_epochs: f64,
    /// Largest norm of the gradient, longer ones are scaled down to it; 0 for no limit.
    pub max_grad_norm: f64,
    /// The exponential baseline is mixed into another one for so many epochs.
    pub baseline_warmup_epochs: usize,
    /// Decay of the exponential baseline, between 0 and 1.
    pub baseline_decay: f64,
    /// Significance at which the rollout baseline takes over a better network, between 0 and 1.
    pub baseline_significance: f64,
    /// Instances on which the rollout baseline compares networks, at least 2.
    pub baseline_instances: usize,
    /// Decay of the running average of the weights that is evaluated and saved, from 0 to below 1;
    /// 0 for no average.
    pub ema_decay: f64,
    /// Seed of everything random in training, up to 2⁶³ - 1.
    pub seed: u64,
    /// Steps between two lines of metrics, at least 1.
    pub log_steps: usize,
    /// A checkpoint is written at least so often, in minutes, and after each epoch; above 0.
    pub checkpoint_minutes: f64,
}

/// Far below 1, so that a pair counts by its order and hardly by how sure the policy is of it.
fn preference_scale() -> f64 {
    0.03
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
            batch_size: 512,
            epoch_size: 1_280_000,
            epochs: 100,
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
