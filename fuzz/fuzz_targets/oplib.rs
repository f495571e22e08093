//! Any text is read or refused; what is read can be measured, checked, written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::tsplib;
use regard_routing::problems::op::Op;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.oplib");
    let Ok(instance) = tsplib::parse::<Op>(text, path) else {
        return;
    };
    let all: Vec<usize> = (1..instance.len()).collect();
    assert!(instance.length(&all).is_finite() && instance.prize(&all).is_finite());
    instance.check(&[]).expect("staying is allowed");
    if let Ok(written) = tsplib::render(&instance) {
        let again = tsplib::parse::<Op>(&written, path).expect("reads what it writes");
        assert_eq!(again.length(&all), instance.length(&all));
        assert_eq!(again.prizes(), instance.prizes());
    }
});
