//! Routes that grow at their end: one more customer is checked in constant time, however long the route is.

use super::Vrp;

/// A route up to its last customer.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    customers: usize,
    last: usize,
    load: f64,
    /// Length from the depot up to the last customer.
    path: f64,
    /// The time at which the vehicle leaves the last customer; `None` if it was late there or before.
    departure: Option<f64>,
}

impl Growth {
    /// The depot alone.
    pub(super) fn start(vrp: &Vrp) -> Self {
        Self { customers: 0, last: 0, load: 0.0, path: 0.0, departure: Some(vrp.opening()) }
    }

    /// The route with one more customer behind the last one.
    pub(super) fn then(self, vrp: &Vrp, node: usize) -> Self {
        let way = vrp.sites.distance(self.last, node);
        Self {
            customers: self.customers + 1,
            last: node,
            load: self.load + vrp.demands[node],
            path: self.path + way,
            departure: self.departure.and_then(|time| vrp.departure(node, time, way)),
        }
    }

    /// If true, the route keeps capacity, limit and windows if the vehicle returns now.
    pub(super) fn is_allowed(&self, vrp: &Vrp) -> bool {
        let back = vrp.sites.distance(self.last, 0);
        vrp.holds(self.load)
            && vrp.within_limit(self.path + back, self.customers)
            && self.departure.is_some_and(|time| vrp.departure(0, time, back).is_some())
    }
}
