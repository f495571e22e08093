//! Positions are read from a cache whose file was changed as if there were none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use regard_data::graphs::formats::{ReadOptions, jsonl};
use regard_data::graphs::positions::{Encoding, Positions};

const GRAPHS: &str = "{\"x\": [0, 1, 0, 1], \"e\": [[0, 1], [1, 2], [2, 0], [2, 3]], \"y\": 1}\n";

fuzz_target!(|changes: Vec<(u16, u8)>| {
    let graphs = jsonl::parse(GRAPHS, "fuzz.jsonl".as_ref(), &ReadOptions::default()).expect("a graph");
    let encoding = Encoding::RandomWalk { steps: 3 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cached = || Positions::cached(&graphs, &encoding, folder.path(), &|_, _| ()).expect("positions");
    let positions = cached();
    let file = std::fs::read_dir(folder.path()).expect("a folder").next().expect("a file").expect("a file").path();
    let mut bytes = std::fs::read(&file).expect("is read");
    for (at, byte) in changes {
        let at = usize::from(at) % bytes.len();
        bytes[at] = byte;
    }
    std::fs::write(&file, &bytes).expect("is written");
    assert_eq!(cached().values(), positions.values());
});
