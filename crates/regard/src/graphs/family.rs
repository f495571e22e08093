//! The family of graphs, as the supervised engine sees it.

use burn::tensor::Device;
use rand_pcg::Pcg64Mcg;
use regard_base::features::graphs::GraphFeatures;
use regard_data::graphs::{Level, Targets};

use super::base;
use super::examples::{DataSplit, in_no_part, leaked};
use super::experiment::{self, GraphData, GraphEval, GraphExperiment, GraphTaskSettings, GraphTraining, SourceKind};
use super::measure::{MeasureOptions, errors, in_target_units, measure, predict};
use super::model::{GraphTransformer, GraphTransformerConfig};
use super::source::{Source, files};
use super::task::{GraphTask, LevelName, consistency, loss};
use crate::experiment::Given;
use crate::store::Weights;
use crate::supervised::base::{BaseExamples, BaseLearners, BlendOptions, TaskPredictions};
use crate::supervised::intervals::{AbsoluteErrors, TaskErrors};
use crate::supervised::{BatchPosition, Context, Family, Learner, Network, ShardLoss, numbers_as_classes};
use crate::train::{DataFiles, Ranks, Rounding, ValidationMetrics};
use crate::{Error, Result};

/// The family of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graphs;

impl Network for GraphTransformer {
    type Config = GraphTransformerConfig;

    fn new(config: &GraphTransformerConfig, device: &Device) -> Result<Self> {
        Self::new(config, device)
    }

    fn from_weights(config: &GraphTransformerConfig, weights: &Weights, device: &Device) -> Result<Self> {
        Self::from_weights(config, weights, device)
    }

    fn to_weights(&self, config: &GraphTransformerConfig) -> Weights {
        self.to_weights(config)
    }
}

impl Family for Graphs {
    const NAME: &'static str = "graphs";
    const ROUNDING: Rounding = Rounding::ByEpochs;

    type Task = GraphTaskSettings;
    type Data = GraphData;
    type Train = GraphTraining;
    type Eval = GraphEval;
    type Config = GraphTransformerConfig;
    type Network = GraphTransformer;
    type TrainingData = Source;
    type Base = BaseLearners<GraphFeatures>;
    type Residuals = ();
    type Calibration = ();

    fn defaults(given: &Given) -> Result<GraphExperiment> {
        experiment::defaults(given)
    }

    fn validate(experiment: &GraphExperiment) -> Result<()> {
        experiment::validate(experiment)
    }

    fn load(experiment: &GraphExperiment) -> Result<(Source, GraphTransformerConfig)> {
        Source::of(experiment)
    }

    fn data_files(data: &GraphData) -> Option<DataFiles> {
        (data.source == SourceKind::File).then(|| DataFiles::new("data.path", &data.path, files(data)))
    }

    fn samples(source: &Source) -> Option<usize> {
        Some(source.training_graphs())
    }

    fn has_validation(source: &Source) -> bool {
        !source.validation.graphs.is_empty()
    }

    fn warnings(Context { experiment, config, data: source, .. }: &Context<'_, Self>) -> Vec<String> {
        let on_disk = source.on_disk.iter().map(|graphs| graphs.note().to_owned());
        let has_features = config.edge_types > 1 || config.edge_numbers > 0;
        let unseen = (has_features && !config.edge_stream).then(|| {
            "the network does not see the features of edges, `--set model.edge_stream=true` shows them to it".to_owned()
        });
        let held_out = [source.validation.graphs.as_slice(), &source.test.graphs].concat();
        let is_whole = experiment.data.source == SourceKind::File && config.level == LevelName::Graph;
        let copies = (is_whole && source.on_disk.is_none())
            .then(|| leaked(&source.examples.graphs, &source.training.graphs, &held_out))
            .flatten();
        on_disk
            .chain(source.examples.warnings())
            .chain(in_no_part(&source.examples.graphs))
            .chain(copies)
            .chain(numbers_as_classes(&config.data.classes))
            .chain(unseen)
            .collect()
    }

    fn check(context: &Context<'_, Self>) -> Result<()> {
        if context.experiment.train.family.consistency > 0.0 && context.config.task != GraphTask::Classification {
            let reason = "compares class probabilities, but the task is not classification";
            return Err(Error::config("train.consistency", reason));
        }
        if context.data.training_graphs() == 0 {
            return Err(Error::config("data.path", "has no training graph"));
        }
        Ok(())
    }

    const NOT_INHERITED: &'static [&'static str] = &[
        "preset",
        "task",
        "level",
        "node_types",
        "node_numbers",
        "edge_types",
        "edge_numbers",
        "outputs",
        "input_dropout",
        "dropout",
        "attention_dropout",
        "data",
    ];

    fn is_of_head(name: &str) -> bool {
        name.starts_with("head.")
    }

    fn row_names(config: &GraphTransformerConfig, parameter: &str) -> Option<Vec<String>> {
        config.row_names(parameter)
    }

    fn base(context: &Context<'_, Self>, options: &BlendOptions) -> Result<Option<Self::Base>> {
        if !context.experiment.eval.blend || context.experiment.data.source != SourceKind::File {
            return Ok(None);
        }
        let Source { examples, training, validation, .. } = context.data;
        let graphs = &examples.graphs;
        let Some((features, problem)) = base::problem(context.config, graphs)? else { return Ok(None) };
        let level = graphs.targets().map_or(Level::Graph, Targets::level);
        let [training, validation] = [training, validation].map(|split| base::rows_of(graphs, level, split));
        BaseLearners::fit(BaseExamples { features, problem, training, validation }, options).map(Some)
    }

    fn validation_predictions(network: &GraphTransformer, context: &Context<'_, Self>) -> TaskPredictions {
        let Source { examples, validation, .. } = context.data;
        let options = measure_options(context);
        let alone = (context.device, &Ranks::default());
        let numbers = predict(network, context.config, examples, validation, options, alone).numbers;
        base::of_rows(context.config, &examples.graphs, &in_target_units(context.config, numbers), validation)
    }

    fn validation_errors(network: &GraphTransformer, context: &Context<'_, Self>) -> Vec<TaskErrors> {
        let Source { examples, validation, .. } = context.data;
        if context.config.task != GraphTask::Regression || validation.graphs.is_empty() {
            return vec![];
        }
        let alone = (context.device, &Ranks::default());
        let found = predict(network, context.config, examples, validation, measure_options(context), alone);
        let of_task = |errors: Vec<f64>| TaskErrors { answer: AbsoluteErrors::new(errors), ..TaskErrors::default() };
        errors(context.config, &found).into_iter().map(of_task).collect()
    }

    fn loss(
        network: &GraphTransformer,
        context: &Context<'_, Self>,
        batch: BatchPosition<'_>,
        noise: &mut Pcg64Mcg,
    ) -> Result<Option<ShardLoss>> {
        let Context { experiment, config, data: source, device } = context;
        let (train, of_graphs) = (&experiment.train, &experiment.train.family);
        let BatchPosition { step, steps_per_epoch, order, shard } = batch;
        let all = 0..source.training_graphs();
        let chosen = order.batch_of_epoch(all, train.seed, [step, steps_per_epoch], train.batch_size);
        let Some((chosen, share)) = ShardLoss::examples(shard, &chosen) else { return Ok(None) };
        let read = source.on_disk.as_ref().map(|all| all.select(config, chosen)).transpose()?;
        let (examples, split, graphs) = match &read {
            Some((examples, split)) => (examples, split, split.graphs.clone()),
            None => {
                let graphs = chosen.iter().map(|&at| source.training.graphs[at]).collect();
                (&source.examples, &source.training, graphs)
            }
        };
        let graphs = graphs.repeat(of_graphs.augmented_views);
        let mut input = examples.input(config, &graphs, Some((of_graphs.sign_flip, noise)));
        input.drop_features(of_graphs.feature_dropout, noise);
        let targets = examples.targets(config.level, split, &graphs);
        let answers = network.forward_with_dropout(&input, device, noise);
        let value = loss(answers.clone(), &targets, context.config.task, context.experiment.train.loss_options());
        if of_graphs.consistency == 0.0 {
            return Ok(Some(ShardLoss { value, share }));
        }
        let between_views = consistency(answers, of_graphs.augmented_views, of_graphs.consistency_temperature);
        Ok(Some(ShardLoss { value: value + between_views.mul_scalar(of_graphs.consistency), share }))
    }

    fn validation(network: &GraphTransformer, context: &Context<'_, Self>) -> Result<(ValidationMetrics, ())> {
        let Source { examples, training, validation, .. } = context.data;
        let split = if validation.graphs.is_empty() { training } else { validation };
        let options = measure_options(context);
        Ok((measure(network, context.config, examples, split, options, context.device)?, ()))
    }

    fn calibrate((): ()) {}
}

fn measure_options(context: &Context<'_, Graphs>) -> MeasureOptions {
    MeasureOptions { loss: context.experiment.train.loss_options(), batch_size: context.experiment.eval.batch_size }
}

/// The predictions of the kept network for a split, `[rows, outputs]`; numbers in the units of their targets.
///
/// # Errors
/// None that a learner of this crate can cause.
pub(super) fn predictions(learner: &Learner<Graphs>, split: &DataSplit) -> Result<Vec<f64>> {
    let device = learner.plain_device();
    let context = learner.evaluation(&device);
    let network = learner.evaluated()?;
    let options = measure_options(&context);
    let found = predict(&network, context.config, &context.data.examples, split, options, (&device, &Ranks::default()));
    Ok(in_target_units(context.config, found.numbers))
}
