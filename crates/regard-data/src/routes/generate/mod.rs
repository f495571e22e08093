//! Random instances from our own seeded generator.
//!
//! The numbers depend on nothing but the arguments, on every machine: PCG XSL RR 128/64
//! (`rand_pcg::Pcg64`), each instance drawn after the one before. Asking for more instances of
//! the same size appends to the same sequence.

mod points;
mod problems;

pub use points::{Points, tsp};
pub use problems::{cvrp, cvrp_with, orienteering, prize_collecting};

use crate::random::Draws;

/// `instances` times `n` points, uniform in the unit square: `[instances, n, 2]`.
///
/// x before y, each the upper 24 bits of a draw over 2^24.
///
/// ```
/// use regard_data::routes::generate::uniform;
///
/// let two = uniform(7, 2, 5);
/// assert_eq!(two[..1], uniform(7, 1, 5));
/// assert!(two.iter().flatten().flatten().all(|v| (0.0..1.0).contains(v)));
/// ```
#[must_use]
pub fn uniform(seed: u64, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    let mut draws = Draws::new(seed);
    (0..instances).map(|_| (0..n).map(|_| draws.point()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sets_and_instances() {
        assert!(uniform(1, 0, 5).is_empty());
        assert_eq!(uniform(1, 2, 0), [[], []] as [[[f32; 2]; 0]; 2]);
    }

    #[test]
    fn the_numbers_never_change() {
        let expected = [[0.341_675_22, 0.312_307_95], [0.495_216_73, 0.129_494_37]];
        assert_eq!(uniform(1234, 1, 2), [expected]);
    }

    #[test]
    fn points_fill_the_square() {
        let points: Vec<f64> = uniform(3, 50, 100).iter().flatten().flatten().map(|v| f64::from(*v)).collect();
        let summary = crate::stats::Summary::of(&points);
        assert!((summary.mean - 0.5).abs() < 5.0 * summary.standard_error);
        assert!((summary.standard_deviation - (1.0f64 / 12.0).sqrt()).abs() < 0.01);
    }
}
