//! The position-wise feed-forward network on its own; the sub-layer's kernel without its tail.

pub use crate::sublayer::{
    Activation, Dropouts, FeedForwardGradients, FeedForwardSaved, FeedForwardWeights, Tail, feed_forward,
    feed_forward_backward,
};
