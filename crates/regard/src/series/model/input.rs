//! The input of a network on time series.

use burn::tensor::{Device, Tensor, TensorData};

/// Windows of a batch.
#[derive(Clone, Debug)]
pub struct SeriesInput {
    /// `[batch, channels, look-back]`
    pub values: Tensor<3>,
    /// 1 where a value counts and 0 where it is missing, `[batch, channels, look-back]`; none where all count.
    pub observed: Option<Tensor<3>>,
    /// 0 for the values of masked patches, which become 0 after the norm of the window, and 1 for the others,
    /// `[batch, channels, look-back]`; none where no patch is masked.
    pub shown: Option<Tensor<3>>,
    /// Covariates that are known in advance, `[batch, channels, look-back + horizon, covariates]`.
    pub covariates: Option<Tensor<4>>,
    /// Covariates of each series as a whole, `[batch, channels, statics]`.
    pub statics: Option<Tensor<3>>,
}

impl SeriesInput {
    /// Windows without anything missing and nothing known beside.
    pub fn new(values: Tensor<3>) -> Self {
        Self { values, observed: None, shown: None, covariates: None, statics: None }
    }

    /// Windows `[batch, channels, look-back]` of numbers.
    pub fn of(numbers: Vec<f32>, shape: [usize; 3], device: &Device) -> Self {
        Self::new(Tensor::from_data(TensorData::new(numbers, shape), device))
    }
}

/// The random dropout of a training step.
#[derive(Clone, Copy, Debug)]
pub struct Drop {
    /// Decides which numbers.
    pub seed: u64,
}

/// Seeds for the places of one network.
const PLACES: u64 = 1 << 16;

impl Drop {
    /// Of one part of the network.
    pub(super) fn of_part(self, part: usize) -> Self {
        Self { seed: self.seed.wrapping_add(part as u64 * PLACES) }
    }

    /// Of one place in a part.
    pub(super) fn at(self, place: u64) -> u64 {
        self.seed.wrapping_add(place)
    }
}
