//! Predictions for graphs and nodes, and their metrics.

use burn::tensor::Device;
use regard_data::metrics::{
    accuracy, accuracy_sbm, balanced_accuracy, mean_absolute_error, roc_auc, root_mean_squared_error,
};
use regard_data::stats::{largest, mean};

use super::examples::{DataSplit, Examples};
use super::model::{GraphTransformer, GraphTransformerConfig};
use super::task::{GraphTask, Targets, loss};
use crate::Result;
use crate::train::{LossOptions, Measure, Measures, Ranks, ValidationMetrics};

/// Options of [`measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureOptions {
    /// The loss.
    pub loss: LossOptions,
    /// Graphs of a batch; published metrics are means over batches.
    pub batch_size: usize,
}

/// Predictions for a split, batch by batch, and their losses.
#[derive(Clone, Debug)]
pub(super) struct BatchPredictions {
    /// `[rows, outputs]`
    pub(super) numbers: Vec<f64>,
    /// The loss of each batch.
    pub(super) losses: Vec<f64>,
    /// The targets of each batch.
    pub(super) targets: Vec<Targets>,
}

/// Loss and metrics of a network on a split. The cost is the mean of the batches' losses, as in the authors' code.
///
/// # Errors
/// None so far.
pub fn measure(
    model: &GraphTransformer,
    config: &GraphTransformerConfig,
    examples: &Examples,
    split: &DataSplit,
    options: MeasureOptions,
    device: &Device,
) -> Result<ValidationMetrics> {
    let predicted = predict(model, config, examples, split, options, (device, &Ranks::current()));
    Ok(metrics(config, &predicted))
}

/// The mean loss of the batches and the metrics of predictions.
pub(super) fn metrics(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> ValidationMetrics {
    let measures = measures(config, predicted);
    ValidationMetrics { cost: mean(&predicted.losses), measures, ..ValidationMetrics::default() }
}

/// Metrics of predictions.
pub(super) fn measures(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> Measures {
    let measures = match config.task {
        GraphTask::Regression => regression(config, predicted),
        GraphTask::Classification => classification(config, predicted),
        GraphTask::Labels => labels(config, predicted),
    };
    Measures(measures.into_iter().map(|(name, value)| Measure::Last(name, value)).collect())
}

/// The predictions of a network for a split, whose batches are spread over these ranks.
pub(super) fn predict(
    model: &GraphTransformer,
    config: &GraphTransformerConfig,
    examples: &Examples,
    split: &DataSplit,
    options: MeasureOptions,
    (device, ranks): (&Device, &Ranks),
) -> BatchPredictions {
    let batches: Vec<&[usize]> = split.graphs.chunks(options.batch_size.max(1)).collect();
    let targets: Vec<Targets> = batches.iter().map(|graphs| examples.targets(config.level, split, graphs)).collect();
    let of_batch = |at: usize| {
        let answers = model.forward(&examples.input(config, batches[at], None), device);
        let found = loss(answers.clone(), &targets[at], config.task, options.loss);
        (f64::from(found.into_scalar::<f32>()), answers.into_data().iter::<f64>().collect::<Vec<f64>>())
    };
    let (mut losses, mut numbers) = (vec![], vec![]);
    ranks.each(batches.len(), of_batch, |_, (loss, answers)| {
        losses.push(loss);
        numbers.extend(answers);
    });
    BatchPredictions { numbers, losses, targets }
}

/// Predicted numbers in the units of each target.
pub fn in_own_units(config: &GraphTransformerConfig, numbers: &[f64]) -> Vec<f64> {
    numbers.iter().enumerate().map(|(at, &number)| config.data.unscaled(at % config.outputs, number)).collect()
}

/// Predicted numbers in the units of their targets, and all others as they are.
pub(super) fn in_target_units(config: &GraphTransformerConfig, numbers: Vec<f64>) -> Vec<f64> {
    match config.task {
        GraphTask::Regression => in_own_units(config, &numbers),
        GraphTask::Classification | GraphTask::Labels => numbers,
    }
}

/// Errors of predicted numbers whose targets are known, by task, in the units of the targets.
pub(super) fn errors(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> Vec<Vec<f64>> {
    let mut all = vec![vec![]; config.outputs];
    let targets = predicted.targets.iter().flat_map(|targets| match targets {
        Targets::Numbers(numbers) => numbers.as_slice(),
        Targets::Classes(_) => &[],
    });
    for (at, (found, target)) in predicted.numbers.iter().zip(targets).enumerate() {
        let task = at % config.outputs;
        if let Some(target) = target {
            all[task].push(config.data.unscaled(task, *found) - config.data.unscaled(task, f64::from(*target)));
        }
    }
    all
}

/// Errors over all rows, and the mean over batches that the authors report.
fn regression(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> Vec<(&'static str, f64)> {
    let (mut found, mut truth, mut of_batches) = (vec![], vec![], vec![]);
    let mut from = 0;
    for targets in &predicted.targets {
        let Targets::Numbers(numbers) = targets else { continue };
        let (mut predicted_here, mut true_here) = (vec![], vec![]);
        for (at, number) in numbers.iter().enumerate() {
            let Some(number) = number else { continue };
            let task = at % config.outputs;
            predicted_here.push(config.data.unscaled(task, predicted.numbers[from + at]));
            true_here.push(config.data.unscaled(task, f64::from(*number)));
        }
        from += numbers.len();
        if !predicted_here.is_empty() {
            of_batches.push(mean_absolute_error(&predicted_here, &true_here));
        }
        found.extend(predicted_here);
        truth.extend(true_here);
    }
    let mut all = vec![
        ("mae", mean_absolute_error(&found, &truth)),
        ("rmse", root_mean_squared_error(&found, &truth)),
        ("mae_paper", mean(&of_batches)),
    ];
    all.retain(|(_, value)| value.is_finite());
    all
}

/// Plain and balanced accuracy over all rows, and the mean over batches of the accuracy of the authors' code for SBM
/// graphs.
fn classification(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> Vec<(&'static str, f64)> {
    let outputs = config.outputs;
    let (mut found, mut truth, mut scores, mut of_batches) = (vec![], vec![], vec![], vec![]);
    let mut row = 0;
    for targets in &predicted.targets {
        let Targets::Classes(classes) = targets else { continue };
        let first = found.len();
        for class in classes {
            if let Some(class) = class {
                let answers = &predicted.numbers[row * outputs..(row + 1) * outputs];
                found.push(largest(answers));
                truth.push(*class);
                scores.push(if outputs == 2 { answers[1] - answers[0] } else { 0.0 });
            }
            row += 1;
        }
        if found.len() > first {
            of_batches.push(accuracy_sbm(&found[first..], &truth[first..]));
        }
    }
    let mut all = vec![
        ("accuracy", accuracy(&found, &truth)),
        ("balanced_accuracy", balanced_accuracy(&found, &truth)),
        ("accuracy_paper", mean(&of_batches)),
    ];
    if outputs == 2 {
        let positive: Vec<bool> = truth.iter().map(|&class| class == 1).collect();
        all.extend(roc_auc(&scores, &positive).map(|auc| ("auc", auc)));
    }
    all.retain(|(_, value)| value.is_finite());
    all
}

/// Means over the tasks of which both labels are known.
fn labels(config: &GraphTransformerConfig, predicted: &BatchPredictions) -> Vec<(&'static str, f64)> {
    let targets = predicted.targets.iter().flat_map(|targets| match targets {
        Targets::Numbers(numbers) => numbers.clone(),
        Targets::Classes(_) => vec![],
    });
    let targets: Vec<Option<f32>> = targets.collect();
    let (mut aucs, mut right, mut known) = (vec![], 0usize, 0usize);
    for task in 0..config.outputs {
        let rows = (task..targets.len()).step_by(config.outputs);
        let found: Vec<(f64, bool)> = rows.filter_map(|at| Some((predicted.numbers[at], targets[at]? > 0.5))).collect();
        known += found.len();
        right += found.iter().filter(|(score, yes)| (*score > 0.0) == *yes).count();
        let (scores, yes): (Vec<f64>, Vec<bool>) = found.into_iter().unzip();
        aucs.extend(roc_auc(&scores, &yes));
    }
    let mut all = vec![("accuracy", right as f64 / known.max(1) as f64)];
    if !aucs.is_empty() {
        all.push(("auc", mean(&aucs)));
    }
    all
}
