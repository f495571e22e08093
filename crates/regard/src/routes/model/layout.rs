//! Names and shapes of the tensors of an Attention Model, as Kool's code names and lays them out.

use super::config::{AttentionModelConfig, Norm};
use super::distances::PAIR_FEATURES;
use crate::store::layout::ParamSpec;

/// Every tensor of an Attention Model.
///
/// Source: `nets/attention_model.py`, `nets/graph_encoder.py` of
/// wouterkool/attention-learn-to-route.
pub(super) fn of(config: &AttentionModelConfig) -> Vec<ParamSpec> {
    let (width, hidden, heads) = (config.width, config.feedforward_width, config.heads);
    let head = width / heads;
    let problem = config.problem_spec();
    let mut slots = Vec::new();
    let mut add = |name: String, shape: &[usize]| {
        let trainable = !name.contains(".running_");
        slots.push(ParamSpec { name, shape: shape.to_vec(), trainable });
    };
    if problem.every_node_once {
        add("W_placeholder".into(), &[2 * width]);
    }
    if problem.depot {
        add("init_embed_depot.weight".into(), &[width, 2]);
        add("init_embed_depot.bias".into(), &[width]);
    }
    if problem.dynamic || config.distances {
        add("project_node_step.weight".into(), &[3 * width, 1]);
    }
    add("init_embed.weight".into(), &[width, problem.features]);
    add("init_embed.bias".into(), &[width]);
    for layer in 0..config.layers {
        let place = format!("embedder.layers.{layer}");
        for name in ["W_query", "W_key", "W_val"] {
            add(format!("{place}.0.module.{name}"), &[heads, width, head]);
        }
        add(format!("{place}.0.module.W_out"), &[heads, head, width]);
        if config.distance_bias {
            add(format!("{place}.0.module.W_pair"), &[heads, PAIR_FEATURES.len()]);
        }
        add(format!("{place}.2.module.0.weight"), &[hidden, width]);
        add(format!("{place}.2.module.0.bias"), &[hidden]);
        add(format!("{place}.2.module.2.weight"), &[width, hidden]);
        add(format!("{place}.2.module.2.bias"), &[width]);
        let norm: &[&str] = match config.norm {
            Norm::Batch => &["weight", "bias", "running_mean", "running_var"],
            Norm::Instance | Norm::Layer => &["weight", "bias"],
        };
        for sub_layer in [1, 3] {
            for name in norm {
                add(format!("{place}.{sub_layer}.normalizer.{name}"), &[width]);
            }
        }
    }
    add("project_node_embeddings.weight".into(), &[3 * width, width]);
    add("project_fixed_context.weight".into(), &[width, width]);
    add("project_step_context.weight".into(), &[width, problem.context_nodes() * width + problem.scalars]);
    add("project_out.weight".into(), &[width, width]);
    slots
}
