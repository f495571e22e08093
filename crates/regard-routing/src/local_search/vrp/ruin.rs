//! Taking out strings of customers from adjacent routes (sections 5.1 to 5.3 of the paper).

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::{
    Neighbours, Node,
    plan::{NOWHERE, Plan},
};

/// Customers taken out per iteration on average.
const AVERAGE: f64 = 10.0;

/// The longest string.
const LONGEST: f64 = 10.0;

/// Strings taken out per iteration are fewer than this and one more where deliveries are split: routes of few customers
/// would all be ruined otherwise, and parts of their deliveries are taken out of other routes, too.
const MOST_SPLIT: f64 = 6.0;

/// Probability that a string leaves some customers in its middle where they are.
const SPLIT: f64 = 0.5;

/// Probability that one more customer is left there.
const LEFT_MORE: f64 = 0.01;

/// Ruin of routes; keeps its lists between iterations.
pub(super) struct Ruin {
    /// Routes that lost customers, in order.
    pub(super) routes: Vec<u32>,
    /// Customers taken out.
    pub(super) absent: Vec<Node>,
    /// Routes that lost customers because they shared their deliveries.
    shared: Vec<u32>,
    string: Vec<Node>,
}

impl Ruin {
    pub(super) fn new() -> Self {
        Self::of(Vec::new(), Vec::new())
    }

    /// A ruin that took these customers out of these routes.
    pub(super) fn of(routes: Vec<u32>, absent: Vec<Node>) -> Self {
        Self { routes, absent, shared: Vec::new(), string: Vec::new() }
    }

    /// Takes out one customer.
    pub(super) fn take_out(&mut self, plan: &mut Plan, customer: Node) {
        self.routes.clear();
        self.shared.clear();
        self.absent.clear();
        if plan.stops[customer as usize].route != NOWHERE {
            self.take_out_all(plan, customer);
        }
        self.list_shared();
    }

    /// Takes out strings near a random customer, one per route.
    pub(super) fn ruin(&mut self, plan: &mut Plan, neighbours: &Neighbours, random: &mut Pcg64Mcg) {
        self.ruin_and(plan, &[], neighbours, random);
    }

    /// Takes out strings near a random customer, one per route; these customers are absent already.
    pub(super) fn ruin_and(
        &mut self,
        plan: &mut Plan,
        absent: &[Node],
        neighbours: &Neighbours,
        random: &mut Pcg64Mcg,
    ) {
        self.routes.clear();
        self.shared.clear();
        self.absent.clear();
        self.absent.extend(absent);
        let customers = plan.vrp.sites.len() - 1;
        let longest = LONGEST.min(customers as f64 / plan.routes().max(1) as f64);
        let most = 4.0 * AVERAGE / (1.0 + longest) - 1.0;
        let most = if plan.vrp.splits { most.min(MOST_SPLIT) } else { most };
        let strings = (random.random::<f64>() * most + 1.0) as usize;
        let seed = random.random_range(1..=customers) as Node;
        if plan.stops[seed as usize].route != NOWHERE {
            self.take_string(plan, seed, longest, random);
        }
        for (node, _) in neighbours.of(seed) {
            if self.routes.len() >= strings {
                break;
            }
            let route = plan.stops[node as usize].route;
            if route != NOWHERE && !self.routes.contains(&route) {
                self.take_string(plan, node, longest, random);
            }
        }
        self.list_shared();
    }

    /// Takes out all visits to a customer.
    fn take_out_all(&mut self, plan: &mut Plan, customer: Node) {
        for visit in plan.visits_to(customer) {
            let route = plan.stops[visit as usize].route;
            if route == NOWHERE {
                break;
            }
            plan.take_out(visit);
            if self.routes.last() != Some(&route) {
                self.shared.push(route);
            }
        }
        self.absent.push(customer);
    }

    /// Lists the routes that shared deliveries behind those of which strings were taken.
    fn list_shared(&mut self) {
        for &route in &self.shared {
            if !self.routes.contains(&route) {
                self.routes.push(route);
            }
        }
    }

    /// Takes a string of random length out of the route of `node`, which is part of it unless it
    /// is among those left.
    fn take_string(&mut self, plan: &mut Plan, node: Node, longest: f64, random: &mut Pcg64Mcg) {
        let route = plan.stops[node as usize].route;
        let size = plan.sizes[route as usize] as usize;
        let length = (random.random::<f64>() * longest.min(size as f64) + 1.0) as usize;
        let length = length.min(size);
        let mut left = 0;
        if length > 1 && length < size && random.random::<f64>() < SPLIT {
            left = 1;
            while length + left < size && random.random::<f64>() < LEFT_MORE {
                left += 1;
            }
        }
        self.routes.push(route);
        self.collect(plan, node, length + left, random);
        // Those left lie inside the string, not at its ends.
        let kept = if left > 0 { random.random_range(1..length) } else { 0 };
        let string = std::mem::take(&mut self.string);
        for (place, &node) in string.iter().enumerate() {
            if !(kept..kept + left).contains(&place) {
                self.take_out_all(plan, plan.site(node));
            }
        }
        self.string = string;
    }

    /// A random stretch of the route that holds `node`.
    fn collect(&mut self, plan: &Plan, node: Node, length: usize, random: &mut Pcg64Mcg) {
        let depot = plan.depot_of(plan.stops[node as usize].route);
        let step = |node: &Node, back: bool| {
            let stop = &plan.stops[*node as usize];
            Some(if back { stop.before } else { stop.after }).filter(|&next| next != depot)
        };
        let room = |back| std::iter::successors(Some(node), |at| step(at, back)).take(length).count() - 1;
        let (behind, ahead) = (room(true), room(false));
        let first = random.random_range((length - 1).saturating_sub(ahead)..=behind.min(length - 1));
        let start = (0..first).fold(node, |at, _| plan.stops[at as usize].before);
        self.string.clear();
        self.string.extend(std::iter::successors(Some(start), |at| step(at, false)).take(length));
    }
}
