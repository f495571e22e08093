//! The switch between the fused kernels and the composed tensor operations.

use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    static OVERRIDE: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Returns true if operations may use the fused CPU kernels.
///
/// The default is true. The environment variable `REGARD_KERNELS=off` (also `0` or `false`; read once)
/// turns kernels off, and [`with_kernels`] overrides both on the current thread. Devices without kernels
/// always run the composed operations.
pub fn kernels_enabled() -> bool {
    static ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    OVERRIDE
        .get()
        .unwrap_or_else(|| *ENVIRONMENT.get_or_init(|| !is_off(std::env::var("REGARD_KERNELS").ok().as_deref())))
}

/// Runs `body` with the kernels turned on or off on the current thread only.
///
/// The previous state is restored when `body` returns or panics, so calls can be nested, and parallel
/// tests do not affect each other.
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
