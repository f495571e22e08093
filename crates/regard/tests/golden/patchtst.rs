//! PatchTST against the code of its authors, TSLib and TFB: answers, the encoder's rows, the loss, every
//! gradient, running statistics, ten steps of Adam; and the sizes of the published networks.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use regard::nn::ops::with_kernels;
use regard::nn::series::{InstanceNormConfig, sine_positions, standardised_sine_positions};
use regard::series::model::{PRESETS, PatchTst, PatchTstConfig, Placement, Positions, SeriesInput, WindowNorm};
use regard::store::{Array, NetworkConfig, Weights};
use regard::train::{LearningRate, Position, Rounding, Schedule, StepRate};
use regard_nn::trace::{Recording, record};
use regard_testing::{Case, Checks, Golden};
use serde_json::Value;

#[test]
fn golden_patchtst_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_patchtst_composed() {
    with_kernels(false, || check_all("composed"));
}

#[test]
fn the_published_networks_have_their_sizes() {
    let of = |width, heads, hidden, look_back, horizon| {
        let official = PatchTstConfig::patchtst_official();
        PatchTstConfig { width, heads, feedforward_width: hidden, look_back, horizon, ..official }.trainable()
    };
    assert_eq!(of(16, 4, 128, 336, 96), 81_728);
    assert_eq!(of(16, 4, 128, 336, 720), 501_680);
    assert_eq!(of(16, 4, 128, 512, 96), 115_872);
    assert_eq!(of(128, 16, 256, 336, 96), 921_184);
    let ili =
        PatchTstConfig { look_back: 104, horizon: 24, patch_len: 24, stride: 2, ..PatchTstConfig::patchtst_official() };
    assert_eq!(ili.trainable(), 33_400);
    assert_eq!(PatchTstConfig::patchtst_tslib().trainable(), 3_751_520);
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let mut networks = 0;
    for name in golden.names("patchtst/") {
        let case = golden.case(&name).unwrap();
        if case.config.get("implementation").is_some() {
            check(&case, label);
            networks += 1;
        }
    }
    assert!(networks > 0, "a case of a network");
}

fn config(case: &Case) -> PatchTstConfig {
    let preset = match case.config["implementation"].as_str() {
        Some("tslib") => PatchTstConfig::patchtst_tslib(),
        Some("tfb") => PatchTstConfig::patchtst_tfb(),
        _ => PatchTstConfig::patchtst_official(),
    };
    let set = |key: &str| match &case.config[key] {
        Value::Bool(on) => Some(*on),
        Value::Number(number) => number.as_u64().map(|number| number > 0),
        _ => None,
    };
    let sincos = case.config["pe"] == "sincos";
    let decomposed = set("decomposition") == Some(true);
    PatchTstConfig {
        look_back: case.size("seq_len"),
        horizon: case.size("pred_len"),
        channels: case.size("C"),
        patch_len: case.size("patch_len"),
        stride: case.size("stride"),
        width: case.size("d_model"),
        heads: case.size("n_heads"),
        feedforward_width: case.size("d_ff"),
        layers: case.size("e_layers"),
        end_padding: !case.config.as_object().is_some_and(|all| all.get("padding_patch") == Some(&Value::Null)),
        affine: set("affine").unwrap_or(preset.affine),
        individual: set("individual").unwrap_or(preset.individual),
        window_norm: if set("subtract_last") == Some(true) { WindowNorm::Last } else { preset.window_norm },
        decomposition_kernel: if decomposed { case.size("kernel_size") } else { 0 },
        norm_placement: if set("pre_norm") == Some(true) { Placement::PreSummed } else { preset.norm_placement },
        residual_attention: set("res_attention").unwrap_or(preset.residual_attention),
        positions: if sincos { Positions::StandardisedSine } else { preset.positions },
        dropout: case.number("dropout"),
        attention_dropout: case.number("dropout"),
        head_dropout: case.number("dropout"),
        ..preset
    }
}

fn weights(case: &Case) -> Weights {
    let array = |(name, values): (&str, &regard_testing::Values)| {
        (name.to_owned(), Array { shape: values.shape.clone(), data: values.f32() })
    };
    case.with_prefix("weight.").map(array).collect()
}

/// Mean squared error over everything, windows `[batch, time, channels]`.
fn loss(model: &PatchTst, x: Tensor<3>, target: Tensor<3>) -> (Tensor<3>, Tensor<1>) {
    let y = model.forward(SeriesInput::new(x.swap_dims(1, 2))).swap_dims(1, 2);
    let loss = (y.clone() - target).square().mean();
    (y, loss)
}

fn check(case: &Case, label: &str) {
    let evaluated = case.config["mode"] == "eval";
    let device = if evaluated { Device::flex() } else { Device::flex().autodiff() };
    let config = config(case);
    assert_eq!(config.trainable(), case.size("parameters_trainable"), "{}", case.name);
    let mut model = PatchTst::from_weights(&config, &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let x = case.get("input.x").tensor::<3>(&device);
    let target = case.get("input.target").tensor::<3>(&device);
    if evaluated {
        let encoded = model.encode(SeriesInput::new(x.clone().swap_dims(1, 2)));
        checks.tensor("output.encoder_out", &encoded);
        let ((y, _), recording) = record(|| loss(&model, x, target));
        checks.tensor("output.y", &y);
        checks.finish();
        return check_trace(case, &recording);
    }
    let leaf = x.clone().require_grad();
    let (y, found) = loss(&model, leaf.clone(), target.clone());
    checks.tensor("output.y", &y);
    checks.tensor("output.loss", &found);
    let gradients = found.backward();
    if case.find("grad.input.x").is_some() {
        checks.tensor("grad.input.x", &leaf.grad(&gradients).unwrap());
    }
    let by_name = model.gradients(&config, &gradients);
    for (name, _) in case.with_prefix("grad.weight.") {
        let array = by_name.get(name).unwrap_or_else(|| panic!("{}: no gradient of {name}", case.name));
        let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
        checks.values(&format!("grad.weight.{name}"), &array.shape, &values);
    }
    let rate = case.number("lr");
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let mut losses = vec![f64::from(found.into_scalar::<f32>())];
    let mut gradients = Some(gradients);
    for step in 0..case.get("output.loss_trajectory").data.len() - 1 {
        let of_step = gradients.take().unwrap_or_else(|| loss(&model, x.clone(), target.clone()).1.backward());
        let of_step = GradientsParams::from_grads(of_step, &model);
        if step == 0 {
            let after = model.to_weights(&config);
            for (name, _) in case.with_prefix("after_step.buffer.") {
                let values: Vec<f64> = after[name].data.iter().map(|&v| f64::from(v)).collect();
                checks.values(&format!("after_step.buffer.{name}"), &after[name].shape, &values);
            }
        }
        model = adam.step(rate, model, of_step);
        if step == 0 {
            let after = model.to_weights(&config);
            checks.step_of_adam(rate, 1.0, |name| (&after[name].shape, &after[name].data));
        }
        losses.push(f64::from(loss(&model, x.clone(), target.clone()).1.into_scalar::<f32>()));
    }
    checks.values("output.loss_trajectory", &[losses.len()], &losses);
    checks.finish();
}

/// The rows of the encoder and the forecast in a trace are those of the original code.
fn check_trace(case: &Case, recording: &Recording) {
    let mut checks = Checks::new(case, "trace");
    let last = |is_meant: &dyn Fn(&str) -> bool| -> Vec<f64> {
        let step = recording.steps.iter().rfind(|step| is_meant(&step.name)).expect("a step of that name");
        step.values.iter().map(|&value| f64::from(value)).collect()
    };
    let layer = format!("layer.{}.", case.size("e_layers") - 1);
    let rows = last(&|name| name.contains(&layer) || name.starts_with("final."));
    checks.values("output.encoder_out", &case.get("output.encoder_out").shape, &rows);
    // The trace has a row for each series, the case a row for each step.
    let [batch, steps, series] = case.get("output.y").shape[..] else { panic!("{}: output.y", case.name) };
    let forecast = last(&|name| name.ends_with("forecast") || name.ends_with("forecast_of_parts"));
    let at = |window: usize, step: usize, one: usize| forecast[(window * series + one) * steps + step];
    let windows = (0..batch).flat_map(|window| (0..steps).map(move |step| (window, step)));
    let turned: Vec<f64> =
        windows.flat_map(|(window, step)| (0..series).map(move |one| at(window, step, one))).collect();
    checks.values("output.y", &[batch, steps, series], &turned);
    checks.finish();
}

#[test]
fn golden_instance_norms() {
    let golden = Golden::open();
    let device = Device::flex();
    let names = golden.names("patchtst/revin");
    assert!(!names.is_empty());
    for name in names {
        let case = golden.case(&name).unwrap();
        let set = |key: &str| case.config[key].as_bool().unwrap();
        let x = case.get("input.x").tensor::<3>(&device);
        let channels = if set("affine") { x.dims()[2] } else { 0 };
        let config = InstanceNormConfig::new()
            .with_subtract_last(set("subtract_last"))
            .with_affine_channels(channels)
            .with_eps(case.number("eps"));
        let mut norm = config.init(&device);
        let param = |name: &str| burn::module::Param::from_tensor(case.get(name).tensor::<1>(&device));
        if channels > 0 {
            norm.affine_weight = Some(param("weight.affine_weight"));
            norm.affine_bias = Some(param("weight.affine_bias"));
        }
        let (normalized, statistics) = norm.normalize(x.swap_dims(1, 2), None);
        let y = case.get("input.y").tensor::<3>(&device).swap_dims(1, 2);
        let mut checks = Checks::new(&case, "composed");
        checks.tensor("output.normalized", &normalized.swap_dims(1, 2));
        checks.tensor("output.denormalized", &norm.denormalize(y, &statistics).swap_dims(1, 2));
        checks.tensor("output.center", &statistics.center.swap_dims(1, 2));
        checks.tensor("output.stdev", &statistics.deviation.swap_dims(1, 2));
        checks.finish();
    }
}

#[test]
fn golden_positions() {
    let golden = Golden::open();
    let case = golden.case("patchtst/positions").expect("a case of positions");
    let device = Device::flex();
    let mut checks = Checks::new(&case, "table");
    for (name, values) in case.with_prefix("output.") {
        let [rows, width] = [values.shape[0], values.shape[1]];
        let table = match name.starts_with("official") {
            true => standardised_sine_positions(rows, width, &device),
            false => sine_positions(rows, width, &device),
        };
        let found: Vec<f64> = table.into_data().iter::<f64>().collect();
        // Their table is made in single precision, whose angles are off by a rounding of up to 64.
        let tolerance = if name.starts_with("tslib") { 1e-5 } else { 1e-6 };
        checks.within(&format!("output.{name}"), &values.shape, &found, |_| tolerance);
    }
    checks.finish();
}

#[test]
fn golden_learning_rates() {
    let golden = Golden::open();
    let case = golden.case("patchtst/lr_schedules").expect("a case of schedules");
    let (steps_per_epoch, epochs) = (case.size("steps_per_epoch") as u64, case.size("epochs") as u64);
    let schedules = [
        ("tst", Schedule::OneCycle),
        ("type1", Schedule::Halving),
        ("type3", Schedule::Tenths),
        ("constant", Schedule::Constant),
    ];
    let mut checks = Checks::new(&case, "rates");
    for (name, schedule) in schedules {
        let rates = LearningRate {
            schedule,
            rate: case.number("max_lr"),
            warmup_epochs: 0.0,
            drop_at: 0.7,
            pct_start: case.number("pct_start"),
            one_cycle_initial_state: true,
            rounding: Rounding::FactorsFirst,
        };
        let count = case.get(&format!("output.{name}_lr")).data.len();
        // The cycle is given step by step, the others epoch by epoch.
        let apart = if schedule == Schedule::OneCycle { 1 } else { steps_per_epoch };
        let at = |step: u64| rates.at(Position { step: step * apart, steps_per_epoch, epochs }, 1.0);
        let all: Vec<_> = (0..count as u64).map(at).collect();
        let of = |part: fn(&StepRate) -> f64| all.iter().map(part).collect::<Vec<_>>();
        checks.within(&format!("output.{name}_lr"), &[count], &of(|at| at.rate), |_| 1e-12);
        checks.within(&format!("output.{name}_beta1"), &[count], &of(|at| at.beta), |_| 1e-9);
    }
    checks.finish();
}

#[test]
fn settings_go_through_their_file() {
    for preset in PRESETS {
        let config = PatchTstConfig::preset(preset).unwrap();
        let value: Value = serde_json::to_value(&config).unwrap();
        assert_eq!(PatchTstConfig::from_json(&value).unwrap(), config);
    }
}
