//! Time windows: when a route reaches its stops, and stretches of a route that are joined in constant time.
//!
//! A vehicle that arrives before a window opens waits. A stretch of stops is described by four numbers, from which
//! those of two stretches in a row follow at once (T. Vidal, T. G. Crainic, M. Gendreau, C. Prins, "A hybrid genetic
//! algorithm with adaptive diversity management for a large class of vehicle routing problems with time-windows",
//! Computers & Operations Research 40, 2013, section 4.3).

use super::ROUNDING;

/// Windows in which service begins at the nodes, the depot's first: its vehicles are on the road within it.
#[derive(Clone, Copy, Debug)]
pub struct Windows<'a> {
    /// Begin of the window of every node, `[nodes]`.
    pub ready: &'a [f64],
    /// End of the window of every node, `[nodes]`; infinite where there is none.
    pub due: &'a [f64],
    /// Time that service takes at every node, `[nodes]`, 0 at the depot.
    pub service: &'a [f64],
    /// Time that a vehicle takes for a unit of distance.
    pub pace: f64,
}

impl Windows<'_> {
    /// The end of a window, with what rounding may add to a sum.
    #[inline]
    pub(super) fn end(&self, node: usize) -> f64 {
        let due = self.due[node];
        due + due.abs() * ROUNDING
    }

    /// The time at which service begins at a node that is reached at `arrival`.
    #[inline]
    pub(super) fn begin(&self, node: usize, arrival: f64) -> f64 {
        arrival.max(self.ready[node])
    }

    /// The time at which a vehicle leaves a node that it sets out for at `time`, from so far away; `None` if it is late.
    #[inline]
    pub(super) fn departure(&self, node: usize, time: f64, distance: f64) -> Option<f64> {
        let begin = self.begin(node, time + self.pace * distance);
        (begin <= self.end(node)).then(|| begin + self.service[node])
    }

    /// If true, a vehicle that leaves the depot as it opens meets all windows of `route` and is back in time; `distance`
    /// is that of two nodes.
    pub(super) fn allow(&self, route: &[usize], distance: impl Fn(usize, usize) -> f64) -> bool {
        let mut stops = route.iter().chain([&0]);
        let drive = |(here, time), &node| Some((node, self.departure(node, time, distance(here, node))?));
        stops.try_fold((0, self.ready[0]), drive).is_some()
    }
}

/// Stops in a row, each served within its window or, where that is too late, at its end: the clock is then turned back,
/// which is counted as time warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    /// Least time from the begin of the first service to the end of the last one, with waiting, as if no clock had been
    /// turned back.
    pub(super) duration: f64,
    /// Least time that the clock is turned back by.
    pub(super) time_warp: f64,
    /// Earliest begin of the first service for which both are least.
    pub(super) earliest: f64,
    /// Latest such begin.
    pub(super) latest: f64,
}

impl Stretch {
    /// A single stop.
    #[inline]
    pub(super) fn at(windows: &Windows, node: usize) -> Self {
        let (earliest, latest) = (windows.ready[node], windows.end(node));
        Self { duration: windows.service[node], time_warp: 0.0, earliest, latest }
    }

    /// The depot alone; without windows, no time at all.
    pub(super) fn at_once(windows: Option<&Windows>) -> Self {
        let nothing = Self { duration: 0.0, time_warp: 0.0, earliest: 0.0, latest: f64::INFINITY };
        windows.map_or(nothing, |windows| Self::at(windows, 0))
    }

    /// This stretch, then another one after so much time on the road.
    #[inline]
    pub(super) fn then(self, travel: f64, next: Self) -> Self {
        let passed = self.duration - self.time_warp + travel;
        let waiting = (next.earliest - passed - self.latest).max(0.0);
        let time_warp = (self.earliest + passed - next.latest).max(0.0);
        Self {
            duration: self.duration + travel + next.duration + waiting,
            time_warp: self.time_warp + next.time_warp + time_warp,
            earliest: (next.earliest - passed).max(self.earliest) - waiting,
            latest: (next.latest - passed).min(self.latest) + time_warp,
        }
    }

    /// If true, all windows are met.
    #[inline]
    pub(super) fn is_in_time(&self) -> bool {
        // The ends of windows have room for rounding already.
        self.time_warp <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Time warp and duration of a route that begins its first service at `begin`, step by step.
    fn drive(windows: &Windows, travel: &[f64], begin: f64) -> (f64, f64) {
        let (mut clock, mut warp, mut duration) = (begin, 0.0, 0.0);
        for (node, travel) in travel.iter().enumerate() {
            if node > 0 {
                clock += travel;
                duration += travel;
            }
            let (ready, end) = (windows.ready[node], windows.end(node));
            duration += (ready - clock).max(0.0);
            clock = clock.max(ready);
            warp += (clock - end).max(0.0);
            clock = clock.min(end) + windows.service[node];
            duration += windows.service[node];
        }
        (warp, duration)
    }

    proptest! {
        #[test]
        fn stretches_in_any_order_of_joining_are_what_driving_gives(
            stops in proptest::collection::vec((0_u32..100, 0_u32..60, 0_u32..20, 0_u32..30), 1..9), cut in any::<prop::sample::Index>(),
        ) {
            let column = |part: fn(&(u32, u32, u32, u32)) -> u32| stops.iter().map(|stop| f64::from(part(stop))).collect::<Vec<_>>();
            let (ready, service, travel) = (column(|stop| stop.0), column(|stop| stop.2), column(|stop| stop.3));
            let due = column(|stop| stop.0 + stop.1);
            let windows = Windows { ready: &ready, due: &due, service: &service, pace: 1.0 };
            let join = |range: std::ops::Range<usize>| {
                let mut nodes = range.map(|node| (travel[node], Stretch::at(&windows, node)));
                let (_, first) = nodes.next()?;
                Some(nodes.fold(first, |stretch, (travel, next)| stretch.then(travel, next)))
            };
            let whole = join(0..stops.len()).unwrap();
            let cut = cut.index(stops.len());
            if let (Some(front), Some(back)) = (join(0..cut), join(cut..stops.len())) {
                let joined = front.then(travel[cut], back);
                prop_assert!((joined.time_warp - whole.time_warp).abs() < 1e-6);
                prop_assert!((joined.duration - whole.duration).abs() < 1e-6);
            }
            // Both are least at the two ends of the interval of begins, and never less anywhere.
            for begin in [whole.earliest, whole.latest] {
                let (warp, duration) = drive(&windows, &travel, begin);
                prop_assert!((warp - whole.time_warp).abs() < 1e-6, "{whole:?} {warp}");
                prop_assert!((duration - whole.duration).abs() < 1e-6, "{whole:?} {duration}");
            }
            for begin in 0..200 {
                let (warp, _) = drive(&windows, &travel, f64::from(begin));
                prop_assert!(warp >= whole.time_warp - 1e-6);
            }
        }

        #[test]
        fn a_route_is_allowed_where_nothing_is_turned_back(
            stops in proptest::collection::vec((0_u32..100, 0_u32..60, 0_u32..20, 0_u32..30), 1..9),
        ) {
            let with_depot = || std::iter::once(&(0, 160, 0, 0)).chain(&stops);
            let column = |part: fn(&(u32, u32, u32, u32)) -> u32| with_depot().map(|stop| f64::from(part(stop))).collect::<Vec<_>>();
            let (ready, service, place) = (column(|stop| stop.0), column(|stop| stop.2), column(|stop| stop.3));
            let due = column(|stop| stop.0 + stop.1);
            let windows = Windows { ready: &ready, due: &due, service: &service, pace: 2.0 };
            let distance = |a: usize, b: usize| (place[a] - place[b]).abs();
            let route: Vec<usize> = (1..=stops.len()).collect();
            let (mut all, mut last) = (Stretch::at(&windows, 0), 0);
            for &node in route.iter().chain([&0]) {
                all = all.then(2.0 * distance(last, node), Stretch::at(&windows, node));
                last = node;
            }
            prop_assert_eq!(windows.allow(&route, distance), all.is_in_time());
        }
    }
}
