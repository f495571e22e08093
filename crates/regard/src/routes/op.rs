//! Orienteering: the highest prize on a tour of bounded length (Kool et al. 2019, appendix C.3).

use std::sync::Arc;

use regard_data::routes::drawn::DrawnOrienteering;
use regard_data::routes::generate;
use regard_data::routes::instance::Instance;
use regard_data::routes::orienteering as data;
use regard_data::routes::paper::{PaperSet, orienteering_set};

use super::improve::ImproveOptions;
use super::problem::{Drawing, Precision, Problem, State, chosen, other_set, places_of, sites, symmetry, visited};
use super::solvable::Solvable;
use crate::Result;

/// Kept free of the length, so that rounding never makes a tour too long.
const MARGIN: f64 = 1e-6;

/// A depot, places and their prizes, in the unit square.
#[derive(Clone, Debug)]
pub struct Orienteering {
    places: Arc<Places>,
    prizes: Arc<Vec<f64>>,
    max_length: f64,
}

/// Where the nodes lie and how far a tour may have come when it reaches them.
#[derive(Clone, Debug)]
struct Places {
    points: Vec<[f32; 2]>,
    /// Longest way to a node from which the depot can still be reached.
    limits: Vec<f64>,
    precision: Precision,
}

impl Places {
    fn new(points: Vec<[f32; 2]>, max_length: f64, precision: Precision) -> Self {
        let back = |&point: &[f32; 2]| {
            let left = precision.round(max_length - precision.distance(point, points[0]));
            precision.round(left - MARGIN)
        };
        Self { limits: points.iter().map(back).collect(), points, precision }
    }
}

impl Orienteering {
    /// Places with `prizes [nodes]` around the first of `points [nodes]`, the depot; a tour is at
    /// most `max_length` long.
    pub fn new(points: Vec<[f32; 2]>, prizes: Vec<f64>, max_length: f64) -> Self {
        let places = Arc::new(Places::new(points, max_length, Precision::Double));
        Self { places, prizes: Arc::new(prizes), max_length }
    }

    fn instance(&self) -> Result<data::Orienteering> {
        let sites = sites(Self::NAME, &self.places.points)?;
        Ok(data::Orienteering::new(sites, self.prizes.to_vec(), self.max_length)?)
    }
}

impl From<DrawnOrienteering> for Orienteering {
    fn from(drawn: DrawnOrienteering) -> Self {
        let prizes = drawn.prizes.iter().map(|&prize| f64::from(prize)).collect();
        Self::new(drawn.points, prizes, f64::from(drawn.max_length))
    }
}

/// A way from the depot.
#[derive(Clone, Debug)]
pub struct Excursion {
    places: Arc<Places>,
    visited: Vec<bool>,
    walk: Vec<u32>,
    length: f64,
}

impl State for Excursion {
    fn done(&self) -> bool {
        self.walk.last() == Some(&0) || self.places.points.is_empty()
    }

    fn allowed(&self, open: &mut [bool]) {
        let Places { points, limits, precision } = &*self.places;
        let here = points[self.walk.last().map_or(0, |&node| node as usize)];
        for (node, open) in open.iter_mut().enumerate() {
            let reach = || precision.round(self.length + precision.distance(here, points[node])) <= limits[node];
            *open = node == 0 || !self.visited[node] && reach();
        }
    }

    fn first(&self) -> Option<usize> {
        None
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        let limit = self.places.limits.first().copied().unwrap_or(0.0);
        out[0] = self.places.precision.round(limit - self.length) as f32;
    }

    fn step(&mut self, node: usize) {
        let Places { points, precision, .. } = &*self.places;
        let here = points[self.walk.last().map_or(0, |&node| node as usize)];
        self.length = precision.round(self.length + precision.distance(here, points[node]));
        self.visited[node] = true;
        self.walk.push(node as u32);
    }
}

impl Problem for Orienteering {
    type State = Excursion;

    const NAME: &'static str = "op";
    const FEATURES: usize = 3;
    const DEPOT: bool = true;
    const EVERY_NODE_ONCE: bool = false;
    const SCALARS: usize = 1;
    const DYNAMIC: bool = false;

    fn nodes(&self) -> usize {
        self.places.points.len()
    }

    fn features(&self) -> Vec<f32> {
        let nodes = self.places.points.iter().zip(&*self.prizes);
        nodes.flat_map(|(&[x, y], &prize)| [x, y, prize as f32]).collect()
    }

    fn start(&self) -> Excursion {
        let visited = vec![false; self.nodes()];
        Excursion { places: self.places.clone(), visited, walk: Vec::new(), length: 0.0 }
    }

    fn solution(state: &Excursion) -> Vec<usize> {
        visited(&state.walk)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        -places_of(solution).iter().map(|&node| self.prizes[node]).sum::<f64>()
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.instance()?.check(places_of(solution))?)
    }

    fn view(&self, view: usize) -> Self {
        let points = self.places.points.iter().map(|&point| symmetry(view, point)).collect();
        let places = Places { points, ..(*self.places).clone() };
        Self { places: Arc::new(places), ..self.clone() }
    }

    fn improve(&self, solution: Vec<usize>, options: &ImproveOptions) -> Result<Vec<usize>> {
        Ok(Solvable::improve(&self.instance()?, solution, options))
    }

    fn draw(drawing: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::orienteering(seed, count, size, drawing.prizes).into_iter().map(Self::from).collect()
    }

    fn of_instance(instance: &Instance) -> Option<Self> {
        match instance {
            Instance::Orienteering(orienteering) => Some(orienteering.problem()),
            _ => None,
        }
    }

    fn restricted(&self, nodes: &[usize]) -> Option<Self> {
        let points = chosen(&self.places.points, nodes);
        let places = Arc::new(Places::new(points, self.max_length, self.places.precision));
        Some(Self { places, prizes: Arc::new(chosen(&self.prizes, nodes)), ..*self })
    }

    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        let PaperSet::Orienteering { n, prizes } = set else { return Err(other_set(Self::NAME, set)) };
        Ok(orienteering_set(*prizes, *n, limit)?.into_iter().map(Self::from).collect())
    }

    fn in_single_precision(self) -> Self {
        let points = self.places.points.clone();
        let places = Places::new(points, f64::from(self.max_length as f32), Precision::Single);
        Self { places: Arc::new(places), ..self }
    }
}
