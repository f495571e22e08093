//! Local search for the travelling salesman: what comes after the network, or instead of it.
//!
//! A tour is improved by exchanges of two or three edges until none gains, then perturbed and repaired.
//! Where there is time, many such tours are made from random greedy ones and recombined by edge
//! assembly crossover (Nagata and Kobayashi, "A powerful genetic algorithm using edge assembly
//! crossover for the traveling salesman problem", INFORMS Journal on Computing 25, 2013). The exchanges hold 2-opt (Croes, "A method for solving traveling-salesman
//! problems", Operations Research 6, 1958) and Or-opt (Or, "Traveling salesman-type combinatorial
//! problems and their relation to the logistics of regional blood banking", PhD thesis, Northwestern
//! University, 1976) as special cases; they are searched as Lin and Kernighan do ("An effective
//! heuristic algorithm for the traveling-salesman problem", Operations Research 21, 1973): only
//! towards near neighbours, only while the length taken out exceeds the length put in, and in chains
//! with an exchange of three edges as the link (Helsgaun, "An effective implementation of the
//! Lin-Kernighan traveling salesman heuristic", European Journal of Operational Research 126, 2000).
//! Nodes where nothing changed are not looked at again (Bentley, "Fast algorithms for geometric
//! traveling salesman problems", ORSA Journal on Computing 4, 1992). Distances that differ by direction
//! are searched as symmetric ones between entrances and exits of the nodes.
//!
//! ```
//! use regard_routing::Sites;
//! use regard_routing::local_search::{LocalSearchOptions, improve};
//!
//! # fn main() -> regard_routing::Result<()> {
//! let square = Sites::euclidean("square", vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])?;
//! let mut tour = vec![0, 1, 2, 3];
//! let improvement = improve(&square, &mut tour, &LocalSearchOptions::default());
//! assert_eq!(tour, [0, 2, 1, 3]);
//! assert_eq!(improvement.after, 4.0);
//! # Ok(())
//! # }
//! ```

mod best_cost;
mod clock;
mod curve;
mod directed;
mod distances;
mod eax;
mod exact;
mod exchange;
mod greedy;
mod nearby;
mod nearest;
mod neighbours;
pub mod orienteering;
mod perturbation;
mod population;
pub mod precedence;
mod queue;
mod quick;
mod search;
#[cfg(test)]
mod tests;
mod tour;
pub mod vrp;

use std::time::Instant;

use self::{
    clock::Clock,
    directed::Entrances,
    distances::Distances,
    neighbours::{Choice, Neighbours},
    population::Run,
};
use crate::{Sites, check};

pub use best_cost::BestCost;
pub(crate) use quick::quick_tour;

/// The width of the neighbour lists.
const NEIGHBOURS: usize = 10;

/// Smaller instances get the perturbations of this many nodes: they cost next to nothing.
const COUNTED_AT_LEAST: usize = 100;

/// The same for vehicle routes, prizes and pickups, whose perturbations cost more. With fewer, the search sometimes misses the
/// optimum of a few customers.
const ROUTES_COUNTED_AT_LEAST: usize = 20;

/// Larger instances get the perturbations of this many nodes: a few seconds in all.
const COUNTED_AT_MOST: usize = 2500;

/// Amount of search, and its seed.
#[derive(Clone, Debug)]
pub struct LocalSearchOptions {
    /// Seed of the perturbations.
    pub seed: u64,
    /// Perturbations per node, 20 unless set. For a single tour, fewer than 100 nodes count as 100 and more than 2,500
    /// as 2,500; for other problems, fewer than 20 count as 20.
    /// They are made on one tour, or their time is spent on a population of tours that are recombined.
    /// The work is bounded by this, so the result depends on nothing but the input. 0 leaves out
    /// both.
    pub perturbations_per_node: usize,
    /// Stops here at the latest if set; a run that meets its deadline depends on the machine.
    pub deadline: Option<Instant>,
    /// Receives the best cost from time to time, for progress reports.
    pub best: BestCost,
}

impl Default for LocalSearchOptions {
    fn default() -> Self {
        Self { seed: 1234, perturbations_per_node: 20, deadline: None, best: BestCost::default() }
    }
}

impl LocalSearchOptions {
    /// Perturbations of an instance of vehicle routes, prizes or pickups with `nodes` nodes.
    pub(crate) fn perturbations_of_routes(&self, nodes: usize) -> usize {
        self.perturbations_per_node.saturating_mul(nodes.max(ROUTES_COUNTED_AT_LEAST))
    }
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// Cost of the tour that was given, in the instance's metric.
    pub before: f64,
    /// Cost of the tour that came out; never more than `before`.
    pub after: f64,
    /// Improving exchanges that were kept; 0 where the shortest tour was found outright.
    pub moves: u64,
}

/// Improves a tour, and leaves it as it is where nothing better is found.
///
/// The first node stays the first. Instances of up to 12 nodes are solved to optimality. The same input, seed and number of perturbations
/// give the same tour everywhere, unless a deadline cuts the search short. `tour` must be a
/// permutation of the nodes; anything else is left untouched, and its costs are NaN.
pub fn improve(instance: &Sites, tour: &mut Vec<usize>, options: &LocalSearchOptions) -> Improvement {
    if check::tour(instance.ids(), tour).is_err() {
        return Improvement { before: f64::NAN, after: f64::NAN, moves: 0 };
    }
    let before = instance.tour_length(tour);
    let (mut better, moves) = if instance.len() <= exact::EXACT_UP_TO {
        (exact::shortest(instance), 0)
    } else {
        search_from(instance, tour, options)
    };
    let start = better.iter().position(|node| tour.first() == Some(node));
    better.rotate_left(start.unwrap_or(0));
    let after = instance.tour_length(&better);
    if after < before && check::tour(instance.ids(), &better).is_ok() {
        *tour = better;
        Improvement { before, after, moves }
    } else {
        Improvement { before, after: before, moves: 0 }
    }
}

/// The tour found and the moves kept, for instances of more than [`exact::EXACT_UP_TO`] nodes.
fn search_from(instance: &Sites, tour: &[usize], options: &LocalSearchOptions) -> (Vec<usize>, u64) {
    let tolerance = rounding(instance, tour);
    match Entrances::of(instance) {
        None => search_symmetric(instance, tour, tolerance, options),
        Some(entrances) => {
            let options = LocalSearchOptions { best: options.best.less(entrances.added()), ..options.clone() };
            let (found, moves) =
                search_symmetric(entrances.sites(), &entrances.with_entrances(tour), tolerance, &options);
            (entrances.without_entrances(&found).unwrap_or_else(|| tour.to_vec()), moves)
        }
    }
}

/// Gains of at most this are the rounding of sums. Distances below zero count as those above: a tour of both may have the
/// length 0, and sums of its distances are rounded all the same.
fn rounding(instance: &Sites, tour: &[usize]) -> f64 {
    let Some((&first, &last)) = tour.first().zip(tour.last()) else { return 0.0 };
    let way = |a: usize, b: usize| instance.distance(a, b).abs();
    let path: f64 = tour.windows(2).map(|pair| way(pair[0], pair[1])).sum();
    1e-9 * (path + way(last, first)) / instance.len() as f64
}

fn search_symmetric(
    instance: &Sites,
    tour: &[usize],
    tolerance: f64,
    options: &LocalSearchOptions,
) -> (Vec<usize>, u64) {
    let mut clock = Clock::new(options.deadline);
    let distances = Distances::new(instance, &mut clock);
    let neighbours = Neighbours::new(instance, &distances, NEIGHBOURS, Choice::Quadrants, &mut clock);
    Run::new(&distances, &neighbours, tolerance, clock, options).search(tour, options)
}
