//! Problems whose partial solutions are stepped one by one.

use std::marker::PhantomData;

use burn::tensor::Tensor;
use rayon::prelude::*;
use regard_nn::ops::Tours;
use regard_nn::{Outcome, Rollout, State};
use regard_routing::generate::GeneratorConfig;
use regard_routing::{Problem, ProblemSpec};

use super::{Environment, RolloutOptions, Rollouts, Start, Walk};
use crate::Result;

/// The environment of problem `P`: an instance is a `P`.
#[derive(Debug)]
pub struct ProblemEnvironment<P> {
    single_precision: bool,
    problem: PhantomData<fn() -> P>,
}

impl<P> Default for ProblemEnvironment<P> {
    fn default() -> Self {
        Self { single_precision: false, problem: PhantomData }
    }
}

impl<P> Clone for ProblemEnvironment<P> {
    fn clone(&self) -> Self {
        Self { single_precision: self.single_precision, problem: PhantomData }
    }
}

impl<P> ProblemEnvironment<P> {
    /// The environment whose rules are computed in single precision if the flag is true.
    pub fn with_precision(single_precision: bool) -> Self {
        Self { single_precision, problem: PhantomData }
    }
}

fn starts<P: Problem>(problems: &[P], start: Start) -> Vec<Vec<P::State>> {
    let count = start.trajectories();
    let mut starts: Vec<Vec<P::State>> = problems.iter().map(|problem| vec![problem.start(); count]).collect();
    if let Start::Spread(_) = start {
        for (problem, states) in problems.iter().zip(&mut starts) {
            let mut open = vec![false; problem.nodes()];
            let Some(first) = states.first().filter(|state| !state.done()) else { continue };
            first.allowed(&mut open);
            let nodes = spread(&open, P::DEPOT);
            states.iter_mut().enumerate().for_each(|(k, state)| state.step(nodes[k * nodes.len() / count]));
        }
    }
    starts
}

/// The open nodes over which first nodes are spread, a depot aside unless it alone is open.
pub(super) fn spread(open: &[bool], depot: bool) -> Vec<usize> {
    let nodes: Vec<usize> = (usize::from(depot)..open.len()).filter(|&node| open[node]).collect();
    if nodes.is_empty() { vec![0] } else { nodes }
}

fn walks<P: Problem>(outcomes: Vec<Vec<Outcome<P::State>>>) -> Vec<Vec<Walk>> {
    let walk = |outcome: Outcome<P::State>| Walk {
        nodes: P::solution(&outcome.state),
        log_probability: outcome.log_probability,
    };
    outcomes.into_par_iter().map(|outcomes| outcomes.into_iter().map(walk).collect()).collect()
}

impl<P: Problem> Environment for ProblemEnvironment<P> {
    type Instance = P;

    fn spec(&self) -> &'static ProblemSpec {
        const { &ProblemSpec::of::<P>() }
    }

    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Vec<P>> {
        Ok(P::draw(config, seed, count, size))
    }

    fn nodes(&self, instance: &P) -> usize {
        instance.nodes()
    }

    fn views(&self, instances: &[P], views: usize) -> Result<Vec<P>> {
        Ok(instances.iter().flat_map(|problem| (0..views).map(|view| problem.view(view))).collect())
    }

    fn features(&self, instances: &[P]) -> Result<Vec<f32>> {
        Ok(instances.iter().flat_map(P::features).collect())
    }

    fn rollouts(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[P],
        options: RolloutOptions,
    ) -> Result<Rollouts> {
        let [batch, nodes, _] = embeddings.dims();
        let RolloutOptions { start, selection, record } = options;
        let walks = walks::<P>(rollout.construct(embeddings, starts(instances, start), selection));
        let finite = walks.iter().flatten().all(|walk| walk.log_probability.is_finite());
        let tours = record.filter(|_| finite).map(|forced| {
            let walk = |walk: &Walk| walk.nodes.iter().map(|&node| node as u32).collect::<Vec<u32>>();
            if P::EVERY_NODE_ONCE {
                let shape = [batch, start.trajectories(), nodes];
                return Tours::new(shape, walks.iter().flatten().flat_map(walk).collect(), forced);
            }
            let starts: Vec<P::State> = instances.iter().map(P::start).collect();
            let walks: Vec<Vec<Vec<u32>>> = walks.iter().map(|walks| walks.iter().map(walk).collect()).collect();
            Tours::replay(&starts, &walks, [nodes, P::SCALARS, forced], P::DYNAMIC)
        });
        Ok(Rollouts { walks, tours })
    }

    fn beam(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[P],
        width: usize,
    ) -> Result<Vec<Vec<Walk>>> {
        Ok(walks::<P>(rollout.beam(embeddings, instances.iter().map(P::start).collect(), width)))
    }

    fn costs(&self, instances: &[P], solutions: &[Vec<&[usize]>]) -> Result<Vec<Vec<f64>>> {
        let of = |(problem, solutions): (&P, &Vec<&[usize]>)| solutions.iter().map(|one| problem.cost(one)).collect();
        Ok(instances.par_iter().zip(solutions).map(of).collect())
    }

    fn subset(&self, instance: &P, nodes: &[usize]) -> Option<P> {
        instance.subset(nodes)
    }

    fn as_preset(&self, instance: P) -> P {
        if self.single_precision { instance.in_single_precision() } else { instance }
    }

    fn scenarios(&self, instance: &P, count: usize, seed: u64) -> Option<Vec<P>> {
        instance.scenarios(count, seed)
    }

    fn execute_plan(&self, instance: &P, plan: &[usize]) -> Vec<usize> {
        instance.execute_plan(plan)
    }
}
