//! Edge attention agrees with its definition in double precision, forward and backward. Further
//! properties are tested in `laws`.

mod definition;
mod laws;

use definition::{Case, Given, definition, layer, list, random, random_pairs};
use proptest::prelude::*;
use regard_kernels::dropout::Dropout;
use regard_kernels::graph::{
    EdgeList, Gradients, HeadLayout, Layer, Nodes, Softmax, edge_attention, edge_attention_backward,
    edge_attention_weights,
};

const LAYOUTS: [HeadLayout; 2] = [HeadLayout::Blocks, HeadLayout::Interleaved];
const SOFTMAXES: [Softmax; 3] =
    [Softmax::Stable, Softmax::PUBLISHED_WITH_EDGES, Softmax::Clamped { limit: 2.0, epsilon: 0.5, isolated: 0.0 }];

/// Largest error, relative to the largest value.
const TOLERANCE: f64 = 3e-6;

pub(crate) fn close(found: &[f32], expected: &[f64], what: &str) {
    close_within(TOLERANCE, found, expected, what);
}

fn close_within(tolerance: f64, found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |max, x| max.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*found) - expected).abs() < tolerance * scale, "{what} at {i}: {found} expected {expected}");
    }
}

/// All combinations of inputs.
pub(crate) fn given() -> impl Iterator<Item = Given> {
    (0..8).map(|bits| Given { packed: bits & 1 > 0, edge: bits & 2 > 0, bias: bits & 4 > 0 })
}

/// The gradients of query, key, value, edge factors and bias.
pub(crate) fn gradients(case: &Case, grad: &[f32], edge_grad: Option<&[f32]>) -> [Vec<f32>; 5] {
    let Gradients { nodes, edge, bias } =
        edge_attention_backward(&case.layer, &case.graph, &case.inputs(), grad, edge_grad);
    assert!(edge.is_some() == case.given.edge && bias.is_some() == case.given.bias);
    let [query, key, value] = match nodes {
        Nodes::Separate { query, key, value } => [query, key, value],
        Nodes::Packed(all) => {
            let rows = |which: usize| all.chunks_exact(case.layer.width).skip(which).step_by(3).flatten();
            [0, 1, 2].map(|which| rows(which).copied().collect())
        }
    };
    [query, key, value, edge.unwrap_or_default(), bias.unwrap_or_default()]
}

/// Derivative of `Σ result · grad + Σ products · edge_grad` along a direction in one tensor.
fn slope(case: &Case, grad: &[f32], edge_grad: &[f32], tensor: usize, direction: &[f64]) -> f64 {
    const STEP: f64 = 1e-6;
    let at = |step: f64| -> f64 {
        let mut tensors = case.wide();
        tensors[tensor].iter_mut().zip(direction).for_each(|(x, direction)| *x += step * direction);
        let found = definition(case, &tensors);
        let dot = |x: &[f64], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * f64::from(*y)).sum::<f64>();
        dot(&found.out, grad) + dot(&found.products, edge_grad)
    };
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

/// Compares values, weights and gradients with the definition. Gradients are compared along random
/// directions of signs and, if `axes` is true, along every axis.
fn check(case: &Case, axes: bool) {
    let expected = definition(case, &case.wide());
    let (out, products) = edge_attention(&case.layer, &case.graph, &case.inputs(), case.given.edge);
    // The rounding error of a sum over n edges is up to n · 2⁻²⁴.
    let busiest = case.graph.offsets().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let of_sums = TOLERANCE.max(busiest as f64 * 2f64.powi(-24));
    close_within(of_sums, &out, &expected.out, &format!("{case:?}"));
    close(&products.unwrap_or_default(), &expected.products, &format!("products of {case:?}"));
    let (light, none) = edge_attention(&case.layer, &case.graph, &case.inputs(), false);
    assert!(none.is_none() && light == out, "the result does not depend on products: {case:?}");
    let weights = edge_attention_weights(&case.layer, &case.graph, &case.inputs());
    close(&weights, &expected.weights, &format!("weights of {case:?}"));
    let (grad, edge_grad) = (random(out.len(), 99), random(expected.products.len(), 98));
    let nothing = vec![0.0; edge_grad.len()];
    for edge_grad in [&edge_grad, &nothing] {
        let required = (case.given.edge && edge_grad != &nothing).then_some(&edge_grad[..]);
        let found = gradients(case, &grad, required);
        // The terms of a gradient may cancel, as those of the query do where all edges come from one node. What is left
        // is rounded as the terms were, which are as large as the gradients whose terms do not cancel.
        let norm =
            found.iter().map(|found| found.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt()).fold(0.0, f64::max);
        for (tensor, found) in found.iter().enumerate() {
            assert_eq!(found.len(), case.tensors[tensor].len(), "{tensor}");
            let compare = |direction: &[f64], what: &str| {
                let expected = slope(case, &grad, edge_grad, tensor, direction);
                let found: f64 = found.iter().zip(direction).map(|(x, direction)| f64::from(*x) * direction).sum();
                let far = (found - expected).abs();
                assert!(far < 1e-5 * (1.0 + norm), "{what} of {tensor}: {found} expected {expected}: {case:?}");
            };
            for seed in 0..2 {
                let signs: Vec<f64> = random(found.len(), 200 + seed).iter().map(|x| f64::from(x.signum())).collect();
                compare(&signs, "signs");
            }
            for axis in 0..if axes { found.len() } else { 0 } {
                let mut direction = vec![0.0; found.len()];
                direction[axis] = 1.0;
                compare(&direction, &format!("axis {axis}"));
            }
        }
    }
}

/// Seven nodes with a self loop, parallel edges, a node with outgoing edges only, one with incoming edges
/// only, and an isolated one.
fn small() -> EdgeList {
    list(7, &[(0, 0), (1, 0), (3, 0), (3, 0), (0, 1), (1, 1), (0, 2), (3, 2), (4, 5), (5, 4)])
}

#[test]
fn every_option_agrees_with_its_definition() {
    for (layout, softmax) in LAYOUTS.into_iter().flat_map(|layout| SOFTMAXES.map(|softmax| (layout, softmax))) {
        for given in given() {
            let plain = layer(6, 2, layout, softmax);
            check(&Case::new(plain, given, small(), 4.0), true);
            let dropout = Some(Dropout { rate: 0.3, seed: 5 });
            check(&Case::new(Layer { dropout, ..plain }, given, small(), 4.0), false);
        }
    }
}

#[test]
fn all_widths_and_heads_agree_with_their_definition() {
    let sizes = [(1, 1), (5, 1), (3, 3), (8, 2), (9, 3), (12, 4), (30, 6), (24, 12), (64, 8), (80, 8), (72, 8), (7, 7)];
    let sizes = sizes.into_iter().chain([(16, 16), (48, 16), (64, 32), (96, 24), (40, 20), (128, 8), (160, 16)]);
    for (width, heads) in sizes {
        let graph = || list(9, &random_pairs(9, 30, 3));
        for layout in LAYOUTS {
            let layer = layer(width, heads, layout, Softmax::PUBLISHED_WITH_EDGES);
            for edge in [false, true] {
                check(&Case::new(layer, Given { packed: edge, edge, bias: true }, graph(), 3.0), false);
            }
        }
    }
}

#[test]
fn large_degrees_agree_with_their_definition() {
    // One node with 1000 incoming edges, and one with 700 outgoing edges.
    let mut pairs: Vec<_> = (0..1000).map(|i| (i % 23, 4)).collect();
    pairs.extend((0..700).map(|i| (7, i % 40)));
    for softmax in SOFTMAXES {
        for layout in LAYOUTS {
            for given in given() {
                let plain = layer(16, 4, layout, softmax);
                let mut case = Case::new(plain, given, list(40, &pairs), 6.0);
                // The scores grow along the edges, so that the maximum changes from chunk to chunk.
                for (i, bias) in case.tensors[4].iter_mut().enumerate() {
                    *bias += i as f32 / 300.0;
                }
                check(&case, false);
            }
        }
    }
}

/// The softmax of equal scores does not change with the query and the key: their gradients are all rounding.
#[test]
fn one_node_with_many_self_loops_agrees_with_its_definition() {
    let none = Given { packed: false, edge: false, bias: false };
    let layer = layer(90, 9, HeadLayout::Blocks, Softmax::PUBLISHED_WITH_EDGES);
    check(&Case::new(layer, none, list(1, &[(0, 0); 180]), 3.0), false);
}

/// Many small graphs, whose tasks are closed, and one large graph, which needs the pass over sources.
pub(crate) fn batches() -> [EdgeList; 3] {
    let graphs = (0..120).flat_map(|graph| {
        random_pairs(23, 50, graph as u64).into_iter().map(move |(s, t)| (23 * graph + s, 23 * graph + t))
    });
    let dense = (0..20).flat_map(|graph| {
        random_pairs(50, 800, graph as u64).into_iter().map(move |(s, t)| (50 * graph + s, 50 * graph + t))
    });
    let graphs: Vec<_> = graphs.collect();
    let dense: Vec<_> = dense.collect();
    [list(23 * 120, &graphs), list(1000, &dense), list(1500, &random_pairs(1500, 9000, 4))]
}

#[test]
fn batches_and_large_graphs_agree_with_their_definition() {
    for graph in batches() {
        let all = Given { packed: true, edge: true, bias: true };
        let softmax = Softmax::PUBLISHED_WITH_EDGES;
        let case = Case::new(layer(16, 8, HeadLayout::Interleaved, softmax), all, graph, 4.0);
        check(&case, false);
        let Case { graph, .. } = case;
        let none = Given { packed: false, edge: false, bias: false };
        check(&Case::new(layer(12, 3, HeadLayout::Blocks, Softmax::Stable), none, graph, 4.0), false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_graphs_agree_with_their_definition(
        (nodes, edges) in (1usize..50, 0usize..300),
        (heads, head) in (1usize..10, 1usize..12),
        bits in 0u8..32,
        seed in 0u64..1000,
    ) {
        let given = Given { packed: bits & 1 > 0, edge: bits & 2 > 0, bias: bits & 4 > 0 };
        let softmax = if bits & 8 > 0 { Softmax::Stable } else { Softmax::PUBLISHED_WITH_EDGES };
        let layout = LAYOUTS[usize::from(bits >> 4)];
        let graph = list(nodes, &random_pairs(nodes, edges, seed));
        check(&Case::new(layer(heads * head, heads, layout, softmax), given, graph, 3.0), false);
    }
}
