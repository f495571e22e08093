//! A matrix of distances with a zero diagonal.

use std::sync::Arc;

use crate::{Error, Result};

/// Distances between `n` nodes, the same in both directions or not.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceMatrix {
    nodes: usize,
    entries: Entries,
    /// Factor of every entry.
    factor: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Entries {
    /// Row by row below the diagonal: (1,0), (2,0), (2,1), (3,0), ...; once per pair.
    Lower(Arc<Vec<f64>>),
    /// Row by row, from the node of the row to that of the column.
    Rows(Arc<Vec<f64>>),
    Entrances(Entrances),
}

/// The entries of [`DistanceMatrix::with_entrances`].
#[derive(Debug, Clone, PartialEq)]
struct Entrances {
    rows: Arc<Vec<f64>>,
    /// Added to every distance from an exit to an entrance.
    added: f64,
    /// The least of the sums.
    shortest: f64,
    /// Distance between two entrances, or two exits.
    barred: f64,
}

impl DistanceMatrix {
    /// Matrix of `nodes` nodes from its part below the diagonal, row by row: the same in both directions.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is not `nodes (nodes - 1) / 2` or a number is not
    /// finite.
    pub fn from_lower(nodes: usize, lower: Vec<f64>) -> Result<Self> {
        if nodes.checked_mul(nodes.saturating_sub(1)).is_none_or(|twice| twice / 2 != lower.len()) {
            let reason = format!("{} numbers below the diagonal do not fit {nodes} nodes", lower.len());
            return Err(Error::invalid("distance matrix", reason));
        }
        finite(&lower)?;
        Ok(Self { nodes, entries: Entries::Lower(Arc::new(lower)), factor: 1.0 })
    }

    /// Matrix `[nodes, nodes]`, row by row: each number is the distance from the node of its row to that of its column. The
    /// diagonal counts as 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is not `nodes * nodes` or a number is not finite.
    ///
    /// ```
    /// use regard_routing::DistanceMatrix;
    ///
    /// let up_and_down = DistanceMatrix::from_rows(2, vec![0.0, 5.0, 3.0, 0.0])?;
    /// assert_eq!((up_and_down.get(0, 1), up_and_down.get(1, 0)), (5.0, 3.0));
    /// assert!(!up_and_down.is_symmetric());
    /// # Ok::<(), regard_routing::Error>(())
    /// ```
    pub fn from_rows(nodes: usize, rows: Vec<f64>) -> Result<Self> {
        if nodes.checked_mul(nodes) != Some(rows.len()) {
            return Err(Error::invalid("distance matrix", format!("{} numbers do not fit {nodes} nodes", rows.len())));
        }
        finite(&rows)?;
        let pairs = || (1..nodes).flat_map(|row| (0..row).map(move |column| (row, column)));
        if pairs().all(|(row, column)| rows[row * nodes + column] == rows[column * nodes + row]) {
            return Self::from_lower(nodes, pairs().map(|(row, column)| rows[row * nodes + column]).collect());
        }
        Ok(Self { nodes, entries: Entries::Rows(Arc::new(rows)), factor: 1.0 })
    }

    /// The same distances among some of the nodes, in this order.
    ///
    /// # Errors
    /// None: the numbers are finite.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    pub fn select(&self, order: &[usize]) -> Result<Self> {
        let rows = order.iter().flat_map(|&i| order.iter().map(move |&j| self.get(i, j)));
        Self::from_rows(order.len(), rows.collect())
    }

    /// The distances times a factor; the numbers themselves are shared.
    ///
    /// # Errors
    /// [`Error::Invalid`] when one is not finite then.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        let factor = self.factor * factor;
        let largest = match &self.entries {
            Entries::Lower(numbers) | Entries::Rows(numbers) => {
                numbers.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
            }
            Entries::Entrances(entrances) => entrances.barred,
        };
        finite(&[factor, largest * factor])?;
        Ok(Self { factor, ..self.clone() })
    }

    /// If true, all distances are the same in both directions.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        !matches!(self.entries, Entries::Rows(_))
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

    /// Distance from node `i` to node `j`, 0 from a node to itself.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        if i == j {
            assert!(i < self.nodes, "node {i} of {}", self.nodes);
            return 0.0;
        }
        let entry = match &self.entries {
            Entries::Lower(lower) => {
                let (row, column) = if i > j { (i, j) } else { (j, i) };
                lower[row * (row - 1) / 2 + column]
            }
            Entries::Rows(rows) => {
                assert!(j < self.nodes, "node {j} of {}", self.nodes);
                rows[i * self.nodes + j]
            }
            Entries::Entrances(Entrances { rows, added, barred, .. }) => {
                let (a, b) = (i / 2, j / 2);
                match (i % 2, j % 2) {
                    _ if a == b => 0.0,
                    (1, 0) => rows[a * (self.nodes / 2) + b] + added,
                    (0, 1) => rows[b * (self.nodes / 2) + a] + added,
                    _ => *barred,
                }
            }
        };
        entry * self.factor
    }

    /// Distances that differ by direction as ones that do not, between twice as many nodes: node `2 i` is the entrance of
    /// node `i`, node `2 i + 1` its exit (R. Jonker and T. Volgenant, "Transforming asymmetric into symmetric traveling
    /// salesman problems", Operations Research Letters 2, 1983). Entrance and exit of a node are at distance 0, and each way
    /// from an exit to an entrance is longer by the second value, which is so large that a tour through all nodes pays for
    /// it as rarely as it can. `None` for a symmetric matrix.
    pub(crate) fn with_entrances(&self) -> Option<(Self, f64)> {
        let Entries::Rows(rows) = &self.entries else { return None };
        if self.factor != 1.0 {
            let rows = rows.iter().map(|distance| distance * self.factor).collect();
            return Self::from_rows(self.nodes, rows).ok()?.with_entrances();
        }
        let between = (0..self.nodes).flat_map(|i| (0..self.nodes).filter(move |&j| j != i).map(move |j| (i, j)));
        let (least, most) = between
            .map(|(i, j)| self.get(i, j))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), d| (a.min(d), b.max(d)));
        // No tour saves more than this by its other edges.
        let shortest = self.nodes as f64 * (most - least);
        let (added, barred) = (shortest - least, 4.0 * shortest);
        let entries = Entries::Entrances(Entrances { rows: Arc::clone(rows), added, shortest, barred });
        Some((Self { nodes: 2 * self.nodes, entries, factor: 1.0 }, added))
    }

    /// The length of the shortest way from an exit to the entrance of another node, where nodes have them.
    pub(crate) fn shortest_way(&self) -> Option<f64> {
        match &self.entries {
            Entries::Entrances(Entrances { shortest, .. }) => Some(*shortest),
            _ => None,
        }
    }
}

fn finite(numbers: &[f64]) -> Result<()> {
    match numbers.iter().find(|v| !v.is_finite()) {
        Some(bad) => Err(Error::invalid("distance matrix", format!("{bad} is not a finite number"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_from_both_sides() {
        let m = DistanceMatrix::from_lower(4, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let rows: Vec<Vec<f64>> = (0..4).map(|i| (0..4).map(|j| m.get(i, j)).collect()).collect();
        assert_eq!(rows, [[0.0, 1.0, 2.0, 4.0], [1.0, 0.0, 3.0, 5.0], [2.0, 3.0, 0.0, 6.0], [4.0, 5.0, 6.0, 0.0]]);
        // All rows of symmetric distances are the same matrix.
        assert_eq!(DistanceMatrix::from_rows(4, rows.concat()).unwrap(), m);
        assert!(m.is_symmetric() && m.with_entrances().is_none());
    }

    #[test]
    fn directions_are_kept() {
        let m = DistanceMatrix::from_rows(3, vec![9.0, 1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0, 9.0]).unwrap();
        assert_eq!((m.get(0, 1), m.get(1, 0), m.get(2, 2)), (1.0, 3.0, 0.0));
        let turned = m.select(&[2, 0]).unwrap();
        assert_eq!((turned.get(0, 1), turned.get(1, 0)), (5.0, 2.0));
        let (both, added) = m.with_entrances().unwrap();
        assert_eq!((both.len(), both.get(2, 3), both.get(3, 4), both.get(4, 3)), (6, 0.0, 4.0 + added, 4.0 + added));
        assert!(both.get(2, 4) > 2.0 * both.get(3, 4) && both.is_symmetric());
        let half = m.scaled(0.5).unwrap();
        assert_eq!((half.get(0, 1), half.get(1, 0), half.select(&[2, 0]).unwrap().get(0, 1)), (0.5, 1.5, 2.5));
        let (entrances, added) = half.with_entrances().unwrap();
        assert_eq!(entrances.get(3, 4), 2.0 + added);
        assert!(m.scaled(f64::MAX).is_err() && m.scaled(f64::NAN).is_err());
    }

    #[test]
    fn wrong_counts_and_nan_are_refused() {
        assert!(DistanceMatrix::from_lower(3, vec![1.0; 4]).is_err());
        assert!(DistanceMatrix::from_lower(usize::MAX, vec![1.0; 4]).is_err());
        assert!(DistanceMatrix::from_lower(2, vec![f64::NAN]).is_err());
        assert!(DistanceMatrix::from_lower(1, vec![]).is_ok());
        assert!(DistanceMatrix::from_rows(3, vec![1.0; 8]).is_err());
        assert!(DistanceMatrix::from_rows(usize::MAX, vec![1.0; 4]).is_err());
        assert!(DistanceMatrix::from_rows(2, vec![0.0, f64::INFINITY, 1.0, 0.0]).is_err());
    }
}
