//! Forward pass of attention for one instance.

use pulp::{Simd, WithSimd};

use super::rows::{Instance, is_empty_row};
use crate::{
    buffer::Workspace,
    gemm::{Lhs, Rhs, Size, Store, gemm},
    transpose::transpose,
    vector::{exponentials, maximum, scale},
};

/// Log-sum-exp stored for a fully masked row: it makes every weight of the row 0 in the backward pass.
const EMPTY: f32 = 1e30;

pub(super) struct Attend<'a> {
    pub(super) instance: &'a Instance<'a>,
    pub(super) out: &'a mut [f32],
    pub(super) out_ld: usize,
    pub(super) lse: Option<&'a mut [f32]>,
}

impl WithSimd for Attend<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let padded = self.instance.padded::<S>();
        let mut scratch = Workspace::lease((self.instance.key_width + self.instance.block::<S>()) * padded);
        attend(simd, self.instance, self.out, self.out_ld, self.lse, &mut scratch);
    }
}

/// Computes attention of all heads of one instance into `out` (rows `out_ld` floats apart). `lse`
/// receives the log-sum-exp of each row, `[heads, queries]`. `scratch` holds at least
/// `(key_width + block) · padded` floats.
#[inline(always)]
pub(crate) fn attend<S: Simd>(
    simd: S,
    x: &Instance<'_>,
    out: &mut [f32],
    out_ld: usize,
    mut lse: Option<&mut [f32]>,
    scratch: &mut [f32],
) {
    let (padded, block) = (x.padded::<S>(), x.block::<S>());
    let (keys, scores) = scratch.split_at_mut(x.key_width * padded);
    for h in 0..x.heads {
        transpose(&x.key[h * x.key_width..], x.key_ld, x.keys, x.key_width, padded, keys);
        for first in (0..x.queries).step_by(block) {
            let rows = block.min(x.queries - first);
            x.scores(simd, h, first, rows, keys, scores);
            let out = &mut out[first * out_ld + h * x.value_width..];
            let mut inverse = [0.0; 96];
            for (r, row) in scores.chunks_exact_mut(padded).take(rows).enumerate() {
                let max = maximum(simd, row);
                let sum = exponentials(simd, row, max);
                let empty = is_empty_row(max);
                inverse[r] = if empty { 0.0 } else { 1.0 / sum };
                if let Some(lse) = lse.as_deref_mut() {
                    lse[h * x.queries + first + r] = if empty { EMPTY } else { max + sum.ln() };
                }
            }
            let value = Rhs::rows::<S>(&x.value[h * x.value_width..], x.value_ld);
            let size = Size { m: rows, n: x.value_width, k: x.keys };
            gemm(simd, size, Lhs::rows(scores, padded), value, out, out_ld, Store);
            for (r, row) in out.chunks_mut(out_ld).take(rows).enumerate() {
                scale(simd, inverse[r], &mut row[..x.value_width]);
            }
        }
    }
}
