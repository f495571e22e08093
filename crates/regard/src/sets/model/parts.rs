//! Encoder, pooling and decoder.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, activation};
use regard_nn::Ragged;
use regard_nn::ops::{self, SetQueries};
use regard_nn::set::{
    AttentionPooling, AttentionPoolingConfig, DotPooling, DotPoolingConfig, GatedPooling, GatedPoolingConfig,
    InducedSetBlock, InducedSetBlockConfig, Reduction, SelfSetBlock, SelfSetBlockConfig, SetAttentionBlock,
    SetAttentionBlockConfig, reduce, reduction_weights,
};
use regard_nn::trace::{self, Operation};

use super::config::SetTransformerConfig;
use super::switches::{EncoderKind, PoolingKind};

/// Items in the light of their sets.
#[derive(Module, Debug)]
pub(super) struct Encoder {
    /// From the items to the width, where the blocks want it.
    pub(super) embed: Option<Linear>,
    pub(super) sab: Vec<SelfSetBlock>,
    pub(super) isab: Vec<InducedSetBlock>,
    /// Row by row, ReLU between.
    pub(super) rows: Vec<Linear>,
}

fn block(config: &SetTransformerConfig, inputs: usize) -> SetAttentionBlockConfig {
    SetAttentionBlockConfig::new(inputs, inputs, config.width, config.heads)
        .with_scale(config.scale.into())
        .with_residual(config.residual.into())
        .with_output_projection(config.output_projection)
        .with_feed_forward(config.feedforward_layers)
        .with_norm(config.norm.into())
}

impl Encoder {
    pub(super) fn new(config: &SetTransformerConfig, device: &Device) -> Self {
        let inputs = if config.input_projection { config.width } else { config.inputs };
        let width = |layer: usize| if layer == 0 { inputs } else { config.width };
        let layers = |kind: EncoderKind| 0..if config.encoder == kind { config.layers } else { 0 };
        Self {
            embed: config.input_projection.then(|| LinearConfig::new(config.inputs, config.width).init(device)),
            sab: layers(EncoderKind::Sab)
                .map(|layer| SelfSetBlockConfig(block(config, width(layer))).init(device))
                .collect(),
            isab: layers(EncoderKind::Isab)
                .map(|layer| {
                    let block = block(config, width(layer));
                    InducedSetBlockConfig { block, points: config.inducing_points }.init(device)
                })
                .collect(),
            rows: layers(EncoderKind::Rows)
                .map(|layer| LinearConfig::new(width(layer), config.width).init(device))
                .collect(),
        }
    }

    pub(super) fn forward(&self, sets: Ragged) -> Ragged {
        if sets.rows.dims()[0] == 0 {
            return self.of_nothing(sets);
        }
        trace::step("features", Operation::Input).values(["row", "feature"], &sets.rows);
        let sets = match &self.embed {
            Some(embed) => {
                let rows = ops::linear(embed, sets.rows.clone());
                trace::linear("embedding", embed, &sets.rows, ROWS, &rows);
                sets.with_rows(rows)
            }
            None => sets,
        };
        let sets = self_blocks("encoder", &self.sab, sets);
        let isab = self.isab.iter().enumerate();
        let sets = isab.fold(sets, |x, (at, block)| trace::scope(|| format!("encoder.{at}"), || block.forward(x)));
        let rows = trace::scope(|| "encoder".into(), || row_by_row(&self.rows, sets.rows.clone(), false));
        sets.with_rows(rows)
    }

    /// Sets that are all empty; not every tensor operation knows what to do with them.
    fn of_nothing(&self, sets: Ragged) -> Ragged {
        let blocks =
            self.sab.iter().map(|block| &block.mab.query).chain(self.isab.iter().map(|block| &block.mab1.query));
        let last = blocks.chain(&self.embed).chain(&self.rows).last();
        let width = last.map_or(sets.rows.dims()[1], |linear| linear.weight.dims()[1]);
        sets.with_rows(Tensor::zeros([0, width], &sets.rows.device()))
    }
}

/// Linear maps with ReLU between, and after the last one if `last` is true.
fn row_by_row(layers: &[Linear], x: Tensor<2>, last: bool) -> Tensor<2> {
    layers.iter().enumerate().fold(x, |x, (layer, linear)| {
        let y = ops::linear(linear, x.clone());
        trace::linear(&format!("{layer}.linear"), linear, &x, ROWS, &y);
        if last || layer + 1 < layers.len() { recorded_relu(&format!("{layer}.relu"), y) } else { y }
    })
}

/// Axes of rows in a trace.
const ROWS: [&str; 2] = ["row", "channel"];

fn recorded_relu(name: &str, x: Tensor<2>) -> Tensor<2> {
    let y = activation::relu(x.clone());
    trace::step(name, Operation::Relu).from(&x).values(ROWS, &y);
    y
}

/// Blocks of self-attention, one after another.
fn self_blocks(name: &str, blocks: &[SelfSetBlock], sets: Ragged) -> Ragged {
    let blocks = blocks.iter().enumerate();
    blocks.fold(sets, |x, (at, block)| trace::scope(|| format!("{name}.{at}"), || block.forward(x)))
}

/// From items to a few rows.
#[derive(Module, Debug)]
pub(super) struct Pooling {
    /// Before attention, `ReLU(Linear)`.
    pub(super) before: Option<Linear>,
    pub(super) pma: Option<AttentionPooling>,
    pub(super) dot: Option<DotPooling>,
    pub(super) gated: Option<GatedPooling>,
    #[module(skip)]
    kind: PoolingKind,
}

impl Pooling {
    pub(super) fn new(config: &SetTransformerConfig, device: &Device) -> Self {
        let (width, kind) = (config.width, config.pooling);
        let attention = kind == PoolingKind::Attention;
        let pma = || AttentionPoolingConfig { block: block(config, width), seeds: config.num_seeds }.init(device);
        Self {
            before: (attention && config.pooling_feedforward).then(|| LinearConfig::new(width, width).init(device)),
            pma: attention.then(pma),
            dot: (kind == PoolingKind::Dot).then(|| DotPoolingConfig { width }.init(device)),
            gated: (kind == PoolingKind::Gated).then(|| GatedPoolingConfig { width, hidden: width }.init(device)),
            kind,
        }
    }

    pub(super) fn forward(&self, x: Ragged) -> Ragged {
        trace::scope(
            || "pooling".into(),
            || match &self.pma {
                Some(pma) => pma.forward(self.prepared(x)),
                None => one_row(self.weighted(&x).map_or_else(|| reduce(&x, self.reduction()), |(rows, _)| rows)),
            },
        )
    }

    /// The result, and the weight of every item `[sets, longest]`.
    pub(super) fn forward_with_weights(&self, x: Ragged) -> (Ragged, Tensor<2>) {
        if let Some(pma) = &self.pma {
            let (rows, weights) = pma.forward_with_weights(self.prepared(x));
            let [sets, _, _, longest] = weights.dims();
            return (rows, weights.mean_dim(1).mean_dim(2).reshape([sets, longest]));
        }
        let by = self.reduction();
        let (rows, weights) = self.weighted(&x).unwrap_or_else(|| (reduce(&x, by), reduction_weights(&x, by)));
        (one_row(rows), weights)
    }

    /// A weighted mean of the items with the weights; `None` for other poolings.
    fn weighted(&self, x: &Ragged) -> Option<(Tensor<2>, Tensor<2>)> {
        match (&self.dot, &self.gated) {
            (Some(dot), _) => Some(dot.forward(x)),
            (None, Some(gated)) => Some(gated.forward(x)),
            (None, None) => None,
        }
    }

    fn prepared(&self, x: Ragged) -> Ragged {
        match &self.before {
            Some(linear) if x.rows.dims()[0] > 0 => {
                let y = ops::linear(linear, x.rows.clone());
                trace::linear("before", linear, &x.rows, ROWS, &y);
                x.with_rows(recorded_relu("before_relu", y))
            }
            _ => x,
        }
    }

    fn reduction(&self) -> Reduction {
        match self.kind {
            PoolingKind::Sum => Reduction::Sum,
            PoolingKind::Max => Reduction::Max,
            _ => Reduction::Mean,
        }
    }
}

fn one_row(of_sets: Tensor<2>) -> Ragged {
    Ragged::uniform(of_sets.unsqueeze_dim(1))
}

/// From the pooled rows to the last ones: blocks among the seeds, or layers on the one row.
#[derive(Module, Debug)]
pub(super) struct Decoder {
    pub(super) refine: Vec<Refinement>,
    pub(super) sab: Vec<SelfSetBlock>,
    pub(super) rows: Vec<Linear>,
}

/// The seeds look at the items once more, each for what is left to it, and then at each other.
#[derive(Module, Debug)]
pub(super) struct Refinement {
    pub(super) items: SetAttentionBlock,
    pub(super) seeds: SelfSetBlock,
}

impl Refinement {
    fn forward(&self, seeds: Ragged, items: Ragged) -> Ragged {
        let axes = [("query", "seed"), ("key", "row")];
        let seeds = trace::scope_with(|| "items".into(), &axes, || self.items.forward(SetQueries::Own(seeds), items));
        trace::scope_with(|| "seeds".into(), &[("row", "seed")], || self.seeds.forward(seeds))
    }
}

impl Decoder {
    pub(super) fn new(config: &SetTransformerConfig, device: &Device) -> Self {
        let (attention, width) = (config.pooling == PoolingKind::Attention, config.width);
        let count = |wanted: bool| 0..if wanted { config.decoder_layers } else { 0 };
        let refinement = |_| Refinement {
            items: block(config, width).init(device),
            seeds: SelfSetBlockConfig(block(config, width)).init(device),
        };
        Self {
            refine: (0..config.seed_refinements).map(refinement).collect(),
            sab: count(attention).map(|_| SelfSetBlockConfig(block(config, width)).init(device)).collect(),
            rows: count(!attention).map(|_| LinearConfig::new(width, width).init(device)).collect(),
        }
    }

    /// The last rows, from the pooled ones and the items they were pooled from.
    pub(super) fn forward(&self, x: Ragged, items: Ragged) -> Ragged {
        if x.rows.dims()[0] == 0 {
            return x;
        }
        let x = self.refine.iter().enumerate().fold(x, |x, (at, refinement)| {
            trace::scope(|| format!("refinement.{at}"), || refinement.forward(x, items.clone()))
        });
        trace::scope_with(String::new, &[("row", "seed")], || {
            let x = self_blocks("decoder", &self.sab, x);
            let rows = trace::scope(|| "decoder".into(), || row_by_row(&self.rows, x.rows.clone(), true));
            x.with_rows(rows)
        })
    }
}
