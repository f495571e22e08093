//! The set on which a run is measured.

use super::source::InstanceSource;
use crate::routes::decode::{Decode, DecodeOptions};
use crate::routes::environment::Environment;
use crate::routes::experiment::{RouteExperiment, Sizes};
use crate::routes::model::AttentionModel;
use crate::train::Ranks;
use crate::{Error, Result};

/// Instances never trained on, by size.
pub(super) struct Validation<E: Environment> {
    environment: E,
    sizes: Vec<Vec<E::Instance>>,
    options: DecodeOptions,
    /// Number of shards of the settings.
    shards: usize,
}

impl<E: Environment> Validation<E> {
    /// The set of an experiment: its size, or the smallest, middle and largest of its sizes.
    pub(super) fn new(experiment: &RouteExperiment, source: &InstanceSource<E>) -> Result<Self> {
        let eval = &experiment.eval;
        let sizes = match experiment.data.nodes {
            Sizes::One(nodes) => vec![nodes],
            Sizes::Between([low, high]) => vec![low, low.midpoint(high), high],
        };
        let share = eval.instances.div_ceil(sizes.len());
        let decode: Decode =
            eval.decode.parse().map_err(|unknown| Error::config("eval.decode", format!("{unknown}")))?;
        let options = DecodeOptions { decode, augment: eval.augment, seed: eval.seed, ..DecodeOptions::default() };
        let sizes = sizes.into_iter().map(|nodes| source.draw(eval.seed, share, nodes)).collect::<Result<_>>()?;
        let (environment, shards) = (source.environment().clone(), experiment.train.shards);
        Ok(Self { environment, sizes, options, shards })
    }

    /// Mean cost over all instances.
    pub(super) fn cost(&self, model: &AttentionModel) -> Result<f64> {
        let (mut sum, mut count) = (0.0, 0);
        for instances in &self.sizes {
            sum += costs(model, &self.environment, instances, &self.options, self.shards)?.iter().sum::<f64>();
            count += instances.len();
        }
        Ok(sum / count as f64)
    }
}

/// Cost of the best solution found for each instance; the ranks of this thread share them in `shards` parts.
///
/// # Errors
/// [`Error::NotFinite`] where a probability is not a number; those of the environment.
pub(super) fn costs<E: Environment>(
    model: &AttentionModel,
    environment: &E,
    instances: &[E::Instance],
    options: &DecodeOptions,
    shards: usize,
) -> Result<Vec<f64>> {
    let costs = |instances: &[E::Instance]| -> Result<Vec<f64>> {
        let decoded = model.decode_in(environment, instances, options)?;
        Ok(decoded.into_iter().map(|found| found.cost).collect())
    };
    // Seeds of sampled solutions and scenarios follow from the number of an instance: then each rank decodes all.
    match options.decode == Decode::Greedy && options.augment == 1 {
        true => Ranks::current().spread(shards, instances.len(), |range| costs(&instances[range])),
        false => costs(instances),
    }
}
