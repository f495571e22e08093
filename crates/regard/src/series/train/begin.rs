//! What a training may begin with: another network's numbers.

use std::path::Path;

use crate::series::model::{PatchTst, PatchTstConfig};
use crate::store::{NetworkDir, Weights};
use crate::train::{collect, restore};
use crate::{Error, Result};

/// A fresh network with the numbers of the model in `folder`, but for a read-out of another shape and a shortcut
/// it has not.
///
/// # Errors
/// What opening the folder gives; [`Error::Config`] for a network with other layers.
pub(super) fn begun_from(fresh: PatchTst, config: &PatchTstConfig, folder: &str) -> Result<PatchTst> {
    let found = NetworkDir::<PatchTstConfig>::open(Path::new(folder))?;
    let device = burn::tensor::Device::flex();
    let theirs = collect(&PatchTst::from_weights(found.config(), &found.weights()?, &device)?);
    let mut ours: Weights = collect(&fresh);
    let mut other = vec![];
    for (name, array) in &mut ours {
        match theirs.get(name) {
            Some(given) if given.shape == array.shape => *array = given.clone(),
            _ if name.contains(".readout.") || name.contains(".shortcut.") => {}
            _ => other.push(name.clone()),
        }
    }
    match other.first() {
        Some(name) => {
            let reason = format!("`{folder}` is a network of other sizes than `[model]` says, at `{name}`");
            Err(Error::config("train.init_from", reason))
        }
        None if config.norm != found.config().norm => {
            Err(Error::config("train.init_from", format!("`{folder}` has other norms than `[model]` says")))
        }
        None => restore(fresh, &ours),
    }
}
