//! Attention scores of a block of rows of one head, shared by the forward and backward pass.

use pulp::Simd;

use super::{BiasView, mask::InstanceMask};
use crate::{
    gemm::{Lhs, Rhs, Size, Store, gemm},
    vector::{BARRED, split_mut},
};

/// Views of the queries, keys and values of one instance, with the options of the call. `*_ld` are
/// the strides between rows, in floats.
#[derive(Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) key: &'a [f32],
    pub(crate) value: &'a [f32],
    pub(crate) query_ld: usize,
    pub(crate) key_ld: usize,
    pub(crate) value_ld: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) heads: usize,
    pub(crate) key_width: usize,
    pub(crate) value_width: usize,
    pub(crate) scale: f32,
    pub(crate) clamp: Option<f32>,
    pub(crate) mask: InstanceMask<'a>,
    pub(crate) bias: Option<BiasView<'a>>,
}

/// Number of scores in a block. A block fits into the first-level cache beside keys and values.
const BLOCK: usize = 4096;

impl<'a> Instance<'a> {
    /// Number of keys, rounded up to whole registers.
    #[inline(always)]
    pub(crate) fn padded<S: Simd>(&self) -> usize {
        self.keys.next_multiple_of(S::F32_LANES)
    }

    /// Number of query rows in a block.
    #[inline(always)]
    pub(crate) fn block<S: Simd>(&self) -> usize {
        (BLOCK / self.padded::<S>().max(1) / 12 * 12).clamp(12, 96)
    }

    /// True if the raw products are the scores: no scale, clamp, bias or mask.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.scale == 1.0 && self.clamp.is_none() && self.bias.is_none() && matches!(self.mask, InstanceMask::None)
    }

    /// Scores of `rows` queries starting at `first` for head `h`; masked scores become −∞.
    /// `keys` holds the keys of the head transposed, `[key_width, padded]`.
    #[inline(always)]
    pub(crate) fn scores<S: Simd>(&self, simd: S, h: usize, first: usize, rows: usize, keys: &[f32], out: &mut [f32]) {
        let padded = self.padded::<S>();
        let query = Lhs::rows(&self.query[first * self.query_ld + h * self.key_width..], self.query_ld);
        let size = Size { m: rows, n: padded, k: self.key_width };
        gemm(simd, size, query, Rhs::rows::<S>(keys, padded), out, padded, Store);
        for (r, row) in out.chunks_exact_mut(padded).take(rows).enumerate() {
            self.finish_row(simd, h, first + r, row);
        }
    }

    /// Applies scale, bias, clamp and mask to one row of raw scores.
    #[inline(always)]
    fn finish_row<S: Simd>(&self, simd: S, h: usize, i: usize, row: &mut [f32]) {
        let lanes = S::F32_LANES;
        if self.is_plain() {
            // Only the padding is masked.
            let whole = self.keys / lanes;
            if let Some(last) = split_mut::<S>(row).0.get_mut(whole) {
                let open = lane_range(simd, 0, self.keys - whole * lanes);
                *last = simd.select_f32s(open, *last, simd.splat_f32s(f32::NEG_INFINITY));
            }
            return;
        }
        let bias = self.bias.map(|bias| &bias.data[h * bias.head + i * bias.query..][..self.keys]);
        let (low, high) = self.mask.range(i, self.keys);
        let scale = simd.splat_f32s(self.scale);
        let barred = simd.splat_f32s(f32::NEG_INFINITY);
        for (v, score) in split_mut::<S>(row).0.iter_mut().enumerate() {
            let start = v * lanes;
            if start >= high || start + lanes <= low {
                *score = barred;
                continue;
            }
            let mut value = simd.mul_f32s(*score, scale);
            if let Some(bias) = bias {
                let end = (start + lanes).min(self.keys);
                value = simd.add_f32s(value, simd.partial_load_f32s(&bias[start..end]));
            }
            if let Some(clamp) = self.clamp {
                let (low, high) = (simd.splat_f32s(-clamp), simd.splat_f32s(clamp));
                value = simd.min_f32s(simd.max_f32s(value, low), high);
            }
            if start < low || start + lanes > high {
                let open = lane_range(simd, low.saturating_sub(start), high - start);
                value = simd.select_f32s(open, value, barred);
            }
            *score = value;
        }
        if let InstanceMask::Dense(allowed) = self.mask {
            let allowed = &allowed[i * self.keys..][..self.keys];
            for (score, &allowed) in row.iter_mut().zip(allowed) {
                if !allowed {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// A mask of the lanes `low..high` of a register.
#[inline(always)]
fn lane_range<S: Simd>(simd: S, low: usize, high: usize) -> S::m32s {
    let mut lane = simd.splat_u32s(0);
    for (i, lane) in bytes_of_lanes::<S>(&mut lane).iter_mut().enumerate() {
        *lane = i as u32;
    }
    let above = simd.greater_than_or_equal_u32s(lane, simd.splat_u32s(low as u32));
    simd.and_m32s(above, simd.less_than_u32s(lane, simd.splat_u32s(high as u32)))
}

#[inline(always)]
fn bytes_of_lanes<S: Simd>(register: &mut S::u32s) -> &mut [u32] {
    pulp::bytemuck::cast_slice_mut(std::slice::from_mut(register))
}

/// True if `max`, the largest score of a row, is masked: then all keys of the row are masked.
#[inline(always)]
pub(crate) fn is_empty_row(max: f32) -> bool {
    max <= BARRED
}
