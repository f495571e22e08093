//! Tasks on sets, their targets and their losses.

use burn::tensor::{Tensor, TensorData, activation};
use regard_nn::Ragged;
use regard_nn::ops::MASKED;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mixture;
use super::model::{Answers, Decoding, SetTransformerConfig};
use crate::train::{LossOptions, cross_entropy, negative_log_likelihood, number_loss};

/// Task of a network on sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// Predicts one or several numbers for a set.
    Regression,
    /// Predicts one of several classes for a set.
    Classification,
    /// Predicts a count for a set.
    Counting,
    /// Predicts the mixture of normal distributions that the points were sampled from.
    Clustering,
    /// Predicts a score for every item, higher for better items.
    Ranking,
    /// Finds the one item that does not belong to the set.
    Anomaly,
}

impl TaskKind {
    /// The word in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Classification => "classification",
            Self::Counting => "counting",
            Self::Clustering => "clustering",
            Self::Ranking => "ranking",
            Self::Anomaly => "anomaly",
        }
    }

    /// If true, every item has a prediction, not the set.
    pub fn of_items(self) -> bool {
        matches!(self, Self::Ranking | Self::Anomaly)
    }
}

/// The targets of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Numbers `[sets, outputs]`, as the network shall give them; counts too.
    Numbers(Vec<f32>),
    /// A class of every set.
    Classes(Vec<usize>),
    /// A relevance of every item.
    Relevance(Vec<f32>),
    /// The item of every set that does not belong, counted within the set.
    Odd(Vec<usize>),
    /// Nothing: the points themselves say how likely they are.
    Points,
}

/// Sets with their targets.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The items.
    pub sets: Ragged,
    /// The targets.
    pub targets: Targets,
}

/// The loss of predictions, a mean over sets, items or points; `[1]`.
///
/// # Panics
/// If answers and targets are of different tasks.
pub fn loss(answers: Answers, batch: &Batch, config: &SetTransformerConfig, options: LossOptions) -> Tensor<1> {
    match (answers, &batch.targets) {
        (Answers::Sets(rows), Targets::Numbers(numbers)) => {
            let [sets, each, outputs] = rows.dims();
            let rows = rows.reshape([sets, each * outputs]);
            let target = Tensor::from_data(TensorData::new(numbers.clone(), [sets, each * outputs]), &rows.device());
            match (config.decoding, options.number) {
                (Decoding::Rate, _) => poisson(rows, target),
                (_, number) => number_loss(rows - target, number).mean(),
            }
        }
        (Answers::Sets(rows), Targets::Classes(classes)) => {
            let [sets, _, outputs] = rows.dims();
            cross_entropy(rows.reshape([sets, outputs]), classes, options.class_weights)
        }
        (Answers::Sets(rows), Targets::Points) => mixture::log_likelihood(rows, &batch.sets, config).mean().neg(),
        (Answers::Items(items), Targets::Relevance(relevance)) => listwise(&items, relevance),
        (Answers::Items(items), Targets::Odd(odd)) => negative_log_likelihood(within_sets(&items), odd),
        _ => panic!("answers and targets of different tasks"),
    }
}

/// `rate − count · ln rate` with `rate = softplus(row)`, the log-likelihood but for a constant.
fn poisson(rows: Tensor<2>, count: Tensor<2>) -> Tensor<1> {
    let rate = activation::softplus(rows, 1.0).add_scalar(1e-6);
    (rate.clone() - count * rate.log()).mean()
}

/// Cross entropy between the gains `2^relevance − 1` of a set, as shares, and the softmax of its scores
/// (Cao et al. 2007); sets without any gain have no part in it.
fn listwise(items: &Ragged, relevance: &[f32]) -> Tensor<1> {
    let log_p = within_sets(items);
    let [sets, longest] = log_p.dims();
    let mut shares = vec![0.0; sets * longest];
    let mut count = 0;
    for (set, pair) in items.offsets().windows(2).enumerate() {
        let gains: Vec<f32> = relevance[pair[0]..pair[1]].iter().map(|grade| grade.exp2() - 1.0).collect();
        let sum: f32 = gains.iter().sum();
        if sum > 0.0 {
            count += 1;
            gains.iter().enumerate().for_each(|(item, gain)| shares[set * longest + item] = gain / sum);
        }
    }
    let shares = Tensor::<2>::from_data(TensorData::new(shares, [sets, longest]), &log_p.device());
    (log_p * shares).sum().neg().div_scalar(count.max(1) as f32)
}

/// Log-softmax of the first number of every item within its set, `[sets, longest]`; what is no item
/// has [`MASKED`] before it, and a share of nothing.
fn within_sets(items: &Ragged) -> Tensor<2> {
    let (sets, longest, device) = (items.count(), items.longest().max(1), items.rows.device());
    let first = items.with_rows(items.rows.clone().narrow(1, 0, 1));
    let scores = match items.longest() {
        0 => Tensor::zeros([sets, 1], &device),
        _ => first.to_padded().reshape([sets, longest]),
    };
    let bar = |length: usize| (0..longest).map(move |item| if item < length { 0.0 } else { MASKED });
    let bars: Vec<f32> = items.lengths().flat_map(bar).collect();
    activation::log_softmax(scores + Tensor::from_data(TensorData::new(bars, [sets, longest]), &device), 1)
}
