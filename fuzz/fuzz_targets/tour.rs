//! Any text is read or refused; nodes are in range, and a tour is written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::solution;
use regard_routing::formats::tour;
use regard_routing::problems::tsp::Tsp;
use regard_routing::{Instance, Sites};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.tour");
    let corners = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    let ids = ["1", "2", "New York", "4"].map(String::from).to_vec();
    let instance = Sites::euclidean("fuzz", corners).and_then(|t| t.with_ids(ids)).expect("four corners");
    let Ok(nodes) = tour::parse(text, path, &instance) else {
        return;
    };
    assert!(instance.tour_length(&nodes).is_finite());
    let tsp = Instance::from(Tsp::from(instance.clone()));
    if tsp.check(&nodes).is_ok() {
        let written = solution::render(&tsp, &nodes).expect("writes a tour");
        assert_eq!(tour::parse(&written, path, &instance).expect("reads what it writes"), nodes);
    }
});
