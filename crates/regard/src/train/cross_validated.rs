//! What is found by training several times and measuring on what was held out.

use regard_data::stats::{mean, standard_deviation};

use super::{Measure, Measures};

/// Measures of networks on examples they have not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidated {
    /// Means over the repeats, each measured on all that was held out in it.
    pub mean: Measures,
    /// Deviations over the repeats, or over the folds of one; empty where there is one fold of one.
    pub deviation: Measures,
    /// Every repeat by itself, all its folds together.
    pub repeats: Vec<Measures>,
    /// Every fold by itself, repeat after repeat.
    pub folds: Vec<Measures>,
    /// Seeds of the repeats.
    pub seeds: Vec<u64>,
    /// How often the most frequent class is right, where classes are asked for.
    pub constant: Option<f64>,
}

impl CrossValidated {
    pub(crate) fn new(repeats: Vec<Measures>, folds: Vec<Measures>, seeds: Vec<u64>, constant: Option<f64>) -> Self {
        let spread = if repeats.len() > 1 { &repeats } else { &folds };
        let deviation = if spread.len() > 1 { over(spread, standard_deviation) } else { Measures::default() };
        Self { mean: over(&repeats, mean), deviation, repeats, folds, seeds, constant }
    }

    /// What the deviation is over: `repeats` or `folds`.
    pub fn spread(&self) -> &'static str {
        if self.repeats.len() > 1 { "repeats" } else { "folds" }
    }
}

/// One number of all, measure by measure.
fn over(all: &[Measures], of: fn(&[f64]) -> f64) -> Measures {
    let values = |name: &'static str| all.iter().filter_map(|measures| measures.get(name)).collect::<Vec<_>>();
    let names = all.first().map_or(&[][..], |first| &first.0);
    Measures(names.iter().map(|measure| Measure::Last(measure.name(), of(&values(measure.name())))).collect())
}
