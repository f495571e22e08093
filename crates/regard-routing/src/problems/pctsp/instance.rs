//! The instance in a metric of its own, its cost and its checker.

use crate::{Error, Result, Sites, check, depot};

/// Share of the required prize that may be missing: prizes are often drawn as `f32`.
const TOLERANCE: f64 = 1e-6;

/// A prize-collecting instance: the tour starts and ends at the depot (node 0) and visits customers
/// until it has collected `required`; each one left out costs its penalty.
///
/// ```
/// use regard_routing::{Sites, problems::pctsp::Pctsp};
///
/// let sites = Sites::euclidean("three", vec![[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])?;
/// let instance = Pctsp::new(sites, vec![0.0, 3.0, 5.0], vec![0.0, 1.0, 2.0], 3.0)?;
/// instance.check(&[1])?;
/// assert_eq!(instance.cost(&[1]), 4.0);
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pctsp {
    sites: Sites,
    prizes: Vec<f64>,
    penalties: Vec<f64>,
    required: f64,
}

impl Pctsp {
    /// Instance with `prizes` and `penalties` `[nodes]`, both 0 for the depot; penalties are in
    /// the unit of distances.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the counts differ, a number is negative or not finite, or the depot
    /// has a prize or a penalty, or distances differ by direction.
    pub fn new(sites: Sites, prizes: Vec<f64>, penalties: Vec<f64>, required: f64) -> Result<Self> {
        depot::symmetric(&sites)?;
        if required != 0.0 {
            depot::bound("required prize", required)?;
        }
        for (what, values) in [("prize", &prizes), ("penalty", &penalties)] {
            depot::amounts(what, &sites, values)?;
            depot::no_amount_at_depot(what, &sites, values)?;
        }
        Ok(Self { sites, prizes, penalties, required })
    }

    /// The same instance with another best-known cost.
    #[must_use]
    pub fn with_best_known(mut self, cost: Option<f64>) -> Self {
        self.sites = self.sites.with_best_known(cost);
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

    /// That no tour reaches the required prize, where none does.
    pub(crate) fn note(&self) -> Option<String> {
        let all: f64 = self.prizes.iter().sum();
        (all < self.required * (1.0 - TOLERANCE)).then(|| {
            format!(
                "all prizes together are {all}, so the required prize {} cannot be reached: the tour visits all nodes \
                 (--required-prize)",
                self.required
            )
        })
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

    /// Prizes collected by `visits`.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn collected(&self, visits: &[usize]) -> f64 {
        collected(&self.prizes, visits)
    }

    /// Checks that `visits` are customers, each at most once, and that they collect what is
    /// required (to within a millionth) or are all customers.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, visits: &[usize]) -> Result<()> {
        self.check_with(&self.prizes, visits)
    }

    /// As [`Self::check`], where a visit collects `prizes [nodes]`.
    pub(crate) fn check_with(&self, prizes: &[f64], visits: &[usize]) -> Result<()> {
        check::visits(self.sites.ids(), visits)?;
        let collected = collected(prizes, visits);
        if visits.len() + 1 == self.len() || collected >= self.required * (1.0 - TOLERANCE) {
            return Ok(());
        }
        let reason = format!("the collected prize {collected} is below the required prize {}", self.required);
        Err(Error::Infeasible { reason })
    }
}

/// The sum of `prizes [nodes]` at `visits`.
pub(crate) fn collected(prizes: &[f64], visits: &[usize]) -> f64 {
    visits.iter().map(|&node| prizes[node]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(required: f64) -> Result<Pctsp> {
        let sites = Sites::euclidean("line", (0..4).map(|i| [f64::from(i), 0.0]).collect())?;
        Pctsp::new(sites, vec![0.0, 2.0, 4.0, 8.0], vec![0.0, 0.5, 1.5, 2.5], required)
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
        assert!(said(&[2]).contains("the collected prize 4 is below the required prize 5"));
        assert!(said(&[3, 3]).contains("node 4 is visited twice"));
        assert!(said(&[3, 0]).contains("the depot (1)"));
        assert!(said(&[7]).contains("node index 7"));
        let more = line(50.0).unwrap();
        assert!(more.check(&[1, 2, 3]).is_ok() && more.check(&[1, 2]).is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(line(-1.0).is_err() && line(f64::NAN).is_err());
        let instance = line(0.0).unwrap();
        let sites = instance.sites().clone();
        assert!(Pctsp::new(sites.clone(), vec![0.0; 4], vec![1.0; 4], 1.0).is_err());
        assert!(Pctsp::new(sites, vec![0.0; 4], vec![0.0; 3], 1.0).is_err());
    }
}
