//! Choices of a network on sets, under the names they have in `config.json` and in experiments.

use regard_nn::ops::Residual;
use regard_nn::set::{BlockNorm, ScoreScale};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $variant),+
        }
    };
}

words! {
    /// Encoder of the items.
    EncoderKind {
        /// A feed-forward network applied to each item separately (rFF).
        Rows,
        /// Set attention blocks (SAB).
        Sab,
        /// Induced set attention blocks (ISAB).
        Isab,
    }
}

words! {
    /// Pooling of a set into one or a few vectors.
    PoolingKind {
        /// Pooling by multi-head attention with learned seed vectors (PMA).
        Attention,
        /// The mean of the items.
        Mean,
        /// The sum of the items.
        Sum,
        /// The maximum of every channel.
        Max,
        /// Mean weighted by dot products with one learned vector.
        Dot,
        /// Mean weighted by gated attention (Ilse et al. 2018).
        Gated,
        /// No pooling: one prediction for each item.
        None,
    }
}

words! {
    /// Divisor of the dot products of attention.
    ScaleName {
        /// √width.
        FullWidth,
        /// √(width of a head).
        HeadWidth,
    }
}

words! {
    /// Input of the residual connection of attention.
    ResidualName {
        /// The projected queries.
        Projected,
        /// The queries before projection.
        Raw,
    }
}

words! {
    /// Normalisation of a block.
    NormName {
        /// No normalisation.
        None,
        /// Layer norm after each residual sum.
        Post,
        /// Layer norm before each sub-layer of a block.
        Pre,
        /// Set norm before each sub-layer of a block (Zhang et al. 2022).
        SetNorm,
    }
}

words! {
    /// Interpretation of the network's output.
    Decoding {
        /// A number, in the unit of the target.
        Number,
        /// A logit for each class.
        Classes,
        /// The rate of a Poisson distribution, before softplus.
        Rate,
        /// Components of a mixture: logit, mean, and one standard deviation before softplus.
        IsotropicMixture,
        /// Components of a mixture: logit, mean, and one standard deviation per axis before softplus.
        DiagonalMixture,
    }
}

impl From<ResidualName> for Residual {
    fn from(name: ResidualName) -> Self {
        match name {
            ResidualName::Projected => Self::Projected,
            ResidualName::Raw => Self::Raw,
        }
    }
}

impl From<ScaleName> for ScoreScale {
    fn from(name: ScaleName) -> Self {
        match name {
            ScaleName::FullWidth => Self::FullWidth,
            ScaleName::HeadWidth => Self::HeadWidth,
        }
    }
}

impl From<NormName> for BlockNorm {
    fn from(name: NormName) -> Self {
        match name {
            NormName::None => Self::None,
            NormName::Post => Self::Post,
            NormName::Pre => Self::Pre,
            NormName::SetNorm => Self::SetNorm,
        }
    }
}
