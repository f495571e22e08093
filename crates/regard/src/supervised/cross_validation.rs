//! Cross-validation and ensembles: networks that are trained several times and measured on examples they have not
//! seen.

use burn::tensor::Device;
use rayon::prelude::*;
use regard_data::split::seed_of_repeat;
use regard_data::stats::{mean, standard_deviation};

use super::{Family, Learner, SupervisedExperiment};
use crate::Result;
use crate::train::{Measure, Measures};

/// Metrics of a cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidationMetrics {
    /// Means over the repeats, each measured on all held-out examples together.
    pub mean: Measures,
    /// Standard deviations over the repeats, or over the folds of one repeat; empty for a single fold.
    pub deviation: Measures,
    /// The metrics of every repeat, all its folds together.
    pub repeats: Vec<Measures>,
    /// The metrics of every fold, repeat after repeat.
    pub folds: Vec<Measures>,
    /// Seeds of the repeats.
    pub seeds: Vec<u64>,
    /// Accuracy of always predicting the most frequent class, for classification.
    pub constant: Option<f64>,
}

impl CrossValidationMetrics {
    fn new(repeats: Vec<Measures>, folds: Vec<Measures>, seeds: Vec<u64>, constant: Option<f64>) -> Self {
        let spread = if repeats.len() > 1 { &repeats } else { &folds };
        let deviation = if spread.len() > 1 { over(spread, standard_deviation) } else { Measures::default() };
        Self { mean: over(&repeats, mean), deviation, repeats, folds, seeds, constant }
    }

    /// The samples of the deviation: `repeats` or `folds`.
    pub fn spread(&self) -> &'static str {
        if self.repeats.len() > 1 { "repeats" } else { "folds" }
    }
}

/// One number of all, metric by metric.
fn over(all: &[Measures], of: fn(&[f64]) -> f64) -> Measures {
    let values = |name: &'static str| all.iter().filter_map(|measures| measures.get(name)).collect::<Vec<_>>();
    let names = all.first().map_or(&[][..], |first| &first.0);
    Measures(names.iter().map(|measure| Measure::Last(measure.name(), of(&values(measure.name())))).collect())
}

/// The folds of all repeats.
pub(crate) struct Folds<T> {
    seeds: Vec<u64>,
    /// Folds of a repeat.
    count: usize,
    /// Every fold with the seed of its repeat.
    all: Vec<(u64, T)>,
}

impl<T: Send> Folds<T> {
    /// Cuts the examples anew for every repeat; the seeds of the repeats follow from `seed`.
    ///
    /// # Errors
    /// Those of `cut`.
    pub(crate) fn new(seed: u64, repeats: usize, cut: impl Fn(u64) -> Result<Vec<T>>) -> Result<Self> {
        let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(seed, repeat)).collect();
        let cuts = seeds.iter().map(|&seed| cut(seed)).collect::<Result<Vec<_>>>()?;
        let count = cuts.first().map_or(1, Vec::len).max(1);
        let folds = seeds.iter().zip(cuts);
        let all = folds.flat_map(|(&seed, folds)| folds.into_iter().map(move |fold| (seed, fold))).collect();
        Ok(Self { seeds, count, all })
    }

    /// Predicts the held-out examples of every fold by networks that have not seen them, and measures the
    /// predictions by repeats and by folds. `constant` gets the predictions of the first repeat; `done` is called
    /// after every fold.
    ///
    /// # Errors
    /// Those of `predict` and `metrics`.
    pub(crate) fn run<P: Send>(
        self,
        predict: impl Fn(T, u64) -> Result<P> + Sync,
        metrics: impl Fn(&[P]) -> Result<Measures>,
        constant: impl FnOnce(&[P]) -> Option<f64>,
        done: &(dyn Fn() + Sync),
    ) -> Result<CrossValidationMetrics> {
        // Folds are independent, and each is too small for several threads.
        let predictions = self.all.into_par_iter().map(|(seed, fold)| {
            let found = predict(fold, seed)?;
            done();
            Ok(found)
        });
        let predictions = predictions.collect::<Result<Vec<P>>>()?;
        let repeats = predictions.chunks(self.count).map(&metrics).collect::<Result<_>>()?;
        let folds = predictions.chunks(1).map(&metrics).collect::<Result<_>>()?;
        let constant = constant(&predictions[..self.count.min(predictions.len())]);
        Ok(CrossValidationMetrics::new(repeats, folds, self.seeds, constant))
    }
}

/// The mean of the predictions of `members` networks, whose seeds follow from `seed`. `load` gives the data and
/// `predict` the predictions of one network.
///
/// # Errors
/// Those of `load`, of training and of `predict`.
pub(crate) fn ensemble<F: Family>(
    experiment: &SupervisedExperiment<F>,
    seed: u64,
    members: usize,
    device: &Device,
    load: impl Fn() -> Result<(F::TrainingData, F::Config)>,
    predict: impl Fn(&Learner<F>) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let mut sum: Vec<f64> = Vec::new();
    for member in 0..members {
        let mut of_member = experiment.clone();
        of_member.train.seed = seed_of_repeat(seed, member);
        let (data, config) = load()?;
        let mut learner = Learner::with_data(&of_member, data, config, device)?;
        learner.learn_all()?;
        let predictions = predict(&learner)?;
        sum.resize(predictions.len(), 0.0);
        sum.iter_mut().zip(predictions).for_each(|(sum, value)| *sum += value / members as f64);
    }
    Ok(sum)
}
