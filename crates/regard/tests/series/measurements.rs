//! Scales, held-out rows and windows with which models are measured.

use std::fs;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::series::SeriesExperiment;
use regard::series::back_test::{BackTestOptions, BackTestProgress, back_test};
use regard::series::local_forecast::{Budget, NETWORK};
use regard::series::predict::FileForecastOptions;
use regard::series::source::{Source, read_panel};

use crate::{experiment, hours, trained};

/// The hours with a price ten times as high in the first rows, which no test window sees.
fn dearer_at_first(folder: &Path, hours: &Path, rows: usize) -> PathBuf {
    let dearer = |(at, line): (usize, &str)| match line.rsplit_once(',') {
        Some((rest, price)) if (1..=rows).contains(&at) => format!("{rest},{}", 10.0 * price.parse::<f64>().unwrap()),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = fs::read_to_string(hours).unwrap().lines().enumerate().map(dearer).collect();
    let path = folder.join("dearer.csv");
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

#[test]
fn covariates_of_another_file_have_the_scale_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 400, 0);
    let set = ["data.columns=[\"sold\"]", "data.future_covariates=[\"price\"]", "eval.blend=false"];
    let model = trained(&experiment(&path, &set), &folder.path().join("run"));
    let other = experiment(&dearer_at_first(folder.path(), &path, 200), &set);
    assert_eq!(
        model.measure(&model.test_data(&other).unwrap()).unwrap().errs.mse,
        model.measure_test().unwrap().errs.mse
    );
    let fewer = model.test_data(&experiment(&path, &[set[0], set[2]])).unwrap_err().to_string();
    assert!(fewer.contains("gives none, but the model was trained with price"), "{fewer}");
    // A later window of a back-test without another training.
    let read = |rows: usize| {
        let mut read = read_panel(&path, &other.data).unwrap();
        read.panel = read.panel.without_last(rows).unwrap();
        read
    };
    let (first, config) = Source::with_panel(&other, read(300), None).unwrap();
    let (second, measured) = Source::with_panel(&other, read(0), Some(&config.data)).unwrap();
    let prices = |source: &Source| source.panel.series()[0].covariates()[0][..100].to_vec();
    assert_eq!((prices(&first), &config.data), (prices(&second), &measured.data));
}

#[test]
fn levels_that_need_more_validation_windows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 150, 0);
    let experiment = experiment(&path, &["data.columns=[\"shade\"]", "eval.blend=false"]);
    let model = trained(&experiment, &folder.path().join("run"));
    // The windows of 15 rows.
    assert_eq!(model.config.data.interval_levels, [50.0, 60.0, 70.0, 80.0, 85.0]);
    let series = model.read(&path, &model.columns()).unwrap();
    assert_eq!(model.forecast(&series.panel, 8, &[85.0]).unwrap().rows().len(), 8);
    let level = model.forecast(&series.panel, 8, &[80.0, 90.0]).unwrap_err();
    assert!(level.to_string().contains("at least 9 validation windows"), "{level}");
    assert!(level.hint().is_some_and(|hint| hint.contains("data.validation_fraction")), "{level}");
}

#[test]
fn back_tests_hold_out_the_rows_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 200, 0);
    let notes_of = |more: &[&str], windows: usize| {
        let set = [&["data.columns=[\"shade\"]", "train.epochs=1"], more].concat();
        let options = BackTestOptions { windows, step_size: None, refit: false };
        let (mut notes, mut steps, mut read) = (vec![], 0, false);
        let found = back_test(&experiment(&path, &set), &options, &Device::flex(), &mut |seen| {
            match seen {
                BackTestProgress::Read(line) => read |= line.starts_with("200 rows"),
                BackTestProgress::Note(note) => notes.push(note.to_owned()),
                BackTestProgress::Training { of, .. } => steps = of,
                BackTestProgress::Window(_) => {}
            }
            true
        });
        assert!(read, "the report of the reader");
        found.map(|found| (notes, steps, found.len()))
    };
    // Of 200 rows, 8 for the test and 104 for validation leave 33 windows of 48 and 8, in 3 batches of 16.
    let rows = ["data.split=\"rows\"", "data.validation_rows=104", "data.test_rows=50"];
    assert_eq!(notes_of(&rows, 1).unwrap(), (vec![], 3, 1));
    // 20 rows for validation leave 117 windows, in 8 batches.
    assert_eq!(notes_of(&[], 1).unwrap(), (vec![], 8, 1));
    let many = notes_of(&rows, 6).unwrap_err().to_string();
    assert!(many.contains("200 rows") && many.contains("need at least 208"), "{many}");
    let (notes, ..) = notes_of(&["data.shorten=true", "model.look_back=190"], 1).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("instead of 190 rows"), "{notes:?}");
}

#[test]
fn a_season_of_one_row_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 200, 0);
    let model = trained(
        &experiment(&path, &["data.columns=[\"shade\"]", "train.epochs=1", "data.season_length=1"]),
        &folder.path().join("run"),
    );
    let series = model.read(&path, &model.columns()).unwrap();
    let options = FileForecastOptions {
        horizon: 8,
        levels: vec![],
        budget: Budget::unlimited(),
        keep_outliers: false,
        part: None,
    };
    let found = model.forecast_file(&series, &options, &|_| ()).unwrap();
    let seasonal = found.members.iter().find(|(name, _)| name.contains("24") || name.contains("Seasonal"));
    assert!(seasonal.is_none() && found.members.iter().any(|(name, _)| name != NETWORK), "{:?}", found.members);
    let long = ["data.season_length=1000001".into(), format!("data.path={}", path.display())];
    let long = SeriesExperiment::load("series/forecast", &long).unwrap_err().to_string();
    assert!(long.contains("data.season_length") && long.contains("1000000"), "{long}");
}
