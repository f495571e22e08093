//! Any text is read as bags or refused, in every format; what is read holds together.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::Result;
use regard_data::sets::formats::{Layout, ReadOptions, csv, jsonl, libsvm};
use regard_data::sets::{Bags, Standardiser};

fuzz_target!(|input: (&str, &str)| {
    let (text, sizes) = input;
    let path = Path::new("fuzz.csv");
    let named = |column: &str| Some(column.to_owned());
    let grouped = ReadOptions { group_by: named("g"), target: named("t"), ..Default::default() };
    let optional = ReadOptions { target_optional: true, row_target: named("r"), ..grouped.clone() };
    let headerless = ReadOptions { layout: Layout::Headerless, ..Default::default() };
    for options in [ReadOptions::default(), grouped, optional, headerless] {
        check(csv::parse(text, path, &options));
    }
    check(jsonl::parse(text, path));
    let _ = libsvm::looks_like(text);
    check(libsvm::parse(text, path, None, &ReadOptions::default()));
    let sizes = Some((sizes, Path::new("fuzz.query")));
    check(libsvm::parse(text, path, sizes, &ReadOptions::default()));
});

fn check(read: Result<Bags>) {
    let Ok(mut bags) = read else {
        return;
    };
    assert_eq!(bags.features().len(), bags.rows() * bags.width());
    assert_eq!(bags.ids().len(), bags.len());
    assert!(bags.labels().is_none_or(|labels| labels.classes().of.len() == bags.len()));
    let all: Vec<usize> = (0..bags.len()).collect();
    assert_eq!(bags.select(&all), bags);
    if let Ok(standardiser) = Standardiser::learn(&bags, &all) {
        standardiser.apply(&mut bags).expect("as many features");
    }
    assert!(bags.features().iter().all(|v| v.is_finite()));
}
