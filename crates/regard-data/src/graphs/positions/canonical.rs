//! A canonical basis of the eigenvectors of one value.

/// Entries that differ by less count as equal.
const SAME: f64 = 1e-9;

/// Replaces orthonormal vectors by a basis of the same space that does not depend on which basis they are:
/// its first vector has the largest value that any unit vector of the space has at a node, the first
/// such node, and so on in what is orthogonal to it. A single vector only gets its sign.
pub(super) fn basis(vectors: &mut [Vec<f64>]) {
    let nodes = vectors.first().map_or(0, Vec::len);
    for first in 0..vectors.len() {
        let (_, rest) = vectors.split_at_mut(first);
        // The squared length of the projection of a node's unit vector on what is left of the space.
        let reach = |node: usize| rest.iter().map(|vector| vector[node] * vector[node]).sum::<f64>();
        let mut best = (0, f64::NEG_INFINITY);
        for node in 0..nodes {
            let here = reach(node);
            if here > best.1 + SAME {
                best = (node, here);
            }
        }
        turn_to(rest, best.0);
    }
}

/// Turns the vectors within their space until only the first has a value at `node`, a positive one.
fn turn_to(vectors: &mut [Vec<f64>], node: usize) {
    let Some((first, others)) = vectors.split_first_mut() else {
        return;
    };
    for other in others {
        let (a, b) = (first[node], other[node]);
        let length = a.hypot(b);
        if b == 0.0 || length == 0.0 {
            continue;
        }
        // A rotation in the plane of both.
        let (cosine, sine) = (a / length, b / length);
        for (x, y) in first.iter_mut().zip(other.iter_mut()) {
            (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
        }
    }
    if first[node] < 0.0 {
        first.iter_mut().for_each(|x| *x = -*x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    #[test]
    fn any_basis_of_a_space_becomes_the_same() {
        let mut draws = Draws::new(4);
        let half = 0.5f64.sqrt();
        let space = vec![vec![1.0, 0.0, 0.0, 0.0], vec![0.0, half, half, 0.0]];
        for _ in 0..20 {
            let angle = draws.between(0.0, std::f64::consts::TAU);
            let mut turned = vec![vec![0.0; 4]; 2];
            for node in 0..4 {
                turned[0][node] = angle.cos() * space[0][node] + angle.sin() * space[1][node];
                turned[1][node] = angle.cos() * space[1][node] - angle.sin() * space[0][node];
            }
            basis(&mut turned);
            for (vector, expected) in turned.iter().zip(&space) {
                assert!(vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{turned:?}");
            }
        }
        let mut single = vec![vec![0.6, -0.8]];
        basis(&mut single);
        assert_eq!(single, [vec![-0.6, 0.8]]);
        basis(&mut []);
    }
}
