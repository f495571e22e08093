//! Laws that every routing problem keeps when it is decoded and trained, for problems of programs beside this crate.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use regard_nn::NodeSelection;
use regard_nn::ops::with_kernels;

use super::decode::{Decode, DecodeOptions, Decoded, features};
use super::environment::{Environment, RolloutOptions, Start};
use super::experiment::RouteExperiment;
use super::model::{AttentionModel, AttentionModelConfig};
use super::train::{InstanceSource, PolicyLearner};
use crate::train::fresh;
use crate::{Error, Result};

/// A law, and how a problem breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    /// The law, a sentence.
    pub name: &'static str,
    /// The first violation; `None` where there is none.
    pub broken: Option<String>,
}

/// Instances and networks on which laws are checked.
#[derive(Clone, Copy, Debug)]
pub struct LawOptions {
    /// Size of the instances, a depot not counted.
    pub nodes: usize,
    /// Number of instances, at least 2.
    pub instances: usize,
    /// Seed of instances and networks.
    pub seed: u64,
    /// If true, some steps of training are checked too.
    pub learn: bool,
    /// If true, the networks see distances (`model.distances` and `model.distance_bias`).
    pub distances: bool,
}

/// Differences of costs and log-probabilities that are rounding.
const ROUNDING: f64 = 1e-3;

type Check<'a, E> = fn(&Laws<'a, E>) -> Result<Option<String>>;

/// Checks all laws on small networks. The problem has to be registered.
pub fn check<E: Environment>(environment: &E, options: &LawOptions) -> Vec<Law> {
    let laws = Laws { environment, options };
    let mut checks: Vec<(&'static str, Check<'_, E>)> = vec![
        ("features have one row for each node", Laws::features),
        ("kernels and tensor operations decode the same", Laws::kernels),
        ("an instance of a batch is solved as it is alone", Laws::alone),
        ("one pass gives the log-probability of the rollout", Laws::one_pass),
    ];
    if options.learn {
        checks.push(("every parameter learns", Laws::learning));
    }
    let mut found = Vec::with_capacity(checks.len());
    for (name, check) in checks {
        let broken = check(&laws).unwrap_or_else(|error| Some(error.to_string()));
        found.push(Law { name, broken });
    }
    found
}

struct Laws<'a, E> {
    environment: &'a E,
    options: &'a LawOptions,
}

impl<E: Environment> Laws<'_, E> {
    fn experiment(&self) -> Result<RouteExperiment> {
        let problem = self.environment.spec().name;
        let sets = [
            ("task.problem", problem.to_owned()),
            ("data.nodes", self.options.nodes.to_string()),
            ("train.batch_size", self.options.instances.to_string()),
            ("train.epoch_size", (8 * self.options.instances).to_string()),
            ("model.width", "16".to_owned()),
            ("model.heads", "2".to_owned()),
            ("model.layers", "2".to_owned()),
            ("model.feedforward_width", "32".to_owned()),
            ("model.distances", self.options.distances.to_string()),
            ("model.distance_bias", self.options.distances.to_string()),
            ("train.seed", (self.options.seed % (1 << 62)).to_string()),
        ];
        let sets: Vec<String> = sets.iter().map(|(key, value)| format!("{key}={value}")).collect();
        RouteExperiment::parse("", Path::new("laws"), &sets)
    }

    fn model(&self) -> Result<AttentionModel> {
        let config: AttentionModelConfig = self.experiment()?.model;
        let model = fresh(self.options.seed, &Device::flex(), |device| AttentionModel::new(&config, device))?;
        if !config.distances {
            return Ok(model);
        }
        // Weights of distances begin as zeros, with which no law could be broken.
        let mut weights = model.to_weights();
        let of_distances = |name: &str| name == "project_node_step.weight" || name.ends_with("W_pair");
        for (_, array) in weights.iter_mut().filter(|(name, _)| of_distances(name)) {
            array.data.iter_mut().enumerate().for_each(|(at, weight)| *weight = (at as f32).sin());
        }
        AttentionModel::from_weights(&config, &weights, &Device::flex())
    }

    fn instances(&self) -> Result<Vec<E::Instance>> {
        let experiment = self.experiment()?;
        let source = InstanceSource::in_environment(self.environment.clone(), &experiment)?;
        source.draw(self.options.seed, self.options.instances, self.options.nodes)
    }

    fn features(&self) -> Result<Option<String>> {
        let (instances, spec) = (self.instances()?, self.environment.spec());
        let found = self.environment.features(&instances)?.len();
        let expected: usize = instances.iter().map(|one| self.environment.nodes(one) * spec.features).sum();
        Ok((found != expected).then(|| format!("found {found} numbers, expected {expected}")))
    }

    fn decoded(&self, model: &AttentionModel, instances: &[E::Instance], decode: Decode) -> Result<Vec<Decoded>> {
        model.decode_in(self.environment, instances, &DecodeOptions { decode, ..DecodeOptions::default() })
    }

    fn kernels(&self) -> Result<Option<String>> {
        let (model, instances) = (self.model()?, self.instances()?);
        for decode in [Decode::Greedy, Decode::MultiStart(None), Decode::Beam(3)] {
            let decoded = || self.decoded(&model, &instances, decode);
            let (with, without) = (with_kernels(true, decoded)?, with_kernels(false, decoded)?);
            let differs = |(a, b): (&Decoded, &Decoded)| (a.cost - b.cost).abs() > ROUNDING * (1.0 + a.cost.abs());
            if let Some(at) = with.iter().zip(&without).position(differs) {
                let costs = [with[at].cost, without[at].cost];
                return Ok(Some(format!("{decode:?}: instance {at} costs {} and {}", costs[0], costs[1])));
            }
        }
        Ok(None)
    }

    fn alone(&self) -> Result<Option<String>> {
        let (model, instances) = (self.model()?, self.instances()?);
        let together = self.decoded(&model, &instances, Decode::Greedy)?;
        for (at, one) in instances.iter().enumerate() {
            let alone = self.decoded(&model, std::slice::from_ref(one), Decode::Greedy)?;
            if alone.first().is_some_and(|alone| alone.tour != together[at].tour) {
                return Ok(Some(format!("instance {at} gets another solution in a batch than alone")));
            }
        }
        Ok(None)
    }

    fn one_pass(&self) -> Result<Option<String>> {
        let (model, instances) = (self.model()?, self.instances()?);
        let rollout = model.rollout();
        let embeddings = model.encode(features(self.environment, &instances, model.distance_bias, &Device::flex())?);
        let selection = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed: self.options.seed };
        for start in [Start::Empty(1), Start::Spread(2)] {
            let forced = usize::from(start == Start::Spread(2));
            let options = RolloutOptions { start, selection, record: Some(forced) };
            let found = self.environment.rollouts(&rollout, embeddings.clone(), &instances, options)?;
            let Some(tours) = found.tours else { return Ok(Some("a probability is not a number".into())) };
            let walks: Vec<_> = found.walks.into_iter().flatten().collect();
            let loss = rollout.policy_loss(embeddings.clone(), &tours, vec![1.0; walks.len()]);
            let passed: Vec<f64> = loss.log_likelihood.into_data().iter::<f64>().collect();
            let differs = |(walk, passed): (&super::environment::Walk, &f64)| {
                (f64::from(walk.log_probability) - passed).abs() > ROUNDING * (1.0 + passed.abs())
            };
            if let Some(at) = walks.iter().zip(&passed).position(differs) {
                let (rolled, passed) = (walks[at].log_probability, passed[at]);
                return Ok(Some(format!(
                    "solution {at} has the log-probability {rolled} in the rollout and {passed} in one pass: masks or \
                     contexts of its steps are not repeatable"
                )));
            }
        }
        Ok(None)
    }

    fn learning(&self) -> Result<Option<String>> {
        let experiment = self.experiment()?;
        let source = InstanceSource::in_environment(self.environment.clone(), &experiment)?;
        let mut learner = PolicyLearner::with_source(&experiment, source, &Device::flex())?;
        let before = learner.evaluated()?.to_weights();
        for _ in 0..3 {
            let loss = learner.step()?.loss;
            if !loss.is_finite() {
                return Err(Error::Diverged { step: learner.steps(), reason: format!("the loss is {loss}") });
            }
        }
        let after = learner.evaluated()?.valid().to_weights();
        let still = after.iter().find(|(name, array)| before.get(*name).is_some_and(|old| old.data == array.data));
        Ok(still.map(|(name, _)| format!("`{name}` did not change in three steps of training")))
    }
}
