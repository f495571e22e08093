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
    if data.split == SeriesSplit::Dates && (data.valid_from.is_empty() || data.test_from.is_empty()) {
        let key = if data.valid_from.is_empty() { "data.valid_from" } else { "data.test_from" };
        return refuse(key, "is empty; expected a date, since `data.split` is `dates`".into());
    }
    ranges::at_least_one(&[
        ("train.batch", train.batch),
        ("train.epochs", train.epochs),
        ("train.log_steps", train.log_steps),
        ("eval.batch", eval.batch),
    ])?;
    ranges::above_zero(&[
        ("train.rate", train.rate),
        ("train.ridge", train.ridge),
        ("train.checkpoint_minutes", train.checkpoint_minutes),
    ])?;
    ranges::shares(&[
        ("train.average", train.average),
        ("train.hidden", train.hidden),
        ("train.rising", train.rising),
        ("data.held_out", data.held_out),
        ("data.tested", data.tested),
    ])?;
    if data.held_out + data.tested >= 1.0 {
        return refuse("data.held_out", "and `data.tested` leave nothing to learn from".into());
    }
    if train.shrink && train.keep == KeepSeries::Last {
        return refuse(
            "train.shrink",
            "is about the network that validation chooses; expected `keep = \"best\"`".into(),
        );
    }
    ranges::not_negative(&[
        ("train.weight_decay", train.weight_decay),
        ("train.clip_norm", train.clip_norm),
        ("train.warm_epochs", train.warm_epochs),
    ])?;
    model.validate().map_err(|error| under("model", error))
}
