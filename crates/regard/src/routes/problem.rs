//! What a routing problem has to say for itself.
//!
//! A problem is scalars and slices and knows no tensor: the features of its nodes, a [`State`]
//! that knows what may be visited, and an exact cost. The network knows features, masks and
//! contexts only, and none of the rules.

pub use regard_nn::State;

use crate::Result;

/// One instance of a routing problem.
pub trait Problem: Sync {
    /// A partial solution.
    type State: State + Clone + Sync;

    /// Name of the problem, as in `config.json`.
    const NAME: &'static str;
    /// Numbers that describe a node.
    const FEATURES: usize;

    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Features of the nodes, `[nodes, FEATURES]`, row-major.
    fn features(&self) -> Vec<f32>;
    /// The empty solution.
    fn start(&self) -> Self::State;
    /// The nodes of a finished solution, in the order visited.
    fn solution(state: &Self::State) -> Vec<usize>;
    /// Exact cost of a finished solution.
    fn cost(&self, solution: &[usize]) -> f64;
    /// Whether `solution` is one, by a checker that knows nothing of how it was made.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, solution: &[usize]) -> Result<()>;
    /// The instance seen from another side: view 0 is itself, views 1 to 7 the other symmetries of
    /// the square. Solutions and costs are the same in every view.
    fn view(&self, view: usize) -> Self;
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
