//! Ridge regression by an eigendecomposition: all penalties and all leave-one-out predictions at once.

use std::time::Duration;

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use regard_data::{Error, Result, cancel};

/// Seconds that eigenvectors take for the cube of a matrix's side.
const SECONDS: f64 = 1.5e-10;

/// Eigenvalues, rising, and eigenvectors as columns of a symmetric matrix; one thread, so that bits never change.
pub(crate) fn eigen(matrix: MatRef<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let size = matrix.nrows();
    cancel::check_before(Duration::from_secs_f64(SECONDS * (size as f64).powi(3)));
    let mut vectors = Mat::zeros(size, size);
    let mut values = Diag::zeros(size);
    let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        matrix,
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::invalid("kernel", "its eigenvalues cannot be computed"))?;
    let values: Vec<f64> = (0..size).map(|at| values.column_vector()[at]).collect();
    if values.iter().all(|value| value.is_finite()) {
        Ok((values, vectors))
    } else {
        Err(Error::invalid("kernel", "its eigenvalues are not finite"))
    }
}

/// Ridge regression in the space of a kernel, with weights of rows and an intercept that is not penalised.
pub(crate) struct Smoother {
    /// Eigenvectors of the weighted, centred kernel `[rows, rank]`.
    vectors: Mat<f64>,
    values: Vec<f64>,
    /// Square roots of the weights.
    roots: Vec<f64>,
    /// Weights that add up to 1.
    shares: Vec<f64>,
    /// The weighted mean of each column of the kernel.
    pub(crate) means: Vec<f64>,
}

impl Smoother {
    /// The smoother of a kernel `[rows, rows]`.
    pub(crate) fn new(mut kernel: Mat<f64>, weights: &[f64]) -> Result<Self> {
        let rows = kernel.nrows();
        let all: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let means: Vec<f64> = (0..rows).map(|at| (0..rows).map(|row| shares[row] * kernel[(row, at)]).sum()).collect();
        let mean: f64 = shares.iter().zip(&means).map(|(share, mean)| share * mean).sum();
        for a in 0..rows {
            for b in 0..rows {
                kernel[(b, a)] = roots[a] * roots[b] * (kernel[(b, a)] - means[a] - means[b] + mean);
            }
        }
        let (values, vectors) = eigen(kernel.as_ref())?;
        // Eigenvalues that are 0 up to rounding carry nothing.
        let floor = values.last().copied().unwrap_or(0.0) * 1e-10;
        let first = values.partition_point(|value| *value <= floor.max(f64::MIN_POSITIVE));
        let rank = values.len() - first;
        let vectors = vectors.as_ref().subcols(first, rank).to_owned();
        Ok(Self { vectors, values: values[first..].to_vec(), roots, shares, means })
    }

    /// The mean eigenvalue over rows: what penalties are measured by.
    pub(crate) fn scale(&self) -> f64 {
        let all = self.values.iter().sum::<f64>() / self.roots.len() as f64;
        if all > 0.0 { all } else { 1.0 }
    }

    /// The weighted mean of targets.
    pub(crate) fn mean(&self, target: &[f64]) -> f64 {
        self.shares.iter().zip(target).map(|(share, value)| share * value).sum()
    }

    /// The components of the centred, weighted target.
    fn components(&self, target: &[f64]) -> Mat<f64> {
        let mean = self.mean(target);
        let centred = Mat::from_fn(target.len(), 1, |row, _| self.roots[row] * (target[row] - mean));
        let mut components = Mat::zeros(self.values.len(), 1);
        matmul(&mut components, Accum::Replace, self.vectors.transpose(), &centred, 1.0, Par::Seq);
        components
    }

    /// For each penalty the prediction of each row by all others `[penalties, rows]`.
    pub(crate) fn leave_one_out(&self, target: &[f64], penalties: &[f64]) -> Vec<Vec<f64>> {
        let (rows, rank) = (target.len(), self.values.len());
        let components = self.components(target);
        let mean = self.mean(target);
        let one = |penalty: &f64| {
            let kept: Vec<f64> = self.values.iter().map(|value| value / (value + penalty)).collect();
            let mut fitted = vec![0.0; rows];
            let mut leverage = self.shares.clone();
            for at in 0..rank {
                let (factor, kept) = (kept[at] * components[(at, 0)], kept[at]);
                let column = self.vectors.col(at);
                for row in 0..rows {
                    let vector = column[row];
                    fitted[row] += vector * factor;
                    leverage[row] += vector * vector * kept;
                }
            }
            let out = |row: usize| {
                let fitted = mean + fitted[row] / self.roots[row];
                target[row] - (target[row] - fitted) / (1.0 - leverage[row]).max(1e-6)
            };
            (0..rows).map(out).collect()
        };
        penalties.iter().map(one).collect()
    }

    /// The coefficients of rows and the intercept, for a kernel that is not centred.
    pub(crate) fn coefficients(&self, target: &[f64], penalty: f64) -> (Vec<f64>, f64) {
        let mut components = self.components(target);
        (0..self.values.len()).for_each(|at| components[(at, 0)] /= self.values[at] + penalty);
        let mut solved = Mat::zeros(target.len(), 1);
        matmul(&mut solved, Accum::Replace, &self.vectors, &components, 1.0, Par::Seq);
        let coefficients: Vec<f64> = (0..target.len()).map(|row| solved[(row, 0)] * self.roots[row]).collect();
        let shift: f64 = coefficients.iter().zip(&self.means).map(|(a, mean)| a * mean).sum();
        (coefficients, self.mean(target) - shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regard_data::random::Draws;

    #[test]
    fn leaving_one_out_is_what_a_fit_without_it_gives() {
        let mut draws = Draws::new(3);
        let x: Vec<[f64; 2]> = (0..12).map(|_| draws.normal()).collect();
        let y: Vec<f64> = x.iter().map(|x| x[0] - x[1] + draws.normal()[0]).collect();
        let weights: Vec<f64> = (0..12).map(|at| 1.0 + f64::from(at % 3)).collect();
        let kernel = |a: &[f64; 2], b: &[f64; 2]| a[0] * b[0] + a[1] * b[1];
        let gram = |x: &[[f64; 2]]| Mat::from_fn(x.len(), x.len(), |a, b| kernel(&x[a], &x[b]));
        let left_out = Smoother::new(gram(&x), &weights).unwrap().leave_one_out(&y, &[0.7])[0][4];
        let without = |values: &[f64]| [&values[..4], &values[5..]].concat();
        let others = [&x[..4], &x[5..]].concat();
        let (a, b) = Smoother::new(gram(&others), &without(&weights)).unwrap().coefficients(&without(&y), 0.7);
        let expected = b + a.iter().zip(&others).map(|(a, other)| a * kernel(other, &x[4])).sum::<f64>();
        assert!((left_out - expected).abs() < 1e-9, "{left_out} {expected}");
    }
}
