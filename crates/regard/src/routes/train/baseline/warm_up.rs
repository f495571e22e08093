//! The first epochs of a baseline that needs time to become useful.

/// For the first epochs an exponential baseline is mixed in, less with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    epochs: u64,
}

impl WarmUp {
    /// A warm-up of so many epochs; 0 for none.
    pub fn new(epochs: u64) -> Self {
        Self { epochs }
    }

    /// Share of the baseline proper in epoch `epoch`, counted from 0: 0 in the first, 1 after the
    /// warm-up. (The original let it grow beyond 1 until its pull request 56.)
    pub fn alpha(&self, epoch: u64) -> f64 {
        if epoch >= self.epochs { 1.0 } else { epoch as f64 / self.epochs as f64 }
    }
}
