//! Routes as linked stops: taking a customer out, putting one in and taking both back cost the same
//! whatever the length of the route.
//!
//! Every route has a stop of its own for the depot, numbered after the visits, so that a route is a
//! ring. Changes are written down; everything since a mark can be taken back.

use super::{Distances, Node, Vrp, splits::Visits, times::Times};

/// The route of a customer that is in none. Its load is infinite, so that nothing more fits in.
pub(super) const NOWHERE: u32 = 0;

/// A visit to a customer, or a route's depot, and what it stands between.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    pub(super) before: Node,
    pub(super) after: Node,
    pub(super) route: u32,
    /// Distance to the stop after it.
    pub(super) ahead: f64,
}

/// One customer taken out or put in, with the route's sums as they were.
struct Change {
    node: Node,
    before: Node,
    route: u32,
    put_in: bool,
    amount: f64,
    load: f64,
    length: f64,
}

/// Routes under change, and the best ones so far.
pub(super) struct Plan<'a> {
    pub(super) vrp: &'a Vrp<'a>,
    pub(super) distances: &'a Distances<'a>,
    visits: &'a Visits,
    /// Visits that complete deliveries have the numbers of their nodes, which come first.
    nodes: usize,
    /// The depots' stops are numbered after the visits.
    first_depot: usize,
    /// Amount that is delivered at a visit.
    pub(super) amounts: Vec<f64>,
    /// The visit, at an end, to a customer whose delivery another route completes, by route; 0 where there is none.
    open_ends: Vec<Node>,
    pub(super) stops: Vec<Stop>,
    pub(super) loads: Vec<f64>,
    pub(super) lengths: Vec<f64>,
    pub(super) sizes: Vec<u32>,
    /// Routes without customers.
    empty: Vec<u32>,
    journal: Vec<Change>,
    /// Change in cost since the mark.
    pub(super) change: f64,
    /// Sums are rounded, so they are formed afresh in the routes of every plan that is kept.
    rounded: bool,
    best: Vec<Node>,
    /// Stops whose follower may differ from the one in `best`.
    differing: Vec<Node>,
    differs: Vec<bool>,
    /// The most routes that may have customers.
    pub(super) vehicles: Option<usize>,
    /// When routes reach their stops, where there are windows.
    times: Option<Times<'a>>,
}

impl<'a> Plan<'a> {
    /// Takes routes of visits that keep the rules.
    pub(super) fn new(
        vrp: &'a Vrp<'a>,
        distances: &'a Distances<'a>,
        visits: &'a Visits,
        routes: &[Vec<usize>],
    ) -> Self {
        let n = visits.len();
        let absent = Stop { before: 0, after: 0, route: NOWHERE, ahead: 0.0 };
        let nowhere = Stop { before: n as Node, after: n as Node, ..absent };
        let amounts = visits.amounts().iter().chain(vrp.splits.then_some(&vrp.capacity));
        let fractional = amounts.into_iter().any(|amount| amount.fract() != 0.0);
        let mut plan = Self {
            vrp,
            distances,
            visits,
            nodes: vrp.sites.len(),
            first_depot: n,
            amounts: visits.amounts().to_vec(),
            open_ends: vec![0],
            stops: [vec![absent; n], vec![nowhere]].concat(),
            loads: vec![f64::INFINITY],
            lengths: vec![0.0],
            sizes: vec![0],
            empty: Vec::new(),
            journal: Vec::new(),
            change: 0.0,
            rounded: fractional || vrp.limit.is_some(),
            best: vec![n as Node; n + 1],
            differing: Vec::new(),
            differs: vec![false; n + 1],
            vehicles: vrp.vehicles,
            times: vrp.windows.map(|windows| Times::new(windows, n + 1)),
        };
        for route in routes.iter().filter(|route| !route.is_empty()) {
            let number = plan.an_empty_route();
            if let Some(times) = &mut plan.times {
                // They are formed once the route is complete, not at every stop.
                times.outdate(number);
            }
            let mut before = plan.depot_of(number);
            for &node in route {
                plan.put_in(node as Node, before);
                before = node as Node;
            }
        }
        plan.keep();
        plan.save();
        plan
    }

    /// The number of routes with customers.
    pub(super) fn routes(&self) -> usize {
        self.sizes.len() - 1 - self.empty.len()
    }

    /// If true, there is a vehicle for one more route.
    pub(super) fn has_vehicle(&self) -> bool {
        self.vehicles.is_none_or(|vehicles| self.routes() < vehicles)
    }

    /// The stop that stands for the depot in a route.
    #[inline]
    pub(super) fn depot_of(&self, route: u32) -> Node {
        (self.first_depot + route as usize) as Node
    }

    /// If true, the stop stands for the depot.
    #[inline]
    pub(super) fn is_depot(&self, stop: Node) -> bool {
        stop as usize >= self.first_depot
    }

    /// The node where a stop is.
    #[inline]
    pub(super) fn site(&self, stop: Node) -> Node {
        if self.nodes == self.first_depot {
            // Without a branch on the stop, which would often be predicted wrong.
            if (stop as usize) < self.nodes { stop } else { 0 }
        } else {
            self.visits.node(stop)
        }
    }

    /// All visits to a customer that are in routes, or could be.
    pub(super) fn visits_to(&self, customer: Node) -> impl Iterator<Item = Node> + use<> {
        std::iter::once(customer).chain(self.visits.further(customer))
    }

    /// The visit at an end of a route that another route completes.
    pub(super) fn open_end(&self, route: u32) -> Option<Node> {
        Some(self.open_ends[route as usize]).filter(|&visit| visit != 0)
    }

    /// If true, a part of a delivery can be made in route `first` and completed in route `last`: that one need not be
    /// driven before.
    pub(super) fn can_precede(&self, first: u32, last: u32) -> bool {
        let completed_by = |&route: &u32| self.open_end(route).map(|visit| self.stops[self.site(visit) as usize].route);
        std::iter::successors(Some(last), completed_by).all(|route| route != first)
    }

    /// The distance between two stops.
    #[inline]
    pub(super) fn between(&self, a: Node, b: Node) -> f64 {
        if a == b { 0.0 } else { self.distances.of(self.site(a), self.site(b)) }
    }

    /// A route without customers, made if there is none.
    pub(super) fn an_empty_route(&mut self) -> u32 {
        if let Some(&route) = self.empty.last() {
            return route;
        }
        let route = self.sizes.len() as u32;
        let depot = self.depot_of(route);
        self.stops.push(Stop { before: depot, after: depot, route, ahead: 0.0 });
        self.best.push(depot);
        self.differs.push(false);
        if let Some(times) = &mut self.times {
            times.add_route();
        }
        self.loads.push(0.0);
        self.lengths.push(0.0);
        self.sizes.push(0);
        self.open_ends.push(0);
        self.empty.push(route);
        route
    }

    /// Takes a visit out of its route.
    #[inline]
    pub(super) fn take_out(&mut self, node: Node) {
        let Stop { before, route, .. } = self.stops[node as usize];
        self.note(node, before, route, false);
        let change = self.unlink(node);
        self.sum(route, change, -self.amounts[node as usize]);
        if let Some(times) = &mut self.times {
            times.outdate(route);
        }
    }

    /// Puts an absent visit behind a stop; an empty route must be the one that
    /// [`Plan::an_empty_route`] names.
    #[inline]
    pub(super) fn put_in(&mut self, node: Node, before: Node) {
        let route = self.stops[before as usize].route;
        self.note(node, before, route, true);
        let change = self.link(node, before);
        self.sum(route, change, self.amounts[node as usize]);
        if let Some(times) = &mut self.times {
            times.inserted(&self.stops, node);
        }
    }

    /// Puts an absent visit behind a stop, to deliver this amount.
    pub(super) fn put_in_amount(&mut self, visit: Node, before: Node, amount: f64) {
        self.amounts[visit as usize] = amount;
        self.put_in(visit, before);
    }

    /// Forms the times of all routes that changed since they were formed.
    pub(super) fn form_times(&mut self) {
        if let Some(times) = &mut self.times {
            times.form(&self.stops);
        }
    }

    /// If true, an absent customer may stand behind `before`, at these distances from the stops on both sides.
    #[inline]
    pub(super) fn in_time(&self, node: Node, before: Node, distances: [f64; 2]) -> bool {
        let after = self.stops[before as usize].after;
        self.times.as_ref().is_none_or(|times| times.allow(node, [before, after], distances))
    }

    /// Accepts the changes since the mark if the routes keep the rules, and marks the new state.
    pub(super) fn keep(&mut self) -> bool {
        if self.rounded && !self.sum_afresh() || !self.changed_are_in_time() {
            return false;
        }
        while let Some(change) = self.journal.pop() {
            for stop in [change.node, change.before] {
                if !std::mem::replace(&mut self.differs[stop as usize], true) {
                    self.differing.push(stop);
                }
            }
        }
        self.change = 0.0;
        true
    }

    /// Returns to the last mark.
    pub(super) fn take_back(&mut self) {
        while let Some(change) = self.journal.pop() {
            if change.put_in {
                self.unlink(change.node);
            } else {
                self.link(change.node, change.before);
                self.amounts[change.node as usize] = change.amount;
            }
            self.loads[change.route as usize] = change.load;
            self.lengths[change.route as usize] = change.length;
            if let Some(times) = &mut self.times {
                times.outdate(change.route);
            }
        }
        self.change = 0.0;
    }

    /// Remembers the routes as the best so far.
    pub(super) fn save(&mut self) {
        while let Some(stop) = self.differing.pop() {
            self.differs[stop as usize] = false;
            self.best[stop as usize] = self.stops[stop as usize].after;
        }
    }

    /// The routes of visits saved last.
    pub(super) fn saved(&self) -> Vec<Vec<usize>> {
        let n = self.first_depot;
        let walk = |depot: usize| {
            let step = |&stop: &usize| Some(self.best[stop] as usize).filter(|&next| next < n);
            std::iter::successors(step(&depot), step).collect::<Vec<_>>()
        };
        (n..self.best.len()).map(walk).filter(|route| !route.is_empty()).collect()
    }

    /// Cost of the routes as they are now.
    pub(super) fn cost(&self) -> f64 {
        self.stops.iter().filter(|stop| stop.route != NOWHERE).map(|stop| stop.ahead).sum()
    }

    #[inline]
    fn note(&mut self, node: Node, before: Node, route: u32, put_in: bool) {
        let (load, length) = (self.loads[route as usize], self.lengths[route as usize]);
        let amount = self.amounts[node as usize];
        self.journal.push(Change { node, before, route, put_in, amount, load, length });
    }

    #[inline]
    fn sum(&mut self, route: u32, change: f64, demand: f64) {
        self.loads[route as usize] += demand;
        self.lengths[route as usize] += change;
        self.change += change;
    }

    #[inline]
    fn unlink(&mut self, node: Node) -> f64 {
        let Stop { before, after, route, ahead } = self.stops[node as usize];
        let joined = self.between(before, after);
        let change = joined - self.stops[before as usize].ahead - ahead;
        self.stops[before as usize].after = after;
        self.stops[before as usize].ahead = joined;
        self.stops[after as usize].before = before;
        self.stops[node as usize].route = NOWHERE;
        self.sizes[route as usize] -= 1;
        if node as usize >= self.nodes {
            self.open_ends[route as usize] = 0;
        }
        if before == after {
            self.empty.push(route);
        }
        change
    }

    #[inline]
    fn link(&mut self, node: Node, before: Node) -> f64 {
        let Stop { after, route, ahead: gone, .. } = self.stops[before as usize];
        let (behind, ahead) = (self.between(before, node), self.between(node, after));
        self.stops[node as usize] = Stop { before, after, route, ahead };
        self.stops[before as usize].after = node;
        self.stops[before as usize].ahead = behind;
        self.stops[after as usize].before = node;
        self.sizes[route as usize] += 1;
        if node as usize >= self.nodes {
            self.open_ends[route as usize] = node;
        }
        if before == after {
            let filled = self.empty.pop();
            debug_assert_eq!(filled, Some(route));
        }
        behind + ahead - gone
    }

    /// If true, all changed routes meet their windows. A place for a customer is checked when it is taken, but a route is
    /// also late without one whose detour was shorter than the direct way.
    fn changed_are_in_time(&mut self) -> bool {
        self.form_times();
        let Some(times) = &self.times else { return true };
        self.journal.iter().all(|change| {
            let depot = self.depot_of(change.route);
            times.meets_windows(depot, &self.stops[depot as usize])
        })
    }

    /// Forms the sums of all changed routes anew; false if one breaks a rule.
    fn sum_afresh(&mut self) -> bool {
        for entry in 0..self.journal.len() {
            let route = self.journal[entry].route;
            let depot = self.depot_of(route);
            let (mut load, mut length, mut stop) =
                (0.0, self.stops[depot as usize].ahead, self.stops[depot as usize].after);
            while stop != depot {
                load += self.amounts[stop as usize];
                length += self.stops[stop as usize].ahead;
                stop = self.stops[stop as usize].after;
            }
            self.loads[route as usize] = load;
            self.lengths[route as usize] = length;
            if !self.vrp.holds(load) || !self.vrp.within_limit(length, self.sizes[route as usize] as usize) {
                return false;
            }
        }
        true
    }
}
