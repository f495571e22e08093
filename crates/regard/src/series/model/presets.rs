//! Named settings of networks on time series.

use super::config::{KIND, PatchTstConfig};
use super::preparation::SeriesPreparation;
use super::switches::{FinalNorm, LayerNorm, Placement, Positions, Shortcut, WindowNorm};
use crate::series::task::SeriesTask;
use crate::store::config::FORMAT;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Every preset, ours first.
pub const PRESETS: [&str; 4] = ["regard-series", "patchtst-official", "patchtst-tslib", "patchtst-tfb"];

impl PatchTstConfig {
    /// The authors' code (yuqinie98/PatchTST) with the sizes of its ETTh scripts: batch norm in the layers,
    /// scores added up over the layers, learnt positions.
    pub fn patchtst_official() -> Self {
        Self {
            kind: KIND.into(),
            format: FORMAT,
            preset: Some("patchtst-official".into()),
            task: SeriesTask::Forecast,
            look_back: 336,
            horizon: 96,
            channels: 0,
            classes: 0,
            patch_len: 16,
            stride: 8,
            end_padding: true,
            layers: 3,
            width: 16,
            heads: 4,
            feedforward_width: 128,
            norm: LayerNorm::Batch,
            norm_placement: Placement::Post,
            final_norm: FinalNorm::None,
            residual_attention: true,
            positions: Positions::Learned,
            embedding_bias: true,
            window_norm: WindowNorm::Mean,
            affine: false,
            individual: false,
            decomposition_kernel: 0,
            linear_skip: Shortcut::None,
            dropout: 0.3,
            dropout_twice: true,
            attention_dropout: 0.0,
            head_dropout: 0.0,
            quantiles: vec![],
            future_covariates: 0,
            static_covariates: 0,
            data: SeriesPreparation::default(),
        }
    }

    /// TSLib (thuml/Time-Series-Library) with the sizes of its script for ETTh1 and horizon 96: layer norm in
    /// the layers, a batch norm after them, sines for positions.
    pub fn patchtst_tslib() -> Self {
        Self {
            preset: Some("patchtst-tslib".into()),
            look_back: 96,
            layers: 1,
            width: 512,
            heads: 2,
            feedforward_width: 2048,
            norm: LayerNorm::Layer,
            final_norm: FinalNorm::Batch,
            residual_attention: false,
            positions: Positions::Sine,
            embedding_bias: false,
            dropout: 0.1,
            dropout_twice: false,
            attention_dropout: 0.1,
            head_dropout: 0.1,
            ..Self::patchtst_official()
        }
    }

    /// TFB (decisionintelligence/TFB) with the sizes of its script for ETTh1 and horizon 192: as TSLib, with a
    /// layer norm after the layers.
    pub fn patchtst_tfb() -> Self {
        Self {
            preset: Some("patchtst-tfb".into()),
            look_back: 512,
            layers: 2,
            width: 128,
            heads: 8,
            feedforward_width: 512,
            final_norm: FinalNorm::Layer,
            ..Self::patchtst_tslib()
        }
    }

    /// Ours: a linear map of the window that is fitted at once, the authors' network for what it leaves, and a
    /// training of its own.
    pub fn regard_series() -> Self {
        Self { preset: Some("regard-series".into()), linear_skip: Shortcut::Fitted, ..Self::patchtst_official() }
    }

    /// A preset by its name.
    ///
    /// # Errors
    /// [`Error::Config`] naming the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "regard-series" => Ok(Self::regard_series()),
            "patchtst-official" => Ok(Self::patchtst_official()),
            "patchtst-tslib" => Ok(Self::patchtst_tslib()),
            "patchtst-tfb" => Ok(Self::patchtst_tfb()),
            _ => {
                let near = suggestion(name, PRESETS);
                Err(Error::config("preset", format!("`{name}` is not a preset{near}; presets: {}", list(PRESETS))))
            }
        }
    }
}
