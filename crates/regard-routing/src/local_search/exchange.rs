//! Finding and making sequential exchanges of two or three edges.
//!
//! With the nodes named as Lin and Kernighan do, and directions such that `t2` follows `t1`:
//!
//! ```text
//! out (t1,t2) (t3,t4) (t5,t6)   in (t2,t3) (t4,t5) (t6,t1)
//!
//! Two          t1 [t2 .. t4] t3               t1 [t4 .. t2] t3
//! Turned       Two, then Two again with t4 in the part of t2
//! Swapped      t1 [t2 .. t5] [t6 .. t3] t4    t1 [t6 .. t3] [t2 .. t5] t4
//! BothTurned   t1 [t2 .. t6] [t5 .. t3] t4    t1 [t6 .. t2] [t3 .. t5] t4
//! ```
//!
//! `Two` is 2-opt; moving a segment elsewhere, Or-opt, is `Swapped`, `Turned` or `BothTurned` with
//! one short part, and found for segments of every length.

use super::{search::Search, tour::Node};

/// Exchange of three edges, or of two.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Two,
    Turned,
    Swapped,
    BothTurned,
}

/// Where an exchange starts: the edge `(end, tip)` is taken out.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// The node that stays an end, `t1`.
    pub(super) end: Node,
    /// The node that is joined elsewhere, `t2`.
    pub(super) tip: Node,
    /// Length taken out less length put in so far.
    pub(super) open: f64,
}

/// An exchange that was found but not made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    shape: Shape,
    /// `t3..t6`; the last two repeat the first two in [`Shape::Two`].
    pub(super) nodes: [Node; 4],
    /// Length taken out less length put in, before the tour is closed by `(t6, t1)`.
    pub(super) open: f64,
    /// Length gained once it is closed.
    pub(super) gain: f64,
}

/// `t3` and `t4` on trial.
struct Joint {
    t3: Node,
    t4: Node,
    /// `t4` precedes `t3`, so that closing here would already give a tour.
    turned: bool,
    open: f64,
}

impl Search<'_> {
    /// The first exchange found that improves, or else the one that leaves most open.
    pub(super) fn find_exchange(&self, start: &Opening) -> Option<Exchange> {
        let forwards = self.tour.next(start.end) == start.tip;
        let beside = self.tour.step(start.tip, forwards);
        let mut best = None;
        for (t3, length) in self.neighbours.of(start.tip) {
            let open = start.open - length;
            if open <= self.tolerance {
                break;
            }
            if t3 == start.end || t3 == beside {
                continue;
            }
            for turned in [true, false] {
                let t4 = self.tour.step(t3, forwards != turned);
                if self.was_added(t3, t4) {
                    continue;
                }
                let open = open + self.distance(t3, t4);
                let gain = open - self.distance(t4, start.end);
                if turned && gain > self.tolerance {
                    return Some(Exchange { shape: Shape::Two, nodes: [t3, t4, t3, t4], open, gain });
                }
                let joint = Joint { t3, t4, turned, open };
                if self.try_third_edge(start, &joint, forwards, &mut best) {
                    return best;
                }
            }
        }
        best
    }

    /// Tries to join `t4` elsewhere; true if that improves the tour.
    fn try_third_edge(&self, start: &Opening, joint: &Joint, forwards: bool, best: &mut Option<Exchange>) -> bool {
        let &Joint { t3, t4, turned, .. } = joint;
        let part_end = if turned { t4 } else { t3 };
        for (t5, length) in self.neighbours.of(t4) {
            let open = joint.open - length;
            if open <= self.tolerance {
                break;
            }
            let inside = self.tour.on_the_way(start.tip, t5, part_end, forwards);
            if t5 == t3 || !(inside || turned) {
                continue;
            }
            let after = || self.tour.step(t5, forwards);
            let before = || self.tour.step(t5, !forwards);
            let choices = if turned {
                [Some((Shape::Turned, if inside { after() } else { before() })), None]
            } else {
                let turnable = (t5 != start.tip).then(|| (Shape::BothTurned, before()));
                [Some((Shape::Swapped, after())), turnable]
            };
            for (shape, t6) in choices.into_iter().flatten() {
                // With t6 = t4 the edge (t4, t5) is in the tour already.
                if t6 == t4 || self.was_added(t5, t6) {
                    continue;
                }
                let open = open + self.distance(t5, t6);
                let gain = open - self.distance(t6, start.end);
                if gain > self.tolerance || best.is_none_or(|best| open > best.open) {
                    *best = Some(Exchange { shape, nodes: [t3, t4, t5, t6], open, gain });
                }
                if gain > self.tolerance {
                    return true;
                }
            }
        }
        false
    }

    /// Makes an exchange; afterwards `(end, t6)` is an edge of the tour.
    pub(super) fn make(&mut self, start: &Opening, exchange: &Exchange) {
        let &Opening { end: t1, tip: t2, .. } = start;
        let [t3, t4, t5, t6] = exchange.nodes;
        let tour = &mut self.tour;
        match exchange.shape {
            Shape::Two => tour.exchange(t1, t2, t4, t3),
            Shape::Turned => {
                tour.exchange(t1, t2, t4, t3);
                tour.exchange(t1, t4, t6, t5);
            }
            Shape::Swapped => {
                tour.exchange(t1, t2, t3, t4);
                tour.exchange(t1, t3, t6, t5);
                tour.exchange(t3, t5, t2, t4);
            }
            Shape::BothTurned => {
                tour.exchange(t1, t2, t6, t5);
                tour.exchange(t2, t5, t3, t4);
            }
        }
    }

    /// If true, the chain at hand has put this edge in: it may not take it out again.
    fn was_added(&self, a: Node, b: Node) -> bool {
        self.added.iter().any(|&edge| edge == (a, b) || edge == (b, a))
    }
}
