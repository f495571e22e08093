//! Where expectation maximisation begins.

use super::Mixture;
use crate::random::draws::Draws;

/// Centres by k-means++: each the farther from those before it, the more probable. Weights are the
/// shares of points nearest to each; all components have the deviations that these points have from
/// their centres, so that no component begins on a single point.
pub(super) fn plus_plus<P: Copy + Into<f64>>(
    points: &[P],
    dimension: usize,
    components: usize,
    floor: f64,
    draws: &mut Draws,
) -> Mixture {
    let points: Vec<f64> = points.iter().map(|x| (*x).into()).collect();
    let count = points.len() / dimension;
    let point = |at: usize| &points[at * dimension..(at + 1) * dimension];
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut means: Vec<f64> = point(draws.index(count)).to_vec();
    let mut nearest: Vec<(f64, usize)> = (0..count).map(|at| (square(point(at), &means), 0)).collect();
    for component in 1..components {
        let centre = point(chosen(&nearest, draws)).to_vec();
        for (at, near) in nearest.iter_mut().enumerate() {
            let distance = square(point(at), &centre);
            if distance < near.0 {
                *near = (distance, component);
            }
        }
        means.extend(centre);
    }
    let mut weights = vec![0.0; components];
    let mut variances = vec![0.0; dimension];
    for (at, (_, component)) in nearest.iter().enumerate() {
        weights[*component] += 1.0 / count as f64;
        let centre = &means[component * dimension..(component + 1) * dimension];
        let parts = variances.iter_mut().zip(point(at).iter().zip(centre));
        parts.for_each(|(variance, (x, mean))| *variance += (x - mean).powi(2) / count as f64);
    }
    // Components on the same place as another begin with a little weight instead of none.
    let least = 0.01 / components as f64;
    weights.iter_mut().for_each(|w| *w = w.max(least));
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    let deviations: Vec<f64> = variances.iter().map(|v| v.sqrt().max(floor)).collect();
    Mixture { weights, means, deviations: deviations.repeat(components) }
}

/// A point with a probability in proportion to its square distance.
fn chosen(nearest: &[(f64, usize)], draws: &mut Draws) -> usize {
    let sum: f64 = nearest.iter().map(|(distance, _)| distance).sum();
    if sum <= 0.0 || !sum.is_finite() {
        return draws.index(nearest.len());
    }
    let mut left = draws.unit() * sum;
    for (at, (distance, _)) in nearest.iter().enumerate() {
        left -= distance;
        if left < 0.0 {
            return at;
        }
    }
    nearest.len() - 1
}
