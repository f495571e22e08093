//! Which weights dropout leaves out.

use super::layer::Dropout;

/// Mixes all bits of `x` (the finaliser of MurmurHash3, Appleby).
#[inline(always)]
fn mix(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

impl Dropout {
    /// What the weight of an edge and head is multiplied with: 0 where it is left out, else
    /// 1/(1 − rate).
    #[inline(always)]
    pub fn factor(&self, edge: usize, head: usize) -> f32 {
        let Self { rate, seed } = *self;
        let edge = mix((edge as u32) ^ (seed as u32));
        let bits = mix(edge.wrapping_add((head as u32).wrapping_mul(0x9e37_79b9)) ^ (seed >> 32) as u32);
        // 24 bits, evenly in [0, 1).
        let uniform = (bits >> 8) as f32 / 16_777_216.0;
        if uniform < rate { 0.0 } else { 1.0 / (1.0 - rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_left_out_and_the_mean_is_kept() {
        for (rate, seed) in [(0.0, 1), (0.1, 2), (0.5, 1 << 40), (0.9, 77)] {
            let dropout = Dropout { rate, seed };
            let all = (0..40_000).flat_map(|edge| (0..8).map(move |head| dropout.factor(edge, head)));
            let mean = all.map(f64::from).sum::<f64>() / 320_000.0;
            assert!((mean - 1.0).abs() < 0.02, "{rate}: {mean}");
        }
    }

    #[test]
    fn heads_edges_and_seeds_differ() {
        let draw = |seed, edge, head| Dropout { rate: 0.5, seed }.factor(edge, head) > 0.0;
        let row = |f: &dyn Fn(usize) -> bool| (0..256).map(f).collect::<Vec<_>>();
        let plain = row(&|i| draw(3, i, 0));
        for other in [row(&|i| draw(3, i, 1)), row(&|i| draw(4, i, 0)), row(&|i| draw(3 + (1 << 32), i, 0))] {
            let same = plain.iter().zip(&other).filter(|(x, y)| x == y).count();
            assert!((90..166).contains(&same), "{same} of 256");
        }
    }
}
