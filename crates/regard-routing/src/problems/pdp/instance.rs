//! The instance in a metric of its own, its length and its checker.

use crate::{Error, Result, Sites, check, depot};

/// An instance of pickup and delivery: the trip starts and ends at the depot (node 0) and visits every other node once, each
/// after the node at which its load is picked up.
///
/// ```
/// use regard_routing::{Sites, problems::pdp::Pdp};
///
/// // The load for node 1 is picked up at node 2.
/// let line = Sites::euclidean("line", vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])?;
/// let instance = Pdp::new(line, vec![None, Some(2), None])?;
/// instance.check(&[2, 1])?;
/// assert_eq!(instance.length(&[2, 1]), 4.0);
/// assert!(instance.check(&[1, 2]).unwrap_err().to_string().contains("node 2 comes before node 3"));
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pdp {
    sites: Sites,
    pickups: Vec<Option<usize>>,
}

impl Pdp {
    /// Instance with the node at which the load of each is picked up, `[nodes]`; `None` for a node that is no delivery, or
    /// whose load is on board from the start. The depot as a pickup is the same.
    ///
    /// A load may go on from where another one was delivered, and a pickup may be that of several deliveries.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the counts differ, a pickup is no node, the depot is a delivery, or a node would have to
    /// come after itself.
    pub fn new(sites: Sites, pickups: Vec<Option<usize>>) -> Result<Self> {
        let pickups = without_depot(pickups);
        if pickups.len() != sites.len() {
            let reason = format!("{} given for {} nodes", pickups.len(), sites.len());
            return Err(Error::invalid("pickup of each node", reason));
        }
        match fault(&pickups) {
            None => Ok(Self { sites, pickups }),
            Some((node, reason)) => Err(Error::invalid(format!("pickup of node {}", sites.ids()[node]), reason)),
        }
    }

    /// The same instance with another best-known length.
    #[must_use]
    pub fn with_best_known(mut self, length: Option<f64>) -> Self {
        self.sites = self.sites.with_best_known(length);
        self
    }

    /// Depot and other nodes with their distances, ids and name.
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

    /// The node at which the load of each is picked up, `[nodes]`.
    #[must_use]
    pub fn pickups(&self) -> &[Option<usize>] {
        &self.pickups
    }

    /// Length from the depot through `visits` and back.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn length(&self, visits: &[usize]) -> f64 {
        depot::round_trip(&self.sites, visits)
    }

    /// Checks that `visits` are all nodes but the depot, each once and after its pickup.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, visits: &[usize]) -> Result<()> {
        let ids = self.sites.ids();
        check::visits(ids, visits)?;
        let mut place = vec![usize::MAX; self.len()];
        visits.iter().enumerate().for_each(|(at, &node)| place[node] = at);
        let broken = |reason: String| Err(Error::Infeasible { reason });
        if let Some(node) = (1..self.len()).find(|&node| place[node] == usize::MAX) {
            let (missing, all) = (self.len() - 1 - visits.len(), self.len() - 1);
            return broken(format!("node {} is not visited ({missing} of {all} missing)", ids[node]));
        }
        let early = visits
            .iter()
            .find_map(|&node| Some((node, self.pickups[node].filter(|&pickup| place[pickup] > place[node])?)));
        match early {
            Some((node, pickup)) => {
                broken(format!("node {} comes before node {}, where its load is picked up", ids[node], ids[pickup]))
            }
            None => Ok(()),
        }
    }
}

/// The pickups without the depot: its loads are on board from the start.
pub(super) fn without_depot(pickups: Vec<Option<usize>>) -> Vec<Option<usize>> {
    pickups.into_iter().map(|pickup| pickup.filter(|&node| node != 0)).collect()
}

/// A node with a pickup that cannot be, and the reason.
pub(super) fn fault(pickups: &[Option<usize>]) -> Option<(usize, &'static str)> {
    if pickups.first().copied().flatten().is_some() {
        return Some((0, "is that of the depot, which is no delivery; expected none"));
    }
    if let Some(node) = pickups.iter().position(|pickup| pickup.is_some_and(|pickup| pickup >= pickups.len())) {
        return Some((node, "is no node of the instance"));
    }
    // The start of the walk that met each node first.
    let mut met = vec![usize::MAX; pickups.len()];
    for start in 0..pickups.len() {
        let mut node = start;
        while met[node] == usize::MAX {
            met[node] = start;
            match pickups[node] {
                Some(pickup) => node = pickup,
                None => break,
            }
        }
        if met[node] == start && pickups[node].is_some() {
            return Some((node, "leads back to this node, which would have to come after itself"));
        }
    }
    None
}
