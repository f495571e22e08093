//! Attribution of forecasts and classes of time series to the patches and lags of their last window.

use burn::tensor::{Device, Tensor, TensorData};
use regard_data::series::{Panel, Series as OneSeries, Window};
use regard_data::stats::{largest, mean};
use regard_nn::with_input_gradient;

use super::batch::Batch;
use super::classify::at_scale;
use super::measure::medians;
use super::model::{PatchTst, SeriesInput};
use super::predict::{Series, SeriesModel, together};
use super::task::SeriesTask;
use crate::explain::attribution::{
    Attributable, Attribution, AttributionMethod, AttributionOptions, AttributionProgress, Kept, Variant, attribute,
    slopes,
};
use crate::train::probabilities;
use crate::{Error, Result};

/// The attribution of one series.
#[derive(Clone, Debug)]
pub struct SeriesAttribution {
    /// Name of the series.
    pub name: String,
    /// Values of the window.
    pub look_back: usize,
    /// The first and the last lag of each patch; lag 1 is the last value before the forecast.
    pub patches: Vec<[usize; 2]>,
    /// The attribution of the patches; `None` for integrated gradients, which belong to lags.
    pub of_patches: Option<Attribution>,
    /// The attribution of the lags, from the oldest to lag 1; `None` for Shapley values, which are those of patches.
    pub of_lags: Option<Attribution>,
}

/// The last windows of series, of which patches or lags become missing, or come closer to the mean of the window.
struct WindowVariants<'a> {
    model: &'a SeriesModel,
    panel: &'a Panel,
    /// The places of each part in a window.
    parts: Vec<std::ops::Range<usize>>,
    /// Values that are forecast.
    horizon: usize,
    /// The predicted class of each series; 0 for forecasts.
    classes: Vec<usize>,
    /// The network with gradients, where integrated gradients ask for them.
    differentiable: Option<(PatchTst, Device)>,
}

impl SeriesModel {
    /// The attribution of the network's forecast after each series of [`SeriesModel::read`]: the change of the mean of the
    /// next `horizon` values, in the units of the series. Parts that are left out are missing values; integrated gradients
    /// begin at a window that is constant at its mean.
    ///
    /// # Errors
    /// [`Error::Config`] for a model of another task, a horizon beyond the model's, and samples or steps out of range;
    /// series shorter than the look-back.
    pub fn attribute_forecast(
        &self,
        series: &Series,
        horizon: usize,
        options: &AttributionOptions,
        progress: AttributionProgress<'_>,
    ) -> Result<Vec<SeriesAttribution>> {
        self.check_request(horizon, &[])?;
        for at in 0..series.panel.len() {
            Window::last(&series.panel, at, self.config.look_back, self.config.horizon)?;
        }
        self.attributed(&series.panel, horizon, options, progress)
    }

    /// The attribution of the probability of the predicted class of each series of a panel as it stands in the file, as
    /// [`Self::attribute_forecast`].
    ///
    /// # Errors
    /// As there.
    pub fn attribute_classes(
        &self,
        panel: &Panel,
        options: &AttributionOptions,
        progress: AttributionProgress<'_>,
    ) -> Result<Vec<SeriesAttribution>> {
        if self.config.task != SeriesTask::Classification {
            let reason = format!("was trained for {}, which predicts no single answer for a series", self.config.task);
            return Err(Error::config("--model", reason).with_hint("--attribution is for forecasts and classes"));
        }
        self.attributed(&at_scale(panel, &self.config)?, 0, options, progress)
    }

    fn attributed(
        &self,
        panel: &Panel,
        horizon: usize,
        options: &AttributionOptions,
        progress: AttributionProgress<'_>,
    ) -> Result<Vec<SeriesAttribution>> {
        let (look_back, patching) = (self.config.look_back, self.config.patching());
        let span = |at: usize| {
            let first = (at * patching.stride).min(look_back - 1);
            first..(first + patching.patch).min(look_back)
        };
        let spans: Vec<_> = (0..self.config.patches()).map(span).collect();
        let by_patch = options.method != AttributionMethod::IntegratedGradients;
        let by_lag = options.method != AttributionMethod::Shapley;
        let mut of_patches = if by_patch {
            attribute(&self.variants(panel, spans.clone(), horizon, options)?, options, progress)?
        } else {
            vec![]
        }
        .into_iter();
        let single = (0..look_back).map(|at| at..at + 1).collect();
        let mut of_lags = if by_lag {
            attribute(&self.variants(panel, single, horizon, options)?, options, progress)?
        } else {
            vec![]
        }
        .into_iter();
        let patches: Vec<[usize; 2]> =
            spans.iter().map(|span| [look_back - span.start, look_back + 1 - span.end]).collect();
        let all = panel.series().iter().enumerate().map(|(at, one)| {
            let of_patches = of_patches.next().map(|found| match self.patch_weights(panel, at) {
                Some(weights) => found.compared(&weights),
                None => found,
            });
            let (name, patches) = (one.name().to_owned(), patches.clone());
            SeriesAttribution { name, look_back, patches, of_patches, of_lags: of_lags.next() }
        });
        Ok(all.collect())
    }

    fn variants<'a>(
        &'a self,
        panel: &'a Panel,
        parts: Vec<std::ops::Range<usize>>,
        horizon: usize,
        options: &AttributionOptions,
    ) -> Result<WindowVariants<'a>> {
        let differentiable =
            (options.method == AttributionMethod::IntegratedGradients).then(|| self.differentiable()).transpose()?;
        let classes = vec![0; panel.len()];
        let mut found = WindowVariants { model: self, panel, parts, horizon, classes, differentiable };
        if self.config.task == SeriesTask::Classification {
            let whole = |input: usize| Variant { input, kept: Kept::Present(vec![true; found.parts.len()]) };
            let whole: Vec<Variant> = (0..panel.len()).map(whole).collect();
            found.classes = found.predicted(&whole)?.chunks(self.config.classes).map(largest).collect();
        }
        Ok(found)
    }

    /// The mean attention weight of each patch in the last layer, over heads and queries; `None` for a network with
    /// something of its own for each series, which looks at all of them together.
    fn patch_weights(&self, panel: &Panel, at: usize) -> Option<Vec<f64>> {
        if self.config.channels > 1 {
            return None;
        }
        let trace = self.explain("", panel, at).ok()?;
        let step = trace.step(&format!("layer.{}.attention", self.config.layers - 1))?;
        let patches = self.config.patches();
        let mut weights = vec![0.0; patches];
        for row in step.recorded.values.chunks_exact(patches) {
            weights.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*weight));
        }
        Some(weights)
    }
}

impl WindowVariants<'_> {
    /// The window of an input, and the mean of what is there.
    fn whole(&self, input: usize) -> (Vec<f32>, f32) {
        let values = self.panel.series()[input].values();
        let window = values[values.len() - self.model.config.look_back..].to_vec();
        let there: Vec<f64> = window.iter().filter(|x| !x.is_nan()).map(|x| f64::from(*x)).collect();
        let center = if there.is_empty() { 0.0 } else { mean(&there) as f32 };
        (window, center)
    }

    /// The changed window of a variant, missing values as NaN.
    fn window(&self, variant: &Variant) -> Vec<f32> {
        let (mut window, center) = self.whole(variant.input);
        match &variant.kept {
            Kept::Present(present) => {
                for (span, _) in self.parts.iter().zip(present).filter(|(_, present)| !**present) {
                    window[span.clone()].fill(f32::NAN);
                }
            }
            Kept::Scaled(shares) => {
                for (span, share) in self.parts.iter().zip(shares) {
                    window[span.clone()].iter_mut().for_each(|x| *x = center + share * (*x - center));
                }
            }
        }
        window
    }

    /// The windows of variants; a network with something of its own for each series gets all of them, one of them changed.
    fn batch(&self, chosen: &[Variant]) -> Result<Batch> {
        let config = &self.model.config;
        let (channels, look_back) = (config.channels.max(1), config.look_back);
        let end = |series: usize| {
            let start = self.panel.series()[series].len() - look_back;
            Window { series, start, look_back, horizon: if self.horizon > 0 { config.horizon } else { 0 } }
        };
        let of_variant = |variant: &Variant| if channels > 1 { 0..channels } else { variant.input..variant.input + 1 };
        let windows: Vec<Window> = chosen.iter().flat_map(of_variant).map(end).collect();
        let mut batch = Batch::of_windows(self.panel, &windows, channels, false);
        if batch.observed.is_empty() {
            batch.observed = vec![true; batch.inputs.len()];
        }
        for (at, variant) in chosen.iter().enumerate() {
            let row = self.row(at, variant);
            let changed = vec![OneSeries::new("changed", 0, self.window(variant))];
            let changed = Panel::new(self.panel.clock().clone(), changed)?;
            let place = row * look_back..(row + 1) * look_back;
            let window = Window { series: 0, start: 0, look_back, horizon: 0 };
            window.copy_look_back(&changed, &mut batch.inputs[place.clone()], &mut batch.observed[place]);
        }
        if batch.observed.iter().all(|observed| *observed) {
            batch.observed.clear();
        }
        Ok(batch)
    }

    /// The row of the changed window of a variant in a batch.
    fn row(&self, at: usize, variant: &Variant) -> usize {
        let channels = self.model.config.channels.max(1);
        at * channels + if channels > 1 { variant.input } else { 0 }
    }

    /// The answer of each variant among predictions for them.
    fn chosen(&self, predicted: &[f64], variants: &[Variant]) -> Vec<f64> {
        let each = predicted.len() / variants.len().max(1);
        let of = |(at, variant): (usize, &Variant)| predicted[at * each + self.classes[variant.input]];
        variants.iter().enumerate().map(of).collect()
    }

    /// The derivatives of the answers by the numbers of the network.
    fn slopes(&self, numbers: &Tensor<3>, variants: &[Variant]) -> Result<Vec<f64>> {
        let config = &self.model.config;
        if self.horizon == 0 {
            let found: Vec<f64> = numbers.clone().into_data().iter::<f64>().collect();
            let decoded = |numbers: &[f64]| Ok(self.chosen(&probabilities(numbers, config.classes), variants));
            return slopes(&found, config.classes, decoded);
        }
        // The answer is the mean of medians in the units of the series.
        let [samples, channels, each] = numbers.dims();
        let places: Vec<f32> = (0..each).map(|place| place as f32).collect();
        let medians = medians(config, &places);
        let mut slopes = vec![0.0; samples * channels * each];
        for (at, variant) in variants.iter().enumerate() {
            let from = self.row(at, variant) * each;
            let slope = self.model.scaler()?.deviation()[variant.input] / self.horizon as f64;
            medians[..self.horizon].iter().for_each(|&place| slopes[from + place as usize] = slope);
        }
        Ok(slopes)
    }

    /// One number for each forecast, or the probabilities of all classes.
    fn predicted(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let (model, config) = (self.model, &self.model.config);
        let channels = config.channels.max(1);
        let mut all = Vec::new();
        for chosen in variants.chunks((together(channels) / channels).max(1)) {
            let batch = self.batch(chosen)?;
            let numbers = model.answers(&batch);
            if self.horizon == 0 {
                let scores: Vec<f64> = numbers.iter().map(|score| f64::from(*score)).collect();
                all.extend(probabilities(&scores, config.classes));
                continue;
            }
            let (middle, scaler) = (medians(config, &numbers), model.scaler()?);
            for (at, variant) in chosen.iter().enumerate() {
                let row = self.row(at, variant);
                let mut values = middle[row * config.horizon..][..self.horizon].to_vec();
                scaler.unscale(variant.input, &mut values);
                all.push(mean(&values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>()));
            }
        }
        Ok(all)
    }
}

impl Attributable for WindowVariants<'_> {
    fn parts(&self) -> Vec<usize> {
        vec![self.parts.len(); self.panel.len()]
    }

    fn answers(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        Ok(self.chosen(&self.predicted(variants)?, variants))
    }

    fn has_gradients(&self) -> bool {
        self.differentiable.is_some()
    }

    fn gradients(&self, variants: &[Variant]) -> Result<Vec<f64>> {
        let Some((network, device)) = &self.differentiable else { return Ok(vec![]) };
        let config = &self.model.config;
        let (channels, look_back) = (config.channels.max(1), config.look_back);
        let mut all = Vec::new();
        for chosen in variants.chunks((together(channels) / channels / 4).max(1)) {
            let input = self.batch(chosen)?.input(device);
            let values = input.values.clone().require_grad();
            let input = SeriesInput { values: values.clone(), ..input };
            let numbers = with_input_gradient(|| network.forward(input));
            let slopes = TensorData::new(self.slopes(&numbers, chosen)?, numbers.dims());
            let gradients = (numbers * Tensor::<3>::from_data(slopes, device)).sum().backward();
            let Some(found) = values.grad(&gradients) else {
                all.resize(all.len() + chosen.len() * self.parts.len(), 0.0);
                continue;
            };
            let found: Vec<f64> = found.into_data().iter::<f64>().collect();
            for (at, variant) in chosen.iter().enumerate() {
                let of_window = &found[self.row(at, variant) * look_back..][..look_back];
                let (window, center) = self.whole(variant.input);
                all.extend(self.parts.iter().map(|span| {
                    let there = span.clone().filter(|&at| !window[at].is_nan());
                    there.map(|at| of_window[at] * f64::from(window[at] - center)).sum::<f64>()
                }));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::attribution::tests::check_gradients;

    #[test]
    fn gradients_are_the_derivatives_of_the_forecast() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let model = SeriesModel::open(&root.join("models/regard-etth1"), &Device::flex()).unwrap();
        let value = |hour: usize| ((hour as f32 / 24.0).sin() * 3.0 + (hour % 7) as f32) * 0.3;
        let values: Vec<f32> = (0..model.config.look_back).map(value).collect();
        let names = &model.config.data.names;
        let series = names.iter().map(|name| OneSeries::new(name.clone(), 0, values.clone())).collect();
        let clock = regard_data::series::Clock::steps();
        let panel = Panel::new(clock, series).unwrap();
        let options = AttributionOptions::new(AttributionMethod::IntegratedGradients, 1);
        let parts: Vec<_> = (0..model.config.look_back).map(|at| at..at + 1).collect();
        let variants = model.variants(&panel, parts, 12, &options).unwrap();
        let found = attribute(&variants, &AttributionOptions { steps: 16, ..options }, &|_, _| ()).unwrap();
        check_gradients(&variants, &found);
    }
}
