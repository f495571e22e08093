//! Tasks on graphs or nodes, their targets and their losses.

use burn::tensor::{Int, Tensor, TensorData, activation};
use regard_data::graphs::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::train::{LossOptions, cross_entropy, number_loss, row_weights};

/// Task of a network on graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GraphTask {
    /// Predicts one or several numbers; targets may be missing.
    Regression,
    /// Predicts one of several classes.
    Classification,
    /// Predicts several yes/no labels (multi-label classification); targets may be missing.
    Labels,
}

/// Level of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelName {
    /// One prediction for each graph.
    Graph,
    /// One prediction for each node.
    Node,
}

impl From<Level> for LevelName {
    fn from(level: Level) -> Self {
        match level {
            Level::Graph => Self::Graph,
            Level::Node => Self::Node,
        }
    }
}

impl From<LevelName> for Level {
    fn from(level: LevelName) -> Self {
        match level {
            LevelName::Graph => Self::Graph,
            LevelName::Node => Self::Node,
        }
    }
}

impl GraphTask {
    /// The word in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Classification => "classification",
            Self::Labels => "labels",
        }
    }
}

/// Targets row by row; unknown ones have no part in the loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Targets {
    /// `[rows, outputs]`, as the network shall give them; 0 or 1 for labels.
    Numbers(Vec<Option<f32>>),
    /// `[rows]`
    Classes(Vec<Option<usize>>),
}

/// The loss of predictions `[rows, outputs]`, a mean over known targets; `[1]`.
///
/// # Panics
/// If answers and targets do not fit together.
pub fn loss(answers: Tensor<2>, targets: &Targets, task: GraphTask, options: LossOptions) -> Tensor<1> {
    match targets {
        Targets::Classes(classes) => known_cross_entropy(answers, classes, options.class_weights),
        Targets::Numbers(numbers) => {
            let (shape, device) = (answers.dims(), answers.device());
            let array = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, shape), &device);
            let weights = match task {
                GraphTask::Labels if options.class_weights => label_weights(numbers, shape[1]),
                _ => numbers.iter().map(|number| f32::from(u8::from(number.is_some()))).collect(),
            };
            let sum: f32 = weights.iter().sum();
            let target = array(numbers.iter().map(|number| number.unwrap_or(0.0)).collect());
            let off = match task {
                // −ln of the logistic function of what is right.
                GraphTask::Labels => activation::softplus(answers.clone(), 1.0) - answers * target,
                _ => number_loss(answers - target, options.number),
            };
            (off * array(weights)).sum().div_scalar(if sum > 0.0 { sum } else { 1.0 })
        }
    }
}

fn known_cross_entropy(answers: Tensor<2>, classes: &[Option<usize>], weighted: bool) -> Tensor<1> {
    let (rows, known): (Vec<i64>, Vec<usize>) =
        classes.iter().enumerate().filter_map(|(row, class)| Some((row as i64, (*class)?))).unzip();
    if known.is_empty() {
        // Of nothing known nothing is learnt; the sum keeps the network in the graph.
        return answers.sum().mul_scalar(0.0);
    }
    let rows = Tensor::<1, Int>::from_data(TensorData::new(rows, [known.len()]), &answers.device());
    let answers = if known.len() == classes.len() { answers } else { answers.select(0, rows) };
    cross_entropy(answers, &known, weighted)
}

/// The weights of labels `[rows, labels]` of 0 and 1: the fraction of the known values of a label that are of the other
/// kind; 0 for those that are not known.
fn label_weights(numbers: &[Option<f32>], labels: usize) -> Vec<f32> {
    let mut weights = vec![0.0; numbers.len()];
    for label in 0..labels {
        let places = (label..numbers.len()).step_by(labels).filter(|place| numbers[*place].is_some());
        let (places, classes): (Vec<usize>, Vec<usize>) =
            places.map(|place| (place, usize::from(numbers[place].is_some_and(|number| number > 0.5)))).unzip();
        places.into_iter().zip(row_weights(&classes)).for_each(|(place, weight)| weights[place] = weight);
    }
    weights
}

/// Mean squared distance of the probabilities of each view from the mean of all views, sharpened by
/// `temperature` (GRAND, Feng et al. 2020, §3.2); `[1]`. `answers` are `[views * rows, classes]`, all rows of
/// a view after those of the view before.
///
/// The mean of the views is a target, so no gradient goes through it.
pub(super) fn consistency(answers: Tensor<2>, views: usize, temperature: f64) -> Tensor<1> {
    let [all, classes] = answers.dims();
    let rows = all / views;
    let probabilities = activation::softmax(answers, 1).reshape([views, rows, classes]);
    let together = probabilities.clone().detach().mean_dim(0);
    let sharp = together.powf_scalar(1.0 / temperature);
    let target = sharp.clone() / sharp.sum_dim(2);
    (probabilities - target).square().sum().div_scalar((views * rows).max(1) as f32)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::train::NumberLoss;

    fn value(rows: &[[f32; 2]], targets: &Targets, task: GraphTask, options: LossOptions) -> f32 {
        let flat: Vec<f32> = rows.iter().flatten().copied().collect();
        let answers = Tensor::<2>::from_data(TensorData::new(flat, [rows.len(), 2]), &Device::flex());
        loss(answers, targets, task, options).into_scalar::<f32>()
    }

    #[test]
    fn what_is_unknown_has_no_part() {
        let targets = Targets::Numbers(vec![Some(1.0), None, None, Some(-2.0)]);
        let rows = [[3.0, 50.0], [50.0, -2.5]];
        let plain = |number| LossOptions { number, class_weights: false };
        let of = |number| value(&rows, &targets, GraphTask::Regression, plain(number));
        assert_eq!([of(NumberLoss::Absolute), of(NumberLoss::Squared)], [1.25, 2.125]);
        assert_eq!(of(NumberLoss::Huber), (1.5 + 0.125) / 2.0);
        let labels = Targets::Numbers(vec![Some(1.0), None, None, Some(0.0)]);
        let expected = ((-3.0f32).exp().ln_1p() + (-2.5f32).exp().ln_1p()) / 2.0;
        assert!((value(&rows, &labels, GraphTask::Labels, plain(NumberLoss::Squared)) - expected).abs() < 1e-6);
        let nothing = Targets::Classes(vec![None, None]);
        assert_eq!(value(&rows, &nothing, GraphTask::Classification, WEIGHTED), 0.0);
    }

    const WEIGHTED: LossOptions = LossOptions { number: NumberLoss::Squared, class_weights: true };

    #[test]
    fn rare_classes_and_labels_count_more() {
        let targets = Targets::Classes(vec![Some(0), None, Some(0), Some(1)]);
        let rows = [[0.0, 0.0], [7.0, 1.0], [0.0, 0.0], [0.0, 3.0f32.ln()]];
        let found = value(&rows, &targets, GraphTask::Classification, WEIGHTED);
        let expected = (2.0 * 2f32.ln() / 3.0 + 2.0 / 3.0 * (4.0f32 / 3.0).ln()) / (4.0 / 3.0);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        // The first label is 1 in one of three rows; the second is known in one, which has no weight.
        let labels = [Some(0.0), None, Some(1.0), None, Some(0.0), Some(1.0)];
        let weights = label_weights(&labels, 2);
        let expected = [1.0 / 3.0, 0.0, 2.0 / 3.0, 0.0, 1.0 / 3.0, 0.0];
        assert!(weights.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6), "{weights:?}");
    }

    fn of(answers: [[f32; 2]; 4], temperature: f64) -> f32 {
        let flat: Vec<f32> = answers.into_iter().flatten().collect();
        let answers = Tensor::from_data(TensorData::new(flat, [4, 2]), &Device::flex());
        consistency(answers, 2, temperature).into_scalar::<f32>()
    }

    #[test]
    fn views_that_agree_cost_only_their_doubt() {
        let (sure, torn) = ([20.0, -20.0], [0.0, 0.0]);
        assert!(of([sure, torn, sure, torn], 0.5) < 1e-9);
        // Half each of 0.75 and 0.25: sharpened by squares 0.9 and 0.1, each 0.15 off.
        let doubt = [3f32.ln(), 0.0];
        assert!((of([doubt, doubt, doubt, doubt], 0.5) - 2.0 * 0.15 * 0.15).abs() < 1e-6);
        assert!(of([doubt, doubt, doubt, doubt], 1.0) < 1e-9);
        // One row of two views apart: 0.25 + 0.25 for each of its two, of four.
        assert!((of([sure, torn, [-20.0, 20.0], torn], 1.0) - 0.25).abs() < 1e-6);
    }
}
