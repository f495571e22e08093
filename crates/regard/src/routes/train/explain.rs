//! Trace of one training step: what the sampled tours cost, what they are compared with, and the gradient that follows.

use std::path::Path;

use burn::tensor::{Device, Gradients};
use regard_nn::trace::{Recording, Step};
use regard_routing::registry::with_problem;
use regard_routing::{Problem, ProblemVisitor, SolverInstance};

use super::baseline::Challenge;
use super::learner::{Learner, Measured, SampledStep};
use super::run::Trainer;
use super::sampling::CostedTour;
use crate::explain::{Labels, Trace, check_size};
use crate::routes::environment::ProblemEnvironment;
use crate::routes::experiment::{BaselineKind, Loss, RouteExperiment};
use crate::routes::explain::{feature_names, own_step};
use crate::routes::model::of_nodes;
use crate::train::{at_checkpoint, gradients};
use crate::{Error, Result};

const REINFORCE: &str = "Williams 1992; Kool et al. 2019, §4, eq. 9";
const ROLLOUT: &str = "Kool et al. 2019, §4.1";
const IMPROVED: &str = "Oh et al. 2018; Pan et al. 2025";
const LIKELIHOOD: &str = "sum of the log-probabilities of the nodes that were chosen";
const CLIPPING: &str = "Pascanu et al. 2013, §3.2";

/// One step of a training on its first `instances` instances, by the trainer's own code: sampled tours and those of the
/// baseline, costs, advantages, log-likelihoods, the loss, the gradient's norm by layer, and the comparison of the policy
/// after the step with the one of the rollout baseline. `run` is the folder of a run whose next step is shown; without
/// one the network has its first weights. The folder is not written.
///
/// Steps are `sampled.…`, `baseline.…`, `advantage`, `coefficient`, `loss`, `gradient.…` and `comparison.…`.
///
/// # Errors
/// [`Error::Config`] for a number of instances that is 0 or more than a batch, and for settings that do not hold
/// together; [`Error::Unsupported`] for a run without a checkpoint, and for a trace that would not fit into memory;
/// [`Error::Diverged`] for a loss or a gradient that is not finite.
pub fn explain_step(
    name: &str,
    experiment: &RouteExperiment,
    run: Option<&Path>,
    instances: usize,
    device: &Device,
) -> Result<Trace> {
    struct Explain<'a>(&'a str, &'a RouteExperiment, Option<&'a Path>, usize, &'a Device);
    impl ProblemVisitor for Explain<'_> {
        type Output = Result<Trace>;

        fn run<I: SolverInstance>(self) -> Result<Trace> {
            let Self(name, experiment, run, instances, device) = self;
            let learner = match run {
                Some(folder) => {
                    let begin = |experiment: &_| Trainer::<ProblemEnvironment<I::Problem>>::new(experiment, device);
                    at_checkpoint(folder, experiment, begin)?.learner
                }
                None => Learner::<I::Problem>::new(experiment, device)?,
            };
            trace(name, learner, instances)
        }
    }
    experiment.validate()?;
    check_instances(experiment, instances)?;
    let problem = &experiment.task.problem;
    let trace = with_problem(problem, Explain(name, experiment, run, instances, device));
    trace.unwrap_or_else(|| Err(Error::config("task.problem", format!("`{problem}` is not supported"))))
}

/// Refuses a number of instances that a step does not have, and one whose trace would be too large.
fn check_instances(experiment: &RouteExperiment, instances: usize) -> Result<()> {
    let (train, nodes) = (&experiment.train, experiment.data.nodes.high() + 1);
    if !(1..=train.batch_size).contains(&instances) {
        let reason = format!("is {instances}; a step has 1 to {} instances (`train.batch_size`)", train.batch_size);
        return Err(Error::config("--instances", reason));
    }
    let tours = match (train.baseline, train.num_starts) {
        (BaselineKind::Shared, 0) => nodes,
        (_, starts) => starts.max(1),
    };
    let tours = tours + train.improved_tours;
    // Vehicles may come back to the depot after every customer.
    let numbers = |instances: usize| instances * (tours + 1) * (2 * nodes + 8);
    check_size("the training step", "instances", instances, numbers)
}

fn trace<P: Problem>(name: &str, mut learner: Learner<P>, instances: usize) -> Result<Trace> {
    let number = learner.steps() + 1;
    let sampled = learner.sampled(instances)?;
    let frozen = learner.frozen_tours(&sampled.instances, sampled.points.clone())?;
    let mut steps = Steps { trajectories: sampled.sampled.trajectories, instances, steps: vec![] };
    steps.tours(&sampled);
    steps.improved(&sampled);
    steps.baseline(learner.experiment(), &sampled, frozen.as_deref());
    steps.weights(learner.experiment(), &sampled);
    let mut norms = vec![];
    let measured = learner.learn(sampled, |model, found: &Gradients| {
        let norm = |data: &[f32]| data.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        norms = gradients(model, found).iter().map(|(path, array)| (path.clone(), norm(&array.data))).collect();
    })?;
    let (layers, parameters) = steps.gradient(learner.experiment(), &norms, &measured);
    let labels = Labels::from([("layer", layers), ("parameter", parameters), ("feature", feature_names::<P>())]);
    let alpha = learner.experiment().train.baseline_significance;
    if let Some(challenge) = learner.challenge()? {
        steps.comparison(&challenge, alpha);
    }
    let plural = if instances == 1 { "" } else { "s" };
    let input = format!("training step {number} on {instances} instance{plural} of {}", P::NAME);
    let recording = Recording { steps: steps.steps, parameters: vec![] };
    Ok(Trace::new(name.to_owned(), input, recording, &labels))
}

/// Nodes of sampled and of improved tours, `[instances, tours, steps]`; 0 after the end.
fn orders<I>(step: &SampledStep<I>) -> (Vec<f32>, Vec<f32>) {
    let tours = &step.sampled.tours;
    let order: Vec<f32> = tours.order().iter().map(|&node| node as f32).collect();
    let rows: Vec<&[f32]> = order.chunks_exact(tours.steps()).collect();
    let (sampled, improved) = step.sampled.apart(&rows);
    (sampled.concat(), improved.concat())
}

/// Log-likelihoods of sampled and of improved tours, `[instances, tours]`.
fn likelihoods<I>(step: &SampledStep<I>) -> (Vec<f32>, Vec<f32>) {
    step.sampled.apart(&step.policy.log_likelihood.to_data().iter::<f32>().collect::<Vec<f32>>())
}

/// The steps of the trace so far.
struct Steps {
    instances: usize,
    /// Tours of an instance.
    trajectories: usize,
    steps: Vec<Step>,
}

impl Steps {
    /// Adds a step with these axes and their lengths.
    fn add(
        &mut self,
        name: &str,
        formula: &'static str,
        source: &'static str,
        axes: &[(&str, usize)],
        values: Vec<f32>,
        from: &[&str],
    ) -> &mut Step {
        let from = from.iter().map(|&name| name.to_owned()).collect();
        let step = Step {
            source,
            axes: axes.iter().map(|(name, _)| (*name).to_owned()).collect(),
            shape: axes.iter().map(|&(_, length)| length).collect(),
            ..own_step(name, formula, "", values, from)
        };
        self.steps.push(step);
        let Some(step) = self.steps.last_mut() else { unreachable!("a step was added") };
        step
    }

    /// The axes of a value for each tour.
    fn each_tour(&self) -> [(&'static str, usize); 2] {
        [("instance", self.instances), ("tour", self.trajectories)]
    }

    fn tours<P: Problem>(&mut self, step: &SampledStep<P>) {
        let points = of_nodes(step.points.clone(), P::FEATURES);
        let [instances, nodes, features] = points.dims();
        let points = points.to_data().iter::<f32>().collect();
        let axes = [("instance", instances), ("node", nodes), ("feature", features)];
        self.add(
            "instances",
            "the first instances of the step, as the network sees their nodes",
            "",
            &axes,
            points,
            &[],
        );
        let (tours, [own, trajectories]) = (&step.sampled.tours, self.each_tour());
        let order = orders(step).0;
        let axes = [own, trajectories, ("step", tours.steps())];
        let formula = "nodes sampled from the policy, one after another; 0 after the end";
        self.add("sampled.tour", formula, REINFORCE, &axes, order, &["instances"]);
        let costs = step.sampled.costs.iter().map(|&cost| cost as f32).collect();
        let axes = self.each_tour();
        self.add("sampled.cost", "cost of the tour", "", &axes, costs, &["sampled.tour", "instances"]);
        let likelihood = likelihoods(step).0;
        self.add("sampled.log_likelihood", LIKELIHOOD, REINFORCE, &axes, likelihood, &["sampled.tour"]);
    }

    /// Tours after local search, where there are any.
    fn improved<P: Problem>(&mut self, step: &SampledStep<P>) {
        let improved = &step.sampled.improved;
        if improved.count == 0 {
            return;
        }
        let axes = [("instance", self.instances), ("improved tour", improved.count)];
        let steps = ("step", step.sampled.tours.steps());
        let formula = "the best different tours after local search, best first; 0 after the end";
        let from = ["sampled.tour", "sampled.cost"];
        self.add("improved.tour", formula, IMPROVED, &[axes[0], axes[1], steps], orders(step).1, &from);
        // A repeated tour has no cost of its own; its cost is that of the tour all the same.
        let mut costs: Vec<f32> = improved.costs.iter().map(|&cost| cost as f32).collect();
        costs.iter_mut().filter(|cost| cost.is_nan()).for_each(|cost| *cost = 0.0);
        let formula = "cost of the tour; 0 for one that repeats another and does not count";
        self.add("improved.cost", formula, "", &axes, costs, &["improved.tour", "instances"]);
        self.add("improved.log_likelihood", LIKELIHOOD, REINFORCE, &axes, likelihoods(step).1, &["improved.tour"]);
    }

    fn baseline<P: Problem>(
        &mut self,
        experiment: &RouteExperiment,
        step: &SampledStep<P>,
        frozen: Option<&[CostedTour]>,
    ) {
        let (values, one) = (&step.baseline, [("instance", self.instances)]);
        if let Some(frozen) = frozen {
            let longest = frozen.iter().map(|(tour, _)| tour.len()).max().unwrap_or(0);
            let padded = |tour: &Vec<usize>| {
                tour.iter().map(|&node| node as f32).chain(std::iter::repeat(0.0)).take(longest).collect::<Vec<_>>()
            };
            let tours = frozen.iter().flat_map(|(tour, _)| padded(tour)).collect();
            let axes = [one[0], ("step", longest)];
            let formula = "greedy tour of the frozen policy; 0 after the end";
            self.add("baseline.tour", formula, ROLLOUT, &axes, tours, &["instances"]);
            let costs = frozen.iter().map(|(_, cost)| *cost as f32).collect();
            self.add("baseline.rollout", "cost of the tour", ROLLOUT, &one, costs, &["baseline.tour", "instances"]);
        } else if let Some(own) = &values.own {
            let costs = own.iter().map(|&cost| cost as f32).collect();
            let formula = "the cost that the critic predicts before its own step";
            self.add("baseline.critic", formula, "Kool et al. 2019, §5.1", &one, costs, &["instances"]);
        }
        let single = [("value", 1)];
        if let Some(mean) = values.mean {
            let formula = "running mean of the costs of batches, this one taken in";
            self.add("baseline.mean", formula, ROLLOUT, &single, vec![mean as f32], &["sampled.cost"]);
        }
        let kind = experiment.train.baseline;
        let proper = match kind {
            BaselineKind::Rollout => Some("baseline.rollout"),
            BaselineKind::Critic => Some("baseline.critic").filter(|_| values.own.is_some()),
            _ => None,
        };
        if proper.is_some() || values.mean.is_some() {
            let formula =
                "share of the baseline itself: 0 in the first epoch of `train.baseline_warmup_epochs`, then more";
            self.add("baseline.share", formula, ROLLOUT, &single, vec![values.share as f32], &[]);
        }
        let mean = values.mean.map(|_| "baseline.mean");
        let (formula, source, from): (_, _, Vec<&str>) = match kind {
            BaselineKind::None => ("0: there is no baseline", "", vec![]),
            BaselineKind::Shared => {
                ("mean cost of the instance's tours", "Kwon et al. 2020, §4.2", vec!["sampled.cost"])
            }
            BaselineKind::Exponential => ("the running mean", "Kool et al. 2019, §5.1", vec!["baseline.mean"]),
            BaselineKind::Rollout | BaselineKind::Critic => {
                let from = std::iter::once("baseline.share").chain(proper).chain(mean).collect();
                ("share · baseline itself + (1 - share) · running mean", ROLLOUT, from)
            }
        };
        let values = values.values.iter().map(|&value| value as f32).collect();
        self.add("baseline", formula, source, &self.each_tour(), values, &from);
    }

    fn weights<P: Problem>(&mut self, experiment: &RouteExperiment, step: &SampledStep<P>) {
        let axes = self.each_tour();
        let pairs = step.sampled.costs.iter().zip(&step.baseline.values);
        let advantages = pairs.map(|(cost, value)| (cost - value) as f32).collect();
        self.add("advantage", "x - y", REINFORCE, &axes, advantages, &["sampled.cost", "baseline"]);
        let (coefficients, of_improved) = step.sampled.apart(&step.coefficients);
        match experiment.train.loss {
            Loss::Reinforce => {
                self.add("coefficient", "x / number of tours", REINFORCE, &axes, coefficients, &["advantage"]);
            }
            Loss::Preference => {
                let from = ["sampled.cost", "sampled.log_likelihood"];
                let formula = "for each pair of an instance's tours ±σ(-scale · (ℓ better - ℓ worse)) / (tours of the \
                               instance - 1) / number of tours, minus for the better one";
                self.add("coefficient", formula, "Pan et al. 2025", &axes, coefficients, &from);
            }
        }
        let loss = step.policy.loss.to_data().iter::<f32>().collect();
        let mut from = vec!["coefficient", "sampled.log_likelihood"];
        let count = step.sampled.improved.count;
        if count > 0 {
            let axes = [("instance", self.instances), ("improved tour", count)];
            let (formula, source, sources): (_, _, &[&str]) = match experiment.train.loss {
                Loss::Reinforce => {
                    let formula =
                        "`train.improved_weight` · min(0, x - baseline of the instance) / number of sampled tours";
                    (formula, IMPROVED, &["improved.cost", "baseline"])
                }
                Loss::Preference => {
                    let formula = "as `coefficient`; a pair with an improved tour counts `train.improved_weight` times";
                    let sources: &[&str] =
                        &["improved.cost", "improved.log_likelihood", "sampled.cost", "sampled.log_likelihood"];
                    (formula, "Pan et al. 2025", sources)
                }
            };
            self.add("improved.coefficient", formula, source, &axes, of_improved, sources);
            from.extend(["improved.coefficient", "improved.log_likelihood"]);
        }
        let formula = if count > 0 { "Σ x · y over sampled and improved tours" } else { "Σ x · y" };
        self.add("loss", formula, REINFORCE, &[("value", 1)], loss, &from);
    }

    /// The norm of the gradient of each parameter, each layer, and all; the names of layers and parameters.
    fn gradient(
        &mut self,
        experiment: &RouteExperiment,
        norms: &[(String, f64)],
        measured: &Measured,
    ) -> (Vec<String>, Vec<String>) {
        let mut layers: Vec<(String, f64)> = vec![];
        for (path, norm) in norms {
            let layer = layer_of(path);
            match layers.iter_mut().find(|(known, _)| *known == layer) {
                Some((_, squares)) => *squares += norm * norm,
                None => layers.push((layer, norm * norm)),
            }
        }
        let values = norms.iter().map(|(_, norm)| *norm as f32).collect();
        let formula = "norm of the derivative of the loss by the parameter";
        self.add("gradient.parameter", formula, "", &[("parameter", norms.len())], values, &["loss"]);
        let values = layers.iter().map(|(_, squares)| squares.sqrt() as f32).collect();
        let formula = "√Σ x² over the parameters of the layer";
        self.add("gradient.layer", formula, "", &[("layer", layers.len())], values, &["gradient.parameter"]);
        let single = [("value", 1)];
        self.add("gradient.norm", "√Σ x²", "", &single, vec![measured.gradient_norm as f32], &["gradient.layer"]);
        let limit = experiment.train.max_grad_norm;
        let factor = if limit > 0.0 { (limit / (measured.gradient_norm + 1e-6)).min(1.0) } else { 1.0 };
        let formula = "min(1, `train.max_grad_norm` / x), or 1 without that setting: the gradient times this moves the \
                       weights";
        self.add("gradient.factor", formula, CLIPPING, &single, vec![factor as f32], &["gradient.norm"]);
        let formula = "`train.learning_rate`, after warm-up and decay";
        self.add("gradient.learning_rate", formula, "", &single, vec![measured.rate as f32], &[]);
        let parameters = norms.iter().map(|(path, _)| path.clone()).collect();
        (layers.into_iter().map(|(layer, _)| layer).collect(), parameters)
    }

    fn comparison(&mut self, challenge: &Challenge, alpha: f64) {
        let (one, each) = ([("value", 1)], [("compared instance", challenge.costs.len())]);
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let formula = "cost of the greedy tour of the policy after this step";
        self.add("comparison.policy", formula, ROLLOUT, &each, single(&challenge.costs), &[]);
        let formula = "cost of the greedy tour of the frozen policy";
        self.add("comparison.baseline", formula, ROLLOUT, &each, single(&challenge.frozen), &[]);
        let differences = challenge.costs.iter().zip(&challenge.frozen).map(|(a, b)| (a - b) as f32).collect();
        let from = ["comparison.policy", "comparison.baseline"];
        self.add("comparison.difference", "x - y", ROLLOUT, &each, differences, &from);
        let found = challenge.comparison;
        let from = ["comparison.difference"];
        let mean = vec![found.mean_difference as f32];
        self.add("comparison.mean_difference", "mean of x", ROLLOUT, &one, mean, &from);
        if let (Some(t), Some(p)) = (found.t_statistic, found.p_value) {
            let formula = "mean of x / (standard deviation of x / √number of x)";
            self.add("comparison.t", formula, ROLLOUT, &one, vec![t as f32], &from);
            let formula = "probability of a statistic of at most x, by Student's t with one degree of freedom less than \
                           instances";
            self.add("comparison.p", formula, ROLLOUT, &one, vec![p as f32], &["comparison.t"]);
        }
        let reason = match (found.baseline_updated, found.p_value) {
            (true, _) => format!("the policy replaces the baseline: it costs less, and p < {alpha}"),
            (false, None) => "the baseline is kept: no two costs differ, so there is no test".to_owned(),
            (false, Some(_)) if found.mean_difference >= 0.0 => {
                "the baseline is kept: the policy does not cost less".to_owned()
            }
            (false, Some(_)) => format!("the baseline is kept: p ≥ {alpha}"),
        };
        let formula = "1 if the mean difference is below 0 and p below `train.baseline_significance`, else 0";
        let from: &[&str] = match found.p_value {
            Some(_) => &["comparison.mean_difference", "comparison.p"],
            None => &["comparison.mean_difference"],
        };
        let updated = f32::from(u8::from(found.baseline_updated));
        self.add("comparison.baseline_updated", formula, ROLLOUT, &one, vec![updated], from).notes = vec![reason];
    }
}

/// `encoder.0` of `encoder.layers.0.attention.query.weight`; the first word of other paths.
fn layer_of(path: &str) -> String {
    let words: Vec<&str> = path.split('.').collect();
    match words[..] {
        ["encoder", "layers", number, ..] => format!("encoder.{number}"),
        [first, ..] => first.to_owned(),
        [] => String::new(),
    }
}
