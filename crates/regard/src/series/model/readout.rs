//! The head: from rows of patches to predictions.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, activation};
use regard_nn::ops::{self, Dropout, apply_dropout};
use regard_nn::trace::{self, Operation};

use super::config::PatchTstConfig;
use super::input::SeriesInput;
use crate::series::task::SeriesTask;

/// Width inside the part that reads what is known of the future.
const KNOWN_WIDTH: usize = 32;

#[derive(Module, Debug)]
pub(super) struct Readout {
    /// One, or one for each channel.
    head: Vec<Linear>,
    /// The contribution of a step's covariates to its value.
    covariate_steps: Vec<Linear>,
    #[module(skip)]
    task: SeriesTask,
    #[module(skip)]
    quantiles: Vec<f64>,
    horizon: usize,
    dropout: f64,
}

impl Readout {
    pub(super) fn new(config: &PatchTstConfig, device: &Device) -> Self {
        let rows = config.width * config.patches();
        let linear = |inputs: usize, outputs: usize| LinearConfig::new(inputs, outputs).init(device);
        let head = match config.task {
            SeriesTask::Classification => vec![linear(rows * config.channels.max(1), config.classes)],
            SeriesTask::Pretraining => vec![linear(config.width, config.patch_len)],
            _ => {
                let heads = if config.individual { config.channels } else { 1 };
                (0..heads).map(|_| linear(rows, config.predicted_values() * config.levels())).collect()
            }
        };
        let steps = match (config.future_covariates, config.task) {
            (0, _) => vec![],
            (kinds, SeriesTask::Forecast) => vec![linear(kinds, KNOWN_WIDTH), linear(KNOWN_WIDTH, 1)],
            _ => vec![],
        };
        Self {
            head,
            covariate_steps: steps,
            task: config.task,
            quantiles: config.quantiles.clone(),
            horizon: config.horizon,
            dropout: config.head_dropout,
        }
    }

    /// If true, predictions are values of the series.
    pub(super) fn of_values(&self) -> bool {
        matches!(self.task, SeriesTask::Forecast | SeriesTask::Imputation | SeriesTask::Anomaly)
    }

    /// Answers for rows `[batch · channels, patches, width]`; `straight` is the output of the linear skip of a
    /// forecast, `[batch, channels, horizon]`.
    pub(super) fn read(
        &self,
        rows: Tensor<3>,
        [batch, channels]: [usize; 2],
        (input, straight): (&SeriesInput, Option<Tensor<3>>),
        seed: Option<u64>,
    ) -> Tensor<3> {
        let [_, patches, width] = rows.dims();
        let drop = seed.filter(|_| self.dropout > 0.0).map(|seed| Dropout { rate: self.dropout as f32, seed });
        match self.task {
            SeriesTask::Pretraining => {
                let predicted = ops::linear(&self.head[0], apply_dropout(rows, drop));
                let predicted_width = predicted.dims()[2];
                predicted.reshape([batch, channels, patches * predicted_width])
            }
            SeriesTask::Classification => {
                let flat = rows.clone().swap_dims(1, 2).reshape([batch, 1, channels * width * patches]);
                trace::step("flattened", Operation::Flattened).from(&rows).values(["batch", "", "channel"], &flat);
                let scores = ops::linear(&self.head[0], apply_dropout(flat.clone(), drop));
                trace::linear("network", &self.head[0], &flat, ["batch", "", self.answers()], &scores);
                scores
            }
            _ => {
                // As the published codes flatten rows: all patches of one channel of the width, then the next.
                let flat = rows.clone().swap_dims(1, 2).reshape([batch, channels, width * patches]);
                let answers_axes = ["batch", "series", self.answers()];
                trace::step("flattened", Operation::Flattened)
                    .from(&rows)
                    .values(["batch", "series", "channel"], &flat);
                let predicted = self.of_channels(flat.clone());
                if let [head] = self.head.as_slice() {
                    trace::linear("network", head, &flat, answers_axes, &predicted);
                }
                let predicted = apply_dropout(predicted, drop);
                let predicted = straight.into_iter().fold(predicted, |predicted, straight| {
                    let sum = self.add_to_values(predicted.clone(), straight.clone());
                    if self.quantiles.len() < 2 {
                        trace::step("map_and_network", Operation::Sum)
                            .from(&predicted)
                            .from(&straight)
                            .values(answers_axes, &sum);
                    }
                    sum
                });
                let answers = self.levels(self.with_future(predicted.clone(), input));
                trace::step("answer", Operation::Formula("x with what is known of each step, in its levels".into()))
                    .from(&predicted)
                    .values(answers_axes, &answers);
                answers
            }
        }
    }

    /// The meaning of the last axis of the answers, for a trace.
    pub(super) fn answers(&self) -> &'static str {
        match self.task {
            SeriesTask::Forecast if self.quantiles.len() < 2 => "step ahead",
            SeriesTask::Classification => "class",
            _ => "value",
        }
    }

    fn of_channels(&self, rows: Tensor<3>) -> Tensor<3> {
        if let [head] = self.head.as_slice() {
            return ops::linear(head, rows);
        }
        let channels = self.head.iter().enumerate();
        let predicted = channels.map(|(channel, head)| ops::linear(head, rows.clone().narrow(1, channel, 1)));
        Tensor::cat(predicted.collect(), 1)
    }

    /// Predictions with the contribution of the covariates of each step to all its levels.
    fn with_future(&self, predicted: Tensor<3>, input: &SeriesInput) -> Tensor<3> {
        let ([inner, outer], Some(covariates)) = (self.covariate_steps.as_slice(), &input.covariates) else {
            return predicted;
        };
        let [batch, channels, length, kinds] = covariates.dims();
        let steps = self.horizon;
        let future = covariates.clone().narrow(2, length - steps, steps);
        let future = future.reshape([batch * channels * steps, kinds]);
        let added = ops::linear(outer, activation::gelu(ops::linear(inner, future)));
        self.add_to_values(predicted, added.reshape([batch, channels, steps]))
    }

    /// Adds `[batch, channels, horizon]` to the predictions of each step. Only the first number of a step is a
    /// value; the others are distances from it.
    fn add_to_values(&self, predicted: Tensor<3>, added: Tensor<3>) -> Tensor<3> {
        let ([batch, channels, steps], levels) = (added.dims(), self.quantiles.len().max(1));
        if levels == 1 {
            return predicted + added;
        }
        let rest = Tensor::zeros([batch, channels, steps, levels - 1], &added.device());
        let added = Tensor::cat(vec![added.reshape([batch, channels, steps, 1]), rest], 3);
        predicted + added.reshape([batch, channels, steps * levels])
    }

    /// Levels that cannot cross: the first number of a step is the median, the others are distances outward.
    fn levels(&self, predicted: Tensor<3>) -> Tensor<3> {
        let count = self.quantiles.len();
        if count < 2 {
            return predicted;
        }
        let [batch, channels, _] = predicted.dims();
        let numbers = predicted.reshape([batch * channels, self.horizon, count]);
        let median = numbers.clone().narrow(2, 0, 1);
        let middle = self.quantiles.iter().position(|&level| level == 0.5).unwrap_or(0);
        let distance = |at: usize| activation::softplus(numbers.clone().narrow(2, at, 1), 1.0);
        let mut below = vec![];
        let mut value = median.clone();
        for at in 0..middle {
            value = value - distance(1 + at);
            below.push(value.clone());
        }
        below.reverse();
        let mut levels = below;
        levels.push(median.clone());
        let mut value = median;
        for at in middle + 1..count {
            value = value + distance(at);
            levels.push(value.clone());
        }
        Tensor::cat(levels, 2).reshape([batch, channels, self.horizon * count])
    }
}
