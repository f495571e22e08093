//! The multihead attention block, MAB (Lee et al. 2019, §3.1, eq. 6 and 7), with the variants that are
//! in use, and the blocks built from it: SAB (eq. 8) and ISAB (eq. 9 and 10).
//!
//! | option | the paper | the authors' code |
//! |---|---|---|
//! | `scale` | 1/√width | 1/√width |
//! | `residual` | the queries | the projected queries |
//! | `output_projection` | yes | no |
//! | `feed_forward` | any network | one layer |
//! | `norm` | after each half | off |

use burn::{
    config::Config,
    module::{Initializer, Module, Param},
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, activation},
};

use crate::trace::{self, Operation};

use super::{RaggedNorm, RaggedNormConfig, RaggedNormKind};
use crate::{
    Ragged,
    ops::{self, Affine, Residual, SetBlockArgs, SetQueries, set_block, set_block_weights},
};

/// Divisor of the dot products.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum ScoreScale {
    /// √width: the paper and the authors' code.
    FullWidth,
    /// √(width / heads): most other code.
    HeadWidth,
}

/// Normalisation of a block.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum BlockNorm {
    /// None.
    None,
    /// Layer norm after each of the two sums.
    Post,
    /// Layer norm before the attention and before the feed-forward part; residuals bypass both.
    Pre,
    /// As `Pre`, with SetNorm (Zhang et al. 2022).
    SetNorm,
}

/// Source of a block's queries, which decides about the norm before the attention.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum QuerySource {
    /// A set other than the keys.
    Other,
    /// The keys themselves.
    Keys,
    /// Learnt rows, which are not normalised.
    Learnt,
}

/// Sizes and options of a [`SetAttentionBlock`].
#[derive(Config, Debug)]
pub struct SetAttentionBlockConfig {
    /// Width of the queries.
    pub query_width: usize,
    /// Width of the keys.
    pub key_width: usize,
    /// Width of the block and of its result.
    pub width: usize,
    /// Number of heads; must divide the width.
    pub heads: usize,
    /// Divisor of the dot products. Default: full width.
    #[config(default = "ScoreScale::FullWidth")]
    pub scale: ScoreScale,
    /// The residual that the attended values are added to. Default: the projected queries. If raw queries
    /// are selected and their width differs from the width of the block, the projected queries are used.
    #[config(default = "Residual::Projected")]
    pub residual: Residual,
    /// If true, the heads are combined by an output projection before the residual. Default: false.
    #[config(default = false)]
    pub output_projection: bool,
    /// Number of layers `ReLU(Linear)` of the feed-forward part. Default: 1.
    #[config(default = 1)]
    pub feed_forward: usize,
    /// Normalisation. Default: none.
    #[config(default = "BlockNorm::None")]
    pub norm: BlockNorm,
    /// Source of the queries. Default: another set.
    #[config(default = "QuerySource::Other")]
    pub queries: QuerySource,
}

/// Attention of queries over the items of a set, followed by a feed-forward part.
#[derive(Module, Debug)]
pub struct SetAttentionBlock {
    /// `[query_width, width]`
    pub query: Linear,
    /// `[key_width, width]`
    pub key: Linear,
    /// `[key_width, width]`
    pub value: Linear,
    /// Output projection `[width, width]`, if there is one.
    pub out: Option<Linear>,
    /// Layers of the feed-forward part, `[width, width]` each.
    pub feed: Vec<Linear>,
    /// Norm of the queries before the attention, or of the first residual sum.
    pub first_norm: Option<RaggedNorm>,
    /// Norm of the keys before the attention, if they are not the queries.
    pub key_norm: Option<RaggedNorm>,
    /// Norm before the feed-forward part, or of the second residual sum.
    pub second_norm: Option<RaggedNorm>,
    /// Number of heads.
    pub heads: usize,
    /// Factor of the scores.
    pub scale: f32,
    #[module(skip)]
    residual: Residual,
    #[module(skip)]
    norm: BlockNorm,
}

impl SetAttentionBlockConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> SetAttentionBlock {
        let (width, heads) = (self.width, self.heads);
        assert!(heads > 0 && width.is_multiple_of(heads), "set attention block: {heads} heads in {width}");
        let linear = |inputs: usize| LinearConfig::new(inputs, width).init(device);
        let kind = if self.norm == BlockNorm::SetNorm { RaggedNormKind::Set } else { RaggedNormKind::Layer };
        let norm = |width: usize| Some(RaggedNormConfig::new(kind, width).init(device));
        let before = matches!(self.norm, BlockNorm::Pre | BlockNorm::SetNorm);
        let raw = self.residual == Residual::Raw && self.query_width == width;
        SetAttentionBlock {
            query: linear(self.query_width),
            key: linear(self.key_width),
            value: linear(self.key_width),
            out: self.output_projection.then(|| linear(width)),
            feed: (0..self.feed_forward).map(|_| linear(width)).collect(),
            first_norm: match self.norm {
                BlockNorm::None => None,
                BlockNorm::Post => norm(width),
                _ if self.queries == QuerySource::Learnt => None,
                _ => norm(self.query_width),
            },
            key_norm: if before && self.queries != QuerySource::Keys { norm(self.key_width) } else { None },
            second_norm: if self.norm == BlockNorm::None { None } else { norm(width) },
            heads,
            scale: match self.scale {
                ScoreScale::FullWidth => 1.0 / (width as f32).sqrt(),
                ScoreScale::HeadWidth => 1.0 / ((width / heads) as f32).sqrt(),
            },
            residual: if raw { Residual::Raw } else { Residual::Projected },
            norm: self.norm,
        }
    }
}

impl SetAttentionBlock {
    /// One row for every query, grouped by set.
    pub fn forward(&self, queries: SetQueries, keys: Ragged) -> Ragged {
        if self.norm == BlockNorm::None && self.feed.len() == 1 {
            return set_block(queries, keys, self.args(self.residual, true));
        }
        let (sum, _) = self.attend(queries, keys, false);
        self.feed_forward(sum)
    }

    /// Self-attention of each set.
    pub fn forward_self(&self, x: Ragged) -> Ragged {
        self.forward(SetQueries::Own(x.clone()), x)
    }

    /// The result and the attention weights `[sets, heads, longest queries, longest keys]`.
    pub fn forward_with_weights(&self, queries: SetQueries, keys: Ragged) -> (Ragged, Tensor<4>) {
        let (sum, weights) = self.attend(queries, keys, true);
        let weights = weights.unwrap_or_else(|| unreachable!("weights were requested"));
        (self.feed_forward(sum), weights)
    }

    /// The first residual sum, after its norm if the norm follows the sum.
    fn attend(&self, queries: SetQueries, keys: Ragged, weights: bool) -> (Ragged, Option<Tensor<4>>) {
        let before = matches!(self.norm, BlockNorm::Pre | BlockNorm::SetNorm);
        let bypass = before && self.residual == Residual::Raw;
        let args = self.args(if bypass { Residual::None } else { self.residual }, false);
        let (normed_queries, normed_keys) =
            if before { self.normed(queries.clone(), keys) } else { (queries.clone(), keys) };
        let (mut sum, weights) = match weights {
            true => {
                let (sum, weights) = set_block_weights(normed_queries, normed_keys, args);
                (sum, Some(weights))
            }
            false => (set_block(normed_queries, normed_keys, args), None),
        };
        if bypass {
            let queries = rows_of(queries, sum.count());
            let rows = sum.rows.clone() + queries.clone();
            trace::step("sum", Operation::Sum).from(&queries).from(&sum.rows).values(ROWS, &rows);
            sum = sum.with_rows(rows);
        }
        match &self.first_norm {
            Some(norm) if !before => (trace::scope(|| "first".into(), || norm.forward(sum)), weights),
            _ => (sum, weights),
        }
    }

    fn normed(&self, queries: SetQueries, keys: Ragged) -> (SetQueries, Ragged) {
        let own = match (queries, &self.first_norm) {
            (SetQueries::Own(rows), Some(norm)) => {
                SetQueries::Own(trace::scope(|| "first".into(), || norm.forward(rows)))
            }
            (queries, _) => queries,
        };
        let keys = match (&self.key_norm, &own) {
            (Some(norm), _) => trace::scope_with(|| "keys".into(), &[("row", "key")], || norm.forward(keys)),
            // Queries and keys are the same rows.
            (None, SetQueries::Own(rows)) => rows.clone(),
            (None, SetQueries::Shared(_)) => keys,
        };
        (own, keys)
    }

    fn feed_forward(&self, sum: Ragged) -> Ragged {
        if self.feed.is_empty() || sum.rows.dims()[0] == 0 {
            return sum;
        }
        let post = self.norm == BlockNorm::Post;
        let norm = |x: Ragged, when: bool| match &self.second_norm {
            Some(norm) if when => trace::scope(|| "feed_forward".into(), || norm.forward(x)),
            _ => x,
        };
        let begin = norm(sum.clone(), !post).rows;
        let fed = self.feed.iter().enumerate().fold(begin, |x, (at, linear)| {
            let inner = ops::linear(linear, x.clone());
            trace::linear(&format!("feed_forward.{at}.inner"), linear, &x, ROWS, &inner);
            let hidden = activation::relu(inner.clone());
            trace::step(&format!("feed_forward.{at}.hidden"), Operation::Relu).from(&inner).values(ROWS, &hidden);
            hidden
        });
        let rows = sum.rows.clone() + fed.clone();
        trace::step("feed_forward.sum", Operation::Sum).from(&sum.rows).from(&fed).values(ROWS, &rows);
        norm(sum.with_rows(rows), post)
    }

    fn args(&self, residual: Residual, feed: bool) -> SetBlockArgs {
        SetBlockArgs {
            query: affine(&self.query),
            key: affine(&self.key),
            value: affine(&self.value),
            out: self.out.as_ref().map(affine),
            feed: self.feed.first().filter(|_| feed).map(affine),
            heads: self.heads,
            scale: self.scale,
            residual,
        }
    }
}

/// Axes of the rows of the result in a trace.
const ROWS: [&str; 2] = ["query", "channel"];

/// The queries of `sets` sets, one set after another.
fn rows_of(queries: SetQueries, sets: usize) -> Tensor<2> {
    match queries {
        SetQueries::Own(own) => own.rows,
        SetQueries::Shared(rows) => rows.repeat_dim(0, sets),
    }
}

fn affine(linear: &Linear) -> Affine {
    let weight = linear.weight.val();
    let zeros = || Tensor::zeros([weight.dims()[1]], &weight.device());
    let bias = linear.bias.as_ref().map_or_else(zeros, Param::val);
    Affine { weight, bias }
}

/// Configuration of a [`SelfSetBlock`]: that of its one block.
#[derive(Clone, Debug)]
pub struct SelfSetBlockConfig(pub SetAttentionBlockConfig);

/// The set attention block, `SAB(x) = MAB(x, x)`, in time `n²`.
#[derive(Module, Debug)]
pub struct SelfSetBlock {
    /// The block.
    pub mab: SetAttentionBlock,
}

impl SelfSetBlockConfig {
    /// A block of width `width` for items of width `inputs`.
    pub fn new(inputs: usize, width: usize, heads: usize) -> Self {
        Self(SetAttentionBlockConfig::new(inputs, inputs, width, heads))
    }

    /// Initialises the weights.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`].
    pub fn init(&self, device: &Device) -> SelfSetBlock {
        SelfSetBlock { mab: self.0.clone().with_queries(QuerySource::Keys).init(device) }
    }
}

impl SelfSetBlock {
    /// One row for every item, which depends on its whole set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        trace::scope_with(String::new, &[("query", "row"), ("key", "row")], || self.mab.forward_self(x))
    }
}

/// Sizes of an [`InducedSetBlock`].
#[derive(Clone, Debug)]
pub struct InducedSetBlockConfig {
    /// Sizes and options of both blocks; its query and key width are the width of the items.
    pub block: SetAttentionBlockConfig,
    /// Number of inducing points.
    pub points: usize,
}

/// The induced set attention block, `ISAB(x) = MAB(x, h)` with `h = MAB(i, x)` for inducing points `i`, in
/// time `n · points`.
#[derive(Module, Debug)]
pub struct InducedSetBlock {
    /// `[points, width]`
    pub points: Param<Tensor<2>>,
    /// From the items to the inducing points.
    pub mab0: SetAttentionBlock,
    /// From the inducing points back to the items.
    pub mab1: SetAttentionBlock,
}

impl InducedSetBlockConfig {
    /// A block for items of width `inputs`, with `points` inducing points.
    pub fn new(inputs: usize, width: usize, heads: usize, points: usize) -> Self {
        Self { block: SetAttentionBlockConfig::new(inputs, inputs, width, heads), points }
    }

    /// Initialises the weights; the inducing points as PyTorch's `xavier_uniform_` for `[1, points, width]`.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`], or if there is no inducing point.
    pub fn init(&self, device: &Device) -> InducedSetBlock {
        let (inputs, width) = (self.block.key_width, self.block.width);
        let block = |queries: usize, keys: usize, source: QuerySource| {
            let config = self.block.clone().with_queries(source);
            SetAttentionBlockConfig { query_width: queries, key_width: keys, ..config }.init(device)
        };
        InducedSetBlock {
            points: learnt_rows(self.points, width, device),
            mab0: block(width, inputs, QuerySource::Learnt),
            mab1: block(inputs, width, QuerySource::Other),
        }
    }
}

impl InducedSetBlock {
    /// One row for every item, which depends on its whole set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        let points = self.points.val();
        let to_points = [("query", "inducing point"), ("key", "row"), ("row", "inducing point")];
        let to_rows = [("query", "row"), ("key", "inducing point")];
        trace::step("inducing_points", Operation::Input)
            .source("Lee et al. 2019, §3.1, eq. 9")
            .values(["inducing point", "channel"], &points);
        let summary = trace::scope_with(
            || "to_inducing_points".into(),
            &to_points,
            || self.mab0.forward(SetQueries::Shared(points), x.clone()),
        );
        trace::scope_with(|| "to_rows".into(), &to_rows, || self.mab1.forward(SetQueries::Own(x), summary))
    }
}

/// Learnt rows `[count, width]`, uniform in ±√(6 / (width · (count + 1))).
pub(super) fn learnt_rows(count: usize, width: usize, device: &Device) -> Param<Tensor<2>> {
    assert!(count > 0, "at least one learnt row");
    let bound = (6.0 / (width as f64 * (count as f64 + 1.0))).sqrt();
    Initializer::Uniform { min: -bound, max: bound }.init([count, width], device)
}
