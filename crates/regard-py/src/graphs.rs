//! Graphs and molecules: data, training and predictions.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::data::graphs::formats::{ReadOptions, smiles_csv};
use regard::data::graphs::molecules::Rule;
use regard::data::graphs::{Graph, Graphs as Data, Kinds, Level, Part, Parts, Targets};
use regard::data::predictions::{Predicted, decide};
use regard::data::sets::FeatureNames;
use regard::data::table::write::quoted;
use regard::experiment::find;
use regard::graphs::predict::GraphModel;
use regard::graphs::source::Source;
use regard::graphs::{GraphExperiment, Graphs};
use regard::supervised::base::BaseRecord;
use regard::{Device, supervised};

use crate::arrays::{Numbers, numbers, shaped, wrong_shape};
use crate::compute::{OnInterrupt, long, short};
use crate::explain::{Trace, attribution_of, attribution_options};
use crate::failure::{OrRaise, invalid};
use crate::train::{Run, RunOptions};

/// Graphs of any size.
#[pyclass(frozen, name = "Graphs", module = "regard._regard")]
pub(crate) struct PyGraphs(Arc<Data>);

/// The features of all nodes or of all edges; Python names the parts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FeatureColumns<'py> {
    /// A type for each, an index of the names; empty where there are none.
    types: Vec<u32>,
    type_names: Vec<String>,
    /// `[count, width]`
    numbers: Option<Bound<'py, PyAny>>,
    names: Vec<String>,
}

impl FeatureColumns<'_> {
    fn read(&self, what: &str, count: usize) -> PyResult<(Kinds, Vec<f32>)> {
        let found = self.numbers.as_ref().map(|values| numbers(values, what)).transpose()?;
        let width = match found.as_ref().map(Numbers::shape) {
            None => 0,
            Some([rows, width]) if *rows == count => *width,
            Some(shape) => return Err(wrong_shape(what, shape, &format!("[{count}, features]"))),
        };
        if !self.types.is_empty() && self.types.len() != count {
            return Err(invalid(what, &format!("have {} types for {count}", self.types.len()), None));
        }
        let columns = match self.names.is_empty() {
            true => FeatureNames::Count(width),
            false => FeatureNames::Named(self.names.clone()),
        };
        let kinds = Kinds { types: self.type_names.clone(), columns };
        Ok((kinds, found.map_or_else(Vec::new, |found| found.singles())))
    }
}

fn some<T: Clone>(all: &[T], from: usize, count: usize) -> Vec<T> {
    if all.is_empty() { Vec::new() } else { all[from..from + count].to_vec() }
}

#[pymethods]
impl PyGraphs {
    /// Graphs one after another: nodes and edges of each are counted, and edges number the nodes of their graph.
    #[staticmethod]
    #[pyo3(signature = (node_counts, edge_counts, edges, directed, nodes, of_edges, ids))]
    fn of_arrays(
        node_counts: Vec<usize>,
        edge_counts: Vec<usize>,
        edges: &Bound<'_, PyAny>,
        directed: bool,
        nodes: FeatureColumns<'_>,
        of_edges: FeatureColumns<'_>,
        ids: Vec<String>,
    ) -> PyResult<Self> {
        let ends = numbers(edges, "edges")?;
        let [2, edge_count] = *ends.shape() else { return Err(wrong_shape("edges", ends.shape(), "[2, edges]")) };
        let ends = ends.doubles();
        let (node_kinds, node_numbers) = nodes.read("node features", node_counts.iter().sum())?;
        let (edge_kinds, edge_numbers) = of_edges.read("edge features", edge_count)?;
        if edge_counts.iter().sum::<usize>() != edge_count || edge_counts.len() != node_counts.len() {
            return Err(invalid("edges", "are not as many as the graphs have", None));
        }
        let (node_width, edge_width) = (node_kinds.columns.len(), edge_kinds.columns.len());
        let (mut first_node, mut first_edge) = (0, 0);
        let mut all = Vec::with_capacity(node_counts.len());
        for (at, (&count, &edges)) in node_counts.iter().zip(&edge_counts).enumerate() {
            let mut graph = Graph::new(ids.get(at).cloned().unwrap_or_else(|| (at + 1).to_string()), count);
            graph.node_types = some(&nodes.types, first_node, count);
            graph.node_dense = node_numbers[first_node * node_width..(first_node + count) * node_width].to_vec();
            for edge in first_edge..first_edge + edges {
                let [source, target] = [ends[edge], ends[edge_count + edge]];
                if !(source >= 0.0 && target >= 0.0 && source < count as f64 && target < count as f64) {
                    let reason = format!(
                        "graph {at} has the edge {source} -> {target}, expected nodes from 0 to {}",
                        count.saturating_sub(1)
                    );
                    return Err(invalid("edges", &reason, None));
                }
                let (source, target) = (source as u32, target as u32);
                let both = !directed && source != target;
                for pair in [[source, target], [target, source]].into_iter().take(1 + usize::from(both)) {
                    graph.edges.push(pair);
                    graph.edge_types.extend(of_edges.types.get(edge));
                    graph.edge_dense.extend_from_slice(&edge_numbers[edge * edge_width..(edge + 1) * edge_width]);
                }
            }
            (first_node, first_edge) = (first_node + count, first_edge + edges);
            all.push(graph);
        }
        Ok(Self(Arc::new(Data::new(node_kinds, edge_kinds, all).or_raise()?)))
    }

    /// Molecules of SMILES, with the features of a rule: `described` or `zinc`.
    #[staticmethod]
    fn of_smiles(py: Python<'_>, smiles: Vec<String>, rule: &str) -> PyResult<Self> {
        let rule = match rule {
            "zinc" => Rule::Zinc,
            _ => Rule::Described,
        };
        let parsed = move || {
            // A row without any value would be no row.
            let rows: String = smiles.iter().enumerate().map(|(at, one)| format!("{at},{}\n", quoted(one))).collect();
            let options = ReadOptions { smiles: Some("smiles".into()), rule, delimiter: Some(b','), ..ReadOptions::default() };
            smiles_csv::parse(&format!("id,smiles\n{rows}"), "SMILES".as_ref(), &options)
        };
        let found = short(py, parsed)?.map_err(|error| match error {
            regard::data::Error::Parse { line, reason, .. } => {
                let place = if line > 1 { format!("molecule {}", line - 2) } else { "X".to_owned() };
                invalid(&place, &reason, Some("leave out what is no molecule; regard.molecules(...) says which are"))
            }
            other => crate::failure::raised(&other.into()),
        })?;
        Ok(Self(Arc::new(found)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Number of nodes of each graph.
    fn node_counts(&self) -> Vec<usize> {
        (0..self.0.len()).map(|graph| self.0.nodes_of(graph).len()).collect()
    }

    /// The graphs with targets of graphs or nodes, `[rows, tasks]`; None where one is missing.
    #[pyo3(signature = (of_nodes, tasks, numbers, words))]
    fn with_targets(
        &self,
        of_nodes: bool,
        tasks: Vec<String>,
        numbers: Option<Vec<Option<f64>>>,
        words: Option<Vec<Option<String>>>,
    ) -> PyResult<Self> {
        let level = if of_nodes { Level::Node } else { Level::Graph };
        let targets = match (numbers, words) {
            (Some(numbers), _) => Targets::numbers(level, tasks, numbers).or_raise()?,
            (None, words) => Targets::of_texts(level, tasks, words.unwrap_or_default()),
        };
        Ok(Self(Arc::new(Data::clone(&self.0).with_targets(targets).or_raise()?)))
    }

    /// The graphs with the part of each graph or node: 0 training, 1 validation, 2 test, 3 none.
    fn with_parts(&self, of_nodes: bool, parts: Vec<u8>) -> PyResult<Self> {
        let level = if of_nodes { Level::Node } else { Level::Graph };
        let part = |part: u8| match part {
            0 => Part::Training,
            1 => Part::Validation,
            2 => Part::Test,
            _ => Part::None,
        };
        let parts = Parts { level, of: parts.into_iter().map(part).collect() };
        Ok(Self(Arc::new(Data::clone(&self.0).with_parts(parts).or_raise()?)))
    }
}

/// Trains an experiment on graphs in memory.
#[pyfunction]
pub(crate) fn train_graphs(
    py: Python<'_>,
    experiment: &str,
    settings: Vec<String>,
    graphs: &PyGraphs,
    options: RunOptions,
) -> PyResult<Py<PyDict>> {
    let (text, path) = find(experiment).or_raise()?;
    let experiment = GraphExperiment::parse(&text, &path, &settings).or_raise()?;
    let graphs = graphs.0.clone();
    Run::new(options).run(py, experiment, move |training, device, observer| {
        let (source, config) = Source::of_graphs(&training.experiment, Data::clone(&graphs))?;
        supervised::train_on::<Graphs>(training, source, config, device, observer)
    })
}

/// A model on graphs.
#[pyclass(frozen, name = "GraphModel", module = "regard._regard")]
pub(crate) struct PyGraphModel {
    model: Arc<GraphModel>,
    name: String,
}

#[pymethods]
impl PyGraphModel {
    /// Opens a folder, or a built-in model.
    #[staticmethod]
    #[pyo3(signature = (path, only))]
    fn open(py: Python<'_>, path: PathBuf, only: Option<&str>) -> PyResult<Self> {
        let only = only.map(str::parse).transpose().map_err(|error: String| invalid("only", &error, None))?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let opened = move || GraphModel::open(&path, &Device::flex())?.with_only(only);
        Ok(Self { model: Arc::new(long(py, OnInterrupt::Leave, opened)?.or_raise()?), name })
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.model.config.task.name()
    }

    /// `graph` or `node`.
    #[getter]
    fn level(&self) -> &'static str {
        match self.model.config.level {
            regard::graphs::task::LevelName::Graph => "graph",
            regard::graphs::task::LevelName::Node => "node",
        }
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.config.data.classes.clone()
    }

    #[getter]
    fn tasks(&self) -> Vec<String> {
        self.model.config.data.tasks.clone()
    }

    /// The rule by which it reads molecules; None for a model of other graphs.
    #[getter]
    fn smiles_rule(&self) -> Option<&'static str> {
        let data = &self.model.experiment.as_ref()?.data;
        (!data.smiles.is_empty()).then_some(match data.atom_features {
            regard::graphs::experiment::AtomRule::Zinc => "zinc",
            regard::graphs::experiment::AtomRule::Described => "described",
        })
    }

    /// Weights of network and base learners in the answer.
    #[getter]
    fn weights(&self) -> Option<[f64; 2]> {
        self.model.base.as_ref().map(BaseRecord::weights)
    }

    /// Predictions: numbers of the tasks or probabilities of the classes of each graph or node, and the decided classes.
    fn predict<'py>(&self, py: Python<'py>, graphs: &PyGraphs) -> PyResult<Bound<'py, PyDict>> {
        let (model, graphs) = (self.model.clone(), graphs.0.clone());
        let complete = self.is_complete();
        let predicted = move || model.predict(&model.known_graphs(Data::clone(&graphs), complete)?);
        let result = PyDict::new(py);
        match long(py, OnInterrupt::Leave, predicted)?.or_raise()? {
            Predicted::Classes { names, probabilities, shares } => {
                let classes = names.len().max(1);
                let rows = probabilities.len() / classes;
                let decided: Vec<i64> =
                    probabilities.chunks(classes).map(|row| decide(row, &shares) as i64).collect();
                result.set_item("probabilities", shaped(py, probabilities, &[rows, classes])?)?;
                result.set_item("decided", shaped(py, decided, &[rows])?)?;
            }
            Predicted::Numbers { tasks, values, .. } => {
                let rows = values.len() / tasks.len().max(1);
                result.set_item("values", shaped(py, values, &[rows, tasks.len()])?)?;
            }
        }
        Ok(result)
    }

    /// Half widths of prediction intervals by level in per cent and task.
    fn half_widths(&self, levels: Vec<f64>) -> PyResult<Vec<Vec<f64>>> {
        let errors = self.model.errors.as_ref();
        let width = |level: &f64| {
            errors.and_then(|errors| errors.half_widths(*level)).ok_or_else(|| {
                let reason = format!("{level} per cent: the model has too few validation examples");
                invalid("level", &reason, Some("hold out more by settings={\"data.validation_fraction\": 0.3}"))
            })
        };
        levels.iter().map(width).collect()
    }

    /// Everything that the model computes on one graph.
    fn explain(&self, py: Python<'_>, graphs: &PyGraphs, at: usize) -> PyResult<Trace> {
        let (model, graphs, name, complete) = (self.model.clone(), graphs.0.clone(), self.name.clone(), self.is_complete());
        if at >= graphs.len() {
            return Err(invalid("example", &format!("is {at}; there are {} graphs", graphs.len()), None));
        }
        let explained = move || {
            // A trace of one graph needs no others.
            let examples = model.known_graphs(graphs.select(&[at]), complete)?;
            model.explain(&name, &examples, 0)
        };
        Ok(Trace::new(long(py, OnInterrupt::Leave, explained)?.or_raise()?))
    }

    /// How much each node and each edge of each graph changes the prediction: names of the nodes' types, edges, and the
    /// attribution of nodes followed by edges.
    #[pyo3(signature = (graphs, method, samples, steps, seed))]
    #[expect(clippy::type_complexity, reason = "a tuple for Python to take apart")]
    fn attribute<'py>(
        &self,
        py: Python<'py>,
        graphs: &PyGraphs,
        method: &str,
        samples: usize,
        steps: usize,
        seed: u64,
    ) -> PyResult<Vec<(usize, Vec<[usize; 2]>, Bound<'py, PyDict>)>> {
        let options = attribution_options(method, samples, steps, seed)?;
        let (model, graphs, complete) = (self.model.clone(), graphs.0.clone(), self.is_complete());
        let attributed = move || model.attribute(&model.known_graphs(Data::clone(&graphs), complete)?, &options, &|_, _| {});
        let found = long(py, OnInterrupt::Leave, attributed)?.or_raise()?;
        found
            .into_iter()
            .map(|one| Ok((one.parts.nodes, one.parts.edges, attribution_of(py, &one.found)?)))
            .collect()
    }
}

impl PyGraphModel {
    /// If true, the model was trained on complete graphs.
    fn is_complete(&self) -> bool {
        self.model.experiment.as_ref().is_some_and(|experiment| experiment.data.complete_graph)
    }
}
