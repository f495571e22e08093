//! Traces and attributions as arrays.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::explain::attribution::{Attribution, AttributionMethod, AttributionOptions};
use regard::explain::{self, TraceStep, page};

use crate::arrays::shaped;
use crate::failure::{OrRaise, invalid};

/// What a model computed on one input, step by step.
#[pyclass(frozen, name = "Trace", module = "regard._regard")]
pub(crate) struct Trace(Arc<explain::Trace>);

impl Trace {
    pub(crate) fn new(trace: explain::Trace) -> Self {
        Self(Arc::new(trace))
    }
}

fn step_of<'py>(py: Python<'py>, step: &TraceStep) -> PyResult<Bound<'py, PyDict>> {
    let TraceStep { recorded, axes } = step;
    let found = PyDict::new(py);
    found.set_item("name", &recorded.name)?;
    found.set_item("formula", recorded.operation.formula())?;
    found.set_item("source", recorded.source)?;
    let axes: Vec<(&str, &[String])> = axes.iter().map(|axis| (axis.name.as_str(), axis.labels.as_slice())).collect();
    found.set_item("axes", axes)?;
    found.set_item("values", shaped(py, recorded.values.clone(), &recorded.shape)?)?;
    found.set_item("inputs", &recorded.from)?;
    found.set_item("parameters", &recorded.parameters)?;
    found.set_item("notes", &recorded.notes)?;
    Ok(found)
}

#[pymethods]
impl Trace {
    #[getter]
    fn model(&self) -> &str {
        &self.0.model
    }

    #[getter]
    fn input(&self) -> &str {
        &self.0.input
    }

    /// Names of the steps, in their order.
    fn names(&self) -> Vec<&str> {
        self.0.steps.iter().map(|step| step.recorded.name.as_str()).collect()
    }

    /// A step by its place, with its values as an array.
    fn step<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyDict>> {
        match self.0.steps.get(at) {
            Some(step) => step_of(py, step),
            None => Err(invalid("step", &format!("is {at}; the trace has {} steps", self.0.steps.len()), None)),
        }
    }

    /// The parameters that steps name, by name.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for parameter in &self.0.parameters {
            found.set_item(&parameter.name, shaped(py, parameter.values.clone(), &parameter.shape)?)?;
        }
        Ok(found)
    }

    /// The part of the trace with one decoding step, one layer, one head, or a text in its names.
    #[pyo3(signature = (step, layer, head, name))]
    fn part(
        &self,
        step: Option<usize>,
        layer: Option<usize>,
        head: Option<usize>,
        name: Option<&str>,
    ) -> PyResult<Self> {
        let trace = explain::Trace::clone(&self.0).part(step, layer);
        let trace = trace.and_then(|trace| trace.named(name)).and_then(|trace| trace.head(head));
        trace.or_raise().map(Self::new)
    }

    /// The trace as a page without parameters.
    fn html(&self) -> String {
        page(&explain::Trace::clone(&self.0).without_parameters())
    }

    /// The trace as JSON, as `regard explain --json` prints it.
    fn json(&self) -> PyResult<String> {
        let trace = explain::Trace::clone(&self.0).without_parameters();
        serde_json::to_string(&trace).map_err(|error| invalid("trace", &error.to_string(), None))
    }
}

/// Options of an attribution by the name of its method.
pub(crate) fn attribution_options(method: &str, samples: usize, steps: usize, seed: u64) -> PyResult<AttributionOptions> {
    let method: AttributionMethod = method.parse().map_err(|reason: String| invalid("method", &reason, None))?;
    Ok(AttributionOptions { samples, steps, ..AttributionOptions::new(method, seed) })
}

/// The parts of attributions as arrays.
#[pyclass(frozen, name = "Attributions", module = "regard._regard")]
pub(crate) struct Attributions(pub(crate) Vec<Attribution>);

#[pymethods]
impl Attributions {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The attribution of an input by its place.
    fn at<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyDict>> {
        match self.0.get(at) {
            Some(found) => attribution_of(py, found),
            None => Err(invalid("at", &format!("is {at}; there are {} attributions", self.0.len()), None)),
        }
    }
}

pub(crate) fn attribution_of<'py>(py: Python<'py>, attribution: &Attribution) -> PyResult<Bound<'py, PyDict>> {
    let Attribution { answer, baseline, values, standard_errors, faithfulness, rank_correlation } = attribution;
    let found = PyDict::new(py);
    found.set_item("answer", answer)?;
    found.set_item("baseline", baseline)?;
    found.set_item("values", shaped(py, values.clone(), &[values.len()])?)?;
    let errors = (!standard_errors.is_empty()).then(|| shaped(py, standard_errors.clone(), &[standard_errors.len()]));
    found.set_item("standard_errors", errors.transpose()?)?;
    found.set_item("deletion_area", faithfulness.map(|areas| areas.deletion_area))?;
    found.set_item("random_area", faithfulness.map(|areas| areas.random_area))?;
    found.set_item("rank_correlation", rank_correlation)?;
    Ok(found)
}
