//! A network in training, its optimiser, and the running average of its weights.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Gradients, Tensor};

use regard_nn::with_seed;

use super::{Checkpoint, Optimizer, OptimizerOptions, RunningAverage, ShardSums, Shards, collect, numbered, restore};
use crate::{Error, Result};

/// Its name in checkpoints.
const MODEL: &str = "model";
const AVERAGE: &str = "average";

/// A network that learns.
pub(crate) struct Trainee<M> {
    pub(crate) model: M,
    optimizer: Optimizer,
    average: Option<RunningAverage>,
}

/// A network on `device` whose weights `seed` decides.
///
/// # Errors
/// Those of `new`.
pub(crate) fn fresh<M: Module>(seed: u64, device: &Device, new: impl Fn(&Device) -> Result<M>) -> Result<M> {
    // Drawn on the CPU whatever the device: generators differ, and a seed shall mean one network.
    let cpu = Device::flex().autodiff();
    // The second network takes numbers from the generator as well, so that no other one may begin meanwhile.
    let (weights, model) = with_seed(&cpu, seed, || Ok::<_, Error>((collect(&new(&cpu)?), new(device)?)))?;
    restore(model, &weights)
}

impl<M: Module> Trainee<M> {
    /// A network before its first step; the average has this decay, and 0 is none.
    pub(crate) fn new(model: M, options: OptimizerOptions, decay: f64) -> Self {
        let model = numbered(model);
        let optimizer = Optimizer::new(&model, options);
        let average = (decay > 0.0).then(|| RunningAverage::new(decay, collect(&model)));
        Self { model, optimizer, average }
    }

    /// The network that is measured and saved, in evaluation: the running average where there is one.
    ///
    /// # Errors
    /// None that a network of this crate can cause.
    pub(crate) fn evaluated(&self) -> Result<M> {
        match &self.average {
            Some(average) => restore(self.model.valid(), &average.weights),
            None => Ok(self.model.valid()),
        }
    }

    /// Takes another first beta of Adam for the steps to come.
    pub(crate) fn set_beta(&mut self, beta: f64) {
        self.optimizer.set_beta(beta);
    }

    /// Step `step` down the gradient of `loss`, a single number: its value, and the norm of the gradient.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite; the network is then as it was.
    pub(crate) fn learn(&mut self, step: u64, rate: f64, loss: Tensor<1>) -> Result<(f64, f64)> {
        self.learn_with(step, rate, loss, |_, _| ())
    }

    /// As [`Self::learn`]; `observe` gets the network before the step and the gradients before they are clipped.
    ///
    /// # Errors
    /// Those of [`Self::learn`].
    pub(crate) fn learn_with(
        &mut self,
        step: u64,
        rate: f64,
        loss: Tensor<1>,
        observe: impl FnOnce(&M, &Gradients),
    ) -> Result<(f64, f64)> {
        let value = f64::from(loss.clone().into_scalar::<f32>());
        check_loss(step, value)?;
        let gradients = loss.backward();
        observe(&self.model, &gradients);
        let gradients = GradientsParams::from_grads(gradients, &self.model);
        Ok((value, self.step_along(step, rate, gradients)?))
    }

    /// Step `step` down the gradient of a batch whose loss is `value`, from the passes of its shards: the norm of the
    /// gradient.
    ///
    /// # Errors
    /// Those of [`Self::learn`].
    pub(crate) fn learn_sums(
        &mut self,
        step: u64,
        rate: f64,
        value: f64,
        sums: ShardSums,
        shards: &Shards,
    ) -> Result<f64> {
        check_loss(step, value)?;
        let gradients = sums.total(shards, &self.model);
        self.step_along(step, rate, gradients)
    }

    fn step_along(&mut self, step: u64, rate: f64, gradients: GradientsParams) -> Result<f64> {
        let (model, norm) = self.optimizer.step_along(rate, self.model.clone(), gradients);
        if !norm.is_finite() {
            return Err(Error::Diverged { step, reason: format!("the norm of the gradient is {norm}") });
        }
        self.model = model;
        if let Some(average) = &mut self.average {
            average.update(step, &collect(&self.model));
        }
        Ok(norm)
    }

    /// Its state, for a checkpoint after `step` steps.
    ///
    /// # Errors
    /// Those of writing the optimiser's state.
    pub(crate) fn checkpoint(&self, step: u64) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint { step, ..Checkpoint::default() };
        checkpoint.weights.insert(MODEL.into(), collect(&self.model));
        if let Some(average) = &self.average {
            checkpoint.weights.insert(AVERAGE.into(), average.weights.clone());
        }
        checkpoint.records.insert(MODEL.into(), self.optimizer.to_bytes()?);
        Ok(checkpoint)
    }

    /// Takes on the state of a checkpoint.
    ///
    /// # Errors
    /// [`Error::State`] for a checkpoint that lacks it, [`Error::Weights`] for one of another network.
    pub(crate) fn restored(mut self, checkpoint: &mut Checkpoint) -> Result<Self> {
        if let Some(average) = &mut self.average {
            average.weights = checkpoint.weights(AVERAGE)?.clone();
        }
        let model = restore(self.model, checkpoint.weights(MODEL)?)?;
        let optimizer = self.optimizer.restored(checkpoint.record(MODEL)?)?;
        Ok(Self { model, optimizer, ..self })
    }
}

fn check_loss(step: u64, value: f64) -> Result<()> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(Error::Diverged { step, reason: format!("the loss is {value}") }),
    }
}
