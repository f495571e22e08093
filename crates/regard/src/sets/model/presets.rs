//! The networks that have names.

use super::config::{DataPreparation, KIND, SetTransformerConfig};
use super::switches::{Decoding, EncoderKind, NormName, PoolingKind, ResidualName, ScaleName};
use crate::sets::task::TaskKind;
use crate::store::FORMAT;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Names of the presets, ours first.
pub const PRESETS: [&str; 4] = ["regard-set", "set-transformer-2019", "set-transformer-paper", "deep-sets-2017"];

impl SetTransformerConfig {
    /// The network of the authors' code for amortised clustering (`models.py`): residual on the
    /// projected queries, no output projection, no norm, one feed-forward layer.
    pub fn set_transformer_2019() -> Self {
        Self {
            kind: KIND.into(),
            format: FORMAT,
            preset: Some("set-transformer-2019".into()),
            task: TaskKind::Clustering,
            inputs: 2,
            outputs: 4,
            decoding: Decoding::IsotropicMixture,
            encoder: EncoderKind::Isab,
            layers: 2,
            input_projection: false,
            width: 128,
            heads: 4,
            inducing_points: 32,
            pooling: PoolingKind::Attention,
            pooling_feedforward: false,
            num_seeds: 4,
            decoder_layers: 2,
            seed_refinements: 0,
            max_instance: false,
            scale: ScaleName::FullWidth,
            residual: ResidualName::Projected,
            output_projection: false,
            feedforward_layers: 1,
            norm: NormName::None,
            min_std: 0.0,
            dropout: 0.0,
            data: DataPreparation::default(),
        }
    }

    /// The network of the paper's text: residual on the queries, heads mixed, layer norm after each
    /// half, a feed-forward layer before the pooling (equations 6 to 11), one block among the seeds
    /// (supplement, section 2).
    pub fn set_transformer_paper() -> Self {
        Self {
            preset: Some("set-transformer-paper".into()),
            input_projection: true,
            pooling_feedforward: true,
            decoder_layers: 1,
            residual: ResidualName::Raw,
            output_projection: true,
            norm: NormName::Post,
            ..Self::set_transformer_2019()
        }
    }

    /// Deep Sets as in the authors' comparison: four layers, the mean, three layers and the answer.
    pub fn deep_sets_2017() -> Self {
        Self {
            preset: Some("deep-sets-2017".into()),
            encoder: EncoderKind::Rows,
            layers: 4,
            pooling: PoolingKind::Mean,
            decoder_layers: 3,
            ..Self::set_transformer_2019()
        }
    }

    /// Ours: heads scaled by their own width, a clean way past normed halves.
    pub fn regard_set() -> Self {
        Self {
            preset: Some("regard-set".into()),
            input_projection: true,
            scale: ScaleName::HeadWidth,
            residual: ResidualName::Raw,
            output_projection: true,
            norm: NormName::Pre,
            ..Self::set_transformer_2019()
        }
    }

    /// A preset by its name.
    ///
    /// # Errors
    /// [`Error::Config`] naming the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "regard-set" => Ok(Self::regard_set()),
            "set-transformer-2019" => Ok(Self::set_transformer_2019()),
            "set-transformer-paper" => Ok(Self::set_transformer_paper()),
            "deep-sets-2017" => Ok(Self::deep_sets_2017()),
            _ => {
                let near = suggestion(name, PRESETS);
                Err(Error::config("preset", format!("`{name}` is not a preset{near}; presets: {}", list(PRESETS))))
            }
        }
    }
}
