//! ProbSparse attention (Zhou et al. 2021, Informer, "Efficient Self-attention Mechanism"), as the authors'
//! code and Time-Series-Library have it.
//!
//! Most queries attend to nothing in particular. Which ones do is estimated from a few keys `j` drawn for
//! each query: `M(q) = max_j(q·k_j) − Σ_j(q·k_j) / keys`. The queries with the largest `M` attend to all
//! keys; the others get the mean of the values, or under a causal mask their running sum. A head chooses
//! its queries by itself, and no gradient goes through the choice.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor};

use crate::multi_head_attention::{Projected, project};
use crate::ops::{AttentionOptions, MASKED, Mask, attention, attention_weights, split_heads};
use crate::{AttentionInput, MultiHeadAttention, MultiHeadAttentionConfig, SampledKeys};

/// Sizes and switches of a [`ProbAttention`].
#[derive(Config, Debug)]
pub struct ProbAttentionConfig {
    /// Sizes of the projections.
    pub attention: MultiHeadAttentionConfig,
    /// Of `n` queries, `factor · ⌈ln n⌉` attend, and of `n` keys as many are drawn. Default: 5.
    #[config(default = 5)]
    pub factor: usize,
    /// Whether the heads' results `[heads, queries, head width]` are read as rows `[queries, width]`
    /// as they stand, so that a row holds several positions of one head. Time-Series-Library always
    /// does that; the authors do in the decoder's self-attention. Default: false, heads side by side.
    #[config(default = false)]
    pub mix: bool,
}

/// Attention of the few queries that have something to look for.
///
/// For `n` queries and keys it takes `n ln n` dot products where full attention takes `n²`.
///
/// Under [`Mask::Causal`] no later value enters a result, but queries are judged by later keys and against
/// later queries too, as in the original: which of them attend depends on the whole sequence.
#[derive(Module, Debug)]
pub struct ProbAttention {
    /// The projections.
    pub attention: MultiHeadAttention,
    /// Multiple of the logarithm of a length.
    pub factor: usize,
    /// Whether a row of the result holds several positions of one head.
    pub mix: bool,
}

impl ProbAttentionConfig {
    /// Fresh weights.
    ///
    /// # Panics
    /// As [`MultiHeadAttentionConfig::init`].
    pub fn init(&self, device: &Device) -> ProbAttention {
        ProbAttention { attention: self.attention.init(device), factor: self.factor, mix: self.mix }
    }
}

impl ProbAttention {
    /// `factor · ⌈ln length⌉`, at most `length`: how many of so many queries attend, and how many of so
    /// many keys each query is judged by. A single query does not attend: `ln 1` is 0.
    pub fn count(&self, length: usize) -> usize {
        let logarithm = (length as f64).ln().ceil() as usize;
        self.factor.saturating_mul(logarithm).min(length)
    }

    /// Keys to judge `queries` by, drawn from `seed`.
    pub fn sample(&self, queries: usize, keys: usize, seed: u64) -> SampledKeys {
        SampledKeys::draw(queries, keys, self.count(keys), seed)
    }

    /// The result `[batch, queries, width]`.
    ///
    /// # Panics
    /// If the input has a bias, de-stationary factors or another mask than [`Mask::Causal`]; if it is
    /// causal and has not as many keys as queries; if the keys are sampled for other numbers.
    pub fn forward(&self, input: AttentionInput, sampled: &SampledKeys) -> Tensor<3> {
        let call = Call::new(self.attention.project(input), sampled);
        let context = call.everywhere();
        let context = match self.select(&call, sampled) {
            Some(selected) => {
                let (query, bias) = (selected.rows_of(&call.query), call.bias(&selected));
                let rows = attention(query, call.key.clone(), call.value.clone(), bias, &call.options);
                selected.put(context, rows)
            }
            None => context,
        };
        self.out(context)
    }

    /// The result `[batch, queries, width]` and the weights `[batch, heads, queries, keys]` it is made
    /// with: 1/keys for a query that was not selected, and under a causal mask 1 for every key up to it.
    ///
    /// # Panics
    /// As [`Self::forward`].
    pub fn forward_with_weights(&self, input: AttentionInput, sampled: &SampledKeys) -> (Tensor<3>, Tensor<4>) {
        let call = Call::new(self.attention.project(input), sampled);
        let (context, weights) = (call.everywhere(), call.weights_everywhere());
        let Some(selected) = self.select(&call, sampled) else { return (self.out(context), weights) };
        let (query, bias) = (selected.rows_of(&call.query), call.bias(&selected));
        let (rows, of_rows) = attention_weights(query, call.key, call.value, bias, &call.options);
        (self.out(selected.put(context, rows)), selected.put_weights(weights, of_rows))
    }

    /// The queries that attend; `None` when none does.
    fn select(&self, call: &Call, sampled: &SampledKeys) -> Option<Selected> {
        let [batch, queries, keys] = call.shape;
        let count = self.count(queries);
        if batch * keys * count == 0 {
            return None;
        }
        let measure = call.measure(sampled);
        Some(Selected(measure.topk_with_indices(count, 1).1))
    }

    /// The output projection of `context [batch, queries, heads * value_width]`.
    fn out(&self, context: Tensor<3>) -> Tensor<3> {
        let shape = context.dims();
        let context = if self.mix { split_heads(context, self.attention.heads).reshape(shape) } else { context };
        project(&self.attention.out, context)
    }
}

/// The projected and checked arguments of one call.
struct Call {
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    options: AttentionOptions,
    causal: bool,
    /// Batch, queries and keys.
    shape: [usize; 3],
}

impl Call {
    fn new(projected: Projected, sampled: &SampledKeys) -> Self {
        let Projected { query, key, value, bias, mut options } = projected;
        assert!(bias.is_none(), "prob attention: neither bias nor de-stationary factors");
        let causal = match std::mem::take(&mut options.mask) {
            Mask::None => false,
            Mask::Causal => true,
            _ => panic!("prob attention: no mask but the causal one"),
        };
        let ([batch, queries, _], [_, keys, _]) = (query.dims(), key.dims());
        assert!(!causal || queries == keys, "causal prob attention: as many keys as queries");
        assert_eq!(sampled.sizes(), [queries, keys], "prob attention: queries and keys of the sampled keys");
        Self { query, key, value, options, causal, shape: [batch, queries, keys] }
    }

    /// What every query gets unless it is selected, `[batch, queries, heads * value_width]`.
    fn everywhere(&self) -> Tensor<3> {
        let [batch, queries, keys] = self.shape;
        let shape = [batch, queries, self.value.dims()[2]];
        if batch * queries * keys == 0 {
            return Tensor::zeros(shape, &self.value.device());
        }
        let value = self.value.clone();
        if self.causal { value.cumsum(1) } else { value.mean_dim(1).expand(shape) }
    }

    /// The weights behind [`Self::everywhere`], `[batch, heads, queries, keys]`.
    fn weights_everywhere(&self) -> Tensor<4> {
        let ([batch, queries, keys], device) = (self.shape, self.query.device());
        let shape = [batch, self.options.heads, queries, keys];
        if !self.causal {
            return Tensor::full(shape, 1.0 / keys.max(1) as f32, &device);
        }
        match Mask::Causal.barred(self.shape, &device) {
            Some(barred) => Tensor::ones(shape, &device).mask_fill(barred.unsqueeze_dim::<4>(1).expand(shape), 0.0),
            None => Tensor::ones(shape, &device),
        }
    }

    /// How far each query is from attending to everything alike, `[batch, queries, heads]`.
    fn measure(&self, sampled: &SampledKeys) -> Tensor<3> {
        let ([batch, queries, keys], heads) = (self.shape, self.options.heads);
        let (query, key) = (self.query.clone().detach(), self.key.clone().detach());
        let (width, device) = (query.dims()[2], query.device());
        // One sample of all queries after the other: all at once would be `samples` copies of the keys.
        let dots = (0..sampled.samples()).map(|sample| {
            let products = query.clone() * key.clone().select(1, sampled.column(sample, &device));
            products.reshape([batch, queries, heads, width / heads]).sum_dim(3).reshape([batch, queries, heads])
        });
        let both = dots.map(|dots| (dots.clone(), dots));
        match both.reduce(|(largest, sum), (dots, same)| (largest.max_pair(dots), sum + same)) {
            Some((largest, sum)) => largest - sum.div_scalar(keys as f32),
            None => Tensor::zeros([batch, queries, heads], &device),
        }
    }

    /// What bars selected queries from later keys, where the mask is causal.
    fn bias(&self, selected: &Selected) -> Option<Tensor<4>> {
        let ([_, _, keys], device) = (self.shape, self.query.device());
        self.causal.then(|| {
            let query = selected.rows_by_head(keys);
            let shape = query.dims();
            let key = Tensor::<1, Int>::arange(0..keys as i64, &device).reshape([1, 1, 1, keys]).expand(shape);
            Tensor::zeros(shape, &device).mask_fill(key.greater(query), MASKED)
        })
    }
}

/// Positions of the selected queries, `[batch, selected, heads]`.
struct Selected(Tensor<3, Int>);

impl Selected {
    /// The selected of `rows [batch, queries, width]`: `[batch, selected, width]`.
    fn rows_of(&self, rows: &Tensor<3>) -> Tensor<3> {
        let ([batch, selected, heads], [_, queries, width]) = (self.0.dims(), rows.dims());
        let rows = rows.clone().reshape([batch, queries, heads, width / heads]);
        rows.gather(1, self.columns(width / heads)).reshape([batch, selected, width])
    }

    /// `context [batch, queries, width]` with `rows [batch, selected, width]` in their places.
    fn put(&self, context: Tensor<3>, rows: Tensor<3>) -> Tensor<3> {
        let ([batch, selected, heads], shape) = (self.0.dims(), context.dims());
        let [_, queries, width] = shape;
        let (context, rows) = (
            context.reshape([batch, queries, heads, width / heads]),
            rows.reshape([batch, selected, heads, width / heads]),
        );
        context.scatter(1, self.columns(width / heads), rows, IndexingUpdateOp::Assign).reshape(shape)
    }

    /// `weights [batch, heads, queries, keys]` with `rows [batch, heads, selected, keys]` in their places.
    fn put_weights(&self, weights: Tensor<4>, rows: Tensor<4>) -> Tensor<4> {
        let keys = weights.dims()[3];
        weights.scatter(2, self.rows_by_head(keys), rows, IndexingUpdateOp::Assign)
    }

    /// The positions once for every column of a head, `[batch, selected, heads, columns]`.
    fn columns(&self, columns: usize) -> Tensor<4, Int> {
        let [batch, selected, heads] = self.0.dims();
        self.0.clone().unsqueeze_dim::<4>(3).expand([batch, selected, heads, columns])
    }

    /// The positions once for every key, `[batch, heads, selected, keys]`.
    fn rows_by_head(&self, keys: usize) -> Tensor<4, Int> {
        self.columns(keys).swap_dims(1, 2)
    }
}
