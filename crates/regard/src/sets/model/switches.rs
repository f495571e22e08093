//! Choices of a network on sets, under the names they have in `config.json` and in experiments.

use regard_nn::ops::Residual;
use regard_nn::set::{BlockNorm, ScoreScale};
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $variant),+
        }
    };
}

words! {
    /// What the items pass first.
    EncoderKind {
        /// A network for every item by itself (rFF).
        Rows,
        /// Set attention blocks.
        Sab,
        /// Induced set attention blocks.
        Isab,
    }
}

words! {
    /// How a set becomes a few rows.
    PoolingKind {
        /// Multihead attention of seeds (PMA).
        Attention,
        /// The mean of the items.
        Mean,
        /// Their sum.
        Sum,
        /// The largest of every channel.
        Max,
        /// A mean weighted by dot products with one learnt row.
        Dot,
        /// Not at all: every item gets an answer.
        None,
    }
}

words! {
    /// What dot products are divided by.
    ScaleName {
        /// √width.
        FullWidth,
        /// √(width of a head).
        HeadWidth,
    }
}

words! {
    /// What the attended values are added to.
    ResidualName {
        /// The projected queries.
        Projected,
        /// The queries.
        Raw,
    }
}

words! {
    /// Normalisation of a block.
    NormName {
        /// None.
        None,
        /// Layer norm after each sum.
        Post,
        /// Layer norm before each half.
        Pre,
        /// SetNorm before each half.
        SetNorm,
    }
}

words! {
    /// How an answer is to be read.
    Decoding {
        /// As it is, scaled back.
        Number,
        /// A score for every class.
        Classes,
        /// The rate of a Poisson distribution, before softplus.
        Rate,
        /// Components of a mixture: logit, mean, deviation for all axes before softplus.
        IsotropicMixture,
        /// Components of a mixture: logit, mean, deviation of every axis before softplus.
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
