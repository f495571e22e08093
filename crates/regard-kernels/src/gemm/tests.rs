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
