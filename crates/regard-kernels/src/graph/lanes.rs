//! The kernel layout of rows, its conversion from and to the caller's layout, and sums over the
//! channels of heads.
//!
//! A row is a sequence of registers. Channel `c` of head `h` is at `c · padded heads + h`. The number
//! of padded heads is a power of two. So either a register holds whole channels of all heads, and
//! lane `l` belongs to head `l mod padded heads` in every register, or it holds a part of the heads,
//! and register `r` holds part `r mod phases`. Padding is zero and stays zero. A value for each head
//! is kept in `phases` registers whose lanes repeat it, so that it can be multiplied with a row.
//!
//! Loops over the registers of a row work on blocks of `B` registers; `ONE` is true if there is one
//! phase. Both are constants so that a block stays in registers: with 16 lanes a row of 80 floats is
//! one block of five.

use pulp::{Simd, WithSimd};

use super::{
    layer::{HeadLayout, Layer},
    rows::scaled,
};
use crate::vector::{scale, split, split_mut};

#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// Number of heads.
    pub(super) heads: usize,
    /// Number of heads, rounded up to a power of two.
    pub(super) padded: usize,
    /// Width of one head.
    pub(super) head_width: usize,
    /// Number of registers of a row.
    pub(super) registers: usize,
    /// Number of registers of one value for each head.
    pub(super) phases: usize,
    /// Number of floats of a register.
    pub(super) lanes: usize,
    /// If true, heads are interleaved in the caller's rows.
    pub(super) interleaved: bool,
}

impl Lanes {
    pub(super) fn of(layer: &Layer, lanes: usize) -> Self {
        let (heads, head_width) = (layer.heads, layer.width / layer.heads);
        let padded = heads.next_power_of_two();
        Self {
            heads,
            padded,
            head_width,
            registers: (padded * head_width).div_ceil(lanes),
            phases: (padded / lanes).max(1),
            lanes,
            interleaved: layer.layout == HeadLayout::Interleaved || heads == 1 || head_width == 1,
        }
    }

    /// Number of floats of a row in the kernel layout.
    pub(super) fn row(&self) -> usize {
        self.registers * self.lanes
    }

    /// Number of floats of a caller's row.
    pub(super) fn width(&self) -> usize {
        self.heads * self.head_width
    }

    /// Number of floats of one value for each head.
    pub(super) fn head_row(&self) -> usize {
        self.phases * self.lanes
    }

    /// True if the caller's rows are already in the kernel layout.
    pub(super) fn native(&self) -> bool {
        self.interleaved && self.row() == self.width()
    }

    /// Runs `job` with the constants `B` and `ONE` that fit the row.
    #[inline(always)]
    pub(super) fn dispatch<S: Simd>(&self, simd: S, job: impl Blocked<S>) {
        // Narrow registers hold a part of the usual eight heads, so one variant is enough for them.
        if const { S::F32_LANES < 8 } || self.phases > 1 {
            return if self.registers.is_multiple_of(4) {
                job.run::<4, false>(simd)
            } else {
                job.run::<1, false>(simd)
            };
        }
        match self.registers {
            registers if registers.is_multiple_of(5) => job.run::<5, true>(simd),
            registers if registers.is_multiple_of(4) => job.run::<4, true>(simd),
            _ => job.run::<1, true>(simd),
        }
    }

    /// [`Lanes::phases`], as a constant if there is one phase.
    #[inline(always)]
    pub(super) fn phases<const ONE: bool>(&self) -> usize {
        if ONE { 1 } else { self.phases }
    }

    /// Index of the register of a per-head value that belongs to register `r` of a row.
    #[inline(always)]
    pub(super) fn phase<const ONE: bool>(&self, r: usize) -> usize {
        if ONE { 0 } else { r & (self.phases - 1) }
    }

    /// Sum of the lanes of each head, repeated in all lanes of that head.
    #[inline(always)]
    pub(super) fn fold<S: Simd>(&self, simd: S, x: S::f32s) -> S::f32s {
        let mut x = x;
        let mut step = S::F32_LANES / 2;
        while step >= self.padded {
            x = simd.add_f32s(x, simd.rotate_right_f32s(x, step));
            step /= 2;
        }
        x
    }

    #[inline(always)]
    fn fold_all<S: Simd>(&self, simd: S, x: &mut [S::f32s]) {
        for x in x {
            *x = self.fold(simd, *x);
        }
    }

    /// `Σ_c x·y` of each head.
    #[inline(always)]
    pub(super) fn products<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        x: &[S::f32s],
        y: &[S::f32s],
        out: &mut [S::f32s],
    ) {
        let zero = simd.splat_f32s(0.0);
        if ONE {
            let mut sum = zero;
            let y = &y[..x.len()];
            for block in 0..x.len() / B {
                let (x, y) = (part::<_, B>(x, block), part::<_, B>(y, block));
                for j in 0..B {
                    sum = simd.mul_add_f32s(x[j], y[j], sum);
                }
            }
            out[0] = self.fold(simd, sum);
            return;
        }
        out.fill(zero);
        for (x, y) in x.chunks_exact(self.phases).zip(y.chunks_exact(self.phases)) {
            for ((x, y), out) in x.iter().zip(y).zip(&mut *out) {
                *out = simd.mul_add_f32s(*x, *y, *out);
            }
        }
        self.fold_all(simd, out);
    }

    /// Per-channel products `x·y·factor`, stored in `products`, and their sum over the channels of each head.
    #[inline(always)]
    pub(super) fn modulated<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        [x, y, factor]: [&[S::f32s]; 3],
        products: &mut [S::f32s],
        out: &mut [S::f32s],
    ) {
        let zero = simd.splat_f32s(0.0);
        let mut sum = zero;
        for block in 0..x.len() / B {
            let (x, y, factor) = (part::<_, B>(x, block), part::<_, B>(y, block), part::<_, B>(factor, block));
            let products = part_mut::<_, B>(products, block);
            for j in 0..B {
                let product = simd.mul_f32s(simd.mul_f32s(x[j], y[j]), factor[j]);
                products[j] = product;
                sum = simd.add_f32s(sum, product);
            }
        }
        if ONE {
            out[0] = self.fold(simd, sum);
            return;
        }
        out.fill(zero);
        for products in products.chunks_exact(self.phases) {
            for (products, out) in products.iter().zip(&mut *out) {
                *out = simd.add_f32s(*out, *products);
            }
        }
        self.fold_all(simd, out);
    }
}

/// Block `block` of a row.
#[inline(always)]
pub(super) fn part<T, const B: usize>(row: &[T], block: usize) -> &[T; B] {
    row[block * B..].first_chunk().unwrap_or_else(|| unreachable!("blocks divide a row"))
}

/// As [`part`], mutable.
#[inline(always)]
pub(super) fn part_mut<T, const B: usize>(row: &mut [T], block: usize) -> &mut [T; B] {
    row[block * B..].first_chunk_mut().unwrap_or_else(|| unreachable!("blocks divide a row"))
}

/// A computation that is generic over the block size `B` and over `ONE`, which is true for one phase.
pub(super) trait Blocked<S: Simd> {
    fn run<const B: usize, const ONE: bool>(self, simd: S);
}

impl Lanes {
    /// Converts consecutive rows of the caller into the kernel layout.
    #[inline(always)]
    pub(super) fn rearrange<S: Simd>(&self, simd: S, rows: &[f32], out: &mut [f32]) {
        simd.vectorize(Rearrange { lanes: self, rows, out });
    }

    /// Converts consecutive rows from the kernel layout into the caller's.
    #[inline(always)]
    pub(super) fn restore<S: Simd>(&self, simd: S, rows: &[f32], out: &mut [f32]) {
        simd.vectorize(Restore { lanes: self, rows, out });
    }

    /// Writes `factor` times a row of the kernel layout to a row of the caller. `row` is scratch
    /// afterwards.
    #[inline(always)]
    pub(super) fn finish<S: Simd>(&self, simd: S, factor: f32, row: &mut [f32], out: &mut [f32]) {
        if self.native() {
            return scaled(simd, split::<S>(row).0, factor, split_mut::<S>(out).0);
        }
        scale(simd, factor, row);
        self.restore(simd, row, out);
    }

    /// Consecutive rows of the caller in the kernel layout. They are rearranged into `scratch` if the
    /// layouts differ.
    #[inline(always)]
    pub(super) fn in_kernel_layout<'s, S: Simd>(&self, simd: S, rows: &'s [f32], scratch: &'s mut [f32]) -> &'s [f32] {
        if self.native() {
            return rows;
        }
        let rearranged = &mut scratch[..rows.len() / self.width() * self.row()];
        self.rearrange(simd, rows, rearranged);
        rearranged
    }

    /// Copies one value for each head, without its repetitions.
    #[inline(always)]
    pub(super) fn heads_of(&self, values: &[f32], out: &mut [f32]) {
        for (value, out) in values.chunks_exact(self.head_row()).zip(out.chunks_exact_mut(self.heads)) {
            out.copy_from_slice(&value[..self.heads]);
        }
    }

    /// Strides of the caller's rows from one head to the next and from one channel to the next, in floats.
    fn strides(&self) -> (usize, usize) {
        if self.interleaved { (1, self.heads) } else { (self.head_width, 1) }
    }
}

/// Transposes `[H][C]` to `[C][H]`. The sizes are constants, so the compiler emits register permutations.
#[inline(always)]
fn transpose_heads<const H: usize, const C: usize>(row: &[f32], out: &mut [f32]) {
    let (row, out) = (row.as_chunks::<C>().0.first_chunk::<H>(), out.as_chunks_mut::<H>().0.first_chunk_mut::<C>());
    let (Some(row), Some(out)) = (row, out) else { return };
    for c in 0..C {
        for h in 0..H {
            out[c][h] = row[h][c];
        }
    }
}

// Separate functions: compiled once, not once for every caller.
struct Rearrange<'a> {
    lanes: &'a Lanes,
    rows: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Rearrange<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let lanes = self.lanes;
        let rows = self.rows.chunks_exact(lanes.width()).zip(self.out.chunks_exact_mut(lanes.row()));
        match (lanes.interleaved, lanes.heads, lanes.head_width) {
            (false, 8, 8) => rows.for_each(|(row, out)| transpose_heads::<8, 8>(row, out)),
            (false, 8, 10) => rows.for_each(|(row, out)| transpose_heads::<8, 10>(row, out)),
            _ => {
                let (head, channel) = lanes.strides();
                for (row, out) in rows {
                    out.fill(0.0);
                    for (c, out) in out.chunks_exact_mut(lanes.padded).take(lanes.head_width).enumerate() {
                        let row = row[c * channel..].iter().step_by(head);
                        out.iter_mut().zip(row.take(lanes.heads)).for_each(|(out, x)| *out = *x);
                    }
                }
            }
        }
    }
}

struct Restore<'a> {
    lanes: &'a Lanes,
    rows: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Restore<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let lanes = self.lanes;
        let rows = self.rows.chunks_exact(lanes.row()).zip(self.out.chunks_exact_mut(lanes.width()));
        match (lanes.interleaved, lanes.heads, lanes.head_width) {
            (false, 8, 8) => rows.for_each(|(row, out)| transpose_heads::<8, 8>(row, out)),
            (false, 8, 10) => rows.for_each(|(row, out)| transpose_heads::<10, 8>(row, out)),
            _ => {
                let (head, channel) = lanes.strides();
                for (row, out) in rows {
                    for (c, row) in row.chunks_exact(lanes.padded).take(lanes.head_width).enumerate() {
                        let out = out[c * channel..].iter_mut().step_by(head);
                        out.take(lanes.heads).zip(row).for_each(|(out, x)| *out = *x);
                    }
                }
            }
        }
    }
}
