//! Baselines: predictions without a network.

use super::{Bags, Standardiser};
use crate::least_squares::LeastSquares;
use crate::{Error, Result, stats};

/// Ridge regression of the label of each row on its standardised features, as a scorer of rows.
///
/// Minimises `sum (w.x + b - y)^2 + penalty |w|^2` over the training rows; the intercept `b` is not
/// penalised. Features are standardised on the same rows; one that is missing counts as its mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Ridge {
    standardiser: Standardiser,
    weights: Vec<f64>,
    intercept: f64,
}

impl Ridge {
    /// The most features that are fitted: a square matrix of so many is 800 MB.
    const MOST_FEATURES: usize = 10_000;

    /// Fits the labels `targets` `[rows]` of all rows, by those of the training bags.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the training bags have no rows, there are not as many targets as rows,
    /// more than 10,000 features, or the penalty is not above 0.
    ///
    /// # Panics
    /// If there is no such bag.
    ///
    /// ```
    /// use regard_data::sets::baseline::Ridge;
    /// use regard_data::sets::{Bags, FeatureNames};
    ///
    /// let bags = Bags::new(FeatureNames::Count(1), vec![0.0, 1.0, 2.0, 3.0], vec![0, 3, 4])?;
    /// let ridge = Ridge::fit(&bags, &[0.0, 2.0, 4.0, 0.0], &[0], 1e-9)?;
    /// assert!((ridge.scores(&bags)?[3] - 6.0).abs() < 1e-6);
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn fit(bags: &Bags, targets: &[f64], training: &[usize], penalty: f64) -> Result<Self> {
        let width = bags.width();
        if targets.len() != bags.rows() || width > Self::MOST_FEATURES {
            let reason = format!("{} for {} rows of {width} features", targets.len(), bags.rows());
            return Err(Error::invalid("targets", format!("{reason}, expected one each and at most 10000 features")));
        }
        if !(penalty > 0.0 && penalty.is_finite()) {
            return Err(Error::invalid("penalty", format!("is {penalty}, expected a number above 0")));
        }
        let standardiser = Standardiser::learn(bags, training)?;
        let mut standard = bags.select(training);
        standardiser.apply(&mut standard)?;
        let labels: Vec<f64> =
            training.iter().flat_map(|&bag| &targets[bags.offsets()[bag]..bags.offsets()[bag + 1]]).copied().collect();
        // Standardised features have mean 0 but for rounding, which leaves the mean label to `b`.
        let intercept = stats::mean(&labels);
        let features: Vec<f64> = standard.features().iter().map(|&x| known(x)).collect();
        let centred: Vec<f64> = labels.iter().map(|label| label - intercept).collect();
        let mut equations = LeastSquares::new(width, 1);
        equations.add(&features, &centred);
        // Features that are all constant have no size to measure the penalty by, and the weight 0 by any.
        let size = equations.mean_square();
        let weights = equations.solve(if size > 0.0 { penalty / size } else { penalty })?;
        Ok(Self { standardiser, weights, intercept })
    }

    /// The score of each row, `[rows]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the bags have another number of features.
    pub fn scores(&self, bags: &Bags) -> Result<Vec<f64>> {
        let standard = self.standardiser.standardised(bags)?;
        let score =
            |row: &[f32]| self.intercept + row.iter().zip(&self.weights).map(|(x, w)| known(*x) * w).sum::<f64>();
        Ok(standard.chunks_exact(self.weights.len().max(1)).map(score).collect())
    }

    /// The weight of each standardised feature, `[features]`.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// A standardised feature, at its mean where it is missing.
fn known(feature: f32) -> f64 {
    if feature.is_nan() { 0.0 } else { f64::from(feature) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;
    use crate::sets::FeatureNames;

    #[test]
    fn a_line_is_found_and_constant_features_do_no_harm() {
        let mut draws = Draws::new(3);
        let features: Vec<f32> = (0..200).flat_map(|_| [draws.unit() as f32, 7.0, draws.normal()[0] as f32]).collect();
        let targets: Vec<f64> = features.chunks(3).map(|x| 1.0 + 2.0 * f64::from(x[0]) - f64::from(x[2])).collect();
        let bags = Bags::new(FeatureNames::Count(3), features, vec![0, 150, 200]).unwrap();
        let ridge = Ridge::fit(&bags, &targets, &[0], 1e-6).unwrap();
        let error = crate::metrics::mean_absolute_error(&ridge.scores(&bags).unwrap(), &targets);
        assert!(error < 1e-5, "{error}");
        assert_eq!(ridge.weights()[1], 0.0);
        let flat = Ridge::fit(&bags, &targets, &[0], 1e12).unwrap();
        assert!(flat.weights().iter().all(|w| w.abs() < 1e-6));
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        let bags = Bags::new(FeatureNames::Count(1), vec![1.0], vec![0, 1, 1]).unwrap();
        assert!(Ridge::fit(&bags, &[1.0], &[1], 1.0).is_err());
        assert!(Ridge::fit(&bags, &[], &[0], 1.0).is_err());
        assert!(Ridge::fit(&bags, &[1.0], &[0], 0.0).is_err());
        assert_eq!(Ridge::fit(&bags, &[3.0], &[0], 1.0).unwrap().scores(&bags).unwrap(), [3.0]);
    }
}
