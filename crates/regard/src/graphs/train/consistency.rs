//! What answers cost that differ between views of the same graphs, of which nothing needs to be known.

use burn::tensor::{Tensor, activation};

/// Mean squared distance of the probabilities of each view from what all views say together, sharpened by
/// `temperature` (GRAND, Feng et al. 2020, §3.2); `[1]`. `answers` are `[views * rows, classes]`, all rows of
/// a view after those of the view before.
///
/// The mean of the views is a target, so no gradient goes through it.
pub(super) fn consistency(answers: Tensor<2>, views: usize, temperature: f64) -> Tensor<1> {
    let [all, classes] = answers.dims();
    let rows = all / views;
    let told = activation::softmax(answers, 1).reshape([views, rows, classes]);
    let together = told.clone().detach().mean_dim(0);
    let sharp = together.powf_scalar(1.0 / temperature);
    let target = sharp.clone() / sharp.sum_dim(2);
    (told - target).square().sum().div_scalar((views * rows).max(1) as f32)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn of(answers: [[f32; 2]; 4], temperature: f64) -> f32 {
        let flat: Vec<f32> = answers.into_iter().flatten().collect();
        let answers = Tensor::from_data(TensorData::new(flat, [4, 2]), &Device::flex());
        consistency(answers, 2, temperature).into_scalar::<f32>()
    }

    #[test]
    fn views_that_agree_cost_only_their_doubt() {
        let (sure, torn) = ([20.0, -20.0], [0.0, 0.0]);
        assert!(of([sure, torn, sure, torn], 0.5) < 1e-9);
        // Half each of 0.75 and 0.25: sharpened by squares 0.9 and 0.1, each 0.15 off.
        let doubt = [3f32.ln(), 0.0];
        assert!((of([doubt, doubt, doubt, doubt], 0.5) - 2.0 * 0.15 * 0.15).abs() < 1e-6);
        assert!(of([doubt, doubt, doubt, doubt], 1.0) < 1e-9);
        // One row of two views apart: 0.25 + 0.25 for each of its two, of four.
        assert!((of([sure, torn, [-20.0, 20.0], torn], 1.0) - 0.25).abs() < 1e-6);
    }
}
