use super::*;
use crate::graphs::Part;

const NODES: &str = "id,graph,type,mass,y,note,part\na,g,C,1,x,hi,train\nb,g,O,2,,ho,test\na,h,C,3,z,hu,none\n";
const EDGES: &str = "graph,source,target,type,length\ng,a,b,single,0.5\nh,a,a,double,1\ng,b,a,single,0.5\n";

fn options() -> ReadOptions {
    ReadOptions { targets: vec!["y".into()], split: Some("part".into()), ..ReadOptions::default() }
}

fn read(nodes: &str, edges: &str, options: &ReadOptions) -> Result<Graphs> {
    parse(nodes, Path::new("nodes.csv"), edges, Path::new("edges.csv"), options)
}

#[test]
fn both_tables_make_graphs() {
    let graphs = read(NODES, EDGES, &options()).unwrap();
    assert_eq!((graphs.ids(), graphs.node_offsets()), (&["g", "h"].map(String::from)[..], &[0, 2, 3][..]));
    assert_eq!((graphs.sources(), graphs.in_offsets()), (&[1, 0, 0][..], &[0, 1, 2, 3][..]));
    assert_eq!(graphs.node_features().types(), Some(&[0, 1, 0][..]));
    assert_eq!(graphs.node_features().dense(), [1.0, 2.0, 3.0]);
    assert_eq!(graphs.edge_features().type_names(), ["double", "single"]);
    assert_eq!(graphs.edge_features().types(), Some(&[1, 1, 0][..]));
    assert_eq!(graphs.edge_features().dense(), [0.5, 0.5, 1.0]);
    assert_eq!(graphs.targets().unwrap().classes(0).unwrap().of, [Some(0), None, Some(1)]);
    assert_eq!((graphs.node_name(1), graphs.parts().unwrap().places(Part::Test)), ("b".to_owned(), vec![1]));
    assert_eq!((graphs.census().merged, graphs.census().self_loops), (1, 1));
}

#[test]
fn one_graph_needs_names_alone() {
    let graphs = read("n\nu\nv\nw\n", "from,to\nu,v\n", &ReadOptions::default()).unwrap();
    assert_eq!((graphs.len(), graphs.nodes(), graphs.edges(), graphs.census().isolated), (1, 3, 2, 1));
    let directed = ReadOptions { directed: true, ..ReadOptions::default() };
    let graphs = read("n\nu\nv\n", "from,to\nu,v\nu,v\n", &directed).unwrap();
    assert_eq!((graphs.in_offsets(), graphs.census().repeated), (&[0, 0, 2][..], 1));
}

#[test]
fn malformed_tables_are_refused_with_place_and_expectation() {
    let plain = ReadOptions::default();
    for (nodes, edges, options, expected) in [
        ("", "", plain.clone(), "nodes.csv: is empty, expected a header and rows of nodes"),
        ("id\n", "a,b\n", plain.clone(), "nodes.csv: has no rows below its header, expected at least one"),
        ("id\nu\n", "", plain.clone(), "edges.csv: is empty, expected a header and rows of edges"),
        ("id\nu\n", "a\nu\n", plain.clone(), "edges.csv:1: has fewer than two columns, expected `source` and `target`"),
        ("id\nu\nu\n", "a,b\n", plain.clone(), "nodes.csv:3: field `id`: `u` occurs a second time, first on line 2"),
        ("id,x\n,1\n", "a,b\n", plain.clone(), "nodes.csv:2: field `id`: is empty, expected the name of a node"),
        ("id,x\nu,1\nv,b\n", "a,b\n", plain.clone(), "nodes.csv:3: field `x`: found `b`, expected a number"),
        ("id\nu\n", "a,b\nu,v\n", plain.clone(), "edges.csv:2: field `b`: there is no node `v`"),
        ("id\nu\n", "a,b\n,u\n", plain.clone(), "edges.csv:2: field `a`: is empty, expected the name of a node"),
        (
            "id,graph\nu,1\nu,2\n",
            "source,target\nu,u\n",
            plain.clone(),
            "edges.csv:2: field `source`: `u` is a node of several graphs",
        ),
        (
            "id,graph\nu,1\nv,2\n",
            "source,target\nu,v\n",
            plain.clone(),
            "edges.csv:2: field `target`: is a node of another graph than the source",
        ),
        (
            "id\nu\nv\n",
            "source,target,w\nu,v,1\nv,u,2\n",
            plain.clone(),
            "edges.csv:3: the edge is given a second time with other values",
        ),
        ("id,q\nu,1\n", "a,b\n", options(), "nodes.csv:1: has no column `y`"),
    ] {
        match read(nodes, edges, &options) {
            Ok(graphs) => panic!("accepted {nodes:?} as {graphs:?}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{nodes:?} {edges:?}"),
        }
    }
}

#[test]
fn cut_and_damaged_tables_never_panic() {
    for at in 0..NODES.len() {
        let _ = read(&NODES[..at], EDGES, &options());
    }
    for at in 0..EDGES.len() {
        let _ = read(NODES, &EDGES[..at], &options());
        for new in ["", "9", ",", "\n", "\""] {
            let _ = read(NODES, &format!("{}{new}{}", &EDGES[..at], &EDGES[at + 1..]), &options());
        }
    }
}
