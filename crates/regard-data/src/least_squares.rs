//! Linear least squares over rows that come in blocks.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatRef, Par, Side};

use crate::{Error, Result};

/// The normal equations of `y = x W`, gathered over rows; every output has the same inputs.
#[derive(Debug, Clone)]
pub struct LeastSquares {
    /// `[inputs, inputs]`
    squares: Mat<f64>,
    /// `[inputs, outputs]`
    products: Mat<f64>,
    rows: usize,
}

impl LeastSquares {
    /// No rows yet.
    #[must_use]
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self { squares: Mat::zeros(inputs, inputs), products: Mat::zeros(inputs, outputs), rows: 0 }
    }

    /// Rows `x [rows, inputs]` and what they should give, `y [rows, outputs]`. The same rows in the same blocks
    /// give the same bits, whatever the number of threads.
    ///
    /// # Panics
    /// If the two have not the same number of rows.
    pub fn add(&mut self, x: &[f64], y: &[f64]) {
        let (inputs, outputs) = (self.squares.nrows(), self.products.ncols());
        let rows = x.len() / inputs.max(1);
        assert!(x.len() == rows * inputs && y.len() == rows * outputs, "least squares: rows of inputs and outputs");
        let x = MatRef::from_row_major_slice(x, rows, inputs);
        let y = MatRef::from_row_major_slice(y, rows, outputs);
        matmul(&mut self.squares, Accum::Add, x.transpose(), x, 1.0, Par::Seq);
        matmul(&mut self.products, Accum::Add, x.transpose(), y, 1.0, Par::Seq);
        self.rows += rows;
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The mean over inputs of the sum of their squares: what penalties are measured by.
    #[must_use]
    pub fn mean_square(&self) -> f64 {
        let inputs = self.squares.nrows();
        (0..inputs).map(|at| self.squares[(at, at)]).sum::<f64>() / inputs.max(1) as f64
    }

    /// The weights `[inputs, outputs]`, row-major, that minimise the squared errors and `penalty` times the
    /// [mean square](Self::mean_square) times the squared weights (ridge regression, Hoerl & Kennard 1970).
    ///
    /// # Errors
    /// [`Error::Invalid`] where there is no row, no penalty above 0, or a number that is not finite.
    ///
    /// ```
    /// use regard_data::least_squares::LeastSquares;
    ///
    /// let mut equations = LeastSquares::new(2, 1);
    /// equations.add(&[0.0, 1.0, 1.0, 1.0, 2.0, 1.0], &[5.0, 7.0, 9.0]);
    /// let weights = equations.solve(1e-9)?;
    /// assert!((weights[0] - 2.0).abs() < 1e-5 && (weights[1] - 5.0).abs() < 1e-5);
    /// # Ok::<(), regard_data::Error>(())
    /// ```
    pub fn solve(&self, penalty: f64) -> Result<Vec<f64>> {
        let (inputs, outputs) = (self.squares.nrows(), self.products.ncols());
        if self.rows == 0 || !(penalty > 0.0 && penalty.is_finite()) {
            let reason = format!("over {} rows with a penalty of {penalty}; expected some and one above 0", self.rows);
            return Err(Error::invalid("least squares", reason));
        }
        let mut squares = self.squares.clone();
        // Inputs that are always 0 have the weight 0.
        let added = (penalty.max(1e-12) * self.mean_square()).max(f64::MIN_POSITIVE);
        (0..inputs).for_each(|at| squares[(at, at)] += added);
        let none =
            || Error::invalid("least squares", "has no solution: a number is not finite, or the penalty too low");
        let solved = squares.llt(Side::Lower).map_err(|_| none())?.solve(&self.products);
        let weights: Vec<f64> = (0..inputs * outputs).map(|at| solved[(at / outputs, at % outputs)]).collect();
        if weights.iter().all(|weight| weight.is_finite()) { Ok(weights) } else { Err(none()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    #[test]
    fn blocks_give_what_all_rows_give_and_penalties_shrink() {
        let mut draws = Draws::new(5);
        let x: Vec<f64> = (0..300 * 4).map(|at| if at % 4 == 3 { 1.0 } else { draws.normal()[0] }).collect();
        let y: Vec<f64> = x.chunks(4).flat_map(|x| [x[0] - 2.0 * x[1] + 3.0, 0.5 * x[2] - 1.0]).collect();
        let (mut whole, mut blocks) = (LeastSquares::new(4, 2), LeastSquares::new(4, 2));
        whole.add(&x, &y);
        x.chunks(40).zip(y.chunks(20)).for_each(|(x, y)| blocks.add(x, y));
        let expected = [1.0, 0.0, -2.0, 0.0, 0.0, 0.5, 3.0, -1.0];
        for found in [whole.solve(1e-12).unwrap(), blocks.solve(1e-12).unwrap()] {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?}");
        }
        let half = whole.solve(1.0).unwrap();
        assert!((half[2] + 1.0).abs() < 0.2 && (half[5] - 0.25).abs() < 0.1, "{half:?}");
        assert!(whole.solve(1e9).unwrap().iter().all(|weight| weight.abs() < 1e-6));
    }

    #[test]
    fn what_has_no_solution_is_refused() {
        assert!(LeastSquares::new(2, 1).solve(1.0).is_err());
        let mut equations = LeastSquares::new(1, 1);
        equations.add(&[0.0, 0.0], &[1.0, 2.0]);
        assert_eq!(equations.solve(0.1).unwrap(), [0.0]);
        assert!(equations.solve(0.0).is_err() && equations.solve(f64::NAN).is_err());
        equations.add(&[f64::NAN], &[1.0]);
        assert!(equations.solve(0.1).is_err());
    }
}
