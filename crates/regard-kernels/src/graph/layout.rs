
use pulp::{Simd, WithSimd};

use super::{lanes::Lanes, rows::scaled};
use crate::vector::{scale, split, split_mut};

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
    pub(super) fn laid<'s, S: Simd>(&self, simd: S, rows: &'s [f32], scratch: &'s mut [f32]) -> &'s [f32] {
        if self.native() {
            return rows;
        }
        let laid = &mut scratch[..rows.len() / self.width() * self.row()];
        self.rearrange(simd, rows, laid);
        laid
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
fn transpose<const H: usize, const C: usize>(row: &[f32], out: &mut [f32]) {
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
            (false, 8, 8) => rows.for_each(|(row, out)| transpose::<8, 8>(row, out)),
            (false, 8, 10) => rows.for_each(|(row, out)| transpose::<8, 10>(row, out)),
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
            (false, 8, 8) => rows.for_each(|(row, out)| transpose::<8, 8>(row, out)),
            (false, 8, 10) => rows.for_each(|(row, out)| transpose::<10, 8>(row, out)),
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
