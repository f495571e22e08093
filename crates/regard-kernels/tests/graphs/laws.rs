//! Properties of edge attention: isolated nodes and extreme scores have defined results, the result does not
//! depend on the numbering of nodes and edges, and its bits do not depend on the number of threads.

use proptest::prelude::*;
use regard_kernels::dropout::Dropout;
use regard_kernels::graph::{EdgeList, HeadLayout, Layer, Softmax, edge_attention, edge_attention_weights};

use crate::{
    batches, close,
    definition::{Case, Given, layer, list, random, random_pairs},
    given, gradients,
};

#[test]
fn graphs_without_edges_or_nodes_are_defined() {
    for nodes in [0, 1, 3] {
        for given in given() {
            for (softmax, isolated) in
                [(Softmax::Stable, 0.0), (Softmax::PUBLISHED_WITH_EDGES, 0.0), (Softmax::PUBLISHED, f32::NAN)]
            {
                let case = Case::new(layer(8, 2, HeadLayout::Blocks, softmax), given, list(nodes, &[]), 1.0);
                let (out, _) = edge_attention(&case.layer, &case.graph, &case.inputs(), given.edge);
                assert!(out.len() == nodes * 8 && out.iter().all(|x| x.to_bits() == isolated.to_bits()));
                let all = gradients(&case, &vec![1.0; out.len()], None);
                assert!(all.iter().flatten().all(|x| *x == 0.0));
            }
        }
    }
}

#[test]
fn an_isolated_node_is_nan_as_in_the_authors_code() {
    let layer = layer(8, 2, HeadLayout::Blocks, Softmax::PUBLISHED);
    let case = Case::new(layer, Given { packed: true, edge: false, bias: false }, list(3, &[(0, 0), (2, 1)]), 1.0);
    let (out, _) = edge_attention(&case.layer, &case.graph, &case.inputs(), false);
    assert!(out[..16].iter().all(|x| x.is_finite()) && out[16..].iter().all(|x| x.is_nan()));
    let all = gradients(&case, &out[..].iter().map(|x| if x.is_nan() { 1.0 } else { *x }).collect::<Vec<_>>(), None);
    assert!(all.iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn extreme_scores_stay_finite() {
    let tensors = |spread: f32| {
        let mut tensors = [24, 24, 24, 10 * 8, 10 * 2].map(|size| random(size, 3));
        [0, 4].into_iter().for_each(|i| tensors[i].iter_mut().for_each(|x| *x *= spread));
        tensors
    };
    let graph = || list(3, &random_pairs(3, 10, 1));
    for softmax in [Softmax::Stable, Softmax::PUBLISHED, Softmax::PUBLISHED_WITH_EDGES] {
        let all = Given { packed: false, edge: true, bias: true };
        let case = Case::of(layer(8, 2, HeadLayout::Blocks, softmax), all, graph(), tensors(1e6));
        let (out, _) = edge_attention(&case.layer, &case.graph, &case.inputs(), true);
        assert!(out.iter().chain(gradients(&case, &out, None).iter().flatten()).all(|x| x.is_finite()));
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for graph in batches() {
        for (width, heads, layout) in [(32, 8, HeadLayout::Interleaved), (30, 3, HeadLayout::Blocks)] {
            let graph = EdgeList::new(graph.offsets().to_vec(), graph.sources().to_vec());
            let dropout = Some(Dropout { rate: 0.1, seed: 9 });
            let layer = Layer { dropout, ..layer(width, heads, layout, Softmax::Stable) };
            let case = Case::new(layer, Given { packed: true, edge: true, bias: true }, graph, 4.0);
            let step = || {
                let (out, products) = edge_attention(&case.layer, &case.graph, &case.inputs(), true);
                let weights = edge_attention_weights(&case.layer, &case.graph, &case.inputs());
                let all = gradients(&case, &out, products.as_deref()).into_iter().flatten();
                let values = out.iter().copied().chain(products.iter().flatten().copied()).chain(weights);
                values.chain(all).map(f32::to_bits).collect::<Vec<_>>()
            };
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(step)
            };
            let one = with(1);
            assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one), "{case:?}");
        }
    }
}

/// The same graph with nodes and edges in another order.
fn renumbered(case: &Case, pairs: &[(usize, usize)], nodes: &[usize], edges: &[usize]) -> (Case, Vec<usize>) {
    let moved: Vec<_> = edges.iter().map(|e| (nodes[pairs[*e].0], nodes[pairs[*e].1])).collect();
    // Index of each edge of the new list in the old one; both lists are sorted stably by target.
    let by_target = |pairs: &[(usize, usize)]| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by_key(|e| pairs[*e].1);
        order
    };
    let old = by_target(pairs);
    let place: Vec<usize> = (0..old.len()).map(|e| old.iter().position(|x| *x == e).unwrap_or(0)).collect();
    let order: Vec<usize> = by_target(&moved).iter().map(|e| place[edges[*e]]).collect();
    let Layer { width, heads, .. } = case.layer;
    let node_rows = |rows: &[f32]| {
        let mut moved = rows.to_vec();
        nodes.iter().enumerate().for_each(|(old, new)| {
            moved[new * width..][..width].copy_from_slice(&rows[old * width..][..width]);
        });
        moved
    };
    let edge_rows = |rows: &[f32], width: usize| -> Vec<f32> {
        if rows.is_empty() {
            Vec::new()
        } else {
            order.iter().flat_map(|e| &rows[e * width..][..width]).copied().collect()
        }
    };
    let [query, key, value, edge, bias] = &case.tensors;
    let tensors = [node_rows(query), node_rows(key), node_rows(value), edge_rows(edge, width), edge_rows(bias, heads)];
    (Case::of(case.layer, case.given, list(nodes.len(), &moved), tensors), order)
}

/// The numbers `0..len` in a random order.
fn shuffled(len: usize, seed: u64) -> Vec<usize> {
    let keys = random(len, seed);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbering_of_nodes_and_edges_does_not_matter(
        (nodes, edges) in (1usize..40, 0usize..200),
        seed in 0u64..1000,
    ) {
        let pairs = random_pairs(nodes, edges, seed);
        let given = Given { packed: true, edge: true, bias: true };
        let layer = layer(12, 3, HeadLayout::Blocks, Softmax::Stable);
        let case = Case::new(layer, given, list(nodes, &pairs), 2.0);
        let order = shuffled(nodes, seed + 1);
        let (moved, edge_order) = renumbered(&case, &pairs, &order, &shuffled(edges, seed + 2));
        let (out, products) = edge_attention(&layer, &case.graph, &case.inputs(), true);
        let (found, found_products) = edge_attention(&layer, &moved.graph, &moved.inputs(), true);
        let wide = |x: &f32| f64::from(*x);
        for (old, new) in order.iter().enumerate() {
            let expected: Vec<f64> = out[old * 12..][..12].iter().map(wide).collect();
            close(&found[new * 12..][..12], &expected, "nodes");
        }
        let (products, found_products) = (products.unwrap_or_default(), found_products.unwrap_or_default());
        for (new, old) in edge_order.iter().enumerate() {
            let expected: Vec<f64> = products[old * 12..][..12].iter().map(wide).collect();
            close(&found_products[new * 12..][..12], &expected, "edges");
        }
    }
}
