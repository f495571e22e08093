//! Every number of a training step follows from those it names, and is the trainer's own.

use std::fs;
use std::path::Path;

use regard::Device;
use regard::explain::Trace;
use regard::routes::RouteExperiment;
use regard::routes::experiment::Loss;
use regard::routes::train::{Learner, Training, explain_step, train};
use regard::routing::problems::tsp::TspEnv;
use regard::train::{Event, Limits};

/// A network and batches that take no time.
fn experiment(sets: &[&str]) -> RouteExperiment {
    let small = [
        "data.nodes=7",
        "model.width=16",
        "model.heads=2",
        "model.layers=2",
        "model.feedforward_width=16",
        "train.batch_size=16",
        "train.epoch_size=160",
        "train.epochs=3",
        "train.baseline_instances=40",
        "train.log_steps=1",
        "eval.instances=20",
    ];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap()
}

fn values(trace: &Trace, name: &str) -> Vec<f64> {
    let step = trace.step(name).unwrap_or_else(|| panic!("no step {name}"));
    step.recorded.values.iter().map(|&value| f64::from(value)).collect()
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{what}: {found}, by its formula {expected}");
}

fn all_close(trace: &Trace, name: &str, expected: &[f64]) {
    let found = values(trace, name);
    assert_eq!(found.len(), expected.len(), "{name}");
    found.iter().zip(expected).for_each(|(found, expected)| close(*found, *expected, name));
}

/// Length of a tour over `[node, x and y]`.
fn length(points: &[f64], tour: &[f64]) -> f64 {
    let point = |node: f64| [points[2 * node as usize], points[2 * node as usize + 1]];
    let next = tour.iter().cycle().skip(1);
    tour.iter().zip(next).map(|(&a, &b)| (point(a)[0] - point(b)[0]).hypot(point(a)[1] - point(b)[1])).sum()
}

/// Cumulative distribution of Student's t, by integrating its density.
fn student(t: f64, degrees: f64) -> f64 {
    // ln of Γ((d + 1) / 2) / Γ(d / 2), by the recurrence from d = 1 or 2.
    let mut ratio =
        if degrees as usize % 2 == 1 { 1.0 / std::f64::consts::PI.sqrt() } else { std::f64::consts::PI.sqrt() / 2.0 };
    let mut d = if degrees as usize % 2 == 1 { 1.0 } else { 2.0 };
    while d < degrees {
        ratio *= (d + 1.0) / d;
        d += 2.0;
    }
    let density =
        |x: f64| ratio / (degrees * std::f64::consts::PI).sqrt() * (1.0 + x * x / degrees).powf(-(degrees + 1.0) / 2.0);
    let (parts, width) = (20_000, t.abs() / 20_000.0);
    let simpson = |at: usize| {
        density((at as f64) * width) + 4.0 * density((at as f64 + 0.5) * width) + density((at as f64 + 1.0) * width)
    };
    let half: f64 = (0..parts).map(simpson).sum::<f64>() * width / 6.0;
    if t < 0.0 { 0.5 - half } else { 0.5 + half }
}

/// Recomputes every step from those it names.
fn check(trace: &Trace, experiment: &RouteExperiment, what: &str) {
    let mut known: Vec<&str> = vec![];
    for step in &trace.steps {
        let recorded = &step.recorded;
        assert!(recorded.from.iter().all(|from| known.contains(&from.as_str())), "{what}: {:?}", recorded.from);
        assert_eq!(recorded.shape.iter().product::<usize>(), recorded.values.len(), "{what}: {}", recorded.name);
        known.push(&recorded.name);
    }
    let train = &experiment.train;
    let costs = values(trace, "sampled.cost");
    let shape = &trace.step("sampled.cost").unwrap().recorded.shape;
    let (instances, tours) = (shape[0], shape[1]);
    let points = values(trace, "instances");
    let nodes = points.len() / instances / 2;
    let of = |tour: &str, each: usize| -> Vec<f64> {
        let all = values(trace, tour);
        all.chunks(nodes)
            .enumerate()
            .map(|(at, tour)| length(&points[at / each * nodes * 2..][..nodes * 2], tour))
            .collect()
    };
    all_close(trace, "sampled.cost", &of("sampled.tour", tours));
    let own = match train.baseline.name() {
        "rollout" => {
            all_close(trace, "baseline.rollout", &of("baseline.tour", 1));
            Some(values(trace, "baseline.rollout"))
        }
        "critic" => trace.step("baseline.critic").map(|_| values(trace, "baseline.critic")),
        _ => None,
    };
    let mean = trace.step("baseline.mean").map_or(0.0, |step| f64::from(step.recorded.values[0]));
    let share = trace.step("baseline.share").map_or(0.0, |step| f64::from(step.recorded.values[0]));
    let expected: Vec<f64> = match train.baseline.name() {
        "none" => vec![0.0; costs.len()],
        "shared" => {
            (0..costs.len()).map(|at| costs[at / tours * tours..][..tours].iter().sum::<f64>() / tours as f64).collect()
        }
        _ => {
            (0..costs.len()).map(|at| (1.0 - share) * mean + own.as_ref().map_or(0.0, |own| share * own[at])).collect()
        }
    };
    all_close(trace, "baseline", &expected);
    let baseline = values(trace, "baseline");
    let advantages: Vec<f64> = costs.iter().zip(&baseline).map(|(a, b)| a - b).collect();
    all_close(trace, "advantage", &advantages);
    let likelihood = values(trace, "sampled.log_likelihood");
    assert!(likelihood.iter().all(|value| *value < 0.0));
    let coefficients: Vec<f64> = if train.loss == Loss::Preference {
        let of = |i: usize| -> f64 {
            let others = (i / tours * tours..(i / tours + 1) * tours).filter(|&j| costs[j] != costs[i]);
            let weight = |j: usize| {
                let (better, worse) = if costs[i] < costs[j] { (i, j) } else { (j, i) };
                let sigma = 1.0 / (1.0 + (train.preference_scale * (likelihood[better] - likelihood[worse])).exp());
                if better == i { -sigma } else { sigma }
            };
            others.map(weight).sum::<f64>() / (tours as f64 - 1.0) / costs.len() as f64
        };
        (0..costs.len()).map(of).collect()
    } else {
        values(trace, "advantage").iter().map(|advantage| advantage / costs.len() as f64).collect()
    };
    all_close(trace, "coefficient", &coefficients);
    let mut loss: f64 = values(trace, "coefficient").iter().zip(&likelihood).map(|(a, b)| a * b).sum();
    if train.improved_tours > 0 {
        let count = train.improved_tours;
        all_close(trace, "improved.cost", &of("improved.tour", count));
        let after = values(trace, "improved.cost");
        let best = |at: usize| costs[at * tours..][..tours].iter().copied().fold(f64::INFINITY, f64::min);
        assert!((0..instances).all(|at| after[at * count] <= best(at) + 1e-6), "{what}");
        let weight = |at: usize| train.improved_weight * (after[at] - baseline[at / count * tours]).min(0.0);
        let expected: Vec<f64> = (0..after.len()).map(|at| weight(at) / costs.len() as f64).collect();
        all_close(trace, "improved.coefficient", &expected);
        let pairs = values(trace, "improved.log_likelihood");
        loss += values(trace, "improved.coefficient").iter().zip(pairs).map(|(a, b)| a * b).sum::<f64>();
    }
    all_close(trace, "loss", &[loss]);
    let parameters = trace.step("gradient.parameter").unwrap();
    let layers = trace.step("gradient.layer").unwrap();
    for (layer, norm) in layers.axes[0].labels.iter().zip(&layers.recorded.values) {
        let own = parameters.axes[0].labels.iter().zip(&parameters.recorded.values);
        let own = own.filter(|(path, _)| {
            path.replace("encoder.layers", "encoder").starts_with(&format!("{layer}.")) || *path == layer
        });
        let squares: Vec<f64> = own.map(|(_, norm)| f64::from(*norm).powi(2)).collect();
        assert!(!squares.is_empty(), "{layer}");
        close(f64::from(*norm), squares.iter().sum::<f64>().sqrt(), layer);
    }
    let norm = layers.recorded.values.iter().map(|norm| f64::from(*norm).powi(2)).sum::<f64>().sqrt();
    all_close(trace, "gradient.norm", &[norm]);
    let factor = if train.max_grad_norm > 0.0 { (train.max_grad_norm / (norm + 1e-6)).min(1.0) } else { 1.0 };
    all_close(trace, "gradient.factor", &[factor]);
    if train.baseline.name() != "rollout" {
        return assert!(trace.step("comparison.difference").is_none(), "{what}");
    }
    let (policy, frozen) = (values(trace, "comparison.policy"), values(trace, "comparison.baseline"));
    let differences: Vec<f64> = policy.iter().zip(&frozen).map(|(a, b)| a - b).collect();
    all_close(trace, "comparison.difference", &differences);
    let differences = values(trace, "comparison.difference");
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    all_close(trace, "comparison.mean_difference", &[mean]);
    let deviation = (differences.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    all_close(trace, "comparison.t", &[mean / (deviation / count.sqrt())]);
    let p = student(values(trace, "comparison.t")[0], count - 1.0);
    all_close(trace, "comparison.p", &[p]);
    let updated = mean < 0.0 && p < train.baseline_significance;
    all_close(trace, "comparison.baseline_updated", &[f64::from(u8::from(updated))]);
}

const BASELINES: [&[&str]; 8] = [
    &["train.preset=kool-2019"],
    &["train.preset=kool-2019", "train.baseline_warmup_epochs=0", "train.learning_rate=0.02"],
    &["train.baseline=critic", "train.baseline_warmup_epochs=0"],
    &["train.baseline=exponential", "train.max_grad_norm=0"],
    &["train.baseline=shared", "train.num_starts=3", "train.first_node=given"],
    &["train.baseline=none", "train.max_grad_norm=0.5"],
    &["train.loss=preference", "train.num_starts=4"],
    &["train.improved_tours=1", "train.improved_weight=2", "train.num_starts=5", "data.nodes=14"],
];

#[test]
fn every_number_of_a_step_follows_from_those_it_names() {
    for sets in BASELINES {
        let experiment = experiment(sets);
        let trace = explain_step("a test", &experiment, None, 4, &Device::flex()).unwrap();
        check(&trace, &experiment, &format!("{sets:?}"));
    }
}

#[test]
fn a_step_is_that_of_the_trainer() {
    for sets in BASELINES {
        let experiment = experiment(sets);
        let trace = explain_step("a test", &experiment, None, 16, &Device::flex()).unwrap();
        let measured = Learner::<TspEnv>::new(&experiment, &Device::flex()).unwrap().step().unwrap();
        let mean = |name: &str| values(&trace, name).iter().sum::<f64>() / values(&trace, name).len() as f64;
        close(mean("sampled.cost"), measured.cost, "cost");
        close(mean("baseline"), measured.baseline, "baseline");
        close(mean("sampled.log_likelihood"), measured.log_likelihood, "log-likelihood");
        assert_eq!(values(&trace, "loss")[0], measured.loss);
        assert_eq!(values(&trace, "gradient.norm")[0], f64::from(measured.gradient_norm as f32));
    }
}

#[test]
fn a_run_shows_the_step_after_its_checkpoint_and_stays_as_it_is() {
    let (experiment, folder) = (experiment(&["train.preset=kool-2019"]), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let run = |resume, steps| {
        let limits = Limits { steps: Some(steps), ..Limits::default() };
        let training =
            Training { experiment: experiment.clone(), out: out.clone(), resume, limits, command: String::new() };
        train(&training, &Device::flex(), &mut |_: &Event| {}).unwrap();
        fs::read_to_string(out.join("metrics.jsonl")).unwrap()
    };
    let before = run(false, 12);
    let trace = explain_step("a run", &experiment, Some(&out), 16, &Device::flex()).unwrap();
    assert!(trace.input.starts_with("training step 13 on 16 instances"), "{}", trace.input);
    check(&trace, &experiment, "a run");
    assert!(values(&trace, "baseline.share")[0] == 1.0, "after the warm-up");
    assert_eq!(fs::read_to_string(out.join("metrics.jsonl")).unwrap(), before);
    let line = run(true, 13).lines().last().unwrap().to_owned();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["step"], 13);
    close(values(&trace, "loss")[0], line["loss"].as_f64().unwrap(), "loss");
    close(values(&trace, "gradient.norm")[0], line["grad_norm"].as_f64().unwrap(), "gradient");
}

#[test]
fn metrics_carry_the_test_of_the_baseline() {
    let (experiment, folder) = (experiment(&["train.preset=kool-2019"]), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let training =
        Training { experiment, out: out.clone(), resume: false, limits: Limits::default(), command: String::new() };
    train(&training, &Device::flex(), &mut |_: &Event| {}).unwrap();
    let text = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let valids: Vec<_> = lines.filter(|line| line["kind"] == "valid").collect();
    assert_eq!(valids.len(), 3);
    for valid in valids {
        let [mean, t, p] = ["mean_difference", "t_statistic", "p_value"].map(|name| valid[name].as_f64().unwrap());
        assert_eq!((mean < 0.0, mean < 0.0), (t < 0.0, p < 0.5), "{valid}");
        assert_eq!(valid["baseline_updated"].as_bool().unwrap(), mean < 0.0 && p < 0.05, "{valid}");
    }
}

#[test]
fn a_number_of_instances_that_a_step_does_not_have_is_refused() {
    for (count, expected) in [(0, "1 to 16"), (17, "is 17; a step has 1 to 16 instances")] {
        let error = explain_step("a test", &experiment(&[]), None, count, &Device::flex()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = explain_step("a run", &experiment(&[]), Some(Path::new("nowhere")), 4, &Device::flex()).unwrap_err();
    assert!(error.to_string().contains("has no checkpoint"), "{error}");
}
