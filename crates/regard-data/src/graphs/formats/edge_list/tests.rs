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
    let one_way = |edges: &str| {
        let graphs = read("n\nu\nv\nw\n", edges, &ReadOptions::default()).unwrap();
        graphs.notes().iter().find(|note| note.contains("listed one way")).cloned()
    };
    let expected = "1 edge is listed one way and used both ways (`data.directed=true` keeps the direction)";
    assert_eq!(one_way("source,target\nu,v\nv,w\nw,v\nw,w\n").as_deref(), Some(expected));
    assert_eq!(one_way("source,target\nu,v\nv,u\n"), None);
    let directed = ReadOptions { directed: true, ..ReadOptions::default() };
    let graphs = read("n\nu\nv\n", "from,to\nu,v\nu,v\n", &directed).unwrap();
    assert_eq!((graphs.in_offsets(), graphs.census().repeated), (&[0, 0, 2][..], 1));
    assert!(graphs.notes().iter().all(|note| !note.contains("one way")));
}

#[test]
fn a_target_called_type_is_no_input() {
    let targets = ReadOptions { targets: vec!["type".into()], ..ReadOptions::default() };
    let graphs = read("id,type,x\na,p,1\nb,q,2\n", "source,target\na,b\n", &targets).unwrap();
    assert!(graphs.node_features().types().is_none() && graphs.node_features().type_names().is_empty());
    assert_eq!(graphs.targets().unwrap().classes(0).unwrap().names, ["p", "q"]);
}

/// The edges of a graph of the nodes `a` and `b` as pairs of names, their features, and the notes on the columns.
fn ends(edges: &str) -> (Vec<(String, String)>, Vec<String>, Vec<String>) {
    let directed = ReadOptions { directed: true, split: Some("part".into()), ..ReadOptions::default() };
    let graphs = read("id,part\na,train\nb,test\n", edges, &directed).unwrap();
    let pairs = (0..graphs.nodes()).flat_map(|to| {
        let sources = &graphs.sources()[graphs.in_offsets()[to]..graphs.in_offsets()[to + 1]];
        let name = |node: usize| graphs.node_name(node);
        sources.iter().map(move |from| (name(*from as usize), name(to))).collect::<Vec<_>>()
    });
    let features = graphs.edge_features();
    let names = (0..features.dense().len() / graphs.edges().max(1)).map(|at| features.kinds().columns.name(at));
    (pairs.collect(), names.collect(), graphs.notes().to_vec())
}

#[test]
fn ends_of_edges_are_found_by_their_names() {
    let edge = vec![("a".to_owned(), "b".to_owned())];
    for (header, features) in [
        ("source,target", &[][..]),
        ("Source,TARGET", &[]),
        ("from,to", &[]),
        ("src,dst", &[]),
        ("u,v", &[]),
        ("Head,Tail", &[]),
        ("Von,Nach", &[]),
    ] {
        let (pairs, names, notes) = ends(&format!("{header}\na,b\n"));
        assert_eq!((&pairs, names), (&edge, features.to_vec()), "{header}");
        let (source, target) = header.split_once(',').unwrap();
        let said = if header.to_lowercase() == "source,target" {
            vec![]
        } else {
            vec![format!("edges: `{source}` to `{target}`")]
        };
        assert_eq!(notes, said, "{header}");
    }
}

#[test]
fn columns_with_a_role_are_no_ends_of_edges() {
    let edge = vec![("a".to_owned(), "b".to_owned())];
    for (text, features, note) in [
        ("id,from,to\n7,a,b\n", &["id"][..], "edges: `from` to `to`"),
        ("to,from,id\nb,a,7\n", &["id"], "edges: `from` to `to`"),
        ("w,source,to\n3,a,b\n", &["w"], "edges: `source` to `to`"),
        ("w,src,target\n3,a,b\n", &["w"], "edges: `src` to `target`"),
        ("graph,from,to\n,a,b\n", &[], "edges: `from` to `to`"),
        ("graph,p,q\n,a,b\n", &[], "edges: `p` to `q`, the first columns without another role"),
        ("type,p,q\nx,a,b\n", &[], "edges: `p` to `q`, the first columns without another role"),
        ("ID,part,p,q\n7,1,a,b\n", &["ID", "part"], "edges: `p` to `q`, the first columns without another role"),
        ("p,source\nb,a\n", &[], "edges: `source` to `p`, the first columns without another role"),
        ("p,target\na,b\n", &[], "edges: `p` to `target`, the first columns without another role"),
        // An adjacency list may call its first column so.
        ("id,next\na,b\n", &[], "edges: `id` to `next`, the first columns without another role"),
    ] {
        let (pairs, names, notes) = ends(text);
        assert_eq!(
            (&pairs, &names[..]),
            (&edge, &features.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()[..]),
            "{text:?}"
        );
        assert!(notes.iter().any(|found| found.starts_with(note)), "{text:?}: {notes:?}");
    }
}

#[test]
fn nodes_are_named_by_columns_without_another_role() {
    let of = |nodes: &str, options: &ReadOptions| {
        let graphs = read(nodes, "source,target\n", options).unwrap();
        let notes = graphs.notes().iter().find(|note| note.starts_with("nodes: named")).cloned();
        (graphs.node_name(0), notes.unwrap_or_default())
    };
    let plain = ReadOptions::default();
    let target = ReadOptions { targets: vec!["name".into()], split: Some("part".into()), ..ReadOptions::default() };
    for (nodes, options, note) in [
        ("graph,id,x\ng0,n1,1\ng0,n2,2\n", &plain, ""),
        ("x,Id\n1,n1\n2,n2\n", &plain, ""),
        ("graph,node,kind,x,y\ng0,n1,a,1,2\ng0,n2,a,1,2\n", &plain, "nodes: named by column `node`"),
        ("x,Name\n1,n1\n1,n2\n", &plain, "nodes: named by column `Name`"),
        ("name,x,node_id\nann,1,n1\nann,1,n2\n", &plain, "nodes: named by column `node_id`"),
        (
            "graph,type,key,x\ng0,a,n1,1\ng0,a,n2,1\n",
            &plain,
            "nodes: named by column `key`, the first without another role",
        ),
        (
            "name,part,key\np,train,n1\nq,test,n2\n",
            &target,
            "nodes: named by column `key`, the first without another role",
        ),
    ] {
        let (name, said) = of(nodes, options);
        assert_eq!(name, "n1", "{nodes:?}");
        assert!(said.starts_with(note) && said.is_empty() == note.is_empty(), "{nodes:?}: {said}");
    }
}

#[test]
fn a_table_of_molecules_is_no_table_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        crate::graphs::formats::read(&path, &ReadOptions::default()).unwrap_err()
    };
    for text in ["name,Smiles\nx,CC\n", "sep=;\nname;Smiles\nx;CC\n"] {
        let error = refused(text);
        assert!(error.to_string().ends_with("has a column `Smiles`, but the experiment reads no SMILES"), "{error}");
        assert!(error.hint().unwrap().starts_with("`--set data.smiles=Smiles` reads them"), "{error:?}");
        let found = crate::graphs::formats::recognise(&path);
        assert_eq!(found, Some(crate::graphs::formats::Recognised::Molecules("Smiles".into())));
    }
    assert!(refused("name,x\na,1\n").to_string().contains("no file of edges is known"));
}

#[test]
fn malformed_tables_are_refused_with_place_and_expectation() {
    let plain = ReadOptions::default();
    for (nodes, edges, options, expected) in [
        ("", "", plain.clone(), "nodes.csv: is empty, expected a header and rows of nodes"),
        ("id\n", "a,b\n", plain.clone(), "nodes.csv: has no rows below its header, expected at least one"),
        ("id\nu\n", "", plain.clone(), "edges.csv: is empty, expected a header and rows of edges"),
        (
            "id\nu\n",
            "a\nu\n",
            plain.clone(),
            "edges.csv:1: has no columns for both ends of an edge, expected `source` and `target`",
        ),
        (
            "graph,type\n1,a\n",
            "a,b\n",
            plain.clone(),
            "nodes.csv:1: has no column for the name of a node, expected one such as `id`",
        ),
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
