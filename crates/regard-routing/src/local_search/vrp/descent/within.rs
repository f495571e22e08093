//! Moves within one route: stretches that turn (2-opt) and short segments that move (Or-opt).

use super::{Descent, LONGEST, Node};

/// A change of one route.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The stretch between two positions turns.
    Turn(usize, usize),
    /// The segment between two positions moves to before a third one, which lies outside, turned
    /// or not.
    Move(usize, usize, usize, bool),
}

impl Descent<'_> {
    /// Makes the best change that puts `node` beside `other`, a customer of the same route.
    pub(super) fn join_within(&mut self, node: Node, other: Node) -> Option<f64> {
        let route = self.route[node as usize];
        let (at, place) = (self.position[node as usize], self.position[other as usize]);
        let (low, high) = (at.min(place), at.max(place));
        let mut best = (self.tolerance, None);
        let mut offer = |gain: f64, change: Change| {
            if gain > best.0 && self.meets_within(route, change) {
                best = (gain, Some(change));
            }
        };
        for (start, end) in [(low + 1, high + 1), (low, high)] {
            offer(self.gain_of_turn(route, start, end), Change::Turn(start, end));
        }
        let size = self.routes[route].len();
        for length in 1..=LONGEST {
            // Segments that start with `node`, and those that end with it.
            for (start, turned_behind) in [(Some(at), false), ((at + 1).checked_sub(length), true)] {
                let Some((start, end)) = start.map(|start| (start, start + length)).filter(|&(_, end)| end <= size)
                else {
                    continue;
                };
                for (to, turned) in [(place + 1, turned_behind), (place, !turned_behind)] {
                    if to < start || to > end {
                        offer(self.gain_of_move(route, (start, end), to, turned), Change::Move(start, end, to, turned));
                    }
                }
            }
        }
        self.change_route(route, best.1?);
        Some(best.0)
    }

    fn gain_of_turn(&self, route: usize, start: usize, end: usize) -> f64 {
        let (before, after) = (self.before(route, start), self.at(route, end));
        let (first, last) = (self.at(route, start), self.before(route, end));
        self.between(before, first) + self.between(last, after)
            - self.between(before, last)
            - self.between(first, after)
            - self.turning(route, start, end)
    }

    fn gain_of_move(&self, route: usize, (start, end): (usize, usize), to: usize, turned: bool) -> f64 {
        let (before, after) = (self.before(route, start), self.at(route, end));
        let (first, last) = (self.at(route, start), self.before(route, end));
        let left = self.between(before, first) + self.between(last, after) - self.between(before, after);
        let (before, after) = (self.before(route, to), self.at(route, to));
        let (first, last) = if turned { (last, first) } else { (first, last) };
        let left = if turned { left - self.turning(route, start, end) } else { left };
        left + self.between(before, after) - self.between(before, first) - self.between(last, after)
    }

    /// If true, the route meets all windows after a change.
    fn meets_within(&self, route: usize, change: Change) -> bool {
        let nodes = &self.routes[route];
        let segment = |start: usize, end: usize, turned: bool| {
            let at = move |place: usize| if turned { start + end - 1 - place } else { place };
            (start..end).map(move |place| nodes[at(place)])
        };
        match change {
            Change::Turn(start, end) => self.in_time(route, [start, end], segment(start, end, true)),
            Change::Move(start, end, to, turned) if to < start => {
                self.in_time(route, [to, end], segment(start, end, turned).chain(segment(to, start, false)))
            }
            Change::Move(start, end, to, turned) => {
                self.in_time(route, [start, to], segment(end, to, false).chain(segment(start, end, turned)))
            }
        }
    }

    fn change_route(&mut self, route: usize, change: Change) {
        let nodes = &mut self.routes[route];
        let borders = match change {
            Change::Turn(start, end) => {
                nodes[start..end].reverse();
                [start, end, end]
            }
            Change::Move(start, end, to, turned) => {
                if turned {
                    nodes[start..end].reverse();
                }
                if to < start {
                    nodes[to..end].rotate_right(end - start);
                    [to, to + end - start, end]
                } else {
                    nodes[start..to].rotate_left(end - start);
                    [start, to - (end - start), to]
                }
            }
        };
        self.number(route);
        for border in borders {
            self.look_again(route, border);
        }
    }
}
