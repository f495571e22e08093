//! An instance of any of the routing problems.

use super::cvrp::{Cvrp, routes_of};
use super::orienteering::Orienteering;
use super::prize_collecting::PrizeCollecting;
use super::tsp::Tsp;
use crate::{Result, stats};

/// An instance of any of the routing problems, as a file gives it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Instance {
    /// The travelling salesman problem.
    Tsp(Tsp),
    /// Vehicle routing, with or without split deliveries.
    Cvrp(Cvrp),
    /// Orienteering.
    Orienteering(Orienteering),
    /// Prize collecting, deterministic or stochastic.
    PrizeCollecting(PrizeCollecting),
}

impl Instance {
    /// The nodes with their distances, ids and name; node 0 is the depot where there is one.
    #[must_use]
    pub fn sites(&self) -> &Tsp {
        match self {
            Self::Tsp(instance) => instance,
            Self::Cvrp(instance) => instance.sites(),
            Self::Orienteering(instance) => instance.sites(),
            Self::PrizeCollecting(instance) => instance.sites(),
        }
    }

    /// Short name of the problem: "tsp", "cvrp", "sdvrp", "op", "pctsp" or "spctsp".
    #[must_use]
    pub fn problem(&self) -> &'static str {
        match self {
            Self::Tsp(_) => "tsp",
            Self::Cvrp(instance) if instance.split() => "sdvrp",
            Self::Cvrp(_) => "cvrp",
            Self::Orienteering(_) => "op",
            Self::PrizeCollecting(instance) if instance.real_prizes().is_some() => "spctsp",
            Self::PrizeCollecting(_) => "pctsp",
        }
    }

    /// The best cost known, for orienteering the highest prize.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.sites().best_known()
    }

    /// The same instance with another best-known cost or prize.
    #[must_use]
    pub fn with_best_known(self, best: Option<f64>) -> Self {
        match self {
            Self::Tsp(instance) => Self::Tsp(instance.with_best_known(best)),
            Self::Cvrp(instance) => Self::Cvrp(instance.with_best_known(best)),
            Self::Orienteering(instance) => Self::Orienteering(instance.with_best_known(best)),
            Self::PrizeCollecting(instance) => Self::PrizeCollecting(instance.with_best_known(best)),
        }
    }

    /// Whether the value of a solution is a prize, the more the better.
    #[must_use]
    pub fn maximises(&self) -> bool {
        matches!(self, Self::Orienteering(_))
    }

    /// What a solution is worth: its cost in the instance's own metric, in orienteering its prize.
    ///
    /// A solution is a list of nodes in the order visited; with a depot, node 0 stands between
    /// routes and may stand at the end.
    ///
    /// # Panics
    /// When a node is not one of the instance's.
    #[must_use]
    pub fn value(&self, solution: &[usize]) -> f64 {
        match self {
            Self::Tsp(instance) => instance.cost(solution),
            Self::Cvrp(instance) => instance.cost(&routes_of(solution)),
            Self::Orienteering(instance) => instance.prize(&visits_of(solution)),
            Self::PrizeCollecting(instance) => instance.cost(&visits_of(solution)),
        }
    }

    /// How much worse a value is than the best known one, as a fraction (0.05 is 5 %).
    #[must_use]
    pub fn gap(&self, value: f64) -> Option<f64> {
        let gap = stats::gap(value, self.best_known()?)?;
        Some(if self.maximises() { -gap } else { gap })
    }

    /// Checks a solution by rules that know nothing of how it was made.
    ///
    /// # Errors
    /// [`Error::Infeasible`](crate::Error::Infeasible) with the first rule that is broken.
    pub fn check(&self, solution: &[usize]) -> Result<()> {
        match self {
            Self::Tsp(instance) => instance.check(solution),
            Self::Cvrp(instance) => instance.check(&routes_of(solution)),
            Self::Orienteering(instance) => instance.check(&visits_of(solution)),
            Self::PrizeCollecting(instance) => instance.check(&visits_of(solution)),
        }
    }

    /// The closed ways of a solution, each with the nodes in order, the depot left out.
    #[must_use]
    pub fn routes(&self, solution: &[usize]) -> Vec<Vec<usize>> {
        match self {
            Self::Tsp(_) => vec![solution.to_vec()],
            _ => routes_of(solution),
        }
    }
}

/// The nodes of a walk that visits some of them, without the depot.
#[must_use]
pub fn visits_of(solution: &[usize]) -> Vec<usize> {
    solution.iter().copied().filter(|&node| node != 0).collect()
}
