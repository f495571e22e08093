//! Random weights of a seed.

use std::sync::Mutex;

use burn::tensor::Device;

/// The result of `make`, which draws from the device's generator with this seed.
///
/// There is one generator for the whole process: two networks made at a time, on two threads, would
/// draw from each other's numbers. Those made through this function wait for each other.
pub fn with_seed<T>(device: &Device, seed: u64, make: impl FnOnce() -> T) -> T {
    static DRAWING: Mutex<()> = Mutex::new(());
    let _alone = DRAWING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    device.seed(seed);
    make()
}
