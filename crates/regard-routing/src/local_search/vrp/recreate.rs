//! Putting customers back, one by one, where each costs least (section 5.4 of the paper).
//!
//! Places are tried behind the neighbours of the customer, at both ends of the routes that were
//! ruined and in a route of its own. Now and then a place is overlooked, a "blink".

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use super::{
    Clock, Neighbours, Node, ROUNDING, Row,
    plan::{Plan, Stop},
    ruin::Ruin,
    splits::Splitting,
};

/// The share of places that are overlooked.
pub(super) const BLINK: f64 = 0.01;

/// Puts customers back.
pub(super) struct Recreate {
    /// Distance of every node from the depot, and back to it.
    from_depot: Vec<f64>,
    to_depot: Vec<f64>,
    /// Places where deliveries are split.
    splitting: Splitting,
    /// Once it is over, customers stay absent.
    clock: Option<Clock>,
}

impl Recreate {
    pub(super) fn new(plan: &Plan) -> Self {
        Self::with(plan, Splitting::new())
    }

    /// As [`Recreate::new`], with this choice of places where deliveries are split.
    pub(super) fn with(plan: &Plan, splitting: Splitting) -> Self {
        let from_depot = (0..plan.vrp.sites.len()).map(|node| plan.distances.of(0, node as Node)).collect();
        let to_depot = (0..plan.vrp.sites.len()).map(|node| plan.distances.of(node as Node, 0)).collect();
        Self { from_depot, to_depot, splitting, clock: None }
    }

    /// Leaves customers absent once this clock is over: a long route with windows takes a step per stop for each of them.
    pub(super) fn until(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Puts every absent customer back; those for which there is no place or no time stay absent.
    pub(super) fn recreate(
        &mut self,
        plan: &mut Plan,
        ruin: &mut Ruin,
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) {
        self.sort(plan, &mut ruin.absent, random);
        plan.form_times();
        let Ruin { absent, routes, .. } = ruin;
        if plan.vrp.splits {
            let Self { from_depot, to_depot, splitting, .. } = self;
            let home = |node: Node| [from_depot[node as usize], to_depot[node as usize]];
            absent.retain(|&node| !splitting.put_in(plan, node, home(node), routes, neighbours, random));
            return;
        }
        absent.retain(|&node| {
            if self.clock.as_mut().is_some_and(Clock::is_over) {
                return true;
            }
            let place = self.cheapest(plan, node, routes, neighbours, random);
            if let Some(before) = place {
                plan.put_in(node, before);
            }
            place.is_none()
        });
    }

    /// At random, by demand, farthest first or nearest first, with weights 4, 4, 2 and 1; where there are windows also
    /// the narrowest first, by their begins and by their ends last first, with a weight of 2 each.
    fn sort(&self, plan: &Plan, absent: &mut [Node], random: &mut Pcg64Mcg) {
        let demand = |node: &Node| plan.vrp.demands[*node as usize];
        let far = |node: &Node| self.from_depot[*node as usize];
        absent.shuffle(random);
        let ways = if plan.vrp.windows.is_some() { 17 } else { 11 };
        match (random.random_range(0..ways), plan.vrp.windows) {
            (0..4, _) => {}
            (4..8, _) => absent.sort_by(|a, b| demand(b).total_cmp(&demand(a))),
            (8..10, _) => absent.sort_by(|a, b| far(b).total_cmp(&far(a))),
            (10, _) => absent.sort_by(|a, b| far(a).total_cmp(&far(b))),
            (..13, Some(windows)) => {
                let width = |node: &Node| windows.due[*node as usize] - windows.ready[*node as usize];
                absent.sort_by(|a, b| width(a).total_cmp(&width(b)));
            }
            (..15, Some(windows)) => {
                absent.sort_by(|a, b| windows.ready[*a as usize].total_cmp(&windows.ready[*b as usize]));
            }
            (_, Some(windows)) => {
                absent.sort_by(|a, b| windows.due[*b as usize].total_cmp(&windows.due[*a as usize]));
            }
            (_, None) => {}
        }
    }

    /// The stop behind which a customer costs least; `None` where it fits nowhere and there is no vehicle left.
    fn cheapest(
        &self,
        plan: &mut Plan,
        node: Node,
        ruined: &[u32],
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) -> Option<Node> {
        let home = [self.from_depot[node as usize], self.to_depot[node as usize]];
        let demand = plan.vrp.demands[node as usize];
        let room = plan.vrp.capacity * (1.0 + ROUNDING) - demand;
        let alone = plan.has_vehicle().then(|| {
            let route = plan.an_empty_route();
            plan.depot_of(route)
        });
        let least = if alone.is_some() { home[0] + home[1] } else { f64::INFINITY };
        let mut place = Place { plan, room, least, before: alone };
        let distances = plan.distances;
        match distances.row(node) {
            _ if !distances.are_symmetric() => {
                let from = |other: Node, _| distances.of(other, node);
                place.look(node, home, ruined, neighbours, (from, |other| distances.of(node, other)), random);
            }
            Row::Narrow(row) => {
                let to = |other: Node| f64::from(row[other as usize]);
                let from = |other, listed: Option<f64>| listed.unwrap_or_else(|| to(other));
                place.look(node, home, ruined, neighbours, (from, to), random);
            }
            Row::Wide(row) => {
                let to = |other: Node| row[other as usize];
                let from = |other, listed: Option<f64>| listed.unwrap_or_else(|| to(other));
                place.look(node, home, ruined, neighbours, (from, to), random);
            }
            Row::Computed(sites) => {
                let to = |other: Node| sites.distance(node as usize, other as usize);
                let from = |other, listed: Option<f64>| listed.unwrap_or_else(|| to(other));
                place.look(node, home, ruined, neighbours, (from, to), random);
            }
        }
        place.before
    }
}

/// Puts these absent customers into routes; false where there was no place for one.
pub(super) fn put_back(plan: &mut Plan, absent: Vec<Node>, neighbours: &Neighbours) -> bool {
    let routes = (1..plan.sizes.len() as u32).filter(|&route| plan.sizes[route as usize] > 0).collect();
    let mut ruin = Ruin::of(routes, absent);
    Recreate::new(plan).recreate(plan, &mut ruin, neighbours, &mut Pcg64Mcg::seed_from_u64(0));
    ruin.absent.is_empty()
}

/// The cheapest place so far.
struct Place<'a, 'b> {
    plan: &'a Plan<'b>,
    /// Routes with at most this load can take the customer.
    room: f64,
    least: f64,
    before: Option<Node>,
}

impl Place<'_, '_> {
    /// Looks behind the neighbours of `node` and at both ends of the ruined routes; `home` are the distances from the depot
    /// and to it. `from` gives the distance from a node, which the list of neighbours may have, and `to` that to a node.
    #[inline]
    fn look(
        &mut self,
        node: Node,
        home: [f64; 2],
        ruined: &[u32],
        neighbours: &Neighbours,
        (from, to): (impl Fn(Node, Option<f64>) -> f64, impl Fn(Node) -> f64),
        random: &mut Pcg64Mcg,
    ) {
        let plan = self.plan;
        for (neighbour, distance) in neighbours.of(node) {
            let stop = &plan.stops[neighbour as usize];
            let behind = from(neighbour, Some(distance));
            let ahead = to(plan.site(stop.after));
            let cost = behind + ahead - stop.ahead;
            if cost < self.least {
                self.offer(node, neighbour, cost, [behind, ahead], random);
            }
        }
        let [out, back] = home;
        for &route in ruined {
            let depot = plan.depot_of(route);
            let Stop { before: last, after: first, ahead, .. } = plan.stops[depot as usize];
            if first == depot {
                continue;
            }
            let to_first = to(first);
            let cost = out + to_first - ahead;
            if cost < self.least {
                self.offer(node, depot, cost, [out, to_first], random);
            }
            let from_last = from(last, None);
            let cost = back + from_last - plan.stops[last as usize].ahead;
            if cost < self.least {
                self.offer(node, last, cost, [from_last, back], random);
            }
        }
    }

    /// Takes a cheaper place if the route has room and it is not overlooked. Only places that would
    /// be taken need a draw: overlooking any other changes nothing. `distances` are those from `before` and to the stop
    /// behind it.
    fn offer(&mut self, node: Node, before: Node, cost: f64, distances: [f64; 2], random: &mut Pcg64Mcg) {
        let plan = self.plan;
        let at = plan.stops[before as usize].route as usize;
        if plan.loads[at] <= self.room
            && plan.vrp.within_limit(plan.lengths[at] + cost, plan.sizes[at] as usize + 1)
            && plan.in_time(node, before, distances)
            && random.random::<f64>() >= BLINK
        {
            (self.least, self.before) = (cost, Some(before));
        }
    }
}
