//! Gradient accumulators of a group of blocks.

use rayon::prelude::*;

use crate::{buffer::Workspace, norm::NormSums, vector::add};

/// One group's share of the gradients of the weights.
pub(super) struct Accumulators<const N: usize> {
    pub(super) weights: [Workspace; N],
    pub(super) norm: NormSums,
}

impl<const N: usize> Accumulators<N> {
    pub(super) fn zeros(sizes: [usize; N], width: usize) -> Self {
        Self { weights: sizes.map(Workspace::zeros), norm: NormSums::zeros(width) }
    }
}

/// Sums the groups in order; columns are summed in parallel, which does not change any order.
pub(super) fn total<const N: usize>(groups: Vec<Accumulators<N>>, sizes: [usize; N]) -> ([Vec<f32>; N], Vec<NormSums>) {
    const PIECE: usize = 8192;
    let mut index = 0;
    let sums = sizes.map(|size| {
        let mut sum = vec![0.0; size];
        sum.par_chunks_mut(PIECE).enumerate().for_each(|(piece, sum)| {
            for group in &groups {
                let part = &group.weights[index][piece * PIECE..][..sum.len()];
                add(part, sum);
            }
        });
        index += 1;
        sum
    });
    (sums, groups.into_iter().map(|group| group.norm).collect())
}
