//! The two problems as one: what a node not visited costs, what length costs, and the bounds.

use super::{
    Objective,
    distances::{Distances, Node},
    route::DEPOT,
};

/// Excess over the limit on the length that a network's rounding may cause, relative to the limit.
const LENGTH_SLACK: f64 = 1e-9;

/// Shortfall of the required prize that a network may cause, since it adds prizes in `f32`, relative to what is required:
/// the checker's.
const PRIZE_SLACK: f64 = 1e-6;

/// An objective as the search sees it: minimise `weights of nodes left out + per_length * length`
/// with at most `limit` of length and at least `required` of prize, unless all are visited.
pub(super) struct Terms<'a> {
    /// The prize of each node.
    pub(super) prizes: &'a [f64],
    /// Cost of leaving a node out: its penalty, or its prize.
    pub(super) weights: &'a [f64],
    /// The most length; infinite in prize collecting.
    pub(super) limit: f64,
    /// The least prize; minus infinity in orienteering.
    pub(super) required: f64,
    /// If true, this is the prize-collecting problem.
    pub(super) collecting: bool,
}

/// Sums over a route, always formed anew in visiting order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// From the depot through the visits and back.
    pub(super) length: f64,
    /// Collected, the depot's included.
    pub(super) prize: f64,
    /// Weights of the nodes left out.
    pub(super) missed: f64,
    /// If true, no node is left out.
    pub(super) complete: bool,
}

impl<'a> Terms<'a> {
    /// The terms of an objective.
    pub(super) fn new(objective: &Objective<'a>) -> Self {
        match *objective {
            Objective::MaxPrize { prizes, max_length } => {
                let required = f64::NEG_INFINITY;
                Self { prizes, weights: prizes, limit: max_length, required, collecting: false }
            }
            Objective::RequiredPrize { prizes, penalties, required } => {
                Self { prizes, weights: penalties, limit: f64::INFINITY, required, collecting: true }
            }
        }
    }

    /// The objective as a number to minimise, but for a constant.
    pub(super) fn cost(&self, sums: &Sums) -> f64 {
        if self.collecting { sums.length + sums.missed } else { sums.missed }
    }

    /// The length that a node is worth as a detour: in orienteering any, if it has a prize.
    pub(super) fn worth_in_length(&self, node: Node) -> f64 {
        match self.weight(node) {
            weight if self.collecting => weight,
            weight if weight > 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// The value of a list of visits, see [`super::Problem::value`]; nothing for a list that is none
    /// or breaks a bound.
    pub(super) fn value(&self, distances: &Distances, visits: &[usize]) -> Option<f64> {
        let nodes = distances.len();
        let mut visited = vec![false; nodes];
        let Some(depot) = visited.first_mut() else {
            return visits.is_empty().then_some(0.0);
        };
        *depot = true;
        let mut sums = Sums { prize: self.prize(DEPOT), ..Sums::default() };
        let mut last = DEPOT;
        for &visit in visits {
            if std::mem::replace(visited.get_mut(visit)?, true) {
                return None;
            }
            let node = visit as Node;
            sums.length += distances.of(last, node);
            sums.prize += self.prize(node);
            last = node;
        }
        sums.length += distances.of(last, DEPOT);
        sums.missed = (0..nodes).filter(|&node| !visited[node]).map(|node| self.weights[node]).sum();
        sums.complete = visits.len() + 1 == nodes;
        let value = if self.collecting { sums.length + sums.missed } else { sums.prize };
        self.nearly_keeps(&sums).then_some(value)
    }

    /// If true, the route keeps the bounds exactly.
    pub(super) fn keeps(&self, sums: &Sums) -> bool {
        self.keeps_within(sums, 0.0, 0.0)
    }

    /// If true, the route keeps the bounds up to the rounding of whoever made it.
    pub(super) fn nearly_keeps(&self, sums: &Sums) -> bool {
        self.keeps_within(sums, LENGTH_SLACK * self.limit.abs(), PRIZE_SLACK)
    }

    /// If true, the route passes the limit by at most a `length`, and lacks at most a share `prize` of what is required.
    fn keeps_within(&self, sums: &Sums, length: f64, prize: f64) -> bool {
        let nowhere = sums.length == 0.0;
        (nowhere || !self.limit.is_finite() || sums.length <= self.limit + length)
            && (sums.complete || sums.prize >= self.required * (1.0 - prize))
    }

    /// Cost of leaving a node out.
    #[inline]
    pub(super) fn weight(&self, node: Node) -> f64 {
        self.weights[node as usize]
    }

    /// The prize of a node.
    #[inline]
    pub(super) fn prize(&self, node: Node) -> f64 {
        self.prizes[node as usize]
    }
}
