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
        ("train.batch", train.batch),
        ("train.epochs", train.epochs),
        ("train.views", train.views),
        ("train.log_steps", train.log_steps),
        ("eval.batch", eval.batch),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::above_zero(&[
        ("train.rate", train.rate),
        ("train.sharpening", train.sharpening),
        ("train.checkpoint_minutes", train.checkpoint_minutes),
    ])?;
    ranges::shares(&[
        ("train.average", train.average),
        ("train.feature_dropout", train.feature_dropout),
        ("train.fall", train.fall),
        ("data.held_out", data.held_out),
        ("data.tested", data.tested),
    ])?;
    if data.held_out + data.tested >= 1.0 {
        return refuse("data.held_out", "and `data.tested` leave nothing to learn from".into());
    }
    ranges::not_negative(&[
        ("train.weight_decay", train.weight_decay),
        ("train.clip_norm", train.clip_norm),
        ("train.warm_epochs", train.warm_epochs),
        ("train.least_rate", train.least_rate),
        ("train.consistency", train.consistency),
    ])?;
    if train.consistency > 0.0 && train.views < 2 {
        return refuse("train.views", "is 1; nothing can differ from itself (`train.consistency`)".into());
    }
    model.validate().map_err(|error| under("model", error))
}
