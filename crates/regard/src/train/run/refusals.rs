//! Runs that are not begun.

use std::path::Path;

use super::Settings;
use crate::{Error, Result};

pub(super) fn occupied(out: &Path) -> Error {
    Error::Unsupported { what: out.display().to_string(), reason: "holds a run already".into() }
        .with_hint("`--resume` goes on with it; or name another folder")
}

pub(super) fn nothing_to_resume(out: &Path) -> Error {
    Error::Unsupported { what: out.display().to_string(), reason: "holds no run to resume".into() }
        .with_hint("leave `--resume` out to begin one")
}

/// Whether a run with the settings `before` can go on with `now`: what does not change any number
/// computed so far may differ.
pub(super) fn comparable<E: Settings>(before: &E, now: &E) -> Result<()> {
    let allowed = now.continuing(before);
    if allowed == *before {
        return Ok(());
    }
    let flat = |experiment: &E| {
        let value = serde_json::to_value(experiment).unwrap_or_default();
        let sections = value.as_object().cloned().unwrap_or_default();
        sections.into_iter().flat_map(|(section, keys)| {
            let keys = keys.as_object().cloned().unwrap_or_default();
            keys.into_iter().map(move |(key, value)| (format!("{section}.{key}"), value))
        })
    };
    let differs = flat(before).zip(flat(&allowed)).find(|(a, b)| a != b);
    let Some(((key, old), (_, new))) = differs else { return Ok(()) };
    Err(Error::config(key, format!("is {new}, but the run to resume has {old}"))
        .with_hint("only `train.epochs` and `train.checkpoint_minutes` may change when a run goes on"))
}
