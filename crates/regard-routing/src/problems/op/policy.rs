//! The instance in the unit square, as a policy sees it: features, state and mask.

use std::sync::Arc;

use super::{Op, generate};
use crate::formats::sets::{RawSet, SetField, amount};
use crate::generate::GeneratorConfig;
use crate::instance::SolverInstance;
use crate::local_search::LocalSearchOptions;
use crate::paper::{PaperSet, PaperSetName};
use crate::problem::{Locations, Precision, Problem, State, chosen, visited, without_return};
use crate::{DistanceMatrix, Result};
use regard_data::Fault;

/// Kept free of the length, so that rounding never makes a tour too long.
const MARGIN: f64 = 1e-6;

/// A depot, places and their prizes, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct OpEnv {
    reach: Arc<Reach>,
    prizes: Arc<Vec<f64>>,
    max_length: f64,
}

/// Places of the nodes, and the length a tour may have when it reaches them.
#[derive(Clone, Debug, PartialEq)]
struct Reach {
    points: Locations,
    /// Longest way to a node from which the depot can still be reached.
    limits: Vec<f64>,
    precision: Precision,
}

impl Reach {
    fn new(points: Locations, max_length: f64, precision: Precision) -> Self {
        let back = |node: usize| {
            let left = precision.round(max_length - precision.distance(&points, node, 0));
            precision.round(left - MARGIN)
        };
        Self { limits: (0..points.len()).map(back).collect(), points, precision }
    }
}

impl OpEnv {
    /// Reach with `prizes [nodes]` around the first of `points [nodes]`, the depot; a tour is at
    /// most `max_length` long, which is above 0.
    pub fn new(points: impl Into<Locations>, prizes: Vec<f64>, max_length: f64) -> Self {
        let reach = Arc::new(Reach::new(points.into(), max_length, Precision::Double));
        Self { reach, prizes: Arc::new(prizes), max_length }
    }

    /// Prizes `[nodes]`, 0 for the depot.
    pub fn prizes(&self) -> &[f64] {
        &self.prizes
    }

    /// The longest a tour may be.
    pub fn max_length(&self) -> f64 {
        self.max_length
    }

    fn instance(&self) -> Result<Op> {
        self.instance_of_length(self.max_length)
    }

    fn instance_of_length(&self, max_length: f64) -> Result<Op> {
        Op::new(self.reach.points.sites(Self::NAME)?, self.prizes.to_vec(), max_length)
    }
}

/// A route from the depot.
#[derive(Clone, Debug)]
pub struct OpState {
    reach: Arc<Reach>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    length: f64,
}

impl OpState {
    fn here(&self) -> usize {
        self.walk.last().map_or(0, |&node| node as usize)
    }
}

impl State for OpState {
    fn done(&self) -> bool {
        self.walk.last() == Some(&0) || self.reach.points.is_empty()
    }

    fn allowed(&self, open: &mut [bool]) {
        let Reach { points, limits, precision } = &*self.reach;
        let here = self.here();
        for (node, open) in open.iter_mut().enumerate() {
            let reach = || precision.round(self.length + precision.distance(points, here, node)) <= limits[node];
            *open = node == 0 || !self.visited[node] && reach();
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        if self.visited[node] { "visited" } else { "length" }
    }

    fn last(&self) -> Option<usize> {
        Some(self.here())
    }

    fn scalars(&self, out: &mut [f32]) {
        let limit = self.reach.limits.first().copied().unwrap_or(0.0);
        out[0] = self.reach.precision.round(limit - self.length) as f32;
    }

    fn step(&mut self, node: usize) {
        let Reach { points, precision, .. } = &*self.reach;
        self.length = precision.round(self.length + precision.distance(points, self.here(), node));
        self.visited[node] = true;
        self.walk.push(node as u32);
    }
}

impl Problem for OpEnv {
    type State = OpState;

    const NAME: &'static str = "op";
    const ADDED_FEATURES: &'static [&'static str] = &["prize"];
    const SCALAR_NAMES: &'static [&'static str] = &["length left"];
    const DEPOT: bool = true;
    const HAS_LOCAL_SEARCH: bool = true;
    const DRAWS_PRIZES: bool = true;
    const MAXIMISES: bool = true;
    const PAPER_SETS: &'static [PaperSetName] =
        &[PaperSetName::new("op_const"), PaperSetName::new("op_unif"), PaperSetName::new("op_dist").usual()];
    const SET_FIELDS: Option<&'static [SetField]> =
        Some(&[SetField::per_customer("prize").marking(), SetField::per_instance("max_length").marking()]);

    fn set_values(&self) -> Vec<Vec<f64>> {
        vec![self.prizes()[1..].to_vec(), vec![self.max_length()]]
    }

    fn points(&self) -> &[[f32; 2]] {
        &self.reach.points
    }

    fn matrix(&self) -> Option<&DistanceMatrix> {
        self.reach.points.matrix()
    }

    fn features(&self) -> Vec<f32> {
        let nodes = self.reach.points.iter().zip(&*self.prizes);
        nodes.flat_map(|(&[x, y], &prize)| [x, y, prize as f32]).collect()
    }

    fn start(&self) -> OpState {
        let visited = vec![false; self.nodes()];
        OpState { reach: self.reach.clone(), visited, walk: Vec::new(), length: 0.0 }
    }

    fn solution(state: &OpState) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        -without_return(solution).iter().map(|&node| self.prizes[node]).sum::<f64>()
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        self.instance_of_length(self.max_length * (1.0 + self.reach.precision.room()))?.check(without_return(solution))
    }

    fn view(&self, view: usize) -> Self {
        let points = self.reach.points.view(view);
        Self { reach: Arc::new(Reach { points, ..(*self.reach).clone() }), ..self.clone() }
    }

    fn local_search(&self, solution: Vec<usize>, options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(SolverInstance::local_search(&self.instance()?, solution, options))
    }

    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::draw(seed, count, size, config.prizes)
    }

    fn subset(&self, nodes: &[usize]) -> Option<Self> {
        let points = self.reach.points.chosen(nodes);
        let reach = Arc::new(Reach::new(points, self.max_length, self.reach.precision));
        Some(Self { reach, prizes: Arc::new(chosen(&self.prizes, nodes)), ..*self })
    }

    fn draw_paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        generate::paper_set(generate::prizes_of(set)?, set.n(), limit)
    }

    fn of_set(set: &RawSet) -> Result<Vec<Self>, Fault> {
        set.each(|instance| {
            let (points, prizes) = (instance.points()?, instance.amounts("prize", "prize")?);
            let max_length = instance.number("max_length").unwrap_or(f64::NAN);
            match amount(max_length).filter(|&length| length > 0.0) {
                Some(max_length) => Ok(generate::of_single(points, &prizes, max_length)),
                None => Err(format!("maximum length {max_length}, expected a finite number above 0")),
            }
        })
    }

    fn in_single_precision(self) -> Self {
        let points = self.reach.points.clone();
        let reach = Reach::new(points, f64::from(self.max_length as f32), Precision::Single);
        Self { reach: Arc::new(reach), ..self }
    }
}
