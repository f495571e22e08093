//! Sets: data, training and predictions.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::data::labels::Labels;
use regard::data::predictions::{Predicted, decide};
use regard::data::sets::mixture::LogWeights;
use regard::data::sets::{Bags, FeatureNames};
use regard::experiment::find;
use regard::sets::predict::{MixtureOptions, SetModel};
use regard::sets::source::Source;
use regard::sets::{SetExperiment, Sets};
use regard::{Device, supervised};

use crate::arrays::{numbers, shaped, wrong_shape};
use crate::compute::{OnInterrupt, long};
use crate::explain::{Attributions, Trace, attribution_options};
use crate::failure::{OrRaise, invalid};
use crate::train::{Run, RunOptions};

/// Labels of Python: numbers or texts.
#[derive(FromPyObject)]
pub(crate) enum Answers {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl Answers {
    pub(crate) fn labels(self) -> Labels {
        match self {
            Self::Numbers(numbers) => Labels::Numbers(numbers),
            Self::Texts(texts) => Labels::of_texts(texts),
        }
    }
}

/// Sets of rows.
#[pyclass(frozen, name = "Bags", module = "regard._regard")]
pub(crate) struct PyBags(pub(crate) Arc<Bags>);

#[pymethods]
impl PyBags {
    /// Sets of rows `[rows, features]`, cut at offsets; NaN where a value is missing.
    #[new]
    #[pyo3(signature = (values, offsets, names, ids, labels, row_labels))]
    fn new(
        values: &Bound<'_, PyAny>,
        offsets: Vec<usize>,
        names: Vec<String>,
        ids: Vec<String>,
        labels: Option<Answers>,
        row_labels: Option<Answers>,
    ) -> PyResult<Self> {
        let values = numbers(values, "X")?;
        let [_, width] = *values.shape() else { return Err(wrong_shape("X", values.shape(), "[rows, features]")) };
        let names = if names.is_empty() { FeatureNames::Count(width) } else { FeatureNames::Named(names) };
        let mut bags = Bags::with_missing(names, values.singles(), offsets).or_raise()?;
        if !ids.is_empty() {
            bags = bags.with_ids(ids).or_raise()?;
        }
        if let Some(labels) = labels {
            bags = bags.with_labels(labels.labels()).or_raise()?;
        }
        if let Some(labels) = row_labels {
            bags = bags.with_row_labels(labels.labels()).or_raise()?;
        }
        Ok(Self(Arc::new(bags)))
    }
}

/// Trains an experiment on sets in memory.
#[pyfunction]
pub(crate) fn train_sets(
    py: Python<'_>,
    experiment: &str,
    settings: Vec<String>,
    bags: &PyBags,
    options: RunOptions,
) -> PyResult<Py<PyDict>> {
    let (text, path) = find(experiment).or_raise()?;
    let experiment = SetExperiment::parse(&text, &path, &settings).or_raise()?;
    let bags = bags.0.clone();
    Run::new(options).run(py, experiment, move |training, device, observer| {
        let (source, config) = Source::of_bags(&training.experiment, &bags)?;
        supervised::train_on::<Sets>(training, source.into(), config, device, observer)
    })
}

/// A model on sets.
#[pyclass(frozen, name = "SetModel", module = "regard._regard")]
pub(crate) struct PySetModel {
    model: Arc<SetModel>,
    name: String,
}

impl PySetModel {
    /// The sets with the columns of training, in its order.
    fn aligned(&self, bags: &PyBags) -> PyResult<Bags> {
        let config = &self.model.config;
        let bags = Bags::clone(&bags.0);
        if config.data.mean.is_empty() && bags.features().iter().any(|value| value.is_nan()) {
            let hint = "fill missing values, or train with settings={\"data.standardise\": True}";
            return Err(invalid(
                "X",
                "has missing values, and the model knows no mean to put in their place",
                Some(hint),
            ));
        }
        bags.align(&config.feature_names()).or_raise()
    }
}

#[pymethods]
impl PySetModel {
    /// Opens a folder, or a built-in model.
    #[staticmethod]
    #[pyo3(signature = (path, only))]
    fn open(py: Python<'_>, path: PathBuf, only: Option<&str>) -> PyResult<Self> {
        let only = only.map(str::parse).transpose().map_err(|error: String| invalid("only", &error, None))?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let opened = move || SetModel::open(&path, &Device::flex())?.with_only(only);
        Ok(Self { model: Arc::new(long(py, OnInterrupt::Leave, opened)?.or_raise()?), name })
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.model.config.task.name()
    }

    #[getter]
    fn features(&self) -> Vec<String> {
        self.model.config.data.features.clone()
    }

    #[getter]
    fn inputs(&self) -> usize {
        self.model.config.inputs
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.config.data.classes.clone()
    }

    /// Weights of network and base learners in the answer.
    #[getter]
    fn weights(&self) -> Option<[f64; 2]> {
        self.model.base.as_ref().map(supervised::base::BaseRecord::weights)
    }

    /// Predictions: numbers or probabilities of the sets, the decided class of each, and numbers of the rows.
    #[pyo3(signature = (bags, importance))]
    fn predict<'py>(&self, py: Python<'py>, bags: &PyBags, importance: bool) -> PyResult<Bound<'py, PyDict>> {
        let (model, bags) = (self.model.clone(), self.aligned(bags)?);
        let count = bags.len();
        let found = long(py, OnInterrupt::Leave, move || model.predict(&bags, importance))?.or_raise()?;
        let result = PyDict::new(py);
        match found.of_sets {
            Some(Predicted::Classes { probabilities, shares, names }) => {
                let classes = names.len().max(1);
                let decided: Vec<i64> = probabilities.chunks(classes).map(|row| decide(row, &shares) as i64).collect();
                result.set_item("probabilities", shaped(py, probabilities, &[count, classes])?)?;
                result.set_item("decided", shaped(py, decided, &[count])?)?;
            }
            Some(Predicted::Numbers { values, .. }) => result.set_item("values", shaped(py, values, &[count])?)?,
            None => {}
        }
        if let Some(rows) = found.of_items {
            let length = rows.len();
            result.set_item("rows", shaped(py, rows, &[length])?)?;
        }
        Ok(result)
    }

    /// Half widths of prediction intervals by level in per cent.
    fn half_widths(&self, levels: Vec<f64>) -> PyResult<Vec<f64>> {
        let errors = self.model.errors.as_ref();
        let width = |level: &f64| {
            let widths = errors.and_then(|errors| errors.half_widths(*level));
            widths.and_then(|widths| widths.first().copied()).ok_or_else(|| {
                let reason = format!("{level} per cent: the model has too few validation examples");
                invalid("level", &reason, Some("hold out more by settings={\"data.validation_fraction\": 0.3}"))
            })
        };
        levels.iter().map(width).collect()
    }

    /// The mixture of each set: weights, means, variances, and the component of every row.
    #[pyo3(signature = (bags, refine, rescale))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        bags: &PyBags,
        refine: usize,
        rescale: bool,
    ) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
        let (model, bags) = (self.model.clone(), Arc::new(self.aligned(bags)?));
        let own = bags.clone();
        let options = MixtureOptions { refine, rescale };
        let found = long(py, OnInterrupt::Leave, move || model.mixtures(&own, options))?.or_raise()?;
        let width = bags.width();
        let mixture = |(bag, mixture): (usize, Option<regard::data::sets::mixture::Mixture>)| {
            let Some(mixture) = mixture else { return Ok(None) };
            let count = mixture.weights().len();
            let labels: Vec<i64> =
                mixture.assign(bags.bag(bag), LogWeights::Exact).into_iter().map(|label| label as i64).collect();
            let result = PyDict::new(py);
            result.set_item("weights", shaped(py, mixture.weights().to_vec(), &[count])?)?;
            result.set_item("means", shaped(py, mixture.means().to_vec(), &[count, width])?)?;
            result.set_item("deviations", shaped(py, mixture.deviations().to_vec(), &[count, width])?)?;
            let rows = labels.len();
            result.set_item("labels", shaped(py, labels, &[rows])?)?;
            Ok(Some(result))
        };
        found.into_iter().enumerate().map(mixture).collect()
    }

    /// Everything that the model computes on one set.
    fn explain(&self, py: Python<'_>, bags: &PyBags, at: usize) -> PyResult<Trace> {
        let (model, bags, name) = (self.model.clone(), self.aligned(bags)?, self.name.clone());
        if at >= bags.len() {
            return Err(invalid("example", &format!("is {at}; there are {} sets", bags.len()), None));
        }
        let trace = long(py, OnInterrupt::Leave, move || model.explain(&name, &bags, at))?.or_raise()?;
        Ok(Trace::new(trace))
    }

    /// Attribution of the prediction for each set to its rows.
    #[pyo3(signature = (bags, method, samples, steps, seed))]
    fn attribute(
        &self,
        py: Python<'_>,
        bags: &PyBags,
        method: &str,
        samples: usize,
        steps: usize,
        seed: u64,
    ) -> PyResult<Attributions> {
        let options = attribution_options(method, samples, steps, seed)?;
        let (model, bags) = (self.model.clone(), self.aligned(bags)?);
        let found = long(py, OnInterrupt::Leave, move || model.attribute(&bags, &options, &|_, _| {}))?.or_raise()?;
        Ok(Attributions(found))
    }
}
