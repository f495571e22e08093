//! Any text is read or refused; nodes are in range, and a solution is written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::Sites;
use regard_routing::formats::sol;
use regard_routing::problems::cvrp::Cvrp;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.sol");
    let corners = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
    let instance = Sites::euclidean("fuzz", corners)
        .and_then(|sites| Cvrp::new(sites, vec![0.0, 1.0, 1.0, 1.0], 2.0))
        .expect("four corners");
    let Ok(solution) = sol::parse(text, path, instance.sites()) else {
        return;
    };
    assert!(instance.cost(&solution.routes).is_finite());
    if instance.check(&solution.routes).is_ok() {
        let written = sol::render(&solution.routes, instance.cost(&solution.routes));
        let again = sol::parse(&written, path, instance.sites()).expect("reads what it writes");
        assert_eq!(instance.cost(&again.routes), instance.cost(&solution.routes));
    }
});
