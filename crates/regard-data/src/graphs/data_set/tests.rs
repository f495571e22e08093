use super::*;
use crate::graphs::{Part, Parts};
use crate::names::FeatureNames;

fn two() -> Graphs {
    let mut a = Graph::new("a", 3);
    a.node_types = vec![1, 0, 1];
    a.node_dense = vec![0.5, 1.5, 2.5];
    a.join(2, 0, 1);
    a.add(1, 1, 0);
    a.add(2, 0, 2);
    let mut b = Graph::new("b", 2);
    b.node_types = vec![0, 0];
    b.node_dense = vec![3.5, 4.5];
    let nodes = Kinds { types: vec!["C".into(), "O".into()], columns: FeatureNames::Named(vec!["mass".into()]) };
    Graphs::new(nodes, Kinds::counted(3), vec![a, b]).unwrap()
}

#[test]
fn edges_lie_by_target_with_what_they_carry() {
    let graphs = two();
    assert_eq!((graphs.node_offsets(), graphs.in_offsets()), (&[0, 3, 5][..], &[0, 2, 3, 4, 4, 4][..]));
    assert_eq!(graphs.sources(), [2, 2, 1, 0]);
    assert_eq!(graphs.edge_features().types(), Some(&[1, 2, 0, 1][..]));
    assert_eq!((graphs.in_degree(0), graphs.graph_of(3), graphs.node_name(4)), (2, 1, "1".to_owned()));
    assert_eq!((graphs.edges_of(0), graphs.edges_of(1)), (0..4, 4..4));
}

#[test]
fn what_is_unusual_is_counted() {
    let census = two().census();
    assert_eq!((census.self_loops, census.repeated, census.one_way, census.isolated), (1, 1, 0, 2));
    let mut one_way = Graph::new("c", 2);
    one_way.add(0, 1, 0);
    let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![one_way, Graph::new("d", 0)]).unwrap();
    let census = graphs.census();
    assert_eq!((census.one_way, census.directed, census.empty, census.isolated), (1, 1, 1, 0));
}

#[test]
fn graphs_are_selected_with_all_that_belongs_to_them() {
    let numbers = |values: &[f64]| values.iter().map(|v| Some(*v)).collect();
    let targets = Targets::numbers(Level::Node, vec!["y".into()], numbers(&[1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
    let parts = Parts { level: Level::Graph, of: vec![Part::Training, Part::Test] };
    let ids = ["u", "v", "w", "x", "y"].map(String::from).to_vec();
    let all = two().with_targets(targets).unwrap().with_parts(parts).unwrap().with_node_ids(ids).unwrap();
    let other = all.select(&[1, 0, 1]);
    assert_eq!(other.ids(), ["b", "a", "b"]);
    assert_eq!(other.in_offsets(), [0, 0, 0, 2, 3, 4, 4, 4]);
    assert_eq!(other.targets().unwrap().as_numbers().unwrap()[2], Some(1.0));
    assert_eq!(other.parts().unwrap().places(Part::Training), [1]);
    assert_eq!((other.node_ids().unwrap()[2].as_str(), other.node_features().dense()[0]), ("u", 3.5));
    assert_eq!(all.select(&[0, 1]), all);
    assert!(all.select(&[]).is_empty());
}

#[test]
fn a_complete_graph_has_no_loops() {
    let full = two().complete();
    assert_eq!(full.sources(), [1, 2, 0, 2, 0, 1, 1, 0]);
    assert_eq!((full.edge_features().types().unwrap(), full.nodes()), (&[0; 8][..], 5));
    assert_eq!(full.node_features(), two().node_features());
}

#[test]
fn what_does_not_fit_is_refused() {
    let said =
        |graph: Graph, nodes: Kinds, edges: Kinds| Graphs::new(nodes, edges, vec![graph]).unwrap_err().to_string();
    let plain = || (Kinds::default(), Kinds::default());
    let mut far = Graph::new("g", 2);
    far.add(0, 2, 0);
    assert_eq!(said(far, plain().0, plain().1), "graph 1: edge 1 has the node 2, expected numbers below 2");
    let untyped = Graph::new("g", 2);
    assert_eq!(said(untyped, Kinds::counted(1), plain().1), "graph 1: has 0 types of nodes, expected 2");
    let mut high = Graph::new("g", 1);
    high.node_types = vec![3];
    assert_eq!(said(high, Kinds::counted(2), plain().1), "graph 1: has nodes of type 3, expected numbers below 2");
    let mut wild = Graph::new("g", 1);
    wild.node_dense = vec![f32::NAN];
    let one = Kinds::columns(FeatureNames::Count(1));
    assert!(said(wild, one, plain().1).contains("has the number NaN"));
    let twice = Kinds::types(["a", "a"]);
    assert_eq!(said(Graph::new("g", 0), twice, plain().1), "nodes: have the type `a` twice");
    let error = two().with_targets(Targets::of_classes(Level::Graph, "y", &[1])).unwrap_err();
    assert_eq!(error.to_string(), "targets: are 1, expected 2");
}

#[test]
fn types_are_brought_into_the_order_of_training() {
    let training = Kinds { types: vec!["O".into(), "N".into(), "C".into()], ..two().node_features().kinds().clone() };
    let aligned = two().align(&training, &Kinds::counted(3), None).unwrap();
    assert_eq!(aligned.node_features().types(), Some(&[0, 2, 0, 2, 2][..]));
    let fewer = Kinds { types: vec!["C".into()], ..training.clone() };
    let error = two().align(&fewer, &Kinds::counted(3), None).unwrap_err();
    assert_eq!(error.to_string(), "graph `a`: node 1 has the type `O`, which is not in the training data");
    let error = two().align(&training, &Kinds::counted(2), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "graph `a`: the edge from node 3 to 1 has the type `2`, which is not in the training data"
    );
    let error = two().align(&Kinds::counted(2), &Kinds::counted(3), None).unwrap_err();
    assert_eq!(error.to_string(), "nodes: have the numbers mass, expected 0 without names as in training");
}
