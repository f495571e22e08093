//! Statistics of a population, to be predicted from a sample of it.

use super::SetBatch;
use crate::random::Draws;
use crate::random::NumpyLegacy;

/// Samples of normal distributions, whose statistic is the target: Normal-var of L. Zhang et al., "Set
/// Norm and Equivariant Skip Connections: Putting the Deep in Deep Sets", 2022 (`synthetic_datasets.py`),
/// and the mean with it. Each coordinate has a mean uniform in [-10, 10] and a variance uniform in
/// [0, 10].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalSample {
    /// The target.
    pub statistic: Statistic,
    /// Independent coordinates of an element; the published code has 2.
    pub dimension: usize,
    /// Elements of a set; the published code has 500.
    pub size: usize,
}

/// A statistic of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The mean of the sample.
    Mean,
    /// The variance of the sample, divided by n.
    Variance,
}

impl NormalSample {
    /// The published task: the variance of 500 elements in each of 2 coordinates.
    #[must_use]
    pub fn variance() -> Self {
        Self { statistic: Statistic::Variance, dimension: 2, size: 500 }
    }

    /// A batch: elements `[size, dimension]`, the target is the statistic of each coordinate,
    /// `[dimension]`; 0 for the empty sample.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<Vec<f64>> {
        let mut draws = Draws::of_batch(seed, batch);
        SetBatch::draw(self.dimension, &vec![self.size; sets], |size, features| {
            let start = features.len();
            let distributions: Vec<(f64, f64)> =
                (0..self.dimension).map(|_| (draws.between(-10.0, 10.0), draws.between(0.0, 10.0).sqrt())).collect();
            for _ in 0..size {
                features.extend(
                    distributions.iter().map(|(mean, deviation)| (mean + deviation * draws.normal()[0]) as f32),
                );
            }
            (0..self.dimension).map(|at| self.statistic.of(&features[start..], at, self.dimension)).collect()
        })
    }
}

impl Statistic {
    fn of(self, features: &[f32], at: usize, dimension: usize) -> f64 {
        let values = || features.iter().skip(at).step_by(dimension).map(|v| f64::from(*v));
        let count = (features.len() / dimension).max(1) as f64;
        let mean = values().sum::<f64>() / count;
        match self {
            Self::Mean => mean,
            Self::Variance => values().map(|v| (v - mean).powi(2)).sum::<f64>() / count,
        }
    }
}

/// Samples of a rotated Gaussian in the plane, the entropy of whose first coordinate is the target (M.
/// Zaheer et al., "Deep Sets", 2017, section 4.1.1, task 1; `generate_task1_dataset.m`).
///
/// Elements are `R(angle) A z` with `z` standard normal, `R` the rotation by an angle and `A` the 2x2
/// matrix that is the same in all sets: the first four uniform numbers of the Mersenne Twister seeded
/// with 3, column by column, which is what MATLAB's `rng(3); rand(2)` gives. The angle is uniform in
/// [0, pi]; the published sets have angles in even steps over that range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotatedEntropy {
    /// Elements of a set; the published ones have 512.
    pub size: usize,
    /// The target.
    pub target: EntropyTarget,
}

/// The target of [`RotatedEntropy`], where `s` is the variance of the first coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntropyTarget {
    /// The entropy, `ln(2 pi e s) / 2`.
    Exact,
    /// The value of the published code, `ln(2 pi e s^2) / 2`: it takes the variance for a deviation.
    Repository,
}

impl RotatedEntropy {
    /// 512 elements and the exact entropy.
    #[must_use]
    pub fn exact() -> Self {
        Self { size: 512, target: EntropyTarget::Exact }
    }

    /// A batch: elements `[size, 2]`, the target is the entropy of the first coordinate in nats.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<f64> {
        let mut draws = Draws::of_batch(seed, batch);
        let factor = shared_factor();
        SetBatch::draw(2, &vec![self.size; sets], |size, features| {
            let angle = draws.between(0.0, std::f64::consts::PI);
            let rows = rotated(factor, angle);
            for _ in 0..size {
                let z = draws.normal();
                features.extend(rows.map(|row| (row[0] * z[0] + row[1] * z[1]) as f32));
            }
            self.target.of(rows[0][0].powi(2) + rows[0][1].powi(2))
        })
    }
}

impl EntropyTarget {
    fn of(self, variance: f64) -> f64 {
        let inside = match self {
            Self::Exact => variance,
            Self::Repository => variance * variance,
        };
        0.5 * libm::log(std::f64::consts::TAU * std::f64::consts::E * inside)
    }
}

/// `A`, row by row.
fn shared_factor() -> [[f64; 2]; 2] {
    let mut random = NumpyLegacy::new(3);
    let [a, b, c, d] = [(); 4].map(|()| random.uniform());
    [[a, c], [b, d]]
}

/// `R(angle) A`, row by row.
fn rotated(a: [[f64; 2]; 2], angle: f64) -> [[f64; 2]; 2] {
    let (cos, sin) = (libm::cos(angle), libm::sin(angle));
    [0, 1].map(|row| {
        [0, 1].map(|at| if row == 0 { cos * a[0][at] - sin * a[1][at] } else { sin * a[0][at] + cos * a[1][at] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Summary, mean};

    #[test]
    fn variances_are_those_of_the_sample() {
        let drawn = NormalSample::variance().batch(1, 0, 400);
        assert_eq!((drawn.width, drawn.set(0).len()), (2, 1000));
        let set: Vec<f64> = drawn.set(7).iter().step_by(2).map(|v| f64::from(*v)).collect();
        let summary = Summary::of(&set);
        assert!((summary.standard_deviation.powi(2) * 499.0 / 500.0 - drawn.targets[7][0]).abs() < 1e-9);
        let targets: Vec<f64> = drawn.targets.iter().flatten().copied().collect();
        assert!((mean(&targets) - 5.0).abs() < 0.4, "{}", mean(&targets));
        let means = NormalSample { statistic: Statistic::Mean, dimension: 1, size: 50 }.batch(1, 0, 2000);
        let summary = Summary::of(&means.targets.concat());
        assert!(summary.mean.abs() < 0.5 && (summary.standard_deviation - 5.8).abs() < 0.2, "{summary:?}");
        assert_eq!(NormalSample { size: 0, ..NormalSample::variance() }.batch(1, 0, 1).targets, [[0.0, 0.0]]);
    }

    #[test]
    fn the_entropy_is_that_of_the_first_coordinate() {
        assert!(
            (shared_factor()[0][0] - 0.550_797_9).abs() < 1e-6 && (shared_factor()[1][0] - 0.708_147_8).abs() < 1e-6
        );
        let drawn = RotatedEntropy { size: 20_000, target: EntropyTarget::Exact }.batch(1, 0, 20);
        for set in 0..20 {
            let first: Vec<f64> = drawn.set(set).iter().step_by(2).map(|v| f64::from(*v)).collect();
            let variance = Summary::of(&first).standard_deviation.powi(2);
            assert!((EntropyTarget::Exact.of(variance) - drawn.targets[set]).abs() < 0.03);
            // Half a logarithm of the variance more than the entropy.
            let published = EntropyTarget::Repository.of(variance) - EntropyTarget::Exact.of(variance);
            assert!((published - 0.5 * variance.ln()).abs() < 1e-12);
        }
    }
    #[test]
    fn the_numbers_never_change() {
        let sample = NormalSample::variance().batch(1234, 5, 1);
        assert_eq!(
            (&sample.features[..2], sample.targets[0][1]),
            (&[-0.777_155_3, 7.409_548_8][..], 2.721_557_950_223_356_7)
        );
        let rotated = RotatedEntropy::exact().batch(1234, 5, 1);
        assert_eq!((rotated.features[0], rotated.targets[0]), (-0.010_382_518, 1.385_914_017_252_782));
    }
}
