//! Active units of a ReLU, one bit each, for the backward pass.
//!
//! Bit `c` of lane `l` of a register of gates belongs to lane `l` of register `c` of the block, so
//! nothing moves across lanes. 32 registers of units share one register of gates; the rest of a block
//! has a register of its own.

use pulp::Simd;

use crate::vector::{split, split_mut};

/// Number of words that hold the gates of `units` units, for registers of any size.
pub(super) fn gate_words(units: usize) -> usize {
    units.div_ceil(32) + 32
}

/// Writes a bit for each unit of `hidden`: 1 if it is above zero.
#[inline(always)]
pub(super) fn keep_gates<S: Simd>(simd: S, hidden: &[f32], gates: &mut [u32]) {
    let (whole, rest) = split::<S>(hidden);
    let (zero, shut) = (simd.splat_f32s(0.0), simd.splat_u32s(0));
    let bit = |c: usize, hidden| {
        let open = simd.less_than_f32s(zero, hidden);
        simd.select_u32s(open, simd.splat_u32s(1 << c), shut)
    };
    let mut gates = S::as_mut_simd_u32s(gates).0.iter_mut();
    for (registers, gate) in whole.chunks(32).zip(&mut gates) {
        let mut bits = shut;
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
pub(super) fn through_gates<S: Simd>(simd: S, grad: &[f32], gates: &[u32], out: &mut [f32]) {
    let ((grad, grad_rest), (out, out_rest)) = (split::<S>(grad), split_mut::<S>(out));
    let (zero, shut) = (simd.splat_f32s(0.0), simd.splat_u32s(0));
    let pass = |c: usize, gate, grad| {
        let open = simd.greater_than_u32s(simd.and_u32s(gate, simd.splat_u32s(1 << c)), shut);
        simd.select_f32s(open, grad, zero)
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
            keep_gates(simd, self.0, &mut gates);
            through_gates(simd, self.1, &gates, self.2);
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
