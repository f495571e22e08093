//! Any text is read or refused; nodes are in range, and a tour is written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::routes::formats::tour;
use regard_data::routes::tsp::Tsp;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.tour");
    let corners = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    let ids = ["1", "2", "New York", "4"].map(String::from).to_vec();
    let instance = Tsp::euclidean("fuzz", corners)
        .and_then(|t| t.with_ids(ids))
        .expect("four corners");
    let Ok(nodes) = tour::parse(text, path, &instance) else {
        return;
    };
    assert!(instance.cost(&nodes).is_finite());
    if instance.check(&nodes).is_ok() {
        let written = tour::render(&instance, &nodes).expect("writes a tour");
        assert_eq!(
            tour::parse(&written, path, &instance).expect("reads what it writes"),
            nodes
        );
    }
});
