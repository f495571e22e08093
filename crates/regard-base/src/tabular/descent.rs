//! Minimisation of smooth functions by L-BFGS (J. Nocedal and S. Wright, "Numerical optimization", 2006, section 7.2).

use regard_data::cancel;

/// The differences of steps and gradients that are kept.
const MEMORY: usize = 8;

/// Minimises a function from `start`; the function writes its gradient and returns its value. Ends after so many
/// iterations, or when a step improves the value by less than `tolerance` of it. Returns the best point, which is
/// finite where the start is.
pub(crate) fn minimise(
    start: &[f64],
    iterations: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Vec<f64> {
    let size = start.len();
    let (mut point, mut slope) = (start.to_vec(), vec![0.0; size]);
    let mut value = function(&point, &mut slope);
    let mut pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    let (mut next, mut next_slope) = (vec![0.0; size], vec![0.0; size]);
    for _ in 0..iterations {
        cancel::check();
        let mut direction = two_loops(&slope, &pairs);
        let mut fall = dot(&direction, &slope);
        if fall >= 0.0 || !fall.is_finite() {
            pairs.clear();
            direction = slope.iter().map(|slope| -slope).collect();
            fall = -dot(&slope, &slope);
        }
        if fall == 0.0 || !fall.is_finite() {
            break;
        }
        // The first step knows no curvature: it has the length 1 at most.
        let mut step = if pairs.is_empty() { (1.0 / dot(&slope, &slope).sqrt()).min(1.0) } else { 1.0 };
        let mut found = false;
        for _ in 0..30 {
            next.iter_mut().zip(&point).zip(&direction).for_each(|((next, point), way)| *next = point + step * way);
            let trial = function(&next, &mut next_slope);
            if trial.is_finite() && trial <= value + 1e-4 * step * fall {
                found = true;
                let change: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
                let bend: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
                let curvature = dot(&change, &bend);
                if curvature > 1e-12 * dot(&bend, &bend).max(f64::MIN_POSITIVE) {
                    pairs.push((change, bend, curvature));
                    if pairs.len() > MEMORY {
                        pairs.remove(0);
                    }
                }
                let gained = value - trial;
                value = trial;
                std::mem::swap(&mut point, &mut next);
                std::mem::swap(&mut slope, &mut next_slope);
                if gained <= tolerance * value.abs().max(1e-300) {
                    return point;
                }
                break;
            }
            step *= 0.5;
        }
        if !found {
            break;
        }
    }
    point
}

/// The direction of descent.
fn two_loops(slope: &[f64], pairs: &[(Vec<f64>, Vec<f64>, f64)]) -> Vec<f64> {
    let mut direction: Vec<f64> = slope.iter().map(|slope| -slope).collect();
    let mut factors = Vec::with_capacity(pairs.len());
    for (change, bend, curvature) in pairs.iter().rev() {
        let factor = dot(change, &direction) / curvature;
        direction.iter_mut().zip(bend).for_each(|(way, bend)| *way -= factor * bend);
        factors.push(factor);
    }
    if let Some((_, bend, curvature)) = pairs.last() {
        let scale = curvature / dot(bend, bend);
        direction.iter_mut().for_each(|way| *way *= scale);
    }
    for ((change, bend, curvature), factor) in pairs.iter().zip(factors.iter().rev()) {
        let other = dot(bend, &direction) / curvature;
        direction.iter_mut().zip(change).for_each(|(way, change)| *way += (factor - other) * change);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_walked_to_its_end() {
        let found = minimise(&[-1.2, 1.0], 500, 0.0, |x, slope| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            slope[0] = -2.0 * a - 400.0 * x[0] * b;
            slope[1] = 200.0 * b;
            a * a + 100.0 * b * b
        });
        assert!((found[0] - 1.0).abs() < 1e-5 && (found[1] - 1.0).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn what_is_not_finite_ends_the_search() {
        assert_eq!(
            minimise(&[1.0], 10, 0.0, |_, slope| {
                slope[0] = f64::NAN;
                f64::NAN
            }),
            [1.0]
        );
    }
}
