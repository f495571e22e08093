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
        ("train.batch_size", train.batch_size),
        ("train.steps_per_epoch", train.steps_per_epoch),
        ("train.epochs", train.epochs),
        ("train.log_steps", train.log_steps),
        ("eval.num_sets", eval.num_sets),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::above_zero(&[
        ("train.learning_rate", train.learning_rate),
        ("train.checkpoint_minutes", train.checkpoint_minutes),
    ])?;
    ranges::shares(&[("train.ema_decay", train.ema_decay), ("data.validation_fraction", data.validation_fraction)])?;
    if !(0.0..=1.0).contains(&train.learning_rate_drop_at) {
        return refuse("train.learning_rate_drop_at", format!("is {}; expected 0 to 1", train.learning_rate_drop_at));
    }
    ranges::not_negative(&[
        ("train.warmup_epochs", train.warmup_epochs),
        ("train.weight_decay", train.weight_decay),
        ("train.max_grad_norm", train.max_grad_norm),
    ])?;
    model.validate().map_err(|error| under("model", error))
}
