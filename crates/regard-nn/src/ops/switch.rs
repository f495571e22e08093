//! Which body an operation runs: the fused kernel or the composed tensor operations.

use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    static OVERRIDE: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether operations may use the fused CPU kernels.
///
/// True unless the environment says `REGARD_KERNELS=off` (also `0` or `false`; read once), or
/// [`with_kernels`] says otherwise on this thread. A device without kernels runs the composed
/// bodies whatever this returns.
pub fn kernels_enabled() -> bool {
    static ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    OVERRIDE
        .get()
        .unwrap_or_else(|| *ENVIRONMENT.get_or_init(|| !is_off(std::env::var("REGARD_KERNELS").ok().as_deref())))
}

/// Runs `body` with the kernels switched on or off on the current thread only.
///
/// The former state comes back when `body` returns or unwinds, so calls nest and tests that run
/// side by side do not disturb one another.
///
/// ```
/// use regard_nn::ops::{kernels_enabled, with_kernels};
///
/// assert!(!with_kernels(false, kernels_enabled));
/// assert!(with_kernels(false, || with_kernels(true, kernels_enabled)));
/// ```
pub fn with_kernels<T>(on: bool, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OVERRIDE.set(self.0);
        }
    }
    let _restore = Restore(OVERRIDE.replace(Some(on)));
    body()
}

fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|v| ["off", "0", "false"].contains(&v.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_switch_off() {
        for word in ["off", "OFF", " 0 ", "False"] {
            assert!(is_off(Some(word)), "{word}");
        }
        for word in [None, Some("on"), Some("")] {
            assert!(!is_off(word), "{word:?}");
        }
    }

    #[test]
    fn override_ends_with_a_panic_too() {
        let before = kernels_enabled();
        let result = std::panic::catch_unwind(|| with_kernels(!before, || panic!("inside")));
        assert!(result.is_err());
        assert_eq!(kernels_enabled(), before);
    }

    #[test]
    fn override_stays_on_its_thread() {
        let before = kernels_enabled();
        with_kernels(!before, || {
            let elsewhere = std::thread::spawn(kernels_enabled).join();
            assert_eq!(elsewhere.ok(), Some(before));
        });
    }
}
