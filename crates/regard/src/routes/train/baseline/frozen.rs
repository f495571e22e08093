//! The greedy tour of a frozen copy of the policy (Kool et al. 2019, §4.1).

use std::sync::Arc;

use burn::module::Module;
use regard_data::stats::{mean, paired_t_test};

use crate::Result;
use crate::experiment::Experiment;
use crate::routes::decode::DecodeOptions;
use crate::routes::model::AttentionModel;
use crate::routes::problem::Problem;
use crate::routes::train::source::Source;
use crate::routes::train::validation::costs;
use crate::train::{Stream, derived};

/// A frozen policy and the set on which it defends its place.
pub(in crate::routes::train) struct Frozen<P> {
    /// The policy, in evaluation.
    pub(in crate::routes::train) policy: AttentionModel,
    /// How often the policy was replaced; numbers the set.
    pub(in crate::routes::train) updates: u64,
    set: Set<P>,
    costs: Vec<f64>,
}

/// How the sets are drawn.
#[derive(Clone, Debug)]
pub(in crate::routes::train) struct Set<P> {
    experiment: Experiment,
    source: Arc<Source<P>>,
}

impl<P: Problem> Set<P> {
    /// The sets of an experiment; instances have its largest size.
    pub(in crate::routes::train) fn of(experiment: &Experiment, source: &Arc<Source<P>>) -> Self {
        Self { experiment: experiment.clone(), source: source.clone() }
    }

    fn costs(&self, policy: &AttentionModel, updates: u64) -> Result<Vec<f64>> {
        let Experiment { train, data, .. } = &self.experiment;
        let seed = derived(train.seed, Stream::Baseline, updates);
        let problems = self.source.draw(seed, train.baseline_instances, data.nodes.high());
        costs(policy, &problems, &DecodeOptions::default())
    }
}

/// The outcome of a challenge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::routes::train) struct Challenge {
    pub(in crate::routes::train) updated: bool,
    /// One-sided, where a test was made.
    pub(in crate::routes::train) p_value: Option<f64>,
}

impl<P: Problem> Frozen<P> {
    /// Freezes `policy`, which was frozen `updates` times before.
    pub(in crate::routes::train) fn new(policy: AttentionModel, set: Set<P>, updates: u64) -> Result<Self> {
        let costs = set.costs(&policy, updates)?;
        Ok(Self { policy, updates, set, costs })
    }

    /// Replaces the policy when `challenger` is better on the set: a lower mean, and a one-sided
    /// paired t-test at `alpha`. The set is drawn anew then, against overfitting to it.
    pub(in crate::routes::train) fn challenge(&mut self, challenger: &AttentionModel, alpha: f64) -> Result<Challenge> {
        let costs = self.set.costs(challenger, self.updates)?;
        if mean(&costs) >= mean(&self.costs) {
            return Ok(Challenge { updated: false, p_value: None });
        }
        let p_value = paired_t_test(&costs, &self.costs).map(|test| test.p_two_sided / 2.0);
        let updated = p_value.is_some_and(|p| p < alpha);
        if updated {
            // A copy of its own: the challenger goes on learning.
            *self = Self::new(challenger.valid(), self.set.clone(), self.updates + 1)?;
        }
        Ok(Challenge { updated, p_value })
    }
}
