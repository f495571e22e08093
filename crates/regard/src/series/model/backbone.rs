//! The network on one kind of series: norm, patches, layers, read-out.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use regard_nn::ops::{self, Dropout, NormKind, ResidualScores, apply_dropout};
use regard_nn::series::{
    InstanceNorm, InstanceNormConfig, NormPlacement, PatchDropout, PatchLayer, PatchLayerConfig, Patching,
    WindowStatistics, sine_positions, standardised_sine_positions,
};
use regard_nn::trace::{self, Operation};
use regard_nn::{Normalization, NormalizationConfig};

use super::config::PatchTstConfig;
use super::input::{Drop, SeriesInput};
use super::readout::Readout;
use super::switches::{FinalNorm, LayerNorm, Placement, Positions, Shortcut, WindowNorm};
use crate::series::task::SeriesTask;

/// Seeds between those of one layer and of the next.
const OF_LAYER: u64 = 16;

/// Paper of the norm of windows.
const REVIN: &str = "Kim et al. 2022, §3";

#[derive(Module, Debug)]
pub(super) struct Backbone {
    window_norm: Option<InstanceNorm>,
    /// `[patch, width]`
    embedding: Linear,
    /// `[patches, width]`, where it is learnt.
    positions: Option<Param<Tensor<2>>>,
    /// `[patch · covariates, width]`
    covariate_patches: Option<Linear>,
    /// `[statics, width]`
    statics: Option<Linear>,
    layers: Vec<PatchLayer>,
    final_norm: Option<Normalization>,
    /// `[look-back, horizon]`
    shortcut: Option<Linear>,
    #[module(skip)]
    fitted: bool,
    readout: Readout,
    #[module(skip)]
    patching: Patching,
    #[module(skip)]
    fixed: Positions,
    dropout: f64,
    dropout_twice: bool,
    attention_dropout: f64,
}

/// Rows of patches, the windows they are of, and what undoes the norm of these.
pub(super) struct Encoded {
    /// `[batch, channels, look-back]`, normalised.
    values: Tensor<3>,
    /// `[batch · channels, patches, width]`
    pub(super) rows: Tensor<3>,
    pub(super) statistics: Option<WindowStatistics>,
}

impl Backbone {
    /// Fresh weights; `config` holds together.
    pub(super) fn new(config: &PatchTstConfig, device: &Device) -> Self {
        let width = config.width;
        let norm = match config.norm {
            LayerNorm::Batch => NormKind::Batch,
            LayerNorm::Layer => NormKind::Layer,
        };
        let place = match config.norm_placement {
            Placement::Post => NormPlacement::Post,
            Placement::PreSummed => NormPlacement::PreSummed,
            Placement::Pre => NormPlacement::Pre,
        };
        let layer = PatchLayerConfig::new(width, config.heads, config.feedforward_width)
            .with_norm(norm)
            .with_norm_placement(place)
            .with_residual_scores(config.residual_attention);
        let final_norm = match config.final_norm {
            FinalNorm::None => None,
            FinalNorm::Batch => Some(NormKind::Batch),
            FinalNorm::Layer => Some(NormKind::Layer),
        };
        let linear = |inputs: usize| (inputs > 0).then(|| LinearConfig::new(inputs, width).init(device));
        let learnt = || Initializer::Uniform { min: -0.02, max: 0.02 }.init([config.patches(), width], device);
        let window = InstanceNormConfig::new()
            .with_subtract_last(config.window_norm == WindowNorm::Last)
            .with_affine_channels(if config.affine { config.channels } else { 0 });
        Self {
            window_norm: (config.window_norm != WindowNorm::None).then(|| window.init(device)),
            embedding: LinearConfig::new(config.patch_len, width).with_bias(config.embedding_bias).init(device),
            positions: (config.positions == Positions::Learned).then(learnt),
            covariate_patches: linear(config.patch_len * config.future_covariates),
            statics: linear(config.static_covariates),
            layers: (0..config.layers).map(|_| layer.init(device)).collect(),
            final_norm: final_norm.map(|kind| NormalizationConfig::new(kind, width).init(device)),
            shortcut: (config.linear_skip != Shortcut::None && config.task == SeriesTask::Forecast)
                .then(|| LinearConfig::new(config.look_back, config.horizon).init(device)),
            fitted: config.linear_skip == Shortcut::Fitted,
            readout: Readout::new(config, device),
            patching: config.patching(),
            fixed: config.positions,
            dropout: config.dropout,
            dropout_twice: config.dropout_twice,
            attention_dropout: config.attention_dropout,
        }
    }

    pub(super) fn forward(&self, input: SeriesInput, drop: Option<Drop>) -> Tensor<3> {
        let [batch, channels, _] = input.values.dims();
        let Encoded { values, rows, statistics } = self.encode(&input, drop);
        let straight = self.shortcut.as_ref().map(|shortcut| self.straight(shortcut, values));
        let answers = self.readout.read(rows, [batch, channels], (&input, straight), drop.map(|drop| drop.at(1)));
        match (&self.window_norm, statistics) {
            (Some(norm), Some(statistics)) if self.readout.of_values() => {
                let values = norm.denormalize(answers.clone(), &statistics);
                let undone = match norm.affine() {
                    Some(_) => format!("(x - bias) / (weight + {:e}) · z + y", norm.eps * norm.eps),
                    None => "x · z + y".to_owned(),
                };
                trace::step("forecast", Operation::Formula(undone.into()))
                    .source("Kim et al. 2022")
                    .from(&answers)
                    .from(&statistics.center)
                    .from(&statistics.deviation)
                    .optional_parameter("weight", || norm.affine().map(|(weight, _)| weight))
                    .optional_parameter("bias", || norm.affine().map(|(_, bias)| bias))
                    .values(["batch", "series", self.readout.answers()], &values);
                values
            }
            _ => answers,
        }
    }

    /// The output of the linear skip for a window.
    fn straight(&self, shortcut: &Linear, values: Tensor<3>) -> Tensor<3> {
        let output = match self.fitted {
            false => shortcut.forward(values.clone()),
            true => {
                let output = values.clone().matmul(shortcut.weight.val().detach().unsqueeze());
                shortcut.bias.iter().fold(output, |output, bias| output + bias.val().detach().unsqueeze())
            }
        };
        if trace::recording() {
            let ahead = self.readout.answers();
            let weights = shortcut.weight.val();
            trace::step("linear_map.weights", Operation::Input).values(["lag", ahead], &weights);
            trace::step("linear_map", Operation::Linear)
                .from(&values)
                .from(&weights)
                .parameter("weight", || weights.clone())
                .optional_parameter("bias", || shortcut.bias.as_ref().map(Param::val))
                .values(["batch", "series", ahead], &output);
        }
        output
    }

    /// The input of the linear skip for windows, and their center and deviation.
    pub(super) fn shortcut_sees(&self, input: &SeriesInput) -> (Tensor<3>, Tensor<3>, Tensor<3>) {
        let values = input.values.clone();
        match &self.window_norm {
            Some(norm) => {
                let (values, WindowStatistics { center, deviation }) = norm.normalize(values, input.observed.as_ref());
                (values, center, deviation)
            }
            None => {
                let [batch, channels, _] = values.dims();
                let ones = Tensor::ones([batch, channels, 1], &values.device());
                (values, ones.zeros_like(), ones)
            }
        }
    }

    /// The output of the linear skip alone, where there is one.
    pub(super) fn mapped(&self, input: &SeriesInput) -> Option<Tensor<3>> {
        let shortcut = self.shortcut.as_ref()?;
        let (values, center, deviation) = self.shortcut_sees(input);
        let output = self.straight(shortcut, values);
        Some(match &self.window_norm {
            Some(norm) => norm.denormalize(output, &WindowStatistics { center, deviation }),
            None => output,
        })
    }

    /// The patches of normalised windows, all values seen.
    pub(super) fn patches(&self, input: &SeriesInput) -> Tensor<3> {
        let [batch, channels, length] = input.values.dims();
        let values = match &self.window_norm {
            None => input.values.clone(),
            Some(norm) => norm.normalize(input.values.clone(), input.observed.as_ref()).0,
        };
        let patches = self.patching.cut(values.reshape([batch * channels, length]));
        let [_, count, patch] = patches.dims();
        patches.reshape([batch, channels, count * patch])
    }

    pub(super) fn encode(&self, input: &SeriesInput, drop: Option<Drop>) -> Encoded {
        let [batch, channels, length] = input.values.dims();
        let rows = batch * channels;
        let observed = input.observed.as_ref();
        let (values, statistics) = match &self.window_norm {
            None => (input.values.clone(), None),
            Some(norm) => {
                let (values, statistics) = norm.normalize(input.values.clone(), observed);
                const WINDOW: [&str; 3] = ["batch", "series", "lag"];
                const ONE: [&str; 3] = ["batch", "series", ""];
                let (there, barred) = match observed {
                    Some(_) => (" where the mask y is 1", ", 0 where the mask is 0"),
                    None => ("", ""),
                };
                let by_window = if norm.subtract_last { "last value of x".into() } else { format!("mean of x{there}") };
                let spread = format!("√(variance of x{there} + {})", norm.eps);
                let map = if norm.affine().is_some() { " · weight + bias" } else { "" };
                let scaled = format!("(x - y) / z{map}{barred}");
                let [by_window, spread, scaled] =
                    [by_window, spread, scaled].map(|text: String| Operation::Formula(text.into()));
                trace::step("window", Operation::Input).values(WINDOW, &input.values);
                let center = &statistics.center;
                trace::step("window.center", by_window)
                    .source(REVIN)
                    .from(&input.values)
                    .from_optional(observed)
                    .values(ONE, center);
                let deviation = &statistics.deviation;
                trace::step("window.deviation", spread)
                    .source(REVIN)
                    .from(&input.values)
                    .from_optional(observed)
                    .values(ONE, deviation);
                trace::step("window.normalized", scaled)
                    .source(REVIN)
                    .from(&input.values)
                    .from(center)
                    .from(deviation)
                    .from_optional(observed)
                    .optional_parameter("weight", || norm.affine().map(|(weight, _)| weight))
                    .optional_parameter("bias", || norm.affine().map(|(_, bias)| bias))
                    .values(WINDOW, &values);
                (values, Some(statistics))
            }
        };
        // Masked patches are zeros for the network, but the window that they are cut from is known.
        let values = match &input.shown {
            Some(shown) => values * shown.clone(),
            None => values,
        };
        const PATCHES: [&str; 3] = ["series", "patch", "channel"];
        const PAPER: &str = "Nie et al. 2023, §3.1";
        let patches = self.patching.cut(values.clone().reshape([rows, length]));
        let Patching { patch, stride, .. } = self.patching;
        trace::step("patches", Operation::Patches { patch, stride })
            .source(PAPER)
            .from(&values)
            .values(["series", "patch", "value"], &patches);
        let embedded = ops::linear(&self.embedding, patches.clone());
        trace::linear("embedding", &self.embedding, &patches, PATCHES, &embedded);
        let placed = match self.places(embedded.dims(), &embedded.device()) {
            Some(places) => {
                let placed = embedded.clone() + places.clone().unsqueeze();
                trace::step("positions", Operation::Input).source(PAPER).values(["patch", "channel"], &places);
                trace::step("embedding_with_positions", Operation::Sum)
                    .source(PAPER)
                    .from(&embedded)
                    .from(&places)
                    .values(PATCHES, &placed);
                placed
            }
            None => embedded,
        };
        let known = self.known(placed, input);
        let first = apply_dropout(known, drop.filter(|_| self.dropout > 0.0).map(|drop| self.dropped(drop.at(0))));
        let encoded = self.layers(first, drop);
        let rows = match &self.final_norm {
            Some(norm) => {
                let axes = [("batch", "series"), ("row", "patch")];
                trace::scope_with(|| "final".into(), &axes, || norm.forward(encoded))
            }
            None => encoded,
        };
        Encoded { values, rows, statistics }
    }

    fn layers(&self, first: Tensor<3>, drop: Option<Drop>) -> Tensor<3> {
        let mut carried = ResidualScores::default();
        let mut x = first;
        for (at, layer) in self.layers.iter().enumerate() {
            let drop = drop.map(|drop| self.of_layer(drop.at((at as u64 + 1) * OF_LAYER)));
            let axes = [("row", "patch"), ("sequence", "series")];
            (x, carried) = trace::scope_with(|| format!("layer.{at}"), &axes, || layer.forward(x, carried, drop));
        }
        x
    }

    fn places(&self, [_, patches, width]: [usize; 3], device: &Device) -> Option<Tensor<2>> {
        match (&self.positions, self.fixed) {
            (Some(learnt), _) => Some(learnt.val()),
            (None, Positions::Sine) => Some(sine_positions(patches, width, device)),
            (None, Positions::StandardisedSine) => Some(standardised_sine_positions(patches, width, device)),
            (None, _) => None,
        }
    }

    /// Rows with what is known beside the series.
    fn known(&self, mut rows: Tensor<3>, input: &SeriesInput) -> Tensor<3> {
        let [count, patches, width] = rows.dims();
        if let (Some(linear), Some(covariates)) = (&self.covariate_patches, &input.covariates) {
            let [_, _, _, kinds] = covariates.dims();
            let length = input.values.dims()[2];
            let seen = covariates.clone().narrow(2, 0, length).swap_dims(2, 3).reshape([count * kinds, length]);
            let cut = self.patching.cut(seen).reshape([count, kinds, patches, self.patching.patch]);
            let cut = cut.swap_dims(1, 2).reshape([count, patches, kinds * self.patching.patch]);
            let added = ops::linear(linear, cut.clone());
            const AXES: [&str; 3] = ["series", "patch", "channel"];
            trace::step("covariates.patches", Operation::Input).values(["series", "patch", "value"], &cut);
            trace::linear("covariates.embedding", linear, &cut, AXES, &added);
            let sum = rows.clone() + added.clone();
            trace::step("with_covariates", Operation::Sum).from(&rows).from(&added).values(AXES, &sum);
            rows = sum;
        }
        if let (Some(linear), Some(statics)) = (&self.statics, &input.statics) {
            let [batch, channels, kinds] = statics.dims();
            let statics = statics.clone().reshape([batch * channels, kinds]);
            let all = ops::linear(linear, statics.clone());
            trace::step("statics.values", Operation::Input).values(["series", "feature"], &statics);
            trace::linear("statics.embedding", linear, &statics, ["series", "channel"], &all);
            let sum = rows.clone() + all.clone().reshape([count, 1, width]);
            trace::step("with_statics", Operation::Formula("x + y, the row of a series to each of its patches".into()))
                .from(&rows)
                .from(&all)
                .values(["series", "patch", "channel"], &sum);
            rows = sum;
        }
        rows
    }

    fn dropped(&self, seed: u64) -> Dropout {
        Dropout { rate: self.dropout as f32, seed }
    }

    fn of_layer(&self, seed: u64) -> PatchDropout {
        let rate = self.dropout;
        let attention = if self.dropout_twice { 1.0 - (1.0 - rate).powi(2) } else { rate };
        PatchDropout {
            weights: self.attention_dropout as f32,
            attention: attention as f32,
            hidden: rate as f32,
            feed: rate as f32,
            seed,
        }
    }
}
