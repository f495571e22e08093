//! From a policy to tours: greedy, sampling, multi-start and beam search, in one or eight views.

mod choice;

use std::fmt;
use std::str::FromStr;

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;
use regard_nn::{NodeSelection, Outcome};

use self::choice::best;
use super::model::AttentionModel;
use crate::{Error, Result};
use regard_routing::{Problem, State};

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
        let Some(nodes) = problems.first().map(P::nodes) else { return Ok(Vec::new()) };
        check(problems, nodes, options)?;
        if nodes == 0 {
            let empty = |b| Decoded { tour: vec![], cost: cost(b, &[]), log_likelihood: 0.0 };
            return Ok((0..problems.len()).map(empty).collect());
        }
        let views = options.augment;
        let trajectories = trajectories(options.decode, nodes - usize::from(P::DEPOT && nodes > 1));
        // Where a depot is, it may be visited before every node.
        let steps = views * trajectories * nodes * if P::EVERY_NODE_ONCE { 1 } else { 2 };
        let at_once = (NODES_AT_ONCE / (views * nodes)).min(STEPS_AT_ONCE / steps.max(1)).max(1);
        let mut all = Vec::with_capacity(problems.len());
        for (chunk, problems) in problems.chunks(at_once).enumerate() {
            regard_data::cancel::check();
            let first = chunk * at_once;
            let embeddings = self.encode(features(&views_of(problems, options), &self.device()));
            let outcomes = self.outcomes(embeddings.clone(), problems, nodes, options, first)?;
            let several = views * trajectories > 1;
            let choices = match several {
                true => self.choices(embeddings, problems, nodes, options, first)?,
                false => None,
            };
            let decoded = |b: usize| {
                let mine = &outcomes[b * views..(b + 1) * views];
                let cost = |tour: &[usize]| cost(first + b, tour);
                match &choices {
                    None => best::<P>(mine, &cost),
                    Some(choices) => choices[b].solution(&problems[b], mine, &cost),
                }
            };
            all.extend((0..problems.len()).into_par_iter().map(decoded).collect::<Vec<_>>());
        }
        Ok(all)
    }

    /// All solutions of all views, whose embeddings are given: `[instances · views]` lists.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the first instance and step whose probabilities are not numbers.
    fn outcomes<P: Problem>(
        &self,
        embeddings: Tensor<3>,
        problems: &[P],
        nodes: usize,
        options: &DecodeOptions,
        first: usize,
    ) -> Result<Vec<Vec<Outcome<P::State>>>> {
        let views = views_of(problems, options);
        let rollout = self.rollout();
        // A chunk draws from generators of its own, as if all instances had gone at once.
        let seed = options.seed ^ (first as u64).wrapping_mul(0xD134_2543_DE82_EF95);
        let pick = match options.decode {
            Decode::Sample(_) => NodeSelection::Sample { temperature: options.temperature, top_p: options.top_p, seed },
            _ => NodeSelection::Greedy,
        };
        let outcomes = match options.decode {
            Decode::Beam(width) => rollout.beam(embeddings, views.iter().map(P::start).collect(), width),
            Decode::Greedy => rollout.construct(embeddings, starts(&views, 1), pick),
            Decode::Sample(count) => rollout.construct(embeddings, starts(&views, count), pick),
            Decode::MultiStart(_) => {
                let count = trajectories(options.decode, nodes - usize::from(P::DEPOT && nodes > 1));
                rollout.construct(embeddings, spread_starts(&views, count), pick)
            }
        };
        check_probabilities::<P>(&outcomes, |b| first + b / options.augment)?;
        Ok(outcomes)
    }

    /// Where the weights are.
    pub(super) fn device(&self) -> Device {
        self.embedding.weight.val().device()
    }
}

/// Refuses rollouts that ended because a probability was not a number; `instance` is the instance of each list.
pub(super) fn check_probabilities<P: Problem>(
    outcomes: &[Vec<Outcome<P::State>>],
    instance: impl Fn(usize) -> usize,
) -> Result<()> {
    for (at, outcomes) in outcomes.iter().enumerate() {
        if let Some(outcome) = outcomes.iter().find(|outcome| outcome.log_probability.is_nan()) {
            let step = P::solution(&outcome.state).len() + 1;
            let place = format!("instance {}, step {step}", instance(at) + 1);
            return Err(Error::NotFinite { place, what: "the probability of the next node".into() });
        }
    }
    Ok(())
}

/// Instances in all views that are asked for, `[instances · views]`.
fn views_of<P: Problem>(problems: &[P], options: &DecodeOptions) -> Vec<P> {
    problems.iter().flat_map(|problem| (0..options.augment).map(|view| problem.view(view))).collect()
}

/// Features of instances of one size, `[instances, nodes, FEATURES]`.
pub(super) fn features<P: Problem>(problems: &[P], device: &Device) -> Tensor<3> {
    let nodes = problems.first().map_or(0, P::nodes);
    let features: Vec<f32> = problems.iter().flat_map(P::features).collect();
    Tensor::from_data(TensorData::new(features, [problems.len(), nodes, P::FEATURES]), device)
}

/// `count` partial solutions of each instance that differ in their first node: spread over those
/// open, as they are numbered, the depot aside (Kwon et al. 2020, §4.1).
pub(super) fn spread_starts<P: Problem>(problems: &[P], count: usize) -> Vec<Vec<P::State>> {
    let mut starts = starts(problems, count);
    for (problem, states) in problems.iter().zip(&mut starts) {
        let mut open = vec![false; problem.nodes()];
        let Some(first) = states.first().filter(|state| !state.done()) else { continue };
        first.allowed(&mut open);
        let nodes = (usize::from(P::DEPOT)..open.len()).filter(|&node| open[node]);
        let mut nodes: Vec<usize> = nodes.collect();
        if nodes.is_empty() {
            nodes.push(0);
        }
        states.iter_mut().enumerate().for_each(|(k, state)| state.step(nodes[k * nodes.len() / count]));
    }
    starts
}

fn starts<P: Problem>(problems: &[P], count: usize) -> Vec<Vec<P::State>> {
    problems.iter().map(|problem| vec![problem.start(); count]).collect()
}

fn trajectories(decode: Decode, nodes: usize) -> usize {
    match decode {
        Decode::Greedy => 1,
        Decode::Sample(count) | Decode::Beam(count) => count,
        Decode::MultiStart(count) => count.unwrap_or(nodes).min(nodes),
    }
}

fn check<P: Problem>(problems: &[P], nodes: usize, options: &DecodeOptions) -> Result<()> {
    if let Some(other) = problems.iter().map(P::nodes).find(|&found| found != nodes) {
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
