//! Clarke and Wright's savings between near neighbours.

use std::time::Instant;

use super::{Choice, Clock, Distances, Growth, Neighbours, Node, Vrp, curve, descend, quick};

/// Savings are formed between so many neighbours.
const NEAR: usize = 100;

/// So many in a hurry.
const NEAR_IN_A_HURRY: usize = 16;

/// The share of the time that is left which [`NEAR`] neighbours may take.
const SHARE: f64 = 0.25;

/// An upper estimate of the time that [`NEAR`] neighbours take, as a multiple of [`NEAR_IN_A_HURRY`].
const SLOWER: f64 = 20.0;

/// Routes while they are joined: every customer starts with its own.
struct Joining<'a> {
    vrp: &'a Vrp<'a>,
    /// The routes, customers only; an emptied list has been joined to another.
    routes: Vec<Vec<usize>>,
    /// The route of every node.
    of: Vec<usize>,
    loads: Vec<f64>,
    lengths: Vec<f64>,
    /// The time at which the vehicle leaves the last customer, by route; `None` where it is late.
    departures: Vec<Option<f64>>,
    /// If true, routes are joined from `a` to `b` alone.
    directed: bool,
}

/// Routes that keep the rules if single customers do.
pub(super) fn construct(vrp: &Vrp) -> Vec<Vec<usize>> {
    let mut clock = Clock::new(None);
    let distances = Distances::new(vrp.sites, &mut clock);
    by_savings(vrp, &distances, NEAR, &mut clock).unwrap_or_else(|| along_a_curve(vrp))
}

/// Such routes at once, and what they come from: along a space-filling curve where the deadline passed long ago.
pub(super) fn construct_quickly(vrp: &Vrp, deadline: Instant) -> (&'static str, Vec<Vec<usize>>) {
    let begun = Instant::now();
    let until = deadline.checked_add(quick::GRACE);
    let mut clock = Clock::new(until);
    let distances = Distances::computed(vrp.sites);
    let Some(routes) = by_savings(vrp, &distances, NEAR_IN_A_HURRY, &mut clock) else {
        return (quick::CURVE, along_a_curve(vrp));
    };
    let seconds = begun.elapsed().as_secs_f64();
    let neighbours = Neighbours::new(vrp.sites, &distances, NEAR_IN_A_HURRY, Choice::Nearest, &mut clock);
    let found = ("savings, descent", descend(vrp, &distances, &neighbours, &routes, until));
    let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
    if SLOWER * seconds > SHARE * left {
        return found;
    }
    match by_savings(vrp, &distances, NEAR, &mut Clock::new(Some(deadline))) {
        Some(more) if vrp.cost(&more) < vrp.cost(&found.1) => ("savings", more),
        _ => found,
    }
}

fn by_savings(vrp: &Vrp, distances: &Distances, near: usize, clock: &mut Clock) -> Option<Vec<Vec<usize>>> {
    let n = vrp.sites.len();
    let neighbours = Neighbours::new(vrp.sites, distances, near, Choice::Nearest, clock);
    if !neighbours.is_complete() {
        return None;
    }
    let from_depot: Vec<f64> = (0..n).map(|node| distances.of(0, node as Node)).collect();
    let to_depot: Vec<f64> = (0..n).map(|node| distances.of(node as Node, 0)).collect();
    let directed = !distances.are_symmetric();
    let mut savings: Vec<(f64, Node, Node)> = Vec::new();
    for a in 1..n as Node {
        if clock.is_over() {
            return None;
        }
        for (b, distance) in neighbours.of(a).filter(|&(b, _)| b > 0) {
            // A pair that stands in both lists is taken once.
            if a < b || neighbours.of(b).all(|(other, _)| other != a) {
                if directed {
                    let saving = |a: Node, b: Node| to_depot[a as usize] + from_depot[b as usize] - distances.of(a, b);
                    savings.extend([(a, b), (b, a)].map(|(a, b)| (saving(a, b), a, b)));
                } else {
                    savings.push((from_depot[a as usize] + from_depot[b as usize] - distance, a.min(b), a.max(b)));
                }
            }
        }
    }
    savings.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut joining = Joining {
        vrp,
        routes: (0..n).map(|node| if node == 0 { vec![] } else { vec![node] }).collect(),
        of: (0..n).collect(),
        loads: vrp.demands.to_vec(),
        lengths: from_depot.iter().zip(&to_depot).map(|(out, back)| out + back).collect(),
        departures: (0..n).map(|node| vrp.departure(node, vrp.opening(), vrp.sites.distance(0, node))).collect(),
        directed,
    };
    for (saving, a, b) in savings.into_iter().take_while(|&(saving, ..)| saving > 0.0) {
        if clock.is_over() {
            return None;
        }
        joining.join(a as usize, b as usize, saving);
    }
    joining.routes.retain(|route| !route.is_empty());
    Some(joining.routes)
}

/// Customers in the order of the curve, a new route where the next one does not fit.
pub(super) fn along_a_curve(vrp: &Vrp) -> Vec<Vec<usize>> {
    let mut routes: Vec<Vec<usize>> = Vec::new();
    let mut growth = Growth::start(vrp);
    for node in curve::order(vrp.sites).into_iter().filter(|&node| node > 0) {
        let longer = growth.then(vrp, node);
        match routes.last_mut() {
            Some(route) if longer.is_allowed(vrp) => {
                route.push(node);
                growth = longer;
            }
            _ => {
                routes.push(vec![node]);
                growth = Growth::start(vrp).then(vrp, node);
            }
        }
    }
    routes
}

impl Joining<'_> {
    /// Joins two routes at `a` and `b` if both stand at an end and the rules allow it.
    fn join(&mut self, a: usize, b: usize, saving: f64) {
        let (into, from) = (self.of[a], self.of[b]);
        let at_end = |route: &[usize], node| route.first() == Some(&node) || route.last() == Some(&node);
        if into == from || !at_end(&self.routes[into], a) || !at_end(&self.routes[from], b) {
            return;
        }
        let load = self.loads[into] + self.loads[from];
        let length = self.lengths[into] + self.lengths[from] - saving;
        let size = self.routes[into].len() + self.routes[from].len();
        if !self.vrp.holds(load) || !self.vrp.within_limit(length, size) {
            return;
        }
        if self.directed || self.vrp.windows.is_some() {
            self.join_unturned([(into, a), (from, b)], load, length);
            return;
        }
        // The longer list stays in its place.
        let ((into, a), (from, b)) = if self.routes[into].len() < self.routes[from].len() {
            ((from, b), (into, a))
        } else {
            ((into, a), (from, b))
        };
        let mut tail = std::mem::take(&mut self.routes[from]);
        for &node in &tail {
            self.of[node] = into;
        }
        if tail.first() != Some(&b) {
            tail.reverse();
        }
        if self.routes[into].last() != Some(&a) {
            self.routes[into].reverse();
        }
        self.routes[into].append(&mut tail);
        self.loads[into] = load;
        self.lengths[into] = length;
    }

    /// Joins two routes, neither of them turned, if that meets all windows: the first with the second behind it, or the other
    /// way round where distances do not differ by direction.
    fn join_unturned(&mut self, ends: [(usize, usize); 2], load: f64, length: f64) {
        let [one, other] = ends;
        let orders = [(one, other), (other, one)];
        for ((into, a), (from, b)) in orders.into_iter().take(if self.directed { 1 } else { 2 }) {
            if self.routes[into].last() != Some(&a) || self.routes[from].first() != Some(&b) {
                continue;
            }
            let Some(departure) = self.drive_on([into, from]) else { continue };
            let mut tail = std::mem::take(&mut self.routes[from]);
            for &node in &tail {
                self.of[node] = into;
            }
            self.routes[into].append(&mut tail);
            self.departures[into] = Some(departure);
            self.loads[into] = load;
            self.lengths[into] = length;
            return;
        }
    }

    /// The time at which a vehicle that drives on from one route to the other leaves the last customer; `None` if it is late
    /// there, on the way or back at the depot. Until then its times are those of the first route.
    fn drive_on(&self, [into, from]: [usize; 2]) -> Option<f64> {
        let (vrp, mut time) = (self.vrp, self.departures[into]?);
        if vrp.windows.is_none() {
            return Some(time);
        }
        let mut here = *self.routes[into].last()?;
        for &node in &self.routes[from] {
            time = vrp.departure(node, time, vrp.sites.distance(here, node))?;
            here = node;
        }
        vrp.departure(0, time, vrp.sites.distance(here, 0)).and(Some(time))
    }
}
