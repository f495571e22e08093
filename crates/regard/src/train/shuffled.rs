//! The order in which a round through all examples takes them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::seeds::{Stream, derived};

/// The order of a round, kept until another one is asked for: there may be millions of examples, and a step
/// takes a hundred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shuffled {
    round: Option<u64>,
    order: Vec<usize>,
}

impl Shuffled {
    /// `examples` in the order of round `round`, which follows from the seed alone.
    pub(crate) fn of(&mut self, examples: impl Iterator<Item = usize>, seed: u64, round: u64) -> &[usize] {
        if self.round != Some(round) {
            self.order.clear();
            self.order.extend(examples);
            self.order.shuffle(&mut Pcg64Mcg::seed_from_u64(derived(seed, Stream::Instances, round)));
            self.round = Some(round);
        }
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_differ_and_come_back() {
        let mut kept = Shuffled::default();
        let first = kept.of(0..100, 7, 0).to_vec();
        assert_eq!(kept.of(0..100, 7, 0), first);
        let second = kept.of(0..100, 7, 1).to_vec();
        assert_ne!(second, first);
        assert_eq!(Shuffled::default().of(0..100, 7, 1), second);
        assert_eq!(kept.of(0..100, 7, 0), first);
        let mut all = second;
        all.sort_unstable();
        assert!(all.into_iter().eq(0..100));
    }
}
