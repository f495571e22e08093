//! Sums over the rows of each set of a ragged batch.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{simd, vector::column_sums};

/// Approximate number of rows in a task.
const ROWS: usize = 256;

struct Sums<'a> {
    /// Offsets of these sets.
    offsets: &'a [usize],
    x: &'a [f32],
    out: &'a mut [f32],
    width: usize,
}

impl WithSimd for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { offsets, x, out, width } = self;
        for (pair, out) in offsets.windows(2).zip(out.chunks_exact_mut(width)) {
            out.fill(0.0);
            column_sums(simd, &x[pair[0] * width..pair[1] * width], width, pair[1] - pair[0], out);
        }
    }
}

/// Number of sets in a task, so that it has about [`ROWS`] rows.
fn task(offsets: &[usize]) -> usize {
    let sets = offsets.len() - 1;
    let rows = offsets[sets] + sets;
    (sets * ROWS / rows.max(1)).clamp(1, sets.max(1))
}

/// Sums over the rows `offsets[s]..offsets[s + 1]` of `x [rows, width]`, `[sets, width]`; 0 for an empty set.
///
/// # Panics
/// If the offsets do not increase from 0 to the number of rows.
pub fn sums(offsets: &[usize], width: usize, x: &[f32]) -> Vec<f32> {
    check(offsets, width, x.len());
    let (sets, size) = (offsets.len() - 1, task(offsets));
    let mut out = vec![0.0; sets * width];
    out.par_chunks_mut((size * width).max(1)).enumerate().for_each(|(at, out)| {
        let offsets = &offsets[at * size..=(at * size + size).min(sets)];
        simd::run(Sums { offsets, x, out, width });
    });
    out
}

/// The gradient of [`sums`] for `grad [sets, width]`: every row receives the gradient of its set.
///
/// # Panics
/// If sizes do not match.
pub fn sums_backward(offsets: &[usize], width: usize, grad: &[f32]) -> Vec<f32> {
    let rows = offsets.last().copied().unwrap_or(0);
    assert_eq!(grad.len(), (offsets.len() - 1) * width, "sums: gradient");
    let mut out = vec![0.0; rows * width];
    for (pair, grad) in offsets.windows(2).zip(grad.chunks_exact(width.max(1))) {
        out[pair[0] * width..pair[1] * width].chunks_exact_mut(width).for_each(|row| row.copy_from_slice(grad));
    }
    out
}

fn check(offsets: &[usize], width: usize, len: usize) {
    assert!(offsets.first() == Some(&0) && offsets.is_sorted(), "sums: offsets increase from 0");
    assert_eq!(offsets.last().map(|rows| rows * width), Some(len), "sums: rows");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_for_sets_of_all_sizes() {
        let lengths = (0..1000).map(|at| [3, 0, 1, 40][at % 4]);
        let mut offsets = vec![0];
        lengths.for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let width = 19;
        let x: Vec<f32> = (0..offsets[1000] * width).map(|at| (at % 7) as f32).collect();
        let found = sums(&offsets, width, &x);
        for (set, pair) in offsets.windows(2).enumerate() {
            for column in 0..width {
                let expected: f32 = (pair[0]..pair[1]).map(|row| x[row * width + column]).sum();
                assert_eq!(found[set * width + column], expected, "{set} {column}");
            }
        }
        let back = sums_backward(&offsets, width, &found);
        for (set, pair) in offsets.windows(2).enumerate() {
            for row in pair[0]..pair[1] {
                assert_eq!(back[row * width..][..width], found[set * width..][..width]);
            }
        }
    }
}
