//! Linear maps to and from rows of interleaved heads.

use crate::gemm::Panels;

/// A linear layer `x · weight + bias` with a row-major weight.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `[in, out]`.
    pub weight: &'a [f32],
    /// `[out]`.
    pub bias: Option<&'a [f32]>,
}

/// Rows of heads whose channels are interleaved: channel `c` of head `h` is at `c · count + h`; in the
/// weights of the papers it is at `h · (width / count) + c`.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Number of heads; must divide the width.
    pub count: usize,
    /// Number of channels of all heads.
    pub width: usize,
}

impl Heads {
    /// For each channel of an interleaved row, its index in the weights of the papers.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn places(&self) -> Vec<usize> {
        assert!(self.count > 0 && self.width.is_multiple_of(self.count), "{} heads in {}", self.count, self.width);
        let channels = self.width / self.count;
        (0..self.width).map(|j| (j % self.count) * channels + j / self.count).collect()
    }

    /// Packs weights `[inputs, width]` side by side, with interleaved columns.
    pub(super) fn side_by_side(&self, maps: &[Linear<'_>], inputs: usize) -> Panels {
        let (places, width) = (self.places(), self.width);
        Panels::pack(inputs, maps.len() * width, |p, j| maps[j / width].weight[p * width + places[j % width]])
    }

    /// The transpose of [`Self::side_by_side`].
    pub(super) fn side_by_side_transposed(&self, maps: &[Linear<'_>], inputs: usize) -> Panels {
        let (places, width) = (self.places(), self.width);
        Panels::pack(maps.len() * width, inputs, |j, p| maps[j / width].weight[p * width + places[j % width]])
    }

    /// Biases side by side, interleaved; `None` if no layer has one.
    pub(super) fn biases(&self, maps: &[Linear<'_>]) -> Option<Vec<f32>> {
        let places = self.places();
        maps.iter().any(|map| map.bias.is_some()).then(|| {
            let of_map = |map: &Linear<'_>| -> Vec<f32> {
                places.iter().map(|&place| map.bias.map_or(0.0, |bias| bias[place])).collect()
            };
            maps.iter().flat_map(of_map).collect()
        })
    }
}
