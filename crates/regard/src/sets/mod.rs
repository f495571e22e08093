//! Sets: items in any order and any number, and one answer for them all, or for each
//! (Set Transformer, Lee et al. 2019; Deep Sets, Zaheer et al. 2017).

pub mod mixture;
pub mod model;
pub mod task;

pub use model::{Answers, SetTransformer, SetTransformerConfig};
