//! The eigenvectors of a large component that belong to the smallest values.
//!
//! Subspace iteration with a Chebyshev filter (Y. Zhou and Y. Saad, "A Chebyshev-Davidson algorithm for
//! large symmetric eigenproblems", 2007, algorithm 2.1): a block of vectors is multiplied by a polynomial
//! of the Laplacian that is small on the unwanted part of [0, 2] and large below, made orthonormal, and
//! turned by the eigenvectors of the small projected matrix. A block finds equal values, which one
//! vector alone would not. The null vector is known and kept out.

use faer::{Mat, Side};

use super::components::Operator;
use super::laplacian::Spectrum;
use crate::random::Draws;

/// Vectors beyond those that are wanted.
const BESIDE: usize = 10;
/// Degree of the polynomial.
const DEGREE: usize = 40;
/// Most rounds.
const ROUNDS: usize = 150;
/// Largest `|L v - value v|` of a vector that counts as found.
const TOLERANCE: f64 = 1e-6;

/// The `wanted` smallest values of `I - operator` and their vectors; the first is `null`, of value 0.
pub(super) fn spectrum(operator: &Operator, null: &[f64], wanted: usize) -> Spectrum {
    let n = operator.len();
    let width = (wanted.saturating_sub(1) + BESIDE).min(n - 1);
    let mut draws = Draws::new(0);
    let mut block: Vec<Vec<f64>> = (0..width).map(|_| (0..n).map(|_| draws.between(-1.0, 1.0)).collect()).collect();
    let mut found = Rotated { values: Vec::new(), residual: f64::INFINITY };
    for _ in 0..ROUNDS {
        orthonormal(&mut block, null);
        found = rotate(operator, &mut block, wanted.saturating_sub(1));
        if found.residual <= TOLERANCE {
            break;
        }
        // What lies above the largest value of the block is damped.
        let low = found.values.last().copied().unwrap_or(1.0).clamp(1e-9, 1.9);
        block.iter_mut().for_each(|vector| filter(operator, vector, low));
    }
    let kept = wanted.saturating_sub(1).min(width);
    let mut spectrum =
        Spectrum { values: vec![0.0], vectors: vec![null.to_vec()], unconverged: found.residual > TOLERANCE };
    spectrum.values.extend_from_slice(&found.values[..kept]);
    spectrum.vectors.extend(block.into_iter().take(kept));
    spectrum
}

/// `T((2 L - low - 2) / (2 - low))` of a vector, `T` the Chebyshev polynomial, scaled so that the value 0
/// keeps its size.
fn filter(operator: &Operator, vector: &mut Vec<f64>, low: f64) {
    let (half, centre) = ((2.0 - low) / 2.0, (2.0 + low) / 2.0);
    let n = vector.len();
    let first = half / -centre;
    let mut sigma = first;
    let mut product = vec![0.0; n];
    operator.apply(vector, &mut product);
    let mut before = std::mem::take(vector);
    // (L - centre) x = (1 - centre) x - operator x.
    let mut now: Vec<f64> = before.iter().zip(&product).map(|(x, p)| ((1.0 - centre) * x - p) * sigma / half).collect();
    for _ in 1..DEGREE {
        let next_sigma = 1.0 / (2.0 / first - sigma);
        operator.apply(&now, &mut product);
        for at in 0..n {
            let shifted = (1.0 - centre) * now[at] - product[at];
            before[at] = 2.0 * shifted * next_sigma / half - sigma * next_sigma * before[at];
        }
        std::mem::swap(&mut before, &mut now);
        sigma = next_sigma;
    }
    *vector = now;
}

/// Gram and Schmidt, twice, which is enough for rounding; vectors that vanish become a unit vector first.
fn orthonormal(block: &mut [Vec<f64>], null: &[f64]) {
    for at in 0..block.len() {
        for attempt in 0.. {
            let (done, rest) = block.split_at_mut(at);
            let vector = &mut rest[0];
            let start = dot(vector, vector).sqrt();
            for _ in 0..2 {
                remove(vector, null);
                done.iter().for_each(|other| remove(vector, other));
            }
            let length = dot(vector, vector).sqrt();
            if length > 1e-10 * start || attempt > 8 {
                vector.iter_mut().for_each(|x| *x /= length.max(f64::MIN_POSITIVE));
                break;
            }
            let n = vector.len();
            vector.fill(0.0);
            vector[(at * 7919 + attempt * 104_729) % n] = 1.0;
        }
    }
}

fn remove(vector: &mut [f64], other: &[f64]) {
    let along = dot(vector, other);
    vector.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Values of the block, in rising order, and the largest residual of those that are wanted.
struct Rotated {
    values: Vec<f64>,
    residual: f64,
}

/// Turns the block to the eigenvectors of the Laplacian's projection on it.
fn rotate(operator: &Operator, block: &mut Vec<Vec<f64>>, wanted: usize) -> Rotated {
    let (n, width) = (operator.len(), block.len());
    let products: Vec<Vec<f64>> = block
        .iter()
        .map(|vector| {
            let mut product = vec![0.0; n];
            operator.apply(vector, &mut product);
            product.iter_mut().zip(vector).for_each(|(p, x)| *p = x - *p);
            product
        })
        .collect();
    let projected = Mat::from_fn(width, width, |a, b| {
        let (a, b) = (a.max(b), a.min(b));
        dot(&block[a], &products[b])
    });
    let Ok(eigen) = projected.self_adjoint_eigen(Side::Lower) else {
        return Rotated { values: vec![1.0; width], residual: f64::INFINITY };
    };
    let (values, turn) = (eigen.S(), eigen.U());
    let turned = |vectors: &[Vec<f64>], to: usize| {
        let mut sum = vec![0.0; n];
        for (from, vector) in vectors.iter().enumerate() {
            let weight = turn[(from, to)];
            sum.iter_mut().zip(vector).for_each(|(s, x)| *s += weight * x);
        }
        sum
    };
    let next: Vec<Vec<f64>> = (0..width).map(|to| turned(block, to)).collect();
    let mut residual: f64 = 0.0;
    for (to, vector) in next.iter().enumerate().take(wanted) {
        let product = turned(&products, to);
        let square: f64 = product.iter().zip(vector).map(|(p, x)| (p - values[to] * x).powi(2)).sum();
        residual = residual.max(square.sqrt());
    }
    *block = next;
    Rotated { values: (0..width).map(|at| values[at]).collect(), residual }
}
