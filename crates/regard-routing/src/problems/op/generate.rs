//! Random instances and the paper's test sets.

use super::OpEnv;
use crate::Result;
use crate::generate::{Points, Prizes, behind_depot, rounded, with_depot};
use crate::paper::{PaperDraws, PaperSet};
use crate::problem::{Locations, Problem};
use crate::random::Draws;

/// Longest tours by customers, as in the paper.
const LENGTHS: [(usize, f64); 3] = [(20, 2.0), (50, 3.0), (100, 4.0)];

/// Length of the longest tour of orienteering among `n` customers in the unit square, about half
/// an optimal tour through all of them.
///
/// 2, 3, 4 for 20, 50, 100 customers as in the paper, on the line between these sizes, and with
/// the square root of `n` outside them, as optimal tours grow (J. Beardwood, J. H. Halton,
/// J. M. Hammersley, "The shortest path through many points", 1959).
#[must_use]
pub fn max_length(n: usize) -> f64 {
    let [(first, least), .., (last, most)] = LENGTHS;
    let grown = |length: f64, size: usize| length * (n as f64 / size as f64).sqrt();
    if n <= first {
        return grown(least, first);
    }
    if n >= last {
        return grown(most, last);
    }
    let upper = LENGTHS.partition_point(|(size, _)| *size < n);
    let [(low, below), (high, above)] = [LENGTHS[upper - 1], LENGTHS[upper]];
    below + (above - below) * ((n - low) as f64 / (high - low) as f64)
}

/// `instances` random instances of `n` customers: places uniform in the unit square, these prizes, and the
/// [`max_length`] of that size.
#[must_use]
pub fn draw(seed: u64, instances: usize, n: usize, prizes: Prizes) -> Vec<OpEnv> {
    let mut draws = Draws::new(seed);
    let mut instance = || {
        let points = with_depot(&mut draws, Points::Uniform, n);
        let prizes = match prizes {
            Prizes::Const => vec![1.0; n],
            Prizes::Unif => (0..n).map(|_| uniform_prize(draws.below(100))).collect(),
            Prizes::Dist => {
                let exact: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::from)).collect();
                distance_prizes(&exact)
            }
        };
        of_single(points, &behind_depot(prizes), max_length(n) as f32)
    };
    (0..instances).map(|_| instance()).collect()
}

/// The paper's set of `n` customers with these prizes; with `limit`, only its first instances.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) when `n` is 0 or the whole set would be too large.
pub fn paper_set(prizes: Prizes, n: usize, limit: Option<usize>) -> Result<Vec<OpEnv>> {
    let mut set = PaperDraws::new(OpEnv::NAME, n, limit)?;
    let points = set.points();
    let instances = points.iter().map(|points| {
        let prizes = match prizes {
            Prizes::Const => vec![1.0; n],
            Prizes::Unif => (0..n).map(|_| uniform_prize(set.below(0, 100))).collect(),
            Prizes::Dist => distance_prizes(points),
        };
        of_single(rounded(points), &behind_depot(prizes), max_length(n) as f32)
    });
    Ok(instances.collect())
}

/// The prizes that the name of a set ends in: "dist" of "op_dist".
pub(super) fn prizes_of(set: &PaperSet) -> Result<Prizes> {
    Prizes::parse(set.stem().strip_prefix("op_").unwrap_or_default())
}

/// An instance of numbers in single precision.
pub(super) fn of_single(points: impl Into<Locations>, prizes: &[f32], max_length: f32) -> OpEnv {
    OpEnv::new(points, prizes.iter().copied().map(f64::from).collect(), f64::from(max_length))
}

/// One prize of [`Prizes::Unif`] for a number drawn from `0..100`.
fn uniform_prize(drawn: u32) -> f64 {
    f64::from(1 + drawn) / 100.0
}

/// The prizes of [`Prizes::Dist`] for the customers of `points`, the depot first.
///
/// In double precision and in numpy's order of operations, so that the paper's sets come out bit
/// for bit; customers that all lie at the depot have the least prize.
fn distance_prizes(points: &[[f64; 2]]) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats;

    #[test]
    fn lengths_are_those_of_the_paper_and_grow_between() {
        assert_eq!([20, 50, 100].map(max_length), [2.0, 3.0, 4.0]);
        assert_eq!([5, 35, 75, 400].map(max_length), [1.0, 2.5, 3.5, 8.0]);
        assert!((1..2000).all(|n| max_length(n) < max_length(n + 1)));
    }

    #[test]
    fn prizes_grow_with_the_distance() {
        let points = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.0]];
        assert_eq!(distance_prizes(&points), [1.0, 0.5, 0.01]);
        assert_eq!(distance_prizes(&[[0.5, 0.5], [0.5, 0.5]]), [0.01]);
        assert!(distance_prizes(&[]).is_empty() && distance_prizes(&[[0.0, 0.0]]).is_empty());
    }

    #[test]
    fn more_instances_append_and_the_numbers_never_change() {
        for prizes in Prizes::ALL {
            assert_eq!(draw(1, 3, 7, prizes)[..2], draw(1, 2, 7, prizes));
            let two = paper_set(prizes, 3, Some(2)).unwrap();
            assert_eq!(paper_set(prizes, 3, Some(1)).unwrap(), two[..1]);
        }
        assert_eq!(draw(1, 1, 0, Prizes::Dist)[0].prizes(), [0.0]);
        let prizes = Prizes::ALL.map(|prizes| draw(1234, 1, 3, prizes)[0].prizes().to_vec());
        let expected = [[0.0f32, 1.0, 1.0, 1.0], [0.0, 0.93, 0.1, 0.57], [0.0, 0.34, 1.0, 0.8]];
        assert_eq!(prizes, expected.map(|prizes| prizes.map(f64::from)));
    }

    #[test]
    fn prizes_have_the_expectation_of_the_paper() {
        let all = draw(2, 200, 20, Prizes::Unif);
        let prizes: Vec<f64> = all.iter().flat_map(|instance| instance.prizes()[1..].to_vec()).collect();
        assert!((stats::mean(&prizes) - 0.505).abs() < 0.03);
        let far = &draw(2, 1, 20, Prizes::Dist)[0];
        assert_eq!(far.prizes().iter().copied().fold(0.0, f64::max), 1.0);
        assert!(far.prizes()[1..].iter().all(|prize| (f64::from(0.01f32)..=1.0).contains(prize)));
    }
}
