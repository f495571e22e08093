//! Column statistics of a whole batch, merged from those of its blocks.

use super::{BatchStatistics, Norm, Rows};

/// Merges means and squared deviations of the blocks (`[blocks, 2, width]`) into statistics of the
/// batch (Chan, Golub & LeVeque 1979), in the order of the blocks.
pub(crate) fn batch_columns(rows: &Rows, blocks: &[f32]) -> BatchStatistics {
    let width = rows.width;
    let (mut mean, mut squares, mut count) = (vec![0f64; width], vec![0f64; width], 0f64);
    for (index, block) in blocks.chunks_exact((2 * width).max(1)).enumerate() {
        let here = rows.block().min(rows.rows() - index * rows.block()) as f64;
        let total = count + here;
        for j in 0..width {
            let delta = f64::from(block[j]) - mean[j];
            mean[j] += delta * here / total;
            squares[j] += f64::from(block[width + j]) + delta * delta * count * here / total;
        }
        count = total;
    }
    let variance = squares.iter().map(|s| (s / count.max(1.0)) as f32).collect();
    BatchStatistics { mean: mean.into_iter().map(|m| m as f32).collect(), variance, count: count as usize }
}

/// Adds the sums of the blocks (`[blocks, 2, width]`: gradient, gradient times normalised value) in order.
pub(crate) fn gradient_columns(width: usize, blocks: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let (mut plain, mut weighted) = (vec![0f64; width], vec![0f64; width]);
    for block in blocks.chunks_exact((2 * width).max(1)) {
        for j in 0..width {
            plain[j] += f64::from(block[j]);
            weighted[j] += f64::from(block[width + j]);
        }
    }
    (plain, weighted)
}

impl Norm<'_> {
    /// Mean and reciprocal standard deviation per column.
    pub(crate) fn columns(&self, statistics: Option<&BatchStatistics>) -> (Vec<f32>, Vec<f32>) {
        let (mean, variance) = match (statistics, self.running) {
            (Some(own), _) => (own.mean.as_slice(), own.variance.as_slice()),
            (None, Some(running)) => running,
            (None, None) => (&[][..], &[][..]),
        };
        let rstd = variance.iter().map(|v| (1.0 / (f64::from(*v) + f64::from(self.eps)).sqrt()) as f32).collect();
        (mean.to_vec(), rstd)
    }
}
