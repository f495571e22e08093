//! Normalisation of sets: per item (layer norm, Ba et al. 2016) or per set (SetNorm, Zhang et al. 2022,
//! "Set Norm and Equivariant Skip Connections").

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

use crate::Ragged;
use crate::trace::{self, Operation};

/// The values that mean and variance are computed over.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum RaggedNormKind {
    /// The channels of one item.
    Layer,
    /// Items and channels of one set together, without padding.
    Set,
}

/// Sizes of a [`RaggedNorm`].
#[derive(Config, Debug)]
pub struct RaggedNormConfig {
    /// The values that mean and variance are computed over.
    pub kind: RaggedNormKind,
    /// Number of channels.
    pub width: usize,
    /// Added to the variance. Default: 1e-5.
    #[config(default = 1e-5)]
    pub eps: f32,
}

/// `γ (x − mean) / √(variance + eps) + β`, one scale and one shift for each channel.
#[derive(Module, Debug)]
pub struct RaggedNorm {
    /// Scale `[width]`.
    pub gamma: Param<Tensor<1>>,
    /// Shift `[width]`.
    pub beta: Param<Tensor<1>>,
    #[module(skip)]
    kind: RaggedNormKind,
    eps: f32,
}

impl RaggedNormConfig {
    /// Initialises scale 1 and shift 0.
    pub fn init(&self, device: &Device) -> RaggedNorm {
        RaggedNorm {
            gamma: Initializer::Ones.init([self.width], device),
            beta: Initializer::Zeros.init([self.width], device),
            kind: self.kind,
            eps: self.eps,
        }
    }
}

impl RaggedNorm {
    /// The normalised items.
    pub fn forward(&self, x: Ragged) -> Ragged {
        let [rows, width] = x.rows.dims();
        if rows == 0 {
            return x;
        }
        // Two passes: the mean of squares minus the squared mean loses digits.
        let mean = |of: &Ragged| match self.kind {
            RaggedNormKind::Layer => of.rows.clone().mean_dim(1),
            RaggedNormKind::Set => of.repeat_rows(of.means().mean_dim(1)),
        };
        let centred = x.with_rows(x.rows.clone() - mean(&x));
        let variance = mean(&x.with_rows(centred.rows.clone().square()));
        let normed = centred.rows / (variance + self.eps).sqrt();
        let [gamma, beta] = [&self.gamma, &self.beta].map(|parameter| parameter.val().reshape([1, width]));
        let rows = normed * gamma + beta;
        let (kind, source) = match self.kind {
            RaggedNormKind::Layer => ("layer", "Ba et al. 2016"),
            RaggedNormKind::Set => ("set", "Zhang et al. 2022"),
        };
        trace::step("norm", Operation::Norm { kind, eps: self.eps })
            .source(source)
            .from(&x.rows)
            .parameter("weight", || self.gamma.val())
            .parameter("bias", || self.beta.val())
            .values(["row", "channel"], &rows);
        x.with_rows(rows)
    }
}
