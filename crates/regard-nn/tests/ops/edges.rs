//! Edge attention: the kernels agree with the composed operations, and further properties.

use std::sync::Arc;

use crate::agreement::{Leaves, agree};
use burn::tensor::{Device, Tensor};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_nn::graph::{GraphLayerConfig, GraphRows};
use regard_nn::ops::{
    EdgeAttentionArgs, EdgeAttentionOptions, EdgeDropout, EdgeList, EdgeSoftmax, HeadLayout, edge_attention,
    edge_attention_composed, edge_attention_weights, edge_messages, set_sums,
};
use regard_testing::{input, values_of};

/// Random edges among `nodes`, with self loops, parallel edges and nodes without incoming edges.
fn random_edges(nodes: usize, most: usize, seed: u64) -> Arc<EdgeList> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut offsets = vec![0];
    let mut sources = vec![];
    for _ in 0..nodes {
        let count = random.random_range(0..=most);
        sources.extend((0..count).map(|_| random.random_range(0..nodes) as u32));
        offsets.push(sources.len());
    }
    Arc::new(EdgeList::new(offsets, sources))
}

fn args(leaves: &Leaves, edge: bool, bias: bool) -> EdgeAttentionArgs {
    let mut at = 2;
    let mut next = |there: bool| {
        there.then(|| {
            at += 1;
            leaves.get::<2>(at)
        })
    };
    let (edge, bias) = (next(edge), next(bias));
    EdgeAttentionArgs { nodes: Tensor::cat(vec![leaves.get(0), leaves.get(1), leaves.get(2)], 1), edge, bias }
}

#[test]
fn kernels_and_composed_operations_agree() {
    for (case, (nodes, most, heads, head)) in
        [(2, 4, 2, 3), (5, 3, 2, 4), (9, 12, 4, 10), (40, 5, 8, 8), (6, 90, 3, 5), (12, 4, 1, 7)]
            .into_iter()
            .enumerate()
    {
        let graph = random_edges(nodes, most, case as u64);
        for softmax in [
            EdgeSoftmax::Stable,
            EdgeSoftmax::PUBLISHED_WITH_EDGES,
            EdgeSoftmax::Clamped { limit: 0.7, epsilon: 0.0, isolated: 0.0 },
        ] {
            for (edge, bias) in [(false, false), (true, false), (false, true), (true, true)] {
                let width = heads * head;
                let mut shapes: Vec<&[usize]> = vec![];
                let (of_nodes, of_edges, of_bias) = ([nodes, width], [graph.edges(), width], [graph.edges(), heads]);
                shapes.extend([&of_nodes[..]; 3]);
                if edge {
                    shapes.push(&of_edges);
                }
                if bias {
                    shapes.push(&of_bias);
                }
                let dropout = Some(EdgeDropout { rate: 0.3, seed: 5 });
                for (dropout, layout) in [
                    (None, HeadLayout::Blocks),
                    (None, HeadLayout::Interleaved),
                    (dropout, HeadLayout::Blocks),
                    (dropout, HeadLayout::Interleaved),
                ] {
                    let plain = EdgeAttentionOptions::new(width, heads, softmax);
                    let options = EdgeAttentionOptions { dropout, layout, ..plain };
                    agree(&shapes, |leaves| {
                        let (nodes, edges) = edge_attention(args(leaves, edge, bias), &graph, &options);
                        let rows = match edges.filter(|edges| edges.dims()[0] > 0) {
                            Some(edges) => Tensor::cat(vec![nodes, edges], 0),
                            None => nodes,
                        };
                        rows.unsqueeze_dim(0)
                    });
                }
            }
        }
    }
}

#[test]
fn graphs_without_edges_give_the_isolated_value() {
    let (device, graph) = (Device::flex(), Arc::new(EdgeList::new(vec![0, 0, 0], vec![])));
    let rows = |count: usize, width: usize| -> Tensor<2> { input([count, width], 1, &device) };
    let args = EdgeAttentionArgs { nodes: rows(2, 12), edge: Some(rows(0, 4)), bias: None };
    for (softmax, expected) in [(EdgeSoftmax::Stable, 0.0), (EdgeSoftmax::PUBLISHED_WITH_EDGES, 0.0)] {
        let (nodes, edges) = edge_attention(args.clone(), &graph, &EdgeAttentionOptions::new(4, 2, softmax));
        assert!(values_of(&nodes).iter().all(|&x| x == expected));
        assert_eq!(edges.map(|edges| edges.dims()), Some([0, 4]));
    }
    let (nodes, _) = edge_attention(args, &graph, &EdgeAttentionOptions::new(4, 2, EdgeSoftmax::PUBLISHED));
    assert!(values_of(&nodes).iter().all(|x| x.is_nan()));
}

#[test]
fn weights_of_incoming_edges_sum_to_one() {
    let (device, graph) = (Device::flex(), random_edges(20, 6, 3));
    let tensor = |rows: usize, seed: u64| -> Tensor<2> { input([rows, 12], seed, &device) };
    let value = tensor(20, 3);
    let args = EdgeAttentionArgs {
        nodes: Tensor::cat(vec![tensor(20, 1), tensor(20, 2), value.clone()], 1),
        edge: Some(tensor(graph.edges(), 4)),
        bias: None,
    };
    let options = EdgeAttentionOptions::new(12, 3, EdgeSoftmax::Stable);
    let weights = values_of(&edge_attention_weights(args.clone(), &graph, &options));
    for pair in graph.offsets().windows(2).filter(|pair| pair[0] < pair[1]) {
        for head in 0..3 {
            let sum: f32 = (pair[0]..pair[1]).map(|edge| weights[edge * 3 + head]).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        }
    }
    // The attention is the weighted mean of the values.
    let (out, _) = edge_attention_composed(args.clone(), &graph, &options);
    let (out, value) = (values_of(&out), values_of(&value));
    for node in 0..20 {
        for channel in 0..12 {
            let edges = graph.offsets()[node]..graph.offsets()[node + 1];
            let sum: f32 = edges
                .map(|edge| weights[edge * 3 + channel / 4] * value[graph.sources()[edge] as usize * 12 + channel])
                .sum();
            assert!((out[node * 12 + channel] - sum).abs() < 1e-4);
        }
    }
}

#[test]
fn sums_of_sets_agree() {
    for (lengths, width) in [(&[2, 0, 5, 1][..], 3), (&[0, 0, 1], 17), (&[700, 3, 0, 90], 8)] {
        let mut offsets = vec![0];
        lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let offsets: Arc<[usize]> = offsets.into();
        let rows = *offsets.last().unwrap();
        agree(&[&[rows, width]], |leaves| set_sums(leaves.get(0), &offsets).unsqueeze_dim(0));
    }
}

#[test]
fn a_layer_with_edge_sums_depends_on_the_number_of_edges() {
    let device = Device::flex();
    // One node receives one edge and another three equal edges, from equal nodes.
    let graph = Arc::new(EdgeList::new(vec![0, 1, 4, 4, 4, 4], vec![2, 2, 3, 4]));
    let alike = |rows: usize| -> Tensor<2> { input::<2>([1, 8], 7, &device).repeat_dim(0, rows) };
    let rows = || GraphRows { nodes: alike(5), edges: Some(alike(4)) };
    let plain = GraphLayerConfig::new(8, 2).with_edges(true).with_stable_softmax(true).with_batch_norm(false);
    for (sums, apart) in [(false, false), (true, true)] {
        let nodes = values_of(&plain.with_edge_sums(sums).init(&device).forward(rows(), None, &graph).nodes);
        let difference = nodes[..8].iter().zip(&nodes[8..16]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert_eq!(difference > 1e-3, apart, "{difference}");
    }
    // The kernels agree with the composed operations.
    let graph = random_edges(9, 4, 2);
    for config in [plain.with_edge_sums(true), plain.with_messages(true).with_edge_updates(false)] {
        let layer = config.init(&Leaves::device());
        agree(&[&[9, 8], &[graph.edges(), 8]], |leaves| {
            let rows = GraphRows { nodes: leaves.get(0), edges: Some(leaves.get(1)) };
            layer.forward(rows, None, &graph).nodes.unsqueeze_dim(0)
        });
    }
}

#[test]
fn messages_are_summed_over_the_edges_into_a_node() {
    let device = Device::flex();
    let graph = random_edges(9, 4, 2);
    let (x, edge) = (input::<2>([9, 8], 1, &device), input::<2>([graph.edges(), 8], 2, &device));
    for with_edges in [false, true] {
        let given = with_edges.then(|| edge.clone());
        let sums = values_of(&edge_messages(x.clone(), given, &graph, 2));
        let (x, edge) = (values_of(&x), values_of(&edge));
        for (node, pair) in graph.offsets().windows(2).enumerate() {
            for channel in 0..8 {
                let message = |at: usize| {
                    let of_edge = if with_edges { edge[at * 8 + channel] } else { 0.0 };
                    let of_edge = of_edge.signum() * of_edge.abs().ln_1p();
                    (x[graph.sources()[at] as usize * 8 + channel] + of_edge).max(0.0)
                };
                let expected: f32 = (pair[0]..pair[1]).map(message).sum();
                assert!((sums[node * 8 + channel] - expected).abs() < 1e-5, "{node} {channel}");
            }
        }
    }
    // Edges keep their rows.
    let layer = GraphLayerConfig::new(8, 2).with_edges(true).with_messages(true).with_edge_updates(false).init(&device);
    let after = layer.forward(GraphRows { nodes: x, edges: Some(edge.clone()) }, None, &graph).edges.unwrap();
    assert_eq!(values_of(&after), values_of(&edge));
}
