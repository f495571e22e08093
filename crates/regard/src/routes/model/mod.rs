//! The Attention Model for routes (Kool, van Hoof & Welling 2019, "Attention, Learn to Solve
//! Routing Problems!", §3 and appendix C).
//!
//! Nodes become embeddings, an encoder mixes them, and a decoder points at one open node after
//! another. Nothing passes between steps but the tour itself, so the log-probability of a
//! finished tour is one pass over all its steps.

mod config;
mod construct;
mod distances;
mod layout;
mod names;
mod steps;

use std::path::Path;

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Distribution, Gradients, Int, Tensor, TensorData};
use regard_nn::ops::{self, Mask, NormKind};
use regard_nn::trace::{self, Operation};
use regard_nn::{Encoder, EncoderConfig, EncoderLayerConfig, PointerDecoder, PointerDecoderConfig, drawing};

use crate::store::layout::check as check_layout;
use crate::store::{NetworkDir, Weights};
use crate::train::drawn;
use crate::{Error, Result};

pub(crate) use config::unknown_preset;
pub use config::{AttentionModelConfig, KIND, Norm, PRESETS, PROBLEMS};
pub use construct::Constructed;
pub(crate) use distances::{Distances, PAIR_FEATURES, WithDistances};
use distances::{PAIRS_AT_ONCE, pairs};

/// The folder of an Attention Model.
pub type ModelDir = NetworkDir<AttentionModelConfig>;

impl ModelDir {
    /// Checks that the model is one for `problem`.
    ///
    /// # Errors
    /// [`Error::Config`] naming both problems.
    pub fn require_problem(&self, problem: &str) -> Result<()> {
        if self.config().problem == problem {
            return Ok(());
        }
        let reason = format!("the model solves `{}`, but the problem is `{problem}`", self.config().problem);
        Err(Error::config("problem", reason).in_file(self.path()))
    }
}

/// Numbers that describe a place.
const COORDINATES: usize = 2;

/// Encoder and decoder of one problem.
///
/// On an autodiff device it trains (batch norms use the batch's statistics and move their
/// running ones); `model.valid()` is the same network for evaluation.
///
/// `clone()` shares the running statistics with the original, as Burn's own batch norm does;
/// `valid()` copies them.
#[derive(Module, Debug)]
pub struct AttentionModel {
    /// From a node's features to its first embedding, `[features, width]`.
    pub embedding: Linear,
    /// From a depot's coordinates to its first embedding, `[2, width]`.
    pub depot: Option<Linear>,
    /// First and last node of the context before any has been visited, `[2 * width]`, where the
    /// context has both.
    pub placeholder: Option<Param<Tensor<1>>>,
    /// Mixes the embeddings.
    pub encoder: Encoder,
    /// Points at the next node.
    pub decoder: PointerDecoder,
    /// Numbers of the context beside embeddings.
    pub scalars: usize,
    /// If true, the decoder sees how near each node is to the last one.
    pub distances: bool,
    /// If true, the encoder sees distances.
    pub distance_bias: bool,
}

impl AttentionModel {
    /// A network with fresh weights, drawn from the device's generator (`device.seed(…)`) as the
    /// original code draws them.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for sizes that do not fit together.
    pub fn new(config: &AttentionModelConfig, device: &Device) -> Result<Self> {
        config.validate()?;
        Ok(drawing(|| {
            let placeholder = Tensor::random([2 * config.width], Distribution::Uniform(-1.0, 1.0), device);
            drawn(Self::undrawn(config, placeholder, device))
        }))
    }

    /// The network with given weights, under the names and in the layouts of the original code.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for sizes that do not fit together, [`crate::Error::Weights`] with every tensor
    /// that is missing, not expected, or of another shape.
    pub fn from_weights(config: &AttentionModelConfig, weights: &Weights, device: &Device) -> Result<Self> {
        config.validate()?;
        check_layout(config, weights)?;
        // Nothing is drawn here: the generator belongs to the whole process, and somebody else may
        // be drawing from it.
        names::load(Self::undrawn(config, Tensor::zeros([2 * config.width], device), device), weights)
    }

    /// The weights, under the names and in the layouts of the original code; running statistics
    /// of batch norms are among them.
    pub fn to_weights(&self) -> Weights {
        names::values(self, self.decoder.heads)
    }

    /// The gradient of every parameter that has one, under the same names and in the same layouts
    /// as [`Self::to_weights`].
    pub fn gradients(&self, gradients: &Gradients) -> Weights {
        names::gradients(self, self.decoder.heads, gradients)
    }

    /// Reads the model of a folder.
    ///
    /// # Errors
    /// What [`ModelDir::open`], [`ModelDir::weights`] and [`Self::from_weights`] say.
    pub fn load(path: &Path, device: &Device) -> Result<(Self, ModelDir)> {
        let folder = ModelDir::open(path)?;
        let model = Self::from_weights(folder.config(), &folder.weights()?, device)?;
        Ok((model, folder))
    }

    /// Embeddings `[batch, nodes, width]` of nodes with `features [batch, nodes, features]`: the
    /// two coordinates in the unit square and what the problem adds to them, a depot first. Where distances are not
    /// straight, the distances from the node to all nodes follow: `[batch, nodes, features + nodes]`.
    ///
    /// # Panics
    /// If the last axis is not as long as the problem's features, or those and the nodes.
    pub fn encode(&self, features: Tensor<3>) -> Tensor<3> {
        let [batch, nodes, _] = features.dims();
        let at_once = (PAIRS_AT_ONCE / (nodes * nodes).max(1)).max(1);
        if self.distance_bias && batch > at_once && !features.device().is_autodiff() {
            let parts = features.split(at_once, 0).into_iter().map(|part| self.encode_together(part));
            return Tensor::cat(parts.collect(), 0);
        }
        self.encode_together(features)
    }

    fn encode_together(&self, features: Tensor<3>) -> Tensor<3> {
        let ([batch, nodes, _], wide) = (features.dims(), self.embedding.weight.dims()[0]);
        let (rows, features) = (features.clone(), of_nodes(features, wide));
        const ROWS: [&str; 3] = ["batch", "node", "channel"];
        const FEATURES: [&str; 3] = ["batch", "node", "feature"];
        trace::step("features", Operation::Input).values(FEATURES, &features);
        let embedded = match &self.depot {
            Some(depot) if nodes > 0 => {
                let coordinates = features.clone().slice([0..batch, 0..1, 0..COORDINATES]);
                trace::step("depot_coordinates", Operation::Input).values(["batch", "", "coordinate"], &coordinates);
                let of_depot = ops::linear(depot, coordinates.clone());
                trace::linear("depot_embedding", depot, &coordinates, ["batch", "", "channel"], &of_depot);
                match nodes {
                    1 => of_depot,
                    _ => {
                        let others = features.clone().slice([0..batch, 1..nodes, 0..wide]);
                        let rows = Operation::Rows { rows: (1..nodes).collect() };
                        trace::step("node_features", rows)
                            .from(&features)
                            .values(["batch", "customer", "feature"], &others);
                        let of_others = ops::linear(&self.embedding, others.clone());
                        trace::linear(
                            "node_embedding",
                            &self.embedding,
                            &others,
                            ["batch", "customer", "channel"],
                            &of_others,
                        );
                        let all = Tensor::cat(vec![of_depot.clone(), of_others.clone()], 1);
                        trace::step("embedding", Operation::Stack).from(&of_depot).from(&of_others).values(ROWS, &all);
                        all
                    }
                }
            }
            _ => {
                let embedded = ops::linear(&self.embedding, features.clone());
                trace::linear("embedding", &self.embedding, &features, ROWS, &embedded);
                embedded
            }
        };
        let axes = [("row", "node"), ("query", "node"), ("key", "node")];
        trace::scope_with(String::new, &axes, || {
            let pairs = self.distance_bias.then(|| pairs(rows, wide));
            self.encoder.forward_with_pairs(embedded, pairs)
        })
    }

    /// Log-probabilities `[batch, steps, nodes]` at every step of given tours over
    /// `points [batch, nodes, 2]`; visited nodes have `MASKED`. For problems that visit every node
    /// once; see [`Rollout::policy_loss`](regard_nn::Rollout::policy_loss) for all.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] unless there is one permutation of all nodes for each item of the batch,
    /// [`crate::Error::Unsupported`] for a model of another problem.
    pub fn log_probabilities_of(&self, points: Tensor<3>, tours: &[Vec<usize>]) -> Result<Tensor<3>> {
        self.log_probabilities(self.encode(points), tours)
    }

    /// [`Self::log_probabilities_of`] from embeddings `[batch, nodes, width]`.
    ///
    /// # Errors
    /// As there.
    pub fn log_probabilities(&self, embeddings: Tensor<3>, tours: &[Vec<usize>]) -> Result<Tensor<3>> {
        steps::check(tours, embeddings.dims())?;
        let nodes = embeddings.dims()[1];
        let ordered = steps::in_tour_order(embeddings.clone(), tours);
        let context = steps::contexts(ordered, self.first_context()?);
        let tables = self.decoder.precompute(embeddings);
        let mask = Mask::from(steps::unvisited(tours, nodes));
        Ok(self.decoder.log_probabilities(&tables, context, &mask))
    }

    /// Log-probability `[batch]` of whole tours over `points [batch, nodes, 2]`.
    ///
    /// # Errors
    /// As [`Self::log_probabilities_of`].
    pub fn log_likelihood_of(&self, points: Tensor<3>, tours: &[Vec<usize>]) -> Result<Tensor<1>> {
        self.log_likelihood(self.encode(points), tours)
    }

    /// [`Self::log_likelihood_of`] from embeddings `[batch, nodes, width]`.
    ///
    /// The nodes are put in the order of the tour first: then the unvisited ones are simply those
    /// not before the step, and the chosen one is the step's own.
    ///
    /// # Errors
    /// As [`Self::log_probabilities_of`].
    pub fn log_likelihood(&self, embeddings: Tensor<3>, tours: &[Vec<usize>]) -> Result<Tensor<1>> {
        let [batch, nodes, _] = embeddings.dims();
        steps::check(tours, embeddings.dims())?;
        let device = embeddings.device();
        let ordered = steps::in_tour_order(embeddings, tours);
        let context = steps::contexts(ordered.clone(), self.first_context()?);
        let tables = self.decoder.precompute(ordered);
        let own: Vec<i64> = (0..batch).flat_map(|_| 0..nodes as i64).collect();
        let own: Tensor<2, Int> = Tensor::from_data(TensorData::new(own, [batch, nodes]), &device);
        Ok(self.decoder.log_likelihood(&tables, context, &Mask::Remaining, own))
    }

    /// The context of the first step.
    fn first_context(&self) -> Result<Tensor<1>> {
        let unsupported = || Error::Unsupported {
            what: "log-probabilities of permutations".to_owned(),
            reason: "the model is for a problem that does not visit every node once, or sees distances".to_owned(),
        };
        self.placeholder.as_ref().filter(|_| !self.distances).map(Param::val).ok_or_else(unsupported)
    }

    fn undrawn(config: &AttentionModelConfig, placeholder: Tensor<1>, device: &Device) -> Self {
        let (width, problem) = (config.width, config.problem_spec());
        let layer =
            EncoderLayerConfig::new(width, config.heads, config.feedforward_width).with_norm(norm_kind(config.norm));
        let layer = layer.with_pair_features(if config.distance_bias { PAIR_FEATURES.len() } else { 0 });
        let context = problem.context_nodes() * width + problem.scalars;
        let decoder = PointerDecoderConfig::new(width, config.heads, context);
        let decoder = decoder.with_clip(config.tanh_clipping).with_dynamic(problem.dynamic || config.distances);
        let mut decoder = decoder.init(device);
        if let (true, Some(dynamic)) = (config.distances, &mut decoder.dynamic) {
            // It begins as the network without distances, so that the weights of one can be a beginning, too.
            dynamic.weight = Param::from_tensor(Tensor::zeros([1, 3 * width], device));
        }
        Self {
            embedding: LinearConfig::new(problem.features, width).init(device),
            depot: problem.depot.then(|| LinearConfig::new(COORDINATES, width).init(device)),
            placeholder: problem.every_node_once.then(|| Param::from_tensor(placeholder)),
            encoder: EncoderConfig::new(config.layers, layer).init(device),
            decoder,
            scalars: problem.scalars,
            distances: config.distances,
            distance_bias: config.distance_bias,
        }
    }
}

/// The features of nodes, `[batch, nodes, features]`, without the distances that may follow them.
pub(super) fn of_nodes(rows: Tensor<3>, features: usize) -> Tensor<3> {
    let [_, nodes, wide] = rows.dims();
    if wide == features {
        return rows;
    }
    assert_eq!(wide, features + nodes, "attention model: features of a node, or those and its distances");
    rows.narrow(2, 0, features)
}

pub(super) fn norm_kind(norm: Norm) -> NormKind {
    match norm {
        Norm::Batch => NormKind::Batch,
        Norm::Instance => NormKind::Instance,
        Norm::Layer => NormKind::Layer,
    }
}
