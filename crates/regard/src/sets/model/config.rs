//! Settings of a network on sets, as they stand in `config.json`.

use burn::tensor::Device;
use regard_data::ranges::ColumnRanges;
use regard_data::sets::FeatureNames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::switches::{Decoding, EncoderKind, NormName, PoolingKind, ResidualName, ScaleName};
use super::{SetTransformer, names};
use crate::experiment::DecimalMark;
use crate::sets::task::TaskKind;
use crate::store::layout::ParamSpec;
use crate::store::network::{CardText, NetworkConfig, check_version, from_object};
use crate::store::ranges::{distinct, finite, length, not_negative, of_columns, shares, whole};
use crate::store::renamed;
use crate::train::shapes;
use crate::{Error, Result};

/// The kind of these networks.
pub const KIND: &str = "set-transformer";

/// Numbers and names that were learnt from the training data beside weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPreparation {
    /// Names of the features in their order; empty where a file has none.
    pub features: Vec<String>,
    /// Mean of every feature; empty for features that are taken as they are.
    pub mean: Vec<f64>,
    /// Standard deviation of every feature.
    pub std: Vec<f64>,
    /// Ranges of the features in training; empty where that is kept on disk.
    #[serde(default, skip_serializing_if = "ColumnRanges::is_empty")]
    pub ranges: ColumnRanges,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Mean of the target.
    pub target_mean: f64,
    /// Standard deviation of the target; 0 for one that is taken as it is.
    pub target_std: f64,
    /// The decimal mark of the training table: that of numbers of other files that do not tell theirs.
    #[serde(default, skip_serializing_if = "DecimalMark::is_auto")]
    pub decimal: DecimalMark,
}

/// Settings of a network on sets: all that is needed to rebuild it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTransformerConfig {
    /// [`KIND`].
    #[schemars(skip)]
    pub kind: String,
    /// Version of these settings.
    #[schemars(skip)]
    pub format: u32,
    /// Preset: a named group of model settings, used for every setting that the experiment does not give.
    #[serde(default)]
    #[schemars(extend("x-words" = super::PRESETS))]
    pub preset: Option<String>,
    /// The task.
    #[schemars(skip)]
    pub task: TaskKind,
    /// Number of features of an item.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-from-data" = true))]
    pub inputs: usize,
    /// Number of values in one output row.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-from-data" = true))]
    pub outputs: usize,
    /// Interpretation of the network's output.
    pub decoding: Decoding,
    /// Encoder of the items.
    pub encoder: EncoderKind,
    /// Number of encoder layers.
    #[schemars(range(min = 0, max = 64))]
    pub layers: usize,
    /// If true, a linear map projects items to the width before the first block.
    pub input_projection: bool,
    /// Width of all blocks; a multiple of `heads`.
    #[schemars(range(min = 1, max = 8192))]
    pub width: usize,
    /// Number of attention heads.
    #[schemars(range(min = 1))]
    pub heads: usize,
    /// Number of inducing points of the encoder `isab`.
    #[schemars(range(min = 1, max = 65536))]
    pub inducing_points: usize,
    /// Pooling of a set into one or a few vectors.
    pub pooling: PoolingKind,
    /// If true, a layer `ReLU(Linear)` precedes the attention pooling (the paper's equation 11).
    pub pooling_feedforward: bool,
    /// Number of seed vectors of the attention pooling; each gives one output row of a set.
    #[schemars(range(min = 1, max = 65536))]
    pub num_seeds: usize,
    /// Number of self-attention blocks among the seeds after attention pooling; after other poolings, number of layers
    /// `ReLU(Linear)`.
    #[schemars(range(min = 0, max = 64))]
    pub decoder_layers: usize,
    /// Number of additional rounds in which the seeds attend to the items and then to each other, similar to EM
    /// iterations; 0 for none. Needs attention pooling.
    #[serde(default)]
    #[schemars(range(min = 0, max = 64))]
    pub seed_refinements: usize,
    /// If true, items have scores of their own, and the answer for a set is the mean of that of the pooling and the largest
    /// score of an item, output by output (Li, Li & Eliceiri 2021, DSMIL). Needs a pooling into one vector.
    #[serde(default)]
    pub max_instance: bool,
    /// Divisor of the dot products of attention.
    pub scale: ScaleName,
    /// Input of the residual connection of attention.
    pub residual: ResidualName,
    /// If true, a linear map mixes the heads before the residual sum.
    pub output_projection: bool,
    /// Number of layers `ReLU(Linear)` in the feed-forward part of a block.
    #[schemars(range(min = 0, max = 16))]
    pub feedforward_layers: usize,
    /// Normalisation of the blocks.
    pub norm: NormName,
    /// Lower bound on the standard deviation of a mixture component; it is added to the predicted value.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub min_std: f64,
    /// Dropout rate before the pooling and before the last layer.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
    /// Numbers and names learnt from the training data.
    #[serde(default, skip_serializing_if = "DataPreparation::is_empty")]
    #[schemars(skip)]
    pub data: DataPreparation,
}

/// Settings in which a network may differ from the one that it begins with.
pub(crate) const NOT_INHERITED: [&str; 13] = [
    "preset",
    "task",
    "outputs",
    "decoding",
    "min_std",
    "dropout",
    "data.mean",
    "data.std",
    "data.ranges",
    "data.classes",
    "data.target_mean",
    "data.target_std",
    "data.decimal",
];

impl DataPreparation {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The unit of a scaled target.
    fn target_unit(&self) -> f64 {
        if self.target_std > 0.0 { self.target_std } else { 1.0 }
    }

    /// A target as the network learns it.
    pub(crate) fn scaled(&self, target: f64) -> f64 {
        (target - self.target_mean) / self.target_unit()
    }

    /// A network's number in the target's own measure.
    pub(crate) fn unscaled(&self, number: f64) -> f64 {
        number * self.target_unit() + self.target_mean
    }
}

impl SetTransformerConfig {
    /// The features of an item in the order of training: their names, or their number where a file has none.
    pub fn feature_names(&self) -> FeatureNames {
        match self.data.features.as_slice() {
            [] => FeatureNames::Count(self.inputs),
            names => FeatureNames::Named(names.to_vec()),
        }
    }
}

impl NetworkConfig for SetTransformerConfig {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn from_json(value: &Value) -> Result<Self> {
        // A template with every key.
        let data = DataPreparation { target_mean: 1.0, ..DataPreparation::default() };
        let config: Self = from_object(value, &Self { data, ..Self::set_transformer_2019() }, KIND)?;
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<()> {
        check_version(&self.kind, self.format, KIND)?;
        whole("inputs", self.inputs, 1..=1_000_000)?;
        whole("outputs", self.outputs, 1..=1_000_000)?;
        whole("layers", self.layers, 0..=64)?;
        whole("width", self.width, 1..=8192)?;
        whole("heads", self.heads, 1..=self.width)?;
        whole("inducing_points", self.inducing_points, 1..=65_536)?;
        whole("num_seeds", self.num_seeds, 1..=65_536)?;
        whole("decoder_layers", self.decoder_layers, 0..=64)?;
        whole("seed_refinements", self.seed_refinements, 0..=64)?;
        not_negative(&[("min_std", self.min_std)])?;
        whole("feedforward_layers", self.feedforward_layers, 0..=16)?;
        if !self.width.is_multiple_of(self.heads) {
            let reason = format!("{} heads do not divide width {}", self.heads, self.width);
            return Err(Error::config("heads", reason));
        }
        if self.seed_refinements > 0 && self.pooling != PoolingKind::Attention {
            let reason = format!("is {} without `pooling = \"attention\"`; expected 0", self.seed_refinements);
            return Err(Error::config("seed_refinements", reason));
        }
        if self.max_instance && (self.pooling == PoolingKind::None || self.num_seeds > 1) {
            let reason = "is true; expected a pooling into one vector (`num_seeds = 1`)";
            return Err(Error::config("max_instance", reason));
        }
        if self.layers == 0 && !self.input_projection && self.inputs != self.width {
            let reason = "is 0 without `input_projection`; expected a layer that projects items to the width";
            return Err(Error::config("layers", reason));
        }
        shares(&[("dropout", self.dropout)])?;
        let data = &self.data;
        distinct("data.features", &data.features)?;
        length("data.features", data.features.len(), self.inputs, true)?;
        length("data.mean", data.mean.len(), self.inputs, true)?;
        length("data.std", data.std.len(), data.mean.len(), false)?;
        finite("data.mean", &data.mean)?;
        // A feature that is the same in all training rows has deviation 0.
        data.std.iter().try_for_each(|&std| not_negative(&[("data.std", std)]))?;
        finite("data.std", &data.std)?;
        of_columns("data.ranges", &data.ranges, self.inputs)?;
        finite("data.target_mean", &[data.target_mean])?;
        not_negative(&[("data.target_std", data.target_std)])?;
        finite("data.target_std", &[data.target_std])
    }

    fn param_specs(&self) -> Vec<ParamSpec> {
        // The network itself knows best, and has no numbers yet. Settings that make none are refused
        // where they are validated.
        SetTransformer::undrawn(self, &Device::flex())
            .map(|network| renamed::param_specs(names::table(self), shapes(&network)))
            .unwrap_or_default()
    }

    fn card(&self) -> CardText {
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let word = |value: &dyn Fn() -> Result<Value, serde_json::Error>| value().map(word).unwrap_or_default();
        let rows = vec![
            ("task", word(&|| serde_json::to_value(self.task))),
            ("features of an item", self.inputs.to_string()),
            ("encoder", format!("{} x {}", self.layers, word(&|| serde_json::to_value(self.encoder)))),
            ("width", self.width.to_string()),
            ("heads", self.heads.to_string()),
            ("pooling", word(&|| serde_json::to_value(self.pooling))),
            ("normalisation", word(&|| serde_json::to_value(self.norm))),
        ];
        CardText {
            what: "A Set Transformer (Lee et al. 2019): the input is a set of items, in any number and order.".into(),
            preset: self.preset.clone(),
            rows,
            usage: vec!["regard predict --model {name} FILE.csv", "regard eval --model {name} --training-data"],
        }
    }
}
