//! Putting customers back, one by one, where each costs least (section 5.4 of the paper).
//!
//! Places are tried behind the neighbours of the customer, at both ends of the routes that were
//! ruined and in a route of its own. Now and then a place is overlooked, a "blink".

use rand::{RngExt, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use super::{
    Neighbours, Node, ROUNDING, Row,
    plan::{Plan, Stop},
    ruin::Ruin,
};

/// The share of places that are overlooked.
const BLINK: f64 = 0.01;

/// Puts customers back.
pub(super) struct Recreate {
    /// Distance of every node from the depot.
    from_depot: Vec<f64>,
}

impl Recreate {
    pub(super) fn new(plan: &Plan) -> Self {
        let from_depot = (0..plan.vrp.sites.len()).map(|node| plan.distances.of(0, node as Node)).collect();
        Self { from_depot }
    }

    /// Puts every absent customer back.
    pub(super) fn recreate(&self, plan: &mut Plan, ruin: &mut Ruin, neighbours: &Neighbours, random: &mut Pcg64Mcg) {
        self.sort(plan, &mut ruin.absent, random);
        for &node in &ruin.absent {
            let before = self.cheapest(plan, node, &ruin.routes, neighbours, random);
            plan.put_in(node, before);
        }
    }

    /// At random, by demand, farthest first or nearest first, with weights 4, 4, 2 and 1.
    fn sort(&self, plan: &Plan, absent: &mut [Node], random: &mut Pcg64Mcg) {
        let demand = |node: &Node| plan.vrp.demands[*node as usize];
        let far = |node: &Node| self.from_depot[*node as usize];
        absent.shuffle(random);
        match random.random_range(0..11) {
            0..4 => {}
            4..8 => absent.sort_by(|a, b| demand(b).total_cmp(&demand(a))),
            8..10 => absent.sort_by(|a, b| far(b).total_cmp(&far(a))),
            _ => absent.sort_by(|a, b| far(a).total_cmp(&far(b))),
        }
    }

    /// The stop behind which a customer costs least.
    fn cheapest(
        &self,
        plan: &mut Plan,
        node: Node,
        ruined: &[u32],
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) -> Node {
        let alone = plan.an_empty_route();
        let home = self.from_depot[node as usize];
        let demand = plan.vrp.demands[node as usize];
        let room = plan.vrp.capacity * (1.0 + ROUNDING) - demand;
        let mut place = Place { plan, room, least: 2.0 * home, before: plan.depot_of(alone) };
        match plan.distances.row(node) {
            Row::Narrow(row) => {
                place.look(node, home, ruined, neighbours, |other| f64::from(row[other as usize]), random)
            }
            Row::Wide(row) => place.look(node, home, ruined, neighbours, |other| row[other as usize], random),
            Row::Computed(sites) => {
                place.look(
                    node,
                    home,
                    ruined,
                    neighbours,
                    |other| sites.distance(node as usize, other as usize),
                    random,
                );
            }
        }
        place.before
    }
}

/// The cheapest place so far.
struct Place<'a, 'b> {
    plan: &'a Plan<'b>,
    /// Routes with at most this load can take the customer.
    room: f64,
    least: f64,
    before: Node,
}

impl Place<'_, '_> {
    /// Looks behind the neighbours of `node` and at both ends of the ruined routes.
    #[inline]
    fn look(
        &mut self,
        node: Node,
        home: f64,
        ruined: &[u32],
        neighbours: &Neighbours,
        distance_to: impl Fn(Node) -> f64,
        random: &mut Pcg64Mcg,
    ) {
        let plan = self.plan;
        for (neighbour, distance) in neighbours.of(node) {
            let stop = &plan.stops[neighbour as usize];
            let cost = distance + distance_to(plan.site(stop.after)) - stop.ahead;
            if cost < self.least {
                self.offer(neighbour, cost, stop.route, random);
            }
        }
        for &route in ruined {
            let depot = plan.depot_of(route);
            let Stop { before: last, after: first, ahead, .. } = plan.stops[depot as usize];
            if first == depot {
                continue;
            }
            let cost = home + distance_to(first) - ahead;
            if cost < self.least {
                self.offer(depot, cost, route, random);
            }
            let cost = home + distance_to(last) - plan.stops[last as usize].ahead;
            if cost < self.least {
                self.offer(last, cost, route, random);
            }
        }
    }

    /// Takes a cheaper place if the route has room and it is not overlooked. Only places that would
    /// be taken need a draw: overlooking any other changes nothing.
    fn offer(&mut self, before: Node, cost: f64, route: u32, random: &mut Pcg64Mcg) {
        let (plan, at) = (self.plan, route as usize);
        if plan.loads[at] <= self.room
            && plan.vrp.within_limit(plan.lengths[at] + cost, plan.sizes[at] as usize + 1)
            && random.random::<f64>() >= BLINK
        {
            (self.least, self.before) = (cost, before);
        }
    }
}
