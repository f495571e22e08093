//! Settings of a network on sets, as they stand in `config.json`.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::switches::{Decoding, EncoderKind, NormName, PoolingKind, ResidualName, ScaleName};
use super::{SetTransformer, names};
use crate::sets::task::TaskKind;
use crate::store::layout::Slot;
use crate::store::network::{CardText, NetworkConfig, from_object};
use crate::store::ranges::{not_negative, shares, whole};
use crate::store::renamed;
use crate::train::shapes;
use crate::{Error, Result};

/// The kind of these networks.
pub const KIND: &str = "set-transformer";

/// What was learnt of the training data beside weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPreparation {
    /// Names of the features in their order; empty where a file has none.
    pub features: Vec<String>,
    /// Mean of every feature; empty for features that are taken as they are.
    pub mean: Vec<f64>,
    /// Standard deviation of every feature.
    pub std: Vec<f64>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Mean of the target.
    pub target_mean: f64,
    /// Standard deviation of the target; 0 for one that is taken as it is.
    pub target_std: f64,
}

/// Everything needed to rebuild a network on sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetTransformerConfig {
    /// [`KIND`].
    pub kind: String,
    /// Version of these settings.
    pub format: u32,
    /// The preset the settings started from; settings written out overrule it.
    #[serde(default)]
    pub preset: Option<String>,
    /// What is asked of a set.
    pub task: TaskKind,
    /// Numbers of an item.
    pub inputs: usize,
    /// Numbers of a row of the answer.
    pub outputs: usize,
    /// How an answer is to be read.
    pub decoding: Decoding,
    /// What the items pass first.
    pub encoder: EncoderKind,
    /// Layers of the encoder.
    pub layers: usize,
    /// Whether items pass one linear map to the width before the first block.
    pub input_projection: bool,
    /// Width of all blocks; a multiple of `heads`.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Inducing points of an `isab` encoder.
    pub inducing_points: usize,
    /// How a set becomes a few rows.
    pub pooling: PoolingKind,
    /// Whether items pass `ReLU(Linear)` before attention pools them (the paper's equation 11).
    pub pooling_feedforward: bool,
    /// Rows of the answer of a set: seeds of the pooling.
    pub num_seeds: usize,
    /// Blocks among the seeds after attention pooling, else layers `ReLU(Linear)` on the one row.
    pub decoder_layers: usize,
    /// How often, after attention pooling, the seeds look at the items once more and then at each
    /// other, as EM does, before the decoder.
    #[serde(default)]
    pub seed_refinements: usize,
    /// What dot products are divided by.
    pub scale: ScaleName,
    /// What the attended values are added to.
    pub residual: ResidualName,
    /// Whether heads are mixed before the residual.
    pub output_projection: bool,
    /// Layers `ReLU(Linear)` of a block's feed-forward part.
    pub feedforward_layers: usize,
    /// Normalisation of the blocks.
    pub norm: NormName,
    /// Added to the deviations of mixtures, so that no component shrinks to a point.
    #[serde(default)]
    pub min_std: f64,
    /// Share of numbers dropped in training, before the pooling and before the last layer.
    pub dropout: f64,
    /// What was learnt of the training data.
    #[serde(default, skip_serializing_if = "DataPreparation::is_empty")]
    pub data: DataPreparation,
}

impl DataPreparation {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a target's distance from the mean is divided by.
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
        if self.layers == 0 && !self.input_projection && self.inputs != self.width {
            let reason = "is 0 without `embed`; expected a layer that brings items to the width";
            return Err(Error::config("layers", reason));
        }
        shares(&[("dropout", self.dropout)])
    }

    fn slots(&self) -> Vec<Slot> {
        // The network itself knows best, and has no numbers yet. Settings that make none are refused
        // where they are validated.
        SetTransformer::new(self, &Device::flex())
            .map(|network| renamed::slots(names::table(self), shapes(&network)))
            .unwrap_or_default()
    }

    fn card(&self) -> CardText {
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let word = |value: &dyn Fn() -> Result<Value, serde_json::Error>| value().map(word).unwrap_or_default();
        let rows = vec![
            ("task", word(&|| serde_json::to_value(self.task))),
            ("numbers of an item", self.inputs.to_string()),
            ("encoder", format!("{} x {}", self.layers, word(&|| serde_json::to_value(self.encoder)))),
            ("width", self.width.to_string()),
            ("heads", self.heads.to_string()),
            ("pooling", word(&|| serde_json::to_value(self.pooling))),
            ("normalisation", word(&|| serde_json::to_value(self.norm))),
        ];
        CardText {
            what: "A network on sets (Set Transformer, Lee et al. 2019): items in any order and number, one answer."
                .into(),
            preset: self.preset.clone(),
            rows,
            usage: vec!["regard predict --model {name} FILE.csv", "regard eval --model {name}"],
        }
    }
}
