//! Sets of handwritten digits.

use std::path::Path;

use super::{SetBatch, Sizes};
use crate::error::Fault;
use crate::npz::{Array, arrays, tuple};
use crate::random::Draws;
use crate::split::holdout;
use crate::{Error, Result};

/// Images of digits with what they show.
///
/// Those of `experiments/sets/digits.npz` are the 1,797 images of 8x8 pixels that scikit-learn ships
/// (`experiments/sets/export_digits.py`), from E. Alpaydin and C. Kaynak, "Optical Recognition of
/// Handwritten Digits", UCI Machine Learning Repository, CC BY 4.0.
#[derive(Debug, Clone, PartialEq)]
pub struct Digits {
    /// `[images, 64]`, from 0 (white) to 1.
    pixels: Vec<f32>,
    /// `[images]`, from 0 to 9.
    labels: Vec<usize>,
}

impl Digits {
    /// Pixels of an image.
    pub const PIXELS: usize = 64;
    /// The darkest pixel in the file.
    const DARKEST: f64 = 16.0;

    /// Reads digits from an archive with the arrays `images` `[count, 64]`, integers from 0 to 16,
    /// and `labels` `[count]`, integers from 0 to 9. `path` names it in errors.
    ///
    /// # Errors
    /// [`Error::Parse`] naming the array.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let read = || {
            let mut all = arrays(bytes)?;
            let mut take = |name: &str| all.remove(name).ok_or_else(|| Fault::whole(format!("has no array `{name}`")));
            Self::assemble(&take("images")?, &take("labels")?)
        };
        read().map_err(|fault: Fault| fault.in_file(path))
    }

    /// Reads digits from a file; see [`Digits::parse`].
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read, and those of [`Digits::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = crate::file::read_bytes(path)?;
        Self::parse(&bytes, path)
    }

    fn assemble(images: &Array, labels: &Array) -> Result<Self, Fault> {
        let count = labels.values.len();
        if labels.shape != [count] || count == 0 || images.shape != [count, Self::PIXELS] {
            let shapes = format!("has images {} and labels {}", tuple(&images.shape), tuple(&labels.shape));
            return Err(Fault::whole(format!("{shapes}, expected (count, {}) and (count,)", Self::PIXELS)));
        }
        let wrong =
            |values: &[f64], most: f64| values.iter().copied().find(|v| v.fract() != 0.0 || !(0.0..=most).contains(v));
        if let Some(value) = wrong(&images.values, Self::DARKEST) {
            return Err(Fault::whole(format!("found {value}, expected integers from 0 to 16")).within("images"));
        }
        if let Some(value) = wrong(&labels.values, 9.0) {
            return Err(Fault::whole(format!("found {value}, expected digits from 0 to 9")).within("labels"));
        }
        let pixels = images.values.iter().map(|v| (v / Self::DARKEST) as f32).collect();
        Ok(Self { pixels, labels: labels.values.iter().map(|v| *v as usize).collect() })
    }

    /// The number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// If true, there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of an image, `[64]`, from 0 to 1.
    ///
    /// # Panics
    /// If there is no such image.
    #[must_use]
    pub fn image(&self, at: usize) -> &[f32] {
        &self.pixels[at * Self::PIXELS..(at + 1) * Self::PIXELS]
    }

    /// The digits that the images show, `[images]`.
    #[must_use]
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Images for training and images held out, a share of every digit; sets drawn from the two have
    /// no image in common.
    ///
    /// # Errors
    /// [`Error::Invalid`] as of [`holdout`].
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Self, Self)> {
        let split = holdout(&self.labels, fraction, seed)?;
        let part = |images: &[usize]| Self {
            pixels: images.iter().flat_map(|&at| self.image(at)).copied().collect(),
            labels: images.iter().map(|&at| self.labels[at]).collect(),
        };
        Ok((part(&split.training), part(&split.held_out)))
    }
}

/// Sets of digits, whose sum is the target (M. Zaheer et al., "Deep Sets", 2017, section 4.1.2).
#[derive(Debug, Clone, Copy)]
pub struct DigitSum<'d> {
    /// The images to draw from; there has to be one.
    pub digits: &'d Digits,
    /// The number of images of a set.
    pub sizes: Sizes,
}

impl DigitSum<'_> {
    /// A batch: elements `[n, 64]`, the target is the sum of the digits. An image may occur twice.
    ///
    /// # Panics
    /// If there are no images.
    #[must_use]
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<f64> {
        let mut draws = Draws::of_batch(seed, batch);
        let sizes = self.sizes.draw(sets, &mut draws);
        SetBatch::draw(Digits::PIXELS, &sizes, |size, features| {
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
    pub fn batch(&self, seed: u64, batch: u64, sets: usize) -> SetBatch<usize> {
        let mut draws = Draws::of_batch(seed, batch);
        SetBatch::draw(Digits::PIXELS, &vec![self.size; sets], |size, features| {
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
    use super::*;

    fn shipped() -> Digits {
        Digits::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sets/digits.npz")).unwrap()
    }

    #[test]
    fn all_digits_are_there() {
        let digits = shipped();
        assert_eq!((digits.len(), digits.is_empty()), (1797, false));
        assert!((0..10).all(|digit| digits.labels().iter().filter(|label| **label == digit).count() > 170));
        assert!(digits.pixels.iter().all(|p| (0.0..=1.0).contains(p)));
        let (training, held_out) = digits.split(0.2, 1).unwrap();
        assert_eq!((training.len(), held_out.len()), (1438, 359));
    }

    #[test]
    fn other_archives_are_refused() {
        let array =
            |shape: &[usize], value: f64| Array { shape: shape.to_vec(), values: vec![value; shape.iter().product()] };
        let said =
            |images, labels| Digits::assemble(&images, &labels).unwrap_err().in_file("d.npz".as_ref()).to_string();
        assert_eq!(
            said(array(&[2, 64], 0.0), array(&[3], 0.0)),
            "d.npz: has images (2, 64) and labels (3,), expected (count, 64) and (count,)"
        );
        assert_eq!(
            said(array(&[1, 64], 17.0), array(&[1], 0.0)),
            "d.npz: field `images`: found 17, expected integers from 0 to 16"
        );
        assert_eq!(
            said(array(&[1, 64], 1.0), array(&[1], 10.0)),
            "d.npz: field `labels`: found 10, expected digits from 0 to 9"
        );
        assert!(Digits::parse(b"", "d.npz".as_ref()).is_err());
    }
    /// The label of the image that a row is.
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
