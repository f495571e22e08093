//! The part of the block after the attention: output projection, residual, feed-forward part with ReLU.
//!
//! For the backward pass the ReLU saves one bit for each active unit, its gate. Bit `c` of lane `l` of a register of
//! gates belongs to lane `l` of register `c` of the block, so nothing moves across lanes. 32 registers of units share
//! one register of gates; the rest of a block has a register of its own.

use pulp::Simd;

use super::{Sums, Weights};
use crate::{
    buffer::Workspace,
    gemm::{
        Accumulate, AddResidual, Bias, BiasRelu, BiasReluResidual, BiasResidual, Lhs, Panels, Rhs, Size, Store, gemm,
    },
    vector::{add_assign, column_sums, split, split_mut},
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

/// Input rows of the feed-forward part, their gates, and the gradient of the result.
pub(super) struct FeedForwardRows<'a> {
    pub(super) o: &'a [f32],
    pub(super) gates: &'a [u32],
    pub(super) grad: &'a [f32],
}

/// Number of [`Sums`] that the backward pass adds to: weight and bias of both parts.
pub(super) const TAIL_SUMS: usize = 4;

impl<'a> Tail<'a> {
    pub(super) fn of(width: usize, weights: &Weights<'a>, backward: bool) -> Self {
        let dense = |linear: super::Linear<'a>| Dense {
            panels: Panels::of_forward(linear.weight, width, width),
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
        write_gates(simd, out, gates);
        add_assign(simd, o, out);
    }

    /// Computes the gradient of `o` from that of the result; adds to the sums of the feed-forward part,
    /// `sums[at + 2..]`.
    #[inline(always)]
    pub(super) fn feed_backward<S: Simd, const N: usize>(
        &self,
        simd: S,
        rows: FeedForwardRows<'_>,
        into: &mut [f32],
        sums: &mut Sums<N>,
        at: usize,
    ) {
        let FeedForwardRows { o, gates, grad } = rows;
        let Some(Dense { back: Some(back), .. }) = &self.feed else { return };
        let d = self.width;
        let rows = grad.len() / d;
        let size = Size { m: rows, n: d, k: d };
        let mut gated = Workspace::lease(rows * d);
        apply_gates(simd, grad, gates, &mut gated);
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
        attended: &[f32],
        grad: &[f32],
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

/// Number of words that hold the gates of `units` units, for registers of any size.
pub(super) fn gate_words(units: usize) -> usize {
    units.div_ceil(32) + 32
}

/// Writes a bit for each unit of `hidden`: 1 if it is above zero.
#[inline(always)]
pub(super) fn write_gates<S: Simd>(simd: S, hidden: &[f32], gates: &mut [u32]) {
    let (whole, rest) = split::<S>(hidden);
    let (zero, no_bits) = (simd.splat_f32s(0.0), simd.splat_u32s(0));
    let bit = |c: usize, hidden| {
        let active = simd.less_than_f32s(zero, hidden);
        simd.select_u32s(active, simd.splat_u32s(1 << c), no_bits)
    };
    let mut gates = S::as_mut_simd_u32s(gates).0.iter_mut();
    for (registers, gate) in whole.chunks(32).zip(&mut gates) {
        let mut bits = no_bits;
        for (c, hidden) in registers.iter().enumerate() {
            bits = simd.or_u32s(bits, bit(c, *hidden));
        }
        *gate = bits;
    }
    if let (false, Some(gate)) = (rest.is_empty(), gates.next()) {
        *gate = bit(0, simd.partial_load_f32s(rest));
    }
}

/// `out = grad` where the bit of the unit is 1, else 0.
#[inline(always)]
pub(super) fn apply_gates<S: Simd>(simd: S, grad: &[f32], gates: &[u32], out: &mut [f32]) {
    let ((grad, grad_rest), (out, out_rest)) = (split::<S>(grad), split_mut::<S>(out));
    let (zero, no_bits) = (simd.splat_f32s(0.0), simd.splat_u32s(0));
    let pass = |c: usize, gate, grad| {
        let active = simd.greater_than_u32s(simd.and_u32s(gate, simd.splat_u32s(1 << c)), no_bits);
        simd.select_f32s(active, grad, zero)
    };
    let mut gates = S::as_simd_u32s(gates).0.iter();
    for ((grad, out), gate) in grad.chunks(32).zip(out.chunks_mut(32)).zip(&mut gates) {
        for (c, (grad, out)) in grad.iter().zip(out).enumerate() {
            *out = pass(c, *gate, *grad);
        }
    }
    if let (false, Some(gate)) = (out_rest.is_empty(), gates.next()) {
        simd.partial_store_f32s(out_rest, pass(0, *gate, simd.partial_load_f32s(grad_rest)));
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;

    struct Both<'a>(&'a [f32], &'a [f32], &'a mut [f32]);

    impl WithSimd for Both<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let mut gates = vec![0; gate_words(self.0.len())];
            write_gates(simd, self.0, &mut gates);
            apply_gates(simd, self.1, &gates, self.2);
        }
    }

    #[test]
    fn gradients_pass_where_units_are_above_zero() {
        for units in [0, 1, 7, 16, 40, 512, 513, 1100] {
            let hidden: Vec<f32> = (0..units).map(|i| ((i * i * 7 + i) % 5) as f32 - 2.0).collect();
            let grad: Vec<f32> = (0..units).map(|i| i as f32 + 1.0).collect();
            let mut out = vec![f32::NAN; units];
            crate::simd::run(Both(&hidden, &grad, &mut out));
            for ((hidden, grad), out) in hidden.iter().zip(&grad).zip(&out) {
                assert_eq!(*out, if *hidden > 0.0 { *grad } else { 0.0 });
            }
        }
    }
}
