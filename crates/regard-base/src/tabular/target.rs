//! Targets: a class or a number of every example.

use std::collections::HashSet;

use regard_data::split::{folds, group_folds, stratified_folds};
use regard_data::{Error, Result};

/// The target of every example.
///
/// ```
/// use regard_base::tabular::Target;
///
/// let target = Target::Classes { of: vec![0, 1, 1], count: 2 };
/// assert_eq!((target.len(), target.outputs()), (3, 2));
/// assert!(Target::Numbers(vec![f64::NAN]).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One of `count` classes of every example.
    Classes {
        /// The class of each example, below `count`.
        of: Vec<usize>,
        /// The number of classes; at least 2.
        count: usize,
    },
    /// A number of every example.
    Numbers(Vec<f64>),
}

impl Target {
    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { of, .. } => of.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// If true, there are no examples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers a prediction consists of: a probability of every class, or one number.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            Self::Classes { count, .. } => *count,
            Self::Numbers(_) => 1,
        }
    }

    /// The targets of these examples.
    ///
    /// # Panics
    /// If there is no such example.
    #[must_use]
    pub fn of(&self, examples: &[usize]) -> Self {
        match self {
            Self::Classes { of, count } => {
                Self::Classes { of: examples.iter().map(|at| of[*at]).collect(), count: *count }
            }
            Self::Numbers(numbers) => Self::Numbers(examples.iter().map(|at| numbers[*at]).collect()),
        }
    }

    /// Checks the target.
    ///
    /// # Errors
    /// [`Error::Invalid`] for fewer than two classes, a class that does not exist, a number that is not finite.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Classes { count, .. } if *count < 2 => {
                Err(Error::invalid("target", format!("{count} classes, expected at least 2")))
            }
            Self::Classes { of, count } => match of.iter().position(|class| class >= count) {
                Some(at) => {
                    let reason = format!("class {} of example {at}, expected one below {count}", of[at]);
                    Err(Error::invalid("target", reason))
                }
                None => Ok(()),
            },
            // The mean square of larger numbers would overflow.
            Self::Numbers(numbers) => match numbers.iter().position(|number| number.abs() > 1e100 || number.is_nan()) {
                Some(at) => {
                    let reason = format!("{} of example {at}, expected a finite number below 1e100", numbers[at]);
                    Err(Error::invalid("target", reason))
                }
                None => Ok(()),
            },
        }
    }

    /// The number of examples of each class; empty for numbers.
    #[must_use]
    pub fn class_counts(&self) -> Vec<usize> {
        let Self::Classes { of, count } = self else { return Vec::new() };
        let mut counts = vec![0; *count];
        of.iter().for_each(|class| counts[*class] += 1);
        counts
    }

    /// The mean loss of predictions `[rows, outputs]`: log loss for classes, squared error for numbers. NaN where
    /// there are no rows.
    ///
    /// # Panics
    /// If the number of rows differs.
    #[must_use]
    pub fn loss(&self, predictions: &[f64]) -> f64 {
        let losses = self.losses(predictions);
        losses.iter().sum::<f64>() / losses.len() as f64
    }

    /// The loss of every row, for predictions `[rows, outputs]`.
    pub(crate) fn losses(&self, predictions: &[f64]) -> Vec<f64> {
        assert_eq!(predictions.len(), self.len() * self.outputs(), "predictions of every example");
        match self {
            Self::Classes { of, count } => {
                of.iter().zip(predictions.chunks(*count)).map(|(class, p)| -p[*class].max(LEAST).ln()).collect()
            }
            Self::Numbers(numbers) => numbers.iter().zip(predictions).map(|(y, p)| (y - p).powi(2)).collect(),
        }
    }

    /// The prediction that knows no features: class frequencies (with one more example of each class, so that none
    /// is impossible), or the mean.
    pub(crate) fn prior(&self, weights: &[f64]) -> Vec<f64> {
        match self {
            Self::Classes { of, count } => {
                let mut shares = vec![1.0; *count];
                of.iter().zip(weights).for_each(|(class, weight)| shares[*class] += weight);
                let all: f64 = shares.iter().sum();
                shares.into_iter().map(|share| share / all).collect()
            }
            Self::Numbers(numbers) => {
                let all: f64 = weights.iter().sum();
                let sum: f64 = numbers.iter().zip(weights).map(|(number, weight)| number * weight).sum();
                vec![if all > 0.0 { sum / all } else { 0.0 }]
            }
        }
    }

    /// Cuts the examples into at most `k` folds, with the same share of each class, or where there are `groups`, without
    /// cutting any of them.
    pub(crate) fn folds(&self, groups: Option<&[u64]>, k: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
        if let Some(groups) = groups {
            let distinct: HashSet<u64> = groups.iter().copied().collect();
            return group_folds(groups, k.min(distinct.len()), seed);
        }
        match self {
            Self::Classes { of, .. } => stratified_folds(of, k.min(of.len()), seed),
            Self::Numbers(numbers) => folds(numbers.len(), k.min(numbers.len()), seed),
        }
    }
}

/// The least probability a log loss is computed with.
pub(crate) const LEAST: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_target_is_refused() {
        assert!(Target::Classes { of: vec![0, 2], count: 2 }.check().is_err());
        assert!(Target::Classes { of: vec![0, 0], count: 1 }.check().is_err());
        assert!(Target::Numbers(vec![1.0, f64::INFINITY]).check().is_err());
        assert!(Target::Numbers(vec![1.0, -1e30]).check().is_ok());
    }

    #[test]
    fn losses_by_hand() {
        let target = Target::Classes { of: vec![1, 0], count: 2 };
        assert!((target.loss(&[0.5, 0.5, 1.0, 0.0]) - 0.5f64.ln().abs() / 2.0).abs() < 1e-12);
        assert_eq!(Target::Numbers(vec![1.0]).loss(&[3.0]), 4.0);
    }
}
