//! The instances of an evaluation: in the unit square, or of files with a metric of their own.

use regard_routing::{LocalSearchOptions, Problem, SolverInstance};

use super::EvaluateOptions;
use crate::{Error, Result};

/// Instances by index.
pub(super) trait InstanceSet: Sync {
    /// The instances in the unit square.
    type Problem: Problem;

    /// Number of instances.
    fn len(&self) -> usize;
    /// Name for messages.
    fn name(&self, i: usize) -> String;
    /// Nodes of one instance.
    fn places(&self, i: usize) -> usize;
    /// The instance in the unit square.
    fn problem(&self, i: usize) -> Self::Problem;
    /// Cost of a solution.
    fn cost(&self, i: usize, solution: &[usize]) -> f64;
    /// A policy's solution as it counts: one that keeps the rules of the instance.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn feasible(&self, i: usize, solution: Vec<usize>) -> Result<Vec<usize>>;
    /// A solution improved by local search, with its cost.
    fn improve(&self, i: usize, solution: Vec<usize>, options: &EvaluateOptions) -> Result<(Vec<usize>, f64)>;
}

/// Instances in the unit square, with straight distances.
pub(super) struct UnitSquare<'a, P>(pub(super) &'a [P]);

impl<P: Problem> InstanceSet for UnitSquare<'_, P> {
    type Problem = P;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn name(&self, i: usize) -> String {
        format!("instance {}", i + 1)
    }

    fn places(&self, i: usize) -> usize {
        self.0[i].nodes()
    }

    fn problem(&self, i: usize) -> P {
        self.0[i].clone()
    }

    fn cost(&self, i: usize, solution: &[usize]) -> f64 {
        self.0[i].cost(solution)
    }

    fn feasible(&self, i: usize, solution: Vec<usize>) -> Result<Vec<usize>> {
        self.0[i].check(&solution)?;
        Ok(solution)
    }

    fn improve(&self, i: usize, solution: Vec<usize>, options: &EvaluateOptions) -> Result<(Vec<usize>, f64)> {
        let better = self.0[i].local_search(solution, &work(options))?;
        let cost = self.0[i].cost(&better);
        Ok((better, cost))
    }
}

/// Instances read from files.
pub(super) struct Files<'a, S>(pub(super) &'a [S]);

impl<S: SolverInstance> InstanceSet for Files<'_, S> {
    type Problem = S::Problem;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn name(&self, i: usize) -> String {
        self.0[i].sites().name().to_owned()
    }

    fn places(&self, i: usize) -> usize {
        self.0[i].sites().len()
    }

    fn problem(&self, i: usize) -> S::Problem {
        self.0[i].in_unit_square()
    }

    fn cost(&self, i: usize, solution: &[usize]) -> f64 {
        self.0[i].cost(solution)
    }

    fn feasible(&self, i: usize, solution: Vec<usize>) -> Result<Vec<usize>> {
        let Err(broken) = self.0[i].check(&solution) else { return Ok(solution) };
        // A policy sees the unit square: in the file distances may be rounded, and there may be other limits.
        let hint = "the network does not see every rule of a file; `regard solve FILE` also searches without it";
        self.0[i].repair(solution).ok_or_else(|| Error::from(broken).with_hint(hint))
    }

    fn improve(&self, i: usize, solution: Vec<usize>, options: &EvaluateOptions) -> Result<(Vec<usize>, f64)> {
        let better = self.0[i].local_search(solution, &work(options));
        let cost = self.0[i].cost(&better);
        Ok((better, cost))
    }
}

fn work(options: &EvaluateOptions) -> LocalSearchOptions {
    LocalSearchOptions { seed: options.seed, ..LocalSearchOptions::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regard_routing::problems::tsp::TspEnv;

    #[test]
    fn lengths_are_those_of_closed_tours() {
        let square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let points = [square.clone(), square[..2].to_vec(), square[..1].to_vec()];
        let problems = points.map(TspEnv::new);
        let set = UnitSquare(&problems);
        assert_eq!(set.cost(0, &[0, 1, 2, 3]), 4.0);
        assert_eq!(set.cost(1, &[0, 1]), 2.0);
        assert_eq!(set.cost(2, &[0]), 0.0);
    }
}
