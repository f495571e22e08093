
use burn::tensor::{Tensor, activation};

use super::{Carried, SequenceAttentionOptions, SequenceProjections};
use crate::ops::attention::{join_heads, split_heads};
use crate::ops::dropout::dropped;
use crate::ops::{NormArgs, Normed, Projection, norm_composed};

/// [`sequence_attention`](super::sequence_attention) in ordinary tensor operations.
///
/// # Panics
/// As [`sequence_attention`].
pub fn sequence_attention_composed(
    x: Tensor<3>,
    projections: SequenceProjections,
    carried: Option<Carried>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (Normed, Option<Carried>) {
    if x.dims().contains(&0) {
        return (Normed { y: x, statistics: None }, carried);
    }
    let SequenceProjections { query, key, value, out } = projections;
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let Normed { y: tokens, statistics } = normed(x.clone(), first);
    let query = linear(tokens.clone(), query).mul_scalar(options.scale);
    let key = linear(tokens.clone(), key);
    let own = scores(query.clone(), key.clone(), options.heads);
    let earlier = carried.iter().flat_map(|carried| carried.0.iter().cloned());
    let sum = earlier.fold(own, |sum, pair| sum + scores_of_pair(pair, options.heads));
    let weights = dropped(activation::softmax(sum, 3), options.weights_dropout);
    let attended = join_heads(weights.matmul(split_heads(linear(tokens, value), options.heads)));
    let y = x + dropped(linear(attended, out), options.residual_dropout);
    let carried = carried.map(|Carried(mut layers)| {
        layers.push(Tensor::cat(vec![query, key], 2));
        Carried(layers)
    });
    let result = normed(y, last);
    (Normed { y: result.y, statistics: result.statistics.or(statistics) }, carried)
}

/// `norm(x)`, or `x` without a norm.
pub(in crate::ops) fn normed(x: Tensor<3>, norm: Option<NormArgs>) -> Normed {
    match norm {
        Some(norm) => norm_composed(x, norm),
        None => Normed { y: x, statistics: None },
    }
}

/// `x · weight + bias` of `[sequences, patches, in]`.
pub(in crate::ops) fn linear(x: Tensor<3>, map: Projection) -> Tensor<3> {
    let [sequences, patches, inputs] = x.dims();
    let outputs = map.weight.dims()[1];
    let y = x.reshape([sequences * patches, inputs]).matmul(map.weight);
    let y = map.bias.into_iter().fold(y, |y, bias| y + bias.unsqueeze());
    y.reshape([sequences, patches, outputs])
}

fn scores(query: Tensor<3>, key: Tensor<3>, heads: usize) -> Tensor<4> {
    split_heads(query, heads).matmul(split_heads(key, heads).swap_dims(2, 3))
}

fn scores_of_pair(pair: Tensor<3>, heads: usize) -> Tensor<4> {
    let half = pair.dims()[2] / 2;
    scores(pair.clone().narrow(2, 0, half), pair.narrow(2, half, half), heads)
}
