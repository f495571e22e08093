//! Factors in bfloat16, the upper half of a number in single precision: AVX-512 BF16 multiplies two numbers of a row
//! with two of a column in the time of one, and adds in single precision.

use pulp::Simd;

use super::tile::MultiplyAdd;
use super::{Lhs, Size};
use crate::{buffer::Workspace, precision::Precision};

/// Floats of a register.
const LANES: usize = 16;

/// Pairs of two rows: in each column a number of the first row and one of the second, where one number in single
/// precision would be. Behind the end of the second row there are zeros.
///
/// # Panics
/// If the processor has no bfloat16, or `out` is longer than the first row.
pub(super) fn join(rows: [&[f32]; 2], out: &mut [f32]) {
    assert!(Precision::Bfloat16.is_available() && rows[0].len() >= out.len(), "no bfloat16, or a row too short");
    // SAFETY: the processor has the instructions.
    unsafe { processor::join(rows, out) }
}

/// The left factor of a product in pairs: pair `p` of row `i` is at `pairs[i · row + p · col]`.
pub(super) struct Left {
    pub(super) pairs: Workspace,
    pub(super) row: usize,
    col: usize,
}

impl Left {
    /// The pairs of the left factor of a product.
    ///
    /// # Panics
    /// If the factor is too short for the product, or the processor has no bfloat16.
    pub(super) fn of(size: Size, a: Lhs<'_>) -> Self {
        let Size { m, k, .. } = size;
        if a.col == 1 {
            let row = k.next_multiple_of(2 * LANES) / 2;
            let mut pairs = Workspace::lease(m * row);
            assert!(Precision::Bfloat16.is_available(), "no bfloat16");
            for (i, to) in pairs.chunks_exact_mut(row.max(1)).enumerate() {
                // SAFETY: the processor has the instructions.
                unsafe { processor::narrow(&a.data[i * a.row..][..k], to) };
            }
            return Self { pairs, row, col: 1 };
        }
        assert_eq!(a.row, 1, "rows or columns that are contiguous");
        let mut pairs = Workspace::lease(k.div_ceil(2) * m);
        for (p, to) in pairs.chunks_exact_mut(m.max(1)).enumerate() {
            let term = |p: usize| if p < k { &a.data[p * a.col..][..m] } else { &[] };
            join([term(2 * p), term(2 * p + 1)], to);
        }
        Self { pairs, row: 1, col: m }
    }
}

/// Numbers in pairs: a step of a sum takes two of its terms.
#[derive(Clone, Copy)]
struct Pairs;

impl MultiplyAdd for Pairs {
    #[inline(always)]
    unsafe fn multiply_add<S: Simd>(self, _: S, left: S::f32s, right: S::f32s, sum: S::f32s) -> S::f32s {
        // SAFETY: the processor has the instruction, and with it registers of AVX-512.
        unsafe { processor::multiply_add(left, right, sum) }
    }
}

pub(super) use processor::product;

#[cfg(target_arch = "x86_64")]
mod processor {
    use std::arch::x86_64::*;
    use std::mem::{transmute, transmute_copy};

    use pulp::Simd;

    use super::{LANES, Left, Pairs};
    use crate::gemm::{Epilogue, Factors, Lhs, Product, Rhs, Size};

    /// The product of `a` and panels of pairs, on a processor with AVX-512 BF16.
    ///
    /// # Safety
    /// The processor must have the instructions, and registers of sixteen lanes must be those of AVX-512. The matrices
    /// must cover the product, and the epilogue must have been checked for it.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(in crate::gemm) unsafe fn product<S: Simd, E: Epilogue<S>>(
        simd: S,
        size: Size,
        a: Lhs<'_>,
        b: Rhs<'_>,
        c: (*mut f32, usize),
        epilogue: E,
    ) {
        let left = Left::of(size, a);
        let a = Lhs { data: &left.pairs, row: left.row, col: left.col };
        let factors = Factors { steps: size.k.div_ceil(2), a, b, step: Pairs };
        Product { simd, size, factors, c, epilogue }.compute();
    }

    /// The lanes of a register whose first one is number `first` of `count`.
    #[inline(always)]
    fn lanes(count: usize, first: usize) -> __mmask16 {
        ((1u32 << count.saturating_sub(first).min(LANES)) - 1) as __mmask16
    }

    /// Pairs of two rows, as many as `out` is long; the first row is not shorter.
    ///
    /// # Safety
    /// The processor must have AVX-512 BF16.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) unsafe fn join(rows: [&[f32]; 2], out: &mut [f32]) {
        for column in (0..out.len()).step_by(LANES) {
            let [low, high] = rows.map(|row| {
                // SAFETY: the mask lets only numbers of the row through.
                let numbers =
                    unsafe { _mm512_maskz_loadu_ps(lanes(row.len(), column), row.as_ptr().wrapping_add(column)) };
                // SAFETY: both are sixteen numbers of 16 bits.
                _mm512_cvtepu16_epi32(unsafe { transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(numbers)) })
            });
            let pairs = _mm512_castsi512_ps(_mm512_or_si512(_mm512_slli_epi32::<16>(high), low));
            let mask = lanes(out.len(), column);
            // SAFETY: the mask lets only pairs through that there is room for.
            unsafe { _mm512_mask_storeu_ps(out.as_mut_ptr().add(column), mask, pairs) };
        }
    }

    /// The numbers of a row in pairs, and zeros up to the end of `out`, which has whole registers.
    ///
    /// # Safety
    /// The processor must have AVX-512 BF16.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) unsafe fn narrow(row: &[f32], out: &mut [f32]) {
        for (first, out) in (0..row.len()).step_by(2 * LANES).zip(out.chunks_exact_mut(LANES)) {
            let [low, high] = [first, first + LANES].map(|first| {
                // SAFETY: the mask lets only numbers of the row through.
                unsafe { _mm512_maskz_loadu_ps(lanes(row.len(), first), row.as_ptr().wrapping_add(first)) }
            });
            // SAFETY: sixteen pairs, and room for as many.
            unsafe {
                _mm512_storeu_ps(out.as_mut_ptr(), transmute::<__m512bh, __m512>(_mm512_cvtne2ps_pbh(high, low)))
            };
        }
    }

    /// `sum + left · right` in every lane, where both factors are pairs.
    ///
    /// # Safety
    /// The processor must have AVX-512 BF16, and `V` must be a register of AVX-512.
    #[inline(always)]
    pub(super) unsafe fn multiply_add<V: Copy>(left: V, right: V, sum: V) -> V {
        debug_assert_eq!(size_of::<V>(), size_of::<__m512>());
        // SAFETY: values of one size, for which any bits are valid.
        unsafe {
            let [left, right] = [left, right].map(|pairs| transmute_copy::<V, __m512bh>(&pairs));
            transmute_copy(&_mm512_dpbf16_ps(transmute_copy::<V, __m512>(&sum), left, right))
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod processor {
    use pulp::Simd;

    use crate::gemm::{Epilogue, Lhs, Rhs, Size};

    /// # Safety
    /// None: there are no panels of pairs on other processors.
    pub(in crate::gemm) unsafe fn product<S: Simd, E: Epilogue<S>>(
        _: S,
        _: Size,
        _: Lhs<'_>,
        _: Rhs<'_>,
        _: (*mut f32, usize),
        _: E,
    ) {
        unreachable!("panels of pairs");
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn join(_: [&[f32]; 2], _: &mut [f32]) {
        unreachable!("panels of pairs");
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn narrow(_: &[f32], _: &mut [f32]) {
        unreachable!("panels of pairs");
    }

    /// # Safety
    /// As above.
    pub(super) unsafe fn multiply_add<V: Copy>(_: V, _: V, _: V) -> V {
        unreachable!("panels of pairs");
    }
}
