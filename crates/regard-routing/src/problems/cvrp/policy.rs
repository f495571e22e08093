//! The instance in the unit square, as a policy sees it: features, state and mask (Kool et al. 2019, appendix C.1).

use std::sync::Arc;

use super::{Cvrp, generate, sets};
use crate::formats::sets::{RawSet, SetField};
use crate::generate::GeneratorConfig;
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::paper::{PaperSet, PaperSetName};
use crate::problem::{Locations, Precision, Problem, State, chosen, visited};
use crate::{DistanceMatrix, Result, routes_of};
use regard_data::Fault;

/// A depot, customers and their demands, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct CvrpEnv {
    demands: Arc<Demands>,
    points: Locations,
}

/// Demands of the nodes and the capacity of a vehicle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demands {
    /// `[nodes]`, the depot's 0.
    pub(crate) of_nodes: Vec<f64>,
    pub(crate) capacity: f64,
    pub(crate) precision: Precision,
}

/// Sums of fractions may pass a capacity by so much of it.
const ROUNDING: f64 = 1e-9;

impl Demands {
    /// If true, a vehicle with `used` on board can take `demand` more.
    fn fits(&self, used: f64, demand: f64) -> bool {
        let sum = self.precision.round(used + demand);
        match self.precision {
            Precision::Single => sum <= self.capacity,
            Precision::Double => sum <= self.capacity * (1.0 + ROUNDING),
        }
    }

    /// Share of the capacity that is left.
    pub(crate) fn left(&self, used: f64) -> f32 {
        self.precision.round((self.capacity - used) / self.capacity) as f32
    }

    /// Demands as shares of the capacity, which is then 1, rounded as the original code's.
    pub(crate) fn in_single_precision(&self) -> Self {
        let share = |demand: &f64| f64::from(*demand as f32 / self.capacity as f32);
        Self { of_nodes: self.of_nodes.iter().map(share).collect(), capacity: 1.0, precision: Precision::Single }
    }

    /// Coordinates and demand as a share of the capacity, node by node.
    pub(crate) fn features(&self, points: &[[f32; 2]]) -> Vec<f32> {
        let share = |demand: f64| demand as f32 / self.capacity as f32;
        points.iter().zip(&self.of_nodes).flat_map(|(&[x, y], &demand)| [x, y, share(demand)]).collect()
    }

    /// The capacity for checkers: shares in single precision add up to the capacity but for their rounding.
    pub(crate) fn capacity_with_rounding(&self) -> f64 {
        self.capacity * (1.0 + self.precision.room())
    }
}

impl CvrpEnv {
    /// Customers with `demands [nodes]` (the depot's, the first, is 0) around the first of
    /// `points [nodes]`; no demand is above `capacity`.
    pub fn new(points: impl Into<Locations>, demands: Vec<f64>, capacity: f64) -> Self {
        let demands = Arc::new(Demands { of_nodes: demands, capacity, precision: Precision::Double });
        Self { demands, points: points.into() }
    }

    /// Demands `[nodes]`, 0 for the depot.
    pub fn demands(&self) -> &[f64] {
        &self.demands.of_nodes
    }

    /// Capacity of a vehicle.
    pub fn capacity(&self) -> f64 {
        self.demands.capacity
    }

    /// Places of the nodes, with their distances.
    pub(crate) fn locations(&self) -> &Locations {
        &self.points
    }

    pub(crate) fn shared_demands(&self) -> &Arc<Demands> {
        &self.demands
    }

    fn instance(&self) -> Result<Cvrp> {
        let demands = self.demands.of_nodes.clone();
        Cvrp::new(self.points.sites(Self::NAME)?, demands, self.demands.capacity_with_rounding())
    }
}

/// Routes so far.
#[derive(Clone, Debug)]
pub struct CvrpState {
    demands: Arc<Demands>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    /// Customers left.
    left: usize,
    /// Load that the current vehicle has delivered.
    used: f64,
}

impl State for CvrpState {
    fn done(&self) -> bool {
        self.left == 0
    }

    fn allowed(&self, open: &mut [bool]) {
        let mut any = false;
        let customers = self.visited.iter().zip(&self.demands.of_nodes);
        for (open, (visited, &demand)) in open.iter_mut().zip(customers).skip(1) {
            *open = !visited && self.demands.fits(self.used, demand);
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
            _ => "capacity",
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.demands.left(self.used);
    }

    fn step(&mut self, node: usize) {
        self.walk.push(node as u32);
        if node == 0 {
            self.used = 0.0;
            return;
        }
        self.used = self.demands.precision.round(self.used + self.demands.of_nodes[node]);
        self.left -= usize::from(!self.visited[node]);
        self.visited[node] = true;
    }
}

impl Problem for CvrpEnv {
    type State = CvrpState;

    const NAME: &'static str = "cvrp";
    const ADDED_FEATURES: &'static [&'static str] = &["demand / capacity"];
    const SCALAR_NAMES: &'static [&'static str] = &["free capacity"];
    const DEPOT: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_POINTS: bool = true;
    const PAPER_SETS: &'static [PaperSetName] = &[PaperSetName::new("cvrp")];
    const SET_FIELDS: Option<&'static [SetField]> = Some(sets::FIELDS);

    fn set_values(&self) -> Vec<Vec<f64>> {
        vec![self.demands()[1..].to_vec(), vec![self.capacity()]]
    }

    fn points(&self) -> &[[f32; 2]] {
        &self.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.points.matrix()
    }

    fn features(&self) -> Vec<f32> {
        self.demands.features(&self.points)
    }

    fn start(&self) -> CvrpState {
        let nodes = self.points.len();
        let (visited, walk) = (vec![false; nodes], Vec::with_capacity(nodes + nodes / 4));
        CvrpState { demands: self.demands.clone(), visited, walk, left: nodes.saturating_sub(1), used: 0.0 }
    }

    fn solution(state: &CvrpState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.points.round_trip(solution)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance()?.check(&routes_of(solution))
    }

    fn view(&self, view: usize) -> Self {
        Self { demands: self.demands.clone(), points: self.points.view(view) }
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(self.instance()?.local_search(solution, options))
    }

    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::draw(config.points, seed, count, size)
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        let of_nodes = chosen(&self.demands.of_nodes, nodes);
        Some(Self { demands: Arc::new(Demands { of_nodes, ..*self.demands }), points: self.points.chosen(nodes) })
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        generate::paper_set(set.n(), limit)
    }

    fn claims_set(set: &RawSet) -> bool {
        sets::claims(set)
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        sets::read(set)
    }

    fn in_single_precision(self) -> Self {
        Self { demands: Arc::new(self.demands.in_single_precision()), points: self.points }
    }
}
