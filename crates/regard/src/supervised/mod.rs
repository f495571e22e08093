//! The engine of supervised learning: everything that sets, graphs and time series have in common.
//!
//! A [`Family`] defines its settings, examples, network, loss and metrics. Experiments, the training loop,
//! selection of the best network, model folders, cross-validation and ensembles are written once, for every family.

pub mod base;
mod cross_validation;
mod experiment;
pub mod intervals;
mod learner;
mod model;
pub(crate) mod on_disk;

use std::fmt::Debug;
use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::experiment::Given;
use crate::store::{NetworkConfig, Weights};
use crate::train::{DataFiles, FamilyTraining, Measure, Rounding, Shard, Shuffled, ValidationMetrics};
pub use crate::train::{Trained, Training};
use crate::{Error, Result};
use base::{BesideNetwork, BlendOptions, TaskPredictions};
pub use cross_validation::{
    BlendMetrics, ClassReport, CrossValidationMetrics, CrossValidationOptions, Done, FoldObserver,
};
pub(crate) use cross_validation::{Folds, cross_validate_blend, ensemble};
pub use experiment::SupervisedExperiment;
use intervals::TaskErrors;
pub use learner::{Learner, train, train_on};
pub use model::Model;
pub use on_disk::OnDisk;

/// A section of an experiment.
pub trait SettingsSection: Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema {}

impl<T: Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema> SettingsSection for T {}

/// A network that is built from its settings and stored under the names of its published code.
pub trait Network: Module + Sized {
    /// The settings.
    type Config: NetworkConfig;

    /// A network with fresh weights.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not fit together.
    fn new(config: &Self::Config, device: &Device) -> Result<Self>;
    /// A network with the weights of a model's file.
    ///
    /// # Errors
    /// [`Error::Weights`] for weights of another network.
    fn from_weights(config: &Self::Config, weights: &Weights, device: &Device) -> Result<Self>;
    /// The weights under the names of the published code where it has them.
    fn to_weights(&self, config: &Self::Config) -> Weights;
}

/// Checks that the target of a training has two classes at least. `setting` names the `column`; `file` is empty for data in
/// memory.
///
/// # Errors
/// [`Error::Config`] with setting, file, column and class.
pub(crate) fn check_classes(classes: &[String], setting: &str, column: &str, file: &Path) -> Result<()> {
    let found = match classes {
        [] => "no class".to_owned(),
        [only] => format!("one class, `{only}`"),
        _ => return Ok(()),
    };
    let column = if column.is_empty() { String::new() } else { format!("`{column}` ") };
    let error = Error::config(setting, format!("{column}has {found}; expected at least 2"));
    Err(if file.as_os_str().is_empty() { error } else { error.in_file(file) })
}

/// More classes than this are seldom meant where their names are numbers.
const MANY_CLASSES: usize = 20;

/// A warning where classes may be numbers that are to be predicted: one word in a column makes all of it words.
#[must_use]
pub fn numbers_as_classes(classes: &[String]) -> Option<String> {
    let is_number = |name: &&String| name.parse::<f64>().is_ok();
    let word = classes.iter().find(|name| !is_number(name));
    let numbers = classes.iter().filter(is_number).count();
    (classes.len() > MANY_CLASSES && 2 * numbers > classes.len()).then(|| {
        let why = word.map_or_else(String::new, |word| format!(" beside `{word}`"));
        format!(
            "the target has {} classes, {numbers} of them numbers{why}; `--set task.kind=regression` predicts a number",
            classes.len()
        )
    })
}

/// An experiment with its data, on a device.
pub struct Context<'a, F: Family> {
    /// The experiment.
    pub experiment: &'a SupervisedExperiment<F>,
    /// The network's settings, with the sizes and scales of the data.
    pub config: &'a F::Config,
    /// The examples.
    pub data: &'a F::TrainingData,
    /// The device of the network.
    pub device: &'a Device,
}

/// The place of a batch among those of a training.
pub struct BatchPosition<'a> {
    /// Steps before this one.
    pub step: u64,
    /// Steps of an epoch.
    pub steps_per_epoch: u64,
    /// The order of the examples, kept from step to step.
    pub order: &'a mut Shuffled,
    /// The part of the batch.
    pub shard: Shard,
}

/// The loss of a shard of a batch.
pub struct ShardLoss {
    /// The loss of its examples, `[1]`.
    pub value: Tensor<1>,
    /// Its share of the examples of the batch; 1 for the whole.
    pub share: f64,
}

impl ShardLoss {
    /// The examples of a shard, and its share of a batch; `None` if it has no examples.
    pub(crate) fn examples(shard: Shard, batch: &[usize]) -> Option<(&[usize], f64)> {
        let examples = &batch[shard.range(batch.len())];
        (!examples.is_empty()).then(|| (examples, examples.len() as f64 / batch.len() as f64))
    }
}

/// A family of supervised tasks: its settings, its data, its network, its loss and its metrics.
pub trait Family: Clone + Debug + PartialEq + Sized + 'static {
    /// The value of `task.family`, and the folder of the family's experiments.
    const NAME: &'static str;
    /// The order of multiplications in learning rates.
    const ROUNDING: Rounding;

    /// Section `[task]`.
    type Task: SettingsSection;
    /// Section `[data]`.
    type Data: SettingsSection;
    /// Settings of `[train]` that other families do not have.
    type Train: FamilyTraining;
    /// Section `[eval]`.
    type Eval: SettingsSection;
    /// Section `[model]`, and the content of `config.json`.
    type Config: NetworkConfig + SettingsSection;
    /// The network.
    type Network: Network<Config = Self::Config>;
    /// Examples to learn from and to validate on.
    type TrainingData: Debug;
    /// Errors of a validation, from which [`Self::calibrate`] computes a calibration.
    type Residuals;
    /// Numbers that are learnt from validation errors and belong to the network that is kept.
    type Calibration: Clone + Default + Serialize + DeserializeOwned;

    /// The experiment with the presets and defaults that follow from what is written.
    ///
    /// # Errors
    /// [`Error::Config`] for an unknown preset.
    fn defaults(given: &Given) -> Result<SupervisedExperiment<Self>>;
    /// Checks every setting, and that they fit together; [`Self::Train`] and the network's settings included, the
    /// shared settings of `[train]` excluded.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and what was expected.
    fn validate(experiment: &SupervisedExperiment<Self>) -> Result<()>;

    /// The base learners beside a network.
    type Base: BesideNetwork<Self>;

    /// Reads or generates the examples of an experiment; with the network's settings as far as they follow from the
    /// data.
    ///
    /// # Errors
    /// Those of reading the data; [`Error::Config`] for data that the task does not fit.
    fn load(experiment: &SupervisedExperiment<Self>) -> Result<(Self::TrainingData, Self::Config)>;
    /// The files that [`Self::load`] reads; `None` where it generates the examples.
    fn data_files(data: &Self::Data) -> Option<DataFiles>;
    /// Number of training examples; `None` if epochs do not follow them and have `train.steps_per_epoch` steps.
    fn samples(data: &Self::TrainingData) -> Option<usize>;
    /// The least number of steps that the training examples need.
    fn least_steps(_experiment: &SupervisedExperiment<Self>, _data: &Self::TrainingData) -> u64 {
        0
    }
    /// If true, epochs are validated: validation examples exist, or the family validates on its training examples
    /// where there are none.
    fn has_validation(data: &Self::TrainingData) -> bool;
    /// If true, a validation measures examples that are not learnt from.
    fn holds_out(data: &Self::TrainingData) -> bool {
        Self::has_validation(data)
    }
    /// Warnings about the data and how they were read, a sentence each.
    fn warnings(_context: &Context<'_, Self>) -> Vec<String> {
        vec![]
    }
    /// Checks that experiment and data fit together.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting at fault.
    fn check(_context: &Context<'_, Self>) -> Result<()> {
        Ok(())
    }

    /// Settings of a network in which the one that it begins with (`train.init_from`) may differ: `key`, or `section.key`.
    const NOT_INHERITED: &'static [&'static str];
    /// If true, a parameter belongs to the head, which a network does not need to inherit.
    fn is_of_head(name: &str) -> bool;
    /// Names of the rows of a parameter, where they are kinds or columns of the data: rows are inherited by their names.
    fn row_names(_config: &Self::Config, _parameter: &str) -> Option<Vec<String>> {
        None
    }
    /// The network before the first step, from one with fresh weights.
    ///
    /// # Errors
    /// Those of fitting or reading what the network begins with.
    fn initial(network: Self::Network, _context: &Context<'_, Self>) -> Result<Self::Network> {
        Ok(network)
    }
    /// If true, only the head is trained in an epoch; `None` if no part is ever frozen.
    fn trains_head_only(_experiment: &SupervisedExperiment<Self>, _epoch: u64) -> Option<bool> {
        None
    }
    /// The network with everything but its head frozen, or with all parts free.
    fn with_frozen_body(network: Self::Network, _frozen: bool) -> Self::Network {
        network
    }
    /// Base learners that are fitted to the training examples; `None` where the task has none or they are turned off.
    ///
    /// # Errors
    /// Those of computing features and of fitting.
    fn base(_context: &Context<'_, Self>, _options: &BlendOptions) -> Result<Option<Self::Base>> {
        Ok(None)
    }
    /// Predictions of a network for the validation examples, by task.
    fn validation_predictions(_network: &Self::Network, _context: &Context<'_, Self>) -> TaskPredictions {
        vec![]
    }
    /// Errors of a network for the validation examples, by task of numbers; empty for other tasks, and without validation
    /// examples. They are read where the network has no base learners beside it.
    fn validation_errors(_network: &Self::Network, _context: &Context<'_, Self>) -> Vec<TaskErrors> {
        vec![]
    }
    /// The training loss of a shard of a step's batch; `noise` decides everything random in it. `None` for a shard
    /// without examples.
    ///
    /// # Errors
    /// Those of reading examples that stay on disk.
    fn loss(
        network: &Self::Network,
        context: &Context<'_, Self>,
        batch: BatchPosition<'_>,
        noise: &mut Pcg64Mcg,
    ) -> Result<Option<ShardLoss>>;
    /// The network as it is validated and kept, where that is not the network of the last step; with a number for
    /// the metrics.
    ///
    /// # Errors
    /// Those of measuring the network.
    fn adjusted(_network: &Self::Network, _context: &Context<'_, Self>) -> Result<Option<(Self::Network, Measure)>> {
        Ok(None)
    }
    /// Loss and metrics of a network on the validation examples, or on the training examples where there are none.
    ///
    /// # Errors
    /// Those of computing the metrics.
    fn validation(network: &Self::Network, context: &Context<'_, Self>)
    -> Result<(ValidationMetrics, Self::Residuals)>;
    /// The calibration that validation errors give.
    fn calibrate(residuals: Self::Residuals) -> Self::Calibration;
    /// The network's settings with a calibration.
    fn calibrated(config: &Self::Config, _calibration: &Self::Calibration) -> Self::Config {
        config.clone()
    }
}
