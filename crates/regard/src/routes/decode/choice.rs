//! Choice among several solutions of an instance.

use burn::tensor::Tensor;
use rayon::prelude::*;

use super::{Decode, DecodeOptions, Decoded};
use crate::Result;
use crate::routes::environment::{Environment, Walk};
use crate::routes::model::AttentionModel;

/// Sampled scenarios on which solutions are compared.
const SCENARIOS: usize = 16;

/// The cheapest of the solutions of an instance, the first of equals.
pub(super) fn best(walks: Vec<Walk>, costs: &[f64]) -> Decoded {
    let place = smallest(costs.iter().copied());
    match place.and_then(|place| Some((walks.into_iter().nth(place)?, costs[place]))) {
        Some((walk, cost)) => Decoded { cost, tour: walk.nodes, log_likelihood: walk.log_probability },
        None => Decoded { tour: vec![], cost: f64::INFINITY, log_likelihood: 0.0 },
    }
}

/// The place of the smallest number, the first of equals.
fn smallest(numbers: impl Iterator<Item = f64>) -> Option<usize> {
    numbers.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
}

/// The choice for an instance of which some quantities are only revealed on the way.
pub(super) enum Choice {
    /// The policy's rollout at this place, counted through all views, which sees what is revealed.
    Rollout(usize),
    /// A plan: a beam search tries and discards, so only its plan can be executed.
    Plan(Walk),
}

impl Choice {
    /// The solution that results; `real` are the rollouts on the instance itself. None where there is no rollout.
    pub(super) fn walk<E: Environment>(self, environment: &E, instance: &E::Instance, real: Vec<Walk>) -> Vec<Walk> {
        let plan = match self {
            Self::Plan(plan) => Some(plan),
            Self::Rollout(place) => real.into_iter().nth(place),
        };
        let executed = |plan: Walk| Walk { nodes: environment.execute_plan(instance, &plan.nodes), ..plan };
        plan.map(executed).into_iter().collect()
    }
}

impl AttentionModel {
    /// The best choice for each instance by mean cost over scenarios; `None` where everything is known from the start.
    /// Before the first step scenarios look like their instances, whose `embeddings` serve for all.
    ///
    /// # Errors
    /// As [`AttentionModel::decode_in`].
    pub(super) fn choices<E: Environment>(
        &self,
        environment: &E,
        embeddings: Tensor<3>,
        instances: &[E::Instance],
        nodes: usize,
        options: &DecodeOptions,
        first: usize,
    ) -> Result<Option<Vec<Choice>>> {
        let beam = matches!(options.decode, Decode::Beam(_));
        let count = if beam { 1 } else { SCENARIOS };
        let seed = |b: usize| options.seed.wrapping_add((first + b) as u64 * SCENARIOS as u64);
        let drawn = instances.iter().enumerate().map(|(b, one)| environment.scenarios(one, count, seed(b)));
        let Some(scenarios) = drawn.collect::<Option<Vec<Vec<E::Instance>>>>() else { return Ok(None) };
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); instances.len()];
        for scenario in 0..count {
            let set: Vec<E::Instance> = scenarios.iter().map(|all| all[scenario].clone()).collect();
            let views = environment.views(&set, options.augment)?;
            let walks = self.walks(environment, embeddings.clone(), &views, nodes, options, first)?;
            if beam {
                let costs = environment.costs_of(&set, &walks)?;
                let plan = |(walks, costs): (Vec<Walk>, Vec<f64>)| {
                    let found = best(walks, &costs);
                    Choice::Plan(Walk { nodes: found.tour, log_probability: found.log_likelihood })
                };
                return Ok(Some(walks.into_iter().zip(costs).map(plan).collect()));
            }
            let executed = |(one, walks): (&E::Instance, &Vec<Walk>)| -> Vec<Walk> {
                let execute = |walk: &Walk| {
                    let nodes = environment.execute_plan(one, &walk.nodes);
                    Walk { nodes, log_probability: walk.log_probability }
                };
                walks.iter().map(execute).collect()
            };
            let executed: Vec<Vec<Walk>> = set.par_iter().zip(&walks).map(executed).collect();
            let costs = environment.costs_of(&set, &executed)?;
            for (sums, costs) in sums.iter_mut().zip(costs) {
                match sums.is_empty() {
                    true => *sums = costs,
                    false => sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost),
                }
            }
        }
        let choice = |sums: Vec<f64>| Choice::Rollout(smallest(sums.into_iter()).unwrap_or(0));
        Ok(Some(sums.into_iter().map(choice).collect()))
    }
}
