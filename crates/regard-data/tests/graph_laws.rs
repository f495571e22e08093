//! Laws of graphs, batches and positions, on random ones.

use proptest::prelude::*;
use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_data::graphs::{Graph, Graphs, Kinds};
use regard_data::sets::FeatureNames;

/// Graphs of 0 to 50 nodes with any edges: one way, repeated, loops; not connected.
fn graphs() -> impl Strategy<Value = Graphs> {
    let graph = (0..50usize).prop_flat_map(|nodes| {
        let most = if nodes == 0 { 0 } else { 80 };
        let end = 0..nodes.max(1) as u32;
        prop::collection::vec((end.clone(), end, 0..3u32), 0..=most).prop_map(move |edges| {
            let mut graph = Graph::new("g", nodes);
            graph.node_types = (0..nodes as u32).map(|node| node % 2).collect();
            for (source, target, kind) in edges {
                graph.add(source, target, kind);
                graph.edge_dense.push(source as f32 - target as f32);
            }
            graph
        })
    });
    prop::collection::vec(graph, 1..5).prop_map(|all| {
        let edges = Kinds { types: vec!["a".into(), "b".into(), "c".into()], columns: FeatureNames::Count(1) };
        Graphs::new(Kinds::counted(2), edges, all).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_is_the_graphs_side_by_side(all in graphs()) {
        let everything: Vec<usize> = (0..all.len()).collect();
        prop_assert_eq!(&all.select(&everything), &all);
        let batch = all.batch(&everything);
        prop_assert_eq!((batch.nodes(), batch.edges()), (all.nodes(), all.edges()));
        prop_assert_eq!(&batch.in_offsets[..], all.in_offsets());
        prop_assert_eq!(&batch.edge_dense[..], all.edge_features().dense());
        for target in 0..batch.nodes() {
            for edge in batch.in_offsets[target]..batch.in_offsets[target + 1] {
                let source = batch.sources[edge] as usize;
                prop_assert_eq!(all.graph_of(source), all.graph_of(target));
                // What an edge carries has gone with it.
                prop_assert_eq!(batch.edge_dense[edge], source as f32 - target as f32);
            }
        }
        let census = all.census();
        prop_assert!(census.isolated <= all.nodes() && census.one_way <= all.edges());
        prop_assert_eq!(all.complete().edges(), (0..all.len()).map(|g| all.nodes_of(g).len().pow(2)).sum::<usize>() - all.nodes());
    }

    #[test]
    fn positions_are_finite_orthonormal_and_of_each_graph_alone(all in graphs(), k in 0..9usize) {
        for encoding in [
            Encoding::None,
            Encoding::Laplacian { k, nulls: Nulls::SkipFirst },
            Encoding::Laplacian { k, nulls: Nulls::SkipAll },
            Encoding::WeisfeilerLehman,
            Encoding::RandomWalk { steps: k },
        ] {
            let positions = Positions::compute(&all, &encoding, &|_, _| ());
            prop_assert_eq!(positions.values().len(), all.nodes() * encoding.width());
            prop_assert!(positions.values().iter().all(|v| v.is_finite() && v.abs() < 1.0 + 1e-4));
            prop_assert!(positions.indices().iter().all(|index| *index > 0));
            let last = all.len() - 1;
            let alone = Positions::compute(&all.select(&[last]), &encoding, &|_, _| ());
            prop_assert_eq!(alone.values(), &positions.of(&all, &[last])[..]);
            if let Encoding::Laplacian { .. } = encoding {
                for graph in 0..all.len() {
                    let rows = positions.of(&all, &[graph]);
                    let filled = positions.filled()[graph] as usize;
                    prop_assert!(filled <= k.min(all.nodes_of(graph).len()));
                    for (a, b) in (0..k).flat_map(|a| (a..k).map(move |b| (a, b))) {
                        let dot: f32 = rows.chunks_exact(k).map(|row| row[a] * row[b]).sum();
                        let expected = if a == b && a < filled { 1.0 } else { 0.0 };
                        prop_assert!((dot - expected).abs() < 1e-4, "{a} {b}: {dot}");
                    }
                }
            }
        }
    }
}
