//! The attention sub-layer of an encoder layer (Kool et al. 2019, §3.1, eq. 2).
//!
//! `norm(x + MHA(x))`: projections, self-attention, output projection, residual and norm.

use burn::tensor::Tensor;

use regard_kernels::sublayer as kernel;

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::residual_norm::{FusedNorm, beside, normed, rows};
use super::{AttentionOptions, NormArgs, Normed, attention_composed, residual_norm_composed};

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

/// `norm(x + MHA(x))` of `[batch, nodes, width]`, without a mask.
///
/// # Panics
/// If the shapes do not match.
pub fn attention_sublayer(x: Tensor<3>, weights: AttentionWeights, heads: usize, norm: NormArgs) -> Normed {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return attention_sublayer_composed(x, weights, heads, norm);
    }
    let [batch, nodes, _] = x.dims();
    let (norm, [gamma, beta]) = FusedNorm::new(norm);
    let AttentionWeights { query, key, value, out } = weights;
    let inputs = vec![input(x), input(query), input(key), input(value), input(out), gamma, beta];
    normed(&norm.clone(), batch * nodes, run(Fused { heads, norm }, inputs))
}

/// [`attention_sublayer`] in ordinary tensor operations.
pub fn attention_sublayer_composed(x: Tensor<3>, weights: AttentionWeights, heads: usize, norm: NormArgs) -> Normed {
    let [batch, nodes, width] = x.dims();
    let [value_width, out_width] = weights.out.dims();
    assert_eq!(out_width, width, "attention sub-layer: width of the output projection");
    if batch * nodes == 0 {
        return Normed { y: x, statistics: None };
    }
    let rows = x.clone().reshape([batch * nodes, width]);
    let project = |weight: Tensor<2>| {
        let columns = weight.dims()[1];
        rows.clone().matmul(weight).reshape([batch, nodes, columns])
    };
    let options = AttentionOptions::new(heads, weights.query.dims()[1] / heads.max(1));
    let (query, key) = (project(weights.query), project(weights.key));
    let glimpse = attention_composed(query, key, project(weights.value), None, &options);
    let out = glimpse.reshape([batch * nodes, value_width]).matmul(weights.out);
    residual_norm_composed(x, out.reshape([batch, nodes, width]), norm)
}

/// The kernel. Its inputs are `x`, the four projections, gamma, beta.
#[derive(Debug)]
struct Fused {
    heads: usize,
    norm: FusedNorm,
}

impl Fused {
    fn layer(&self, inputs: &[Array<'_>]) -> kernel::AttentionLayer {
        kernel::AttentionLayer {
            rows: rows(&inputs[0]),
            heads: self.heads,
            key_width: inputs[1].shape[1] / self.heads,
            value_width: inputs[3].shape[1] / self.heads,
        }
    }
}

fn weights<'a>(inputs: &[Array<'a>]) -> kernel::AttentionWeights<'a> {
    let [query, key, value, out] = [1, 2, 3, 4].map(|place| inputs[place].data);
    kernel::AttentionWeights { query, key, value, out }
}

impl Kernel for Fused {
    type Saved = kernel::AttentionSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let norm = self.norm.view(inputs[5].data, inputs[6].data);
        let (y, saved, statistics) =
            kernel::attention(&self.layer(inputs), &weights(inputs), &norm, inputs[0].data, save);
        Output { y, shape: inputs[0].shape.to_vec(), beside: beside(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let norm = self.norm.view(inputs[5].data, inputs[6].data);
        let gradients =
            kernel::attention_backward(&self.layer(inputs), &weights(inputs), &norm, inputs[0].data, saved, grad);
        let kernel::AttentionGradients { x, query, key, value, out, gamma, beta } = gradients;
        vec![x, query, key, value, out, gamma, beta]
    }
}
