//! Sizes, options and inputs of edge attention.

use std::ops::Range;

use super::EdgeList;
use crate::{buffer::parts, dropout::Dropout};

/// Order of the channels of the heads in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadLayout {
    /// Channel `c` of head `h` is at `h · head width + c`, as in the papers. Rows are rearranged on
    /// input and output.
    Blocks,
    /// Channel `c` of head `h` is at `c · heads + h`, as a projection with permuted columns writes it.
    /// The kernel computes in this layout: a sum over the channels of a head is a sum of whole
    /// registers, and a row of weights multiplies a row of values directly.
    Interleaved,
}

/// Function from scores to attention weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Softmax {
    /// `exp(clamp(score, −limit, limit)) / (Σ exp + epsilon)`, as in the authors' code. The gradient of
    /// a score beyond the limit is zero.
    Clamped {
        /// Largest absolute score.
        limit: f32,
        /// Added to the sum of exponentials.
        epsilon: f32,
        /// Result of a node without incoming edges: 0, or NaN where the authors' code computes 0/0.
        isolated: f32,
    },
    /// The usual softmax, with the largest score subtracted. The result of a node without incoming
    /// edges is 0.
    Stable,
}

impl Softmax {
    /// The softmax of the authors' layer without edge stream (`graph_transformer_layer.py`).
    pub const PUBLISHED: Self = Self::Clamped { limit: 5.0, epsilon: 0.0, isolated: f32::NAN };
    /// The softmax of the authors' layer with edge stream (`graph_transformer_edge_layer.py`).
    pub const PUBLISHED_WITH_EDGES: Self = Self::Clamped { limit: 5.0, epsilon: 1e-6, isolated: 0.0 };
}

/// Sizes and options of edge attention.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Width of a row, a multiple of `heads`.
    pub width: usize,
    /// Number of heads.
    pub heads: usize,
    /// Order of the channels in all rows.
    pub layout: HeadLayout,
    /// Factor of the scores, 1/√(width/heads) in the paper.
    pub scale: f32,
    /// Function from scores to weights.
    pub softmax: Softmax,
    /// Dropout of the attention weights during training.
    pub dropout: Option<Dropout>,
}

/// Queries, keys and values of all nodes, or their gradients.
#[derive(Clone, Copy, Debug)]
pub enum Nodes<T> {
    /// `[nodes, 3 · width]`: query, key and value of a node side by side.
    Packed(T),
    /// Each `[nodes, width]`.
    Separate {
        /// Queries.
        query: T,
        /// Keys.
        key: T,
        /// Values.
        value: T,
    },
}

impl Nodes<&mut [f32]> {
    /// The rows of each of the given consecutive ranges of nodes.
    pub(super) fn split(&mut self, width: usize, ranges: &[Range<usize>]) -> Vec<Nodes<&mut [f32]>> {
        let sizes = |width: usize| ranges.iter().map(move |range| range.len() * width);
        match self {
            Self::Packed(all) => parts(all, sizes(3 * width)).into_iter().map(Nodes::Packed).collect(),
            Self::Separate { query, key, value } => {
                let rest = parts(key, sizes(width)).into_iter().zip(parts(value, sizes(width)));
                let all = parts(query, sizes(width)).into_iter().zip(rest);
                all.map(|(query, (key, value))| Nodes::Separate { query, key, value }).collect()
            }
        }
    }

    /// The query (`which` = 0), key (1) or value (2) of a node.
    #[inline(always)]
    pub(super) fn row(&mut self, which: usize, node: usize, width: usize) -> &mut [f32] {
        match self {
            Self::Packed(all) => &mut all[(3 * node + which) * width..][..width],
            Self::Separate { query, key, value } => {
                let all = [query, key, value].into_iter().nth(which);
                all.map_or(&mut [], |all| &mut all[node * width..][..width])
            }
        }
    }
}

/// Inputs of edge attention.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Queries, keys and values.
    pub nodes: Nodes<&'a [f32]>,
    /// The edge stream: a factor of every channel of the product, `[edges, width]`.
    pub edge: Option<&'a [f32]>,
    /// Bias added to the scores, `[edges, heads]`.
    pub bias: Option<&'a [f32]>,
}

/// Gradients of the inputs, each in the shape of its input.
#[derive(Clone, Debug)]
pub struct Gradients<T> {
    /// Gradients of queries, keys and values.
    pub nodes: Nodes<T>,
    /// Gradient of the edge stream, if there is one.
    pub edge: Option<T>,
    /// Gradient of the bias, if there is one.
    pub bias: Option<T>,
}

impl Gradients<Vec<f32>> {
    /// Mutable views of the gradients.
    pub fn as_mut(&mut self) -> Gradients<&mut [f32]> {
        let nodes = match &mut self.nodes {
            Nodes::Packed(all) => Nodes::Packed(&mut all[..]),
            Nodes::Separate { query, key, value } => {
                Nodes::Separate { query: &mut query[..], key: &mut key[..], value: &mut value[..] }
            }
        };
        Gradients { nodes, edge: self.edge.as_deref_mut(), bias: self.bias.as_deref_mut() }
    }
}

impl Layer {
    pub(super) fn check(&self, graph: &EdgeList, inputs: &Inputs<'_>) {
        let Self { width, heads, .. } = *self;
        assert!(heads > 0 && width > 0 && width.is_multiple_of(heads), "heads divide the width, both positive");
        let dropout = self.dropout.is_none_or(|dropout| (0.0..1.0).contains(&dropout.rate));
        assert!(dropout, "dropout rate in [0, 1)");
        match inputs.nodes {
            Nodes::Packed(all) => assert_eq!(all.len(), 3 * graph.nodes() * width, "packed nodes"),
            Nodes::Separate { query, key, value } => {
                let sizes = [query.len(), key.len(), value.len()];
                assert_eq!(sizes, [graph.nodes() * width; 3], "queries, keys, values");
            }
        }
        assert!(inputs.edge.is_none_or(|edge| edge.len() == graph.edges() * width), "edge factors");
        assert!(inputs.bias.is_none_or(|bias| bias.len() == graph.edges() * heads), "bias");
    }

    pub(super) fn check_backward(
        &self,
        graph: &EdgeList,
        inputs: &Inputs<'_>,
        grad: &[f32],
        edge_grad: Option<&[f32]>,
        into: &Gradients<&mut [f32]>,
    ) {
        let len = |part: Option<&[f32]>| part.map(<[f32]>::len);
        assert_eq!(grad.len(), graph.nodes() * self.width, "gradient of the result");
        let products = edge_grad.is_none() || len(edge_grad) == len(inputs.edge);
        assert!(products, "gradient of the edge stream's result");
        assert_eq!(len(into.edge.as_deref()), len(inputs.edge), "gradient of the edge stream");
        assert_eq!(len(into.bias.as_deref()), len(inputs.bias), "gradient of the bias");
        let sizes = match &into.nodes {
            Nodes::Packed(all) => [all.len() / 3; 3],
            Nodes::Separate { query, key, value } => [query.len(), key.len(), value.len()],
        };
        assert_eq!(sizes, [grad.len(); 3], "gradients of queries, keys, values");
    }
}
