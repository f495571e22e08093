//! The attention sub-layer of an encoder layer for many short sequences, as in PatchTST (Nie et al.
//! 2023, §3.1), optionally with residual attention scores (RealFormer, He et al. 2021, §3).
//!
//! `norm(x + drop(MHA(x)))`, or `x + drop(MHA(norm(x)))` if the norm is first, where
//! `MHA(x) = concat_h(drop(softmax(S_h)) v_h) W_out + b_out` and `S_h = scale · q_h k_hᵀ`. With residual
//! scores the `S_h` of the earlier layers are added.
//!
//! The scores of earlier layers are not stored. A sum of products is one product of concatenated rows,
//! `S = [q₁|q₂|…] · [k₁|k₂|…]ᵀ`, so [`ResidualScores`] holds queries and keys. They are smaller than scores by
//! a factor of about `patches / (2 · head width)`, and gradients flow back through them.

use burn::tensor::{Tensor, activation};
use regard_kernels::sequence as kernel;

use crate::trace::{self, Operation};

use super::{
    Dropout, NormArgs, NormOutput, Projection,
    attention::{join_heads, split_heads},
    dropout::{active, apply_dropout},
    fused::{Array, Kernel, MAX_INPUTS, Output, has_kernels, input, run},
    norm_composed, projections, residual_norm,
    residual_norm::{FusedNorm, norm_output, rows, statistics_values},
};

/// The four projections of a multi-head self-attention.
#[derive(Clone, Debug)]
pub struct SequenceProjections {
    /// `[width, heads * key_width]`
    pub query: Projection,
    /// `[width, heads * key_width]`
    pub key: Projection,
    /// `[width, heads * value_width]`
    pub value: Projection,
    /// `[heads * value_width, width]`
    pub out: Projection,
}

/// Options of [`sequence_attention`].
#[derive(Clone, Debug)]
pub struct SequenceAttentionOptions {
    /// Number of heads; must divide the widths of queries, keys and values.
    pub heads: usize,
    /// Factor of this layer's scores, `1 / √(width of a head)` in the paper.
    pub scale: f32,
    /// Dropout of the attention weights; mask rows are `(sequence · heads + head) · patches + query`, mask
    /// columns are keys.
    pub weights_dropout: Option<Dropout>,
    /// Dropout of the result before the residual; mask rows are `sequence · patches + patch`.
    pub residual_dropout: Option<Dropout>,
    /// If true, the norm is applied before the attention instead of after the residual sum.
    pub norm_first: bool,
}

impl SequenceAttentionOptions {
    /// Scale `1 / √(width / heads)`, no dropout, the norm after the residual sum.
    pub fn new(width: usize, heads: usize) -> Self {
        let scale = 1.0 / ((width / heads.max(1)) as f32).sqrt();
        Self { heads, scale, weights_dropout: None, residual_dropout: None, norm_first: false }
    }
}

/// Scaled queries and keys of earlier layers, whose scores are added to those of a layer.
///
/// The default, without earlier layers, is the input of the first layer of a stack.
#[derive(Clone, Debug, Default)]
pub struct ResidualScores(Vec<Tensor<3>>);

impl ResidualScores {
    /// Number of earlier layers.
    pub fn layers(&self) -> usize {
        self.0.len()
    }
}

/// The attention sub-layer of `x [sequences, patches, width]`: each patch attends to all patches of its
/// sequence.
///
/// With `earlier`, the scores of all earlier layers are added, and the queries and keys of this layer are
/// appended to the returned value. `norm: None` omits the norm.
///
/// # Panics
/// If the shapes do not match, or a dropout rate is not in `[0, 1)`.
pub fn sequence_attention(
    x: Tensor<3>,
    projections: SequenceProjections,
    earlier: Option<ResidualScores>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (NormOutput, Option<ResidualScores>) {
    let inputs_of_layers = earlier.as_ref().map_or(0, |earlier| earlier.layers() + 1);
    // With more layers than a kernel has inputs, the composed operations are used.
    if !has_kernels(&x.device()) || x.dims().contains(&0) || inputs_of_layers + 7 > MAX_INPUTS {
        return sequence_attention_composed(x, projections, earlier, norm, options);
    }
    if options.norm_first || norm.is_none() {
        // The residual bypasses the norm, so it is added here.
        let NormOutput { y: tokens, statistics } = norm_before(x.clone(), norm);
        let (attended, earlier) = attend(tokens, projections, earlier, None, options);
        return (NormOutput { y: x + attended.y, statistics }, earlier);
    }
    attend(x, projections, earlier, norm, options)
}

/// `norm(x)`, or `x` without a norm.
pub(super) fn norm_before(x: Tensor<3>, norm: Option<NormArgs>) -> NormOutput {
    match norm {
        Some(norm) => residual_norm(x.clone(), x.zeros_like(), norm),
        None => NormOutput { y: x, statistics: None },
    }
}

/// Runs the kernel. Residual and norm are applied if there is a norm.
fn attend(
    x: Tensor<3>,
    maps: SequenceProjections,
    earlier: Option<ResidualScores>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (NormOutput, Option<ResidualScores>) {
    let [sequences, patches, width] = x.dims();
    let SequenceProjections { query, key, value, out } = maps;
    let wide = [query.weight.dims()[1], value.weight.dims()[1]];
    let fits = options.heads > 0 && wide.iter().all(|wide| wide % options.heads == 0);
    assert!(fits, "sequence attention: {} heads must divide the widths {wide:?}", options.heads);
    let mut inputs = vec![input(x.clone())];
    let earlier = earlier.map(|ResidualScores(mut layers)| {
        let query = Projection {
            weight: query.weight.clone().mul_scalar(options.scale),
            bias: query.bias.clone().map(|bias| bias.mul_scalar(options.scale)),
        };
        let own = projections(x.reshape([sequences * patches, width]), vec![query, key.clone()], 1);
        layers.push(own.reshape([sequences, patches, 2 * wide[0]]));
        ResidualScores(layers)
    });
    let layers = earlier.as_ref().map_or(0, ResidualScores::layers);
    inputs.extend(earlier.iter().flat_map(|earlier| earlier.0.iter().cloned().map(input)));
    let maps = if layers > 0 { vec![value, out] } else { vec![query, key, value, out] };
    let biases = maps.iter().map(|map| map.bias.is_some()).collect();
    let of_map = |map: Projection| [Some(input(map.weight)), map.bias.map(input)].into_iter().flatten();
    inputs.extend(maps.into_iter().flat_map(of_map));
    let norm = norm.map(FusedNorm::new).map(|(norm, [gamma, beta])| {
        inputs.extend([gamma, beta]);
        norm
    });
    let options = SequenceAttentionOptions {
        weights_dropout: active(options.weights_dropout),
        residual_dropout: active(options.residual_dropout),
        ..options.clone()
    };
    let fused = Fused { options, wide, layers, biases, norm: norm.clone() };
    let result = run(fused, inputs);
    let result = match norm {
        Some(norm) => norm_output(&norm, sequences * patches, result),
        None => NormOutput { y: result.y, statistics: None },
    };
    (result, earlier)
}

/// The kernel. Its inputs are `x`, queries and keys of earlier layers, weight and optionally bias of every
/// projection, and gamma and beta if there is a norm.
#[derive(Debug)]
struct Fused {
    options: SequenceAttentionOptions,
    /// Widths of the queries of all heads and of the values of all heads.
    wide: [usize; 2],
    /// Number of layers whose queries and keys are inputs.
    layers: usize,
    /// For each projection, true if it has a bias.
    biases: Vec<bool>,
    norm: Option<FusedNorm>,
}

impl Fused {
    fn layer(&self, x: &Array<'_>) -> kernel::Layer {
        let SequenceAttentionOptions { heads, weights_dropout, residual_dropout, .. } = self.options;
        let [key_width, value_width] = self.wide.map(|wide| wide / heads);
        kernel::Layer { rows: rows(x), heads, key_width, value_width, weights_dropout, residual_dropout }
    }

    /// Calls `body` with the sizes, the projections and the residual and norm.
    fn with<T>(
        &self,
        inputs: &[Array<'_>],
        body: impl FnOnce(&kernel::Layer, &kernel::Projections<'_>, &kernel::Tail<'_>) -> T,
    ) -> T {
        let (layers, rest) = inputs[1..].split_at(self.layers);
        let layers: Vec<&[f32]> = layers.iter().map(|array| array.data).collect();
        let mut rest = rest.iter().map(|array| array.data);
        let mut next = || rest.next().unwrap_or_default();
        let maps = self.biases.iter().map(|&bias| kernel::Linear { weight: next(), bias: bias.then(&mut next) });
        let maps: Vec<kernel::Linear<'_>> = maps.collect();
        let (scores, value, out) = match maps[..] {
            [query, key, value, out] => {
                (kernel::Scores::Projected { query, key, scale: self.options.scale }, value, out)
            }
            [value, out] => (kernel::Scores::Precomputed(&layers), value, out),
            _ => unreachable!("two projections or four"),
        };
        let tail = match &self.norm {
            Some(norm) => kernel::Tail::ResidualNorm(norm.view(next(), next())),
            None => kernel::Tail::Plain,
        };
        body(&self.layer(&inputs[0]), &kernel::Projections { scores, value, out }, &tail)
    }
}

impl Kernel for Fused {
    type Saved = kernel::Saved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let x = &inputs[0];
        let (y, saved, statistics) =
            self.with(inputs, |layer, maps, tail| kernel::sequence_attention(layer, maps, tail, x.data, save));
        Output { y, shape: x.shape.to_vec(), extra: statistics_values(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let kernel::Gradients { x, projected, given, value, out, norm } = self.with(inputs, |layer, maps, tail| {
            kernel::sequence_attention_backward(layer, maps, tail, inputs[0].data, saved, grad)
        });
        let maps = projected.into_iter().flatten().chain([value, out]).zip(&self.biases);
        let maps = maps.flat_map(|(map, &bias)| [Some(map.weight), bias.then_some(map.bias)]).flatten();
        let norm = norm.into_iter().flat_map(|(gamma, beta)| [gamma, beta]);
        [x].into_iter().chain(given).chain(maps).chain(norm).collect()
    }
}

/// [`sequence_attention`](super::sequence_attention) in ordinary tensor operations.
///
/// # Panics
/// As [`sequence_attention`].
pub fn sequence_attention_composed(
    x: Tensor<3>,
    projections: SequenceProjections,
    earlier: Option<ResidualScores>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (NormOutput, Option<ResidualScores>) {
    if x.dims().contains(&0) {
        return (NormOutput { y: x, statistics: None }, earlier);
    }
    let SequenceProjections { query, key, value, out } = projections;
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let NormOutput { y: tokens, statistics } = norm_or_identity(x.clone(), first);
    let heads = options.heads;
    let unscaled = recorded_linear("query", tokens.clone(), query);
    let query = unscaled.clone().mul_scalar(options.scale);
    trace::step("scaled_query", Operation::Scale { factor: options.scale })
        .source(SOURCE)
        .from(&unscaled)
        .values(ROWS, &query);
    let key = recorded_linear("key", tokens.clone(), key);
    let own = scores(query.clone(), key.clone(), heads);
    let adds = earlier.as_ref().is_some_and(|earlier| earlier.layers() > 0);
    trace::step(if adds { "own_score" } else { "score" }, Operation::Dot { heads })
        .source(SOURCE)
        .from(&query)
        .from(&key)
        .values(PAIRS, &own);
    let pairs = || earlier.iter().flat_map(|earlier| earlier.0.iter().cloned());
    let sum = pairs().fold(own.clone(), |sum, pair| sum + scores_of_pair(pair, heads));
    if adds && trace::recording() {
        let draft = trace::step("score", Operation::Sum).source("He et al. 2021, RealFormer").from(&own);
        pairs().fold(draft, |draft, pair| draft.from(&scores_of_pair(pair, heads))).values(PAIRS, &sum);
    }
    let softmax = activation::softmax(sum.clone(), 3);
    trace::step("attention", Operation::Softmax).source(SOURCE).from(&sum).values(PAIRS, &softmax);
    let weights = apply_dropout(softmax, options.weights_dropout);
    let value = recorded_linear("value", tokens, value);
    let sums = weights.clone().matmul(split_heads(value.clone(), heads));
    trace::step("heads", Operation::WeightedSum { heads })
        .source(SOURCE)
        .from(&weights)
        .from(&value)
        .values(["sequence", "head", "row", "head channel"], &sums);
    let merged = join_heads(sums.clone());
    trace::step("merged", Operation::Merge).from(&sums).values(ROWS, &merged);
    let out = apply_dropout(recorded_linear("output", merged, out), options.residual_dropout);
    let y = x.clone() + out.clone();
    trace::step("sum", Operation::Sum).from(&x).from(&out).values(ROWS, &y);
    let earlier = earlier.map(|ResidualScores(mut layers)| {
        layers.push(Tensor::cat(vec![query, key], 2));
        ResidualScores(layers)
    });
    let result = norm_or_identity(y, last);
    (NormOutput { y: result.y, statistics: result.statistics.or(statistics) }, earlier)
}

/// Section that defines the attention of patches.
const SOURCE: &str = "Nie et al. 2023, §3.1";
/// Axes of rows in a trace.
pub(super) const ROWS: [&str; 3] = ["sequence", "row", "channel"];
/// Axes of scores and weights in a trace.
const PAIRS: [&str; 4] = ["sequence", "head", "row", "row"];

/// `x · weight + bias` of `[sequences, patches, in]`, as a step of a trace.
pub(super) fn recorded_linear(name: &str, x: Tensor<3>, map: Projection) -> Tensor<3> {
    let y = map.clone().of_rows(x.clone());
    trace::step(name, Operation::Linear)
        .source(SOURCE)
        .from(&x)
        .parameter("weight", || map.weight)
        .optional_parameter("bias", || map.bias)
        .values(ROWS, &y);
    y
}

/// `norm(x)`, or `x` without a norm.
pub(super) fn norm_or_identity(x: Tensor<3>, norm: Option<NormArgs>) -> NormOutput {
    match norm {
        Some(norm) => trace::scope_with(String::new, &[("batch", "sequence")], || norm_composed(x, norm)),
        None => NormOutput { y: x, statistics: None },
    }
}

fn scores(query: Tensor<3>, key: Tensor<3>, heads: usize) -> Tensor<4> {
    split_heads(query, heads).matmul(split_heads(key, heads).swap_dims(2, 3))
}

fn scores_of_pair(pair: Tensor<3>, heads: usize) -> Tensor<4> {
    let half = pair.dims()[2] / 2;
    scores(pair.clone().narrow(2, 0, half), pair.narrow(2, half, half), heads)
}
