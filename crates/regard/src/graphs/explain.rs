//! Trace of a network on one graph.

use std::collections::BTreeSet;

use burn::tensor::{Tensor, TensorData};
use regard_data as data;
use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_nn::trace::{self, Operation, Parameter, Recording, record};

use super::examples::Examples;
use super::input::GraphInput;
use super::layout;
use super::model::PositionKind;
use super::predict::GraphModel;
use crate::Result;
use crate::explain::{Labels, Layout, Trace, check_size};

/// Largest number of nodes of a graph that gets places on a plane; a larger drawing would be illegible.
const MOST_DRAWN: usize = 300;

/// Eigenvectors of the Laplacian that are shown, at most.
const EIGENVECTORS: usize = 16;

/// Steps of the random walk that are shown for a model that takes other positions.
const WALK: usize = 16;

/// The name of the step with the eigenvectors of the Laplacian.
const VECTORS: &str = "positions.laplacian.vectors";

/// The name of the step with the returns of a random walk.
const RANDOM_WALK: &str = "positions.random_walk";

impl GraphModel {
    /// Every intermediate of the network on one graph, from its own forward pass: `positions.…`, `layer.LAYER.…`,
    /// `pooling.…`, `answer`. An edge `A→B` is one that B attends along to A.
    ///
    /// Eigenvalues and eigenvectors of the Laplacian and the returns of a random walk are shown for every model, also
    /// where it takes other positions. `positions.values` are those that the network takes, `positions.embedding` is
    /// their projection.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] for a graph whose trace would not fit into memory.
    pub fn explain(&self, name: &str, examples: &Examples, graph: usize) -> Result<Trace> {
        let input = examples.input(&self.config, &[graph], None);
        let (nodes, edges) = (input.edges.nodes(), input.edges.edges());
        let id = &examples.graphs.ids()[graph];
        check_size(&format!("graph {id}"), "nodes", nodes, |size| {
            let edges = (edges * size).div_ceil(nodes.max(1));
            // Rows of nodes and edges in a layer, scores and weights by head.
            self.config.layers * (16 * self.config.width * (size + edges) + 6 * self.config.heads * edges)
        })?;
        let compute = || {
            self.record_spectrum(examples, graph, &input);
            self.record_walk(examples, graph);
            self.network.forward(&input, &self.device)
        };
        let (_, mut recording) = record(compute);
        self.link_positions(&mut recording);
        let data = &self.config.data;
        let named = |node: usize| match input.node_types.get(node) {
            Some(&kind) => {
                let word = data.node_types.get(kind as usize).map_or_else(|| kind.to_string(), String::clone);
                format!("{word}{}", node + 1)
            }
            None => (node + 1).to_string(),
        };
        let nodes: Vec<String> = (0..input.edges.nodes()).map(named).collect();
        let ends = input.edges.offsets().windows(2).enumerate().flat_map(|(node, pair)| vec![node; pair[1] - pair[0]]);
        let pairs: Vec<[usize; 2]> =
            input.edges.sources().iter().zip(ends).map(|(&source, target)| [source as usize, target]).collect();
        let edges = pairs.iter().map(|&[source, target]| format!("{}→{}", nodes[source], nodes[target])).collect();
        let kinds = input.edge_types.iter().map(|&kind| data.edge_types.get(kind as usize).cloned());
        let kinds = kinds.collect::<Option<Vec<String>>>().unwrap_or_default();
        let drawn = Layout {
            axis: "node",
            labels: nodes.clone(),
            places: if nodes.len() <= MOST_DRAWN { layout(nodes.len(), &pairs) } else { vec![] },
            edges: pairs,
            edge_kinds: kinds,
            ..Layout::default()
        };
        let mut labels = Labels::from([("node", nodes), ("edge", edges)]);
        labels.insert("row", labels["node"].clone());
        labels.insert("end", ["source", "target"].map(str::to_owned).to_vec());
        let answers = if data.classes.is_empty() { &data.tasks } else { &data.classes };
        labels.insert("output", answers.clone());
        let input = format!("graph {}", examples.graphs.ids()[graph]);
        let trace = Trace::new(name.to_owned(), input, recording, &labels);
        Ok(if drawn.places.is_empty() { trace } else { trace.with_layout(drawn) })
    }

    /// The chance that a random walk from each node is back after 1, 2, … steps: the positions of the model where it
    /// takes these, else those of the graph.
    fn record_walk(&self, examples: &Examples, graph: usize) {
        let (values, steps) = match self.config.positions {
            PositionKind::RandomWalk => (examples.positions.of(&examples.graphs, &[graph]), self.config.position_size),
            _ => {
                let encoding = Encoding::RandomWalk { steps: WALK };
                let found = Positions::compute(&examples.graphs.select(&[graph]), &encoding, &|_, _| ());
                (found.values().to_vec(), WALK)
            }
        };
        let nodes = values.len() / steps;
        if nodes > 0 {
            let shown = Tensor::<2>::from_data(TensorData::new(values, [nodes, steps]), &self.device);
            trace::step(RANDOM_WALK, Operation::Formula("((D^-1 A)^t) [i, i] for t = 1, 2, …".into()))
                .source("Dwivedi et al. 2022, §3.1")
                .values(["node", "walk step"], &shown);
        }
    }

    /// Says how the positions that the network takes follow from those of the random walk, or from the eigenvectors.
    fn link_positions(&self, recording: &mut Recording) {
        if self.takes_vectors() {
            let shown = recording.steps.iter().find(|step| step.name == VECTORS).map(|step| step.shape.clone());
            let Some(taken) = recording.steps.iter_mut().find(|step| step.name == "positions.values") else { return };
            let Some([_, vectors]) = shown.as_deref() else { return };
            let wanted = self.config.position_size;
            taken.from = vec![VECTORS.to_owned()];
            taken.operation = match wanted <= *vectors {
                true => Operation::Columns { start: 0, count: wanted },
                false => Operation::Formula(format!("x, and zeros beside it up to {wanted} columns").into()),
            };
            return;
        }
        if self.config.positions != PositionKind::RandomWalk {
            return;
        }
        let Some(taken) = recording.steps.iter_mut().find(|step| step.name == "positions.values") else { return };
        let data = &self.config.data;
        taken.from = vec![RANDOM_WALK.to_owned()];
        taken.operation = if data.position_mean.is_empty() {
            Operation::Columns { start: 0, count: self.config.position_size }
        } else {
            Operation::Formula("(x - mean) / deviation, of the training graphs, column by column".into())
        };
        for (name, values) in [("mean", &data.position_mean), ("deviation", &data.position_std)] {
            if !values.is_empty() {
                let name = format!("positions.values.{name}");
                taken.parameters.push(name.clone());
                recording.parameters.push(Parameter { name, shape: vec![values.len()], values: values.clone() });
            }
        }
    }

    /// If true, eigenvectors of the Laplacian are the positions of the network.
    fn takes_vectors(&self) -> bool {
        matches!(self.config.positions, PositionKind::Laplacian | PositionKind::LaplacianSafe)
    }

    /// Eigenvectors of the normalised Laplacian, and the eigenvalue of each as its Rayleigh quotient.
    fn record_spectrum(&self, examples: &Examples, graph: usize, input: &GraphInput) {
        let nodes = input.edges.nodes();
        // Those that the network takes are all shown.
        let taken = if self.takes_vectors() { self.config.position_size } else { 0 };
        let count = EIGENVECTORS.max(taken).min(nodes.saturating_sub(1));
        if count == 0 {
            return;
        }
        let one = examples.graphs.select(&[graph]);
        let nulls = match self.config.positions {
            PositionKind::LaplacianSafe => Nulls::SkipAll,
            _ => Nulls::SkipFirst,
        };
        let Spectrum { values, vectors } = Spectrum::compute(&one, count, nulls);
        let tensor =
            |values: Vec<f32>, shape: [usize; 2]| Tensor::<2>::from_data(TensorData::new(values, shape), &self.device);
        let shown = tensor(vectors, [nodes, count]);
        const SOURCE: &str = "Dwivedi & Bresson 2021, §2.1, eq. 1";
        let rule = "L v = λ v with L = I - D^-1/2 A D^-1/2, λ rising from the second; of equal λ each vector has the \
            largest value possible at one node, the first such, and is positive there, which fixes single signs too";
        trace::step(VECTORS, Operation::Formula(rule.into())).source(SOURCE).values(["node", "eigenvector"], &shown);
        let rule = "vᵀ L v / vᵀ v with L = I - D^-1/2 A D^-1/2";
        trace::step("positions.laplacian.eigenvalues", Operation::Formula(rule.into()))
            .source(SOURCE)
            .from(&shown)
            .values(["batch", "eigenvector"], &tensor(values, [1, count]));
    }
}

/// The smallest eigenvalues of the normalised Laplacian of a graph, from the second on, with their eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// `[count]`
    pub values: Vec<f32>,
    /// `[nodes, count]`
    pub vectors: Vec<f32>,
}

impl Spectrum {
    /// As many eigenvectors of one graph as a trace shows.
    #[must_use]
    pub fn of(graphs: &data::graphs::Graphs, graph: usize) -> Self {
        let one = graphs.select(&[graph]);
        let count = EIGENVECTORS.min(one.nodes().saturating_sub(1));
        Self::compute(&one, count, Nulls::SkipFirst)
    }

    fn compute(one: &data::graphs::Graphs, count: usize, nulls: Nulls) -> Self {
        let found = Positions::compute(one, &Encoding::Laplacian { k: count, nulls }, &|_, _| ());
        let vectors = found.values().to_vec();
        Self { values: quotients(one, &vectors, count), vectors }
    }
}

/// `vᵀ L v / vᵀ v` of each column of `vectors [nodes, count]`, where an edge counts in both directions; 0 for a column of
/// zeros.
fn quotients(one: &data::graphs::Graphs, vectors: &[f32], count: usize) -> Vec<f32> {
    let nodes = one.nodes();
    let mut joined: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes];
    for target in 0..nodes {
        for &source in one.sources_of(target) {
            joined[target].insert(source as usize);
            joined[source as usize].insert(target);
        }
    }
    let degrees: Vec<f64> = joined.iter().map(|others| others.len().max(1) as f64).collect();
    let at = |node: usize, column: usize| f64::from(vectors[node * count + column]);
    let value = |column: usize| {
        let square: f64 = (0..nodes).map(|node| at(node, column).powi(2)).sum();
        let pairs = joined.iter().enumerate().flat_map(|(a, others)| others.iter().map(move |&b| (a, b)));
        let product: f64 = pairs.map(|(a, b)| at(a, column) * at(b, column) / (degrees[a] * degrees[b]).sqrt()).sum();
        if square > 0.0 { (1.0 - product / square) as f32 } else { 0.0 }
    };
    (0..count).map(value).collect()
}
