//! Choice among several solutions of an instance.

use burn::tensor::Tensor;
use rayon::prelude::*;
use regard_nn::Outcome;
use regard_routing::Problem;

use super::{Decode, DecodeOptions, Decoded};
use crate::Result;
use crate::routes::model::AttentionModel;

/// Sampled scenarios on which solutions are compared.
const SCENARIOS: usize = 16;

/// The cost of a solution.
type Cost<'a> = &'a dyn Fn(&[usize]) -> f64;

/// Solutions of an instance in each of its views.
type Views<'a, P> = &'a [Vec<Outcome<<P as Problem>::State>>];

/// The cheapest solution of all views.
pub(super) fn best<P: Problem>(views: Views<'_, P>, cost: Cost<'_>) -> Decoded {
    let outcome = cheapest::<P>(views, cost).and_then(|place| views.iter().flatten().nth(place));
    let Some(outcome) = outcome else { return Decoded { tour: vec![], cost: f64::INFINITY, log_likelihood: 0.0 } };
    let tour = P::solution(&outcome.state);
    Decoded { cost: cost(&tour), tour, log_likelihood: outcome.log_probability }
}

/// The place of the cheapest solution, counted through all views.
fn cheapest<P: Problem>(views: Views<'_, P>, cost: Cost<'_>) -> Option<usize> {
    smallest(views.iter().flatten().map(|outcome| cost(&P::solution(&outcome.state))))
}

/// The place of the smallest number, the first of equals.
fn smallest(numbers: impl Iterator<Item = f64>) -> Option<usize> {
    numbers.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
}

/// The choice for an instance of which some quantities are only revealed on the way.
pub(super) enum Choice {
    /// The policy's rollout at this place, counted through all views, which sees what is revealed.
    Rollout(usize),
    /// A plan and its log-probability: a beam search tries and discards, so only its plan can be executed.
    Plan(Vec<usize>, f32),
}

impl Choice {
    /// The solution that results; `real` are the rollouts on the instance itself.
    pub(super) fn solution<P: Problem>(&self, problem: &P, real: Views<'_, P>, cost: Cost<'_>) -> Decoded {
        let (plan, log_likelihood) = match self {
            Self::Plan(plan, log_likelihood) => (plan.clone(), *log_likelihood),
            Self::Rollout(place) => match real.iter().flatten().nth(*place) {
                Some(outcome) => (P::solution(&outcome.state), outcome.log_probability),
                None => return best::<P>(&[], cost),
            },
        };
        let tour = problem.execute_plan(&plan);
        Decoded { cost: cost(&tour), tour, log_likelihood }
    }
}

impl AttentionModel {
    /// The best choice for each instance by mean cost over scenarios; `None` where everything is known from the start.
    /// Before the first step scenarios look like their instances, whose `embeddings` serve for all.
    ///
    /// # Errors
    /// As [`AttentionModel::decode`].
    pub(super) fn choices<P: Problem>(
        &self,
        embeddings: Tensor<3>,
        problems: &[P],
        nodes: usize,
        options: &DecodeOptions,
        first: usize,
    ) -> Result<Option<Vec<Choice>>> {
        let beam = matches!(options.decode, Decode::Beam(_));
        let count = if beam { 1 } else { SCENARIOS };
        let seed = |b: usize| options.seed.wrapping_add((first + b) as u64 * SCENARIOS as u64);
        let drawn = problems.iter().enumerate().map(|(b, problem)| problem.scenarios(count, seed(b)));
        let Some(scenarios) = drawn.collect::<Option<Vec<Vec<P>>>>() else { return Ok(None) };
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); problems.len()];
        for scenario in 0..count {
            let set: Vec<P> = scenarios.iter().map(|all| all[scenario].clone()).collect();
            let outcomes = self.outcomes(embeddings.clone(), &set, nodes, options, first)?;
            let all = set.par_iter().zip(outcomes.par_chunks(options.augment));
            if beam {
                let plan = |(problem, views): (&P, Views<'_, P>)| {
                    let Decoded { tour, log_likelihood, .. } = best::<P>(views, &|tour| problem.cost(tour));
                    Choice::Plan(tour, log_likelihood)
                };
                return Ok(Some(all.map(plan).collect()));
            }
            sums.par_iter_mut().zip(all).for_each(|(sums, (problem, views))| {
                let cost =
                    |outcome: &Outcome<P::State>| problem.cost(&problem.execute_plan(&P::solution(&outcome.state)));
                let costs = views.iter().flatten().map(cost);
                match sums.is_empty() {
                    true => sums.extend(costs),
                    false => sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost),
                }
            });
        }
        let choice = |sums: Vec<f64>| Choice::Rollout(smallest(sums.into_iter()).unwrap_or(0));
        Ok(Some(sums.into_iter().map(choice).collect()))
    }
}
