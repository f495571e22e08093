//! Any text is read or refused; what is read can be measured, placed, written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::{best_known, csv};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.csv");
    let _ = best_known::in_table(text, path, &["a"]);
    if let Ok((instance, _)) = csv::parse_instance(text, path, &csv::TableOptions::default()) {
        let written = instance.render(csv::ENDING).expect("CSV holds what CSV held");
        let again = csv::parse_instance(&written, path, &csv::TableOptions::default());
        let again = again.map(|(instance, _)| instance);
        let again = again.expect("reads what it writes");
        assert_eq!(again.problem(), instance.problem());
        let (again, sites) = (again.sites(), instance.sites());
        assert_eq!(again.ids(), sites.ids());
        let tour: Vec<usize> = (0..sites.len()).collect();
        assert!(sites.tour_length(&tour).is_finite());
        assert!(sites.unit_square().iter().flatten().all(|v| (0.0..=1.0).contains(v)));
        let _ = best_known::in_comment(sites.comment());
        assert_eq!(again.tour_length(&tour), sites.tour_length(&tour));
    }
});
