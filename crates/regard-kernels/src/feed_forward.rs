//! The position-wise feed-forward network without residual and norm (Vaswani et al. 2017,
//! section 3.3). It uses the kernel of the feed-forward sub-layer.

pub use crate::sublayer::{
    Activation, Dropouts, FeedForwardGradients, FeedForwardSaved, FeedForwardWeights, Tail, feed_forward,
    feed_forward_backward,
};
