//! Any JSON is a solution of an instance or refused; a solution that keeps the rules is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use regard_routing::Sites;
use regard_routing::formats::{Instance, solution};
use regard_routing::problems::cvrp::Cvrp;

fuzz_target!(|text: &str| {
    let corners = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    let instance = Sites::euclidean("fuzz", corners).and_then(|sites| Cvrp::new(sites, vec![0.0, 1.0, 1.0, 1.0], 2.0));
    let instance = Instance::from(instance.expect("four corners"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["fuzz.json", "fuzz.sol", "fuzz.tour"] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("is written");
        let _ = solution::read(&path, &instance);
    }
});
