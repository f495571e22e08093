//! Problems whose partial solutions are stepped one by one.

use std::marker::PhantomData;

use burn::tensor::Tensor;
use rayon::prelude::*;
use regard_nn::ops::Tours;
use regard_nn::{Outcome, Rollout, State};
use regard_routing::generate::GeneratorConfig;
use regard_routing::{LocalSearchOptions, Problem, ProblemSpec};

use super::{Environment, RolloutOptions, Rollouts, Start, Walk};
use crate::Result;
use crate::routes::model::{Distances, WithDistances};

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

/// Distances of the nodes of a problem, for a decoder that sees them.
fn distances<P: Problem>(rollout: &Rollout<'_>, problem: &P) -> Option<Distances> {
    rollout.distances.then(|| Distances::of(problem))
}

/// The empty solution of a problem.
fn empty<P: Problem>(rollout: &Rollout<'_>, problem: &P) -> WithDistances<P::State> {
    WithDistances::new(problem.start(), distances(rollout, problem))
}

fn starts<P: Problem>(rollout: &Rollout<'_>, problems: &[P], start: Start) -> Vec<Vec<WithDistances<P::State>>> {
    let count = start.trajectories();
    let mut starts: Vec<Vec<WithDistances<P::State>>> =
        problems.par_iter().map(|problem| vec![empty(rollout, problem); count]).collect();
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

fn walks<P: Problem>(outcomes: Vec<Vec<Outcome<WithDistances<P::State>>>>) -> Vec<Vec<Walk>> {
    let walk = |outcome: Outcome<WithDistances<P::State>>| Walk {
        nodes: P::solution(&outcome.state.state),
        log_probability: outcome.log_probability,
    };
    outcomes.into_par_iter().map(|outcomes| outcomes.into_iter().map(walk).collect()).collect()
}

fn numbers(nodes: &[usize]) -> Vec<u32> {
    nodes.iter().map(|&node| node as u32).collect()
}

/// Masks and contexts of solutions `[instances][trajectories]`.
fn recorded<P: Problem>(
    rollout: &Rollout<'_>,
    instances: &[P],
    solutions: Vec<Vec<Vec<u32>>>,
    [nodes, trajectories, forced]: [usize; 3],
) -> Tours {
    if P::EVERY_NODE_ONCE && !rollout.distances {
        let shape = [instances.len(), trajectories, nodes];
        return Tours::new(shape, solutions.into_iter().flatten().flatten().collect(), forced);
    }
    let starts: Vec<_> = instances.par_iter().map(|instance| empty(rollout, instance)).collect();
    Tours::replay(&starts, &solutions, [nodes, P::SCALARS, forced], P::DYNAMIC || rollout.distances)
}

/// A solution as the steps of the policy; `None` where its rules forbid one of them. A step back to the depot at the
/// end is added or left out as they want it.
fn constructed<P: Problem>(problem: &P, solution: &[usize]) -> Option<Vec<usize>> {
    let (mut state, mut open) = (problem.start(), vec![false; problem.nodes()]);
    let mut steps = solution.iter().copied().chain([0]);
    while !state.done() {
        let node = steps.next()?;
        state.allowed(&mut open);
        if !*open.get(node)? {
            return None;
        }
        state.step(node);
    }
    steps.all(|node| node == 0).then(|| P::solution(&state))
}

/// A solution after a descent; itself where nothing better is found that the policy can construct.
fn improved<P: Problem>(problem: &P, solution: Vec<usize>) -> Result<Vec<usize>> {
    let options = LocalSearchOptions { perturbations_per_node: 0, ..LocalSearchOptions::default() };
    let found = problem.local_search(solution.clone(), &options)?;
    let found = constructed(problem, &found).filter(|found| problem.cost(found) < problem.cost(&solution));
    Ok(found.unwrap_or(solution))
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

    fn matrices(&self, instances: &[P]) -> Option<Vec<f32>> {
        instances.iter().any(|one| one.matrix().is_some()).then(|| {
            let of_one = |one: &P| {
                let nodes = one.nodes();
                let far = |at: usize| one.distance(at / nodes, at % nodes) as f32;
                (0..nodes * nodes).map(far).collect::<Vec<f32>>()
            };
            instances.iter().flat_map(of_one).collect()
        })
    }

    fn rollouts(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[P],
        options: RolloutOptions,
    ) -> Result<Rollouts> {
        let nodes = embeddings.dims()[1];
        let RolloutOptions { start, selection, record } = options;
        let walks = walks::<P>(rollout.construct(embeddings, starts(rollout, instances, start), selection));
        let finite = walks.iter().flatten().all(|walk| walk.log_probability.is_finite());
        let tours = record.filter(|_| finite).map(|forced| {
            let nodes_of = |walks: &Vec<Walk>| walks.iter().map(|walk| numbers(&walk.nodes)).collect();
            recorded(rollout, instances, walks.iter().map(nodes_of).collect(), [nodes, start.trajectories(), forced])
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
        Ok(walks::<P>(rollout.beam(
            embeddings,
            instances.iter().map(|instance| empty(rollout, instance)).collect(),
            width,
        )))
    }

    fn costs(&self, instances: &[P], solutions: &[Vec<&[usize]>]) -> Result<Vec<Vec<f64>>> {
        let of = |(problem, solutions): (&P, &Vec<&[usize]>)| solutions.iter().map(|one| problem.cost(one)).collect();
        Ok(instances.par_iter().zip(solutions).map(of).collect())
    }

    fn improve(&self, instances: &[P], solutions: Vec<Vec<Vec<usize>>>) -> Result<Vec<Vec<Vec<usize>>>> {
        let of = |(problem, solutions): (&P, Vec<Vec<usize>>)| {
            solutions.into_iter().map(|solution| improved(problem, solution)).collect()
        };
        instances.par_iter().zip(solutions).map(of).collect()
    }

    fn tours(
        &self,
        rollout: &Rollout<'_>,
        instances: &[P],
        solutions: &[Vec<&[usize]>],
        forced: usize,
    ) -> Result<Tours> {
        let nodes = instances.first().map_or(0, P::nodes);
        let trajectories = solutions.first().map_or(0, Vec::len);
        let solutions = solutions.iter().map(|solutions| solutions.iter().map(|nodes| numbers(nodes)).collect());
        Ok(recorded(rollout, instances, solutions.collect(), [nodes, trajectories, forced]))
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
