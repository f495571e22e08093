//! Routes: instances, solving, and policies on batches.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use regard::Device;
use regard::data::file::write_atomic;
use regard::routes::ModelDir;
use regard::routes::decode::Decode;
use regard::routes::evaluate::{EvaluateOptions, Evaluation, evaluate_problems};
use regard::routes::model::AttentionModel;
use regard::routes::solve::{Finish, Objective, Solution, SolveOptions, StageKind, solve_instance_watched};
use regard::routing::formats::csv::{self, ColumnRole, Columns, Nodes, TableOptions};
use regard::routing::formats::sets::{self, InstanceSet};
use regard::routing::formats::{self, Instance};
use regard::routing::generate::{GeneratedSet, GeneratorConfig, Points};
use regard::routing::local_search::BestCost;
use regard::routing::registry::{self, ProblemVisitor, with_problem};
use regard::routing::{DistanceMatrix, Problem, SolverInstance};
use regard::store::built_in;

use crate::arrays::{self, Numbers, numbers, padded, wrong_shape};
use crate::compute::{OnInterrupt, long, short};
use crate::explain::Trace;
use crate::failure::{OrRaise, faulty, invalid};

/// An instance of a routing problem.
#[pyclass(frozen, name = "Instance", module = "regard._regard")]
pub(crate) struct PyInstance {
    pub(crate) instance: Instance,
    /// The caller's row of each node.
    rows: Vec<usize>,
}

/// Largest asymmetry that is rounding, as a share of the larger distance.
const ROUNDING: f64 = 1e-9;

/// The distances of an array `[nodes, nodes]`, from the node of the row to that of the column. Directions whose distances
/// differ by rounding alone are the same.
fn matrix_of(distances: &Numbers<'_>) -> PyResult<DistanceMatrix> {
    let nodes = match distances.shape() {
        [rows, columns] if rows == columns && *rows > 0 => *rows,
        shape => return Err(wrong_shape("distance_matrix", shape, "[nodes, nodes]")),
    };
    let values = distances.doubles();
    let mut symmetric = true;
    for row in 0..nodes {
        for column in 0..nodes {
            let (one, other) = (values[row * nodes + column], values[column * nodes + row]);
            if !one.is_finite() {
                let reason = format!("[{row}, {column}] is {one}, expected a finite number");
                return Err(invalid("distance_matrix", &reason, None));
            }
            if row == column && one != 0.0 {
                let reason = format!("[{row}, {row}] is {one}, expected 0 on the diagonal");
                return Err(invalid("distance_matrix", &reason, Some("numpy.fill_diagonal(matrix, 0) sets it")));
            }
            symmetric &= (one - other).abs() <= ROUNDING * one.abs().max(other.abs());
        }
    }
    if !symmetric {
        return DistanceMatrix::from_rows(nodes, values).or_raise();
    }
    let pairs = (1..nodes).flat_map(|row| (0..row).map(move |column| row * nodes + column));
    DistanceMatrix::from_lower(nodes, pairs.map(|at| values[at]).collect()).or_raise()
}

impl PyInstance {
    /// An instance of a file, whose rows are its nodes in the order of the file.
    fn of_file(instance: Instance) -> Self {
        let rows = (0..instance.sites().len()).collect();
        Self { instance, rows }
    }

    /// The nodes of rows.
    fn nodes_of(&self, rows: &[usize]) -> PyResult<Vec<usize>> {
        let mut nodes = vec![usize::MAX; self.rows.len()];
        self.rows.iter().enumerate().for_each(|(node, row)| nodes[*row] = node);
        let node = |row: &usize| {
            nodes.get(*row).copied().ok_or_else(|| {
                let reason = format!("has node {row}, expected nodes from 0 to {}", self.rows.len().saturating_sub(1));
                invalid("solution", &reason, None)
            })
        };
        rows.iter().map(node).collect()
    }

    /// A solution of routes of rows as a list of nodes.
    fn solution_of(&self, routes: &[Vec<usize>]) -> PyResult<Vec<usize>> {
        let routes = routes.iter().map(|route| self.nodes_of(route)).collect::<PyResult<Vec<_>>>()?;
        if !self.instance.spec().depot {
            return Ok(routes.concat());
        }
        Ok(routes.join(&0))
    }

    /// The routes of a solution, as rows.
    fn routes_of(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        let routes = self.instance.routes(solution).into_iter();
        routes.map(|route| route.into_iter().map(|node| self.rows[node]).collect()).collect()
    }
}

#[pymethods]
impl PyInstance {
    /// An instance of columns in memory.
    #[staticmethod]
    #[pyo3(signature = (name, kind, places, distances, columns, labels, depot, options))]
    #[expect(clippy::too_many_arguments, reason = "one for each part of an instance; Python names them")]
    fn of_columns(
        name: &str,
        kind: &str,
        places: Option<&Bound<'_, PyAny>>,
        distances: Option<&Bound<'_, PyAny>>,
        columns: Vec<(String, Bound<'_, PyAny>)>,
        labels: Vec<String>,
        depot: usize,
        options: Vec<(String, f64)>,
    ) -> PyResult<Self> {
        let places = places.map(|places| numbers(places, "coords")?.pairs("coords")).transpose()?;
        let nodes = match (distances, places, kind) {
            (Some(distances), places, _) => {
                Nodes::Distances(matrix_of(&numbers(distances, "distance_matrix")?)?, places)
            }
            (None, Some(places), "degrees") => Nodes::Earth(places),
            (None, Some(places), _) => Nodes::Plane(places),
            (None, None, _) => return Err(invalid("coords", "are missing, and so is distance_matrix", None)),
        };
        let mut read = Vec::new();
        for (role, values) in &columns {
            let values = numbers(values, role)?;
            if values.shape().len() != 1 {
                return Err(wrong_shape(role, values.shape(), "[nodes]"));
            }
            read.push((role.as_str(), values.doubles()));
        }
        let options =
            options.into_iter().fold(csv::Options::default(), |all, (name, value)| all.with(&name, Some(value)));
        let columns = Columns { name, nodes, labels, numbers: read, depot, options };
        let instance = columns.instance().or_raise()?;
        let rows = instance.sites().ids().iter().map(|id| id.parse().unwrap_or(0)).collect();
        Ok(Self { instance, rows })
    }

    /// Reads a file; notes of the reader come second.
    #[staticmethod]
    #[pyo3(signature = (path, columns, options, depot, skip_bad))]
    fn read(
        path: PathBuf,
        columns: Vec<String>,
        options: Vec<(String, f64)>,
        depot: Option<String>,
        skip_bad: bool,
    ) -> PyResult<(Self, Vec<String>)> {
        let roles = columns.iter().map(|text| ColumnRole::parse(text)).collect::<Result<Vec<_>, _>>();
        let columns = roles.map_err(|reason| invalid("columns", &reason, None))?;
        let values =
            options.into_iter().fold(csv::Options::default(), |all, (name, value)| all.with(&name, Some(value)));
        let options = TableOptions { values, columns, depot, skip_bad, ..TableOptions::default() };
        let (instance, notes) = formats::read_instance_with(&path, &options).or_raise()?;
        Ok((Self::of_file(instance), notes.texts().to_vec()))
    }

    #[getter]
    fn problem(&self) -> &'static str {
        self.instance.problem()
    }

    #[getter]
    fn name(&self) -> &str {
        self.instance.sites().name()
    }

    #[getter]
    fn maximises(&self) -> bool {
        self.instance.maximises()
    }

    #[getter]
    fn depot(&self) -> Option<usize> {
        self.instance.spec().depot.then(|| self.rows[0])
    }

    #[getter]
    fn best_known(&self) -> Option<f64> {
        self.instance.best_known()
    }

    #[getter]
    fn unit(&self) -> &'static str {
        self.instance.sites().unit()
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Names of the rows.
    fn names(&self) -> Vec<String> {
        let sites = self.instance.sites();
        let mut names = vec![String::new(); self.rows.len()];
        for (node, row) in self.rows.iter().enumerate() {
            names[*row] = sites.label(node).unwrap_or(&sites.ids()[node]).to_owned();
        }
        names
    }

    /// Places of the rows in the plane, `[nodes, 2]`.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = self.instance.sites().places();
        let mut all = vec![0.0; 2 * places.len()];
        for (place, row) in places.iter().zip(&self.rows) {
            all[2 * row..2 * row + 2].copy_from_slice(place);
        }
        PyArray1::from_vec(py, all).reshape([places.len(), 2])
    }

    /// Value of routes of rows, which are checked.
    fn value(&self, routes: Vec<Vec<usize>>) -> PyResult<f64> {
        let solution = self.solution_of(&routes)?;
        self.instance.check(&solution).or_raise()?;
        Ok(self.instance.value(&solution))
    }

    /// The text of a file of an ending that reads as the same instance.
    fn render(&self, ending: &str) -> PyResult<String> {
        self.instance.render(ending).or_raise()
    }

    /// Reads a solution from a file: routes of rows.
    fn read_solution(&self, path: PathBuf) -> PyResult<Vec<Vec<usize>>> {
        let found = formats::solution::read(&path, &self.instance).or_raise()?.solution;
        self.instance.check(&found).or_raise()?;
        Ok(self.routes_of(&found))
    }

    /// Writes a solution; the ending of the path decides the format.
    fn write_solution(&self, path: PathBuf, routes: Vec<Vec<usize>>) -> PyResult<()> {
        let solution = self.solution_of(&routes)?;
        self.instance.check(&solution).or_raise()?;
        formats::solution::write(&path, &self.instance, &solution).or_raise()
    }

    /// Draws a solution into a file, `.svg` or `.png`.
    fn draw(&self, path: PathBuf, routes: Vec<Vec<usize>>) -> PyResult<()> {
        let solution = self.solution_of(&routes)?;
        regard_cli::draw_solution(&path, &self.instance, &solution).map_err(|error| invalid("plot", &error, None))
    }
}

/// A solution, and how it was found.
#[pyclass(frozen, name = "Found", module = "regard._regard", get_all)]
pub(crate) struct PyFound {
    cost: f64,
    routes: Vec<Vec<usize>>,
    /// Kind, name, cost, gain and seconds of each stage.
    stages: Vec<(String, String, f64, Option<f64>, f64)>,
    seconds: f64,
}

/// Options of solving an instance; Python names the parts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Search {
    decode: Option<String>,
    augment: Option<usize>,
    improve: bool,
    time_limit: Option<f64>,
    start: Option<Vec<Vec<usize>>>,
    objective: String,
    temperature: f32,
    top_p: f32,
    seed: u64,
}

fn decode_of(text: &str) -> PyResult<Decode> {
    Decode::from_str(text).map_err(|error| invalid("decode", &error.to_string(), None))
}

impl Search {
    fn options(&self, instance: &PyInstance) -> PyResult<SolveOptions> {
        let finish = match (self.improve, self.time_limit) {
            (_, Some(seconds)) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) if seconds > 0.0 => Finish::Timed(time),
                _ => return Err(invalid("time_limit", &format!("is {seconds}, expected seconds above 0"), None)),
            },
            (true, None) => Finish::Bounded,
            (false, None) => Finish::Off,
        };
        let objective: Objective =
            self.objective.parse().map_err(|error: String| invalid("objective", &error, None))?;
        Ok(SolveOptions {
            decode: self.decode.as_deref().map(decode_of).transpose()?,
            augment: self.augment,
            finish,
            objective,
            warm_start: self.start.as_ref().map(|routes| instance.solution_of(routes)).transpose()?,
            temperature: self.temperature,
            top_p: self.top_p,
            seed: self.seed,
            best: BestCost::default(),
            stop: None,
        })
    }
}

/// A policy.
#[pyclass(frozen, name = "Policy", module = "regard._regard")]
pub(crate) struct PyPolicy {
    pub(crate) model: Arc<AttentionModel>,
    name: String,
    problem: String,
    parameters: usize,
}

#[pymethods]
impl PyPolicy {
    /// Opens a folder, or a model that is built in.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = move || -> regard::Result<Self> {
            let folder = ModelDir::open(&path)?;
            let model = AttentionModel::from_weights(folder.config(), &folder.weights()?, &Device::flex())?;
            let (name, config) = (folder.name(), folder.config());
            Ok(Self { model: Arc::new(model), name, problem: config.problem.clone(), parameters: config.parameters() })
        };
        short(py, opened)?.or_raise()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn problem(&self) -> &str {
        &self.problem
    }

    #[getter]
    fn parameters(&self) -> usize {
        self.parameters
    }

    /// Decodes instances in the unit square; see `regard.Policy.decode`. Gives costs, tours, steps and log-likelihoods.
    #[pyo3(signature = (arrays, decode, augment, improve, temperature, top_p, seed, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each option; Python names them")]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyDict>,
        decode: &str,
        augment: usize,
        improve: bool,
        temperature: f32,
        top_p: f32,
        seed: u64,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let set = InstanceSet::of_arrays(&arrays::named(arrays)?).map_err(|fault| faulty(&fault))?;
        let options = EvaluateOptions {
            decode: decode_of(decode)?,
            augment,
            improve,
            temperature,
            top_p,
            seed,
            ..EvaluateOptions::default()
        };
        let problem = self.problem.as_str();
        let task = Decoding { py, model: &self.model, set: &set, options: &options, progress };
        with_problem(problem, task).unwrap_or_else(|| {
            let reason = format!("solves `{problem}`, a problem of your own");
            Err(invalid("policy", &reason, Some("give the problem: Policy.load(path, problem=...)")))
        })
    }

    /// Everything that the model computes on an instance.
    fn explain(&self, py: Python<'_>, instance: &PyInstance) -> PyResult<Trace> {
        let (model, instance, name) = (self.model.clone(), instance.instance.clone(), self.name.clone());
        let trace = long(py, OnInterrupt::Leave, move || model.explain(&name, &instance))?.or_raise()?;
        Ok(Trace::new(trace))
    }
}

/// Decoding of a set of instances.
struct Decoding<'a, 'py> {
    py: Python<'py>,
    model: &'a AttentionModel,
    set: &'a InstanceSet,
    options: &'a EvaluateOptions,
    progress: Option<&'a Bound<'py, PyAny>>,
}

/// Instances between two looks at signals, about.
const BETWEEN_LOOKS: usize = 1024;

impl<'py> ProblemVisitor for Decoding<'_, 'py> {
    type Output = PyResult<Bound<'py, PyDict>>;

    fn run<I: SolverInstance>(self) -> Self::Output {
        let Self { py, model, set, options, progress } = self;
        let problems = set.instances::<I::Problem>().or_raise()?;
        let nodes = problems.first().map_or(1, Problem::nodes);
        // Whole batches, so that each has the seed that it has in one call.
        let batch = options.batch_of(nodes);
        let block = BETWEEN_LOOKS.div_ceil(batch) * batch;
        let (mut costs, mut tours, mut log_likelihoods) = (Vec::new(), Vec::new(), Vec::new());
        for problems in problems.chunks(block) {
            let options = EvaluateOptions { seed: options.seed.wrapping_add(costs.len() as u64), ..options.clone() };
            let found: Evaluation =
                short(py, || evaluate_problems(model, problems, &options, &mut |_| {}))?.or_raise()?;
            costs.extend(found.costs);
            tours.extend(found.solutions);
            log_likelihoods.extend(found.log_likelihoods);
            py.check_signals()?;
            if let Some(progress) = progress {
                progress.call1((costs.len(), set.len()))?;
            }
        }
        let result = PyDict::new(py);
        let lengths: Vec<i64> = tours.iter().map(|tour: &Vec<usize>| tour.len() as i64).collect();
        result.set_item("cost", costs.into_pyarray(py))?;
        result.set_item("actions", padded(py, &tours, 0)?)?;
        result.set_item("lengths", lengths.into_pyarray(py))?;
        result.set_item("log_likelihood", log_likelihoods.into_pyarray(py))?;
        Ok(result)
    }
}

/// Solves an instance: by the policy where there is one, by construction where the problem has one, and local search.
#[pyfunction]
pub(crate) fn solve(
    py: Python<'_>,
    instance: &PyInstance,
    policy: Option<&PyPolicy>,
    search: Search,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyFound> {
    let options = search.options(instance)?;
    let (model, own) = (policy.map(|policy| policy.model.clone()), instance.instance.clone());
    if let Some(policy) = policy.filter(|policy| policy.problem != own.problem()) {
        let reason = format!("solves `{}`, but the problem is `{}`", policy.problem, own.problem());
        return Err(invalid("policy", &reason, Some("leave it out to take the built-in one")));
    }
    let watch = move |stage: StageKind, best: &BestCost| {
        if let Some(progress) = &progress {
            // What a progress bar raises has no say in the search.
            let _ = Python::attach(|py| progress.call1(py, (stage.name(), best.get())));
        }
    };
    let solved = move || {
        let best = options.best.clone();
        solve_instance_watched(model.as_deref(), &own, &options, &mut |stage| watch(stage, &best))
    };
    let Solution { tour, cost, stages, seconds } = long(py, OnInterrupt::Leave, solved)?.or_raise()?;
    let stages = stages.into_iter();
    Ok(PyFound {
        cost: if instance.instance.maximises() { -cost } else { cost },
        routes: instance.routes_of(&tour),
        stages: stages
            .map(|stage| (stage.kind.name().to_owned(), stage.name, stage.cost, stage.gain, stage.seconds))
            .collect(),
        seconds,
    })
}

/// Random instances of a problem in the unit square, as an archive of numpy arrays.
#[pyfunction]
pub(crate) fn generate(
    py: Python<'_>,
    problem: String,
    instances: usize,
    nodes: usize,
    seed: u64,
    distribution: &str,
) -> PyResult<Py<PyBytes>> {
    let points = Points::parse(distribution).or_raise()?;
    let config = GeneratorConfig { points, ..GeneratorConfig::default() };
    let drawn = move || GeneratedSet::random(&problem, &config, seed, instances, nodes)?.render("npz");
    Ok(PyBytes::new(py, &short(py, drawn)?.or_raise()?).unbind())
}

/// Endings of files of instances.
#[pyfunction]
pub(crate) fn instance_endings() -> Vec<&'static str> {
    formats::endings()
}

/// Problems that are known; true for those that have a built-in policy.
#[pyfunction]
pub(crate) fn problems() -> Vec<(&'static str, bool)> {
    let built_in = |name: &str| built_in::path(&format!("regard-{name}")).is_some();
    registry::PROBLEMS.iter().map(|spec| (spec.name, built_in(spec.name))).collect()
}

/// Writes a set as a file of another ending.
struct Render<'a>(&'a InstanceSet, &'a str);

impl ProblemVisitor for Render<'_> {
    type Output = regard::data::Result<Vec<u8>>;

    fn run<I: SolverInstance>(self) -> Self::Output {
        sets::render(&self.0.instances::<I::Problem>()?, self.1)
    }
}

fn rendered(set: &InstanceSet, ending: &str) -> PyResult<Vec<u8>> {
    let problem = set.problems().first().copied().unwrap_or(registry::DEFAULT);
    with_problem(problem, Render(set, ending)).unwrap_or_else(|| Ok(Vec::new())).or_raise()
}

/// The archive of numpy arrays with the instances of a file (`.pkl` or `.npz`).
#[pyfunction]
pub(crate) fn read_set(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyBytes>> {
    let set = short(py, move || sets::read(path))?.or_raise()?;
    Ok(PyBytes::new(py, &rendered(&set, "npz")?).unbind())
}

/// Writes arrays as a file with a set of instances, `.pkl` or `.npz`.
#[pyfunction]
pub(crate) fn write_set(path: PathBuf, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
    let set = InstanceSet::of_arrays(&arrays::named(arrays)?).map_err(|fault| faulty(&fault))?;
    let ending = path.extension().map_or_else(String::new, |ending| ending.to_string_lossy().to_lowercase());
    let bytes = rendered(&set, &ending)?;
    write_atomic(&path, |out| out.write_all(&bytes)).or_raise()
}
