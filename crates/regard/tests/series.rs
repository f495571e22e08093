//! Networks on time series: they learn, go on bit for bit, forecast past the end, and say what is wrong.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Distribution, Tensor};
use regard::data::series::formats::ReadOptions;
use regard::experiment::{Family, built_in, family};
use regard::series::SeriesExperiment;
use regard::series::experiment::SeriesData;
use regard::series::model::{SeriesInput, Shortcut};
use regard::series::predict::SeriesModel;
use regard::series::source::read_panel;
use regard::series::spot::{SpotOptions, forecast};
use regard::series::task::SeriesTask;
use regard::series::train::{Training, train};
use regard::series::{PatchTst, PatchTstConfig};
use regard::store::NetworkConfig;
use regard::train::{Ended, Event, Limits, Trained};
use regard::{Device, Error};

/// A network and batches that take little time.
fn experiment(path: &Path, more: &[&str]) -> SeriesExperiment {
    let path = format!("data.path={}", path.display());
    let small = [
        "task.horizon=8",
        "model.look_back=48",
        "model.patch=8",
        "model.stride=4",
        "model.width=16",
        "model.heads=2",
        "model.hidden=32",
        "model.layers=2",
        "model.dropout=0.1",
        "train.batch=16",
        "train.epochs=4",
        "train.rate=0.003",
        "train.log_steps=2",
    ];
    let sets: Vec<String> = [path.as_str()].iter().chain(&small).chain(more).map(|set| (*set).to_owned()).collect();
    SeriesExperiment::load("series/forecast", &sets).unwrap()
}

fn run(experiment: &SeriesExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    let limits = Limits { steps, ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {})
}

/// Hours of three series: a day's wave, one against it, and one driven by a price that is known ahead. Every
/// 37th value of the first is missing.
fn hours(folder: &Path, rows: usize, future: usize) -> PathBuf {
    let mut text = "date,sun,shade,sold,price\n".to_owned();
    for hour in 0..rows + future {
        let wave = (TAU * hour as f64 / 24.0).sin();
        // Neither periodic nor smooth, but the same in every run.
        let price = ((hour * 7919 + 13) % 101) as f64 / 101.0;
        // January and February of a leap year are enough.
        let day = hour / 24;
        let (month, day) = if day < 31 { (1, day + 1) } else { (2, day - 30) };
        assert!(month == 1 || day <= 29, "more hours than the two months have");
        write!(text, "2024-{month:02}-{day:02} {:02}:00,", hour % 24).unwrap();
        if hour >= rows {
            writeln!(text, ",,,{price}").unwrap();
            continue;
        }
        let sun = if hour % 37 == 5 { String::new() } else { format!("{}", 50.0 + 20.0 * wave) };
        writeln!(text, "{sun},{},{},{price}", 5.0 - wave, 100.0 - 40.0 * price + wave).unwrap();
    }
    let path = folder.join("hours.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_built_in_experiment_on_series_is_valid() {
    let mut count = 0;
    for (name, text) in built_in() {
        if family(text, Path::new(name)).unwrap() == Family::Series {
            assert!(name.starts_with("series/"), "{name}");
            SeriesExperiment::load(name, &[]).unwrap();
            count += 1;
        }
    }
    assert_eq!(count, 8);
}

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
    let told = model.forecast(&series.panel, 8, &[80.0, 95.0]).unwrap().rows();
    assert_eq!((told.len(), told[0].ds.as_str()), (16, "2024-01-26 00:00"));
    for (step, row) in told[..8].iter().enumerate() {
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
    let experiment = experiment(&path, &["data.columns=[\"sold\"]", "data.held_out=0.2"]);
    let out = folder.path().join("run");
    run(&experiment, &out, false, None).unwrap();
    let found = SeriesModel::open(&out, &Device::flex()).unwrap().measure_test().unwrap();
    let held = found.intervals.iter().find(|held| held.level == 80.0).unwrap();
    assert!((70.0..90.0).contains(&held.coverage), "{held:?}");
}

#[test]
fn what_is_known_of_the_future_helps() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 700, 8);
    let cost = |more: &[&str], name: &str| {
        let experiment = experiment(&path, &[&["train.epochs=15", "train.rate=0.01"], more].concat());
        let out = folder.path().join(name);
        run(&experiment, &out, false, None).unwrap();
        let model = SeriesModel::open(&out, &Device::flex()).unwrap();
        (model.measure_test().unwrap().errs.mse, model)
    };
    let (blind, _) = cost(&["data.columns=[\"sold\"]"], "blind");
    let (seeing, model) = cost(&["data.columns=[\"sold\"]", "data.covariates=[\"price\"]"], "seeing");
    assert!(seeing < 0.5 * blind, "{seeing} beside {blind}");
    let series = model.read(&path, &model.columns()).unwrap();
    assert_eq!(model.forecast(&series.panel, 8, &[]).unwrap().rows().len(), 8);
    let short = hours(folder.path(), 700, 3);
    let series = model.read(&short, &model.columns()).unwrap();
    let missing = model.forecast(&series.panel, 8, &[]).unwrap_err().to_string();
    assert!(missing.contains("price") && missing.contains('8'), "{missing}");
}

#[test]
fn every_parameter_gets_a_gradient() {
    let small = PatchTstConfig {
        look_back: 24,
        horizon: 5,
        patch: 8,
        stride: 4,
        layers: 2,
        width: 8,
        heads: 2,
        hidden: 16,
        ..PatchTstConfig::regard_series()
    };
    let quantiles = vec![0.1, 0.5, 0.9];
    for config in [
        PatchTstConfig { shortcut: Shortcut::Learned, covariates: 2, statics: 3, quantiles, ..small.clone() },
        PatchTstConfig {
            shortcut: Shortcut::Learned,
            decomposition: 5,
            individual: true,
            channels: 3,
            ..small.clone()
        },
        PatchTstConfig { task: SeriesTask::Classification, classes: 4, covariates: 2, channels: 1, ..small.clone() },
        PatchTstConfig { task: SeriesTask::Imputation, shortcut: Shortcut::Learned, ..small },
    ] {
        let device = Device::flex().autodiff();
        let network = PatchTst::new(&config, &device).unwrap();
        let channels = config.channels.max(1);
        let drawn = |numbers: usize| Tensor::<1>::random([numbers], Distribution::Normal(0.0, 1.0), &device);
        let length = config.look_back + config.horizon;
        let input = SeriesInput {
            covariates: (config.covariates > 0).then(|| {
                drawn(4 * channels * length * config.covariates).reshape([4, channels, length, config.covariates])
            }),
            statics: (config.statics > 0)
                .then(|| drawn(4 * channels * config.statics).reshape([4, channels, config.statics])),
            ..SeriesInput::new(drawn(4 * channels * config.look_back).reshape([4, channels, config.look_back]))
        };
        let found = network.forward(input).square().sum().backward();
        let found = network.gradients(&config, &found);
        for slot in config.slots().iter().filter(|slot| slot.trainable) {
            let array = found.get(&slot.name).unwrap_or_else(|| panic!("{:?}: none of {}", config.task, slot.name));
            assert!(array.data.iter().any(|value| *value != 0.0), "{:?}: zero of {}", config.task, slot.name);
        }
    }
}

#[test]
fn a_fitted_shortcut_forecasts_before_anything_is_learnt_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let more = ["data.columns=[\"sun\",\"shade\"]", "model.shortcut=fitted", "train.ridge=0.001", "train.average=0"];
    let shortcut = |steps: u64, more: &[&str]| {
        let experiment = experiment(&path, more);
        let out = folder.path().join(format!("run{steps}"));
        run(&experiment, &out, false, Some(steps)).unwrap();
        let model = SeriesModel::open(&out, &Device::flex()).unwrap();
        let found = model.measure_test().unwrap();
        let weights = regard::series::PatchTst::to_weights(&model.network, &model.config);
        let (_, array) = weights.into_iter().find(|(name, _)| name.contains("shortcut.weight")).unwrap();
        (found.errs.mse / found.naive.mse, array.data)
    };
    // Waves are sums of what was seen; a value of the first is missing now and then.
    let (error, first) = shortcut(1, &[&more[..], &["train.rate=1e-9"]].concat());
    assert!(error < 0.1, "{error}");
    let (_, later) = shortcut(40, &more);
    assert!(first == later, "the map has moved");
    let sets = ["model.shortcut=fitted", "model.decomposition=5"].map(str::to_owned);
    let refused = SeriesExperiment::load("series/etth1", &sets).unwrap_err().to_string();
    assert!(refused.contains("model.shortcut") && refused.contains("decomposition"), "{refused}");
}

#[test]
fn what_validation_does_not_support_is_not_added_to_a_fitted_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    // So fast that what is learnt is noise.
    let more = ["data.columns=[\"sold\"]", "model.shortcut=fitted", "train.average=0", "train.rate=0.1"];
    let error = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        run(&experiment(&path, more), &out, false, None).unwrap();
        let shares: Vec<f64> = fs::read_to_string(out.join("metrics.jsonl"))
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["share"].as_f64())
            .collect();
        (SeriesModel::open(&out, &Device::flex()).unwrap().measure_test().unwrap().errs.mse, shares)
    };
    let (map, none) = error("map", &[&more[..], &["train.rate=1e-12"]].concat());
    let (whole, _) = error("whole", &more);
    let (shrunk, shares) = error("shrunk", &[&more[..], &["train.shrink=true"]].concat());
    assert!(
        none.is_empty() && shares.len() == 4 && shares.iter().all(|share| (0.0..=1.0).contains(share)),
        "{shares:?}"
    );
    assert!((shrunk - map).abs() <= (whole - map).abs(), "map {map}, whole {whole}, shrunk {shrunk}");
    assert!(shares.iter().any(|&share| share < 0.9), "{shares:?}");
    let sets = ["train.shrink=true", "train.keep=\"last\""].map(str::to_owned);
    let refused = SeriesExperiment::load("series/etth1", &sets).unwrap_err().to_string();
    assert!(refused.contains("train.shrink"), "{refused}");
}

#[test]
fn levels_do_not_cross() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 400, 0);
    let experiment = experiment(&path, &["data.columns=[\"sun\",\"sold\"]", "model.quantiles=[0.1,0.25,0.5,0.75,0.9]"]);
    let out = folder.path().join("run");
    run(&experiment, &out, false, None).unwrap();
    let model = SeriesModel::open(&out, &Device::flex()).unwrap();
    let series = model.read(&path, &model.columns()).unwrap();
    for row in model.forecast(&series.panel, 8, &[50.0, 80.0]).unwrap().rows() {
        let [half, most] = [&row.intervals[0], &row.intervals[1]];
        let rising = [most.low, half.low, row.forecast, half.high, most.high];
        assert!(rising.windows(2).all(|pair| pair[0] <= pair[1]), "{row:?}");
    }
}

#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 300, 0);
    for (at, more) in [
        &["model.dropout=0.3", "model.attention_dropout=0.2", "train.average=0.9"][..],
        // Adam's first beta moves too.
        &["train.schedule=\"one-cycle\"", "train.keep=\"last\"", "train.average=0"],
        &["model.preset=patchtst-official", "train.one_cycle_made=true", "train.schedule=\"tenths\""],
        &["task.kind=\"imputation\"", "train.hidden=0.3"],
        &["model.shortcut=fitted", "train.shrink=true"],
    ]
    .into_iter()
    .enumerate()
    {
        let experiment = experiment(&path, &[&["data.columns=[\"sun\",\"shade\"]"], more].concat());
        let [straight, broken] = ["straight", "broken"].map(|name| folder.path().join(format!("{name}{at}")));
        run(&experiment, &straight, false, None).unwrap();
        for steps in [3, 15] {
            run(&experiment, &broken, steps > 3, Some(steps)).unwrap();
        }
        run(&experiment, &broken, true, None).unwrap();
        for file in ["model.safetensors", "config.json", "metrics.jsonl"] {
            assert!(fs::read(straight.join(file)).unwrap() == fs::read(broken.join(file)).unwrap(), "{more:?}: {file}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 300, 0);
    let experiment = experiment(&path, &["data.columns=[\"sun\",\"shade\"]", "model.dropout=0.2"]);
    let [one, two] = [1, 2].map(|threads| {
        let out = folder.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&experiment, &out, false, Some(8))).unwrap();
        fs::read(out.join("model.safetensors")).unwrap()
    });
    assert!(one == two);
}

#[test]
fn other_tasks_learn() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 500, 0);
    for task in ["imputation", "anomaly"] {
        let task_set = format!("task.kind=\"{task}\"");
        let more = [task_set.as_str(), "data.columns=[\"shade\"]", "train.epochs=15", "train.rate=0.01"];
        let trained = run(&experiment(&path, &more), &folder.path().join(task), false, None).unwrap();
        assert!(trained.valid_cost < 0.1, "{task}: {}", trained.valid_cost);
    }
}

#[test]
fn hidden_patches_are_learnt_and_then_read_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let common = ["data.columns=[\"sun\",\"shade\"]", "model.stride=8", "model.padded=false", "train.epochs=20"];
    let before = folder.path().join("before");
    let pretraining = [&common[..], &["task.kind=\"pretraining\""]].concat();
    let learnt = run(&experiment(&path, &pretraining), &before, false, None).unwrap();
    assert!(learnt.valid_cost < 0.4, "{}", learnt.valid_cost);
    let from = format!("train.from={}", before.display());
    // A running average of equal numbers differs by roundings.
    let probe = [&common[..], &[from.as_str(), "train.moving=\"head\"", "train.average=0"]].concat();
    let probed = folder.path().join("probe");
    run(&experiment(&path, &probe), &probed, false, None).unwrap();
    let of = |folder: &Path, name: &str| {
        let file = fs::read(folder.join("model.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&file).unwrap();
        file.tensor(name).unwrap().data().to_vec()
    };
    let embedding = "model.backbone.W_P.weight";
    assert!(of(&before, embedding) == of(&probed, embedding), "the patches' map moved while only the head should");
    let tuned = [&common[..], &[from.as_str(), "train.head_epochs=2"]].concat();
    let tuned_out = folder.path().join("tuned");
    let tuned = run(&experiment(&path, &tuned), &tuned_out, false, None).unwrap();
    assert!(of(&before, embedding) != of(&tuned_out, embedding));
    assert!(tuned.valid_cost.is_finite());
}

#[test]
fn a_file_is_forecast_on_the_spot() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 200, 0);
    let data = SeriesData { columns: vec!["sun".into(), "shade".into()], ..SeriesData::default() };
    let read = read_panel(&path, &data).unwrap();
    let options =
        SpotOptions { horizon: 12, levels: vec![80.0], budget: std::time::Duration::from_secs(60), seed: 1234 };
    let told = || forecast(&read, &options, &Device::flex()).unwrap();
    let (first, again) = (told(), told());
    assert_eq!(first.forecasts.csv(), again.forecasts.csv());
    assert!(first.backtest.mase < 2.0 * first.backtest.naive_mase, "{:?}", first.backtest);
    assert_eq!(first.forecasts.rows().len(), 24);
    let short = hours(folder.path(), 30, 0);
    let short = regard::data::series::formats::read(&short, &ReadOptions::default()).unwrap();
    let refused = forecast(&short, &options, &Device::flex()).unwrap_err().to_string();
    assert!(refused.contains("30 rows") && refused.contains("at least 46"), "{refused}");
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
