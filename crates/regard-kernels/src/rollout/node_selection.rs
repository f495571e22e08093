//! Selection of the next node.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::vector::MASKED;

/// Decoding strategy: the rule that selects the next node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeSelection {
    /// Selects the most probable node; the first of equals.
    Greedy,
    /// Samples a node from the distribution, with logits divided by `temperature`.
    Sample {
        /// Values above 1 flatten the distribution, values below 1 sharpen it.
        temperature: f32,
        /// Samples only among the most probable nodes that together have this probability; 1 for all
        /// (nucleus sampling, Holtzman et al. 2020).
        top_p: f32,
        /// Seed; each trajectory has a generator of its own, derived from the seed and its index.
        seed: u64,
    },
}

impl NodeSelection {
    /// Stream of the generator of trajectory `trajectory` of instance `instance`.
    pub fn stream(instance: usize, trajectory: usize) -> u64 {
        ((instance as u64) << 32) | trajectory as u64
    }
}

/// Selects the nodes of one trajectory.
#[derive(Debug)]
pub struct NodeSelector {
    sampling: Option<Sampling>,
}

#[derive(Debug)]
struct Sampling {
    temperature: f32,
    top_p: f32,
    generator: Pcg64Mcg,
    /// Weights of the nodes and their order; allocated once for all steps.
    weights: Vec<f32>,
    order: Vec<usize>,
}

impl NodeSelector {
    /// Creates the selector whose random generator has the given stream ([`NodeSelection::stream`]).
    pub fn new(selection: NodeSelection, stream: u64) -> Self {
        let sampling = match selection {
            NodeSelection::Greedy => None,
            NodeSelection::Sample { temperature, top_p, seed } => {
                let seed = seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let generator = Pcg64Mcg::seed_from_u64(seed);
                Some(Sampling { temperature, top_p, generator, weights: Vec::new(), order: Vec::new() })
            }
        };
        Self { sampling }
    }

    /// Selects a node, given logits or log-probabilities; values of −1e30 and below are masked.
    pub fn select(&mut self, logits: &[f32]) -> usize {
        let best = logits
            .iter()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (node, &logit)| if logit > best.1 { (node, logit) } else { best });
        match &mut self.sampling {
            None => best.0,
            Some(sampling) => sampling.sample(logits, best.1),
        }
    }
}

impl Sampling {
    /// Samples a node; `max` is the largest of the logits.
    fn sample(&mut self, logits: &[f32], max: f32) -> usize {
        let weight = |&logit: &f32| if logit > MASKED { ((logit - max) / self.temperature).exp() } else { 0.0 };
        self.weights.clear();
        self.weights.extend(logits.iter().map(weight));
        if self.top_p < 1.0 {
            self.keep_top_p();
        }
        index_at(&self.weights, self.generator.random::<f32>())
    }

    /// Sets to zero all weights except the largest that together have the share `top_p`.
    fn keep_top_p(&mut self) {
        let weights = &mut self.weights;
        self.order.clear();
        self.order.extend(0..weights.len());
        self.order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let mut left = self.top_p * weights.iter().sum::<f32>();
        for (rank, &node) in self.order.iter().enumerate() {
            // The most probable node is always kept.
            if rank > 0 && left <= 0.0 {
                weights[node] = 0.0;
            } else {
                left -= weights[node];
            }
        }
    }
}

/// The first node at which the cumulative weight exceeds the fraction `uniform` of the total.
fn index_at(weights: &[f32], uniform: f32) -> usize {
    let mut left = uniform * weights.iter().sum::<f32>();
    let mut last = 0;
    for (node, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            last = node;
            if left < weight {
                return node;
            }
            left -= weight;
        }
    }
    // Rounding may leave a small remainder: then the last node with a positive weight is returned.
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_selects_the_first_of_equal_nodes() {
        let mut selector = NodeSelector::new(NodeSelection::Greedy, 0);
        assert_eq!(selector.select(&[f32::NEG_INFINITY, -1.0, 2.0, 2.0]), 2);
    }

    #[test]
    fn samples_follow_the_distribution_and_the_mask() {
        let logits = [0.0f32.ln(), 0.5f32.ln(), 0.25f32.ln(), -1e30, 0.25f32.ln()];
        let mut selector = NodeSelector::new(NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed: 7 }, 3);
        let mut counts = [0; 5];
        for _ in 0..20_000 {
            counts[selector.select(&logits)] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!((9_600..10_400).contains(&counts[1]), "{counts:?}");
        assert!((4_700..5_300).contains(&counts[2]), "{counts:?}");
    }

    #[test]
    fn top_p_excludes_improbable_nodes() {
        let logits = [0.1f32.ln(), 0.5f32.ln(), 0.3f32.ln(), 0.1f32.ln()];
        let mut counts = [0; 4];
        let mut selector = NodeSelector::new(NodeSelection::Sample { temperature: 1.0, top_p: 0.7, seed: 7 }, 3);
        (0..16_000).for_each(|_| counts[selector.select(&logits)] += 1);
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!((9_600..10_400).contains(&counts[1]), "{counts:?}");
        let mut selector = NodeSelector::new(NodeSelection::Sample { temperature: 1.0, top_p: 1e-6, seed: 7 }, 3);
        assert!((0..100).all(|_| selector.select(&logits) == 1));
    }
}
