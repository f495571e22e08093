//! Sets drawn from a seed: the generated tasks of the Set Transformer and Deep Sets papers.
//!
//! Batches are streams: batch `i` is a function of the seed and of `i`, drawn from a generator of its
//! own (PCG XSL RR 128/64), so that training goes on after an interruption with exactly the sets it
//! would have seen. The numbers are the same on every machine.
//!
//! ```
//! use regard_data::sets::generate::MaxRegression;
//!
//! let batch = MaxRegression::paper().batch(7, 1000, 128);
//! assert_eq!(batch, MaxRegression::paper().batch(7, 1000, 128));
//! let largest = batch.set(5).iter().copied().fold(0.0, f32::max);
//! assert_eq!(batch.targets[5], f64::from(largest));
//! ```

mod digits;
mod largest;
mod mixtures;
mod population;
mod shapes;

pub use self::digits::{DigitSum, Digits, OddOneOut};
pub use self::largest::{MaxRegression, Values};
pub use self::mixtures::{Mixtures, Truth};
pub use self::population::{EntropyTarget, NormalSample, RotatedEntropy, Statistic};
pub use self::shapes::{Shape, Shapes};

use crate::random::Draws;

/// Sets of any size, each with a target.
#[derive(Debug, Clone, PartialEq)]
pub struct SetBatch<T> {
    /// Features of an element.
    pub width: usize,
    /// `[elements of all sets, width]`, row-major.
    pub features: Vec<f32>,
    /// Where sets begin and the last ends, `[sets + 1]`.
    pub offsets: Vec<usize>,
    /// One for each set.
    pub targets: Vec<T>,
}

impl<T> SetBatch<T> {
    /// The number of sets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// If true, there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The elements of a set, `[elements, width]`.
    ///
    /// # Panics
    /// If there is no such set.
    #[must_use]
    pub fn set(&self, at: usize) -> &[f32] {
        &self.features[self.offsets[at] * self.width..self.offsets[at + 1] * self.width]
    }

    /// Draws sets of these sizes one after the other: `fill` pushes the elements of a set and gives its
    /// target.
    fn draw(width: usize, sizes: &[usize], mut fill: impl FnMut(usize, &mut Vec<f32>) -> T) -> Self {
        let elements: usize = sizes.iter().sum();
        let mut drawn = Self {
            width,
            features: Vec::with_capacity(elements * width),
            offsets: vec![0],
            targets: Vec::with_capacity(sizes.len()),
        };
        let mut end = 0;
        for &size in sizes {
            drawn.targets.push(fill(size, &mut drawn.features));
            end += size;
            drawn.offsets.push(end);
        }
        debug_assert_eq!(drawn.features.len(), elements * width);
        drawn
    }
}

/// The number of elements of sets: uniform from the first number to the second, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Each set has a size of its own.
    PerSet(usize, usize),
    /// All sets of a batch have the same size.
    PerBatch(usize, usize),
}

impl Sizes {
    /// Sizes of the sets of a batch. A range whose end is below its beginning is its beginning.
    fn draw(self, sets: usize, draws: &mut Draws) -> Vec<usize> {
        let one = |draws: &mut Draws, least: usize, most: usize| least + draws.index(most.saturating_sub(least) + 1);
        match self {
            Self::PerSet(least, most) => (0..sets).map(|_| one(draws, least, most)).collect(),
            Self::PerBatch(least, most) => vec![one(draws, least, most); sets],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fill_their_range() {
        let mut draws = Draws::new(1);
        let sizes = Sizes::PerSet(3, 5).draw(1000, &mut draws);
        assert!([3, 4, 5].iter().all(|n| sizes.iter().filter(|size| *size == n).count() > 280), "{sizes:?}");
        let same = Sizes::PerBatch(3, 5).draw(10, &mut draws);
        assert!(same.iter().all(|size| *size == same[0] && (3..=5).contains(size)));
        assert_eq!(Sizes::PerSet(4, 2).draw(2, &mut draws), [4, 4]);
        assert_eq!(Sizes::PerSet(0, 0).draw(1, &mut draws), [0]);
    }

    #[test]
    fn a_batch_may_have_no_sets() {
        assert!(MaxRegression::paper().batch(3, 0, 0).is_empty());
    }
}
