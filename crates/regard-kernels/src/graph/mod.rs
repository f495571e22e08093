//! Attention along the edges of graphs: the operation of the Graph Transformer (Dwivedi &
//! Bresson 2021, "A Generalization of Transformer Networks to Graphs", equations 3-5 and 9-12,
//! as the authors' code has them), forward and backward.
//!
//! Node `i` attends to the nodes `j` that it receives an edge from. Per head, with `⊙` the product
//! channel by channel and `Σ` the sum over the channels of the head:
//!
//! `s_ij = scale · k_j ⊙ q_i ⊙ e_ij` (`e = 1` without edge stream),
//! `w_ij = softmax_j(Σ s_ij + bias_ij)`, `out_i = Σ_j w_ij · v_j`.
//!
//! `s` is also the new content of the edge stream. No other array grows with the number of edges:
//! the backward pass recomputes scores and weights from its inputs, a few edges of one target at a
//! time, and nothing of the forward pass is saved.

mod backward;
mod edges;
mod forward;
mod gradient;
mod lanes;
mod layer;
mod rows;
mod scores;
mod sources;

use rayon::prelude::*;
use rows::{KernelRows, Rows, optional_parts};
use scores::KernelInputs;

use crate::{
    buffer::{Workspace, parts},
    simd,
};
pub use edges::EdgeList;
pub use forward::edge_attention_weights;
pub use layer::{Gradients, HeadLayout, Inputs, Layer, Nodes, Softmax};

/// Attention of every node, `[nodes, width]`, and, if `products` is true, the new edge stream
/// `s [edges, width]`.
///
/// # Panics
/// If a slice does not have the size its shape requires, or `products` is true without an edge
/// stream.
pub fn edge_attention(
    layer: &Layer,
    graph: &EdgeList,
    inputs: &Inputs<'_>,
    products: bool,
) -> (Vec<f32>, Option<Vec<f32>>) {
    let mut out = vec![0.0; graph.nodes() * layer.width];
    let mut edge_out = products.then(|| vec![0.0; graph.edges() * layer.width]);
    edge_attention_into(layer, graph, inputs, &mut out, edge_out.as_deref_mut());
    (out, edge_out)
}

/// As [`edge_attention`], but overwrites memory of the caller.
///
/// # Panics
/// As [`edge_attention`].
pub fn edge_attention_into(
    layer: &Layer,
    graph: &EdgeList,
    inputs: &Inputs<'_>,
    out: &mut [f32],
    edge_out: Option<&mut [f32]>,
) {
    layer.check(graph, inputs);
    assert_eq!(out.len(), graph.nodes() * layer.width, "result");
    let products = edge_out.as_deref().map(<[f32]>::len);
    assert!(products.is_none_or(|len| inputs.edge.is_some_and(|edge| edge.len() == len)), "edge stream's result");
    let inputs_in_layout = KernelInputs::of(layer, graph, inputs);
    let view = inputs_in_layout.view(layer, graph, inputs);
    let tasks = graph.tasks();
    let outs = parts(out, tasks.iter().map(|task| task.len() * layer.width));
    let edges = tasks.iter().map(|task| graph.edges_of(task).len() * layer.width);
    let edge_outs = optional_parts(edge_out, edges);
    let offsets = graph.offsets();
    tasks.into_par_iter().zip(outs).zip(edge_outs).for_each(|((targets, out), edge_out)| {
        simd::run(forward::AttentionForward { view: &view, offsets, targets, out, edge_out });
    });
}

/// Gradients of [`edge_attention`] for `grad [nodes, width]`, the gradient of its result, and
/// `edge_grad [edges, width]`, the gradient of the new edge stream. The gradients of nodes have the
/// form of the inputs. Edge stream and bias receive a gradient if they are given.
///
/// The query gradient of a node without edges is 0, even if its result is NaN.
///
/// # Panics
/// If a slice does not have the size its shape requires.
pub fn edge_attention_backward(
    layer: &Layer,
    graph: &EdgeList,
    inputs: &Inputs<'_>,
    grad: &[f32],
    edge_grad: Option<&[f32]>,
) -> Gradients<Vec<f32>> {
    let zeros = |len: usize| vec![0.0; len];
    let nodes = graph.nodes() * layer.width;
    let mut gradients = Gradients {
        nodes: match inputs.nodes {
            Nodes::Packed(_) => Nodes::Packed(zeros(3 * nodes)),
            Nodes::Separate { .. } => Nodes::Separate { query: zeros(nodes), key: zeros(nodes), value: zeros(nodes) },
        },
        edge: inputs.edge.map(|edge| zeros(edge.len())),
        bias: inputs.bias.map(|bias| zeros(bias.len())),
    };
    edge_attention_backward_into(layer, graph, inputs, grad, edge_grad, gradients.as_mut());
    gradients
}

/// As [`edge_attention_backward`], but overwrites memory of the caller.
///
/// With closed tasks a target adds to the gradients of keys and values of its task while its edges
/// are in cache. In a large graph a first pass over targets saves two numbers for each edge and
/// head, and a second pass over sources sums them.
///
/// # Panics
/// As [`edge_attention_backward`], or if a gradient is missing or has another size.
pub fn edge_attention_backward_into(
    layer: &Layer,
    graph: &EdgeList,
    inputs: &Inputs<'_>,
    grad: &[f32],
    edge_grad: Option<&[f32]>,
    mut into: Gradients<&mut [f32]>,
) {
    layer.check(graph, inputs);
    layer.check_backward(graph, inputs, grad, edge_grad, &into);
    let inputs_in_layout = KernelInputs::of(layer, graph, inputs);
    let view = inputs_in_layout.view(layer, graph, inputs);
    let width = layer.width;
    let grad = KernelRows::of(view.lanes, Rows { data: grad, width, ld: width }, graph.nodes());
    let grad = grad.rows();
    let closed = graph.closed_tasks();
    let tasks = closed.map_or_else(|| graph.tasks(), <[_]>::to_vec);
    let per_edge = 2 * view.lanes.head_row();
    let mut saved = closed.is_none().then(|| Workspace::lease(graph.edges() * per_edge));
    let edges = |width: usize| tasks.iter().map(move |task| graph.edges_of(task).len() * width);
    let runs = into.nodes.split(width, &tasks).into_iter();
    let runs = runs.zip(optional_parts(into.edge, edges(width))).zip(optional_parts(into.bias, edges(layer.heads)));
    let runs = runs.zip(optional_parts(saved.as_deref_mut(), edges(per_edge))).zip(&tasks);
    let runs: Vec<_> = runs
        .map(|((((nodes, edge), bias), saved), targets)| backward::AttentionBackward {
            view: &view,
            offsets: graph.offsets(),
            targets: targets.clone(),
            grad,
            edge_grad,
            into: backward::GradientsMut { nodes, edge, bias, saved },
        })
        .collect();
    runs.into_par_iter().for_each(simd::run);
    let Some(saved) = &saved else { return };
    let tasks = graph.tasks_by_source();
    let by_source = graph.by_source();
    let runs = into.nodes.split(width, &tasks).into_par_iter().zip(tasks);
    runs.for_each(|(into, nodes)| {
        simd::run(sources::KeyValueBackward { view: &view, by_source, nodes, grad, edge_grad, saved, into });
    });
}
