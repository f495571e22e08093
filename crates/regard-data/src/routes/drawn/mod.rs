//! Random instances of the Attention Model's problems as the networks see them: points in the unit
//! square, single precision, the depot at index 0.
//!
//! [`super::paper`] draws the paper's test sets, [`super::generate`] our own, and
//! [`super::formats::kool`] reads sets from files.

mod sizes;

pub use sizes::{capacity, largest_penalty, max_length};

use crate::{Error, Result};

/// A capacitated vehicle routing instance, with undivided or with split deliveries.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnCvrp {
    /// Places in the unit square, `[nodes, 2]`, the depot first.
    pub points: Vec<[f32; 2]>,
    /// Demands, `[nodes]`, in units of goods; the depot's is 0.
    pub demands: Vec<u32>,
    /// What a vehicle holds, in units of goods.
    pub capacity: u32,
}

/// An orienteering instance: collect prizes on a tour from the depot of limited length.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnOrienteering {
    /// Places in the unit square, `[nodes, 2]`, the depot first.
    pub points: Vec<[f32; 2]>,
    /// Prizes, `[nodes]`; the depot's is 0.
    pub prizes: Vec<f32>,
    /// Length of the longest tour allowed.
    pub max_length: f32,
}

/// A prize-collecting instance, deterministic or stochastic: a tour from the depot that collects
/// prizes of at least [`REQUIRED`](Self::REQUIRED) and pays a penalty for every node left out.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnPrizeCollecting {
    /// Places in the unit square, `[nodes, 2]`, the depot first.
    pub points: Vec<[f32; 2]>,
    /// Penalties for leaving a node out, `[nodes]`; the depot's is 0.
    pub penalties: Vec<f32>,
    /// Prizes, `[nodes]`, in the stochastic problem their expectations; the depot's is 0.
    pub prizes: Vec<f32>,
    /// Prizes of the stochastic problem as they turn out on arrival, `[nodes]`; the depot's is 0.
    pub real_prizes: Vec<f32>,
}

impl DrawnPrizeCollecting {
    /// The sum of prizes a tour has to collect, unless it visits every node.
    pub const REQUIRED: f32 = 1.0;
}

/// How the prizes of orienteering are drawn (after M. Fischetti, J. J. Salazar González, P. Toth,
/// "Solving the orienteering problem through branch-and-cut", 1998).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prizes {
    /// Every prize is 1.
    Const,
    /// Uniform among 0.01, 0.02, ..., 1.
    Unif,
    /// From 0.01 to 1 with the distance to the depot.
    Dist,
}

impl Prizes {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 3] = [Self::Const, Self::Unif, Self::Dist];

    /// Name in the paper's files: "const", "unif", "dist".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Unif => "unif",
            Self::Dist => "dist",
        }
    }

    /// The prizes of that name.
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the names.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|prizes| prizes.name() == name).ok_or_else(|| {
            let reason = "no such prizes; expected `const`, `unif` or `dist`";
            Error::invalid(format!("prizes `{name}`"), reason)
        })
    }
}

/// One prize of [`Prizes::Unif`] for a number drawn from `0..100`.
pub(super) fn uniform_prize(drawn: u32) -> f64 {
    f64::from(1 + drawn) / 100.0
}

/// The prizes of [`Prizes::Dist`] for the customers of `points`, the depot first.
///
/// In double precision and in numpy's order of operations, so that the paper's sets come out bit
/// for bit; customers that all lie at the depot have the least prize.
pub(super) fn distance_prizes(points: &[[f64; 2]]) -> Vec<f64> {
    let Some((depot, customers)) = points.split_first() else {
        return Vec::new();
    };
    let distance = |point: &[f64; 2]| {
        let [dx, dy] = [depot[0] - point[0], depot[1] - point[1]];
        (dx * dx + dy * dy).sqrt()
    };
    let distances: Vec<f64> = customers.iter().map(distance).collect();
    let farthest = distances.iter().copied().fold(0.0, f64::max);
    let share = |d: f64| if farthest > 0.0 { d / farthest } else { 0.0 };
    distances.into_iter().map(|d| (1.0 + (share(d) * 99.0).trunc()) / 100.0).collect()
}

/// Values of customers as an instance holds them: single precision, the depot's 0 in front.
pub(super) fn behind_depot(customers: impl IntoIterator<Item = f64>) -> Vec<f32> {
    std::iter::once(0.0).chain(customers).map(|value| value as f32).collect()
}

/// Points rounded to single precision.
pub(super) fn rounded(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    points.iter().map(|point| point.map(|v| v as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prizes_grow_with_the_distance() {
        let points = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.0]];
        assert_eq!(distance_prizes(&points), [1.0, 0.5, 0.01]);
        assert_eq!(distance_prizes(&[[0.5, 0.5], [0.5, 0.5]]), [0.01]);
        assert!(distance_prizes(&[]).is_empty() && distance_prizes(&[[0.0, 0.0]]).is_empty());
    }

    #[test]
    fn prizes_have_names() {
        for prizes in Prizes::ALL {
            assert_eq!(Prizes::parse(prizes.name()).unwrap(), prizes);
        }
        assert!(Prizes::parse("Dist").unwrap_err().to_string().contains("expected `const`"));
    }
}
