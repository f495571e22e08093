//! What a network says of the classes of series.

use std::path::Path;

use regard_data::series::Panel;
use regard_data::series::formats::Read;
use regard_data::sets::formats::predictions::Predicted;

use super::labelled::{Labelled, at_scale, classes, read_whole, told};
use crate::series::predict::SeriesModel;
use crate::series::task::SeriesTask;
use crate::train::{Checked, checked_classes};
use crate::{Error, Result};

impl SeriesModel {
    /// Probabilities of the classes for each series of a panel.
    ///
    /// # Errors
    /// [`Error::Config`] for a model of another task, or series with other covariates.
    pub fn classified(&self, panel: &Panel) -> Result<Predicted> {
        Ok(Predicted::Classes { names: self.config.data.classes.clone(), probabilities: self.probabilities(panel)? })
    }

    /// The model on all series of a file, or on those its experiment held out.
    ///
    /// # Errors
    /// What reading the data gives; [`Error::Config`] for a class the model does not know.
    pub fn measure_classes(&self, file: Option<&Path>) -> Result<Checked> {
        let Some(experiment) = &self.experiment else {
            return Err(Error::config("--model", "has a folder that does not say what it was trained on"));
        };
        let Some(file) = file else {
            let (labelled, _) = Labelled::of(experiment)?;
            if labelled.test.is_empty() {
                return Err(Error::config("data.test_fraction", "is 0; nothing is left to measure with"));
            }
            return Ok(labelled.measured_on(&self.network, &self.config, &labelled.test, self.device()));
        };
        let read = read_whole(file, &experiment.data, true)?;
        let right = self.known_classes(&read).map_err(|error| error.in_file(file))?;
        Ok(checked_classes(&self.probabilities(&read.panel)?, self.config.classes, &right))
    }

    fn probabilities(&self, panel: &Panel) -> Result<Vec<f64>> {
        if self.config.task != SeriesTask::Classification {
            let reason = format!("was trained for {}, not to tell classes", self.config.task);
            return Err(Error::config("--model", reason));
        }
        let all: Vec<usize> = (0..panel.len()).collect();
        Ok(told(&self.network, &self.config, &at_scale(panel, &self.config)?, &all, self.device()))
    }

    /// The classes of series, by the model's own numbers.
    fn known_classes(&self, read: &Read) -> Result<Vec<usize>> {
        let (names, of) = classes(read)?;
        let known = &self.config.data.classes;
        let place = |name: &String| {
            known.iter().position(|one| one == name).ok_or_else(|| {
                let reason = format!("holds `{name}`, a class the model does not know");
                Error::config("data.label", reason)
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(of.into_iter().map(|class| places[class]).collect())
    }
}
