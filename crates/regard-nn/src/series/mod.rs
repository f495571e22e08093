//! Blocks of transformers for time series: encoder layers, patches and positional encodings of PatchTST (Nie
//! et al. 2023), reversible instance normalisation (Kim et al. 2022), and the decomposition into trend and
//! remainder (Wu et al. 2021).

mod instance_norm;
mod patch_layer;
mod patching;

use burn::tensor::Tensor;

pub use instance_norm::{InstanceNorm, InstanceNormConfig, WindowStatistics};
pub use patch_layer::{NormPlacement, PatchDropout, PatchLayer, PatchLayerConfig};
pub use patching::{Patching, sine_positions, standardised_sine_positions};

/// The moving average over `kernel` values of `x [batch, channels, time]`, and the remainder. The first
/// and last value are repeated at the ends.
pub fn decompose(x: Tensor<3>, kernel: usize) -> (Tensor<3>, Tensor<3>) {
    let [_, _, length] = x.dims();
    let ends = kernel.saturating_sub(1) / 2;
    let first = x.clone().narrow(2, 0, 1);
    let last = x.clone().narrow(2, length - 1, 1);
    let mut parts = vec![x.clone()];
    if ends > 0 {
        parts = vec![first.repeat_dim(2, ends), x.clone(), last.repeat_dim(2, ends)];
    }
    let wide = Tensor::cat(parts, 2);
    let terms = (0..2 * ends + 1).map(|shift| wide.clone().narrow(2, shift, length));
    let sum = terms.reduce(|a, b| a + b).unwrap_or_else(|| x.clone());
    let trend = sum.div_scalar((2 * ends + 1) as f32);
    let rest = x - trend.clone();
    (trend, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn a_line_is_its_own_trend_but_at_the_ends() {
        let x = Tensor::<3>::from_floats([[[0.0, 1.0, 2.0, 3.0, 4.0]]], &Device::flex());
        let (trend, rest) = decompose(x, 3);
        let third = 1.0 / 3.0;
        let close = |found: Tensor<3>, expected: [f32; 5]| {
            found.into_data().iter::<f32>().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6)
        };
        assert!(close(trend, [third, 1.0, 2.0, 3.0, 4.0 - third]));
        assert!(close(rest, [-third, 0.0, 0.0, 0.0, third]));
    }
}
