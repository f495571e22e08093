//! A trained model of a supervised family.

use std::path::Path;

use burn::tensor::Device;

use super::{Family, Network, SupervisedExperiment};
use crate::store::NetworkDir;
use crate::{Error, Result};

/// A model that is ready for predictions.
#[derive(Debug)]
pub struct Model<F: Family> {
    /// The network's settings.
    pub config: F::Config,
    /// The network, in evaluation.
    pub network: F::Network,
    /// The experiment the model comes from, where its folder says so.
    pub experiment: Option<SupervisedExperiment<F>>,
    pub(crate) device: Device,
}

impl<F: Family> Model<F> {
    /// A model of a network that was just trained.
    pub fn new(
        config: F::Config,
        network: F::Network,
        experiment: Option<SupervisedExperiment<F>>,
        device: &Device,
    ) -> Self {
        Self { config, network, experiment, device: device.clone() }
    }

    /// Opens the folder of a model.
    ///
    /// # Errors
    /// Those of [`NetworkDir::open`] and [`NetworkDir::weights`].
    pub fn open(folder: &Path, device: &Device) -> Result<Self> {
        let found = NetworkDir::<F::Config>::open(folder)?;
        let network = F::Network::from_weights(found.config(), &found.weights()?, device)?;
        let experiment = found.manifest().and_then(|manifest| manifest.experiment.clone());
        let experiment = experiment.and_then(|value| serde_json::from_value(value).ok());
        Ok(Self::new(found.config().clone(), network, experiment, device))
    }

    /// The experiment the model comes from.
    ///
    /// # Errors
    /// [`Error::Config`] for a model whose folder does not say it.
    pub fn known_experiment(&self) -> Result<&SupervisedExperiment<F>> {
        let reason = "is needed: the model's folder does not say what it was trained on";
        self.experiment.as_ref().ok_or_else(|| Error::config("--data", reason))
    }
}
