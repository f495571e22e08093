//! Random numbers that are the same on every machine and in every version: those of our own generator, and of numpy's
//! ([`NumpyLegacy`]).

use rand::{Rng, SeedableRng};
use rand_mt::Mt;
use rand_pcg::Pcg64;

/// numpy's `RandomState(seed)`: MT19937 with numpy's legacy conversions.
///
/// ```
/// use regard_data::random::NumpyLegacy;
///
/// let mut random = NumpyLegacy::new(1234); // np.random.seed(1234)
/// assert_eq!(random.uniform(), 0.1915194503788923); // np.random.random()
/// ```
#[derive(Debug, Clone)]
pub struct NumpyLegacy {
    twister: Mt,
}

impl NumpyLegacy {
    /// The generator after `numpy.random.seed(seed)`.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self { twister: Mt::new(seed) }
    }

    /// Next double in [0, 1) with 53 random bits: `numpy.random.random()`, and
    /// `numpy.random.uniform()` with the default bounds.
    pub fn uniform(&mut self) -> f64 {
        let high = f64::from(self.twister.next_u32() >> 5);
        let low = f64::from(self.twister.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// Next integer in `low..high`: `numpy.random.randint(low, high)` with the default int64.
    ///
    /// Masked rejection: words are drawn until one, cut to the bits of the range, lies inside.
    /// Ranges of up to 32 bits take 32-bit words, wider ones two words with the first on top; a
    /// range of one value draws nothing.
    ///
    /// # Panics
    /// When `low >= high`, where numpy raises `ValueError`.
    pub fn randint(&mut self, low: i64, high: i64) -> i64 {
        assert!(low < high, "randint requires low < high, got {low} and {high}");
        // The difference fits u64 even where it overflows i64.
        let range = (high as u64).wrapping_sub(low as u64) - 1;
        let mask = u64::MAX.checked_shr(range.leading_zeros()).unwrap_or(0);
        let offset = if range == 0 {
            0
        } else {
            loop {
                let drawn = self.word(range) & mask;
                if drawn <= range {
                    break drawn;
                }
            }
        };
        (low as u64).wrapping_add(offset) as i64
    }

    fn word(&mut self, range: u64) -> u64 {
        if range <= u64::from(u32::MAX) {
            return u64::from(self.twister.next_u32());
        }
        let high = u64::from(self.twister.next_u32());
        (high << 32) | u64::from(self.twister.next_u32())
    }
}

/// A source of random numbers.
#[derive(Debug, Clone)]
pub struct Draws {
    random: Pcg64,
}

impl Draws {
    /// The generator of a seed.
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64::seed_from_u64(seed) }
    }

    /// The draws of one batch of a stream: a generator of its own for each seed and batch, so that any
    /// batch can be drawn without those before it.
    ///
    /// State and increment of the generator are 32 bytes of SplitMix64 (G. Steele, D. Lea, C. Flood,
    /// "Fast splittable pseudorandom number generators", 2014) from both numbers; generators that only
    /// differed by a small step of the increment would be correlated.
    pub fn of_batch(seed: u64, batch: u64) -> Self {
        let mut state = mixed(seed ^ mixed(batch));
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            part.copy_from_slice(&mixed(state).to_le_bytes());
        }
        Self { random: Pcg64::from_seed(bytes) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Puts values into a random order, all orders alike.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            values.swap(end, self.index(end + 1));
        }
    }

    /// A place in `0..bound`, uneven by less than `bound` / 2^64; 0 when there is none.
    pub fn index(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.random.next_u64()) * bound as u128;
        (wide >> 64) as usize
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A point of the unit square; both coordinates are below 1.
    pub fn point(&mut self) -> [f32; 2] {
        let mut coordinate = || (self.random.next_u64() >> 40) as f32 / (1u32 << 24) as f32;
        [coordinate(), coordinate()]
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer in `0..bound`, uneven by less than 2^-32.
    pub fn below(&mut self, bound: u32) -> u32 {
        let wide = u128::from(self.random.next_u64()) * u128::from(bound);
        (wide >> 64) as u32
    }

    /// Two independent normal numbers of mean 0 and variance 1, by Marsaglia's polar method.
    pub fn normal(&mut self) -> [f64; 2] {
        loop {
            let [u, v] = [2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0];
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                // The logarithm of `std` may differ in the last bit from one system to another.
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                return [u * factor, v * factor];
            }
        }
    }
}

/// The output function of SplitMix64.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_draws_nothing() {
        let mut a = NumpyLegacy::new(7);
        let mut b = NumpyLegacy::new(7);
        assert_eq!(a.randint(3, 4), 3);
        assert_eq!(a.uniform(), b.uniform());
    }

    #[test]
    fn the_widest_range_does_not_overflow() {
        let mut random = NumpyLegacy::new(7);
        for _ in 0..100 {
            let drawn = random.randint(i64::MIN, i64::MAX);
            assert!(drawn < i64::MAX);
        }
    }

    #[test]
    #[should_panic(expected = "low < high")]
    fn an_empty_range_is_refused() {
        NumpyLegacy::new(0).randint(5, 5);
    }
    use crate::stats::Summary;

    #[test]
    fn whole_numbers_are_even_and_normal_ones_normal() {
        let mut draws = Draws::new(5);
        let mut counts = [0; 10];
        (0..10_000).for_each(|_| counts[draws.below(10) as usize] += 1);
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
        let normal: Vec<f64> = (0..10_000).flat_map(|_| draws.normal()).collect();
        let summary = Summary::of(&normal);
        assert!(summary.mean.abs() < 5.0 * summary.standard_error);
        assert!((summary.standard_deviation - 1.0).abs() < 0.02);
        let within = normal.iter().filter(|v| v.abs() < 1.0).count() as f64 / normal.len() as f64;
        assert!((within - 0.6827).abs() < 0.015, "{within}");
    }
}
