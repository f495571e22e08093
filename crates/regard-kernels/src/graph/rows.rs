//! Rows of nodes and edges in the caller's layout and in the kernel layout.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    lanes::Lanes,
    layer::{Inputs, Nodes},
};
use crate::{
    buffer::{Workspace, parts},
    simd,
    vector::{split, split_mut},
};

/// Rows of `width` floats that are `ld` floats apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f32],
    pub(super) width: usize,
    pub(super) ld: usize,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub(super) fn floats(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.ld..][..self.width]
    }

    #[inline(always)]
    pub(super) fn registers<S: Simd>(&self, row: usize) -> &'a [S::f32s] {
        split::<S>(self.floats(row)).0
    }
}

/// Queries, keys and values in the caller's layout.
pub(super) fn of_nodes<'a>(inputs: &Inputs<'a>, width: usize) -> [Rows<'a>; 3] {
    match inputs.nodes {
        Nodes::Packed(all) => [0, 1, 2].map(|i| Rows {
            // The slice is empty if there are no nodes.
            data: all.get(i * width..).unwrap_or_default(),
            width,
            ld: 3 * width,
        }),
        Nodes::Separate { query, key, value } => [query, key, value].map(|data| Rows { data, width, ld: width }),
    }
}

/// `out = factor · row`, for a row in the kernel layout.
#[inline(always)]
pub(super) fn scaled<S: Simd>(simd: S, row: &[S::f32s], factor: f32, out: &mut [S::f32s]) {
    let factor = simd.splat_f32s(factor);
    for (x, out) in row.iter().zip(out) {
        *out = simd.mul_f32s(*x, factor);
    }
}

/// Rows in the kernel layout: borrowed from the caller if they are in this layout, else a copy.
pub(super) enum KernelRows<'a> {
    Borrowed(Rows<'a>),
    Copy(Workspace, usize),
}

impl<'a> KernelRows<'a> {
    pub(super) fn of(lanes: &Lanes, rows: Rows<'a>, count: usize) -> Self {
        const TOGETHER: usize = 64;
        if lanes.native() {
            return Self::Borrowed(rows);
        }
        let row = lanes.row();
        let mut copy = Workspace::lease(count * row);
        copy.par_chunks_mut(TOGETHER * row).enumerate().for_each(|(chunk, out)| {
            simd::run(Copied { lanes, rows, first: chunk * TOGETHER, out });
        });
        Self::Copy(copy, row)
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        match self {
            Self::Borrowed(rows) => *rows,
            Self::Copy(copy, row) => Rows { data: copy, width: *row, ld: *row },
        }
    }
}

struct Copied<'a> {
    lanes: &'a Lanes,
    rows: Rows<'a>,
    first: usize,
    out: &'a mut [f32],
}

impl WithSimd for Copied<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (i, out) in self.out.chunks_exact_mut(self.lanes.row()).enumerate() {
            self.lanes.rearrange(simd, self.rows.floats(self.first + i), out);
        }
    }
}

/// [`parts`] of an optional slice; `None` gives as many `None`s.
pub(super) fn optional_parts(
    all: Option<&mut [f32]>,
    sizes: impl IntoIterator<Item = usize>,
) -> Vec<Option<&mut [f32]>> {
    match all {
        Some(all) => parts(all, sizes).into_iter().map(Some).collect(),
        None => sizes.into_iter().map(|_| None).collect(),
    }
}

/// The registers of scratch memory whose length is a whole number of registers.
#[inline(always)]
pub(super) fn registers_mut<S: Simd>(x: &mut [f32]) -> &mut [S::f32s] {
    split_mut::<S>(x).0
}
