//! What a network on time series learns from: windows of series, or whole series with their classes.

use burn::tensor::{Device, Tensor};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use regard_data::series::Windows;
use regard_data::series::formats::ReadReport;

use super::intervals::Residuals;
use super::share::supported;
use super::shortcut::fitted;
use crate::Result;
use crate::series::asked::Asked;
use crate::series::batch::Batch;
use crate::series::classify::Labelled;
use crate::series::experiment::{SeriesExperiment, SeriesTraining};
use crate::series::measure::{Errors, Measuring, checked, medians, told};
use crate::series::model::{Drop, PatchTst, PatchTstConfig};
use crate::series::source::Source;
use crate::series::task::SeriesTask;
use crate::train::{Checked, cross_entropy};

/// What is learnt from.
#[derive(Clone, Debug)]
pub enum Lessons {
    /// Windows, of which something is to be told.
    Windows(Box<Source>),
    /// Whole series of known classes.
    Classes(Box<Labelled>),
}

impl From<Source> for Lessons {
    fn from(source: Source) -> Self {
        Self::Windows(Box::new(source))
    }
}

impl From<Labelled> for Lessons {
    fn from(labelled: Labelled) -> Self {
        Self::Classes(Box::new(labelled))
    }
}

impl Lessons {
    /// The lessons of an experiment, and the network's settings with what was learnt of them.
    pub(super) fn of(experiment: &SeriesExperiment) -> Result<(Self, PatchTstConfig)> {
        match experiment.task.kind {
            SeriesTask::Classification => Labelled::of(experiment).map(|(labelled, config)| (labelled.into(), config)),
            _ => Source::of(experiment).map(|(source, config)| (source.into(), config)),
        }
    }

    /// How many there are: places with all series, windows of single ones, or series.
    pub(super) fn samples(&self) -> usize {
        match self {
            Self::Windows(source) => source.samples(&source.training),
            Self::Classes(labelled) => labelled.samples(),
        }
    }

    /// A network as it is before the first step: with what can be fitted of it at once.
    ///
    /// # Errors
    /// Of what cannot be fitted.
    pub(super) fn prepared(
        &self,
        network: PatchTst,
        config: &PatchTstConfig,
        train: &SeriesTraining,
        device: &Device,
    ) -> Result<PatchTst> {
        match self {
            Self::Windows(source) => fitted(network, config, source, train.ridge_penalty, device),
            Self::Classes(_) => Ok(network),
        }
    }

    /// The network with what it adds to a fitted map scaled to the share that is supported, and that share.
    ///
    /// # Errors
    /// None that a network of this crate can cause.
    pub(super) fn supported(
        &self,
        network: &PatchTst,
        config: &PatchTstConfig,
        experiment: &SeriesExperiment,
        device: &Device,
    ) -> Result<Option<(PatchTst, f64)>> {
        match self {
            Self::Windows(source) => supported(network, config, source, experiment, device),
            Self::Classes(_) => Ok(None),
        }
    }

    /// What was found in the file.
    pub(super) fn report(&self) -> &ReadReport {
        match self {
            Self::Windows(source) => &source.report,
            Self::Classes(labelled) => labelled.report(),
        }
    }

    /// The loss of a network, in training, on the chosen samples; `noise` decides what is hidden and dropped.
    pub(super) fn loss(
        &self,
        network: &PatchTst,
        config: &PatchTstConfig,
        train: &SeriesTraining,
        (chosen, noise): (&[usize], &mut Pcg64Mcg),
        device: &Device,
    ) -> Tensor<1> {
        match self {
            Self::Windows(source) => {
                let batch = windows(source, config, train, (chosen, noise));
                let asked = Asked::of(&batch, network, config, (train.mask_ratio, noise), device);
                let drop = Drop { seed: noise.random() };
                let answers = network.forward_with_dropout(asked.input.clone(), drop);
                asked.loss(answers, config, train.loss)
            }
            Self::Classes(labelled) => {
                let (batch, classes) = labelled.step(chosen);
                let drop = Drop { seed: noise.random() };
                let scores = network.forward_with_dropout(batch.input(device), drop);
                cross_entropy(scores.reshape([classes.len(), config.classes]), &classes)
            }
        }
    }

    /// A network on what it is chosen by, and its residuals there.
    pub(super) fn measured(
        &self,
        network: &PatchTst,
        config: &PatchTstConfig,
        experiment: &SeriesExperiment,
        device: &Device,
    ) -> (Checked, Option<Residuals>) {
        match self {
            Self::Windows(source) => measured(source, network, config, experiment, device),
            Self::Classes(labelled) => (labelled.measured(network, config, device), None),
        }
    }
}

/// The windows of a step.
fn windows(
    source: &Source,
    config: &PatchTstConfig,
    train: &SeriesTraining,
    (chosen, noise): (&[usize], &mut Pcg64Mcg),
) -> Batch {
    let windows = &source.training;
    let (series, all) = (train.windows_batch_size / chosen.len().max(1), source.panel.len());
    match series > 0 && series < all && source.together && config.channels == 0 {
        true => Batch::some(source, windows, chosen, (series, noise)),
        false => Batch::gather(source, windows, chosen),
    }
}

/// A network on the validation windows, or those learnt from where there are none.
fn measured(
    source: &Source,
    network: &PatchTst,
    config: &PatchTstConfig,
    experiment: &SeriesExperiment,
    device: &Device,
) -> (Checked, Option<Residuals>) {
    let windows: &Windows = source.validation.as_ref().unwrap_or(&source.training);
    let forecast = config.task == SeriesTask::Forecast;
    let mut errors = Errors::new(source.panel.len(), config.horizon, experiment.train.batch_size);
    let wanted = forecast && experiment.eval.intervals && source.validation.is_some();
    let mut residuals = wanted.then(|| Residuals::new(config.horizon, windows.len()));
    let mut watch = |batch: &Batch, numbers: &[f32]| {
        if forecast {
            let medians = medians(config, numbers);
            errors.add_batch(source, batch, &medians);
            if let Some(residuals) = &mut residuals {
                residuals.add(batch, &medians);
            }
        }
    };
    let cost = told(network, config, (source, windows), Measuring::of(experiment), device, &mut watch);
    (checked(cost, forecast.then(|| errors.errs(source))), residuals)
}
