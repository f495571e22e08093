//! A learner's state, out and in again.

use serde::{Deserialize, Serialize};

use super::Learner;
use crate::routes::problem::Problem;
use crate::routes::train::baseline::{Exponential, Frozen, Set};
use crate::store::{AttentionModelConfig, ModelDir, Weights, layout};
use crate::train::{Checkpoint, collect, restore};
use crate::{Error, Result};

/// The numbers of a learner that are no weights.
#[derive(Serialize, Deserialize)]
pub(in crate::routes::train) struct Counters {
    step: u64,
    exponential: Option<f64>,
    frozen_updates: Option<u64>,
}

impl<P: Problem> Learner<P> {
    /// Networks and optimisers.
    pub(in crate::routes::train) fn checkpoint(&self) -> Result<Checkpoint> {
        let mut checkpoint = self.trainee.checkpoint(self.step)?;
        if let Some(frozen) = &self.frozen {
            checkpoint.weights.insert("baseline".into(), collect(&frozen.policy));
        }
        if let Some((critic, optimizer)) = &self.critic {
            checkpoint.weights.insert("critic".into(), collect(critic));
            checkpoint.records.insert("critic".into(), optimizer.to_bytes()?);
        }
        Ok(checkpoint)
    }

    /// The numbers that belong to [`Self::checkpoint`].
    pub(in crate::routes::train) fn counters(&self) -> Counters {
        Counters {
            step: self.step,
            exponential: self.exponential.value(),
            frozen_updates: self.frozen.as_ref().map(|frozen| frozen.updates),
        }
    }

    /// Takes on the state that [`Self::checkpoint`] gave.
    pub(in crate::routes::train) fn restored(mut self, mut checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        if let Some(frozen) = self.frozen.take() {
            let policy = restore(frozen.policy, checkpoint.weights("baseline")?)?;
            self.frozen = Some(Frozen::new(
                policy,
                Set::of(&self.experiment, &self.source),
                counters.frozen_updates.unwrap_or(0),
            )?);
        }
        if let Some((critic, optimizer)) = self.critic.take() {
            let optimizer = optimizer.restored(checkpoint.record("critic")?)?;
            self.critic = Some((restore(critic, checkpoint.weights("critic")?)?, optimizer));
        }
        self.exponential = Exponential::new(self.experiment.train.baseline_decay, counters.exponential);
        self.step = counters.step;
        Ok(self)
    }
}

/// The weights of the model in `folder`, which must have the sizes of `config`; its problem may be another
/// one that a network sees in the same numbers, as PCTSP and SPCTSP.
pub(super) fn inherited(folder: &str, config: &AttentionModelConfig) -> Result<Weights> {
    let found = ModelDir::open(folder)?;
    let AttentionModelConfig { preset, problem, .. } = config.clone();
    let same = AttentionModelConfig { preset, problem, ..found.config().clone() };
    let weights = found.weights()?;
    if same != *config || layout::check(config, &weights).is_err() {
        let reason = "is a network of other sizes than `[model]` and `task.problem` say";
        return Err(Error::config("train.init_from", format!("`{folder}` {reason}")));
    }
    Ok(weights)
}
