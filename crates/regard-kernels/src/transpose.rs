//! Matrix transposition in blocks.

/// Number of rows of a block: the values of one column fill a cache line.
const BLOCK: usize = 16;

/// Copies `x` (`rows` rows of `width` floats, `ld` apart) transposed into `out` (`[width, padded]`).
/// Columns from `rows` to `padded` are set to zero.
///
/// # Panics
/// If a slice is too short, or `rows` exceeds `padded`.
#[inline(always)]
pub(crate) fn transpose(x: &[f32], ld: usize, rows: usize, width: usize, padded: usize, out: &mut [f32]) {
    assert!(rows <= padded && out.len() >= width * padded, "transposed matrix too short");
    if rows < padded {
        out[..width * padded].chunks_exact_mut(padded).for_each(|to| to[rows..].fill(0.0));
    }
    transpose_into(x, ld, rows, width, out, padded);
}

/// Copies `x` (`rows` rows of `width` floats, `ld` apart) transposed into the first `rows` floats of `width`
/// rows of `out`, `out_ld` apart.
///
/// # Panics
/// If a slice is too short, or `rows` exceeds `out_ld`.
#[inline(always)]
pub(crate) fn transpose_into(x: &[f32], ld: usize, rows: usize, width: usize, out: &mut [f32], out_ld: usize) {
    if rows == 0 || width == 0 {
        return;
    }
    assert!(x.len() >= (rows - 1) * ld + width, "matrix to transpose too short");
    assert!(rows <= out_ld && out.len() >= (width - 1) * out_ld + rows, "transposed matrix too short");
    let (whole_rows, whole_columns) = (rows / 4 * 4, width / 4 * 4);
    for first in (0..whole_rows).step_by(BLOCK) {
        for column in (0..whole_columns).step_by(4) {
            for row in (first..whole_rows.min(first + BLOCK)).step_by(4) {
                // SAFETY: this reads four floats of four rows of `x` from `row` on and writes four floats of
                // four rows of `out` from `column` on; both are below `rows` and `width`, which were checked
                // against both slices.
                unsafe {
                    transpose_4x4(
                        x.as_ptr().add(row * ld + column),
                        ld,
                        out.as_mut_ptr().add(column * out_ld + row),
                        out_ld,
                    )
                }
            }
        }
    }
    for row in 0..rows {
        let from = if row < whole_rows { whole_columns } else { 0 };
        for column in from..width {
            out[column * out_ld + row] = x[row * ld + column];
        }
    }
}

/// Transposes a 4 × 4 matrix.
///
/// # Safety
/// Four rows of four floats, `ld` apart, must be readable, and as many, `to_ld` apart, writable.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose_4x4(from: *const f32, ld: usize, to: *mut f32, to_ld: usize) {
    use std::arch::x86_64::{
        _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    // SAFETY: the caller guarantees all rows; every processor of this architecture has these instructions.
    unsafe {
        let [a, b, c, d] = std::array::from_fn(|row| _mm_loadu_ps(from.add(row * ld)));
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (ab_right, cd_right) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(to, _mm_movelh_ps(ab, cd));
        _mm_storeu_ps(to.add(to_ld), _mm_movehl_ps(cd, ab));
        _mm_storeu_ps(to.add(2 * to_ld), _mm_movelh_ps(ab_right, cd_right));
        _mm_storeu_ps(to.add(3 * to_ld), _mm_movehl_ps(cd_right, ab_right));
    }
}

/// Transposes a 4 × 4 matrix.
///
/// # Safety
/// Four rows of four floats, `ld` apart, must be readable, and as many, `to_ld` apart, writable.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn transpose_4x4(from: *const f32, ld: usize, to: *mut f32, to_ld: usize) {
    // SAFETY: the caller guarantees all rows.
    unsafe {
        let rows: [[f32; 4]; 4] = std::array::from_fn(|row| from.add(row * ld).cast::<[f32; 4]>().read_unaligned());
        for column in 0..4 {
            to.add(column * to_ld).cast::<[f32; 4]>().write_unaligned(rows.map(|row| row[column]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_and_pads_with_zeros() {
        for (rows, width, ld, padded) in
            [(1, 1, 1, 1), (3, 5, 7, 16), (16, 4, 4, 16), (42, 16, 48, 48), (37, 6, 9, 37), (5, 0, 3, 8), (0, 3, 3, 2)]
        {
            let x: Vec<f32> = (0..rows * ld).map(|at| at as f32 + 1.0).collect();
            let mut out = vec![f32::NAN; width * padded];
            transpose(&x, ld, rows, width, padded, &mut out);
            for (column, out) in out.chunks_exact(padded).enumerate() {
                for (row, out) in out.iter().enumerate() {
                    let expected = if row < rows { x[row * ld + column] } else { 0.0 };
                    assert_eq!(*out, expected, "{rows} {width} {ld} {padded}: {row} {column}");
                }
            }
        }
    }
}
