//! The pointer decoder: a glimpse of the nodes, then a distribution over the nodes (Kool et al. 2019,
//! "Attention, Learn to Solve Routing Problems!", §3.2).
//!
//! `query = W_fixed mean(h) + W_step context`, `glimpse = W_out MHA(query, K, V)`,
//! `log p = pointer(glimpse, L)`, with `(K, V, L) = W_nodes h`.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};

use crate::multi_head_attention::project;
use crate::ops::{AttentionOptions, DenseMask, Mask, attention, pointer, pointer_chosen, with_dynamic};
use crate::trace::{self, Operation};

/// Section that defines the decoder.
const SOURCE: &str = "Kool et al. 2019, §3.2, eq. 5 and 6";
/// Axes of the rows of nodes in a trace.
const ROWS: [&str; 3] = ["batch", "row", "channel"];

/// Sizes of a [`PointerDecoder`].
#[derive(Config, Debug)]
pub struct PointerDecoderConfig {
    /// Width of a node's embedding.
    pub width: usize,
    /// Number of heads of the glimpse.
    pub heads: usize,
    /// Width of the step context, for example the embeddings of the first and the last node.
    pub context: usize,
    /// Logits are clipped to `(-clip, clip)`. Default: 10.
    #[config(default = 10.0)]
    pub clip: f32,
    /// If true, nodes have a dynamic feature that changes from step to step. Default: false.
    #[config(default = false)]
    pub dynamic: bool,
}

/// Turns the context of a step into a distribution over the nodes.
///
/// The decoder is independent of the routing problem: each call receives the contexts and the masks,
/// for one step or for all steps of a known tour at once.
#[derive(Module, Debug)]
pub struct PointerDecoder {
    /// Projection of a node to glimpse key, glimpse value and logit key, `[width, 3 * width]`.
    pub nodes: Linear,
    /// Projection of the mean embedding of the graph, `[width, width]`.
    pub fixed: Linear,
    /// Projection of the step context, `[context, width]`.
    pub step: Linear,
    /// Output projection of the glimpse, `[width, width]`.
    pub out: Linear,
    /// Projection of the dynamic feature of a node, `[1, 3 * width]`, which is added to glimpse key, glimpse
    /// value and logit key (appendix C.2 of the paper, where the feature is the remaining demand).
    pub dynamic: Option<Linear>,
    /// Number of heads of the glimpse.
    pub heads: usize,
    /// Clipping bound of the logits.
    pub clip: f32,
}

/// Projections that all steps of one batch of graphs share.
#[derive(Clone, Debug)]
pub struct DecoderTables {
    /// Contribution of the graph embedding to every query, `[batch, 1, width]`.
    pub fixed: Tensor<3>,
    /// `[batch, nodes, width]`
    pub glimpse_keys: Tensor<3>,
    /// `[batch, nodes, width]`
    pub glimpse_values: Tensor<3>,
    /// `[batch, nodes, width]`
    pub logit_keys: Tensor<3>,
}

impl PointerDecoderConfig {
    /// Initialises the weights, uniform in ±1/√inputs, without biases.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> PointerDecoder {
        let width = self.width;
        let divides = self.heads > 0 && width.is_multiple_of(self.heads);
        assert!(divides, "pointer decoder: {} heads must divide the width {width}", self.heads);
        let linear = |from: usize, to: usize| LinearConfig::new(from, to).with_bias(false).init(device);
        PointerDecoder {
            nodes: linear(width, 3 * width),
            fixed: linear(width, width),
            step: linear(self.context, width),
            out: linear(width, width),
            dynamic: self.dynamic.then(|| linear(1, 3 * width)),
            heads: self.heads,
            clip: self.clip,
        }
    }
}

impl PointerDecoder {
    /// Computes the tables of graphs with embeddings `[batch, nodes, width]`.
    pub fn precompute(&self, embeddings: Tensor<3>) -> DecoderTables {
        let width = embeddings.dims()[2];
        let projected = project(&self.nodes, embeddings.clone());
        trace::linear("nodes", &self.nodes, &embeddings, ROWS, &projected);
        let part = |name: &str, index: usize| {
            let part = projected.clone().narrow(2, index * width, width);
            let columns = Operation::Columns { start: index * width, count: width };
            trace::step(name, columns).source(SOURCE).from(&projected).values(ROWS, &part);
            part
        };
        let mean = embeddings.clone().mean_dim(1);
        trace::step("graph_embedding", Operation::Mean)
            .source(SOURCE)
            .from(&embeddings)
            .values(["", "", "channel"], &mean);
        let fixed = project(&self.fixed, mean.clone());
        trace::linear("fixed", &self.fixed, &mean, ["", "", "channel"], &fixed);
        DecoderTables {
            fixed,
            glimpse_keys: part("glimpse_keys", 0),
            glimpse_values: part("glimpse_values", 1),
            logit_keys: part("logit_keys", 2),
        }
    }

    /// Log-probabilities `[batch, steps, nodes]` for `context [batch, steps, context]`.
    ///
    /// The steps may be one step of a tour under construction, or all steps of a known tour: each step
    /// depends only on its context and on its row of the mask `[batch, steps, nodes]`.
    pub fn log_probabilities(&self, tables: &DecoderTables, context: Tensor<3>, mask: &Mask) -> Tensor<3> {
        let glimpse = self.glimpse(tables, context, mask);
        pointer(glimpse, tables.logit_keys.clone(), mask, self.clip)
    }

    /// [`Self::log_probabilities`] with a dynamic feature `features [batch, steps, nodes]` of every node at
    /// every step.
    ///
    /// # Panics
    /// If the decoder has no weights for a dynamic feature.
    pub fn log_probabilities_dynamic(
        &self,
        tables: &DecoderTables,
        features: Tensor<3>,
        context: Tensor<3>,
        mask: &Mask,
    ) -> Tensor<3> {
        let Some(dynamic) = &self.dynamic else { panic!("pointer decoder: no weights for a dynamic feature") };
        let ([batch, steps, nodes], width) = (features.dims(), tables.logit_keys.dims()[2]);
        let direction = |part: usize| dynamic.weight.val().narrow(1, part * width, width);
        let table = |before: &Tensor<3>, part: usize| {
            let table = with_dynamic(before.clone(), features.clone(), direction(part));
            trace::step(["glimpse_keys", "glimpse_values", "logit_keys"][part], Operation::Outer)
                .source("Kool et al. 2019, appendix C.2")
                .from(before)
                .from(&features)
                .parameter("weight", || direction(part))
                .values(["batch", "key", "channel"], &table);
            table
        };
        let tables = DecoderTables {
            fixed: tables.fixed.clone().expand([batch, steps, width]).reshape([batch * steps, 1, width]),
            glimpse_keys: table(&tables.glimpse_keys, 0),
            glimpse_values: table(&tables.glimpse_values, 1),
            logit_keys: table(&tables.logit_keys, 2),
        };
        let allowed = |row: usize, _: usize, node: usize| mask.allows(row / steps, row % steps, node);
        let mask = Mask::from(DenseMask::from_fn([batch * steps, 1, nodes], allowed));
        let width = context.dims()[2];
        let context = context.reshape([batch * steps, 1, width]);
        self.log_probabilities(&tables, context, &mask).reshape([batch, steps, nodes])
    }

    /// Log-probability of the nodes `chosen [batch, steps]`, summed over the steps: `[batch]`.
    pub fn log_likelihood(
        &self,
        tables: &DecoderTables,
        context: Tensor<3>,
        mask: &Mask,
        chosen: Tensor<2, Int>,
    ) -> Tensor<1> {
        let glimpse = self.glimpse(tables, context, mask);
        pointer_chosen(glimpse, tables.logit_keys.clone(), mask, self.clip, chosen)
    }

    /// The glimpse of each step, `[batch, steps, width]`.
    pub fn glimpse(&self, tables: &DecoderTables, context: Tensor<3>, mask: &Mask) -> Tensor<3> {
        const STEPS: [&str; 3] = ["batch", "query", "channel"];
        let step = project(&self.step, context.clone());
        trace::linear("step_context", &self.step, &context, STEPS, &step);
        let query = step.clone() + tables.fixed.clone();
        trace::step("query", Operation::Sum).source(SOURCE).from(&step).from(&tables.fixed).values(STEPS, &query);
        let width = query.dims()[2];
        let options = AttentionOptions::new(self.heads, width / self.heads).with_mask(mask.clone());
        let (keys, values) = (tables.glimpse_keys.clone(), tables.glimpse_values.clone());
        let names = [
            ("raw_score", "glimpse_raw_score"),
            ("score", "glimpse_score"),
            ("attention", "glimpse"),
            ("heads", "glimpse_heads"),
            ("merged", "glimpse_merged"),
        ];
        let merged = trace::renamed(&names, || attention(query, keys, values, None, &options));
        let out = project(&self.out, merged.clone());
        trace::linear("glimpse_output", &self.out, &merged, STEPS, &out);
        out
    }
}
