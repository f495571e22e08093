//! Settings of a network on time series, as they stand in `config.json`.

use burn::tensor::Device;
use regard_nn::series::Patching;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::preparation::SeriesPreparation;
use super::switches::{FinalNorm, LayerNorm, Placement, Positions, Shortcut, WindowNorm};
use super::{PatchTst, names};
use crate::series::task::SeriesTask;
use crate::store::layout::ParamSpec;
use crate::store::network::{CardText, NetworkConfig, check_version, from_object};
use crate::store::ranges::{shares, whole};
use crate::store::renamed;
use crate::train::shapes;
use crate::{Error, Result};

/// The kind of these networks.
pub const KIND: &str = "patchtst";

/// Settings of a network on time series: all that is needed to rebuild it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchTstConfig {
    /// [`KIND`].
    #[schemars(skip)]
    pub kind: String,
    /// Version of these settings.
    #[schemars(skip)]
    pub format: u32,
    /// Preset: a named group of model settings, used for every setting that the experiment does not give. It also sets
    /// the defaults of `[train]` and `[eval]`.
    #[serde(default)]
    #[schemars(extend("x-words" = super::PRESETS))]
    pub preset: Option<String>,
    /// The task.
    #[schemars(skip)]
    pub task: SeriesTask,
    /// Number of past values in the input window.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub look_back: usize,
    /// Predicted values; the look-back itself for imputation and anomalies.
    #[schemars(skip)]
    pub horizon: usize,
    /// Number of channels if each channel has separate parameters; else 0.
    #[schemars(range(max = 1_000_000), extend("x-from-data" = true))]
    pub channels: usize,
    /// Number of classes, for classification; else 0.
    #[schemars(extend("x-from-data" = true))]
    pub classes: usize,
    /// Number of values in a patch.
    #[schemars(range(min = 1))]
    pub patch_len: usize,
    /// Number of values from the start of one patch to the start of the next.
    #[schemars(range(min = 1))]
    pub stride: usize,
    /// If true, the last value is repeated `stride` times, so that one more patch fits.
    pub end_padding: bool,
    /// Number of layers.
    #[schemars(range(min = 1, max = 64))]
    pub layers: usize,
    /// Width of the representation of a patch; a multiple of `heads`.
    #[schemars(range(min = 1, max = 8192))]
    pub width: usize,
    /// Number of attention heads.
    #[schemars(range(min = 1))]
    pub heads: usize,
    /// Width of the hidden layer of the feed-forward blocks.
    #[schemars(range(min = 1, max = 65536))]
    pub feedforward_width: usize,
    /// Normalisation inside a layer.
    pub norm: LayerNorm,
    /// Placement of the norms in a layer.
    pub norm_placement: Placement,
    /// Normalisation after the last layer.
    pub final_norm: FinalNorm,
    /// If true, attention scores of earlier layers are added to those of later layers.
    pub residual_attention: bool,
    /// Positional encoding of the patches.
    pub positions: Positions,
    /// If true, the linear embedding of the patches has a bias.
    pub embedding_bias: bool,
    /// Normalisation of each input window, before it is divided into patches.
    pub window_norm: WindowNorm,
    /// If true, each channel has a learned scale and shift after `window_norm`.
    pub affine: bool,
    /// If true, each channel has a separate head.
    pub individual: bool,
    /// Length of the moving average that separates the trend from the remainder; each part has a separate network. Odd;
    /// 0 for no decomposition.
    pub decomposition_kernel: usize,
    /// Linear map of the whole normalised window; the network adds a correction to it.
    pub linear_skip: Shortcut,
    /// Dropout rate on the embeddings of the patches and in the layers.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
    /// If true, dropout is applied twice to the output of attention, as in the authors' code.
    pub dropout_twice: bool,
    /// Dropout rate on the attention weights.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub attention_dropout: f64,
    /// Dropout rate before the head.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub head_dropout: f64,
    /// Quantile levels to predict, in increasing order and including 0.5; empty for a single value.
    pub quantiles: Vec<f64>,
    /// Number of covariates whose future values are known.
    #[schemars(range(max = 10_000), extend("x-from-data" = true))]
    pub future_covariates: usize,
    /// Number of covariates with one value for a whole series.
    #[schemars(range(max = 10_000), extend("x-from-data" = true))]
    pub static_covariates: usize,
    /// Numbers and names learnt from the training data.
    #[serde(default, skip_serializing_if = "SeriesPreparation::is_empty")]
    #[schemars(skip)]
    pub data: SeriesPreparation,
}

impl PatchTstConfig {
    /// The patches of a window.
    pub fn patching(&self) -> Patching {
        Patching { patch: self.patch_len, stride: self.stride, padded: self.end_padding }
    }

    /// Patches of a window.
    pub fn patches(&self) -> usize {
        self.patching().count(self.look_back)
    }

    /// Numbers predicted for each value.
    pub fn levels(&self) -> usize {
        self.quantiles.len().max(1)
    }

    /// Intervals between two quantiles: their coverage in percent, and the places of their ends.
    pub fn quantile_intervals(&self) -> Vec<(f64, usize, usize)> {
        let levels = &self.quantiles;
        let pair = |low: usize| {
            let high = levels.iter().position(|level| (level + levels[low] - 1.0).abs() < 1e-9)?;
            let share = (levels[high] - levels[low]) * 100.0;
            (high > low).then(|| ((share * 1e6).round() / 1e6, low, high))
        };
        let mut all: Vec<_> = (0..levels.len()).filter_map(pair).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// Values predicted for each channel.
    pub fn predicted_values(&self) -> usize {
        match self.task {
            SeriesTask::Forecast => self.horizon,
            SeriesTask::Imputation | SeriesTask::Anomaly => self.look_back,
            SeriesTask::Pretraining => self.patches() * self.patch_len,
            SeriesTask::Classification => 0,
        }
    }

    fn sizes(&self) -> Result<()> {
        whole("look_back", self.look_back, 1..=1_000_000)?;
        whole("horizon", self.horizon, 1..=1_000_000)?;
        let padding = if self.end_padding { self.stride } else { 0 };
        whole("patch_len", self.patch_len, 1..=self.look_back + padding)?;
        whole("stride", self.stride, 1..=self.look_back)?;
        whole("layers", self.layers, 1..=64)?;
        whole("width", self.width, 1..=8192)?;
        whole("heads", self.heads, 1..=self.width)?;
        whole("feedforward_width", self.feedforward_width, 1..=65_536)?;
        whole("channels", self.channels, 0..=1_000_000)?;
        whole("future_covariates", self.future_covariates, 0..=10_000)?;
        whole("static_covariates", self.static_covariates, 0..=10_000)
    }

    /// If true, a linear skip is fitted before the rest is trained.
    pub(crate) fn fits_map(&self) -> bool {
        self.linear_skip == Shortcut::Fitted && self.task == SeriesTask::Forecast
    }

    fn switches(&self) -> Result<()> {
        let Self { heads, width, .. } = self;
        if !width.is_multiple_of(*heads) {
            return Err(Error::config("heads", format!("{heads} heads do not divide width {width}")));
        }
        if self.decomposition_kernel > 0 && self.decomposition_kernel.is_multiple_of(2) {
            let reason = format!("is {}; expected an odd number of values, or 0", self.decomposition_kernel);
            return Err(Error::config("decomposition_kernel", reason));
        }
        if self.linear_skip == Shortcut::Fitted && self.decomposition_kernel > 0 {
            let reason =
                "is fitted to whole windows; with `decomposition_kernel` above 0, expected `none` or `learned`";
            return Err(Error::config("linear_skip", reason));
        }
        if self.task == SeriesTask::Classification && self.classes < 2 {
            return Err(Error::config("classes", format!("is {}; expected 2 or more", self.classes)));
        }
        if self.task == SeriesTask::Pretraining && (self.stride < self.patch_len || self.end_padding) {
            let reason = format!(
                "is {}{}; pretraining hides whole patches, which must not overlap or reach beyond the window: expected \
                 a stride of {} or more, without padding",
                self.stride,
                if self.end_padding { ", with `model.end_padding`" } else { "" },
                self.patch_len
            );
            let hint = format!(
                "`--set model.stride={} --set model.end_padding=false`, also in the training that starts from these weights",
                self.patch_len
            );
            return Err(Error::config("stride", reason).with_hint(hint));
        }
        if self.affine && self.window_norm == WindowNorm::None {
            return Err(Error::config("affine", "is true, but `window_norm` is `none`"));
        }
        let rising = self.quantiles.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = self.quantiles.iter().all(|&level| level > 0.0 && level < 1.0);
        let whole = self.quantiles.is_empty() || rising && inside && self.quantiles.contains(&0.5);
        if !whole {
            let reason = format!("are {:?}; expected increasing levels between 0 and 1, including 0.5", self.quantiles);
            return Err(Error::config("quantiles", reason));
        }
        if !self.quantiles.is_empty() && self.task != SeriesTask::Forecast {
            return Err(Error::config("quantiles", "are for forecasts only"));
        }
        Ok(())
    }
}

impl NetworkConfig for PatchTstConfig {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn from_json(value: &Value) -> Result<Self> {
        // A template with every key.
        let template = Self { data: SeriesPreparation::template(), ..Self::patchtst_official() };
        let config: Self = from_object(value, &template, KIND)?;
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<()> {
        check_version(&self.kind, self.format, KIND)?;
        self.sizes()?;
        self.switches()?;
        shares(&[
            ("dropout", self.dropout),
            ("attention_dropout", self.attention_dropout),
            ("head_dropout", self.head_dropout),
        ])?;
        self.data.validate(self)
    }

    fn param_specs(&self) -> Vec<ParamSpec> {
        // As for sets: the network itself knows best.
        let own = PatchTst::undrawn(self, &Device::flex())
            .map(|network| renamed::param_specs(names::table(self), shapes(&network)))
            .unwrap_or_default();
        let constants = names::constants(self).into_iter();
        let constants = constants.map(|(name, array)| ParamSpec { name, shape: array.shape, trainable: false });
        own.into_iter().chain(constants).collect()
    }

    fn card(&self) -> CardText {
        let rows = vec![
            ("task", self.task.to_string()),
            ("look-back", self.look_back.to_string()),
            ("horizon", self.horizon.to_string()),
            ("patches", format!("{} of {} values, stride {}", self.patches(), self.patch_len, self.stride)),
            ("layers", self.layers.to_string()),
            ("width", self.width.to_string()),
            ("heads", self.heads.to_string()),
            ("linear skip", self.linear_skip.to_string()),
        ];
        CardText {
            what: "A PatchTST network (Nie et al. 2023): the patches of each series attend to each other.".into(),
            preset: self.preset.clone(),
            rows,
            usage: vec!["regard forecast --model {name} FILE.csv", "regard eval --model {name} --training-data"],
        }
    }
}
