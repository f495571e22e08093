//! A route with its sums and offers: every change goes through here and leaves all of them true.

use super::{
    Problem,
    distances::Node,
    offers::Offers,
    route::{DEPOT, Route},
    terms::Sums,
};

/// A route under change.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) route: Route,
    pub(super) offers: Offers,
    /// Up to rounding; [`Plan::sums`] forms the sums anew.
    pub(super) length: f64,
    pub(super) prize: f64,
    /// Nodes that got a new neighbour, for [`Plan::shorten`] to look at.
    touched: Vec<Node>,
}

impl Clone for Plan {
    fn clone(&self) -> Self {
        Self {
            route: self.route.clone(),
            offers: self.offers.clone(),
            touched: self.touched.clone(),
            length: self.length,
            prize: self.prize,
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.route.clone_from(&other.route);
        self.offers.clone_from(&other.offers);
        self.touched.clone_from(&other.touched);
        self.length = other.length;
        self.prize = other.prize;
    }
}

impl Plan {
    /// Stays at the depot.
    pub(super) fn empty(problem: &Problem) -> Self {
        let nodes = problem.distances.len();
        let mut plan = Self {
            route: Route::new(nodes),
            offers: Offers::new(nodes),
            length: 0.0,
            prize: problem.terms.prize(DEPOT),
            touched: Vec::new(),
        };
        plan.join(DEPOT, DEPOT);
        plan
    }

    /// Visits these nodes in order; what is no customer or comes twice is passed over.
    pub(super) fn of(problem: &Problem, visits: &[usize]) -> Self {
        let mut plan = Self::empty(problem);
        let mut visited = vec![false; problem.len()];
        visited[DEPOT as usize] = true;
        let mut order: Vec<Node> = visits
            .iter()
            .rev()
            .filter(|&&node| visited.get_mut(node).is_some_and(|visited| !std::mem::replace(visited, true)))
            .map(|&node| node as Node)
            .collect();
        let mut first = DEPOT;
        for &node in &order {
            plan.count(problem, node, DEPOT, first);
            first = node;
        }
        order.reverse();
        plan.route.prepend(&order);
        plan
    }

    /// The visited nodes in order, without the depot.
    pub(super) fn visits(&self) -> Vec<usize> {
        self.route.order()[1..].iter().map(|&node| node as usize).collect()
    }

    /// Visits a node where its offer says; offers must be fresh.
    pub(super) fn insert(&mut self, problem: &Problem, node: Node) {
        let offer = self.offers.of(node);
        self.insert_between(problem, node, offer.a, offer.b);
    }

    fn insert_between(&mut self, problem: &Problem, node: Node, a: Node, b: Node) {
        self.route.insert(node, a, b);
        self.count(problem, node, a, b);
    }

    /// Takes note of a node put between two others.
    fn count(&mut self, problem: &Problem, node: Node, a: Node, b: Node) {
        self.length += problem.distances.detour(a, node, b);
        self.prize += problem.terms.prize(node);
        self.join(a, node);
        self.join(node, b);
    }

    /// Leaves out a visited node.
    pub(super) fn remove(&mut self, problem: &Problem, node: Node) {
        let (a, b) = (self.route.prev(node), self.route.next(node));
        self.length -= problem.distances.detour(a, node, b);
        self.prize -= problem.terms.prize(node);
        self.route.remove(node);
        self.offers.forget(node);
        self.join(a, b);
    }

    /// The length saved by leaving out a visited node.
    #[inline]
    pub(super) fn saving(&self, problem: &Problem, position: usize) -> f64 {
        let order = self.route.order();
        let next = order.get(position + 1).copied().unwrap_or(DEPOT);
        problem.distances.detour(order[position - 1], order[position], next)
    }

    /// Takes note of an edge put into the route.
    pub(super) fn join(&mut self, a: Node, b: Node) {
        self.offers.joined(a, b);
        self.touched.push(a);
        self.touched.push(b);
    }

    /// A node that got a new neighbour and was not looked at since.
    pub(super) fn next_touched(&mut self) -> Option<Node> {
        self.touched.pop()
    }

    /// Brings the offers up to date; false where the deadline passes before, and some may be those of another route.
    #[must_use]
    pub(super) fn refresh(&mut self, problem: &Problem) -> bool {
        self.offers.refresh(&self.route, problem)
    }

    /// All sums from scratch, in visiting order; also sheds the rounding of the running ones.
    pub(super) fn sums(&mut self, problem: &Problem) -> Sums {
        let order = self.route.order();
        let mut sums = Sums { complete: self.route.left_out().is_empty(), ..Sums::default() };
        let mut last = DEPOT;
        sums.prize = problem.terms.prize(DEPOT);
        for &node in &order[1..] {
            sums.length += problem.distances.of(last, node);
            sums.prize += problem.terms.prize(node);
            last = node;
        }
        sums.length += problem.distances.of(last, DEPOT);
        sums.missed = self.route.left_out().iter().map(|&node| problem.terms.weight(node)).sum();
        self.length = sums.length;
        self.prize = sums.prize;
        sums
    }
}
