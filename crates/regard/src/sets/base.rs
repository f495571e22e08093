//! Sets as base learners see them.

use regard_base::features::sets::{TOTALS, views};
use regard_base::tabular::{Target, View};
use regard_data::sets::Bags;
use serde::{Deserialize, Serialize};

use super::examples::Examples;
use super::model::SetTransformerConfig;
use super::task::{Targets, TaskKind};
use crate::Result;
use crate::supervised::base::{BaseExamples, BaseProblem, BaseTask, TaskPredictions};
use crate::train::probabilities;

/// Features of sets: pooled columns and items. They do not depend on the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFeatures {}

/// If true, there are base learners for a task.
fn has_base(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Classification | TaskKind::Regression)
}

/// A sentence about the task that could have base learners and has none.
pub(super) fn note(kind: TaskKind) -> Option<&'static str> {
    (kind == TaskKind::Counting).then_some(
        "no base learners beside the network: a task of counting has none; `task.kind = \"regression\"` has some, and \
         predicts counts as numbers",
    )
}

/// The views from which a target is learnt: totals of columns are for numbers alone, as classes of sets are found no better
/// with them.
fn views_for(target: &Target, mut views: Vec<View>) -> Vec<View> {
    if matches!(target, Target::Classes { .. }) {
        views.retain(|view| view.name() != TOTALS);
    }
    views
}

/// The views of sets at the network's scale.
pub(super) fn views_of(examples: &Examples) -> Result<Vec<View>> {
    Ok(views(&examples.features, examples.width, &examples.offsets)?)
}

/// The sets of a file with their targets, classes numbered as in `classes`; `None` where the task has no base learners
/// or the file no targets.
pub(super) fn problem(kind: TaskKind, bags: &Bags, classes: &[String]) -> Result<Option<BaseProblem>> {
    let Some(labels) = bags.labels().filter(|_| has_base(kind)) else { return Ok(None) };
    let target = match kind {
        // A single class still has two sides, one of them empty.
        TaskKind::Classification => {
            Target::Classes { of: labels.classes_among(classes)?.of, count: classes.len().max(2) }
        }
        _ => Target::Numbers(labels.numbers()?.to_vec()),
    };
    let known = vec![true; bags.len()];
    let views = views_for(&target, views(bags.features(), bags.width(), bags.offsets())?);
    let classes = classes.to_vec();
    let tasks = vec![BaseTask { name: String::new(), classes, target, known }];
    Ok(Some(BaseProblem { views, left_out: vec![], tasks }))
}

/// Sets at the network's scale as base learners see them; `None` where the task has no base learners.
pub(super) fn problem_of(config: &SetTransformerConfig, all: &Examples) -> Result<Option<BaseProblem>> {
    let target = match &all.targets {
        Targets::Classes(of) if has_base(config.task) => {
            Target::Classes { of: of.clone(), count: config.outputs.max(2) }
        }
        Targets::Numbers(numbers) if has_base(config.task) && config.outputs == 1 => {
            Target::Numbers(numbers.iter().map(|number| config.data.unscaled(f64::from(*number))).collect())
        }
        _ => return Ok(None),
    };
    let known = vec![true; all.len()];
    let views = views_for(&target, views_of(all)?);
    let task = BaseTask { name: String::new(), classes: config.data.classes.clone(), target, known };
    Ok(Some(BaseProblem { views, left_out: vec![], tasks: vec![task] }))
}

/// Training and validation sets as base learners see them; `None` where the task has no base learners.
pub(super) fn examples(
    config: &SetTransformerConfig,
    training: &Examples,
    validation: &Examples,
) -> Result<Option<BaseExamples<SetFeatures>>> {
    let problem = problem_of(config, &training.followed_by(validation))?;
    Ok(problem.map(|problem| BaseExamples {
        features: SetFeatures {},
        problem,
        training: (0..training.len()).collect(),
        validation: (training.len()..training.len() + validation.len()).collect(),
    }))
}

/// Predictions of a network, `[sets, outputs]`, as those of base learners.
pub(super) fn by_task(config: &SetTransformerConfig, numbers: &[f64]) -> TaskPredictions {
    vec![match config.task {
        TaskKind::Classification if config.outputs < 2 => numbers.iter().flat_map(|_| [1.0, 0.0]).collect(),
        TaskKind::Classification => probabilities(numbers, config.outputs),
        _ => numbers.iter().map(|number| config.data.unscaled(*number)).collect(),
    }]
}
