//! Operations on sets of any sizes: the multihead attention block (MAB) of the Set Transformer (Lee et al. 2019,
//! §3.1, eq. 5 to 7), and sums over the rows of each set (Deep Sets, Zaheer et al. 2017).
//!
//! MAB: `O = residual + concat_h(softmax(scale · q_h k_hᵀ) v_h)` with `q = x Wq + bq`, and likewise for keys and
//! values (`· Wo + bo` before the residual if there is an output projection). With a feed-forward part the result
//! is `O + max(O Wf + bf, 0)`.

use std::sync::Arc;

use burn::{
    config::Config,
    tensor::{Tensor, activation},
};
use regard_kernels::set as kernel;

use super::{
    AttentionOptions, Projection, attention_weights,
    fused::{Array, Kernel, Output, has_kernels, input, run},
};
use crate::Ragged;
use crate::trace::{self, Operation};

/// The residual that the attended values are added to.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// The projected queries (the authors' code).
    Projected,
    /// The queries (the paper); their width must equal the width of the block.
    Raw,
    /// No residual.
    None,
}

/// Weight `[inputs, outputs]` and bias `[outputs]` of a linear layer.
#[derive(Clone, Debug)]
pub struct Affine {
    /// `[inputs, outputs]`
    pub weight: Tensor<2>,
    /// `[outputs]`
    pub bias: Tensor<1>,
}

/// Weights and options of one block.
#[derive(Clone, Debug)]
pub struct SetBlockArgs {
    /// `[query_width, width]`
    pub query: Affine,
    /// `[key_width, width]`
    pub key: Affine,
    /// `[key_width, width]`
    pub value: Affine,
    /// `[width, width]`, if there is an output projection.
    pub out: Option<Affine>,
    /// `[width, width]`, if there is a feed-forward part.
    pub feed: Option<Affine>,
    /// Number of heads; must divide the width.
    pub heads: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// The residual that the attended values are added to.
    pub residual: Residual,
}

/// Queries of a block.
#[derive(Clone, Debug)]
pub enum SetQueries {
    /// Each set has its own rows.
    Own(Ragged),
    /// All sets have the same rows `[queries, query_width]`: inducing points, or seeds.
    Shared(Tensor<2>),
}

/// Applies the block to `queries` and `keys`, which have the same number of sets. Returns one row for
/// every query, grouped by set. The attention of a set without keys is zero.
///
/// # Panics
/// If the shapes do not match.
pub fn set_block(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> Ragged {
    let sets = keys.count();
    let (rows, offsets) = match &queries {
        SetQueries::Own(own) => {
            assert_eq!(own.count(), sets, "set block: sets of queries and of keys");
            (own.rows.clone(), own.offsets().clone())
        }
        SetQueries::Shared(rows) => {
            let each = rows.dims()[0];
            (rows.clone(), (0..=sets).map(|set| set * each).collect())
        }
    };
    if !has_kernels(&rows.device()) || sets == 0 || offsets.last() == Some(&0) {
        return set_block_composed(queries, keys, args);
    }
    let fused = Fused {
        queries: matches!(queries, SetQueries::Own(_)).then(|| offsets.clone()),
        keys: keys.offsets().clone(),
        heads: args.heads,
        scale: args.scale,
        residual: args.residual,
        out: args.out.is_some(),
        feed: args.feed.is_some(),
    };
    let affine = [Some(args.query), Some(args.key), Some(args.value), args.out, args.feed];
    let affine = affine.into_iter().flatten().flat_map(|Affine { weight, bias }| [input(weight), input(bias)]);
    let inputs = [input(rows), input(keys.rows)].into_iter().chain(affine).collect();
    Ragged::new(run(fused, inputs).y, offsets)
}

/// The kernel. Its inputs are query rows, key rows, weight and bias of query, key and value, and
/// optionally those of output projection and feed-forward part.
#[derive(Debug)]
struct Fused {
    /// Offsets of the queries if each set has its own; `None` if they are shared.
    queries: Option<Arc<[usize]>>,
    keys: Arc<[usize]>,
    heads: usize,
    scale: f32,
    residual: Residual,
    out: bool,
    feed: bool,
}

/// Arguments of a kernel call.
struct Call<'a> {
    layer: kernel::Layer,
    weights: kernel::Weights<'a>,
    queries: kernel::Queries<'a>,
    keys: kernel::Sets<'a>,
}

impl Fused {
    fn call<'a>(&'a self, inputs: &[Array<'a>]) -> Call<'a> {
        let linear = |at: usize| kernel::Linear { weight: inputs[at].data, bias: inputs[at + 1].data };
        let layer = kernel::Layer {
            query_width: inputs[0].shape[1],
            key_width: inputs[1].shape[1],
            width: inputs[2].shape[1],
            heads: self.heads,
            scale: self.scale,
            residual: match self.residual {
                Residual::Projected => kernel::Residual::Projected,
                Residual::Raw => kernel::Residual::Raw,
                Residual::None => kernel::Residual::None,
            },
        };
        let weights = kernel::Weights {
            query: linear(2),
            key: linear(4),
            value: linear(6),
            out: self.out.then(|| linear(8)),
            feed: self.feed.then(|| linear(8 + 2 * usize::from(self.out))),
        };
        let queries = match &self.queries {
            Some(offsets) => kernel::Queries::Own(kernel::Sets { rows: inputs[0].data, offsets }),
            None => kernel::Queries::Shared(inputs[0].data),
        };
        Call { layer, weights, queries, keys: kernel::Sets { rows: inputs[1].data, offsets: &self.keys } }
    }
}

impl Kernel for Fused {
    type Saved = kernel::Saved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let Call { layer, weights, queries, keys } = self.call(inputs);
        let (y, saved) = kernel::forward(&layer, &weights, queries, keys, save);
        let rows = y.len() / layer.width;
        Output { y, shape: vec![rows, layer.width], extra: vec![], saved }
    }

    fn backward(
        &self,
        inputs: &[Array<'_>],
        saved: &Self::Saved,
        grad: &[f32],
        requires_grad: &[bool],
    ) -> Vec<Vec<f32>> {
        let Call { layer, weights, queries, keys } = self.call(inputs);
        let requires_grad_of = kernel::RequiresGrad { queries: requires_grad[0], keys: requires_grad[1] };
        let found = kernel::backward(&layer, &weights, queries, keys, saved, grad, requires_grad_of);
        let linear = [Some(found.query), Some(found.key), Some(found.value), found.out, found.feed];
        let linear = linear.into_iter().flatten().flat_map(|gradients| [gradients.weight, gradients.bias]);
        let absent =
            |gradient: Option<Vec<f32>>, at: usize| gradient.unwrap_or_else(|| vec![0.0; inputs[at].data.len()]);
        [absent(found.queries, 0), absent(found.keys, 1)].into_iter().chain(linear).collect()
    }
}

// The composed version: padded sets, and a mask of the padding.

/// [`set_block`] in ordinary tensor operations.
pub fn set_block_composed(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> Ragged {
    block(queries, keys, args).0
}

/// The block and its attention weights, `[sets, heads, longest queries, longest keys]`; the weights of
/// padding are 0.
pub fn set_block_weights(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> (Ragged, Tensor<4>) {
    block(queries, keys, args)
}

fn block(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> (Ragged, Tensor<4>) {
    let queries = match queries {
        SetQueries::Own(own) => own,
        SetQueries::Shared(rows) => {
            let [each, width] = rows.dims();
            Ragged::uniform(rows.reshape([1, each, width]).expand([keys.count(), each, width]))
        }
    };
    let width = args.query.weight.dims()[1];
    let project = |name: &str, rows: &Tensor<2>, linear: Affine, row: &'static str| {
        let y = apply_affine(rows.clone(), linear.clone());
        affine_step(name, rows, linear, [row, "channel"], &y);
        y
    };
    let projected = queries.with_rows(project("query", &queries.rows, args.query, "query"));
    let options = AttentionOptions {
        scale: args.scale,
        mask: keys.mask(),
        ..AttentionOptions::new(args.heads, width / args.heads.max(1))
    };
    let padded = |name: &str, linear: Affine| keys.with_rows(project(name, &keys.rows, linear, "key")).to_padded();
    let (key, value) = (padded("key", args.key), padded("value", args.value));
    let (heads, weights) = attention_weights(projected.to_padded(), key, value, None, &options);
    let lengths: Vec<usize> = queries.lengths().collect();
    let mut attended = Ragged::from_padded(heads, &lengths).rows;
    if let Some(out) = args.out {
        attended = project("output", &attended, out, "query");
    }
    let beside = match args.residual {
        Residual::Projected => Some(projected.rows),
        Residual::Raw => Some(queries.rows.clone()),
        Residual::None => None,
    };
    let mut rows = match beside {
        Some(beside) => {
            let sum = beside.clone() + attended.clone();
            trace::step("sum", Operation::Sum).source(SOURCE).from(&beside).from(&attended).values(ROWS, &sum);
            sum
        }
        None => attended,
    };
    if let Some(feed) = args.feed {
        let inner = project("feed_forward.inner", &rows, feed, "query");
        let hidden = activation::relu(inner.clone());
        trace::step("feed_forward.hidden", Operation::Relu).source(SOURCE).from(&inner).values(ROWS, &hidden);
        let sum = rows.clone() + hidden.clone();
        trace::step("feed_forward.sum", Operation::Sum).source(SOURCE).from(&rows).from(&hidden).values(ROWS, &sum);
        rows = sum;
    }
    (queries.with_rows(rows), weights)
}

/// Section that defines the block.
const SOURCE: &str = "Lee et al. 2019, §3.1, eq. 6 and 7";
/// Axes of the rows of the result in a trace.
const ROWS: [&str; 2] = ["query", "channel"];

fn affine_step(name: &str, x: &Tensor<2>, linear: Affine, axes: [&'static str; 2], y: &Tensor<2>) {
    trace::step(name, Operation::Linear)
        .source(SOURCE)
        .from(x)
        .parameter("weight", || linear.weight)
        .parameter("bias", || linear.bias)
        .values(axes, y);
}

/// `x · weight + bias`.
fn apply_affine(x: Tensor<2>, Affine { weight, bias }: Affine) -> Tensor<2> {
    Projection { weight, bias: Some(bias) }.of_rows(x)
}

/// Sums over the rows `offsets[s]..offsets[s + 1]` of `x [rows, width]`, `[sets, width]`; 0 for an empty set.
///
/// # Panics
/// If the offsets do not increase from 0 to the number of rows.
pub fn set_sums(x: Tensor<2>, offsets: &Arc<[usize]>) -> Tensor<2> {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return set_sums_composed(x, offsets);
    }
    run(FusedSums { offsets: offsets.clone() }, vec![input(x)]).y
}

/// [`set_sums`] in ordinary tensor operations.
///
/// # Panics
/// As [`set_sums`].
pub fn set_sums_composed(x: Tensor<2>, offsets: &Arc<[usize]>) -> Tensor<2> {
    let ([rows, width], sets, device) = (x.dims(), offsets.len() - 1, x.device());
    let ragged = Ragged::new(x, offsets.clone());
    if rows == 0 || width == 0 {
        return Tensor::zeros([sets, width], &device);
    }
    ragged.to_padded().sum_dim(1).reshape([sets, width])
}

/// The kernel. Its input is `x`.
#[derive(Debug)]
struct FusedSums {
    offsets: Arc<[usize]>,
}

impl Kernel for FusedSums {
    type Saved = ();

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<()> {
        let width = inputs[0].shape[1];
        let y = kernel::sums(&self.offsets, width, inputs[0].data);
        Output { y, shape: vec![self.offsets.len() - 1, width], extra: vec![], saved: save.then_some(()) }
    }

    fn backward(&self, inputs: &[Array<'_>], (): &(), grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        vec![kernel::sums_backward(&self.offsets, inputs[0].shape[1], grad)]
    }
}
