//! Networks measured on graphs, or nodes, they have not seen: folds, or the data's own split.

use burn::tensor::Device;
use rayon::prelude::*;
use regard_data::graphs::Level;
use regard_data::graphs::formats::tu::Fold;
use regard_data::split::seed_of_repeat;

use super::examples::Examples;
use super::experiment::GraphExperiment;
use super::measure::{Told, measures};
use super::model::GraphTransformerConfig;
use super::remarks::remarks;
use super::source::{Placed, Portions, Source, fold, folds};
use super::task::Targets;
use super::train::GraphLearner;
use crate::train::{CrossValidated, Measure, Measures, most_frequent};
use crate::{Error, Result};

/// What is held out in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldOut {
    /// So many parts, of each class alike, cut anew for every repeat; nodes of a single graph where they
    /// have the answers, else graphs.
    Folds(usize),
    /// Graphs that are listed.
    Lists(Vec<Fold>),
    /// The test part of the data's own split, or of the shares that the experiment names.
    Split,
}

/// The graphs of an experiment, ready to be learnt from several times.
#[derive(Clone, Debug)]
pub struct CrossValidation {
    experiment: GraphExperiment,
    placed: Placed,
}

impl CrossValidation {
    /// Reads or draws the graphs.
    ///
    /// # Errors
    /// What reading a file gives.
    pub fn new(experiment: &GraphExperiment) -> Result<Self> {
        Ok(Self { experiment: experiment.clone(), placed: Placed::of(experiment)? })
    }

    /// How many graphs there are.
    pub fn graphs(&self) -> usize {
        self.placed.graphs.len()
    }

    /// What is unusual about them.
    pub fn remarks(&self) -> Vec<String> {
        let Placed { graphs, positions } = self.placed.clone();
        remarks(&Examples { graphs, positions, targets: None })
    }

    /// Whether the data says itself what is to be tested with.
    pub fn has_split(&self) -> bool {
        self.placed.graphs.parts().is_some()
    }

    /// For every part, trains on the rest and measures on it; all that `repeats` times. With folds there is
    /// nothing to choose by, and the last network counts. `done` hears of every fold.
    ///
    /// # Errors
    /// [`Error::Config`] for data that cannot be asked, more folds than graphs, or nothing held out;
    /// [`Error::Diverged`].
    pub fn run(
        &self,
        held_out: &HeldOut,
        repeats: usize,
        device: &Device,
        done: &(dyn Fn() + Sync),
    ) -> Result<CrossValidated> {
        let seed = self.experiment.train.seed;
        let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(seed, repeat)).collect();
        let cut = seeds.iter().map(|&seed| self.portions(held_out, seed)).collect::<Result<Vec<_>>>()?;
        let count = cut.first().map_or(1, Vec::len).max(1);
        let tasks: Vec<(u64, Portions)> =
            seeds.iter().zip(cut).flat_map(|(&seed, parts)| parts.into_iter().map(move |part| (seed, part))).collect();
        let truth = Truth::new(&self.experiment, &self.placed)?;
        // Folds are independent, and each is too small for several threads.
        let told = tasks
            .into_par_iter()
            .map(|(seed, portions)| {
                let found = self.held_out(&truth, portions, seed, device)?;
                done();
                Ok(found)
            })
            .collect::<Result<Vec<(Vec<f64>, Targets)>>>()?;
        let of_repeats: Vec<Measures> = told.chunks(count).map(|folds| truth.measures(folds)).collect();
        let of_folds: Vec<Measures> = told.chunks(1).map(|fold| truth.measures(fold)).collect();
        let classes = known_classes(told.iter().take(count).map(|(_, targets)| targets));
        let constant = classes.map(|classes| most_frequent(&classes));
        Ok(CrossValidated::new(of_repeats, of_folds, seeds, constant))
    }

    fn portions(&self, held_out: &HeldOut, seed: u64) -> Result<Vec<Portions>> {
        let Placed { graphs, .. } = &self.placed;
        Ok(match held_out {
            HeldOut::Folds(k) => folds(graphs, self.placed.task(&self.experiment), *k, seed)?,
            HeldOut::Lists(lists) => {
                let of_list = |list: &Fold| fold(graphs, Level::Graph, list.training.clone(), list.test.clone());
                lists.iter().map(of_list).collect()
            }
            HeldOut::Split => {
                let portions = self.placed.portions(&self.experiment)?;
                if portions[2].graphs.is_empty() {
                    let reason = "is 0, and the data has no test part; nothing is left to be measured with";
                    return Err(Error::config("data.test_fraction", reason));
                }
                vec![portions]
            }
        })
    }

    /// Answers for what a fold holds out, numbers in their own measure, and what is right.
    fn held_out(&self, truth: &Truth, portions: Portions, seed: u64, device: &Device) -> Result<(Vec<f64>, Targets)> {
        let Self { experiment, placed } = self;
        let members = experiment.eval.ensemble;
        let mut sum: Vec<f64> = Vec::new();
        for member in 0..members {
            let mut of_member = experiment.clone();
            of_member.train.seed = seed_of_repeat(seed, member);
            let (source, config) = placed.source(experiment, portions.clone())?;
            let mut learner = GraphLearner::with_source(&of_member, source, config, device)?;
            learner.learn_all()?;
            let told = learner.told(&portions[2])?;
            sum.resize(told.len(), 0.0);
            sum.iter_mut().zip(told).for_each(|(sum, value)| *sum += value / members as f64);
        }
        Ok((sum, truth.source.examples.targets(truth.config.level, &portions[2], &portions[2].graphs)))
    }
}

/// What is right, numbers as they stand in the data.
struct Truth {
    source: Source,
    config: GraphTransformerConfig,
}

impl Truth {
    fn new(experiment: &GraphExperiment, placed: &Placed) -> Result<Self> {
        let mut unscaled = experiment.clone();
        unscaled.data.standardise = false;
        let (source, config) = placed.source(&unscaled, Portions::default())?;
        Ok(Self { source, config })
    }

    /// Measures of folds together.
    fn measures(&self, folds: &[(Vec<f64>, Targets)]) -> Measures {
        let told = Told {
            numbers: folds.iter().flat_map(|(told, _)| told.clone()).collect(),
            losses: vec![],
            targets: folds.iter().map(|(_, targets)| targets.clone()).collect(),
        };
        let mut found = measures(&self.config, &told);
        // Means over batches, as the authors take them, are none here.
        found.0.retain(|measure: &Measure| !measure.name().ends_with("_paper"));
        found
    }
}

/// All classes that are known, where there are classes.
fn known_classes<'a>(all: impl Iterator<Item = &'a Targets>) -> Option<Vec<usize>> {
    let mut known = Vec::new();
    for targets in all {
        let Targets::Classes(classes) = targets else { return None };
        known.extend(classes.iter().flatten());
    }
    Some(known)
}
