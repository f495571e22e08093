//! Attribution of predictions for sets to their rows.

use regard_data::sets::Bags;
use regard_data::stats::largest;

use super::base::{by_task, views_of};
use super::examples::Examples;
use super::measure::predict;
use super::mixture::softplus;
use super::model::Decoding;
use super::predict::SetModel;
use super::source::features_of;
use super::task::{Targets, TaskKind};
use crate::explain::attribution::{
    Attributable, Attribution, AttributionMethod, AttributionOptions, Kept, Variant, attribute,
};
use crate::{Error, Result};

/// Sets whose rows are left out, or scaled towards the mean of the training rows.
struct SetVariants<'a> {
    model: &'a SetModel,
    examples: Examples,
    /// The predicted class of each set; 0 for numbers.
    classes: Vec<usize>,
}

impl SetModel {
    /// The attribution of the prediction for each set to its rows: the change of the predicted number, or of the
    /// probability of the predicted class. It is that of the network where it has weight in the answer, and else that of
    /// the base learners. Integrated gradients begin at rows of zeros, the mean of standardised features.
    ///
    /// # Errors
    /// [`Error::Config`] for a model that scores rows or finds clusters, a method for time series, and samples or steps
    /// out of range.
    pub fn attribute(&self, bags: &Bags, options: &AttributionOptions) -> Result<Vec<Attribution>> {
        let task = self.config.task;
        if task.of_items() || task == TaskKind::Clustering {
            let reason =
                format!("is for models that predict one answer for a set; this is a model for {}", task.name());
            return Err(Error::config("--attribution", reason).with_hint("leave it out"));
        }
        if options.method == AttributionMethod::Occlusion {
            let reason = "is `occlusion`, which is for patches and lags of time series";
            return Err(Error::config("--attribution", reason).with_hint("use leave-one-out for the rows of a set"));
        }
        let examples = Examples { targets: Targets::Points, ..features_of(&self.config, bags)? };
        let mut variants = SetVariants { model: self, examples, classes: vec![0; bags.len()] };
        let outputs = self.config.outputs;
        if task == TaskKind::Classification {
            let found = variants.predicted(&variants.examples)?;
            variants.classes = found.chunks(outputs.max(2)).map(largest).collect();
        }
        let found = attribute(&variants, options)?;
        let weights = predict(&self.network, &variants.examples, true, &self.device).importance;
        let Some(weights) = weights.filter(|_| !self.network_has_no_weight()) else { return Ok(found) };
        let compared = found.into_iter().zip(bags.offsets().windows(2));
        Ok(compared.map(|(one, rows)| one.compared(&weights[rows[0]..rows[1]])).collect())
    }
}

impl SetVariants<'_> {
    /// Predictions `[sets, classes]` or `[sets]`; those of the network where it has weight, else those of the base
    /// learners.
    fn predicted(&self, examples: &Examples) -> Result<Vec<f64>> {
        let (model, config) = (self.model, &self.model.config);
        if let Some(base) = model.base.as_ref().filter(|_| model.network_has_no_weight()) {
            return Ok(base.predict(&views_of(examples)?)?.into_iter().next().unwrap_or_default());
        }
        let numbers = predict(&model.network, examples, false, &model.device).numbers;
        Ok(match config.decoding {
            // The rate itself: its whole part hides small changes.
            Decoding::Rate => numbers.iter().map(|&number| softplus(number)).collect(),
            _ => by_task(config, &numbers).into_iter().next().unwrap_or_default(),
        })
    }
}

impl Attributable for SetVariants<'_> {
    fn parts(&self) -> Vec<usize> {
        self.examples.offsets.windows(2).map(|rows| rows[1] - rows[0]).collect()
    }

    fn answers(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let width = self.examples.width;
        let (mut features, mut offsets) = (Vec::new(), vec![0]);
        for variant in variants {
            let rows = self.examples.set(variant.input).chunks_exact(width.max(1));
            match &variant.kept {
                Kept::Present(present) => {
                    let there = rows.zip(present).filter(|(_, present)| **present);
                    there.for_each(|(row, _)| features.extend_from_slice(row));
                }
                Kept::Scaled(shares) => {
                    let scaled = rows.zip(shares).flat_map(|(row, share)| row.iter().map(move |value| value * share));
                    features.extend(scaled);
                }
            }
            offsets.push(features.len() / width.max(1));
        }
        let examples = Examples { width, features, offsets, targets: Targets::Points, truth: vec![] };
        let predicted = self.predicted(&examples)?;
        let each = predicted.len() / variants.len().max(1);
        let of = |(at, variant): (usize, &Variant)| predicted[at * each + self.classes[variant.input].min(each - 1)];
        Ok(variants.iter().enumerate().map(of).collect())
    }
}
