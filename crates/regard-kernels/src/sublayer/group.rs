//! Gradient accumulators of a group of blocks.

use crate::{buffer::Workspace, norm::NormSums, vector::sum_in_order};

/// Gradients of the weights, summed over one group of blocks.
pub(crate) struct Accumulators<const N: usize> {
    pub(crate) weights: [Workspace; N],
    pub(crate) norm: NormSums,
}

impl<const N: usize> Accumulators<N> {
    pub(crate) fn zeros(sizes: [usize; N], width: usize) -> Self {
        Self { weights: sizes.map(Workspace::zeros), norm: NormSums::zeros(width) }
    }
}

/// Sum of the groups, in order.
pub(crate) fn total<const N: usize>(groups: Vec<Accumulators<N>>, sizes: [usize; N]) -> ([Vec<f32>; N], Vec<NormSums>) {
    let mut index = 0;
    let sums = sizes.map(|size| {
        let mut sum = vec![0.0; size];
        let parts: Vec<&[f32]> = groups.iter().map(|group| &group.weights[index][..]).collect();
        sum_in_order(&parts, &mut sum);
        index += 1;
        sum
    });
    (sums, groups.into_iter().map(|group| group.norm).collect())
}
