//! Random instances and the paper's test sets.

use super::CvrpEnv;
use crate::Result;
use crate::generate::{Points, with_depot};
use crate::paper::PaperDraws;
use crate::problem::{Locations, Problem};
use crate::random::Draws;

/// Capacities by customers: 10, 20, 50 and 100 of the paper (after M. Nazari et al.,
/// "Reinforcement learning for solving the vehicle routing problem", 2018), the others as RL4CO
/// has them (after A. Hottung et al., 2022, and M. Kim et al., 2023).
const CAPACITIES: [(usize, u32); 14] = [
    (10, 20),
    (15, 25),
    (20, 30),
    (30, 33),
    (40, 37),
    (50, 40),
    (60, 43),
    (75, 45),
    (100, 50),
    (125, 55),
    (150, 60),
    (200, 70),
    (500, 100),
    (1000, 150),
];

/// Capacity of a vehicle for `n` customers with demands from 1 to 9, in units of goods.
///
/// 20, 30, 40, 50 for 10, 20, 50, 100 customers as in the paper, and RL4CO's capacities for its
/// other sizes up to 1000. Between these sizes it lies on the line, rounded; below 10 customers it
/// stays 20, and above 1000 it grows by 1 with every 10 customers.
#[must_use]
pub fn capacity(n: usize) -> u32 {
    let [(first, least), .., (last, most)] = CAPACITIES;
    if n <= first {
        return least;
    }
    if n >= last {
        return most.saturating_add(u32::try_from((n - last) / 10).unwrap_or(u32::MAX));
    }
    let upper = CAPACITIES.partition_point(|(size, _)| *size < n);
    let [(low, below), (high, above)] = [CAPACITIES[upper - 1], CAPACITIES[upper]];
    let share = (n - low) as f64 / (high - low) as f64;
    (f64::from(below) + share * f64::from(above - below)).round() as u32
}

/// `instances` random instances of `n` customers: the depot uniform in the unit square, the customers distributed as
/// `points`, demands uniform among 1, ..., 9, and the [`capacity`] of that size.
///
/// ```
/// use regard_routing::Problem;
/// use regard_routing::generate::Points;
/// use regard_routing::problems::cvrp::generate::draw;
///
/// let two = draw(Points::Uniform, 7, 2, 20);
/// assert_eq!(two[..1], draw(Points::Uniform, 7, 1, 20));
/// assert_eq!((two[0].nodes(), two[0].demands()[0], two[0].capacity()), (21, 0.0, 30.0));
/// ```
#[must_use]
pub fn draw(points: Points, seed: u64, instances: usize, n: usize) -> Vec<CvrpEnv> {
    let mut draws = Draws::new(seed);
    let mut instance = || {
        let points = with_depot(&mut draws, points, n);
        let demands: Vec<u32> = (0..n).map(|_| 1 + draws.below(9)).collect();
        of_whole(points, demands, capacity(n))
    };
    (0..instances).map(|_| instance()).collect()
}

/// The paper's set of `n` customers, also that of split deliveries; with `limit`, only its first instances.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) when `n` is 0 or the whole set would be too large.
///
/// ```
/// use regard_routing::Problem;
///
/// let set = regard_routing::problems::cvrp::generate::paper_set(20, Some(1))?;
/// assert_eq!((set[0].points()[0], set[0].capacity()), ([0.19151945, 0.62210877], 30.0));
/// # Ok::<(), regard_routing::Error>(())
/// ```
pub fn paper_set(n: usize, limit: Option<usize>) -> Result<Vec<CvrpEnv>> {
    let mut set = PaperDraws::new(CvrpEnv::NAME, n, limit)?;
    let points = set.points();
    let instances = points.iter().map(|points| {
        let demands = (0..n).map(|_| set.below(1, 10)).collect();
        of_whole(crate::generate::rounded(points), demands, capacity(n))
    });
    Ok(instances.collect())
}

/// An instance of whole demands of the customers.
pub(super) fn of_whole(points: impl Into<Locations>, customers: Vec<u32>, capacity: u32) -> CvrpEnv {
    let demands = std::iter::once(0).chain(customers).map(f64::from).collect();
    CvrpEnv::new(points, demands, f64::from(capacity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::INSTANCES;

    use crate::stats;

    #[test]
    fn the_sizes_of_the_paper_have_its_capacities_and_others_lie_between_and_beyond() {
        assert_eq!([10, 20, 50, 100].map(capacity), [20, 30, 40, 50]);
        assert_eq!([0, 1, 12, 350, 1000, 1010, 2000].map(capacity), [20, 20, 22, 85, 150, 151, 250]);
        assert_eq!(capacity(usize::MAX), u32::MAX);
        assert!((1..2000).all(|n| capacity(n) <= capacity(n + 1)));
    }

    #[test]
    fn more_instances_append() {
        let mixture = Points::GaussianMixture { centres: 5, scale: 30 };
        for points in [Points::Uniform, Points::Cluster { centres: 3 }, mixture, Points::Mixed] {
            assert_eq!(draw(points, 3, 5, 7)[..2], draw(points, 3, 2, 7));
        }
        assert!(draw(Points::Uniform, 1, 0, 7).is_empty());
        assert_eq!(draw(Points::Uniform, 1, 1, 0)[0].demands(), [0.0]);
    }

    #[test]
    fn the_numbers_never_change() {
        let instance = &draw(Points::Uniform, 1234, 1, 3)[0];
        assert_eq!(instance.points()[0], [0.341_675_22, 0.312_307_95]);
        assert_eq!(instance.demands(), [0.0, 9.0, 1.0, 6.0]);
    }

    #[test]
    fn demands_have_the_expectation_of_the_paper() {
        let all = draw(Points::Uniform, 2, 200, 20);
        let demands: Vec<f64> = all.iter().flat_map(|instance| instance.demands()[1..].to_vec()).collect();
        assert!((stats::mean(&demands) - 5.0).abs() < 0.2);
    }

    #[test]
    fn a_limit_keeps_the_first_instances_of_the_paper() {
        let whole = paper_set(1, None).unwrap();
        assert_eq!(whole.len(), INSTANCES);
        assert_eq!(paper_set(1, Some(3)).unwrap(), whole[..3]);
        assert_eq!(paper_set(1, Some(20_000)).unwrap().len(), INSTANCES);
        let ten = &paper_set(10, Some(1)).unwrap()[0];
        assert_eq!((ten.nodes(), ten.demands().len(), ten.demands()[0], ten.capacity()), (11, 11, 0.0, 20.0));
        assert!(ten.demands()[1..].iter().all(|demand| (1.0..10.0).contains(demand)));
        let error = paper_set(0, None).unwrap_err().to_string();
        assert_eq!(error, "paper set `cvrp0`: needs at least one customer");
    }
}
