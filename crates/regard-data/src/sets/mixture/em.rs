//! Expectation maximisation.

use super::{Densities, LogWeights, Mixture};
use crate::random::Draws;
use crate::{Error, Result};

/// The form of covariances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Covariance {
    /// One for each dimension.
    #[default]
    Diagonal,
    /// One for all dimensions of a component.
    Isotropic,
}

/// Settings of expectation maximisation.
///
/// A step never lowers the likelihood of the points, if the mixture it starts from has no deviation
/// below the floor and logarithms of weights are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Em {
    /// The form of covariances.
    pub covariance: Covariance,
    /// No deviation gets smaller than this, in units of the points, so that no component collapses
    /// onto a single point.
    pub floor: f64,
    /// The form in which weights enter the responsibilities.
    pub log_weights: LogWeights,
}

impl Default for Em {
    /// Diagonal covariances, a floor of 0.001, exact weights.
    fn default() -> Self {
        Self { covariance: Covariance::Diagonal, floor: 1e-3, log_weights: LogWeights::Exact }
    }
}

/// The result of [`Em::refine`].
#[derive(Debug, Clone, PartialEq)]
pub struct Refined {
    /// The mixture after the last step.
    pub mixture: Mixture,
    /// Its mean log-likelihood of a point.
    pub mean_log_likelihood: f64,
    /// Steps that were done.
    pub steps: usize,
}

impl Em {
    /// The mixture after one step: responsibilities from the given one, then weights, means and
    /// deviations weighted by them. The published "one EM step" of a predicted mixture is this with
    /// [`LogWeights::Repository`].
    ///
    /// A component that no point has a part in keeps its mean and deviation, with weight 0; the empty
    /// set leaves everything as it is.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    #[must_use]
    pub fn step<P: Copy + Into<f64>>(&self, mixture: &Mixture, points: &[P]) -> Mixture {
        if points.is_empty() {
            return mixture.clone();
        }
        self.maximise(mixture, points, &self.responsibilities(mixture, points))
    }

    /// Steps until the mean log-likelihood rises by less than `tolerance`, at most so many.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    #[must_use]
    pub fn refine<P: Copy + Into<f64>>(&self, from: &Mixture, points: &[P], steps: usize, tolerance: f64) -> Refined {
        let mut mixture = from.clone();
        mixture.deviations.iter_mut().for_each(|deviation| *deviation = deviation.max(self.least()));
        let mut reached = mixture.mean_log_likelihood(points, self.log_weights);
        for step in 0..steps {
            mixture = self.step(&mixture, points);
            let likelihood = mixture.mean_log_likelihood(points, self.log_weights);
            let rise = likelihood - reached;
            reached = likelihood;
            if rise.is_nan() || rise < tolerance {
                return Refined { mixture, mean_log_likelihood: reached, steps: step + 1 };
            }
        }
        Refined { mixture, mean_log_likelihood: reached, steps }
    }

    /// Plain expectation maximisation from k-means++ centres (D. Arthur and S. Vassilvitskii, 2007), the
    /// best of some starts: at most 200 steps each, until the mean log-likelihood rises by less than
    /// 1e-7.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are no points, no components or no starts.
    ///
    /// # Panics
    /// If there are coordinates of a part of a point.
    ///
    /// ```
    /// use regard_data::sets::mixture::Em;
    ///
    /// let points = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2];
    /// let fitted = Em::default().fit(&points, 1, 2, 7, 3)?;
    /// let mut means = fitted.mixture.means().to_vec();
    /// means.sort_by(f64::total_cmp);
    /// assert!((means[0] - 0.1).abs() < 1e-6 && (means[1] - 5.1).abs() < 1e-6);
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn fit<P: Copy + Into<f64>>(
        &self,
        points: &[P],
        dimension: usize,
        components: usize,
        seed: u64,
        starts: usize,
    ) -> Result<Refined> {
        const STEPS: usize = 200;
        const TOLERANCE: f64 = 1e-7;
        if points.is_empty() || dimension == 0 || components == 0 || starts == 0 {
            let reason = format!(
                "{components} components, {} points, {starts} starts: expected at least one each",
                points.len()
            );
            return Err(Error::invalid("clustering", reason));
        }
        assert_eq!(points.len() % dimension, 0, "coordinates of whole points");
        let mut draws = Draws::new(seed);
        let mut from_a_start = || {
            let start = plus_plus(points, dimension, components, self.least(), &mut draws);
            self.refine(&start, points, STEPS, TOLERANCE)
        };
        let mut best = from_a_start();
        for _ in 1..starts {
            let other = from_a_start();
            if other.mean_log_likelihood > best.mean_log_likelihood {
                best = other;
            }
        }
        Ok(best)
    }

    /// A floor of 0 still keeps deviations above it.
    fn least(&self) -> f64 {
        self.floor.max(f64::MIN_POSITIVE)
    }

    /// The part of each component in each point, `[points, k]`.
    fn responsibilities<P: Copy + Into<f64>>(&self, mixture: &Mixture, points: &[P]) -> Vec<f64> {
        let densities = Densities::of(mixture, self.log_weights);
        let rows = mixture.rows(points);
        let mut parts = vec![0.0; rows.len() * mixture.components()];
        for (point, parts) in rows.zip(parts.chunks_exact_mut(mixture.components())) {
            let all = densities.at(point, parts);
            parts.iter_mut().for_each(|part| *part = if all.is_finite() { (*part - all).exp() } else { 0.0 });
        }
        parts
    }

    fn maximise<P: Copy + Into<f64>>(&self, old: &Mixture, points: &[P], parts: &[f64]) -> Mixture {
        let (k, dimension) = (old.components(), old.dimension());
        let mut mixture = old.clone();
        let all: f64 = parts.iter().sum();
        for component in 0..k {
            let weighted = || points.chunks_exact(dimension).zip(parts.iter().skip(component).step_by(k));
            let share: f64 = weighted().map(|(_, part)| part).sum();
            mixture.weights[component] = if all > 0.0 { share / all } else { old.weights[component] };
            // The smallest normal number: a quotient by less loses its digits.
            if share < f64::MIN_POSITIVE {
                continue;
            }
            let means = &mut mixture.means[component * dimension..(component + 1) * dimension];
            for (at, mean) in means.iter_mut().enumerate() {
                *mean = weighted().map(|(point, part)| part * point[at].into()).sum::<f64>() / share;
            }
            let mut variances = vec![0.0; dimension];
            for (at, variance) in variances.iter_mut().enumerate() {
                let square = |(point, part): (&[P], &f64)| part * (point[at].into() - means[at]).powi(2);
                *variance = weighted().map(square).sum::<f64>() / share;
            }
            if self.covariance == Covariance::Isotropic {
                let mean = variances.iter().sum::<f64>() / dimension as f64;
                variances.fill(mean);
            }
            let deviations = &mut mixture.deviations[component * dimension..(component + 1) * dimension];
            deviations.iter_mut().zip(variances).for_each(|(deviation, v)| *deviation = v.sqrt().max(self.least()));
        }
        mixture
    }
}

/// Centres by k-means++: each the farther from those before it, the more probable. Weights are the
/// shares of points nearest to each; all components have the deviations that these points have from
/// their centres, so that no component begins on a single point.
pub(super) fn plus_plus<P: Copy + Into<f64>>(
    points: &[P],
    dimension: usize,
    components: usize,
    floor: f64,
    draws: &mut Draws,
) -> Mixture {
    let points: Vec<f64> = points.iter().map(|x| (*x).into()).collect();
    let count = points.len() / dimension;
    let point = |at: usize| &points[at * dimension..(at + 1) * dimension];
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut means: Vec<f64> = point(draws.index(count)).to_vec();
    let mut nearest: Vec<(f64, usize)> = (0..count).map(|at| (square(point(at), &means), 0)).collect();
    for component in 1..components {
        let centre = point(chosen(&nearest, draws)).to_vec();
        for (at, near) in nearest.iter_mut().enumerate() {
            let distance = square(point(at), &centre);
            if distance < near.0 {
                *near = (distance, component);
            }
        }
        means.extend(centre);
    }
    let mut weights = vec![0.0; components];
    let mut variances = vec![0.0; dimension];
    for (at, (_, component)) in nearest.iter().enumerate() {
        weights[*component] += 1.0 / count as f64;
        let centre = &means[component * dimension..(component + 1) * dimension];
        let parts = variances.iter_mut().zip(point(at).iter().zip(centre));
        parts.for_each(|(variance, (x, mean))| *variance += (x - mean).powi(2) / count as f64);
    }
    // Components on the same place as another begin with a little weight instead of none.
    let least = 0.01 / components as f64;
    weights.iter_mut().for_each(|w| *w = w.max(least));
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    let deviations: Vec<f64> = variances.iter().map(|v| v.sqrt().max(floor)).collect();
    Mixture { weights, means, deviations: deviations.repeat(components) }
}

/// A point with a probability in proportion to its square distance.
fn chosen(nearest: &[(f64, usize)], draws: &mut Draws) -> usize {
    let sum: f64 = nearest.iter().map(|(distance, _)| distance).sum();
    if sum <= 0.0 || !sum.is_finite() {
        return draws.index(nearest.len());
    }
    let mut left = draws.unit() * sum;
    for (at, (distance, _)) in nearest.iter().enumerate() {
        left -= distance;
        if left < 0.0 {
            return at;
        }
    }
    nearest.len() - 1
}
