//! Descent to a local optimum: short segments and the ends of routes change places between routes,
//! segments move and stretches turn within them.
//!
//! Moves join a customer to one of its near neighbours. The exchanges between routes are cross
//! exchange (Taillard et al., "A tabu search heuristic for the vehicle routing problem with soft
//! time windows", Transportation Science 31, 1997), with relocation and swaps as its shortest
//! forms and 2-opt* (Potvin and Rousseau, "An exchange heuristic for routeing problems with time
//! windows", Journal of the Operational Research Society 46, 1995) as its longest.

mod exchange;
mod within;

use std::time::Instant;

use regard_data::cancel::is_cancelled;

use super::{Distances, Neighbours, Node, Queue, Vrp, windows::Stretch};

/// So many neighbours of a customer are tried.
const NEAR: usize = 12;

/// The longest segment that is moved as such.
const LONGEST: usize = 3;

/// The route of a customer that is in none: where deliveries are split, those that want nothing are not visited.
const NOWHERE: usize = usize::MAX;

/// A stretch of a route, from one position up to another.
#[derive(Clone, Copy, Debug)]
struct Segment {
    route: usize,
    start: usize,
    end: usize,
}

/// Routes in arrays, with sums up to every customer.
struct Descent<'a> {
    vrp: &'a Vrp<'a>,
    distances: &'a Distances<'a>,
    routes: Vec<Vec<Node>>,
    /// Of every node; [`NOWHERE`] of customers that are not visited.
    route: Vec<usize>,
    position: Vec<usize>,
    /// Load and length from the depot up to a node, itself included.
    load_to: Vec<f64>,
    length_to: Vec<f64>,
    /// Length from a node back to the depot by the stops before it, where distances differ by direction.
    length_back: Vec<f64>,
    /// Where there are windows: the stretches from the depot up to a node and from a node up to the depot, itself
    /// included.
    stretch_to: Vec<Stretch>,
    stretch_from: Vec<Stretch>,
    queue: Queue,
    /// Gains at or below this are rounding, not improvement.
    tolerance: f64,
}

/// Routes in which no customer has an improving move, unless the deadline comes first.
pub(super) fn descend(
    vrp: &Vrp,
    distances: &Distances,
    neighbours: &Neighbours,
    routes: &[Vec<usize>],
    deadline: Option<Instant>,
) -> Vec<Vec<usize>> {
    let mut descent = Descent::new(vrp, distances, routes);
    while let Some(node) = descent.queue.pop() {
        if is_cancelled() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        while neighbours
            .of(node)
            .take(NEAR)
            .any(|(other, between)| other > 0 && descent.join(node, other, between).is_some())
        {}
    }
    let kept = descent.routes.iter().filter(|route| !route.is_empty());
    kept.map(|route| route.iter().map(|&node| node as usize).collect()).collect()
}

impl<'a> Descent<'a> {
    fn new(vrp: &'a Vrp<'a>, distances: &'a Distances<'a>, routes: &[Vec<usize>]) -> Self {
        let n = vrp.sites.len();
        let mut descent = Self {
            vrp,
            distances,
            routes: routes.iter().map(|route| route.iter().map(|&node| node as Node).collect()).collect(),
            route: vec![NOWHERE; n],
            position: vec![0; n],
            load_to: vec![0.0; n],
            length_to: vec![0.0; n],
            length_back: if distances.are_symmetric() { vec![] } else { vec![0.0; n] },
            stretch_to: vec![Stretch::at_once(vrp.windows.as_ref()); n],
            stretch_from: vec![Stretch::at_once(vrp.windows.as_ref()); n],
            queue: Queue::new(n),
            tolerance: 1e-9 * vrp.size_of_sums(routes) / n.max(1) as f64,
        };
        for route in 0..routes.len() {
            descent.number(route);
            for &node in &descent.routes[route] {
                descent.queue.push(node);
            }
        }
        descent
    }

    /// Makes the best move that joins `node` to `other`, if one gains; returns its gain.
    fn join(&mut self, node: Node, other: Node, between: f64) -> Option<f64> {
        if self.route[other as usize] == NOWHERE {
            return None;
        }
        let longest = [node, other].map(|end| {
            let (route, at) = (self.route[end as usize], self.position[end as usize]);
            self.between(self.before(route, at), end).max(self.between(end, self.at(route, at + 1)))
        });
        if between >= longest[0].max(longest[1]) {
            return None;
        }
        if self.route[node as usize] == self.route[other as usize] {
            self.join_within(node, other)
        } else {
            self.join_routes(node, other)
        }
    }

    /// The node at a position; the depot behind the end.
    #[inline]
    fn at(&self, route: usize, position: usize) -> Node {
        self.routes[route].get(position).copied().unwrap_or(0)
    }

    /// The node before a position; the depot before the start.
    #[inline]
    fn before(&self, route: usize, position: usize) -> Node {
        if position == 0 { 0 } else { self.routes[route][position - 1] }
    }

    #[inline]
    fn between(&self, a: Node, b: Node) -> f64 {
        if a == b { 0.0 } else { self.distances.of(a, b) }
    }

    /// Writes down where the customers of a route are, and its sums.
    fn number(&mut self, route: usize) {
        let (mut load, mut length, mut back, mut last) = (0.0, 0.0, 0.0, 0);
        for (position, &node) in self.routes[route].iter().enumerate() {
            load += self.vrp.demands[node as usize];
            length += if node == last { 0.0 } else { self.distances.of(last, node) };
            if !self.length_back.is_empty() {
                back += self.between(node, last);
                self.length_back[node as usize] = back;
            }
            last = node;
            let node = node as usize;
            (self.route[node], self.position[node]) = (route, position);
            (self.load_to[node], self.length_to[node]) = (load, length);
        }
        self.join_stretches(route);
    }

    /// Writes down the stretches up to and from the customers of a route.
    fn join_stretches(&mut self, route: usize) {
        let Some(windows) = self.vrp.windows else { return };
        let mut last = 0;
        for &node in &self.routes[route] {
            let travel = windows.pace * self.between(last, node);
            self.stretch_to[node as usize] =
                self.stretch_to[last as usize].then(travel, Stretch::at(&windows, node as usize));
            last = node;
        }
        let mut next = 0;
        for &node in self.routes[route].iter().rev() {
            let travel = windows.pace * self.between(node, next);
            self.stretch_from[node as usize] =
                Stretch::at(&windows, node as usize).then(travel, self.stretch_from[next as usize]);
            next = node;
        }
    }

    /// If true, windows are met where these nodes stand between two positions of a route.
    fn in_time(&self, route: usize, [start, end]: [usize; 2], nodes: impl Iterator<Item = Node>) -> bool {
        let Some(windows) = self.vrp.windows else { return true };
        let mut last = self.before(route, start);
        let mut all = self.stretch_to[last as usize];
        for node in nodes {
            all = all.then(windows.pace * self.between(last, node), Stretch::at(&windows, node as usize));
            if !all.is_in_time() {
                return false;
            }
            last = node;
        }
        let next = self.at(route, end);
        all.then(windows.pace * self.between(last, next), self.stretch_from[next as usize]).is_in_time()
    }

    /// Length that turning a stretch adds between its ends; 0 where distances do not differ by direction.
    #[inline]
    fn turning(&self, route: usize, start: usize, end: usize) -> f64 {
        if self.length_back.is_empty() || start == end {
            return 0.0;
        }
        let [first, last] = [self.at(route, start), self.before(route, end)].map(|node| node as usize);
        let along = |lengths: &[f64]| lengths[last] - lengths[first];
        along(&self.length_back) - along(&self.length_to)
    }

    /// Looks again at the customers on both sides of a position.
    fn look_again(&mut self, route: usize, position: usize) {
        for node in [self.before(route, position), self.at(route, position)] {
            if node > 0 {
                self.queue.push(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Clock};
    use super::*;
    use crate::{DistanceMatrix, Metric, Sites};
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_gain_of_every_move_is_the_difference_in_cost() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(8);
        for (n, capacity, limit) in
            [(2, 9.0, None), (5, 20.0, None), (40, 30.0, Some(4.0)), (120, 90.0, None), (60, 1e9, None)]
        {
            let points: Vec<[f64; 2]> = (0..n).map(|_| [random.random(), random.random()]).collect();
            let plane = Sites::euclidean("random", points).unwrap();
            let way = |a: usize, b: usize| plane.distance(a, b) * if a < b { 1.0 } else { 1.3 };
            let rows = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| way(a, b)).collect();
            let directed = Metric::Explicit(DistanceMatrix::from_rows(n, rows).unwrap());
            let directed = Sites::new("directed", directed, vec![]).unwrap();
            let demands: Vec<f64> = (0..n).map(|_| f64::from(random.random_range(0..10))).collect();
            for sites in [plane, directed] {
                follow(&sites, &demands, capacity, limit);
            }
        }
    }

    fn follow(sites: &Sites, demands: &[f64], capacity: f64, limit: Option<f64>) {
        let n = sites.len();
        let vrp = Vrp::new(sites, demands, capacity).with_limit(limit, 0.05);
        let distances = Distances::new(sites, &mut Clock::new(None));
        let neighbours = Neighbours::new(sites, &distances, NEAR, Choice::Nearest, &mut Clock::new(None));
        let start: Vec<Vec<usize>> = (1..n).map(|node| vec![node]).collect();
        let mut descent = Descent::new(&vrp, &distances, &start);
        let now = |descent: &Descent| -> Vec<Vec<usize>> {
            descent.routes.iter().map(|route| route.iter().map(|&node| node as usize).collect()).collect()
        };
        let (mut cost, mut moves) = (vrp.cost(&start), 0);
        while let Some(node) = descent.queue.pop() {
            for (other, between) in neighbours.of(node).filter(|&(other, _)| other > 0) {
                let Some(gain) = descent.join(node, other, between) else { continue };
                let routes = now(&descent);
                assert!(vrp.keeps(&routes));
                assert!(gain > 0.0 && (cost - gain - vrp.cost(&routes)).abs() < 1e-9);
                (cost, moves) = (vrp.cost(&routes), moves + 1);
                descent.queue.push(node);
            }
        }
        assert!(moves > 0 || n <= 5);
    }

    #[test]
    fn crossing_ends_of_routes_change_places() {
        let points = vec![
            [0.0, 0.0],
            [1.0, 1.0],
            [2.0, 1.0],
            [3.0, 1.0],
            [4.0, 1.0],
            [1.0, -1.0],
            [2.0, -1.0],
            [3.0, -1.0],
            [4.0, -1.0],
        ];
        let sites = Sites::euclidean("two rows", points).unwrap();
        let demands = vec![1.0; 9];
        let vrp = Vrp::new(&sites, &demands, 4.0);
        let distances = Distances::new(&sites, &mut Clock::new(None));
        let neighbours = Neighbours::new(&sites, &distances, NEAR, Choice::Nearest, &mut Clock::new(None));
        let mut found = descend(&vrp, &distances, &neighbours, &[vec![1, 2, 7, 8], vec![5, 6, 3, 4]], None);
        found.iter_mut().filter(|route| route[0] > route[3]).for_each(|route| route.reverse());
        found.sort();
        assert_eq!(found, [[1, 2, 3, 4], [5, 6, 7, 8]]);
    }
}
