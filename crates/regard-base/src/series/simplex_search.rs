//! The simplex search of Nelder & Mead (1965) within a box: for likelihoods of a handful of parameters.

/// The end of a search: the best point and its value.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
}

/// Minimises `objective` over the box `[low, high]` of each coordinate, in about so many calls. Values that are not
/// finite count as the worst, so that a search never ends at one unless it began there.
///
/// A simplex that meets an edge of the box may become flat: a new one is begun at the best point until it finds
/// nothing better.
pub(super) fn minimise(
    mut objective: impl FnMut(&[f64]) -> f64,
    start: &[f64],
    bounds: &[[f64; 2]],
    evaluations: usize,
) -> Found {
    let mut calls = 0;
    let mut value_of = |point: &mut [f64]| {
        point.iter_mut().zip(bounds).for_each(|(x, [low, high])| *x = x.clamp(*low, *high));
        calls += 1;
        let value = objective(point);
        (if value.is_finite() { value } else { f64::MAX }, calls)
    };
    let mut point = start.to_vec();
    let (value, mut used) = value_of(&mut point);
    let mut best = Found { point, value };
    while !start.is_empty() && used + start.len() < evaluations {
        let before = best.value;
        (best, used) = round(&mut value_of, best, bounds, used, evaluations);
        if before - best.value <= 1e-6 * (before.abs() + 1e-6) {
            break;
        }
    }
    best
}

/// One simplex, from around `best` until it is small or the calls are used up.
fn round(
    value_of: &mut impl FnMut(&mut [f64]) -> (f64, usize),
    best: Found,
    bounds: &[[f64; 2]],
    mut used: usize,
    evaluations: usize,
) -> (Found, usize) {
    let n = best.point.len();
    let mut corners = vec![(best.value, best.point)];
    for at in 0..n {
        let mut corner = corners[0].1.clone();
        let [low, high] = bounds[at];
        let step = (0.1 * (high - low)).min(0.25 * corner[at].abs().max(0.1));
        corner[at] += if corner[at] + step <= high { step } else { -step };
        let (value, calls) = value_of(&mut corner);
        used = calls;
        corners.push((value, corner));
    }
    let mut centre = vec![0.0; n];
    while used < evaluations {
        // The sort is stable, so ties keep their order.
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, worst) = (corners[0].0, corners[n].0);
        if (worst - least).abs() <= 1e-7 * (least.abs() + 1e-7) {
            break;
        }
        for (at, centre) in centre.iter_mut().enumerate() {
            *centre = corners[..n].iter().map(|corner| corner.1[at]).sum::<f64>() / n as f64;
        }
        let away = |by: f64, from: &[f64]| -> Vec<f64> {
            centre.iter().zip(from).map(|(centre, from)| centre + by * (centre - from)).collect()
        };
        let mut reflected = away(1.0, &corners[n].1);
        let (value, calls) = value_of(&mut reflected);
        used = calls;
        if value < least {
            let mut expanded = away(2.0, &corners[n].1);
            let (further, calls) = value_of(&mut expanded);
            used = calls;
            corners[n] = if further < value { (further, expanded) } else { (value, reflected) };
        } else if value < corners[n - 1].0 {
            corners[n] = (value, reflected);
        } else {
            let (target, from) = if value < worst { (value, reflected) } else { (worst, corners[n].1.clone()) };
            let mut contracted = away(-0.5, &from);
            let (inner, calls) = value_of(&mut contracted);
            used = calls;
            if inner < target {
                corners[n] = (inner, contracted);
            } else {
                let first = corners[0].1.clone();
                for corner in &mut corners[1..] {
                    corner.1.iter_mut().zip(&first).for_each(|(x, first)| *x = first + 0.5 * (*x - first));
                    let (value, calls) = value_of(&mut corner.1);
                    corner.0 = value;
                    used = calls;
                }
            }
        }
    }
    corners.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (value, point) = corners.swap_remove(0);
    (Found { point, value }, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_and_its_edge_are_found() {
        let valley = |x: &[f64]| (x[0] - 0.3).powi(2) + 10.0 * (x[1] - x[0] * x[0]).powi(2);
        let found = minimise(valley, &[0.9, 0.9], &[[0.0, 1.0]; 2], 400);
        assert!((found.point[0] - 0.3).abs() < 1e-3 && found.value < 1e-6, "{found:?}");
        let edge = minimise(|x| -x[0], &[0.5], &[[0.0, 1.0]], 100);
        assert!(edge.point[0] > 0.999, "{edge:?}");
        assert!(minimise(|_| f64::NAN, &[0.5], &[[0.0, 1.0]], 50).point[0].is_finite());
        assert_eq!(minimise(|_| 2.0, &[], &[], 50).value, 2.0);
    }
}
