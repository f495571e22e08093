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

/// Placement of the norms in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Post-norm: after each residual sum.
    Post,
    /// Before each sub-layer; the residual connection starts from the normed input, as `pre_norm` in the authors' code.
    PreSummed,
    /// Pre-norm: before each sub-layer, inside the residual branch (Xiong et al. 2020).
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
    /// A learned vector for each position.
    Learned,
    /// Sinusoidal encoding.
    Sine,
    /// Sinusoidal encoding minus its mean, divided by ten times its standard deviation: `sincos` of the authors' code.
    StandardisedSine,
    /// No positional encoding.
    None,
}

/// Linear map of the whole normalised window; the network adds a correction to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shortcut {
    /// No linear map.
    None,
    /// Learned together with the network.
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

/// Normalisation of each input window, before it is divided into patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowNorm {
    /// No normalisation.
    None,
    /// Subtracts the mean and divides by the standard deviation.
    Mean,
    /// Subtracts the last value and divides by the standard deviation.
    Last,
}
