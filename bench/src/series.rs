//! The cells of time series: PatchTST with the settings of its authors and of TFB for ETTh1.

use std::time::Duration;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::series::model::{Drop, SeriesInput};
use regard::series::{PatchTst, PatchTstConfig, distance};
use regard::train::NumberLoss;

use crate::model::SEED;
use crate::protocol::{Answer, Request};
use crate::timing::{device, forward, timings};

/// Channels of a window.
const CHANNELS: usize = 7;

fn config(cell: &str) -> PatchTstConfig {
    match cell.ends_with("tfb") {
        true => PatchTstConfig { horizon: 192, ..PatchTstConfig::patchtst_tfb() },
        false => PatchTstConfig::patchtst_official(),
    }
}

fn numbers(shape: [usize; 3], seed: u64, device: &Device) -> Tensor<3> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let all: Vec<f32> = (0..shape.iter().product()).map(|_| random.random::<f32>() - 0.5).collect();
    Tensor::from_data(TensorData::new(all, shape), device)
}

/// Runs `etth1`, `etth1-tfb` or a training step of one, `n` being the windows of a batch.
pub(crate) fn answer(request: &Request) -> Answer {
    measured(request).unwrap_or_else(|error| Answer::Error(error.to_string()))
}

fn measured(request: &Request) -> regard::Result<Answer> {
    let period = Duration::from_secs_f64(request.seconds);
    let config = config(&request.cell);
    let shape = |length| [request.n, CHANNELS, length];
    if !request.cell.starts_with("train") {
        let device = device();
        let model = PatchTst::new(&config, &device)?;
        let x = numbers(shape(config.look_back), SEED, &device);
        return Ok(forward(request, || model.forward(SeriesInput::new(x.clone()))));
    }
    let device = device().autodiff();
    let mut model = PatchTst::new(&config, &device)?;
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let x = numbers(shape(config.look_back), SEED, &device);
    let target = numbers(shape(config.horizon), SEED + 1, &device);
    let mut seed = SEED;
    Ok(Answer::Ms(timings(period, || {
        seed += 1;
        let answers = model.forward_with_dropout(SeriesInput::new(x.clone()), Drop { seed });
        let gradients = distance(answers, target.clone(), None, NumberLoss::Squared).backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        model = optimizer.step(1e-4, model.clone(), gradients);
    })))
}
