//! Patches of a time series (Nie et al. 2023, §3.1) and their sinusoidal positional encodings (Vaswani et al.
//! 2017, §3.5).

use burn::{
    config::Config,
    tensor::{Device, Int, Tensor, TensorData},
};

/// Division of a window into patches.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub struct Patching {
    /// Number of values of a patch.
    pub patch: usize,
    /// Number of values from the start of one patch to the start of the next.
    pub stride: usize,
    /// If true, the last value is first repeated `stride` times, so that one more patch fits. Default: true.
    #[config(default = true)]
    pub padded: bool,
}

impl Patching {
    /// Number of patches of a window of `length` values; 0 if the window is shorter than a patch.
    pub fn count(&self, length: usize) -> usize {
        let length = if self.padded { length + self.stride } else { length };
        if length < self.patch { 0 } else { (length - self.patch) / self.stride + 1 }
    }

    /// The patches `[rows, count, patch]` of `[rows, length]`.
    ///
    /// # Panics
    /// If the window is shorter than a patch.
    pub fn cut(&self, x: Tensor<2>) -> Tensor<3> {
        let [rows, length] = x.dims();
        let count = self.count(length);
        assert!(count > 0, "patches of {} in a window of {length}", self.patch);
        let device = x.device();
        let places = self.places(length).into_iter().map(|place| place as i64).collect::<Vec<_>>();
        let places = Tensor::<1, Int>::from_data(TensorData::new(places, [count * self.patch]), &device);
        x.select(1, places).reshape([rows, count, self.patch])
    }

    /// For every value of the patches of a window of `length` values, its index in the window.
    pub fn places(&self, length: usize) -> Vec<usize> {
        let Self { patch, stride, .. } = *self;
        let last = length.saturating_sub(1);
        (0..self.count(length)).flat_map(|at| (0..patch).map(move |step| (at * stride + step).min(last))).collect()
    }
}

/// `[rows, width]` with `sin(row · 10000^(-2i/width))` in column `2i` and the cosine in column `2i + 1`.
pub fn sine_positions(rows: usize, width: usize, device: &Device) -> Tensor<2> {
    table(sines(rows, width), rows, width, device)
}

/// [`sine_positions`] minus its mean and divided by ten times its sample standard deviation, as `sincos`
/// in the code of PatchTST's authors.
pub fn standardised_sine_positions(rows: usize, width: usize, device: &Device) -> Tensor<2> {
    let sines = sines(rows, width);
    let count = sines.len() as f64;
    let mean = sines.iter().sum::<f64>() / count;
    let variance = sines.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let unit = if variance > 0.0 { 10.0 * variance.sqrt() } else { 1.0 };
    table(sines.into_iter().map(|x| (x - mean) / unit).collect(), rows, width, device)
}

fn sines(rows: usize, width: usize) -> Vec<f64> {
    let step = -(10_000.0_f64.ln()) / width as f64;
    let at = |row: usize, column: usize| {
        let angle = row as f64 * ((column - column % 2) as f64 * step).exp();
        if column.is_multiple_of(2) { angle.sin() } else { angle.cos() }
    };
    (0..rows).flat_map(|row| (0..width).map(move |column| at(row, column))).collect()
}

fn table(numbers: Vec<f64>, rows: usize, width: usize, device: &Device) -> Tensor<2> {
    let numbers: Vec<f32> = numbers.into_iter().map(|x| x as f32).collect();
    Tensor::from_data(TensorData::new(numbers, [rows, width]), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn published_windows_have_the_published_number_of_patches() {
        let patching = Patching::new(16, 8);
        assert_eq!([96, 336, 512].map(|length| patching.count(length)), [12, 42, 64]);
        assert_eq!(Patching::new(12, 12).with_padded(false).count(512), 42);
        assert_eq!(
            [Patching::new(16, 8).with_padded(false).count(15), patching.count(7), patching.count(8)],
            [0, 0, 1]
        );
    }

    #[test]
    fn the_last_value_is_repeated() {
        let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0, 4.0, 5.0]], &Device::flex());
        let patches = Patching::new(3, 2).cut(x);
        assert_eq!(patches.dims(), [1, 3, 3]);
        let found: Vec<f32> = patches.into_data().iter::<f32>().collect();
        assert_eq!(found, [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0]);
    }
}
