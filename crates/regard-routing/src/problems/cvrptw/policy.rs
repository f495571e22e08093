//! The instance in the unit square, as a policy sees it: features, state and mask.
//!
//! Times are in units of distance: a vehicle crosses the side of the square in a unit of time. As in RL4CO
//! (`rl4co/envs/routing/cvrptw`), a customer is barred if its window ends before a vehicle can be there; further if the
//! depot would be closed then.

use std::sync::Arc;

use super::{Cvrptw, TimeWindows, generate, sets};
use crate::formats::sets::{RawSet, SetField};
use crate::generate::GeneratorConfig;
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::problem::{Locations, Problem, State, chosen, visited};
use crate::problems::cvrp::Cvrp;
use crate::{DistanceMatrix, Result, routes_of};
use regard_data::Fault;

/// Sums may pass a bound by so much of it: rounding, and less than checkers allow.
const ROUNDING: f64 = 5e-10;

/// A depot, customers, their demands and their windows, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct CvrptwEnv(Arc<Data>);

#[derive(Clone, Debug, PartialEq)]
struct Data {
    points: Locations,
    demands: Vec<f64>,
    capacity: f64,
    windows: TimeWindows,
    /// The time by which all is done: the closing of the depot, or what takes its place where it never closes.
    horizon: f64,
}

impl CvrptwEnv {
    /// Customers with `demands [nodes]` (the depot's, the first, is 0) around the first of `points [nodes]`. No demand is
    /// above `capacity`, the depot opens at 0, and a vehicle can serve every customer alone in time.
    pub fn new(points: impl Into<Locations>, demands: Vec<f64>, capacity: f64, windows: TimeWindows) -> Self {
        let points = points.into();
        let TimeWindows { ready, due, service } = &windows;
        let served = |node: usize| {
            let far = points.distance(0, node);
            let latest = if due[node].is_finite() { due[node] } else { ready[node].max(far) };
            latest + service[node] + far
        };
        let open_end = || (0..points.len()).map(served).fold(0.0, f64::max);
        let horizon = due.first().copied().filter(|due| due.is_finite()).unwrap_or_else(open_end);
        let horizon = if horizon > 0.0 { horizon } else { 1.0 };
        Self(Arc::new(Data { points, demands, capacity, windows, horizon }))
    }

    /// Demands `[nodes]`, 0 for the depot.
    pub fn demands(&self) -> &[f64] {
        &self.0.demands
    }

    /// Capacity of a vehicle.
    pub fn capacity(&self) -> f64 {
        self.0.capacity
    }

    /// Windows and service times, in units of distance.
    pub fn windows(&self) -> &TimeWindows {
        &self.0.windows
    }

    fn instance(&self) -> Result<Cvrptw> {
        let Data { points, demands, capacity, windows, .. } = &*self.0;
        let routing = Cvrp::new(points.sites(Self::NAME)?, demands.clone(), *capacity)?;
        Cvrptw::unreachable_allowed(routing, windows.clone(), 1.0)
    }
}

/// Routes so far.
#[derive(Clone, Debug)]
pub struct CvrptwState {
    data: Arc<Data>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    /// Customers left.
    left: usize,
    /// Load that the current vehicle has delivered.
    used: f64,
    /// Time at which the current vehicle can leave.
    time: f64,
}

impl CvrptwState {
    fn here(&self) -> usize {
        self.walk.last().map_or(0, |&node| node as usize)
    }

    /// If true, the current vehicle can take `node` in. From the depot every customer fits: readers allow a demand more
    /// rounding than this, and a customer whom no vehicle takes would keep the routes from ending.
    fn fits(&self, node: usize) -> bool {
        self.here() == 0 || self.used + self.data.demands[node] <= self.data.capacity * (1.0 + ROUNDING)
    }

    /// The time at which service begins at `node` if it is next.
    fn begin(&self, node: usize) -> f64 {
        let Data { points, windows, .. } = &*self.data;
        (self.time + points.distance(self.here(), node)).max(windows.ready[node])
    }

    /// If true, the window of `node` can be met from here, and then that of the depot. From the depot every customer is
    /// in time.
    fn in_time(&self, node: usize) -> bool {
        let Data { points, windows, .. } = &*self.data;
        let keeps = |time: f64, node: usize| time <= windows.due[node] * (1.0 + ROUNDING);
        let begin = self.begin(node);
        self.here() == 0 || (keeps(begin, node) && keeps(begin + windows.service[node] + points.distance(node, 0), 0))
    }
}

impl State for CvrptwState {
    fn done(&self) -> bool {
        self.left == 0
    }

    fn allowed(&self, open: &mut [bool]) {
        let mut any = false;
        for (node, open) in open.iter_mut().enumerate().skip(1) {
            *open = !self.visited[node] && self.fits(node) && self.in_time(node);
            any |= *open;
        }
        if let Some(depot) = open.first_mut() {
            *depot = !any || self.last() != Some(0);
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        match node {
            0 => "depot twice",
            _ if self.visited[node] => "visited",
            _ if !self.fits(node) => "capacity",
            _ => "time window",
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.here())
    }

    fn scalars(&self, out: &mut [f32]) {
        let Data { capacity, horizon, .. } = *self.data;
        out[0] = ((capacity - self.used) / capacity) as f32;
        out[1] = (self.time / horizon) as f32;
        // How much of the day it takes to cross the square.
        out[2] = (1.0 / horizon).min(1.0) as f32;
    }

    fn step(&mut self, node: usize) {
        let begin = self.begin(node);
        self.walk.push(node as u32);
        if node == 0 {
            (self.used, self.time) = (0.0, 0.0);
            return;
        }
        self.used += self.data.demands[node];
        self.time = begin + self.data.windows.service[node];
        self.left -= usize::from(!self.visited[node]);
        self.visited[node] = true;
    }
}

impl Problem for CvrptwEnv {
    type State = CvrptwState;

    const NAME: &'static str = "cvrptw";
    const ADDED_FEATURES: &'static [&'static str] =
        &["demand / capacity", "ready / horizon", "due / horizon", "service / horizon"];
    const SCALAR_NAMES: &'static [&'static str] = &["free capacity", "time / horizon", "side / horizon"];
    const DEPOT: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_POINTS: bool = true;
    const SET_FIELDS: Option<&'static [SetField]> = Some(sets::FIELDS);

    fn set_values(&self) -> Vec<Vec<f64>> {
        sets::values(self)
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        sets::read(set)
    }

    fn points(&self) -> &[[f32; 2]] {
        &self.0.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.0.points.matrix()
    }

    fn features(&self) -> Vec<f32> {
        let Data { points, demands, capacity, windows, horizon } = &*self.0;
        let share = |time: f64| (time.min(*horizon) / horizon) as f32;
        let of_node = |(node, &[x, y]): (usize, &[f32; 2])| {
            let times = [windows.ready[node], windows.due[node], windows.service[node]];
            // The depot is described by its place alone.
            let [ready, due, service] = if node == 0 { [0.0; 3] } else { times.map(share) };
            [x, y, (demands[node] / capacity) as f32, ready, due, service]
        };
        points.iter().enumerate().flat_map(of_node).collect()
    }

    fn start(&self) -> CvrptwState {
        let nodes = self.0.points.len();
        let (visited, walk) = (vec![false; nodes], Vec::with_capacity(nodes + nodes / 4));
        CvrptwState { data: Arc::clone(&self.0), visited, walk, left: nodes.saturating_sub(1), used: 0.0, time: 0.0 }
    }

    fn solution(state: &CvrptwState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.points.round_trip(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance()?.check(&routes_of(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self(Arc::new(Data { points: self.0.points.view(view), ..(*self.0).clone() }))
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(self.instance()?.local_search(solution, options))
    }

    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::draw(config.points, seed, count, size)
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        let Data { points, demands, capacity, windows: TimeWindows { ready, due, service }, horizon } = &*self.0;
        let windows =
            TimeWindows { ready: chosen(ready, nodes), due: chosen(due, nodes), service: chosen(service, nodes) };
        let (points, demands) = (points.chosen(nodes), chosen(demands, nodes));
        Some(Self(Arc::new(Data { points, demands, capacity: *capacity, windows, horizon: *horizon })))
    }
}
