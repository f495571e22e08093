//! What a routing problem has to say for itself.
//!
//! A problem is scalars and slices and knows no tensor: the features of its nodes, a [`State`]
//! that knows what may be visited, and an exact cost. The network knows features, masks and
//! contexts only, and none of the rules.

pub use regard_nn::State;

use regard_data::routes::drawn::Prizes;
use regard_data::routes::generate::Points;
use regard_data::routes::instance::Instance;
use regard_data::routes::paper::PaperSet;
use regard_data::routes::tsp::Tsp;

use super::improve::ImproveOptions;
use crate::{Error, Result};

/// What random instances are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawing {
    /// How nodes lie in the plane.
    pub points: Points,
    /// Prizes of the orienteering problem.
    pub prizes: Prizes,
}

impl Default for Drawing {
    fn default() -> Self {
        Self { points: Points::Uniform, prizes: Prizes::Dist }
    }
}

/// One instance of a routing problem, in the unit square.
pub trait Problem: Clone + Send + Sync + Sized {
    /// A partial solution.
    type State: State + Clone + Sync;

    /// Name of the problem, as in `config.json`.
    const NAME: &'static str;
    /// Numbers that describe a node, its two coordinates first.
    const FEATURES: usize;
    /// Whether node 0 is a depot, described by its coordinates alone.
    const DEPOT: bool;
    /// Whether every node is visited once and all unvisited ones are always open. The context is
    /// then the first and the last node, otherwise the last node and [`Self::SCALARS`] numbers.
    const EVERY_NODE_ONCE: bool;
    /// Numbers of the context beside embeddings ([`State::scalars`]).
    const SCALARS: usize;
    /// Whether nodes have a number that changes from step to step ([`State::dynamic`]).
    const DYNAMIC: bool;

    /// Number of nodes, the depot among them.
    fn nodes(&self) -> usize;
    /// Features of the nodes, `[nodes, FEATURES]`, row-major.
    fn features(&self) -> Vec<f32>;
    /// The empty solution.
    fn start(&self) -> Self::State;
    /// The nodes of a finished solution, in the order visited: every step that was taken.
    fn solution(state: &Self::State) -> Vec<usize>;
    /// Exact cost of a finished solution; where a prize is sought, its negative.
    fn cost(&self, solution: &[usize]) -> f64;
    /// Whether `solution` is one, by a checker that knows nothing of how it was made.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, solution: &[usize]) -> Result<()>;
    /// The instance seen from another side: view 0 is itself, views 1 to 7 the other symmetries of
    /// the square. Solutions and costs are the same in every view.
    fn view(&self, view: usize) -> Self;
    /// `count` random instances of `size` nodes, a depot not counted, from `seed`. More instances
    /// of the same size append to the same sequence.
    fn draw(drawing: &Drawing, seed: u64, count: usize, size: usize) -> Vec<Self>;
    /// The problem of an instance as a file gives it; `None` when it is another problem's, or when no
    /// file holds this problem.
    fn of_instance(_instance: &Instance) -> Option<Self> {
        None
    }
    /// The instance with these of its nodes only, a depot first among them; what holds for the
    /// whole instance stays. `None` where that means nothing.
    fn restricted(&self, _nodes: &[usize]) -> Option<Self> {
        None
    }
    /// The first instances of a test set of the paper.
    ///
    /// # Errors
    /// Another problem's set, or one too large for memory.
    fn paper_set(set: &PaperSet, limit: Option<usize>) -> Result<Vec<Self>>;
    /// A solution found from `solution` by local search, never a worse one; the same where there is
    /// no search for the problem.
    ///
    /// # Errors
    /// None that a solution of this instance can cause.
    fn improve(&self, solution: Vec<usize>, _options: &ImproveOptions) -> Result<Vec<usize>> {
        Ok(solution)
    }
    /// `count` instances that this one may turn out to be, where what is real shows on the way only: the one
    /// that is expected, and others drawn from `seed`. Several solutions are compared by them, for in hindsight
    /// nobody could have chosen. `None` where all is known.
    fn scenarios(&self, _count: usize, _seed: u64) -> Option<Vec<Self>> {
        None
    }
    /// The solution that carries out a plan made for another scenario, knowing at each step only what has shown
    /// so far.
    fn carried_out(&self, plan: &[usize]) -> Vec<usize> {
        plan.to_vec()
    }
    /// The instance with its rules computed in single precision, as the original code does.
    #[must_use]
    fn in_single_precision(self) -> Self {
        self
    }
}

/// How a state's sums are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Precision {
    /// Doubles: whole numbers are exact.
    #[default]
    Double,
    /// After every operation to single precision, as the original code's tensors are.
    Single,
}

impl Precision {
    pub(super) fn round(self, value: f64) -> f64 {
        match self {
            Self::Double => value,
            Self::Single => f64::from(value as f32),
        }
    }

    pub(super) fn distance(self, a: [f32; 2], b: [f32; 2]) -> f64 {
        match self {
            Self::Double => distance(a, b),
            Self::Single => {
                let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
                f64::from((dx * dx + dy * dy).sqrt())
            }
        }
    }
}

/// Straight distance.
pub(super) fn distance(a: [f32; 2], b: [f32; 2]) -> f64 {
    let ([ax, ay], [bx, by]) = (a.map(f64::from), b.map(f64::from));
    (ax - bx).hypot(ay - by)
}

/// Length of the way from the depot through `walk`, in which the depot may stand, and back to it.
pub(super) fn round_trip(points: &[[f32; 2]], walk: &[usize]) -> f64 {
    let ends = std::iter::once(0).chain(walk.iter().copied());
    ends.zip(walk.iter().copied().chain([0])).map(|(a, b)| distance(points[a], points[b])).sum()
}

/// The places of a walk that ends in the depot.
pub(super) fn places_of(walk: &[usize]) -> &[usize] {
    walk.strip_suffix(&[0]).unwrap_or(walk)
}

/// What belongs to some of the nodes.
pub(super) fn chosen<T: Copy>(of_nodes: &[T], nodes: &[usize]) -> Vec<T> {
    nodes.iter().map(|&node| of_nodes[node]).collect()
}

/// The nodes of a walk as a solution.
pub(super) fn visited(walk: &[u32]) -> Vec<usize> {
    walk.iter().map(|&node| node as usize).collect()
}

/// Points as an instance of `regard-data`, for its checkers.
pub(super) fn sites(name: &str, points: &[[f32; 2]]) -> Result<Tsp> {
    Ok(Tsp::euclidean(name, points.iter().map(|point| point.map(f64::from)).collect())?)
}

/// The error for a paper set that is not this problem's.
pub(super) fn other_set(problem: &str, set: &PaperSet) -> Error {
    Error::config("paper-set", format!("is a set for `{}`; the model is for `{problem}`", set.problem()))
}

/// View `view` (0 to 7) of a point of the unit square: the dihedral group of the square
/// (Kwon et al. 2020, section 4.2).
pub fn symmetry(view: usize, [x, y]: [f32; 2]) -> [f32; 2] {
    let (x, y) = if view & 1 == 0 { (x, y) } else { (y, x) };
    let x = if view & 2 == 0 { x } else { 1.0 - x };
    let y = if view & 4 == 0 { y } else { 1.0 - y };
    [x, y]
}

#[cfg(test)]
mod tests {
    use super::symmetry;

    #[test]
    fn the_eight_views_differ_and_keep_distances() {
        let (a, b) = ([0.1f32, 0.7], [0.4, 0.2]);
        let distance = |[ax, ay]: [f32; 2], [bx, by]: [f32; 2]| (ax - bx).hypot(ay - by);
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
