//! Pooling of a set to a fixed number of rows.

use burn::{
    module::{Initializer, Module, Param},
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, TensorData, activation},
};

use super::{QuerySource, SetAttentionBlock, SetAttentionBlockConfig, attention_block::learnt_rows};
use crate::trace::{self, Operation};
use crate::{
    Ragged,
    ops::{self, AttentionOptions, MASKED, SetQueries, attention_weights},
};

/// Sizes of an [`AttentionPooling`].
#[derive(Clone, Debug)]
pub struct AttentionPoolingConfig {
    /// Sizes and options of the block.
    pub block: SetAttentionBlockConfig,
    /// Number of seeds, which is the number of rows of the result.
    pub seeds: usize,
}

/// Pooling by multihead attention, PMA (Lee et al. 2019, §3.2, eq. 11): learnt seeds attend to the items.
#[derive(Module, Debug)]
pub struct AttentionPooling {
    /// `[seeds, width]`
    pub seeds: Param<Tensor<2>>,
    /// From the items to the seeds.
    pub mab: SetAttentionBlock,
}

impl AttentionPoolingConfig {
    /// Pools items of width `width` to `seeds` rows.
    pub fn new(width: usize, heads: usize, seeds: usize) -> Self {
        Self { block: SetAttentionBlockConfig::new(width, width, width, heads), seeds }
    }

    /// Initialises the weights.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`], or if there is no seed.
    pub fn init(&self, device: &Device) -> AttentionPooling {
        AttentionPooling {
            seeds: learnt_rows(self.seeds, self.block.width, device),
            mab: self.block.clone().with_queries(QuerySource::Learnt).init(device),
        }
    }
}

impl AttentionPooling {
    /// One row for every seed of every set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        let seeds = self.seeds.val();
        trace::step("seeds", Operation::Input)
            .source("Lee et al. 2019, §3.2, eq. 11")
            .values(["seed", "channel"], &seeds);
        let axes = [("query", "seed"), ("key", "row"), ("row", "seed")];
        trace::scope_with(String::new, &axes, || self.mab.forward(SetQueries::Shared(seeds), x))
    }

    /// The result and the attention weights of the seeds over the items, `[sets, heads, seeds, longest set]`.
    pub fn forward_with_weights(&self, x: Ragged) -> (Ragged, Tensor<4>) {
        self.mab.forward_with_weights(SetQueries::Shared(self.seeds.val()), x)
    }
}

/// Pooling functions of Deep Sets (Zaheer et al. 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The mean.
    Mean,
    /// The sum.
    Sum,
    /// The maximum of each channel.
    Max,
}

/// Pools every set to one row, `[sets, width]`; zeros for an empty set.
pub fn reduce(x: &Ragged, by: Reduction) -> Tensor<2> {
    let (reduced, operation) = match by {
        Reduction::Mean => (x.means(), Operation::Mean),
        Reduction::Sum => (x.sums(), Operation::Total),
        Reduction::Max => (largest(x), Operation::Largest),
    };
    trace::step("pooled", operation).source("Zaheer et al. 2017").from(&x.rows).values(["", "channel"], &reduced);
    reduced
}

fn largest(x: &Ragged) -> Tensor<2> {
    let ([_, width], sets, longest, device) = (x.rows.dims(), x.count(), x.longest(), x.rows.device());
    if longest == 0 {
        return Tensor::zeros([sets, width], &device);
    }
    let padded = x.to_padded();
    let padded = match x.mask().masked([sets, 1, longest], &device) {
        Some(masked) => padded.mask_fill(masked.swap_dims(1, 2).expand([sets, longest, width]), MASKED),
        None => padded,
    };
    let largest = padded.max_dim(1).reshape([sets, width]);
    let empty = largest.clone().lower_elem(MASKED / 2.0);
    largest.mask_fill(empty, 0.0)
}

/// Share of each item in the result of [`reduce`], `[sets, longest]`. The shares of a non-empty set sum to one.
/// For the maximum, the share is the fraction of channels in which the item is the largest (the first of
/// equals), else all items have equal shares.
pub fn reduction_weights(x: &Ragged, by: Reduction) -> Tensor<2> {
    let ([_, width], sets, longest, device) = (x.rows.dims(), x.count(), x.longest(), x.rows.device());
    let mut weights = vec![0.0; sets * longest];
    let rows: Vec<f32> = if by == Reduction::Max { x.rows.to_data().iter::<f32>().collect() } else { Vec::new() };
    for (set, pair) in x.offsets().windows(2).enumerate() {
        let (from, to, weights) = (pair[0], pair[1], &mut weights[set * longest..(set + 1) * longest]);
        if by != Reduction::Max {
            weights[..to - from].fill(1.0 / (to - from).max(1) as f32);
            continue;
        }
        for channel in (0..width).filter(|_| to > from) {
            let at = |row: usize| rows[row * width + channel];
            let best = (from..to).fold(from, |best, row| if at(row) > at(best) { row } else { best });
            weights[best - from] += 1.0 / width as f32;
        }
    }
    Tensor::from_data(TensorData::new(weights, [sets, longest]), &device)
}

/// Sizes of a [`DotPooling`].
#[derive(Clone, Copy, Debug)]
pub struct DotPoolingConfig {
    /// Width of the items.
    pub width: usize,
}

/// A mean weighted by the softmax of dot products with one learnt row: attention without projections.
#[derive(Module, Debug)]
pub struct DotPooling {
    /// `[width]`
    pub query: Param<Tensor<1>>,
}

impl DotPoolingConfig {
    /// Initialises the learnt row, uniform in ±1/√width.
    pub fn init(&self, device: &Device) -> DotPooling {
        DotPooling { query: learnt_query(self.width, device) }
    }
}

impl DotPooling {
    /// One row for every set, `[sets, width]`, and the weight of every item `[sets, longest]`; zeros for an
    /// empty set.
    pub fn forward(&self, x: &Ragged) -> (Tensor<2>, Tensor<2>) {
        pooled_by(self.query.val(), x, x, 1.0 / (x.rows.dims()[1] as f32).sqrt())
    }
}

/// Sizes of a [`GatedPooling`].
#[derive(Clone, Copy, Debug)]
pub struct GatedPoolingConfig {
    /// Width of the items.
    pub width: usize,
    /// Width of the two layers that give the weights.
    pub hidden: usize,
}

/// Gated attention pooling (Ilse, Tomczak & Welling 2018, "Attention-based Deep Multiple Instance Learning", eq. 9): a mean
/// weighted by the softmax of `query · (tanh(x V) ⊙ sigmoid(x U))`.
#[derive(Module, Debug)]
pub struct GatedPooling {
    /// `V`, `[width, hidden]`.
    pub tanh: Linear,
    /// `U`, `[width, hidden]`.
    pub gate: Linear,
    /// `[hidden]`
    pub query: Param<Tensor<1>>,
}

impl GatedPoolingConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    pub fn init(&self, device: &Device) -> GatedPooling {
        let linear = || LinearConfig::new(self.width, self.hidden).init(device);
        GatedPooling { tanh: linear(), gate: linear(), query: learnt_query(self.hidden, device) }
    }
}

impl GatedPooling {
    /// As [`DotPooling::forward`].
    pub fn forward(&self, x: &Ragged) -> (Tensor<2>, Tensor<2>) {
        const SOURCE: &str = "Ilse et al. 2018, eq. 9";
        const ROWS: [&str; 2] = ["row", "channel"];
        if x.rows.dims()[0] == 0 {
            return pooled_by(self.query.val(), x, x, 1.0);
        }
        let layer = |name: &str, linear: &Linear| {
            let y = ops::linear(linear, x.rows.clone());
            trace::linear(name, linear, &x.rows, ROWS, &y);
            y
        };
        let (before, before_gate) = (layer("value", &self.tanh), layer("gate", &self.gate));
        let values = activation::tanh(before.clone());
        trace::step("tanh", Operation::ClippedTanh { clip: 1.0 }).source(SOURCE).from(&before).values(ROWS, &values);
        let gates = activation::sigmoid(before_gate.clone());
        trace::step("sigmoid", Operation::Sigmoid).source(SOURCE).from(&before_gate).values(ROWS, &gates);
        let keys = values.clone() * gates.clone();
        trace::step("key", Operation::Product).source(SOURCE).from(&values).from(&gates).values(ROWS, &keys);
        pooled_by(self.query.val(), &x.with_rows(keys), x, 1.0)
    }
}

/// A learnt row, uniform in ±1/√width.
fn learnt_query(width: usize, device: &Device) -> Param<Tensor<1>> {
    let bound = 1.0 / (width.max(1) as f64).sqrt();
    Initializer::Uniform { min: -bound, max: bound }.init([width], device)
}

/// Means of the items `x` weighted by the softmax of the dot products of `query` and their `keys`, `[sets, width]`, and the
/// weights `[sets, longest]`; zeros for an empty set.
fn pooled_by(query: Tensor<1>, keys: &Ragged, x: &Ragged, scale: f32) -> (Tensor<2>, Tensor<2>) {
    let ([_, width], sets, longest, device) = (x.rows.dims(), x.count(), x.longest(), x.rows.device());
    if longest == 0 {
        return (Tensor::zeros([sets, width], &device), Tensor::zeros([sets, 0], &device));
    }
    let key_width = query.dims()[0];
    trace::step("query", Operation::Input).values(["channel"], &query);
    let query = query.reshape([1, 1, key_width]).expand([sets, 1, key_width]);
    let options = AttentionOptions { scale, ..AttentionOptions::new(1, key_width).with_mask(x.mask()) };
    let (pooled, weights) = trace::scope_with(String::new, &[("query", ""), ("key", "row")], || {
        attention_weights(query, keys.to_padded(), x.to_padded(), None, &options)
    });
    (pooled.reshape([sets, width]), weights.reshape([sets, longest]))
}
