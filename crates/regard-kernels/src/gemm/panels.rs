//! Matrices packed into panels of columns for the register tile.

use pulp::{Simd, WithSimd};

use super::Rhs;
use crate::{buffer::Workspace, simd};

/// Number of columns of a panel: four registers if the machine has 32 of them, else two.
#[inline(always)]
pub(crate) fn panel_width<S: Simd>() -> usize {
    S::F32_LANES * if const { S::REGISTER_COUNT >= 32 } { 4 } else { 2 }
}

/// A `[k, n]` matrix stored as panels of [`panel_width`] columns, each `[k, panel]`, which the
/// register tile reads in order. Columns beyond `n` are zero.
#[derive(Debug)]
pub(crate) struct Panels {
    k: usize,
    width: usize,
    data: Workspace,
}

struct Width;

impl WithSimd for Width {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        panel_width::<S>()
    }
}

impl Panels {
    /// Packs the matrix whose element `(p, j)` is `at(p, j)`.
    pub(crate) fn pack(k: usize, n: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let width = simd::run(Width);
        let mut data = Workspace::lease(k * n.div_ceil(width) * width);
        for (panel, out) in data.chunks_exact_mut((k * width).max(1)).enumerate() {
            for (p, out) in out.chunks_exact_mut(width).enumerate() {
                for (c, out) in out.iter_mut().enumerate() {
                    let j = panel * width + c;
                    *out = if j < n { at(p, j) } else { 0.0 };
                }
            }
        }
        Self { k, width, data }
    }

    /// Packs a row-major `[k, n]` matrix.
    pub(crate) fn of(weight: &[f32], k: usize, n: usize) -> Self {
        assert!(weight.len() >= k * n, "matrix too short");
        Self::pack(k, n, |p, j| weight[p * n + j])
    }

    /// Packs the transpose of a row-major `[n, k]` matrix.
    pub(crate) fn of_transposed(weight: &[f32], k: usize, n: usize) -> Self {
        assert!(weight.len() >= k * n, "matrix too short");
        Self::pack(k, n, |p, j| weight[j * k + p])
    }

    /// The whole matrix as right factor.
    pub(crate) fn rhs(&self) -> Rhs<'_> {
        self.slice(0, 0)
    }

    /// The matrix starting at row `row` and column `column`, as right factor; `column` must be the
    /// first column of a panel.
    pub(crate) fn slice(&self, row: usize, column: usize) -> Rhs<'_> {
        assert!(column.is_multiple_of(self.width), "column inside a panel");
        let start = (column / self.width) * self.k * self.width + row * self.width;
        Rhs { data: &self.data[start..], row: self.width, panel: self.k * self.width }
    }
}
