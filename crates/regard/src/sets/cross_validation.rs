//! Networks measured on sets they have not seen: folds of a file, several times.

use burn::tensor::Device;
use rayon::prelude::*;
use regard_data::sets::Bags;
use regard_data::split::{others, seed_of_repeat, stratified_folds};

use super::experiment::SetExperiment;
use super::measure::{answers, measure_told};
use super::source::{Prepared, Source, prepared, strata};
use super::task::TaskKind;
use super::train::SetLearner;
use crate::Result;
use crate::train::{CrossValidated, Measures, most_frequent};

/// Cuts `bags` into `k` folds, of each class alike, trains on all others and measures on each; all
/// that `repeats` times. `done` hears of every fold.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for data that cannot be asked, or more folds than sets.
pub fn cross_validate(
    experiment: &SetExperiment,
    bags: &Bags,
    (k, repeats): (usize, usize),
    device: &Device,
    done: &(dyn Fn() + Sync),
) -> Result<CrossValidated> {
    let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(experiment.train.seed, repeat)).collect();
    let classes = match (experiment.task.kind, bags.labels()) {
        (TaskKind::Classification, Some(labels)) => Some(labels.classes()),
        _ => None,
    };
    let mut tasks = Vec::new();
    for &seed in &seeds {
        let parts = stratified_folds(&strata(bags, experiment.task.kind), k, seed)?;
        tasks.extend(parts.into_iter().map(|part| (seed, part)));
    }
    // Folds are independent, and each is too small for several threads.
    let told: Vec<(Vec<usize>, Vec<f64>)> = tasks
        .into_par_iter()
        .map(|(seed, part)| {
            let found = held_out(experiment, bags, &part, seed, device)?;
            done();
            Ok((part, found))
        })
        .collect::<Result<_>>()?;
    let all = prepared(experiment, bags, &(0..bags.len()).collect::<Vec<_>>())?;
    let measured: Vec<Measures> =
        told.chunks(k).map(|folds| of_repeat(experiment, &all, folds)).collect::<Result<_>>()?;
    let of_folds: Vec<Measures> =
        told.iter().map(|fold| of_repeat(experiment, &all, std::slice::from_ref(fold))).collect::<Result<_>>()?;
    let constant = classes.map(|classes| most_frequent(&classes.of));
    Ok(CrossValidated::new(measured, of_folds, seeds, constant))
}

/// Answers for the sets of a fold, in the target's own measure, from networks that have not seen them.
fn held_out(experiment: &SetExperiment, bags: &Bags, part: &[usize], seed: u64, device: &Device) -> Result<Vec<f64>> {
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

/// Measures of a repeat, the answers of all its folds together.
fn of_repeat(experiment: &SetExperiment, all: &Prepared, folds: &[(Vec<usize>, Vec<f64>)]) -> Result<Measures> {
    let order: Vec<usize> = folds.iter().flat_map(|(part, _)| part.clone()).collect();
    let mut told: Vec<f64> = folds.iter().flat_map(|(_, told)| told.clone()).collect();
    if experiment.task.kind == TaskKind::Regression {
        told.iter_mut().for_each(|value| *value = all.config.data.scaled(*value));
    }
    let examples = all.examples.select(&order);
    Ok(measure_told(&all.config, &told, &examples, experiment.train.loss)?.measures)
}
