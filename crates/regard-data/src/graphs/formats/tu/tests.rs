use super::*;

fn read(text: &str) -> Result<Graphs> {
    parse(text, Path::new("tu.txt"), &ReadOptions::default())
}

#[test]
fn graphs_have_tags_attributes_and_labels() {
    let graphs = read("2\n3 1\n7 1 1 0.5\n-2 2 0 2 1.5\n7 1 1 2\n\n1 -1\n3 1 0 4\n").unwrap();
    assert_eq!(graphs.node_features().type_names(), ["-2", "3", "7"]);
    assert_eq!(graphs.node_features().types(), Some(&[2, 0, 2, 1][..]));
    assert_eq!(graphs.node_features().dense(), [0.5, 1.5, 2.0, 4.0]);
    assert_eq!((graphs.in_offsets(), graphs.sources()), (&[0, 1, 3, 4, 5][..], &[1, 0, 2, 1, 0][..]));
    assert_eq!(graphs.targets().unwrap().classes(0).unwrap().of, [Some(1), Some(0)]);
    assert_eq!((graphs.census().self_loops, graphs.line(1)), (1, Some(7)));
    let directed = ReadOptions { directed: true, ..ReadOptions::default() };
    let graphs = parse("1\n2 0\n0 1 1\n0 0\n", Path::new("tu.txt"), &directed).unwrap();
    assert_eq!((graphs.sources(), graphs.in_offsets()), (&[1][..], &[0, 1, 1][..]));
}

#[test]
fn malformed_files_are_refused_with_place_and_expectation() {
    for (text, expected) in [
        ("", "tu.txt: is empty, expected the number of graphs"),
        ("x\n", "tu.txt:1: field `graphs`: found `x`, expected the number of graphs"),
        ("1 2\n", "tu.txt:1: has `2` where nothing more is expected"),
        ("0\n", "tu.txt:1: says that there are no graphs, expected at least one"),
        ("2\n0 1\n", "tu.txt: has 1 graphs, expected 2 as the first line says"),
        (
            "99999999999999999999\n",
            "tu.txt:1: field `graphs`: found `99999999999999999999`, expected the number of graphs",
        ),
        ("9999999999999\n1 0\n0 0\n", "tu.txt: has 1 graphs, expected 9999999999999 as the first line says"),
        ("1\n4000000000 1\n0 0\n", "tu.txt:2: ends after 1 of the 4000000000 nodes of this graph"),
        ("1\n2\n", "tu.txt:2: field `label`: is missing, expected label"),
        ("1\n1 0 5\n", "tu.txt:2: has `5` where nothing more is expected"),
        ("1\n1 0\na 0\n", "tu.txt:3: field `tag`: found `a`, expected the tag of a node, an integer"),
        ("1\n1 0\n0 1 1\n", "tu.txt:3: field `neighbour`: found `1`, expected a number below 1"),
        ("1\n1 0\n0 3 0\n", "tu.txt:3: field `neighbour`: is missing, expected neighbour"),
        ("1\n1 0\n0 1 -1\n", "tu.txt:3: field `neighbour`: found `-1`, expected a number below 1"),
        ("1\n2 0\n0 0 1.5\n0 0\n", "tu.txt:4: field `attribute`: are 0, expected 1 as on line 3"),
        ("1\n1 0\n0 0 nan\n", "tu.txt:3: field `attribute`: found `nan`, expected a finite number"),
        ("1\n0 0\n0 0\n", "tu.txt:3: stands below the last of 1 graphs"),
    ] {
        match read(text) {
            Ok(graphs) => panic!("accepted {text:?} as {graphs:?}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{text:?}"),
        }
    }
}

#[test]
fn folds_are_read_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    assert!(read_folds(folder.path(), 3).unwrap_err().to_string().contains("train_idx-1.txt"));
    write("train_idx-1.txt", "0\n2\n");
    write("test_idx-1.txt", "1\n");
    let folds = read_folds(folder.path(), 3).unwrap();
    assert_eq!(folds, [Fold { training: vec![0, 2], test: vec![1] }]);
    let said = |count| {
        let error = read_folds(folder.path(), count).unwrap_err().to_string();
        error.rsplit('/').next().unwrap().to_owned()
    };
    assert_eq!(said(2), "train_idx-1.txt:2: found graph 2, expected a number below 2");
    write("test_idx-1.txt", "2\n");
    assert_eq!(said(3), "test_idx-1.txt: has graph 2, which is in the training set of its fold");
    write("test_idx-1.txt", "1\n1\n");
    assert_eq!(said(3), "test_idx-1.txt:2: has graph 1 twice");
    write("test_idx-1.txt", "one\n");
    assert_eq!(said(3), "test_idx-1.txt:1: found `one`, expected the number of a graph");
    write("a.index", "0,2\n1\n");
    assert_eq!(read_index(folder.path().join("a.index"), 3).unwrap(), [vec![0, 2], vec![1]]);
}

#[test]
fn cut_and_damaged_texts_never_panic() {
    let text = "2\n2 1\n7 1 1 0.5\n2 1 0 1.5\n1 -1\n3 0 4\n";
    for at in 0..text.len() {
        let _ = read(&text[..at]);
        for new in ["", "-", "9", " ", "\n", "x"] {
            let _ = read(&format!("{}{new}{}", &text[..at], &text[at + 1..]));
        }
    }
}
