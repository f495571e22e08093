//! Local search for the capacitated vehicle routing problem: what comes after the network, or
//! instead of it.
//!
//! Strings of neighbouring customers are taken out of a few adjacent routes and put back one by one
//! where they cost least; simulated annealing decides whether the result is kept (Christiaens and
//! Vanden Berghe, "Slack induction by string removals for vehicle routing problems",
//! Transportation Science 54, 2020). Before and after, a descent moves, swaps and turns short
//! segments and the ends of routes until nothing gains. Where several vehicles may serve one customer,
//! customers are put back in parts too, and the descent takes them out and puts them back one by one.
//!
//! ```
//! use regard_routing::local_search::vrp::{Vrp, VrpOptions, construct, improve};
//! use regard_routing::Sites;
//!
//! # fn main() -> regard_data::Result<()> {
//! // The depot between two pairs of customers; a vehicle has room for one pair.
//! let sites = Sites::euclidean("pairs", vec![[0.0, 0.0], [3.0, 0.0], [-3.0, 0.0], [3.0, 4.0], [-3.0, 4.0]])?;
//! let demands = [0.0, 1.0, 1.0, 1.0, 1.0];
//! let vrp = Vrp::new(&sites, &demands, 2.0);
//! let improved = improve(&vrp, vec![vec![1, 2], vec![3, 4]], &VrpOptions::default(), None);
//! assert_eq!((improved.before, improved.after), (28.0, 24.0));
//! assert_eq!(construct(&vrp, None).len(), 2);
//! # Ok(())
//! # }
//! ```

mod anneal;
mod descent;
mod growth;
mod plan;
mod recreate;
mod route_minimization;
mod ruin;
mod savings;
mod schedule;
mod splits;
#[cfg(test)]
mod tests;
mod times;
mod windows;

use std::panic::resume_unwind;
use std::time::Instant;

use regard_data::cancel::{CancellationToken, run_under};

use crate::Sites;

pub use self::windows::Windows;
use self::{
    anneal::anneal,
    descent::descend,
    growth::Growth,
    plan::Plan,
    schedule::Schedule,
    splits::{Start, Visits, settle},
};
use super::{
    clock::Clock,
    curve,
    distances::{Distances, Row},
    nearest::NearestLeft,
    neighbours::{Choice, Neighbours},
    queue::Queue,
    quick,
    tour::Node,
};

/// The width of the neighbour lists.
const NEIGHBOURS: usize = 60;

/// Iterations per square of the customers beyond which nothing more is found.
const USEFUL: usize = 5000;

/// Sums of fractional demands and lengths may exceed the capacity and the limit by this share:
/// rounding, not overload.
const ROUNDING: f64 = 5e-10;

/// The problem as the search sees it; node 0 is the depot.
#[derive(Clone, Copy, Debug)]
pub struct Vrp<'a> {
    sites: &'a Sites,
    demands: &'a [f64],
    capacity: f64,
    limit: Option<f64>,
    service: f64,
    windows: Option<Windows<'a>>,
    vehicles: Option<usize>,
    /// If true, several vehicles may serve one customer.
    splits: bool,
}

impl<'a> Vrp<'a> {
    /// A problem without a limit on the length of routes. There is one demand per node, the
    /// depot's is not looked at.
    #[must_use]
    pub fn new(sites: &'a Sites, demands: &'a [f64], capacity: f64) -> Self {
        Self { sites, demands, capacity, limit: None, service: 0.0, windows: None, vehicles: None, splits: false }
    }

    /// Limits a route's length plus `service` per customer.
    #[must_use]
    pub fn with_limit(self, limit: Option<f64>, service: f64) -> Self {
        Self { limit, service, ..self }
    }

    /// Demands that service at every node begins within its window; every customer alone must meet them.
    #[must_use]
    pub fn with_windows(self, windows: Windows<'a>) -> Self {
        Self { windows: Some(windows), ..self }
    }

    /// Limits the number of routes with customers.
    #[must_use]
    pub fn with_vehicles(self, vehicles: Option<usize>) -> Self {
        Self { vehicles, ..self }
    }

    /// Lets several vehicles serve one customer, whose demand may be above the capacity; there are no windows then, and
    /// vehicles enough. Routes are driven in their order: each stop receives what is wanted there, or what is left in the
    /// vehicle if that is less.
    #[must_use]
    pub fn with_split_deliveries(self) -> Self {
        Self { windows: None, vehicles: None, splits: true, ..self }
    }

    /// Length of all routes, each from the depot and back to it; service is not counted.
    #[must_use]
    pub fn cost(&self, routes: &[Vec<usize>]) -> f64 {
        routes.iter().map(|route| self.length(route)).sum()
    }

    /// If true, every customer is visited once, or receives its demand at several visits where these are allowed; every
    /// route keeps capacity, limit and windows, and there are vehicles for all routes.
    #[must_use]
    pub fn keeps(&self, routes: &[Vec<usize>]) -> bool {
        self.serves(routes) && self.vehicles.is_none_or(|vehicles| routes_with_customers(routes) <= vehicles)
    }

    /// If true, the routes keep all rules but the number of vehicles.
    fn serves(&self, routes: &[Vec<usize>]) -> bool {
        let n = self.sites.len();
        if self.splits {
            return self.demands.len() == n
                && routes.iter().flatten().all(|&node| node > 0 && node < n)
                && routes.iter().all(|route| self.within_limit(self.length(route), route.len()))
                && splits::deliver_all(self, routes);
        }
        let mut seen = vec![false; n];
        let once =
            routes.iter().flatten().all(|&node| node > 0 && node < n && !std::mem::replace(&mut seen[node], true));
        once && self.demands.len() == n
            && seen.iter().skip(1).all(|&seen| seen)
            && routes.iter().all(|route| self.allows(route))
    }

    /// If true, one route keeps capacity, limit and windows.
    fn allows(&self, route: &[usize]) -> bool {
        let load: f64 = route.iter().map(|&node| self.demands[node]).sum();
        self.holds(load) && self.within_limit(self.length(route), route.len()) && self.in_time(route)
    }

    /// If true, one route meets the windows.
    fn in_time(&self, route: &[usize]) -> bool {
        self.windows.is_none_or(|windows| windows.allow(route, |a, b| self.sites.distance(a, b)))
    }

    /// The time at which vehicles leave the depot, 0 without windows.
    fn opening(&self) -> f64 {
        self.windows.map_or(0.0, |windows| windows.ready[0])
    }

    /// As [`Windows::departure`]; without windows time stands still.
    #[inline]
    fn departure(&self, node: usize, time: f64, distance: f64) -> Option<f64> {
        self.windows.map_or(Some(time), |windows| windows.departure(node, time, distance))
    }

    /// If true, a vehicle holds this load.
    #[inline]
    fn holds(&self, load: f64) -> bool {
        load <= self.capacity * (1.0 + ROUNDING)
    }

    /// If true, a route may have this length with this number of customers.
    #[inline]
    fn within_limit(&self, length: f64, customers: usize) -> bool {
        let total = length + self.service * customers as f64;
        self.limit.is_none_or(|limit| customers == 0 || total <= limit * (1.0 + ROUNDING))
    }

    fn length(&self, route: &[usize]) -> f64 {
        length_by(route, |a, b| self.sites.distance(a, b))
    }

    /// The cost of routes with distances below zero counted as those above: what rounding is measured by, as distances of
    /// both signs may cancel.
    fn size_of_sums(&self, routes: &[Vec<usize>]) -> f64 {
        routes.iter().map(|route| length_by(route, |a, b| self.sites.distance(a, b).abs())).sum()
    }
}

/// Length of a route from the depot and back to it, where this is the distance of two nodes.
fn length_by(route: &[usize], distance: impl Fn(usize, usize) -> f64) -> f64 {
    let Some((&first, &last)) = route.first().zip(route.last()) else {
        return 0.0;
    };
    let path: f64 = route.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    distance(0, first) + path + distance(last, 0)
}

/// Routes that are not empty.
pub(crate) fn routes_with_customers(routes: &[Vec<usize>]) -> usize {
    routes.iter().filter(|route| !route.is_empty()).count()
}

/// Amount of search, and its seed.
#[derive(Clone, Debug)]
pub struct VrpOptions {
    /// Seed of the first chain; the others count on from it.
    pub seed: u64,
    /// Removals and insertions of each chain, 200,000 unless set; 0 leaves only the descent. The
    /// work is bounded by this, so the result depends on nothing but the input.
    pub iterations: usize,
    /// Stops here at the latest if set; a run that meets its deadline depends on the machine.
    pub deadline: Option<Instant>,
    /// Independent chains, one thread each; the best one counts. 1 unless set.
    pub threads: usize,
}

impl Default for VrpOptions {
    fn default() -> Self {
        Self { seed: 1234, iterations: 200_000, deadline: None, threads: 1 }
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Improved {
    /// The routes, customers only; those that were given where nothing better was found.
    pub routes: Vec<Vec<usize>>,
    /// Cost of the routes that were given, in the instance's metric.
    pub before: f64,
    /// Cost of the routes that came out; never more than `before`.
    pub after: f64,
    /// Removals and insertions tried, over all chains.
    pub iterations: u64,
}

/// Progress of a search: the share of its work that is done, and the least cost so far.
pub type Progress<'a> = &'a (dyn Fn(f64, f64) + Sync);

/// Improves routes, and leaves them as they are where nothing better is found.
///
/// The same input, seed, iterations and threads give the same routes everywhere, unless a deadline
/// cuts the search short. `routes` must keep the rules of the problem; otherwise they come back
/// untouched, and the costs are NaN. `progress` hears of the first chain about a hundred times.
#[must_use]
pub fn improve(vrp: &Vrp, routes: Vec<Vec<usize>>, options: &VrpOptions, progress: Option<Progress>) -> Improved {
    if !vrp.keeps(&routes) {
        return Improved { routes, before: f64::NAN, after: f64::NAN, iterations: 0 };
    }
    let before = vrp.cost(&routes);
    if Clock::new(options.deadline).is_over() {
        return Improved { routes, before, after: before, iterations: 0 };
    }
    let search = if vrp.splits { search_without_full_loads } else { search };
    let (found, iterations) = search(vrp, &routes, options, progress);
    let after = vrp.cost(&found);
    if after < before && vrp.keeps(&found) {
        Improved { routes: found, before, after, iterations }
    } else {
        Improved { routes, before, after: before, iterations }
    }
}

/// Routes to start from where there is no network: parallel savings (Clarke and Wright,
/// "Scheduling of vehicles from a central depot to a number of delivery points", Operations
/// Research 12, 1964) between near neighbours.
///
/// Time and memory grow almost linearly with the number of nodes. With a `deadline`, savings between a few near
/// neighbours come first and are improved by a descent; all of them follow where that takes a small part of the time
/// only. Where there is no time for either, routes follow a space-filling curve.
#[must_use]
pub fn construct(vrp: &Vrp, deadline: Option<Instant>) -> Vec<Vec<usize>> {
    construct_named(vrp, deadline).1
}

/// As [`construct`], with the name of how the routes were found.
pub(crate) fn construct_named(vrp: &Vrp, deadline: Option<Instant>) -> (&'static str, Vec<Vec<usize>>) {
    if vrp.splits {
        // What comes after it takes all the time that is left.
        let half = deadline.and_then(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            (deadline - left / 2).checked_add(quick::GRACE)
        });
        let split = splits::nearest_first(vrp, &mut Clock::new(half));
        let (full, rest) = splits::full_loads(vrp);
        let (name, whole) = construct_named(&Vrp { demands: &rest, splits: false, ..*vrp }, deadline);
        let routes: Vec<Vec<usize>> = full.into_iter().map(|node| vec![node]).chain(whole).collect();
        return match split {
            Some(split) if vrp.cost(&split) < vrp.cost(&routes) => ("nearest neighbour", split),
            _ => (name, routes),
        };
    }
    let (name, routes) = match deadline {
        Some(deadline) => savings::construct_quickly(vrp, deadline),
        None => ("savings", savings::construct(vrp)),
    };
    match vrp.vehicles {
        Some(vehicles) if routes_with_customers(&routes) > vehicles => {
            (name, with_fewer_routes(vrp, &routes, vehicles, VrpOptions::default().seed, deadline))
        }
        _ => (name, routes),
    }
}

/// Routes for as few vehicles as were found from `routes`, which keep all rules but the number of vehicles; the search ends
/// where the load needs as many.
#[must_use]
pub fn with_fewest_routes(vrp: &Vrp, routes: &[Vec<usize>], seed: u64, deadline: Option<Instant>) -> Vec<Vec<usize>> {
    if !vrp.serves(routes) {
        return routes.to_vec();
    }
    let load: f64 = vrp.demands.iter().skip(1).sum();
    let least = (load / (vrp.capacity * (1.0 + ROUNDING))).ceil();
    // Without demands one route may do.
    let enough = if least.is_finite() { (least as usize).max(1) } else { 1 };
    with_fewer_routes(vrp, routes, enough, seed, deadline)
}

/// As few routes as were found, but no fewer than `enough`.
fn with_fewer_routes(
    vrp: &Vrp,
    routes: &[Vec<usize>],
    enough: usize,
    seed: u64,
    deadline: Option<Instant>,
) -> Vec<Vec<usize>> {
    let mut clock = Clock::new(deadline);
    let distances = Distances::new(vrp.sites, &mut clock);
    let neighbours = Neighbours::new(vrp.sites, &distances, NEIGHBOURS, Choice::Nearest, &mut clock);
    let iterations = deadline.map_or(VrpOptions::default().iterations, |_| usize::MAX);
    let schedule = Schedule::new(deadline, iterations);
    let visits = Visits::whole(vrp.demands);
    let mut plan = Plan::new(vrp, &distances, &visits, routes);
    route_minimization::reduce(&mut plan, &neighbours, schedule, seed, enough)
}

/// Routes that keep the rules, from routes of which some do not: customers who make a route break a rule are put where
/// they cost least. `None` where there is no place for one.
pub(crate) fn repair(vrp: &Vrp, routes: &[Vec<usize>]) -> Option<Vec<Vec<usize>>> {
    let n = vrp.sites.len();
    let mut seen = vec![false; n];
    let mut kept: Vec<Vec<usize>> = Vec::new();
    for route in routes {
        let (mut part, mut growth) = (Vec::new(), Growth::start(vrp));
        for &node in route.iter().filter(|&&node| node > 0 && node < n) {
            let longer = growth.then(vrp, node);
            if !seen[node] && longer.is_allowed(vrp) {
                part.push(node);
                seen[node] = true;
                growth = longer;
            }
        }
        kept.push(part);
    }
    let absent: Vec<Node> = (1..n).filter(|&node| !seen[node]).map(|node| node as Node).collect();
    let mut clock = Clock::new(None);
    let distances = Distances::new(vrp.sites, &mut clock);
    let neighbours = Neighbours::new(vrp.sites, &distances, NEIGHBOURS, Choice::Nearest, &mut clock);
    let visits = Visits::whole(vrp.demands);
    let mut plan = Plan::new(vrp, &distances, &visits, &kept);
    let served = recreate::put_back(&mut plan, absent, &neighbours);
    (served && plan.keep()).then(|| {
        plan.save();
        plan.saved()
    })
}

/// As [`search`] where deliveries are split: full loads of single customers, which may be very many, are set apart once
/// and not in every step.
fn search_without_full_loads(
    vrp: &Vrp,
    routes: &[Vec<usize>],
    options: &VrpOptions,
    progress: Option<Progress>,
) -> (Vec<Vec<usize>>, u64) {
    let (full, shared, demands) = splits::full_loads_apart(vrp, routes);
    let rest = Vrp { demands: &demands, ..*vrp };
    let cost = splits::cost_of_full(vrp, &full);
    let report = progress.map(|report| move |done, shared: f64| report(done, cost + shared));
    let report = report.as_ref().map(|report| report as Progress);
    let (found, iterations) = search(&rest, &shared, options, report);
    (full.into_iter().map(|node| vec![node]).chain(found).collect(), iterations)
}

/// Descent, annealing in every chain, descent again.
fn search(
    vrp: &Vrp,
    routes: &[Vec<usize>],
    options: &VrpOptions,
    progress: Option<Progress>,
) -> (Vec<Vec<usize>>, u64) {
    let mut clock = Clock::new(options.deadline);
    if clock.is_over() {
        return (routes.to_vec(), 0);
    }
    let distances = Distances::new(vrp.sites, &mut clock);
    let neighbours = Neighbours::new(vrp.sites, &distances, NEIGHBOURS, Choice::Nearest, &mut clock);
    let descend = |routes: &[Vec<usize>]| match vrp.splits {
        true => settle(vrp, &distances, &neighbours, routes, options.deadline),
        false => descend(vrp, &distances, &neighbours, routes, options.deadline),
    };
    let start = Start::of(vrp, &descend(routes));
    let (rest, full) = (Vrp { demands: &start.demands, ..*vrp }, splits::cost_of_full(vrp, &start.full));
    let customers = vrp.sites.len().saturating_sub(1);
    let iterations = options.iterations.min(customers.saturating_mul(customers).saturating_mul(USEFUL));
    let chain = |number: usize| {
        let schedule = Schedule::new(options.deadline, iterations);
        let seed = options.seed.wrapping_add(number as u64);
        let report = progress.filter(|_| number == 0).map(|report| move |done, cost: f64| report(done, full + cost));
        let report = report.as_ref().map(|report| report as Progress);
        let mut plan = Plan::new(&rest, &distances, &start.visits, &start.routes);
        let (found, iterations) = anneal(&mut plan, &neighbours, schedule, seed, report);
        (descend(&start.solution(vrp, found)), iterations)
    };
    let threads = options.threads.max(1);
    let chains: Vec<_> = if threads == 1 {
        vec![chain(0)]
    } else {
        std::thread::scope(|scope| {
            let (chain, cancellation) = (&chain, CancellationToken::current());
            let start = |number: usize| {
                let cancellation = cancellation.clone();
                scope.spawn(move || run_under(cancellation, || chain(number)))
            };
            let running: Vec<_> = (0..threads).map(start).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    };
    let iterations = chains.iter().map(|&(_, iterations)| iterations).sum();
    let cost = |routes: &Vec<Vec<usize>>| vrp.cost(routes);
    let best = chains.into_iter().map(|(routes, _)| routes).min_by(|a, b| cost(a).total_cmp(&cost(b)));
    (best.unwrap_or_else(|| routes.to_vec()), iterations)
}
