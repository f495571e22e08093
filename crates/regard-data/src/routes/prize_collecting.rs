//! Prize collecting (PCTSP): collect enough, pay for what is left out, and stay short; the prizes
//! collected may differ from those expected (SPCTSP).

use super::tsp::Tsp;
use super::{check, depot};
use crate::{Error, Result};

/// How much of the required prize may be missing: prizes are often drawn as `f32`.
const TOLERANCE: f64 = 1e-6;

/// A prize-collecting instance: the tour starts and ends at the depot (node 0) and visits customers
/// until it has collected `required`; each one left out costs its penalty.
///
/// ```
/// use regard_data::routes::{prize_collecting::PrizeCollecting, tsp::Tsp};
///
/// let sites = Tsp::euclidean("three", vec![[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])?;
/// let instance = PrizeCollecting::new(sites, vec![0.0, 3.0, 5.0], vec![0.0, 1.0, 2.0], 3.0)?;
/// instance.check(&[1])?;
/// assert_eq!(instance.cost(&[1]), 4.0);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrizeCollecting {
    sites: Tsp,
    prizes: Vec<f64>,
    real_prizes: Option<Vec<f64>>,
    penalties: Vec<f64>,
    required: f64,
}

impl PrizeCollecting {
    /// Instance with `prizes` and `penalties` `[nodes]`, both 0 for the depot; penalties are in
    /// the unit of distances.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the counts differ, a number is negative or not finite, or the depot
    /// has a prize or a penalty.
    pub fn new(sites: Tsp, prizes: Vec<f64>, penalties: Vec<f64>, required: f64) -> Result<Self> {
        if required != 0.0 {
            depot::bound("required prize", required)?;
        }
        for (what, values) in [("prize", &prizes), ("penalty", &penalties)] {
            depot::amounts(what, &sites, values)?;
            depot::nothing(what, &sites, values)?;
        }
        Ok(Self { sites, prizes, real_prizes: None, penalties, required })
    }

    /// The same instance where a visit collects `real` `[nodes]`, while only the prizes expected
    /// are known before (SPCTSP).
    ///
    /// # Errors
    /// As [`new`](Self::new) for the prizes.
    pub fn with_real_prizes(mut self, real: Vec<f64>) -> Result<Self> {
        depot::amounts("real prize", &self.sites, &real)?;
        depot::nothing("real prize", &self.sites, &real)?;
        self.real_prizes = Some(real);
        Ok(self)
    }

    /// The same instance with another best-known cost.
    #[must_use]
    pub fn with_best_known(mut self, cost: Option<f64>) -> Self {
        self.sites = self.sites.with_best_known(cost);
        self
    }

    /// Depot and customers with their distances, ids and name.
    #[must_use]
    pub fn sites(&self) -> &Tsp {
        &self.sites
    }

    /// Number of nodes with the depot, at least 1.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there are no nodes; never true of an instance that was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Prizes expected, `[nodes]`.
    #[must_use]
    pub fn prizes(&self) -> &[f64] {
        &self.prizes
    }

    /// Prizes collected, `[nodes]`, where they differ from those expected.
    #[must_use]
    pub fn real_prizes(&self) -> Option<&[f64]> {
        self.real_prizes.as_deref()
    }

    /// Penalties `[nodes]`.
    #[must_use]
    pub fn penalties(&self) -> &[f64] {
        &self.penalties
    }

    /// The prize a tour must collect unless it visits every customer.
    #[must_use]
    pub fn required(&self) -> f64 {
        self.required
    }

    /// The best cost known for this instance.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.sites.best_known()
    }

    /// Length from the depot through `visits` and back.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn length(&self, visits: &[usize]) -> f64 {
        depot::round_trip(&self.sites, visits)
    }

    /// Length plus the penalties of the customers left out.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn cost(&self, visits: &[usize]) -> f64 {
        let mut left = vec![true; self.len()];
        for &node in visits {
            left[node] = false;
        }
        let paid: f64 = left.iter().zip(&self.penalties).filter(|(left, _)| **left).map(|(_, penalty)| penalty).sum();
        self.length(visits) + paid
    }

    /// Prizes collected by `visits`, the real ones where there are any.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn collected(&self, visits: &[usize]) -> f64 {
        let prizes = self.real_prizes.as_ref().unwrap_or(&self.prizes);
        visits.iter().map(|&node| prizes[node]).sum()
    }

    /// Checks that `visits` are customers, each at most once, and that they collect what is
    /// required (to within a millionth) or are all customers.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, visits: &[usize]) -> Result<()> {
        check::visits(self.sites.ids(), visits)?;
        let collected = self.collected(visits);
        if visits.len() + 1 == self.len() || collected >= self.required * (1.0 - TOLERANCE) {
            return Ok(());
        }
        let reason = format!("{collected} is collected, {} is required", self.required);
        Err(Error::Infeasible { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(required: f64) -> Result<PrizeCollecting> {
        let sites = Tsp::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect())?;
        PrizeCollecting::new(sites, vec![0.0, 2.0, 4.0, 8.0], vec![0.0, 0.5, 1.5, 2.5], required)
    }

    #[test]
    fn what_is_left_out_is_paid_for() {
        let instance = line(5.0).unwrap();
        assert_eq!(instance.cost(&[]), 4.5);
        assert_eq!(instance.cost(&[2, 1]), 6.5);
        assert_eq!((instance.length(&[3]), instance.collected(&[3, 1])), (6.0, 10.0));
    }

    #[test]
    fn enough_or_everything_must_be_collected() {
        let instance = line(5.0).unwrap();
        let said = |visits: &[usize]| instance.check(visits).map_or_else(|e| e.to_string(), |()| String::new());
        assert_eq!((said(&[3]), said(&[1, 2])), (String::new(), String::new()));
        assert!(said(&[2]).contains("4 is collected, 5 is required"));
        assert!(said(&[3, 3]).contains("node 4 is visited twice"));
        assert!(said(&[3, 0]).contains("the depot (1)"));
        assert!(said(&[7]).contains("node index 7"));
        let more = line(50.0).unwrap();
        assert!(more.check(&[1, 2, 3]).is_ok() && more.check(&[1, 2]).is_err());
    }

    #[test]
    fn real_prizes_decide() {
        let instance = line(5.0).unwrap().with_real_prizes(vec![0.0, 5.0, 0.0, 1.0]).unwrap();
        assert!(instance.check(&[1]).is_ok() && instance.check(&[3]).is_err());
        assert_eq!(instance.prizes(), [0.0, 2.0, 4.0, 8.0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(line(-1.0).is_err() && line(f64::NAN).is_err());
        let instance = line(0.0).unwrap();
        let sites = instance.sites().clone();
        assert!(instance.with_real_prizes(vec![1.0; 4]).is_err());
        assert!(PrizeCollecting::new(sites.clone(), vec![0.0; 4], vec![1.0; 4], 1.0).is_err());
        assert!(PrizeCollecting::new(sites, vec![0.0; 4], vec![0.0; 3], 1.0).is_err());
    }
}
