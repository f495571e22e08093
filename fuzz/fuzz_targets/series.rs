//! Any text is read as series or refused, in every layout; what is read holds together.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::Result;
use regard_data::series::formats::forecasts::{Forecast, Forecasts};
use regard_data::series::formats::{Duplicates, Read, ReadOptions, TableLayout, parse};
use regard_data::series::{Part, Scaler, Split, Windows};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.csv");
    let named = |column: &str| Some(column.to_owned());
    let wide = ReadOptions { layout: TableLayout::Wide, duplicates: Duplicates::Mean, ..Default::default() };
    let future = ReadOptions { covariates: vec!["x".to_owned()], duplicates: Duplicates::Last, ..Default::default() };
    let long = ReadOptions {
        id: named("i"),
        target: named("y"),
        label: named("l"),
        label_optional: true,
        duplicates: Duplicates::Last,
        ..Default::default()
    };
    let counted = ReadOptions { without_dates: true, ..Default::default() };
    for options in [ReadOptions::default(), wide, future, long, counted] {
        check(parse(text, path, &options));
    }
});

fn check(read: Result<Read>) {
    let Ok(Read { mut panel, report }) = read else {
        return;
    };
    assert_eq!(report.missing.len(), panel.len());
    assert!(panel.series().iter().all(|one| one.missing() < one.len()));
    // The stamps of the file are read back at their steps.
    for step in [0, panel.steps() - 1] {
        let stamp = panel.clock().stamp(step).expect("a stamp of the file");
        assert_eq!(panel.clock().step(&stamp).expect("a stamp of the file"), step);
    }
    let parts = Split::USUAL.parts(&panel).expect("shares of 1");
    let Ok(scaler) = Scaler::fit(&panel, &parts) else {
        return;
    };
    scaler.apply(&mut panel).expect("the same series");
    if let Ok(windows) = Windows::new(&panel, &parts, Part::Training, 3, 2) {
        let (mut inputs, mut targets, mut observed) = ([0.0; 3], [0.0; 2], [true; 3]);
        let window = windows.get(windows.len() - 1);
        window.copy_look_back(&panel, &mut inputs, &mut observed);
        window.copy_horizon(&panel, &mut targets, &mut observed[..2]);
        assert!(inputs.iter().chain(&targets).all(|v| !v.is_nan()));
    }
    let start = panel.steps();
    let forecast = Forecast { name: "a".to_owned(), start, values: vec![1.0, 2.0], intervals: Vec::new() };
    if let Ok(forecasts) = Forecasts::new(panel.clock(), vec![forecast]) {
        assert_eq!(forecasts.rows().len(), 2);
    }
}
