//! Mixtures of Gaussians: likelihoods of sets of points, expectation maximisation, assignment. All in
//! `f64`.
//!
//! Components have diagonal covariances; an isotropic one has the same deviation in every dimension.
//! Sets of points are flat, `[points, dimension]` row-major, of `f32` or `f64`.

mod em;
#[cfg(test)]
mod tests;

pub use self::em::{Covariance, Em, Refined};

use crate::{Error, Result};

/// A mixture of Gaussians with diagonal covariances.
///
/// ```
/// use regard_data::sets::mixture::{LogWeights, Mixture};
///
/// let one = Mixture::isotropic(vec![1.0], vec![0.0, 0.0], &[1.0])?;
/// let at_mean = one.mean_log_likelihood(&[0.0f32, 0.0], LogWeights::Exact);
/// assert!((at_mean + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-12);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    weights: Vec<f64>,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// The logarithm of a weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogWeights {
    /// `ln w`; a component of weight 0 has no part in anything.
    #[default]
    Exact,
    /// `ln (w + 1e-10)`, as the code of Lee et al., "Set Transformer", 2019 (`mixture_of_mvns.py`).
    Repository,
}

impl LogWeights {
    fn of(self, weight: f64) -> f64 {
        match self {
            Self::Exact => weight.ln(),
            Self::Repository => (weight + 1e-10).ln(),
        }
    }
}

impl Mixture {
    /// The mixture with these weights `[k]`, means `[k, dimension]` and deviations `[k, dimension]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no component, lengths do not fit, a number is not finite, a
    /// weight is below 0 or a deviation not above 0, or the weights do not add up to 1 within 0.001.
    pub fn new(weights: Vec<f64>, means: Vec<f64>, deviations: Vec<f64>) -> Result<Self> {
        let wrong = |reason: String| Err(Error::invalid("mixture", reason));
        let k = weights.len();
        if k == 0 || means.is_empty() || !means.len().is_multiple_of(k) || deviations.len() != means.len() {
            return wrong(format!("has {k} weights, {} means and {} deviations", means.len(), deviations.len()));
        }
        if means.iter().any(|v| !v.is_finite()) {
            return wrong("has a mean that is not finite".into());
        }
        if let Some(deviation) = deviations.iter().find(|v| !v.is_finite() || **v <= 0.0) {
            return wrong(format!("has the deviation {deviation}, expected a number above 0"));
        }
        let sum: f64 = weights.iter().sum();
        if weights.iter().any(|w| !(0.0..=1.001).contains(w)) || (sum - 1.0).abs() > 1e-3 {
            return wrong(format!("has weights that add up to {sum}, expected weights from 0 to 1 that add up to 1"));
        }
        Ok(Self { weights, means, deviations })
    }

    /// The mixture with one deviation for each component, `[k]`.
    ///
    /// # Errors
    /// Those of [`Mixture::new`].
    pub fn isotropic(weights: Vec<f64>, means: Vec<f64>, deviations: &[f64]) -> Result<Self> {
        let dimension = means.len() / weights.len().max(1);
        let all = deviations.iter().flat_map(|deviation| std::iter::repeat_n(*deviation, dimension)).collect();
        Self::new(weights, means, all)
    }

    /// The mixture of the points `factor · x + offset`, when this is that of the points `x`; a factor and
    /// an offset for each dimension.
    ///
    /// # Errors
    /// Those of [`Mixture::new`], for factors not above 0 or offsets that are no numbers.
    pub fn moved(&self, factor: &[f64], offset: &[f64]) -> Result<Self> {
        let by_axis = || factor.iter().zip(offset).cycle();
        let means = self.means.iter().zip(by_axis()).map(|(mean, (factor, offset))| mean * factor + offset).collect();
        let deviations = self.deviations.iter().zip(by_axis()).map(|(deviation, (factor, _))| deviation * factor);
        Self::new(self.weights.clone(), means, deviations.collect())
    }

    /// The number of components.
    #[must_use]
    pub fn components(&self) -> usize {
        self.weights.len()
    }

    /// The number of coordinates of a point.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.means.len() / self.weights.len()
    }

    /// Weights, `[k]`.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Means, `[k, dimension]`.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Standard deviations, `[k, dimension]`.
    #[must_use]
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// Mean over the points of the logarithm of their density; NaN for the empty set.
    ///
    /// With the parameters that a set was drawn from, this is the oracle of that set.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    #[must_use]
    pub fn mean_log_likelihood<P: Copy + Into<f64>>(&self, points: &[P], log_weights: LogWeights) -> f64 {
        let densities = Densities::of(self, log_weights);
        let mut logs = vec![0.0; self.components()];
        let rows = self.rows(points);
        let count = rows.len() as f64;
        rows.map(|point| densities.at(point, &mut logs)).sum::<f64>() / count
    }

    /// The component that each point most probably came from, the first of equals: `[points]`.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    #[must_use]
    pub fn assign<P: Copy + Into<f64>>(&self, points: &[P], log_weights: LogWeights) -> Vec<usize> {
        let densities = Densities::of(self, log_weights);
        let mut logs = vec![0.0; self.components()];
        let likeliest = |point: &[P]| {
            densities.at(point, &mut logs);
            (1..logs.len()).fold(0, |best, k| if logs[k] > logs[best] { k } else { best })
        };
        self.rows(points).map(likeliest).collect()
    }

    /// The probability of each component at each point, `[points, k]`; NaN where the density of all is 0.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    #[must_use]
    pub fn responsibilities<P: Copy + Into<f64>>(&self, points: &[P], log_weights: LogWeights) -> Vec<f64> {
        let densities = Densities::of(self, log_weights);
        let mut logs = vec![0.0; self.components()];
        let of_point = |point: &[P]| {
            let whole = densities.at(point, &mut logs);
            logs.iter().map(|log| (log - whole).exp()).collect::<Vec<_>>()
        };
        self.rows(points).flat_map(of_point).collect()
    }

    fn rows<'p, P>(&self, points: &'p [P]) -> std::slice::ChunksExact<'p, P> {
        let dimension = self.dimension();
        assert_eq!(points.len() % dimension, 0, "coordinates of whole points");
        points.chunks_exact(dimension)
    }
}

/// A mixture prepared for many points.
struct Densities<'m> {
    mixture: &'m Mixture,
    /// Logarithm of weight and normalisation of each component.
    constants: Vec<f64>,
}

impl<'m> Densities<'m> {
    fn of(mixture: &'m Mixture, log_weights: LogWeights) -> Self {
        let dimension = mixture.dimension();
        let half_log_tau = 0.5 * std::f64::consts::TAU.ln() * dimension as f64;
        let constant = |(weight, deviations): (&f64, &[f64])| {
            log_weights.of(*weight) - half_log_tau - deviations.iter().map(|d| d.ln()).sum::<f64>()
        };
        let constants = mixture.weights.iter().zip(mixture.deviations.chunks_exact(dimension)).map(constant).collect();
        Self { mixture, constants }
    }

    /// The logarithm of the density at a point; `logs` becomes its parts by component, `[k]`.
    fn at<P: Copy + Into<f64>>(&self, point: &[P], logs: &mut [f64]) -> f64 {
        let dimension = point.len();
        let means = self.mixture.means.chunks_exact(dimension);
        let components = self.constants.iter().zip(means.zip(self.mixture.deviations.chunks_exact(dimension)));
        for (log, (constant, (means, deviations))) in logs.iter_mut().zip(components) {
            let parts = point.iter().zip(means).zip(deviations);
            let squares: f64 = parts.map(|((x, mean), deviation)| (((*x).into() - mean) / deviation).powi(2)).sum();
            *log = constant - 0.5 * squares;
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln()
    }
}
