//! What can be trained.

use std::path::Path;

use burn::tensor::Device;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::store::Manifest;
use crate::train::{Checkpoint, Measures};

/// The settings of a training.
pub(crate) trait Settings: Clone + PartialEq + Serialize + Sized {
    /// Reads settings; `path` is for errors.
    fn parse(text: &str, path: &Path) -> Result<Self>;
    /// Every setting written out.
    fn to_toml(&self) -> Result<String>;
    /// How long, and how often something is written.
    fn schedule(&self) -> Schedule;
    /// The same with those settings of `before` that may change when a run goes on.
    fn continuing(&self, before: &Self) -> Self;
}

/// How long a run is, and how often something is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) steps_per_epoch: u64,
    pub(crate) epochs: u64,
    /// Instances of a step.
    pub(crate) batch: u64,
    /// Steps between two lines of metrics.
    pub(crate) log_steps: u64,
    pub(crate) checkpoint_minutes: f64,
    pub(crate) seed: u64,
}

/// What was found between two epochs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// What is to become small, on the validation set.
    pub cost: f64,
    /// What else was measured there.
    pub measures: Measures,
    /// Whether the baseline took over the network, where it was asked.
    pub baseline_updated: Option<bool>,
    /// One-sided p-value of that test, where one was made.
    pub p_value: Option<f64>,
}

/// A network, its optimiser, and the step that moves them.
///
/// A step's random numbers follow from the seed and the number of the step alone.
pub(crate) trait Learning: Sized {
    /// Its settings.
    type Experiment: Settings;
    /// Its numbers that are no weights.
    type State: Serialize + DeserializeOwned;

    /// The learner before its first step.
    fn begin(experiment: &Self::Experiment, device: &Device) -> Result<Self>;
    /// The learner as it was when `checkpoint` and `state` were made.
    fn restored(self, checkpoint: Checkpoint, state: Self::State) -> Result<Self>;
    /// Trainable numbers of the network.
    fn parameters(&self) -> usize;
    /// Steps done.
    fn steps(&self) -> u64;
    /// Steps of an epoch, where the data says it and not the settings.
    fn steps_per_epoch(&self) -> Option<u64> {
        None
    }
    /// What is unusual about what it learns from.
    fn remarks(&self) -> Vec<String> {
        vec![]
    }
    /// Whether nothing is left to learn before all epochs are done.
    fn done(&self) -> bool {
        false
    }
    /// One step, and what it measured.
    fn step(&mut self) -> Result<Measures>;
    /// What has to be done between two epochs, and the network on the validation set.
    fn finish_epoch(&mut self) -> Result<Checked>;
    /// The network on the validation set.
    fn check(&self) -> Result<Checked>;
    /// Whether a validation cost far above the best one means that the network fell apart.
    fn may_diverge(&self) -> bool;
    /// Networks and optimisers.
    fn checkpoint(&self) -> Result<Checkpoint>;
    /// The numbers that belong to [`Self::checkpoint`].
    fn state(&self) -> Self::State;
    /// Writes the network that is measured into the run's folder.
    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()>;
}
