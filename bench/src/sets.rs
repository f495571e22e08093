//! The cells of sets: an induced set attention block (Lee et al. 2019, §3.1) as in the authors' code.

use std::time::Duration;

use burn::tensor::{Device, Distribution, Tensor};
use regard_nn::Ragged;
use regard_nn::ops::Residual;
use regard_nn::set::{
    AttentionPoolingConfig, InducedSetBlock, InducedSetBlockConfig, ScoreScale, SetAttentionBlockConfig,
};

use crate::memory::{Memory, peak_resident_mib};
use crate::protocol::{Answer, Request};
use crate::timing::{device, forward, timings};

/// Sets of a batch, as in `torch_sets.py`.
const SETS: usize = 10;
const INDUCING: usize = 32;
const WIDTH: usize = 128;
const HEADS: usize = 4;
/// Coordinates of the points of which the memory is measured.
const AXES: usize = 3;

/// Runs an `isab` or a `train-isab` cell.
pub(crate) fn answer(request: &Request) -> Answer {
    let period = Duration::from_secs_f64(request.seconds);
    let train = request.cell == "train-isab";
    let device = if train { device().autodiff() } else { device() };
    let (block, x) = (induced(WIDTH).init(&device), items(request.n, SETS, WIDTH, &device));
    if !train {
        return forward(request, || block.forward(Ragged::uniform(x.clone())).rows);
    }
    let cotangent = items(request.n, SETS, WIDTH, &device).reshape([SETS * request.n, WIDTH]);
    Answer::Ms(timings(period, || step(&block, x.clone(), cotangent.clone())))
}

/// Forward and backward, down to the items.
fn step(block: &InducedSetBlock, x: Tensor<3>, cotangent: Tensor<2>) {
    let y = block.forward(Ragged::uniform(x.require_grad()));
    drop((y.rows * cotangent).sum().backward());
}

/// A network of two induced blocks and a pooling on one set of `points` with three coordinates each.
pub(crate) fn memory(points: usize) -> regard::Result<Memory> {
    let device = Device::flex();
    let (first, second) = (induced(AXES).init(&device), induced(WIDTH).init(&device));
    let pooling = AttentionPoolingConfig { block: block(WIDTH), seeds: 1 }.init(&device);
    let set = Ragged::uniform(items(points, 1, AXES, &device));
    let before_mib = peak_resident_mib();
    drop(pooling.forward(second.forward(first.forward(set))).rows.into_data());
    Ok(Memory { before_mib, peak_mib: peak_resident_mib() })
}

fn induced(inputs: usize) -> InducedSetBlockConfig {
    InducedSetBlockConfig { block: block(inputs), points: INDUCING }
}

fn block(inputs: usize) -> SetAttentionBlockConfig {
    SetAttentionBlockConfig::new(inputs, inputs, WIDTH, HEADS)
        .with_scale(ScoreScale::FullWidth)
        .with_residual(Residual::Projected)
        .with_output_projection(false)
        .with_feed_forward(1)
}

fn items(n: usize, sets: usize, width: usize, device: &Device) -> Tensor<3> {
    Tensor::random([sets, n, width], Distribution::Normal(0.0, 1.0), device)
}
