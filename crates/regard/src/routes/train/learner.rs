//! One learner: a network, its optimiser, its baseline, and the step that moves them.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Gradients, Tensor};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_nn::ops::PolicyLoss;
use serde::{Deserialize, Serialize};

use super::baseline::{BaselineValues, Challenge, ComparisonSet, Critic, Exponential, Frozen, WarmUp, shared};
use super::improved::advantages;
use super::preference::preference_with_improved;
use super::sampling::{CostedTour, SampleOptions, Sampled, greedy, sample};
use super::source::{InstanceSource, Source};
use crate::routes::decode::features;
use crate::routes::environment::{Environment, ProblemEnvironment};
use crate::routes::experiment::{BaselineKind, Loss, RouteExperiment};
use crate::routes::model::{AttentionModel, AttentionModelConfig, ModelDir, Norm};
use crate::store::{Array, NetworkConfig, Weights, layout};
use crate::train::{
    Checkpoint, Optimizer, Pace, Ranks, ShardSums, Shards, Stream, Trainee, collect, derived, fresh, isolated,
    linear_warmup, numbered, restore,
};
use crate::{Error, Result};
use regard_routing::Problem;

/// The measures of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Nodes of the instances.
    pub nodes: usize,
    /// Mean cost of the sampled tours.
    pub cost: f64,
    /// Mean of what they were compared with.
    pub baseline: f64,
    /// Loss: `mean((cost − baseline) · log-likelihood)`, or with the preference loss the same mean with
    /// its weights.
    pub loss: f64,
    /// Mean log-likelihood of the sampled tours.
    pub log_likelihood: f64,
    /// Norm of the policy's gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate.
    pub rate: f64,
}

/// The sampled tours of one step and their loss.
pub(super) struct SampledStep<I> {
    pub(super) instances: Vec<I>,
    /// Features of the nodes, `[instances, nodes, features]`.
    pub(super) points: Tensor<3>,
    pub(super) sampled: Sampled,
    pub(super) baseline: BaselineValues,
    /// Factors of the log-likelihoods in the loss, one for each tour, sampled or improved.
    pub(super) coefficients: Vec<f32>,
    pub(super) policy: PolicyLoss,
}

/// Sampled tours of some instances, before they are compared with anything.
struct RollOut<I> {
    instances: Vec<I>,
    /// Features of the nodes, `[instances, nodes, features]`.
    points: Tensor<3>,
    /// `[instances, nodes, width]`
    embeddings: Tensor<3>,
    sampled: Sampled,
}

/// A policy that learns to solve the problem of an environment.
pub struct PolicyLearner<E: Environment> {
    experiment: RouteExperiment,
    source: Arc<InstanceSource<E>>,
    device: Device,
    trainee: Trainee<AttentionModel>,
    exponential: Exponential,
    frozen: Option<Frozen<E>>,
    critic: Option<(Critic, Optimizer)>,
    step: u64,
    /// The schedule, where a time limit shortened it.
    pace: Option<Pace>,
}

/// A policy that learns to solve problem `P`.
pub type Learner<P> = PolicyLearner<ProblemEnvironment<P>>;

impl<P: Problem> Learner<P> {
    /// A learner at its first step, on `device` or, with gradients, on what is under it.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not hold together.
    pub fn new(experiment: &RouteExperiment, device: &Device) -> Result<Self> {
        experiment.validate()?;
        Self::with_source(experiment, Source::of(experiment)?, device)
    }
}

impl<E: Environment> PolicyLearner<E> {
    /// A learner at its first step, whose instances come from a source.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not hold together, and for another problem than that of the source.
    pub fn with_source(experiment: &RouteExperiment, source: InstanceSource<E>, device: &Device) -> Result<Self> {
        experiment.validate()?;
        let problem = source.environment().spec().name;
        if experiment.task.problem != problem {
            let reason = format!("is `{}`, but the learner is for `{problem}`", experiment.task.problem);
            return Err(Error::config("task.problem", reason));
        }
        let (train, device) = (&experiment.train, device.clone().autodiff());
        let model = initial(experiment, &device)?;
        let trainee = Trainee::new(model, train.optimizer_options(), train.ema_decay);
        let source = Arc::new(source);
        let frozen = match train.baseline {
            BaselineKind::Rollout => {
                Some(Frozen::new(trainee.model.valid(), ComparisonSet::of(experiment, &source), 0)?)
            }
            _ => None,
        };
        let critic = match train.baseline {
            BaselineKind::Critic => {
                let new = |device: &Device| Ok(Critic::new(&experiment.model, device));
                let critic = numbered(fresh(derived(train.seed, Stream::Critic, 0), &device, new)?);
                let optimizer = Optimizer::new(&critic, train.optimizer_options());
                Some((critic, optimizer))
            }
            _ => None,
        };
        Ok(Self {
            exponential: Exponential::new(train.baseline_decay, None),
            experiment: experiment.clone(),
            source,
            device,
            trainee,
            frozen,
            critic,
            step: 0,
            pace: None,
        })
    }

    /// Steps done.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// The network that is measured and saved: the running average where there is one, in
    /// evaluation.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub fn evaluated(&self) -> Result<AttentionModel> {
        self.trainee.evaluated()
    }

    /// Where its instances come from.
    pub(super) fn source(&self) -> &InstanceSource<E> {
        &self.source
    }

    /// The settings it has.
    pub(super) fn experiment(&self) -> &RouteExperiment {
        &self.experiment
    }

    /// Lets the network as it is challenge the frozen one, where there is one.
    pub(super) fn challenge(&mut self) -> Result<Option<Challenge>> {
        let policy = self.trainee.model.valid();
        let alpha = self.experiment.train.baseline_significance;
        self.frozen.as_mut().map(|frozen| frozen.challenge(&policy, alpha)).transpose()
    }

    fn epoch(&self) -> u64 {
        self.step / self.experiment.steps_per_epoch() as u64
    }

    /// Learning rates fall by a factor an epoch, after a linear rise.
    fn rate(&self, full: f64) -> f64 {
        let train = &self.experiment.train;
        let steps_per_epoch = self.experiment.steps_per_epoch() as u64;
        let place = self.pace.map_or(self.step, |pace| pace.place(self.step));
        full * linear_warmup(place, train.warmup_epochs * steps_per_epoch as f64)
            * train.learning_rate_decay.powi((place / steps_per_epoch).min(i32::MAX as u64) as i32)
    }

    /// The schedule of the learning rate, where it has one.
    pub(super) fn schedule(&self) -> Option<String> {
        let train = &self.experiment.train;
        match (train.learning_rate_decay != 1.0, train.warmup_epochs > 0.0) {
            (true, _) => Some(format!("decay by {} in an epoch", train.learning_rate_decay)),
            (false, true) => Some("warm-up".into()),
            (false, false) => None,
        }
    }

    /// Brings the end of the schedule forward.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.pace = Some(pace);
    }

    /// The first `count` of this step's instances.
    fn instances(&self, count: usize) -> Result<Vec<E::Instance>> {
        let (train, sizes) = (&self.experiment.train, self.experiment.data.nodes);
        let mut generator = Pcg64Mcg::seed_from_u64(derived(train.seed, Stream::Size, self.step));
        let size = generator.random_range(sizes.low()..=sizes.high());
        let seed = derived(train.seed, Stream::Instances, self.step);
        self.source.draw(seed, count, size)
    }

    /// Samples tours of fresh instances, compares them with the baseline, and makes the better
    /// ones more likely.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite, and those of the environment. The step does not
    /// count then, but the weights, the critic and the running means may have changed: a training goes on from a checkpoint.
    pub fn step(&mut self) -> Result<Measured> {
        let ranks = Ranks::current();
        let shards = ranks.shards(ranks.shards_of(self.experiment.train.shards))?;
        if !shards.is_one() {
            return self.step_in_shards(&shards);
        }
        let step = self.sampled(self.experiment.train.batch_size)?;
        self.learn(step, |_, _| ())
    }

    /// As [`Self::step`], with a batch that is cut into shards.
    fn step_in_shards(&mut self, shards: &Shards) -> Result<Measured> {
        let train = self.experiment.train.clone();
        let model = self.trainee.model.clone();
        let instances = self.instances(train.batch_size)?;
        let nodes = instances.first().map_or(0, |first| self.source.environment().nodes(first));
        let seed = derived(train.seed, Stream::Sampling, self.step);
        // Of each shard of this rank: its rollouts with the running statistics after them; `None` without instances.
        let mut rolled_out = vec![];
        for shard in shards.mine() {
            let own = &instances[shard.range(instances.len())];
            let (found, running) = isolated(&model, |_| {
                (!own.is_empty()).then(|| self.roll_out(own.to_vec(), shard.seed(seed))).transpose()
            });
            rolled_out.push(found?.map(|found| (found, running)));
        }
        let share = |of: &RollOut<E::Instance>| of.instances.len() as f64 / instances.len() as f64;
        let mean = regard_data::stats::mean;

        let alpha = self.alpha();
        let shared_mean = match alpha < 1.0 {
            true => {
                let costs = |of: &RollOut<E::Instance>| share(of) * mean(&of.sampled.costs);
                let costs = rolled_out.iter().map(|found| vec![found.as_ref().map_or(0.0, |(found, _)| costs(found))]);
                Some(self.exponential.update_mean(shards.sum(costs.collect())[0]))
            }
            false => None,
        };
        let critic = self.critic.take();
        let (mut policy_sums, mut critic_sums, mut numbers) = (ShardSums::new(), ShardSums::new(), vec![]);
        for found in rolled_out {
            let Some((found, running)) = found else {
                policy_sums.add_empty(&model);
                critic.iter().for_each(|(critic, _)| critic_sums.add_empty(critic));
                numbers.push(vec![0.0; 4]);
                continue;
            };
            let share = share(&found);
            let RollOut { instances: own, points, embeddings, sampled } = found;
            let values = match &critic {
                Some((critic, _)) if alpha > 0.0 => {
                    let ((predicted, loss), running) =
                        isolated(critic, |critic| critic.loss(points.clone(), &sampled.costs));
                    critic_sums.add(critic, &loss.mul_scalar(share).backward(), &running, share);
                    self.baseline_values(&sampled, shared_mean, Some(predicted))
                }
                _ => {
                    let frozen = if alpha > 0.0 { self.frozen_tours(&own, points.clone())? } else { None };
                    let costs = frozen.map(|tours| tours.into_iter().map(|(_, cost)| cost).collect());
                    self.baseline_values(&sampled, shared_mean, costs)
                }
            };
            let tours = instances.len() * sampled.trajectories;
            let coefficients = self.coefficients(&sampled, &values.values, tours);
            let policy = model.rollout().policy_loss(embeddings, &sampled.tours, coefficients);
            let log_likelihood = sum_of_sampled(&sampled, policy.log_likelihood) / tours as f64;
            let loss = f64::from(policy.loss.clone().into_scalar::<f32>());
            policy_sums.add(&model, &policy.loss.backward(), &running, share);
            numbers.push(vec![loss, share * mean(&sampled.costs), share * mean(&values.values), log_likelihood]);
        }
        let numbers = shards.sum(numbers);
        self.critic = match critic {
            Some((critic, mut optimizer)) if alpha > 0.0 => {
                let gradients = critic_sums.total(shards, &critic);
                let (critic, norm) = optimizer.step_along(self.rate(train.critic_learning_rate), critic, gradients);
                if !norm.is_finite() {
                    return Err(self.diverged(format!("the norm of the critic's gradient is {norm}")));
                }
                Some((critic, optimizer))
            }
            critic => critic,
        };
        let &[loss, cost, baseline, log_likelihood] = numbers.as_slice() else {
            unreachable!("each shard adds four numbers")
        };
        let rate = self.rate(train.learning_rate);
        let gradient_norm = self.trainee.learn_sums(self.step, rate, loss, policy_sums, shards)?;
        self.step += 1;
        Ok(Measured { nodes, cost, baseline, loss, log_likelihood, gradient_norm, rate })
    }

    /// Samples tours of the first `count` instances of this step, and compares them with the baseline.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a probability that is not a number.
    pub(super) fn sampled(&mut self, count: usize) -> Result<SampledStep<E::Instance>> {
        let seed = derived(self.experiment.train.seed, Stream::Sampling, self.step);
        let RollOut { instances, points, embeddings, sampled } = self.roll_out(self.instances(count)?, seed)?;
        let baseline = self.baseline(&sampled, &instances, points.clone())?;
        let coefficients = self.coefficients(&sampled, &baseline.values, sampled.costs.len());
        let policy = self.trainee.model.rollout().policy_loss(embeddings, &sampled.tours, coefficients.clone());
        Ok(SampledStep { instances, points, sampled, baseline, coefficients, policy })
    }

    /// Samples tours of instances.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a probability that is not a number.
    fn roll_out(&self, instances: Vec<E::Instance>, seed: u64) -> Result<RollOut<E::Instance>> {
        let (train, environment) = (&self.experiment.train, self.source.environment());
        let nodes = instances.first().map_or(0, |first| environment.nodes(first));
        let tours = match (train.baseline, train.num_starts) {
            (BaselineKind::Shared, 0) => nodes - usize::from(environment.spec().depot),
            (BaselineKind::Shared, starts) => starts,
            _ => 1,
        };
        let points = features(environment, &instances, self.experiment.model.distance_bias, &self.device)?;
        let model = &self.trainee.model;
        let embeddings = model.encode(points.clone());
        let inner = embeddings.clone().inner();
        let options = SampleOptions {
            trajectories: tours,
            first: train.first_node,
            seed,
            improved: train.improved_tours,
            likelihoods: train.loss == Loss::Preference,
        };
        let sampled = sample(&model.valid(), environment, inner, &instances, &options)?;
        let Some(sampled) = sampled else {
            return Err(self.diverged("the probability of a sampled tour is not a number".into()));
        };
        Ok(RollOut { instances, points, embeddings, sampled })
    }

    /// Makes the better tours more likely; `observe` gets the network before the step and its gradients.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite.
    pub(super) fn learn(
        &mut self,
        step: SampledStep<E::Instance>,
        observe: impl FnOnce(&AttentionModel, &Gradients),
    ) -> Result<Measured> {
        let SampledStep { instances, sampled, baseline, policy, .. } = step;
        let nodes = instances.first().map_or(0, |first| self.source.environment().nodes(first));
        let count = sampled.costs.len() as f64;
        let log_likelihood = sum_of_sampled(&sampled, policy.log_likelihood) / count;
        let rate = self.rate(self.experiment.train.learning_rate);
        let (loss, gradient_norm) = self.trainee.learn_with(self.step, rate, policy.loss, observe)?;
        self.step += 1;
        let mean = regard_data::stats::mean;
        let (cost, baseline) = (mean(&sampled.costs), mean(&baseline.values));
        Ok(Measured { nodes, cost, baseline, loss, log_likelihood, gradient_norm, rate })
    }

    /// The greedy tours of the frozen policy and their costs, one an instance; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::NotFinite`] where a probability is not a number; those of the environment.
    pub(super) fn frozen_tours(&self, instances: &[E::Instance], points: Tensor<3>) -> Result<Option<Vec<CostedTour>>> {
        let environment = self.source.environment();
        let tours =
            |frozen: &Frozen<E>| greedy(&frozen.policy, environment, frozen.policy.encode(points.inner()), instances);
        self.frozen.as_ref().map(tours).transpose()
    }

    /// Factor of the log-likelihood of each tour, sampled or improved, in the loss, whose gradient is
    /// then that of the mean over all sampled `tours` of the batch.
    fn coefficients(&self, sampled: &Sampled, baseline: &[f64], tours: usize) -> Vec<f32> {
        let (train, count, trajectories) = (&self.experiment.train, tours as f64, sampled.trajectories);
        let (improved, factor) = (&sampled.improved, train.improved_weight);
        let weights: Vec<f64> = match train.loss {
            Loss::Reinforce => {
                let own: Vec<f64> = sampled.costs.iter().zip(baseline).map(|(cost, value)| cost - value).collect();
                let values = baseline.iter().copied().step_by(trajectories.max(1));
                sampled.together(&own, &advantages(improved, values, factor))
            }
            Loss::Preference => {
                let costs = sampled.together(&sampled.costs, &improved.costs);
                let likelihoods = sampled.together(&sampled.log_probabilities, &improved.log_likelihoods);
                let tours = [trajectories, improved.count];
                preference_with_improved(&costs, &likelihoods, tours, train.preference_scale, factor)
            }
        };
        weights.into_iter().map(|weight| (weight / count) as f32).collect()
    }

    fn diverged(&self, reason: String) -> Error {
        Error::Diverged { step: self.step, reason }
    }

    /// The share of a baseline of its own; the rest is the running mean of costs.
    fn alpha(&self) -> f64 {
        let train = &self.experiment.train;
        match train.baseline {
            BaselineKind::None | BaselineKind::Shared => 1.0,
            BaselineKind::Exponential => 0.0,
            BaselineKind::Rollout | BaselineKind::Critic => {
                WarmUp::new(train.baseline_warmup_epochs as u64).alpha(self.epoch())
            }
        }
    }

    /// The baseline of each sampled tour.
    fn baseline(&mut self, sampled: &Sampled, instances: &[E::Instance], points: Tensor<3>) -> Result<BaselineValues> {
        let alpha = self.alpha();
        let mean = (alpha < 1.0).then(|| self.exponential.update(&sampled.costs));
        if alpha == 0.0 {
            return Ok(self.baseline_values(sampled, mean, None));
        }
        let proper = match (self.frozen_tours(instances, points.clone())?, self.critic.take()) {
            (Some(found), _) => Some(found.into_iter().map(|(_, cost)| cost).collect()),
            (None, Some((critic, mut optimizer))) => {
                let (predicted, loss) = critic.loss(points, &sampled.costs);
                let rate = self.rate(self.experiment.train.critic_learning_rate);
                let (critic, norm) = optimizer.step(rate, critic, loss.backward());
                self.critic = Some((critic, optimizer));
                if !norm.is_finite() {
                    return Err(self.diverged(format!("the norm of the critic's gradient is {norm}")));
                }
                Some(predicted)
            }
            (None, None) => None,
        };
        Ok(self.baseline_values(sampled, mean, proper))
    }

    /// The baseline of each sampled tour, from the running mean of costs where it has a share, and the costs of the
    /// frozen policy or the predictions of the critic.
    fn baseline_values(&self, sampled: &Sampled, mean: Option<f64>, own: Option<Vec<f64>>) -> BaselineValues {
        let plain = |values| BaselineValues { values, share: 1.0, mean: None, own: None };
        match self.experiment.train.baseline {
            BaselineKind::None => return plain(vec![0.0; sampled.costs.len()]),
            BaselineKind::Shared => return plain(shared(&sampled.costs, sampled.trajectories)),
            BaselineKind::Exponential | BaselineKind::Rollout | BaselineKind::Critic => {}
        }
        let alpha = self.alpha();
        let mut values = vec![(1.0 - alpha) * mean.unwrap_or(0.0); sampled.costs.len()];
        if let Some(own) = &own {
            values.iter_mut().zip(own).for_each(|(value, own)| *value += alpha * own);
        }
        BaselineValues { values, share: alpha, mean, own }
    }
}

/// Sum of the log-likelihoods of sampled tours; `all` has those of improved tours too.
fn sum_of_sampled(sampled: &Sampled, all: Tensor<1>) -> f64 {
    let all: Vec<f64> = all.into_data().iter::<f64>().collect();
    sampled.apart(&all).0.iter().sum()
}

/// The numbers of a learner that are no weights.
#[derive(Serialize, Deserialize)]
pub(super) struct Counters {
    step: u64,
    exponential: Option<f64>,
    frozen_updates: Option<u64>,
}

impl<E: Environment> PolicyLearner<E> {
    /// Networks and optimisers.
    pub(super) fn checkpoint(&self) -> Result<Checkpoint> {
        let mut checkpoint = self.trainee.checkpoint(self.step)?;
        if let Some(frozen) = &self.frozen {
            checkpoint.weights.insert("baseline".into(), collect(&frozen.policy));
        }
        if let Some((critic, optimizer)) = &self.critic {
            checkpoint.weights.insert("critic".into(), collect(critic));
            checkpoint.records.insert("critic".into(), optimizer.to_bytes()?);
        }
        Ok(checkpoint)
    }

    /// The numbers that belong to [`Self::checkpoint`].
    pub(super) fn counters(&self) -> Counters {
        Counters {
            step: self.step,
            exponential: self.exponential.value(),
            frozen_updates: self.frozen.as_ref().map(|frozen| frozen.updates),
        }
    }

    /// Takes on the state that [`Self::checkpoint`] gave.
    pub(super) fn restored(mut self, mut checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        if let Some(frozen) = self.frozen.take() {
            let policy = restore(frozen.policy, checkpoint.weights("baseline")?)?;
            self.frozen = Some(Frozen::new(
                policy,
                ComparisonSet::of(&self.experiment, &self.source),
                counters.frozen_updates.unwrap_or(0),
            )?);
        }
        if let Some((critic, optimizer)) = self.critic.take() {
            let optimizer = optimizer.restored(checkpoint.record("critic")?)?;
            self.critic = Some((restore(critic, checkpoint.weights("critic")?)?, optimizer));
        }
        self.exponential = Exponential::new(self.experiment.train.baseline_decay, counters.exponential);
        self.step = counters.step;
        Ok(self)
    }
}

/// The policy of an experiment before its first step, on `device`.
///
/// With `train.init_from` it has the weights of that model, which may be a smaller one: without distances, or with fewer
/// layers. What it lacks begins so that the network computes what the smaller one does: weights of distances are zeros,
/// and further layers add nothing to what they read. The model's problem may be another one that a network sees in the
/// same numbers, as PCTSP and SPCTSP.
fn initial(experiment: &RouteExperiment, device: &Device) -> Result<AttentionModel> {
    let (config, folder) = (&experiment.model, experiment.train.init_from.as_str());
    let seed = derived(experiment.train.seed, Stream::Weights, 0);
    let random = || fresh(seed, device, |device| AttentionModel::new(config, device));
    if folder.is_empty() {
        return random();
    }
    let found = ModelDir::open(folder)?;
    let known = found.config();
    let grows = known.layers < config.layers && config.norm != Norm::Layer;
    let same = AttentionModelConfig {
        preset: config.preset.clone(),
        problem: config.problem.clone(),
        distances: known.distances || config.distances,
        distance_bias: known.distance_bias || config.distance_bias,
        layers: if grows { config.layers } else { known.layers },
        ..known.clone()
    };
    let sizes = || {
        let reason = "does not have the sizes of `[model]` and `task.problem`";
        Error::config("train.init_from", format!("`{folder}` {reason}"))
    };
    if same != *config {
        return Err(sizes());
    }
    let mut weights = if grows { random()?.to_weights() } else { Weights::new() };
    weights.extend(found.weights()?);
    for spec in config.param_specs() {
        let added = (spec.name == "project_node_step.weight" && !known.distances && config.distances)
            || (spec.name.ends_with(".W_pair") && !known.distance_bias && config.distance_bias);
        if added {
            let data = vec![0.0; spec.shape.iter().product()];
            weights.insert(spec.name, Array { shape: spec.shape, data });
        }
    }
    for layer in known.layers..config.layers {
        add_identity(layer, &mut weights);
    }
    layout::check(config, &weights).map_err(|_| sizes())?;
    AttentionModel::from_weights(config, &weights, device)
}

/// Makes an encoder layer one that adds nothing to the output of the layer before it.
///
/// Its products end in zeros, and its norms only repeat the last one: what a norm with scale `w` and shift `b` gives has the
/// standard deviation `|w|` and the mean `b` in every channel, so a second one with scale `|w|` and shift `b` changes nothing.
fn add_identity(layer: usize, weights: &mut Weights) {
    let of = |layer: usize, name: &str| format!("embedder.layers.{layer}.{name}");
    for name in ["0.module.W_out", "2.module.2.weight", "2.module.2.bias"] {
        weights.entry(of(layer, name)).and_modify(|array| array.data.fill(0.0));
    }
    let last = |name: &str| weights.get(&of(layer - 1, &format!("3.normalizer.{name}"))).cloned();
    let (Some(mut scale), Some(shift)) = (last("weight"), last("bias")) else { return };
    scale.data.iter_mut().for_each(|scale| *scale = scale.abs());
    let variance = Array { data: scale.data.iter().map(|scale| scale * scale).collect(), ..scale.clone() };
    let norm = [("weight", &scale), ("bias", &shift), ("running_mean", &shift), ("running_var", &variance)];
    for sub_layer in [1, 3] {
        for (name, array) in norm {
            let name = of(layer, &format!("{sub_layer}.normalizer.{name}"));
            weights.entry(name).and_modify(|of_norm| of_norm.clone_from(array));
        }
    }
}
