//! What a training begins with: an order of windows, and perhaps another network's numbers.

use std::path::Path;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::series::model::{PatchTst, PatchTstConfig};
use crate::store::{NetworkDir, Weights};
use crate::train::{Stream, collect, derived, restore};
use crate::{Error, Result};

/// The samples of an epoch in its order.
pub(super) fn shuffled(samples: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(derived(seed, Stream::Instances, epoch)));
    order
}

/// A fresh network with the numbers of the model in `folder`, but for a read-out of another shape.
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
            _ if name.contains(".readout.") => {}
            _ => other.push(name.clone()),
        }
    }
    match other.first() {
        Some(name) => {
            let reason = format!("`{folder}` is a network of other sizes than `[model]` says, at `{name}`");
            Err(Error::config("train.from", reason))
        }
        None if config.norm != found.config().norm => {
            Err(Error::config("train.from", format!("`{folder}` has other norms than `[model]` says")))
        }
        None => restore(fresh, &ours),
    }
}
