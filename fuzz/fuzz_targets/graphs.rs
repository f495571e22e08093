//! Any text is read as graphs or refused, in every format; what is read holds together.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::Result;
use regard_data::graphs::Graphs;
use regard_data::graphs::formats::{ReadOptions, cora, edge_list, jsonl, tu};

fuzz_target!(|input: (&str, &str)| {
    let (text, edges) = input;
    let (path, beside) = (Path::new("fuzz_nodes.csv"), Path::new("fuzz_edges.csv"));
    for directed in [false, true] {
        let options = ReadOptions { directed, ..Default::default() };
        check(jsonl::parse(text, path, &options));
        check(tu::parse(text, path, &options));
        check(edge_list::parse(text, path, edges, beside, &options));
    }
    let _ = (tu::looks_like(text), cora::looks_like(text));
    check(cora::parse(text, path, edges, beside));
});

fn check(read: Result<Graphs>) {
    let Ok(graphs) = read else {
        return;
    };
    let all: Vec<usize> = (0..graphs.len()).collect();
    assert_eq!(graphs.select(&all), graphs);
    let batch = graphs.batch(&all);
    assert_eq!(batch.edges(), graphs.edges());
    let _ = graphs.census();
    assert!(graphs.node_features().dense().iter().all(|v| v.is_finite()));
}
