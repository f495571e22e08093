//! The input of `explain attention`: a few tokens, the projections and the mask.

use std::path::Path;

use super::json;

use crate::Result;
use crate::store::Array;

/// Most tokens one input may have: the scores are `tokens²` numbers to look at.
pub const MOST_TOKENS: usize = 512;
/// Largest width of a token.
pub const MOST_WIDTH: usize = 1024;

/// Tokens, heads, projections and mask.
#[derive(Debug, Clone)]
pub struct AttentionInput {
    /// Names of the tokens.
    pub tokens: Vec<String>,
    /// The tokens, `[tokens, width]`.
    pub x: Array,
    /// Attention heads; divides the width.
    pub heads: usize,
    /// Weights of the query projection, `[width, width]`, rows are inputs.
    pub query_weights: Array,
    /// Weights of the key projection, `[width, width]`.
    pub key_weights: Array,
    /// Weights of the value projection, `[width, width]`.
    pub value_weights: Array,
    /// Weights of the output projection, `[width, width]`.
    pub output_weights: Array,
    /// If true, a token attends only to itself and to earlier tokens.
    pub causal: bool,
}

impl AttentionInput {
    /// The example worked by hand: two tokens of width 4, two heads, identity projections. The
    /// weights are `e^(1/√2) / (1 + e^(1/√2))` = 0.66976155 for a token itself and 0.33023845 for
    /// the other.
    pub fn hand_worked() -> Self {
        let identity = identity(4);
        Self {
            tokens: names(2),
            x: Array { shape: vec![2, 4], data: vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0] },
            heads: 2,
            query_weights: identity.clone(),
            key_weights: identity.clone(),
            value_weights: identity.clone(),
            output_weights: identity,
            causal: false,
        }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.x.shape[0]
    }

    /// If true, there are no tokens; never so for an input read from JSON.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Width of a token.
    pub fn width(&self) -> usize {
        self.x.shape[1]
    }

    /// Reads an input from JSON: `{"x": [[…], …], "heads": 2, "query_weights": [[…], …], …, "mask":
    /// "causal"}`. Only `x` must be there; one head, identity projections and no mask are the
    /// defaults.
    ///
    /// # Errors
    /// [`crate::Error::Parse`] with the field and what was expected; `path` is only for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        json::parse(text, path)
    }
}

/// `token 1`, `token 2`, …
pub(super) fn names(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("token {i}")).collect()
}

/// The identity, `[width, width]`.
pub(super) fn identity(width: usize) -> Array {
    let data = (0..width * width).map(|i| if i / width == i % width { 1.0 } else { 0.0 }).collect();
    Array { shape: vec![width, width], data }
}
