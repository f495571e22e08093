//! Sets of handwritten digits.

use std::path::Path;

use crate::fault::Fault;
use crate::npz::{Array, arrays, tuple};
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

    /// Reads digits from an archive with the arrays `images` `[count, 64]`, whole numbers from 0 to 16,
    /// and `labels` `[count]`, whole numbers from 0 to 9. `path` names it in errors.
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
        let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
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
            return Err(Fault::whole(format!("found {value}, expected whole numbers from 0 to 16")).within("images"));
        }
        if let Some(value) = wrong(&labels.values, 9.0) {
            return Err(Fault::whole(format!("found {value}, expected digits from 0 to 9")).within("labels"));
        }
        let pixels = images.values.iter().map(|v| (v / Self::DARKEST) as f32).collect();
        Ok(Self { pixels, labels: labels.values.iter().map(|v| *v as usize).collect() })
    }

    /// How many images there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
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

    /// What the images show, `[images]`.
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
            "d.npz: field `images`: found 17, expected whole numbers from 0 to 16"
        );
        assert_eq!(
            said(array(&[1, 64], 1.0), array(&[1], 10.0)),
            "d.npz: field `labels`: found 10, expected digits from 0 to 9"
        );
        assert!(Digits::parse(b"", "d.npz".as_ref()).is_err());
    }
}
