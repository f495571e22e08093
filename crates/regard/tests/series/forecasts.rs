//! Forecasts past the end of a file, with a model and without, and what is said of their errors.

use std::f64::consts::TAU;
use std::fs;
use std::sync::Arc;

use regard::data::series::formats::ReadOptions;
use regard::experiment::DecimalMark;
use regard::series::SeriesExperiment;
use regard::series::experiment::SeriesData;
use regard::series::local_forecast::{LocalForecastOptions, NETWORK, PRETRAINED, forecast};
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
fn numbers_of_other_files_have_the_decimal_mark_of_training() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, decimals: &str| {
        let rows = (0..200).map(|day| format!("{day};5.{:03}{decimals}\n", day % 7));
        let path = folder.path().join(name);
        fs::write(&path, format!("step;sold\n{}", rows.collect::<String>())).unwrap();
        path
    };
    let (half, whole) = (write("half.csv", ",5"), write("whole.csv", ""));
    let out = folder.path().join("run");
    run(&experiment(&half, &[]), &out, false, Some(1)).unwrap();
    let model = SeriesModel::open(&out, &Device::flex()).unwrap();
    let first = |data: &SeriesData| model.read(&whole, data).unwrap().own.series()[0].values()[0];
    assert_eq!(first(&model.columns()), 5000.0);
    assert_eq!(first(&SeriesData { decimal: DecimalMark::Point, ..model.columns() }), 5.0);
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
        keep_outliers: false,
        pretrained: None,
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

/// A small network on generated series.
fn pretrained(out: &std::path::Path) -> SeriesModel {
    let sets = [
        "task.horizon=8",
        "data.generated_series=300",
        "data.validation_fraction=0.1",
        "data.test_fraction=0.1",
        "model.look_back=64",
        "model.patch_len=8",
        "model.stride=8",
        "model.layers=2",
        "model.width=32",
        "model.heads=2",
        "model.feedforward_width=64",
        "train.batch_size=32",
        "train.epochs=5",
        "train.learning_rate=0.003",
    ];
    trained(&SeriesExperiment::load("series/pretrained", &sets.map(str::to_owned)).unwrap(), out)
}

#[test]
fn a_network_on_generated_series_forecasts_others() {
    let folder = tempfile::tempdir().unwrap();
    let model = pretrained(&folder.path().join("run"));
    let found = model.measure_test().unwrap();
    assert!(found.errs.mae < 0.9 * found.naive.mae, "{found:?}");
    let wave = |rows: usize| (0..rows).map(|at| 50.0 + 20.0 * (TAU * at as f64 / 12.0).sin()).collect::<Vec<f64>>();
    let mut some = vec![wave(150), wave(40), vec![3.0; 20], vec![1.0], vec![]];
    some[0][120] = f64::NAN;
    let forecasts = model.forecast_unseen(&some, 20);
    let lengths: Vec<usize> = forecasts.iter().map(Vec::len).collect();
    assert_eq!(lengths, [20; 5]);
    assert!(forecasts.iter().flatten().all(|value| value.is_finite()), "{forecasts:?}");
    // A constant stays what it is, and only the last values count.
    assert!(forecasts[2].iter().all(|value| (value - 3.0).abs() < 2.0), "{:?}", forecasts[2]);
    let short = vec![some[0][150 - 64..].to_vec()];
    assert_eq!(model.forecast_unseen(&short, 20)[0], forecasts[0]);
    // Scale and level of a series are those of its forecast.
    let moved: Vec<Vec<f64>> =
        some[..2].iter().map(|one| one.iter().map(|value| 1e6 - 300.0 * value).collect()).collect();
    let upside_down: Vec<Vec<f64>> =
        some[..2].iter().map(|one| one.iter().map(|value| 7.0 * value).collect()).collect();
    let larger = model.forecast_unseen(&upside_down, 20);
    for (one, seven) in forecasts.iter().zip(&larger).flat_map(|(one, seven)| one.iter().zip(seven)) {
        assert!((7.0 * one - seven).abs() < 0.05, "{one} {seven}");
    }
    assert!(model.forecast_unseen(&moved, 20).iter().flatten().all(|value| (0.9e6..1.1e6).contains(value)));
    // One by one as together.
    let alone: Vec<Vec<f64>> =
        some.iter().flat_map(|one| model.forecast_unseen(std::slice::from_ref(one), 20)).collect();
    for (one, other) in forecasts.iter().flatten().zip(alone.iter().flatten()) {
        assert!((one - other).abs() < 1e-2, "{one} {other}");
    }
}

#[test]
fn a_network_on_generated_series_takes_part_on_the_spot() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let model = pretrained(&out);
    let path = hours(folder.path(), 200, 0);
    let data = SeriesData { columns: vec!["sun".into(), "shade".into()], ..SeriesData::default() };
    // As the model of a file it forecasts all series of any file, without intervals.
    let series = model
        .read_to_forecast(&path, None, &SeriesData { columns: data.columns.clone(), ..model.columns() }, 12)
        .unwrap();
    let rows = model.forecast(&series.own, 12, &[]).unwrap().rows();
    assert_eq!((rows.len(), rows[0].ds.as_str()), (24, "2024-01-09 08:00"));
    assert!(model.forecast(&series.own, 12, &[80.0]).unwrap_err().to_string().contains("no prediction intervals"));
    // A constant stays what it is, and what ended long ago keeps its level.
    let ended = (0..700).map(|row| if row < 100 { 3000.0 + f64::from(row % 2) } else { f64::NAN });
    let found = model.forecast_unseen(&[vec![1e-6; 90], ended.collect()], 30);
    assert!(found[0].iter().all(|value| (value - 1e-6).abs() < 1e-15), "{:?}", found[0]);
    assert!(found[1].iter().all(|value| (value - 3000.0).abs() < 20.0), "{:?}", found[1]);
    let far = model.forecast(&series.own, model.config.horizon * 1000 + 1, &[]).unwrap_err().to_string();
    assert!(far.contains("--horizon"), "{far}");
    let read = read_panel(&path, &data).unwrap();
    let options = LocalForecastOptions {
        horizon: 12,
        levels: vec![],
        seasons: vec![],
        only: None,
        keep_outliers: false,
        pretrained: Some(Arc::new(model)),
        budget: regard::series::local_forecast::Budget::of(std::time::Duration::from_secs(60)),
        seed: 1,
    };
    let names = |options: &LocalForecastOptions| {
        let found = forecast(&read, options, &Device::flex(), &|_| ()).unwrap();
        found.members.into_iter().map(|member| member.name).collect::<Vec<_>>()
    };
    assert!(names(&options).contains(&PRETRAINED.to_owned()));
    assert!(
        !names(&LocalForecastOptions { only: Some(Only::Base), ..options.clone() }).contains(&PRETRAINED.to_owned())
    );
    let experiment = experiment(&path, &["data.columns=[\"sun\"]", "train.epochs=1"]);
    let other = trained(&experiment, &folder.path().join("other"));
    let options = LocalForecastOptions { pretrained: Some(Arc::new(other)), ..options };
    let refused = forecast(&read, &options, &Device::flex(), &|_| ()).unwrap_err().to_string();
    assert!(refused.contains("--pretrained"), "{refused}");
    // What it cannot do it says.
    let model = SeriesModel::open(&out, &Device::flex()).unwrap();
    let file = SeriesExperiment {
        data: SeriesData { path: path.display().to_string(), ..data },
        ..model.experiment.clone().unwrap()
    };
    assert!(model.test_data(&file).unwrap_err().to_string().contains("generated series"));
    for (set, key) in [
        ("data.path=a.csv", "data.path"),
        ("task.kind=imputation", "data.generated_series"),
        ("eval.blend=true", "eval.blend"),
        ("model.affine=true", "model.affine"),
        ("data.generated_series=1000000", "data.generated_series"),
        ("data.generated_series=1", "data.generated_series"),
        ("data.split=rows", "data.split"),
    ] {
        let sets = [set.to_owned(), "model.look_back=4096".to_owned()];
        let refused = SeriesExperiment::load("series/pretrained", &sets).unwrap_err().to_string();
        assert!(refused.contains(key), "{set}: {refused}");
    }
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
