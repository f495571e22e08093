//! Traces of trained models: the steps of one forward pass on one input, with the names of what its axes count.

use std::collections::{HashMap, HashSet};

use regard_nn::trace::{Parameter, Recording, Step as Recorded};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::{Error, Result};

/// The version of the form that a trace has in JSON.
pub const SCHEMA: &str = "regard-trace/1";

/// Most numbers that a trace may hold: 1 GiB of them.
const MOST_NUMBERS: usize = 1 << 28;

/// Refuses an input whose trace would be too large, before anything is computed. `numbers` says how many numbers the trace
/// of an input with so many `items` holds, and does not fall.
///
/// # Errors
/// [`Error::Unsupported`] with the number of items that would fit.
pub(crate) fn check_size(what: &str, items: &str, size: usize, numbers: impl Fn(usize) -> usize) -> Result<()> {
    if numbers(size) <= MOST_NUMBERS {
        return Ok(());
    }
    let (mut fits, mut above) = (0, size);
    while above - fits > 1 {
        let middle = fits + (above - fits) / 2;
        if numbers(middle) <= MOST_NUMBERS { fits = middle } else { above = middle }
    }
    let found = numbers(size);
    let reason = format!("has {size} {items}, whose trace would be {found} numbers; at most {fits} {items} fit");
    Err(Error::Unsupported { what: what.to_owned(), reason })
}

/// Everything that a model computed on one input, step by step. Serialises to JSON: `schema`, `model`, `input`, `steps`,
/// and `parameters` where they are kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the model.
    pub model: String,
    /// The input: its name, and which of its items.
    pub input: String,
    /// Where the items of the input stand on a plane, for drawings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The steps, each after those that it is computed from.
    pub steps: Vec<Step>,
    /// The parameters that steps name, where they are kept.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "parameters")]
    pub parameters: Vec<Parameter>,
}

/// Places of the items of an input on a plane, and what lies between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Layout {
    /// The axis that counts the items, such as `node`.
    pub axis: &'static str,
    /// Names of the items.
    pub labels: Vec<String>,
    /// The place of each, upwards and to the right.
    pub places: Vec<[f64; 2]>,
    /// Pairs of items that an edge leads from and to, in the order of the axis `edge`; empty where there is none.
    pub edges: Vec<[usize; 2]>,
    /// The kind of each edge, such as `double`; empty where there are none.
    pub edge_kinds: Vec<String>,
    /// The routes of the solution, with the depot at both ends where there is one.
    pub routes: Vec<Vec<usize>>,
    /// If true, item 0 is a depot.
    pub depot: bool,
}

/// One step. Serialises with its values as nested lists, one level for each axis; `null` stands for minus infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The recorded step.
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
        let steps = steps.into_iter().map(step).collect();
        Self { schema: SCHEMA, model, input, layout: None, steps, parameters }
    }

    /// The trace with the places of its items.
    pub(crate) fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.recorded.name == name)
    }

    /// The steps of one decoding step, or of one layer. `None` leaves all.
    ///
    /// # Errors
    /// [`Error::Config`] for a step or layer that the trace does not have, with those it has.
    pub fn part(mut self, step: Option<usize>, layer: Option<usize>) -> Result<Self> {
        if let Some(step) = step {
            self.keep("--step", "decoding step", &["decode"], step)?;
        }
        if let Some(layer) = layer {
            self.keep("--layer", "layer", &["encoder", "layer"], layer)?;
        }
        Ok(self)
    }

    /// The step of this name, or else the steps whose names contain it. `None` leaves all.
    ///
    /// # Errors
    /// [`Error::Config`] where no name does.
    pub fn named(mut self, text: Option<&str>) -> Result<Self> {
        if let Some(text) = text {
            let exact = self.step(text).is_some();
            self.steps
                .retain(|step| if exact { step.recorded.name == text } else { step.recorded.name.contains(text) });
            if self.steps.is_empty() {
                let reason = format!("is `{text}`, and no step has that in its name");
                return Err(Error::config("--filter", reason).with_hint("without options all steps are listed"));
            }
        }
        Ok(self)
    }

    /// One head of the steps that have heads. `None` leaves all.
    ///
    /// # Errors
    /// [`Error::Config`] for a head that no step has, with those there are.
    pub fn head(mut self, head: Option<usize>) -> Result<Self> {
        if let Some(head) = head {
            let heads = |step: &Step| step.axes.iter().find(|axis| axis.name == "head").map(|axis| axis.labels.len());
            match self.steps.iter().filter_map(heads).max() {
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

    /// The trace with the parameters alone that its steps name.
    #[must_use]
    pub fn with_own_parameters(mut self) -> Self {
        let named: HashSet<&String> = self.steps.iter().flat_map(|step| &step.recorded.parameters).collect();
        self.parameters.retain(|parameter| named.contains(&parameter.name));
        self
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

/// Row-major values as lists of lists.
struct Nested<'a> {
    shape: &'a [usize],
    data: &'a [f32],
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
