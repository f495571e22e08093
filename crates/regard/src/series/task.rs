//! Tasks on time series: the input and the targets of a network, and the loss of its predictions.

use std::fmt;

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::model::{PatchTst, PatchTstConfig, SeriesInput};
use crate::train::{NumberLoss, number_loss};

/// Task of a network on time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesTask {
    /// Predicts the values after the window.
    Forecast,
    /// Fills in missing values of the window.
    Imputation,
    /// Reconstructs the window; a large error marks an anomaly.
    Anomaly,
    /// Predicts a class for the whole window.
    Classification,
    /// Reconstructs masked patches: self-supervised pretraining without targets.
    Pretraining,
}

impl fmt::Display for SeriesTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forecast => "forecast",
            Self::Imputation => "imputation",
            Self::Anomaly => "anomaly",
            Self::Classification => "classification",
            Self::Pretraining => "pretraining",
        })
    }
}

/// The masked values of a batch.
#[derive(Debug)]
pub struct Masking<'a> {
    /// Share of values, or of patches, that are masked.
    pub ratio: f64,
    /// Decides which.
    pub noise: &'a mut Pcg64Mcg,
}

/// The input of a network and its targets.
#[derive(Clone, Debug)]
pub struct TaskBatch {
    /// The input.
    pub input: SeriesInput,
    /// The targets, `[samples, channels, values]`.
    pub targets: Tensor<3>,
    /// 1 where a target counts; none where all do.
    pub counted: Option<Tensor<3>>,
}

impl TaskBatch {
    /// Input and targets of the task of `config` for a batch of windows.
    pub fn of(
        batch: &Batch,
        network: &PatchTst,
        config: &PatchTstConfig,
        masking: Masking<'_>,
        device: &Device,
    ) -> Self {
        let Masking { ratio, noise } = masking;
        let mut input = batch.input(device);
        let observed = input.observed.clone();
        match config.task {
            SeriesTask::Forecast | SeriesTask::Classification => {
                let (targets, counted) = batch.target(device);
                Self { input, targets, counted }
            }
            SeriesTask::Anomaly => Self { targets: input.values.clone(), counted: observed, input },
            SeriesTask::Imputation => {
                let shown = chosen(batch.inputs.len(), ratio, noise);
                let shown = flags(shown, input.values.dims(), device);
                let seen = with(&observed, shown.clone());
                let counted = with(&observed, shown.mul_scalar(-1.0).add_scalar(1.0));
                let targets = input.values.clone();
                input.values = targets.clone() * seen.clone();
                input.observed = Some(seen);
                Self { input, targets, counted: Some(counted) }
            }
            SeriesTask::Pretraining => {
                let targets = network.patches(&input);
                let [samples, channels, length] = input.values.dims();
                let (patches, width) = (config.patches(), config.patch_len);
                let mut shown = vec![1.0; batch.inputs.len()];
                let mut counted = Vec::with_capacity(samples * channels * patches * width);
                for (place, kept) in chosen(samples * channels * patches, ratio, noise).into_iter().enumerate() {
                    let first = place / patches * length + place % patches * config.stride;
                    shown[first..first + width].fill(kept);
                    // A missing value was filled in for the input, and is no target.
                    let observed = |at: usize| batch.observed.get(at).copied().unwrap_or(true);
                    counted.extend((first..first + width).map(|at| if observed(at) { 1.0 - kept } else { 0.0 }));
                }
                input.shown = Some(flags(shown, [samples, channels, length], device));
                let counted = flags(counted, [samples, channels, patches * width], device);
                Self { input, targets, counted: Some(counted) }
            }
        }
    }

    /// The loss of predictions.
    pub fn loss(&self, answers: Tensor<3>, config: &PatchTstConfig, loss: NumberLoss) -> Tensor<1> {
        let (targets, counted) = (self.targets.clone(), self.counted.clone());
        match config.quantiles.as_slice() {
            [] => distance(answers, targets, counted, loss),
            levels => pinball(answers, targets, counted, levels),
        }
    }
}

/// 0 for the share of `count` places that is masked and 1 for the others.
fn chosen(count: usize, ratio: f64, noise: &mut Pcg64Mcg) -> Vec<f32> {
    (0..count).map(|_| f32::from(u8::from(noise.random::<f64>() >= ratio))).collect()
}

fn flags(numbers: Vec<f32>, shape: [usize; 3], device: &Device) -> Tensor<3> {
    Tensor::from_data(TensorData::new(numbers, shape), device)
}

fn with(observed: &Option<Tensor<3>>, chosen: Tensor<3>) -> Tensor<3> {
    match observed {
        Some(observed) => observed.clone() * chosen,
        None => chosen,
    }
}

/// The mean loss of `[samples, channels, values]` answers; `counted` is 1 where a target counts.
pub fn distance(answers: Tensor<3>, targets: Tensor<3>, counted: Option<Tensor<3>>, loss: NumberLoss) -> Tensor<1> {
    let errors = answers - targets;
    let each = match loss {
        // The values of `number_loss`, with another order of operations: its gradient differs in the last bit, and the
        // shipped models and recorded trainings of series have this one.
        NumberLoss::Huber => {
            let size = errors.abs();
            let near = size.clone().clamp_max(1.0);
            near.clone().square().mul_scalar(0.5) + (size - near)
        }
        NumberLoss::Absolute | NumberLoss::Squared => number_loss(errors, loss),
    };
    mean(each, counted)
}

/// The mean quantile loss (Koenker & Bassett 1978) of `[samples, channels, values · levels]` answers, twice
/// it, so that the median's is the absolute error.
pub fn pinball(answers: Tensor<3>, targets: Tensor<3>, counted: Option<Tensor<3>>, levels: &[f64]) -> Tensor<1> {
    let [samples, channels, values] = targets.dims();
    let count = levels.len();
    let device = answers.device();
    let answers = answers.reshape([samples, channels, values, count]);
    let below = targets.reshape([samples, channels, values, 1]) - answers;
    let level: Vec<f32> = levels.iter().map(|&level| level as f32).collect();
    let level = Tensor::<1>::from_floats(level.as_slice(), &device).reshape([1, 1, 1, count]);
    let each = (below.clone() * level.clone()).max_pair(below * (level - 1.0)).mul_scalar(2.0);
    mean(each.mean_dim(3).reshape([samples, channels, values]), counted)
}

fn mean(each: Tensor<3>, counted: Option<Tensor<3>>) -> Tensor<1> {
    match counted {
        None => each.mean(),
        Some(counted) => (each * counted.clone()).sum() / counted.sum().clamp_min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use rand::SeedableRng;

    #[test]
    fn missing_values_of_masked_patches_do_not_count() {
        let device = Device::flex();
        let config = PatchTstConfig {
            task: SeriesTask::Pretraining,
            look_back: 10,
            patch_len: 4,
            stride: 5,
            end_padding: false,
            width: 4,
            heads: 1,
            feedforward_width: 4,
            layers: 1,
            ..PatchTstConfig::regard_series()
        };
        let network = PatchTst::new(&config, &device).unwrap();
        let numbers = |tensor: Tensor<3>| tensor.into_data().iter::<f32>().collect::<Vec<f32>>();
        let window = [2.0, 1.0, 3.0, f32::NAN, f32::NAN, 2.0, f32::NAN, 4.0, 5.0, f32::NAN];
        let batch = Batch::of_values([&window[..]].into_iter(), 0);
        // All patches are masked.
        let masking = Masking { ratio: 1.0, noise: &mut Pcg64Mcg::seed_from_u64(1) };
        let batch = TaskBatch::of(&batch, &network, &config, masking, &device);
        assert_eq!(numbers(batch.counted.unwrap()), [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!(numbers(batch.input.observed.unwrap()), [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!(numbers(batch.input.shown.unwrap()), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    fn tensor(values: [f32; 4]) -> Tensor<3> {
        Tensor::<1>::from_floats(values, &Device::flex()).reshape([1, 2, 2])
    }

    fn number(loss: Tensor<1>) -> f32 {
        loss.into_scalar::<f32>()
    }

    #[test]
    fn distances_by_hand() {
        let (answers, targets) = (tensor([0.0, 1.0, 3.0, 9.0]), tensor([0.5, 1.0, 1.0, 9.0]));
        let of = |loss| number(distance(answers.clone(), targets.clone(), None, loss));
        assert_eq!(of(NumberLoss::Squared), (0.25 + 4.0) / 4.0);
        assert_eq!(of(NumberLoss::Absolute), 2.5 / 4.0);
        assert_eq!(of(NumberLoss::Huber), (0.125 + 1.5) / 4.0);
        let counted = Some(tensor([1.0, 1.0, 0.0, 0.0]));
        assert_eq!(number(distance(answers, targets, counted, NumberLoss::Absolute)), 0.25);
    }

    #[test]
    fn quantile_losses_by_hand() {
        let targets = Tensor::<1>::from_floats([2.0, 0.0], &Device::flex()).reshape([1, 1, 2]);
        // Levels 0.1 and 0.5 of two values.
        let answers = tensor([1.0, 2.0, 1.0, 3.0]).reshape([1, 1, 4]);
        let expected = (0.2 * 1.0 + 0.0 + 1.8 * 1.0 + 3.0) / 4.0;
        assert!((number(pinball(answers, targets, None, &[0.1, 0.5])) - expected).abs() < 1e-6);
    }
}
