//! Base learners beside a network: the examples as they see them, their stack, and the blend of both.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use regard_base::features::graphs;
use regard_base::tabular::{
    Candidate, Kernel, KernelConfig, Learner, LeftOut, MemberReport, Stack, StackOptions, Target, View,
    blend as convex_blend, candidates,
};
use regard_data::metrics::{Metrics, class_metrics, number_metrics};
pub(crate) use regard_data::predictions::{decide, is_unbalanced};
use regard_data::split::{folds, group_folds, stratified_folds};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::intervals::{AbsoluteErrors, TaskErrors};
use super::{Context, Family};
use crate::store::Companion;
use crate::train::{Measure, Measures, ValidationMetrics};
use crate::{Error, Result};

/// A task of the base learners: one target of the examples.
#[derive(Clone, Debug)]
pub struct BaseTask {
    /// The name of the target; empty where there is only one.
    pub name: String,
    /// Names of the classes; empty for numbers.
    pub classes: Vec<String>,
    /// The targets of all examples; those that are not known have some value.
    pub target: Target,
    /// If true, the target of the example is known.
    pub known: Vec<bool>,
}

/// Examples as base learners see them.
#[derive(Clone, Debug)]
pub struct BaseProblem {
    /// Features of the examples.
    pub views: Vec<View>,
    /// Base learners of views that were not computed.
    pub left_out: Vec<LeftOut>,
    /// The tasks, in the order of the network's outputs.
    pub tasks: Vec<BaseTask>,
}

/// The examples of an experiment as base learners see them.
#[derive(Clone, Debug)]
pub struct BaseExamples<F> {
    /// Settings of the features.
    pub features: F,
    /// All examples.
    pub problem: BaseProblem,
    /// The training examples.
    pub training: Vec<usize>,
    /// The validation examples.
    pub validation: Vec<usize>,
}

/// Predictions by task, each `[rows, outputs]`: probabilities of classes, or numbers in the units of the target.
pub type TaskPredictions = Vec<Vec<f64>>;

/// Examples that are held out of some network at least, where there are as many.
const ENOUGH_HELD_OUT: usize = 40;

impl BaseTask {
    /// These rows alone.
    fn of_rows(&self, rows: &[usize]) -> Self {
        let known = rows.iter().map(|row| self.known[*row]).collect();
        Self { name: self.name.clone(), classes: self.classes.clone(), target: self.target.of(rows), known }
    }

    /// These rows, and behind them others of the same task.
    fn append(&mut self, other: Self) {
        self.known.extend(other.known);
        match (&mut self.target, other.target) {
            (Target::Classes { of, .. }, Target::Classes { of: more, .. }) => of.extend(more),
            (Target::Numbers(numbers), Target::Numbers(more)) => numbers.extend(more),
            _ => {}
        }
    }

    /// Rows of these whose target is known.
    fn known_of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| self.known[*row]).collect()
    }

    /// The shares of the classes among some rows; empty for numbers.
    fn shares(&self, rows: &[usize]) -> Vec<f64> {
        let counts = self.target.of(&self.known_of(rows)).class_counts();
        let all: usize = counts.iter().sum();
        counts.into_iter().map(|count| count as f64 / all.max(1) as f64).collect()
    }
}

/// The parts of an answer that `--only` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// The network alone.
    Network,
    /// The base learners alone.
    Base,
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "network" => Ok(Self::Network),
            "base" => Ok(Self::Base),
            _ => Err(format!("`{text}` is no part of an answer; expected network or base")),
        }
    }
}

/// The base learners of a trained model, and the weights of the blend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaseModel<F> {
    /// Version of this record.
    format: u32,
    /// Settings of the features.
    pub features: F,
    /// The stacks, one for each task; `None` where the target is unknown in all training examples.
    pub stacks: Vec<Option<Stack>>,
    /// Reports of the base learners and the blend, one for each task.
    pub reports: Vec<BlendReport>,
    /// Shares of the classes in training, by task.
    pub shares: Vec<Vec<f64>>,
}

/// The largest file that is read.
const LIMIT: u64 = 1 << 30;
/// The file of a [`BaseRecord`] in a model's folder.
pub const FILE: &str = "base.json";
/// The version of [`BaseModel`].
const FORMAT: u32 = 1;

/// The record of base learners in a model's folder.
pub trait BaseRecord: Clone + Debug + Serialize + DeserializeOwned {
    /// The version of the record, and the one that is read.
    fn formats(&self) -> [u32; 2];
    /// If true, the parts of the record fit together.
    fn is_sound(&self) -> bool;
    /// Weights of the network and the base learners in the answer.
    fn weights(&self) -> [f64; 2];
    /// Gives the base learners all weight.
    ///
    /// # Errors
    /// [`Error::Config`] with `--only` for a target that has none.
    fn set_base_only(&mut self) -> Result<()>;
    /// Why weights were not fitted to held-out examples, and what was left out, a sentence each.
    fn reasons(&self) -> Vec<String>;

    /// The parts of the answer with their weights, and the [reasons](Self::reasons), a sentence each.
    fn notes(&self) -> Vec<String> {
        let [network, base] = self.weights();
        let parts = match network {
            0.0 => "the network has no weight in the answer, which is that of the base learners".to_owned(),
            1.0 => "the base learners have no weight in the answer, which is that of the network".to_owned(),
            _ => format!(
                "the answer takes {:.0} % of the network and {:.0} % of the base learners",
                100.0 * network,
                100.0 * base
            ),
        };
        std::iter::once(parts).chain(self.reasons()).collect()
    }

    /// Reads the record of a model's folder; `None` where the model has no base learners.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Parse`], also for a record that belongs to other weights; [`Error::Config`] for another
    /// version, or parts that do not fit together.
    fn open(folder: &Path) -> Result<Option<Self>> {
        let Some(found) = Companion::read::<Self>(folder, FILE, LIMIT)? else { return Ok(None) };
        let [format, known] = found.formats();
        if format != known {
            return Err(Error::config(FILE, format!("has format {format}, expected {known}")));
        }
        let [network, base] = found.weights();
        let weights = [network, base].iter().all(|weight| (0.0..=1.0).contains(weight));
        if !found.is_sound() || !weights || (network + base - 1.0).abs() >= 1e-6 {
            return Err(Error::config(FILE, "is damaged: its parts do not fit together"));
        }
        Ok(Some(found))
    }
}

/// The model of base learners and a network.
#[derive(Debug)]
pub struct Beside<R> {
    /// The record of the model.
    pub record: R,
    /// Metrics of network, base learners and blend on the validation examples.
    pub metrics: [Metrics; 3],
    /// Errors on the validation examples, by task of numbers.
    pub errors: Vec<TaskErrors>,
}

/// Base learners that stand beside a network in training.
pub trait BesideNetwork<F: Family>: Sized {
    /// Their record in the model's folder.
    type Record: BaseRecord;

    /// The heaviest of them and their metrics on the validation examples, before the network's first step.
    fn note(&self) -> Option<String>;
    /// The record of a model with this network, and its metrics and errors on the validation examples.
    ///
    /// # Errors
    /// Those of predicting the validation examples.
    fn beside(&self, network: &F::Network, context: &Context<'_, F>) -> Result<Beside<Self::Record>>;
}

/// The sentence of [`BesideNetwork::note`].
pub(crate) fn note(heaviest: &str, others: usize, metrics: &[(&'static str, f64)]) -> String {
    let who = if others == 0 { heaviest.to_owned() } else { format!("{heaviest} and {others} more") };
    let metrics: Vec<String> = metrics.iter().take(4).map(|(name, value)| format!("{name} {value:.4}")).collect();
    let on =
        if metrics.is_empty() { String::new() } else { format!(", on the validation data: {}", metrics.join(", ")) };
    format!("base learners: {who}{on}")
}

impl<F: Clone + Debug + Serialize + DeserializeOwned> BaseRecord for BaseModel<F> {
    fn formats(&self) -> [u32; 2] {
        [self.format, FORMAT]
    }

    fn is_sound(&self) -> bool {
        let tasks = self.stacks.len();
        let sound = |report: &BlendReport| {
            report.weights.iter().all(|weight| (0.0..=1.0).contains(weight))
                && (report.weights[0] + report.weights[1] - 1.0).abs() < 1e-6
        };
        let fitted = |(stack, report): (&Option<Stack>, &BlendReport)| stack.is_some() || report.weights[1] == 0.0;
        tasks > 0
            && self.reports.len() == tasks
            && self.shares.len() == tasks
            && self.reports.iter().all(sound)
            && self.stacks.iter().zip(&self.reports).all(fitted)
    }

    /// Means over the tasks.
    fn weights(&self) -> [f64; 2] {
        [0, 1].map(|part| {
            self.reports.iter().map(|report| report.weights[part]).sum::<f64>() / self.reports.len().max(1) as f64
        })
    }

    fn set_base_only(&mut self) -> Result<()> {
        let unfitted = self.stacks.iter().zip(&self.reports).find(|(stack, _)| stack.is_none());
        if let Some((_, report)) = unfitted {
            let why = report.not_fitted.as_deref().unwrap_or(UNFITTED);
            return Err(Error::config("--only", format!("is `base`, but a target has no base learners: {why}")));
        }
        self.reports.iter_mut().for_each(|report| report.weights = [0.0, 1.0]);
        Ok(())
    }

    fn reasons(&self) -> Vec<String> {
        let not_fitted = self.reports.iter().filter_map(|report| report.not_fitted.as_ref());
        let not_fitted = not_fitted.map(|reason| not_fitted_note(reason));
        let left_out = self.reports.iter().flat_map(|report| &report.left_out);
        let left_out = left_out.map(|LeftOut { name, reason }| format!("left out: {name}: {reason}"));
        let mut all: Vec<String> = vec![];
        // Tasks share their features, and most reasons.
        for note in not_fitted.chain(left_out) {
            if !all.contains(&note) {
                all.push(note);
            }
        }
        all
    }
}

/// The sentence on weights that were not fitted.
pub(crate) fn not_fitted_note(reason: &str) -> String {
    format!("no weights were fitted to held-out examples: {reason}")
}

impl<F> BaseModel<F> {
    /// A record of fitted base learners.
    pub fn new(features: F, stacks: Vec<Option<Stack>>, reports: Vec<BlendReport>, shares: Vec<Vec<f64>>) -> Self {
        Self { format: FORMAT, features, stacks, reports, shares }
    }

    /// If true, a base learner made of trees has a weight in a prediction.
    pub fn has_trees(&self) -> bool {
        const TREES: [&str; 3] = ["forest", "extra_trees", "boosting"];
        let members = self.reports.iter().flat_map(|report| &report.members);
        members
            .filter(|member| member.weight > 0.0)
            .any(|member| TREES.iter().any(|name| member.name.starts_with(name)))
    }

    /// Predictions of the base learners for all examples of views; NaN for tasks without any.
    ///
    /// # Errors
    /// Views that differ from those of training.
    pub fn predict(&self, views: &[View]) -> Result<TaskPredictions> {
        let rows: Vec<usize> = (0..views.first().map_or(0, View::examples)).collect();
        self.predict_rows(views, &rows)
    }

    /// As [`Self::predict`], for some examples.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn predict_rows(&self, views: &[View], rows: &[usize]) -> Result<TaskPredictions> {
        let of_task = |(stack, shares): (&Option<Stack>, &Vec<f64>)| predict(stack.as_ref(), views, rows, shares.len());
        self.stacks.iter().zip(&self.shares).map(of_task).collect()
    }

    /// If true, base learners predict from the view of this name.
    pub(crate) fn uses(&self, view: &str) -> bool {
        self.stacks.iter().flatten().flat_map(Stack::views).any(|name| name == view)
    }

    /// The blend of the network's predictions with those of the base learners.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn blended(&self, network: &TaskPredictions, views: &[View]) -> Result<TaskPredictions> {
        Ok(self.blend(network, &self.predict(views)?))
    }

    /// The blend of the network's predictions with those of the base learners.
    pub(crate) fn blend(&self, network: &TaskPredictions, base: &TaskPredictions) -> TaskPredictions {
        let parts = network.iter().zip(base).zip(&self.reports);
        parts.map(|((network, base), report)| mixed(network, base, report.weights)).collect()
    }
}

/// Metrics of a model on examples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelMetrics {
    /// Metrics of its answer.
    pub measures: Measures,
    /// Metrics of the parts of a blend, `network` and `base`; empty for a model without base learners.
    pub members: Vec<(&'static str, Measures)>,
    /// If true, a class is rare in training, and predicted classes are those of
    /// [`decide`].
    pub balanced_decisions: bool,
}

impl From<ValidationMetrics> for ModelMetrics {
    fn from(found: ValidationMetrics) -> Self {
        Self { measures: found.measures, ..Self::default() }
    }
}

/// Predictions for examples with targets, from which the metrics of a model follow. Those of the parts of a file can be
/// joined.
#[derive(Clone, Debug)]
pub(crate) enum TestPredictions<N> {
    /// Those of a network with base learners beside it.
    Blend(BlendTestPredictions),
    /// Those of a network alone.
    Network(N),
}

/// Predictions of a network and the base learners beside it for examples with targets.
#[derive(Clone, Debug)]
pub(crate) struct BlendTestPredictions {
    tasks: Vec<BaseTask>,
    network: TaskPredictions,
    base: TaskPredictions,
    /// Weights of network and base learners, by task.
    weights: Vec<[f64; 2]>,
    /// Shares of the classes in training, by task.
    shares: Vec<Vec<f64>>,
}

impl<N> TestPredictions<N> {
    /// These, and behind them those of the same model for other examples; `append` joins those of a network alone.
    ///
    /// # Panics
    /// If base learners take part in one of both alone.
    pub(crate) fn append(&mut self, other: Self, append: impl FnOnce(&mut N, N)) {
        match (self, other) {
            (Self::Blend(found), Self::Blend(other)) => {
                found.tasks.iter_mut().zip(other.tasks).for_each(|(task, other)| task.append(other));
                for (found, other) in [(&mut found.network, other.network), (&mut found.base, other.base)] {
                    found.iter_mut().zip(other).for_each(|(of_task, other)| of_task.extend(other));
                }
            }
            (Self::Network(found), Self::Network(other)) => append(found, other),
            (Self::Blend(_), Self::Network(_)) | (Self::Network(_), Self::Blend(_)) => {
                panic!("predictions with and without base learners cannot be joined")
            }
        }
    }
}

impl BlendTestPredictions {
    /// Metrics of the blend, and of both parts.
    pub(crate) fn metrics(&self) -> ModelMetrics {
        let Self { tasks, network, base, weights, shares } = self;
        let parts = network.iter().zip(base).zip(weights);
        let blend = parts.map(|((network, base), weights)| mixed(network, base, *weights)).collect();
        let rows: Vec<usize> = (0..tasks.first().map_or(0, |task| task.known.len())).collect();
        let measured = |predictions: &TaskPredictions, of_base: bool| {
            let decided = decisions(tasks, predictions, shares);
            let found = metrics(tasks, &rows, predictions, &decided, of_base);
            Measures(found.into_iter().map(|(name, value)| Measure::Last(name, value)).collect())
        };
        ModelMetrics {
            measures: measured(&blend, false),
            members: vec![("network", measured(network, false)), ("base", measured(base, true))],
            balanced_decisions: shares.iter().any(|shares| is_unbalanced(shares)),
        }
    }
}

impl<F> BaseModel<F> {
    /// The predictions of the network and of the base learners for `rows` of examples with targets.
    pub(crate) fn test_predictions(
        &self,
        tasks: &[BaseTask],
        rows: &[usize],
        [network, base]: [TaskPredictions; 2],
    ) -> BlendTestPredictions {
        let tasks = tasks.iter().map(|task| task.of_rows(rows)).collect();
        let weights = self.reports.iter().map(|report| report.weights).collect();
        BlendTestPredictions { tasks, network, base, weights, shares: self.shares.clone() }
    }

    /// Shares of the classes in training, of a model with one task.
    pub(crate) fn class_shares(&self) -> Vec<f64> {
        self.shares.first().cloned().unwrap_or_default()
    }
}

/// Weights, losses and base learners of a blend, for one task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlendReport {
    /// Weights of network and base learners.
    pub weights: [f64; 2],
    /// Rows the weights were fitted to, which neither part was trained on.
    pub rows: usize,
    /// Why no weights were fitted, where there were too few rows: the better part then has all weight.
    pub not_fitted: Option<String>,
    /// Losses of network and base learners on these rows: log loss, or mean squared error; `None` without rows.
    pub losses: Option<[f64; 2]>,
    /// The base learners that were cross-validated, the best first.
    pub members: Vec<MemberReport>,
    /// Base learners that were left out.
    pub left_out: Vec<LeftOut>,
}

/// Options of a blend.
#[derive(Clone, Copy, Debug)]
pub struct BlendOptions {
    /// If true, no network is trained.
    pub only_base: bool,
    /// Networks that are trained, each without another part of the examples.
    pub members: usize,
    /// The seed of folds and learners.
    pub seed: u64,
    /// The longest time base learners may take for one task.
    pub base_time: Duration,
    /// When the base learners of all tasks have to be fitted; `None` for no limit but [`Self::base_time`].
    pub deadline: Option<Instant>,
}

/// Predictions of one fold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoldPredictions {
    /// The rows that were held out.
    pub rows: Vec<usize>,
    /// Predictions of the blend, or of the base learners alone.
    pub blend: TaskPredictions,
    /// Predictions of the network, where it was trained.
    pub network: Option<TaskPredictions>,
    /// Predictions of the base learners.
    pub base: TaskPredictions,
    /// Shares of the classes in training, by task.
    pub shares: Vec<Vec<f64>>,
    /// Reports of the blend, one for each task.
    pub reports: Vec<BlendReport>,
    /// Seconds that the network and the base learners took.
    pub seconds: [f64; 2],
}

/// Trains a network on the first rows and predicts the second; the number is that of the network among several.
pub(crate) type TrainAndPredict<'a> = dyn Fn(&[usize], &[usize], usize) -> Result<TaskPredictions> + Sync + 'a;

/// The rows of one training: those to learn from, those to weigh network and base learners by (empty where these are
/// cut from the former), and those to predict.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) training: Vec<usize>,
    pub(crate) validation: Vec<usize>,
    pub(crate) test: Vec<usize>,
}

impl BaseProblem {
    /// Fits base learners and networks to the training rows, weighs them by rows that neither was trained on, and
    /// predicts the test rows.
    ///
    /// # Errors
    /// Those of training.
    pub(crate) fn fold(
        &self,
        rows: &Rows,
        options: &BlendOptions,
        network: &TrainAndPredict<'_>,
    ) -> Result<FoldPredictions> {
        let shares: Vec<Vec<f64>> = self.tasks.iter().map(|task| task.shares(&rows.training)).collect();
        let begun = Instant::now();
        let fits = self.fit(&rows.training, options)?;
        let of_base = begun.elapsed().as_secs_f64();
        let test_base =
            fits.iter().map(|fit| fit.predict(&self.views, &rows.test)).collect::<Result<TaskPredictions>>()?;
        if options.only_base {
            return Ok(FoldPredictions {
                rows: rows.test.clone(),
                blend: test_base.clone(),
                network: None,
                base: test_base,
                shares,
                reports: fits.iter().map(|fit| fit.report([0.0, 1.0])).collect(),
                seconds: [0.0, of_base],
            });
        }
        let begun = Instant::now();
        let parts = if !rows.validation.is_empty() {
            vec![(rows.training.clone(), rows.validation.clone()); options.members]
        } else {
            self.parts(&rows.training, options)?
        };
        let (mut held, mut held_predictions) = (Vec::new(), vec![Vec::new(); self.tasks.len()]);
        let mut test: TaskPredictions = Vec::new();
        for (member, (training, validation)) in parts.iter().enumerate() {
            let wanted: Vec<usize> = validation.iter().chain(&rows.test).copied().collect();
            let found = network(training, &wanted, member)?;
            if test.is_empty() {
                test = self.tasks.iter().map(|task| vec![0.0; rows.test.len() * task.target.outputs()]).collect();
            }
            for ((task, found), (test, held)) in
                self.tasks.iter().zip(&found).zip(test.iter_mut().zip(&mut held_predictions))
            {
                let cut = validation.len() * task.target.outputs();
                // Where all networks are validated on the same rows, the first one stands for them.
                if member == 0 || rows.validation.is_empty() {
                    held.extend_from_slice(&found[..cut]);
                }
                test.iter_mut().zip(&found[cut..]).for_each(|(sum, value)| *sum += value / parts.len() as f64);
            }
            if member == 0 || rows.validation.is_empty() {
                held.extend_from_slice(validation);
            }
        }
        let of_network = begun.elapsed().as_secs_f64();
        let (mut blend, mut reports) = (vec![], vec![]);
        for (at, (task, fit)) in self.tasks.iter().zip(&fits).enumerate() {
            let report = self.weigh(at, fit, &held, &held_predictions[at], !rows.validation.is_empty())?;
            blend.push(mixed(&test[at], &test_base[at], report.weights));
            reports.push(report);
            debug_assert_eq!(blend[at].len(), rows.test.len() * task.target.outputs());
        }
        Ok(FoldPredictions {
            rows: rows.test.clone(),
            blend,
            network: Some(test),
            base: test_base,
            shares,
            reports,
            seconds: [of_network, of_base],
        })
    }

    /// Fits a stack of base learners to every task whose target is known in some training examples.
    ///
    /// # Errors
    /// Those of [`Stack::fit`].
    pub(crate) fn fit(&self, training: &[usize], options: &BlendOptions) -> Result<Vec<Fitted>> {
        let all = worthwhile(candidates(&self.views), &self.views);
        let of_task = |(at, task): (usize, &BaseTask)| {
            let rows = task.known_of(training);
            let outputs = task.target.outputs();
            if rows.is_empty() {
                let (out_of_fold, members, left_out) = (vec![], vec![], self.too_large().collect());
                return Ok(Fitted { stack: None, outputs, rows, out_of_fold, members, left_out });
            }
            let now = Instant::now();
            // The tasks that are left share the rest of the time.
            let left = |end: Instant| end.saturating_duration_since(now) / (self.tasks.len() - at) as u32;
            let time = options.deadline.map_or(options.base_time, |end| options.base_time.min(left(end)));
            let settings = StackOptions { seed: options.seed, deadline: Some(now + time), ..StackOptions::default() };
            let fit = Stack::fit(&self.views, &task.target, &all, &rows, &settings)?;
            Ok(Fitted {
                stack: Some(fit.stack),
                outputs,
                rows,
                out_of_fold: fit.out_of_fold,
                members: fit.members,
                left_out: fit.left_out.into_iter().chain(self.too_large()).collect(),
            })
        };
        self.tasks.iter().enumerate().map(of_task).collect()
    }

    /// Base learners of views that are too large.
    fn too_large(&self) -> impl Iterator<Item = LeftOut> + '_ {
        let of_views = self.views.iter().filter(|view| !is_small(view.rows(), view.columns()));
        of_views.map(|view| too_large(view.name(), view.rows(), view.columns())).chain(self.left_out.clone())
    }

    /// The weights of a network with these predictions on held-out rows, and of the base learners: out of fold, or
    /// where `separate`, predicted, since they were not trained on them.
    ///
    /// # Errors
    /// Views that differ from those of training.
    pub(crate) fn weigh(
        &self,
        at: usize,
        fit: &Fitted,
        held: &[usize],
        network: &[f64],
        separate: bool,
    ) -> Result<BlendReport> {
        let task = &self.tasks[at];
        if fit.stack.is_none() {
            return Ok(fit.report([1.0, 0.0]));
        }
        let outputs = task.target.outputs();
        let places: Vec<usize> = (0..held.len()).filter(|place| task.known[held[*place]]).collect();
        let known: Vec<usize> = places.iter().map(|place| held[*place]).collect();
        let of_network: Vec<f64> =
            places.iter().flat_map(|place| network[place * outputs..(place + 1) * outputs].to_vec()).collect();
        let of_base = if separate {
            fit.predict(&self.views, &known)?
        } else {
            let places: HashMap<usize, usize> = fit.rows.iter().enumerate().map(|(place, row)| (*row, place)).collect();
            let row = |place: &usize| fit.out_of_fold[place * outputs..(place + 1) * outputs].to_vec();
            known.iter().filter_map(|row| places.get(row)).flat_map(row).collect()
        };
        let target = task.target.of(&known);
        // Without rows there is no loss, and a model holds no number that is not finite.
        let losses = (!known.is_empty()).then(|| [target.loss(&of_network), target.loss(&of_base)]);
        let (weights, not_fitted) = match convex_blend(&[&of_network, &of_base], outputs, &target) {
            Ok(found) => ([found.weights[0], found.weights[1]], None),
            // The network's loss has too few rows, so that the base learners keep the answer unless it is better.
            Err(error) if losses.is_some_and(|losses| is_better(losses, known.len())) => {
                ([1.0, 0.0], Some(error.to_string()))
            }
            Err(error) => ([0.0, 1.0], Some(error.to_string())),
        };
        Ok(BlendReport { losses, rows: known.len(), not_fitted, ..fit.report(weights) })
    }

    /// Parts of the training rows that networks are trained without, one after the other. A single network is trained
    /// without a fifth. Groups are not cut, so that there are no more parts than groups; several networks may be trained
    /// without the same one.
    fn parts(&self, training: &[usize], options: &BlendOptions) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
        let groups = self.views.iter().find_map(|view| view.groups_of(training));
        let most = groups.as_ref().map_or(training.len(), |groups| groups.iter().collect::<HashSet<_>>().len());
        let k = if options.members > 1 { options.members } else { 5 }.min(most).max(2);
        if training.len() < 2 {
            return Ok(vec![(training.to_vec(), vec![]); options.members]);
        }
        let cut = match (groups, self.tasks.first().map(|task| &task.target)) {
            (Some(groups), _) => group_folds(&groups, k, options.seed)?,
            (None, Some(Target::Classes { of, .. })) if self.tasks.len() == 1 => {
                let classes: Vec<usize> = training.iter().map(|row| of[*row]).collect();
                stratified_folds(&classes, k, options.seed)?
            }
            _ => folds(training.len(), k, options.seed)?,
        };
        let of_part = |part: Vec<usize>| {
            let mut out = vec![false; training.len()];
            part.iter().for_each(|place| out[*place] = true);
            let rest = training.iter().zip(&out).filter(|(_, out)| !**out).map(|(row, _)| *row).collect();
            (rest, part.into_iter().map(|place| training[place]).collect())
        };
        // Few examples take more networks, so that enough of them are held out once to fit weights by.
        let enough = (ENOUGH_HELD_OUT * k).div_ceil(training.len());
        let count = options.members.max(enough.min(k));
        Ok(cut.into_iter().cycle().take(count).map(of_part).collect())
    }
}

/// Losses of fewer held-out rows say nothing of which part is better.
const FEWEST_TO_COMPARE: usize = 10;

/// If true, a network with the first of these losses of few rows is better than base learners with the second. It was
/// chosen by these rows and may look better by chance, so that it has to be better by a share of one over the root of them.
fn is_better([network, base]: [f64; 2], rows: usize) -> bool {
    rows >= FEWEST_TO_COMPARE && network < (1.0 - 1.0 / (rows as f64).sqrt()) * base
}

/// Views with more values are left to the network: base learners would take longer than it.
const MOST_VALUES: usize = 30_000_000;

/// If true, base learners are fitted to a view of so many rows and columns.
pub(crate) fn is_small(rows: usize, columns: usize) -> bool {
    rows.saturating_mul(columns) <= MOST_VALUES
}

/// The base learners of a view that is too large.
pub(crate) fn too_large(name: &str, rows: usize, columns: usize) -> LeftOut {
    LeftOut {
        name: format!("base learners of {name}"),
        reason: format!("{rows} rows of {columns} columns, at most {MOST_VALUES} values are used"),
    }
}

/// Candidates without those that cost much and were never among the best: of several views of the same graphs, trees
/// see all columns at once, kernels and linear models of many columns each kind by itself.
fn worthwhile(mut all: Vec<Candidate>, views: &[View]) -> Vec<Candidate> {
    all.retain(|one| views.iter().any(|view| view.name() == one.view && is_small(view.rows(), view.columns())));
    if all.iter().all(|one| one.view != graphs::ALL) {
        return all;
    }
    let is_tree = |learner: &Learner| matches!(learner, Learner::Forest(_) | Learner::Boosting(_));
    let keep = |one: &Candidate| match one.view.as_str() {
        graphs::ALL => is_tree(&one.learner),
        graphs::COUNTS => true,
        _ => !is_tree(&one.learner) && one.learner != Learner::Kernel(KernelConfig::new(Kernel::Rbf)),
    };
    all.into_iter().filter(keep).collect()
}

/// Base learners of the examples of an experiment.
#[derive(Clone, Debug)]
pub struct BaseLearners<F> {
    examples: BaseExamples<F>,
    fits: Vec<Fitted>,
    /// Predictions of the base learners for the validation examples.
    predictions: TaskPredictions,
}

impl<F: Clone> BaseLearners<F> {
    /// Fits base learners to the training examples.
    ///
    /// # Errors
    /// Those of fitting and of predicting the validation examples.
    pub(crate) fn fit(examples: BaseExamples<F>, options: &BlendOptions) -> Result<Self> {
        let fits = examples.problem.fit(&examples.training, options)?;
        let predict = |fit: &Fitted| fit.predict(&examples.problem.views, &examples.validation);
        let predictions = fits.iter().map(predict).collect::<Result<_>>()?;
        Ok(Self { examples, fits, predictions })
    }

    fn shares(&self) -> Vec<Vec<f64>> {
        self.examples.problem.tasks.iter().map(|task| task.shares(&self.examples.training)).collect()
    }

    /// Metrics of predictions for the validation examples; `of_base` for those of the base learners alone.
    fn metrics_of(&self, predictions: &TaskPredictions, of_base: bool) -> Metrics {
        let BaseExamples { problem: BaseProblem { tasks, .. }, validation, .. } = &self.examples;
        metrics(tasks, validation, predictions, &decisions(tasks, predictions, &self.shares()), of_base)
    }

    /// Errors of network, base learners and blend on the validation examples, by task of numbers.
    fn errors_of(&self, predictions: [&TaskPredictions; 3]) -> Vec<TaskErrors> {
        let BaseExamples { problem, validation, .. } = &self.examples;
        let of_task = |(at, task): (usize, &BaseTask)| {
            let Target::Numbers(truth) = &task.target else { return None };
            let [network, base, answer] = predictions.map(|predictions| {
                let known = validation.iter().zip(&predictions[at]).filter(|(row, _)| task.known[**row]);
                AbsoluteErrors::new(known.map(|(row, predicted)| predicted - truth[*row]))
            });
            Some(TaskErrors { answer, network: Some(network), base: Some(base) })
        };
        if validation.is_empty() {
            return vec![];
        }
        problem.tasks.iter().enumerate().filter_map(of_task).collect()
    }
}

impl<F: Family, X: Clone + Debug + Serialize + DeserializeOwned> BesideNetwork<F> for BaseLearners<X> {
    type Record = BaseModel<X>;

    fn note(&self) -> Option<String> {
        let problem = &self.examples.problem;
        let unfitted = problem.tasks.iter().zip(&self.fits).filter(|(_, fit)| fit.stack.is_none());
        let name =
            |task: &BaseTask| if task.name.is_empty() { "the target".into() } else { format!("`{}`", task.name) };
        let unfitted: Vec<String> = unfitted.map(|(task, _)| name(task)).collect();
        let without = (!unfitted.is_empty()).then(|| format!("; none for {}: {UNFITTED}", unfitted.join(", ")));
        let left_out = problem.too_large().map(|LeftOut { name, reason }| format!("; no {name}: {reason}"));
        let members = &self.fits.iter().find(|fit| fit.stack.is_some()).or(self.fits.first())?.members;
        let heaviest = members.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let others = members.iter().filter(|member| member.weight > 0.0).count().saturating_sub(1);
        let validated = heaviest.is_some() && !self.examples.validation.is_empty();
        let metrics = if validated { self.metrics_of(&self.predictions, true) } else { vec![] };
        let found = note(heaviest.map_or("none", |member| &member.name), others, &metrics);
        Some(found + &without.into_iter().chain(left_out).collect::<String>())
    }

    fn beside(&self, network: &F::Network, context: &Context<'_, F>) -> Result<Beside<BaseModel<X>>> {
        let network = F::validation_predictions(network, context);
        let Self { examples: BaseExamples { problem, validation, features, .. }, fits, predictions } = self;
        let mut reports = Vec::new();
        for (at, (fit, network)) in fits.iter().zip(&network).enumerate() {
            reports.push(problem.weigh(at, fit, validation, network, true)?);
        }
        let stacks = fits.iter().map(|fit| fit.stack.clone()).collect();
        let parts = network.iter().zip(predictions).zip(&reports);
        let blend: TaskPredictions =
            parts.map(|((network, base), report)| mixed(network, base, report.weights)).collect();
        let metrics = [(&network, false), (predictions, true), (&blend, false)]
            .map(|(predictions, of_base)| self.metrics_of(predictions, of_base));
        let errors = self.errors_of([&network, predictions, &blend]);
        Ok(Beside { record: BaseModel::new(features.clone(), stacks, reports, self.shares()), metrics, errors })
    }
}

/// Base learners fitted to one task.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    /// `None` where the target is unknown in all training rows.
    pub(crate) stack: Option<Stack>,
    /// Numbers of a prediction.
    outputs: usize,
    /// The rows they were fitted to.
    rows: Vec<usize>,
    /// Predictions of these rows by stacks that were not fitted to them, `[rows, outputs]`.
    out_of_fold: Vec<f64>,
    members: Vec<MemberReport>,
    left_out: Vec<LeftOut>,
}

/// Why a target has no base learners.
const UNFITTED: &str = "it is unknown in all training examples";

/// Predictions of a stack for some examples, with so many numbers each; NaN where there is no stack.
fn predict(stack: Option<&Stack>, views: &[View], rows: &[usize], outputs: usize) -> Result<Vec<f64>> {
    match stack {
        Some(stack) => Ok(stack.predict(views, rows)?),
        None => Ok(vec![f64::NAN; rows.len() * outputs.max(1)]),
    }
}

impl Fitted {
    /// Predictions for some examples; NaN where there is no stack.
    fn predict(&self, views: &[View], rows: &[usize]) -> Result<Vec<f64>> {
        predict(self.stack.as_ref(), views, rows, self.outputs)
    }

    /// A report with these weights, and no rows.
    pub(crate) fn report(&self, weights: [f64; 2]) -> BlendReport {
        BlendReport {
            weights,
            rows: 0,
            not_fitted: self.stack.is_none().then(|| UNFITTED.to_owned()),
            losses: None,
            members: self.members.clone(),
            left_out: self.left_out.clone(),
        }
    }
}

/// Two predictions, weighed; those of the network where the base learners have none.
fn mixed(network: &[f64], base: &[f64], [of_network, of_base]: [f64; 2]) -> Vec<f64> {
    let mix = |(network, base): (&f64, &f64)| match base.is_nan() {
        true => *network,
        false => of_network * network + of_base * base,
    };
    network.iter().zip(base).map(mix).collect()
}

/// Metrics of predictions of rows, by all tasks: of classes those of [`class_metrics`], of numbers those of
/// [`number_metrics`]; means over the tasks where there are several. `decided` has the predicted class of each row for
/// each task of classes. If `of_base`, predictions are those of base learners alone, and rows for which they have none do
/// not count.
pub(crate) fn metrics(
    tasks: &[BaseTask],
    rows: &[usize],
    predictions: &TaskPredictions,
    decided: &[Vec<usize>],
    of_base: bool,
) -> Metrics {
    let mut sums: Vec<(&'static str, f64, usize)> = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let outputs = task.target.outputs();
        let predicted = |place: &usize| !of_base || !predictions[at][place * outputs].is_nan();
        let places: Vec<usize> = (0..rows.len()).filter(|place| task.known[rows[*place]] && predicted(place)).collect();
        if of_base && places.is_empty() {
            continue;
        }
        let chosen = |place: &usize| predictions[at][place * outputs..(place + 1) * outputs].to_vec();
        let values: Vec<f64> = places.iter().flat_map(chosen).collect();
        let found = match &task.target {
            Target::Classes { of, count } => {
                let truth: Vec<usize> = places.iter().map(|place| of[rows[*place]]).collect();
                let decided: Vec<usize> = places.iter().map(|place| decided[at][*place]).collect();
                class_metrics(&values, *count, &decided, &truth)
            }
            Target::Numbers(all) => {
                let truth: Vec<f64> = places.iter().map(|place| all[rows[*place]]).collect();
                number_metrics(&values, &truth)
            }
        };
        for (name, value) in found {
            match sums.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + value, *count + 1),
                None => sums.push((name, value, 1)),
            }
        }
    }
    sums.into_iter().map(|(name, sum, count)| (name, sum / count as f64)).collect()
}

/// The predicted class of every row for each task of classes; empty for numbers.
pub(crate) fn decisions(tasks: &[BaseTask], predictions: &TaskPredictions, shares: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let of_task = |(at, task): (usize, &BaseTask)| match task.target {
        Target::Classes { count, .. } => predictions[at].chunks(count).map(|row| decide(row, &shares[at])).collect(),
        Target::Numbers(_) => vec![],
    };
    tasks.iter().enumerate().map(of_task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_to_be_clearly_better_on_few_rows() {
        assert!(is_better([0.7, 1.0], 16) && !is_better([0.8, 1.0], 16) && is_better([0.8, 1.0], 29));
        // However good it looks on three rows.
        assert!(!is_better([0.0, 1.0], 3) && !is_better([f64::NAN, 1.0], 20));
    }
}
