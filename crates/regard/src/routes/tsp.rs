//! The travelling salesman problem: visit every node once and return.

use regard_data::routes::generate;
use regard_data::routes::instance::Instance;
use regard_data::routes::paper::{PaperSet, test_set};

use super::improve::{self, ImproveOptions};
use super::problem::{Drawing, Problem, State, chosen, distance, other_set, sites, symmetry, visited};
use super::solvable::Solvable;
use crate::Result;

/// Points of the unit square, to be visited in a closed tour.
#[derive(Clone, Debug)]
pub struct TravellingSalesman {
    points: Vec<[f32; 2]>,
}

impl TravellingSalesman {
    /// An instance over `points`.
    pub fn new(points: Vec<[f32; 2]>) -> Self {
        Self { points }
    }
}

/// A path through some of the nodes.
#[derive(Clone, Debug)]
pub struct Path {
    visited: Vec<bool>,
    nodes: Vec<u32>,
}

impl State for Path {
    fn done(&self) -> bool {
        self.nodes.len() == self.visited.len()
    }

    fn allowed(&self, open: &mut [bool]) {
        for (open, visited) in open.iter_mut().zip(&self.visited) {
            *open = !visited;
        }
    }

    fn first(&self) -> Option<usize> {
        self.nodes.first().map(|&node| node as usize)
    }

    fn last(&self) -> Option<usize> {
        self.nodes.last().map(|&node| node as usize)
    }

    fn scalars(&self, _: &mut [f32]) {}

    fn step(&mut self, node: usize) {
        self.visited[node] = true;
        self.nodes.push(node as u32);
    }
}

impl Problem for TravellingSalesman {
    type State = Path;

    const NAME: &'static str = "tsp";
    const FEATURES: usize = 2;
    const DEPOT: bool = false;
    const EVERY_NODE_ONCE: bool = true;
    const SCALARS: usize = 0;
    const DYNAMIC: bool = false;

    fn nodes(&self) -> usize {
        self.points.len()
    }

    fn features(&self) -> Vec<f32> {
        self.points.iter().flatten().copied().collect()
    }

    fn start(&self) -> Path {
        Path { visited: vec![false; self.points.len()], nodes: Vec::with_capacity(self.points.len()) }
    }

    fn solution(state: &Path) -> Vec<usize> {
        visited(&state.nodes)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let point = |i: usize| self.points[solution[i % solution.len()]];
        (0..solution.len()).map(|i| distance(point(i), point(i + 1))).sum()
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(sites(Self::NAME, &self.points)?.check(solution)?)
    }

    fn view(&self, view: usize) -> Self {
        Self { points: self.points.iter().map(|&point| symmetry(view, point)).collect() }
    }

    fn improve(&self, mut solution: Vec<usize>, options: &ImproveOptions) -> Result<Vec<usize>> {
        improve::improve(&sites(Self::NAME, &self.points)?, &mut solution, options);
        Ok(solution)
    }

    fn draw(drawing: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self> {
        generate::tsp(drawing.points, seed, count, size).into_iter().map(Self::new).collect()
    }

    fn of_instance(instance: &Instance) -> Option<Self> {
        match instance {
            Instance::Tsp(tsp) => Some(tsp.problem()),
            _ => None,
        }
    }

    fn restricted(&self, nodes: &[usize]) -> Option<Self> {
        Some(Self { points: chosen(&self.points, nodes) })
    }

    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        let PaperSet::Tsp { n } = set else { return Err(other_set(Self::NAME, set)) };
        Ok(test_set(&format!("tsp{n}"), limit)?.into_iter().map(Self::new).collect())
    }
}
