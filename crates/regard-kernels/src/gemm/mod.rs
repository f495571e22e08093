//! Matrix products with fused epilogues. All other kernels are built on them.
//!
//! `C[m, n] = A[m, k] · B[k, n]`, then an [`Epilogue`] while the result is still in registers.
//! One register tile is [`ROWS`] rows by as many columns as the registers can hold (6 × 64 with
//! AVX-512, 6 × 16 with AVX2). `B` is read in panels of that many columns, either packed once
//! ([`Panels`]) or in place from a row-major matrix.

mod epilogue;
mod tile;

use pulp::{Simd, WithSimd};
use tile::{Edge, Full, Masked, Tile};

use crate::{buffer::Workspace, simd};
pub(crate) use epilogue::{
    Accumulate, AddResidual, Bias, BiasRelu, BiasReluResidual, BiasResidual, Epilogue, ReluGate, Residual, RowBias,
    ScaleColumns, Store,
};

/// Left factor: element `(i, p)` is at `data[i · row + p · col]`.
#[derive(Clone, Copy)]
pub(crate) struct Lhs<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) row: usize,
    pub(crate) col: usize,
}

impl<'a> Lhs<'a> {
    /// A row-major matrix whose rows are `row` floats apart.
    pub(crate) fn rows(data: &'a [f32], row: usize) -> Self {
        Self { data, row, col: 1 }
    }

    /// The transpose of a row-major matrix whose rows are `row` floats apart.
    pub(crate) fn transposed(data: &'a [f32], row: usize) -> Self {
        Self { data, row: 1, col: row }
    }
}

/// Right factor: element `(p, j)` is at
/// `data[(j / panel_width) · panel + p · row + j % panel_width]`.
#[derive(Clone, Copy)]
pub(crate) struct Rhs<'a> {
    data: &'a [f32],
    row: usize,
    panel: usize,
}

impl<'a> Rhs<'a> {
    /// A row-major matrix, read in place, whose rows are `row` floats apart.
    pub(crate) fn rows<S: Simd>(data: &'a [f32], row: usize) -> Self {
        Self { data, row, panel: panel_width::<S>() }
    }
}

/// Size of a product: `m` rows, `n` columns, `k` terms in each sum.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// Rows of a register tile.
const ROWS: usize = 6;
/// Rows of the narrow tile that is one register wide.
const NARROW: usize = 12;

/// Computes `C = epilogue(A · B)`; `c` is row-major and its rows are `ldc` floats apart.
///
/// # Panics
/// If a slice is too short for its matrix.
#[inline(always)]
pub(crate) fn gemm<S: Simd, E: Epilogue<S>>(
    simd: S,
    size: Size,
    a: Lhs<'_>,
    b: Rhs<'_>,
    c: &mut [f32],
    ldc: usize,
    epilogue: E,
) {
    let Size { m, n, k } = size;
    if m == 0 || n == 0 {
        return;
    }
    assert!(k == 0 || a.data.len() > (m - 1) * a.row + (k - 1) * a.col, "left factor too short");
    let width = panel_width::<S>();
    let last = (n - 1) / width;
    assert!(k == 0 || b.data.len() > last * b.panel + (k - 1) * b.row + (n - 1) % width, "right factor too short");
    assert!(c.len() > (m - 1) * ldc + n - 1 && (ldc >= n || m == 1), "result too short");
    epilogue.check(m, n);
    // A separate function: the tile loops are compiled once per epilogue, not once per caller.
    simd.vectorize(Product { simd, size, a, b, c: c.as_mut_ptr(), ldc, epilogue });
}

/// A group of columns; the last register starts `back` columns further left.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    back: usize,
}

struct Product<'a, S, E> {
    simd: S,
    size: Size,
    a: Lhs<'a>,
    b: Rhs<'a>,
    c: *mut f32,
    ldc: usize,
    epilogue: E,
}

impl<S: Simd, E: Epilogue<S>> pulp::WithSimd for Product<'_, S, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<T: Simd>(self, _: T) {
        let (width, lanes) = (panel_width::<S>(), S::F32_LANES);
        let mut column = 0;
        while column + width <= self.size.n {
            if const { S::REGISTER_COUNT >= 32 } {
                self.columns::<4, ROWS, Full>(Columns { first: column, back: 0 }, Full);
            } else {
                self.columns::<2, ROWS, Full>(Columns { first: column, back: 0 }, Full);
            }
            column += width;
        }
        let rest = self.size.n - column;
        if E::REPEATABLE && rest > lanes {
            return self.rest(column, rest);
        }
        while column + lanes <= self.size.n {
            self.columns::<1, NARROW, Full>(Columns { first: column, back: 0 }, Full);
            column += lanes;
        }
        if column < self.size.n {
            let mask = self.simd.mask_between_m32s(0, (self.size.n - column) as u32);
            self.columns::<1, NARROW, Masked<S>>(Columns { first: column, back: 0 }, Masked(mask));
        }
    }
}

impl<S: Simd, E: Epilogue<S>> Product<'_, S, E> {
    /// The last `rest` columns, more than one register and less than a panel. The last register ends
    /// at the last column and computes some columns of the one before again, which costs less than a
    /// mask.
    #[inline(always)]
    fn rest(&self, column: usize, rest: usize) {
        let registers = rest.div_ceil(S::F32_LANES);
        let columns = Columns { first: column, back: registers * S::F32_LANES - rest };
        if const { S::REGISTER_COUNT < 32 } {
            return self.columns::<2, ROWS, Full>(columns, Full);
        }
        match registers {
            2 => self.columns::<2, NARROW, Full>(columns, Full),
            3 => self.columns::<3, ROWS, Full>(columns, Full),
            _ => self.columns::<4, ROWS, Full>(columns, Full),
        }
    }

    /// Computes all rows of `VECTORS` registers of columns.
    #[inline(always)]
    fn columns<const VECTORS: usize, const TALL: usize, G: Edge<S>>(&self, columns: Columns, edge: G) {
        let m = self.size.m;
        let mut row = 0;
        while row + TALL <= m {
            self.rows::<TALL, VECTORS, G>(row, columns, edge);
            row += TALL;
        }
        while row + 4 <= m {
            self.rows::<4, VECTORS, G>(row, columns, edge);
            row += 4;
        }
        if row + 2 <= m {
            self.rows::<2, VECTORS, G>(row, columns, edge);
            row += 2;
        }
        if row < m {
            self.rows::<1, VECTORS, G>(row, columns, edge);
        }
    }

    #[inline(always)]
    fn rows<const R: usize, const VECTORS: usize, G: Edge<S>>(&self, row: usize, columns: Columns, edge: G) {
        let Columns { first: column, back } = columns;
        let width = panel_width::<S>();
        // With `k = 0` both factors may be empty; nothing is read from them.
        let b = self.b.data.get((column / width) * self.b.panel + column % width..).unwrap_or_default();
        let a = self.a.data.get(row * self.a.row..).unwrap_or_default();
        // SAFETY: `gemm` checked that the whole product lies inside the slices; this tile's rows
        // and columns are inside the product, and `edge` masks lanes beyond the last column.
        unsafe {
            let tile = Tile {
                k: self.size.k,
                a: a.as_ptr(),
                a_row: self.a.row,
                a_col: self.a.col,
                b: b.as_ptr(),
                b_row: self.b.row,
                c: self.c,
                ldc: self.ldc,
                row,
                column,
                back,
            };
            tile.compute::<S, R, VECTORS, E, G>(self.simd, &self.epilogue, edge);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use pulp::{Simd, WithSimd};
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::simd;

    fn random(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        (0..len).map(|_| rng.random::<f32>() - 0.5).collect()
    }

    struct Case<'a> {
        size: Size,
        a: &'a [f32],
        b: &'a [f32],
        x: &'a [f32],
        bias: &'a [f32],
        transposed: bool,
        packed: bool,
    }

    impl WithSimd for Case<'_> {
        type Output = [Vec<f32>; 3];
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let Size { m, n, k } = self.size;
            let lhs = if self.transposed { Lhs::transposed(self.a, m) } else { Lhs::rows(self.a, k) };
            let panels = Panels::of(self.b, k, n);
            let rhs = if self.packed { panels.rhs() } else { Rhs::rows::<S>(self.b, n) };
            let mut out = [vec![f32::NAN; m * n], vec![1.0; m * n], vec![f32::NAN; m * n]];
            gemm(simd, self.size, lhs, rhs, &mut out[0], n, Store);
            gemm(simd, self.size, lhs, rhs, &mut out[1], n, Accumulate);
            gemm(simd, self.size, lhs, rhs, &mut out[2], n, BiasResidual { bias: self.bias, x: self.x, ldx: n });
            out
        }
    }

    #[test]
    fn products_agree_with_the_definition() {
        let few = [(1, 1, 1), (5, 3, 2), (7, 16, 9), (9, 20, 3), (12, 15, 0)];
        let many = [(13, 64, 20), (25, 70, 5), (6, 129, 33), (42, 42, 12), (10, 60, 7), (29, 97, 6)];
        for (m, n, k) in few.into_iter().chain(many) {
            let (a, b) = (random(m * k, 1), random(k * n, 2));
            let (x, bias) = (random(m * n, 3), random(n, 4));
            for (transposed, packed) in [(false, true), (true, true), (false, false), (true, false)] {
                let size = Size { m, n, k };
                let out = simd::run(Case { size, a: &a, b: &b, x: &x, bias: &bias, transposed, packed });
                for i in 0..m {
                    for j in 0..n {
                        let left = |p: usize| if transposed { a[p * m + i] } else { a[i * k + p] };
                        let sum: f64 = (0..k).map(|p| f64::from(left(p)) * f64::from(b[p * n + j])).sum();
                        let expected = [sum, sum + 1.0, sum + f64::from(bias[j] + x[i * n + j])];
                        for (out, expected) in out.iter().zip(expected) {
                            assert!((f64::from(out[i * n + j]) - expected).abs() < 1e-5, "{m} {n} {k}");
                        }
                    }
                }
            }
        }
    }
}
