//! Checks of every setting, by itself and together with others.

use regard_routing::generate::MOST_WITH_MATRIX;
use regard_routing::registry;

use super::train::{BaselineKind, Loss, TrainSettings};
use super::{DataSettings, EvalSettings, RouteExperiment, Task};
use crate::experiment::under;
use crate::routes::decode::Decode;
use crate::routes::model::{AttentionModelConfig, KIND, PROBLEMS};
use crate::store::FORMAT;
use crate::store::ranges::{minutes, whole};
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Pairs of nodes of the instances of a step, at most.
const MOST_PAIRS: usize = 1 << 25;

/// The largest integer of TOML.
const LARGEST_SEED: u64 = i64::MAX as u64;

pub(super) fn validate(experiment: &RouteExperiment) -> Result<()> {
    let RouteExperiment { task, data, model, train, eval } = experiment;
    check_task(task)?;
    check_data(data)?;
    check_model(model, task)?;
    check_pairs(experiment)?;
    check_train(train)?;
    check_starts(train, data)?;
    check_improved(train, data, task)?;
    check_eval(eval)
}

fn check_task(task: &Task) -> Result<()> {
    let problem = task.problem.as_str();
    if registry::spec(problem).is_some() {
        return Ok(());
    }
    let near = suggestion(problem, PROBLEMS);
    refuse("task.problem", format!("`{problem}` is not supported{near}; problems: {}", list(PROBLEMS)))
}

fn check_data(data: &DataSettings) -> Result<()> {
    let (low, high) = (data.nodes.low(), data.nodes.high());
    whole("data.nodes", low, 2..=10_000)?;
    whole("data.nodes", high, 2..=10_000)?;
    if low > high {
        let reason = format!("is [{low}, {high}]; expected the lowest number of nodes before the highest");
        return refuse("data.nodes", reason);
    }
    let drawn = data.generator().points;
    if data.folder.is_empty() && drawn.has_matrix() && high > MOST_WITH_MATRIX {
        let reason = format!("is {high}; expected at most {MOST_WITH_MATRIX} with this `data.distribution`");
        return refuse("data.nodes", reason);
    }
    for (key, value) in [
        ("data.capacity", data.capacity),
        ("data.max_length", data.max_length),
        ("data.required_prize", data.required_prize),
    ] {
        number(key, value, value >= 0.0 && value.is_finite(), "a number of 0 or more")?;
    }
    if data.table_options()?.first_given().is_some() && data.folder.is_empty() {
        return refuse("data.folder", "is empty, but there are settings for the tables in it".into());
    }
    Ok(())
}

fn check_model(model: &AttentionModelConfig, task: &Task) -> Result<()> {
    if model.kind != KIND {
        return refuse("model.kind", format!("is `{}`; this version knows `{KIND}`", model.kind));
    }
    if model.format != FORMAT {
        return refuse("model.format", format!("is {}; this version knows format {FORMAT}", model.format));
    }
    if model.problem != task.problem {
        let reason = format!("is `{}`, but `task.problem` is `{}`; leave one out", model.problem, task.problem);
        return refuse("model.problem", reason);
    }
    model.validate().map_err(|error| under("model", error))
}

/// Numbers for all pairs of nodes of a batch have to fit in memory: some forty for each pair, and the scores' gradients.
fn check_pairs(experiment: &RouteExperiment) -> Result<()> {
    let (batch, nodes) = (experiment.train.batch_size, experiment.data.nodes.high());
    let pairs = nodes * nodes * batch;
    if !experiment.model.distance_bias || pairs <= MOST_PAIRS {
        return Ok(());
    }
    let most = (MOST_PAIRS / (nodes * nodes)).max(1);
    let reason = format!(
        "is {batch}; expected at most {most} with {nodes} nodes, whose pairs the encoder sees (`model.distance_bias`)"
    );
    refuse("train.batch_size", reason)
}

fn check_train(train: &TrainSettings) -> Result<()> {
    if let Some(preset) = &train.preset {
        TrainSettings::preset(preset).map_err(|error| under("train", error))?;
    }
    whole("train.batch_size", train.batch_size, 1..=65_536)?;
    whole("train.shards", train.shards, 0..=crate::train::MOST_SHARDS)?;
    whole("train.epoch_size", train.epoch_size, 1..=1_000_000_000)?;
    whole("train.epochs", train.epochs, 1..=1_000_000)?;
    whole("train.baseline_warmup_epochs", train.baseline_warmup_epochs, 0..=1_000_000)?;
    whole("train.baseline_instances", train.baseline_instances, 2..=10_000_000)?;
    whole("train.log_steps", train.log_steps, 1..=1_000_000_000)?;
    let above = |key, value: f64| number(key, value, value > 0.0, "a number above 0");
    let inside = |key, value: f64| number(key, value, 0.0 < value && value < 1.0, "a number above 0 and below 1");
    above("train.learning_rate", train.learning_rate)?;
    above("train.critic_learning_rate", train.critic_learning_rate)?;
    above("train.preference_scale", train.preference_scale)?;
    above("train.improved_weight", train.improved_weight)?;
    minutes("train.checkpoint_minutes", train.checkpoint_minutes)?;
    inside("train.baseline_decay", train.baseline_decay)?;
    inside("train.baseline_significance", train.baseline_significance)?;
    let decay = train.learning_rate_decay;
    number("train.learning_rate_decay", decay, 0.0 < decay && decay <= 1.0, "a number above 0, at most 1")?;
    number(
        "train.max_grad_norm",
        train.max_grad_norm,
        train.max_grad_norm >= 0.0,
        "a number above 0, or 0 for no clipping",
    )?;
    let warmup = train.warmup_epochs;
    number("train.warmup_epochs", warmup, (0.0..=1e6).contains(&warmup), "a number of epochs, or 0 for none")?;
    let average = train.ema_decay;
    number("train.ema_decay", average, (0.0..1.0).contains(&average), "a number below 1, or 0 for no average")?;
    seed("train.seed", train.seed)
}

/// Solutions can be improved where there are several of an instance, and a local search.
fn check_improved(train: &TrainSettings, data: &DataSettings, task: &Task) -> Result<()> {
    let (key, improved, problem) = ("train.improved_tours", train.improved_tours, task.problem.as_str());
    if improved == 0 {
        return Ok(());
    }
    if registry::spec(problem).is_some_and(|spec| !spec.local_search) {
        let reason = format!("is {improved}, but there is no local search for `{problem}`; expected 0");
        return refuse(key, reason);
    }
    if train.baseline != BaselineKind::Shared {
        let baseline = train.baseline.name();
        let reason = format!("is {improved}, with the baseline `{baseline}`; expected 0, or the baseline `shared`");
        return refuse(key, reason);
    }
    let most = if train.num_starts == 0 { data.nodes.low() } else { train.num_starts };
    if improved > most {
        let reason = format!("is {improved}; expected at most {most}, the number of sampled solutions of an instance");
        return refuse(key, reason);
    }
    Ok(())
}

fn check_starts(train: &TrainSettings, data: &DataSettings) -> Result<()> {
    if train.loss == Loss::Preference && train.baseline != BaselineKind::Shared {
        let reason =
            format!("is `preference`, with the baseline `{}`; expected the baseline `shared`", train.baseline.name());
        return refuse("train.loss", reason);
    }
    let (starts, high, baseline) = (train.num_starts, data.nodes.high(), train.baseline);
    let expected = match baseline {
        BaselineKind::Shared if starts == 1 => "0 (one from every node) or at least 2",
        BaselineKind::Shared if starts > high => {
            let reason = format!(
                "is {starts}; expected at most {high}, the number of nodes of an instance, or 0 for all of them"
            );
            return refuse("train.num_starts", reason);
        }
        BaselineKind::Shared => return Ok(()),
        _ if starts != 1 => "1; only the baseline `shared` allows more",
        _ => return Ok(()),
    };
    refuse("train.num_starts", format!("is {starts}, with the baseline `{}`; expected {expected}", baseline.name()))
}

fn check_eval(eval: &EvalSettings) -> Result<()> {
    whole("eval.instances", eval.instances, 1..=10_000_000)?;
    seed("eval.seed", eval.seed)?;
    eval.decode.parse::<Decode>().map_err(|error| Error::config("eval.decode", error.to_string()))?;
    match eval.augment {
        1 | 8 => Ok(()),
        other => refuse("eval.augment", format!("is {other}; expected 1, or 8 for all symmetries of the square")),
    }
}

fn refuse(key: &str, reason: String) -> Result<()> {
    Err(Error::config(key, reason))
}

fn number(key: &str, value: f64, good: bool, expected: &str) -> Result<()> {
    if good && value.is_finite() { Ok(()) } else { refuse(key, format!("is {value}; expected {expected}")) }
}

fn seed(key: &str, value: u64) -> Result<()> {
    if value <= LARGEST_SEED { Ok(()) } else { refuse(key, format!("is {value}; expected at most {LARGEST_SEED}")) }
}
