//! numpy's legacy generator (`numpy.random.seed`, `RandomState`), draw for draw.
//!
//! The test sets of the Attention Model paper were drawn with it; drawing them again needs the
//! same Mersenne Twister, the same seeding and the same ways of making doubles and integers.

use rand_mt::Mt;

/// numpy's `RandomState(seed)`: MT19937 with numpy's legacy conversions.
///
/// ```
/// use regard_data::random::numpy::NumpyLegacy;
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
        assert!(low < high, "randint wants low < high, got {low} and {high}");
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
}
