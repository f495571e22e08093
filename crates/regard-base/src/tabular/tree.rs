//! Decision trees.

use serde::{Deserialize, Serialize};

/// A binary tree of splits, with values at its leaves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// The column a node asks for; at a leaf the leaf's number.
    columns: Vec<u32>,
    /// Values up to the threshold go left.
    thresholds: Vec<f32>,
    /// The left child, 0 at a leaf; the right one follows it. The lowest bit of the doubled number says whether
    /// missing values go left.
    children: Vec<u32>,
    /// `[leaves, outputs]`
    values: Vec<f32>,
    outputs: usize,
}

impl Tree {
    /// A tree of one node, which is not set yet.
    pub(crate) fn new(outputs: usize) -> Self {
        let mut tree = Self { outputs, ..Self::default() };
        tree.push();
        tree
    }

    fn push(&mut self) -> usize {
        self.columns.push(0);
        self.thresholds.push(0.0);
        self.children.push(0);
        self.columns.len() - 1
    }

    /// Makes a node ask; its two children follow each other, the left one first.
    pub(crate) fn split(&mut self, node: usize, column: u32, threshold: f32, missing_left: bool) -> usize {
        let left = self.push();
        self.push();
        self.columns[node] = column;
        self.thresholds[node] = threshold;
        self.children[node] = 2 * left as u32 + u32::from(missing_left);
        left
    }

    /// Makes a node a leaf of these values.
    pub(crate) fn leaf(&mut self, node: usize, values: impl IntoIterator<Item = f32>) {
        self.columns[node] = (self.values.len() / self.outputs) as u32;
        self.values.extend(values);
    }

    /// The values of the leaf that a row of features falls into.
    pub(crate) fn predict(&self, row: &[f32]) -> &[f32] {
        let mut node = 0;
        while self.children[node] != 0 {
            let value = row[self.columns[node] as usize];
            let children = self.children[node];
            let left = if value.is_nan() { children & 1 == 1 } else { value <= self.thresholds[node] };
            node = (children / 2) as usize + usize::from(!left);
        }
        let leaf = self.columns[node] as usize;
        &self.values[leaf * self.outputs..(leaf + 1) * self.outputs]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_find_their_leaf() {
        let mut tree = Tree::new(1);
        let left = tree.split(0, 1, 0.5, true);
        tree.leaf(left + 1, [2.0]);
        tree.leaf(left, [1.0]);
        assert_eq!(tree.predict(&[9.0, 0.5]), [1.0]);
        assert_eq!(tree.predict(&[9.0, 0.6]), [2.0]);
        assert_eq!(tree.predict(&[9.0, f32::NAN]), [1.0]);
    }
}
