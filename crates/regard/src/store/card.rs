//! The card of a model: its `README.md`.

use std::fmt::Write;

use super::manifest::{Manifest, Provenance};
use super::network::{CardText, NetworkConfig};

/// The card, in Markdown. `argument` names the model's folder in commands.
pub(super) fn card<C: NetworkConfig>(name: &str, argument: &str, config: &C, manifest: Option<&Manifest>) -> String {
    let about = config.card();
    let mut text = format!("# {name}\n\n{}\n", about.what);
    if let Some(description) = manifest.and_then(|manifest| manifest.description.as_ref()) {
        text += &format!("\n{description}\n");
    }
    text += &sizes(config, &about);
    if let Some(manifest) = manifest {
        text += &origin(manifest);
        text += &numbers(manifest);
        text += &licence(manifest);
    }
    let usage = about.usage.iter().chain(&["regard model show {name}"]);
    let usage: String = usage.map(|line| line.replace("{name}", argument) + "\n").collect();
    text += &format!("\n## Usage\n\n```sh\n{usage}```\n");
    text
}

fn sizes<C: NetworkConfig>(config: &C, about: &CardText) -> String {
    let first = [("kind", config.kind().to_owned()), ("preset", about.preset.clone().unwrap_or_else(|| "none".into()))];
    let last = [("parameters", thousands(config.trainable()))];
    let rows = first.into_iter().chain(about.rows.iter().cloned()).chain(last);
    rows.fold("\n| setting | value |\n|---|---|\n".to_owned(), |mut text, (name, value)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {value} |");
        text
    })
}

fn origin(manifest: &Manifest) -> String {
    let mut text = String::from("\n## Training\n\n");
    let seconds = |seconds: Option<f64>| seconds.map(|seconds| format!("{} s", thousands(seconds.round() as usize)));
    let of_all = manifest.wall_seconds_of_all().filter(|_| !manifest.earlier.is_empty());
    let seed = manifest.seed.map(|seed| seed.to_string());
    for (name, value) in [
        ("command", manifest.command.as_ref().map(|command| format!("`{command}`"))),
        ("written", manifest.created.clone()),
        ("seed", seed),
        ("wall time", seconds(manifest.wall_seconds)),
        ("wall time with the earlier trainings", seconds(of_all)),
        ("threads", manifest.threads.map(|threads| threads.to_string())),
        ("regard", manifest.regard.clone()),
        ("commit", manifest.git_commit.clone()),
        ("data, SHA-256", manifest.data_sha256.clone()),
    ] {
        if let Some(value) = value {
            text += &format!("- {name}: {value}\n");
        }
    }
    if let Some(provenance) = &manifest.provenance {
        text += &imported(provenance);
    }
    text + &earlier(manifest)
}

/// The trainings whose weights this one began with.
fn earlier(manifest: &Manifest) -> String {
    if manifest.earlier.is_empty() {
        return String::new();
    }
    let rows = manifest.earlier.iter().map(|training| {
        let whole = |number: Option<f64>| number.map_or_else(String::new, |number| thousands(number.round() as usize));
        let (created, command) = (training.created.as_deref(), training.command.as_deref());
        let threads = training.threads.map_or_else(String::new, |threads| threads.to_string());
        let (instances, seconds) = (training.instances.map(|count| count as f64), training.wall_seconds);
        format!(
            "| {} | {} | {} | {threads} | {} |\n",
            created.unwrap_or_default(),
            whole(instances),
            whole(seconds),
            command.map_or_else(String::new, |command| format!("`{}`", command.replace('|', "\\|"))),
        )
    });
    format!(
        "\nIts weights began with those of earlier trainings, the first one first:\n\n\
         | written | instances | seconds | threads | command |\n|---|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn imported(provenance: &Provenance) -> String {
    let mut text = format!("- imported: {}\n", provenance.origin);
    if let Some(repository) = &provenance.repository {
        text += &format!("- code: <{repository}>\n");
    }
    text += &format!("- file: `{}`, SHA-256 `{}`\n", provenance.file, provenance.sha256);
    if !provenance.training.is_empty() {
        let settings: Vec<_> = provenance.training.iter().map(|(key, value)| format!("{key} {value}")).collect();
        text += &format!("- trained with: {}\n", settings.join(", "));
    }
    text
}

fn numbers(manifest: &Manifest) -> String {
    if manifest.metrics.is_empty() {
        return String::new();
    }
    let of_parts = |name: &str| PARTS.iter().any(|part| name.starts_with(part));
    let rows = manifest.metrics.iter().filter(|(name, _)| !of_parts(name));
    let rows: String = rows.map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    let data = if manifest.metrics.contains_key("validation_cost") { OF_TRAINING } else { "" };
    format!("\n## Metrics\n\n{data}| metric | value |\n|---|---|\n{rows}{}", blend(manifest))
}

/// The data of the metrics of a training.
const OF_TRAINING: &str =
    "`instances` and `steps` count the training; all other numbers are measured on the validation data.\n\n";

/// Prefixes of the metrics of the parts of a blend.
const PARTS: [&str; 3] = ["network_", "base_", "blend_"];

/// The contribution of the network beside its base learners; empty for a network alone.
fn blend(manifest: &Manifest) -> String {
    let get = |part: &str, metric: &str| manifest.metrics.get(&format!("{part}{metric}"));
    let (Some(network), Some(base)) = (get("network_", "weight"), get("base_", "weight")) else {
        return String::new();
    };
    let metrics = manifest.metrics.keys().filter_map(|name| name.strip_prefix("blend_"));
    let row = |metric: &str| {
        let cells = PARTS.map(|part| get(part, metric).map(|value| format!("{value:.4}")).unwrap_or_default());
        format!("| {metric} | {} |\n", cells.join(" | "))
    };
    format!(
        "\nPredictions are a blend of the network (weight {network:.2}) and of base learners (weight {base:.2}; \
         `--only network` and `--only base` give one part). On the validation data:\n\n\
         | metric | network | base learners | blend |\n|---|---|---|---|\n{}",
        metrics.map(row).collect::<String>()
    )
}

fn licence(manifest: &Manifest) -> String {
    let provenance = manifest.provenance.as_ref().and_then(|provenance| provenance.licence.as_ref());
    match manifest.licence.as_ref().or(provenance) {
        Some(licence) => format!("\n## Licence\n\n{licence}\n"),
        None => String::new(),
    }
}

/// `708608` as `708,608`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::AttentionModelConfig;

    #[test]
    fn the_card_says_what_the_model_is_and_how_to_use_it() {
        let provenance = Provenance { licence: Some("MIT".into()), ..Provenance::default() };
        let manifest = Manifest {
            metrics: [("tsp20 mean cost".to_owned(), 3.85)].into(),
            provenance: Some(provenance),
            ..Manifest::now("regard model import kool a.pt")
        };
        let text = card("kool-tsp20", "models/kool-tsp20", &AttentionModelConfig::kool_2019(), Some(&manifest));
        for part in [
            "# kool-tsp20",
            "| parameters | 708,608 |",
            "| tsp20 mean cost | 3.85 |",
            "MIT",
            "--model models/kool-tsp20",
        ] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains("validation data"), "{text}");
    }

    #[test]
    fn the_card_lists_the_trainings_before_its_own() {
        let one = Manifest {
            created: Some("2026-01-31T12:00:00Z".into()),
            wall_seconds: Some(3600.4),
            metrics: [("instances".to_owned(), 64_000.0)].into(),
            ..Manifest::now("regard train routes/tsp20")
        };
        let two =
            Manifest { wall_seconds: Some(100.0), threads: Some(2), earlier: one.trainings(), ..Manifest::now("b") };
        let text = origin(&two);
        assert!(
            text.contains("- wall time: 100 s\n- wall time with the earlier trainings: 3,700 s\n- threads: 2"),
            "{text}"
        );
        let row = "| 2026-01-31T12:00:00Z | 64,000 | 3,600 |  | `regard train routes/tsp20` |";
        assert!(text.ends_with(&format!("|---|---|---|---|---|\n{row}\n")), "{text}");
        let three = Manifest { earlier: two.trainings(), ..Manifest::now("c") };
        assert_eq!(three.earlier.len(), 2);
        assert_eq!(three.wall_seconds_of_all(), None, "that of the last one is unknown");
        assert!(!origin(&Manifest { earlier: vec![], ..two }).contains("earlier"));
    }

    #[test]
    fn metrics_of_a_training_name_their_data() {
        let metrics = [("steps", 9.0), ("mae", 0.5), ("validation_cost", 0.25)];
        let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let text = numbers(&Manifest { metrics, ..Manifest::now("regard train graphs/zinc") });
        assert!(text.contains("all other numbers are measured on the validation data.\n\n| metric |"), "{text}");
    }

    #[test]
    fn the_card_says_what_the_network_adds() {
        let all = [("network_", 0.8, 0.25), ("base_", 0.85, 0.75), ("blend_", 0.9, 1.0)];
        let metrics = all
            .into_iter()
            .flat_map(|(part, auc, weight)| [(format!("{part}auc"), auc), (format!("{part}weight"), weight)]);
        let metrics = metrics.filter(|(name, _)| name != "blend_weight").collect();
        let manifest = Manifest { metrics, ..Manifest::now("regard train sets/mil") };
        let text = numbers(&manifest);
        for part in ["network (weight 0.25)", "base learners (weight 0.75;", "| auc | 0.8000 | 0.8500 | 0.9000 |"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
