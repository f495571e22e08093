//! Picking the next node.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::vector::BARRED;

/// How the next node is picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The most probable node; the first of equals.
    Greedy,
    /// A node drawn with its probability, logits divided by `temperature`.
    Sample {
        /// Above 1 flattens the distribution, below 1 sharpens it.
        temperature: f32,
        /// Each trajectory draws from a generator of its own, made from this and its number.
        seed: u64,
    },
}

impl Pick {
    /// Number of the generator of trajectory `trajectory` of instance `instance`.
    pub fn stream(instance: usize, trajectory: usize) -> u64 {
        ((instance as u64) << 32) | trajectory as u64
    }
}

/// Picks the nodes of one trajectory.
#[derive(Debug)]
pub struct Picker {
    /// Temperature and generator of sampling.
    sampling: Option<(f32, Pcg64Mcg)>,
}

impl Picker {
    /// A picker with the generator that `stream` names ([`Pick::stream`]).
    pub fn new(pick: Pick, stream: u64) -> Self {
        let sampling = match pick {
            Pick::Greedy => None,
            Pick::Sample { temperature, seed } => {
                let seed = seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                Some((temperature, Pcg64Mcg::seed_from_u64(seed)))
            }
        };
        Self { sampling }
    }

    /// A node, given logits or log-probabilities; −1e30 and below is barred.
    pub fn pick(&mut self, logits: &[f32]) -> usize {
        let best = logits
            .iter()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (node, &logit)| if logit > best.1 { (node, logit) } else { best });
        match &mut self.sampling {
            None => best.0,
            Some((temperature, generator)) => draw(logits, best.1, *temperature, generator.random::<f32>()),
        }
    }
}

/// The node at which the cumulated probability passes `uniform`.
fn draw(logits: &[f32], max: f32, temperature: f32, uniform: f32) -> usize {
    let weight = |logit: f32| if logit > BARRED { ((logit - max) / temperature).exp() } else { 0.0 };
    let mut left = uniform * logits.iter().map(|logit| weight(*logit)).sum::<f32>();
    let mut last = 0;
    for (node, logit) in logits.iter().enumerate() {
        let weight = weight(*logit);
        if weight > 0.0 {
            last = node;
            if left < weight {
                return node;
            }
            left -= weight;
        }
    }
    // Rounding may leave a crumb: the last node that could be drawn takes it.
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_first_of_the_best() {
        let mut picker = Picker::new(Pick::Greedy, 0);
        assert_eq!(picker.pick(&[f32::NEG_INFINITY, -1.0, 2.0, 2.0]), 2);
    }

    #[test]
    fn samples_follow_the_distribution_and_never_a_barred_node() {
        let logits = [0.0f32.ln(), 0.5f32.ln(), 0.25f32.ln(), -1e30, 0.25f32.ln()];
        let mut picker = Picker::new(Pick::Sample { temperature: 1.0, seed: 7 }, 3);
        let mut counts = [0; 5];
        for _ in 0..20_000 {
            counts[picker.pick(&logits)] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!((9_600..10_400).contains(&counts[1]), "{counts:?}");
        assert!((4_700..5_300).contains(&counts[2]), "{counts:?}");
    }
}
