//! Predictions for the sets of a file.

mod mixtures;

use std::path::Path;

use regard_data::sets::Bags;
use regard_data::sets::formats::predictions::Predicted;

use crate::sets::Sets;
use crate::sets::base::{by_task, problem_of, views_of};
use crate::sets::examples::Examples;
use crate::sets::experiment::{SetData, SourceKind};
use crate::sets::measure::{Predictions, in_own_units, measure_predictions, predict};
use crate::sets::source::{Source, features_of, read_encoded, targets_of};
use crate::sets::task::{Targets, TaskKind};
use crate::supervised::Model;
use crate::supervised::base::{BaseModel, ModelMetrics, TestPredictions};
use crate::train::{NumberLoss, probabilities};
use crate::{Error, Result};
pub use mixtures::MixtureOptions;

/// A model on sets.
pub type SetModel = Model<Sets>;

/// Predictions for the sets of a file.
#[derive(Debug)]
pub struct SetPredictions {
    /// A prediction for every set; none where items are scored.
    pub of_sets: Option<Predicted>,
    /// A score for every item, or its importance.
    pub of_items: Option<Vec<f64>>,
}

impl SetModel {
    /// Reads sets of a file with the columns the model was trained on, in its order; `labelled` where the
    /// file needs targets. Their notes name columns with values far outside those of training.
    ///
    /// # Errors
    /// Those of reading the file; columns that differ from those of training.
    pub fn read(&self, path: &Path, data: &SetData, labelled: bool) -> Result<Bags> {
        let known = Some(self.config.data.features.as_slice()).filter(|names| !names.is_empty());
        let data = SetData { standardise: !self.config.data.mean.is_empty(), ..data.clone() };
        let bags = read_encoded(path, &data, self.config.task, labelled, known, self.config.data.decimal)?;
        let bags = bags.align(&self.config.feature_names())?;
        let of_column = |column: usize| bags.features().iter().skip(column).step_by(bags.width()).copied();
        let notes = self.config.data.ranges.notes("training", bags.names(), of_column);
        Ok(bags.with_more_notes(notes))
    }

    /// The predictions for sets; with `importance` also the attention to every item.
    ///
    /// # Errors
    /// [`Error::Config`] for the importance of a model that does not weigh items; [`Error::NotFinite`] for a prediction
    /// that is not a number.
    pub fn predict(&self, bags: &Bags, importance: bool) -> Result<SetPredictions> {
        let examples = features_of(&self.config, bags)?;
        let Predictions { numbers, importance: weights } = predict(&self.network, &examples, importance, &self.device);
        if importance && weights.is_none() && !self.config.task.of_items() {
            let reason = "needs a model with pooling, and this model has none";
            return Err(Error::config("--importance", reason));
        }
        let blended = match &self.base {
            Some(base) => {
                let network = by_task(&self.config, &numbers);
                base.blended(&network, &views_of(&examples)?)?.into_iter().next()
            }
            None => None,
        };
        let of_sets = match self.config.task {
            TaskKind::Ranking | TaskKind::Anomaly => None,
            TaskKind::Classification => Some(Predicted::Classes {
                names: self.config.data.classes.clone(),
                probabilities: blended.unwrap_or_else(|| probabilities(&numbers, self.config.outputs)),
                shares: self.base.as_ref().map(BaseModel::class_shares).unwrap_or_default(),
            }),
            TaskKind::Regression | TaskKind::Counting if self.config.outputs == 1 => {
                Some(Predicted::numbers(blended.unwrap_or_else(|| in_own_units(&self.config, &numbers))))
            }
            other => {
                let reason = format!(
                    "is a model for {} with {} outputs, which cannot be written to a table",
                    other.name(),
                    self.config.outputs
                );
                return Err(Error::config("--model", reason));
            }
        };
        let of_items = if self.config.task.of_items() { Some(numbers) } else { weights };
        if let Some(set) = of_sets.as_ref().and_then(Predicted::not_finite) {
            return Err(Error::not_finite("set", &bags.ids()[set], "the prediction"));
        }
        let mut scores = of_items.iter().flatten();
        if let Some(row) = scores.position(|score| !score.is_finite()) {
            let set = bags.offsets().partition_point(|&first| first <= row) - 1;
            return Err(Error::not_finite("set", &bags.ids()[set], "the score of a row"));
        }
        Ok(SetPredictions { of_sets, of_items })
    }

    /// The predictions for the sets of several files, in one pass through the network: to the bit those of
    /// [`Self::predict`] for each file.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn predict_together(&self, files: &[&Bags], importance: bool) -> Result<Vec<SetPredictions>> {
        if files.len() < 2 {
            return files.iter().map(|bags| self.predict(bags, importance)).collect();
        }
        let SetPredictions { of_sets, of_items } = self.predict(&Bags::concat(files)?, importance)?;
        let mut of_sets = match of_sets {
            Some(all) => all.split(files.iter().map(|bags| bags.len())).into_iter().map(Some).collect(),
            None => vec![None; files.len()],
        };
        let mut rows = 0;
        let mut of_file = |(at, bags): (usize, &&Bags)| {
            let range = rows..rows + bags.rows();
            rows = range.end;
            let of_items = of_items.as_ref().map(|all| all[range].to_vec());
            SetPredictions { of_sets: of_sets[at].take(), of_items }
        };
        Ok(files.iter().enumerate().map(&mut of_file).collect())
    }

    /// The metrics of the model on the sets of a file with targets.
    ///
    /// # Errors
    /// [`Error::Config`] for a file without targets.
    pub fn measure(&self, bags: &Bags) -> Result<ModelMetrics> {
        self.metrics(self.test_predictions(bags)?)
    }

    /// The predictions for sets with targets, to take [metrics](Self::metrics) of together with those for others.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn test_predictions(&self, bags: &Bags) -> Result<SetTestPredictions> {
        let mut examples = features_of(&self.config, bags)?;
        examples.targets = targets_of(&self.config, bags)?;
        self.test_predictions_on(examples)
    }

    /// The metrics of the model from its predictions.
    ///
    /// # Errors
    /// Predicted mixtures that are none.
    pub fn metrics(&self, SetTestPredictions(found): SetTestPredictions) -> Result<ModelMetrics> {
        match found {
            TestPredictions::Blend(found) => Ok(found.metrics()),
            TestPredictions::Network((examples, predicted)) => {
                let loss = self.experiment.as_ref().map_or(NumberLoss::Absolute, |found| found.train.loss);
                Ok(measure_predictions(&self.config, &predicted, &examples, loss)?.into())
            }
        }
    }

    /// The model measured on the sets that its experiment holds out of a file, or on the generated sets of its
    /// experiment, `sets` of them or as many as it says.
    ///
    /// # Errors
    /// [`Error::Config`] for a model whose folder says nothing of its experiment, and for one that holds out nothing;
    /// those of reading the file, and for one that was changed since the training.
    pub fn measure_held_out(&self, sets: Option<usize>) -> Result<ModelMetrics> {
        let mut experiment = self.experiment_on_same_data()?.clone();
        experiment.eval.num_sets = sets.unwrap_or(experiment.eval.num_sets);
        let (source, _) = Source::of(&experiment)?;
        if !source.has_validation() {
            let reason = "is required: the experiment of the model has no held-out data";
            return Err(Error::config("--data", reason));
        }
        self.measured(source.test(&experiment))
    }

    /// The model measured on sets drawn another way than those it was trained on, as many as its experiment
    /// says.
    ///
    /// # Errors
    /// As [`Self::measure_held_out`]; [`Error::Config`] for sets of another task.
    pub fn measure_on(&self, source: SourceKind) -> Result<ModelMetrics> {
        let mut experiment = self.known_experiment()?.clone();
        experiment.data.source = source;
        let (source, _) = Source::of(&experiment)?;
        self.measured(source.test(&experiment))
    }

    fn measured(&self, examples: Examples) -> Result<ModelMetrics> {
        self.metrics(self.test_predictions_on(examples)?)
    }

    fn test_predictions_on(&self, mut examples: Examples) -> Result<SetTestPredictions> {
        let predicted = predict(&self.network, &examples, false, &self.device).numbers;
        if let Some(base) = &self.base
            && let Some(problem) = problem_of(&self.config, &examples)?
        {
            let rows: Vec<usize> = (0..examples.len()).collect();
            let of_base = base.predict_rows(&problem.views, &rows)?;
            let found = base.test_predictions(&problem.tasks, &rows, [by_task(&self.config, &predicted), of_base]);
            return Ok(SetTestPredictions(TestPredictions::Blend(found)));
        }
        // Only the points of clusters are looked at again.
        if !matches!(examples.targets, Targets::Points) {
            examples.features = vec![];
        }
        Ok(SetTestPredictions(TestPredictions::Network((examples, predicted))))
    }
}

/// Predictions of a model for sets with targets.
#[derive(Clone, Debug)]
pub struct SetTestPredictions(TestPredictions<(Examples, Vec<f64>)>);

impl SetTestPredictions {
    /// These, and behind them those of the same model for other sets.
    ///
    /// # Panics
    /// If they are those of another model, of which base learners are a part and not of this, or the reverse.
    pub fn append(&mut self, other: Self) {
        self.0.append(other.0, |(examples, predicted), (more, others)| {
            examples.append(&more);
            predicted.extend(others);
        });
    }
}
