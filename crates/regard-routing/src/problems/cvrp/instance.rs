//! The instance in a metric of its own, its cost and its checker.

use crate::{Error, Metric, Result, Sites, check, depot, shown};

/// A vehicle routing instance: the depot is node 0, all others are customers with a demand, and
/// every vehicle carries `capacity`.
///
/// A solution is a list of routes. A route lists customers only; it starts and ends at the depot.
///
/// ```
/// use regard_routing::{Sites, problems::cvrp::Cvrp};
///
/// let sites = Sites::euclidean("three", vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 1.0]])?;
/// let instance = Cvrp::new(sites, vec![0.0, 2.0, 2.0, 1.0], 4.0)?;
/// let routes = [vec![1, 2], vec![3]];
/// instance.check(&routes)?;
/// assert_eq!(instance.cost(&routes), 14.0);
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cvrp {
    sites: Sites,
    demands: Vec<f64>,
    capacity: f64,
    limit: Option<f64>,
    service: f64,
    /// A service time that a file has without a limit of lengths.
    unused_service: f64,
}

impl Cvrp {
    /// Instance in which every customer is served by one vehicle; `demands` are `[nodes]`, that of
    /// the depot being 0, in the unit of `capacity`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the counts differ, a demand is negative, not finite or above the
    /// capacity, the depot has one, or the capacity is not above 0.
    pub fn new(sites: Sites, demands: Vec<f64>, capacity: f64) -> Result<Self> {
        let instance = Self::unbounded(sites, demands, capacity)?;
        if let Some(over) = instance.demands.iter().position(|d| !depot::within(*d, capacity)) {
            let reason = format!("{} is above the capacity, which is {capacity}", instance.demands[over]);
            return Err(Error::invalid(format!("demand of node {}", instance.sites.ids()[over]), reason));
        }
        Ok(instance)
    }

    /// Instance whose demands may be above the capacity, as far as [`too_many_loads`] allows.
    pub(crate) fn with_any_demands(sites: Sites, demands: Vec<f64>, capacity: f64) -> Result<Self> {
        let instance = Self::unbounded(sites, demands, capacity)?;
        match too_many_loads(instance.demands.iter().copied(), capacity) {
            Some((node, reason)) => {
                Err(Error::invalid(format!("demand of node {}", instance.sites.ids()[node]), reason))
            }
            None => Ok(instance),
        }
    }

    fn unbounded(sites: Sites, demands: Vec<f64>, capacity: f64) -> Result<Self> {
        depot::bound("capacity", capacity)?;
        depot::amounts("demand", &sites, &demands)?;
        depot::no_amount_at_depot("demand", &sites, &demands)?;
        Ok(Self { sites, demands, capacity, limit: None, service: 0.0, unused_service: 0.0 })
    }

    /// The same instance where a route's length plus `service` for each of its visits is at most
    /// `limit`, in the unit of distances.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `limit` is not above 0 or `service` is negative or not finite.
    pub fn with_limit(mut self, limit: f64, service: f64) -> Result<Self> {
        depot::bound("length limit", limit)?;
        if service != 0.0 {
            depot::bound("service time", service)?;
        }
        (self.limit, self.service) = (Some(limit), service);
        Ok(self)
    }

    /// The same instance with a limit where there is one; without one a service time changes nothing.
    pub(crate) fn with_service(self, limit: Option<f64>, service: f64) -> Result<Self> {
        match limit {
            Some(limit) => self.with_limit(limit, service),
            None => Ok(Self { unused_service: service, ..self }),
        }
    }

    /// Says that a service time is not used.
    pub(crate) fn note(&self) -> Option<String> {
        (self.unused_service > 0.0).then(|| {
            format!(
                "the service time of {} is not used: it counts only where the length of routes has a limit \
                 (`# max_length: N` above the header, `DISTANCE`)",
                self.unused_service
            )
        })
    }

    /// The first customer whom no route reaches within the limit, and why; where deliveries are split, those without
    /// demand are not visited. With distances of a table a detour may be
    /// shorter than the direct way, so that nothing is known about one customer alone.
    pub(crate) fn too_far(&self, split: bool) -> Option<(usize, String)> {
        let limit = self.limit.filter(|_| !matches!(self.sites.metric(), Metric::Explicit(_)))?;
        let visited = (1..self.sites.len()).filter(|&node| !split || self.demands[node] > 0.0);
        let node = { visited }.find(|&node| !depot::within(self.limited_length(&[node]), limit))?;
        let over = self.over_limit(&[node], limit);
        Some((node, format!("node {} alone has a route of length {over}", shown(&self.sites.ids()[node]))))
    }

    /// The same instance with distances that are not rounded, see [`Sites::unrounded`].
    #[must_use]
    pub fn unrounded(mut self) -> Self {
        self.sites = self.sites.unrounded();
        self
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

    /// Number of customers.
    #[must_use]
    pub fn customers(&self) -> usize {
        self.sites.len() - 1
    }

    /// Demands `[nodes]`, 0 for the depot.
    #[must_use]
    pub fn demands(&self) -> &[f64] {
        &self.demands
    }

    /// Capacity of a vehicle.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The longest a route may be, with its service time.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        self.limit
    }

    /// Length that each visit adds to a route under [`limit`](Self::limit); costs leave it out.
    #[must_use]
    pub fn service(&self) -> f64 {
        self.service
    }

    /// The best cost known for this instance.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.sites.best_known()
    }

    /// Length of all routes together in the file's own metric, without service times.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn cost(&self, routes: &[Vec<usize>]) -> f64 {
        routes.iter().map(|route| depot::round_trip(&self.sites, route)).sum()
    }

    /// Checks a solution against every rule, whatever made it. Empty routes are ignored.
    ///
    /// Integers are compared exactly, fractions with 1e-9 of the capacity or limit.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, routes: &[Vec<usize>]) -> Result<()> {
        self.check_customers(routes)?;
        self.check_visits(routes)?;
        self.check_lengths(routes)
    }

    /// Checks that routes list customers only.
    pub(crate) fn check_customers(&self, routes: &[Vec<usize>]) -> Result<()> {
        for (number, route) in routes.iter().enumerate() {
            for (at, &node) in route.iter().enumerate() {
                check::customer(self.sites.ids(), node, || format!("route {}, position {}", number + 1, at + 1))?;
            }
        }
        Ok(())
    }

    /// Checks the limit on the length of routes.
    pub(crate) fn check_lengths(&self, routes: &[Vec<usize>]) -> Result<()> {
        routes.iter().enumerate().try_for_each(|(number, route)| self.check_length(number, route))
    }

    fn check_visits(&self, routes: &[Vec<usize>]) -> Result<()> {
        let ids = self.sites.ids();
        let mut visited = vec![0; self.len()];
        for (number, route) in (1..).zip(routes) {
            for &node in route {
                if visited[node] != 0 {
                    let reason =
                        format!("node {} is visited twice, in route {} and route {number}", ids[node], visited[node]);
                    return Err(Error::Infeasible { reason });
                }
                visited[node] = number;
            }
            let load: f64 = route.iter().map(|&node| self.demands[node]).sum();
            if !depot::within(load, self.capacity) {
                let reason = format!("route {number} carries {load}, the capacity is {}", self.capacity);
                return Err(Error::Infeasible { reason });
            }
        }
        let missing = || (1..self.len()).filter(|&node| visited[node] == 0);
        match missing().next() {
            Some(node) => {
                let counts = format!("{} of {} customers missing", missing().count(), self.customers());
                Err(Error::Infeasible { reason: format!("node {} is not visited ({counts})", ids[node]) })
            }
            None => Ok(()),
        }
    }

    fn check_length(&self, number: usize, route: &[usize]) -> Result<()> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        if depot::within(self.limited_length(route), limit) {
            return Ok(());
        }
        let reason = format!("route {} has length {}", number + 1, self.over_limit(route, limit));
        Err(Error::Infeasible { reason })
    }

    /// The length of a route that the limit is for: with the service of its visits.
    fn limited_length(&self, route: &[usize]) -> f64 {
        depot::round_trip(&self.sites, route) + self.service * route.len() as f64
    }

    /// The end of a sentence on a route that is longer than the limit.
    fn over_limit(&self, route: &[usize], limit: f64) -> String {
        let service = if self.service == 0.0 { "" } else { " with service" };
        format!("{}{service}, the limit is {limit}", self.limited_length(route))
    }
}

/// Routes of full vehicles to one customer each, over all customers.
const MOST_FULL_LOADS: f64 = 1e6;

/// The node whose demand takes the full loads beyond [`MOST_FULL_LOADS`], and the reason: each of them is a route that is
/// kept, and of a demand that is larger still a load subtracts nothing.
pub(super) fn too_many_loads(demands: impl IntoIterator<Item = f64>, capacity: f64) -> Option<(usize, String)> {
    let mut loads = 0.0;
    demands.into_iter().enumerate().find_map(|(node, demand)| {
        loads += (demand / capacity).ceil().max(1.0) - 1.0;
        let reason = || {
            format!(
                "{demand} with the capacity {capacity} takes more than {MOST_FULL_LOADS} routes of full vehicles in all"
            )
        };
        (loads > MOST_FULL_LOADS).then(|| (node, reason()))
    })
}
