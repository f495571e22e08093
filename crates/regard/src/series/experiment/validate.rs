//! What settings of an experiment on time series have to be.

use super::{SeriesExperiment, SeriesSplit};
use crate::experiment::under;
use crate::series::task::SeriesTask;
use crate::store::NetworkConfig;
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
    if task.kind == SeriesTask::Classification {
        let reason = "is `classification`, for which there is the network and no training yet; expected `forecast`, \
                      `imputation`, `anomaly` or `pretraining`";
        return refuse("task.kind", reason.into());
    }
    if data.split == SeriesSplit::Dates && (data.valid_from.is_empty() || data.test_from.is_empty()) {
        let key = if data.valid_from.is_empty() { "data.valid_from" } else { "data.test_from" };
        return refuse(key, "is empty; expected a date, since `data.split` is `dates`".into());
    }
    let whole = [
        ("train.batch", train.batch),
        ("train.epochs", train.epochs),
        ("train.log_steps", train.log_steps),
        ("eval.batch", eval.batch),
    ];
    if let Some((key, _)) = whole.iter().find(|(_, value)| *value == 0) {
        return refuse(key, "is 0; expected at least 1".into());
    }
    let above = [("train.rate", train.rate), ("train.checkpoint_minutes", train.checkpoint_minutes)];
    if let Some((key, value)) = above.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        return refuse(key, format!("is {value}; expected a number above 0"));
    }
    let shares = [
        ("train.average", train.average),
        ("train.hidden", train.hidden),
        ("train.rising", train.rising),
        ("data.held_out", data.held_out),
        ("data.tested", data.tested),
    ];
    if let Some((key, value)) = shares.iter().find(|(_, value)| !(0.0..1.0).contains(value)) {
        return refuse(key, format!("is {value}; expected 0 to below 1"));
    }
    if data.held_out + data.tested >= 1.0 {
        return refuse("data.held_out", "and `data.tested` leave nothing to learn from".into());
    }
    let least = [
        ("train.weight_decay", train.weight_decay),
        ("train.clip_norm", train.clip_norm),
        ("train.warm_epochs", train.warm_epochs),
    ];
    if let Some((key, value)) = least.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
        return refuse(key, format!("is {value}; expected 0 or more"));
    }
    model.validate().map_err(|error| under("model", error))
}
