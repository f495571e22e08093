//! The multihead attention block (MAB) of the Set Transformer (Lee et al. 2019, section 3.1), forward
//! and backward, on ragged batches: the rows of all sets are concatenated, and offsets are the first
//! rows of the sets.
//!
//! With `q = x·Wq + bq`, `k = y·Wk + bk`, `v = y·Wv + bv` and, per head `h`,
//! `A_h = softmax(scale · q_h·k_hᵀ)` over the keys of the same set:
//!
//! `O = residual + concat_h(A_h·v_h)` (`· Wo + bo` before the residual if there is an output
//! projection), and with a feed-forward part `out = O + max(O·Wf + bf, 0)`.
//!
//! The self-attention block of a set (SAB) has `x = y`; its input receives both input gradients. All
//! sets may share the same queries: the inducing points of an ISAB, the seeds of a PMA. The attention
//! of a set without keys is zero, and so is every gradient through it. The key bias adds the same
//! number to all scores of a query, which does not change the softmax: its gradient is zero.

mod keys;
mod own;
mod plan;
mod shared;
mod sums;
mod tail;
mod weights;

use crate::buffer::Workspace;
pub use sums::{sums, sums_backward};
pub use weights::attention_weights;

/// A linear layer `x·weight + bias`.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `[in, out]`, row-major.
    pub weight: &'a [f32],
    /// `[out]`.
    pub bias: &'a [f32],
}

/// The residual that the attended values are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// The projected queries `x·Wq + bq` (the authors' code).
    Projected,
    /// The queries `x` (the paper); their width must equal the width of the block.
    Raw,
    /// No residual.
    None,
}

/// Sizes and options of a block.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Width of a query row.
    pub query_width: usize,
    /// Width of a key row.
    pub key_width: usize,
    /// Width of the block and of its result, a multiple of `heads`.
    pub width: usize,
    /// Number of heads.
    pub heads: usize,
    /// Factor of the scores: 1/√width in the paper and its code, 1/√(width/heads) elsewhere.
    pub scale: f32,
    /// The residual that the attended values are added to.
    pub residual: Residual,
}

impl Layer {
    /// Width of one head.
    fn head(&self) -> usize {
        self.width / self.heads
    }
}

/// Weights of a block.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// `[query_width, width]`.
    pub query: Linear<'a>,
    /// `[key_width, width]`.
    pub key: Linear<'a>,
    /// `[key_width, width]`.
    pub value: Linear<'a>,
    /// Output projection `[width, width]`, if there is one.
    pub out: Option<Linear<'a>>,
    /// Feed-forward part `[width, width]`, if there is one.
    pub feed: Option<Linear<'a>>,
}

/// A ragged batch: set `s` consists of the rows `offsets[s]..offsets[s + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Sets<'a> {
    /// `[rows, width]`, one set after the other.
    pub rows: &'a [f32],
    /// `[sets + 1]`, increasing from 0 to the number of rows.
    pub offsets: &'a [usize],
}

impl Sets<'_> {
    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    fn check(&self, width: usize) {
        assert!(self.offsets.first() == Some(&0) && self.offsets.is_sorted(), "offsets increase from 0");
        assert_eq!(self.rows.len(), self.offsets[self.count()] * width, "rows and offsets");
    }
}

/// Queries of the block.
#[derive(Clone, Copy, Debug)]
pub enum Queries<'a> {
    /// Each set has its own rows.
    Own(Sets<'a>),
    /// All sets have the same rows, `[queries, query_width]`.
    Shared(&'a [f32]),
}

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub struct Saved(Kind);

#[derive(Debug)]
enum Kind {
    Own(own::Saved),
    Shared(shared::Saved),
}

/// Selects the inputs whose gradient is computed; the gradients of weights are always computed.
#[derive(Clone, Copy, Debug)]
pub struct RequiresGrad {
    /// If true, the gradient of the queries is computed.
    pub queries: bool,
    /// If true, the gradient of the keys is computed.
    pub keys: bool,
}

/// Gradients of a linear layer, each in the shape of its parameter.
#[derive(Clone, Debug)]
pub struct LinearGradients {
    /// Gradient of the weight.
    pub weight: Vec<f32>,
    /// Gradient of the bias.
    pub bias: Vec<f32>,
}

/// Gradients of [`forward`], each in the shape of its input.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// Gradient of the queries, if required; for shared queries the sum over the sets.
    pub queries: Option<Vec<f32>>,
    /// Gradient of the keys, if required.
    pub keys: Option<Vec<f32>>,
    /// Gradients of the query projection.
    pub query: LinearGradients,
    /// Gradients of the key projection; that of the bias is zero.
    pub key: LinearGradients,
    /// Gradients of the value projection.
    pub value: LinearGradients,
    /// Gradients of the output projection.
    pub out: Option<LinearGradients>,
    /// Gradients of the feed-forward part.
    pub feed: Option<LinearGradients>,
}

/// Applies the block to a batch of sets. Returns `[query rows, width]` if each set has its own queries,
/// `[sets · queries, width]` if they are shared, and, if `save` is true, the values that [`backward`]
/// needs.
///
/// # Panics
/// If a slice does not have the size its shape requires.
pub fn forward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: Queries<'_>,
    keys: Sets<'_>,
    save: bool,
) -> (Vec<f32>, Option<Saved>) {
    check(layer, weights, queries, keys);
    match queries {
        Queries::Own(queries) => {
            let (out, saved) = own::forward(layer, weights, queries, keys, save);
            (out, saved.map(|saved| Saved(Kind::Own(saved))))
        }
        Queries::Shared(queries) => {
            let (out, saved) = shared::forward(layer, weights, queries, keys, save);
            (out, saved.map(|saved| Saved(Kind::Shared(saved))))
        }
    }
}

/// Gradients of [`forward`] for `grad`, the gradient of its result.
///
/// # Panics
/// If a slice does not have the size its shape requires, or `saved` belongs to the other kind of queries.
pub fn backward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: Queries<'_>,
    keys: Sets<'_>,
    saved: &Saved,
    grad: &[f32],
    requires_grad: RequiresGrad,
) -> Gradients {
    check(layer, weights, queries, keys);
    match (queries, &saved.0) {
        (Queries::Own(queries), Kind::Own(saved)) => {
            own::backward(layer, weights, queries, keys, saved, grad, requires_grad)
        }
        (Queries::Shared(queries), Kind::Shared(saved)) => {
            shared::backward(layer, weights, queries, keys, saved, grad, requires_grad)
        }
        _ => panic!("`saved` belongs to the other kind of queries"),
    }
}

fn check(layer: &Layer, weights: &Weights<'_>, queries: Queries<'_>, keys: Sets<'_>) {
    let Layer { query_width, key_width, width, heads, residual, .. } = *layer;
    assert!(query_width > 0 && key_width > 0 && heads > 0 && width > 0, "widths and heads are positive");
    assert!(width.is_multiple_of(heads), "heads divide the width");
    assert!(residual != Residual::Raw || query_width == width, "a raw residual has the block's width");
    let linear = |linear: &Linear<'_>, rows: usize| {
        assert!(linear.weight.len() == rows * width && linear.bias.len() == width, "sizes of weight and bias");
    };
    linear(&weights.query, query_width);
    linear(&weights.key, key_width);
    linear(&weights.value, key_width);
    weights.out.iter().chain(&weights.feed).for_each(|dense| linear(dense, width));
    keys.check(key_width);
    match queries {
        Queries::Own(queries) => {
            queries.check(query_width);
            assert_eq!(queries.count(), keys.count(), "sets of queries and of keys");
        }
        Queries::Shared(rows) => assert!(rows.len().is_multiple_of(query_width), "whole rows"),
    }
}

/// Gradient sums of one task, or of all: one array for each parameter.
struct Sums<const N: usize>([Workspace; N]);

impl<const N: usize> Sums<N> {
    fn zeros(sizes: [usize; N]) -> Self {
        Self(sizes.map(Workspace::zeros))
    }

    /// Sum of the tasks, in their order.
    fn total(tasks: &[Self], sizes: [usize; N]) -> [Vec<f32>; N] {
        std::array::from_fn(|i| {
            let mut sum = vec![0.0; sizes[i]];
            let parts: Vec<&[f32]> = tasks.iter().map(|task| &task.0[i][..]).collect();
            crate::vector::sum_in_order(&parts, &mut sum);
            sum
        })
    }
}
