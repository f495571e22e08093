//! Matrix products with fused epilogues. All other kernels are built on them.
//!
//! `C[m, n] = A[m, k] · B[k, n]`, then an [`Epilogue`] while the result is still in registers.
//! One register tile is [`ROWS`] rows by as many columns as the registers can hold (6 × 64 with
//! AVX-512, 6 × 16 with AVX2). `B` is read in panels of that many columns, either packed once
//! ([`Panels`]) or in place from a row-major matrix. Panels of weights may be in bfloat16 ([`pairs`]).

mod epilogue;
mod pairs;
mod tile;

use pairs::Left;
use pulp::{Simd, WithSimd};
use tile::{Edge, Factors, Full, Masked, MultiplyAdd, Place, Single, compute};

use crate::{
    buffer::Workspace,
    precision::{Precision, precision},
    simd,
    transpose::transpose,
};
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
/// `data[(j / panel_width) · panel + p · row + j % panel_width]`. In bfloat16 there is a pair of elements,
/// `(2p, j)` and `(2p + 1, j)`.
#[derive(Clone, Copy)]
pub(crate) struct Rhs<'a> {
    data: &'a [f32],
    row: usize,
    panel: usize,
    precision: Precision,
}

impl<'a> Rhs<'a> {
    /// A row-major matrix, read in place, whose rows are `row` floats apart.
    pub(crate) fn rows<S: Simd>(data: &'a [f32], row: usize) -> Self {
        Self { data, row, panel: panel_width::<S>(), precision: Precision::Float32 }
    }

    /// The first row from a column on; nowhere in a matrix without rows.
    #[inline(always)]
    fn starting_at<S: Simd>(&self, column: usize) -> *const f32 {
        let width = panel_width::<S>();
        self.data.get((column / width) * self.panel + column % width..).unwrap_or_default().as_ptr()
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
    let (last, rows) = ((n - 1) / width, b.precision.rows(k));
    assert!(k == 0 || b.data.len() > last * b.panel + (rows - 1) * b.row + (n - 1) % width, "right factor too short");
    assert!(c.len() > (m - 1) * ldc + n - 1 && (ldc >= n || m == 1), "result too short");
    epilogue.check(m, n);
    let c = (c.as_mut_ptr(), ldc);
    // Separate functions: the tile loops are compiled once per epilogue, not once per caller.
    match b.precision {
        Precision::Float32 => {
            let factors = Factors { steps: k, a, b, step: Single };
            simd.vectorize(Product { simd, size, factors, c, epilogue });
        }
        // SAFETY: factors are in bfloat16 only on a processor that has its instructions, and AVX-512 in use. All
        // sizes were checked.
        Precision::Bfloat16 if const { S::F32_LANES == 16 } => unsafe {
            pairs::product(simd, size, a, b, c, epilogue);
        },
        Precision::Bfloat16 => unreachable!("bfloat16 without AVX-512"),
    }
}

/// A group of columns; the last register starts `back` columns further left.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    back: usize,
}

struct Product<'a, S, M, E> {
    simd: S,
    size: Size,
    factors: Factors<'a, M>,
    /// First element of the result, and the stride between rows.
    c: (*mut f32, usize),
    epilogue: E,
}

impl<S: Simd, M: MultiplyAdd, E: Epilogue<S>> WithSimd for Product<'_, S, M, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<T: Simd>(self, _: T) {
        self.compute();
    }
}

impl<S: Simd, M: MultiplyAdd, E: Epilogue<S>> Product<'_, S, M, E> {
    #[inline(always)]
    fn compute(&self) {
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
        let place = Place { row, column: columns.first, back: columns.back };
        // SAFETY: `gemm` checked that the whole product lies inside the slices; this tile's rows
        // and columns are inside the product, and `edge` masks lanes beyond the last column.
        unsafe { compute::<S, R, VECTORS, M, E, G>(self.simd, &self.factors, self.c, place, &self.epilogue, edge) };
    }
}

/// The largest number of columns of a panel.
const WIDEST: usize = 64;

/// Number of columns of a panel: four registers if the machine has 32 of them, else two.
#[inline(always)]
pub(crate) fn panel_width<S: Simd>() -> usize {
    S::F32_LANES * if const { S::REGISTER_COUNT >= 32 } { 4 } else { 2 }
}

/// A `[k, n]` matrix stored as panels of [`panel_width`] columns, each `[k, panel]`, which the
/// register tile reads in order. Columns beyond `n` are zero. In bfloat16 two rows stand in one.
#[derive(Debug)]
pub(crate) struct Panels {
    rows: usize,
    width: usize,
    precision: Precision,
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
    /// Packs the matrix whose element `(p, j)` is `at(p, j)`, in single precision.
    pub(crate) fn pack(k: usize, n: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        Self::pack_in(Precision::Float32, k, n, at)
    }

    /// Packs weights of a forward pass, in the precision that this process has chosen for those.
    pub(crate) fn pack_forward(k: usize, n: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        Self::pack_in(precision(), k, n, at)
    }

    fn pack_in(precision: Precision, k: usize, n: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let (rows, width) = (precision.rows(k), simd::run(Width));
        let mut data = Workspace::lease(rows * n.div_ceil(width) * width);
        for (panel, out) in data.chunks_exact_mut((rows * width).max(1)).enumerate() {
            let first = panel * width;
            let read = |p: usize, out: &mut [f32]| {
                for (c, out) in out.iter_mut().enumerate() {
                    *out = if p < k && first + c < n { at(p, first + c) } else { 0.0 };
                }
            };
            for (p, out) in out.chunks_exact_mut(width).enumerate() {
                match precision {
                    Precision::Float32 => read(p, out),
                    Precision::Bfloat16 => {
                        let mut terms = [[0.0; WIDEST]; 2];
                        terms.iter_mut().enumerate().for_each(|(i, terms)| read(2 * p + i, &mut terms[..width]));
                        pairs::join(terms.each_ref().map(|terms| &terms[..width]), out);
                    }
                }
            }
        }
        Self { rows, width, precision, data }
    }

    /// Packs a row-major `[k, n]` matrix.
    pub(crate) fn of(weight: &[f32], k: usize, n: usize) -> Self {
        assert!(weight.len() >= k * n, "matrix too short");
        Self::pack(k, n, |p, j| weight[p * n + j])
    }

    /// Packs row-major weights `[k, n]` of a forward pass, as [`Self::pack_forward`].
    pub(crate) fn of_forward(weight: &[f32], k: usize, n: usize) -> Self {
        assert!(weight.len() >= k * n, "matrix too short");
        Self::pack_forward(k, n, |p, j| weight[p * n + j])
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
    /// first column of a panel, and `row` even in bfloat16.
    pub(crate) fn slice(&self, row: usize, column: usize) -> Rhs<'_> {
        assert!(column.is_multiple_of(self.width), "column inside a panel");
        assert!(self.precision == Precision::Float32 || row.is_multiple_of(2), "row inside a pair");
        let panel = self.rows * self.width;
        let start = (column / self.width) * panel + self.precision.rows(row) * self.width;
        Rhs { data: &self.data[start..], row: self.width, panel, precision: self.precision }
    }
}

/// Rows of activations, each as a column: the right factor of a product with weights of a forward pass.
pub(crate) struct Transposed {
    precision: Precision,
    data: Workspace,
    /// Floats of a row.
    ld: usize,
}

impl Transposed {
    /// The columns of `x [n, k]`; columns from `n` to `ld` are zero.
    #[inline(always)]
    pub(crate) fn forward(x: &[f32], n: usize, k: usize, ld: usize) -> Self {
        let precision = precision();
        let rows = precision.rows(k);
        let mut data = Workspace::lease(rows * ld);
        match precision {
            Precision::Float32 => transpose(x, k, n, k, ld, &mut data),
            Precision::Bfloat16 => {
                let pairs = Left::of(Size { m: n, n: 0, k }, Lhs::rows(x, k));
                transpose(&pairs.pairs, pairs.row, n, rows, ld, &mut data);
            }
        }
        Self { precision, data, ld }
    }

    /// The right factor.
    pub(crate) fn rhs<S: Simd>(&self) -> Rhs<'_> {
        Rhs { precision: self.precision, ..Rhs::rows::<S>(&self.data, self.ld) }
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
        /// The precision of panels, or a matrix that is read in place.
        panels: Option<Precision>,
    }

    impl WithSimd for Case<'_> {
        type Output = [Vec<f32>; 3];
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let Size { m, n, k } = self.size;
            let lhs = if self.transposed { Lhs::transposed(self.a, m) } else { Lhs::rows(self.a, k) };
            let panels = self.panels.map(|precision| Panels::pack_in(precision, k, n, |p, j| self.b[p * n + j]));
            let rhs = panels.as_ref().map_or_else(|| Rhs::rows::<S>(self.b, n), Panels::rhs);
            let mut out = [vec![f32::NAN; m * n], vec![1.0; m * n], vec![f32::NAN; m * n]];
            gemm(simd, self.size, lhs, rhs, &mut out[0], n, Store);
            gemm(simd, self.size, lhs, rhs, &mut out[1], n, Accumulate);
            gemm(simd, self.size, lhs, rhs, &mut out[2], n, BiasResidual { bias: self.bias, x: self.x, ldx: n });
            out
        }
    }

    #[test]
    fn products_agree_with_the_definition() {
        let few = [(1, 1, 1), (5, 3, 2), (7, 16, 9), (9, 20, 3), (12, 15, 0), (2, 40, 65)];
        let many = [(13, 64, 20), (25, 70, 5), (6, 129, 33), (42, 42, 12), (10, 60, 7), (29, 97, 6)];
        let [single, bfloat16] = Precision::ALL;
        let panels = [Some(single), None, Some(bfloat16)];
        for (m, n, k) in few.into_iter().chain(many) {
            let (a, b) = (random(m * k, 1), random(k * n, 2));
            let (x, bias) = (random(m * n, 3), random(n, 4));
            let available = panels.into_iter().filter(|panels| panels.is_none_or(Precision::is_available));
            for (transposed, panels) in available.flat_map(|panels| [(false, panels), (true, panels)]) {
                let size = Size { m, n, k };
                let out = simd::run(Case { size, a: &a, b: &b, x: &x, bias: &bias, transposed, panels });
                let rounded = |x: f32| match panels {
                    Some(Precision::Bfloat16) => half::bf16::from_f32(x).to_f64(),
                    _ => f64::from(x),
                };
                for i in 0..m {
                    for j in 0..n {
                        let left = |p: usize| if transposed { a[p * m + i] } else { a[i * k + p] };
                        let sum: f64 = (0..k).map(|p| rounded(left(p)) * rounded(b[p * n + j])).sum();
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
