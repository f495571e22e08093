//! The problems with a depot, with the distributions of the Attention Model paper.

use super::{Draws, Points};
use crate::routes::drawn::{
    DrawnCvrp, DrawnOrienteering, DrawnPrizeCollecting, Prizes, behind_depot, capacity, distance_prizes,
    largest_penalty, max_length, uniform_prize,
};

/// Capacitated vehicle routing with `n` customers: places uniform in the unit square, demands
/// uniform among 1, ..., 9, and the [`capacity`] of that size.
///
/// ```
/// use regard_data::routes::generate::cvrp;
///
/// let two = cvrp(7, 2, 20);
/// assert_eq!(two[..1], cvrp(7, 1, 20));
/// assert_eq!((two[0].points.len(), two[0].demands[0], two[0].capacity), (21, 0, 30));
/// ```
#[must_use]
pub fn cvrp(seed: u64, instances: usize, n: usize) -> Vec<DrawnCvrp> {
    cvrp_with(Points::Uniform, seed, instances, n)
}

/// [`cvrp`] with the customers distributed as `points`; the depot stays uniform.
#[must_use]
pub fn cvrp_with(points: Points, seed: u64, instances: usize, n: usize) -> Vec<DrawnCvrp> {
    let mut draws = Draws::new(seed);
    let mut instance = || DrawnCvrp {
        points: with_depot(&mut draws, points, n),
        demands: std::iter::once(0).chain((0..n).map(|_| 1 + draws.below(9))).collect(),
        capacity: capacity(n),
    };
    (0..instances).map(|_| instance()).collect()
}

/// Orienteering with `n` customers: places uniform in the unit square, these prizes, and the
/// [`max_length`] of that size.
#[must_use]
pub fn orienteering(seed: u64, instances: usize, n: usize, prizes: Prizes) -> Vec<DrawnOrienteering> {
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
        DrawnOrienteering { points, prizes: behind_depot(prizes), max_length: max_length(n) as f32 }
    };
    (0..instances).map(|_| instance()).collect()
}

/// Prize collecting with `n` customers, for the deterministic and the stochastic problem: places
/// uniform in the unit square, penalties uniform up to the [`largest_penalty`] of that size,
/// prizes uniform up to 4/n, real prizes uniform up to twice those.
#[must_use]
pub fn prize_collecting(seed: u64, instances: usize, n: usize) -> Vec<DrawnPrizeCollecting> {
    let mut draws = Draws::new(seed);
    let mut instance = || {
        let points = with_depot(&mut draws, Points::Uniform, n);
        let penalties: Vec<f64> = (0..n).map(|_| draws.unit() * largest_penalty(n)).collect();
        let prizes: Vec<f64> = (0..n).map(|_| draws.unit() * 4.0 / n as f64).collect();
        let real_prizes: Vec<f64> = prizes.iter().map(|prize| draws.unit() * prize * 2.0).collect();
        DrawnPrizeCollecting {
            points,
            penalties: behind_depot(penalties),
            prizes: behind_depot(prizes),
            real_prizes: behind_depot(real_prizes),
        }
    };
    (0..instances).map(|_| instance()).collect()
}

/// A uniform depot, then `n` customers.
fn with_depot(draws: &mut Draws, points: Points, n: usize) -> Vec<[f32; 2]> {
    let mut all = vec![draws.point()];
    all.extend(points.draw(draws, n));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;

    #[test]
    fn more_instances_append() {
        assert_eq!(cvrp(1, 3, 7)[..2], cvrp(1, 2, 7));
        assert_eq!(prize_collecting(1, 3, 7)[..2], prize_collecting(1, 2, 7));
        for prizes in Prizes::ALL {
            assert_eq!(orienteering(1, 3, 7, prizes)[..2], orienteering(1, 2, 7, prizes));
        }
        assert!(cvrp(1, 0, 7).is_empty());
    }

    #[test]
    fn instances_without_customers_have_a_depot() {
        assert_eq!(cvrp(1, 1, 0)[0].demands, [0]);
        assert_eq!(orienteering(1, 1, 0, Prizes::Dist)[0].prizes, [0.0]);
        assert_eq!(prize_collecting(1, 1, 0)[0].penalties, [0.0]);
    }

    #[test]
    fn the_numbers_never_change() {
        let instance = &cvrp(1234, 1, 3)[0];
        assert_eq!((instance.points[0], &instance.demands[..]), ([0.341_675_22, 0.312_307_95], &[0, 9, 1, 6][..]));
        let prizes = Prizes::ALL.map(|prizes| orienteering(1234, 1, 3, prizes)[0].prizes.clone());
        assert_eq!(prizes, [[0.0, 1.0, 1.0, 1.0], [0.0, 0.93, 0.1, 0.57], [0.0, 0.34, 1.0, 0.8]]);
        let collecting = &prize_collecting(1234, 1, 1)[0];
        assert_eq!(
            [collecting.penalties[1], collecting.prizes[1], collecting.real_prizes[1]],
            [0.970_847_96, 3.572_992, 6.162_628_7]
        );
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        Summary::of(&values.collect::<Vec<_>>()).mean
    }

    #[test]
    fn values_have_the_expectations_of_the_paper() {
        let demands = mean(
            cvrp(2, 200, 20).iter().flat_map(|i| i.demands[1..].iter().map(|d| f64::from(*d)).collect::<Vec<_>>()),
        );
        assert!((demands - 5.0).abs() < 0.2, "{demands}");
        let prizes =
            mean(orienteering(2, 200, 20, Prizes::Unif).iter().flat_map(|i| i.prizes[1..].to_vec()).map(f64::from));
        assert!((prizes - 0.505).abs() < 0.03, "{prizes}");
        let set = prize_collecting(2, 200, 20);
        let sum = |values: fn(&DrawnPrizeCollecting) -> &Vec<f32>| {
            mean(set.iter().map(|i| values(i).iter().copied().map(f64::from).sum()))
        };
        let sums = [sum(|i| &i.penalties), sum(|i| &i.prizes), sum(|i| &i.real_prizes)];
        assert!(
            (sums[0] - 3.0).abs() < 0.15 && (sums[1] - 2.0).abs() < 0.1 && (sums[2] - 2.0).abs() < 0.15,
            "{sums:?}"
        );
        let far = &orienteering(2, 1, 20, Prizes::Dist)[0];
        assert_eq!(far.prizes.iter().copied().fold(0.0, f32::max), 1.0);
        assert!(far.prizes[1..].iter().all(|p| (0.01..=1.0).contains(p)));
    }
}
