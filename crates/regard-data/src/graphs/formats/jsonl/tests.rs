use super::*;
use crate::graphs::Part;

fn read(text: &str) -> Result<Graphs> {
    parse(text, Path::new("g.jsonl"), &ReadOptions::default())
}

#[test]
fn edges_listed_once_go_both_ways() {
    let text = "{\"id\": 7, \"split\": \"train\", \"x\": [0, 2, 1], \"e\": [[2, 0, 1], [1, 2, 3], [2, 1, 3]], \"y\": 0.5}\n\n\
        {\"split\": \"test\", \"x\": [], \"e\": [], \"y\": null}\n";
    let graphs = read(text).unwrap();
    assert_eq!((graphs.ids(), graphs.node_offsets()), (&["7".to_owned(), "2".to_owned()][..], &[0, 3, 3][..]));
    assert_eq!((graphs.in_offsets(), graphs.sources()), (&[0, 1, 2, 4][..], &[2, 2, 0, 1][..]));
    assert_eq!(graphs.edge_features().types(), Some(&[1, 3, 1, 3][..]));
    assert_eq!((graphs.node_features().type_names().len(), graphs.edge_features().type_names().len()), (3, 4));
    assert_eq!(graphs.targets().unwrap().as_numbers().unwrap()[..], [Some(0.5), None]);
    assert_eq!(graphs.parts().unwrap().places(Part::Test), [1]);
    assert_eq!((graphs.census().merged, graphs.census().empty, graphs.line(1)), (1, 1, Some(3)));
}

#[test]
fn edges_by_index_go_one_way() {
    let text = "{\"x\": [[1, 2.5], [3, 4]], \"edge_index\": [[0, 1, 1], [1, 0, 0]], \"edge_attr\": [[1], [2], [3]], \
        \"y\": [1, null]}\n{\"x\": [[0, 0]], \"edge_index\": [[], []], \"y\": null}\n";
    let graphs = read(text).unwrap();
    assert_eq!((graphs.node_features().width(), graphs.node_features().dense()[1]), (2, 2.5));
    assert_eq!((graphs.edge_features().width(), graphs.edge_features().dense()), (1, &[2.0, 3.0, 1.0][..]));
    assert_eq!(graphs.edge_features().types(), None);
    assert_eq!((graphs.census().repeated, graphs.targets().unwrap().tasks().len()), (1, 2));
    let nodes = read("{\"num_nodes\": 2, \"edge_index\": [[0], [1]], \"node_y\": [\"a\", null]}\n").unwrap();
    assert_eq!(nodes.targets().unwrap().level(), crate::graphs::Level::Node);
    assert_eq!((nodes.targets().unwrap().missing(), nodes.census().one_way), (1, 1));
}

#[test]
fn malformed_lines_are_refused_with_place_and_expectation() {
    for (text, expected) in [
        ("", "g.jsonl: has no graphs, expected at least one"),
        ("[1]\n", "g.jsonl:1: is not an object"),
        ("{\"x\": [1]\n", "g.jsonl:1: is not JSON at column 9: EOF while parsing an object"),
        ("{\"e\": []}\n", "g.jsonl:1: field `x`: is missing, expected a type or a list of numbers for each node"),
        ("{\"x\": 3}\n", "g.jsonl:1: field `x`: is not a list"),
        ("{\"x\": [1.5]}\n", "g.jsonl:1: field `x`: found `1.5`, expected a type, an integer below 65536"),
        ("{\"x\": [70000]}\n", "g.jsonl:1: field `x`: found `70000`, expected a type, an integer below 65536"),
        ("{\"x\": [[1], [1, 2]]}\n", "g.jsonl:1: field `x`: entry 2 has 2 numbers, expected 1"),
        ("{\"x\": [[1], 2]}\n", "g.jsonl:1: field `x`: entry 2 is not a list of numbers"),
        ("{\"x\": [[1e300]]}\n", "g.jsonl:1: field `x`: entry 1: found `1e+300`, expected a number below 3.4e38"),
        ("{\"x\": [0]}\n{\"x\": [[1]]}\n", "g.jsonl:2: field `x`: has numbers, expected types as on line 1"),
        ("{\"x\": [[1]]}\n{\"x\": [0]}\n", "g.jsonl:2: field `x`: has types, expected 1 numbers as on line 1"),
        ("{\"x\": [[1]]}\n{\"x\": [[0, 1]]}\n", "g.jsonl:2: field `x`: has 2 numbers, expected 1 as on line 1"),
        ("{\"x\": [0], \"e\": [[0]]}\n", "g.jsonl:1: field `e`: edge 1 is not [i, j] or [i, j, type]"),
        ("{\"x\": [0], \"e\": [[0, 1]]}\n", "g.jsonl:1: field `e`: edge 1 has the node 1, expected a number below 1"),
        ("{\"x\": [0], \"e\": [[0, -1]]}\n", "g.jsonl:1: field `e`: edge 1 has the node -1, expected a number below 1"),
        (
            "{\"x\": [0], \"e\": [[0, 0, 1], [0, 0]]}\n",
            "g.jsonl:1: field `e`: edge 2 has a type or not, unlike the first",
        ),
        (
            "{\"x\": [0, 1], \"e\": [[0, 1, 1], [1, 0, 2]]}\n",
            "g.jsonl:1: field `e`: edge 2 is given a second time with other values",
        ),
        (
            "{\"x\": [0, 1], \"e\": [[0, 1, 1]]}\n{\"x\": [0, 1], \"e\": [[0, 1]]}\n",
            "g.jsonl:2: field `e`: has no types, as on line 1 there are",
        ),
        (
            "{\"x\": [0], \"e\": [], \"edge_index\": [[], []]}\n",
            "g.jsonl:1: field `e`: is given together with `edge_index`, expected only one of them",
        ),
        (
            "{\"x\": [0], \"edge_index\": [[0]]}\n",
            "g.jsonl:1: field `edge_index`: is not a list of sources and a list of targets",
        ),
        ("{\"x\": [0], \"edge_index\": [[0], []]}\n", "g.jsonl:1: field `edge_index`: has 1 sources and 0 targets"),
        (
            "{\"x\": [0], \"edge_index\": [[0], [0]], \"edge_attr\": []}\n",
            "g.jsonl:1: field `edge_attr`: has 0 entries, expected 1",
        ),
        ("{\"x\": [0], \"num_nodes\": 2}\n", "g.jsonl:1: field `num_nodes`: is 2, but there are 1 nodes"),
        (
            "{\"num_nodes\": 4000000000}\n",
            "g.jsonl:1: field `num_nodes`: is 4000000000, expected at most 10400 for a line of this length",
        ),
        ("{\"x\": [0], \"y\": {}}\n", "g.jsonl:1: field `y`: found `{}`, expected a number or a word"),
        (
            "{\"x\": [0], \"y\": 1}\n{\"x\": [0], \"y\": [1, 2]}\n",
            "g.jsonl:2: field `y`: has 2 answers, expected 1 as on line 1",
        ),
        (
            "{\"x\": [0], \"y\": 1}\n{\"x\": [0]}\n",
            "g.jsonl: field `y`: has an answer for some graphs and not for others",
        ),
        ("{\"x\": [0], \"node_y\": []}\n", "g.jsonl:1: field `node_y`: has 0 entries, expected 1"),
        (
            "{\"x\": [0], \"split\": \"left\"}\n",
            "g.jsonl:1: field `split`: found `left`, expected train, val, test or none",
        ),
        (
            "{\"x\": [0], \"ys\": 1}\n",
            "g.jsonl:1: has the key `ys`, expected id, split, x, num_nodes, e, edge_index, edge_attr, y, node_y",
        ),
    ] {
        match read(text) {
            Ok(graphs) => panic!("accepted {text:?} as {graphs:?}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{text:?}"),
        }
    }
}

#[test]
fn cut_and_damaged_texts_never_panic() {
    let text =
        "{\"x\": [0, 1], \"e\": [[0, 1, 1]], \"y\": 2}\n{\"x\": [1], \"edge_index\": [[0], [0]], \"edge_attr\": [2]}\n";
    for at in 0..text.len() {
        let _ = read(&text[..at]);
        for new in ["", "-", "9", ",", "[", "]", "null", "\n"] {
            let _ = read(&format!("{}{new}{}", &text[..at], &text[at + 1..]));
        }
    }
}
