//! Cross-validation of networks on graphs or nodes: by folds, or by the data's own split.

use burn::tensor::Device;
use regard_data::graphs::Level;
use regard_data::graphs::formats::tu::Fold;

use super::GraphLearner;
use super::examples::warnings;
use super::experiment::GraphExperiment;
use super::family::predictions;
use super::measure::{BatchPredictions, measures};
use super::model::GraphTransformerConfig;
use super::source::{DataSplits, Placed, Source, fold, folds};
use super::task::Targets;
use crate::supervised::{CrossValidationMetrics, Folds, ensemble};
use crate::train::{Measure, Measures, majority_share};
use crate::{Error, Result};

/// The held-out parts.
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

/// The graphs of an experiment, for several trainings.
#[derive(Clone, Debug)]
pub struct CrossValidation {
    experiment: GraphExperiment,
    placed: Placed,
}

impl CrossValidation {
    /// Reads or generates the graphs.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn new(experiment: &GraphExperiment) -> Result<Self> {
        Ok(Self { experiment: experiment.clone(), placed: Placed::of(experiment)? })
    }

    /// Number of graphs.
    pub fn graphs(&self) -> usize {
        self.placed.graphs.len()
    }

    /// Warnings about the graphs, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        warnings(&self.placed.graphs, &self.placed.positions)
    }

    /// If true, the data has a split of its own.
    pub fn has_split(&self) -> bool {
        self.placed.graphs.parts().is_some()
    }

    /// For every part, trains on the rest and measures on it; all that `repeats` times. Folds have no validation
    /// graphs, and the last network counts. `done` is called after every fold.
    ///
    /// # Errors
    /// [`Error::Config`] for data that the task does not fit, more folds than graphs, or nothing held out;
    /// [`Error::Diverged`].
    pub fn run(
        &self,
        held_out: &HeldOut,
        repeats: usize,
        device: &Device,
        done: &(dyn Fn() + Sync),
    ) -> Result<CrossValidationMetrics> {
        let folds = Folds::new(self.experiment.train.seed, repeats, |seed| self.splits(held_out, seed))?;
        let truth = Truth::new(&self.experiment, &self.placed)?;
        let predict = |splits: DataSplits, seed: u64| self.predictions(&truth, &splits, seed, device);
        let metrics = |folds: &[FoldPredictions]| Ok(truth.metrics(folds));
        let constant = |folds: &[FoldPredictions]| known_classes(folds).map(|classes| majority_share(&classes));
        folds.run(predict, metrics, constant, done)
    }

    fn splits(&self, held_out: &HeldOut, seed: u64) -> Result<Vec<DataSplits>> {
        let Placed { graphs, .. } = &self.placed;
        Ok(match held_out {
            HeldOut::Folds(k) => folds(graphs, self.placed.task(&self.experiment), *k, seed)?,
            HeldOut::Lists(lists) => {
                let of_list = |list: &Fold| fold(graphs, Level::Graph, list.training.clone(), list.test.clone());
                lists.iter().map(of_list).collect()
            }
            HeldOut::Split => {
                let splits = self.placed.splits(&self.experiment)?;
                if splits[2].graphs.is_empty() {
                    let reason = "is 0, and the data has no test part; nothing is left to be measured with";
                    return Err(Error::config("data.test_fraction", reason));
                }
                vec![splits]
            }
        })
    }

    /// Predictions for the held-out part of a fold, numbers in the units of their targets, and the targets.
    fn predictions(&self, truth: &Truth, splits: &DataSplits, seed: u64, device: &Device) -> Result<FoldPredictions> {
        let Self { experiment, placed } = self;
        let load = || placed.source(experiment, splits.clone());
        let test = &splits[2];
        let of_network = |learner: &GraphLearner| predictions(learner, test);
        let numbers = ensemble(experiment, seed, experiment.eval.ensemble, device, load, of_network)?;
        let targets = truth.source.examples.targets(truth.config.level, test, &test.graphs);
        Ok(FoldPredictions { numbers, targets })
    }
}

/// The predictions for a fold, and its targets.
struct FoldPredictions {
    numbers: Vec<f64>,
    targets: Targets,
}

/// The targets, numbers as they stand in the data.
struct Truth {
    source: Source,
    config: GraphTransformerConfig,
}

impl Truth {
    fn new(experiment: &GraphExperiment, placed: &Placed) -> Result<Self> {
        let mut unscaled = experiment.clone();
        unscaled.data.standardise = false;
        let (source, config) = placed.source(&unscaled, DataSplits::default())?;
        Ok(Self { source, config })
    }

    /// Metrics of folds together.
    fn metrics(&self, folds: &[FoldPredictions]) -> Measures {
        let predicted = BatchPredictions {
            numbers: folds.iter().flat_map(|fold| fold.numbers.clone()).collect(),
            losses: vec![],
            targets: folds.iter().map(|fold| fold.targets.clone()).collect(),
        };
        let mut found = measures(&self.config, &predicted);
        // Means over batches, as the authors report them, have no meaning here.
        found.0.retain(|measure: &Measure| !measure.name().ends_with("_paper"));
        found
    }
}

/// All classes that are known, where there are classes.
fn known_classes(folds: &[FoldPredictions]) -> Option<Vec<usize>> {
    let mut known = Vec::new();
    for fold in folds {
        let Targets::Classes(classes) = &fold.targets else { return None };
        known.extend(classes.iter().flatten());
    }
    Some(known)
}
