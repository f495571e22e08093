//! A routing problem whose rules are functions of Python over batches.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::routes::decode::{Decode, DecodeOptions};
use regard::routes::environment::{BatchEnvironment, BatchInputs, BatchInstance, BatchProblem};
use regard::routes::laws::{self, LawOptions};
use regard::routes::model::AttentionModel;
use regard::routes::train::train_in;
use regard::routes::{ModelDir, RouteExperiment};
use regard::routing::generate::GeneratorConfig;
use regard::routing::registry::{self, ProblemSpec};
use regard::{Device, Error, Result};

use crate::arrays::padded;
use crate::compute::{OnInterrupt, long};
use crate::failure::{OrRaise, invalid};
use crate::train::{Run, RunOptions};

/// The rules of a problem: an object of Python whose methods take and give arrays.
struct Rules {
    object: Py<PyAny>,
    spec: &'static ProblemSpec,
}

/// Instances of Python: a dictionary of arrays.
struct Instances {
    arrays: Py<PyAny>,
    size: [usize; 2],
}

/// An exception as an error of the library.
fn foreign(error: PyErr) -> Error {
    Error::Foreign(Box::new(error))
}

impl Rules {
    fn call<T>(&self, call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| call(py, self.object.bind(py))).map_err(foreign)
    }

    fn instances(&self, py: Python<'_>, arrays: Bound<'_, PyAny>) -> PyResult<Instances> {
        let (count, nodes) = self.object.bind(py).call_method1("size", (&arrays,))?.extract()?;
        Ok(Instances { arrays: arrays.unbind(), size: [count, nodes] })
    }
}

fn places_of<'py>(py: Python<'py>, places: &[u32]) -> Bound<'py, numpy::PyArray1<i64>> {
    places.iter().map(|&place| i64::from(place)).collect::<Vec<i64>>().into_pyarray(py)
}

fn flags(value: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    Ok(value.extract::<PyReadonlyArray1<'_, bool>>()?.as_array().iter().copied().collect())
}

impl BatchProblem for Rules {
    type Instances = Instances;
    type States = Py<PyAny>;

    fn spec(&self) -> &'static ProblemSpec {
        self.spec
    }

    fn draw(&self, _: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Instances> {
        self.call(|py, rules| self.instances(py, rules.call_method1("drawn", (seed, count, size))?))
    }

    fn size(&self, instances: &Instances) -> [usize; 2] {
        instances.size
    }

    fn select(&self, instances: &Instances, places: &[u32]) -> Result<Instances> {
        self.call(|py, rules| {
            let arrays = rules.call_method1("select", (instances.arrays.bind(py), places_of(py, places)))?;
            Ok(Instances { arrays: arrays.unbind(), size: [places.len(), instances.size[1]] })
        })
    }

    fn views(&self, instances: &Instances, views: usize) -> Result<Instances> {
        self.call(|py, rules| self.instances(py, rules.call_method1("views", (instances.arrays.bind(py), views))?))
    }

    fn features(&self, instances: &Instances) -> Result<Vec<f32>> {
        self.call(|py, rules| {
            let found = rules.call_method1("features", (instances.arrays.bind(py),))?;
            Ok(found.extract::<PyReadonlyArray3<'_, f32>>()?.as_array().iter().copied().collect())
        })
    }

    fn costs(&self, instances: &Instances, solutions: &[&[usize]]) -> Result<Vec<f64>> {
        self.call(|py, rules| {
            let rows: Vec<Vec<usize>> = solutions.iter().map(|solution| solution.to_vec()).collect();
            let lengths: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
            let arguments = (instances.arrays.bind(py), padded(py, &rows, 0)?, lengths.into_pyarray(py));
            let found = rules.call_method1("costs", arguments)?;
            Ok(found.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().iter().copied().collect())
        })
    }

    fn reset(&self, instances: &Instances) -> Result<(Py<PyAny>, Vec<bool>)> {
        self.call(|py, rules| {
            let (state, done): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                rules.call_method1("reset", (instances.arrays.bind(py),))?.extract()?;
            Ok((state.unbind(), flags(&done)?))
        })
    }

    fn inputs(&self, states: &Py<PyAny>) -> Result<BatchInputs> {
        self.call(|py, rules| {
            type Found<'py> =
                (PyReadonlyArray2<'py, bool>, PyReadonlyArray2<'py, f32>, Option<PyReadonlyArray2<'py, f32>>);
            let (mask, context, dynamic): Found<'_> = rules.call_method1("inputs", (states.bind(py),))?.extract()?;
            let flat = |array: &PyReadonlyArray2<'_, f32>| array.as_array().iter().copied().collect::<Vec<f32>>();
            if context.shape()[1] != self.spec.scalars {
                let reason = format!("gave {} numbers, and {} before", context.shape()[1], self.spec.scalars);
                return Err(invalid("context", &reason, None));
            }
            Ok(BatchInputs {
                allowed: mask.as_slice().map_or_else(|_| mask.as_array().iter().copied().collect(), <[bool]>::to_vec),
                scalars: flat(&context),
                dynamic: dynamic.as_ref().map_or_else(Vec::new, flat),
            })
        })
    }

    fn step(&self, states: Py<PyAny>, nodes: &[u32]) -> Result<(Py<PyAny>, Vec<bool>)> {
        self.call(|py, rules| {
            let (state, done): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                rules.call_method1("step", (states.bind(py), places_of(py, nodes)))?.extract()?;
            Ok((state.unbind(), flags(&done)?))
        })
    }

    fn select_states(&self, states: &Py<PyAny>, places: &[u32]) -> Result<Py<PyAny>> {
        self.call(|py, rules| Ok(rules.call_method1("select", (states.bind(py), places_of(py, places)))?.unbind()))
    }
}

/// A routing problem of Python.
#[pyclass(frozen, name = "Environment", module = "regard._regard")]
pub(crate) struct PyEnvironment(BatchEnvironment<Rules>);

#[pymethods]
impl PyEnvironment {
    #[new]
    #[pyo3(signature = (rules, name, features, depot, every_node_once, scalars, dynamic, maximises))]
    #[expect(clippy::too_many_arguments, reason = "one for each fact of a problem; Python names them")]
    fn new(
        rules: Py<PyAny>,
        name: String,
        features: usize,
        depot: bool,
        every_node_once: bool,
        scalars: usize,
        dynamic: bool,
        maximises: bool,
    ) -> PyResult<Self> {
        let known = registry::spec(&name);
        let name = known.map_or_else(|| Box::leak(name.into_boxed_str()) as &'static str, |spec| spec.name);
        let spec = ProblemSpec {
            name,
            features,
            depot,
            every_node_once,
            scalars,
            dynamic,
            maximises,
            local_search: false,
            paper_sets: &[],
            set_fields: None,
            files: None,
        };
        let spec = registry::register_spec(&spec).or_raise()?;
        Ok(Self(BatchEnvironment::new(Arc::new(Rules { object: rules, spec }))))
    }

    /// Makes the problem that of its name, where another one was registered since.
    fn register(&self) -> PyResult<()> {
        registry::register_spec(self.0.problem().spec).map(drop).or_raise()
    }

    /// Trains a policy; settings name the problem.
    fn train(&self, py: Python<'_>, settings: Vec<String>, options: RunOptions) -> PyResult<Py<PyDict>> {
        let path = PathBuf::from(self.0.problem().spec.name);
        let experiment = RouteExperiment::parse("", &path, &settings).or_raise()?;
        let environment = self.0.clone();
        Run::new(options)
            .run(py, experiment, move |training, device, observer| train_in(training, environment, device, observer))
    }

    /// Opens a policy that was trained for the problem.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<PyEnvironmentPolicy> {
        let problem = self.0.problem().spec.name;
        let opened = move || {
            let folder = ModelDir::open(&path)?;
            folder.require_problem(problem)?;
            let model = AttentionModel::from_weights(folder.config(), &folder.weights()?, &Device::flex())?;
            Ok::<_, regard::Error>((Arc::new(model), folder.config().parameters()))
        };
        let (model, parameters) = long(py, OnInterrupt::Leave, opened)?.or_raise()?;
        Ok(PyEnvironmentPolicy { model, environment: self.0.clone(), parameters })
    }

    /// Laws that the engine checks: their names, and how each is broken.
    fn laws(
        &self,
        py: Python<'_>,
        nodes: usize,
        instances: usize,
        seed: u64,
        learn: bool,
    ) -> PyResult<Vec<(&'static str, Option<String>)>> {
        let environment = self.0.clone();
        let options = LawOptions { nodes, instances, seed, learn, distances: false };
        let found = long(py, OnInterrupt::Leave, move || laws::check(&environment, &options))?;
        Ok(found.into_iter().map(|law| (law.name, law.broken)).collect())
    }
}

/// A policy for a problem of Python.
#[pyclass(frozen, name = "EnvironmentPolicy", module = "regard._regard")]
pub(crate) struct PyEnvironmentPolicy {
    model: Arc<AttentionModel>,
    environment: BatchEnvironment<Rules>,
    parameters: usize,
}

/// Instances between two looks at signals.
const BETWEEN_LOOKS: usize = 512;

#[pymethods]
impl PyEnvironmentPolicy {
    #[getter]
    fn parameters(&self) -> usize {
        self.parameters
    }

    /// Decodes instances; see `regard.Policy.decode`. Gives costs, tours, steps and log-likelihoods.
    #[pyo3(signature = (instances, decode, augment, temperature, top_p, seed, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each option; Python names them")]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        instances: Bound<'py, PyAny>,
        decode: &str,
        augment: usize,
        temperature: f32,
        top_p: f32,
        seed: u64,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let decode: Decode = decode
            .parse()
            .map_err(|error: regard::routes::decode::UnknownDecode| invalid("decode_type", &error.to_string(), None))?;
        let batch = self.environment.problem().instances(py, instances)?;
        let all = self.environment.instances(batch);
        let (mut costs, mut tours, mut log_likelihoods) = (Vec::new(), Vec::new(), Vec::new());
        for block in all.chunks(BETWEEN_LOOKS) {
            let seed = seed.wrapping_add(costs.len() as u64);
            let options = DecodeOptions { decode, augment, temperature, top_p, seed };
            let (model, environment) = (self.model.clone(), self.environment.clone());
            let block: Vec<BatchInstance<Rules>> = block.to_vec();
            let decoded = move || model.decode_in(&environment, &block, &options);
            for found in long(py, OnInterrupt::Leave, decoded)?.or_raise()? {
                costs.push(found.cost);
                tours.push(found.tour);
                log_likelihoods.push(found.log_likelihood);
            }
            if let Some(progress) = progress {
                progress.call1((costs.len(), all.len()))?;
            }
        }
        let result = PyDict::new(py);
        let lengths: Vec<i64> = tours.iter().map(|tour| tour.len() as i64).collect();
        result.set_item("cost", costs.into_pyarray(py))?;
        result.set_item("actions", padded(py, &tours, 0)?)?;
        result.set_item("lengths", lengths.into_pyarray(py))?;
        result.set_item("log_likelihood", log_likelihoods.into_pyarray(py))?;
        Ok(result)
    }
}
