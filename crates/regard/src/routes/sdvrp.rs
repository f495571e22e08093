//! Vehicle routing with split deliveries: a customer may be served by several vehicles (Kool et
//! al. 2019, appendix C.2). What is left to deliver moves the keys and values of a node.

use std::sync::Arc;

use regard_data::routes::cvrp::routes_of;
use regard_data::routes::drawn::DrawnCvrp;
use regard_data::routes::instance::Instance;
use regard_data::routes::paper::{PaperSet, cvrp_set};

use super::cvrp::{Goods, VehicleRouting};
use super::improve::ImproveOptions;
use super::problem::{Drawing, Problem, State, other_set, visited};
use super::solvable::{Solvable, Split};
use crate::Result;

/// A depot, customers and their demands, in the unit square; demands may be above the capacity.
#[derive(Clone, Debug)]
pub struct SplitDelivery(VehicleRouting);

impl SplitDelivery {
    /// As [`VehicleRouting::new`], with demands of any size.
    pub fn new(points: Vec<[f32; 2]>, demands: Vec<f64>, capacity: f64) -> Self {
        Self(VehicleRouting::new(points, demands, capacity))
    }
}

impl From<DrawnCvrp> for SplitDelivery {
    fn from(drawn: DrawnCvrp) -> Self {
        Self(drawn.into())
    }
}

/// Deliveries so far.
#[derive(Clone, Debug)]
pub struct Deliveries {
    goods: Arc<Goods>,
    /// What is still to be delivered, `[nodes]`.
    remaining: Vec<f64>,
    walk: Vec<u32>,
    used: f64,
}

impl State for Deliveries {
    fn done(&self) -> bool {
        self.remaining.iter().all(|&demand| demand <= 0.0)
    }

    fn allowed(&self, open: &mut [bool]) {
        let room = self.used < self.goods.capacity;
        let mut any = false;
        for (open, &demand) in open.iter_mut().zip(&self.remaining).skip(1) {
            *open = room && demand > 0.0;
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

    fn dynamic(&self, out: &mut [f32]) {
        for (out, demand) in out.iter_mut().zip(&self.remaining) {
            *out = (demand / self.goods.capacity) as f32;
        }
    }

    fn step(&mut self, node: usize) {
        self.walk.push(node as u32);
        if node == 0 {
            self.used = 0.0;
            return;
        }
        let round = |value| self.goods.precision.round(value);
        let delivered = self.remaining[node].min(round(self.goods.capacity - self.used));
        self.used = round(self.used + delivered);
        self.remaining[node] = round(self.remaining[node] - delivered);
    }
}

impl Problem for SplitDelivery {
    type State = Deliveries;

    const NAME: &'static str = "sdvrp";
    const FEATURES: usize = VehicleRouting::FEATURES;
    const DEPOT: bool = true;
    const EVERY_NODE_ONCE: bool = false;
    const SCALARS: usize = 1;
    const DYNAMIC: bool = true;

    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn features(&self) -> Vec<f32> {
        self.0.features()
    }

    fn start(&self) -> Deliveries {
        let goods = self.0.goods().clone();
        Deliveries { remaining: goods.demands.clone(), walk: Vec::with_capacity(2 * self.nodes()), used: 0.0, goods }
    }

    fn solution(state: &Deliveries) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.cost(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.0.goods().instance(Self::NAME, &self.0.points, true)?.check(&routes_of(solution))?)
    }

    fn view(&self, view: usize) -> Self {
        Self(self.0.view(view))
    }

    fn improve(&self, solution: Vec<usize>, options: &ImproveOptions) -> Result<Vec<usize>> {
        let instance = self.0.goods().instance(Self::NAME, &self.0.points, true)?;
        Ok(Split(&instance).improve(solution, options))
    }

    fn draw(drawing: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self> {
        VehicleRouting::draw(drawing, seed, count, size).into_iter().map(Self).collect()
    }

    fn of_instance(instance: &Instance) -> Option<Self> {
        match instance {
            Instance::Cvrp(cvrp) if cvrp.split() => Some(Split(cvrp).problem()),
            _ => None,
        }
    }

    fn restricted(&self, nodes: &[usize]) -> Option<Self> {
        self.0.restricted(nodes).map(Self)
    }

    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        let PaperSet::Sdvrp { n } = set else { return Err(other_set(Self::NAME, set)) };
        Ok(cvrp_set(*n, limit)?.into_iter().map(Self::from).collect())
    }

    fn in_single_precision(self) -> Self {
        Self(self.0.in_single_precision())
    }
}
