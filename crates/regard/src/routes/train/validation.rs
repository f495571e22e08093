//! The set on which a run is measured.

use super::source::Source;
use crate::routes::decode::{Decode, DecodeOptions};
use crate::routes::experiment::{RouteExperiment, Sizes};
use crate::routes::model::AttentionModel;
use crate::{Error, Result};
use regard_routing::Problem;

/// Instances never trained on, by size.
pub(super) struct Validation<P> {
    sizes: Vec<Vec<P>>,
    options: DecodeOptions,
}

impl<P: Problem> Validation<P> {
    /// The set of an experiment: its size, or the smallest, middle and largest of its sizes.
    pub(super) fn new(experiment: &RouteExperiment, source: &Source<P>) -> Result<Self> {
        let eval = &experiment.eval;
        let sizes = match experiment.data.nodes {
            Sizes::One(nodes) => vec![nodes],
            Sizes::Between([low, high]) => vec![low, low.midpoint(high), high],
        };
        let share = eval.instances.div_ceil(sizes.len());
        let decode: Decode =
            eval.decode.parse().map_err(|unknown| Error::config("eval.decode", format!("{unknown}")))?;
        let options = DecodeOptions { decode, augment: eval.augment, seed: eval.seed, ..DecodeOptions::default() };
        let sizes = sizes.into_iter().map(|nodes| source.draw(eval.seed, share, nodes)).collect();
        Ok(Self { sizes, options })
    }

    /// Mean cost over all instances.
    pub(super) fn cost(&self, model: &AttentionModel) -> Result<f64> {
        let (mut sum, mut count) = (0.0, 0);
        for problems in &self.sizes {
            sum += costs(model, problems, &self.options)?.iter().sum::<f64>();
            count += problems.len();
        }
        Ok(sum / count as f64)
    }
}

/// Cost of the best solution found for each instance.
///
/// # Errors
/// [`Error::NotFinite`] where a probability is not a number.
pub(super) fn costs<P: Problem>(model: &AttentionModel, problems: &[P], options: &DecodeOptions) -> Result<Vec<f64>> {
    let decoded = model.decode(problems, &|b, tour| problems[b].cost(tour), options)?;
    Ok(decoded.into_iter().map(|found| found.cost).collect())
}
