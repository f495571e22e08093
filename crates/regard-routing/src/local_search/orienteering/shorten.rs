//! Shortening the route around the nodes that got new neighbours: 2-opt and Or-opt.
//!
//! Both are tried towards near neighbours only, and only while the edge put in is shorter than the
//! edge taken out (Bentley, "Fast algorithms for geometric traveling salesman problems", ORSA
//! Journal on Computing 4, 1992). A stretch moved by Or-opt has up to three nodes, and is tried in
//! both directions.

use super::{Problem, distances::Node, plan::Plan, route::DEPOT};

/// The longest stretch that Or-opt moves.
const STRETCH: usize = 3;

impl Plan {
    /// Makes improving moves until no touched node has one or the deadline has passed; true if there was any.
    pub(super) fn shorten(&mut self, problem: &Problem) -> bool {
        let mut any = false;
        for done in 0.. {
            if problem.is_over_at(done) {
                break;
            }
            let Some(node) = self.next_touched() else { break };
            while self.route.is_visited(node) && self.shorten_at(problem, node) {
                any = true;
            }
        }
        any
    }

    /// The first improving move found that joins `node` to a near neighbour.
    fn shorten_at(&mut self, problem: &Problem, node: Node) -> bool {
        if self.route.order().len() < 4 {
            return false;
        }
        for forwards in [true, false] {
            let beside = self.route.step(node, forwards);
            let taken = problem.distances.of(node, beside);
            for &near in problem.neighbours.of(node) {
                let open = taken - problem.distances.of(node, near);
                if open <= problem.tolerance {
                    break;
                }
                if near == beside || !self.route.is_visited(near) {
                    continue;
                }
                if self.two_opt(problem, [node, beside, near], open, forwards)
                    || self.or_opt(problem, [node, beside, near], open)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Joins `node` to `near` and `beside` to what stands beside `near`, if that is shorter.
    fn two_opt(&mut self, problem: &Problem, [node, beside, near]: [Node; 3], open: f64, forwards: bool) -> bool {
        let other = self.route.step(near, forwards);
        let gain = open + problem.distances.of(near, other) - problem.distances.of(beside, other);
        if gain <= problem.tolerance {
            return false;
        }
        // What follows the earlier edge up to the start of the later one is turned around.
        let (one, two) = if forwards { (node, near) } else { (beside, other) };
        let (one, two) = (self.route.position(one), self.route.position(two));
        self.route.reverse(one.min(two) + 1, one.max(two));
        self.length -= gain;
        self.join(node, near);
        self.join(beside, other);
        true
    }

    /// Moves a stretch that ends in `near` between `node` and `beside`, if that is shorter.
    fn or_opt(&mut self, problem: &Problem, [node, beside, near]: [Node; 3], open: f64) -> bool {
        for forwards in [true, false] {
            let before = self.route.step(near, !forwards);
            let mut end = near;
            for length in 1..=STRETCH {
                // The stretch from `near` to `end` must leave out the gap's ends and the depot.
                if end == DEPOT || end == node || end == beside {
                    break;
                }
                let after = self.route.step(end, forwards);
                let removed = problem.distances.of(before, near) + problem.distances.of(end, after);
                let added = problem.distances.of(end, beside) + problem.distances.of(before, after);
                let gain = open + removed - added;
                if gain > problem.tolerance && before != after {
                    self.move_stretch([near, end], length, [node, beside]);
                    self.length -= gain;
                    self.join(node, near);
                    self.join(end, beside);
                    self.join(before, after);
                    return true;
                }
                end = after;
            }
        }
        false
    }

    /// Puts the stretch of `length` nodes between `near` and `end` into the gap, `near` beside `node`.
    fn move_stretch(&mut self, [near, end]: [Node; 2], length: usize, [node, beside]: [Node; 2]) {
        let [first, last] = [self.route.position(near), self.route.position(end)];
        let start = first.min(last);
        let [one, two] = [self.route.position(node), self.route.position(beside)];
        let gap = if one.abs_diff(two) <= 1 { one.min(two) } else { one.max(two) };
        self.route.shift(start, length, gap);
        if self.route.next(node) != near && self.route.prev(node) != near {
            let start = self.route.position(near).min(self.route.position(end));
            self.route.reverse(start, start + length - 1);
        }
    }
}
