//! Layers of the Graph Transformer (Dwivedi & Bresson 2021, "A Generalization of Transformer Networks to
//! Graphs", §2.2 and 2.3), with and without edge stream, as in the authors' code
//! (`graph_transformer_layer.py`, `graph_transformer_edge_layer.py`).
//!
//! A [`GraphLayer`] computes attention along the edges. Then a [`Stream`] for the nodes, and one for the edges if
//! they have rows, computes `h' = norm(h + attended W + b)` and `h'' = norm(h' + FF(h'))`.

use std::sync::Arc;

use burn::{
    config::Config,
    module::{Module, Param},
    nn::{Initializer, Linear, LinearConfig},
    tensor::{Device, Tensor, activation},
};

use crate::{
    FeedForward, FeedForwardConfig, Normalization, NormalizationConfig,
    ops::{
        self, EdgeAttentionArgs, EdgeAttentionOptions, EdgeDropout, EdgeList, EdgeSoftmax, HeadLayout, NormKind,
        Projection, edge_attention, edge_attention_weights, edge_logarithm, edge_messages, endpoint_rows, in_blocks,
        output, output_sublayer, projections, residual_norm, set_sums,
    },
    trace::{self, Operation},
};

/// Sizes and options of a [`GraphLayer`].
#[derive(Config, Copy, Debug)]
pub struct GraphLayerConfig {
    /// Width of the rows of nodes and edges.
    pub width: usize,
    /// Number of heads; must divide the width.
    pub heads: usize,
    /// If true, edges have rows of their own. Default: false.
    #[config(default = false)]
    pub edges: bool,
    /// If true, the attention uses the usual, stable softmax. If false, it follows the authors' code: scores
    /// are clamped to ±5, 1e-6 is added to the sum of exponentials if edges have rows, and the result of a
    /// node without incoming edges is NaN if they do not. Default: false.
    #[config(default = false)]
    pub stable_softmax: bool,
    /// If true, the query, key, value and edge projections have biases. Default: false.
    #[config(default = false)]
    pub bias: bool,
    /// If true, a layer norm follows each residual sum. Default: false.
    #[config(default = false)]
    pub layer_norm: bool,
    /// If true, a batch norm follows each residual sum, after the layer norm. Default: true.
    #[config(default = true)]
    pub batch_norm: bool,
    /// If true, attention and feed-forward network have residual connections. Default: true.
    #[config(default = true)]
    pub residual: bool,
    /// If true, the sum of the new contents of its incoming edges is added to a node's attention, after
    /// `sign(x) ln(1 + |x|)` and a learnt factor for each channel. Attention is a mean, so it does not
    /// depend on the number of edges, and it uses edges for the weights only; the sum passes on both.
    /// Default: false.
    #[config(default = false)]
    pub edge_sums: bool,
    /// If true, the sum of the messages `max(v_j + sign(e_ij) ln(1 + |e_ij|), 0)` of its incoming edges is added to a
    /// node's attention, with its values and projected edge rows (after GINE, Hu et al. 2020). Default: false.
    #[config(default = false)]
    pub messages: bool,
    /// If false, edges that have rows keep them. Default: true.
    #[config(default = true)]
    pub edge_updates: bool,
}

/// The rows of a batch of graphs.
#[derive(Clone, Debug)]
pub struct GraphRows {
    /// `[nodes, width]`
    pub nodes: Tensor<2>,
    /// `[edges, width]`, in the order of the edge list, if edges have rows.
    pub edges: Option<Tensor<2>>,
}

/// Attention along edges, followed by a feed-forward network.
#[derive(Module, Debug)]
pub struct GraphLayer {
    /// Query projection of the target node, `[width, width]`.
    pub query: Linear,
    /// Key projection of the source node, `[width, width]`.
    pub key: Linear,
    /// Value projection of the source node, `[width, width]`.
    pub value: Linear,
    /// Projection of the edge, `[width, width]`, if edges have rows.
    pub edge: Option<Linear>,
    /// Factor of each channel of the sum over edges, `[width]`, if it is used. Heads are interleaved.
    pub edge_sums: Option<Param<Tensor<1>>>,
    /// The part of the layer after the attention, for nodes.
    pub node_stream: Stream,
    /// The part of the layer after the attention, for edges, if they have rows that it updates.
    pub edge_stream: Option<Stream>,
    /// If true, a node receives the sum of its edges' messages.
    pub messages: bool,
    /// Number of heads.
    pub heads: usize,
    /// If true, the softmax is the stable one.
    pub stable_softmax: bool,
}

impl GraphLayerConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> GraphLayer {
        let Self { width, heads, .. } = *self;
        assert!(heads > 0 && width.is_multiple_of(heads), "graph layer: {heads} heads in {width}");
        let linear = || LinearConfig::new(width, width).with_bias(self.bias).init(device);
        let stream = StreamConfig {
            width,
            hidden: 2 * width,
            layer_norm: self.layer_norm,
            batch_norm: self.batch_norm,
            residual: self.residual,
        };
        GraphLayer {
            query: linear(),
            key: linear(),
            value: linear(),
            edge: self.edges.then(linear),
            edge_sums: (self.edges && self.edge_sums).then(|| Initializer::Ones.init([width], device)),
            node_stream: stream.init(device),
            edge_stream: (self.edges && self.edge_updates).then(|| stream.init(device)),
            messages: self.messages,
            heads,
            stable_softmax: self.stable_softmax,
        }
    }
}

impl GraphLayer {
    /// New rows of nodes and edges. `bias [edges, heads]` is added to the scores.
    pub fn forward(&self, rows: GraphRows, bias: Option<Tensor<2>>, graph: &Arc<EdgeList>) -> GraphRows {
        self.attend(rows, bias, graph, None, None)
    }

    /// As [`Self::forward`], with dropout `weights` of the attention weights and `drop` of the activations.
    pub fn forward_with_dropout(
        &self,
        rows: GraphRows,
        bias: Option<Tensor<2>>,
        graph: &Arc<EdgeList>,
        weights: Option<EdgeDropout>,
        drop: Option<&mut DropoutFn<'_>>,
    ) -> GraphRows {
        self.attend(rows, bias, graph, weights, drop)
    }

    /// The attention weight of every edge and head, `[edges, heads]`.
    pub fn weights(&self, rows: &GraphRows, bias: Option<Tensor<2>>, graph: &EdgeList) -> Tensor<2> {
        edge_attention_weights(self.args(rows, bias), graph, &self.options(None))
    }

    fn attend(
        &self,
        rows: GraphRows,
        bias: Option<Tensor<2>>,
        graph: &Arc<EdgeList>,
        weights: Option<EdgeDropout>,
        mut drop: Option<&mut DropoutFn<'_>>,
    ) -> GraphRows {
        if rows.nodes.dims()[0] == 0 {
            return rows;
        }
        let args = self.args(&rows, bias);
        let messages = (self.messages && graph.edges() > 0).then(|| (args.nodes.clone(), args.edge.clone()));
        let (nodes, edges) = edge_attention(args, graph, &self.options(weights));
        let nodes = self.with_sums(nodes, edges.as_ref(), graph);
        let nodes = match messages {
            Some((projected, edge)) => self.with_messages(nodes, projected, edge, graph),
            None => nodes,
        };
        let edges = match (&self.edge_stream, rows.edges, edges) {
            (Some(stream), Some(before), Some(products)) => {
                let drop = drop.as_mut().map(|drop| &mut **drop as &mut DropoutFn<'_>);
                let axes = [("row", "edge")];
                let forward = || stream.forward(before, products, self.heads, drop);
                Some(trace::scope_with(|| "edges".into(), &axes, forward))
            }
            (_, edges, _) => edges,
        };
        let forward = || self.node_stream.forward(rows.nodes, nodes, self.heads, drop);
        GraphRows { nodes: trace::scope_with(|| "nodes".into(), &[("row", "node")], forward), edges }
    }

    /// Adds the sum over incoming edges to each node's attention, if the layer uses it.
    fn with_sums(&self, nodes: Tensor<2>, products: Option<&Tensor<2>>, graph: &EdgeList) -> Tensor<2> {
        let (Some(factor), Some(products)) = (&self.edge_sums, products) else { return nodes };
        let bounded = edge_logarithm(products, self.heads);
        let sums = set_sums(bounded.clone(), &graph.offsets().into());
        let scaled = sums.clone() * factor.val().unsqueeze();
        let sum = nodes.clone() + scaled.clone();
        if trace::recording() {
            let blocks = |rows: &Tensor<2>| in_blocks(rows, self.heads);
            const NODES: [&str; 2] = ["node", "channel"];
            trace::step("edge_total", Operation::EdgeTotal)
                .from(&blocks(&bounded))
                .from(&endpoint_rows(graph, &nodes.device()))
                .values(NODES, &blocks(&sums));
            trace::step("edge_share", Operation::Channels)
                .from(&blocks(&sums))
                .parameter("weight", || in_blocks(&factor.val().unsqueeze(), self.heads))
                .values(NODES, &blocks(&scaled));
            trace::step("with_edges", Operation::Sum)
                .from(&blocks(&nodes))
                .from(&blocks(&scaled))
                .values(NODES, &blocks(&sum));
        }
        sum
    }

    /// Adds the sum of messages to each node's attention: `projected [nodes, 3 · width]` has the values behind queries and
    /// keys.
    fn with_messages(
        &self,
        nodes: Tensor<2>,
        projected: Tensor<2>,
        edge: Option<Tensor<2>>,
        graph: &EdgeList,
    ) -> Tensor<2> {
        let [_, width] = nodes.dims();
        let values = projected.narrow(1, 2 * width, width);
        let sums = edge_messages(values, edge, graph, self.heads);
        let sum = nodes.clone() + sums.clone();
        let blocks = |rows: &Tensor<2>| in_blocks(rows, self.heads);
        if trace::recording() {
            trace::step("with_messages", Operation::Sum)
                .from(&blocks(&nodes))
                .from(&blocks(&sums))
                .values(["node", "channel"], &blocks(&sum));
        }
        sum
    }

    fn args(&self, rows: &GraphRows, bias: Option<Tensor<2>>) -> EdgeAttentionArgs {
        let of_nodes = [&self.query, &self.key, &self.value].map(Projection::of);
        let of_edges = |linear: &Linear| {
            let edges = rows.edges.clone().unwrap_or_else(|| panic!("graph layer: edges have rows"));
            let project = || projections(edges, vec![Projection::of(linear)], self.heads);
            trace::renamed(&[("projection.0", "edge")], || trace::scope_with(String::new, &[("row", "edge")], project))
        };
        let names = [("projection.0", "query"), ("projection.1", "key"), ("projection.2", "value")];
        let of_nodes = || projections(rows.nodes.clone(), of_nodes.into(), self.heads);
        EdgeAttentionArgs {
            nodes: trace::renamed(&names, || trace::scope_with(String::new, &[("row", "node")], of_nodes)),
            edge: self.edge.as_ref().map(of_edges),
            bias,
        }
    }

    fn options(&self, dropout: Option<EdgeDropout>) -> EdgeAttentionOptions {
        let width = self.query.weight.dims()[1];
        let softmax = match (self.stable_softmax, self.edge.is_some()) {
            (true, _) => EdgeSoftmax::Stable,
            (false, true) => EdgeSoftmax::PUBLISHED_WITH_EDGES,
            (false, false) => EdgeSoftmax::PUBLISHED,
        };
        let options = EdgeAttentionOptions::new(width, self.heads, softmax);
        EdgeAttentionOptions { dropout, layout: HeadLayout::Interleaved, ..options }
    }
}

/// Sizes and options of a [`Stream`].
#[derive(Config, Copy, Debug)]
pub struct StreamConfig {
    /// Width of a row.
    pub width: usize,
    /// Hidden width of the feed-forward network.
    pub hidden: usize,
    /// If true, a layer norm follows each residual sum.
    pub layer_norm: bool,
    /// If true, a batch norm follows each residual sum, after the layer norm.
    pub batch_norm: bool,
    /// If true, attention and feed-forward network have residual connections.
    pub residual: bool,
}

/// Output projection, feed-forward network and norms of one kind of rows.
#[derive(Module, Debug)]
pub struct Stream {
    /// Output projection of the heads, `[width, width]`.
    pub out: Linear,
    /// Norms after the attention.
    pub first: Norms,
    /// Feed-forward network, applied to every row separately.
    pub feed: FeedForward,
    /// Norms after the feed-forward network.
    pub second: Norms,
    /// If true, attention and feed-forward network have residual connections.
    pub residual: bool,
}

/// Layer norm, then batch norm; both are optional.
#[derive(Module, Debug)]
pub struct Norms {
    /// Over the channels of a row.
    pub layer: Option<Normalization>,
    /// Over all rows of the batch.
    pub batch: Option<Normalization>,
}

impl StreamConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    pub fn init(&self, device: &Device) -> Stream {
        Stream {
            out: LinearConfig::new(self.width, self.width).init(device),
            first: self.norms(device),
            feed: FeedForwardConfig::new(self.width, self.hidden).init(device),
            second: self.norms(device),
            residual: self.residual,
        }
    }

    fn norms(&self, device: &Device) -> Norms {
        let norm = |kind: NormKind| NormalizationConfig::new(kind, self.width).init(device);
        Norms {
            layer: self.layer_norm.then(|| norm(NormKind::Layer)),
            batch: self.batch_norm.then(|| norm(NormKind::Batch)),
        }
    }
}

impl Norms {
    /// The norm, if there is exactly one.
    fn only(&self) -> Option<&Normalization> {
        match (&self.layer, &self.batch) {
            (Some(norm), None) | (None, Some(norm)) => Some(norm),
            _ => None,
        }
    }

    /// Applies the norms to rows `[rows, 1, width]`.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        [&self.layer, &self.batch].into_iter().flatten().fold(x, |x, norm| norm.forward(x))
    }
}

/// Names of axes where each row is an instance of its own, `[rows, 1, width]`.
const ROWS_OF_ONE: [(&str, &str); 2] = [("batch", "row"), ("row", "")];

/// A function that applies dropout.
pub type DropoutFn<'a> = dyn FnMut(Tensor<2>) -> Tensor<2> + 'a;

impl Stream {
    /// New rows `[rows, width]`. `before` is the input of the layer, `attended` the result of its attention
    /// with interleaved heads.
    pub fn forward(
        &self,
        before: Tensor<2>,
        attended: Tensor<2>,
        heads: usize,
        mut drop: Option<&mut DropoutFn<'_>>,
    ) -> Tensor<2> {
        if before.dims()[0] == 0 {
            return before;
        }
        let (attended, map) = (apply_dropout(attended, &mut drop), Projection::of(&self.out));
        let middle = match self.first.only().filter(|_| self.residual) {
            Some(norm) => {
                let args = norm.args(&before.device());
                let normed = output_sublayer(before, attended, map, heads, args);
                norm.update_running(normed).squeeze_dim(1)
            }
            None => self.normed(&self.first, before, output(attended, map, heads)),
        };
        trace::scope(|| "feed_forward".into(), || self.fed(middle, drop))
    }

    /// The feed-forward network with its residual sum and norms.
    fn fed(&self, middle: Tensor<2>, mut drop: Option<&mut DropoutFn<'_>>) -> Tensor<2> {
        let (whole, norm) = (middle.clone().unsqueeze_dim::<3>(1), self.second.only());
        if let (None, true, Some(norm)) = (&drop, self.residual, norm) {
            let args = norm.args(&whole.device());
            let fed = trace::scope_with(String::new, &ROWS_OF_ONE, || self.feed.residual(whole, args));
            return norm.update_running(fed).squeeze_dim(1);
        }
        let inner = ops::linear(&self.feed.inner, middle.clone());
        trace::linear("inner", &self.feed.inner, &middle, ["row", "hidden channel"], &inner);
        let hidden = activation::relu(inner.clone());
        trace::step("hidden", Operation::Relu).from(&inner).values(["row", "hidden channel"], &hidden);
        let hidden = apply_dropout(hidden, &mut drop);
        let outer = ops::linear(&self.feed.outer, hidden.clone());
        trace::linear("outer", &self.feed.outer, &hidden, ["row", "channel"], &outer);
        self.normed(&self.second, middle, outer)
    }

    /// Residual sum and norms of one sub-layer.
    fn normed(&self, norms: &Norms, before: Tensor<2>, after: Tensor<2>) -> Tensor<2> {
        // Each row is an instance of its own: no norm here depends on which rows form a graph.
        let (x, y) = (before.unsqueeze_dim::<3>(1), after.unsqueeze_dim::<3>(1));
        let normed = trace::scope_with(String::new, &ROWS_OF_ONE, || match (self.residual, norms.only()) {
            (true, Some(norm)) => {
                let args = norm.args(&x.device());
                norm.update_running(residual_norm(x, y, args))
            }
            (true, None) => {
                let sum = x.clone() + y.clone();
                trace::step("sum", Operation::Sum).from(&x).from(&y).values(["batch", "row", "channel"], &sum);
                norms.forward(sum)
            }
            (false, _) => norms.forward(y),
        });
        normed.squeeze_dim(1)
    }
}

fn apply_dropout(x: Tensor<2>, drop: &mut Option<&mut DropoutFn<'_>>) -> Tensor<2> {
    match drop {
        Some(drop) => drop(x),
        None => x,
    }
}
