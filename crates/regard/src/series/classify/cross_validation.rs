//! Networks measured on series they have not seen: folds of a file, several times.

use burn::tensor::Device;
use rayon::prelude::*;
use regard_data::series::formats::Read;
use regard_data::split::{others, seed_of_repeat, stratified_folds};

use super::labelled::{Labelled, classes, told};
use crate::Result;
use crate::series::experiment::SeriesExperiment;
use crate::series::train::SeriesLearner;
use crate::train::{CrossValidated, Measures, checked_classes, most_frequent};

/// Cuts series into `k` folds, of each class alike, trains on all others and measures on each; all that
/// `repeats` times. `done` hears of every fold.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for series without classes, or more folds than series.
pub fn cross_validate(
    experiment: &SeriesExperiment,
    read: &Read,
    (k, repeats): (usize, usize),
    device: &Device,
    done: &(dyn Fn() + Sync),
) -> Result<CrossValidated> {
    let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(experiment.train.seed, repeat)).collect();
    let (names, of) = classes(read)?;
    let mut tasks = Vec::new();
    for &seed in &seeds {
        tasks.extend(stratified_folds(&of, k, seed)?.into_iter().map(|part| (seed, part)));
    }
    // Folds are independent, and each is too small for several threads.
    let told: Vec<(Vec<usize>, Vec<f64>)> = tasks
        .into_par_iter()
        .map(|(seed, part)| {
            let found = held_out(experiment, read, &part, seed, device)?;
            done();
            Ok((part.iter().map(|&one| of[one]).collect(), found))
        })
        .collect::<Result<_>>()?;
    let measures = |folds: &[(Vec<usize>, Vec<f64>)]| -> Measures {
        let right: Vec<usize> = folds.iter().flat_map(|(right, _)| right.clone()).collect();
        let told: Vec<f64> = folds.iter().flat_map(|(_, told)| told.clone()).collect();
        checked_classes(&told, names.len(), &right).measures
    };
    let of_repeats = told.chunks(k).map(measures).collect();
    let of_folds = told.chunks(1).map(measures).collect();
    Ok(CrossValidated::new(of_repeats, of_folds, seeds, Some(most_frequent(&of))))
}

/// Probabilities for the series of a fold, from a network that has not seen them.
fn held_out(
    experiment: &SeriesExperiment,
    read: &Read,
    part: &[usize],
    seed: u64,
    device: &Device,
) -> Result<Vec<f64>> {
    let mut of_fold = experiment.clone();
    (of_fold.train.seed, of_fold.data.test_fraction) = (seed, 0.0);
    let (labelled, config) = Labelled::with_test(&of_fold, read, others(read.panel.len(), part), part.to_vec())?;
    let mut learner = SeriesLearner::with_lessons(&of_fold, labelled.clone().into(), config.clone(), device)?;
    learner.learn_all(|_| true)?;
    let device = device.clone().inner();
    Ok(told(&learner.evaluated()?, &config, &labelled.panel, part, &device))
}
