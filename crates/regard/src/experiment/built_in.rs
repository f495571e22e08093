//! The experiments that come with the crate, and finding one by its name.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::file;
use crate::{Error, Result};
use regard_data::names::suggestion;

macro_rules! experiments {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../experiments/", $name)))),+]
    };
}

static BUILT_IN: &[(&str, &str)] = &experiments![
    "routes/tsp20.toml",
    "routes/tsp20-ten-minutes.toml",
    "routes/tsp20-kool.toml",
    "routes/tsp50.toml",
    "routes/tsp50-kool.toml",
    "routes/tsp100.toml",
    "routes/tsp-mixed.toml",
    "routes/tsp20-pomo.toml",
    "routes/cvrp20.toml",
    "routes/cvrp20-kool.toml",
    "routes/cvrp50.toml",
    "routes/cvrp100.toml",
    "routes/cvrp-mixed.toml",
    "routes/cvrptw20.toml",
    "routes/cvrptw50.toml",
    "routes/sdvrp20.toml",
    "routes/pdp20.toml",
    "routes/op20.toml",
    "routes/pctsp20.toml",
    "routes/spctsp20.toml",
    "sets/clustering.toml",
    "sets/clustering-2019.toml",
    "sets/max.toml",
    "sets/mil.toml",
    "sets/bags.toml",
    "sets/ranking.toml",
    "sets/variance.toml",
    "sets/digit-sum.toml",
    "sets/odd-digit.toml",
    "sets/shapes.toml",
    "graphs/zinc.toml",
    "graphs/zinc-2021.toml",
    "graphs/cluster-2021.toml",
    "graphs/pattern-2021.toml",
    "graphs/molecules.toml",
    "graphs/tu.toml",
    "graphs/cora.toml",
    "graphs/csl.toml",
    "series/classify.toml",
    "series/forecast.toml",
    "series/etth1.toml",
    "series/etth2.toml",
    "series/etth1-tfb.toml",
    "series/etth2-tfb.toml",
    "series/etth1-ours.toml",
    "series/etth2-ours.toml",
    "series/pretrained.toml",
];

/// Name and text of the experiments that come with the crate, for example `routes/tsp20.toml`.
pub fn built_in() -> &'static [(&'static str, &'static str)] {
    BUILT_IN
}

/// Description of an experiment: the first sentence of the comment it begins with, empty without one.
pub fn description(text: &str) -> String {
    let comment = text.lines().map_while(|line| Some(line.trim().strip_prefix('#')?.trim()));
    let comment = comment.collect::<Vec<_>>().join(" ");
    let begins_sentence = |rest: &str| rest.chars().next().is_some_and(char::is_uppercase);
    let end = comment.match_indices(". ").find(|(at, _)| begins_sentence(&comment[at + 2..]));
    end.map_or(comment.as_str(), |(at, _)| &comment[..=at]).to_owned()
}

/// The text of an experiment and its name in errors: the file at this path, else the built-in experiment of this
/// name, with or without `.toml`.
///
/// # Errors
/// [`Error::Io`] when there is neither, naming the nearest built-in experiment, or when the file cannot be read;
/// [`Error::Parse`] when it is not text, or empty.
pub fn find(name_or_path: &str) -> Result<(String, PathBuf)> {
    let path = Path::new(name_or_path);
    if path.exists() && !path.is_dir() {
        let text = file::read_text(path)?;
        if text.trim().is_empty() {
            let (path, field) = (path.to_owned(), String::new());
            let reason = "is empty, expected an experiment".to_owned();
            return Err(Error::Parse { path, line: 0, field, reason }
                .with_hint("`regard train --list` shows the built-in experiments"));
        }
        return Ok((text, path.to_owned()));
    }
    let name = bare(name_or_path);
    if let Some((full, text)) = BUILT_IN.iter().find(|(full, _)| bare(full) == name) {
        return Ok(((*text).to_owned(), PathBuf::from(full)));
    }
    let written = if name.contains('/') { name.to_owned() } else { format!("routes/{name}") };
    let near = suggestion(&written, BUILT_IN.iter().map(|(full, _)| bare(full)));
    let reason = format!("is neither a file nor a built-in experiment{near}");
    Err(Error::io(path, io::Error::new(io::ErrorKind::NotFound, reason))
        .with_hint("`regard train --list` shows the built-in experiments"))
}

fn bare(name: &str) -> &str {
    name.strip_suffix(".toml").unwrap_or(name)
}
