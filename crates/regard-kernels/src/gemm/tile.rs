//! The register tile of a matrix product.

use pulp::{MemMask, Simd};

use super::epilogue::{Cell, Epilogue};

/// Reads and writes registers at the right edge of the matrix.
pub(crate) trait Edge<S: Simd>: Copy {
    /// Reads one register.
    ///
    /// # Safety
    /// Every lane the edge lets through must be readable.
    unsafe fn load(self, simd: S, from: *const f32) -> S::f32s;
    /// Writes one register.
    ///
    /// # Safety
    /// Every lane the edge lets through must be writable.
    unsafe fn store(self, simd: S, to: *mut f32, value: S::f32s);
}

/// All lanes are inside the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Full;

/// Only the lanes of the mask are inside the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Masked<S: Simd>(pub(crate) MemMask<S::m32s>);

impl<S: Simd> Edge<S> for Full {
    #[inline(always)]
    unsafe fn load(self, _: S, from: *const f32) -> S::f32s {
        // SAFETY: the caller guarantees all lanes.
        unsafe { from.cast::<S::f32s>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, _: S, to: *mut f32, value: S::f32s) {
        // SAFETY: the caller guarantees all lanes.
        unsafe { to.cast::<S::f32s>().write_unaligned(value) }
    }
}

impl<S: Simd> Edge<S> for Masked<S> {
    #[inline(always)]
    unsafe fn load(self, simd: S, from: *const f32) -> S::f32s {
        // SAFETY: the caller guarantees the lanes of the mask.
        unsafe { simd.mask_load_ptr_f32s(self.0, from) }
    }
    #[inline(always)]
    unsafe fn store(self, simd: S, to: *mut f32, value: S::f32s) {
        // SAFETY: the caller guarantees the lanes of the mask.
        unsafe { simd.mask_store_ptr_f32s(self.0, to, value) }
    }
}

/// The operands of a register tile of a matrix product.
pub(crate) struct Tile {
    /// Number of terms in each sum.
    pub(crate) k: usize,
    /// First element of the left factor, and its strides between rows and columns.
    pub(crate) a: *const f32,
    pub(crate) a_row: usize,
    pub(crate) a_col: usize,
    /// First element of the right factor, and its stride between rows.
    pub(crate) b: *const f32,
    pub(crate) b_row: usize,
    /// First element of the whole result, and its stride between rows.
    pub(crate) c: *mut f32,
    pub(crate) ldc: usize,
    /// Position of the tile in the result.
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// The last register starts this many columns further left, over some of the one before.
    pub(crate) back: usize,
}

impl Tile {
    /// Computes `R` rows by `V` registers of columns: sums over `k`, then the epilogue.
    ///
    /// # Safety
    /// The operands must cover the tile; the epilogue must have been checked for it.
    #[inline(always)]
    pub(crate) unsafe fn compute<S: Simd, const R: usize, const V: usize, E: Epilogue<S>, G: Edge<S>>(
        self,
        simd: S,
        epilogue: &E,
        edge: G,
    ) {
        let Self { k, mut a, a_row, a_col, mut b, b_row, c, ldc, row, column, back } = self;
        let starts: [usize; V] = std::array::from_fn(|v| v * S::F32_LANES - if v + 1 == V { back } else { 0 });
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for _ in 0..k {
            // SAFETY: row `p < k` of `b` and column `p` of `a`, inside because the operands cover the tile; the
            // pointers step past the end only after the last use.
            unsafe {
                let mut right = [simd.splat_f32s(0.0); V];
                for (start, right) in starts.iter().zip(&mut right) {
                    *right = edge.load(simd, b.add(*start));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let left = simd.splat_f32s(*a.add(r * a_row));
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = simd.mul_add_f32s(left, right, *sum);
                    }
                }
            }
            a = a.wrapping_add(a_col);
            b = b.wrapping_add(b_row);
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (start, sum) in starts.iter().zip(sums) {
                let cell = Cell { row: row + r, column: column + start };
                // SAFETY: the cell lies inside the result, because the operands cover the tile.
                unsafe {
                    let to = c.add(cell.row * ldc + cell.column);
                    let value = epilogue.apply(simd, cell, sum, to, edge);
                    edge.store(simd, to, value);
                }
            }
        }
    }
}
