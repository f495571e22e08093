//! What settings of an experiment on graphs have to be.

use super::{GraphExperiment, SourceKind};
use crate::experiment::under;
use crate::graphs::task::{GraphTask, LevelName};
use crate::store::{NetworkConfig, ranges};
use crate::{Error, Result};

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &GraphExperiment) -> Result<()> {
    let GraphExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    let said = task.kind.said();
    if said.is_some_and(|said| said != model.task) || model.level != task.level {
        let reason = "is another task than that of `[task]`; say it there".to_owned();
        return refuse(if model.level == task.level { "model.task" } else { "model.level" }, reason);
    }
    if !data.target.is_empty() && !data.targets.is_empty() {
        return refuse("data.target", "and `data.targets` both name columns; give one of them".into());
    }
    if data.source == SourceKind::File && data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of graphs, since `data.source` is `file`".into());
    }
    let asked = match data.source {
        SourceKind::File => None,
        SourceKind::Pattern | SourceKind::Cluster => Some((GraphTask::Classification, LevelName::Node)),
        SourceKind::Csl => Some((GraphTask::Classification, LevelName::Graph)),
    };
    if asked.is_some_and(|(kind, level)| said.is_some_and(|said| said != kind) || level != task.level) {
        return refuse(
            "data.source",
            "draws graphs for another task; its classes are those of nodes (`pattern`, `cluster`) or graphs (`csl`)"
                .into(),
        );
    }
    ranges::at_least_one(&[
        ("train.batch_size", train.batch_size),
        ("train.epochs", train.epochs),
        ("train.augmented_views", train.augmented_views),
        ("train.log_steps", train.log_steps),
        ("eval.batch_size", eval.batch_size),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::above_zero(&[
        ("train.learning_rate", train.learning_rate),
        ("train.consistency_temperature", train.consistency_temperature),
        ("train.checkpoint_minutes", train.checkpoint_minutes),
    ])?;
    ranges::shares(&[
        ("train.ema_decay", train.ema_decay),
        ("train.feature_dropout", train.feature_dropout),
        ("train.plateau_factor", train.plateau_factor),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave nothing to learn from".into());
    }
    ranges::not_negative(&[
        ("train.weight_decay", train.weight_decay),
        ("train.max_grad_norm", train.max_grad_norm),
        ("train.warmup_epochs", train.warmup_epochs),
        ("train.min_learning_rate", train.min_learning_rate),
        ("train.consistency", train.consistency),
    ])?;
    if train.consistency > 0.0 && train.augmented_views < 2 {
        return refuse("train.augmented_views", "is 1; nothing can differ from itself (`train.consistency`)".into());
    }
    model.validate().map_err(|error| under("model", error))
}
