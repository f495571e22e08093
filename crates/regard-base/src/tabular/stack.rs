//! Stacks: cross-validated candidates and a convex mixture of the best of them (D. Wolpert, "Stacked generalization",
//! 1992; M. van der Laan and others, "Super learner", 2007).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use regard_data::cancel::{self, CancellationToken, Cancelled};
use regard_data::metrics::{accuracy, balanced_accuracy, mean_absolute_error, roc_auc, root_mean_squared_error};
use regard_data::progress::{self, Stage};
use regard_data::split::others;
use regard_data::stats::{largest, mean};
use regard_data::{Error, Result};
use serde::{Deserialize, Serialize};

use super::boosting::BoostingConfig;
use super::calibration::{Calibration, scores};
use super::forest::ForestConfig;
use super::kernel::{Kernel, KernelConfig};
use super::learner::{ModelFit, check_examples};
use super::linear::LinearConfig;
use super::sample::Prepared;
use super::simplex::{convex, mix};
use super::{Learner, Model, Options, Pooling, Target, View};

/// A learner on a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The name in reports.
    pub name: String,
    /// The name of the view.
    pub view: String,
    /// The learner.
    pub learner: Learner,
}

/// The default candidates of some views: linear models, forests and boosting of each; a radial kernel of views without
/// instances; kernels of counts where a view has counts.
#[must_use]
pub fn candidates(views: &[View]) -> Vec<Candidate> {
    let mut all = Vec::new();
    for view in views {
        let mut learners = vec![Learner::Linear(LinearConfig::default())];
        if !view.has_instances() {
            learners.push(Learner::Kernel(KernelConfig::new(Kernel::Rbf)));
            if view.is_counts() {
                learners.push(Learner::Kernel(KernelConfig::new(Kernel::MinMax)));
                learners.push(Learner::Kernel(KernelConfig::new(Kernel::Cosine)));
            }
        }
        learners.push(Learner::Forest(ForestConfig::default()));
        learners.push(Learner::Boosting(BoostingConfig::default()));
        all.extend(learners.into_iter().map(|learner| Candidate {
            name: format!("{} of {}", learner.name(), view.name()),
            view: view.name().to_owned(),
            learner,
        }));
    }
    all
}

/// Options of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackOptions {
    /// The folds of cross-validation; fewer where there are fewer examples.
    pub folds: usize,
    /// If true, classes weigh the same, however many examples they have.
    pub balanced: bool,
    /// The seed of folds and learners.
    pub seed: u64,
    /// The time at which fits end: candidates that were not fitted are left out, so results depend on the speed of the
    /// machine.
    pub deadline: Option<Instant>,
}

impl Default for StackOptions {
    fn default() -> Self {
        Self { folds: 5, balanced: false, seed: 0, deadline: None }
    }
}

/// Metrics of predictions of examples that were not trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// The mean log loss of classes or squared error of numbers.
    pub loss: f64,
    /// Area under the receiver operating curve, of two classes that both occur.
    pub roc_auc: Option<f64>,
    /// The share of examples whose class is the most probable one.
    pub accuracy: Option<f64>,
    /// The mean over classes of the share that is found.
    pub balanced_accuracy: Option<f64>,
    /// The root of the mean squared error of numbers.
    pub rmse: Option<f64>,
    /// The mean absolute error of numbers.
    pub mae: Option<f64>,
}

impl Metrics {
    /// The metrics of predictions `[rows, outputs]`.
    ///
    /// # Panics
    /// If the number of rows differs.
    #[must_use]
    pub fn of(target: &Target, predictions: &[f64]) -> Self {
        let loss = target.loss(predictions);
        match target {
            Target::Numbers(numbers) => Self {
                loss,
                roc_auc: None,
                accuracy: None,
                balanced_accuracy: None,
                rmse: Some(root_mean_squared_error(predictions, numbers)),
                mae: Some(mean_absolute_error(predictions, numbers)),
            },
            Target::Classes { of, count } => {
                let predicted: Vec<usize> = predictions.chunks(*count).map(largest).collect();
                let positive: Vec<bool> = of.iter().map(|class| *class == 1).collect();
                let scores: Vec<f64> = predictions.chunks(*count).map(|p| p[1]).collect();
                Self {
                    loss,
                    roc_auc: if *count == 2 { roc_auc(&scores, &positive) } else { None },
                    accuracy: Some(accuracy(&predicted, of)),
                    balanced_accuracy: Some(balanced_accuracy(&predicted, of)),
                    rmse: None,
                    mae: None,
                }
            }
        }
    }
}

/// A candidate that was cross-validated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// The name of the candidate; with the pooling for views of instances.
    pub name: String,
    /// The weight in the stack; 0 for a candidate the stack does without.
    pub weight: f64,
    /// Metrics out of fold.
    pub metrics: Metrics,
    /// The seconds of cross-validation.
    pub seconds: f64,
}

/// A candidate that is not in the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The name of the candidate.
    pub name: String,
    /// Why it was left out.
    pub reason: String,
}

/// A fitted stack.
///
/// ```
/// use regard_base::tabular::{Stack, StackOptions, Target, View, candidates};
///
/// let numbers: Vec<f32> = (0..80).map(|at| at as f32 / 10.0).collect();
/// let target = Target::Numbers(numbers.iter().map(|x| 3.0 * f64::from(*x) + 1.0).collect());
/// let views = [View::new("x", numbers, 1)?];
/// let training: Vec<usize> = (0..80).filter(|at| at % 4 != 0).collect();
/// let fit = Stack::fit(&views, &target, &candidates(&views), &training, &StackOptions::default())?;
/// let predicted = fit.stack.predict(&views, &[40])?;
/// assert!((predicted[0] - 13.0).abs() < 0.1);
/// assert_eq!(fit.out_of_fold.len(), training.len());
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    outputs: usize,
    models: Vec<Model>,
    members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Member {
    name: String,
    /// The name of the view; none for the prediction without features.
    view: Option<String>,
    model: usize,
    pooling: Pooling,
    recalibration: Option<Recalibration>,
    weight: f64,
}

/// A fitted stack with its out-of-fold predictions and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct StackFit {
    /// The stack, its members fitted to all training examples.
    pub stack: Stack,
    /// Predictions of training examples `[training, outputs]` in the order given, by members and weights that were
    /// fitted without the example's fold.
    pub out_of_fold: Vec<f64>,
    /// The metrics of these predictions.
    pub metrics: Metrics,
    /// All candidates that were cross-validated, the best first.
    pub members: Vec<MemberReport>,
    /// Candidates that were left out.
    pub left_out: Vec<LeftOut>,
}

/// Brings pooled predictions of instances to the scale of examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Recalibration {
    Classes(Calibration),
    Numbers { slope: f64, intercept: f64 },
}

impl Recalibration {
    fn fit(target: &Target, predictions: &[f64], weights: &[f64]) -> Self {
        match target {
            Target::Classes { of, count } => {
                let scores: Vec<f64> = predictions.chunks(*count).flat_map(scores).collect();
                Self::Classes(Calibration::fit(&scores, of, weights, *count))
            }
            Target::Numbers(numbers) => {
                let (p, y) = (mean(predictions), mean(numbers));
                let products: f64 = predictions.iter().zip(numbers).map(|(a, b)| (a - p) * (b - y)).sum();
                let squares: f64 = predictions.iter().map(|a| (a - p).powi(2)).sum();
                let slope = if squares > 0.0 { (products / squares).max(0.0) } else { 0.0 };
                Self::Numbers { slope, intercept: y - slope * p }
            }
        }
    }

    fn apply(&self, predictions: &mut [f64], outputs: usize) {
        for prediction in predictions.chunks_mut(outputs) {
            match self {
                Self::Classes(calibration) => {
                    let scores = scores(prediction);
                    calibration.apply(&scores, prediction);
                }
                Self::Numbers { slope, intercept } => prediction[0] = intercept + slope * prediction[0],
            }
        }
    }
}

/// A candidate with its predictions out of fold.
struct Judged {
    name: String,
    /// The place among candidates; none for the prediction without features.
    candidate: Option<usize>,
    pooling: Pooling,
    recalibration: Option<Recalibration>,
    predictions: Vec<f64>,
    seconds: f64,
    /// The model of all training examples, where cross-validation has made one.
    model: Option<Model>,
}

/// Training examples from which a forest is judged by its out-of-bag predictions, without folds.
const OUT_OF_BAG_EXAMPLES: usize = 500;

impl Stack {
    /// Cross-validates candidates on the training examples, fits the weights of their mixture and refits all members
    /// that have weight.
    ///
    /// The prediction without features is always a candidate, so that a stack can be fitted to any examples. A
    /// candidate that cannot be fitted is left out, and the reason is said.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a target that is malformed, views of other examples, no training examples, one that does
    /// not exist or comes twice, or a candidate of an unknown view.
    pub fn fit(
        views: &[View],
        target: &Target,
        candidates: &[Candidate],
        training: &[usize],
        options: &StackOptions,
    ) -> Result<StackFit> {
        let mut order: Vec<usize> = (0..training.len()).collect();
        order.sort_by_key(|at| training[*at]);
        let sorted: Vec<usize> = order.iter().map(|at| training[*at]).collect();
        check(views, target, candidates, &sorted)?;
        let prepared: Vec<Prepared> = views.iter().map(|view| Prepared::new(view, sorted.clone())).collect();
        let token = CancellationToken::current().unwrap_or_default();
        let search = Search { prepared: &prepared, target: target.of(&sorted), options, candidates, token };
        let mut found = search.run();
        // Predictions go back to the order in which the examples were given.
        let outputs = target.outputs();
        let mut given = vec![0.0; found.out_of_fold.len()];
        for (at, place) in order.iter().enumerate() {
            given[place * outputs..(place + 1) * outputs]
                .copy_from_slice(&found.out_of_fold[at * outputs..(at + 1) * outputs]);
        }
        found.out_of_fold = given;
        Ok(found)
    }

    /// The numbers of one prediction: a probability of every class, or one.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The names of the members and their weights.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f64)> {
        self.members.iter().map(|member| (member.name.as_str(), member.weight))
    }

    /// The names of the views that the members predict from.
    pub fn views(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|member| member.view.as_deref())
    }

    /// Predicts examples `[examples, outputs]`; the views are found by their names.
    ///
    /// # Errors
    /// [`Error::Invalid`] when a view is missing, has other columns than in training, or no such example.
    pub fn predict(&self, views: &[View], examples: &[usize]) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for member in &self.members {
            let model = &self.models[member.model];
            let mut predictions = match &member.view {
                None => model.constant(examples.len()),
                Some(name) => {
                    let view = views.iter().find(|view| view.name() == name).ok_or_else(|| {
                        Error::invalid(format!("view `{name}`"), "is missing, and the stack was fitted with it")
                    })?;
                    model.predict_pooled(view, examples, member.pooling)?
                }
            };
            if let Some(recalibration) = &member.recalibration {
                recalibration.apply(&mut predictions, self.outputs);
            }
            all.push(predictions);
        }
        let weights: Vec<f64> = self.members.iter().map(|member| member.weight).collect();
        Ok(mix(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), &weights))
    }
}

fn check(views: &[View], target: &Target, candidates: &[Candidate], sorted: &[usize]) -> Result<()> {
    target.check()?;
    for view in views {
        check_examples(view, target, sorted)?;
        if views.iter().filter(|other| other.name() == view.name()).count() > 1 {
            return Err(Error::invalid(format!("view `{}`", view.name()), "comes twice, expected different names"));
        }
    }
    if sorted.is_empty() || sorted.last().is_some_and(|last| *last >= target.len()) {
        let reason = format!("expected some of the {} examples", target.len());
        return Err(Error::invalid(format!("{} training examples", sorted.len()), reason));
    }
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::invalid(format!("example {}", pair[0]), "comes twice among the training examples"));
    }
    for candidate in candidates {
        if !views.iter().any(|view| view.name() == candidate.view) {
            let known: Vec<&str> = views.iter().map(View::name).collect();
            let reason = format!("no view `{}`, expected one of {}", candidate.view, known.join(", "));
            return Err(Error::invalid(format!("candidate `{}`", candidate.name), reason));
        }
    }
    Ok(())
}

/// So long before a deadline.
fn before(deadline: Option<Instant>, time: Duration) -> Option<Instant> {
    deadline.map(|deadline| deadline.checked_sub(time).unwrap_or_else(Instant::now))
}

fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| end <= Instant::now())
}

/// The time of a fit to all examples, where one without those of a fold takes so long.
fn last_fit(of_fold: Duration) -> Duration {
    of_fold.mul_f64(1.3)
}

struct Search<'a> {
    prepared: &'a [Prepared<'a>],
    /// Of the training examples.
    target: Target,
    options: &'a StackOptions,
    candidates: &'a [Candidate],
    /// Of the thread that searches; fits run on others.
    token: CancellationToken,
}

impl Search<'_> {
    fn run(&self) -> StackFit {
        let mut left_out = Vec::new();
        // Fewer than two examples cannot be cut: nothing but the constant is judged then, on the example itself.
        let everything: Vec<usize> = (0..self.target.len()).collect();
        let groups = self.prepared.iter().find_map(|prepared| prepared.groups_of(&everything));
        let folds =
            self.target.folds(groups.as_deref(), self.options.folds.max(2), self.options.seed).unwrap_or_default();
        let mut judged = vec![self.constant(&folds)];
        let mut reserved = Duration::ZERO;
        let of = self.candidates.len();
        for (at, candidate) in self.candidates.iter().enumerate() {
            progress::report(Stage::Fitting { done: at, of });
            cancel::check();
            let begun = Instant::now();
            let end = before(self.options.deadline, reserved);
            let result = if is_past(end) { Err("the deadline had passed".into()) } else { self.judge(at, &folds, end) };
            match result {
                Ok(found) => judged.extend(found),
                Err(reason) => left_out.push(LeftOut { name: candidate.name.clone(), reason }),
            }
            // Members are fitted once more at the end.
            reserved += last_fit(begun.elapsed() / folds.len().max(1) as u32);
        }
        progress::report(Stage::Fitting { done: of, of });
        let weights = self.row_weights();
        loop {
            cancel::check();
            let predictions: Vec<&[f64]> = judged.iter().map(|member| member.predictions.as_slice()).collect();
            let mixture = convex(&predictions, &self.target, &weights);
            match self.refit(&mut judged, &mixture) {
                Ok(models) => return self.finish(judged, &mixture, models, &folds, left_out),
                // What failed goes, and the rest shares its weight.
                Err(failed) => {
                    judged.retain(|member| failed.iter().all(|failed| member.name != failed.name));
                    left_out.extend(failed);
                }
            }
        }
    }

    fn options(&self) -> Options {
        Options { balanced: self.options.balanced, seed: self.options.seed }
    }

    /// The weight of each training example.
    fn row_weights(&self) -> Vec<f64> {
        let counts = self.target.class_counts();
        let present = counts.iter().filter(|count| **count > 0).count();
        match &self.target {
            Target::Classes { of, .. } if self.options.balanced => {
                of.iter().map(|class| of.len() as f64 / (present * counts[*class]) as f64).collect()
            }
            _ => vec![1.0; self.target.len()],
        }
    }

    /// The prediction without features.
    fn constant(&self, folds: &[Vec<usize>]) -> Judged {
        let (count, outputs, weights) = (self.target.len(), self.target.outputs(), self.row_weights());
        let of_rows =
            |rows: &[usize]| self.target.of(rows).prior(&rows.iter().map(|row| weights[*row]).collect::<Vec<_>>());
        let everything = of_rows(&(0..count).collect::<Vec<_>>());
        let mut predictions: Vec<f64> = (0..count).flat_map(|_| everything.clone()).collect();
        for fold in folds {
            let prior = of_rows(&others(count, fold));
            fold.iter().for_each(|row| predictions[row * outputs..(row + 1) * outputs].copy_from_slice(&prior));
        }
        Judged {
            name: "constant".into(),
            candidate: None,
            pooling: Pooling::Mean,
            recalibration: None,
            predictions,
            seconds: 0.0,
            model: Some(Model::of_prior(&self.target, everything)),
        }
    }

    /// Cross-validates a candidate until `end`; instances give one member a pooling.
    fn judge(&self, at: usize, folds: &[Vec<usize>], end: Option<Instant>) -> Result<Vec<Judged>, String> {
        let candidate = &self.candidates[at];
        let prepared = self.prepared_of(candidate);
        let begun = Instant::now();
        let (count, outputs) = (self.target.len(), self.target.outputs());
        let poolings: &[Pooling] =
            if prepared.view.has_instances() { &[Pooling::Mean, Pooling::Max] } else { &[Pooling::Mean] };
        let mut predictions = vec![vec![0.0; count * outputs]; poolings.len()];
        let mut model = None;
        let by_bag = matches!(&candidate.learner, Learner::Forest(config) if !config.extra);
        let everything: Vec<usize> = (0..count).collect();
        // Out-of-bag predictions of a whole view; examples without rows would have none, and bags cut groups.
        let is_plain = !prepared.view.has_instances() && prepared.groups_of(&everything).is_none();
        if by_bag && count >= OUT_OF_BAG_EXAMPLES && is_plain {
            let fit = self.fit(candidate, &everything, end)?;
            predictions[0] = fit.out_of_bag.unwrap_or_default();
            model = Some(fit.model);
        } else {
            if folds.is_empty() {
                return Err("one example cannot be cut into folds".into());
            }
            let longest = AtomicU64::new(0);
            let of_fold = |fold: &Vec<usize>| -> Result<Vec<Vec<f64>>, String> {
                let begun = Instant::now();
                let end = before(end, last_fit(Duration::from_nanos(longest.load(Ordering::Relaxed))));
                let fit = self.fit(candidate, &others(count, fold), end)?;
                longest.fetch_max(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
                let examples: Vec<usize> = fold.iter().map(|place| prepared.examples[*place]).collect();
                let predict = |pooling: &Pooling| fit.model.predict_pooled(prepared.view, &examples, *pooling);
                poolings.iter().map(predict).collect::<Result<_>>().map_err(|error| error.to_string())
            };
            let of_folds: Vec<_> = folds.par_iter().map(of_fold).collect();
            for (fold, found) in folds.iter().zip(of_folds) {
                for (all, found) in predictions.iter_mut().zip(found?) {
                    for (row, found) in fold.iter().zip(found.chunks(outputs)) {
                        all[row * outputs..(row + 1) * outputs].copy_from_slice(found);
                    }
                }
            }
        }
        if predictions.iter().any(|all| all.len() != count * outputs || all.iter().any(|value| !value.is_finite())) {
            return Err("its predictions are not finite".into());
        }
        let seconds = begun.elapsed().as_secs_f64();
        let weights = self.row_weights();
        let instances = prepared.view.has_instances();
        let member = |(pooling, mut predictions): (&Pooling, Vec<f64>)| {
            let recalibration = instances.then(|| Recalibration::fit(&self.target, &predictions, &weights));
            if let Some(recalibration) = &recalibration {
                recalibration.apply(&mut predictions, outputs);
            }
            let name = match pooling {
                _ if !instances => candidate.name.clone(),
                Pooling::Mean => format!("{} (mean)", candidate.name),
                Pooling::Max => format!("{} (max)", candidate.name),
            };
            let (pooling, model) = (*pooling, model.clone());
            Judged { name, candidate: Some(at), pooling, recalibration, predictions, seconds, model }
        };
        Ok(poolings.iter().zip(predictions).map(member).collect())
    }

    fn prepared_of(&self, candidate: &Candidate) -> &Prepared<'_> {
        let found = self.prepared.iter().find(|prepared| prepared.view.name() == candidate.view);
        found.expect("views of candidates were checked")
    }

    /// Fits a candidate, which must be done by `end`.
    fn fit(&self, candidate: &Candidate, places: &[usize], end: Option<Instant>) -> Result<ModelFit, String> {
        let prepared = self.prepared_of(candidate);
        let fit = || {
            cancel::check();
            candidate.learner.fit_prepared(prepared, places, self.target.of(places), &self.options())
        };
        match self.token.until(end).run(fit) {
            Ok(fit) => fit.map_err(|error| error.to_string()),
            Err(Cancelled) => Err("the deadline passed during its fits".into()),
        }
    }

    /// Fits members with weight to all training examples; those of one candidate share a model.
    fn refit(&self, judged: &mut [Judged], weights: &[f64]) -> Result<Vec<(Option<usize>, Model)>, Vec<LeftOut>> {
        let mut wanted: Vec<(Option<usize>, Option<Model>)> = Vec::new();
        for (member, _) in judged.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            if wanted.iter().all(|(candidate, _)| *candidate != member.candidate) {
                wanted.push((member.candidate, member.model.clone()));
            }
        }
        let everything: Vec<usize> = (0..self.target.len()).collect();
        let fit = |(candidate, model): (Option<usize>, Option<Model>)| match (candidate, model) {
            (_, Some(model)) => (candidate, Ok(model)),
            (Some(at), None) => {
                let fit = self.fit(&self.candidates[at], &everything, self.options.deadline);
                (Some(at), fit.map(|fit| fit.model))
            }
            (None, None) => (None, Err("has no model".into())),
        };
        let fits: Vec<(Option<usize>, Result<Model, String>)> = wanted.into_par_iter().map(fit).collect();
        let mut failed = Vec::new();
        let mut models = Vec::new();
        for (candidate, fit) in fits {
            match fit {
                Ok(model) => {
                    // Kept in case another fails and weights are fitted again.
                    let members = judged.iter_mut().filter(|member| member.candidate == candidate);
                    members.for_each(|member| member.model = Some(model.clone()));
                    models.push((candidate, model));
                }
                Err(reason) => {
                    let members = judged.iter().filter(|member| member.candidate == candidate);
                    failed.extend(members.map(|member| LeftOut { name: member.name.clone(), reason: reason.clone() }));
                }
            }
        }
        if failed.is_empty() { Ok(models) } else { Err(failed) }
    }

    fn finish(
        &self,
        judged: Vec<Judged>,
        mixture: &[f64],
        models: Vec<(Option<usize>, Model)>,
        folds: &[Vec<usize>],
        left_out: Vec<LeftOut>,
    ) -> StackFit {
        let out_of_fold = self.out_of_fold(&judged, mixture, folds);
        let metrics = Metrics::of(&self.target, &out_of_fold);
        let mut reports: Vec<MemberReport> = judged
            .iter()
            .zip(mixture)
            .map(|(member, weight)| MemberReport {
                name: member.name.clone(),
                weight: *weight,
                metrics: Metrics::of(&self.target, &member.predictions),
                seconds: member.seconds,
            })
            .collect();
        reports.sort_by(|a, b| a.metrics.loss.total_cmp(&b.metrics.loss));
        let mut members = Vec::new();
        for (member, weight) in judged.into_iter().zip(mixture).filter(|(_, weight)| **weight > 0.0) {
            let model = models.iter().position(|(candidate, _)| *candidate == member.candidate).unwrap_or(0);
            members.push(Member {
                view: member.candidate.map(|at| self.candidates[at].view.clone()),
                name: member.name,
                model,
                pooling: member.pooling,
                recalibration: member.recalibration,
                weight: *weight,
            });
        }
        let models = models.into_iter().map(|(_, model)| model).collect();
        let stack = Stack { outputs: self.target.outputs(), models, members };
        StackFit { stack, out_of_fold, metrics, members: reports, left_out }
    }

    /// The mixture's predictions, with weights fitted without the fold that is predicted.
    fn out_of_fold(&self, judged: &[Judged], mixture: &[f64], folds: &[Vec<usize>]) -> Vec<f64> {
        let (count, outputs, weights) = (self.target.len(), self.target.outputs(), self.row_weights());
        let all: Vec<&[f64]> = judged.iter().map(|member| member.predictions.as_slice()).collect();
        let mut mixed = mix(&all, mixture);
        let select = |rows: &[usize]| -> Vec<Vec<f64>> {
            let of_member = |member: &&[f64]| -> Vec<f64> {
                rows.iter().flat_map(|row| &member[row * outputs..(row + 1) * outputs]).copied().collect()
            };
            all.iter().map(of_member).collect()
        };
        let of_fold = |fold: &Vec<usize>| {
            let rest = others(count, fold);
            let (inside, outside) = (select(fold), select(&rest));
            let outside: Vec<&[f64]> = outside.iter().map(Vec::as_slice).collect();
            let of_rest: Vec<f64> = rest.iter().map(|row| weights[*row]).collect();
            let found = convex(&outside, &self.target.of(&rest), &of_rest);
            mix(&inside.iter().map(Vec::as_slice).collect::<Vec<_>>(), &found)
        };
        let of_folds: Vec<Vec<f64>> = folds.par_iter().map(of_fold).collect();
        for (fold, found) in folds.iter().zip(of_folds) {
            for (row, found) in fold.iter().zip(found.chunks(outputs)) {
                mixed[row * outputs..(row + 1) * outputs].copy_from_slice(found);
            }
        }
        mixed
    }
}
