//! The paper's sets of the problems with a depot, as its `generate_data.py` draws them.
//!
//! numpy draws one array for the whole set after the other (all depots, then all customers, ...),
//! so the first instances depend on how many there are: the whole set is always drawn, and what
//! lies beyond `limit` is dropped.

use super::{INSTANCES, MOST_POINTS, TEST_SEED};
use crate::random::NumpyLegacy;
use crate::routes::drawn::{
    DrawnCvrp, DrawnOrienteering, DrawnPrizeCollecting, Prizes, behind_depot, capacity, distance_prizes,
    largest_penalty, max_length, rounded, uniform_prize,
};
use crate::{Error, Result};

/// The paper's set of capacitated vehicle routing with `n` customers, also that of split
/// deliveries; with `limit`, only its first instances.
///
/// # Errors
/// [`Error::Invalid`] when `n` is 0 or the whole set would be too large.
///
/// ```
/// let set = regard_data::routes::paper::cvrp_set(20, Some(1))?;
/// assert_eq!((set[0].points[0], set[0].capacity), ([0.19151945, 0.62210877], 30));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn cvrp_set(n: usize, limit: Option<usize>) -> Result<Vec<DrawnCvrp>> {
    let mut set = Set::new("cvrp", n, limit)?;
    let points = set.points();
    let instances = points.iter().map(|points| {
        let demands = (0..n).map(|_| set.below(1, 10));
        DrawnCvrp {
            points: rounded(points),
            demands: std::iter::once(0).chain(demands).collect(),
            capacity: capacity(n),
        }
    });
    Ok(instances.collect())
}

/// The paper's set of orienteering with `n` customers and these prizes; with `limit`, only its
/// first instances.
///
/// # Errors
/// [`Error::Invalid`] when `n` is 0 or the whole set would be too large.
pub fn orienteering_set(prizes: Prizes, n: usize, limit: Option<usize>) -> Result<Vec<DrawnOrienteering>> {
    let mut set = Set::new("op", n, limit)?;
    let points = set.points();
    let instances = points.iter().map(|points| {
        let prizes = match prizes {
            Prizes::Const => vec![1.0; n],
            Prizes::Unif => (0..n).map(|_| uniform_prize(set.below(0, 100))).collect(),
            Prizes::Dist => distance_prizes(points),
        };
        DrawnOrienteering { points: rounded(points), prizes: behind_depot(prizes), max_length: max_length(n) as f32 }
    });
    Ok(instances.collect())
}

/// The paper's set of prize collecting with `n` customers, for the deterministic and the
/// stochastic problem; with `limit`, only its first instances.
///
/// # Errors
/// [`Error::Invalid`] when `n` is 0 or the whole set would be too large.
pub fn prize_collecting_set(n: usize, limit: Option<usize>) -> Result<Vec<DrawnPrizeCollecting>> {
    let mut set = Set::new("pctsp", n, limit)?;
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
        DrawnPrizeCollecting {
            points: rounded(points),
            penalties: behind_depot(penalties[of].iter().map(|u| u * largest_penalty(n))),
            real_prizes: behind_depot(real_prizes),
            prizes: behind_depot(prizes.iter().copied()),
        }
    });
    Ok(instances.collect())
}

/// A set while it is drawn, array by array.
struct Set {
    random: NumpyLegacy,
    n: usize,
    kept: usize,
}

impl Set {
    fn new(name: &str, n: usize, limit: Option<usize>) -> Result<Self> {
        if n == 0 {
            return Err(Error::invalid(format!("paper set `{name}0`"), "needs at least one customer"));
        }
        let most = MOST_POINTS / INSTANCES;
        if n > most {
            let reason = format!("all {INSTANCES} instances are drawn at once, expected at most {most} customers");
            return Err(Error::invalid(format!("paper set `{name}{n}`"), reason));
        }
        let kept = limit.unwrap_or(INSTANCES).min(INSTANCES);
        Ok(Self { random: NumpyLegacy::new(TEST_SEED), n, kept })
    }

    /// The rows that are kept of an array `[INSTANCES, width]`, one after the other.
    fn doubles(&mut self, width: usize) -> Vec<f64> {
        (0..self.kept * width).map(|_| self.random.uniform()).collect()
    }

    /// Draws the rows of an array that are not kept.
    fn pass(&mut self, width: usize) {
        for _ in self.kept * width..INSTANCES * width {
            self.random.uniform();
        }
    }

    /// The points of each instance, the depot first.
    fn points(&mut self) -> Vec<Vec<[f64; 2]>> {
        let depots = self.doubles(2);
        self.pass(2);
        let customers = self.doubles(2 * self.n);
        self.pass(2 * self.n);
        let (depots, customers) = (depots.chunks_exact(2), customers.chunks_exact(2 * self.n));
        let pair = |xy: &[f64]| [xy[0], xy[1]];
        let joined = depots.zip(customers).map(|(depot, rest)| depot.chunks_exact(2).chain(rest.chunks_exact(2)));
        joined.map(|points| points.map(pair).collect()).collect()
    }

    /// `numpy.random.randint(low, high)`, for small bounds that are not negative.
    fn below(&mut self, low: u32, high: u32) -> u32 {
        self.random.randint(low.into(), high.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_keeps_the_first_instances() {
        let whole = cvrp_set(1, None).unwrap();
        assert_eq!(whole.len(), INSTANCES);
        assert_eq!(cvrp_set(1, Some(3)).unwrap(), whole[..3]);
        assert_eq!(cvrp_set(1, Some(20_000)).unwrap().len(), INSTANCES);
        for prizes in Prizes::ALL {
            let two = orienteering_set(prizes, 3, Some(2)).unwrap();
            assert_eq!(orienteering_set(prizes, 3, Some(1)).unwrap(), two[..1]);
        }
        let two = prize_collecting_set(3, Some(2)).unwrap();
        assert_eq!(prize_collecting_set(3, Some(1)).unwrap(), two[..1]);
        assert!(prize_collecting_set(3, Some(0)).unwrap().is_empty());
    }

    #[test]
    fn instances_are_whole() {
        let cvrp = &cvrp_set(10, Some(1)).unwrap()[0];
        assert_eq!((cvrp.points.len(), cvrp.demands.len(), cvrp.demands[0], cvrp.capacity), (11, 11, 0, 20));
        assert!(cvrp.demands[1..].iter().all(|d| (1..10).contains(d)));
        let pctsp = &prize_collecting_set(5, Some(1)).unwrap()[0];
        assert_eq!([&pctsp.penalties, &pctsp.prizes, &pctsp.real_prizes].map(|v| (v.len(), v[0])), [(6, 0.0); 3]);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let error = cvrp_set(0, None).unwrap_err().to_string();
        assert_eq!(error, "paper set `cvrp0`: needs at least one customer");
        let error = prize_collecting_set(1 << 40, Some(1)).unwrap_err().to_string();
        assert!(error.contains("expected at most 13421 customers"), "{error}");
    }
}
