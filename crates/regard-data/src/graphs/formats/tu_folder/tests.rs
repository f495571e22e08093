use super::*;

fn said(files: &[(&str, &str)]) -> Result<Graphs, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(format!("DS_{name}.txt")), text).unwrap();
    }
    read(folder.path()).map_err(|error| error.to_string().rsplit('/').next().unwrap().to_owned())
}

#[test]
fn all_files_are_read() {
    let graphs = said(&[
        ("A", "1, 2\n2, 1\n3, 3\n"),
        ("graph_indicator", "1\n1\n2\n"),
        ("graph_labels", "-1\n1\n"),
        ("node_labels", "5\n3\n5\n"),
        ("node_attributes", "0.5, 1\n2, 3\n4, 5\n"),
        ("edge_labels", "0\n0\n1\n"),
        ("edge_attributes", "7\n8\n9\n"),
    ])
    .unwrap();
    assert_eq!((graphs.node_offsets(), graphs.sources()), (&[0, 2, 3][..], &[1, 0, 0][..]));
    assert_eq!(graphs.node_features().types(), Some(&[1, 0, 1][..]));
    assert_eq!((graphs.node_features().width(), graphs.edge_features().dense()), (2, &[8.0, 7.0, 9.0][..]));
    assert_eq!(graphs.targets().unwrap().classes(0).unwrap().of, [Some(0), Some(1)]);
}

#[test]
fn malformed_files_are_refused_with_place_and_expectation() {
    let one = ("graph_indicator", "1\n1\n2\n");
    for (files, expected) in [
        (vec![("A", ""), ("graph_indicator", "")], "DS_graph_indicator.txt: has no nodes, expected at least one"),
        (vec![("A", ""), ("graph_indicator", "1\n3\n")], "DS_graph_indicator.txt:2: found `3`, expected graph 1 or 2"),
        (vec![("A", ""), ("graph_indicator", "x\n")], "DS_graph_indicator.txt:1: found `x`, expected graph 1 or 1"),
        (vec![("A", "1, 9\n"), one], "DS_A.txt:1: found node 9, expected a number from 1 to 3"),
        (vec![("A", "1 2\n"), one], "DS_A.txt:1: found `1 2`, expected `source, target`"),
        (vec![("A", "1, 3\n"), one], "DS_A.txt:1: joins nodes of two graphs"),
        (vec![("A", "1, b\n"), one], "DS_A.txt:1: found `b`, expected a node"),
        (vec![("A", ""), one, ("graph_labels", "1\n")], "DS_graph_labels.txt: has 1 lines, expected 2"),
        (vec![("A", ""), one, ("node_labels", "1\n")], "DS_node_labels.txt: has 1 lines, expected 3"),
        (
            vec![("A", ""), one, ("node_attributes", "1\n1, 2\n3\n")],
            "DS_node_attributes.txt:2: has 2 numbers, expected 1",
        ),
        (
            vec![("A", ""), one, ("node_attributes", "1\nx\n3\n")],
            "DS_node_attributes.txt:2: found `x`, expected a number",
        ),
    ] {
        assert_eq!(said(&files).unwrap_err(), expected);
    }
    assert!(said(&[]).unwrap_err().ends_with("has no file that ends in `_A.txt`, expected the edges of a data set"));
}
