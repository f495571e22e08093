//! Test support shared by the crates of the workspace; not published.
//!
//! - [`Golden`]: reference values of the original projects, read through a manifest;
//! - [`Checks`]: compares results with them inside the manifest's tolerances;
//! - [`block_suite!`]: the laws every attention block obeys.

mod checks;
mod golden;
mod suite;
mod values;

pub use checks::Checks;
pub use golden::{Case, Golden, TensorInfo};
pub use suite::{Law, close, input, missing_gradients, parameter_gradients, values_of};
pub use values::Values;

/// Says why a test returns without testing anything.
#[allow(clippy::print_stderr, reason = "the one line a skipped test must leave behind")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
