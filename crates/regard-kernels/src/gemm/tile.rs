//! The register tile of a matrix product.

use pulp::{MemMask, Simd};

use super::epilogue::{Cell, Epilogue};
use super::{Lhs, Rhs};

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

/// The part of a product that a register tile computes.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Position of the tile in the result.
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// The last register starts this many columns further left, over some of the one before.
    pub(crate) back: usize,
}

impl Place {
    /// The first columns of `V` registers, counted from that of the tile.
    #[inline(always)]
    fn starts<S: Simd, const V: usize>(self) -> [usize; V] {
        std::array::from_fn(|v| v * S::F32_LANES - if v + 1 == V { self.back } else { 0 })
    }
}

/// The step of a sum: what a register of the left factor, a register of the right one and a sum give.
pub(crate) trait MultiplyAdd: Copy {
    /// `sum + left · right` in every lane.
    ///
    /// # Safety
    /// The processor must have the instruction.
    unsafe fn multiply_add<S: Simd>(self, simd: S, left: S::f32s, right: S::f32s, sum: S::f32s) -> S::f32s;
}

/// Numbers in single precision.
#[derive(Clone, Copy)]
pub(crate) struct Single;

impl MultiplyAdd for Single {
    #[inline(always)]
    unsafe fn multiply_add<S: Simd>(self, simd: S, left: S::f32s, right: S::f32s, sum: S::f32s) -> S::f32s {
        simd.mul_add_f32s(left, right, sum)
    }
}

/// Both factors of a product, as a register tile reads them.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a, M> {
    /// Number of steps of each sum.
    pub(crate) steps: usize,
    pub(crate) a: Lhs<'a>,
    pub(crate) b: Rhs<'a>,
    pub(crate) step: M,
}

impl<M: MultiplyAdd> Factors<'_, M> {
    /// Sums over all steps, of `R` rows and `V` registers of columns.
    ///
    /// # Safety
    /// The factors must cover the tile as far as `edge` lets lanes through, and the processor must have the instruction
    /// of a step.
    #[inline(always)]
    unsafe fn sums<S: Simd, const R: usize, const V: usize, G: Edge<S>>(
        &self,
        simd: S,
        place: Place,
        edge: G,
    ) -> [[S::f32s; V]; R] {
        let (starts, mut b) = (place.starts::<S, V>(), self.b.starting_at::<S>(place.column));
        // Without steps both factors may be empty; nothing is read from them.
        let mut a = self.a.data.get(place.row * self.a.row..).unwrap_or_default().as_ptr();
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for _ in 0..self.steps {
            // SAFETY: row `p < steps` of `b` and column `p` of `a`, inside because the factors cover the tile; the
            // pointers step past the end only after the last use.
            unsafe {
                let mut right = [simd.splat_f32s(0.0); V];
                for (start, right) in starts.iter().zip(&mut right) {
                    *right = edge.load(simd, b.add(*start));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let left = simd.splat_f32s(*a.add(r * self.a.row));
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = self.step.multiply_add(simd, left, right, *sum);
                    }
                }
            }
            a = a.wrapping_add(self.a.col);
            b = b.wrapping_add(self.b.row);
        }
        sums
    }
}

/// Computes `R` rows by `V` registers of columns of the result `c`, whose rows are `ldc` floats apart: sums, then
/// the epilogue.
///
/// # Safety
/// The factors and the result must cover the tile; the epilogue must have been checked for it; the processor must have
/// the instruction of a step.
#[inline(always)]
pub(crate) unsafe fn compute<S: Simd, const R: usize, const V: usize, M: MultiplyAdd, E: Epilogue<S>, G: Edge<S>>(
    simd: S,
    factors: &Factors<'_, M>,
    (c, ldc): (*mut f32, usize),
    place: Place,
    epilogue: &E,
    edge: G,
) {
    // SAFETY: the factors cover the tile.
    let sums = unsafe { factors.sums::<S, R, V, G>(simd, place, edge) };
    for (r, sums) in sums.into_iter().enumerate() {
        for (start, sum) in place.starts::<S, V>().iter().zip(sums) {
            let cell = Cell { row: place.row + r, column: place.column + start };
            // SAFETY: the cell lies inside the result, because it covers the tile.
            unsafe {
                let to = c.add(cell.row * ldc + cell.column);
                let value = epilogue.apply(simd, cell, sum, to, edge);
                edge.store(simd, to, value);
            }
        }
    }
}
