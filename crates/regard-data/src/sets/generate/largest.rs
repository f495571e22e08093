//! Max regression: the largest of a few numbers.

use super::{SetBatch, Sizes};
use crate::random::Draws;

/// Sets of numbers, whose largest is the target (J. Lee et al., "Set Transformer", 2019, section 5.1).
/// The empty set, where sizes allow it, has the target 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRegression {
    /// The number of numbers of a set.
    pub sizes: Sizes,
    /// The distribution of the numbers.
    pub values: Values,
}

/// The numbers of [`MaxRegression`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Reals from 0 to 100, uniform.
    Reals,
    /// Integers from 1 to 99, uniform.
    WholeNumbers,
}

impl MaxRegression {
    /// As the paper's supplement: 1 to 10 reals, another number of them in each set.
    #[must_use]
    pub fn paper() -> Self {
        Self { sizes: Sizes::PerSet(1, 10), values: Values::Reals }
    }

    /// As the notebook of the repository: 1 to 10 integers, as many in all sets of a batch.
    #[must_use]
    pub fn notebook() -> Self {
        Self { sizes: Sizes::PerBatch(1, 10), values: Values::WholeNumbers }
    }

    /// A batch: elements `[n, 1]`, the target is the largest.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<f64> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        SetBatch::draw(1, &sizes, |size, features| {
            let start = features.len();
            features.extend((0..size).map(|_| match self.values {
                Values::Reals => draws.between(0.0, 100.0) as f32,
                Values::WholeNumbers => 1.0 + draws.below(99) as f32,
            }));
            features[start..].iter().copied().fold(0.0, f32::max).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean;

    #[test]
    fn reals_have_the_expected_maximum() {
        // The mean over n of 100 n / (n + 1).
        let expected = (1..=10).map(|n| 100.0 * f64::from(n) / f64::from(n + 1)).sum::<f64>() / 10.0;
        let batch = MaxRegression::paper().batch(1, 0, 20_000);
        assert!((mean(&batch.targets) - expected).abs() < 0.6, "{}", mean(&batch.targets));
        assert!(batch.features.iter().all(|x| (0.0..=100.0).contains(x)));
    }

    #[test]
    fn whole_numbers_are_1_to_99_and_sets_of_a_batch_alike() {
        let batch = MaxRegression::notebook().batch(1, 3, 5000);
        assert!(batch.features.iter().all(|x| x.fract() == 0.0 && (1.0..=99.0).contains(x)));
        assert!([1.0, 99.0].iter().all(|x| batch.features.contains(x)));
        assert!(batch.offsets.windows(2).all(|pair| pair[1] - pair[0] == batch.offsets[1]));
    }

    #[test]
    fn the_numbers_never_change() {
        let batch = MaxRegression::paper().batch(1234, 5, 2);
        assert_eq!((&batch.offsets[..], &batch.features[..2]), (&[0, 6, 16][..], &[90.06117, 23.641638][..]));
        let notebook = MaxRegression::notebook().batch(1234, 5, 1);
        assert_eq!(notebook.features, [94.0, 90.0, 24.0, 91.0, 6.0, 43.0]);
        assert_ne!(batch, MaxRegression::paper().batch(1234, 6, 2));
        assert_ne!(batch, MaxRegression::paper().batch(1235, 5, 2));
    }
}
