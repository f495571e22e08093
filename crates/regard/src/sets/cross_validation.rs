//! Cross-validation of networks on sets: by folds of a file, or on another file, several times.

use std::borrow::Cow;
use std::path::Path;

use burn::tensor::Device;
use regard_data::graphs::formats::tu::Fold;
use regard_data::sets::Bags;
use regard_data::sets::baseline::Ridge;
use regard_data::split::{others, stratified_folds};
use serde::{Deserialize, Serialize};

use super::SetLearner;
use super::base::{by_task, problem};
use super::experiment::SetExperiment;
use super::measure::{measure_predictions, predict};
use super::source::{Prepared, Source, prepared, strata};
use super::task::TaskKind;
use crate::supervised::base::{Only, Rows, TaskPredictions};
use crate::supervised::{CrossValidationMetrics, CrossValidationOptions, Done, Folds, cross_validate_blend, ensemble};
use crate::train::{Measure, Measures, majority_share};
use crate::{Error, Result};

/// Ridge penalty of the linear baseline: the weight of 300 rows, for features of deviation 1.
const RIDGE: f64 = 300.0;

/// The held-out sets.
#[derive(Clone, Copy, Debug)]
pub enum HeldOut<'a> {
    /// Folds of the sets, stratified by class.
    Folds(usize),
    /// Other sets.
    Sets(&'a Bags),
    /// Folds that are given: the sets to train on and those to measure on.
    Lists(&'a [Fold]),
}

/// The predictions for a fold.
#[derive(Serialize, Deserialize)]
struct FoldPredictions {
    /// The sets of the fold.
    sets: Vec<usize>,
    /// In the target's own units.
    numbers: Vec<f64>,
    /// Scores of the linear baseline, where items are ranked.
    linear: Option<Vec<f64>>,
}

/// Trains on all sets but the held-out ones and measures on those, fold by fold, all that several times; with base
/// learners beside the network where the task has them. `done` is called after every fold. Rankings are compared with those of a ridge regression of the relevances.
///
/// # Errors
/// [`Error::Config`] for data that the task does not fit, or more folds than sets; those of
/// aligning other sets with these, and a class of other sets that these do not have.
pub fn cross_validate(
    experiment: &SetExperiment,
    bags: &Bags,
    held_out: HeldOut<'_>,
    options: CrossValidationOptions,
    device: &Device,
    done: Done<'_>,
) -> Result<CrossValidationMetrics> {
    let bags = match held_out {
        HeldOut::Folds(_) | HeldOut::Lists(_) => Cow::Borrowed(bags),
        HeldOut::Sets(test) => {
            check_classes_of(test, bags, experiment)?;
            Cow::Owned(bags.followed_by(&test.clone().align(bags.names())?)?)
        }
    };
    let rows = |test: Vec<usize>| Rows { training: others(bags.len(), &test), validation: vec![], test };
    let folds = Folds::new(experiment.train.seed, options.repeats, |seed| match held_out {
        HeldOut::Folds(k) => {
            let cut = stratified_folds(&strata(&bags, experiment.task.kind), k, seed)?;
            Ok(cut.into_iter().map(rows).collect())
        }
        HeldOut::Sets(test) => Ok(vec![rows((bags.len() - test.len()..bags.len()).collect())]),
        HeldOut::Lists(lists) => {
            let of =
                |list: &Fold| Rows { training: list.training.clone(), validation: vec![], test: list.test.clone() };
            Ok(lists.iter().map(of).collect())
        }
    })?;
    let all = prepared(experiment, &bags, &(0..bags.len()).collect::<Vec<_>>())?;
    let metrics = |folds: &[FoldPredictions]| metrics(experiment, &all, folds);
    let constant = |folds: &[FoldPredictions]| match (experiment.task.kind, bags.labels()) {
        (TaskKind::Classification, Some(labels)) => {
            let of = labels.classes().of;
            let held_out: Vec<usize> = folds.iter().flat_map(|fold| &fold.sets).map(|set| of[*set]).collect();
            (!held_out.is_empty()).then(|| majority_share(&held_out))
        }
        _ => None,
    };
    let classes = &all.config.data.classes;
    let options = options.with_default(experiment.eval.blend);
    if options.only != Some(Only::Network)
        && let Some(problem) = problem(experiment.task.kind, &bags, classes)?
    {
        let options = options.blend(experiment.eval.ensemble, experiment.train.seed);
        let network = |training: &[usize], wanted: &[usize], seed: u64| {
            of_network(experiment, &bags, [training, wanted], seed, device, done)
        };
        return cross_validate_blend(&problem, folds, &options, network, done);
    }
    options.refuse_base()?;
    let predict = |Rows { training, test: sets, .. }: Rows, seed: u64| {
        let numbers = predictions(experiment, &bags, [&training, &sets], seed, device, done)?;
        let linear = linear(experiment, &bags, [&training, &sets])?;
        Ok(FoldPredictions { sets, numbers, linear })
    };
    folds.run(predict, metrics, constant, done)
}

/// Refuses a class of other sets that the training sets do not have: no network can predict it.
fn check_classes_of(test: &Bags, training: &Bags, experiment: &SetExperiment) -> Result<()> {
    let (TaskKind::Classification, Some(labels), Some(known)) =
        (experiment.task.kind, test.labels(), training.labels())
    else {
        return Ok(());
    };
    let found = labels.classes_among(&known.classes().names).map_err(Error::from);
    let file = &experiment.data.test;
    found.map(drop).map_err(|error| if file.is_empty() { error } else { error.in_file(Path::new(file)) })
}

/// Predictions of a network that learns from the first sets, for the second.
fn of_network(
    experiment: &SetExperiment,
    bags: &Bags,
    [training, wanted]: [&[usize]; 2],
    seed: u64,
    device: &Device,
    observer: Done<'_>,
) -> Result<TaskPredictions> {
    let Prepared { examples, config } = prepared(experiment, bags, training)?;
    let mut of_fold = experiment.clone();
    of_fold.train.seed = seed;
    let source = Source::kept(examples.select(training), examples.select(&[]));
    let mut learner = SetLearner::with_data(&of_fold, source.into(), config.clone(), device)?;
    learner.learn_observed(observer)?;
    let numbers = predict(&learner.evaluated()?, &examples.select(wanted), false, device).numbers;
    Ok(by_task(&config, &numbers))
}

/// Predictions for the sets of a fold, in the target's own units, by networks that have not seen them.
fn predictions(
    experiment: &SetExperiment,
    bags: &Bags,
    [training, sets]: [&[usize]; 2],
    seed: u64,
    device: &Device,
    observer: Done<'_>,
) -> Result<Vec<f64>> {
    let Prepared { examples, config } = prepared(experiment, bags, training)?;
    let (learnt, test) = (examples.select(training), examples.select(sets));
    let load = || {
        let source = Source::kept(learnt.clone(), test.select(&[]));
        Ok((source.into(), config.clone()))
    };
    let of_network = |learner: &SetLearner| Ok(predict(&learner.evaluated()?, &test, false, device).numbers);
    let mut numbers = ensemble(experiment, seed, experiment.eval.ensemble, device, load, of_network, observer)?;
    // Scaled as the whole file is, not as the training sets of this fold were.
    if experiment.task.kind == TaskKind::Regression {
        numbers.iter_mut().for_each(|value| *value = config.data.unscaled(*value));
    }
    Ok(numbers)
}

/// Scores of a ridge regression for the items of a fold, where items are ranked.
fn linear(experiment: &SetExperiment, bags: &Bags, [training, part]: [&[usize]; 2]) -> Result<Option<Vec<f64>>> {
    let (TaskKind::Ranking, Some(relevance)) = (experiment.task.kind, bags.row_labels()) else { return Ok(None) };
    let ridge = Ridge::fit(bags, &relevance.numbers()?, training, RIDGE)?;
    Ok(Some(ridge.scores(&bags.select(part))?))
}

/// Metrics of folds, their predictions together.
fn metrics(experiment: &SetExperiment, all: &Prepared, folds: &[FoldPredictions]) -> Result<Measures> {
    let order: Vec<usize> = folds.iter().flat_map(|fold| fold.sets.clone()).collect();
    let mut numbers: Vec<f64> = folds.iter().flat_map(|fold| fold.numbers.clone()).collect();
    if experiment.task.kind == TaskKind::Regression {
        numbers.iter_mut().for_each(|value| *value = all.config.data.scaled(*value));
    }
    let examples = all.examples.select(&order);
    let measured = |numbers: &[f64]| measure_predictions(&all.config, numbers, &examples, experiment.train.loss);
    let mut measures = measured(&numbers)?.measures;
    if let Some(linear) = folds.iter().map(|fold| fold.linear.clone()).collect::<Option<Vec<_>>>() {
        let of_linear = measured(&linear.concat())?.measures;
        let names = [("linear_ndcg1", "ndcg1"), ("linear_ndcg3", "ndcg3"), ("linear_ndcg5", "ndcg5")];
        let renamed = names.iter().filter_map(|(name, of)| Some(Measure::Last(name, of_linear.get(of)?)));
        measures.0.extend(renamed);
    }
    Ok(measures)
}
