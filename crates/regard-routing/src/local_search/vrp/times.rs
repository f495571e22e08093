//! The times of routes under change: when service begins at each stop if the vehicle leaves as early as it may, and the
//! latest time at which it may begin so that all windows behind it are met.
//!
//! With both, one more stop is checked in constant time (M. W. P. Savelsbergh, "The vehicle routing problem with time
//! windows: minimizing route duration", ORSA Journal on Computing 4, 1992).

use super::{
    Node, Windows,
    plan::{NOWHERE, Stop},
};

/// Times of all stops, those of depots behind the nodes.
pub(super) struct Times<'a> {
    windows: Windows<'a>,
    /// When the vehicle leaves a stop.
    leaves: Vec<f64>,
    /// Latest begin of service.
    latest: Vec<f64>,
    /// Routes whose times are to be formed anew.
    outdated: Vec<u32>,
    is_outdated: Vec<bool>,
}

impl<'a> Times<'a> {
    /// Times of so many stops, which are in no route.
    pub(super) fn new(windows: Windows<'a>, stops: usize) -> Self {
        let is_outdated = vec![false];
        Self { windows, leaves: vec![0.0; stops], latest: vec![0.0; stops], outdated: Vec::new(), is_outdated }
    }

    /// Makes room for one more route.
    pub(super) fn add_route(&mut self) {
        self.leaves.push(self.windows.ready[0]);
        self.latest.push(self.windows.end(0));
        self.is_outdated.push(false);
    }

    /// Notes that a route has changed.
    pub(super) fn outdate(&mut self, route: u32) {
        if !std::mem::replace(&mut self.is_outdated[route as usize], true) {
            self.outdated.push(route);
        }
    }

    /// Forms the times of all routes that have changed.
    pub(super) fn form(&mut self, stops: &[Stop]) {
        while let Some(route) = self.outdated.pop() {
            self.is_outdated[route as usize] = false;
            let depot = (self.nodes() + route as usize) as Node;
            self.forwards(stops, depot, true);
            self.backwards(stops, depot, true);
        }
    }

    /// Forms the times of a route after a stop was put in.
    pub(super) fn inserted(&mut self, stops: &[Stop], node: Node) {
        let Stop { before, route, .. } = stops[node as usize];
        if route == NOWHERE || self.is_outdated[route as usize] {
            return;
        }
        self.forwards(stops, before, false);
        self.latest[node as usize] = f64::NAN;
        self.backwards(stops, stops[node as usize].after, false);
    }

    /// If true, a customer may stand between two stops, at these distances from them.
    #[inline]
    pub(super) fn allow(&self, node: Node, [before, after]: [Node; 2], distances: [f64; 2]) -> bool {
        let (windows, at) = (&self.windows, node as usize);
        let begin = windows.begin(at, self.leaves[before as usize] + windows.pace * distances[0]);
        begin <= windows.end(at)
            && begin + windows.service[at] + windows.pace * distances[1] <= self.latest[after as usize]
    }

    /// If true, the route of a depot, of which this is the stop, meets all windows.
    #[inline]
    pub(super) fn meets_windows(&self, depot: Node, &Stop { after, ahead, .. }: &Stop) -> bool {
        let (windows, first) = (&self.windows, after as usize);
        first >= self.nodes()
            || windows.begin(first, self.leaves[depot as usize] + windows.pace * ahead) <= self.latest[first]
    }

    fn nodes(&self) -> usize {
        self.windows.ready.len()
    }

    /// Times from behind a stop to the end of its route, or to the first that has its time already unless `all`.
    fn forwards(&mut self, stops: &[Stop], from: Node, all: bool) {
        let nodes = self.nodes();
        let (mut at, windows) = (from as usize, self.windows);
        loop {
            let Stop { after, ahead, .. } = stops[at];
            let next = after as usize;
            if next >= nodes {
                return;
            }
            let leaves = windows.begin(next, self.leaves[at] + windows.pace * ahead) + windows.service[next];
            if !all && at != from as usize && leaves == self.leaves[next] {
                return;
            }
            self.leaves[next] = leaves;
            at = next;
        }
    }

    /// Times from before a stop to the begin of its route, or to the first that has its time already unless `all`.
    fn backwards(&mut self, stops: &[Stop], from: Node, all: bool) {
        let nodes = self.nodes();
        let (mut at, windows) = (from as usize, self.windows);
        loop {
            let before = stops[at].before as usize;
            if before >= nodes {
                return;
            }
            let latest = self.latest[at] - windows.pace * stops[before].ahead - windows.service[before];
            // Who has to wait for longer than that makes what follows late.
            let latest =
                if latest < windows.ready[before] { f64::NEG_INFINITY } else { latest.min(windows.end(before)) };
            if !all && latest == self.latest[before] {
                return;
            }
            self.latest[before] = latest;
            at = before;
        }
    }
}
