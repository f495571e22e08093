//! Any text is read or refused; what is read can be measured, checked, written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::tsplib;
use regard_routing::problems::cvrp::Cvrp;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.vrp");
    let Ok(instance) = tsplib::parse::<Cvrp>(text, path) else {
        return;
    };
    let routes: Vec<Vec<usize>> = (1..instance.len()).map(|node| vec![node]).collect();
    assert!(instance.cost(&routes).is_finite());
    if instance.limit().is_none() {
        instance.check(&routes).expect("one vehicle for each");
    }
    if let Ok(written) = tsplib::render(&instance) {
        let again = tsplib::parse::<Cvrp>(&written, path).expect("reads what it writes");
        assert_eq!(again.cost(&routes), instance.cost(&routes));
        assert_eq!(again.demands(), instance.demands());
    }
});
