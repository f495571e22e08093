//! The intermediate values of an attention layer.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::store::Array;

/// Every intermediate of one attention layer.
#[derive(Debug, Clone, Serialize)]
pub struct AttentionTrace {
    /// Names of the tokens.
    pub tokens: Vec<String>,
    /// Width of a token.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of one head: `width / heads`.
    pub head_width: usize,
    /// Factor of the scores: `1 / sqrt(head_width)`.
    pub scale: f32,
    /// `none` or `causal`.
    pub mask: &'static str,
    /// The intermediates, in the order they are computed.
    pub steps: Vec<Step>,
}

/// One intermediate. Serialises with its values as nested lists, one level for each axis.
#[derive(Debug, Clone)]
pub struct Step {
    /// Short name, for example `scores`.
    pub name: &'static str,
    /// The formula, for example `q = x Wq`; empty for the input.
    pub formula: String,
    /// Its meaning, in a few words.
    pub meaning: &'static str,
    /// The meaning of each axis of the values.
    pub axes: Vec<&'static str>,
    /// The values; a score that the mask bars is minus infinity (`null` in JSON).
    pub values: Array,
}

impl AttentionTrace {
    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut step = serializer.serialize_struct("Step", 6)?;
        step.serialize_field("name", self.name)?;
        step.serialize_field("formula", &self.formula)?;
        step.serialize_field("meaning", self.meaning)?;
        step.serialize_field("axes", &self.axes)?;
        step.serialize_field("shape", &self.values.shape)?;
        step.serialize_field("values", &Nested { shape: &self.values.shape, data: &self.values.data })?;
        step.end()
    }
}

/// Row-major values as lists of lists.
pub(super) struct Nested<'a> {
    pub(super) shape: &'a [usize],
    pub(super) data: &'a [f32],
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.shape {
            [] | [_] => serializer.collect_seq(self.data),
            [_, inner @ ..] => {
                let size = inner.iter().product::<usize>().max(1);
                serializer.collect_seq(self.data.chunks(size).map(|data| Nested { shape: inner, data }))
            }
        }
    }
}
