//! The training cells: the encoder with tape and optimiser, and whole steps of REINFORCE, with the greedy rollout as
//! baseline and as POMO does it.

use std::path::Path;
use std::time::Duration;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Distribution, Tensor, TensorData};
use regard::nn::clip_gradient_norm;
use regard::routes::RouteExperiment;
use regard::routes::model::AttentionModel;
use regard::routes::model::AttentionModelConfig;
use regard::routes::train::Learner;
use regard::routing::generate;
use regard::routing::problems::tsp::TspEnv;

use crate::memory::{Memory, peak_resident_mib};
use crate::model::{BATCH, SEED};
use crate::protocol::{Answer, Request};
use crate::timing::{device, timings};

/// Learning rate and bound of the gradient's norm, as in `torch_training.py`.
const RATE: f64 = 1e-4;
const CLIP: f64 = 1.0;

/// Runs a `train-encoder`, `reinforce` or `pomo` cell.
pub(crate) fn answer(request: &Request) -> Answer {
    let period = Duration::from_secs_f64(request.seconds);
    let times = match request.cell.as_str() {
        "train-encoder" => encoder(request.n, period),
        "reinforce" => reinforce(request.n).and_then(|learner| steps(learner, period)),
        "pomo" => pomo(request.n).and_then(|learner| steps(learner, period)),
        other => return Answer::unknown(other),
    };
    match times {
        Ok(times) => Answer::Ms(times),
        Err(error) => Answer::Error(error.to_string()),
    }
}

/// Embedding and encoder in training mode: forward, backward, clipping, a step of Adam.
fn encoder(nodes: usize, period: Duration) -> regard::Result<Vec<f64>> {
    let device = device().autodiff();
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
fn reinforce(nodes: usize) -> regard::Result<Learner<TspEnv>> {
    // The set on which baselines are compared is no part of a step.
    learner(
        &["preset=kool-2019", "baseline_warmup_epochs=0", "baseline_instances=2", &format!("batch_size={BATCH}")],
        nodes,
    )
}

/// The learner of the preset `pomo-2020`: six layers, a tour from every node of 64 instances, the mean of an instance's
/// tours as baseline, loss, backward, Adam.
fn pomo(nodes: usize) -> regard::Result<Learner<TspEnv>> {
    learner(&["preset=pomo-2020"], nodes)
}

/// A learner with settings of the section `[train]`.
fn learner(train: &[&str], nodes: usize) -> regard::Result<Learner<TspEnv>> {
    let mut sets: Vec<String> = train.iter().map(|set| format!("train.{set}")).collect();
    sets.push(format!("data.nodes={nodes}"));
    Learner::<TspEnv>::new(&RouteExperiment::parse("", Path::new("bench"), &sets)?, &device())
}

fn steps(mut learner: Learner<TspEnv>, period: Duration) -> regard::Result<Vec<f64>> {
    let mut failed = None;
    let times = timings(period, || failed = learner.step().err().or(failed.take()));
    failed.map_or(Ok(times), Err)
}

/// One step of REINFORCE with instances of `nodes` nodes.
pub(crate) fn memory(nodes: usize) -> regard::Result<Memory> {
    let mut learner = reinforce(nodes)?;
    let before_mib = peak_resident_mib();
    learner.step()?;
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}
