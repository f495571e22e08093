//! Predictions for sets and items, and their metrics.

use burn::tensor::Device;
use regard_data::cancel;
use regard_data::metrics::{accuracy, mean_absolute_error, mean_ndcg, roc_auc, root_mean_squared_error};
use regard_data::sets::mixture::{Covariance, Em, LogWeights};
use regard_data::stats::largest;

use super::examples::Examples;
use super::experiment::SetTraining;
use super::mixture::softplus;
use super::model::{Answers, Decoding, SetTransformer, SetTransformerConfig};
use super::task::{Targets, TaskKind};
use crate::Result;
use crate::train::{
    Measure, Measures, NumberLoss, Ranks, TrainSettings, ValidationMetrics, classification_metrics, probabilities,
};

/// Items that go through a network together; bounds memory.
const ITEMS_AT_ONCE: usize = 1 << 15;

/// Predictions as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// `[sets, rows, outputs]`, or `[items, outputs]` where every item has an answer.
    pub numbers: Vec<f64>,
    /// The attention of the pooling to every item, `[items]`.
    pub importance: Option<Vec<f64>>,
}

/// The predictions of a network, chunk by chunk.
pub fn predict(model: &SetTransformer, examples: &Examples, importance: bool, device: &Device) -> Predictions {
    let mut predicted = Predictions { numbers: Vec::new(), importance: importance.then(Vec::new) };
    let mut from = 0;
    while from < examples.len() {
        cancel::check();
        let room = |to: usize| examples.offsets[to] - examples.offsets[from] <= ITEMS_AT_ONCE;
        let to = (from + 1..=examples.len()).take_while(|&to| to == from + 1 || room(to)).last().unwrap_or(from + 1);
        let sets = examples.part(from, to).batch(device).sets;
        let answers = match &mut predicted.importance {
            Some(all) => {
                let (answers, found) = model.forward_with_importance(sets);
                match found {
                    Some(found) => all.extend(found.into_iter().map(f64::from)),
                    None => predicted.importance = None,
                }
                answers
            }
            None => model.forward(sets),
        };
        match answers {
            Answers::Sets(rows) => predicted.numbers.extend(rows.into_data().iter::<f64>()),
            Answers::Items(items) => predicted.numbers.extend(items.rows.into_data().iter::<f64>()),
        }
        from = to;
    }
    predicted
}

/// Predicted numbers in the units of the target, or the most likely counts.
pub fn in_own_units(config: &SetTransformerConfig, numbers: &[f64]) -> Vec<f64> {
    match config.decoding {
        // The mode of a Poisson distribution is the whole part of its rate.
        Decoding::Rate => numbers.iter().map(|&row| softplus(row).floor()).collect(),
        _ => numbers.iter().map(|&number| config.data.unscaled(number)).collect(),
    }
}

/// Targets that are numbers, in their own units; `None` for other targets.
pub(super) fn numbers_of(config: &SetTransformerConfig, targets: &Targets) -> Option<Vec<f64>> {
    let Targets::Numbers(targets) = targets else { return None };
    let targets: Vec<f64> = targets.iter().map(|&target| f64::from(target)).collect();
    Some(match config.decoding {
        // Counts are not scaled.
        Decoding::Rate => targets,
        _ => in_own_units(config, &targets),
    })
}

/// Loss and metrics of a network on sets with targets.
///
/// # Errors
/// Answers that are no numbers.
pub fn measure(
    model: &SetTransformer,
    config: &SetTransformerConfig,
    examples: &Examples,
    loss: NumberLoss,
    device: &Device,
) -> Result<ValidationMetrics> {
    let predicted = predict(model, examples, false, device).numbers;
    measure_predictions(config, &predicted, examples, loss)
}

/// As [`measure`], in the shards of a batch (`train.shards`), which the ranks of this thread share.
///
/// # Errors
/// As there.
pub(super) fn measure_in_shards(
    model: &SetTransformer,
    config: &SetTransformerConfig,
    examples: &Examples,
    train: &TrainSettings<SetTraining>,
    device: &Device,
) -> Result<ValidationMetrics> {
    let predicted = Ranks::current().spread(train.shards, examples.len(), |range| {
        Ok(match range.len() == examples.len() {
            true => predict(model, examples, false, device).numbers,
            false => predict(model, &examples.part(range.start, range.end), false, device).numbers,
        })
    })?;
    measure_predictions(config, &predicted, examples, train.loss)
}

/// As [`measure`], for predictions that are known.
///
/// # Errors
/// As there.
pub fn measure_predictions(
    config: &SetTransformerConfig,
    predicted: &[f64],
    examples: &Examples,
    loss: NumberLoss,
) -> Result<ValidationMetrics> {
    let checked = |cost: f64, measures: Vec<(&'static str, f64)>| {
        let measures = Measures(measures.into_iter().map(|(name, value)| Measure::Last(name, value)).collect());
        Ok(ValidationMetrics { cost, measures, ..ValidationMetrics::default() })
    };
    match &examples.targets {
        Targets::Numbers(_) => {
            let found = in_own_units(config, predicted);
            let truth = numbers_of(config, &examples.targets).unwrap_or_default();
            let (mae, rmse) = (mean_absolute_error(&found, &truth), root_mean_squared_error(&found, &truth));
            let exact = found.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / found.len().max(1) as f64;
            let cost = if loss == NumberLoss::Absolute { mae } else { rmse };
            match config.task {
                TaskKind::Counting => checked(mae, vec![("accuracy", exact), ("mae", mae), ("rmse", rmse)]),
                _ => checked(cost, vec![("mae", mae), ("rmse", rmse)]),
            }
        }
        Targets::Classes(classes) => {
            Ok(classification_metrics(&probabilities(predicted, config.outputs), config.outputs, classes))
        }
        Targets::Relevance(relevance) => {
            let labels: Vec<f64> = relevance.iter().map(|&grade| f64::from(grade)).collect();
            let at = |k: usize| mean_ndcg(predicted, &labels, &examples.offsets, k);
            checked(-at(5), vec![("ndcg1", at(1)), ("ndcg3", at(3)), ("ndcg5", at(5))])
        }
        Targets::Odd(odd) => {
            let sets = examples.offsets.windows(2).map(|pair| &predicted[pair[0]..pair[1]]);
            let found: Vec<usize> = sets.map(largest).collect();
            let right = accuracy(&found, odd);
            let mut positive = vec![false; predicted.len()];
            odd.iter().zip(&examples.offsets).for_each(|(item, from)| positive[from + item] = true);
            let auc = roc_auc(predicted, &positive).map(|auc| ("auc", auc));
            checked(1.0 - right, std::iter::once(("accuracy", right)).chain(auc).collect())
        }
        Targets::Points => clustering(config, predicted, examples).map(|all| checked(-all[0].1, all))?,
    }
}

/// Mean log-likelihood of a point under the predicted mixtures, the same after one step of EM, and under the
/// mixtures the points were drawn from.
fn clustering(
    config: &SetTransformerConfig,
    predicted: &[f64],
    examples: &Examples,
) -> Result<Vec<(&'static str, f64)>> {
    let (components, columns, axes) = (config.num_seeds, config.outputs, examples.width);
    let em = Em { covariance: Covariance::Diagonal, log_weights: LogWeights::Repository, ..Em::default() };
    let mut sums = [0.0; 3];
    let mut sets = 0;
    for (set, rows) in predicted.chunks(components * columns).enumerate() {
        let points = examples.set(set);
        if points.is_empty() {
            continue;
        }
        let found = super::mixture::mixture_of(rows, axes, config)?;
        sets += 1;
        sums[0] += found.mean_log_likelihood(points, LogWeights::Repository);
        sums[1] += em.step(&found, points).mean_log_likelihood(points, LogWeights::Repository);
        if let Some(truth) = examples.truth.get(set) {
            sums[2] += truth.mixture.mean_log_likelihood(points, LogWeights::Repository);
        }
    }
    let means = sums.map(|sum| sum / f64::from(sets.max(1)));
    let mut all = vec![("ll0", means[0]), ("ll1", means[1])];
    all.extend((!examples.truth.is_empty()).then_some(("oracle", means[2])));
    Ok(all)
}
