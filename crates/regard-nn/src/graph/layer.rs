//! One layer of the Graph Transformer (Dwivedi & Bresson 2021, §2.2 and 2.3), with and without edge
//! stream, as the authors' code has it (`graph_transformer_layer.py`, `graph_transformer_edge_layer.py`).

use std::sync::Arc;

use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use super::{Drop, Stream, StreamConfig};
use crate::ops::{
    EdgeAttentionArgs, EdgeAttentionOptions, EdgeDropout, EdgeList, EdgeSoftmax, HeadLayout, Projection,
    edge_attention, edge_attention_weights, projections, set_sums,
};

/// Sizes and switches of a [`GraphLayer`].
#[derive(Config, Copy, Debug)]
pub struct GraphLayerConfig {
    /// Width of a node's and of an edge's row.
    pub width: usize,
    /// Heads; they divide the width.
    pub heads: usize,
    /// Whether edges carry rows of their own. Default: false.
    #[config(default = false)]
    pub edges: bool,
    /// Whether scores become weights by the usual, stable softmax; the authors clamp scores to ±5
    /// instead, add 1e-6 to the sum where edges have rows, and have no answer for a node that receives
    /// no edge where they have not. Default: false.
    #[config(default = false)]
    pub stable: bool,
    /// Whether the projections before the attention have biases. Default: false.
    #[config(default = false)]
    pub bias: bool,
    /// Whether a layer norm follows each sum. Default: false.
    #[config(default = false)]
    pub layer_norm: bool,
    /// Whether a batch norm follows each sum, after the layer norm. Default: true.
    #[config(default = true)]
    pub batch_norm: bool,
    /// Whether the input of each half is added to its result. Default: true.
    #[config(default = true)]
    pub residual: bool,
    /// Whether a node also takes the sum of the products of its edges, those that become their new content,
    /// as `sign(x) ln(1 + |x|)` and each channel by a learnt factor. A mean, as attention is, does not tell
    /// how many there are; and attention looks at edges to weigh nodes, but does not pass on what they carry.
    /// Default: false.
    #[config(default = false)]
    pub edge_sums: bool,
}

/// The rows of a batch of graphs.
#[derive(Clone, Debug)]
pub struct GraphRows {
    /// `[nodes, width]`
    pub nodes: Tensor<2>,
    /// `[edges, width]`, in the order of the edge list, where edges have rows.
    pub edges: Option<Tensor<2>>,
}

/// Attention along edges, and a feed-forward part.
#[derive(Module, Debug)]
pub struct GraphLayer {
    /// `[width, width]`, of the target.
    pub query: Linear,
    /// `[width, width]`, of the source.
    pub key: Linear,
    /// `[width, width]`, of the source.
    pub value: Linear,
    /// `[width, width]`, of the edge, where edges have rows.
    pub edge: Option<Linear>,
    /// `[width]`: factor of each channel of the sum of the edges, where nodes take it. Heads are interleaved.
    pub edge_sums: Option<Param<Tensor<1>>>,
    /// What follows for nodes.
    pub node_stream: Stream,
    /// What follows for edges, where they have rows.
    pub edge_stream: Option<Stream>,
    /// Number of heads.
    pub heads: usize,
    /// Whether the softmax is the stable one.
    pub stable: bool,
}

impl GraphLayerConfig {
    /// Fresh weights, uniform in ±1/√inputs.
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
            edge_stream: self.edges.then(|| stream.init(device)),
            heads,
            stable: self.stable,
        }
    }
}

impl GraphLayer {
    /// The new rows of nodes and edges. `bias` is added to the scores, `[edges, heads]`.
    pub fn forward(&self, rows: GraphRows, bias: Option<Tensor<2>>, graph: &Arc<EdgeList>) -> GraphRows {
        self.attend(rows, bias, graph, None, None)
    }

    /// As [`Self::forward`], with weights left out by `weights`, and numbers by `drop`.
    pub fn forward_with_dropout(
        &self,
        rows: GraphRows,
        bias: Option<Tensor<2>>,
        graph: &Arc<EdgeList>,
        weights: Option<EdgeDropout>,
        drop: Option<&mut Drop<'_>>,
    ) -> GraphRows {
        self.attend(rows, bias, graph, weights, drop)
    }

    /// How much each target looks along each edge in each head, `[edges, heads]`.
    pub fn weights(&self, rows: &GraphRows, bias: Option<Tensor<2>>, graph: &EdgeList) -> Tensor<2> {
        edge_attention_weights(self.args(rows, bias), graph, &self.options(None))
    }

    fn attend(
        &self,
        rows: GraphRows,
        bias: Option<Tensor<2>>,
        graph: &Arc<EdgeList>,
        weights: Option<EdgeDropout>,
        mut drop: Option<&mut Drop<'_>>,
    ) -> GraphRows {
        if rows.nodes.dims()[0] == 0 {
            return rows;
        }
        let (nodes, edges) = edge_attention(self.args(&rows, bias), graph, &self.options(weights));
        let nodes = self.with_sums(nodes, edges.as_ref(), graph);
        let edges = match (&self.edge_stream, rows.edges, edges) {
            (Some(stream), Some(before), Some(products)) => {
                let drop = drop.as_mut().map(|drop| &mut **drop as &mut Drop<'_>);
                Some(stream.forward(before, products, self.heads, drop))
            }
            (_, edges, _) => edges,
        };
        GraphRows { nodes: self.node_stream.forward(rows.nodes, nodes, self.heads, drop), edges }
    }

    /// Adds the sum of its edges' products to each node's attention, where nodes take it.
    fn with_sums(&self, nodes: Tensor<2>, products: Option<&Tensor<2>>, graph: &EdgeList) -> Tensor<2> {
        let (Some(factor), Some(products)) = (&self.edge_sums, products) else { return nodes };
        // Products of three rows have rare large numbers; sums of them, multiplied again in every layer,
        // would leave the range of floats.
        let bounded = products.clone().sign() * products.clone().abs().log1p();
        nodes + set_sums(bounded, &graph.offsets().into()) * factor.val().unsqueeze()
    }

    fn args(&self, rows: &GraphRows, bias: Option<Tensor<2>>) -> EdgeAttentionArgs {
        let of_nodes = [&self.query, &self.key, &self.value].map(Projection::of);
        let of_edges = |linear: &Linear| {
            let edges = rows.edges.clone().unwrap_or_else(|| panic!("graph layer: edges have rows"));
            projections(edges, vec![Projection::of(linear)], self.heads)
        };
        EdgeAttentionArgs {
            nodes: projections(rows.nodes.clone(), of_nodes.into(), self.heads),
            edge: self.edge.as_ref().map(of_edges),
            bias,
        }
    }

    fn options(&self, dropout: Option<EdgeDropout>) -> EdgeAttentionOptions {
        let width = self.query.weight.dims()[1];
        let softmax = match (self.stable, self.edge.is_some()) {
            (true, _) => EdgeSoftmax::Stable,
            (false, true) => EdgeSoftmax::PUBLISHED_WITH_EDGES,
            (false, false) => EdgeSoftmax::PUBLISHED,
        };
        let options = EdgeAttentionOptions::new(width, self.heads, softmax);
        EdgeAttentionOptions { dropout, layout: HeadLayout::Interleaved, ..options }
    }
}
