//! Forecasts past the end of a file, with a model and without, and what is said of their errors.

use std::f64::consts::TAU;
use std::fs;

use regard::data::series::formats::ReadOptions;
use regard::series::SeriesExperiment;
use regard::series::experiment::SeriesData;
use regard::series::local_forecast::{LocalForecastOptions, NETWORK, forecast};
use regard::series::predict::SeriesModel;
use regard::series::source::read_panel;
use regard::supervised::base::Only;
use regard::train::Ended;
use regard::{Device, Error};

use crate::{experiment, hours, run, trained};

#[test]
fn forecasts_are_learnt_and_go_past_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let experiment = experiment(&path, &["data.columns=[\"sun\",\"shade\"]", "train.epochs=12"]);
    let out = folder.path().join("run");
    let trained = run(&experiment, &out, false, None).unwrap();
    assert_eq!(trained.ended, Ended::Complete);
    let model = SeriesModel::open(&out, &Device::flex()).unwrap();
    let found = model.measure_test().unwrap();
    assert!(found.errs.mse < 0.5 * found.naive.mse, "{found:?}");
    assert_eq!((found.by_step.len(), found.by_series.len(), found.season), (8, 2, 24));
    // A wave of 20 around 50 that was missing now and then.
    let series = model.read(&path, &model.columns()).unwrap();
    let predicted = model.forecast(&series.panel, 8, &[80.0, 95.0]).unwrap().rows();
    assert_eq!((predicted.len(), predicted[0].ds.as_str()), (16, "2024-01-26 00:00"));
    for (step, row) in predicted[..8].iter().enumerate() {
        let truth = 50.0 + 20.0 * (TAU * (600 + step) as f64 / 24.0).sin();
        assert!((f64::from(row.forecast) - truth).abs() < 8.0, "{row:?} {truth}");
        let [narrow, wide] = [&row.intervals[0], &row.intervals[1]];
        assert!(wide.low <= narrow.low && narrow.low <= row.forecast && narrow.high <= wide.high, "{row:?}");
    }
    let far = model.forecast(&series.panel, 9, &[]).unwrap_err().to_string();
    assert!(far.contains("9") && far.contains('8'), "{far}");
}

#[test]
fn intervals_hold_about_what_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 900, 0);
    let experiment = experiment(&path, &["data.columns=[\"sold\"]", "data.validation_fraction=0.2"]);
    let found = trained(&experiment, &folder.path().join("run")).measure_test().unwrap();
    let held = found.intervals.iter().find(|held| held.level == 80.0).unwrap();
    assert!((70.0..90.0).contains(&held.coverage), "{held:?}");
}

#[test]
fn what_is_known_of_the_future_helps() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 700, 8);
    let cost = |more: &[&str], name: &str| {
        let experiment = experiment(&path, &[&["train.epochs=15", "train.learning_rate=0.01"], more].concat());
        let model = trained(&experiment, &folder.path().join(name));
        (model.measure_test().unwrap().errs.mse, model)
    };
    let (blind, _) = cost(&["data.columns=[\"sold\"]"], "blind");
    let (seeing, model) = cost(&["data.columns=[\"sold\"]", "data.future_covariates=[\"price\"]"], "seeing");
    assert!(seeing < 0.5 * blind, "{seeing} beside {blind}");
    let series = model.read(&path, &model.columns()).unwrap();
    assert_eq!(model.forecast(&series.panel, 8, &[]).unwrap().rows().len(), 8);
    let short = hours(folder.path(), 700, 3);
    let series = model.read(&short, &model.columns()).unwrap();
    let missing = model.forecast(&series.panel, 8, &[]).unwrap_err().to_string();
    assert!(missing.contains("price") && missing.contains('8'), "{missing}");
}

#[test]
fn levels_do_not_cross() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 400, 0);
    let experiment = experiment(&path, &["data.columns=[\"sun\",\"sold\"]", "model.quantiles=[0.1,0.25,0.5,0.75,0.9]"]);
    let model = trained(&experiment, &folder.path().join("run"));
    let series = model.read(&path, &model.columns()).unwrap();
    for row in model.forecast(&series.panel, 8, &[50.0, 80.0]).unwrap().rows() {
        let [half, most] = [&row.intervals[0], &row.intervals[1]];
        let rising = [most.low, half.low, row.forecast, half.high, most.high];
        assert!(rising.windows(2).all(|pair| pair[0] <= pair[1]), "{row:?}");
    }
}

#[test]
fn a_file_is_forecast_on_the_spot() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 200, 0);
    let data = SeriesData { columns: vec!["sun".into(), "shade".into()], ..SeriesData::default() };
    let read = read_panel(&path, &data).unwrap();
    let options = LocalForecastOptions {
        horizon: 12,
        levels: vec![80.0],
        seasons: vec![],
        only: None,
        budget: regard::series::local_forecast::Budget::of(std::time::Duration::from_secs(60)),
        seed: 1234,
    };
    let predicted = || forecast(&read, &options, &Device::flex(), &|_| ()).unwrap();
    let (first, again) = (predicted(), predicted());
    assert_eq!(first.forecasts.csv(), again.forecasts.csv());
    let back_test = first.back_test.as_ref().unwrap();
    assert!(back_test.mase < back_test.naive_mase, "{back_test:?}");
    assert!(first.members.iter().any(|member| member.name == NETWORK), "{:?}", first.members);
    let weights: f64 = first.members.iter().map(|member| member.weight).sum();
    assert!((weights - 1.0).abs() < 1e-6, "{:?}", first.members);
    assert_eq!(first.forecasts.rows().len(), 24);
    let short = hours(folder.path(), 30, 0);
    let short = regard::data::series::formats::read(&short, &ReadOptions::default()).unwrap();
    let without = forecast(&short, &options, &Device::flex(), &|_| ()).unwrap();
    assert!(without.warnings.iter().any(|warning| warning.contains("network: ") && warning.contains("30 rows")));
    assert_eq!(without.forecasts.rows().len(), 12 * short.panel.len());
    let alone = LocalForecastOptions { only: Some(Only::Network), ..options };
    let refused = forecast(&short, &alone, &Device::flex(), &|_| ()).unwrap_err().to_string();
    assert!(refused.contains("30 rows"), "{refused}");
}

#[test]
fn faults_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 300, 0);
    let fails = |more: &[&str]| {
        run(&experiment(&path, more), &folder.path().join("none"), false, None).unwrap_err().to_string()
    };
    let short = fails(&["model.look_back=290"]);
    assert!(short.contains("290") && short.contains("298"), "{short}");
    assert!(fails(&["data.columns=[\"sum\"]"]).contains("sum"));
    let refused = SeriesExperiment::load("series/forecast", &["model.quantiles=[0.9,0.5]".into()]).unwrap_err();
    assert!(matches!(refused, Error::Config { .. }) || refused.to_string().contains("quantiles"), "{refused}");
    // A model of other columns.
    let out = folder.path().join("run");
    run(&experiment(&path, &["data.columns=[\"sun\"]"]), &out, false, Some(2)).unwrap();
    let model = SeriesModel::open(&out, &Device::flex()).unwrap();
    let other = folder.path().join("other.csv");
    fs::write(&other, "date,moon\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n2024-01-01 02:00,3\n").unwrap();
    let data = SeriesData { columns: vec![], ..model.columns() };
    let missing = model.read(&other, &data).unwrap_err().to_string();
    assert!(missing.contains("sun") && missing.contains("other.csv"), "{missing}");
}
