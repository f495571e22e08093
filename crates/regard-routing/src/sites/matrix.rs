//! A symmetric matrix of distances with a zero diagonal.

use crate::{Error, Result};

/// Distances between `n` nodes, kept once per pair: `n (n - 1) / 2` numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricMatrix {
    nodes: usize,
    /// Row by row below the diagonal: (1,0), (2,0), (2,1), (3,0), ...
    lower: Vec<f64>,
}

impl SymmetricMatrix {
    /// Matrix of `nodes` nodes from its part below the diagonal, row by row.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is not `nodes (nodes - 1) / 2` or a number is not
    /// finite.
    pub fn from_lower(nodes: usize, lower: Vec<f64>) -> Result<Self> {
        if nodes.checked_mul(nodes.saturating_sub(1)).is_none_or(|twice| twice / 2 != lower.len()) {
            let reason = format!("{} numbers below the diagonal do not fit {nodes} nodes", lower.len());
            return Err(Error::invalid("distance matrix", reason));
        }
        if let Some(bad) = lower.iter().find(|v| !v.is_finite()) {
            return Err(Error::invalid("distance matrix", format!("{bad} is not a finite number")));
        }
        Ok(Self { nodes, lower })
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// If true, there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Distance between two nodes, 0 from a node to itself.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = if i > j { (i, j) } else { (j, i) };
        if row == column {
            assert!(row < self.nodes, "node {row} of {}", self.nodes);
            return 0.0;
        }
        self.lower[row * (row - 1) / 2 + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_from_both_sides() {
        let m = SymmetricMatrix::from_lower(4, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let rows: Vec<Vec<f64>> = (0..4).map(|i| (0..4).map(|j| m.get(i, j)).collect()).collect();
        assert_eq!(rows, [[0.0, 1.0, 2.0, 4.0], [1.0, 0.0, 3.0, 5.0], [2.0, 3.0, 0.0, 6.0], [4.0, 5.0, 6.0, 0.0]]);
    }

    #[test]
    fn wrong_counts_and_nan_are_refused() {
        assert!(SymmetricMatrix::from_lower(3, vec![1.0; 4]).is_err());
        assert!(SymmetricMatrix::from_lower(usize::MAX, vec![1.0; 4]).is_err());
        assert!(SymmetricMatrix::from_lower(2, vec![f64::NAN]).is_err());
        assert!(SymmetricMatrix::from_lower(1, vec![]).is_ok());
    }
}
