//! Sinusoidal positional encodings (Vaswani et al. 2017, §3.5).

use burn::tensor::{Device, Tensor, TensorData};

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
