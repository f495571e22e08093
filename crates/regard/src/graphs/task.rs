//! Tasks on graphs or nodes, their targets and their losses.

use burn::tensor::{Device, Int, Tensor, TensorData, activation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::train::{NumberLoss, number_loss};

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
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// `[rows, outputs]`, as the network shall give them; 0 or 1 for labels.
    Numbers(Vec<Option<f32>>),
    /// `[rows]`
    Classes(Vec<Option<usize>>),
}

/// Options of [`loss`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossOptions {
    /// The task.
    pub task: GraphTask,
    /// The loss of a number.
    pub number: NumberLoss,
    /// If true, a row has a larger weight the fewer of the batch are of its class: `(rows − rows of the
    /// class) / rows`, as the authors' code for SBM graphs weighs nodes.
    pub class_weights: bool,
}

/// The loss of predictions `[rows, outputs]`, a mean over known targets; `[1]`.
///
/// # Panics
/// If answers and targets do not fit together.
pub fn loss(answers: Tensor<2>, targets: &Targets, options: LossOptions) -> Tensor<1> {
    match targets {
        Targets::Classes(classes) => cross_entropy(answers, classes, options.class_weights),
        Targets::Numbers(numbers) => {
            let (shape, device) = (answers.dims(), answers.device());
            let known = numbers.iter().filter(|number| number.is_some()).count();
            let array = |of: fn(&Option<f32>) -> f32| {
                Tensor::<2>::from_data(TensorData::new(numbers.iter().map(of).collect::<Vec<f32>>(), shape), &device)
            };
            let (target, mask) = (array(|x| x.unwrap_or(0.0)), array(|x| f32::from(u8::from(x.is_some()))));
            let off = match options.task {
                // −ln of the logistic function of what is right.
                GraphTask::Labels => activation::softplus(answers.clone(), 1.0) - answers * target,
                _ => number_loss(answers - target, options.number),
            };
            (off * mask).sum().div_scalar(known.max(1) as f32)
        }
    }
}

fn cross_entropy(answers: Tensor<2>, classes: &[Option<usize>], weighted: bool) -> Tensor<1> {
    let device = answers.device();
    let (rows, known): (Vec<i64>, Vec<usize>) =
        classes.iter().enumerate().filter_map(|(row, class)| Some((row as i64, (*class)?))).unzip();
    let count = known.len();
    if count == 0 {
        // Of nothing known nothing is learnt; the sum keeps the network in the graph.
        return answers.sum().mul_scalar(0.0);
    }
    let answers = if count == classes.len() { answers } else { answers.select(0, whole(&rows, &device)) };
    let log_p = activation::log_softmax(answers, 1);
    let index: Vec<i64> = known.iter().map(|&class| class as i64).collect();
    let off = log_p.gather(1, whole(&index, &device).reshape([count, 1])).neg();
    if !weighted {
        return off.mean();
    }
    let weights = row_weights(&known);
    let sum: f32 = weights.iter().sum();
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [count, 1]), &device);
    // One class alone has the weight 0.
    (off * weights).sum().div_scalar(if sum > 0.0 { sum } else { 1.0 })
}

/// The weight of each row: the share of rows that are of another class.
fn row_weights(classes: &[usize]) -> Vec<f32> {
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| most + 1)];
    classes.iter().for_each(|&class| counts[class] += 1);
    classes.iter().map(|&class| (classes.len() - counts[class]) as f32 / classes.len() as f32).collect()
}

fn whole(all: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(all.to_vec(), [all.len()]), device)
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
    use super::*;

    fn value(rows: &[[f32; 2]], targets: &Targets, task: GraphTask, number: NumberLoss, class_weights: bool) -> f32 {
        let flat: Vec<f32> = rows.iter().flatten().copied().collect();
        let answers = Tensor::<2>::from_data(TensorData::new(flat, [rows.len(), 2]), &Device::flex());
        loss(answers, targets, LossOptions { task, number, class_weights }).into_scalar::<f32>()
    }

    #[test]
    fn what_is_unknown_has_no_part() {
        let targets = Targets::Numbers(vec![Some(1.0), None, None, Some(-2.0)]);
        let rows = [[3.0, 50.0], [50.0, -2.5]];
        let of = |number| value(&rows, &targets, GraphTask::Regression, number, false);
        assert_eq!([of(NumberLoss::Absolute), of(NumberLoss::Squared)], [1.25, 2.125]);
        assert_eq!(of(NumberLoss::Huber), (1.5 + 0.125) / 2.0);
        let labels = Targets::Numbers(vec![Some(1.0), None, None, Some(0.0)]);
        let expected = ((-3.0f32).exp().ln_1p() + (-2.5f32).exp().ln_1p()) / 2.0;
        assert!((value(&rows, &labels, GraphTask::Labels, NumberLoss::Squared, false) - expected).abs() < 1e-6);
        let nothing = Targets::Classes(vec![None, None]);
        assert_eq!(value(&rows, &nothing, GraphTask::Classification, NumberLoss::Squared, true), 0.0);
    }

    #[test]
    fn rare_classes_count_more() {
        assert_eq!(row_weights(&[0, 0, 0, 2]), [0.25, 0.25, 0.25, 0.75]);
        let rows = [[0.0, 0.0], [0.0, 0.0], [0.0, 3.0f32.ln()]];
        let targets = Targets::Classes(vec![Some(0), Some(0), Some(1)]);
        let found = value(&rows, &targets, GraphTask::Classification, NumberLoss::Squared, true);
        let expected = (2.0 * 2f32.ln() / 3.0 + 2.0 / 3.0 * (4.0f32 / 3.0).ln()) / (4.0 / 3.0);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
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
