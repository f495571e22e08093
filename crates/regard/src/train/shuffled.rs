//! The order of the examples of an epoch.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::seeds::{Stream, derived};

/// The shuffled order of the examples of a round, kept until the next round.
///
/// The order follows from the seed and the number of the round alone.
#[derive(Clone, Debug, Default)]
pub struct Shuffled {
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

    /// The examples of a step where all are shuffled before every epoch, and the last batch of an epoch is what is
    /// left.
    pub(crate) fn batch_of_epoch(
        &mut self,
        examples: impl Iterator<Item = usize>,
        seed: u64,
        position: [u64; 2],
        batch_size: usize,
    ) -> Vec<usize> {
        let [step, steps_per_epoch] = position;
        let order = self.of(examples, seed, step / steps_per_epoch);
        let first = (step % steps_per_epoch) as usize * batch_size;
        order[first..(first + batch_size).min(order.len())].to_vec()
    }

    /// The places of a step's examples among `count` where batches go on from one round into the next.
    pub(crate) fn batch_of_rounds(&mut self, count: usize, seed: u64, step: u64, batch_size: usize) -> Vec<usize> {
        let (first, count) = (step * batch_size as u64, count as u64);
        let place = |at: u64| self.of(0..count as usize, seed, at / count)[(at % count) as usize];
        (first..first + batch_size as u64).map(place).collect()
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
