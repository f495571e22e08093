//! What the loop of all trainings asks of a learner of time series.

use std::path::Path;

use burn::tensor::Device;

use super::intervals::Residuals;
use super::learner::{Counters, SeriesLearner};
use crate::Result;
use crate::series::experiment::{KeepSeries, SeriesExperiment};
use crate::store::{Manifest, NetworkConfig, NetworkDir};
use crate::train::{Checked, Checkpoint, Learning, Measure, Measures, collect};

impl Learning for SeriesLearner {
    type Experiment = SeriesExperiment;
    type State = Counters;

    fn begin(experiment: &SeriesExperiment, device: &Device) -> Result<Self> {
        Self::new(experiment, device)
    }

    fn restored(mut self, mut checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        if counters.best_loss.is_some() && self.experiment.train.select == KeepSeries::Best {
            self.best = Some(checkpoint.weights("best")?.clone());
        }
        self.counters = counters;
        self.head_only = None;
        Ok(self)
    }

    fn parameters(&self) -> usize {
        self.config.trainable()
    }

    fn steps(&self) -> u64 {
        self.counters.step
    }

    fn steps_per_epoch(&self) -> Option<u64> {
        Some(self.of_epoch())
    }

    fn remarks(&self) -> Vec<String> {
        self.lessons.report().to_string().lines().map(str::to_owned).collect()
    }

    fn done(&self) -> bool {
        let patience = self.experiment.train.early_stopping_patience;
        patience > 0 && self.counters.waited >= patience
    }

    fn step(&mut self) -> Result<Measures> {
        self.learn()
    }

    /// Measures the network, and keeps it where it is the best so far.
    fn finish_epoch(&mut self) -> Result<Checked> {
        let mut current = self.trainee.evaluated()?;
        let device = self.device.clone().inner();
        let mut share = None;
        if self.experiment.train.shrink
            && let Some((shrunk, found)) = self.lessons.supported(&current, &self.config, &self.experiment, &device)?
        {
            (current, share) = (shrunk, Some(Measure::Last("share", found)));
        }
        let (mut checked, residuals) = self.lessons.measured(&current, &self.config, &self.experiment, &device);
        checked.measures.0.extend(share);
        let better = self.counters.best_loss.is_none_or(|best| checked.cost < best);
        self.counters.waited = if better { 0 } else { self.counters.waited + 1 };
        let keeps_best = self.experiment.train.select == KeepSeries::Best;
        if better && keeps_best {
            self.best = Some(collect(&current));
        }
        if better || !keeps_best {
            self.counters.widths = residuals.map(Residuals::widths).unwrap_or_default();
        }
        if better {
            self.counters.best_loss = Some(checked.cost);
        }
        Ok(checked)
    }

    fn check(&self) -> Result<Checked> {
        let device = self.device.clone().inner();
        Ok(self.lessons.measured(&self.evaluated()?, &self.config, &self.experiment, &device).0)
    }

    /// Losses of small data sets rise when a network learns them by heart.
    fn may_diverge(&self) -> bool {
        false
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        let mut checkpoint = self.trainee.checkpoint(self.counters.step)?;
        checkpoint.weights.extend(self.best.clone().map(|best| ("best".to_owned(), best)));
        Ok(checkpoint)
    }

    fn state(&self) -> Counters {
        self.counters.clone()
    }

    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()> {
        let config = self.config();
        let weights = self.evaluated()?.to_weights(&config);
        NetworkDir::save_into(folder, &config, &weights, &manifest)?;
        Ok(())
    }
}
