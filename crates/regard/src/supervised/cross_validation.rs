//! Cross-validation and ensembles: networks that are trained several times and measured on examples they have not
//! seen.

use std::fmt::Debug;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use burn::tensor::Device;
use rayon::prelude::*;
use regard_base::tabular::Target;
use regard_data::metrics::{ReliabilityBin, bootstrap_intervals, confusion, reliability};
use regard_data::split::seed_of_repeat;
use regard_data::stats::{mean, standard_deviation};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::base::{
    BaseProblem, BaseTask, BlendOptions, BlendReport, FoldPredictions, Only, Rows, TaskPredictions, decisions, metrics,
};
use super::{Family, Learner, SupervisedExperiment};
use crate::train::ranks::{digest, program};
use crate::train::{Measure, Measures, Ranks, majority_share};
use crate::{Error, Result};

/// Options of a cross-validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossValidationOptions {
    /// Number of repetitions, each with its own folds.
    pub repeats: usize,
    /// One part of the answer alone; without it network and base learners are blended.
    pub only: Option<Only>,
}

impl CrossValidationOptions {
    /// The network alone, unless said otherwise, where `blend` is false.
    pub(crate) fn with_default(self, blend: bool) -> Self {
        Self { only: self.only.or(if blend { None } else { Some(Only::Network) }), ..self }
    }

    /// The options of a blend of so many networks.
    pub(crate) fn blend(self, members: usize, seed: u64) -> BlendOptions {
        let only_base = self.only == Some(Only::Base);
        BlendOptions { only_base, members, seed, base_time: BASE_TIME, deadline: None }
    }

    /// Refuses base learners alone for a task that has none.
    ///
    /// # Errors
    /// [`Error::Config`] with the option.
    pub(crate) fn refuse_base(self) -> Result<()> {
        match self.only {
            Some(Only::Base) => Err(Error::config("--only", "is `base`, but this task has no base learners")),
            _ => Ok(()),
        }
    }
}

/// The longest time base learners take for one task of one fold.
const BASE_TIME: Duration = Duration::from_secs(600);

/// Metrics of a cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidationMetrics {
    /// Means over the repeats, each measured on all held-out examples together.
    pub mean: Measures,
    /// Standard deviations over the repeats, or over the folds of one repeat; empty for a single fold.
    pub deviation: Measures,
    /// The metrics of every repeat, all its folds together.
    pub repeats: Vec<Measures>,
    /// The metrics of every fold, repeat after repeat.
    pub folds: Vec<Measures>,
    /// Seeds of the repeats.
    pub seeds: Vec<u64>,
    /// Accuracy of always predicting the most frequent class, for classification.
    pub constant: Option<f64>,
    /// Network, base learners and their blend, where there are base learners for the task.
    pub blend: Option<BlendMetrics>,
    /// Number of folds that were left out, since the cross-validation was ended early.
    pub left_out: usize,
}

/// Network, base learners and their blend in a cross-validation, whose own metrics are those of the blend.
#[derive(Clone, Debug, PartialEq)]
pub struct BlendMetrics {
    /// Metrics of the parts, means over the repeats: `network` and `base`, as far as they were computed.
    pub members: Vec<(&'static str, Measures)>,
    /// Weights of network and base learners, means over folds and tasks.
    pub weights: [f64; 2],
    /// Base learners and their weights among them, means over folds and tasks, the heaviest first.
    pub base: Vec<(String, f64)>,
    /// Base learners that were left out of a fold, and why.
    pub left_out: Vec<(String, String)>,
    /// Folds and tasks whose weights were not fitted, since too few rows were held out, and why.
    pub not_fitted: Option<(usize, String)>,
    /// 95 % intervals of the metrics of the blend over the examples of the first repeat.
    pub intervals: Vec<(&'static str, [f64; 2])>,
    /// If true, a class is rare, and predicted classes weigh classes alike.
    pub balanced_decisions: bool,
    /// Seconds of the network and of the base learners, over all folds.
    pub seconds: [f64; 2],
    /// Predicted and true classes of the first repeat, where there is one task of classes.
    pub classes: Option<ClassReport>,
}

/// Predicted and true classes, and the reliability of probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassReport {
    /// Names of the classes.
    pub names: Vec<String>,
    /// Number of examples of each true class by predicted class, `[true, predicted]`.
    pub confusion: Vec<usize>,
    /// Accuracy by confidence.
    pub reliability: Vec<ReliabilityBin>,
}

impl CrossValidationMetrics {
    fn new(repeats: Vec<Measures>, folds: Vec<Measures>, seeds: Vec<u64>, constant: Option<f64>) -> Self {
        let spread = if repeats.len() > 1 { &repeats } else { &folds };
        let deviation = if spread.len() > 1 { over(spread, standard_deviation) } else { Measures::default() };
        Self { mean: over(&repeats, mean), deviation, repeats, folds, seeds, constant, blend: None, left_out: 0 }
    }

    /// The samples of the deviation: `repeats` or `folds`.
    pub fn spread(&self) -> &'static str {
        if self.repeats.len() > 1 { "repeats" } else { "folds" }
    }
}

/// One number of all, metric by metric.
fn over(all: &[Measures], of: fn(&[f64]) -> f64) -> Measures {
    let values = |name: &'static str| all.iter().filter_map(|measures| measures.get(name)).collect::<Vec<_>>();
    let names = all.first().map_or(&[][..], |first| &first.0);
    Measures(names.iter().map(|measure| Measure::Last(measure.name(), of(&values(measure.name())))).collect())
}

/// The folds of all repeats.
pub(crate) struct Folds<T> {
    seeds: Vec<u64>,
    /// Folds of a repeat.
    count: usize,
    /// Every fold with the seed of its repeat.
    all: Vec<(u64, T)>,
}

impl<T> Folds<T> {
    /// The folds with something else in each.
    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> Folds<U> {
        let Self { seeds, count, all } = self;
        Folds { seeds, count, all: all.into_iter().map(|(seed, fold)| (seed, of(fold))).collect() }
    }
}

impl<T: Debug + Send> Folds<T> {
    /// Cuts the examples anew for every repeat; the seeds of the repeats follow from `seed`.
    ///
    /// # Errors
    /// Those of `cut`.
    pub(crate) fn new(seed: u64, repeats: usize, cut: impl Fn(u64) -> Result<Vec<T>>) -> Result<Self> {
        let seeds: Vec<u64> = (0..repeats).map(|repeat| seed_of_repeat(seed, repeat)).collect();
        let cuts = seeds.iter().map(|&seed| cut(seed)).collect::<Result<Vec<_>>>()?;
        let count = cuts.first().map_or(1, Vec::len).max(1);
        let folds = seeds.iter().zip(cuts);
        let all = folds.flat_map(|(&seed, folds)| folds.into_iter().map(move |fold| (seed, fold))).collect();
        Ok(Self { seeds, count, all })
    }

    /// Runs all folds side by side, and on several ranks where there are any. `done` is called after every fold; where it
    /// gives false, folds that have not begun are left out, but for the first.
    fn each<P: FoldResult>(self, run: impl Fn(T, u64) -> Result<P> + Sync, done: Done<'_>) -> Result<Ran<P>> {
        let ranks = Ranks::current();
        if ranks.are_several() {
            ranks.check_same(&[("program", program()), ("data of the folds", digest(&(&self.seeds, &self.all)))])?;
        }
        let (rank, size) = (ranks.rank(), ranks.size());
        let Self { seeds, count, all } = self;
        let ended = AtomicBool::new(false);
        let mine: Vec<(u64, T)> = all.into_iter().skip(rank).step_by(size).collect();
        // Folds are independent, and each is too small for several threads.
        let found = mine.into_par_iter().map(|(seed, fold)| {
            if ended.load(Ordering::Relaxed) {
                return Ok(None);
            }
            // The calling thread may take part, whose ranks have other folds.
            let found = Ranks::alone(|| run(fold, seed))?;
            if !done.done() {
                ended.store(true, Ordering::Relaxed);
            }
            Ok(Some(found))
        });
        let found = ranks.dealt(found.collect::<Result<Vec<Option<P>>>>()?);
        let left_out = found.iter().filter(|one| one.is_none()).count();
        let mut found = found.into_iter();
        let repeats = seeds.iter().map(|_| found.by_ref().take(count).flatten().collect::<Vec<P>>());
        let ran: Vec<(u64, Vec<P>)> =
            seeds.iter().copied().zip(repeats).filter(|(_, folds)| !folds.is_empty()).collect();
        let (seeds, repeats) = ran.into_iter().unzip();
        Ok(Ran { seeds, repeats, left_out })
    }

    /// Predicts the held-out examples of every fold by networks that have not seen them, and measures the
    /// predictions by repeats and by folds. `constant` gets the predictions of the first repeat; `done` is called
    /// after every fold, as of [`Done`].
    ///
    /// # Errors
    /// Those of `predict` and `metrics`.
    pub(crate) fn run<P: FoldResult>(
        self,
        predict: impl Fn(T, u64) -> Result<P> + Sync,
        metrics: impl Fn(&[P]) -> Result<Measures>,
        constant: impl FnOnce(&[P]) -> Option<f64>,
        done: Done<'_>,
    ) -> Result<CrossValidationMetrics> {
        let Ran { seeds, repeats, left_out } = self.each(predict, done)?;
        let constant = constant(repeats.first().map_or(&[][..], Vec::as_slice));
        let of_repeats = repeats.iter().map(|folds| metrics(folds)).collect::<Result<_>>()?;
        let of_folds = repeats.iter().flatten().map(|fold| metrics(slice::from_ref(fold))).collect::<Result<_>>()?;
        Ok(CrossValidationMetrics { left_out, ..CrossValidationMetrics::new(of_repeats, of_folds, seeds, constant) })
    }
}

/// An observer of a cross-validation, whose folds run side by side. A function without arguments observes the ends of
/// folds.
pub trait FoldObserver: Sync {
    /// A network of a fold has made `step` of `of` steps.
    fn step(&self, _step: u64, _of: u64) {}
    /// A fold is done. Where this gives false, folds that have not begun are left out, and the metrics are those of the
    /// others.
    fn done(&self) -> bool;
}

impl<F: Fn() -> bool + Sync> FoldObserver for F {
    fn done(&self) -> bool {
        self()
    }
}

/// The observer of a cross-validation.
pub type Done<'a> = &'a dyn FoldObserver;

/// The result of a fold, which goes from thread to thread and from rank to rank.
pub(crate) trait FoldResult: Send + Serialize + DeserializeOwned {}

impl<P: Send + Serialize + DeserializeOwned> FoldResult for P {}

/// The results of the folds that were run.
struct Ran<P> {
    /// Seeds of the repeats that have any fold.
    seeds: Vec<u64>,
    /// Results of the folds of these repeats.
    repeats: Vec<Vec<P>>,
    /// Number of folds that were left out.
    left_out: usize,
}

/// The most examples whose metrics get intervals.
const MOST_RESAMPLED: usize = 100_000;

/// Trains networks and base learners fold by fold and measures them and their blend on the held-out examples.
/// `network` trains a network on the first examples and predicts the second; the number is its seed. `done` is called
/// after every fold, as of [`Done`].
///
/// # Errors
/// Those of `network`; those of fitting base learners.
pub(crate) fn cross_validate_blend(
    problem: &BaseProblem,
    folds: Folds<Rows>,
    options: &BlendOptions,
    network: impl Fn(&[usize], &[usize], u64) -> Result<TaskPredictions> + Sync,
    done: Done<'_>,
) -> Result<CrossValidationMetrics> {
    let of_fold = |rows: Rows, seed: u64| {
        let of_member = |training: &[usize], wanted: &[usize], member: usize| {
            network(training, wanted, seed_of_repeat(seed, member))
        };
        problem.fold(&rows, &BlendOptions { seed, ..*options }, &of_member)
    };
    let Ran { seeds, repeats: found, left_out: folds_left_out } = folds.each(of_fold, done)?;
    let joined = |folds: &[FoldPredictions], part: Part| Joined::of(problem, folds, part);
    let measured = |folds: &[FoldPredictions], part: Part| joined(folds, part).map(|joined| joined.measures(problem));
    let blend = |folds: &[FoldPredictions]| measured(folds, Part::Blend).unwrap_or_default();
    let repeats: Vec<Measures> = found.iter().map(|folds| blend(folds)).collect();
    let of_folds = found.iter().flatten().map(|fold| blend(slice::from_ref(fold))).collect();
    let member = |part: Part| {
        let all: Option<Vec<Measures>> = found.iter().map(|folds| measured(folds, part)).collect();
        all.map(|all| (part.name(), over(&all, mean)))
    };
    let members = [Part::Network, Part::Base].into_iter().filter_map(member).collect();
    let first = joined(found.first().map_or(&[][..], Vec::as_slice), Part::Blend);
    let classes = first.as_ref().and_then(|joined| joined.class_report(problem));
    let constant = first.as_ref().and_then(|joined| joined.majority_share(problem));
    let intervals = first.filter(|joined| joined.rows.len() <= MOST_RESAMPLED).map(|joined| {
        bootstrap_intervals(joined.rows.len(), options.seed, |sample| joined.select(problem, sample).metrics(problem))
    });
    let all = || found.iter().flatten();
    let reports: Vec<&BlendReport> = all().flat_map(|fold| &fold.reports).collect();
    let rare = all().flat_map(|fold| &fold.shares).any(|shares| super::base::is_unbalanced(shares));
    let blend = BlendMetrics {
        members,
        weights: [0, 1].map(|at| mean(&reports.iter().map(|report| report.weights[at]).collect::<Vec<_>>())),
        base: mean_weights(&reports),
        left_out: left_out(&reports),
        not_fitted: not_fitted(&reports),
        intervals: intervals.unwrap_or_default(),
        balanced_decisions: rare,
        seconds: [0, 1].map(|at| all().map(|fold| fold.seconds[at]).sum()),
        classes,
    };
    let found = CrossValidationMetrics::new(repeats, of_folds, seeds, constant);
    Ok(CrossValidationMetrics { blend: Some(blend), left_out: folds_left_out, ..found })
}

/// A part of an answer.
#[derive(Clone, Copy)]
enum Part {
    Blend,
    Network,
    Base,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Blend => "blend",
            Self::Network => "network",
            Self::Base => "base",
        }
    }
}

/// Predictions of several folds together.
struct Joined {
    rows: Vec<usize>,
    predictions: TaskPredictions,
    decided: Vec<Vec<usize>>,
    /// If true, the predictions are those of base learners alone.
    of_base: bool,
}

impl Joined {
    fn of(problem: &BaseProblem, folds: &[FoldPredictions], part: Part) -> Option<Self> {
        let tasks = problem.tasks.len();
        let mut joined =
            Self { rows: vec![], predictions: vec![vec![]; tasks], decided: vec![vec![]; tasks], of_base: false };
        for fold in folds {
            joined.of_base |= match part {
                Part::Blend => fold.network.is_none(),
                Part::Network => false,
                Part::Base => true,
            };
            let predictions = match part {
                Part::Blend => &fold.blend,
                Part::Network => fold.network.as_ref()?,
                Part::Base => &fold.base,
            };
            joined.rows.extend(&fold.rows);
            let decided = decisions(&problem.tasks, predictions, &fold.shares);
            for (task, (predictions, decided)) in predictions.iter().zip(decided).enumerate() {
                joined.predictions[task].extend(predictions);
                joined.decided[task].extend(decided);
            }
        }
        Some(joined)
    }

    fn select(&self, problem: &BaseProblem, places: &[usize]) -> Self {
        let of_task = |(at, all): (usize, &Vec<f64>)| {
            let outputs = problem.tasks[at].target.outputs();
            places.iter().flat_map(|place| all[place * outputs..(place + 1) * outputs].to_vec()).collect()
        };
        let decided = |all: &Vec<usize>| places.iter().filter_map(|place| all.get(*place).copied()).collect();
        Self {
            rows: places.iter().map(|place| self.rows[*place]).collect(),
            predictions: self.predictions.iter().enumerate().map(of_task).collect(),
            decided: self.decided.iter().map(decided).collect(),
            of_base: self.of_base,
        }
    }

    fn metrics(&self, problem: &BaseProblem) -> regard_data::metrics::Metrics {
        metrics(&problem.tasks, &self.rows, &self.predictions, &self.decided, self.of_base)
    }

    /// Predicted and true classes of the rows whose class is known, where there is one task of classes.
    fn class_report(&self, problem: &BaseProblem) -> Option<ClassReport> {
        let [BaseTask { target: Target::Classes { of, count }, known, classes, .. }] = problem.tasks.as_slice() else {
            return None;
        };
        let places: Vec<usize> = (0..self.rows.len()).filter(|place| known[self.rows[*place]]).collect();
        let truth: Vec<usize> = places.iter().map(|place| of[self.rows[*place]]).collect();
        let decided: Vec<usize> = places.iter().map(|place| self.decided[0][*place]).collect();
        let row = |place: &usize| self.predictions[0][place * count..(place + 1) * count].to_vec();
        let probabilities: Vec<f64> = places.iter().flat_map(row).collect();
        Some(ClassReport {
            names: classes.clone(),
            confusion: confusion(&decided, &truth, *count),
            reliability: reliability(&probabilities, *count, &truth),
        })
    }

    /// The share of the most frequent class among these rows, where there is one task of classes.
    fn majority_share(&self, problem: &BaseProblem) -> Option<f64> {
        let [BaseTask { target: Target::Classes { of, .. }, known, .. }] = problem.tasks.as_slice() else {
            return None;
        };
        let classes: Vec<usize> = self.rows.iter().filter(|row| known[**row]).map(|row| of[*row]).collect();
        (!classes.is_empty()).then(|| majority_share(&classes))
    }

    fn measures(&self, problem: &BaseProblem) -> Measures {
        Measures(self.metrics(problem).into_iter().map(|(name, value)| Measure::Last(name, value)).collect())
    }
}

/// Base learners and their mean weights, the heaviest first.
fn mean_weights(reports: &[&BlendReport]) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for member in reports.iter().flat_map(|report| &report.members) {
        match all.iter_mut().find(|(name, _)| *name == member.name) {
            Some((_, weight)) => *weight += member.weight / reports.len() as f64,
            None => all.push((member.name.clone(), member.weight / reports.len() as f64)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Base learners that were left out, each once.
fn left_out(reports: &[&BlendReport]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for found in reports.iter().flat_map(|report| &report.left_out) {
        if all.iter().all(|(name, _)| *name != found.name) {
            all.push((found.name.clone(), found.reason.clone()));
        }
    }
    all
}

/// Number of weights that were not fitted, and the first reason.
fn not_fitted(reports: &[&BlendReport]) -> Option<(usize, String)> {
    let reasons: Vec<&String> = reports.iter().filter_map(|report| report.not_fitted.as_ref()).collect();
    reasons.first().map(|reason| (reasons.len(), (*reason).clone()))
}

/// The mean of the predictions of `members` networks, whose seeds follow from `seed`. `load` gives the data and
/// `predict` the predictions of one network.
///
/// # Errors
/// Those of `load`, of training and of `predict`.
pub(crate) fn ensemble<F: Family>(
    experiment: &SupervisedExperiment<F>,
    seed: u64,
    members: usize,
    device: &Device,
    load: impl Fn() -> Result<(F::TrainingData, F::Config)>,
    predict: impl Fn(&Learner<F>) -> Result<Vec<f64>>,
    observer: Done<'_>,
) -> Result<Vec<f64>> {
    let mut sum: Vec<f64> = Vec::new();
    for member in 0..members {
        let mut of_member = experiment.clone();
        of_member.train.seed = seed_of_repeat(seed, member);
        let (data, config) = load()?;
        let mut learner = Learner::with_data(&of_member, data, config, device)?;
        learner.learn_observed(observer)?;
        let predictions = predict(&learner)?;
        sum.resize(predictions.len(), 0.0);
        sum.iter_mut().zip(predictions).for_each(|(sum, value)| *sum += value / members as f64);
    }
    Ok(sum)
}
