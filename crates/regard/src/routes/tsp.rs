//! The travelling salesman problem: visit every node once and return.

use regard_data::routes::tsp::Tsp;

use super::problem::{Problem, State, symmetry};
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
        state.nodes.iter().map(|&node| node as usize).collect()
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        let point = |i: usize| self.points[solution[i % solution.len()]].map(f64::from);
        (0..solution.len()).map(|i| (point(i), point(i + 1))).map(|([ax, ay], [bx, by])| (ax - bx).hypot(ay - by)).sum()
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        let points = self.points.iter().map(|point| point.map(f64::from)).collect();
        Ok(Tsp::euclidean(Self::NAME, points)?.check(solution)?)
    }

    fn view(&self, view: usize) -> Self {
        Self { points: self.points.iter().map(|&point| symmetry(view, point)).collect() }
    }
}
