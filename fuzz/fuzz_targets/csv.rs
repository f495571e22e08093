//! Any text is read or refused; what is read can be measured, placed, written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::routes::formats::{best_known, csv};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.csv");
    let _ = best_known::in_table(text, path, &["a"]);
    if let Ok(instance) = csv::parse_instance(text, path, &csv::Options::default()) {
        let written = csv::render_instance(&instance).expect("CSV says what CSV said");
        let again = csv::parse_instance(&written, path, &csv::Options::default());
        let again = again.expect("reads what it writes");
        assert_eq!(again.problem(), instance.problem());
        assert_eq!(again.sites().ids(), instance.sites().ids());
    }
    let Ok(instance) = csv::parse(text, path) else {
        return;
    };
    let tour: Vec<usize> = (0..instance.len()).collect();
    assert!(instance.cost(&tour).is_finite());
    assert!(
        instance
            .unit_square()
            .iter()
            .flatten()
            .all(|v| (0.0..=1.0).contains(v))
    );
    let _ = best_known::in_comment(instance.comment());
    let written = csv::render(&instance).expect("CSV says what CSV said");
    let again = csv::parse(&written, path).expect("reads what it writes");
    assert_eq!(again.ids(), instance.ids());
    assert_eq!(again.cost(&tour), instance.cost(&tour));
});
