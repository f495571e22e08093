//! Scaled dot-product attention (Vaswani et al. 2017, §3.2.1), and the attention sub-layer of an encoder layer
//! (Kool et al. 2019, §3.1, eq. 2).
//!
//! Attention: `out_h = softmax(clamp(scale · q_h k_hᵀ + bias)) v_h`, masked; the heads are side by side in the
//! width. Sub-layer: `norm(x + MHA(x))`, that is projections, self-attention, output projection, residual and norm.

use burn::tensor::{Bool, Tensor, activation};
use regard_kernels::{attention as kernel, sublayer};

use super::{
    Mask, NormArgs, NormOutput, Projection,
    fused::{Array, Kernel, Output, has_kernels, input, run},
    residual_norm::{FusedNorm, norm_output, rows, statistics_values},
    residual_norm_composed,
};
use crate::trace::{self, Operation};

/// The value of masked scores and log-probabilities: a finite stand-in for minus infinity.
pub const MASKED: f32 = -1e30;

/// Options of [`attention`].
#[derive(Clone, Debug)]
pub struct AttentionOptions {
    /// Number of heads; must divide the widths of queries, keys and values.
    pub heads: usize,
    /// Factor of the dot products, usually `1 / sqrt(width of a head)`.
    pub scale: f32,
    /// If given, scores are clamped to `[-clamp, clamp]` after scale and bias, before the mask.
    pub clamp: Option<f32>,
    /// The keys that a query may attend to.
    pub mask: Mask,
}

impl AttentionOptions {
    /// Plain attention: scale `1 / sqrt(head_width)`, no clamp, no mask.
    pub fn new(heads: usize, head_width: usize) -> Self {
        let scale = 1.0 / (head_width as f32).sqrt();
        Self { heads, scale, clamp: None, mask: Mask::None }
    }

    /// Sets the mask.
    pub fn with_mask(mut self, mask: Mask) -> Self {
        self.mask = mask;
        self
    }
}

/// Attention of every query over the allowed keys.
///
/// - `query`: `[batch, queries, heads * key_width]`
/// - `key`: `[batch, keys, heads * key_width]`
/// - `value`: `[batch, keys, heads * value_width]`
/// - `bias`: broadcastable to `[batch, heads, queries, keys]`, added after the scale
///
/// Returns `[batch, queries, heads * value_width]`. The output of a fully masked query is zero and
/// passes no gradient.
///
/// # Panics
/// If the shapes do not match.
pub fn attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    bias: Option<Tensor<4>>,
    options: &AttentionOptions,
) -> Tensor<3> {
    let Sizes { batch, queries, keys, .. } = Sizes::check(&query, &key, &value, options);
    if !has_kernels(&query.device()) || batch * queries * keys == 0 {
        return attention_composed(query, key, value, bias, options);
    }
    let mut inputs = vec![input(query), input(key), input(value)];
    inputs.extend(bias.map(|bias| {
        let [b, h, l, _] = bias.dims();
        input(bias.expand([b, h, l, keys]))
    }));
    run(Fused(options.clone()), inputs).y
}

/// [`attention`] in ordinary tensor operations: the reference that the kernel is tested against.
pub fn attention_composed(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    bias: Option<Tensor<4>>,
    options: &AttentionOptions,
) -> Tensor<3> {
    attention_weights(query, key, value, bias, options).0
}

/// As [`attention`], and also returns the attention weights `[batch, heads, queries, keys]`.
///
/// It always runs the composed operations, because the weights must be in memory.
///
/// # Panics
/// If the shapes do not match.
pub fn attention_weights(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    bias: Option<Tensor<4>>,
    options: &AttentionOptions,
) -> (Tensor<3>, Tensor<4>) {
    let sizes = Sizes::check(&query, &key, &value, options);
    let Sizes { batch, queries, keys, heads, value_width, .. } = sizes;
    let device = query.device();
    if batch * queries * keys == 0 {
        let out = Tensor::zeros([batch, queries, heads * value_width], &device);
        return (out, Tensor::zeros([batch, heads, queries, keys], &device));
    }
    let shape = [batch, heads, queries, keys];
    const PAIRS: [&str; 4] = ["batch", "head", "query", "key"];
    let products = split_heads(query.clone(), heads).matmul(split_heads(key.clone(), heads).swap_dims(2, 3));
    trace::step("raw_score", Operation::Dot { heads })
        .source(SOURCE)
        .from_which(&query, |name| name.ends_with("query"))
        .from_which(&key, |name| name == "key")
        .values(PAIRS, &products);
    let mut scores = products.clone().mul_scalar(options.scale);
    trace::step("score", Operation::Scale { factor: options.scale })
        .source(SOURCE)
        .from(&products)
        .values(PAIRS, &scores);
    if let Some(bias) = bias {
        let sum = scores.clone() + bias.clone().expand(shape);
        trace::step("biased", Operation::Sum).from(&scores).from(&bias).values(PAIRS, &sum);
        scores = sum;
    }
    if let Some(limit) = options.clamp {
        let clamped = scores.clone().clamp(-limit, limit);
        trace::step("clamped", Operation::Clamp { limit }).from(&scores).values(PAIRS, &clamped);
        scores = clamped;
    }
    let masked = options.mask.masked([batch, queries, keys], &device);
    let allowed = masked.as_ref().map(|masked| allowed_step(masked.clone()));
    let masked = masked.map(|mask| mask.unsqueeze_dim::<4>(1).expand(shape));
    let weights = match masked {
        None => activation::softmax(scores.clone(), 3),
        // The second fill sets fully masked rows to zero, which are uniform after the softmax.
        Some(masked) => activation::softmax(scores.clone().mask_fill(masked.clone(), MASKED), 3).mask_fill(masked, 0.0),
    };
    trace::step("attention", Operation::Softmax)
        .source(SOURCE)
        .from(&scores)
        .from_optional(allowed.flatten().as_ref())
        .values(PAIRS, &weights);
    let sums = weights.clone().matmul(split_heads(value.clone(), heads));
    trace::step("heads", Operation::WeightedSum { heads })
        .source(SOURCE)
        .from(&weights)
        .from_which(&value, |name| name == "value")
        .values(["batch", "head", "query", "head channel"], &sums);
    let out = join_heads(sums.clone());
    trace::step("merged", Operation::Merge).from(&sums).values(["batch", "query", "channel"], &out);
    (out, weights)
}

/// Records which pairs `[batch, queries, keys]` a mask allows: 1, and 0 where it does not. `None` without a recording.
pub(crate) fn allowed_step(masked: Tensor<3, Bool>) -> Option<Tensor<3>> {
    trace::recording().then(|| {
        let allowed = masked.bool_not().float();
        trace::step("mask", Operation::Input).values(["batch", "query", "key"], &allowed);
        allowed
    })
}

/// Section that defines scaled dot-product attention.
const SOURCE: &str = "Vaswani et al. 2017, §3.2.1";

/// `[batch, length, heads * width]` to `[batch, heads, length, width]`.
pub(crate) fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, length, width] = x.dims();
    x.reshape([batch, length, heads, width / heads]).swap_dims(1, 2)
}

/// `[batch, heads, length, width]` to `[batch, length, heads * width]`.
pub(crate) fn join_heads(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, length, width] = x.dims();
    x.swap_dims(1, 2).reshape([batch, length, heads * width])
}

/// The checked sizes of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) heads: usize,
    pub(crate) value_width: usize,
}

impl Sizes {
    /// Reads the sizes and panics if they do not match.
    pub(crate) fn check(query: &Tensor<3>, key: &Tensor<3>, value: &Tensor<3>, options: &AttentionOptions) -> Self {
        let [batch, queries, key_width] = query.dims();
        let [key_batch, keys, found] = key.dims();
        let [value_batch, values, value_width] = value.dims();
        let heads = options.heads;
        assert_eq!(key_width, found, "attention: width of queries and keys");
        assert_eq!(keys, values, "attention: number of keys and values");
        assert!(key_batch == batch && value_batch == batch, "attention: batch sizes");
        assert!(
            heads > 0 && key_width % heads == 0 && value_width % heads == 0,
            "attention: {heads} heads must divide the widths {key_width} and {value_width}"
        );
        options.mask.check([batch, queries, keys]);
        Self { batch, queries, keys, heads, value_width: value_width / heads }
    }
}

/// The kernel. Its inputs are query, key, value and optionally a bias.
#[derive(Debug)]
struct Fused(AttentionOptions);

impl Fused {
    fn shape(&self, inputs: &[Array<'_>]) -> kernel::Shape {
        let ([query, key, value], options) = ([inputs[0].shape, inputs[1].shape, inputs[2].shape], &self.0);
        kernel::Shape {
            batch: query[0],
            queries: query[1],
            keys: key[1],
            heads: options.heads,
            key_width: query[2] / options.heads,
            value_width: value[2] / options.heads,
            scale: options.scale,
            clamp: options.clamp,
        }
    }
}

/// The bias with stride 0 along every broadcast axis.
fn bias_view<'a>(inputs: &[Array<'a>]) -> Option<kernel::BiasView<'a>> {
    let &Array { data, shape } = inputs.get(3)?;
    let stride = |axis: usize| if shape[axis] == 1 { 0 } else { shape[axis + 1..].iter().product() };
    Some(kernel::BiasView { data, batch: stride(0), head: stride(1), query: stride(2) })
}

impl Kernel for Fused {
    type Saved = kernel::Saved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let shape = self.shape(inputs);
        let qkv = kernel::Inputs { query: inputs[0].data, key: inputs[1].data, value: inputs[2].data };
        let (y, saved) = kernel::forward(&shape, qkv, self.0.mask.view(), bias_view(inputs));
        let out = vec![shape.batch, shape.queries, shape.heads * shape.value_width];
        Output { y, shape: out, extra: vec![], saved: save.then_some(saved) }
    }

    fn backward(
        &self,
        inputs: &[Array<'_>],
        saved: &Self::Saved,
        grad: &[f32],
        requires_grad: &[bool],
    ) -> Vec<Vec<f32>> {
        let shape = self.shape(inputs);
        let qkv = kernel::Inputs { query: inputs[0].data, key: inputs[1].data, value: inputs[2].data };
        let bias = bias_view(inputs);
        let needed = requires_grad.get(3).copied().unwrap_or(false);
        let gradients = kernel::backward(&shape, qkv, self.0.mask.view(), bias, saved, grad, needed);
        let mut all = vec![gradients.query, gradients.key, gradients.value];
        if let Some(bias) = inputs.get(3) {
            all.push(match gradients.scores {
                Some(scores) => reduce(&scores, &shape, bias),
                None => vec![0.0; bias.data.len()],
            });
        }
        all
    }
}

/// Sums the gradient of the scores over the broadcast axes of the bias.
fn reduce(scores: &[f32], shape: &kernel::Shape, bias: &Array<'_>) -> Vec<f32> {
    let mut sums = vec![0.0; bias.data.len()];
    let Some(view) = bias_view(&[*bias; 4]) else { return sums };
    let rows = scores.chunks_exact(shape.keys).enumerate();
    for (row, scores) in rows {
        let (query, rest) = (row % shape.queries, row / shape.queries);
        let (head, item) = (rest % shape.heads, rest / shape.heads);
        let at = item * view.batch + head * view.head + query * view.query;
        sums[at..][..shape.keys].iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
    }
    sums
}

/// The four projections of a self-attention, without biases.
#[derive(Clone, Debug)]
pub struct AttentionWeights {
    /// `[width, heads * key_width]`
    pub query: Tensor<2>,
    /// `[width, heads * key_width]`
    pub key: Tensor<2>,
    /// `[width, heads * value_width]`
    pub value: Tensor<2>,
    /// `[heads * value_width, width]`
    pub out: Tensor<2>,
}

/// Numbers of each pair of a query and a key, from which scores have a bias: that of query `i` and key `j` in head `h` is
/// `Σ_k weights[h, k] · values[k, i, j]`. No gradient passes to the values.
#[derive(Clone, Debug)]
pub struct PairBias {
    /// `[batch, features, queries, keys]`
    pub values: Tensor<4>,
    /// `[heads, features]`
    pub weights: Tensor<2>,
}

impl PairBias {
    /// The bias `[batch, heads, queries, keys]`.
    pub fn of_scores(self) -> Tensor<4> {
        let Self { values, weights } = self;
        let ([batch, features, queries, keys], heads) = (values.dims(), weights.dims()[0]);
        let rows = values.clone().detach().reshape([batch, features, queries * keys]);
        let bias = weights.clone().unsqueeze::<3>().expand([batch, heads, features]).matmul(rows);
        let bias = bias.reshape([batch, heads, queries, keys]);
        trace::step("score_bias", Operation::PairSum)
            .from(&values)
            .parameter("weight", || weights)
            .values(["batch", "head", "query", "key"], &bias);
        bias
    }
}

/// `norm(x + MHA(x))` of `[batch, nodes, width]`, without a mask, with a bias of the scores from `pairs`.
///
/// # Panics
/// If the shapes do not match.
pub fn attention_sublayer(
    x: Tensor<3>,
    weights: AttentionWeights,
    heads: usize,
    pairs: Option<PairBias>,
    norm: NormArgs,
) -> NormOutput {
    let [batch, nodes, _] = x.dims();
    if let Some(PairBias { values, weights }) = &pairs {
        let features = weights.dims()[1];
        assert_eq!(values.dims(), [batch, features, nodes, nodes], "attention sub-layer: numbers of pairs");
        assert_eq!(weights.dims()[0], heads, "attention sub-layer: heads of the weights of pairs");
    }
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return attention_sublayer_composed(x, weights, heads, pairs, norm);
    }
    let (norm, [gamma, beta]) = FusedNorm::new(norm);
    let AttentionWeights { query, key, value, out } = weights;
    let mut inputs = vec![input(x), input(query), input(key), input(value), input(out), gamma, beta];
    inputs.extend(pairs.into_iter().flat_map(|pairs| [input(pairs.values.detach()), input(pairs.weights)]));
    norm_output(&norm.clone(), batch * nodes, run(FusedSublayer { heads, norm }, inputs))
}

/// Section that defines the attention sub-layer.
const SUBLAYER: &str = "Kool et al. 2019, §3.1, eq. 2";

/// [`attention_sublayer`] in ordinary tensor operations.
pub fn attention_sublayer_composed(
    x: Tensor<3>,
    weights: AttentionWeights,
    heads: usize,
    pairs: Option<PairBias>,
    norm: NormArgs,
) -> NormOutput {
    let [batch, nodes, width] = x.dims();
    let [_, out_width] = weights.out.dims();
    assert_eq!(out_width, width, "attention sub-layer: width of the output projection");
    if batch * nodes == 0 {
        return NormOutput { y: x, statistics: None };
    }
    let project = |name: &str, weight: Tensor<2>| {
        let y = Projection { weight: weight.clone(), bias: None }.of_rows(x.clone());
        trace::step(name, Operation::Linear)
            .source(SUBLAYER)
            .from(&x)
            .parameter("weight", || weight)
            .values(["batch", "row", "channel"], &y);
        y
    };
    let options = AttentionOptions::new(heads, weights.query.dims()[1] / heads.max(1));
    let (query, key) = (project("query", weights.query), project("key", weights.key));
    let value = project("value", weights.value);
    let merged = attention_composed(query, key, value, pairs.map(PairBias::of_scores), &options);
    let out = Projection { weight: weights.out.clone(), bias: None }.of_rows(merged.clone());
    trace::step("output", Operation::Linear)
        .source(SUBLAYER)
        .from(&merged)
        .parameter("weight", || weights.out)
        .values(["batch", "row", "channel"], &out);
    residual_norm_composed(x, out, norm)
}

/// The kernel. Its inputs are `x`, the four projections, gamma, beta, and optionally the values and weights of pairs.
#[derive(Debug)]
struct FusedSublayer {
    heads: usize,
    norm: FusedNorm,
}

impl FusedSublayer {
    fn layer(&self, inputs: &[Array<'_>]) -> sublayer::AttentionLayer {
        sublayer::AttentionLayer {
            rows: rows(&inputs[0]),
            heads: self.heads,
            key_width: inputs[1].shape[1] / self.heads,
            value_width: inputs[3].shape[1] / self.heads,
        }
    }
}

fn weights<'a>(inputs: &[Array<'a>]) -> sublayer::AttentionWeights<'a> {
    let [query, key, value, out] = [1, 2, 3, 4].map(|place| inputs[place].data);
    sublayer::AttentionWeights { query, key, value, out }
}

fn pairs<'a>(inputs: &[Array<'a>]) -> Option<sublayer::Pairs<'a>> {
    let [values, weights] = [inputs.get(7)?, inputs.get(8)?];
    Some(sublayer::Pairs { values: values.data, weights: weights.data, features: weights.shape[1] })
}

impl Kernel for FusedSublayer {
    type Saved = sublayer::AttentionSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let norm = self.norm.view(inputs[5].data, inputs[6].data);
        let (y, saved, statistics) =
            sublayer::attention(&self.layer(inputs), &weights(inputs), &norm, pairs(inputs), inputs[0].data, save);
        Output { y, shape: inputs[0].shape.to_vec(), extra: statistics_values(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let norm = self.norm.view(inputs[5].data, inputs[6].data);
        let (layer, weights, x) = (self.layer(inputs), weights(inputs), inputs[0].data);
        let gradients = sublayer::attention_backward(&layer, &weights, &norm, pairs(inputs), x, saved, grad);
        let sublayer::AttentionGradients { x, query, key, value, out, gamma, beta, pairs } = gradients;
        let all = vec![x, query, key, value, out, gamma, beta, vec![], pairs];
        all.into_iter().take(inputs.len()).collect()
    }
}
