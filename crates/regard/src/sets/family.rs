//! The family of sets, as the supervised engine sees it.

use std::sync::OnceLock;

use burn::tensor::Device;
use rand_pcg::Pcg64Mcg;

use super::base::{self, SetFeatures};
use super::examples::Examples;
use super::experiment::{self, SetData, SetEval, SetExperiment, SetTask, SetTraining, SourceKind};
use super::measure::{in_own_units, measure_in_shards, numbers_of, predict};
use super::model::{NOT_INHERITED, SetTransformer, SetTransformerConfig};
use super::source::Source;
use super::task::loss;
use crate::Result;
use crate::experiment::Given;
use crate::store::Weights;
use crate::supervised::base::{BaseLearners, BlendOptions, TaskPredictions};
use crate::supervised::intervals::{AbsoluteErrors, TaskErrors};
use crate::supervised::{BatchPosition, Context, Family, Network, ShardLoss, numbers_as_classes};
use crate::train::{DataFiles, Rounding, ValidationMetrics};

/// The family of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets;

/// Sets to learn from and to validate on.
#[derive(Debug)]
pub struct SetTrainingData {
    source: Source,
    /// Generated or copied at the first validation: folds of a cross-validation have none.
    validation: OnceLock<Examples>,
}

impl From<Source> for SetTrainingData {
    fn from(source: Source) -> Self {
        Self { source, validation: OnceLock::new() }
    }
}

impl Network for SetTransformer {
    type Config = SetTransformerConfig;

    fn new(config: &SetTransformerConfig, device: &Device) -> Result<Self> {
        Self::new(config, device)
    }

    fn from_weights(config: &SetTransformerConfig, weights: &Weights, device: &Device) -> Result<Self> {
        Self::from_weights(config, weights, device)
    }

    fn to_weights(&self, config: &SetTransformerConfig) -> Weights {
        self.to_weights(config)
    }
}

impl Family for Sets {
    const NAME: &'static str = "sets";
    const ROUNDING: Rounding = Rounding::BySteps;

    type Task = SetTask;
    type Data = SetData;
    type Train = SetTraining;
    type Eval = SetEval;
    type Config = SetTransformerConfig;
    type Network = SetTransformer;
    type TrainingData = SetTrainingData;
    type Base = BaseLearners<SetFeatures>;
    type Residuals = ();
    type Calibration = ();

    fn defaults(given: &Given) -> Result<SetExperiment> {
        experiment::defaults(given)
    }

    fn validate(experiment: &SetExperiment) -> Result<()> {
        experiment::validate(experiment)
    }

    fn load(experiment: &SetExperiment) -> Result<(SetTrainingData, SetTransformerConfig)> {
        let (source, config) = Source::of(experiment)?;
        Ok((source.into(), config))
    }

    fn data_files(data: &SetData) -> Option<DataFiles> {
        let path = &data.path;
        (data.source == SourceKind::File).then(|| DataFiles::new("data.path", path, vec![path.into()]))
    }

    fn samples(_: &SetTrainingData) -> Option<usize> {
        None
    }

    fn least_steps(experiment: &SetExperiment, data: &SetTrainingData) -> u64 {
        match &data.source {
            Source::Generated(_) => 0,
            Source::Kept { training, .. } => {
                (experiment.train.family.min_passes * training.len()).div_ceil(experiment.train.batch_size) as u64
            }
        }
    }

    fn has_validation(data: &SetTrainingData) -> bool {
        data.source.has_validation()
    }

    fn warnings(Context { config, experiment, data, .. }: &Context<'_, Self>) -> Vec<String> {
        let is_compared = experiment.eval.blend && experiment.data.source == SourceKind::File;
        let without_base = is_compared.then(|| base::note(config.task)).flatten().map(str::to_owned);
        let of_classes = numbers_as_classes(&config.data.classes);
        data.source.notes().iter().cloned().chain(of_classes).chain(without_base).collect()
    }

    const NOT_INHERITED: &'static [&'static str] = &NOT_INHERITED;

    fn is_of_head(name: &str) -> bool {
        name.starts_with("head.") || name.starts_with("item_head.")
    }

    fn base(context: &Context<'_, Self>, options: &BlendOptions) -> Result<Option<Self::Base>> {
        let Source::Kept { training, held_out, .. } = &context.data.source else { return Ok(None) };
        if !context.experiment.eval.blend {
            return Ok(None);
        }
        let examples = base::examples(context.config, training.in_memory(), held_out)?;
        examples.map(|examples| BaseLearners::fit(examples, options)).transpose()
    }

    fn validation_predictions(network: &SetTransformer, context: &Context<'_, Self>) -> TaskPredictions {
        let Source::Kept { held_out, .. } = &context.data.source else { return vec![] };
        base::by_task(context.config, &predict(network, held_out, false, context.device).numbers)
    }

    fn validation_errors(network: &SetTransformer, context: &Context<'_, Self>) -> Vec<TaskErrors> {
        let Context { experiment, config, data, device } = context;
        if !data.source.has_validation() || config.outputs != 1 {
            return vec![];
        }
        let examples = data.validation.get_or_init(|| data.source.validation(experiment));
        let Some(truth) = numbers_of(config, &examples.targets) else { return vec![] };
        let found = in_own_units(config, &predict(network, examples, false, device).numbers);
        let answer = AbsoluteErrors::new(found.iter().zip(truth).map(|(found, truth)| found - truth));
        vec![TaskErrors { answer, ..TaskErrors::default() }]
    }

    fn loss(
        network: &SetTransformer,
        context: &Context<'_, Self>,
        batch: BatchPosition<'_>,
        noise: &mut Pcg64Mcg,
    ) -> Result<Option<ShardLoss>> {
        let (train, shard) = (&context.experiment.train, batch.shard);
        let position = [batch.step, train.batch_size as u64];
        let found = context.data.source.batch(context.config, batch.order, train.seed, position, shard)?;
        let Some((examples, share)) = found else { return Ok(None) };
        let batch = examples.batch(context.device);
        let answers = network.forward_with_dropout(batch.sets.clone(), noise);
        Ok(Some(ShardLoss { value: loss(answers, &batch, context.config, train.loss_options()), share }))
    }

    fn validation(network: &SetTransformer, context: &Context<'_, Self>) -> Result<(ValidationMetrics, ())> {
        let Context { experiment, config, data, device } = context;
        let examples = data.validation.get_or_init(|| data.source.validation(experiment));
        Ok((measure_in_shards(network, config, examples, &experiment.train, device)?, ()))
    }

    fn calibrate((): ()) {}
}
