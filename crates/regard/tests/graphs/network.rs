//! Predictions of a network, and gradients of its weights.

use regard::Device;
use regard::data::graphs::{Graph, Graphs, Kinds};
use regard::graphs::model::{PRESETS, PositionKind};
use regard::graphs::source::unlabelled;
use regard::graphs::{GraphTransformer, GraphTransformerConfig};
use regard::store::NetworkConfig;

/// Two triangles with a tail each; the second has its nodes in another order.
fn twins() -> Graphs {
    let mut first = Graph::new("a", 5);
    let mut second = Graph::new("b", 5);
    let place = [3, 0, 4, 1, 2];
    let types = [0u32, 1, 0, 2, 1];
    first.node_types = types.to_vec();
    second.node_types = vec![0; 5];
    for (node, kind) in types.iter().enumerate() {
        second.node_types[place[node]] = *kind;
    }
    for (a, b, kind) in [(0, 1, 0), (1, 2, 1), (2, 0, 0), (2, 3, 1), (3, 4, 0)] {
        first.join(a, b, kind);
        second.join(place[a as usize] as u32, place[b as usize] as u32, kind);
    }
    Graphs::new(Kinds::counted(3), Kinds::counted(2), vec![first, second]).unwrap()
}

/// A preset on the types of [`twins`], small.
fn small(preset: GraphTransformerConfig) -> GraphTransformerConfig {
    GraphTransformerConfig { node_types: 3, edge_types: 2, width: 16, heads: 4, layers: 2, ..preset }
}

#[test]
fn an_answer_depends_neither_on_the_order_of_nodes_nor_on_the_batch() {
    let device = Device::flex();
    for (preset, edge_sums) in PRESETS.iter().flat_map(|preset| [(preset, false), (preset, true)]) {
        let config = GraphTransformerConfig {
            edge_sums,
            messages: !edge_sums,
            edge_updates: edge_sums,
            composition_features: edge_sums,
            layers: 3,
            positions: PositionKind::RandomWalk,
            position_size: 4,
            ..small(GraphTransformerConfig::preset(preset).unwrap())
        };
        let network = GraphTransformer::new(&config, &device).unwrap();
        let all = unlabelled(&config, twins());
        let answers = |graphs: &[usize]| -> Vec<f32> {
            network.forward(&all.input(&config, graphs, None), &device).into_data().iter::<f32>().collect()
        };
        let (both, alone) = (answers(&[0, 1]), answers(&[1]));
        assert!((both[0] - both[1]).abs() < 1e-5, "{preset}: {both:?}");
        assert!((both[1] - alone[0]).abs() < 1e-5, "{preset}: {both:?} {alone:?}");
    }
}

#[test]
fn lonely_nodes_and_empty_graphs_have_an_answer() {
    let device = Device::flex();
    let graphs = || {
        let mut lonely = Graph::new("lonely", 2);
        lonely.node_types = vec![0, 1];
        let mut pair = Graph::new("pair", 3);
        pair.node_types = vec![0, 1, 2];
        pair.join(0, 1, 0);
        Graphs::new(Kinds::counted(3), Kinds::counted(2), vec![lonely, Graph::new("nothing", 0), pair]).unwrap()
    };
    for readout in ["mean", "sum", "max", "attention"] {
        let config = GraphTransformerConfig {
            readout: serde_json::from_value(readout.into()).unwrap(),
            ..small(GraphTransformerConfig::regard_graph())
        };
        let network = GraphTransformer::new(&config, &device).unwrap();
        let all = unlabelled(&config, graphs());
        for chosen in [&[0, 1, 2][..], &[0], &[1], &[]] {
            let answers = network.forward(&all.input(&config, chosen, None), &device);
            assert_eq!(answers.dims(), [chosen.len(), 1]);
            assert!(answers.into_data().iter::<f32>().all(f32::is_finite), "{readout} {chosen:?}");
        }
    }
}

#[test]
fn every_parameter_gets_a_gradient() {
    let device = Device::flex().autodiff();
    for (readout, edge_updates) in [("mean", true), ("sum", false), ("max", true), ("attention", false)] {
        let config = GraphTransformerConfig {
            edge_sums: true,
            messages: !edge_updates,
            edge_updates,
            composition_features: true,
            position_size: 4,
            readout: serde_json::from_value(readout.into()).unwrap(),
            ..small(GraphTransformerConfig::regard_graph())
        };
        let gradients = || {
            let network = GraphTransformer::new(&config, &device).unwrap();
            let input = unlabelled(&config, twins()).input(&config, &[0, 1], None);
            let found = network.forward(&input, &device).square().sum().backward();
            network.gradients(&config, &found)
        };
        let found = gradients();
        // Nobody reads what edges are behind the last layer.
        let read =
            |name: &str| !name.starts_with("layers.1.") || !name.contains("_e") || name.contains("attention.proj_e");
        for slot in config.param_specs().iter().filter(|slot| slot.trainable && read(&slot.name)) {
            let array = found.get(&slot.name).unwrap_or_else(|| panic!("{readout}: none of {}", slot.name));
            assert!(array.data.iter().all(|value| value.is_finite()), "{readout}: {}", slot.name);
        }
        // A single draw of weights may have no hidden unit of the read-out above 0.
        let reaches = |_| gradients()["composition.weight"].data.iter().any(|value| *value != 0.0);
        assert!((0..20).any(reaches), "{readout}");
    }
}
