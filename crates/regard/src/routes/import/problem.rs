//! Which problem a checkpoint of Kool's code is for.

use std::path::Path;

use super::args::Args;
use super::shape;
use regard_routing::registry::{self, ProblemSpec};

use crate::store::Weights;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Kool's words for problems, longer ones first, and ours.
const WORDS: [(&str, &str); 9] = [
    ("pctsp_stoch", "spctsp"),
    ("pctsp_det", "pctsp"),
    ("spctsp", "spctsp"),
    ("sdvrp", "sdvrp"),
    ("pctsp", "pctsp"),
    ("cvrp", "cvrp"),
    ("tsp", "tsp"),
    ("vrp", "cvrp"),
    ("op", "op"),
];

/// The problem of a checkpoint: what the caller says, else `args.json`, else the name of the file
/// or its folder, else what alone fits the tensors.
pub(super) fn problem(weights: &Weights, args: &Args, asked: Option<&str>, path: &Path) -> Result<&'static str> {
    let fitting = fitting(weights)?;
    if let Some(asked) = asked {
        let known = WORDS.iter().find(|(word, _)| *word == asked).map(|(_, ours)| *ours);
        let Some(ours) = known else {
            let near = suggestion(asked, registry::NAMES);
            let reason = format!("`{asked}` is not a problem{near}; problems: {}", list(registry::NAMES));
            return Err(Error::config("problem", reason));
        };
        return fits(ours, &fitting).ok_or_else(|| Error::config("problem", contradiction(asked, &fitting)));
    }
    if let Some(said) = args.text("problem") {
        let ours = WORDS.iter().find(|(word, _)| *word == said).and_then(|(_, ours)| fits(ours, &fitting));
        return ours.ok_or_else(|| args.refuse("problem", &contradiction(said, &fitting)));
    }
    let names = [path.file_name(), path.parent().and_then(Path::file_name)].into_iter().flatten();
    let named = names.filter_map(|name| by_name(&name.to_string_lossy())).find_map(|ours| fits(ours, &fitting));
    match (named, &fitting[..]) {
        (Some(named), _) => Ok(named),
        (None, [only]) => Ok(only),
        _ => {
            let what = "the problem of the weights is ambiguous".to_owned();
            let reason = format!("networks for {} have the same tensors", list(fitting.iter().copied()));
            let hint = format!("give it with --problem {}", fitting.join(" or --problem "));
            Err(Error::Unsupported { what, reason }.with_hint(hint))
        }
    }
}

/// The problem that a name begins with.
fn by_name(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|(word, _)| name.starts_with(word)).map(|(_, ours)| *ours)
}

fn fits(ours: &str, fitting: &[&'static str]) -> Option<&'static str> {
    fitting.iter().find(|&&name| name == ours).copied()
}

fn contradiction(said: &str, fitting: &[&'static str]) -> String {
    format!("is `{said}`, but the weights are those of a model for {}", list(fitting.iter().copied()))
}

/// The problems whose networks have these tensors.
fn fitting(weights: &Weights) -> Result<Vec<&'static str>> {
    let has = |name: &str| weights.contains_key(name);
    let features = shape(weights, "init_embed.weight").map(|[_, features]| features);
    let same = |problem: &&ProblemSpec| {
        problem.depot == has("init_embed_depot.weight")
            && problem.every_node_once == has("W_placeholder")
            && problem.dynamic == has("project_node_step.weight")
            && features.is_none_or(|features| features == problem.features)
    };
    let found: Vec<&str> = registry::PROBLEMS.iter().filter(same).map(|problem| problem.name).collect();
    if found.is_empty() {
        let reason = "neither `W_placeholder` (TSP) nor `init_embed_depot.weight` (problems with a depot) is \
                      among the tensors, or a node has another number of features than any problem";
        let what = "not a checkpoint of Kool's Attention Model".to_owned();
        return Err(Error::Unsupported { what, reason: reason.to_owned() });
    }
    Ok(found)
}
