//! Search for the problems that choose which nodes to visit: orienteering and the prize-collecting
//! travelling salesman. What comes after the network, or instead of it.
//!
//! A stretch of the route or the surroundings of a node are left out, then nodes are put back
//! greedily by what they are worth for the detour, with some noise ("ruin and recreate": Schrimpf,
//! Schneider, Stamm-Wilbrandt and Dueck, "Record breaking optimization results using the ruin and
//! recreate principle", Journal of Computational Physics 159, 2000; the stretches are those of
//! Christiaens and Vanden Berghe, "Slack induction by string removals for vehicle routing problems",
//! Transportation Science 54, 2020). The route is shortened by 2-opt and Or-opt, what the shortening
//! freed is filled again, and the outcome is kept by simulated annealing. Whatever time there is, a walk
//! to the nearest nodes is made first, and nothing worse comes out. The best choice of a few nodes is found
//! outright, without any search.
//!
//! ```
//! use regard_routing::local_search::orienteering::{Objective, Options, Problem, construct, improve};
//!
//! // A depot and three places on a line, 1, 2 and 9 away; there is time for a way of 5.
//! let at = [0.0_f64, 1.0, 2.0, 9.0];
//! let objective = Objective::MaxPrize { prizes: &[0.0, 3.0, 4.0, 50.0], max_length: 5.0 };
//! let problem = Problem::new(4, |a, b| (at[a] - at[b]).abs(), objective);
//! let found = improve(&problem, construct(&problem), &Options::default());
//! assert_eq!(found.after, 7.0);
//! ```

mod anneal;
mod distances;
mod neighbours;
mod offers;
mod plan;
mod progress;
mod recreate;
mod route;
mod ruin;
mod shorten;
mod terms;
#[cfg(test)]
mod tests;

use std::time::Instant;

use regard_data::cancel::is_cancelled;

use self::{
    distances::{Distances, Node},
    neighbours::Neighbours,
    plan::Plan,
    route::DEPOT,
    terms::{Sums, Terms},
};
use super::{
    clock::Clock,
    exact::{EXACT_UP_TO, Trips},
    nearest::NearestLeft,
};
use crate::{LocalSearchOptions, Sites};

/// The width of the neighbour lists.
const NEIGHBOURS: usize = 16;

/// Gains of less than this share of the value are the rounding of sums in another order.
const ROUNDING: f64 = 1e-12;

/// Data of the problem. Slices have one number per node; node 0 is the depot.
#[derive(Clone, Copy, Debug)]
pub enum Objective<'a> {
    /// Collect as much prize as fits into a length (Golden, Levy and Vohra, "The orienteering
    /// problem", Naval Research Logistics 34, 1987).
    MaxPrize {
        /// The prize of each node; the depot's is always collected.
        prizes: &'a [f64],
        /// The most that the way from the depot through the visits and back may measure.
        max_length: f64,
    },
    /// Minimise the length and the penalties of the nodes left out, but collect enough prize (Balas,
    /// "The prize collecting traveling salesman problem", Networks 19, 1989).
    RequiredPrize {
        /// The prize of each node; the depot's is always collected.
        prizes: &'a [f64],
        /// The penalty of each node for not visiting it; the depot's does not count.
        penalties: &'a [f64],
        /// The prize to collect at least; where it cannot be collected, all nodes are visited.
        required: f64,
    },
}

/// One instance, prepared for searching: distances in a table for up to 3,000 nodes, and the nearest
/// nodes of each node.
pub struct Problem<'a> {
    /// Places of the nodes, where there are any.
    sites: Option<&'a Sites>,
    distances: Distances<'a>,
    neighbours: Neighbours,
    terms: Terms<'a>,
    /// Gains at or below this are rounding, not improvement.
    tolerance: f64,
    deadline: Option<Instant>,
}

/// Amount of search, and its seed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of the random choices.
    pub seed: u64,
    /// Searches until here if set, whatever `iterations` says; such a run depends on the machine.
    pub deadline: Option<Instant>,
    /// Iterations without a deadline; the outcome then depends on nothing but the input. 0 leaves only a descent: nodes
    /// are put in, the route is shortened and nodes that do not pay are left out; where all are visited
    /// ([`precedence`](super::precedence)), each is moved to its best place.
    pub iterations: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1234, deadline: None, iterations: 20_000 }
    }
}

/// Iterations for one perturbation of the travelling salesman's search.
const ITERATIONS_PER_PERTURBATION: usize = 10;

impl Options {
    /// The search of an instance of `nodes` nodes for this much work.
    pub(crate) fn of(nodes: usize, options: &LocalSearchOptions) -> Self {
        let iterations = options.perturbations_of_routes(nodes).saturating_mul(ITERATIONS_PER_PERTURBATION);
        Self { seed: options.seed, deadline: options.deadline, iterations }
    }
}

/// Solution that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Nodes to visit in order, without the depot.
    pub visits: Vec<usize>,
    /// The value of what was given, see [`Problem::value`]; NaN where that breaks a bound.
    pub before: f64,
    /// The value of `visits`, never worse than `before`.
    pub after: f64,
    /// Routes tried; 0 where the best one was found outright.
    pub iterations: u64,
}

impl<'a> Problem<'a> {
    /// Prepares an instance of `nodes` nodes, the depot among them.
    ///
    /// Distances must be symmetric, and all numbers finite and not negative.
    ///
    /// # Panics
    /// When a slice of the objective is not of length `nodes`.
    pub fn new(nodes: usize, distance: impl Fn(usize, usize) -> f64 + Sync + 'a, objective: Objective<'a>) -> Self {
        let clock = &mut Clock::new(None);
        let distances = Distances::new(nodes, Box::new(distance), clock);
        let neighbours = Neighbours::new(&distances, NEIGHBOURS, clock);
        Self::prepared(None, distances, neighbours, objective, None)
    }

    /// Prepares the nodes of an instance, the depot first; after the `deadline` nothing more is prepared, and nothing is
    /// constructed but a walk to the nearest nodes.
    pub(crate) fn of_sites(sites: &'a Sites, objective: Objective<'a>, deadline: Option<Instant>) -> Self {
        let clock = &mut Clock::new(deadline);
        let distances = Distances::new(sites.len(), Box::new(|i, j| sites.distance(i, j)), clock);
        let neighbours = Neighbours::of_sites(sites, NEIGHBOURS, clock);
        Self::prepared(Some(sites), distances, neighbours, objective, deadline)
    }

    fn prepared(
        sites: Option<&'a Sites>,
        distances: Distances<'a>,
        neighbours: Neighbours,
        objective: Objective<'a>,
        deadline: Option<Instant>,
    ) -> Self {
        let nodes = distances.len();
        let terms = Terms::new(&objective);
        assert!(terms.prizes.len() == nodes && terms.weights.len() == nodes, "one prize and penalty per node");
        // Sums of such lengths are off by less than this.
        let farthest = (0..nodes as Node).map(|node| distances.of(0, node).abs()).fold(0.0, f64::max);
        let tolerance = (1e-10 * farthest).max(f64::MIN_POSITIVE);
        Self { sites, distances, neighbours, terms, tolerance, deadline }
    }

    /// All nodes, for a walk to the nearest ones.
    fn all_nodes(&self) -> NearestLeft<'_> {
        let distance = |a: usize, b: usize| self.distances.of(a as Node, b as Node);
        self.sites.map_or_else(|| NearestLeft::by_distance(self.len(), distance), NearestLeft::of_sites)
    }

    /// If true, the deadline has passed, or the search was cancelled.
    fn is_over(&self) -> bool {
        is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The same in a loop over nodes, which has done so many: the clock is read once in [`NODES_PER_LOOK`].
    fn is_over_at(&self, done: usize) -> bool {
        done % NODES_PER_LOOK == NODES_PER_LOOK - 1 && self.is_over()
    }

    /// Number of nodes, the depot among them.
    pub fn len(&self) -> usize {
        self.distances.len()
    }

    /// If true, there is not even a depot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The collected prize in orienteering (more is better), otherwise length and penalties of the
    /// nodes left out (less is better).
    ///
    /// Visits are summed in order, penalties by node number. NaN where `visits` names a node that is
    /// no customer or comes twice, or breaks a bound: the length by more than a billionth, the prize
    /// by more than a millionth.
    pub fn value(&self, visits: &[usize]) -> f64 {
        self.terms.value(&self.distances, visits).unwrap_or(f64::NAN)
    }
}

/// Loops over nodes read the clock once in this many.
const NODES_PER_LOOK: usize = 64;

/// Share of the time that a construction may take; the search needs the rest.
const CONSTRUCTION: f64 = 0.4;

/// The moment until which a construction may prepare and insert, where a whole solution has this deadline.
pub(crate) fn construction_end(deadline: Option<Instant>) -> Option<Instant> {
    let now = Instant::now();
    deadline.and_then(|deadline| now.checked_add(deadline.saturating_duration_since(now).mul_f64(CONSTRUCTION)))
}

/// A greedy start, made short by 2-opt and Or-opt: the best of a few weightings of prize against
/// detour, and of a walk to the nearest nodes.
pub fn construct(problem: &Problem) -> Vec<usize> {
    construct_named(problem).1
}

/// As [`construct`], with the name of how the visits were found.
pub(crate) fn construct_named(problem: &Problem) -> (&'static str, Vec<usize>) {
    if problem.is_empty() {
        return ("insertion", Vec::new());
    }
    let (name, plan) = recreate::greedy(problem);
    (name, plan.visits())
}

/// Searches from the visits given, and returns them where nothing better is found.
///
/// Visits that break a bound are repaired first, so that what comes out always keeps the bounds
/// (an orienteer with no length at all stays at the depot). Instances of up to 12 nodes are solved to optimality. The same
/// input, seed and number of iterations give the same visits everywhere, unless there is a deadline.
pub fn improve(problem: &Problem, visits: Vec<usize>, options: &Options) -> Outcome {
    let before = problem.value(&visits);
    if problem.len() < 2 {
        let visits = if before.is_nan() { Vec::new() } else { visits };
        let after = problem.value(&visits);
        return Outcome { visits, before, after, iterations: 0 };
    }
    let is_descent = options.iterations == 0 && options.deadline.is_none();
    let (found, iterations) = if problem.len() <= EXACT_UP_TO && !is_descent {
        (best_of_few(problem), 0)
    } else {
        let mut start = Plan::of(problem, &visits);
        start.repair(problem);
        if !problem.terms.keeps(&start.sums(problem)) {
            start = Plan::nearest_first(problem);
        }
        let (mut best, iterations) = anneal::anneal(problem, &start, options);
        if is_descent {
            best.descend(problem);
        }
        (best.visits(), iterations)
    };
    let after = problem.value(&found);
    let gain = if problem.terms.collecting { before - after } else { after - before };
    if gain > ROUNDING * before.abs() || before.is_nan() {
        Outcome { visits: found, before, after, iterations }
    } else {
        Outcome { visits, before, after: before, iterations }
    }
}

/// The best visits of a problem of at most [`EXACT_UP_TO`] nodes; of the best in orienteering, the shortest.
fn best_of_few(problem: &Problem) -> Vec<usize> {
    let others = problem.len() - 1;
    let node = |at: usize| if at == others { DEPOT } else { at as Node + 1 };
    let trips = Trips::new(others, |a, b| problem.distances.of(node(a), node(b)));
    let sums = |subset: usize| {
        let (mut prize, mut missed) = (problem.terms.prize(DEPOT), 0.0);
        for at in 0..others {
            match subset >> at & 1 {
                1 => prize += problem.terms.prize(node(at)),
                _ => missed += problem.terms.weight(node(at)),
            }
        }
        Sums { length: trips.length(subset), prize, missed, complete: subset == trips.all() }
    };
    let kept = (0..=trips.all()).map(|subset| (subset, sums(subset))).filter(|(_, sums)| problem.terms.keeps(sums));
    let cost = |sums: &Sums| problem.terms.cost(sums);
    let best = kept.min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)).then(a.length.total_cmp(&b.length)));
    let visits = trips.shortest(best.map_or(0, |(subset, _)| subset));
    visits.into_iter().map(|at| at + 1).collect()
}
