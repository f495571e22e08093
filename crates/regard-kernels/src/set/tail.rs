//! The part of the block after the attention: output projection, residual, feed-forward part.

use pulp::Simd;

use super::{
    Sums, Weights,
    gates::{keep_gates, through_gates},
};
use crate::{
    buffer::Workspace,
    gemm::{
        Accumulate, AddResidual, Bias, BiasRelu, BiasReluResidual, BiasResidual, Lhs, Panels, Rhs, Size, Store, gemm,
    },
    vector::{add_assign, column_sums},
};

struct Dense<'a> {
    panels: Panels,
    bias: &'a [f32],
    /// The transpose, for the backward pass.
    back: Option<Panels>,
}

/// Output projection and feed-forward part, packed.
pub(super) struct Tail<'a> {
    width: usize,
    out: Option<Dense<'a>>,
    feed: Option<Dense<'a>>,
}

/// Number of [`Sums`] that the backward pass adds to: weight and bias of both parts.
pub(super) const TAIL_SUMS: usize = 4;

impl<'a> Tail<'a> {
    pub(super) fn of(width: usize, weights: &Weights<'a>, backward: bool) -> Self {
        let dense = |linear: super::Linear<'a>| Dense {
            panels: Panels::of(linear.weight, width, width),
            bias: linear.bias,
            back: backward.then(|| Panels::of_transposed(linear.weight, width, width)),
        };
        Self { width, out: weights.out.map(dense), feed: weights.feed.map(dense) }
    }

    pub(super) fn projects(&self) -> bool {
        self.out.is_some()
    }

    pub(super) fn feeds(&self) -> bool {
        self.feed.is_some()
    }

    /// Numbers of floats of the sums of the backward pass.
    pub(super) fn sizes(&self) -> [usize; TAIL_SUMS] {
        let of = |dense: &Option<Dense<'_>>, size| if dense.is_some() { size } else { 0 };
        let (square, width) = (self.width * self.width, self.width);
        [of(&self.out, square), of(&self.out, width), of(&self.feed, square), of(&self.feed, width)]
    }

    /// `o = attended·Wo + bo + residual`.
    #[inline(always)]
    pub(super) fn project<S: Simd>(&self, simd: S, attended: &[f32], residual: Option<&[f32]>, o: &mut [f32]) {
        let Some(Dense { panels, bias, .. }) = &self.out else { return };
        let d = self.width;
        let size = Size { m: attended.len() / d, n: d, k: d };
        let left = Lhs::rows(attended, d);
        match residual {
            Some(x) => gemm(simd, size, left, panels.rhs(), o, d, BiasResidual { bias, x, ldx: d }),
            None => gemm(simd, size, left, panels.rhs(), o, d, Bias(bias)),
        }
    }

    /// `out = o + max(o·Wf + bf, 0)`; `gates`, unless empty, receives the active units.
    #[inline(always)]
    pub(super) fn feed<S: Simd>(&self, simd: S, o: &[f32], out: &mut [f32], gates: &mut [u32]) {
        let Some(Dense { panels, bias, .. }) = &self.feed else { return };
        let d = self.width;
        let size = Size { m: o.len() / d, n: d, k: d };
        if gates.is_empty() {
            let residual = BiasReluResidual { bias, x: o, ldx: d };
            return gemm(simd, size, Lhs::rows(o, d), panels.rhs(), out, d, residual);
        }
        gemm(simd, size, Lhs::rows(o, d), panels.rhs(), out, d, BiasRelu(bias));
        keep_gates(simd, out, gates);
        add_assign(simd, o, out);
    }

    /// Computes the gradient of `o` from that of the result; adds to the sums of the feed-forward part,
    /// `sums[at + 2..]`.
    #[inline(always)]
    pub(super) fn feed_backward<S: Simd, const N: usize>(
        &self,
        simd: S,
        (o, gates, grad): (&[f32], &[u32], &[f32]),
        into: &mut [f32],
        sums: &mut Sums<N>,
        at: usize,
    ) {
        let Some(Dense { back: Some(back), .. }) = &self.feed else { return };
        let d = self.width;
        let rows = grad.len() / d;
        let size = Size { m: rows, n: d, k: d };
        let mut gated = Workspace::lease(rows * d);
        through_gates(simd, grad, gates, &mut gated);
        column_sums(simd, &gated, d, rows, &mut sums.0[at + 3]);
        let weight = Size { m: d, n: d, k: rows };
        gemm(simd, weight, Lhs::transposed(o, d), Rhs::rows::<S>(&gated, d), &mut sums.0[at + 2], d, Accumulate);
        gemm(simd, size, Lhs::rows(&gated, d), back.rhs(), into, d, AddResidual { x: grad, ldx: d });
    }

    /// Computes the gradient of the attended values from that of `o`; adds to the sums of the output
    /// projection, `sums[at..]`.
    #[inline(always)]
    pub(super) fn project_backward<S: Simd, const N: usize>(
        &self,
        simd: S,
        (attended, grad): (&[f32], &[f32]),
        into: &mut [f32],
        sums: &mut Sums<N>,
        at: usize,
    ) {
        let Some(Dense { back: Some(back), .. }) = &self.out else { return };
        let d = self.width;
        let rows = grad.len() / d;
        column_sums(simd, grad, d, rows, &mut sums.0[at + 1]);
        let weight = Size { m: d, n: d, k: rows };
        gemm(simd, weight, Lhs::transposed(attended, d), Rhs::rows::<S>(grad, d), &mut sums.0[at], d, Accumulate);
        let size = Size { m: rows, n: d, k: d };
        gemm(simd, size, Lhs::rows(grad, d), back.rhs(), into, d, Store);
    }
}
