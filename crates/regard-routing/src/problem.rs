//! The interface between a routing problem and a policy.
//!
//! A problem is scalars and slices and knows no tensor: the features of its nodes, a [`State`] that knows which
//! nodes may be visited, and an exact cost. A network knows features, masks and contexts only, and none of the
//! rules.

pub use regard_kernels::rollout::State;

use crate::formats::sets::{RawSet, SetField};
use crate::generate::GeneratorConfig;
use crate::local_search::LocalSearchOptions;
use crate::paper::{PaperSet, PaperSetName};
use crate::{DistanceMatrix, Error, Metric, Result, Sites};
use regard_data::Fault;

/// One instance of a routing problem in the unit square, as a policy sees it (RL4CO calls this the environment).
pub trait Problem: Clone + Send + Sync + Sized + 'static {
    /// A partial solution.
    type State: State + Clone + Sync;

    /// Name of the problem, as in `config.json`.
    const NAME: &'static str;
    /// If true, node 0 is a depot, described by its coordinates alone.
    const DEPOT: bool;
    /// If true, every node is visited once and all unvisited ones are always open. The context is then the first
    /// and the last node, otherwise the last node and [`Self::SCALARS`] numbers.
    const EVERY_NODE_ONCE: bool = false;
    /// Names of the features behind the two coordinates, in their order.
    const ADDED_FEATURES: &'static [&'static str] = &[];
    /// Numbers that describe a node, its two coordinates first.
    const FEATURES: usize = 2 + Self::ADDED_FEATURES.len();
    /// Names of the numbers of the context beside embeddings ([`State::scalars`]), in their order.
    const SCALAR_NAMES: &'static [&'static str] = &[];
    /// Numbers of the context beside embeddings.
    const SCALARS: usize = Self::SCALAR_NAMES.len();
    /// If true, nodes have a number that changes from step to step ([`State::dynamic`]).
    const DYNAMIC: bool = false;
    /// If true, a prize is maximised; costs are negative prizes then.
    const MAXIMISES: bool = false;
    /// If true, [`Self::local_search`] improves solutions.
    const HAS_LOCAL_SEARCH: bool = false;
    /// Test sets of the paper (Kool et al. 2019), the usual one first; see [`crate::paper`].
    const PAPER_SETS: &'static [PaperSetName] = &[];
    /// Fields of a file with a set of instances beside the coordinates, in the order of Kool's tuples; `None` where no such
    /// file holds the problem. See [`crate::formats::sets`].
    const SET_FIELDS: Option<&'static [SetField]> = None;
    /// If true, [`Problem::draw`] places nodes by [`GeneratorConfig::points`]; otherwise they are uniform.
    const DRAWS_POINTS: bool = false;
    /// If true, [`Problem::draw`] gives prizes by [`GeneratorConfig::prizes`].
    const DRAWS_PRIZES: bool = false;

    /// Places of the nodes in the unit square, `[nodes, 2]`, a depot first.
    fn points(&self) -> &[[f32; 2]];
    /// Distances between the nodes where they are not the straight ones between [`Self::points`], in the same unit.
    fn matrix(&self) -> Option<&DistanceMatrix> {
        None
    }
    /// Distance from one node to another, in this unit.
    fn distance(&self, from: usize, to: usize) -> f64 {
        match self.matrix() {
            Some(matrix) => matrix.get(from, to),
            None => distance(self.points()[from], self.points()[to]),
        }
    }
    /// Number of nodes, the depot among them.
    fn nodes(&self) -> usize {
        self.points().len()
    }
    /// Features of the nodes, `[nodes, FEATURES]`, row-major.
    fn features(&self) -> Vec<f32>;
    /// The empty solution.
    fn start(&self) -> Self::State;
    /// The nodes of a finished solution, in the order visited: every step that was taken.
    fn solution(state: &Self::State) -> Vec<usize>;
    /// Exact cost of a finished solution; where a prize is maximised, its negative.
    fn cost(&self, solution: &[usize]) -> f64;
    /// Checks a solution by rules that share nothing with the code that builds solutions.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, solution: &[usize]) -> Result<()>;
    /// The instance under a symmetry of the square: view 0 is itself, views 1 to 7 the other symmetries. Solutions
    /// and costs are the same in every view.
    fn view(&self, view: usize) -> Self;
    /// `count` random instances of `size` nodes, a depot not counted, from `seed`. More instances of the same size
    /// append to the same sequence.
    fn draw(config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Vec<Self>;
    /// The instance with these of its nodes only, a depot first among them; what holds for the whole instance stays.
    /// `None` where that means nothing.
    fn subset(&self, _nodes: &[usize]) -> Option<Self> {
        None
    }
    /// The first instances of a test set of the paper.
    ///
    /// # Errors
    /// Another problem's set, or one too large for memory.
    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>> {
        if set.problem() == Self::NAME {
            Self::draw_paper_set(set, limit)
        } else {
            Err(set.of_another_problem(Self::NAME))
        }
    }
    /// The first instances of one of [`Self::PAPER_SETS`]. [`Self::paper_set`] calls it with sets of this problem only.
    ///
    /// # Errors
    /// A set that is too large for memory.
    fn draw_paper_set(set: &PaperSet, _limit: Option<usize>) -> Result<Vec<Self>> {
        Err(set.of_another_problem(Self::NAME))
    }
    /// If true, a set of instances may be this problem's where several problems have the same number of parts.
    fn claims_set(_set: &RawSet) -> bool {
        true
    }
    /// The instances of a set that was read from a file.
    ///
    /// # Errors
    /// What is wrong with which instance.
    fn of_set(_set: &RawSet) -> Result<Vec<Self>, Fault> {
        Err(Fault::whole(format!("no such file holds instances of `{}`", Self::NAME)))
    }
    /// The numbers of [`Self::SET_FIELDS`] in their order, without the depot's.
    fn set_values(&self) -> Vec<Vec<f64>> {
        Vec::new()
    }
    /// A solution found from `solution` by local search, never a worse one; the same where there is no search for the
    /// problem.
    ///
    /// # Errors
    /// None that a solution of this instance can cause.
    fn local_search(&self, solution: Vec<usize>, _options: &LocalSearchOptions) -> Result<Vec<usize>> {
        Ok(solution)
    }
    /// `count` instances that this one may turn out to be, where some quantities are only revealed on the way: the
    /// expected one first, the others sampled from `seed`. Several solutions are compared on them. `None` where
    /// everything is known from the start.
    fn scenarios(&self, _count: usize, _seed: u64) -> Option<Vec<Self>> {
        None
    }
    /// The solution that results when a plan made for another scenario is executed, with only what has been revealed
    /// so far known at each step.
    fn execute_plan(&self, plan: &[usize]) -> Vec<usize> {
        plan.to_vec()
    }
    /// The instance with its rules computed in single precision, as the original code does.
    #[must_use]
    fn in_single_precision(self) -> Self {
        self
    }
}

/// A path that visits every node once: nodes that were not visited are open. The context is the first and the last node.
#[derive(Clone, Debug)]
pub struct VisitOnce {
    visited: Vec<bool>,
    nodes: Vec<u32>,
}

impl VisitOnce {
    /// The empty path through so many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { visited: vec![false; nodes], nodes: Vec::with_capacity(nodes) }
    }

    /// The nodes in the order visited.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.nodes
    }
}

impl State for VisitOnce {
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

/// Rounding of a state's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Doubles: integers are exact.
    #[default]
    Double,
    /// Every operation is rounded to single precision, as the original code's tensors are.
    Single,
}

impl Precision {
    pub(crate) fn round(self, value: f64) -> f64 {
        match self {
            Self::Double => value,
            Self::Single => f64::from(value as f32),
        }
    }

    /// Share of a bound that sums may pass it by for their rounding, beyond what every checker allows.
    pub(crate) fn room(self) -> f64 {
        match self {
            Self::Double => 0.0,
            Self::Single => 1e-5,
        }
    }

    pub(crate) fn distance(self, locations: &Locations, from: usize, to: usize) -> f64 {
        match (self, locations.matrix()) {
            (Self::Single, None) => {
                let (a, b) = (locations[from], locations[to]);
                let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
                f64::from((dx * dx + dy * dy).sqrt())
            }
            _ => self.round(locations.distance(from, to)),
        }
    }
}

/// Straight distance.
pub(crate) fn distance(a: [f32; 2], b: [f32; 2]) -> f64 {
    let ([ax, ay], [bx, by]) = (a.map(f64::from), b.map(f64::from));
    (ax - bx).hypot(ay - by)
}

/// A walk without the depot at its end.
pub(crate) fn without_return(walk: &[usize]) -> &[usize] {
    walk.strip_suffix(&[0]).unwrap_or(walk)
}

/// The values of some of the nodes.
pub(crate) fn chosen<T: Copy>(of_nodes: &[T], nodes: &[usize]) -> Vec<T> {
    nodes.iter().map(|&node| of_nodes[node]).collect()
}

/// The nodes of a walk as a solution.
pub(crate) fn visited(walk: &[u32]) -> Vec<usize> {
    walk.iter().map(|&node| node as usize).collect()
}

/// Places of nodes in the unit square `[nodes, 2]`, and the distances between them: the straight ones, or those of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Locations {
    points: Vec<[f32; 2]>,
    matrix: Option<DistanceMatrix>,
}

impl From<Vec<[f32; 2]>> for Locations {
    fn from(points: Vec<[f32; 2]>) -> Self {
        Self { points, matrix: None }
    }
}

impl std::ops::Deref for Locations {
    type Target = [[f32; 2]];

    fn deref(&self) -> &[[f32; 2]] {
        &self.points
    }
}

impl Locations {
    /// Nodes at `points [nodes, 2]` with the distances of a matrix.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the matrix has another number of nodes.
    pub fn with_matrix(points: Vec<[f32; 2]>, matrix: DistanceMatrix) -> Result<Self> {
        if points.len() != matrix.len() {
            let reason = format!("has {} nodes, but there are {} places", matrix.len(), points.len());
            return Err(Error::invalid("distance matrix", reason));
        }
        Ok(Self { points, matrix: Some(matrix) })
    }

    /// The nodes of a file in the unit square; a table's distances are scaled as their places are.
    pub fn of(sites: &Sites) -> Self {
        let matrix = match sites.metric() {
            // Distances whose scaled values are not finite count as straight ones.
            Metric::Explicit(matrix) => matrix.scaled(1.0 / sites.positive_side()).ok(),
            _ => None,
        };
        Self { points: sites.unit_square(), matrix }
    }

    /// The distances where they are not straight.
    pub fn matrix(&self) -> Option<&DistanceMatrix> {
        self.matrix.as_ref()
    }

    /// If true, all distances are the same in both directions.
    pub fn is_symmetric(&self) -> bool {
        self.matrix.as_ref().is_none_or(DistanceMatrix::is_symmetric)
    }

    /// Distance from one node to another.
    pub fn distance(&self, from: usize, to: usize) -> f64 {
        match &self.matrix {
            Some(matrix) => matrix.get(from, to),
            None => distance(self.points[from], self.points[to]),
        }
    }

    /// Length of the route from the depot through `walk`, in which the depot may stand, and back to it.
    pub(crate) fn round_trip(&self, walk: &[usize]) -> f64 {
        let ends = std::iter::once(0).chain(walk.iter().copied());
        ends.zip(walk.iter().copied().chain([0])).map(|(a, b)| self.distance(a, b)).sum()
    }

    /// The places under a symmetry of the square; distances stay.
    pub(crate) fn view(&self, view: usize) -> Self {
        let points = self.points.iter().map(|&point| symmetry(view, point)).collect();
        Self { points, matrix: self.matrix.clone() }
    }

    /// Some of the nodes, in this order.
    pub(crate) fn chosen(&self, nodes: &[usize]) -> Self {
        let matrix = self.matrix.as_ref().and_then(|matrix| matrix.select(nodes).ok());
        Self { points: chosen(&self.points, nodes), matrix }
    }

    /// The nodes with their distances, for checkers and local search.
    pub(crate) fn sites(&self, name: &str) -> Result<Sites> {
        let places = || self.points.iter().map(|point| point.map(f64::from)).collect();
        match &self.matrix {
            Some(matrix) => Sites::new(name, Metric::Explicit(matrix.clone()), vec![])?.with_display(places()),
            None => Sites::euclidean(name, places()),
        }
    }
}

impl PaperSet {
    /// The error for a set that is not one of `problem`.
    pub(crate) fn of_another_problem(&self, problem: &str) -> Error {
        Error::invalid(format!("paper set `{self}`"), format!("is a set for `{}`, not for `{problem}`", self.problem()))
    }
}

/// View `view` (0 to 7) of a point of the unit square: the dihedral group of the square
/// (Kwon et al. 2020, section 4.2).
pub fn symmetry(view: usize, point: [f32; 2]) -> [f32; 2] {
    let [x, y] = point;
    let (x, y) = if view & 1 == 0 { (x, y) } else { (y, x) };
    let x = if view & 2 == 0 { x } else { 1.0 - x };
    let y = if view & 4 == 0 { y } else { 1.0 - y };
    [x, y]
}

#[cfg(test)]
mod tests {
    use super::{Locations, symmetry};
    use crate::{DistanceMatrix, Metric, Sites};

    #[test]
    fn a_matrix_goes_with_its_nodes() {
        let rows = vec![0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0];
        let matrix = DistanceMatrix::from_rows(3, rows).unwrap();
        let points = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
        let nodes = Locations::with_matrix(points.clone(), matrix.clone()).unwrap();
        assert_eq!((nodes.distance(2, 1), nodes.round_trip(&[1, 2])), (6.0, 1.0 + 4.0 + 5.0));
        let view = nodes.view(3);
        assert_eq!((view.distance(2, 1), view[1]), (6.0, symmetry(3, [1.0, 0.0])));
        let turned = nodes.chosen(&[2, 1]);
        assert_eq!((turned.distance(0, 1), turned.distance(1, 0), turned[0]), (6.0, 4.0, [0.0, 1.0]));
        let sites = nodes.sites("matrix").unwrap();
        assert_eq!((sites.distance(0, 2), sites.unit_square()), (2.0, points.clone()));
        assert!(!nodes.is_symmetric() && Locations::from(points.clone()).is_symmetric());
        assert!(Locations::with_matrix(points[..2].to_vec(), matrix.clone()).is_err());
        // Places and distances are scaled alike.
        let wide = points.iter().map(|point| point.map(|v| f64::from(10.0 * v))).collect();
        let file = Sites::new("file", Metric::Explicit(matrix), vec![]).unwrap().with_display(wide).unwrap();
        let scaled = Locations::of(&file);
        assert!((scaled.distance(2, 1) - 0.6).abs() < 1e-12 && scaled[1] == [1.0, 0.0]);
    }

    #[test]
    fn the_eight_views_differ_and_keep_distances() {
        let (a, b) = ([0.1f32, 0.7], [0.4, 0.2]);
        let distance = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        let mut seen = Vec::new();
        for view in 0..8 {
            let (u, v) = (symmetry(view, a), symmetry(view, b));
            assert!((distance(u, v) - distance(a, b)).abs() < 1e-6);
            assert!(!seen.contains(&u), "view {view}");
            seen.push(u);
        }
        assert_eq!(seen[0], a);
    }
}
