//! The cheapest place for every node left out, kept up to date as the route changes.

use super::{
    Problem,
    distances::{Distances, Node},
    neighbours::Neighbours,
    route::Route,
};

/// Routes of more nodes are searched in part only.
const SCAN_UP_TO: usize = 64;

/// The cheapest place found for one node: between `a` and `b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Added length.
    pub(super) detour: f64,
    pub(super) a: Node,
    pub(super) b: Node,
}

/// An offer for each node and the edges that none of them has seen yet.
#[derive(Debug)]
pub(super) struct Offers {
    offers: Vec<Offer>,
    fresh: Vec<(Node, Node)>,
}

impl Clone for Offers {
    fn clone(&self) -> Self {
        Self { offers: self.offers.clone(), fresh: self.fresh.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.offers.clone_from(&other.offers);
        self.fresh.clone_from(&other.fresh);
    }
}

impl Offers {
    /// No offers yet.
    pub(super) fn new(nodes: usize) -> Self {
        Self { offers: (0..nodes as Node).map(Offer::none).collect(), fresh: Vec::new() }
    }

    /// The offer for a node left out; as of the last [`Offers::refresh`].
    #[inline]
    pub(super) fn of(&self, node: Node) -> Offer {
        self.offers[node as usize]
    }

    /// Takes note of an edge put into the route.
    #[inline]
    pub(super) fn joined(&mut self, a: Node, b: Node) {
        self.fresh.push((a, b));
    }

    /// Forgets the offer for a node, because it was just left out.
    pub(super) fn forget(&mut self, node: Node) {
        self.offers[node as usize] = Offer::none(node);
    }

    /// Brings the offer of every node left out up to date: it takes a new edge where that is
    /// cheaper, and is looked for again where its own edge is gone. False where the deadline passes before.
    pub(super) fn refresh(&mut self, route: &Route, problem: &Problem) -> bool {
        let Problem { distances, neighbours, .. } = problem;
        let Self { offers, fresh } = self;
        fresh.retain(|&(a, b)| route.joins(a, b));
        for (done, &node) in route.left_out().iter().enumerate() {
            if problem.is_over_at(done) {
                return false;
            }
            let offer = &mut offers[node as usize];
            if !route.joins(offer.a, offer.b) {
                *offer = cheapest(node, route, fresh, distances, neighbours);
                continue;
            }
            for &(a, b) in fresh.iter() {
                offer.consider(distances.detour(a, node, b), a, b);
            }
        }
        fresh.clear();
        true
    }
}

impl Offer {
    /// No offer: no edge joins a node left out to itself.
    fn none(node: Node) -> Self {
        Self { detour: f64::INFINITY, a: node, b: node }
    }

    #[inline]
    fn consider(&mut self, detour: f64, a: Node, b: Node) {
        if detour < self.detour {
            *self = Self { detour, a, b };
        }
    }
}

/// The cheapest place of all. If the route is long: among the edges next to the node's neighbours and
/// the new ones, which stand where the lost offer stood.
fn cheapest(
    node: Node,
    route: &Route,
    fresh: &[(Node, Node)],
    distances: &Distances,
    neighbours: &Neighbours,
) -> Offer {
    let mut offer = Offer::none(node);
    let order = route.order();
    if order.len() > SCAN_UP_TO {
        for &a in neighbours.of(node).iter().filter(|&&near| route.is_visited(near)) {
            for b in [route.next(a), route.prev(a)] {
                offer.consider(distances.detour(a, node, b), a, b);
            }
        }
        for &(a, b) in fresh {
            offer.consider(distances.detour(a, node, b), a, b);
        }
        if offer.detour < f64::INFINITY {
            return offer;
        }
    }
    let mut a = order[order.len() - 1];
    for &b in order {
        offer.consider(distances.detour(a, node, b), a, b);
        a = b;
    }
    offer
}
