//! The glass box: what a model computes, number by number.
//!
//! Every number shown comes from the blocks and operations that run elsewhere; nothing is computed
//! a second way for display.

mod attention;
pub mod attribution;
mod input;
pub mod page;
#[cfg(test)]
mod tests;
mod trace;

pub use self::attention::attention;
pub use self::input::{AttentionInput, AttentionMask, Context, MOST_SCORES, MOST_TOKENS, MOST_WIDTH, Projection};
pub use self::page::page;
pub(crate) use self::trace::check_size;
pub use self::trace::{Axis, Labels, Layout, SCHEMA, Step as TraceStep, Trace};
