//! Any TOML and any assignments are an experiment or refused; an experiment is written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard::experiment::family;
use regard::graphs::GraphExperiment;
use regard::routes::RouteExperiment;
use regard::series::SeriesExperiment;
use regard::sets::SetExperiment;

fuzz_target!(|input: (&str, Vec<String>)| {
    let (text, sets) = input;
    let path = Path::new("fuzz.toml");
    let _ = family(text, path);
    let _ = RouteExperiment::settings(text, path, &sets);
    let _ = SetExperiment::parse(text, path, &sets);
    let _ = GraphExperiment::parse(text, path, &sets);
    let _ = SeriesExperiment::parse(text, path, &sets);
    if let Ok(experiment) = RouteExperiment::parse(text, path, &sets) {
        let written = experiment.to_toml().expect("is written");
        assert_eq!(RouteExperiment::parse(&written, path, &[]).expect("reads what it writes"), experiment);
    }
});
