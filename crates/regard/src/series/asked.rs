//! What a network is asked of a batch: what it sees, and what would be right.

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::batch::Batch;
use super::experiment::SeriesLoss;
use super::loss::{distance, pinball};
use super::model::{PatchTst, PatchTstConfig, SeriesInput};
use super::task::SeriesTask;

/// What is seen and what is right.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What the network sees.
    pub input: SeriesInput,
    /// What is right, `[samples, channels, values]`.
    pub targets: Tensor<3>,
    /// 1 where a target counts; none where all do.
    pub counted: Option<Tensor<3>>,
}

impl Asked {
    /// What `config`'s task asks of a batch; `hidden` is the share of values, or patches, that `noise` hides.
    pub fn of(
        batch: &Batch,
        network: &PatchTst,
        config: &PatchTstConfig,
        (hidden, noise): (f64, &mut Pcg64Mcg),
        device: &Device,
    ) -> Self {
        let mut input = batch.input(device);
        let observed = input.observed.clone();
        match config.task {
            SeriesTask::Forecast | SeriesTask::Classification => {
                let (targets, counted) = batch.target(device);
                Self { input, targets, counted }
            }
            SeriesTask::Anomaly => Self { targets: input.values.clone(), counted: observed, input },
            SeriesTask::Imputation => {
                let shown = chosen(batch.inputs.len(), 1, hidden, noise);
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
                let shown = chosen(samples * channels * config.patches(), config.patch_len, hidden, noise);
                let told = config.patches() * config.patch_len;
                let shown = flags(shown, [samples, channels, told], device);
                let rest = Tensor::ones([samples, channels, length - told], device);
                let seen = if length > told { Tensor::cat(vec![shown.clone(), rest], 2) } else { shown.clone() };
                input.observed = Some(seen);
                Self { input, targets, counted: Some(shown.mul_scalar(-1.0).add_scalar(1.0)) }
            }
        }
    }

    /// How far off answers are.
    pub fn loss(&self, answers: Tensor<3>, config: &PatchTstConfig, loss: SeriesLoss) -> Tensor<1> {
        let (targets, counted) = (self.targets.clone(), self.counted.clone());
        match config.quantiles.as_slice() {
            [] => distance(answers, targets, counted, loss),
            levels => pinball(answers, targets, counted, levels),
        }
    }
}

/// 0 for the share of `count` places that is hidden and 1 for the others, each `width` times.
fn chosen(count: usize, width: usize, hidden: f64, noise: &mut Pcg64Mcg) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * width);
    for _ in 0..count {
        let shown = f32::from(u8::from(noise.random::<f64>() >= hidden));
        all.extend(std::iter::repeat_n(shown, width));
    }
    all
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
