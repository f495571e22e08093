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

/// `R` rows by `V` registers of columns: sums over `k`, then the epilogue. The last register stands `back`
/// columns further left, over some of the one before.
///
/// # Safety
/// `a` (pointer, row stride, column stride), `b` (pointer, row stride) and `c` (pointer to the
/// whole result, row stride) must cover the tile at `at` = (row, column, back); the epilogue must have
/// been checked for it.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn tile<S: Simd, const R: usize, const V: usize, E: Epilogue<S>, G: Edge<S>>(
    simd: S,
    k: usize,
    (mut a, a_row, a_col): (*const f32, usize, usize),
    (mut b, b_row): (*const f32, usize),
    (c, ldc): (*mut f32, usize),
    (row, column, back): (usize, usize, usize),
    epilogue: &E,
    edge: G,
) {
    let starts: [usize; V] = std::array::from_fn(|v| v * S::F32_LANES - if v + 1 == V { back } else { 0 });
    let mut sums = [[simd.splat_f32s(0.0); V]; R];
    for _ in 0..k {
        // SAFETY: row `p < k` of `b` and column `p` of `a`, inside by the caller's promise; the
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
            // SAFETY: the cell lies inside the result, by the caller's promise.
            unsafe {
                let to = c.add(cell.row * ldc + cell.column);
                let value = epilogue.apply(simd, cell, sum, to, edge);
                edge.store(simd, to, value);
            }
        }
    }
}
