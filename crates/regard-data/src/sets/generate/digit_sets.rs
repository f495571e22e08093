//! Sets of handwritten digits, with questions about them.

use super::{Digits, Drawn, Sizes};
use crate::random::draws::Draws;
use crate::{Error, Result};

/// Sets of digits, whose sum is to be told (M. Zaheer et al., "Deep Sets", 2017, section 4.1.2).
#[derive(Debug, Clone, Copy)]
pub struct DigitSum<'d> {
    /// The images to draw from; there has to be one.
    pub digits: &'d Digits,
    /// How many images a set has.
    pub sizes: Sizes,
}

impl DigitSum<'_> {
    /// A batch: elements `[n, 64]`, the target is the sum of the digits. An image may occur twice.
    ///
    /// # Panics
    /// If there are no images.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> Drawn<f64> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        Drawn::draw(Digits::PIXELS, &sizes, |size, features| {
            let mut sum = 0;
            for _ in 0..size {
                let at = draws.index(self.digits.len());
                features.extend(self.digits.image(at));
                sum += self.digits.labels()[at];
            }
            sum as f64
        })
    }
}

/// Sets of images of one digit, among them one of another digit, which is to be found: the anomaly task
/// of J. Lee et al., "Set Transformer", 2019, section 5.5, with digits for faces.
#[derive(Debug, Clone)]
pub struct OddOneOut<'d> {
    digits: &'d Digits,
    size: usize,
    /// The images of each digit that has any.
    by_digit: Vec<Vec<usize>>,
}

impl<'d> OddOneOut<'d> {
    /// Sets of `size` images; the paper has 8.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the images are not of two digits at least, or sets have no image.
    pub fn new(digits: &'d Digits, size: usize) -> Result<Self> {
        let of = |digit: usize| (0..digits.len()).filter(|at| digits.labels()[*at] == digit).collect::<Vec<_>>();
        let by_digit: Vec<_> = (0..10).map(of).filter(|images| !images.is_empty()).collect();
        if by_digit.len() < 2 || size == 0 {
            let reason = format!("{size} images of {} digits, expected at least one of at least two", by_digit.len());
            return Err(Error::invalid("sets with an odd one", reason));
        }
        Ok(Self { digits, size, by_digit })
    }

    /// A batch: elements `[size, 64]`, the target is the place of the odd one in its set, from 0. Images
    /// of the others may occur twice.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> Drawn<usize> {
        let mut draws = Draws::of_batch(seed, batch);
        Drawn::draw(Digits::PIXELS, &vec![self.size; sets], |size, features| {
            let usual = draws.index(self.by_digit.len());
            let odd = (usual + 1 + draws.index(self.by_digit.len() - 1)) % self.by_digit.len();
            let place = draws.index(size);
            for at in 0..size {
                let among = &self.by_digit[if at == place { odd } else { usual }];
                features.extend(self.digits.image(among[draws.index(among.len())]));
            }
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn shipped() -> Digits {
        Digits::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sets/digits.npz")).unwrap()
    }

    /// Which image of the digits a row is.
    fn label(digits: &Digits, row: &[f32]) -> usize {
        digits.labels()[(0..digits.len()).find(|at| digits.image(*at) == row).unwrap()]
    }

    #[test]
    fn sums_are_sums() {
        let digits = shipped();
        let task = DigitSum { digits: &digits, sizes: Sizes::PerSet(0, 6) };
        let drawn = task.batch(3, 0, 40);
        assert_eq!(drawn, task.batch(3, 0, 40));
        let pinned = DigitSum { digits: &digits, sizes: Sizes::PerSet(1, 10) }.batch(1234, 5, 4);
        assert_eq!(pinned.targets, [25.0, 49.0, 36.0, 17.0]);
        for set in 0..40 {
            let sum: usize = drawn.set(set).chunks(Digits::PIXELS).map(|row| label(&digits, row)).sum();
            assert_eq!(drawn.targets[set], sum as f64);
        }
    }

    #[test]
    fn one_is_odd_and_its_place_even() {
        let digits = shipped();
        let task = OddOneOut::new(&digits, 8).unwrap();
        let drawn = task.batch(3, 0, 40);
        for set in 0..40 {
            let labels: Vec<usize> = drawn.set(set).chunks(Digits::PIXELS).map(|row| label(&digits, row)).collect();
            let odd = drawn.targets[set];
            let usual = labels[(odd + 1) % 8];
            assert!(labels.iter().enumerate().all(|(at, label)| (*label == usual) == (at != odd)), "{labels:?}");
        }
        assert_eq!(task.batch(1234, 5, 4).targets, [7, 0, 6, 4]);
        let places = task.batch(3, 1, 4000).targets;
        assert!((0..8).all(|place| (400..600).contains(&places.iter().filter(|p| **p == place).count())));
        assert!(OddOneOut::new(&digits, 0).is_err());
    }
}
