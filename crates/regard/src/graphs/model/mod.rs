//! The Graph Transformer (Dwivedi & Bresson 2021): embeddings and positions, layers of attention along
//! edges, a read-out.

mod config;
mod names;
mod presets;

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData, activation};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use regard_nn::Ragged;
use regard_nn::graph::{GraphLayer, GraphLayerConfig, GraphRows};
use regard_nn::ops::{self, EdgeDropout, endpoint_rows};
use regard_nn::set::{AttentionPooling, AttentionPoolingConfig, Reduction, SetAttentionBlockConfig, reduce};
use regard_nn::trace::{self, Operation};

use super::input::{GraphInput, Places, SIZES};
use super::task::LevelName;
use crate::Result;
use crate::store::{NetworkConfig, Weights, layout, renamed};
use crate::train::{collect, drawn, dropped, gradients, restore};
pub use config::{GraphPreparation, GraphTransformerConfig, KIND, PositionKind, Readout, SoftmaxKind};
pub use presets::PRESETS;

/// A network on graphs.
#[derive(Module, Debug)]
pub struct GraphTransformer {
    node_types: Option<Embedding>,
    node_numbers: Option<Linear>,
    edge_types: Option<Embedding>,
    edge_numbers: Option<Linear>,
    /// From eigenvectors or walks.
    place: Option<Linear>,
    /// From an index.
    place_index: Option<Embedding>,
    layers: Vec<GraphLayer>,
    pooling: Option<AttentionPooling>,
    /// `[node types + SIZES, width]`
    composition: Option<Linear>,
    /// Linear maps with ReLU between.
    head: Vec<Linear>,
    #[module(skip)]
    readout: Readout,
    /// If true, nodes have predictions, not graphs.
    of_nodes: bool,
    edge_stream: bool,
    input_dropout: f64,
    dropout: f64,
    attention_dropout: f64,
}

/// Attention weights of the edges, layer by layer.
pub type LayerWeights = Vec<Tensor<2>>;

impl GraphTransformer {
    /// A network with fresh weights, drawn from the device's generator.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for settings that do not hold together.
    pub fn new(config: &GraphTransformerConfig, device: &Device) -> Result<Self> {
        Self::undrawn(config, device).map(drawn)
    }

    /// A network whose weights are drawn when they are first used, for those that get others before that.
    pub(super) fn undrawn(config: &GraphTransformerConfig, device: &Device) -> Result<Self> {
        config.validate()?;
        let width = config.width;
        let embedding = |count: usize| (count > 0).then(|| EmbeddingConfig::new(count, width).init(device));
        let linear = |inputs: usize| (inputs > 0).then(|| LinearConfig::new(inputs, width).init(device));
        let edges = config.edge_stream;
        let ones = usize::from(config.edges_of_one_kind());
        let (indexed, size) = (config.positions == PositionKind::WeisfeilerLehman, config.position_size);
        let placed = !indexed && config.positions != PositionKind::None;
        let layer = GraphLayerConfig::new(width, config.heads)
            .with_edges(edges)
            .with_stable_softmax(config.softmax == SoftmaxKind::Stable)
            .with_bias(config.bias)
            .with_layer_norm(config.layer_norm)
            .with_batch_norm(config.batch_norm)
            .with_residual(config.residual)
            .with_edge_sums(config.edge_sums)
            .with_messages(config.messages)
            .with_edge_updates(config.edge_updates);
        let of_nodes = config.level == LevelName::Node;
        let pooled = config.readout == Readout::Attention && !of_nodes;
        let pooling = || {
            let block = SetAttentionBlockConfig::new(width, width, width, config.heads);
            AttentionPoolingConfig { block, seeds: 1 }.init(device)
        };
        let sizes: Vec<usize> = (0..names::HEAD).map(|layer| width >> layer).chain([config.outputs]).collect();
        Ok(Self {
            node_types: embedding(config.node_types),
            node_numbers: linear(config.node_numbers),
            edge_types: embedding(if edges { config.edge_types } else { 0 }),
            edge_numbers: linear(if edges { config.edge_numbers + ones } else { 0 }),
            place: linear(if placed { size } else { 0 }),
            place_index: embedding(if indexed { size } else { 0 }),
            layers: (0..config.layers).map(|_| layer.init(device)).collect(),
            pooling: pooled.then(pooling),
            composition: linear(if config.composition_features { config.node_types + SIZES } else { 0 }),
            head: sizes.windows(2).map(|pair| LinearConfig::new(pair[0], pair[1]).init(device)).collect(),
            readout: config.readout,
            of_nodes,
            edge_stream: edges,
            input_dropout: config.input_dropout,
            dropout: config.dropout,
            attention_dropout: config.attention_dropout,
        })
    }

    /// A network with the weights of a model's file.
    ///
    /// # Errors
    /// [`Error::Weights`](crate::Error::Weights) for weights that are not this network's.
    pub fn from_weights(config: &GraphTransformerConfig, weights: &Weights, device: &Device) -> Result<Self> {
        layout::check(config, weights)?;
        restore(Self::undrawn(config, device)?, &renamed::to_ours(names::table(config), weights))
    }

    /// The weights under the names of the authors' code where it has them.
    pub fn to_weights(&self, config: &GraphTransformerConfig) -> Weights {
        renamed::to_theirs(names::table(config), collect(self))
    }

    /// The gradients of the weights that have one, under the names of [`Self::to_weights`].
    pub fn gradients(&self, config: &GraphTransformerConfig, found: &Gradients) -> Weights {
        renamed::to_theirs(names::table(config), gradients(self, found))
    }

    /// Answers `[graphs, outputs]`, or `[nodes, outputs]` of a network on nodes.
    pub fn forward(&self, input: &GraphInput, device: &Device) -> Tensor<2> {
        self.answer(input, device, None)
    }

    /// As [`Self::forward`], with the embedding of each node and each edge times a factor, `[nodes, 1]` and `[edges, 1]`.
    pub(crate) fn forward_scaled(&self, input: &GraphInput, factors: [Tensor<2>; 2], device: &Device) -> Tensor<2> {
        let scaled = |rows: Tensor<2>, factors: Tensor<2>| if factors.dims()[0] == 0 { rows } else { rows * factors };
        let GraphRows { nodes, edges } = self.begin(input, device, &mut None);
        let [of_nodes, of_edges] = factors;
        let edges = edges.map(|edges| scaled(edges, of_edges));
        let rows = GraphRows { nodes: scaled(nodes, of_nodes), edges };
        let rows = self.layers.iter().fold(rows, |rows, layer| layer.forward(rows, None, &input.edges));
        self.read(rows.nodes, input)
    }

    /// As [`Self::forward`], with numbers and weights dropped at random from `noise`.
    pub fn forward_with_dropout(&self, input: &GraphInput, device: &Device, noise: &mut Pcg64Mcg) -> Tensor<2> {
        self.answer(input, device, Some(noise))
    }

    /// Answers, and how much each target looks along each edge in each head of each layer,
    /// `[edges, heads]`.
    pub fn forward_with_weights(&self, input: &GraphInput, device: &Device) -> (Tensor<2>, LayerWeights) {
        let mut rows = self.begin(input, device, &mut None);
        let mut weights = Vec::new();
        for layer in &self.layers {
            weights.push(layer.weights(&rows, None, &input.edges));
            rows = layer.forward(rows, None, &input.edges);
        }
        (self.read(rows.nodes, input), weights)
    }

    fn answer(&self, input: &GraphInput, device: &Device, mut noise: Option<&mut Pcg64Mcg>) -> Tensor<2> {
        let rows = self.begin(input, device, &mut noise);
        let nodes = match noise {
            None => {
                let layers = self.layers.iter().enumerate();
                let forward = |rows, (at, layer): (usize, &GraphLayer)| {
                    trace::scope(|| format!("layer.{at}"), || layer.forward(rows, None, &input.edges))
                };
                layers.fold(rows, forward).nodes
            }
            Some(noise) => self.noisy_layers(rows, input, noise).nodes,
        };
        self.read(nodes, input)
    }

    fn noisy_layers(&self, rows: GraphRows, input: &GraphInput, noise: &mut Pcg64Mcg) -> GraphRows {
        let rate = self.attention_dropout as f32;
        self.layers.iter().fold(rows, |rows, layer| {
            let weights = (rate > 0.0).then(|| EdgeDropout { rate, seed: noise.random() });
            if self.dropout == 0.0 {
                return layer.forward_with_dropout(rows, None, &input.edges, weights, None);
            }
            let mut drop = |x| dropped(x, self.dropout, noise);
            layer.forward_with_dropout(rows, None, &input.edges, weights, Some(&mut drop))
        })
    }

    /// The first rows of nodes and edges.
    fn begin(&self, input: &GraphInput, device: &Device, noise: &mut Option<&mut Pcg64Mcg>) -> GraphRows {
        trace::step("edges", Operation::Input).values(["edge", "end"], &endpoint_rows(&input.edges, device));
        let [types, numbers] = [
            self.node_types.as_ref().map(|table| looked_up("node_types", table, &input.node_types, device)),
            self.node_numbers.as_ref().map(|linear| mapped("node_numbers", linear, &input.node_numbers, device)),
        ];
        let mut nodes = sum("nodes", [types, numbers]);
        if let (Some(rows), Some(noise)) = (&nodes, noise.as_deref_mut()) {
            nodes = Some(dropped(rows.clone(), self.input_dropout, noise));
        }
        let place = match (&input.places, &self.place, &self.place_index) {
            (Places::Numbers(numbers), Some(linear), _) => Some(mapped("positions", linear, numbers, device)),
            (Places::Indices(indices), _, Some(table)) => Some(looked_up("positions", table, indices, device)),
            _ => None,
        };
        let width = self.head[0].weight.dims()[0];
        let nodes = sum("nodes_with_positions", [nodes, place])
            .unwrap_or_else(|| Tensor::zeros([input.edges.nodes(), width], device));
        let edges = self.edge_stream.then(|| {
            let [types, numbers] = [
                self.edge_types.as_ref().map(|table| looked_up("edge_types", table, &input.edge_types, device)),
                self.edge_numbers.as_ref().map(|linear| mapped("edge_numbers", linear, &input.edge_numbers, device)),
            ];
            sum("edge_rows", [types, numbers]).unwrap_or_else(|| Tensor::zeros([input.edges.edges(), width], device))
        });
        GraphRows { nodes, edges }
    }

    fn read(&self, nodes: Tensor<2>, input: &GraphInput) -> Tensor<2> {
        let count = if self.of_nodes { nodes.dims()[0] } else { input.offsets.len() - 1 };
        if count == 0 {
            let outputs = self.head.last().map_or(0, |linear| linear.weight.dims()[1]);
            return Tensor::zeros([0, outputs], &nodes.device());
        }
        let device = nodes.device();
        let rows = if self.of_nodes { nodes } else { self.pooled(Ragged::new(nodes, input.offsets.clone())) };
        let rows = match &self.composition {
            None => rows,
            Some(linear) => {
                let numbers = input.composition(linear.weight.dims()[0] - SIZES);
                let added = trace::scope_with(String::new, &[("node", "")], || {
                    mapped("composition", linear, &numbers, &device)
                });
                let sum = rows.clone() + added.clone();
                trace::step("with_composition", Operation::Sum).from(&rows).from(&added).values(["", "channel"], &sum);
                sum
            }
        };
        let row = if self.of_nodes { "node" } else { "" };
        self.head.iter().enumerate().fold(rows, |x, (layer, linear)| {
            let last = layer + 1 == self.head.len();
            let y = ops::linear(linear, x.clone());
            let name = if last { "answer".to_owned() } else { format!("head.{layer}.linear") };
            trace::linear(&name, linear, &x, [row, if last { "output" } else { "channel" }], &y);
            if last {
                return y;
            }
            let z = activation::relu(y.clone());
            trace::step(&format!("head.{layer}.relu"), Operation::Relu).from(&y).values([row, "channel"], &z);
            z
        })
    }

    fn pooled(&self, graphs: Ragged) -> Tensor<2> {
        trace::scope_with(
            || "pooling".into(),
            &[("row", "node")],
            || {
                if trace::recording() && self.readout == Readout::Mean {
                    let factor = 1.0 / graphs.rows.dims()[0].max(1) as f32;
                    let part = graphs.rows.clone().mul_scalar(factor);
                    trace::step("contribution", Operation::Scale { factor })
                        .from(&graphs.rows)
                        .values(["row", "channel"], &part);
                }
                match (self.readout, &self.pooling) {
                    (Readout::Attention, Some(pooling)) => pooling.forward(graphs).rows,
                    (Readout::Sum, _) => reduce(&graphs, Reduction::Sum),
                    (Readout::Max, _) => reduce(&graphs, Reduction::Max),
                    _ => reduce(&graphs, Reduction::Mean),
                }
            },
        )
    }
}

/// Axes of the rows of a step: those of edges have it in their name.
fn row_of(name: &str) -> &'static str {
    if name.starts_with("edge") { "edge" } else { "node" }
}

fn sum(name: &str, parts: [Option<Tensor<2>>; 2]) -> Option<Tensor<2>> {
    parts.into_iter().flatten().reduce(|a, b| {
        let sum = a.clone() + b.clone();
        trace::step(name, Operation::Sum).from(&a).from(&b).values([row_of(name), "channel"], &sum);
        sum
    })
}

/// Rows of an embedding.
fn looked_up(name: &str, table: &Embedding, indices: &[u32], device: &Device) -> Tensor<2> {
    let weight = table.weight.val();
    if indices.is_empty() {
        return Tensor::zeros([0, weight.dims()[1]], device);
    }
    let all: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
    let rows = weight.clone().select(0, Tensor::<1, Int>::from_data(TensorData::new(all, [indices.len()]), device));
    if trace::recording() {
        let numbers: Vec<f32> = indices.iter().map(|&index| index as f32).collect();
        let numbers = Tensor::<1>::from_data(TensorData::new(numbers, [indices.len()]), device);
        trace::step(&format!("{name}.index"), Operation::Input).values([row_of(name)], &numbers);
        trace::step(&format!("{name}.embedding"), Operation::Lookup)
            .from(&numbers)
            .parameter("weight", || weight)
            .values([row_of(name), "channel"], &rows);
    }
    rows
}

/// Rows of numbers through a linear map.
fn mapped(name: &str, linear: &Linear, numbers: &[f32], device: &Device) -> Tensor<2> {
    let [inputs, width] = linear.weight.dims();
    match numbers.len() / inputs {
        0 => Tensor::zeros([0, width], device),
        rows => {
            let numbers = Tensor::from_data(TensorData::new(numbers.to_vec(), [rows, inputs]), device);
            trace::step(&format!("{name}.values"), Operation::Input).values([row_of(name), "feature"], &numbers);
            let y = ops::linear(linear, numbers.clone());
            trace::linear(&format!("{name}.embedding"), linear, &numbers, [row_of(name), "channel"], &y);
            y
        }
    }
}
