//! Random instances from our own seeded generator.
//!
//! The numbers depend on nothing but the arguments, on every machine: PCG XSL RR 128/64
//! (`rand_pcg::Pcg64`), each instance drawn after the one before. Asking for more instances of
//! the same size appends to the same sequence.

mod points;
mod problems;

pub use points::{Points, tsp};
pub use problems::{cvrp, cvrp_with, orienteering, prize_collecting};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

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

/// What instances are drawn from.
struct Draws {
    random: Pcg64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { random: Pcg64::seed_from_u64(seed) }
    }

    /// A point of the unit square; both coordinates are below 1.
    fn point(&mut self) -> [f32; 2] {
        let mut coordinate = || (self.random.next_u64() >> 40) as f32 / (1u32 << 24) as f32;
        [coordinate(), coordinate()]
    }

    /// A number in [0, 1) with 53 random bits.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number in `0..bound`, uneven by less than 2^-32.
    fn below(&mut self, bound: u32) -> u32 {
        let wide = u128::from(self.random.next_u64()) * u128::from(bound);
        (wide >> 64) as u32
    }

    /// Two independent normal numbers of mean 0 and variance 1, by Marsaglia's polar method.
    fn normal(&mut self) -> [f64; 2] {
        loop {
            let [u, v] = [2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0];
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                // The logarithm of `std` may differ in the last bit from one system to another.
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                return [u * factor, v * factor];
            }
        }
    }
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

    #[test]
    fn whole_numbers_are_even_and_normal_ones_normal() {
        let mut draws = Draws::new(5);
        let mut counts = [0; 10];
        (0..10_000).for_each(|_| counts[draws.below(10) as usize] += 1);
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
        let normal: Vec<f64> = (0..10_000).flat_map(|_| draws.normal()).collect();
        let summary = crate::stats::Summary::of(&normal);
        assert!(summary.mean.abs() < 5.0 * summary.standard_error);
        assert!((summary.standard_deviation - 1.0).abs() < 0.02);
        let within = normal.iter().filter(|v| v.abs() < 1.0).count() as f64 / normal.len() as f64;
        assert!((within - 0.6827).abs() < 0.015, "{within}");
    }
}
