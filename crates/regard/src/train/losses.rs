//! Losses of classes and numbers, and metrics of classes.

use burn::tensor::{Int, Tensor, TensorData, activation};
use regard_data::metrics::{accuracy, roc_auc};
use regard_data::stats::{largest, mean};

use super::{Measure, Measures, NumberLoss, ValidationMetrics};

/// Options of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossOptions {
    /// Loss of a number.
    pub number: NumberLoss,
    /// If true, a row has a larger weight the fewer rows of the batch are of its class:
    /// `(rows − rows of the class) / rows`, as the authors' code for SBM graphs weighs nodes (Dwivedi & Bresson 2021).
    pub class_weights: bool,
}

impl Default for LossOptions {
    fn default() -> Self {
        Self { number: NumberLoss::Absolute, class_weights: false }
    }
}

/// The cross entropy of scores `[rows, classes]` with the class of each row, a mean over the rows, with larger weights
/// for rare classes where `weighted`; `[1]`.
pub(crate) fn cross_entropy(scores: Tensor<2>, classes: &[usize], weighted: bool) -> Tensor<1> {
    let logarithms = activation::log_softmax(scores, 1);
    if !weighted {
        return negative_log_likelihood(logarithms, classes);
    }
    let weights = row_weights(classes);
    let sum: f32 = weights.iter().sum();
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [classes.len(), 1]), &logarithms.device());
    // One class alone has the weight 0.
    (of_classes(logarithms, classes).neg() * weights).sum().div_scalar(if sum > 0.0 { sum } else { 1.0 })
}

/// Minus the mean of the log-probabilities `[rows, classes]` of the true classes; `[1]`.
pub(crate) fn negative_log_likelihood(logarithms: Tensor<2>, classes: &[usize]) -> Tensor<1> {
    of_classes(logarithms, classes).mean().neg()
}

/// The number of each row `[rows, classes]` in the column of its class, `[rows, 1]`.
fn of_classes(numbers: Tensor<2>, classes: &[usize]) -> Tensor<2> {
    let index: Vec<i64> = classes.iter().map(|&class| class as i64).collect();
    let index = Tensor::<2, Int>::from_data(TensorData::new(index, [classes.len(), 1]), &numbers.device());
    numbers.gather(1, index)
}

/// The weight of each row: the fraction of rows that are of another class.
pub(crate) fn row_weights(classes: &[usize]) -> Vec<f32> {
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| most + 1)];
    classes.iter().for_each(|&class| counts[class] += 1);
    classes.iter().map(|&class| (classes.len() - counts[class]) as f32 / classes.len() as f32).collect()
}

/// The loss of each error of predicted numbers, in their shape.
pub(crate) fn number_loss<const D: usize>(errors: Tensor<D>, loss: NumberLoss) -> Tensor<D> {
    match loss {
        NumberLoss::Absolute => errors.abs(),
        NumberLoss::Squared => errors.square(),
        NumberLoss::Huber => {
            // Continuous with its slope: x² / 2 within 1, |x| − 1/2 beyond.
            let inner = errors.clone().clamp(-1.0, 1.0);
            let rest = errors - inner.clone();
            inner.square().mul_scalar(0.5) + rest.abs()
        }
    }
}

/// Probabilities `[rows, classes]` of a classifier's scores.
pub(crate) fn probabilities(scores: &[f64], classes: usize) -> Vec<f64> {
    let of_row = |scores: &[f64]| {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = parts.iter().sum();
        parts.into_iter().map(move |part| part / sum).collect::<Vec<_>>()
    };
    scores.chunks(classes.max(1)).flat_map(of_row).collect()
}

/// Metrics of probabilities `[rows, classes]`: the cost is the cross entropy; accuracy, and for two classes the area
/// under the ROC curve.
pub(crate) fn classification_metrics(probabilities: &[f64], count: usize, classes: &[usize]) -> ValidationMetrics {
    let rows = || probabilities.chunks(count);
    let found: Vec<usize> = rows().map(largest).collect();
    let each: Vec<f64> = rows().zip(classes).map(|(row, &class)| -row[class].max(1e-12).ln()).collect();
    let mut measures = vec![Measure::Last("accuracy", accuracy(&found, classes))];
    if count == 2 {
        let scores: Vec<f64> = rows().map(|row| row[1]).collect();
        let positive: Vec<bool> = classes.iter().map(|&class| class == 1).collect();
        measures.extend(roc_auc(&scores, &positive).map(|auc| Measure::Last("auc", auc)));
    }
    ValidationMetrics { cost: mean(&each), measures: Measures(measures), ..ValidationMetrics::default() }
}

/// Share of the most frequent class.
pub(crate) fn majority_share(classes: &[usize]) -> f64 {
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| most + 1)];
    classes.iter().for_each(|&class| counts[class] += 1);
    counts.iter().max().map_or(0.0, |&most| most as f64 / classes.len() as f64)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn losses_and_measures_agree() {
        let scores = [0.0, 3f64.ln(), 0.0, 0.0, 1000.0, 0.0];
        let shares = probabilities(&scores, 2);
        assert_eq!(
            shares.iter().map(|share| (share * 1e9).round() / 1e9).collect::<Vec<_>>(),
            [0.25, 0.75, 0.5, 0.5, 1.0, 0.0]
        );
        let checked = classification_metrics(&shares, 2, &[1, 0, 0]);
        let expected = (-(0.75f64.ln()) + 2f64.ln()) / 3.0;
        assert!((checked.cost - expected).abs() < 1e-9);
        assert_eq!(checked.measures.get("auc"), Some(1.0));
        let numbers: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        let rows = Tensor::from_data(TensorData::new(numbers, [3, 2]), &Device::flex());
        assert!((cross_entropy(rows, &[1, 0, 0], false).into_scalar::<f32>() - expected as f32).abs() < 1e-6);
    }

    #[test]
    fn rare_classes_count_more() {
        assert_eq!(row_weights(&[0, 0, 0, 2]), [0.25, 0.25, 0.25, 0.75]);
        let rows = TensorData::new(vec![0.0, 0.0, 0.0, 0.0, 0.0, 3f32.ln()], [3, 2]);
        let loss = cross_entropy(Tensor::from_data(rows, &Device::flex()), &[0, 0, 1], true).into_scalar::<f32>();
        let expected = (2.0 * 2f32.ln() / 3.0 + 2.0 / 3.0 * (4.0f32 / 3.0).ln()) / (4.0 / 3.0);
        assert!((loss - expected).abs() < 1e-6, "{loss} {expected}");
        let alone = Tensor::<2>::from_data(TensorData::new(vec![1f32, 2.0], [1, 2]), &Device::flex());
        assert_eq!(cross_entropy(alone, &[0], true).into_scalar::<f32>(), 0.0);
    }

    #[test]
    fn the_most_frequent_class_is_found() {
        assert_eq!(majority_share(&[2, 0, 2, 1]), 0.5);
        assert_eq!(majority_share(&[]), 0.0);
    }
}
