//! Solutions as vehicles drive them: stops in order with what was driven and taken in so far.

use crate::formats::solution::SolutionFormat;
use crate::instance::Instance;

/// The times by which vehicles drive. Service at a node begins within its window; who comes early waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times<'a> {
    /// Begin of the window of every node, `[nodes]`.
    pub ready: &'a [f64],
    /// End of the window of every node, `[nodes]`; infinite where there is none.
    pub due: &'a [f64],
    /// Time that service takes at every node, `[nodes]`.
    pub service: &'a [f64],
    /// Time that a vehicle takes for a unit of distance.
    pub pace: f64,
    /// If true, times are minutes since midnight, and the file writes them as times of day.
    pub of_day: bool,
}

impl Times<'_> {
    /// A time of day, `8:05` or `8:05:30`, for people; `None` where times are numbers.
    ///
    /// ```
    /// use regard_routing::Times;
    ///
    /// let times = Times { ready: &[], due: &[], service: &[], pace: 1.0, of_day: true };
    /// assert_eq!(times.of_day(485.0).as_deref(), Some("8:05"));
    /// assert_eq!(times.of_day(485.51).as_deref(), Some("8:05:31"));
    /// ```
    #[must_use]
    pub fn of_day(&self, minutes: f64) -> Option<String> {
        let seconds = (60.0 * minutes).round();
        if !self.of_day || !(0.0..1e9).contains(&seconds) {
            return None;
        }
        let (hours, rest) = (seconds as u64 / 3600, seconds as u64 % 3600);
        let shown = format!("{hours}:{:02}", rest / 60);
        Some(if rest % 60 == 0 { shown } else { format!("{shown}:{:02}", rest % 60) })
    }
}

/// The routes of a solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Itinerary {
    /// Routes in the order of the solution.
    pub routes: Vec<Route>,
}

/// A closed route.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Stops from the first to the last. A route begins and ends at the depot; a tour without a depot ends where it began.
    pub stops: Vec<Stop>,
    /// Sum of the amounts of its stops; `None` where the problem has none.
    pub load: Option<f64>,
    /// Length of the whole route.
    pub length: f64,
}

/// A stop of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// The node.
    pub node: usize,
    /// Length of the route up to here; where there are times, the time of arrival, and at the first stop that of
    /// departure. A vehicle leaves as late as it may without being back any later.
    pub arrival: f64,
    /// Time waited here before service begins; `None` where time plays no part.
    pub waiting: Option<f64>,
    /// Amount taken in here; `None` where the problem has none.
    pub amount: Option<f64>,
}

impl Itinerary {
    /// The routes of a solution, which keeps the rules of the instance.
    ///
    /// A stop with a split delivery takes in what is left there, or what there is room for.
    ///
    /// # Panics
    /// When a node is not one of the instance's.
    ///
    /// ```
    /// use regard_routing::{Instance, Itinerary, Sites, problems::cvrp::Cvrp};
    ///
    /// let sites = Sites::euclidean("three", vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])?;
    /// let instance = Instance::from(Cvrp::new(sites, vec![0.0, 2.0, 5.0], 9.0)?);
    /// let routes = Itinerary::of(&instance, &[1, 2]).routes;
    /// assert_eq!((routes[0].load, routes[0].length), (Some(7.0), 12.0));
    /// assert_eq!(routes[0].stops.iter().map(|stop| stop.arrival).collect::<Vec<_>>(), [0.0, 3.0, 7.0, 12.0]);
    /// # Ok::<(), regard_routing::Error>(())
    /// ```
    #[must_use]
    pub fn of(instance: &Instance, solution: &[usize]) -> Self {
        let has_depot = instance.solution_format() != SolutionFormat::Tour;
        let mut left: Option<Vec<f64>> = instance.amounts().map(|(_, amounts)| amounts.to_vec());
        let bound = instance.route_bound().unwrap_or(f64::INFINITY);
        let mut routes = Vec::new();
        for nodes in instance.routes(solution) {
            let Some(&first) = nodes.first() else { continue };
            let begin = if has_depot { 0 } else { first };
            // A tour without a depot begins at its first node, which is no stop of its own then.
            let inner = if has_depot { &nodes[..] } else { &nodes[1..] };
            routes.push(drive(instance, begin, inner, left.as_deref_mut(), bound));
        }
        Self { routes }
    }

    /// Stops of all routes, without the depot.
    #[must_use]
    pub fn visits(&self) -> usize {
        self.routes.iter().map(Route::visits).sum()
    }
}

impl Route {
    /// Stops without those at the ends.
    #[must_use]
    pub fn inner(&self) -> &[Stop] {
        let end = self.stops.len().saturating_sub(1);
        self.stops.get(1..end).unwrap_or(&[])
    }

    /// Number of stops without those at the ends.
    #[must_use]
    pub fn visits(&self) -> usize {
        self.inner().len()
    }
}

/// The route from `begin` through `inner` and back.
fn drive(instance: &Instance, begin: usize, inner: &[usize], mut left: Option<&mut [f64]>, bound: f64) -> Route {
    let (mut here, mut length, mut room) = (begin, 0.0, bound);
    let mut stops = Vec::with_capacity(inner.len() + 2);
    for &node in std::iter::once(&begin).chain(inner).chain([&begin]) {
        length += if stops.is_empty() { 0.0 } else { instance.sites().distance(here, node) };
        let amount = left.as_deref_mut().map(|left| {
            // Amounts a little above the bound come from rounding, and so does room a little below 0.
            let taken = if left[node] <= room * (1.0 + 1e-9) { left[node] } else { room.max(0.0) };
            left[node] -= taken;
            room -= taken;
            taken
        });
        stops.push(Stop { node, arrival: length, waiting: None, amount });
        here = node;
    }
    if let Some(times) = instance.times() {
        schedule(instance, times, &mut stops);
    }
    let load = left.is_some().then(|| stops.iter().filter_map(|stop| stop.amount).sum());
    Route { stops, load, length }
}

/// Gives the stops of a route their times: it begins as late as it may without ending later. The time by which it may be
/// put off is the forward time slack of M. W. P. Savelsbergh, "The vehicle routing problem with time windows: minimizing
/// route duration", ORSA Journal on Computing 4, 1992, or all waiting where that is less.
fn schedule(instance: &Instance, times: Times<'_>, stops: &mut [Stop]) {
    let Some(first) = stops.first() else { return };
    let opening = times.ready[first.node];
    depart(instance, times, stops, opening);
    let (mut waited, mut slack) = (0.0, f64::INFINITY);
    for stop in &stops[1..] {
        waited += stop.waiting.unwrap_or(0.0);
        slack = slack.min(waited + times.due[stop.node] - stop.arrival.max(times.ready[stop.node]));
    }
    depart(instance, times, stops, opening + waited.min(slack).max(0.0));
}

/// Gives the stops of a route that leaves its first stop at a time their times.
fn depart(instance: &Instance, times: Times<'_>, stops: &mut [Stop], at: f64) {
    let mut last: Option<(usize, f64)> = None;
    for stop in stops {
        stop.arrival =
            last.map_or(at, |(here, leaves)| leaves + times.pace * instance.sites().distance(here, stop.node));
        let begin = if last.is_some() { stop.arrival.max(times.ready[stop.node]) } else { at };
        stop.waiting = Some(begin - stop.arrival);
        last = Some((stop.node, begin + times.service[stop.node]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sites;
    use crate::problems::{sdvrp::Sdvrp, tsp::Tsp};

    fn sites() -> Sites {
        Sites::euclidean("square", vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]).unwrap()
    }

    #[test]
    fn a_tour_ends_where_it_began_and_has_its_own_length() {
        let instance = Instance::from(Tsp::from(sites()));
        let itinerary = Itinerary::of(&instance, &[2, 3, 0, 1]);
        let [route] = &itinerary.routes[..] else { panic!("{itinerary:?}") };
        assert_eq!(route.stops.iter().map(|stop| stop.node).collect::<Vec<_>>(), [2, 3, 0, 1, 2]);
        assert_eq!((route.length, route.load), (instance.value(&[2, 3, 0, 1]), None));
        let one = Instance::from(Tsp::from(Sites::euclidean("one", vec![[3.0, 3.0]]).unwrap()));
        assert_eq!(Itinerary::of(&one, &[0]).routes[0].length, 0.0);
    }

    #[test]
    fn split_deliveries_fill_vehicles() {
        let instance = Instance::from(Sdvrp::new(sites(), vec![0.0, 5.0, 2.0, 1.0], 4.0).unwrap());
        let solution = [1, 0, 1, 2, 3];
        instance.check(&solution).unwrap();
        let routes = Itinerary::of(&instance, &solution).routes;
        assert_eq!(routes.iter().map(|route| route.load).collect::<Vec<_>>(), [Some(4.0), Some(4.0)]);
        assert_eq!(
            routes[1].stops.iter().map(|stop| stop.amount.unwrap()).collect::<Vec<_>>(),
            [0.0, 1.0, 2.0, 1.0, 0.0]
        );
        let total: f64 = routes.iter().map(|route| route.length).sum();
        assert!((total - instance.value(&solution)).abs() < 1e-12);
    }
}
