//! Learners by name, and what fitting them gives.

use rayon::prelude::*;
use regard_data::{Error, Result};
use serde::{Deserialize, Serialize};

use super::boosting::{Boosted, BoostingConfig};
use super::forest::{Forest, ForestConfig};
use super::kernel::{KernelConfig, KernelMachine};
use super::linear::{Linear, LinearConfig};
use super::sample::{Prepared, Sample};
use super::{Target, View};

/// A learner with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// Predicts class frequencies or the mean, and looks at no feature.
    Constant,
    /// Logistic or ridge regression.
    Linear(LinearConfig),
    /// A kernel machine; views without instances only.
    Kernel(KernelConfig),
    /// A random forest.
    Forest(ForestConfig),
    /// Gradient boosting.
    Boosting(BoostingConfig),
}

/// Options of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Options {
    /// If true, classes weigh the same, however many examples they have.
    pub balanced: bool,
    /// The seed of everything random. The same seed gives the same bits on any number of threads.
    pub seed: u64,
}

/// The way predictions of instances become the prediction of their example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean.
    Mean,
    /// The largest, of every output; probabilities are brought back to the sum 1.
    Max,
}

/// A fitted learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    columns: usize,
    outputs: usize,
    /// If true, outputs are probabilities of classes.
    classes: bool,
    /// Numbers are learnt at mean 0 and deviation 1.
    shift: f64,
    scale: f64,
    /// Predictions of numbers stay within these bounds.
    low: f64,
    high: f64,
    /// The prediction without features, for an example without instances.
    prior: Vec<f64>,
    fitted: Fitted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fitted {
    Constant,
    Linear(Linear),
    Kernel(KernelMachine),
    Forest(Forest),
    Boosted(Boosted),
}

/// The most values of rows that a linear model copies.
const MOST_VALUES: usize = 150_000_000;

/// A model, and out-of-bag predictions of the rows it was fitted to where the learner has some `[rows, outputs]`.
pub(crate) struct ModelFit {
    pub(crate) model: Model,
    pub(crate) out_of_bag: Option<Vec<f64>>,
}

impl Learner {
    /// Fits to these examples of a view. Examples without instances are passed over.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a target that does not fit, an example that does not exist, no examples, one class
    /// alone, columns that are all constant, or more rows than the learner takes.
    pub fn fit(&self, view: &View, target: &Target, examples: &[usize], options: &Options) -> Result<Model> {
        check_examples(view, target, examples)?;
        let mut sorted = examples.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let prepared = Prepared::new(view, sorted);
        let all: Vec<usize> = (0..prepared.examples.len()).collect();
        Ok(self.fit_prepared(&prepared, &all, target.of(&prepared.examples), options)?.model)
    }

    /// Fits to some of the prepared examples (places among them), whose targets are given in the same order.
    pub(crate) fn fit_prepared(
        &self,
        prepared: &Prepared,
        examples: &[usize],
        target: Target,
        options: &Options,
    ) -> Result<ModelFit> {
        let filled = |place: &usize| prepared.starts[*place] < prepared.starts[place + 1];
        let (kept, kept_places): (Vec<usize>, Vec<usize>) =
            examples.iter().enumerate().filter(|(_, place)| filled(place)).unzip();
        let target = target.of(&kept);
        if kept.is_empty() {
            return Err(Error::invalid(self.name(), "there are no rows to fit to"));
        }
        if target.class_counts().iter().filter(|count| **count > 0).count() == 1 && *self != Self::Constant {
            return Err(Error::invalid(self.name(), "all examples are of one class, expected two at least"));
        }
        let mut model = Model::before(prepared.view.columns(), &target);
        let target = model.standardised(target);
        let sample = Sample::new(prepared, &kept_places, target, options.balanced, options.seed);
        model.prior = sample.target.prior(&sample.weights);
        if *self != Self::Constant && sample.rows() < 2 {
            return Err(Error::invalid(self.name(), "one row alone cannot be fitted"));
        }
        let mut out_of_bag = None;
        model.fitted = match self {
            Self::Constant => Fitted::Constant,
            Self::Linear(config) => {
                let values = sample.rows().saturating_mul(prepared.view.columns());
                if values > MOST_VALUES {
                    let reason = format!("{values} values, and it takes at most {MOST_VALUES}");
                    return Err(Error::invalid("linear", reason));
                }
                Fitted::Linear(config.fit(&sample)?)
            }
            Self::Kernel(config) => Fitted::Kernel(config.fit(&sample)?),
            Self::Forest(config) => {
                let fit = config.fit(&sample)?;
                out_of_bag = fit.out_of_bag;
                Fitted::Forest(fit.forest)
            }
            Self::Boosting(config) => Fitted::Boosted(config.fit(&sample)?),
        };
        if let Some(predictions) = &mut out_of_bag {
            predictions.chunks_mut(model.outputs).for_each(|row| model.finish(row));
        }
        Ok(ModelFit { model, out_of_bag })
    }

    /// The name of the learner.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear(_) => "linear",
            Self::Kernel(config) => match config.kernel {
                super::Kernel::Rbf => "rbf",
                super::Kernel::MinMax => "min_max",
                super::Kernel::Cosine => "cosine",
            },
            Self::Forest(config) if config.extra => "extra_trees",
            Self::Forest(_) => "forest",
            Self::Boosting(_) => "boosting",
        }
    }
}

/// Checks a target and examples against a view.
pub(crate) fn check_examples(view: &View, target: &Target, examples: &[usize]) -> Result<()> {
    target.check()?;
    if view.examples() != target.len() {
        let reason = format!("{} examples, and the target has {}", view.examples(), target.len());
        return Err(Error::invalid(format!("view `{}`", view.name()), reason));
    }
    if examples.is_empty() {
        return Err(Error::invalid("training", "there are no examples, expected at least one"));
    }
    match examples.iter().find(|example| **example >= target.len()) {
        Some(example) => {
            let reason = format!("does not exist, expected one below {}", target.len());
            Err(Error::invalid(format!("example {example}"), reason))
        }
        None => Ok(()),
    }
}

impl Model {
    fn before(columns: usize, target: &Target) -> Self {
        let (mut shift, mut scale, mut low, mut high) = (0.0, 1.0, 0.0, 1.0);
        if let Target::Numbers(numbers) = target {
            shift = regard_data::stats::mean(numbers);
            let deviation = regard_data::stats::standard_deviation(numbers);
            scale = if deviation > 0.0 { deviation } else { 1.0 };
            low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = high - low;
            low -= range;
            high += range;
        }
        let classes = matches!(target, Target::Classes { .. });
        Self {
            columns,
            outputs: target.outputs(),
            classes,
            shift,
            scale,
            low,
            high,
            prior: Vec::new(),
            fitted: Fitted::Constant,
        }
    }

    fn standardised(&self, target: Target) -> Target {
        match target {
            Target::Numbers(numbers) => {
                Target::Numbers(numbers.into_iter().map(|number| (number - self.shift) / self.scale).collect())
            }
            classes => classes,
        }
    }

    /// The model that predicts this for every example.
    pub(crate) fn of_prior(target: &Target, prior: Vec<f64>) -> Self {
        let mut model = Self::before(0, target);
        // The prior is on the scale of the target already.
        (model.shift, model.scale) = (0.0, 1.0);
        model.prior = prior;
        model
    }

    /// The prediction without features, for so many examples.
    pub(crate) fn constant(&self, examples: usize) -> Vec<f64> {
        let mut prior = self.prior.clone();
        self.finish(&mut prior);
        (0..examples).flat_map(|_| prior.clone()).collect()
    }

    /// Brings one prediction to the scale of the target, and into its bounds.
    fn finish(&self, prediction: &mut [f64]) {
        if self.classes {
            let all: f64 = prediction.iter().sum();
            let whole = all > 0.0 && prediction.iter().all(|p| p.is_finite());
            if whole {
                prediction.iter_mut().for_each(|p| *p /= all);
            } else {
                prediction.copy_from_slice(&self.prior);
            }
            return;
        }
        for value in prediction {
            let number = *value * self.scale + self.shift;
            *value = if number.is_nan() { self.shift } else { number.clamp(self.low, self.high) };
        }
    }

    /// The numbers of one prediction: a probability of every class, or one.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Predicts examples of a view `[examples, outputs]`; predictions of instances are averaged.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the view has other columns than that of training, or no such example.
    pub fn predict(&self, view: &View, examples: &[usize]) -> Result<Vec<f64>> {
        self.predict_pooled(view, examples, Pooling::Mean)
    }

    /// Predicts examples of a view `[examples, outputs]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the view has other columns than that of training, or no such example.
    pub fn predict_pooled(&self, view: &View, examples: &[usize], pooling: Pooling) -> Result<Vec<f64>> {
        if view.columns() != self.columns {
            let reason = format!("{} columns, and the model was fitted to {}", view.columns(), self.columns);
            return Err(Error::invalid(format!("view `{}`", view.name()), reason));
        }
        if let Some(example) = examples.iter().find(|example| **example >= view.examples()) {
            let reason = format!("does not exist, expected one below {}", view.examples());
            return Err(Error::invalid(format!("example {example}"), reason));
        }
        let rows: Vec<usize> = examples.iter().flat_map(|example| view.rows_of(*example)).collect();
        let predictions = self.predict_rows(view, &rows);
        let runs: Vec<usize> = examples.iter().map(|example| view.rows_of(*example).len()).collect();
        Ok(self.pool(&predictions, &runs, pooling))
    }

    /// Pools predictions of rows to those of examples that have so many each.
    pub(crate) fn pool(&self, predictions: &[f64], runs: &[usize], pooling: Pooling) -> Vec<f64> {
        let mut pooled = Vec::with_capacity(runs.len() * self.outputs);
        let mut from = 0;
        for run in runs {
            let to = from + run * self.outputs;
            pooled.extend(pool(&predictions[from..to], self.outputs, pooling, || {
                let mut prior = self.prior.clone();
                self.finish(&mut prior);
                prior
            }));
            from = to;
        }
        pooled
    }

    /// Predicts rows of a view `[rows, outputs]`.
    fn predict_rows(&self, view: &View, rows: &[usize]) -> Vec<f64> {
        const BLOCK: usize = 256;
        let outputs = self.outputs;
        let mut predictions = vec![0.0; rows.len() * outputs];
        predictions.par_chunks_mut(BLOCK * outputs).zip(rows.par_chunks(BLOCK)).for_each(|(output, rows)| {
            match &self.fitted {
                Fitted::Constant => output.chunks_mut(outputs).for_each(|output| output.copy_from_slice(&self.prior)),
                Fitted::Linear(linear) => linear.predict(&view.gather(rows), self.classes, output),
                Fitted::Kernel(machine) => machine.predict(&view.gather(rows), outputs, output),
                Fitted::Forest(forest) => output
                    .chunks_mut(outputs)
                    .zip(rows)
                    .for_each(|(output, row)| forest.predict(view.row(*row), output)),
                Fitted::Boosted(boosted) => output
                    .chunks_mut(outputs)
                    .zip(rows)
                    .for_each(|(output, row)| boosted.predict(view.row(*row), output)),
            }
            output.chunks_mut(outputs).for_each(|row| self.finish(row));
        });
        predictions
    }
}

/// Pools the predictions of the rows of one example.
fn pool(rows: &[f64], outputs: usize, pooling: Pooling, none: impl Fn() -> Vec<f64>) -> Vec<f64> {
    if rows.is_empty() {
        return none();
    }
    let count = (rows.len() / outputs) as f64;
    match pooling {
        Pooling::Mean => {
            let mut mean = vec![0.0; outputs];
            rows.chunks(outputs)
                .for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / count));
            mean
        }
        // Of two classes, the instance that speaks most for class 1 decides.
        Pooling::Max if outputs == 2 => {
            let highest = rows.chunks(2).map(|row| row[1]).fold(f64::NEG_INFINITY, f64::max);
            vec![1.0 - highest, highest]
        }
        Pooling::Max => {
            let mut highest = vec![f64::NEG_INFINITY; outputs];
            rows.chunks(outputs).for_each(|row| {
                highest.iter_mut().zip(row).for_each(|(highest, value)| *highest = highest.max(*value))
            });
            if outputs > 1 {
                let all: f64 = highest.iter().sum();
                highest.iter_mut().for_each(|value| *value /= all);
            }
            highest
        }
    }
}
