//! Any text is read or refused; what is read can be measured, placed, written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::tsplib;
use regard_routing::problems::tsp::Tsp;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.tsp");
    let Ok(instance) = tsplib::parse::<Tsp>(text, path) else {
        return;
    };
    let tour: Vec<usize> = (0..instance.sites().len()).collect();
    assert!(instance.cost(&tour).is_finite());
    assert!(instance.sites().unit_square().iter().flatten().all(|v| (0.0..=1.0).contains(v)));
    if let Ok(written) = tsplib::render(&instance) {
        let again = tsplib::parse::<Tsp>(&written, path).expect("reads what it writes");
        assert_eq!(again.cost(&tour), instance.cost(&tour));
    }
});
