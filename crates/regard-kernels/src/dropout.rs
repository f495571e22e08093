//! Dropout (Srivastava et al. 2014) with a mask that is a function of seed, row and column.
//!
//! No random state advances and no mask is stored: the backward pass, and any other
//! implementation, recomputes the same mask.

use pulp::Simd;

use crate::{buffer::Workspace, vector::add_assign};

/// Dropout: sets values to zero at random during training and scales the others by `1/(1 − rate)`.
///
/// The mask is a function of seed, row and column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability that a value is set to zero, in `[0, 1)`.
    pub rate: f32,
    /// Seed of the mask; it differs for every step and for every layer of the network.
    pub seed: u64,
}

/// Step between the random numbers of neighbouring columns of a row.
const COLUMN: u32 = 0x9e37_79b9;

/// Mixes all bits of `x` (the finaliser of MurmurHash3, Appleby).
#[inline(always)]
fn mix(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

impl Dropout {
    /// Factor of the value at a row and column: 0 where it is dropped, else 1/(1 − rate).
    #[inline(always)]
    pub fn factor(&self, row: usize, column: usize) -> f32 {
        self.sampler().factor(self.row(row), column)
    }

    /// [`Self::factor`] for every element of an array `[rows, columns]`.
    pub fn factors(&self, rows: usize, columns: usize) -> Vec<f32> {
        (0..rows).flat_map(|row| (0..columns).map(move |column| self.factor(row, column))).collect()
    }

    /// The constants that all rows share.
    #[inline(always)]
    pub(crate) fn sampler(&self) -> DropoutSampler {
        // 24 random bits are compared with the rate as integers, which is exact.
        let threshold = (self.rate * 16_777_216.0).ceil() as u32;
        DropoutSampler {
            seed: (self.seed >> 32) as u32,
            threshold: threshold << 8,
            keep_scale: 1.0 / (1.0 - self.rate),
        }
    }

    /// Random state of a row.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> u32 {
        mix((row as u32) ^ (self.seed as u32))
    }
}

/// The precomputed constants of a [`Dropout`]. The loops over slices below are plain, so that the
/// compiler vectorises them for the instruction set they are inlined into; `pulp` has no integer
/// product.
#[derive(Clone, Copy)]
pub(crate) struct DropoutSampler {
    seed: u32,
    threshold: u32,
    keep_scale: f32,
}

impl DropoutSampler {
    /// Factor of the values that are not dropped.
    pub(crate) fn keep_scale(&self) -> f32 {
        self.keep_scale
    }

    #[inline(always)]
    fn factor(&self, row: u32, column: usize) -> f32 {
        self.of(row, (column as u32).wrapping_mul(COLUMN))
    }

    #[inline(always)]
    fn of(&self, row: u32, column: u32) -> f32 {
        let bits = mix(row.wrapping_add(column) ^ self.seed);
        if bits < self.threshold { 0.0 } else { self.keep_scale }
    }

    /// Factors of the columns of a row, starting at column `first`.
    #[inline(always)]
    pub(crate) fn along_row(&self, row: u32, first: usize, factors: &mut [f32]) {
        let first = (first as u32).wrapping_mul(COLUMN).wrapping_add(row);
        for (factor, column) in factors.iter_mut().zip(0u32..) {
            *factor = self.of(first, column.wrapping_mul(COLUMN));
        }
    }

    /// Factors of one column in several rows.
    #[inline(always)]
    pub(crate) fn along_column(&self, rows: &[u32], column: usize, factors: &mut [f32]) {
        let column = (column as u32).wrapping_mul(COLUMN);
        for (factor, row) in factors.iter_mut().zip(rows) {
            *factor = self.of(*row, column);
        }
    }
}

/// Multiplies every row of `y [rows, width]` with its dropout factors and then adds the same row of
/// `x`, if given. The first row of `y` is row `first` of the array that dropout runs over.
#[inline(always)]
pub(crate) fn add_dropped<S: Simd>(
    simd: S,
    dropout: Option<Dropout>,
    first: usize,
    x: Option<&[f32]>,
    width: usize,
    y: &mut [f32],
) {
    if let Some(dropout) = dropout {
        let sampler = dropout.sampler();
        let mut factors = Workspace::lease(width);
        for (i, y) in y.chunks_exact_mut(width).enumerate() {
            sampler.along_row(dropout.row(first + i), 0, &mut factors);
            y.iter_mut().zip(factors.iter()).for_each(|(y, factor)| *y *= factor);
        }
    }
    if let Some(x) = x {
        add_assign(simd, x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_preserves_the_mean() {
        for (rate, seed) in [(0.0, 1), (0.1, 2), (0.5, 1 << 40), (0.9, 77)] {
            let dropout = Dropout { rate, seed };
            let all = (0..40_000).flat_map(|row| (0..8).map(move |column| dropout.factor(row, column)));
            let mean = all.map(f64::from).sum::<f64>() / 320_000.0;
            assert!((mean - 1.0).abs() < 0.02, "{rate}: {mean}");
        }
    }

    #[test]
    fn masks_differ_by_column_row_and_seed() {
        let draw = |seed, row, column| Dropout { rate: 0.5, seed }.factor(row, column) > 0.0;
        let row = |f: &dyn Fn(usize) -> bool| (0..256).map(f).collect::<Vec<_>>();
        let plain = row(&|i| draw(3, i, 0));
        for other in [row(&|i| draw(3, i, 1)), row(&|i| draw(4, i, 0)), row(&|i| draw(3 + (1 << 32), i, 0))] {
            let same = plain.iter().zip(&other).filter(|(x, y)| x == y).count();
            assert!((90..166).contains(&same), "{same} of 256");
        }
    }

    #[test]
    fn rows_and_columns_of_factors_agree_with_single_factors() {
        let dropout = Dropout { rate: 0.3, seed: 9 << 31 };
        let (sampler, rows) = (dropout.sampler(), [3, 4, 700].map(|row| dropout.row(row)));
        let (mut along_row, mut along_column) = ([0.0; 50], [0.0; 3]);
        sampler.along_row(rows[1], 7, &mut along_row);
        sampler.along_column(&rows, 11, &mut along_column);
        assert!(along_row.iter().enumerate().all(|(i, &factor)| factor == dropout.factor(4, 7 + i)));
        assert_eq!(along_column, [3, 4, 700].map(|row| dropout.factor(row, 11)));
        assert_eq!(dropout.factors(5, 9)[4 * 9 + 8], dropout.factor(4, 8));
    }
}
