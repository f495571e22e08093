//! The state of one search: the tour, what is still to be looked at, and descent to a local optimum.

use super::{
    distances::Distances,
    exchange::Opening,
    neighbours::Neighbours,
    queue::Queue,
    tour::{ArrayTour, Node},
};

/// Exchanges of up to three edges in one chain: two give nearly all of the gain that more would.
const CHAIN: usize = 2;

/// A tour under improvement.
pub(super) struct Search<'a> {
    distances: &'a Distances<'a>,
    pub(super) neighbours: &'a Neighbours,
    pub(super) tour: ArrayTour,
    pub(super) queue: Queue,
    /// Gains at or below this are rounding, not improvement.
    pub(super) tolerance: f64,
    /// Improving moves made.
    pub(super) moves: u64,
    /// Edges put in by the chain at hand.
    pub(super) added: Vec<(Node, Node)>,
    /// If true, nodes are entrances and exits.
    pub(super) has_entrances: bool,
}

impl<'a> Search<'a> {
    /// A search that starts at `tour` and has every node still to look at.
    pub(super) fn new(
        distances: &'a Distances<'a>,
        neighbours: &'a Neighbours,
        tour: &[usize],
        tolerance: f64,
    ) -> Self {
        let mut queue = Queue::new(tour.len());
        for &node in tour {
            queue.push(node as Node);
        }
        let tour = ArrayTour::new(tour);
        let has_entrances = distances.shortest_way().is_some();
        Self { distances, neighbours, tour, queue, tolerance, moves: 0, added: Vec::new(), has_entrances }
    }

    /// Takes another tour of which some nodes are to be looked at, those of these edges.
    pub(super) fn restart(&mut self, order: &[Node], edges: impl Iterator<Item = (Node, Node)>) {
        self.tour.set(order);
        while self.queue.pop().is_some() {}
        edges.flat_map(|(a, b)| [a, b]).for_each(|node| self.queue.push(node));
    }

    /// Improves until no waiting node has an improving move or `stop` says so; returns the gain.
    pub(super) fn descend(&mut self, mut stop: impl FnMut() -> bool) -> f64 {
        let mut gained = 0.0;
        while let Some(node) = self.queue.pop() {
            while let Some(gain) = self.improve_at(node) {
                gained += gain;
                self.moves += 1;
            }
            if stop() {
                break;
            }
        }
        gained
    }

    /// The distance between two nodes.
    #[inline]
    pub(super) fn distance(&self, a: Node, b: Node) -> f64 {
        self.distances.of(a, b)
    }

    /// Makes the first improving chain found that takes out an edge of `node`; returns its gain.
    fn improve_at(&mut self, node: Node) -> Option<f64> {
        [true, false].into_iter().find_map(|forwards| {
            let tip = self.tour.step(node, forwards);
            self.improve_edge(node, tip)
        })
    }

    /// A chain of exchanges that starts by taking out `(end, tip)`: each opens the tour at the edge
    /// that closed the one before. If none of them improves, all are taken back.
    fn improve_edge(&mut self, end: Node, tip: Node) -> Option<f64> {
        let steps = self.tour.steps();
        self.added.clear();
        let mut opening = Opening { end, tip, open: self.distance(end, tip) };
        for _ in 0..CHAIN {
            let Some(exchange) = self.find_exchange(&opening) else { break };
            let improves = exchange.gain > self.tolerance;
            if !improves && self.added.len() == 2 * (CHAIN - 1) {
                break;
            }
            self.make(&opening, &exchange);
            let [t3, t4, t5, t6] = exchange.nodes;
            self.added.extend([(opening.tip, t3), (t4, t5)]);
            if improves {
                self.look_again(end, t6);
                return Some(exchange.gain);
            }
            opening = Opening { end, tip: t6, open: exchange.open };
        }
        self.tour.take_back_to(steps);
        None
    }

    /// Puts the nodes whose edges the chain has changed back into the queue.
    fn look_again(&mut self, end: Node, tip: Node) {
        for &(a, b) in &self.added {
            self.queue.push(a);
            self.queue.push(b);
        }
        self.queue.push(end);
        self.queue.push(tip);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{clock::Clock, neighbours::Choice};
    use super::*;
    use crate::Sites;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_gain_is_the_difference_in_cost() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(8);
        for n in [13, 14, 20, 57, 200] {
            let points = (0..n).map(|_| [random.random(), random.random()]).collect();
            let instance = Sites::euclidean("random", points).unwrap();
            let distances = Distances::new(&instance, &mut Clock::new(None));
            let neighbours = Neighbours::new(&instance, &distances, 10, Choice::Nearest, &mut Clock::new(None));
            let start: Vec<usize> = (0..n).collect();
            let mut search = Search::new(&distances, &neighbours, &start, 1e-9);
            let gained = search.descend(|| false);
            let tour: Vec<usize> = search.tour.nodes().collect();
            crate::check::tour(instance.ids(), &tour).unwrap();
            assert!((instance.tour_length(&start) - gained - instance.tour_length(&tour)).abs() < 1e-9);
            for _ in 0..200 {
                let before = instance.tour_length(&search.tour.nodes().collect::<Vec<_>>());
                let lost = search.double_bridge(&mut random) - search.descend(|| false);
                let after = instance.tour_length(&search.tour.nodes().collect::<Vec<_>>());
                assert!((before + lost - after).abs() < 1e-9, "n = {n}");
            }
        }
    }
}
