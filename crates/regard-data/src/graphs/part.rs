//! Which graphs or nodes a published split trains on and tests with.

use super::targets::Level;

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// To learn from.
    Training,
    /// To choose by while learning.
    Validation,
    /// To be measured with at the end.
    Test,
    /// Without a label that counts.
    None,
}

/// The part of each graph, or of each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Whether graphs or nodes are split.
    pub level: Level,
    /// `[graphs]` or `[nodes]`.
    pub of: Vec<Part>,
}

impl Part {
    /// `train`, `val` (or `valid`, `validation`, `dev`), `test`, or `none` and the empty word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "train" | "training" => Some(Self::Training),
            "val" | "valid" | "validation" | "dev" => Some(Self::Validation),
            "test" => Some(Self::Test),
            "none" | "" => Some(Self::None),
            _ => None,
        }
    }
}

impl Parts {
    /// The graphs or nodes of a part, in rising order.
    #[must_use]
    pub fn places(&self, part: Part) -> Vec<usize> {
        (0..self.of.len()).filter(|at| self.of[*at] == part).collect()
    }
}
