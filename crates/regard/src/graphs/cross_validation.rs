//! Cross-validation of networks on graphs or nodes: by folds, or by the data's own split.

use burn::tensor::Device;
use regard_data::graphs::Level;
use regard_data::graphs::formats::tu::Fold;
use serde::{Deserialize, Serialize};

use super::GraphLearner;
use super::base::{of_rows, problem, rows_of};
use super::examples::{DataSplit, in_no_part, missing_targets, repeated, warnings};
use super::experiment::{GraphExperiment, SourceKind};
use super::family::predictions;
use super::measure::{BatchPredictions, measures};
use super::model::GraphTransformerConfig;
use super::source::{DataSplits, Placed, Source, fold, folds, scaffold_folds};
use super::task::{GraphTask, Targets};
use crate::supervised::base::{BaseProblem, Only, Rows, TaskPredictions};
use crate::supervised::{
    CrossValidationMetrics, CrossValidationOptions, Done, Folds, cross_validate_blend, ensemble, numbers_as_classes,
};
use crate::train::{Measure, Measures, majority_share};
use crate::{Error, Result};

/// The held-out parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldOut {
    /// So many parts, of each class alike, cut anew for every repeat; nodes of a single graph where they
    /// have the answers, else graphs.
    Folds(usize),
    /// So many parts, cut anew for every repeat; molecules of one scaffold are in one part.
    Scaffolds(usize),
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

    /// Warnings about the graphs and these parts of them, a sentence each.
    pub fn warnings(&self, held_out: &HeldOut) -> Vec<String> {
        let classes = match self.placed.task(&self.experiment) {
            GraphTask::Classification => self.placed.graphs.targets().and_then(|targets| targets.classes(0).ok()),
            GraphTask::Labels | GraphTask::Regression => None,
        };
        let of_classes = classes.and_then(|classes| numbers_as_classes(&classes.names));
        let are_cut = self.experiment.data.source == SourceKind::File && matches!(held_out, HeldOut::Folds(_));
        let graphs = &self.placed.graphs;
        let copies = (are_cut && graphs.len() > 1).then(|| repeated(graphs)).flatten();
        let in_no_part = matches!(held_out, HeldOut::Split).then(|| in_no_part(graphs)).flatten();
        warnings(graphs, &self.placed.positions)
            .into_iter()
            .chain(missing_targets(graphs))
            .chain(in_no_part)
            .chain(of_classes)
            .chain(copies)
            .collect()
    }

    /// If true, the data has a split of its own.
    pub fn has_split(&self) -> bool {
        self.placed.graphs.parts().is_some()
    }

    /// If true, there is one task of classes, whose classes are reported where base learners are beside the network.
    pub fn has_one_task_of_classes(&self) -> bool {
        match self.placed.task(&self.experiment) {
            GraphTask::Classification => true,
            GraphTask::Labels => self.placed.graphs.targets().is_some_and(|targets| targets.tasks().len() == 1),
            GraphTask::Regression => false,
        }
    }

    /// For every part, trains on the rest and measures on it, several times, with base learners beside the network.
    /// Folds have no validation graphs, and the last network counts. `done` is called after every fold.
    ///
    /// # Errors
    /// [`Error::Config`] for data that the task does not fit, more folds than graphs, or nothing held out;
    /// [`Error::Diverged`].
    pub fn run(
        &self,
        held_out: &HeldOut,
        options: CrossValidationOptions,
        device: &Device,
        done: Done<'_>,
    ) -> Result<CrossValidationMetrics> {
        let seed = self.experiment.train.seed;
        let folds = Folds::new(seed, options.repeats, |seed| self.splits(held_out, seed))?;
        let truth = Truth::new(&self.experiment, &self.placed)?;
        let options = options.with_default(self.experiment.eval.blend);
        if options.only != Some(Only::Network)
            && let Some((_, problem)) = problem(&truth.config, &self.placed.filled(&self.experiment))?
        {
            let validation = match held_out {
                HeldOut::Split => self.splits(held_out, seed)?.swap_remove(0)[1].clone(),
                _ => DataSplit::default(),
            };
            return self.blended(&problem, folds, &validation, options, device, done);
        }
        options.refuse_base()?;
        let predict = |splits: DataSplits, seed: u64| self.predictions(&truth, &splits, seed, device, done);
        let metrics = |folds: &[FoldPredictions]| Ok(truth.metrics(folds));
        let constant = |folds: &[FoldPredictions]| known_classes(folds).map(|classes| majority_share(&classes));
        folds.run(predict, metrics, constant, done)
    }

    /// Networks, base learners and their blends, fold by fold.
    fn blended(
        &self,
        problem: &BaseProblem,
        folds: Folds<DataSplits>,
        validation: &DataSplit,
        options: CrossValidationOptions,
        device: &Device,
        done: Done<'_>,
    ) -> Result<CrossValidationMetrics> {
        let Self { experiment, placed } = self;
        let level = placed.graphs.targets().map_or(Level::Graph, regard_data::graphs::Targets::level);
        let rows = |splits: DataSplits| {
            let [training, validation, test] = splits.map(|split| rows_of(&placed.graphs, level, &split));
            Rows { training, validation, test }
        };
        let network = |training: &[usize], wanted: &[usize], seed: u64| -> Result<TaskPredictions> {
            let mut of_fold = experiment.clone();
            of_fold.train.seed = seed;
            let mut splits = fold(&placed.graphs, level, training.to_vec(), wanted.to_vec());
            splits[1] = validation.clone();
            let (source, config) = placed.source(&of_fold, splits.clone())?;
            let mut learner = GraphLearner::with_data(&of_fold, source, config.clone(), device)?;
            learner.learn_observed(done)?;
            let found = of_rows(&config, &placed.graphs, &predictions(&learner, &splits[2])?, &splits[2]);
            // Predictions come in the order of the graphs' nodes.
            Ok(if level == Level::Graph { found } else { in_order(found, wanted) })
        };
        let settings = options.blend(experiment.eval.ensemble, experiment.train.seed);
        cross_validate_blend(problem, folds.map(rows), &settings, network, done)
    }

    fn splits(&self, held_out: &HeldOut, seed: u64) -> Result<Vec<DataSplits>> {
        let Placed { graphs, .. } = &self.placed;
        Ok(match held_out {
            HeldOut::Folds(k) => folds(graphs, self.placed.task(&self.experiment), *k, seed)?,
            HeldOut::Scaffolds(_) if self.experiment.data.smiles.is_empty() => {
                let reason = "is empty, but only molecules have scaffolds; expected the column of SMILES";
                return Err(Error::config("data.smiles", reason));
            }
            HeldOut::Scaffolds(k) => scaffold_folds(graphs, *k, seed)?,
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
    fn predictions(
        &self,
        truth: &Truth,
        splits: &DataSplits,
        seed: u64,
        device: &Device,
        observer: Done<'_>,
    ) -> Result<FoldPredictions> {
        let Self { experiment, placed } = self;
        let load = || placed.source(experiment, splits.clone());
        let test = &splits[2];
        let of_network = |learner: &GraphLearner| predictions(learner, test);
        let numbers = ensemble(experiment, seed, experiment.eval.ensemble, device, load, of_network, observer)?;
        let targets = truth.source.examples.targets(truth.config.level, test, &test.graphs);
        Ok(FoldPredictions { numbers, targets })
    }
}

/// The predictions for a fold, and its targets.
#[derive(Serialize, Deserialize)]
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

/// Predictions of rows in rising order, in the order in which rows are wanted.
fn in_order(found: TaskPredictions, wanted: &[usize]) -> TaskPredictions {
    let mut sorted: Vec<usize> = (0..wanted.len()).collect();
    sorted.sort_by_key(|at| wanted[*at]);
    let of_task = |numbers: Vec<f64>| {
        let outputs = numbers.len() / wanted.len().max(1);
        let mut ordered = vec![0.0; numbers.len()];
        for (from, to) in sorted.iter().enumerate() {
            ordered[to * outputs..(to + 1) * outputs].copy_from_slice(&numbers[from * outputs..(from + 1) * outputs]);
        }
        ordered
    };
    found.into_iter().map(of_task).collect()
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
