//! Blocks whose queries are shared by all sets: the first half of an ISAB (inducing points), and
//! PMA (seeds). Few queries attend to many keys, so the keys are split into blocks. The partial
//! softmax of a block is merged with the others by its maximum and its sum.
//!
//! The projections of the keys can be folded into the queries:
//! `q_h·k_hᵀ = (q_h·Wk_hᵀ)·yᵀ`, and `A_h·v_h = (A_h·y)·Wv_h + bv_h`, as weights sum to one. Then the key
//! rows enter scores and sums directly and are not projected. The folded form is used if it needs fewer
//! multiplications. Both forms share the same code, which computes attention of the queries over
//! features: the features of each head, or the rows `y` for all heads at once ([`Form::score_shape`]).

mod backward;
mod forward;

use pulp::{Simd, WithSimd};

use super::{Layer, Residual, Sets, Weights, plan::BLOCK, tail::gate_words};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Bias, Epilogue, Lhs, Panels, Rhs, Size, Store, gemm},
    simd,
};
pub(super) use backward::backward;
pub(super) use forward::forward;

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub(super) struct Saved {
    /// Weighted means of the features, in groups of sets: `[heads, sets of the group, queries, feature]`.
    pooled: Workspace,
    /// `[sets, 2, padded]`: largest score and inverse sum of exponentials of each column.
    stats: Workspace,
    /// Attended values, `[sets · queries, width]`; empty without an output projection.
    attended: Workspace,
    /// Input of the feed-forward part, `[sets · queries, width]`; empty without one.
    o: Workspace,
    /// Gates of the feed-forward part, `[groups, gate words]`; empty without one.
    gates: Vec<u32>,
}

/// Shape of the score products: `heads` products with `queries` columns of scores each, over features
/// of `feature` floats.
#[derive(Clone, Copy)]
struct ScoreShape {
    heads: usize,
    queries: usize,
    feature: usize,
}

/// Sizes, and which of the two forms is used.
#[derive(Clone, Copy)]
struct Form {
    layer: Layer,
    queries: usize,
    sets: usize,
    folded: bool,
}

impl Form {
    fn of(layer: &Layer, queries: &[f32], keys: Sets<'_>) -> Self {
        let queries = queries.len() / layer.query_width;
        assert!(queries > 0, "shared queries");
        let Layer { key_width, width, heads, .. } = *layer;
        let (rows, sets) = (keys.rows.len() / key_width, keys.count());
        let folded = 2 * rows * heads * queries * key_width + sets * queries * key_width * width;
        let projected = 2 * rows * (key_width + queries) * width;
        Self { layer: *layer, queries, sets, folded: folded <= projected }
    }

    /// Number of columns of scores: heads times queries.
    fn columns(&self) -> usize {
        self.layer.heads * self.queries
    }

    /// Number of columns, rounded up to whole registers of every size.
    fn padded(&self) -> usize {
        self.columns().next_multiple_of(16)
    }

    fn score_shape(&self) -> ScoreShape {
        match self.folded {
            true => ScoreShape { heads: 1, queries: self.columns(), feature: self.layer.key_width },
            false => ScoreShape { heads: self.layer.heads, queries: self.queries, feature: self.layer.head() },
        }
    }

    /// Number of columns of scores that one product writes. A single product writes the padding too, as
    /// zeros, so that it has whole registers only.
    fn score_columns(&self) -> usize {
        let ScoreShape { heads, queries, .. } = self.score_shape();
        if heads == 1 { self.padded() } else { queries }
    }

    /// Number of floats of the pooled features of a set.
    fn pooled(&self) -> usize {
        self.columns() * self.score_shape().feature
    }

    /// Number of words of the gates of a group.
    fn gate_words(&self) -> usize {
        gate_words(self.group() * self.queries * self.layer.width)
    }

    /// Number of sets in a group.
    fn group(&self) -> usize {
        (BLOCK / self.queries).max(1)
    }
}

/// The projected queries, packed for products with key rows.
struct QueryTables {
    /// `x·Wq + bq`, `[queries, width]`.
    q: Vec<f32>,
    /// For each product `scale · [feature, queries]`.
    scores: Vec<Panels>,
    /// The transposes of `scores`, for the backward pass.
    back: Vec<Panels>,
}

impl QueryTables {
    fn of(form: &Form, weights: &Weights<'_>, x: &[f32], backward: bool) -> Self {
        let Form { layer, queries: m, .. } = *form;
        let (d, head) = (layer.width, layer.head());
        let mut q = vec![0.0; m * d];
        let size = Size { m, n: d, k: layer.query_width };
        let left = Lhs::rows(x, layer.query_width);
        product(size, left, weights.query.weight, d, &mut q, d, Bias(weights.query.bias));
        let transposed: Vec<f32> = (0..d * m).map(|at| layer.scale * q[at % m * d + at / m]).collect();
        let ScoreShape { heads, queries, feature } = form.score_shape();
        let mut folds = vec![0.0; heads * feature * queries];
        if form.folded {
            for h in 0..layer.heads {
                let size = Size { m: feature, n: m, k: head };
                let key = Lhs::rows(&weights.key.weight[h * head..], d);
                product(size, key, &transposed[h * head * m..], m, &mut folds[h * m..], queries, Store);
            }
        } else {
            folds.copy_from_slice(&transposed);
        }
        let each = || folds.chunks_exact(feature * queries);
        let columns = form.score_columns();
        let pack = |fold: &[f32]| {
            Panels::pack_forward(feature, columns, |p, j| if j < queries { fold[p * queries + j] } else { 0.0 })
        };
        let scores = each().map(pack).collect();
        let transposed = |fold| Panels::of_transposed(fold, queries, feature);
        let back = if backward { each().map(transposed).collect() } else { Vec::new() };
        Self { q, scores, back }
    }

    /// The residual that the attention of every set is added to.
    fn residual<'a>(&'a self, layer: &Layer, x: &'a [f32]) -> Option<&'a [f32]> {
        match layer.residual {
            Residual::Projected => Some(&self.q),
            Residual::Raw => Some(x),
            Residual::None => None,
        }
    }
}

struct Product<'a, E> {
    size: Size,
    a: Lhs<'a>,
    b: &'a [f32],
    ldb: usize,
    c: &'a mut [f32],
    ldc: usize,
    epilogue: E,
}

/// An [`Epilogue`] for every instruction set.
trait AnyEpilogue: Copy {
    fn run<S: Simd>(product: Product<'_, Self>, simd: S);
}

macro_rules! any_epilogue {
    ($($epilogue:ty),*) => {$(
        impl AnyEpilogue for $epilogue {
            #[inline(always)]
            fn run<S: Simd>(product: Product<'_, Self>, simd: S) {
                multiply(simd, product);
            }
        }
    )*};
}

any_epilogue!(Store, Accumulate, Bias<'_>);

#[inline(always)]
fn multiply<S: Simd, E: Epilogue<S>>(simd: S, product: Product<'_, E>) {
    let Product { size, a, b, ldb, c, ldc, epilogue } = product;
    gemm(simd, size, a, Rhs::rows::<S>(b, ldb), c, ldc, epilogue);
}

impl<E: AnyEpilogue> WithSimd for Product<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        E::run(self, simd);
    }
}

/// `c = epilogue(a·b)` for the small products that are computed once; `b` is row-major.
fn product<E: AnyEpilogue>(size: Size, a: Lhs<'_>, b: &[f32], ldb: usize, c: &mut [f32], ldc: usize, epilogue: E) {
    simd::run(Product { size, a, b, ldb, c, ldc, epilogue });
}
