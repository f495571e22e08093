//! Exchanges of segments between two routes.

use super::{Descent, LONGEST, Node, Segment};

/// Two segments of different routes that change places, each as it is or turned.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    segments: [Segment; 2],
    turned: [bool; 2],
}

/// The best exchange so far.
struct Best {
    gain: f64,
    exchange: Option<Exchange>,
}

impl Descent<'_> {
    /// Makes the best exchange that puts `node` beside `other`, a customer of another route.
    pub(super) fn join_routes(&mut self, node: Node, other: Node) -> Option<f64> {
        let (from, at) = (self.route[node as usize], self.position[node as usize]);
        let (to, place) = (self.route[other as usize], self.position[other as usize]);
        let (size, room) = (self.routes[from].len(), self.routes[to].len());
        let mut best = Best { gain: self.tolerance, exchange: None };
        // The segments of `node` that start and end with it: short ones, then the rest of the route.
        let starting = (1..=LONGEST.min(size - at)).chain((size - at > LONGEST).then_some(size - at));
        let ending = (1..=LONGEST.min(at + 1)).chain((at + 1 > LONGEST).then_some(at + 1));
        let starting = starting.map(|length| (Segment { route: from, start: at, end: at + length }, true));
        let ending = ending.map(|length| (Segment { route: from, start: at + 1 - length, end: at + 1 }, false));
        for (segment, starts) in starting.chain(ending) {
            // What it changes places with, behind `other` and before it.
            let whole = room - place - 1;
            for length in (0..=LONGEST.min(whole)).chain((whole > LONGEST).then_some(whole)) {
                let partner = Segment { route: to, start: place + 1, end: place + 1 + length };
                self.try_exchange(segment, partner, !starts, &mut best);
            }
            for length in (0..=LONGEST.min(place)).chain((place > LONGEST).then_some(place)) {
                let partner = Segment { route: to, start: place - length, end: place };
                self.try_exchange(segment, partner, starts, &mut best);
            }
        }
        self.make(&best.exchange?);
        Some(best.gain)
    }

    /// Tries both directions of the partner.
    fn try_exchange(&self, segment: Segment, partner: Segment, turned: bool, best: &mut Best) {
        for partner_turned in [false, true] {
            let exchange = Exchange { segments: [segment, partner], turned: [turned, partner_turned] };
            if let Some(gain) = self.gain(&exchange).filter(|&gain| gain > best.gain) {
                *best = Best { gain, exchange: Some(exchange) };
            }
            if partner.end <= partner.start + 1 {
                break;
            }
        }
    }

    /// Length that an exchange saves; `None` if it breaks a rule.
    fn gain(&self, exchange: &Exchange) -> Option<f64> {
        let [a, b] = exchange.segments;
        let change = [self.change(a, b, exchange.turned[1]), self.change(b, a, exchange.turned[0])];
        let gain = -(change[0] + change[1]);
        let fits = || self.fits(a, b, change[0]) && self.fits(b, a, change[1]);
        let in_time = || self.meets(a, b, exchange.turned[1]) && self.meets(b, a, exchange.turned[0]);
        (gain > self.tolerance && fits() && in_time()).then_some(gain)
    }

    /// Change in the length of the route of `out` when `into` stands in its place.
    fn change(&self, out: Segment, into: Segment, turned: bool) -> f64 {
        let (before, after) = (self.before(out.route, out.start), self.at(out.route, out.end));
        let join = |segment: Segment, turned: bool| {
            if segment.start == segment.end {
                return self.between(before, after);
            }
            let ends = (self.at(segment.route, segment.start), self.before(segment.route, segment.end));
            let (first, last) = if turned { (ends.1, ends.0) } else { ends };
            let turning = if turned { self.turning(segment.route, segment.start, segment.end) } else { 0.0 };
            self.between(before, first) + (self.inner(segment) + turning) + self.between(last, after)
        };
        join(into, turned) - join(out, false)
    }

    /// If true, the route of `out` keeps the rules with `into` in its place.
    fn fits(&self, out: Segment, into: Segment, change: f64) -> bool {
        let last = self.routes[out.route].last().map_or(0, |&node| node as usize);
        let load = self.load_to[last] - self.load(out) + self.load(into);
        let length = self.length_to[last] + self.between(last as Node, 0) + change;
        let size = self.routes[out.route].len() + into.end + out.start - into.start - out.end;
        self.vrp.holds(load) && self.vrp.within_limit(length, size)
    }

    /// If true, the route of `out` meets all windows with `into` in its place.
    fn meets(&self, out: Segment, into: Segment, turned: bool) -> bool {
        let Some(windows) = self.vrp.windows else { return true };
        let nodes = &self.routes[into.route][into.start..into.end];
        let place = [out.start, out.end];
        if turned {
            return self.in_time(out.route, place, nodes.iter().rev().copied());
        }
        match nodes.first() {
            // Ends of two routes change places: both stretches are known.
            Some(&first) if into.end == self.routes[into.route].len() && out.end == self.routes[out.route].len() => {
                let last = self.before(out.route, out.start);
                let travel = windows.pace * self.between(last, first);
                self.stretch_to[last as usize].then(travel, self.stretch_from[first as usize]).is_in_time()
            }
            _ => self.in_time(out.route, place, nodes.iter().copied()),
        }
    }

    /// Length from the first to the last customer of a segment.
    fn inner(&self, segment: Segment) -> f64 {
        let (first, last) = (self.at(segment.route, segment.start), self.before(segment.route, segment.end));
        self.length_to[last as usize] - self.length_to[first as usize]
    }

    fn load(&self, segment: Segment) -> f64 {
        let until = |position| self.load_to[self.before(segment.route, position) as usize];
        until(segment.end) - until(segment.start)
    }

    fn make(&mut self, exchange: &Exchange) {
        let [a, b] = exchange.segments;
        let [of_a, of_b] = [a, b].map(|segment| self.routes[segment.route][segment.start..segment.end].to_vec());
        for (out, mut into, turned) in [(a, of_b, exchange.turned[1]), (b, of_a, exchange.turned[0])] {
            if turned {
                into.reverse();
            }
            let length = into.len();
            self.routes[out.route].splice(out.start..out.end, into);
            self.number(out.route);
            self.look_again(out.route, out.start);
            self.look_again(out.route, out.start + length);
        }
    }
}
