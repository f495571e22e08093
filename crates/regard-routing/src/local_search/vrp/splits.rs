//! Split deliveries: a customer may be visited by several vehicles.
//!
//! A vehicle delivers at a stop what is still wanted there, or what is left in it if that is less. Only a delivery that
//! empties the vehicle therefore leaves something to others, and it is the last of its route. So of the visits to a
//! customer one completes the delivery and stands anywhere in its route, while every other one fills what room a route
//! has left and stands at the end; its route is driven before the one that completes. No two routes wait for each other:
//! a circle of routes that share deliveries can be opened at no cost (Dror and Trudeau, "Savings by split delivery
//! routing", Transportation Science 23, 1989).
//!
//! A customer that was taken out is put back whole where there is room, or in parts where these cost less together
//! (Boudia, Prins and Reghioui, "An effective memetic algorithm with population management for the split delivery vehicle
//! routing problem", Hybrid Metaheuristics 2007, section 4.1).

use std::ops::Range;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    Clock, Distances, NearestLeft, Neighbours, Node, Queue, ROUNDING, Vrp, descend,
    plan::{NOWHERE, Plan, Stop},
    recreate::{BLINK, Recreate},
    ruin::Ruin,
};

/// Visits to a customer beyond the one that completes the delivery.
const FURTHER: usize = 3;

/// So many neighbours of a customer are tried.
const LOOKED_AT: usize = 20;

/// Probability that parts are preferred although they cost more: a customer whose delivery fills the gaps of other routes
/// makes room for the next one, which the cost of its own places does not show.
const FAVOURED: f64 = 0.5;

/// They may then cost up to this share more.
const MOST_FAVOUR: f64 = 0.3;

/// The nearest customer is found this many times before the clock is asked.
pub(super) const FEW_STEPS: usize = 1000;

/// Neighbours of a customer that are looked at again after its deliveries have moved.
const NEAR: usize = 12;

/// Numbers of visits: the node of a customer is the visit that completes the delivery, and more numbers follow those of
/// the nodes where deliveries are split.
pub(super) struct Visits {
    nodes: usize,
    /// Amounts to begin with, by visit.
    amounts: Vec<f64>,
    /// Customers of the visits that follow the nodes.
    customers: Vec<Node>,
    /// First of these visits, by node; empty where deliveries are whole.
    first: Vec<Node>,
}

impl Visits {
    /// One visit to every customer.
    pub(super) fn whole(demands: &[f64]) -> Self {
        Self { nodes: demands.len(), amounts: demands.to_vec(), customers: Vec::new(), first: Vec::new() }
    }

    /// Number of visits, that of the depot among them.
    pub(super) fn len(&self) -> usize {
        self.amounts.len()
    }

    pub(super) fn amounts(&self) -> &[f64] {
        &self.amounts
    }

    /// The node of a visit, 0 for one of the depot.
    #[inline]
    pub(super) fn node(&self, visit: Node) -> Node {
        if (visit as usize) < self.nodes {
            return visit;
        }
        self.customers.get(visit as usize - self.nodes).copied().unwrap_or(0)
    }

    /// Visits to a customer beside the one that completes the delivery.
    pub(super) fn further(&self, customer: Node) -> Range<Node> {
        match self.first.get(customer as usize..customer as usize + 2) {
            Some(&[from, until]) => from..until,
            _ => 0..0,
        }
    }

    fn completes(&self, visit: usize) -> bool {
        visit < self.nodes
    }
}

/// Where a search starts: the routes to change, of [`Visits`], and what is left out of the search.
pub(super) struct Start {
    pub(super) visits: Visits,
    pub(super) routes: Vec<Vec<usize>>,
    /// Demands `[nodes]` that the routes serve.
    pub(super) demands: Vec<f64>,
    /// Customers of routes with one stop that takes all of the vehicle.
    pub(super) full: Vec<usize>,
}

impl Start {
    /// The start from routes of customers. Where deliveries are split, the routes are in the order in which they are driven
    /// and deliver everything.
    pub(super) fn of(vrp: &Vrp, routes: &[Vec<usize>]) -> Self {
        if !vrp.splits {
            let (visits, demands) = (Visits::whole(vrp.demands), vrp.demands.to_vec());
            return Self { visits, routes: routes.to_vec(), demands, full: Vec::new() };
        }
        let n = vrp.sites.len();
        let (full, shared) = full_and_shared(vrp, routes);
        let demands = amounts_in_all(n, &shared);
        let mut counts = vec![0_usize; n];
        shared.iter().flatten().for_each(|&(node, _)| counts[node] += 1);
        let (mut first, mut customers) = (vec![n as Node], Vec::new());
        for (node, &count) in counts.iter().enumerate() {
            let further = if count == 0 { 0 } else { FURTHER.max(count - 1) };
            customers.extend(std::iter::repeat_n(node as Node, further));
            first.push((n + customers.len()) as Node);
        }
        let mut visits = Visits { nodes: n, amounts: vec![0.0; n + customers.len()], customers, first };
        let mut visit_of = |(node, amount): (usize, f64)| {
            counts[node] -= 1;
            let visit = match counts[node] {
                0 => node,
                left => visits.first[node] as usize + left - 1,
            };
            visits.amounts[visit] = amount;
            visit
        };
        let routes = shared.into_iter().map(|route| route.into_iter().map(&mut visit_of).collect()).collect();
        Self { visits, routes, demands, full }
    }

    /// The routes of customers for routes of visits, in an order in which they deliver everything.
    pub(super) fn solution(&self, vrp: &Vrp, mut routes: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        if !vrp.splits {
            return routes;
        }
        let mut route_of = vec![0; self.visits.nodes];
        for (number, route) in routes.iter_mut().enumerate() {
            // What another route completes is the last one to be delivered.
            if let [first, .., last] = route[..]
                && !self.visits.completes(first)
                && self.visits.completes(last)
            {
                route.reverse();
            }
            route.iter().filter(|&&visit| self.visits.completes(visit)).for_each(|&visit| route_of[visit] = number);
        }
        // The route that completes what this one leaves open.
        let completed_by = |&number: &usize| {
            let &last = routes[number].last()?;
            (!self.visits.completes(last)).then(|| route_of[self.visits.node(last as Node) as usize])
        };
        let mut waits = vec![None; routes.len()];
        for number in 0..routes.len() {
            let chain: Vec<usize> = std::iter::successors(Some(number), completed_by)
                .take_while(|&route| waits[route].is_none())
                .take(routes.len())
                .collect();
            let known = chain.last().and_then(&completed_by).and_then(|route| waits[route]);
            let after = known.map_or(0, |steps: usize| steps + 1);
            chain.iter().rev().enumerate().for_each(|(steps, &route)| waits[route] = Some(after + steps));
        }
        let mut order: Vec<usize> = (0..routes.len()).collect();
        order.sort_by_key(|&number| std::cmp::Reverse(waits[number]));
        let customers =
            |number: usize| routes[number].iter().map(|&visit| self.visits.node(visit as Node) as usize).collect();
        let all: Vec<Vec<usize>> =
            self.full.iter().map(|&node| vec![node]).chain(order.into_iter().map(customers)).collect();
        let mut visited = Vec::with_capacity(all.len());
        deliver(vrp, &all, |stops| visited.push(customers_of(stops)));
        visited
    }
}

/// Cost of full loads of these customers.
pub(super) fn cost_of_full(vrp: &Vrp, full: &[usize]) -> f64 {
    full.iter().map(|&node| vrp.length(&[node])).sum()
}

/// The customers of full loads, which the search leaves out, the other routes, and what these deliver `[nodes]`. The full
/// loads and then the others are a solution again.
pub(super) fn full_loads_apart(vrp: &Vrp, routes: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>, Vec<f64>) {
    let (full, shared) = full_and_shared(vrp, routes);
    let demands = amounts_in_all(vrp.sites.len(), &shared);
    (full, shared.iter().map(|stops| customers_of(stops)).collect(), demands)
}

/// The customers of full loads, which the search leaves out, and the deliveries of the other routes.
fn full_and_shared(vrp: &Vrp, routes: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<(usize, f64)>>) {
    // Nothing is won by splitting a full load, unless routes with a limit have room for parts of it only: one of each
    // customer stays in the search then.
    let mut searched = vec![vrp.limit.is_none(); vrp.sites.len()];
    let full_load = |stops: &[(usize, f64)]| match *stops {
        [(node, amount)] if amount >= vrp.capacity => Some(node),
        _ => None,
    };
    if vrp.limit.is_some() {
        deliver(vrp, routes, |stops| {
            if full_load(stops).is_none() {
                stops.iter().for_each(|&(node, _)| searched[node] = true);
            }
        });
    }
    // No list for each full load: there may be a million.
    let (mut full, mut shared) = (Vec::new(), Vec::new());
    deliver(vrp, routes, |stops| match full_load(stops) {
        Some(node) if std::mem::replace(&mut searched[node], true) => full.push(node),
        _ => shared.push(stops.to_vec()),
    });
    (full, shared)
}

/// The amounts that routes deliver to every node `[nodes]`.
fn amounts_in_all(nodes: usize, routes: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut amounts = vec![0.0; nodes];
    routes.iter().flatten().for_each(|&(node, amount)| amounts[node] += amount);
    amounts
}

fn customers_of(stops: &[(usize, f64)]) -> Vec<usize> {
    stops.iter().map(|&(node, _)| node).collect()
}

/// If true, routes that are driven in this order deliver everything.
pub(super) fn deliver_all(vrp: &Vrp, routes: &[Vec<usize>]) -> bool {
    deliver(vrp, routes, |_| {}).iter().skip(1).all(|&open| is_nothing(vrp, open))
}

/// If true, an amount is none, or a fraction that the rounding of sums has left.
fn is_nothing(vrp: &Vrp, amount: f64) -> bool {
    amount <= 0.0 || amount.fract() != 0.0 && amount <= ROUNDING * vrp.capacity
}

/// Passes the customers and amounts of all stops that deliver something to `take`, route by route, those without any left
/// out; returns what is left to deliver `[nodes]`.
fn deliver(vrp: &Vrp, routes: &[Vec<usize>], mut take: impl FnMut(&[(usize, f64)])) -> Vec<f64> {
    let mut open = vrp.demands.to_vec();
    let rounding = ROUNDING * vrp.capacity;
    let mut stops = Vec::new();
    for route in routes {
        let mut room = vrp.capacity;
        let deliver = |&node: &usize| {
            let amount = if open[node] <= room + rounding { open[node] } else { room };
            (!is_nothing(vrp, amount)).then(|| {
                open[node] -= amount;
                room -= amount;
                (node, amount)
            })
        };
        stops.clear();
        stops.extend(route.iter().filter_map(deliver));
        if !stops.is_empty() {
            take(&stops);
        }
    }
    open
}

/// Routes to the nearest customer that wants something, each until its vehicle is empty or the next one is too far; `None`
/// where the clock left no time for them.
pub(super) fn nearest_first(vrp: &Vrp, clock: &mut Clock) -> Option<Vec<Vec<usize>>> {
    to_nearest(vrp, NearestLeft::of_sites(vrp.sites), clock)
}

/// As [`nearest_first`], by what is near in `left`, from which no node was removed.
pub(super) fn to_nearest(vrp: &Vrp, mut left: NearestLeft, clock: &mut Clock) -> Option<Vec<Vec<usize>>> {
    let mut open = vrp.demands.to_vec();
    open[0] = 0.0;
    (0..open.len()).filter(|&node| is_nothing(vrp, open[node])).for_each(|node| left.remove(node));
    let mut routes: Vec<Vec<usize>> = Vec::new();
    let (mut route, mut room, mut path) = (Vec::new(), vrp.capacity, 0.0);
    for step in 1_usize.. {
        // Few customers are served however late it is.
        if step > FEW_STEPS && clock.is_over() {
            return None;
        }
        let here = route.last().copied().unwrap_or(0);
        let next = if is_nothing(vrp, room) { None } else { left.nearest(here) };
        let fits = |&node: &usize| {
            let ahead = path + vrp.sites.distance(here, node);
            vrp.within_limit(ahead + vrp.sites.distance(node, 0), route.len() + 1)
        };
        match next.filter(|node| route.is_empty() || fits(node)) {
            Some(node) if route.is_empty() && open[node] >= vrp.capacity => {
                // Full loads leave the same customer the nearest one, so that it is looked for once.
                while open[node] >= vrp.capacity {
                    open[node] -= vrp.capacity;
                    routes.push(vec![node]);
                }
                if is_nothing(vrp, open[node]) {
                    left.remove(node);
                }
            }
            Some(node) => {
                path += vrp.sites.distance(here, node);
                let amount = open[node].min(room);
                (open[node], room) = (open[node] - amount, room - amount);
                if is_nothing(vrp, open[node]) {
                    left.remove(node);
                }
                route.push(node);
            }
            None if route.is_empty() => break,
            None => {
                routes.push(std::mem::take(&mut route));
                (room, path) = (vrp.capacity, 0.0);
            }
        }
    }
    Some(routes)
}

/// The customers of full loads, and the demands that are left: none above the capacity.
pub(super) fn full_loads(vrp: &Vrp) -> (Vec<usize>, Vec<f64>) {
    let (mut full, mut rest) = (Vec::new(), vrp.demands.to_vec());
    for (node, demand) in rest.iter_mut().enumerate().skip(1) {
        while *demand > vrp.capacity {
            *demand -= vrp.capacity;
            full.push(node);
        }
    }
    (full, rest)
}

/// The cheapest places in a route that has too little room for the whole demand.
struct Offer {
    route: u32,
    room: f64,
    /// Anywhere, for what completes the delivery.
    cost: f64,
    before: Node,
    /// At an end, for what fills the vehicle; infinite where another delivery does that.
    end_cost: f64,
    end: Node,
}

/// Places for one customer; keeps its lists from one to the next.
pub(super) struct Splitting {
    offers: Vec<Offer>,
    /// Number of the offer of every route, from 1; 0 for none.
    listed: Vec<u32>,
    demand: f64,
    /// The least cost so far, and the place where the customer is put whole for it.
    least: f64,
    whole: Option<Node>,
    /// Offers that are cheaper together: the last one completes the delivery, the others are filled.
    parts: Vec<usize>,
    /// Probability that parts may cost more than a whole delivery.
    favoured: f64,
    /// Share of the cost of a whole delivery that they may cost more.
    favour: f64,
}

impl Splitting {
    /// Prefers parts now and then although they cost more.
    pub(super) fn new() -> Self {
        let (offers, listed, parts) = (Vec::new(), Vec::new(), Vec::new());
        let (favoured, favour) = (FAVOURED, 0.0);
        Self { offers, listed, demand: 0.0, least: f64::INFINITY, whole: None, parts, favoured, favour }
    }

    /// Always takes what costs least.
    pub(super) fn plain() -> Self {
        Self { favoured: 0.0, ..Self::new() }
    }

    /// Puts an absent customer where it costs least, whole or in parts; false if there is no place. `home` are the distances
    /// from the depot and to it, `ruined` the routes whose ends are looked at.
    pub(super) fn put_in(
        &mut self,
        plan: &mut Plan,
        node: Node,
        home: [f64; 2],
        ruined: &[u32],
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) -> bool {
        self.favour = if random.random_bool(self.favoured) { MOST_FAVOUR * random.random::<f64>() } else { 0.0 };
        self.collect(plan, node, home, ruined, neighbours, random);
        self.least = self.bound();
        self.choose_two(plan, random);
        self.choose_more(plan, plan.visits_to(node).count(), random);
        let Some((&last, filled)) = self.parts.split_last() else {
            let Some(before) = self.whole else { return false };
            plan.put_in_amount(node, before, self.demand);
            return true;
        };
        let rest = filled.iter().fold(self.demand, |rest, &part| rest - self.offers[part].room);
        plan.put_in_amount(node, self.offers[last].before, rest);
        for (visit, &part) in plan.visits_to(node).skip(1).zip(filled) {
            plan.put_in_amount(visit, self.offers[part].end, self.offers[part].room);
        }
        true
    }

    /// Looks at a route of its own, on both sides of the neighbours and at both ends of the ruined routes.
    fn collect(
        &mut self,
        plan: &mut Plan,
        node: Node,
        [out, back]: [f64; 2],
        ruined: &[u32],
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) {
        for offer in self.offers.drain(..) {
            self.listed[offer.route as usize] = 0;
        }
        self.parts.clear();
        (self.demand, self.least, self.whole) = (plan.vrp.demands[node as usize], f64::INFINITY, None);
        let empty = plan.an_empty_route();
        self.listed.resize(plan.sizes.len(), 0);
        let plan = &*plan;
        self.look(plan, plan.depot_of(empty), out + back, random);
        let distances = plan.distances;
        for (neighbour, near) in neighbours.of(node).take(LOOKED_AT) {
            let (from, to) = match distances.are_symmetric() {
                true => (near, near),
                false => (distances.of(neighbour, node), distances.of(node, neighbour)),
            };
            for visit in plan.visits_to(neighbour) {
                let Stop { before, after, route, ahead } = plan.stops[visit as usize];
                if route == NOWHERE {
                    break;
                }
                let cost = from + distances.of(node, plan.site(after)) - ahead;
                self.look(plan, visit, cost, random);
                if plan.is_depot(before) {
                    self.look(plan, before, out + to - plan.stops[before as usize].ahead, random);
                }
            }
        }
        for &route in ruined {
            let depot = plan.depot_of(route);
            let Stop { before: last, after: first, ahead, .. } = plan.stops[depot as usize];
            if first != depot {
                self.look(plan, depot, out + distances.of(node, plan.site(first)) - ahead, random);
                let from_last = distances.of(plan.site(last), node);
                self.look(plan, last, from_last + back - plan.stops[last as usize].ahead, random);
            }
        }
    }

    /// Parts may cost less than this together.
    fn bound(&self) -> f64 {
        if self.least < f64::INFINITY { self.least + self.favour * self.least.abs() } else { f64::INFINITY }
    }

    /// Takes note of a place behind a stop if the rules allow it there. As in [`super::recreate`], a place that would be
    /// taken is overlooked now and then, but not that in a route of its own.
    fn look(&mut self, plan: &Plan, before: Node, cost: f64, random: &mut Pcg64Mcg) {
        let Stop { after, route, .. } = plan.stops[before as usize];
        let at = route as usize;
        if cost >= self.bound() || !plan.vrp.within_limit(plan.lengths[at] + cost, plan.sizes[at] as usize + 1) {
            return;
        }
        let (is_first, is_last) = (plan.is_depot(before), plan.is_depot(after));
        let turns = plan.distances.are_symmetric();
        if let Some(open) = plan.open_end(route) {
            // It stays at an end: at one of two where it is alone and the route may be turned.
            let moves = is_last && before == open || is_first && after == open && turns;
            if moves && !(turns && plan.sizes[at] == 1) {
                return;
            }
        }
        let room = plan.vrp.capacity - plan.loads[at];
        if plan.loads[at] + self.demand <= plan.vrp.capacity * (1.0 + ROUNDING) {
            if cost < self.least && (is_first && is_last || random.random::<f64>() >= BLINK) {
                (self.least, self.whole) = (cost, Some(before));
            }
            // What completes a delivery costs no less than a whole one, so that parts are cheaper without it.
            if self.favour == 0.0 {
                return;
            }
        }
        if is_nothing(plan.vrp, room) {
            return;
        }
        let number = &mut self.listed[at];
        if *number == 0 {
            let (cost, end_cost) = (f64::INFINITY, f64::INFINITY);
            self.offers.push(Offer { route, room, cost, before, end_cost, end: before });
            *number = self.offers.len() as u32;
        }
        let offer = &mut self.offers[*number as usize - 1];
        if cost < offer.cost {
            (offer.cost, offer.before) = (cost, before);
        }
        let at_end = is_last || is_first && turns;
        if at_end && cost < offer.end_cost && plan.open_end(route).is_none() {
            (offer.end_cost, offer.end) = (cost, before);
        }
    }

    /// Fills one route and completes the delivery in another where that is cheaper.
    fn choose_two(&mut self, plan: &Plan, random: &mut Pcg64Mcg) {
        let cheapest = self.offers.iter().map(|offer| offer.cost).fold(f64::INFINITY, f64::min);
        for (filled, first) in self.offers.iter().enumerate() {
            if first.end_cost + cheapest >= self.least || first.room >= self.demand {
                continue;
            }
            for (completed, last) in self.offers.iter().enumerate() {
                let cost = first.end_cost + last.cost;
                if cost < self.least
                    && first.room + last.room >= self.demand
                    && filled != completed
                    && plan.can_precede(first.route, last.route)
                    && random.random::<f64>() >= BLINK
                {
                    self.least = cost;
                    self.parts.clear();
                    self.parts.extend([filled, completed]);
                }
            }
        }
    }

    /// Fills several routes, those first that cost least for their room, and completes the delivery in one more where
    /// that is cheaper; there are so many visits.
    fn choose_more(&mut self, plan: &Plan, visits: usize, random: &mut Pcg64Mcg) {
        let mut ends: Vec<usize> = (0..self.offers.len())
            .filter(|&i| self.offers[i].end_cost < self.least && self.offers[i].room < self.demand)
            .collect();
        if ends.len() < 2 {
            return;
        }
        let ratio = |&i: &usize| self.offers[i].end_cost / self.offers[i].room;
        ends.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let (mut cost, mut rest) = (0.0, self.demand);
        for filled in 1..visits.min(ends.len() + 1) {
            let offer = &self.offers[ends[filled - 1]];
            (cost, rest) = (cost + offer.end_cost, rest - offer.room);
            if cost >= self.least || rest <= 0.0 {
                break;
            }
            if filled == 1 {
                continue;
            }
            let filled = &ends[..filled];
            for (completed, last) in self.offers.iter().enumerate() {
                if cost + last.cost < self.least
                    && last.room >= rest
                    && !filled.contains(&completed)
                    && filled.iter().all(|&i| plan.can_precede(self.offers[i].route, last.route))
                    && random.random::<f64>() >= BLINK
                {
                    self.least = cost + last.cost;
                    self.parts.clear();
                    self.parts.extend(filled.iter().copied().chain([completed]));
                }
            }
        }
    }
}

/// Takes out one customer after another and puts each back where it costs least, until none gains or the deadline has
/// passed; deliveries that are all whole are improved by [`descend`] before.
pub(super) fn settle(
    vrp: &Vrp,
    distances: &Distances,
    neighbours: &Neighbours,
    routes: &[Vec<usize>],
    deadline: Option<Instant>,
) -> Vec<Vec<usize>> {
    let mut start = Start::of(vrp, routes);
    let rest = Vrp { demands: &start.demands, ..*vrp };
    if start.routes.iter().flatten().all(|&visit| start.visits.completes(visit)) {
        start.routes = descend(&rest, distances, neighbours, &start.routes, deadline);
    }
    let mut plan = Plan::new(&rest, distances, &start.visits, &start.routes);
    let mut clock = Clock::new(deadline);
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let (mut ruin, mut recreate) = (Ruin::new(), Recreate::with(&plan, Splitting::plain()));
    let mut queue = Queue::new(vrp.sites.len());
    (1..vrp.sites.len()).for_each(|node| queue.push(node as Node));
    let tolerance = 1e-9 * plan.cost().abs() / vrp.sites.len() as f64;
    while let Some(node) = queue.pop() {
        if clock.is_over() {
            break;
        }
        ruin.take_out(&mut plan, node);
        recreate.recreate(&mut plan, &mut ruin, neighbours, &mut random);
        if plan.change < -tolerance && ruin.absent.is_empty() && plan.keep() {
            queue.push(node);
            neighbours.of(node).take(NEAR).filter(|&(near, _)| near > 0).for_each(|(near, _)| queue.push(near));
        } else {
            plan.take_back();
        }
    }
    plan.save();
    start.solution(vrp, plan.saved())
}
