//! Batches of sets of different sizes, without padding.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::ops::{Mask, set_sums};

/// The rows of several sets, one set after the other.
///
/// There is no padding, so row-wise and set-wise computations use real items only. A set may be empty.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use regard_nn::Ragged;
///
/// let padded = Tensor::<3>::from_floats([[[1.0], [2.0]], [[3.0], [0.0]]], &Device::flex());
/// let sets = Ragged::from_padded(padded, &[2, 1]);
/// assert_eq!((sets.count(), sets.rows.dims()), (2, [3, 1]));
/// ```
#[derive(Clone, Debug)]
pub struct Ragged {
    /// `[rows, width]`.
    pub rows: Tensor<2>,
    /// `[sets + 1]`: set `s` consists of the rows `offsets[s]..offsets[s + 1]`.
    offsets: Arc<[usize]>,
}

impl Ragged {
    /// Creates sets from their concatenated rows and the offsets, from 0 to the number of rows.
    ///
    /// # Panics
    /// If the offsets do not increase from 0 to the number of rows.
    pub fn new(rows: Tensor<2>, offsets: impl Into<Arc<[usize]>>) -> Self {
        let offsets = offsets.into();
        assert!(offsets.first() == Some(&0) && offsets.is_sorted(), "ragged: offsets increase from 0");
        assert_eq!(offsets.last(), Some(&rows.dims()[0]), "ragged: the last offset is the number of rows");
        Self { rows, offsets }
    }

    /// Creates sets of equal size from `[sets, items, width]`.
    pub fn uniform(sets: Tensor<3>) -> Self {
        let [count, items, _] = sets.dims();
        Self::from_padded(sets, &vec![items; count])
    }

    /// Creates sets from the first `lengths[s]` items of every set of `padded [sets, items, width]`.
    ///
    /// # Panics
    /// If the number of lengths is not the number of sets, or a length exceeds the padded size.
    pub fn from_padded(padded: Tensor<3>, lengths: &[usize]) -> Self {
        let [sets, items, width] = padded.dims();
        assert_eq!(sets, lengths.len(), "ragged: one length for each set");
        assert!(lengths.iter().all(|&length| length <= items), "ragged: lengths within the padded sets");
        if sets * items > 0 && lengths.iter().all(|&length| length == items) {
            return Self::new(padded.reshape([sets * items, width]), offsets_of(lengths));
        }
        let kept =
            lengths.iter().enumerate().flat_map(|(set, &length)| (0..length).map(move |item| set * items + item));
        let (kept, device) = (kept.collect::<Vec<_>>(), padded.device());
        let rows = match kept.is_empty() {
            true => Tensor::zeros([0, width], &device),
            false => padded.reshape([sets * items, width]).select(0, indices(kept.into_iter(), &device)),
        };
        Self::new(rows, offsets_of(lengths))
    }

    /// The sets padded with zeros, `[sets, longest, width]`.
    pub fn to_padded(&self) -> Tensor<3> {
        let ([rows, width], longest) = (self.rows.dims(), self.longest());
        let device = self.rows.device();
        if rows == 0 {
            return Tensor::zeros([self.count(), longest, width], &device);
        }
        if rows == self.count() * longest {
            return self.rows.clone().reshape([self.count(), longest, width]);
        }
        // Padding selects the additional row after the last one, which is zero.
        let zero = Tensor::zeros([1, width], &device);
        let place = |(at, length): (usize, usize)| (0..longest).map(move |i| if i < length { at + i } else { rows });
        let index = indices(self.offsets.iter().copied().zip(self.lengths()).flat_map(place), &device);
        let all = Tensor::cat(vec![self.rows.clone(), zero], 0);
        all.select(0, index).reshape([self.count(), longest, width])
    }

    /// The same sets with other rows, one for each of the old rows.
    ///
    /// # Panics
    /// If the number of rows differs.
    pub fn with_rows(&self, rows: Tensor<2>) -> Self {
        Self::new(rows, self.offsets.clone())
    }

    /// Number of sets.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// First row of each set, and the number of rows.
    pub fn offsets(&self) -> &Arc<[usize]> {
        &self.offsets
    }

    /// Number of items of each set.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Number of items of the largest set; 0 if there is no set.
    pub fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// The mask of real items in [`Self::to_padded`].
    pub fn mask(&self) -> Mask {
        Mask::Lengths(Arc::new(self.lengths().map(|length| length as u32).collect()))
    }

    /// Index of the set of every row, `[rows]`.
    pub fn set_indices(&self) -> Tensor<1, Int> {
        let owner = |(set, length)| std::iter::repeat_n(set, length);
        indices(self.lengths().enumerate().flat_map(owner), &self.rows.device())
    }

    /// Sums over the items of each set, `[sets, width]`; 0 for an empty set.
    pub fn sums(&self) -> Tensor<2> {
        set_sums(self.rows.clone(), &self.offsets)
    }

    /// Means over the items of each set, `[sets, width]`; 0 for an empty set.
    pub fn means(&self) -> Tensor<2> {
        let share: Vec<f32> = self.lengths().map(|length| 1.0 / length.max(1) as f32).collect();
        let share = TensorData::new(share, [self.count(), 1]);
        self.sums() * Tensor::from_data(share, &self.rows.device())
    }

    /// Repeats every row of `of_sets [sets, width]` once for each item of its set: `[rows, width]`.
    pub fn repeat_rows(&self, of_sets: Tensor<2>) -> Tensor<2> {
        of_sets.select(0, self.set_indices())
    }
}

/// Offsets of sets with these lengths.
pub(crate) fn offsets_of(lengths: &[usize]) -> Vec<usize> {
    let mut at = 0;
    std::iter::once(0)
        .chain(lengths.iter().map(|length| {
            at += length;
            at
        }))
        .collect()
}

fn indices(all: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let all: Vec<i64> = all.map(|index| index as i64).collect();
    let count = all.len();
    Tensor::from_data(TensorData::new(all, [count]), device)
}
