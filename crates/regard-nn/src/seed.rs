//! Random weights of a seed.

use burn::tensor::Device;
use parking_lot::ReentrantMutex;

/// There is one generator for the whole process: two networks made at a time, on two threads, would
/// draw from each other's numbers. Those made through the functions here wait for each other.
static DRAWING: ReentrantMutex<()> = ReentrantMutex::new(());

/// The result of `make`, which draws from the device's generator with this seed.
pub fn with_seed<T>(device: &Device, seed: u64, make: impl FnOnce() -> T) -> T {
    drawing(|| {
        device.seed(seed);
        make()
    })
}

/// The result of `make`, which draws from the device's generator as it stands, and never amid the numbers
/// of a seed on another thread.
pub fn drawing<T>(make: impl FnOnce() -> T) -> T {
    let _alone = DRAWING.lock();
    make()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::nn::{Linear, LinearConfig};

    /// The numbers of some layers, drawn one after the other.
    fn numbers(device: &Device) -> Vec<f32> {
        let draw = || -> Linear { LinearConfig::new(8, 8).init(device) };
        (0..64).flat_map(|_| draw().weight.val().into_data().iter::<f32>().collect::<Vec<_>>()).collect()
    }

    #[test]
    fn a_seed_means_its_numbers_while_others_draw() {
        let device = Device::flex();
        let expected = with_seed(&device, 7, || numbers(&device));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| drop(drawing(|| numbers(&device)))));
            }
            for _ in 0..50 {
                assert!(with_seed(&device, 7, || drawing(|| numbers(&device))) == expected);
            }
        });
    }
}
