//! How the points of an instance are distributed.

use super::Draws;
use crate::{Error, Result};

/// A distribution of points within the unit square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Points {
    /// Uniform.
    Uniform,
    /// As many points around each of some centres, normal with a standard deviation of 0.07; the
    /// centres are uniform in [0.2, 0.8]^2, and coordinates outside the square are moved to its
    /// border (J. Bi et al., "Learning generalizable models for vehicle routing problems via
    /// knowledge distillation", 2022, with 3 centres).
    Cluster {
        /// Number of centres; 0 counts as 1.
        centres: u32,
    },
    /// Each point around a random one of some centres, normal with a standard deviation of 1; the
    /// centres are uniform in [0, `scale`]^2, and each axis is then scaled to [0, 1] (Z. Zhang et
    /// al., "Learning to solve travelling salesman problem with hardness-adaptive curriculum",
    /// 2022; J. Zhou et al., "Towards omni-generalizable neural methods for vehicle routing
    /// problems", 2023, with 3, 5, 7 centres and scales of 10, 30, 50).
    GaussianMixture {
        /// Number of centres; 0 counts as 1.
        centres: u32,
        /// Side of the square the centres lie in, in standard deviations.
        scale: u32,
    },
}

impl Points {
    /// The distribution of that name: "uniform", "cluster" (3 centres), "gaussian-mixture" (3
    /// centres, scale 10).
    ///
    /// # Errors
    /// [`Error::Invalid`] listing the names.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "uniform" => Ok(Self::Uniform),
            "cluster" => Ok(Self::Cluster { centres: 3 }),
            "gaussian-mixture" => Ok(Self::GaussianMixture { centres: 3, scale: 10 }),
            _ => {
                let reason = "no such distribution; expected `uniform`, `cluster` or `gaussian-mixture`";
                Err(Error::invalid(format!("points `{name}`"), reason))
            }
        }
    }

    /// The next `n` points.
    pub(super) fn draw(self, draws: &mut Draws, n: usize) -> Vec<[f32; 2]> {
        match self {
            Self::Uniform => (0..n).map(|_| draws.point()).collect(),
            Self::Cluster { centres } => clusters(draws, centres.max(1) as usize, n),
            Self::GaussianMixture { centres, scale } => mixture(draws, centres.max(1), scale.into(), n),
        }
    }
}

/// Travelling salesman instances with these points: `[instances, n, 2]`; with [`Points::Uniform`]
/// the same as [`super::uniform`].
///
/// ```
/// use regard_data::routes::generate::{Points, tsp};
///
/// let two = tsp(Points::parse("cluster")?, 7, 2, 50);
/// assert_eq!(two[..1], tsp(Points::Cluster { centres: 3 }, 7, 1, 50));
/// assert!(two.iter().flatten().flatten().all(|v| (0.0..=1.0).contains(v)));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[must_use]
pub fn tsp(points: Points, seed: u64, instances: usize, n: usize) -> Vec<Vec<[f32; 2]>> {
    let mut draws = Draws::new(seed);
    (0..instances).map(|_| points.draw(&mut draws, n)).collect()
}

/// All centres first, then the points of each in turn; the first ones have one more where the
/// numbers do not divide.
fn clusters(draws: &mut Draws, centres: usize, n: usize) -> Vec<[f32; 2]> {
    const DEVIATION: f64 = 0.07;
    let (low, high) = (0.2, 0.8);
    // More centres than points have no use.
    let centres = centres.min(n);
    let middles: Vec<[f64; 2]> = (0..centres).map(|_| [(); 2].map(|()| low + (high - low) * draws.unit())).collect();
    let mut points = Vec::with_capacity(n);
    for (at, middle) in middles.into_iter().enumerate() {
        let share = n / centres + usize::from(at < n % centres);
        points.extend((0..share).map(|_| {
            let [x, y] = draws.normal();
            [middle[0] + DEVIATION * x, middle[1] + DEVIATION * y].map(|v| v.clamp(0.0, 1.0) as f32)
        }));
    }
    points
}

/// All centres first, then for each point its centre and where it lies.
fn mixture(draws: &mut Draws, centres: u32, scale: f64, n: usize) -> Vec<[f32; 2]> {
    let middles: Vec<[f64; 2]> = (0..centres).map(|_| [(); 2].map(|()| scale * draws.unit())).collect();
    let mut point = || {
        let middle = middles[draws.below(centres) as usize];
        let [x, y] = draws.normal();
        [middle[0] + x, middle[1] + y]
    };
    let points: Vec<[f64; 2]> = (0..n).map(|_| point()).collect();
    filling_the_square(&points)
}

/// Each axis shifted and scaled to [0, 1]; a single value goes to the middle.
fn filling_the_square(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let range = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ranges = [range(0), range(1)];
    let scaled = |value: f64, (low, high): (f64, f64)| {
        if high > low { ((value - low) / (high - low)) as f32 } else { 0.5 }
    };
    points.iter().map(|&[x, y]| [scaled(x, ranges[0]), scaled(y, ranges[1])]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::generate::{cvrp_with, uniform};
    use crate::stats::Summary;

    const ALL: [Points; 3] =
        [Points::Uniform, Points::Cluster { centres: 3 }, Points::GaussianMixture { centres: 5, scale: 30 }];

    #[test]
    fn uniform_points_are_those_of_uniform() {
        assert_eq!(tsp(Points::Uniform, 4, 3, 6), uniform(4, 3, 6));
    }

    #[test]
    fn all_lie_in_the_square_and_more_append() {
        for points in ALL {
            for n in [0, 1, 2, 7, 100] {
                let set = tsp(points, 3, 20, n);
                assert!(set.iter().all(|i| i.len() == n));
                assert!(set.iter().flatten().flatten().all(|v| (0.0..=1.0).contains(v)), "{points:?} {n}");
                assert_eq!(set[..5], tsp(points, 3, 5, n));
            }
            assert_eq!(cvrp_with(points, 3, 5, 7)[..2], cvrp_with(points, 3, 2, 7));
        }
    }

    #[test]
    fn clusters_are_close_and_even() {
        let set = tsp(Points::Cluster { centres: 4 }, 1, 100, 40);
        let deviations = set.iter().flat_map(|points| points.chunks(10)).map(|cluster| {
            let xs: Vec<f64> = cluster.iter().map(|p| f64::from(p[0])).collect();
            Summary::of(&xs).standard_deviation
        });
        let mean = Summary::of(&deviations.collect::<Vec<_>>()).mean;
        assert!((mean - 0.068).abs() < 0.004, "{mean}");
        assert_eq!(Points::Cluster { centres: 0 }.draw(&mut Draws::new(1), 3).len(), 3);
    }

    #[test]
    fn the_numbers_never_change() {
        let first = ALL.map(|points| tsp(points, 1234, 1, 4)[0][0]);
        assert_eq!(first, [[0.341_675_22, 0.312_307_95], [0.484_412_4, 0.388_546_9], [0.613_484, 1.0]]);
    }

    #[test]
    fn mixtures_fill_the_square() {
        for points in tsp(Points::GaussianMixture { centres: 3, scale: 10 }, 1, 20, 30) {
            for axis in [0, 1] {
                let values = points.iter().map(|p| p[axis]);
                assert_eq!(values.clone().fold(1.0, f32::min), 0.0);
                assert_eq!(values.fold(0.0, f32::max), 1.0);
            }
        }
        assert_eq!(tsp(Points::GaussianMixture { centres: 0, scale: 0 }, 1, 1, 1), [[[0.5, 0.5]]]);
    }

    #[test]
    fn other_names_are_refused() {
        let error = Points::parse("clusters").unwrap_err().to_string();
        assert!(error.contains("expected `uniform`, `cluster`"), "{error}");
        assert_eq!(Points::parse("uniform").unwrap(), Points::Uniform);
    }
}
