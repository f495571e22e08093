//! A trained model of a supervised family.

use std::path::Path;

use burn::tensor::Device;

use super::base::{BaseRecord, BesideNetwork, Only};
use super::intervals::ValidationErrors;
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
    /// Why the experiment in the folder could not be read.
    pub experiment_error: Option<String>,
    /// SHA-256 of the data of the training, where its folder says so.
    pub data_sha256: Option<String>,
    /// The base learners beside the network, where it has any.
    pub base: Option<<F::Base as BesideNetwork<F>>::Record>,
    /// Errors on the validation examples of its training, where its folder has them.
    pub errors: Option<ValidationErrors>,
    pub(crate) device: Device,
}

// A derived one would ask for more than the parts need.
impl<F: Family> Clone for Model<F> {
    fn clone(&self) -> Self {
        Self {
            config: self.config.clone(),
            network: self.network.clone(),
            experiment: self.experiment.clone(),
            experiment_error: self.experiment_error.clone(),
            data_sha256: self.data_sha256.clone(),
            base: self.base.clone(),
            errors: self.errors.clone(),
            device: self.device.clone(),
        }
    }
}

impl<F: Family> Model<F> {
    /// A model of a network that was just trained.
    pub fn new(
        config: F::Config,
        network: F::Network,
        experiment: Option<SupervisedExperiment<F>>,
        device: &Device,
    ) -> Self {
        let device = device.clone();
        let (experiment_error, data_sha256, base, errors) = (None, None, None, None);
        Self { config, network, experiment, experiment_error, data_sha256, base, errors, device }
    }

    /// Opens the folder of a model.
    ///
    /// # Errors
    /// Those of [`NetworkDir::open`] and [`NetworkDir::weights`].
    pub fn open(folder: &Path, device: &Device) -> Result<Self> {
        let found = NetworkDir::<F::Config>::open(folder)?;
        let network = F::Network::from_weights(found.config(), &found.weights()?, device)?;
        let experiment = found.manifest().and_then(|manifest| manifest.experiment.clone());
        // Predictions go on without it, but for what they would take from it.
        let (experiment, experiment_error) = match experiment.map(serde_json::from_value).transpose() {
            Ok(experiment) => (experiment, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let base = BaseRecord::open(folder)?;
        let errors = ValidationErrors::open(folder)?;
        let data_sha256 = found.manifest().and_then(|manifest| manifest.data_sha256.clone());
        Ok(Self {
            experiment_error,
            data_sha256,
            base,
            errors,
            ..Self::new(found.config().clone(), network, experiment, device)
        })
    }

    /// The model with one part of its answer alone.
    ///
    /// # Errors
    /// [`Error::Config`] for the base learners of a model that has none.
    pub fn with_only(mut self, only: Option<Only>) -> Result<Self> {
        if let Some(part) = only {
            self.errors = self.errors.map(|errors| errors.of_part(part));
        }
        match only {
            None => {}
            Some(Only::Network) => self.base = None,
            Some(Only::Base) => match &mut self.base {
                Some(base) => base.set_base_only()?,
                None => return Err(Error::config("--only", "is `base`, but the model has no base learners")),
            },
        }
        Ok(self)
    }

    /// The weight of the network in the answer; base learners have the rest.
    pub fn network_weight(&self) -> f64 {
        self.base.as_ref().map_or(1.0, |base| base.weights()[0])
    }

    /// If true, the network has no weight in the answer, so that its attention says nothing about it.
    pub fn network_has_no_weight(&self) -> bool {
        self.network_weight() == 0.0
    }

    /// The network on a device that keeps gradients, and that device.
    pub(crate) fn differentiable(&self) -> Result<(F::Network, Device)> {
        let device = self.device.clone().autodiff();
        let weights = self.network.to_weights(&self.config);
        Ok((F::Network::from_weights(&self.config, &weights, &device)?, device))
    }

    /// The experiment the model comes from.
    ///
    /// # Errors
    /// [`Error::Config`] for a model whose folder does not say it, or says it in a way that cannot be read.
    pub fn known_experiment(&self) -> Result<&SupervisedExperiment<F>> {
        self.experiment.as_ref().ok_or_else(|| {
            let reason = match &self.experiment_error {
                Some(error) => {
                    format!("is required: the experiment in the model's `manifest.json` is unreadable: {error}")
                }
                None => "is required: the model folder does not record the training data".to_owned(),
            };
            Error::config("--data", reason)
        })
    }

    /// The experiment the model comes from, whose data is still that of the training: of other data, examples of the training
    /// would be among those that its split holds out. Models whose folder has no digest of the data are not checked.
    ///
    /// # Errors
    /// As [`Self::known_experiment`]; [`Error::Config`] for data that was changed since.
    pub fn experiment_on_same_data(&self) -> Result<&SupervisedExperiment<F>> {
        let experiment = self.known_experiment()?;
        if let (Some(before), Some(files)) = (&self.data_sha256, F::data_files(&experiment.data)) {
            let path = files.path().display();
            let hint = format!("put the old data back, or measure on this one as it is with `--data {path}`");
            files.check(files.sha256().as_deref(), Some(before), "the model", &hint)?;
        }
        Ok(experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::Graphs;
    use crate::series::TimeSeries;
    use crate::sets::Sets;
    use crate::store::kind_of;

    /// Why the experiment of a model of the family could not be read.
    fn fault<F: Family>(folder: &Path) -> Option<String> {
        Model::<F>::open(folder, &Device::flex()).unwrap().experiment_error
    }

    #[test]
    fn the_experiments_of_shipped_models_are_readable() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let mut count = 0;
        for folder in folders.filter(|path| path.join("config.json").is_file()) {
            let fault = match kind_of(&folder).unwrap().as_str() {
                crate::sets::model::KIND => fault::<Sets>(&folder),
                crate::graphs::model::KIND => fault::<Graphs>(&folder),
                crate::series::model::KIND => fault::<TimeSeries>(&folder),
                _ => continue,
            };
            assert_eq!(fault, None, "{}", folder.display());
            count += 1;
        }
        assert!(count > 3, "{count}");
    }
}
