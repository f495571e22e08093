//! The model cells: the Attention Model with fresh weights, in evaluation mode.

use std::time::Duration;

use burn::tensor::{Device, Tensor, TensorData};
use regard::routes::decode::{Decode, DecodeOptions};
use regard::routes::model::{AttentionModel, AttentionModelConfig};
use regard::routing::generate;
use regard::routing::problems::tsp::TspEnv;

use crate::protocol::{Answer, Request};
use crate::timing::{device, forward, timings};

/// Instances in a batch, as in `attention_model.py`.
pub(crate) const BATCH: usize = 512;
/// Solutions of the one instance of the `sampling` cell, as in `torch_trajectories.py`.
const SAMPLES: usize = 1280;
/// Seed of points and weights.
pub(crate) const SEED: u64 = 1;

/// The model that all cells share.
pub(crate) struct Model {
    model: AttentionModel,
    device: Device,
}

impl Model {
    /// Fresh weights of the published sizes.
    pub(crate) fn new() -> regard::Result<Self> {
        let device = device();
        let model = AttentionModel::new(&AttentionModelConfig::kool_2019(), &device)?;
        Ok(Self { model, device })
    }

    /// Runs an `encoder`, `rollout` or `sampling` cell.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        let points = generate::uniform(SEED, BATCH, request.n);
        let period = Duration::from_secs_f64(request.seconds);
        let times = match request.cell.as_str() {
            "encoder" => return self.encoder(&points, request),
            "rollout" => self.decode(&points, Decode::Greedy, period),
            "sampling" => self.decode(&points[..1], Decode::Sample(SAMPLES), period),
            other => return Answer::unknown(other),
        };
        match times {
            Ok(times) => Answer::Ms(times),
            Err(error) => Answer::Error(error.to_string()),
        }
    }

    /// Embedding and encoder.
    fn encoder(&self, points: &[Vec<[f32; 2]>], request: &Request) -> Answer {
        let shape = [points.len(), points.first().map_or(0, Vec::len), 2];
        let flat: Vec<f32> = points.iter().flatten().flatten().copied().collect();
        let points = Tensor::<3>::from_data(TensorData::new(flat, shape), &self.device);
        forward(request, || self.model.encode(points.clone()))
    }

    /// Encoder, and the best tours that a way of decoding finds, with their costs.
    fn decode(&self, points: &[Vec<[f32; 2]>], decode: Decode, period: Duration) -> regard::Result<Vec<f64>> {
        let options = DecodeOptions { decode, seed: SEED, ..DecodeOptions::default() };
        let cost = |instance: usize, tour: &[usize]| length(&points[instance], tour);
        let problems: Vec<TspEnv> = points.iter().cloned().map(TspEnv::new).collect();
        self.model.decode(&problems, &cost, &options)?;
        Ok(timings(period, || drop(self.model.decode(&problems, &cost, &options))))
    }
}

/// Length of the closed tour through `points`.
fn length(points: &[[f32; 2]], tour: &[usize]) -> f64 {
    let next = tour.iter().cycle().skip(1);
    let edge = |(&a, &b): (&usize, &usize)| {
        let ([ax, ay], [bx, by]) = (points[a], points[b]);
        f64::from(ax - bx).hypot(f64::from(ay - by))
    };
    tour.iter().zip(next).map(edge).sum()
}
