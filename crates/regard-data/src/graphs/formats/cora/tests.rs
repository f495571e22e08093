use super::*;
use crate::graphs::Part;

fn read(nodes: &str, edges: &str) -> Result<Graphs> {
    parse(nodes, Path::new("n.txt"), edges, Path::new("e.txt"))
}

#[test]
fn papers_have_words_labels_and_parts() {
    let graphs = read("# id label split\n1 b val 0\n0 a train 2\n2 a none\n", "0 1\n1 0\n").unwrap();
    assert_eq!(graphs.node_features().dense(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(graphs.targets().unwrap().classes(0).unwrap().of, [Some(0), Some(1), Some(0)]);
    assert_eq!(graphs.parts().unwrap().places(Part::Validation), [1]);
    assert_eq!((graphs.edges(), graphs.census().merged, graphs.census().isolated), (2, 1, 1));
}

#[test]
fn malformed_files_are_refused_with_place_and_expectation() {
    for (nodes, edges, expected) in [
        ("", "", "n.txt: has no nodes, expected at least one"),
        ("x a train\n", "", "n.txt:1: field `id`: found `x`, expected a number"),
        ("0\n", "", "n.txt:1: field `label`: is missing, expected label"),
        ("0 a left\n", "", "n.txt:1: field `split`: found `left`, expected train, val, test or none"),
        ("0 a train -1\n", "", "n.txt:1: field `feature`: found `-1`, expected the number of a feature"),
        ("0 a train\n0 a train\n", "", "n.txt:2: field `id`: `0` occurs a second time"),
        ("0 a train\n5 a train\n", "", "n.txt:2: field `id`: is `5`, and there is no node 1"),
        (
            "0 a train 4000000000\n",
            "",
            "n.txt: would be 1 nodes of 4000000001 features when made dense, which is too much",
        ),
        ("0 a train\n", "0 1\n", "e.txt:1: field `target`: found `1`, expected the id of a node"),
        ("0 a train\n", "0\n", "e.txt:1: field `target`: is missing, expected target"),
        ("0 a train\n", "0 0 0\n", "e.txt:1: has `0` where nothing more is expected"),
    ] {
        match read(nodes, edges) {
            Ok(graphs) => panic!("accepted {nodes:?} as {graphs:?}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{nodes:?}"),
        }
    }
}
