//! Gradients of the answers of a trained network with respect to its input.

use std::cell::Cell;

thread_local! {
    static INPUT_GRADIENT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a forward pass of this thread on an autodiff device as an evaluation: batch norms use their running statistics, and
/// the statistics of a window are part of the function that is differentiated. Without it, such a device means training.
pub fn with_input_gradient<T>(forward: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            INPUT_GRADIENT.set(self.0);
        }
    }
    let _before = Before(INPUT_GRADIENT.replace(true));
    forward()
}

/// If true, [`with_input_gradient`] runs in this thread.
pub(crate) fn of_input() -> bool {
    INPUT_GRADIENT.get()
}
