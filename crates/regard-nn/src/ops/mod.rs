//! The operations of attention models, one in each file.
//!
//! Each public function has two implementations: a fused CPU kernel with a hand-written backward pass,
//! and `…_composed`, the same formula in ordinary tensor operations. The composed version is the
//! reference that the kernel is tested against, and the version that other devices run. The environment
//! variable `REGARD_KERNELS=off` selects the composed versions everywhere.
//!
//! Mismatched shapes panic, as in Burn's own operations: they are errors of the program, not of its
//! input files.

mod attention;
mod dropout;
mod edge_attention;
mod feed_forward;
mod fused;
mod mask;
mod parts;
mod pointer;
mod policy_loss;
mod projections;
mod residual_norm;
mod sequence_attention;
mod sequence_feed_forward;
mod sets;
mod tours;

use std::{cell::Cell, sync::OnceLock};

pub use attention::{
    AttentionOptions, AttentionWeights, MASKED, PairBias, attention, attention_composed, attention_sublayer,
    attention_sublayer_composed, attention_weights,
};
pub use dropout::{Dropout, apply_dropout};
pub use edge_attention::{
    EdgeAttentionArgs, EdgeAttentionOptions, EdgeDropout, EdgeList, EdgeSoftmax, HeadLayout, edge_attention,
    edge_attention_composed, edge_attention_weights, edge_logarithm, edge_messages, endpoint_rows,
};
pub use feed_forward::{
    Activation, feed_forward, feed_forward_composed, feed_forward_sublayer, feed_forward_sublayer_composed,
};
pub(crate) use fused::has_kernels;
pub use mask::{DenseMask, Mask};
pub use parts::linear;
pub use pointer::{pointer, pointer_chosen, pointer_chosen_composed, pointer_composed};
pub(crate) use policy_loss::with_dynamic;
pub use policy_loss::{DecoderWeights, PolicyLoss, policy_loss, policy_loss_composed};
pub(crate) use projections::in_blocks;
pub use projections::{
    Projection, output, output_sublayer, output_sublayer_composed, projections, projections_composed,
};
pub use residual_norm::{
    BatchStatistics, NormArgs, NormKind, NormOutput, norm_composed, residual_norm, residual_norm_composed,
};
pub use sequence_attention::{
    ResidualScores, SequenceAttentionOptions, SequenceProjections, sequence_attention, sequence_attention_composed,
};
pub use sequence_feed_forward::{
    FeedForwardLayers, SequenceFeedForwardOptions, sequence_feed_forward, sequence_feed_forward_composed,
};
pub use sets::{
    Affine, Residual, SetBlockArgs, SetQueries, set_block, set_block_composed, set_block_weights, set_sums,
    set_sums_composed,
};
pub use tours::{StepRecord, Tours};

thread_local! {
    static OVERRIDE: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Returns true if operations may use the fused CPU kernels.
///
/// The default is true. The environment variable `REGARD_KERNELS=off` (also `0` or `false`; read once)
/// turns kernels off, and [`with_kernels`] overrides both on the current thread. Devices without kernels
/// always run the composed operations.
pub fn kernels_enabled() -> bool {
    static ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    OVERRIDE
        .get()
        .unwrap_or_else(|| *ENVIRONMENT.get_or_init(|| !is_off(std::env::var("REGARD_KERNELS").ok().as_deref())))
}

/// Runs `body` with the kernels turned on or off on the current thread only.
///
/// The previous state is restored when `body` returns or panics, so calls can be nested, and parallel
/// tests do not affect each other.
///
/// ```
/// use regard_nn::ops::{kernels_enabled, with_kernels};
///
/// assert!(!with_kernels(false, kernels_enabled));
/// assert!(with_kernels(false, || with_kernels(true, kernels_enabled)));
/// ```
pub fn with_kernels<T>(on: bool, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OVERRIDE.set(self.0);
        }
    }
    let _restore = Restore(OVERRIDE.replace(Some(on)));
    body()
}

fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|v| ["off", "0", "false"].contains(&v.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_switch_off() {
        for word in ["off", "OFF", " 0 ", "False"] {
            assert!(is_off(Some(word)), "{word}");
        }
        for word in [None, Some("on"), Some("")] {
            assert!(!is_off(word), "{word:?}");
        }
    }

    #[test]
    fn override_ends_with_a_panic_too() {
        let before = kernels_enabled();
        let result = std::panic::catch_unwind(|| with_kernels(!before, || panic!("inside")));
        assert!(result.is_err());
        assert_eq!(kernels_enabled(), before);
    }

    #[test]
    fn override_stays_on_its_thread() {
        let before = kernels_enabled();
        with_kernels(!before, || {
            let elsewhere = std::thread::spawn(kernels_enabled).join();
            assert_eq!(elsewhere.ok(), Some(before));
        });
    }
}
