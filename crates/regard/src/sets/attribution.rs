//! Attribution of predictions for sets to their rows.

use burn::tensor::{Device, Tensor, TensorData};
use regard_data::sets::Bags;
use regard_data::stats::largest;
use regard_nn::with_input_gradient;

use super::base::{by_task, views_of};
use super::examples::Examples;
use super::measure::predict;
use super::mixture::softplus;
use super::model::{Answers, Decoding, SetTransformer, SetTransformerConfig};
use super::predict::SetModel;
use super::source::features_of;
use super::task::{Targets, TaskKind};
use crate::explain::attribution::{
    Attributable, Attribution, AttributionMethod, AttributionOptions, AttributionProgress, Kept, Variant, attribute,
    slopes,
};
use crate::{Error, Result};

/// Sets whose rows are left out, or scaled towards the mean of the training rows.
struct SetVariants<'a> {
    model: &'a SetModel,
    examples: Examples,
    /// The predicted class of each set; 0 for numbers.
    classes: Vec<usize>,
    /// The network with gradients, where integrated gradients ask for them.
    differentiable: Option<(SetTransformer, Device)>,
}

impl SetModel {
    /// The attribution of the prediction for each set to its rows: the change of the predicted number, or of the
    /// probability of the predicted class. It is that of the network where it has weight in the answer, and else that of
    /// the base learners. Integrated gradients begin at rows of zeros, the mean of standardised features.
    ///
    /// # Errors
    /// [`Error::Config`] for a model that scores rows or finds clusters, a method for time series, and samples or steps
    /// out of range.
    pub fn attribute(
        &self,
        bags: &Bags,
        options: &AttributionOptions,
        progress: AttributionProgress<'_>,
    ) -> Result<Vec<Attribution>> {
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
        let variants = self.variants(bags, options)?;
        let found = attribute(&variants, options, progress)?;
        let weights = predict(&self.network, &variants.examples, true, &self.device).importance;
        let Some(weights) = weights.filter(|_| !self.network_has_no_weight()) else { return Ok(found) };
        let compared = found.into_iter().zip(bags.offsets().windows(2));
        Ok(compared.map(|(one, rows)| one.compared(&weights[rows[0]..rows[1]])).collect())
    }

    fn variants(&self, bags: &Bags, options: &AttributionOptions) -> Result<SetVariants<'_>> {
        let task = self.config.task;
        let differentiable = (options.method == AttributionMethod::IntegratedGradients
            && !self.network_has_no_weight())
        .then(|| self.differentiable())
        .transpose()?;
        let examples = Examples { targets: Targets::Points, ..features_of(&self.config, bags)? };
        let mut variants = SetVariants { model: self, examples, classes: vec![0; bags.len()], differentiable };
        let outputs = self.config.outputs;
        if task == TaskKind::Classification {
            let found = variants.predicted(&variants.examples)?;
            variants.classes = found.chunks(outputs.max(2)).map(largest).collect();
        }
        Ok(variants)
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
        Ok(Self::decoded(config, &predict(&model.network, examples, false, &model.device).numbers))
    }

    /// Predictions from the numbers of the network.
    fn decoded(config: &SetTransformerConfig, numbers: &[f64]) -> Vec<f64> {
        match config.decoding {
            // The rate itself: its whole part hides small changes.
            Decoding::Rate => numbers.iter().map(|&number| softplus(number)).collect(),
            _ => by_task(config, numbers).into_iter().next().unwrap_or_default(),
        }
    }

    /// The answer of each variant among predictions for them.
    fn chosen(&self, predicted: &[f64], variants: &[Variant]) -> Vec<f64> {
        let each = predicted.len() / variants.len().max(1);
        let of = |(at, variant): (usize, &Variant)| predicted[at * each + self.classes[variant.input].min(each - 1)];
        variants.iter().enumerate().map(of).collect()
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
        Ok(self.chosen(&self.predicted(&examples)?, variants))
    }

    fn has_gradients(&self) -> bool {
        self.differentiable.is_some()
    }

    fn gradients(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let Some((network, device)) = &self.differentiable else { return Ok(vec![]) };
        let (mut shares, inputs): (Vec<f32>, Vec<usize>) =
            (vec![], variants.iter().map(|variant| variant.input).collect());
        for variant in variants {
            if let Kept::Scaled(of_variant) = &variant.kept {
                shares.extend_from_slice(of_variant);
            }
        }
        let count = shares.len();
        let shares = Tensor::<2>::from_data(TensorData::new(shares, [count, 1]), device).require_grad();
        let sets = self.examples.select(&inputs).batch(device).sets;
        let scaled = sets.rows.clone() * shares.clone();
        let numbers = match with_input_gradient(|| network.forward(sets.with_rows(scaled))) {
            Answers::Sets(rows) => rows,
            Answers::Items(items) => items.rows.unsqueeze(),
        };
        let found: Vec<f64> = numbers.clone().into_data().iter::<f64>().collect();
        let outputs = found.len() / variants.len().max(1);
        let decoded = |numbers: &[f64]| Ok(self.chosen(&Self::decoded(&self.model.config, numbers), variants));
        let slopes = slopes(&found, outputs, decoded)?;
        let slopes = Tensor::<3>::from_data(TensorData::new(slopes, numbers.dims()), device);
        let gradients = (numbers * slopes).sum().backward();
        let of_shares = shares.grad(&gradients).map(|found| found.into_data().iter::<f64>().collect());
        Ok(of_shares.unwrap_or_else(|| vec![0.0; count]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::attribution::tests::check_gradients;
    use crate::sets::experiment::SetData;

    #[test]
    fn gradients_are_the_derivatives_of_the_answers() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let model = SetModel::open(&root.join("models/regard-max"), &Device::flex()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "bag,x\na,3\na,41\na,17\nb,5\nc,80\nc,79\nc,12\nc,66\n").unwrap();
        let bags = model.read(&path, &SetData { group_by: "bag".into(), ..SetData::default() }, false).unwrap();
        let options = AttributionOptions::new(AttributionMethod::IntegratedGradients, 1);
        let found = model.attribute(&bags, &options, &|_, _| ()).unwrap();
        check_gradients(&model.variants(&bags, &options).unwrap(), &found);
    }
}
