//! The Set Transformer (Lee et al. 2019) and Deep Sets (Zaheer et al. 2017): one network, whose
//! encoder, pooling and decoder are settings.

mod config;
mod names;
mod parts;
mod presets;
mod switches;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Gradients, Tensor};
use rand_pcg::Pcg64Mcg;
use regard_nn::Ragged;
use regard_nn::ops;
use regard_nn::set::{Reduction, reduce};
use regard_nn::trace::{self, Operation};

use crate::Result;
use crate::store::{NetworkConfig, Weights, layout, renamed};
use crate::train::{collect, drawn, dropped, gradients, restore};
pub(crate) use config::NOT_INHERITED;
pub use config::{DataPreparation, KIND, SetTransformerConfig};
use parts::{Decoder, Encoder, Pooling};
pub use presets::PRESETS;
pub use switches::{Decoding, EncoderKind, NormName, PoolingKind, ResidualName, ScaleName};

/// A network on sets.
#[derive(Module, Debug)]
pub struct SetTransformer {
    encoder: Encoder,
    pooling: Option<Pooling>,
    decoder: Option<Decoder>,
    head: Linear,
    /// Scores of the items, the largest of which is a part of the answer.
    item_head: Option<Linear>,
    /// Rows of the result of a set; 0 where every item has one.
    rows: usize,
    outputs: usize,
    dropout: f64,
}

/// The predictions for a batch.
#[derive(Clone, Debug)]
pub enum Answers {
    /// `[sets, rows, outputs]`.
    Sets(Tensor<3>),
    /// One row of `outputs` numbers for every item.
    Items(Ragged),
}

impl SetTransformer {
    /// A network with fresh weights, drawn from the device's generator.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for settings that do not hold together.
    pub fn new(config: &SetTransformerConfig, device: &Device) -> Result<Self> {
        Self::undrawn(config, device).map(drawn)
    }

    /// A network whose weights are drawn when they are first used, for those that get others before that.
    pub(super) fn undrawn(config: &SetTransformerConfig, device: &Device) -> Result<Self> {
        config.validate()?;
        let pooled = config.pooling != PoolingKind::None;
        let columns = match config.pooling {
            PoolingKind::Attention | PoolingKind::None => config.outputs,
            // One row for the set, cut into rows of the result.
            _ => config.outputs * config.num_seeds,
        };
        Ok(Self {
            encoder: Encoder::new(config, device),
            pooling: pooled.then(|| Pooling::new(config, device)),
            decoder: pooled.then(|| Decoder::new(config, device)),
            head: LinearConfig::new(config.width, columns).init(device),
            item_head: config.max_instance.then(|| LinearConfig::new(config.width, columns).init(device)),
            rows: if pooled { config.num_seeds } else { 0 },
            outputs: config.outputs,
            dropout: config.dropout,
        })
    }

    /// A network with the weights of a model's file.
    ///
    /// # Errors
    /// [`Error::Weights`](crate::Error::Weights) for weights that are not this network's.
    pub fn from_weights(config: &SetTransformerConfig, weights: &Weights, device: &Device) -> Result<Self> {
        layout::check(config, weights)?;
        restore(Self::undrawn(config, device)?, &renamed::to_ours(names::table(config), weights))
    }

    /// The weights under the names of the authors' code where it has them.
    pub fn to_weights(&self, config: &SetTransformerConfig) -> Weights {
        renamed::to_theirs(names::table(config), collect(self))
    }

    /// The gradients of the weights that have one, under the names of [`Self::to_weights`].
    pub fn gradients(&self, config: &SetTransformerConfig, found: &Gradients) -> Weights {
        renamed::to_theirs(names::table(config), gradients(self, found))
    }

    /// The prediction for each set, or for each item.
    pub fn forward(&self, sets: Ragged) -> Answers {
        self.answer(sets, None)
    }

    /// As [`Self::forward`], with numbers dropped at random from `noise` (Srivastava et al. 2014).
    pub fn forward_with_dropout(&self, sets: Ragged, noise: &mut Pcg64Mcg) -> Answers {
        self.answer(sets, Some(noise))
    }

    /// Answers of the sets, and how much each item counts in the pooling, `[rows]`, which adds up to 1
    /// in every set: the mean over seeds and heads, or the share of channels in which an item is the
    /// largest. `None` where nothing is pooled.
    pub fn forward_with_importance(&self, sets: Ragged) -> (Answers, Option<Vec<f32>>) {
        let encoded = self.encoder.forward(sets);
        let Some(pooling) = &self.pooling else { return (self.items(encoded), None) };
        let lengths: Vec<usize> = encoded.lengths().collect();
        let (pooled, weights) = pooling.forward_with_weights(encoded.clone());
        let [_, longest] = weights.dims();
        let weights: Vec<f32> = weights.into_data().iter::<f32>().collect();
        let of_set = |(set, &length): (usize, &usize)| weights[set * longest..][..length].to_vec();
        let importance = lengths.iter().enumerate().flat_map(of_set).collect();
        (self.read(pooled, encoded, &mut None), Some(importance))
    }

    fn answer(&self, sets: Ragged, mut noise: Option<&mut Pcg64Mcg>) -> Answers {
        let encoded = self.encoder.forward(sets);
        let rows = self.noisy(encoded.rows.clone(), &mut noise);
        let encoded = encoded.with_rows(rows);
        match &self.pooling {
            Some(pooling) => self.read(pooling.forward(encoded.clone()), encoded, &mut noise),
            None => self.items(encoded),
        }
    }

    fn noisy(&self, rows: Tensor<2>, noise: &mut Option<&mut Pcg64Mcg>) -> Tensor<2> {
        match noise {
            Some(noise) => dropped(rows, self.dropout, noise),
            None => rows,
        }
    }

    fn read(&self, pooled: Ragged, items: Ragged, noise: &mut Option<&mut Pcg64Mcg>) -> Answers {
        let sets = pooled.count();
        let largest = self.item_head.as_ref().map(|head| largest_score(head, &items));
        let decoded = match &self.decoder {
            Some(decoder) => decoder.forward(pooled, items),
            None => pooled,
        };
        let rows = self.noisy(decoded.rows, noise);
        let shape = [sets, self.rows, self.outputs];
        if sets == 0 {
            return Answers::Sets(Tensor::zeros(shape, &rows.device()));
        }
        const AXES: [&str; 2] = ["seed", "output"];
        let of_pooled = ops::linear(&self.head, rows.clone());
        let Some(largest) = largest else {
            trace::linear("answer", &self.head, &rows, AXES, &of_pooled);
            return Answers::Sets(of_pooled.reshape(shape));
        };
        trace::linear("of_set", &self.head, &rows, AXES, &of_pooled);
        let sum = of_pooled.clone() + largest.clone();
        trace::step("of_both", Operation::Sum).from(&of_pooled).from(&largest).values(AXES, &sum);
        let answers = sum.clone().mul_scalar(0.5);
        trace::step("answer", Operation::Scale { factor: 0.5 }).from(&sum).values(AXES, &answers);
        Answers::Sets(answers.reshape(shape))
    }

    fn items(&self, encoded: Ragged) -> Answers {
        let rows = encoded.rows.clone();
        let shape = [rows.dims()[0], self.outputs];
        if shape[0] == 0 {
            return Answers::Items(encoded.with_rows(Tensor::zeros(shape, &rows.device())));
        }
        let answers = ops::linear(&self.head, rows.clone());
        trace::linear("answer", &self.head, &rows, ["row", "output"], &answers);
        Answers::Items(encoded.with_rows(answers))
    }
}

/// The largest score that items of each set have, output by output, `[sets, outputs]`; 0 for an empty set.
fn largest_score(head: &Linear, items: &Ragged) -> Tensor<2> {
    if items.rows.dims()[0] == 0 {
        return Tensor::zeros([items.count(), head.weight.dims()[1]], &items.rows.device());
    }
    trace::scope(
        || "items".into(),
        || {
            let scores = ops::linear(head, items.rows.clone());
            trace::linear("score", head, &items.rows, ["row", "output"], &scores);
            reduce(&items.with_rows(scores), Reduction::Max)
        },
    )
}
