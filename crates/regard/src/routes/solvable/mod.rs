//! Instances as files give them, with metrics and rules of their own, and what the network and the
//! search after it make of them.

mod deliveries;
mod selections;

use regard_data::routes::tsp::Tsp;

use super::improve::fleet::{self, Fleet};
use super::improve::{self, ImproveOptions};
use super::problem::Problem;
use super::tsp::TravellingSalesman;
use crate::Result;

pub use deliveries::Split;
pub use selections::Stochastic;
pub(super) use selections::as_shares;

/// An instance of a routing problem in its own metric.
///
/// Solutions are lists of nodes as [`Problem::solution`] gives them: with the depot (node 0)
/// between routes.
pub trait Solvable: Sync {
    /// The problem as the network knows it.
    type Problem: Problem;

    /// What the local search does, in a few words.
    const SEARCH: &'static str;
    /// Whether a prize is sought; costs are negative prizes then.
    const MAXIMISES: bool = false;

    /// The nodes with their names and distances.
    fn sites(&self) -> &Tsp;
    /// The instance in the unit square, where the network sees it.
    fn problem(&self) -> Self::Problem;
    /// Cost in the instance's own metric.
    fn cost(&self, solution: &[usize]) -> f64;
    /// The network's solution made to keep the instance's own rules: distances may be rounded, and
    /// there may be limits that the network does not know. `None` when that fails.
    fn mended(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        self.check(&solution).is_ok().then_some(solution)
    }
    /// A solution without the network, and what made it.
    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        None
    }
    /// Local search from a solution; never gives a worse one.
    fn improve(&self, solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize>;
    /// Whether it is a solution, by an independent checker.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, solution: &[usize]) -> Result<()>;
}

/// Travelling salesmen of more places than this get a tour by construction beside the network's.
const CONSTRUCTED_FROM: usize = 1000;

impl Solvable for Tsp {
    type Problem = TravellingSalesman;

    const SEARCH: &'static str = "2-opt + Or-opt";

    fn sites(&self) -> &Tsp {
        self
    }

    fn problem(&self) -> TravellingSalesman {
        TravellingSalesman::new(self.unit_square())
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        Tsp::cost(self, solution)
    }

    /// Where the network is far from what it has seen: the ways of one vehicle that never fills, one
    /// after another.
    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        if self.len() <= CONSTRUCTED_FROM {
            return None;
        }
        let nothing = vec![0.0; self.len()];
        let ways = fleet::construct(&Fleet::new(self, &nothing, 1.0));
        Some(("savings", std::iter::once(0).chain(ways.into_iter().flatten()).collect()))
    }

    fn improve(&self, mut solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize> {
        improve::improve(self, &mut solution, work);
        solution
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(Tsp::check(self, solution)?)
    }
}
