//! PatchTST (Nie et al. 2023): each channel of a window is normalised, cut into patches that attend to each
//! other, and read out; in the forms of three published codes, with switches between them.

mod backbone;
mod config;
mod input;
mod names;
mod preparation;
mod presets;
mod readout;
mod switches;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Gradients, Tensor};
use regard_nn::series::decompose;
use regard_nn::trace::{self, Operation};

use self::backbone::Backbone;
use crate::Result;
use crate::store::{NetworkConfig, Weights, layout, renamed};
use crate::train::{collect, drawn, gradients, restore};
pub use config::{KIND, PatchTstConfig};
pub use input::{Drop, SeriesInput};
pub use preparation::SeriesPreparation;
pub use presets::PRESETS;
pub use switches::{FinalNorm, LayerNorm, Placement, Positions, Shortcut, WindowNorm};

/// A network on time series.
#[derive(Module, Debug)]
pub struct PatchTst {
    /// One, or one for the trend and one for the rest.
    backbones: Vec<Backbone>,
    decomposition: usize,
}

impl PatchTst {
    /// A network with fresh weights, drawn from the device's generator.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for settings that do not hold together.
    pub fn new(config: &PatchTstConfig, device: &Device) -> Result<Self> {
        Self::undrawn(config, device).map(drawn)
    }

    /// A network whose weights are drawn when they are first used, for those that get others before that.
    pub(super) fn undrawn(config: &PatchTstConfig, device: &Device) -> Result<Self> {
        config.validate()?;
        let count = if config.decomposition_kernel > 0 { 2 } else { 1 };
        let backbones = (0..count).map(|_| Backbone::new(config, device)).collect();
        Ok(Self { backbones, decomposition: config.decomposition_kernel })
    }

    /// A network with the weights of a model's file.
    ///
    /// # Errors
    /// [`Error::Weights`](crate::Error::Weights) for weights that are not this network's.
    pub fn from_weights(config: &PatchTstConfig, weights: &Weights, device: &Device) -> Result<Self> {
        layout::check(config, weights)?;
        restore(Self::undrawn(config, device)?, &renamed::to_ours(names::table(config), weights))
    }

    /// The weights under the names of the published code.
    pub fn to_weights(&self, config: &PatchTstConfig) -> Weights {
        let mut weights = renamed::to_theirs(names::table(config), collect(self));
        weights.extend(names::constants(config));
        weights
    }

    /// The gradients of all parameters that have one, under the names of [`Self::to_weights`].
    pub fn gradients(&self, config: &PatchTstConfig, found: &Gradients) -> Weights {
        renamed::to_theirs(names::table(config), gradients(self, found))
    }

    /// Answers: `[batch, channels, horizon · levels]` of a forecast, `[batch, channels, look-back]` of windows
    /// that are filled in or rebuilt, `[batch, channels, patches · patch]` of hidden patches, or
    /// `[batch, 1, classes]`. Levels of one value stand side by side.
    pub fn forward(&self, input: SeriesInput) -> Tensor<3> {
        self.answer(input, None)
    }

    /// As [`Self::forward`], with numbers and weights left out at random.
    pub fn forward_with_dropout(&self, input: SeriesInput, drop: Drop) -> Tensor<3> {
        self.answer(input, Some(drop))
    }

    /// The encoder's rows of windows, `[batch · channels, patches, width]`; of the remainder beside the
    /// trend, where trends have a network of their own.
    pub fn encode(&self, input: SeriesInput) -> Tensor<3> {
        let mut parts = self.parts(input);
        let (backbone, input) = parts.remove(parts.len() - 1);
        backbone.encode(&input, None).rows
    }

    /// The patches of normalised windows, `[batch, channels, patches · patch]`: what is right where patches
    /// were hidden.
    pub fn patches(&self, input: &SeriesInput) -> Tensor<3> {
        self.backbones[0].patches(input)
    }

    /// The input of the linear skip for windows, `[batch, channels, look-back]`, and the center and deviation
    /// `[batch, channels, 1]` that its answers are brought back by.
    pub(crate) fn shortcut_sees(&self, input: &SeriesInput) -> (Tensor<3>, Tensor<3>, Tensor<3>) {
        self.backbones[0].shortcut_sees(input)
    }

    /// The output of a fitted linear skip alone, `[batch, channels, horizon]`; `None` without one.
    pub(crate) fn mapped(&self, input: &SeriesInput) -> Option<Tensor<3>> {
        self.backbones[0].mapped(input)
    }

    /// The network with everything but its head frozen, or with all parts free.
    pub(crate) fn with_frozen_body(self, head_only: bool) -> Self {
        self.map(&mut Freezing { head_only, in_head: 0 })
    }

    fn answer(&self, input: SeriesInput, drop: Option<Drop>) -> Tensor<3> {
        let parts = self.parts(input).into_iter().enumerate();
        let answers = parts.map(|(at, (backbone, input))| backbone.forward(input, drop.map(|drop| drop.of_part(at))));
        let answers = answers.reduce(|a, b| {
            let sum = a.clone() + b.clone();
            trace::step("forecast_of_parts", Operation::Sum)
                .from(&a)
                .from(&b)
                .values(["batch", "series", "value"], &sum);
            sum
        });
        answers.unwrap_or_else(|| unreachable!("one network or two"))
    }

    fn parts(&self, input: SeriesInput) -> Vec<(&Backbone, SeriesInput)> {
        if self.decomposition == 0 {
            return vec![(&self.backbones[0], input)];
        }
        let (trend, rest) = decompose(input.values.clone(), self.decomposition);
        let with = |values: Tensor<3>| SeriesInput { values, ..input.clone() };
        self.backbones.iter().zip([with(trend), with(rest)]).collect()
    }
}

/// Freezes parameters, or frees them.
struct Freezing {
    head_only: bool,
    /// Depth inside the head.
    in_head: usize,
}

impl ModuleMapper for Freezing {
    fn enter_module(&mut self, name: &str, _: &str) {
        if self.in_head > 0 || name == "readout" {
            self.in_head += 1;
        }
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.in_head = self.in_head.saturating_sub(1);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let moves = !self.head_only || self.in_head > 0;
        param.map(|tensor| tensor.set_require_grad(moves))
    }
}
