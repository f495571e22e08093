//! Multi-head attention (Vaswani et al. 2017, §3.2), one intermediate after the other.

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use regard_nn::ops::{DenseMask, Mask};
use regard_nn::trace::{Operation, record, step};
use regard_nn::{AttentionInput as BlockInput, MultiHeadAttention};

use super::input::{AttentionInput, AttentionMask, Context, Projection};
use super::{Labels, Trace};
use crate::Result;
use crate::store::Array;

/// Every intermediate of one attention layer, recorded from a [`MultiHeadAttention`] with the projections of the input:
/// `x` (or `queries`, `keys`, `values`), `query`, `key` and `value` before they are split into heads, `raw_score`,
/// `score`, `biased` and `mask` where there are such, `attention`, `heads`, `merged`, `output`.
///
/// ```
/// use regard::explain::{AttentionInput, attention};
///
/// // Two tokens, two heads, identity projections. In each head one token is (1, 0) and the other
/// // (0, 1), so a token's score with itself is 1/√2 and with the other 0; the softmax of that is
/// // e^(1/√2) / (1 + e^(1/√2)) = 0.66976155.
/// let trace = attention("by hand", &AttentionInput::hand_worked(), &regard::Device::flex())?;
/// let weights = &trace.step("attention").unwrap().recorded;
/// assert_eq!(weights.shape, [2, 2, 2]);
/// for (found, expected) in weights.values.iter().zip([0.66976155, 0.33023845, 0.33023845, 0.66976155]) {
///     assert!((found - expected).abs() < 1e-6);
/// }
/// # Ok::<(), regard::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Config`] when parts of the input do not fit each other, with the field and what would fit.
pub fn attention(name: &str, input: &AttentionInput, device: &Device) -> Result<Trace> {
    input.check()?;
    let block = block(input, device);
    let (batch, queries, keys) = (input.batch(), input.query.shape[1], input.key().shape[1]);
    let own = matches!(input.context, Context::Own);
    let (_, recording) = record(|| {
        let given = |name: &str, rows: &Array, axis: &'static str| {
            let x = tensor::<3>(rows, device);
            step(name, Operation::Input).values(["batch", axis, "feature"], &x);
            x
        };
        let query = given(if own { "x" } else { "queries" }, &input.query, "query");
        let (key, value) = match &input.context {
            Context::Own => (query.clone(), query.clone()),
            Context::Other { key, value } => {
                let key = given("keys", key, "key");
                let value = value.as_ref().map(|value| given("values", value, "key"));
                (key.clone(), value.unwrap_or(key))
            }
        };
        let mut look = BlockInput::new(query, key, value).with_mask(match &input.mask {
            AttentionMask::None => Mask::None,
            AttentionMask::Causal => Mask::Causal,
            AttentionMask::Lengths(lengths) => Mask::Lengths(lengths.clone().into()),
            AttentionMask::Pairs(pairs) => DenseMask::new([batch, queries, keys], pairs.clone()).into(),
        });
        if let Some(scale) = input.scale {
            look = look.with_scale(scale);
        }
        if let Some(bias) = &input.score_bias {
            let bias = tensor::<3>(bias, device).unsqueeze_dim::<4>(0);
            step("score_bias", Operation::Input).values(["batch", "head", "query", "key"], &bias);
            look = look.with_bias(bias);
        }
        if let Some((tau, delta)) = &input.destationary {
            let tau = Tensor::from_data(TensorData::new(tau.clone(), [batch, 1]), device);
            step("tau", Operation::Input).values(["batch", "value"], &tau);
            let delta = tensor::<2>(delta, device);
            step("delta", Operation::Input).values(["batch", "key"], &delta);
            look = look.with_destationary(tau, delta);
        }
        block.forward(look)
    });
    let mut labels = Labels::from([("query", input.query_tokens.clone()), ("key", input.key_tokens.clone())]);
    labels.insert("batch", (1..=batch).map(|item| format!("input {item}")).collect());
    Ok(Trace::new("attention layer".to_owned(), name.to_owned(), recording, &labels))
}

/// An attention block with the projections of the input.
fn block(input: &AttentionInput, device: &Device) -> MultiHeadAttention {
    let linear = |projection: &Projection| {
        let [inputs, outputs] = [projection.weight.shape[0], projection.weight.shape[1]];
        let mut linear: Linear = LinearConfig::new(inputs, outputs).with_bias(false).init(device);
        linear.weight = Param::from_tensor(tensor(&projection.weight, device));
        linear.bias = projection
            .bias
            .as_ref()
            .map(|bias| Param::from_tensor(Tensor::from_data(TensorData::new(bias.clone(), [outputs]), device)));
        linear
    };
    MultiHeadAttention {
        query: linear(&input.query_projection),
        key: linear(&input.key_projection),
        value: linear(&input.value_projection),
        out: linear(&input.output_projection),
        heads: input.heads,
        key_width: input.key_width(),
    }
}

fn tensor<const D: usize>(array: &Array, device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(array.data.clone(), array.shape.clone()), device)
}
