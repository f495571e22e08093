//! Traces of trained models: the steps of one forward pass on one input, with the names of what its axes count.

use std::collections::HashMap;

use regard_nn::trace::{Parameter, Recording, Step as Recorded};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::trace::Nested;
use crate::{Error, Result};

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

    /// The steps of one decoding step, of one layer, or whose names contain a text, with one head of those that have
    /// heads. `None` leaves all.
    ///
    /// # Errors
    /// [`Error::Config`] for a step, layer, head or name that the trace does not have, with those it has.
    pub fn part(
        mut self,
        step: Option<usize>,
        layer: Option<usize>,
        head: Option<usize>,
        name: Option<&str>,
    ) -> Result<Self> {
        if let Some(step) = step {
            self.keep("--step", "decoding step", &["decode"], step)?;
        }
        if let Some(layer) = layer {
            self.keep("--layer", "layer", &["encoder", "layer"], layer)?;
        }
        if let Some(name) = name {
            self.steps.retain(|step| step.recorded.name.contains(name));
            if self.steps.is_empty() {
                let reason = format!("is `{name}`, and no step has that in its name");
                return Err(Error::config("--filter", reason).with_hint("without options all steps are listed"));
            }
        }
        if let Some(head) = head {
            let heads = |step: &Step| step.axes.iter().find(|axis| axis.name == "head").map(|axis| axis.labels.len());
            let most = self.steps.iter().filter_map(heads).max();
            match most {
                None => return Err(Error::config("--head", "does not apply: no step that is shown has heads")),
                Some(count) if head >= count => {
                    return Err(Error::config("--head", format!("is {head}; there are the heads 0 to {}", count - 1)));
                }
                Some(_) => self.steps.iter_mut().for_each(|step| step.keep_head(head)),
            }
        }
        Ok(self)
    }

    /// Keeps the steps whose name begins with one of `words` and the number `kept`.
    fn keep(&mut self, option: &str, what: &str, words: &[&str], kept: usize) -> Result<()> {
        let number = |step: &Step| {
            let mut parts = step.recorded.name.split('.');
            let word = parts.next().filter(|word| words.contains(word));
            word.and_then(|_| parts.next()?.parse::<usize>().ok())
        };
        let most = self.steps.iter().filter_map(number).max();
        match most {
            None => return Err(Error::config(option, format!("does not apply: the model has no {what}"))),
            Some(most) if kept > most => {
                return Err(Error::config(option, format!("is {kept}; there are the {what}s 0 to {most}")));
            }
            Some(_) => self.steps.retain(|step| number(step) == Some(kept)),
        }
        Ok(())
    }

    /// The trace without the values of parameters, which are many.
    #[must_use]
    pub fn without_parameters(mut self) -> Self {
        self.parameters.clear();
        self
    }
}

impl Step {
    /// Keeps one index of the axis of heads, where there is one.
    fn keep_head(&mut self, head: usize) {
        let Some(axis) = self.axes.iter().position(|axis| axis.name == "head") else { return };
        let (inner, length): (usize, usize) =
            (self.recorded.shape[axis + 1..].iter().product(), self.recorded.shape[axis]);
        let head = head.min(length - 1);
        let blocks = self.recorded.values.chunks(inner * length);
        self.recorded.values = blocks.flat_map(|block| block[head * inner..(head + 1) * inner].to_vec()).collect();
        self.recorded.shape[axis] = 1;
        self.axes[axis].labels = vec![self.axes[axis].labels[head].clone()];
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
