//! Multi-head attention (Vaswani et al. 2017, §3.2), one intermediate after the other.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use regard_nn::ops::{AttentionOptions, Mask, attention_weights};
use regard_nn::{AttentionInput as BlockInput, MultiHeadAttention, MultiHeadAttentionConfig};

use super::input::AttentionInput;
use super::trace::{AttentionTrace, Step};
use crate::store::Array;
use crate::{Error, Result};

/// Runs one attention layer and keeps every intermediate.
///
/// The layer is a [`MultiHeadAttention`] with the projections of the input; its own parts give the
/// intermediates.
///
/// ```
/// use regard::explain::{AttentionInput, attention};
///
/// // Two tokens, two heads, identity projections. In each head one token is (1, 0) and the other
/// // (0, 1), so a token's score with itself is 1/√2 and with the other 0; the softmax of that is
/// // e^(1/√2) / (1 + e^(1/√2)) = 0.66976155.
/// let trace = attention(&AttentionInput::hand_worked(), &regard::Device::flex())?;
/// let weights = &trace.step("weights").unwrap().values;
/// assert_eq!(weights.shape, [2, 2, 2]);
/// for (found, expected) in weights.data.iter().zip([0.66976155, 0.33023845, 0.33023845, 0.66976155]) {
///     assert!((found - expected).abs() < 1e-6);
/// }
/// # Ok::<(), regard::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] when a projection is not `[width, width]` or the heads do not divide the width.
pub fn attention(input: &AttentionInput, device: &Device) -> Result<AttentionTrace> {
    check(input)?;
    let head_width = input.width() / input.heads;
    let mask = if input.causal { Mask::Causal } else { Mask::None };
    let options = AttentionOptions::new(input.heads, head_width).with_mask(mask);
    Ok(AttentionTrace {
        tokens: input.tokens.clone(),
        width: input.width(),
        heads: input.heads,
        head_width,
        scale: options.scale,
        mask: if input.causal { "causal" } else { "none" },
        steps: steps(input, run(input, &options, device), &options, head_width)?,
    })
}

/// The intermediates as the block makes them: `[1, tokens, width]`, and `[1, heads, tokens,
/// tokens]` for pairs.
struct Intermediates {
    q: Tensor<3>,
    k: Tensor<3>,
    v: Tensor<3>,
    scores: Tensor<4>,
    weights: Tensor<4>,
    joined: Tensor<3>,
    output: Tensor<3>,
}

fn run(input: &AttentionInput, options: &AttentionOptions, device: &Device) -> Intermediates {
    let block = block(input, device);
    let x = tensor(&input.x, device).unsqueeze::<3>(); // [1, tokens, width]
    let look = BlockInput::self_attention(x.clone()).with_mask(options.mask.clone());
    let (output, weights) = block.forward_with_weights(look);
    let [q, k, v] = [&block.query, &block.key, &block.value].map(|linear| linear.forward(x.clone()));
    let [_, n, width] = q.dims();
    let split = |t: &Tensor<3>| t.clone().reshape([1, n, options.heads, width / options.heads]).swap_dims(1, 2);
    let scores = split(&q).matmul(split(&k).transpose()).mul_scalar(options.scale);
    let (joined, _) = attention_weights(q.clone(), k.clone(), v.clone(), None, options);
    Intermediates { q, k, v, scores, weights, joined, output }
}

/// The intermediates with their names, formulas and shapes.
fn steps(
    input: &AttentionInput,
    found: Intermediates,
    options: &AttentionOptions,
    head_width: usize,
) -> Result<Vec<Step>> {
    const PER_TOKEN: &[&str] = &["token", "width"];
    const PER_HEAD: &[&str] = &["token", "head", "head width"];
    const PER_PAIR: &[&str] = &["head", "query", "key"];
    let (n, heads) = (input.len(), input.heads);
    let by_head = |t: Tensor<3>| array(t.into_data(), vec![n, heads, head_width]);
    let pairs = |t: Tensor<4>| array(t.into_data(), vec![heads, n, n]);
    let step = |name, formula: &str, meaning, axes: &[&'static str], values| Step {
        name,
        formula: formula.to_owned(),
        meaning,
        axes: axes.to_vec(),
        values,
    };
    let score = format!("score = q . k / sqrt({head_width})");
    let scores = barred(pairs(found.scores)?, &options.mask);
    let output = array(found.output.into_data(), vec![n, input.width()])?;
    Ok(vec![
        step("x", "", "input tokens", PER_TOKEN, input.x.clone()),
        step("q", "q = x Wq", "queries, one for each token", PER_HEAD, by_head(found.q)?),
        step("k", "k = x Wk", "keys, one for each token", PER_HEAD, by_head(found.k)?),
        step("v", "v = x Wv", "values, one for each token", PER_HEAD, by_head(found.v)?),
        step("scores", &score, "scaled dot products of queries (rows) and keys (columns)", PER_PAIR, scores),
        step(
            "weights",
            "weight = softmax(score)",
            "attention weights; each row sums to 1",
            PER_PAIR,
            pairs(found.weights)?,
        ),
        step("heads", "head = weight v", "weighted sums of the values", PER_HEAD, by_head(found.joined)?),
        step("output", "output = [heads] Wo", "concatenated heads, projected", PER_TOKEN, output),
    ])
}

fn check(input: &AttentionInput) -> Result<()> {
    let shape = |what: &str, expected: Vec<usize>, found: &[usize]| Error::Shape {
        what: what.to_owned(),
        expected,
        found: found.to_vec(),
    };
    let [n, width] = input.x.shape[..] else {
        return Err(shape("x", vec![1, 1], &input.x.shape));
    };
    if n == 0 || width == 0 || input.x.data.len() != n * width {
        return Err(shape("x", vec![n.max(1), width.max(1)], &[input.x.data.len()]));
    }
    if input.heads == 0 || !width.is_multiple_of(input.heads) {
        return Err(Error::config("heads", format!("{} heads do not divide the width {width}", input.heads)));
    }
    let projections = [
        ("query_weights", &input.query_weights),
        ("key_weights", &input.key_weights),
        ("value_weights", &input.value_weights),
        ("output_weights", &input.output_weights),
    ];
    for (name, weights) in projections {
        if weights.shape != [width, width] || weights.data.len() != width * width {
            return Err(shape(name, vec![width, width], &weights.shape));
        }
    }
    Ok(())
}

/// An attention block with the projections of the input.
fn block(input: &AttentionInput, device: &Device) -> MultiHeadAttention {
    let config = MultiHeadAttentionConfig::new(input.width(), input.heads).with_bias(false);
    let mut block = config.init(device);
    block.query.weight = Param::from_tensor(tensor(&input.query_weights, device));
    block.key.weight = Param::from_tensor(tensor(&input.key_weights, device));
    block.value.weight = Param::from_tensor(tensor(&input.value_weights, device));
    block.out.weight = Param::from_tensor(tensor(&input.output_weights, device));
    block
}

fn tensor(matrix: &Array, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(matrix.data.clone(), [matrix.shape[0], matrix.shape[1]]), device)
}

fn array(data: TensorData, shape: Vec<usize>) -> Result<Array> {
    let data = data.try_to_vec::<f32>().map_err(|error| Error::Device(format!("{error:?}")))?;
    Ok(Array { shape, data })
}

/// Scores `[heads, queries, keys]` with minus infinity where the mask bars a key.
fn barred(mut scores: Array, mask: &Mask) -> Array {
    let n = scores.shape[2];
    for (i, score) in scores.data.iter_mut().enumerate() {
        if !mask.allows(0, i / n % n, i % n) {
            *score = f32::NEG_INFINITY;
        }
    }
    scores
}
