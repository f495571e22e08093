//! Standardisation of features: mean 0 and deviation 1.

use super::Bags;
use crate::{Error, Result};

/// Mean and deviation of each feature, learnt on training bags only.
///
/// A feature becomes `(x - mean) / deviation`. One that is the same in all training rows has a
/// deviation of 0 and becomes 0 everywhere. Values that are missing (NaN) stay so, and take no part in mean and
/// deviation.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardiser {
    /// `[features]`.
    mean: Vec<f64>,
    /// Square root of the mean square distance from the mean (divided by n), `[features]`.
    deviation: Vec<f64>,
}

impl Standardiser {
    /// Learns from all rows of these bags, each row counting the same.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the bags have no rows.
    ///
    /// # Panics
    /// If there is no such bag.
    ///
    /// ```
    /// use regard_data::sets::{Bags, FeatureNames, Standardiser};
    ///
    /// let mut bags = Bags::new(FeatureNames::Count(2), vec![1.0, 5.0, 3.0, 5.0, 4.0, 9.0], vec![0, 2, 3])?;
    /// let standardiser = Standardiser::learn(&bags, &[0])?;
    /// assert_eq!((standardiser.mean(), standardiser.deviation()), (&[2.0, 5.0][..], &[1.0, 0.0][..]));
    /// standardiser.apply(&mut bags)?;
    /// assert_eq!(bags.features(), [-1.0, 0.0, 1.0, 0.0, 2.0, 0.0]);
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn learn(bags: &Bags, training: &[usize]) -> Result<Self> {
        let rows: usize = training.iter().map(|&bag| bags.size(bag)).sum();
        if rows == 0 {
            return Err(Error::invalid("training bags", "have no rows"));
        }
        let width = bags.width();
        let all = || training.iter().flat_map(|&bag| bags.bag(bag).chunks_exact(width.max(1)));
        let (mut sum, mut counts) = (vec![0.0; width], vec![0usize; width]);
        let mut range = vec![(f32::INFINITY, f32::NEG_INFINITY); width];
        for row in all() {
            for (((sum, count), (low, high)), value) in sum.iter_mut().zip(&mut counts).zip(&mut range).zip(row) {
                if !value.is_nan() {
                    *sum += f64::from(*value);
                    *count += 1;
                    (*low, *high) = (low.min(*value), high.max(*value));
                }
            }
        }
        // Rounding of the sum must not give a constant feature a tiny deviation.
        let constant = |at: usize| range[at].0 >= range[at].1;
        let mean_of = |at: usize| match counts[at] {
            0 => 0.0,
            _ if constant(at) => f64::from(range[at].0),
            count => sum[at] / count as f64,
        };
        let mean: Vec<f64> = (0..width).map(mean_of).collect();
        let mut squares = vec![0.0; width];
        for row in all() {
            for ((square, mean), value) in squares.iter_mut().zip(&mean).zip(row) {
                if !value.is_nan() {
                    *square += (f64::from(*value) - mean).powi(2);
                }
            }
        }
        let deviation = squares.iter().zip(&counts).map(|(square, &count)| (square / count.max(1) as f64).sqrt());
        let deviation = deviation.collect();
        Self::from_arrays(mean, deviation)
    }

    /// The standardiser with these means and deviations, `[features]` each: the inverse of
    /// [`Standardiser::mean`] and [`Standardiser::deviation`].
    ///
    /// # Errors
    /// [`Error::Invalid`] when lengths differ, or a number is not finite or a deviation below 0.
    pub fn from_arrays(mean: Vec<f64>, deviation: Vec<f64>) -> Result<Self> {
        if mean.len() != deviation.len() {
            let reason = format!("has {} means and {} deviations", mean.len(), deviation.len());
            return Err(Error::invalid("standardiser", reason));
        }
        let wrong = |at: &usize| !mean[*at].is_finite() || !deviation[*at].is_finite() || deviation[*at] < 0.0;
        if let Some(at) = (0..mean.len()).find(wrong) {
            let reason = format!("feature {} has mean {} and deviation {}", at + 1, mean[at], deviation[at]);
            return Err(Error::invalid("standardiser", reason));
        }
        Ok(Self { mean, deviation })
    }

    /// Mean of each feature, `[features]`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Deviation of each feature, `[features]`; 0 for a constant one.
    #[must_use]
    pub fn deviation(&self) -> &[f64] {
        &self.deviation
    }

    /// Standardises all bags in place.
    ///
    /// # Errors
    /// As [`Self::standardised`].
    pub fn apply(&self, bags: &mut Bags) -> Result<()> {
        let features = self.standardised(bags)?;
        bags.features_mut().copy_from_slice(&features);
        Ok(())
    }

    /// The standardised features of all bags, `[rows, features]`. Values too far out for single precision are cut to its
    /// range.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the bags have another number of features.
    pub fn standardised(&self, bags: &Bags) -> Result<Vec<f32>> {
        if bags.width() != self.mean.len() {
            let reason = format!("has {} features, expected {}", bags.width(), self.mean.len());
            return Err(Error::invalid("bags", reason));
        }
        let width = self.mean.len().max(1);
        let mut features = bags.features().to_vec();
        for row in features.chunks_exact_mut(width) {
            for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *value = if value.is_nan() {
                    f32::NAN
                } else if *deviation > 0.0 {
                    let standard = (f64::from(*value) - mean) / deviation;
                    standard.clamp(f32::MIN.into(), f32::MAX.into()) as f32
                } else {
                    0.0
                };
            }
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::FeatureNames;

    #[test]
    fn constant_features_become_zero_although_sums_round() {
        let features: Vec<f32> = (0..1000).flat_map(|row| [0.1, row as f32]).collect();
        let mut bags = Bags::new(FeatureNames::Count(2), features, vec![0, 400, 1000]).unwrap();
        let standardiser = Standardiser::learn(&bags, &[0, 1]).unwrap();
        assert_eq!((standardiser.deviation()[0], standardiser.mean()[0]), (0.0, f64::from(0.1f32)));
        standardiser.apply(&mut bags).unwrap();
        assert!(bags.features().iter().step_by(2).all(|v| *v == 0.0));
        let sum: f64 = bags.features().iter().map(|v| f64::from(*v)).sum();
        assert!(sum.abs() < 1e-3, "{sum}");
    }

    #[test]
    fn missing_values_stay_missing_and_take_no_part() {
        let features = vec![1.0, f32::NAN, f32::NAN, f32::NAN, 3.0, f32::NAN];
        let mut bags = Bags::with_missing(FeatureNames::Count(2), features, vec![0, 3]).unwrap();
        let standardiser = Standardiser::learn(&bags, &[0]).unwrap();
        assert_eq!((standardiser.mean(), standardiser.deviation()), (&[2.0, 0.0][..], &[1.0, 0.0][..]));
        standardiser.apply(&mut bags).unwrap();
        let found: Vec<Option<f32>> = bags.features().iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
        assert_eq!(found, [Some(-1.0), None, None, None, Some(1.0), None]);
    }

    #[test]
    fn a_large_offset_keeps_its_digits() {
        let bags = Bags::new(FeatureNames::Count(1), vec![1e7, 1e7 + 1.0, 1e7 + 2.0], vec![0, 3]).unwrap();
        let standardiser = Standardiser::learn(&bags, &[0]).unwrap();
        assert!((standardiser.deviation()[0] - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_learnt_or_applied_is_refused() {
        let mut empty = Bags::new(FeatureNames::Count(1), vec![], vec![0, 0]).unwrap();
        let said = Standardiser::learn(&empty, &[0]).unwrap_err().to_string();
        assert_eq!(said, "training bags: have no rows");
        let two = Standardiser::from_arrays(vec![0.0; 2], vec![1.0; 2]).unwrap();
        assert_eq!(two.apply(&mut empty).unwrap_err().to_string(), "bags: has 1 features, expected 2");
        for (mean, deviation) in [(vec![0.0], vec![]), (vec![0.0], vec![-1.0]), (vec![f64::NAN], vec![1.0])] {
            assert!(Standardiser::from_arrays(mean, deviation).is_err());
        }
        let mut far = Bags::new(FeatureNames::Count(1), vec![f32::MAX], vec![0, 1]).unwrap();
        Standardiser::from_arrays(vec![0.0], vec![1e-9]).unwrap().apply(&mut far).unwrap();
        assert_eq!(far.features(), [f32::MAX]);
    }
}
