//! Mixtures of normal distributions that a network predicts (Lee et al. 2019, §5.3; `mvn_diag.py` and
//! `mixture_of_mvns.py` of the authors).

use burn::tensor::{Tensor, TensorData, activation};
use regard_data::sets::mixture::Mixture;
use regard_nn::Ragged;

use super::model::{Decoding, SetTransformerConfig};
use crate::Result;

/// Added to the weights of components before their logarithm, as the authors do.
const WEIGHT_FLOOR: f32 = 1e-10;

/// Log-likelihood of every point under its set's mixture `[sets, components, 1 + axes + deviations]`:
/// logit, mean, deviation before softplus; `[points]`.
pub(super) fn log_likelihood(answers: Tensor<3>, points: &Ragged, config: &SetTransformerConfig) -> Tensor<1> {
    let [sets, components, columns] = answers.dims();
    let [count, axes] = points.rows.dims();
    let flat = |rows: Tensor<3>, columns: usize| rows.reshape([sets, components * columns]);
    // Component by component, so that nothing is larger than points by components.
    let log_weights = activation::softmax(answers.clone().narrow(2, 0, 1).reshape([sets, components]), 1);
    let log_weights = log_weights.add_scalar(WEIGHT_FLOOR).log();
    let means = answers.clone().narrow(2, 1, axes);
    let deviations = activation::softplus(answers.narrow(2, 1 + axes, columns - 1 - axes), 1.0);
    let deviations = deviations.add_scalar(config.min_std);
    let wide = match config.decoding {
        Decoding::DiagonalMixture => deviations,
        _ => deviations.expand([sets, components, axes]),
    };
    let spread = |rows: Tensor<3>| points.repeat_rows(flat(rows, axes)).reshape([count, components, axes]);
    let (mean, deviation) = (spread(means), spread(wide));
    let x = points.rows.clone().reshape([count, 1, axes]);
    let normed = (x - mean) / deviation.clone();
    let half_log_tau = 0.5 * std::f32::consts::TAU.ln();
    let log_density = (normed.square().mul_scalar(-0.5) - deviation.log()).sub_scalar(half_log_tau);
    let joint = log_density.sum_dim(2).reshape([count, components]) + points.repeat_rows(log_weights);
    let most = joint.clone().detach().max_dim(1);
    let sum = (joint - most.clone()).exp().sum_dim(1).log() + most;
    sum.reshape([count])
}

/// The mixtures of predictions `[sets, components, columns]`, for points of `axes` numbers.
///
/// # Errors
/// Those of [`Mixture::new`], for numbers that are not finite.
pub fn mixtures(answers: Tensor<3>, axes: usize, config: &SetTransformerConfig) -> Result<Vec<Mixture>> {
    let [_, components, columns] = answers.dims();
    let numbers: Vec<f64> = answers.into_data().iter::<f64>().collect();
    numbers.chunks(components * columns).map(|rows| mixture_of(rows, axes, config)).collect()
}

/// The mixture of the prediction `[components, columns]` for one set.
pub(super) fn mixture_of(rows: &[f64], axes: usize, config: &SetTransformerConfig) -> Result<Mixture> {
    let columns = config.outputs;
    let logits: Vec<f64> = rows.chunks(columns).map(|row| row[0]).collect();
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let weights = weights.into_iter().map(|weight| weight / sum).collect();
    let means = rows.chunks(columns).flat_map(|row| row[1..=axes].to_vec()).collect();
    let of_axis = |row: &[f64], axis: usize| softplus(row[(1 + axes + axis).min(columns - 1)]) + config.min_std;
    let of_row = |row: &[f64]| (0..axes).map(|axis| of_axis(row, axis)).collect::<Vec<_>>();
    Ok(Mixture::new(weights, means, rows.chunks(columns).flat_map(of_row).collect())?)
}

/// `ln(1 + eˣ)`, also where `eˣ` is more than a number holds.
pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Sets of points from numbers.
pub(super) fn sets_of(features: Vec<f32>, width: usize, offsets: Vec<usize>, device: &burn::tensor::Device) -> Ragged {
    let rows = features.len() / width.max(1);
    Ragged::new(Tensor::from_data(TensorData::new(features, [rows, width]), device), offsets)
}
