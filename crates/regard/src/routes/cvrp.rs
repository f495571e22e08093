//! Capacitated vehicle routing: every customer once, by vehicles that return to the depot before
//! they run out (Kool et al. 2019, appendix C.1).

use std::sync::Arc;

use regard_data::routes::cvrp::{self as data, routes_of};
use regard_data::routes::drawn::DrawnCvrp;
use regard_data::routes::generate;
use regard_data::routes::instance::Instance;
use regard_data::routes::paper::{PaperSet, cvrp_set};

use super::improve::ImproveOptions;
use super::problem::{Drawing, Precision, Problem, State, chosen, other_set, round_trip, sites, symmetry, visited};
use super::solvable::Solvable;
use crate::Result;

/// A depot, customers and their demands, in the unit square.
#[derive(Clone, Debug)]
pub struct VehicleRouting {
    goods: Arc<Goods>,
    pub(super) points: Vec<[f32; 2]>,
}

/// What is to be delivered.
#[derive(Clone, Debug)]
pub(super) struct Goods {
    /// `[nodes]`, the depot's 0.
    pub(super) demands: Vec<f64>,
    pub(super) capacity: f64,
    pub(super) precision: Precision,
}

/// Sums of fractions may pass a capacity by so much of it.
const ROUNDING: f64 = 1e-9;

impl Goods {
    /// Whether a vehicle with `used` on board can take `demand` more.
    fn fits(&self, used: f64, demand: f64) -> bool {
        let sum = self.precision.round(used + demand);
        match self.precision {
            Precision::Single => sum <= self.capacity,
            Precision::Double => sum <= self.capacity * (1.0 + ROUNDING),
        }
    }

    /// Share of the capacity that is left.
    pub(super) fn left(&self, used: f64) -> f32 {
        self.precision.round((self.capacity - used) / self.capacity) as f32
    }

    /// Demands as shares of the capacity, which is then 1, rounded as the original code's.
    pub(super) fn in_single_precision(&self) -> Self {
        let share = |demand: &f64| f64::from(*demand as f32 / self.capacity as f32);
        Self { demands: self.demands.iter().map(share).collect(), capacity: 1.0, precision: Precision::Single }
    }

    /// Coordinates and demand as a share of the capacity, node by node.
    pub(super) fn features(&self, points: &[[f32; 2]]) -> Vec<f32> {
        let share = |demand: f64| demand as f32 / self.capacity as f32;
        points.iter().zip(&self.demands).flat_map(|(&[x, y], &demand)| [x, y, share(demand)]).collect()
    }

    pub(super) fn instance(&self, name: &str, points: &[[f32; 2]], split: bool) -> Result<data::Cvrp> {
        let (sites, demands) = (sites(name, points)?, self.demands.clone());
        // Shares in single precision add up to the capacity but for their rounding.
        let room = if self.precision == Precision::Single { 1e-5 } else { 0.0 };
        let capacity = self.capacity * (1.0 + room);
        Ok(if split {
            data::Cvrp::new_split(sites, demands, capacity)?
        } else {
            data::Cvrp::new(sites, demands, capacity)?
        })
    }
}

impl VehicleRouting {
    /// Customers with `demands [nodes]` (the depot's, the first, is 0) around the first of
    /// `points [nodes]`; no demand is above `capacity`.
    pub fn new(points: Vec<[f32; 2]>, demands: Vec<f64>, capacity: f64) -> Self {
        Self { goods: Arc::new(Goods { demands, capacity, precision: Precision::Double }), points }
    }

    pub(super) fn goods(&self) -> &Arc<Goods> {
        &self.goods
    }
}

impl From<DrawnCvrp> for VehicleRouting {
    fn from(drawn: DrawnCvrp) -> Self {
        let demands = drawn.demands.iter().map(|&demand| f64::from(demand)).collect();
        Self::new(drawn.points, demands, f64::from(drawn.capacity))
    }
}

/// Routes so far.
#[derive(Clone, Debug)]
pub struct Routes {
    goods: Arc<Goods>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    /// Customers left.
    left: usize,
    /// What the vehicle on its way has delivered.
    used: f64,
}

impl State for Routes {
    fn done(&self) -> bool {
        self.left == 0
    }

    fn allowed(&self, open: &mut [bool]) {
        let mut any = false;
        let customers = self.visited.iter().zip(&self.goods.demands);
        for (open, (visited, &demand)) in open.iter_mut().zip(customers).skip(1) {
            *open = !visited && self.goods.fits(self.used, demand);
            any |= *open;
        }
        if let Some(depot) = open.first_mut() {
            *depot = !any || self.last() != Some(0);
        }
    }

    fn first(&self) -> Option<usize> {
        None
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.goods.left(self.used);
    }

    fn step(&mut self, node: usize) {
        self.walk.push(node as u32);
        if node == 0 {
            self.used = 0.0;
            return;
        }
        self.used = self.goods.precision.round(self.used + self.goods.demands[node]);
        self.left -= usize::from(!self.visited[node]);
        self.visited[node] = true;
    }
}

impl Problem for VehicleRouting {
    type State = Routes;

    const NAME: &'static str = "cvrp";
    const FEATURES: usize = 3;
    const DEPOT: bool = true;
    const EVERY_NODE_ONCE: bool = false;
    const SCALARS: usize = 1;
    const DYNAMIC: bool = false;

    fn nodes(&self) -> usize {
        self.points.len()
    }

    fn features(&self) -> Vec<f32> {
        self.goods.features(&self.points)
    }

    fn start(&self) -> Routes {
        let nodes = self.points.len();
        let (visited, walk) = (vec![false; nodes], Vec::with_capacity(nodes + nodes / 4));
        Routes { goods: self.goods.clone(), visited, walk, left: nodes.saturating_sub(1), used: 0.0 }
    }

    fn solution(state: &Routes) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        round_trip(&self.points, solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.goods.instance(Self::NAME, &self.points, false)?.check(&routes_of(solution))?)
    }

    fn view(&self, view: usize) -> Self {
        let points = self.points.iter().map(|&point| symmetry(view, point)).collect();
        Self { goods: self.goods.clone(), points }
    }

    fn improve(&self, solution: Vec<usize>, options: &ImproveOptions) -> Result<Vec<usize>> {
        Ok(self.goods.instance(Self::NAME, &self.points, false)?.improve(solution, options))
    }

    fn draw(drawing: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::cvrp_with(drawing.points, seed, count, size).into_iter().map(Self::from).collect()
    }

    fn of_instance(instance: &Instance) -> Option<Self> {
        match instance {
            Instance::Cvrp(cvrp) if !cvrp.split() => Some(cvrp.problem()),
            _ => None,
        }
    }

    fn restricted(&self, nodes: &[usize]) -> Option<Self> {
        let demands = chosen(&self.goods.demands, nodes);
        Some(Self { goods: Arc::new(Goods { demands, ..*self.goods }), points: chosen(&self.points, nodes) })
    }

    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        let PaperSet::Cvrp { n } = set else { return Err(other_set(Self::NAME, set)) };
        Ok(cvrp_set(*n, limit)?.into_iter().map(Self::from).collect())
    }

    fn in_single_precision(self) -> Self {
        Self { goods: Arc::new(self.goods.in_single_precision()), points: self.points }
    }
}
