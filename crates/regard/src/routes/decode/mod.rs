//! From a policy to tours: greedy, sampling, multi-start and beam search, in one or eight views.

mod choice;

use std::fmt;
use std::str::FromStr;

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;
use regard_nn::NodeSelection;
use regard_routing::Problem;

use self::choice::best;
use super::environment::{Environment, ProblemEnvironment, RolloutOptions, Start, Walk};
use super::model::AttentionModel;
use crate::{Error, Result};

/// Decoding of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// The most probable node at every step.
    Greedy,
    /// The best of so many sampled solutions.
    Sample(usize),
    /// The best of greedy solutions from so many starting nodes, or from all of them
    /// (Kwon et al. 2020).
    MultiStart(Option<usize>),
    /// The best of the so many most probable solutions found by beam search.
    Beam(usize),
}

/// Expected text of a decoding that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDecode(String);

impl fmt::Display for UnknownDecode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = "greedy, sample:K, multistart, multistart:K or beam:K, with K of at least 1";
        write!(f, "`{}` is not a decoding method, expected {expected}", self.0)
    }
}

impl std::error::Error for UnknownDecode {}

impl FromStr for Decode {
    type Err = UnknownDecode;

    fn from_str(text: &str) -> Result<Self, UnknownDecode> {
        let unknown = || UnknownDecode(text.to_owned());
        let (word, count) = match text.split_once(':') {
            Some((word, count)) => {
                let count = count.parse::<usize>().ok().filter(|&count| count > 0);
                (word, Some(count.ok_or_else(unknown)?))
            }
            None => (text, None),
        };
        match (word, count) {
            ("greedy", None) => Ok(Self::Greedy),
            ("sample", Some(count)) => Ok(Self::Sample(count)),
            ("multistart", count) => Ok(Self::MultiStart(count)),
            ("beam", Some(count)) => Ok(Self::Beam(count)),
            _ => Err(unknown()),
        }
    }
}

/// Options of [`AttentionModel::decode`].
#[derive(Clone, Debug)]
pub struct DecodeOptions {
    /// Decoding of the policy.
    pub decode: Decode,
    /// Views of each instance: 1, or 8 for all symmetries of the square.
    pub augment: usize,
    /// Softmax temperature of sampling.
    pub temperature: f32,
    /// Probability that the nodes sampled from have together at least, the most probable first; 1
    /// for all nodes.
    pub top_p: f32,
    /// Seed of sampling.
    pub seed: u64,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { decode: Decode::Greedy, augment: 1, temperature: 1.0, top_p: 1.0, seed: 1234 }
    }
}

/// The best solution found for one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Nodes in the order visited.
    pub tour: Vec<usize>,
    /// Cost by the caller's own measure.
    pub cost: f64,
    /// Log-probability of the solution in the view it was found in.
    pub log_likelihood: f32,
}

/// Nodes that go through the encoder together; bounds memory (64 MiB an activation at width 128).
const NODES_AT_ONCE: usize = 1 << 17;
/// Steps of all trajectories held at a time; bounds memory.
const STEPS_AT_ONCE: usize = 1 << 23;

/// The measure by which solutions are compared.
enum Measure<'a> {
    /// The costs of the problem itself.
    Own,
    /// The cost of a solution of the instance of a number.
    Given(&'a (dyn Fn(usize, &[usize]) -> f64 + Sync)),
}

impl Measure<'_> {
    /// Costs of the solutions of instances, the first of which has this number.
    fn costs<E: Environment>(
        &self,
        environment: &E,
        instances: &[E::Instance],
        walks: &[Vec<Walk>],
        first: usize,
    ) -> Result<Vec<Vec<f64>>> {
        match self {
            Self::Own => environment.costs_of(instances, walks),
            Self::Given(cost) => {
                let of = |(b, walks): (usize, &Vec<Walk>)| {
                    walks.iter().map(|walk| cost(first + b, &walk.nodes)).collect::<Vec<f64>>()
                };
                Ok(walks.par_iter().enumerate().map(of).collect())
            }
        }
    }
}

impl AttentionModel {
    /// The best solution found for each of `problems`, instances of one size, as `cost(instance, solution)` compares
    /// them. Where some quantities are only revealed on the way, solutions are compared by their mean cost over sampled
    /// scenarios ([`Problem::scenarios`]).
    ///
    /// # Errors
    /// [`Error::Config`] for an augmentation other than 1 or 8, a temperature that is not positive
    /// or a share of the probability outside 0 to 1, [`Error::Shape`] for instances of different sizes,
    /// [`Error::NotFinite`] where a probability is not a number.
    pub fn decode<P: Problem>(
        &self,
        problems: &[P],
        cost: &(dyn Fn(usize, &[usize]) -> f64 + Sync),
        options: &DecodeOptions,
    ) -> Result<Vec<Decoded>> {
        self.decode_by(&ProblemEnvironment::default(), problems, &Measure::Given(cost), options)
    }

    /// As [`Self::decode`], of the instances of any environment, by their own costs.
    ///
    /// # Errors
    /// As there, and those of the environment.
    pub fn decode_in<E: Environment>(
        &self,
        environment: &E,
        instances: &[E::Instance],
        options: &DecodeOptions,
    ) -> Result<Vec<Decoded>> {
        self.decode_by(environment, instances, &Measure::Own, options)
    }

    fn decode_by<E: Environment>(
        &self,
        environment: &E,
        instances: &[E::Instance],
        measure: &Measure<'_>,
        options: &DecodeOptions,
    ) -> Result<Vec<Decoded>> {
        let Some(nodes) = instances.first().map(|first| environment.nodes(first)) else { return Ok(Vec::new()) };
        check(environment, instances, nodes, options)?;
        self.check_pairs("an instance", nodes)?;
        if nodes == 0 {
            let empty = vec![vec![Walk { nodes: vec![], log_probability: 0.0 }]; instances.len()];
            let costs = measure.costs(environment, instances, &empty, 0)?;
            return Ok(empty.into_iter().zip(costs).map(|(walks, costs)| best(walks, &costs)).collect());
        }
        let spec = environment.spec();
        let views = options.augment;
        let trajectories = trajectories(options.decode, nodes - usize::from(spec.depot && nodes > 1));
        // Where a depot is, it may be visited before every node.
        let steps = views * trajectories * nodes * if spec.every_node_once { 1 } else { 2 };
        let at_once = (NODES_AT_ONCE / (views * nodes)).min(STEPS_AT_ONCE / steps.max(1)).max(1);
        let mut all = Vec::with_capacity(instances.len());
        for (chunk, instances) in instances.chunks(at_once).enumerate() {
            regard_data::cancel::check();
            let first = chunk * at_once;
            let seen = environment.views(instances, options.augment)?;
            let embeddings = self.encode(features(environment, &seen, self.distance_bias, &self.device())?);
            let walks = self.walks(environment, embeddings.clone(), &seen, nodes, options, first)?;
            let choices = match views * trajectories > 1 {
                true => self.choices(environment, embeddings, instances, nodes, options, first)?,
                false => None,
            };
            all.extend(match choices {
                None => {
                    let costs = measure.costs(environment, instances, &walks, first)?;
                    walks.into_par_iter().zip(costs).map(|(walks, costs)| best(walks, &costs)).collect::<Vec<_>>()
                }
                Some(choices) => {
                    let chosen = choices.into_par_iter().zip(instances).zip(walks);
                    let chosen: Vec<Vec<Walk>> =
                        chosen.map(|((choice, one), walks)| choice.walk(environment, one, walks)).collect();
                    let costs = measure.costs(environment, instances, &chosen, first)?;
                    chosen.into_iter().zip(costs).map(|(walks, costs)| best(walks, &costs)).collect()
                }
            });
        }
        Ok(all)
    }

    /// The solutions of all views of each instance, whose views and embeddings are given: `[instances]` lists.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the first instance and step whose probabilities are not numbers.
    fn walks<E: Environment>(
        &self,
        environment: &E,
        embeddings: Tensor<3>,
        views: &[E::Instance],
        nodes: usize,
        options: &DecodeOptions,
        first: usize,
    ) -> Result<Vec<Vec<Walk>>> {
        let rollout = self.rollout();
        // A chunk draws from generators of its own, as if all instances had gone at once.
        let seed = options.seed ^ (first as u64).wrapping_mul(0xD134_2543_DE82_EF95);
        let selection = match options.decode {
            Decode::Sample(_) => NodeSelection::Sample { temperature: options.temperature, top_p: options.top_p, seed },
            _ => NodeSelection::Greedy,
        };
        let start = match options.decode {
            Decode::Sample(count) => Start::Empty(count),
            Decode::MultiStart(_) => {
                let depot = environment.spec().depot && nodes > 1;
                Start::Spread(trajectories(options.decode, nodes - usize::from(depot)))
            }
            Decode::Greedy | Decode::Beam(_) => Start::Empty(1),
        };
        let walks = match options.decode {
            Decode::Beam(width) => environment.beam(&rollout, embeddings, views, width)?,
            _ => {
                let options = RolloutOptions { start, selection, record: None };
                environment.rollouts(&rollout, embeddings, views, options)?.walks
            }
        };
        check_probabilities(&walks, |b| first + b / options.augment)?;
        let mut walks = walks.into_iter();
        let instances = views.len() / options.augment.max(1);
        Ok((0..instances).map(|_| walks.by_ref().take(options.augment).flatten().collect()).collect())
    }

    /// Where the weights are.
    pub(super) fn device(&self) -> Device {
        self.embedding.weight.val().device()
    }
}

/// Refuses rollouts that ended because a probability was not a number; `instance` is the instance of each list.
pub(super) fn check_probabilities(walks: &[Vec<Walk>], instance: impl Fn(usize) -> usize) -> Result<()> {
    for (at, walks) in walks.iter().enumerate() {
        if let Some(walk) = walks.iter().find(|walk| walk.log_probability.is_nan()) {
            let step = walk.nodes.len() + 1;
            let place = format!("instance {}, step {step}", instance(at) + 1);
            return Err(Error::NotFinite { place, what: "the probability of the next node".into() });
        }
    }
    Ok(())
}

/// Features of instances of one size as [`AttentionModel::encode`] takes them, `[instances, nodes, features]`, with the
/// distances to all nodes where they are not straight, if the encoder sees them.
pub(super) fn features<E: Environment>(
    environment: &E,
    instances: &[E::Instance],
    distance_bias: bool,
    device: &Device,
) -> Result<Tensor<3>> {
    let nodes = instances.first().map_or(0, |first| environment.nodes(first));
    let tensor = |values: Vec<f32>, wide: usize| {
        Tensor::<3>::from_data(TensorData::new(values, [instances.len(), nodes, wide]), device)
    };
    let features = tensor(environment.features(instances)?, environment.spec().features);
    Ok(match distance_bias.then(|| environment.matrices(instances)).flatten() {
        Some(matrices) => Tensor::cat(vec![features, tensor(matrices, nodes)], 2),
        None => features,
    })
}

fn trajectories(decode: Decode, nodes: usize) -> usize {
    match decode {
        Decode::Greedy => 1,
        Decode::Sample(count) | Decode::Beam(count) => count,
        Decode::MultiStart(count) => count.unwrap_or(nodes).min(nodes),
    }
}

fn check<E: Environment>(
    environment: &E,
    instances: &[E::Instance],
    nodes: usize,
    options: &DecodeOptions,
) -> Result<()> {
    if let Some(other) = instances.iter().map(|one| environment.nodes(one)).find(|&found| found != nodes) {
        let what = "nodes of the instances of a batch".to_owned();
        return Err(Error::Shape { what, expected: vec![nodes], found: vec![other] });
    }
    if ![1, 8].contains(&options.augment) {
        return Err(Error::config("augment", format!("found {}, expected 1 or 8 views", options.augment)));
    }
    if !(options.temperature > 0.0 && options.temperature.is_finite()) {
        let reason = format!("found {}, expected a number above 0", options.temperature);
        return Err(Error::config("temperature", reason));
    }
    if !(options.top_p > 0.0 && options.top_p <= 1.0) {
        let reason = format!("found {}, expected a number above 0, at most 1", options.top_p);
        return Err(Error::config("top-p", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_decoding_are_read() {
        assert_eq!("greedy".parse(), Ok(Decode::Greedy));
        assert_eq!("sample:1280".parse(), Ok(Decode::Sample(1280)));
        assert_eq!("multistart".parse(), Ok(Decode::MultiStart(None)));
        assert_eq!("multistart:16".parse(), Ok(Decode::MultiStart(Some(16))));
        assert_eq!("beam:5".parse(), Ok(Decode::Beam(5)));
        for wrong in ["", "greedy:2", "sample", "sample:0", "beam:-1", "beam:x", "best"] {
            let error = wrong.parse::<Decode>().expect_err(wrong);
            assert!(error.to_string().contains("expected greedy, sample:K"), "{error}");
        }
    }
}
