//! Trainings learn, reach every parameter, and go on bit for bit.

use std::fs;
use std::path::Path;
use std::time::Duration;

use burn::tensor::{Distribution, Tensor};
use regard::Device;
use regard::series::model::{SeriesInput, Shortcut};
use regard::series::task::SeriesTask;
use regard::series::{PatchTst, PatchTstConfig};
use regard::store::NetworkConfig;
use regard::supervised::{Training, train};
use regard::train::{Event, Limits};

use crate::{experiment, hours, run};

#[test]
fn every_parameter_gets_a_gradient() {
    let small = PatchTstConfig {
        look_back: 24,
        horizon: 5,
        patch_len: 8,
        stride: 4,
        layers: 2,
        width: 8,
        heads: 2,
        feedforward_width: 16,
        ..PatchTstConfig::regard_series()
    };
    let quantiles = vec![0.1, 0.5, 0.9];
    for config in [
        PatchTstConfig {
            linear_skip: Shortcut::Learned,
            future_covariates: 2,
            static_covariates: 3,
            quantiles,
            ..small.clone()
        },
        PatchTstConfig {
            linear_skip: Shortcut::Learned,
            decomposition_kernel: 5,
            individual: true,
            channels: 3,
            ..small.clone()
        },
        PatchTstConfig {
            task: SeriesTask::Classification,
            classes: 4,
            future_covariates: 2,
            channels: 1,
            ..small.clone()
        },
        PatchTstConfig { task: SeriesTask::Imputation, linear_skip: Shortcut::Learned, ..small },
    ] {
        let device = Device::flex().autodiff();
        let network = PatchTst::new(&config, &device).unwrap();
        let channels = config.channels.max(1);
        let drawn = |numbers: usize| Tensor::<1>::random([numbers], Distribution::Normal(0.0, 1.0), &device);
        let length = config.look_back + config.horizon;
        let input = SeriesInput {
            covariates: (config.future_covariates > 0).then(|| {
                drawn(4 * channels * length * config.future_covariates).reshape([
                    4,
                    channels,
                    length,
                    config.future_covariates,
                ])
            }),
            statics: (config.static_covariates > 0).then(|| {
                drawn(4 * channels * config.static_covariates).reshape([4, channels, config.static_covariates])
            }),
            ..SeriesInput::new(drawn(4 * channels * config.look_back).reshape([4, channels, config.look_back]))
        };
        let found = network.forward(input).square().sum().backward();
        let found = network.gradients(&config, &found);
        for slot in config.param_specs().iter().filter(|slot| slot.trainable) {
            let array = found.get(&slot.name).unwrap_or_else(|| panic!("{:?}: none of {}", config.task, slot.name));
            assert!(array.data.iter().any(|value| *value != 0.0), "{:?}: zero of {}", config.task, slot.name);
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 300, 0);
    for (at, more) in [
        &["model.dropout=0.3", "model.attention_dropout=0.2", "train.ema_decay=0.9"][..],
        // Adam's first beta moves too.
        &["train.schedule=\"one-cycle\"", "train.select=\"last\"", "train.ema_decay=0"],
        &["model.preset=patchtst-official", "train.one_cycle_initial_state=true", "train.schedule=\"tenths\""],
        &["task.kind=\"imputation\"", "train.mask_ratio=0.3"],
        &["model.linear_skip=fitted", "train.shrink=true"],
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
        let more = [task_set.as_str(), "data.columns=[\"shade\"]", "train.epochs=15", "train.learning_rate=0.01"];
        let trained = run(&experiment(&path, &more), &folder.path().join(task), false, None).unwrap();
        assert!(trained.validation_cost < 0.1, "{task}: {}", trained.validation_cost);
    }
}

#[test]
fn hidden_patches_are_learnt_and_then_read_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let common = ["data.columns=[\"sun\",\"shade\"]", "model.stride=8", "model.end_padding=false", "train.epochs=20"];
    let before = folder.path().join("before");
    let pretraining = [&common[..], &["task.kind=\"pretraining\""]].concat();
    let learnt = run(&experiment(&path, &pretraining), &before, false, None).unwrap();
    assert!(learnt.validation_cost < 0.4, "{}", learnt.validation_cost);
    let from = format!("train.init_from={}", before.display());
    // A running average of equal numbers differs by roundings.
    let probe = [&common[..], &[from.as_str(), "train.trainable=\"head\"", "train.ema_decay=0"]].concat();
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
    assert!(tuned.validation_cost.is_finite());
}

#[test]
fn the_body_is_trained_where_a_time_limit_shortens_the_epochs_of_the_head() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let settings = [
        "data.columns=[\"sun\",\"shade\"]",
        "eval.blend=false",
        "train.schedule=\"constant\"",
        "train.select=\"last\"",
        "train.early_stopping_patience=0",
        "train.max_steps=0",
        "train.ema_decay=0",
        "train.epochs=100000",
        // More than fit into the time, and a hundredth of the schedule.
        "train.head_epochs=1000",
    ];
    let experiment = experiment(&path, &settings);
    let trained = |name: &str, limits: Limits| {
        let out = folder.path().join(name);
        let training = Training {
            experiment: experiment.clone(),
            out: out.clone(),
            resume: false,
            limits,
            command: "test".into(),
        };
        train(&training, &Device::flex(), &mut |_: &Event| {}).unwrap();
        let file = fs::read(out.join("model.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&file).unwrap();
        file.tensor("model.backbone.W_P.weight").unwrap().data().to_vec()
    };
    let first = trained("first", Limits { steps: Some(2), ..Limits::default() });
    let limited = trained("limited", Limits { time: Some(Duration::from_secs(3)), ..Limits::default() });
    assert!(first != limited, "the patches' map is still that of the first steps");
}
