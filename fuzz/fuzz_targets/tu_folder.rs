//! Any files are a TU folder of graphs or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use regard_data::graphs::formats::tu_folder;

const NAMES: [&str; 7] =
    ["A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes", "graph_attributes"];

fuzz_target!(|files: Vec<(u8, &str)>| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (which, text) in files {
        let name = format!("FUZZ_{}.txt", NAMES[usize::from(which) % NAMES.len()]);
        std::fs::write(folder.path().join(name), text).expect("is written");
    }
    let _ = tu_folder::read(folder.path());
});
