//! A network that predicts what a policy's tour will cost (Kool et al. 2019, `critic_network.py`;
//! Bello et al. 2016).

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Gradients, Tensor, TensorData, activation};
use regard_nn::{Encoder, EncoderConfig, EncoderLayerConfig};

use crate::routes::model::norm_kind;
use crate::store::AttentionModelConfig;

/// An encoder of its own, and a small network on the mean of its embeddings.
#[derive(Module, Debug)]
pub(super) struct Critic {
    embedding: Linear,
    encoder: Encoder,
    hidden: Linear,
    value: Linear,
}

impl Critic {
    /// Fresh weights, with the sizes of the policy.
    pub(super) fn new(config: &AttentionModelConfig, device: &Device) -> Self {
        let width = config.width;
        let layer =
            EncoderLayerConfig::new(width, config.heads, config.feedforward_width).with_norm(norm_kind(config.norm));
        Self {
            embedding: LinearConfig::new(config.outline().features, width).init(device),
            encoder: EncoderConfig::new(config.layers, layer).init(device),
            hidden: LinearConfig::new(width, width).init(device),
            value: LinearConfig::new(width, 1).init(device),
        }
    }

    /// Predicted costs `[batch]` of nodes with features `points [batch, nodes, features]`.
    pub(super) fn forward(&self, points: Tensor<3>) -> Tensor<1> {
        let batch = points.dims()[0];
        let graph = self.encoder.forward(self.embedding.forward(points)).mean_dim(1);
        let width = graph.dims()[2];
        let hidden = activation::relu(self.hidden.forward(graph.reshape([batch, width])));
        self.value.forward(hidden).reshape([batch])
    }

    /// Predictions, and the gradients of their mean squared error.
    pub(super) fn learn(&self, points: Tensor<3>, costs: &[f64]) -> (Vec<f64>, Gradients) {
        let device = points.device();
        let predicted = self.forward(points);
        let values = predicted.to_data().iter::<f64>().collect();
        let costs: Vec<f32> = costs.iter().map(|&cost| cost as f32).collect();
        let count = costs.len();
        let costs: Tensor<1> = Tensor::from_data(TensorData::new(costs, [count]), &device);
        (values, (predicted - costs).square().mean().backward())
    }
}
