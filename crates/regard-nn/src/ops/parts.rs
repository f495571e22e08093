//! Rows cut into parts, for sums over many rows on a card.
//!
//! Burn gives each number of a sum, and each tile of a matrix product, to one unit of a card, which adds one row after
//! the other: the gradient of a weight matrix or of a bias over 50,000 rows keeps a few units busy while thousands wait.
//! Rows `[rows, width]` seen as `[parts, rows of a part, width]` make sums that are independent, and a short sum of
//! those. On the processor there is one part: nothing changes.

use burn::nn::Linear;
use burn::tensor::{Device, Tensor};

use super::Projection;

/// The fewest rows of a part.
const FEWEST: usize = 64;
/// The most parts: about as many as a large card has groups of units.
const MOST: usize = 128;

/// A number of rows, and the parts they are cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    rows: usize,
    count: usize,
    each: usize,
}

impl Parts {
    /// The parts of so many rows on a device.
    pub(super) fn of(rows: usize, device: &Device) -> Self {
        match device.clone().inner() == Device::flex() {
            true => Self { rows, count: 1, each: rows },
            false => Self::cut_into(rows, (rows / FEWEST).clamp(1, MOST)),
        }
    }

    /// At most so many parts, and at least half of them: a number that divides the rows, if there is one.
    fn cut_into(rows: usize, most: usize) -> Self {
        let count = (most.div_ceil(2)..=most).rev().find(|count| rows.is_multiple_of(*count)).unwrap_or(most);
        Self { rows, count, each: rows.div_ceil(count) }
    }

    /// Rows of zeros behind the others, which make all parts equally long.
    fn filling(self) -> usize {
        self.count * self.each - self.rows
    }

    /// `[rows, width]` as `[parts, rows of a part, width]`.
    pub(super) fn cut(self, x: Tensor<2>) -> Tensor<3> {
        let width = x.dims()[1];
        let filled = match self.filling() {
            0 => x,
            filling => {
                let zeros = Tensor::zeros([filling, width], &x.device());
                Tensor::cat(vec![x, zeros], 0)
            }
        };
        filled.reshape([self.count, self.each, width])
    }

    /// The rows `[rows, width]` of `[parts, rows of a part, width]`.
    pub(super) fn join(self, x: Tensor<3>) -> Tensor<2> {
        let width = x.dims()[2];
        x.reshape([self.count * self.each, width]).narrow(0, 0, self.rows)
    }

    /// Means over all rows, `[1, 1, width]`, of parts whose filling is zero.
    pub(super) fn mean(self, x: Tensor<3>) -> Tensor<3> {
        match self.filling() {
            0 => x.mean_dim(0).mean_dim(1),
            _ => x.sum_dim(0).sum_dim(1).div_scalar(self.rows as f32),
        }
    }

    /// Parts with zeros for the filling.
    pub(super) fn without_filling(self, x: Tensor<3>) -> Tensor<3> {
        if self.filling() == 0 {
            return x;
        }
        self.cut(self.join(x))
    }

    /// A row `[1, 1, width]` for each of those of a part: its gradient is summed over parts first.
    pub(super) fn spread(self, row: Tensor<3>) -> Tensor<3> {
        spread(row, self.each)
    }
}

/// A row `[1, 1, width]` as `[1, rows, width]`, and as it is on the processor. A gradient of batches of so many rows is then
/// summed over batches first and over rows at the end, and not over all of them in one sum.
pub(super) fn spread(row: Tensor<3>, rows: usize) -> Tensor<3> {
    let width = row.dims()[2];
    match row.device().inner() == Device::flex() {
        true => row,
        false => row.expand([1, rows, width]),
    }
}

impl Projection {
    /// `x · weight + bias` of rows, the last axis of `x [.., in]`, in ordinary tensor operations.
    ///
    /// # Panics
    /// If the widths do not match.
    pub fn of_rows<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        let mut shape = x.dims();
        let (rows, inputs) = (shape[..D - 1].iter().product(), shape[D - 1]);
        shape[D - 1] = self.weight.dims()[1];
        // A matrix product without rows is not defined on every device.
        if rows == 0 {
            return Tensor::zeros(shape, &x.device());
        }
        let (parts, x) = (Parts::of(rows, &x.device()), x.reshape([rows, inputs]));
        if parts.count == 1 {
            let y = x.matmul(self.weight);
            return self.bias.into_iter().fold(y, |y, bias| y + bias.unsqueeze()).reshape(shape);
        }
        let y = parts.cut(x).matmul(self.weight.unsqueeze());
        parts.join(self.bias.into_iter().fold(y, |y, bias| y + parts.spread(bias.unsqueeze()))).reshape(shape)
    }
}

/// A layer `x · weight + bias` of rows, the last axis of `x`.
pub fn linear<const D: usize>(layer: &Linear, x: Tensor<D>) -> Tensor<D> {
    match x.device().inner() == Device::flex() {
        true => layer.forward(x),
        false => Projection::of(layer).of_rows(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::TensorData;

    #[test]
    fn parts_are_equally_long_and_need_little_filling() {
        for (rows, most, count, each) in
            [(51_200, 128, 128, 400), (2_944, 46, 46, 64), (97, 1, 1, 97), (8_209, 128, 128, 65)]
        {
            let parts = Parts::cut_into(rows, most);
            assert_eq!(parts, Parts { rows, count, each });
            assert!(parts.filling() < count);
        }
        assert_eq!(Parts::of(51_200, &Device::flex()).count, 1);
    }

    #[test]
    fn rows_and_means_survive_the_cut() {
        let device = Device::flex();
        let values: Vec<f32> = (0..33).map(|at| at as f32).collect();
        let x = Tensor::<2>::from_data(TensorData::new(values.clone(), [11, 3]), &device);
        let parts = Parts::cut_into(11, 4);
        assert_eq!((parts.count, parts.each, parts.filling()), (4, 3, 1));
        let cut = parts.cut(x.clone());
        assert_eq!(parts.join(cut.clone()).into_data(), x.clone().into_data());
        let shifted = parts.without_filling(cut.clone().add_scalar(1.0));
        assert_eq!(shifted.sum().into_scalar::<f32>(), values.iter().sum::<f32>() + 33.0);
        let mean: Vec<f32> = parts.mean(cut).into_data().iter().collect();
        assert_eq!(mean, [15.0, 16.0, 17.0]);
    }
}
