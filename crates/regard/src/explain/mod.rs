//! The glass box: what a model computes, number by number.
//!
//! Every number shown comes from the blocks and operations that run elsewhere; nothing is computed
//! a second way for display.

mod attention;
mod input;
mod json;
mod model;
#[cfg(test)]
mod tests;
mod trace;

pub use self::attention::attention;
pub use self::input::{AttentionInput, MOST_TOKENS, MOST_WIDTH};
pub use self::model::{Axis, Labels, SCHEMA, Step as TraceStep, Trace};
pub use self::trace::{AttentionTrace, Step};
