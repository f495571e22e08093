//! Networks measured on sets they have not seen: folds of a file, or another file, several times.

use std::borrow::Cow;

use burn::tensor::Device;
use rayon::prelude::*;
use regard_data::sets::Bags;
use regard_data::sets::baseline::Ridge;
use regard_data::split::{others, seed_of_repeat, stratified_folds};

use super::experiment::SetExperiment;
use super::measure::{answers, measure_told};
use super::source::{Prepared, Source, prepared, strata};
use super::task::TaskKind;
use super::train::SetLearner;
use crate::Result;
use crate::train::{CrossValidated, Measure, Measures, most_frequent};

/// Added to the squares of the linear baseline: as much as 300 rows say of a feature that is brought to deviation 1.
const RIDGE: f64 = 300.0;

/// On what is measured.
#[derive(Clone, Copy, Debug)]
pub enum HeldOut<'a> {
    /// On so many folds of the sets, of each class alike.
    Folds(usize),
    /// On other sets.
    Sets(&'a Bags),
}

/// What was told of a fold.
struct Fold {
    part: Vec<usize>,
    told: Vec<f64>,
    /// Scores of the linear baseline, where rows are ranked.
    linear: Option<Vec<f64>>,
}

/// Trains on all sets but those that are held out and measures on those, fold by fold, all that `repeats` times.
/// `done` hears of every fold. Rankings are measured beside those of a ridge regression of the relevances.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for data that cannot be asked, or more folds than sets; what aligning
/// other sets with these says.
pub fn cross_validate(
    experiment: &SetExperiment,
    bags: &Bags,
    (held_out, repeats): (HeldOut<'_>, usize),
    device: &Device,
    done: &(dyn Fn() + Sync),
) -> Result<CrossValidated> {
    let (bags, k) = match held_out {
        HeldOut::Folds(k) => (Cow::Borrowed(bags), k),
        HeldOut::Sets(test) => (Cow::Owned(bags.followed_by(&test.clone().align(bags.names())?)?), 1),
    };
    let cut = |seed: u64| match held_out {
        HeldOut::Folds(k) => stratified_folds(&strata(&bags, experiment.task.kind), k, seed),
        HeldOut::Sets(test) => Ok(vec![(bags.len() - test.len()..bags.len()).collect()]),
    };
    let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(experiment.train.seed, repeat)).collect();
    let classes = match (experiment.task.kind, bags.labels()) {
        (TaskKind::Classification, Some(labels)) => Some(labels.classes()),
        _ => None,
    };
    let mut tasks = Vec::new();
    for &seed in &seeds {
        tasks.extend(cut(seed)?.into_iter().map(|part| (seed, part)));
    }
    // Folds are independent, and each is too small for several threads.
    let told: Vec<Fold> = tasks
        .into_par_iter()
        .map(|(seed, part)| {
            let told = told(experiment, &bags, &part, seed, device)?;
            let linear = linear(experiment, &bags, &part)?;
            done();
            Ok(Fold { part, told, linear })
        })
        .collect::<Result<_>>()?;
    let all = prepared(experiment, &bags, &(0..bags.len()).collect::<Vec<_>>())?;
    let measured: Vec<Measures> =
        told.chunks(k).map(|folds| of_repeat(experiment, &all, folds)).collect::<Result<_>>()?;
    let of_folds: Vec<Measures> =
        told.iter().map(|fold| of_repeat(experiment, &all, std::slice::from_ref(fold))).collect::<Result<_>>()?;
    let constant = classes.map(|classes| most_frequent(&classes.of));
    Ok(CrossValidated::new(measured, of_folds, seeds, constant))
}

/// Answers for the sets of a fold, in the target's own measure, from networks that have not seen them.
fn told(experiment: &SetExperiment, bags: &Bags, part: &[usize], seed: u64, device: &Device) -> Result<Vec<f64>> {
    let training = others(bags.len(), part);
    let Prepared { examples, config } = prepared(experiment, bags, &training)?;
    let (learnt, test) = (examples.select(&training), examples.select(part));
    let mut sum: Vec<f64> = Vec::new();
    for member in 0..experiment.eval.ensemble {
        let mut of_member = experiment.clone();
        of_member.train.seed = seed_of_repeat(seed, member);
        let source = Source::Kept { training: learnt.clone(), held_out: test.select(&[]) };
        let mut learner = SetLearner::with_source(&of_member, source, config.clone(), device)?;
        while learner.steps() < experiment.steps() {
            learner.learn()?;
        }
        let told = answers(&learner.evaluated()?, &test, false, device).numbers;
        if sum.is_empty() {
            sum = vec![0.0; told.len()];
        }
        sum.iter_mut().zip(told).for_each(|(sum, value)| *sum += value / experiment.eval.ensemble as f64);
    }
    // Scaled as the whole file is, not as this fold's training sets were.
    if experiment.task.kind == TaskKind::Regression {
        sum.iter_mut().for_each(|value| *value = config.data.unscaled(*value));
    }
    Ok(sum)
}

/// What a ridge regression says of the rows of a fold, where rows are ranked.
fn linear(experiment: &SetExperiment, bags: &Bags, part: &[usize]) -> Result<Option<Vec<f64>>> {
    let (TaskKind::Ranking, Some(relevance)) = (experiment.task.kind, bags.row_labels()) else { return Ok(None) };
    let ridge = Ridge::fit(bags, relevance.numbers()?, &others(bags.len(), part), RIDGE)?;
    Ok(Some(ridge.scores(&bags.select(part))?))
}

/// Measures of a repeat, the answers of all its folds together.
fn of_repeat(experiment: &SetExperiment, all: &Prepared, folds: &[Fold]) -> Result<Measures> {
    let order: Vec<usize> = folds.iter().flat_map(|fold| fold.part.clone()).collect();
    let mut told: Vec<f64> = folds.iter().flat_map(|fold| fold.told.clone()).collect();
    if experiment.task.kind == TaskKind::Regression {
        told.iter_mut().for_each(|value| *value = all.config.data.scaled(*value));
    }
    let examples = all.examples.select(&order);
    let measured = |told: &[f64]| measure_told(&all.config, told, &examples, experiment.train.loss);
    let mut measures = measured(&told)?.measures;
    if let Some(linear) = folds.iter().map(|fold| fold.linear.clone()).collect::<Option<Vec<_>>>() {
        let of_linear = measured(&linear.concat())?.measures;
        let names = [("linear_ndcg1", "ndcg1"), ("linear_ndcg3", "ndcg3"), ("linear_ndcg5", "ndcg5")];
        let renamed = names.iter().filter_map(|(name, of)| Some(Measure::Last(name, of_linear.get(of)?)));
        measures.0.extend(renamed);
    }
    Ok(measures)
}
