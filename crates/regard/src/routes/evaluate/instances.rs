//! Where the instances of an evaluation come from: bare points, or files with a metric of their
//! own.

use regard_data::routes::tsp::Tsp;

use super::EvaluateOptions;
use crate::Result;
use crate::routes::improve::{self, ImproveOptions};

/// Instances by index.
pub(super) trait InstanceSet: Sync {
    /// Number of instances.
    fn len(&self) -> usize;
    /// Name for messages.
    fn name(&self, i: usize) -> String;
    /// Places of one instance.
    fn places(&self, i: usize) -> usize;
    /// What the network sees, `[places, 2]` in the unit square.
    fn points(&self, i: usize) -> Vec<[f32; 2]>;
    /// Cost of a closed tour.
    fn cost(&self, i: usize, tour: &[usize]) -> f64;
    /// Shortens a tour by local search and gives its cost.
    fn improve(&self, i: usize, tour: &mut Vec<usize>, options: &EvaluateOptions) -> Result<f64>;
}

/// Points in the unit square, Euclidean.
pub(super) struct UnitSquare<'a>(pub(super) &'a [Vec<[f32; 2]>]);

impl InstanceSet for UnitSquare<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn name(&self, i: usize) -> String {
        format!("instance {}", i + 1)
    }

    fn places(&self, i: usize) -> usize {
        self.0[i].len()
    }

    fn points(&self, i: usize) -> Vec<[f32; 2]> {
        self.0[i].clone()
    }

    fn cost(&self, i: usize, tour: &[usize]) -> f64 {
        let points = &self.0[i];
        let next = tour.iter().cycle().skip(1);
        let leg = |(&a, &b): (&usize, &usize)| {
            let ([ax, ay], [bx, by]) = (points[a].map(f64::from), points[b].map(f64::from));
            (ax - bx).hypot(ay - by)
        };
        tour.iter().zip(next).map(leg).sum()
    }

    fn improve(&self, i: usize, tour: &mut Vec<usize>, options: &EvaluateOptions) -> Result<f64> {
        let points = self.0[i].iter().map(|point| point.map(f64::from)).collect();
        let instance = Tsp::euclidean(self.name(i), points)?;
        Ok(shorten(&instance, tour, options))
    }
}

/// Instances read from files.
pub(super) struct Files<'a>(pub(super) &'a [Tsp]);

impl InstanceSet for Files<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn name(&self, i: usize) -> String {
        self.0[i].name().to_owned()
    }

    fn places(&self, i: usize) -> usize {
        self.0[i].len()
    }

    fn points(&self, i: usize) -> Vec<[f32; 2]> {
        self.0[i].unit_square()
    }

    fn cost(&self, i: usize, tour: &[usize]) -> f64 {
        self.0[i].cost(tour)
    }

    fn improve(&self, i: usize, tour: &mut Vec<usize>, options: &EvaluateOptions) -> Result<f64> {
        Ok(shorten(&self.0[i], tour, options))
    }
}

fn shorten(instance: &Tsp, tour: &mut Vec<usize>, options: &EvaluateOptions) -> f64 {
    let work = ImproveOptions { seed: options.seed, ..ImproveOptions::default() };
    improve::improve(instance, tour, &work);
    instance.cost(tour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_closed_tours() {
        let square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let points = [square.clone(), square[..2].to_vec(), square[..1].to_vec()];
        let set = UnitSquare(&points);
        assert_eq!(set.cost(0, &[0, 1, 2, 3]), 4.0);
        assert_eq!(set.cost(1, &[0, 1]), 2.0);
        assert_eq!(set.cost(2, &[0]), 0.0);
    }
}
