//! The instance in a metric of its own, its prize and its checker.

use crate::{Error, Result, Sites, check, depot};

/// An orienteering instance: the tour starts and ends at the depot (node 0), visits any of the
/// others, and is at most `max_length` long.
///
/// ```
/// use regard_routing::{Sites, problems::op::Op};
///
/// let sites = Sites::euclidean("three", vec![[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])?;
/// let instance = Op::new(sites, vec![0.0, 3.0, 5.0], 4.0)?;
/// instance.check(&[1])?;
/// assert_eq!((instance.prize(&[1]), instance.length(&[1])), (3.0, 2.0));
/// assert!(instance.check(&[1, 2]).is_err());
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Op {
    sites: Sites,
    prizes: Vec<f64>,
    max_length: f64,
}

impl Op {
    /// Instance with `prizes` `[nodes]`, the depot's counting for every tour, and a bound in the
    /// unit of distances.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the counts differ, a prize is negative or not finite, or the bound
    /// is not above 0, or distances differ by direction.
    pub fn new(sites: Sites, prizes: Vec<f64>, max_length: f64) -> Result<Self> {
        depot::symmetric(&sites)?;
        depot::bound("max length", max_length)?;
        depot::amounts("prize", &sites, &prizes)?;
        Ok(Self { sites, prizes, max_length })
    }

    /// The same instance with another best-known prize.
    #[must_use]
    pub fn with_best_known(mut self, prize: Option<f64>) -> Self {
        self.sites = self.sites.with_best_known(prize);
        self
    }

    /// Depot and customers with their distances, ids and name.
    #[must_use]
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Number of nodes with the depot, at least 1.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// If true, there are no nodes; never true of an instance that was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Prizes `[nodes]`.
    #[must_use]
    pub fn prizes(&self) -> &[f64] {
        &self.prizes
    }

    /// The longest a tour may be.
    #[must_use]
    pub fn max_length(&self) -> f64 {
        self.max_length
    }

    /// The highest prize known for this instance.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.sites.best_known()
    }

    /// Prize of the depot and of `visits` together; higher is better.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn prize(&self, visits: &[usize]) -> f64 {
        visits.iter().fold(self.prizes[0], |sum, &node| sum + self.prizes[node])
    }

    /// Length from the depot through `visits` and back.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn length(&self, visits: &[usize]) -> f64 {
        depot::round_trip(&self.sites, visits)
    }

    /// Checks that `visits` are customers, each at most once, and that the tour is short enough:
    /// exactly for integers, else with 1e-9 of the bound for rounding.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, visits: &[usize]) -> Result<()> {
        check::visits(self.sites.ids(), visits)?;
        let length = self.length(visits);
        if depot::within(length, self.max_length) {
            return Ok(());
        }
        let reason = format!("the tour has length {length}, at most {} is allowed", self.max_length);
        Err(Error::Infeasible { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(max_length: f64) -> Result<Op> {
        let sites = Sites::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect())?;
        Op::new(sites, vec![1.0, 2.0, 4.0, 8.0], max_length)
    }

    #[test]
    fn the_depot_counts_for_every_tour() {
        let instance = line(4.0).unwrap();
        assert_eq!((instance.prize(&[]), instance.prize(&[2, 1])), (1.0, 7.0));
        assert_eq!((instance.length(&[]), instance.length(&[2, 1])), (0.0, 4.0));
    }

    #[test]
    fn the_first_broken_rule_is_named_by_ids() {
        let instance = line(4.0).unwrap();
        let said = |visits: &[usize]| instance.check(visits).map_or_else(|e| e.to_string(), |()| String::new());
        assert_eq!((said(&[]), said(&[2, 1])), (String::new(), String::new()));
        assert!(said(&[1, 4]).contains("position 2: node index 4 is not below 4"));
        assert!(said(&[1, 0]).contains("position 2: the depot (1) is among the customers"));
        assert!(said(&[1, 1]).contains("node 2 is visited twice, at positions 1 and 2"));
        assert!(said(&[3]).contains("the tour has length 6, at most 4 is allowed"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(line(bad).is_err());
        }
        let sites = line(1.0).unwrap().sites().clone();
        assert!(Op::new(sites.clone(), vec![0.0; 3], 1.0).is_err());
        let error = Op::new(sites, vec![0.0, 1.0, -2.0, 1.0], 1.0).unwrap_err().to_string();
        assert_eq!(error, "prize of node 3: -2 is not a number from 0 to 1e100");
    }
}
