//! Blocks whose queries are shared by all sets: the first half of an ISAB (inducing points), and
//! PMA (seeds). Few queries look at many keys, so the keys are what is cut into blocks; each
//! block's share of a softmax is merged with the others' by its maximum and its sum.
//!
//! With `q` known, the projections of the keys can be folded into the queries:
//! `q_h·k_hᵀ = (q_h·Wk_hᵀ)·yᵀ`, and `A_h·v_h = (A_h·y)·Wv_h + bv_h`, as weights sum to one. The key
//! rows then go into the scores and into the sums as they are, and nothing is projected; the
//! folded form is taken where it has fewer multiplications. Both forms share one set of steps on
//! [`Form::gathers`] of queries over features: the projected heads, or all heads at once over `y`.

mod backward;
mod finish;
mod finish_backward;
mod forward;
mod keys;
mod keys_backward;

use pulp::{Simd, WithSimd};

use super::{Layer, Residual, Sets, Weights, gates::gate_words, plan::BLOCK};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Bias, Epilogue, Lhs, Panels, Rhs, Size, Store, gemm},
    simd,
};
pub(super) use backward::backward;
pub(super) use forward::forward;

/// What the backward pass needs of the forward pass.
#[derive(Debug)]
pub(super) struct Saved {
    /// Weighted means of the features, in groups of sets: `[heads, sets of the group, queries, feature]`.
    pooled: Workspace,
    /// `[sets, 2, padded]`: largest score and inverse sum of exponentials of each column.
    stats: Workspace,
    /// `[sets · queries, width]` where there is an output projection, else empty.
    attended: Workspace,
    /// `[sets · queries, width]`: before the feed-forward part, where there is one, else empty.
    o: Workspace,
    /// Open units of the feed-forward part, `[groups, gate words]`, else empty.
    gates: Vec<u32>,
}

/// Queries of one softmax product: `heads` times `queries` columns of scores over features of
/// `feature` floats.
#[derive(Clone, Copy)]
struct Gathers {
    heads: usize,
    queries: usize,
    feature: usize,
}

/// Sizes, and which of the two forms is taken.
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

    /// Columns of scores: heads times queries.
    fn columns(&self) -> usize {
        self.layer.heads * self.queries
    }

    /// Columns rounded up to registers of every size.
    fn padded(&self) -> usize {
        self.columns().next_multiple_of(16)
    }

    fn gathers(&self) -> Gathers {
        match self.folded {
            true => Gathers { heads: 1, queries: self.columns(), feature: self.layer.key_width },
            false => Gathers { heads: self.layer.heads, queries: self.queries, feature: self.layer.head() },
        }
    }

    /// Columns of scores that a gather writes: a single one writes those of padding too, as zeros,
    /// and has whole registers only.
    fn score_columns(&self) -> usize {
        let Gathers { heads, queries, .. } = self.gathers();
        if heads == 1 { self.padded() } else { queries }
    }

    /// Floats of the pooled features of a set.
    fn pooled(&self) -> usize {
        self.columns() * self.gathers().feature
    }

    /// Words of the gates of a group.
    fn gate_words(&self) -> usize {
        gate_words(self.group() * self.queries * self.layer.width)
    }

    /// Sets finished together.
    fn group(&self) -> usize {
        (BLOCK / self.queries).max(1)
    }
}

/// The queries as the key rows meet them.
struct Asked {
    /// `x·Wq + bq`, `[queries, width]`.
    q: Vec<f32>,
    /// For each gather `scale · [feature, queries]`.
    scores: Vec<Panels>,
    /// The transposes, for the backward pass.
    back: Vec<Panels>,
}

impl Asked {
    fn of(form: &Form, weights: &Weights<'_>, x: &[f32], backward: bool) -> Self {
        let Form { layer, queries: m, .. } = *form;
        let (d, head) = (layer.width, layer.head());
        let mut q = vec![0.0; m * d];
        let size = Size { m, n: d, k: layer.query_width };
        let left = Lhs::rows(x, layer.query_width);
        product(size, left, weights.query.weight, d, &mut q, d, Bias(weights.query.bias));
        let turned: Vec<f32> = (0..d * m).map(|at| layer.scale * q[at % m * d + at / m]).collect();
        let Gathers { heads, queries, feature } = form.gathers();
        let mut folds = vec![0.0; heads * feature * queries];
        if form.folded {
            for h in 0..layer.heads {
                let size = Size { m: feature, n: m, k: head };
                let key = Lhs::rows(&weights.key.weight[h * head..], d);
                product(size, key, &turned[h * head * m..], m, &mut folds[h * m..], queries, Store);
            }
        } else {
            folds.copy_from_slice(&turned);
        }
        let each = || folds.chunks_exact(feature * queries);
        let columns = form.score_columns();
        let pack =
            |fold: &[f32]| Panels::pack(feature, columns, |p, j| if j < queries { fold[p * queries + j] } else { 0.0 });
        let scores = each().map(pack).collect();
        let transposed = |fold| Panels::of_transposed(fold, queries, feature);
        let back = if backward { each().map(transposed).collect() } else { Vec::new() };
        Self { q, scores, back }
    }

    /// What every set's attention is added to.
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

/// An [`Epilogue`] of every instruction set.
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

/// `c = epilogue(a·b)` for the small products that are made once, `b` row-major.
fn product<E: AnyEpilogue>(size: Size, a: Lhs<'_>, b: &[f32], ldb: usize, c: &mut [f32], ldc: usize, epilogue: E) {
    simd::run(Product { size, a, b, ldb, c, ldc, epilogue });
}
