//! Places for nodes of which only distances are known: classical multidimensional scaling
//! (W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 1952).
//!
//! With more nodes than [`LANDMARKS`], scaling is done on that many of them, spread out by
//! farthest-first selection, and the others are placed by their distances to these (V. de Silva
//! and J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004). For the
//! landmarks themselves both give the same places.

use faer::{Mat, Side};

/// Up to this many nodes the scaling is exact.
const LANDMARKS: usize = 1000;

/// Places `[nodes, 2]` whose straight distances come near `distance`; the longer extent is x.
pub(super) fn classical(nodes: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<[f64; 2]> {
    let landmarks = spread(nodes, &distance);
    let largest = landmarks
        .iter()
        .flat_map(|&i| landmarks.iter().map(move |&j| (i, j)))
        .map(|(i, j)| distance(i, j).abs())
        .fold(0.0, f64::max);
    if largest == 0.0 {
        return vec![[0.0; 2]; nodes];
    }
    let squared = |i: usize, j: usize| (distance(i, j) / largest).powi(2);
    let count = landmarks.len() as f64;
    let means: Vec<f64> =
        landmarks.iter().map(|&i| landmarks.iter().map(|&j| squared(i, j)).sum::<f64>() / count).collect();
    let mean = means.iter().sum::<f64>() / count;
    let centred = Mat::from_fn(landmarks.len(), landmarks.len(), |a, b| {
        -0.5 * (squared(landmarks[a], landmarks[b]) - means[a] - means[b] + mean)
    });
    let axes = leading_axes(&centred);
    let place = |node: usize, (value, axis): &(f64, Vec<f64>)| {
        if *value <= 1e-12 {
            return 0.0;
        }
        let against = |(a, &landmark): (usize, &usize)| axis[a] * (means[a] - squared(node, landmark));
        let dot: f64 = landmarks.iter().enumerate().map(against).sum();
        0.5 * dot / value.sqrt() * largest
    };
    (0..nodes).map(|node| [place(node, &axes[0]), place(node, &axes[1])]).collect()
}

/// Places `[nodes, 2]` of points in space along their two directions of largest extent.
pub(super) fn principal_plane(points: &[[f64; 3]]) -> Vec<[f64; 2]> {
    let largest = points.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest == 0.0 {
        return vec![[0.0; 2]; points.len()];
    }
    let mean = [0, 1, 2].map(|k| points.iter().map(|p| p[k] / largest).sum::<f64>() / points.len() as f64);
    let shifted = |p: &[f64; 3], k: usize| p[k] / largest - mean[k];
    let spread = Mat::from_fn(3, 3, |a, b| points.iter().map(|p| shifted(p, a) * shifted(p, b)).sum::<f64>());
    let axes = leading_axes(&spread);
    let along = |p: &[f64; 3], axis: &[f64]| (0..3).map(|k| shifted(p, k) * axis[k]).sum::<f64>() * largest;
    points.iter().map(|p| [along(p, &axes[0].1), along(p, &axes[1].1)]).collect()
}

/// All nodes, or [`LANDMARKS`] of them, each the farthest from those before it.
fn spread(nodes: usize, distance: &impl Fn(usize, usize) -> f64) -> Vec<usize> {
    if nodes <= LANDMARKS {
        return (0..nodes).collect();
    }
    let mut chosen = vec![0];
    let mut nearest: Vec<f64> = (0..nodes).map(|i| distance(0, i)).collect();
    while chosen.len() < LANDMARKS {
        let next = (0..nodes).fold(0, |best, i| if nearest[i] > nearest[best] { i } else { best });
        chosen.push(next);
        for (i, near) in nearest.iter_mut().enumerate() {
            // A chosen node is never farthest again, even where all others lie at distance 0.
            *near = if i == next { f64::NEG_INFINITY } else { near.min(distance(next, i)) };
        }
    }
    chosen
}

/// The two largest eigenvalues of a symmetric matrix with their vectors, largest first; 0 and a
/// zero vector where there is none. The sign is the one that makes the largest component positive.
fn leading_axes(matrix: &Mat<f64>) -> [(f64, Vec<f64>); 2] {
    let size = matrix.nrows();
    let none = || (0.0, vec![0.0; size]);
    let Ok(eigen) = matrix.self_adjoint_eigen(Side::Lower) else {
        return [none(), none()];
    };
    let axis = |rank: usize| {
        let Some(column) = size.checked_sub(rank + 1) else {
            return none();
        };
        let value = eigen.S().column_vector()[column];
        let vector: Vec<f64> = (0..size).map(|i| eigen.U()[(i, column)]).collect();
        let peak = vector.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
        let sign = if peak < 0.0 { -1.0 } else { 1.0 };
        (value, vector.into_iter().map(|v| v * sign).collect())
    };
    [axis(0), axis(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    fn grid(nodes: usize) -> Vec<[f64; 2]> {
        (0..nodes).map(|i| [(i % 37) as f64 * 3.0, (i / 37) as f64]).collect()
    }

    fn largest_error(points: &[[f64; 2]], found: &[[f64; 2]]) -> f64 {
        let step = points.len().div_ceil(60);
        let pairs = (0..points.len()).step_by(step).flat_map(|i| (0..i).step_by(step).map(move |j| (i, j)));
        pairs.map(|(i, j)| (apart(points[i], points[j]) - apart(found[i], found[j])).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn planar_distances_are_recovered() {
        for nodes in [1, 2, 3, 5, 100] {
            let points = grid(nodes);
            let found = classical(nodes, |i, j| apart(points[i], points[j]));
            assert!(largest_error(&points, &found) < 1e-9, "{nodes} nodes");
        }
    }

    #[test]
    fn landmarks_recover_planar_distances_too() {
        let points = grid(LANDMARKS + 200);
        let found = classical(points.len(), |i, j| apart(points[i], points[j]));
        assert!(largest_error(&points, &found) < 1e-6);
    }

    #[test]
    fn all_distances_zero_gives_one_place() {
        assert_eq!(classical(3, |_, _| 0.0), [[0.0; 2]; 3]);
        assert_eq!(classical(LANDMARKS + 5, |_, _| 0.0).len(), LANDMARKS + 5);
    }

    #[test]
    fn a_plane_in_space_is_seen_from_above() {
        let points: Vec<[f64; 3]> = grid(80).into_iter().map(|[x, y]| [x * 0.6, y, x * 0.8]).collect();
        let found = principal_plane(&points);
        assert!(largest_error(&grid(80), &found) < 1e-9);
    }
}
