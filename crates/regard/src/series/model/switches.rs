//! Where the published forms of the network differ.

use serde::{Deserialize, Serialize};

/// What the norms of a layer run over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerNorm {
    /// Every channel over all patches of the batch.
    Batch,
    /// Every patch over its channels.
    Layer,
}

/// Where the norms of a layer stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// After each sum (`post_norm`).
    Post,
    /// Before each half, which adds to what is normed: `pre_norm` of the authors' code.
    PreSummed,
    /// In the branch that is added alone (Xiong et al. 2020).
    Pre,
}

/// The norm after the last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinalNorm {
    /// There is none.
    None,
    /// Every channel over all patches of the batch.
    Batch,
    /// Every patch over its channels.
    Layer,
}

/// How a patch knows where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// A learnt row for each place.
    Learned,
    /// Sines and cosines.
    Sine,
    /// Sines and cosines without their mean, divided by ten times their deviation, as the `sincos` of the
    /// authors is.
    StandardisedSine,
    /// Not at all.
    None,
}

/// A linear map of the whole normalised window, to which the network adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shortcut {
    /// There is none.
    None,
    /// It is learnt with the rest.
    Learned,
    /// It is fitted by least squares before the training, and does not move; the network learns what it
    /// leaves.
    Fitted,
}

impl std::fmt::Display for Shortcut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Learned => "learned",
            Self::Fitted => "fitted",
        })
    }
}

/// What a window is moved and scaled by before it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowNorm {
    /// By nothing.
    None,
    /// By its mean and deviation.
    Mean,
    /// By its last value and deviation.
    Last,
}
