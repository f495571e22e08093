//! Traces of trained models: the steps of one forward pass on one input, with the names of what its axes count.

use std::collections::HashMap;

use regard_nn::trace::{Parameter, Recording, Step as Recorded};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::trace::Nested;

/// The version of the form that a trace has in JSON.
pub const SCHEMA: &str = "regard-trace/1";

/// Everything that a model computed on one input, step by step. Serialises to JSON: `schema`, `model`, `input`, `steps`,
/// and `parameters` where they are kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the model.
    pub model: String,
    /// The input: its file or name, and which of its items.
    pub input: String,
    /// The steps, each after those that it is computed from.
    pub steps: Vec<Step>,
    /// The parameters that steps name, where they are kept.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "parameters")]
    pub parameters: Vec<Parameter>,
}

/// One step. Serialises with its values as nested lists, one level for each axis; `null` stands for minus infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was recorded.
    pub recorded: Recorded,
    /// The axes with the names of their indices.
    pub axes: Vec<Axis>,
}

/// An axis of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its meaning, such as `head` or `node`.
    pub name: String,
    /// A name for each index.
    pub labels: Vec<String>,
}

/// Names of the indices of axes; an axis without names is numbered from 0.
pub type Labels = HashMap<&'static str, Vec<String>>;

impl Trace {
    /// The steps of a recording, with the names of their indices.
    pub(crate) fn new(model: String, input: String, recording: Recording, labels: &Labels) -> Self {
        let label = |name: &str, length: usize| -> Vec<String> {
            let known = labels.get(name).filter(|names| names.len() == length);
            known.cloned().unwrap_or_else(|| (0..length).map(|index| index.to_string()).collect())
        };
        let step = |recorded: Recorded| {
            let axes = recorded.axes.iter().zip(&recorded.shape);
            let axes = axes.map(|(name, &length)| Axis { name: name.clone(), labels: label(name, length) }).collect();
            Step { recorded, axes }
        };
        let Recording { steps, parameters } = recording;
        Self { schema: SCHEMA, model, input, steps: steps.into_iter().map(step).collect(), parameters }
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.recorded.name == name)
    }

    /// The trace without the values of parameters, which are many.
    #[must_use]
    pub fn without_parameters(mut self) -> Self {
        self.parameters.clear();
        self
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let recorded = &self.recorded;
        let mut step = serializer.serialize_struct("Step", 9)?;
        step.serialize_field("name", &recorded.name)?;
        step.serialize_field("formula", &recorded.operation.formula())?;
        step.serialize_field("source", recorded.source)?;
        step.serialize_field("axes", &self.axes)?;
        step.serialize_field("shape", &recorded.shape)?;
        step.serialize_field("values", &Nested { shape: &recorded.shape, data: &recorded.values })?;
        step.serialize_field("from", &recorded.from)?;
        step.serialize_field("parameters", &recorded.parameters)?;
        step.serialize_field("notes", &recorded.notes)?;
        step.end()
    }
}

fn parameters<S: Serializer>(all: &[Parameter], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        name: &'a str,
        shape: &'a [usize],
        values: Nested<'a>,
    }
    serializer.collect_seq(all.iter().map(|Parameter { name, shape, values }| Shown {
        name,
        shape,
        values: Nested { shape, data: values },
    }))
}
