//! Settings of a network, as they stand in `config.json`, and the presets.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use regard_routing::registry::{self, ProblemSpec};

use super::layout;
use crate::store::file;
use crate::store::layout::ParamSpec;
use crate::store::network::{CardText, FORMAT, NetworkConfig, from_object};
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// The kind of a routing model, the key `kind` of `config.json`.
pub const KIND: &str = "attention-model";
/// Names of the presets, best first.
pub const PRESETS: [&str; 4] = ["regard-tsp", "regard-cvrp", "pomo-2020", "kool-2019"];
/// Problems a network can be built for.
pub const PROBLEMS: [&str; registry::PROBLEMS.len()] = registry::NAMES;

/// Normalisation after each residual sum of the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Batch normalisation: over batch and nodes, with running statistics (Kool et al. 2019).
    Batch,
    /// Instance normalisation: over the nodes of one instance (POMO, Kwon et al. 2020).
    Instance,
    /// Layer normalisation: over the channels of one node.
    Layer,
}

impl Norm {
    /// The word in `config.json`.
    pub fn name(self) -> &'static str {
        match self {
            Norm::Batch => "batch",
            Norm::Instance => "instance",
            Norm::Layer => "layer",
        }
    }
}

/// Everything needed to rebuild an Attention Model (Kool, van Hoof, Welling 2019, "Attention, Learn
/// to Solve Routing Problems!").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttentionModelConfig {
    /// [`KIND`].
    #[schemars(skip)]
    pub kind: String,
    /// [`FORMAT`].
    #[schemars(skip)]
    pub format: u32,
    /// Preset: a named group of model settings, used for every setting that the experiment does not give. The default
    /// is the preset of `[train]`.
    #[serde(default)]
    #[schemars(extend("x-words" = PRESETS))]
    pub preset: Option<String>,
    /// The problem it solves, one of [`PROBLEMS`].
    #[schemars(skip)]
    pub problem: String,
    /// Width of the node embeddings; a multiple of `heads`.
    #[schemars(range(min = 1, max = 8192))]
    pub width: usize,
    /// Number of attention heads in encoder and decoder.
    #[schemars(range(min = 1))]
    pub heads: usize,
    /// Number of encoder layers.
    #[schemars(range(min = 1, max = 64))]
    pub layers: usize,
    /// Width of the hidden layer of the feed-forward blocks.
    #[schemars(range(min = 1, max = 65536))]
    pub feedforward_width: usize,
    /// Normalisation of the encoder.
    pub norm: Norm,
    /// Clipping constant C of the pointer scores, `C * tanh(score)`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tanh_clipping: f32,
    /// If true, the decoder also sees how near each node is to the last one, in comparison with the nearest open node. Not
    /// for `sdvrp`.
    #[serde(default)]
    pub distances: bool,
    /// If true, the attention of the encoder also sees the distance between two nodes, in comparison with those to the
    /// nearest nodes of both.
    #[serde(default)]
    pub distance_bias: bool,
}

impl AttentionModelConfig {
    /// The network of the paper's released checkpoints.
    pub fn kool_2019() -> Self {
        Self {
            kind: KIND.into(),
            format: FORMAT,
            preset: Some("kool-2019".into()),
            problem: "tsp".into(),
            width: 128,
            heads: 8,
            layers: 3,
            feedforward_width: 512,
            norm: Norm::Batch,
            tanh_clipping: 10.0,
            distances: false,
            distance_bias: false,
        }
    }

    /// Our own network for the TSP: instance normalisation, so that an answer does not depend on
    /// the batch it was trained in; otherwise the sizes of [`Self::kool_2019`].
    pub fn regard_tsp() -> Self {
        Self { preset: Some("regard-tsp".into()), norm: Norm::Instance, ..Self::kool_2019() }
    }

    /// Our own network for the problems with a depot: as [`Self::regard_tsp`].
    pub fn regard_cvrp() -> Self {
        Self { preset: Some("regard-cvrp".into()), problem: "cvrp".into(), ..Self::regard_tsp() }
    }

    /// The network of Kwon et al. 2020 ("POMO: Policy Optimization with Multiple Optima for
    /// Reinforcement Learning"): six layers and instance normalisation, as in their released code.
    /// The decoder stays that of the Attention Model, with the graph's embedding in the query, which
    /// theirs leaves out without a difference.
    pub fn pomo_2020() -> Self {
        Self { preset: Some("pomo-2020".into()), layers: 6, norm: Norm::Instance, ..Self::kool_2019() }
    }

    /// A preset by its name.
    ///
    /// # Errors
    /// [`Error::Config`] naming the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "regard-cvrp" => Ok(Self::regard_cvrp()),
            "pomo-2020" => Ok(Self::pomo_2020()),
            "kool-2019" => Ok(Self::kool_2019()),
            "regard-tsp" => Ok(Self::regard_tsp()),
            _ => Err(unknown_preset(name)),
        }
    }

    /// Reads and validates a `config.json`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Parse`] for text that is not JSON, and what [`Self::from_json`]
    /// says.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_json(&file::read_json(path)?).map_err(|error| error.in_file(path))
    }

    /// The validated settings of a JSON object.
    ///
    /// # Errors
    /// [`Error::Config`] for another kind or format, and for a setting that is unknown (with the
    /// nearest known one), missing, of another type or out of range.
    pub fn from_json(value: &Value) -> Result<Self> {
        let config = from_object(value, &Self::kool_2019(), KIND)?;
        config.validate()?;
        Ok(config)
    }

    /// Checks every setting, and that they fit together.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and what was expected.
    pub fn validate(&self) -> Result<()> {
        let range = |key: &str, value: usize, most: usize| match value {
            0 => Err(Error::config(key, format!("is 0; expected 1 to {most}"))),
            _ if value > most => Err(Error::config(key, format!("is {value}; expected 1 to {most}"))),
            _ => Ok(()),
        };
        if let Some(preset) = &self.preset {
            Self::preset(preset)?;
        }
        if registry::spec(&self.problem).is_none() {
            let reason = format!("`{}` is not supported; problems: {}", self.problem, list(PROBLEMS));
            return Err(Error::config("problem", reason));
        }
        range("width", self.width, 8192)?;
        range("heads", self.heads, self.width)?;
        range("layers", self.layers, 64)?;
        range("feedforward_width", self.feedforward_width, 65_536)?;
        if !self.width.is_multiple_of(self.heads) {
            let reason = format!("{} heads do not divide width {}", self.heads, self.width);
            return Err(Error::config("heads", reason));
        }
        if !(self.tanh_clipping.is_finite() && self.tanh_clipping > 0.0) {
            return Err(Error::config(
                "tanh_clipping",
                format!("is {}; expected a number above 0", self.tanh_clipping),
            ));
        }
        if self.distances && self.problem_spec().dynamic {
            let reason = format!("is true, but the nodes of `{}` have another number of their own", self.problem);
            return Err(Error::config("distances", reason));
        }
        Ok(())
    }

    /// The specification of the problem; that of the first problem for one that is not known, which
    /// [`Self::validate`] refuses.
    pub fn problem_spec(&self) -> &'static ProblemSpec {
        registry::spec(&self.problem).unwrap_or(&registry::PROBLEMS[0])
    }

    /// If true, the rules of the problem are computed in single precision: the preset of the paper
    /// does exactly what its code does.
    pub fn in_single_precision(&self) -> bool {
        self.preset.as_deref() == Some("kool-2019")
    }

    /// Number of trainable parameters (running statistics are not counted).
    pub fn parameters(&self) -> usize {
        self.trainable()
    }
}

impl NetworkConfig for AttentionModelConfig {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn from_json(value: &Value) -> Result<Self> {
        Self::from_json(value)
    }

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn param_specs(&self) -> Vec<ParamSpec> {
        layout::of(self)
    }

    fn card(&self) -> CardText {
        let rows = [
            ("problem", self.problem.clone()),
            ("width", self.width.to_string()),
            ("heads", self.heads.to_string()),
            ("encoder layers", self.layers.to_string()),
            ("feed-forward width", self.feedforward_width.to_string()),
            ("normalisation", self.norm.name().into()),
            ("tanh clipping", self.tanh_clipping.to_string()),
            ("distances in the decoder", if self.distances { "yes" } else { "no" }.to_owned()),
            ("distances in the encoder", if self.distance_bias { "yes" } else { "no" }.to_owned()),
        ];
        CardText {
            what: format!(
                "An Attention Model (Kool, van Hoof, Welling 2019) for `{}`: it constructs a solution node by node.",
                self.problem
            ),
            preset: self.preset.clone(),
            rows: rows.to_vec(),
            usage: vec!["regard solve FILE --model {name}"],
        }
    }
}

/// The error for a preset that there is not, with the nearest one.
pub(crate) fn unknown_preset(name: &str) -> Error {
    let reason = format!("`{name}` is not a preset{}; presets: {}", suggestion(name, PRESETS), list(PRESETS));
    Error::config("preset", reason)
}
