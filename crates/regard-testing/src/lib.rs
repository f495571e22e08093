//! Test support shared by the crates of the workspace; not published.
//!
//! - [`Golden`]: reference values of the original projects, read through a manifest;
//! - [`shared`]: files of the shared data;
//! - `Checks`: compares results with golden values inside the manifest's tolerances;
//! - `block_suite!`: the laws every attention block obeys.
//!
//! The last two need the feature `tensors`.

#[cfg(feature = "tensors")]
mod checks;
mod golden;
#[cfg(feature = "tensors")]
mod suite;
mod values;

#[cfg(feature = "tensors")]
pub use checks::Checks;
pub use golden::{Case, Golden, TensorInfo, shared};
#[cfg(feature = "tensors")]
pub use suite::{Law, close, input, missing_gradients, parameter_gradients, values_of};
pub use values::Values;

/// Reports on standard error that the calling test returns without testing anything, and why.
///
/// The line is written past the capture of the test runner, so that a passing run shows it, and at once: the runner writes
/// what other tests do meanwhile.
pub fn skipped(why: &str) {
    use std::io::Write;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = std::io::stderr().write_all(format!("\nskipped: {why} ({test})\n").as_bytes());
}
