//! How good a network's answers are.

use burn::tensor::Device;
use regard_data::metrics::{
    accuracy, accuracy_sbm, balanced_accuracy, mean_absolute_error, roc_auc, root_mean_squared_error,
};
use regard_data::stats::{largest, mean};

use super::examples::{Examples, Portion};
use super::model::{GraphTransformer, GraphTransformerConfig};
use super::task::{GraphTask, LossOptions, Targets, loss};
use crate::Result;
use crate::train::{Checked, Measure, Measures};

/// What a network says of a portion, batch by batch, and how wrong that is.
#[derive(Default)]
pub(super) struct Told {
    /// `[rows, outputs]`
    pub(super) numbers: Vec<f64>,
    /// The loss of each batch.
    pub(super) losses: Vec<f64>,
    /// What is right, batch by batch.
    pub(super) targets: Vec<Targets>,
}

/// A network on a portion with what is right, `batch` graphs at a time. The cost is the loss: the mean over
/// the batches' own, as the authors take it.
///
/// # Errors
/// None so far.
pub fn measure(
    model: &GraphTransformer,
    config: &GraphTransformerConfig,
    examples: &Examples,
    portion: &Portion,
    (options, batch): (LossOptions, usize),
    device: &Device,
) -> Result<Checked> {
    let told = tell(model, config, examples, portion, (options, batch), device);
    Ok(Checked { cost: mean(&told.losses), measures: measures(config, &told), ..Checked::default() })
}

/// What answers are worth.
pub(super) fn measures(config: &GraphTransformerConfig, told: &Told) -> Measures {
    let measures = match config.task {
        GraphTask::Regression => regression(config, told),
        GraphTask::Classification => classification(config, told),
        GraphTask::Labels => labels(config, told),
    };
    Measures(measures.into_iter().map(|(name, value)| Measure::Last(name, value)).collect())
}

/// What a network says of a portion, `batch` graphs at a time.
pub(super) fn tell(
    model: &GraphTransformer,
    config: &GraphTransformerConfig,
    examples: &Examples,
    portion: &Portion,
    (options, batch): (LossOptions, usize),
    device: &Device,
) -> Told {
    let mut told = Told::default();
    for graphs in portion.graphs.chunks(batch.max(1)) {
        let targets = examples.targets(config.level, portion, graphs);
        let answers = model.forward(&examples.input(config, graphs, None), device);
        let found = loss(answers.clone(), &targets, options);
        told.losses.push(f64::from(found.into_scalar::<f32>()));
        told.numbers.extend(answers.into_data().iter::<f64>());
        told.targets.push(targets);
    }
    told
}

/// Numbers of a regression in each target's own measure.
pub fn in_own_measure(config: &GraphTransformerConfig, numbers: &[f64]) -> Vec<f64> {
    numbers.iter().enumerate().map(|(at, &number)| config.data.unscaled(at % config.outputs, number)).collect()
}

/// Error over all rows, and as the authors take it: the mean of the batches' own.
fn regression(config: &GraphTransformerConfig, told: &Told) -> Vec<(&'static str, f64)> {
    let (mut found, mut truth, mut of_batches) = (vec![], vec![], vec![]);
    let mut from = 0;
    for targets in &told.targets {
        let Targets::Numbers(numbers) = targets else { continue };
        let (mut told_here, mut true_here) = (vec![], vec![]);
        for (at, number) in numbers.iter().enumerate() {
            let Some(number) = number else { continue };
            let task = at % config.outputs;
            told_here.push(config.data.unscaled(task, told.numbers[from + at]));
            true_here.push(config.data.unscaled(task, f64::from(*number)));
        }
        from += numbers.len();
        if !told_here.is_empty() {
            of_batches.push(mean_absolute_error(&told_here, &true_here));
        }
        found.extend(told_here);
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

/// Plain and balanced accuracy over all rows, and the accuracy of the authors' code for SBM graphs, a mean of
/// the batches' own, in the same units.
fn classification(config: &GraphTransformerConfig, told: &Told) -> Vec<(&'static str, f64)> {
    let outputs = config.outputs;
    let (mut found, mut truth, mut scores, mut of_batches) = (vec![], vec![], vec![], vec![]);
    let mut row = 0;
    for targets in &told.targets {
        let Targets::Classes(classes) = targets else { continue };
        let first = found.len();
        for class in classes {
            if let Some(class) = class {
                let answers = &told.numbers[row * outputs..(row + 1) * outputs];
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

/// Means over the questions that have both answers.
fn labels(config: &GraphTransformerConfig, told: &Told) -> Vec<(&'static str, f64)> {
    let targets = told.targets.iter().flat_map(|targets| match targets {
        Targets::Numbers(numbers) => numbers.clone(),
        Targets::Classes(_) => vec![],
    });
    let targets: Vec<Option<f32>> = targets.collect();
    let (mut aucs, mut right, mut known) = (vec![], 0usize, 0usize);
    for task in 0..config.outputs {
        let rows = (task..targets.len()).step_by(config.outputs);
        let found: Vec<(f64, bool)> = rows.filter_map(|at| Some((told.numbers[at], targets[at]? > 0.5))).collect();
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
