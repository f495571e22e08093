//! The training cells: the encoder with tape and optimiser, and a whole step of REINFORCE.

use std::path::Path;
use std::time::Duration;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use regard::experiment::Experiment;
use regard::nn::clip_gradient_norm;
use regard::routes::model::AttentionModel;
use regard::routes::train::Learner;
use regard::routes::tsp::TravellingSalesman;
use regard::store::AttentionModelConfig;
use regard_data::routes::generate;
use serde::Serialize;

use crate::model::{BATCH, SEED};
use crate::protocol::{Answer, Request};
use crate::timing::timings;

/// Learning rate and bound of the gradient's norm, as in `torch_training.py`.
const RATE: f64 = 1e-4;
const CLIP: f64 = 1.0;

/// Runs a `train-encoder` or `reinforce` cell.
pub(crate) fn answer(request: &Request) -> Answer {
    let period = Duration::from_secs_f64(request.seconds);
    let times = match request.cell.as_str() {
        "train-encoder" => encoder(request.n, period),
        "reinforce" => reinforce(request.n, period),
        other => return Answer::unknown(other),
    };
    match times {
        Ok(times) => Answer::Ms(times),
        Err(error) => Answer::Error(error.to_string()),
    }
}

/// Embedding and encoder in training mode: forward, backward, clipping, a step of Adam.
fn encoder(nodes: usize, period: Duration) -> regard::Result<Vec<f64>> {
    let device = Device::flex().autodiff();
    let mut model = AttentionModel::new(&AttentionModelConfig::kool_2019(), &device)?;
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let points: Vec<f32> = generate::uniform(SEED, BATCH, nodes).into_iter().flatten().flatten().collect();
    let points = Tensor::<3>::from_data(TensorData::new(points, [BATCH, nodes, 2]), &device);
    let width = AttentionModelConfig::kool_2019().width;
    let direction = Tensor::<3>::random([BATCH, nodes, width], Distribution::Uniform(-1.0, 1.0), &device);
    Ok(timings(period, || {
        let loss = (model.encode(points.clone()) * direction.clone()).sum();
        let mut gradients = GradientsParams::from_grads(loss.backward(), &model);
        clip_gradient_norm(&model, &mut gradients, CLIP);
        model = optimizer.step(RATE, model.clone(), gradients);
    }))
}

/// The learner of the preset `kool-2019`, past its warm-up: greedy baseline, samples, loss,
/// backward, clipping, Adam.
fn learner(nodes: usize) -> regard::Result<Learner<TravellingSalesman>> {
    // The set on which baselines are compared is no part of a step.
    let sets = ["train.preset=kool-2019", "train.warm_up_epochs=0", "train.baseline_instances=2"];
    let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    sets.extend([format!("data.nodes={nodes}"), format!("train.batch={BATCH}")]);
    Learner::<TravellingSalesman>::new(&Experiment::parse("", Path::new("reinforce"), &sets)?, &Device::flex())
}

fn reinforce(nodes: usize, period: Duration) -> regard::Result<Vec<f64>> {
    let mut learner = learner(nodes)?;
    let mut failed = None;
    let times = timings(period, || failed = learner.step().err().or(failed.take()));
    failed.map_or(Ok(times), Err)
}

/// Resident memory before the first step, and the most there was.
#[derive(Serialize)]
pub(crate) struct Memory {
    before_mib: f64,
    peak_mib: f64,
}

/// One step with instances of `nodes` nodes.
pub(crate) fn memory(nodes: usize) -> regard::Result<Memory> {
    let mut learner = learner(nodes)?;
    let before_mib = peak_resident_mib();
    learner.step()?;
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}

/// The largest resident size of this process so far; 0 where the system does not say.
fn peak_resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
