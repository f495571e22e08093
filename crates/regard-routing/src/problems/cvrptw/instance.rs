//! The instance in a metric of its own, its cost and its checker.

use crate::formats::solution::rounded;
use crate::itinerary::Times;
use crate::problems::cvrp::Cvrp;
use crate::sites::is_coordinate;
use crate::{Error, Metric, Result, Sites, depot};

/// Windows and service times of the nodes, `[nodes]` each, the depot's first.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeWindows {
    /// Earliest begin of service, 0 or more. Vehicles leave the depot no earlier.
    pub ready: Vec<f64>,
    /// Latest begin of service, infinite where there is none. Vehicles are back at the depot no later.
    pub due: Vec<f64>,
    /// Time that service takes, 0 for the depot.
    pub service: Vec<f64>,
}

/// A vehicle routing instance with time windows: the depot is node 0, all others are customers with a demand and a
/// window in which their service begins. A vehicle that arrives early waits.
///
/// A solution is a list of routes. A route lists customers only; it starts and ends at the depot. Its cost is the sum of
/// the distances; waiting costs nothing.
///
/// ```
/// use regard_routing::{Sites, problems::cvrptw::{Cvrptw, TimeWindows}};
///
/// let sites = Sites::euclidean("two", vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])?;
/// let windows =
///     TimeWindows { ready: vec![0.0, 0.0, 5.0], due: vec![30.0, 10.0, 9.0], service: vec![0.0, 1.0, 1.0] };
/// let instance = Cvrptw::new(sites, vec![0.0, 2.0, 2.0], 4.0, windows)?;
/// instance.check(&[vec![1, 2]])?;
/// assert!(instance.check(&[vec![2, 1]]).is_ok());
/// assert_eq!(instance.cost(&[vec![1, 2]]), 12.0);
/// # Ok::<(), regard_routing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cvrptw {
    routing: Cvrp,
    windows: TimeWindows,
    pace: f64,
    vehicles: Option<usize>,
    of_day: bool,
    /// If true, times are of day, and nothing says how fast vehicles drive.
    is_pace_guessed: bool,
}

/// A window that no vehicle can keep.
pub(super) struct Fault {
    pub(super) node: usize,
    /// Name of the column: "ready" or "due".
    pub(super) field: &'static str,
    /// The fault, of which the window is the subject.
    pub(super) reason: String,
}

impl Cvrptw {
    /// Instance in which a unit of distance takes a unit of time, with `demands` as of [`Cvrp::new`].
    ///
    /// # Errors
    /// [`Error::Invalid`] as [`Cvrp::new`], and when the counts differ, a time is negative or no number, a window ends
    /// before it begins, the depot has a service time, or a vehicle that serves one customer alone cannot be in time.
    pub fn new(sites: Sites, demands: Vec<f64>, capacity: f64, windows: TimeWindows) -> Result<Self> {
        Self::at_pace(Cvrp::new(sites, demands, capacity)?, windows, 1.0)
    }

    /// Instance in which a unit of distance takes `pace` units of time.
    pub(super) fn at_pace(routing: Cvrp, windows: TimeWindows, pace: f64) -> Result<Self> {
        let instance = Self::unreachable_allowed(routing, windows, pace)?;
        match instance.fault() {
            None => Ok(instance),
            Some(Fault { node, reason, .. }) => {
                Err(Error::invalid(format!("window of node {}", instance.sites().ids()[node]), reason))
            }
        }
    }

    /// The same without a check that every customer can be reached in time.
    pub(super) fn unreachable_allowed(routing: Cvrp, windows: TimeWindows, pace: f64) -> Result<Self> {
        depot::bound("time for a unit of distance", pace)?;
        depot::amounts("ready time", routing.sites(), &windows.ready)?;
        depot::amounts("service time", routing.sites(), &windows.service)?;
        depot::no_amount_at_depot("service time", routing.sites(), &windows.service)?;
        if windows.due.len() != routing.len() {
            let reason = format!("{} given for {} nodes", windows.due.len(), routing.len());
            return Err(Error::invalid("due time of each node", reason));
        }
        Ok(Self { routing, windows, pace, vehicles: None, of_day: false, is_pace_guessed: false })
    }

    /// The same instance with at most so many vehicles.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0 vehicles, and for fewer than the demand fills.
    pub fn with_vehicles(mut self, vehicles: Option<usize>) -> Result<Self> {
        if vehicles == Some(0) {
            return Err(Error::invalid("number of vehicles", "0 is given, expected at least 1"));
        }
        let (demand, capacity) = (self.routing.demands().iter().sum::<f64>(), self.routing.capacity());
        if let Some(vehicles) = vehicles.filter(|vehicles| !depot::within(demand, *vehicles as f64 * capacity)) {
            let reason = format!(
                "{vehicles} {} given, expected at least {}: demands are {demand} together, the capacity is {capacity}",
                if vehicles == 1 { "is" } else { "are" },
                (demand / capacity).ceil()
            );
            return Err(Error::invalid("number of vehicles", reason));
        }
        self.vehicles = vehicles;
        Ok(self)
    }

    /// The same instance with times that are minutes since midnight, shown as times of day; `speed` is the one that was
    /// given.
    #[must_use]
    pub(super) fn with_times_of_day(self, speed: Option<f64>) -> Self {
        Self { of_day: true, is_pace_guessed: speed.is_none(), ..self }
    }

    /// The same instance, of which nothing says how fast vehicles drive.
    #[must_use]
    pub(super) fn with_guessed_pace(self) -> Self {
        Self { is_pace_guessed: true, ..self }
    }

    /// Says how fast vehicles drive where times of day or places on the Earth need it and nothing does.
    pub(super) fn note(&self) -> Option<String> {
        let unit = match self.sites().metric() {
            Metric::GreatCircleKm if !self.of_day => "a kilometre takes a unit of time (60 km/h if times are minutes)",
            Metric::GreatCircleKm => "a kilometre takes a minute (60 km/h)",
            Metric::Explicit(_) => "a unit of `--distances` takes a minute",
            _ => "a unit of distance takes a minute",
        };
        self.is_pace_guessed.then(|| format!("no speed is given: {unit} (`# speed: N` above the header changes it)"))
    }

    /// The same instance with another best-known cost.
    #[must_use]
    pub fn with_best_known(mut self, cost: Option<f64>) -> Self {
        self.routing = self.routing.with_best_known(cost);
        self
    }

    /// The same customers, demands and capacity without windows.
    #[must_use]
    pub fn routing(&self) -> &Cvrp {
        &self.routing
    }

    /// Depot and customers with their distances, ids and name.
    #[must_use]
    pub fn sites(&self) -> &Sites {
        self.routing.sites()
    }

    /// Windows and service times.
    #[must_use]
    pub fn windows(&self) -> &TimeWindows {
        &self.windows
    }

    /// Time that a unit of distance takes.
    #[must_use]
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// Number of vehicles, where it is limited.
    #[must_use]
    pub fn vehicles(&self) -> Option<usize> {
        self.vehicles
    }

    /// The times by which vehicles drive.
    #[must_use]
    pub fn times(&self) -> Times<'_> {
        Times {
            ready: &self.windows.ready,
            due: &self.windows.due,
            service: &self.windows.service,
            pace: self.pace,
            of_day: self.of_day,
        }
    }

    /// Length of all routes together in the file's own metric.
    ///
    /// # Panics
    /// When an index is not below the number of nodes.
    #[must_use]
    pub fn cost(&self, routes: &[Vec<usize>]) -> f64 {
        let cost = self.routing.cost(routes);
        // A sum of tenths is a number of tenths.
        if *self.sites().metric() == Metric::Tenths { (10.0 * cost).round() / 10.0 } else { cost }
    }

    /// Checks a solution against every rule, whatever made it. Empty routes are ignored.
    ///
    /// Integers are compared exactly, fractions with 1e-9 of the bound.
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint by the ids of the file.
    pub fn check(&self, routes: &[Vec<usize>]) -> Result<()> {
        self.routing.check(routes)?;
        let used = routes.iter().filter(|route| !route.is_empty()).count();
        if let Some(vehicles) = self.vehicles.filter(|vehicles| used > *vehicles) {
            let reason = format!("there are {used} routes, the number of vehicles is {vehicles}");
            return Err(Error::Infeasible { reason });
        }
        routes
            .iter()
            .enumerate()
            .filter(|(_, route)| !route.is_empty())
            .try_for_each(|(at, route)| self.check_times(at + 1, route))
    }

    /// Drives a route from the opening of the depot and checks every arrival.
    fn check_times(&self, number: usize, route: &[usize]) -> Result<()> {
        let TimeWindows { ready, due, service } = &self.windows;
        let (mut clock, mut here) = (ready[0], 0);
        for &node in route.iter().chain([&0]) {
            clock = (clock + self.pace * self.sites().distance(here, node)).max(ready[node]);
            if !depot::within(clock, due[node]) {
                let (id, due, clock) = (&self.sites().ids()[node], due[node], rounded(clock));
                let reason = match node {
                    0 => format!("route {number} is back at {clock}, the depot closes at {due}"),
                    _ => format!("route {number} reaches node {id} at {clock}, its window ends at {due}"),
                };
                return Err(Error::Infeasible { reason });
            }
            (clock, here) = (clock + service[node], node);
        }
        Ok(())
    }

    /// The first time that cannot be kept, if any.
    pub(super) fn fault(&self) -> Option<Fault> {
        let TimeWindows { ready, due, service } = &self.windows;
        (0..ready.len()).find_map(|node| {
            let fault = |field, reason| Some(Fault { node, field, reason });
            if due[node].is_nan() || due[node] < 0.0 || (due[node].is_finite() && !is_coordinate(due[node])) {
                return fault("due", format!("ends at {}, expected a number from 0 to 1e100", due[node]));
            }
            if due[node] < ready[node] {
                return fault("due", format!("ends at {}, before it begins at {}", due[node], ready[node]));
            }
            let [out, back] = [self.sites().distance(0, node), self.sites().distance(node, 0)].map(|d| self.pace * d);
            let begin = (ready[0] + out).max(ready[node]);
            if !depot::within(begin, due[node]) {
                let reason =
                    format!("ends at {}, and a vehicle straight from the depot is there at {begin}", due[node]);
                return fault("due", reason);
            }
            let home = begin + service[node] + back;
            if !depot::within(home, due[0]) {
                return fault(
                    "ready",
                    format!(
                        "begins at {}: a vehicle is back at {home}, and the depot closes at {}",
                        ready[node], due[0]
                    ),
                );
            }
            None
        })
    }
}
