//! Settings in which the published forms of the network differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Normalisation inside a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerNorm {
    /// Batch norm: each channel over all patches of the batch.
    Batch,
    /// Layer norm: each patch over its channels.
    Layer,
}

/// Position of the norms in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// After each residual sum (`post_norm`).
    Post,
    /// Before each half, and the residual starts from the normed input: `pre_norm` of the authors' code.
    PreSummed,
    /// Before each half, inside the branch only (Xiong et al. 2020).
    Pre,
}

/// Normalisation after the last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinalNorm {
    /// No normalisation.
    None,
    /// Batch norm: each channel over all patches of the batch.
    Batch,
    /// Layer norm: each patch over its channels.
    Layer,
}

/// Positional encoding of the patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// A learned row for each position.
    Learned,
    /// Sines and cosines.
    Sine,
    /// Sines and cosines minus their mean, divided by ten times their standard deviation: `sincos` of the authors'
    /// code.
    StandardisedSine,
    /// No positional encoding.
    None,
}

/// Linear map of the whole normalised window, to which the network adds its correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shortcut {
    /// No linear map.
    None,
    /// Learned with the network.
    Learned,
    /// Fitted by least squares before training and then frozen; the network learns the residual.
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

/// Normalisation of a window before it is cut into patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowNorm {
    /// No normalisation.
    None,
    /// The mean is subtracted, and the result divided by the standard deviation.
    Mean,
    /// The last value is subtracted, and the result divided by the standard deviation.
    Last,
}
