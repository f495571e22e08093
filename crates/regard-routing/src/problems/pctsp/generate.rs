//! Random instances and the paper's test sets.

use crate::Result;
use crate::generate::{Points, behind_depot, rounded, with_depot};
use crate::paper::PaperDraws;
use crate::problem::{Locations, Problem};
use crate::problems::op::generate::max_length;
use crate::random::Draws;

/// Numbers of an instance in single precision, for the deterministic and the stochastic problem; prizes of 1 in all
/// are required.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// Places in the unit square, `[nodes, 2]`, the depot first.
    pub points: Locations,
    /// Penalties for leaving a node out, `[nodes]`; the depot's is 0.
    pub penalties: Vec<f32>,
    /// Prizes, `[nodes]`, in the stochastic problem their expectations; the depot's is 0.
    pub prizes: Vec<f32>,
    /// Prizes of the stochastic problem as they are revealed on arrival, `[nodes]`; the depot's is 0.
    pub real_prizes: Vec<f32>,
}

/// The largest penalty of prize collecting among `n` customers: three times
/// [`max_length`] over `n`, so that all penalties together come to about a tour's length.
#[must_use]
pub fn largest_penalty(n: usize) -> f64 {
    max_length(n) * 3.0 / n as f64
}

/// `instances` random instances of `n` customers: places uniform in the unit square, penalties uniform up to the
/// [`largest_penalty`] of that size, prizes uniform up to 4/n, real prizes uniform up to twice those.
#[must_use]
pub fn draw(seed: u64, instances: usize, n: usize) -> Vec<Values> {
    let mut draws = Draws::new(seed);
    let mut instance = || {
        let points = with_depot(&mut draws, Points::Uniform, n);
        let penalties: Vec<f64> = (0..n).map(|_| draws.unit() * largest_penalty(n)).collect();
        let prizes: Vec<f64> = (0..n).map(|_| draws.unit() * 4.0 / n as f64).collect();
        let real_prizes: Vec<f64> = prizes.iter().map(|prize| draws.unit() * prize * 2.0).collect();
        Values {
            points,
            penalties: behind_depot(penalties),
            prizes: behind_depot(prizes),
            real_prizes: behind_depot(real_prizes),
        }
    };
    (0..instances).map(|_| instance()).collect()
}

/// The paper's set of `n` customers, for the deterministic and the stochastic problem; with `limit`, only its first
/// instances.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) when `n` is 0 or the whole set would be too large.
pub fn paper_set(n: usize, limit: Option<usize>) -> Result<Vec<Values>> {
    let mut set = PaperDraws::new(super::PctspEnv::NAME, n, limit)?;
    let points = set.points();
    let penalties = set.doubles(n);
    set.pass(n);
    let prizes = set.doubles(n);
    set.pass(n);
    let real = set.doubles(n);
    let instances = points.iter().enumerate().map(|(at, points)| {
        let of = at * n..(at + 1) * n;
        // In numpy's order of operations: `u * 4 / n`, and then `u * prize * 2`.
        let prizes: Vec<f64> = prizes[of.clone()].iter().map(|u| u * 4.0 / n as f64).collect();
        let real_prizes = real[of.clone()].iter().zip(&prizes).map(|(u, prize)| u * prize * 2.0);
        Values {
            points: rounded(points).into(),
            penalties: behind_depot(penalties[of].iter().map(|u| u * largest_penalty(n))),
            real_prizes: behind_depot(real_prizes),
            prizes: behind_depot(prizes.iter().copied()),
        }
    });
    Ok(instances.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats;

    #[test]
    fn the_sizes_of_the_paper_have_its_penalties() {
        assert_eq!([20, 50, 100].map(largest_penalty), [6.0 / 20.0, 9.0 / 50.0, 12.0 / 100.0]);
    }

    #[test]
    fn more_instances_append_and_the_numbers_never_change() {
        assert_eq!(draw(1, 3, 7)[..2], draw(1, 2, 7));
        assert_eq!(draw(1, 1, 0)[0].penalties, [0.0]);
        let one = &draw(1234, 1, 1)[0];
        let numbers = [one.penalties[1], one.prizes[1], one.real_prizes[1]];
        assert_eq!(numbers, [0.970_847_96, 3.572_992, 6.162_628_7]);
    }

    #[test]
    fn values_have_the_expectations_of_the_paper() {
        let set = draw(2, 200, 20);
        let mean_sum = |values: fn(&Values) -> &Vec<f32>| {
            let sums = set.iter().map(|instance| values(instance).iter().copied().map(f64::from).sum::<f64>());
            stats::mean(&sums.collect::<Vec<_>>())
        };
        let sums = [mean_sum(|i| &i.penalties), mean_sum(|i| &i.prizes), mean_sum(|i| &i.real_prizes)];
        let off = [sums[0] - 3.0, sums[1] - 2.0, sums[2] - 2.0].map(f64::abs);
        assert!(off[0] < 0.15 && off[1] < 0.1 && off[2] < 0.15, "{sums:?}");
    }

    #[test]
    fn a_limit_keeps_the_first_instances_of_the_paper() {
        let two = paper_set(3, Some(2)).unwrap();
        assert_eq!(paper_set(3, Some(1)).unwrap(), two[..1]);
        assert!(paper_set(3, Some(0)).unwrap().is_empty());
        let five = &paper_set(5, Some(1)).unwrap()[0];
        assert_eq!([&five.penalties, &five.prizes, &five.real_prizes].map(|v| (v.len(), v[0])), [(6, 0.0); 3]);
        let error = paper_set(1 << 40, Some(1)).unwrap_err().to_string();
        assert!(error.contains("expected at most 13421 customers"), "{error}");
    }
}
