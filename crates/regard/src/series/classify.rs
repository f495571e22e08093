//! Classification of whole series: each series is one example, of which a network gets the values at its end.

use std::path::Path;

use burn::tensor::Device;
use regard_data::graphs::formats::tu::Fold;
use regard_data::series::formats::{Read, ReadOptions, ReadReport, read};
use regard_data::series::{Panel, Series, Window, moments};
use regard_data::sets::formats::predictions::Predicted;
use regard_data::split::{Holdout, holdout_of, others, stratified_folds};
use serde::{Deserialize, Serialize};

use super::SeriesLearner;
use super::batch::Batch;
use super::experiment::{SeriesData, SeriesExperiment};
use super::model::{PatchTst, PatchTstConfig, SeriesPreparation};
use super::predict::SeriesModel;
use super::scaled::{Known, UNSCALED, scaled_known};
use super::source::read_options;
use super::task::SeriesTask;
use crate::supervised::{CrossValidationMetrics, Done, Folds, check_classes, ensemble};
use crate::train::{ValidationMetrics, classification_metrics, majority_share, probabilities};
use crate::{Error, Result};

/// Series that go through a network together.
const TOGETHER: usize = 256;

/// Series, each of one class, and which of them are learnt from.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The series, at the network's scale and none shorter than a look-back.
    pub(super) panel: Panel,
    /// The class of each.
    pub(super) classes: Vec<usize>,
    /// Series to learn from.
    pub(super) training: Vec<usize>,
    /// Series to choose by.
    pub(super) validation: Vec<usize>,
    /// Series to measure with.
    pub(super) test: Vec<usize>,
    look_back: usize,
    report: ReadReport,
}

/// Reads whole series of a long file; `labelled` where each needs a class, with the static features and the distance of time
/// stamps of a model where one is given.
///
/// # Errors
/// Those of reading the file.
pub fn read_whole(path: &Path, data: &SeriesData, labelled: bool, model: Option<&PatchTstConfig>) -> Result<Read> {
    let options = ReadOptions { label_optional: !labelled, ..read_options(data, model)? };
    // Each part of a large file is read alike.
    let of_model = || model.and_then(|model| model.data.frequency.parse().ok());
    Ok(read(path, &ReadOptions { frequency: options.frequency.or_else(of_model), ..options })?)
}

impl Labelled {
    /// The series of an experiment, and the network's settings with what was learnt of them.
    ///
    /// # Errors
    /// Those of reading the file; [`Error::Config`] for series of fewer than two classes, or too few of them.
    pub fn of(experiment: &SeriesExperiment) -> Result<(Self, PatchTstConfig)> {
        let read = read_whole(Path::new(&experiment.data.path), &experiment.data, true, None)?;
        let (all, tested): (Vec<usize>, f64) = ((0..read.panel.len()).collect(), experiment.data.test_fraction);
        let classes = classes(&read, &experiment.data)?.1;
        let Holdout { training: rest, held_out: test } = holdout_of(&all, &classes, tested, experiment.train.seed)?;
        Self::with_test(experiment, &read, rest, test)
    }

    /// As [`Self::of`], of series that are known, some of which are to be measured with; of the rest, as many
    /// as the experiment says are to choose by.
    ///
    /// # Errors
    /// As there.
    pub(super) fn with_test(
        experiment: &SeriesExperiment,
        read: &Read,
        rest: Vec<usize>,
        test: Vec<usize>,
    ) -> Result<(Self, PatchTstConfig)> {
        let (names, classes) = classes(read, &experiment.data)?;
        let share = validation_share(&experiment.data)?;
        let Holdout { training, held_out: validation } = holdout_of(&rest, &classes, share, experiment.train.seed)?;
        let config = PatchTstConfig {
            channels: 1,
            classes: names.len(),
            future_covariates: read.panel.covariates().len(),
            static_covariates: read.panel.statics().len(),
            data: SeriesPreparation {
                classes: names,
                decimal: read.report.decimal.into(),
                ..learnt(&read.panel, &training, experiment.data.standardise)
            },
            ..experiment.model.clone()
        };
        let panel = at_scale(&read.panel, &config)?;
        let (look_back, report) = (config.look_back, read.report.clone());
        Ok((Self { panel, classes, training, validation, test, look_back, report }, config))
    }

    /// The report of the reader.
    pub(crate) fn report(&self) -> &ReadReport {
        &self.report
    }

    /// Number of training series.
    pub(crate) fn samples(&self) -> usize {
        self.training.len()
    }

    /// Series to learn from, chosen among them, and the class of each.
    pub(crate) fn batch(&self, chosen: &[usize]) -> (Batch, Vec<usize>) {
        let series: Vec<usize> = chosen.iter().map(|&at| self.training[at]).collect();
        (ends(&self.panel, &series, self.look_back), series.iter().map(|&one| self.classes[one]).collect())
    }

    /// Probabilities of the classes for the test series.
    pub(super) fn test_probabilities(&self, network: &PatchTst, config: &PatchTstConfig, device: &Device) -> Vec<f64> {
        class_probabilities(network, config, &self.panel, &self.test, device)
    }

    /// A network on the series to choose by, or those learnt from where there are none.
    pub(crate) fn measured(&self, network: &PatchTst, config: &PatchTstConfig, device: &Device) -> ValidationMetrics {
        let series = if self.validation.is_empty() { &self.training } else { &self.validation };
        self.measured_on(network, config, series, device)
    }

    /// A network on some of the series.
    pub(super) fn measured_on(
        &self,
        network: &PatchTst,
        config: &PatchTstConfig,
        series: &[usize],
        device: &Device,
    ) -> ValidationMetrics {
        let probabilities = class_probabilities(network, config, &self.panel, series, device);
        let classes: Vec<usize> = series.iter().map(|&one| self.classes[one]).collect();
        classification_metrics(&probabilities, config.classes, &classes)
    }
}

/// Probabilities `[series, classes]` of the classes for series of a panel at the network's scale.
pub(super) fn class_probabilities(
    network: &PatchTst,
    config: &PatchTstConfig,
    panel: &Panel,
    series: &[usize],
    device: &Device,
) -> Vec<f64> {
    let mut scores = Vec::with_capacity(series.len() * config.classes);
    for chosen in series.chunks(TOGETHER) {
        regard_data::cancel::check();
        let batch = ends(panel, chosen, config.look_back);
        scores.extend(network.forward(batch.input(device)).into_data().iter::<f64>());
    }
    probabilities(&scores, config.classes)
}

/// Names of the classes, and the class of each series.
///
/// # Errors
/// [`Error::Config`] for series without labels, or of one class.
pub(super) fn classes(read: &Read, data: &SeriesData) -> Result<(Vec<String>, Vec<usize>)> {
    let classes = read.panel.labels().ok_or_else(no_labels)?.classes();
    check_classes(&classes.names, "data.label", &data.label, Path::new(&data.path))?;
    Ok((classes.names, classes.of))
}

fn no_labels() -> Error {
    Error::config("data.label", "is not a column of the file; expected the column of classes")
}

/// The share of the series without those of the test that is held out for validation, at most half of them.
///
/// # Errors
/// [`Error::Config`] for more.
fn validation_share(data: &SeriesData) -> Result<f64> {
    let share = data.validation_fraction / (1.0 - data.test_fraction);
    // Shares such as 0.35 of 0.7 may be rounded up.
    if share <= 0.5 + 1e-9 {
        return Ok(share.min(0.5));
    }
    let SeriesData { validation_fraction, test_fraction, .. } = data;
    let reason = format!(
        "is {validation_fraction}: with `data.test_fraction` {test_fraction} it leaves fewer series for training than for \
         validation"
    );
    let most = (50.0 * (1.0 - test_fraction) + 1e-7).floor() / 100.0;
    let hint = format!("give at most {most}, or a smaller `data.test_fraction`");
    Err(Error::config("data.validation_fraction", reason).with_hint(hint))
}

/// One mean and deviation for all series, since classes may differ in level and width; 0 and 1 unless series are
/// `standardised`. Covariates always are.
fn learnt(panel: &Panel, training: &[usize], standardised: bool) -> SeriesPreparation {
    let all = || training.iter().map(|&one| &panel.series()[one]);
    let values = || all().flat_map(|one| one.values().iter().copied());
    let (mean, deviation) = standardised.then(|| moments(values())).flatten().unwrap_or(UNSCALED);
    // All rows of a covariate, which may go on after the values.
    let known = Known::learn(panel, all().map(|one| (one, 0..usize::MAX)));
    SeriesPreparation {
        names: vec!["all series".into()],
        mean: vec![mean],
        std: vec![deviation],
        frequency: panel.clock().frequency().to_string(),
        season_length: panel.clock().season(),
        future_covariates: panel.covariates().to_vec(),
        future_covariate_mean: known.covariates.0,
        future_covariate_std: known.covariates.1,
        future_covariate_ranges: known.ranges[0].clone(),
        static_covariates: panel.statics().to_vec(),
        static_covariate_mean: known.statics.0,
        static_covariate_std: known.statics.1,
        static_covariate_ranges: known.ranges[1].clone(),
        ..SeriesPreparation::default()
    }
}

/// Series at the scale of a network, the short ones filled up in front with missing values.
pub(super) fn at_scale(panel: &Panel, config: &PatchTstConfig) -> Result<Panel> {
    let data = &config.data;
    let (Some(&mean), Some(&deviation)) = (data.mean.first(), data.std.first()) else {
        return Err(Error::config("data", "has no scale of the series"));
    };
    let scaled = |&value: &f32| ((f64::from(value) - mean) / deviation) as f32;
    let panel = panel.changed(|one| one.with_values(one.values().iter().map(scaled).collect()))?;
    let panel = scaled_known(panel, &Known::of(data))?;
    Ok(panel.changed(|one| filled_up(one, config.look_back))?)
}

fn filled_up(one: &Series, look_back: usize) -> Series {
    let missing = look_back.saturating_sub(one.len());
    let front = |fill: f32, values: &[f32]| [vec![fill; missing], values.to_vec()].concat();
    let covariates = one.covariates().iter().map(|values| front(0.0, values).into()).collect();
    one.with_values(front(f32::NAN, one.values())).with_covariates(covariates)
}

/// The ends of some series.
fn ends(panel: &Panel, series: &[usize], look_back: usize) -> Batch {
    let end = |&series: &usize| {
        let start = panel.series()[series].len() - look_back;
        Window { series, start, look_back, horizon: 0 }
    };
    Batch::of_windows(panel, &series.iter().map(end).collect::<Vec<_>>(), 1, false)
}

impl SeriesModel {
    /// Probabilities of the classes for each series of a panel.
    ///
    /// # Errors
    /// [`Error::Config`] for a model of another task, or series with other covariates; [`Error::NotFinite`] for a
    /// probability that is not a number.
    pub fn classified(&self, panel: &Panel) -> Result<Predicted> {
        let (names, probabilities) = (self.config.data.classes.clone(), self.probabilities(panel)?);
        let found = Predicted::Classes { names, probabilities, shares: vec![] };
        match found.not_finite() {
            None => Ok(found),
            Some(series) => Err(Error::not_finite("series", panel.series()[series].name(), "a probability")),
        }
    }

    /// The model on the series that its experiment held out.
    ///
    /// # Errors
    /// Those of reading the data; [`Error::Config`] without test data, and for data that was changed since the
    /// training.
    pub fn measure_classes(&self) -> Result<ValidationMetrics> {
        let (labelled, _) = Labelled::of(self.experiment_on_same_data()?)?;
        if labelled.test.is_empty() {
            return Err(Error::config("data.test_fraction", "is 0: there is no test data"));
        }
        Ok(labelled.measured_on(&self.network, &self.config, &labelled.test, &self.device))
    }

    /// Predictions for all series that were read of a file ([`read_whole`]), or of a part of it, with their true classes.
    ///
    /// # Errors
    /// [`Error::Config`] for a class the model does not know.
    pub fn test_predictions(&self, file: &Path, read: &Read) -> Result<SeriesTestPredictions> {
        let classes = self.known_classes(read).map_err(|error| error.in_file(file))?;
        Ok(SeriesTestPredictions { classes, probabilities: self.probabilities(&read.panel)? })
    }

    /// The metrics of predictions.
    #[must_use]
    pub fn class_metrics(&self, found: &SeriesTestPredictions) -> ValidationMetrics {
        classification_metrics(&found.probabilities, self.config.classes, &found.classes)
    }

    fn probabilities(&self, panel: &Panel) -> Result<Vec<f64>> {
        if self.config.task != SeriesTask::Classification {
            let reason = format!("was trained for {}, not for classification", self.config.task);
            return Err(Error::config("--model", reason));
        }
        let all: Vec<usize> = (0..panel.len()).collect();
        Ok(class_probabilities(&self.network, &self.config, &at_scale(panel, &self.config)?, &all, &self.device))
    }

    /// The classes of series, by the model's own numbers.
    fn known_classes(&self, read: &Read) -> Result<Vec<usize>> {
        Ok(read.panel.labels().ok_or_else(no_labels)?.classes_among(&self.config.data.classes)?.of)
    }
}

/// Predictions for series, and their true classes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeriesTestPredictions {
    classes: Vec<usize>,
    probabilities: Vec<f64>,
}

impl SeriesTestPredictions {
    /// Adds the predictions for other series of the same model.
    pub fn append(&mut self, more: Self) {
        self.classes.extend(more.classes);
        self.probabilities.extend(more.probabilities);
    }
}

/// The held-out series of a cross-validation.
#[derive(Clone, Copy, Debug)]
pub enum HeldOut<'a> {
    /// So many parts, of each class alike, cut anew for every repeat.
    Folds(usize),
    /// Series that are listed, by their places in the file.
    Lists(&'a [Fold]),
}

/// Trains on the series that are not held out and measures on the others, fold by fold; all that `repeats` times. `done`
/// is called after every fold, as of [`Done`].
///
/// # Errors
/// [`Error::Config`] for series without classes, or more folds than series.
pub fn cross_validate(
    experiment: &SeriesExperiment,
    read: &Read,
    held_out: HeldOut<'_>,
    repeats: usize,
    device: &Device,
    done: Done<'_>,
) -> Result<CrossValidationMetrics> {
    let (names, of) = classes(read, &experiment.data)?;
    let cut = Folds::new(experiment.train.seed, repeats, |seed| match held_out {
        HeldOut::Folds(folds) => {
            let cut = stratified_folds(&of, folds, seed)?;
            Ok(cut.into_iter().map(|part| (others(read.panel.len(), &part), part)).collect())
        }
        HeldOut::Lists(lists) => {
            Ok(lists.iter().map(|list: &Fold| (list.training.clone(), list.test.clone())).collect())
        }
    })?;
    let predict = |(rest, part): (Vec<usize>, Vec<usize>), seed: u64| {
        let mut of_fold = experiment.clone();
        (of_fold.train.seed, of_fold.data.test_fraction) = (seed, 0.0);
        let load = || {
            let (labelled, config) = Labelled::with_test(&of_fold, read, rest.clone(), part.clone())?;
            Ok((labelled.into(), config))
        };
        let of_network = |learner: &SeriesLearner| learner.test_probabilities();
        let probabilities = ensemble(&of_fold, seed, 1, device, load, of_network, done)?;
        Ok(SeriesTestPredictions { classes: part.iter().map(|&one| of[one]).collect(), probabilities })
    };
    let metrics = |folds: &[SeriesTestPredictions]| {
        let classes: Vec<usize> = folds.iter().flat_map(|fold| fold.classes.clone()).collect();
        let probabilities: Vec<f64> = folds.iter().flat_map(|fold| fold.probabilities.clone()).collect();
        Ok(classification_metrics(&probabilities, names.len(), &classes).measures)
    };
    let constant = |folds: &[SeriesTestPredictions]| {
        let held_out: Vec<usize> = folds.iter().flat_map(|fold| fold.classes.clone()).collect();
        (!held_out.is_empty()).then(|| majority_share(&held_out))
    };
    cut.run(predict, metrics, constant, done)
}

#[cfg(test)]
mod tests {
    use regard_data::series::Clock;

    use super::*;

    #[test]
    fn series_that_are_not_standardised_keep_their_values() {
        let series = [[3.0_f32, 5.0], [7.0, 9.0]].map(|values| Series::new(values[0].to_string(), 0, values.to_vec()));
        let panel = Panel::new(Clock::steps(), series.to_vec()).unwrap();
        let scale = |standardised: bool| {
            let data = learnt(&panel, &[0], standardised);
            (data.mean[0], data.std[0])
        };
        assert_eq!([scale(true), scale(false)], [(4.0, 1.0), (0.0, 1.0)]);
        let config =
            PatchTstConfig { look_back: 2, data: learnt(&panel, &[0], false), ..PatchTstConfig::regard_series() };
        assert_eq!(at_scale(&panel, &config).unwrap().series()[1].values(), [7.0, 9.0]);
    }

    #[test]
    fn more_series_for_validation_than_for_training_are_refused() {
        let share = |validation_fraction: f64, test_fraction: f64| {
            validation_share(&SeriesData { validation_fraction, test_fraction, ..SeriesData::default() })
        };
        assert_eq!([(0.35, 0.3), (0.4, 0.2), (0.0, 0.9)].map(|(a, b)| share(a, b).unwrap()), [0.5, 0.5, 0.0]);
        let error = share(0.4, 0.3).unwrap_err();
        assert!(error.to_string().contains("`data.validation_fraction`: is 0.4"), "{error}");
        assert_eq!(error.hint(), Some("give at most 0.35, or a smaller `data.test_fraction`"));
    }
}
