//! All eigenvectors of a small component.

use faer::{Mat, Side};

use super::components::Operator;

/// Values in rising order and their vectors.
#[derive(Debug, Default)]
pub(super) struct Spectrum {
    pub(super) values: Vec<f64>,
    /// As many as values, each of the length of the component.
    pub(super) vectors: Vec<Vec<f64>>,
    /// Some vectors are only near.
    pub(super) unconverged: bool,
}

/// The spectrum of `I - operator`; without values where the solver fails, which it does for no finite
/// symmetric matrix.
pub(super) fn spectrum(operator: &Operator) -> Spectrum {
    let n = operator.len();
    let mut matrix = Mat::<f64>::identity(n, n);
    for row in 0..n {
        for at in operator.offsets[row]..operator.offsets[row + 1] {
            matrix[(row, operator.others[at] as usize)] -= operator.weights[at];
        }
    }
    let Ok(eigen) = matrix.self_adjoint_eigen(Side::Lower) else {
        return Spectrum { unconverged: true, ..Spectrum::default() };
    };
    let (values, vectors) = (eigen.S(), eigen.U());
    Spectrum {
        values: (0..n).map(|at| values[at]).collect(),
        vectors: (0..n).map(|at| (0..n).map(|row| vectors[(row, at)]).collect()).collect(),
        unconverged: false,
    }
}
