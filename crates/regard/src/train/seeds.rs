//! Seeds for the parts of a training.

/// The use of a seed. Parts with a seed of their own do not disturb each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    /// Fresh weights.
    Weights = 1,
    /// The size of a step's instances.
    Size = 2,
    /// A step's instances.
    Instances = 3,
    /// The solutions sampled in a step.
    Sampling = 4,
    /// The set on which baselines are compared.
    Baseline = 5,
    /// Fresh weights of the critic.
    Critic = 6,
    /// The solutions sampled for a shard of a step's batch.
    Shard = 7,
    /// Generated validation sets.
    Validation = 8,
}

/// Seed of part `stream` at `index` (a step, or an epoch), from the run's seed: SplitMix64 (Steele,
/// Lea & Flood 2014), so that neighbouring numbers give unrelated seeds.
pub(crate) fn derived(seed: u64, stream: Stream, index: u64) -> u64 {
    // Numbers are multiplied by an odd constant: small ones must not meet again in the sum.
    let spread = |value: u64| value.wrapping_mul(0xD134_2543_DE82_EF95);
    [stream as u64, index].into_iter().fold(mixed(seed), |state, value| mixed(state.wrapping_add(spread(value))))
}

fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seeds_differ_by_run_stream_and_index() {
        let mut seen = BTreeSet::new();
        for seed in 0..4 {
            for stream in [
                Stream::Weights,
                Stream::Size,
                Stream::Instances,
                Stream::Sampling,
                Stream::Baseline,
                Stream::Validation,
            ] {
                seen.extend((0..100).map(|index| derived(seed, stream, index)));
            }
        }
        assert_eq!(seen.len(), 4 * 6 * 100);
    }
}
