//! Predictions for the graphs of a file.

use std::path::Path;

use burn::tensor::Tensor;
use regard_data as data;
use regard_data::graphs::Level;
use regard_data::graphs::formats::predictions::Predicted;

use super::Graphs;
use super::base::{all_predictions, by_task, of_rows, predictions, rows_of, tasks_of};
use super::examples::{DataSplit, Examples};
use super::experiment::GraphData;
use super::measure::{BatchPredictions, MeasureOptions, in_target_units, metrics, predict};
use super::source::{Source, known, read_encoded, targets};
use super::task::{GraphTask, LevelName};
use crate::supervised::Model;
use crate::supervised::base::{BaseModel, ModelMetrics, TestPredictions};
use crate::train::{LossOptions, Ranks};
use crate::{Error, Result};

/// Graphs that go through a network together.
const TOGETHER: usize = 128;

/// A model on graphs.
pub type GraphModel = Model<Graphs>;

/// Attention weights of the edges in a layer.
#[derive(Clone, Debug)]
pub struct AttentionWeights {
    /// The graphs, in the order of the weights.
    pub graphs: Vec<usize>,
    /// The layer, from 1.
    pub layer: usize,
    /// `[edges of those graphs, heads]`
    pub weights: Vec<f32>,
}

impl GraphModel {
    /// Reads graphs of a file, with types and columns as in training; `labelled` where the file needs targets.
    /// Where wrong rows are left out, so are graphs with types that training did not have.
    ///
    /// # Errors
    /// Those of reading the file; types that training did not have, where it learnt none for rare types; a file
    /// without targets.
    pub fn read(&self, path: &Path, columns: &GraphData, labelled: bool) -> Result<Examples> {
        let mut graphs = read_encoded(path, columns, labelled, Some(&self.config))?;
        if columns.skip_bad && self.config.data.other_node.is_empty() {
            graphs = graphs.without_unseen_nodes(&self.config.data.node_types)?;
        }
        let known = self.known_graphs(graphs, columns.complete_graph).map_err(|error| error.in_file(path))?;
        let targets = if labelled { Some(targets(&self.config, &known.graphs)?) } else { None };
        Ok(Examples { targets, ..known })
    }

    /// Graphs in memory with types and columns as in training, without targets; `complete_graph` as in training.
    ///
    /// # Errors
    /// Types that training did not have, where it learnt none for rare types; other columns than in training.
    pub fn known_graphs(&self, graphs: data::graphs::Graphs, complete_graph: bool) -> Result<Examples> {
        known(&self.config, graphs, complete_graph)
    }

    /// The prediction for every graph, or for every node.
    ///
    /// # Errors
    /// Those of the base learners beside the network: features that differ from those of training, or more numbers of
    /// nodes than they can hold; [`Error::NotFinite`] for a prediction that is not a number.
    pub fn predict(&self, examples: &Examples) -> Result<Predicted> {
        let mut numbers = Vec::new();
        for chosen in chunks(examples) {
            data::cancel::check();
            let answers = self.network.forward(&examples.input(&self.config, &chosen, None), &self.device);
            numbers.extend(answers.into_data().iter::<f64>());
        }
        let mut found = by_task(&self.config, &in_target_units(&self.config, numbers));
        if let Some(base) = &self.base {
            found = base.blend(&found, &all_predictions(base, self.config.level.into(), &examples.graphs)?);
        }
        let tasks = self.config.data.tasks.clone();
        let found = match self.config.task {
            GraphTask::Classification => {
                let (names, all) = (self.config.data.classes.clone(), found.concat());
                // A single class has a second, empty side.
                let probabilities = if names.len() == 1 { all.into_iter().step_by(2).collect() } else { all };
                let shares = self.base.as_ref().filter(|_| names.len() > 1).map(BaseModel::class_shares);
                Predicted::Classes { names, probabilities, shares: shares.unwrap_or_default() }
            }
            GraphTask::Labels => {
                let yes: Vec<Vec<f64>> =
                    found.into_iter().map(|sides| sides.into_iter().skip(1).step_by(2).collect()).collect();
                Predicted::Numbers { tasks, values: side_by_side(&yes), intervals: vec![] }
            }
            GraphTask::Regression => Predicted::Numbers { tasks, values: side_by_side(&found), intervals: vec![] },
        };
        let of_nodes = self.config.level == LevelName::Node;
        match found.not_finite().map(|row| if of_nodes { examples.graphs.graph_of(row) } else { row }) {
            None => Ok(found),
            Some(graph) => Err(Error::not_finite("graph", &examples.graphs.ids()[graph], "a prediction")),
        }
    }

    /// The predictions for the graphs of several files, in one pass through the network: to the bit those of
    /// [`Self::predict`] for each file. For a model of nodes each file takes a pass of its own, since its base learners
    /// look at all nodes of a file.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn predict_together(&self, files: &[&Examples]) -> Result<Vec<Predicted>> {
        if files.len() < 2 || self.config.level == LevelName::Node {
            return files.iter().map(|examples| self.predict(examples)).collect();
        }
        let found = self.predict(&Examples::concat(files)?)?;
        Ok(found.split(files.iter().map(|examples| examples.graphs.len())))
    }

    /// Attention weights of every edge, layer by layer.
    pub fn attention(&self, examples: &Examples) -> Vec<AttentionWeights> {
        let mut found = Vec::new();
        for chosen in chunks(examples) {
            data::cancel::check();
            let (_, layers) =
                self.network.forward_with_weights(&examples.input(&self.config, &chosen, None), &self.device);
            let numbers = |weights: Tensor<2>| weights.into_data().iter::<f32>().collect();
            found.extend(layers.into_iter().enumerate().map(|(layer, weights)| AttentionWeights {
                graphs: chosen.clone(),
                layer: layer + 1,
                weights: numbers(weights),
            }));
        }
        found
    }

    /// The metrics of the model on examples with targets.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn measure(&self, examples: &Examples) -> Result<ModelMetrics> {
        Ok(self.metrics(self.test_predictions(examples)?))
    }

    /// The predictions for examples with targets, to take [metrics](Self::metrics) of together with those for others.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn test_predictions(&self, examples: &Examples) -> Result<GraphTestPredictions> {
        let split = DataSplit { graphs: (0..examples.graphs.len()).collect(), nodes: None };
        self.test_predictions_on(examples, &split)
    }

    /// The metrics of the model from its predictions.
    pub fn metrics(&self, GraphTestPredictions(found): GraphTestPredictions) -> ModelMetrics {
        match found {
            TestPredictions::Blend(found) => found.metrics(),
            TestPredictions::Network(predicted) => metrics(&self.config, &predicted).into(),
        }
    }

    /// The metrics of the model on the test part of its experiment's data.
    ///
    /// # Errors
    /// [`Error::Config`] for a model whose folder says nothing of its experiment, or whose data has no part
    /// to test with or was changed since the training.
    pub fn measure_test(&self) -> Result<ModelMetrics> {
        let experiment = self.experiment_on_same_data()?;
        let (source, _) = Source::of(experiment)?;
        if source.test.graphs.is_empty() {
            return Err(Error::config("--data", "is required: the experiment of the model has no test data"));
        }
        Ok(self.metrics(self.test_predictions_on(&source.examples, &source.test)?))
    }

    fn test_predictions_on(&self, examples: &Examples, split: &DataSplit) -> Result<GraphTestPredictions> {
        let known =
            self.experiment.as_ref().map(|experiment| (experiment.train.loss_options(), experiment.eval.batch_size));
        let (loss, batch_size) = known.unwrap_or((LossOptions::default(), TOGETHER));
        let options = MeasureOptions { loss, batch_size };
        let alone = (&self.device, &Ranks::default());
        let predicted = predict(&self.network, &self.config, examples, split, options, alone);
        if let Some(base) = &self.base
            && let Some(tasks) = tasks_of(&self.config, &examples.graphs)?
        {
            let found = in_target_units(&self.config, predicted.numbers);
            let level = examples.graphs.targets().map_or(Level::Graph, data::graphs::Targets::level);
            let rows = rows_of(&examples.graphs, level, split);
            let network = of_rows(&self.config, &examples.graphs, &found, split);
            let of_base = predictions(base, level, &examples.graphs, &rows)?;
            let found = base.test_predictions(&tasks, &rows, [network, of_base]);
            return Ok(GraphTestPredictions(TestPredictions::Blend(found)));
        }
        Ok(GraphTestPredictions(TestPredictions::Network(predicted)))
    }
}

/// Predictions of a model for graphs with targets.
#[derive(Clone, Debug)]
pub struct GraphTestPredictions(TestPredictions<BatchPredictions>);

impl GraphTestPredictions {
    /// These, and behind them those of the same model for other graphs.
    ///
    /// # Panics
    /// If they are those of another model, of which base learners are a part and not of this, or the reverse.
    pub fn append(&mut self, other: Self) {
        self.0.append(other.0, |found, more| {
            found.numbers.extend(more.numbers);
            found.losses.extend(more.losses);
            found.targets.extend(more.targets);
        });
    }
}

/// Numbers `[rows, tasks]` from those of each task.
fn side_by_side(tasks: &[Vec<f64>]) -> Vec<f64> {
    let rows = tasks.first().map_or(0, Vec::len);
    (0..rows).flat_map(|row| tasks.iter().map(move |of_task| of_task[row])).collect()
}

fn chunks(examples: &Examples) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..examples.graphs.len()).collect();
    all.chunks(TOGETHER).map(<[usize]>::to_vec).collect()
}
