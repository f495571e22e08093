//! What settings of an experiment on time series have to be.

use super::{KeepSeries, SeriesExperiment, SeriesSplit};
use crate::experiment::under;
use crate::series::task::SeriesTask;
use crate::store::{NetworkConfig, ranges};
use crate::{Error, Result};

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &SeriesExperiment) -> Result<()> {
    let SeriesExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    if task.kind != model.task || task.horizon != model.horizon {
        let key = if task.kind == model.task { "model.horizon" } else { "model.task" };
        return refuse(key, "is not that of `[task]`; say it there".into());
    }
    if data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of time series".into());
    }
    if (task.kind == SeriesTask::Classification) == data.label.is_empty() {
        let reason = match task.kind {
            SeriesTask::Classification => "is empty; expected the column of the classes".to_owned(),
            other => format!("names a column of classes, which has no meaning for {other}"),
        };
        return refuse("data.label", reason);
    }
    if task.kind == SeriesTask::Classification && data.split != SeriesSplit::Fractions {
        let reason = "cuts series in time; whole series are held out by shares of them: expected `fractions`";
        return refuse("data.split", reason.into());
    }
    if data.split == SeriesSplit::Dates && (data.validation_from.is_empty() || data.test_from.is_empty()) {
        let key = if data.validation_from.is_empty() { "data.validation_from" } else { "data.test_from" };
        return refuse(key, "is empty; expected a date, since `data.split` is `dates`".into());
    }
    ranges::at_least_one(&[
        ("train.batch_size", train.batch_size),
        ("train.epochs", train.epochs),
        ("train.log_steps", train.log_steps),
        ("eval.batch_size", eval.batch_size),
    ])?;
    ranges::above_zero(&[
        ("train.learning_rate", train.learning_rate),
        ("train.ridge_penalty", train.ridge_penalty),
        ("train.checkpoint_minutes", train.checkpoint_minutes),
    ])?;
    ranges::shares(&[
        ("train.ema_decay", train.ema_decay),
        ("train.mask_ratio", train.mask_ratio),
        ("train.pct_start", train.pct_start),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave nothing to learn from".into());
    }
    if train.shrink && train.select == KeepSeries::Last {
        return refuse(
            "train.shrink",
            "is about the network that validation chooses; expected `keep = \"best\"`".into(),
        );
    }
    ranges::not_negative(&[
        ("train.weight_decay", train.weight_decay),
        ("train.max_grad_norm", train.max_grad_norm),
        ("train.warmup_epochs", train.warmup_epochs),
    ])?;
    model.validate().map_err(|error| under("model", error))
}
