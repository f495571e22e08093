//! What settings of an experiment on sets have to be.

use super::{SetExperiment, SourceKind};
use crate::experiment::under;
use crate::store::{NetworkConfig, ranges};
use crate::{Error, Result};

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &SetExperiment) -> Result<()> {
    let SetExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    if model.task != task.kind {
        let reason = format!("is `{}`, but `task.kind` is `{}`", model.task.name(), task.kind.name());
        return refuse("model.task", reason);
    }
    if data.source == SourceKind::File && data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of sets, since `data.source` is `file`".into());
    }
    ranges::at_least_one(&[
        ("train.batch", train.batch),
        ("train.epoch_steps", train.epoch_steps),
        ("train.epochs", train.epochs),
        ("train.log_steps", train.log_steps),
        ("eval.sets", eval.sets),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::above_zero(&[("train.rate", train.rate), ("train.checkpoint_minutes", train.checkpoint_minutes)])?;
    ranges::shares(&[("train.average", train.average), ("data.held_out", data.held_out)])?;
    if !(0.0..=1.0).contains(&train.drop_at) {
        return refuse("train.drop_at", format!("is {}; expected 0 to 1", train.drop_at));
    }
    ranges::not_negative(&[("train.weight_decay", train.weight_decay), ("train.clip_norm", train.clip_norm)])?;
    model.validate().map_err(|error| under("model", error))
}
