//! Attribution of predictions for graphs to their nodes and edges.

use burn::tensor::{Device, Tensor, TensorData};
use regard_data::graphs::{Graph, Graphs, Level};
use regard_data::stats::largest;
use regard_nn::with_input_gradient;

use super::base::{all_predictions, by_task};
use super::examples::Examples;
use super::measure::in_target_units;
use super::model::GraphTransformer;
use super::predict::GraphModel;
use super::source::unlabelled;
use super::task::{GraphTask, LevelName};
use crate::explain::attribution::{
    Attributable, Attribution, AttributionMethod, AttributionOptions, AttributionProgress, Kept, Variant, attribute,
    slopes,
};
use crate::{Error, Result};

/// Nodes that go through a network together; bounds memory.
const NODES_AT_ONCE: usize = 1 << 14;

/// The parts of a graph: its nodes, and behind them its edges, both directions of one as a single part.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphParts {
    /// Number of nodes.
    pub nodes: usize,
    /// The two nodes of each edge, numbered in the graph from 0; the lower first.
    pub edges: Vec<[usize; 2]>,
    /// The part of each directed edge, in the order of the graph, as an index of `edges`.
    of_directed: Vec<usize>,
}

impl GraphParts {
    fn of(graphs: &Graphs, graph: usize) -> Self {
        let nodes = graphs.nodes_of(graph);
        let directed = nodes.clone().flat_map(|node| {
            let target = node - nodes.start;
            graphs
                .sources_of(node)
                .iter()
                .map(move |&source| [target.min(source as usize), target.max(source as usize)])
        });
        let directed: Vec<[usize; 2]> = directed.collect();
        let mut edges = directed.clone();
        edges.sort_unstable();
        edges.dedup();
        let of_directed = directed.iter().map(|ends| edges.partition_point(|edge| edge < ends)).collect();
        Self { nodes: nodes.len(), edges, of_directed }
    }
}

/// The attribution of a graph, and the parts that its values belong to.
#[derive(Clone, Debug)]
pub struct GraphAttribution {
    /// The parts.
    pub parts: GraphParts,
    /// Their attribution: nodes, then edges.
    pub found: Attribution,
}

/// Graphs whose nodes and edges are left out, or whose embeddings are scaled towards zero.
struct GraphVariants<'a> {
    model: &'a GraphModel,
    examples: &'a Examples,
    parts: Vec<GraphParts>,
    /// The predicted class of each graph; 0 for numbers, and 1 (yes) for labels.
    classes: Vec<usize>,
    /// The network with gradients, where integrated gradients ask for them.
    differentiable: Option<(GraphTransformer, Device)>,
}

impl GraphModel {
    /// The attribution of the prediction for each graph to its nodes and edges: the change of the first predicted number,
    /// or of the probability of the predicted class, or of the first label. It is that of the network where it has weight
    /// in the answer, and else that of the base learners. A node is left out with its edges; positions are computed anew.
    /// Integrated gradients begin at embeddings of zero.
    ///
    /// # Errors
    /// [`Error::Config`] for a model on nodes or on complete graphs, a method for time series, integrated gradients of base
    /// learners, and samples or steps out of range.
    pub fn attribute(
        &self,
        examples: &Examples,
        options: &AttributionOptions,
        progress: AttributionProgress<'_>,
    ) -> Result<Vec<GraphAttribution>> {
        let refused = |reason: &str, hint: &str| Err(Error::config("--attribution", reason).with_hint(hint));
        if self.config.level == LevelName::Node {
            return refused(
                "is for models that predict one answer for a graph; this model predicts nodes",
                "leave it out",
            );
        }
        if self.experiment.as_ref().is_some_and(|experiment| experiment.data.complete_graph) {
            let reason = "is for models that attend along the edges of the file; this one attends between all nodes";
            return refused(reason, "train one with `--set data.complete_graph=false`");
        }
        match options.method {
            AttributionMethod::Occlusion => {
                let reason = "is `occlusion`, which is for patches and lags of time series";
                return refused(reason, "use leave-one-out for nodes and edges");
            }
            AttributionMethod::IntegratedGradients if self.network_has_no_weight() => {
                let reason = "is `integrated-gradients`, but the network has no weight in the prediction";
                return refused(reason, "use leave-one-out, or --only network");
            }
            _ => {}
        }
        let variants = self.variants(examples, options)?;
        let found = attribute(&variants, options, progress)?;
        let weights = (!self.network_has_no_weight()).then(|| self.edge_weights(examples, &variants.parts));
        let all = variants.parts.into_iter().zip(found).enumerate().map(|(graph, (parts, mut found))| {
            if let Some(weights) = &weights {
                let of_edges: Vec<f64> = found.values[parts.nodes..].iter().map(|value| value.abs()).collect();
                found.rank_correlation = crate::explain::attribution::rank_correlation(&of_edges, &weights[graph]);
            }
            GraphAttribution { parts, found }
        });
        Ok(all.collect())
    }

    fn variants<'a>(&'a self, examples: &'a Examples, options: &AttributionOptions) -> Result<GraphVariants<'a>> {
        let count = examples.graphs.len();
        let parts = (0..count).map(|graph| GraphParts::of(&examples.graphs, graph)).collect();
        let differentiable =
            (options.method == AttributionMethod::IntegratedGradients).then(|| self.differentiable()).transpose()?;
        let mut variants = GraphVariants { model: self, examples, parts, classes: vec![0; count], differentiable };
        match self.config.task {
            GraphTask::Regression => {}
            GraphTask::Labels => variants.classes = vec![1; count],
            GraphTask::Classification => {
                let all: Vec<usize> = (0..count).collect();
                let found = all.chunks(128).map(|chosen| {
                    let part = unlabelled(&self.config, examples.graphs.select(chosen));
                    variants.predicted(&part, None)
                });
                let found: Vec<Vec<f64>> = found.collect::<Result<_>>()?;
                let classes = self.config.outputs.max(2);
                variants.classes = found.concat().chunks(classes).map(largest).collect();
            }
        }
        Ok(variants)
    }

    /// The examples where one graph lacks some undirected edges, given by their two nodes, which are numbered in the graph
    /// from 0. Features of nodes stay, positions are computed anew, as in the attribution of an edge.
    ///
    /// # Errors
    /// [`Error::Config`] for a graph or an edge that is not there.
    pub fn without_edges(&self, examples: &Examples, graph: usize, edges: &[[usize; 2]]) -> Result<Examples> {
        let (graphs, count) = (&examples.graphs, examples.graphs.len());
        if graph >= count {
            return Err(Error::config("delete_edges", format!("is for graph {}; there are {count}", graph + 1)));
        }
        let parts = GraphParts::of(graphs, graph);
        let mut present = vec![true; parts.nodes + parts.edges.len()];
        for [a, b] in edges {
            let ends = [*a.min(b), *a.max(b)];
            let Ok(edge) = parts.edges.binary_search(&ends) else {
                let reason = format!("has [{a}, {b}], which is no edge of graph `{}`", graphs.ids()[graph]);
                return Err(Error::config("delete_edges", reason));
            };
            present[parts.nodes + edge] = false;
        }
        let mut all = vec![GraphParts { nodes: 0, edges: vec![], of_directed: vec![] }; graph];
        all.push(parts);
        let variants = GraphVariants { model: self, differentiable: None, examples, parts: all, classes: vec![] };
        let changed = Graph { id: graphs.ids()[graph].clone(), ..variants.without(graph, &present) };
        let kinds = [graphs.node_features().kinds().clone(), graphs.edge_features().kinds().clone()];
        let [nodes, of_edges] = kinds;
        let changed = Graphs::new(nodes, of_edges, vec![changed])?;
        let (before, after): (Vec<usize>, Vec<usize>) = ((0..graph).collect(), (graph + 1..count).collect());
        let joined = Graphs::concat(&[&graphs.select(&before), &changed, &graphs.select(&after)])?;
        Ok(unlabelled(&self.config, joined))
    }

    /// The mean attention weight along each edge of each graph, over layers, heads and directions.
    fn edge_weights(&self, examples: &Examples, parts: &[GraphParts]) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = parts.iter().map(|parts| vec![0.0; parts.edges.len()]).collect();
        for layer in self.attention(examples) {
            let mut rows = layer.weights.chunks(self.config.heads.max(1));
            for graph in layer.graphs {
                for (&edge, row) in parts[graph].of_directed.iter().zip(rows.by_ref()) {
                    all[graph][edge] += row.iter().map(|weight| f64::from(*weight)).sum::<f64>();
                }
            }
        }
        all
    }
}

impl GraphVariants<'_> {
    /// Predictions `[graphs, classes]`, or of the first task.
    fn predicted(&self, examples: &Examples, shares: Option<[Tensor<2>; 2]>) -> Result<Vec<f64>> {
        let (model, config) = (self.model, &self.model.config);
        if let Some(base) = model.base.as_ref().filter(|_| model.network_has_no_weight()) {
            let found = all_predictions(base, Level::Graph, &examples.graphs)?;
            return Ok(found.into_iter().next().unwrap_or_default());
        }
        let all: Vec<usize> = (0..examples.graphs.len()).collect();
        let input = examples.input(config, &all, None);
        let answers = match shares {
            None => model.network.forward(&input, &model.device),
            Some(shares) => model.network.forward_scaled(&input, shares, &model.device),
        };
        let numbers: Vec<f64> = answers.into_data().iter::<f64>().collect();
        Ok(self.decoded(numbers))
    }

    /// Predictions from the numbers of the network.
    fn decoded(&self, numbers: Vec<f64>) -> Vec<f64> {
        let config = &self.model.config;
        by_task(config, &in_target_units(config, numbers)).into_iter().next().unwrap_or_default()
    }

    /// The answer of each variant among predictions for them.
    fn chosen<'a>(&'a self, predicted: &'a [f64], variants: &'a [Variant]) -> impl Iterator<Item = f64> + 'a {
        let each = predicted.len() / variants.len().max(1);
        let of = move |(at, variant): (usize, &Variant)| {
            predicted[at * each + self.classes[variant.input].min(each.saturating_sub(1))]
        };
        variants.iter().enumerate().map(of)
    }

    /// The graphs of scaled variants, and the shares of their nodes and directed edges.
    fn scaled(&self, variants: &[Variant], device: &Device) -> (Examples, [Tensor<2>; 2]) {
        let inputs: Vec<usize> = variants.iter().map(|variant| variant.input).collect();
        let (mut of_nodes, mut of_edges) = (Vec::new(), Vec::new());
        for variant in variants {
            let Kept::Scaled(shares) = &variant.kept else { continue };
            let parts = &self.parts[variant.input];
            of_nodes.extend_from_slice(&shares[..parts.nodes]);
            of_edges.extend(parts.of_directed.iter().map(|edge| shares[parts.nodes + edge]));
        }
        let column = |shares: Vec<f32>| {
            let count = shares.len();
            Tensor::<2>::from_data(TensorData::new(shares, [count, 1]), device)
        };
        let same = unlabelled(&self.model.config, self.examples.graphs.select(&inputs));
        (same, [column(of_nodes), column(of_edges)])
    }

    /// A graph without some of its parts.
    fn without(&self, graph: usize, present: &[bool]) -> Graph {
        let (graphs, parts) = (&self.examples.graphs, &self.parts[graph]);
        let nodes = graphs.nodes_of(graph);
        let (of_nodes, of_edges) = (graphs.node_features(), graphs.edge_features());
        let mut numbers = vec![None; parts.nodes];
        let mut one = Graph::new(String::new(), 0);
        for node in (0..parts.nodes).filter(|&node| present[node]) {
            numbers[node] = Some(one.nodes as u32);
            one.nodes += 1;
            let at = nodes.start + node;
            one.node_types.extend(of_nodes.types().map(|types| types[at]));
            one.node_dense.extend_from_slice(&of_nodes.dense()[at * of_nodes.width()..(at + 1) * of_nodes.width()]);
        }
        let first = graphs.edges_of(graph).start;
        let ends = nodes.clone().flat_map(|node| graphs.sources_of(node).iter().map(move |&source| (source, node)));
        for (at, (source, target)) in ends.enumerate() {
            let ends = (numbers[source as usize], numbers[target - nodes.start]);
            if let ((Some(source), Some(target)), true) = (ends, present[parts.nodes + parts.of_directed[at]]) {
                one.edges.push([source, target]);
                let at = first + at;
                one.edge_types.extend(of_edges.types().map(|types| types[at]));
                one.edge_dense.extend_from_slice(&of_edges.dense()[at * of_edges.width()..(at + 1) * of_edges.width()]);
            }
        }
        one
    }

    /// Predictions for variants of one kind.
    fn chunk(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let graphs = &self.examples.graphs;
        if let Some(Kept::Present(_)) = variants.first().map(|variant| &variant.kept) {
            let changed = variants.iter().filter_map(|variant| match &variant.kept {
                Kept::Present(present) => Some(self.without(variant.input, present)),
                Kept::Scaled(_) => None,
            });
            let (nodes, edges) = (graphs.node_features().kinds(), graphs.edge_features().kinds());
            let changed = Graphs::new(nodes.clone(), edges.clone(), changed.collect())?;
            return self.predicted(&unlabelled(&self.model.config, changed), None);
        }
        let (same, shares) = self.scaled(variants, &self.model.device);
        self.predicted(&same, Some(shares))
    }
}

impl Attributable for GraphVariants<'_> {
    fn parts(&self) -> Vec<usize> {
        self.parts.iter().map(|parts| parts.nodes + parts.edges.len()).collect()
    }

    fn has_gradients(&self) -> bool {
        self.differentiable.is_some()
    }

    fn gradients(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let Some((network, device)) = &self.differentiable else { return Ok(vec![]) };
        let (same, shares) = self.scaled(variants, device);
        let [of_nodes, of_edges] = shares.map(Tensor::require_grad);
        let all: Vec<usize> = (0..variants.len()).collect();
        let input = same.input(&self.model.config, &all, None);
        let shares = [of_nodes.clone(), of_edges.clone()];
        let numbers = with_input_gradient(|| network.forward_scaled(&input, shares, device));
        let found: Vec<f64> = numbers.clone().into_data().iter::<f64>().collect();
        let outputs = numbers.dims()[1];
        let decoded = |numbers: &[f64]| Ok(self.chosen(&self.decoded(numbers.to_vec()), variants).collect());
        let slopes = TensorData::new(slopes(&found, outputs, decoded)?, numbers.dims());
        let gradients = (numbers * Tensor::<2>::from_data(slopes, device)).sum().backward();
        // A network without an edge stream has no gradient of its edges.
        let mut found = [of_nodes, of_edges].map(|shares| {
            let found = shares.grad(&gradients).map(|found| found.into_data().iter::<f64>().collect::<Vec<_>>());
            found.unwrap_or_else(|| vec![0.0; shares.dims()[0]]).into_iter()
        });
        let mut all = Vec::new();
        for variant in variants {
            let parts = &self.parts[variant.input];
            all.extend(found[0].by_ref().take(parts.nodes));
            let mut of_edges = vec![0.0; parts.edges.len()];
            parts.of_directed.iter().zip(found[1].by_ref()).for_each(|(&edge, slope)| of_edges[edge] += slope);
            all.extend(of_edges);
        }
        Ok(all)
    }

    fn answers(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(variants.len());
        let mut from = 0;
        while from < variants.len() {
            regard_data::cancel::check();
            let mut nodes = 0;
            let fits = variants[from..].iter().take_while(|variant| {
                nodes += self.parts[variant.input].nodes;
                nodes <= NODES_AT_ONCE
            });
            let chunk = &variants[from..from + fits.count().max(1)];
            let predicted = self.chunk(chunk)?;
            all.extend(self.chosen(&predicted, chunk));
            from += chunk.len();
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::attribution::tests::check_gradients;
    use crate::graphs::experiment::GraphData;

    #[test]
    fn gradients_are_the_derivatives_of_the_answers() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("molecules.csv");
        std::fs::write(&path, "smiles\nCC(=O)Oc1ccccc1C(=O)O\nCCO\n").unwrap();
        let mut model = GraphModel::open(&root.join("models/regard-solubility"), &Device::flex()).unwrap();
        model.base = None;
        let data = model.experiment.as_ref().map(|found| found.data.clone()).unwrap_or_default();
        let examples = model
            .read(
                &path,
                &GraphData { smiles: "smiles".into(), split: String::new(), path: String::new(), ..data },
                false,
            )
            .unwrap();
        let options = AttributionOptions::new(AttributionMethod::IntegratedGradients, 1);
        let all = model.attribute(&examples, &options, &|_, _| ()).unwrap();
        let found: Vec<Attribution> = all.into_iter().map(|one| one.found).collect();
        check_gradients(&model.variants(&examples, &options).unwrap(), &found);
    }
}
