//! A record of what a forward pass computes, step by step.
//!
//! While [`record`] runs, the operations of its thread take their composed form, and blocks hand over each intermediate
//! with the operation that made it. Without a recording, a step costs one look at a flag. There is no second copy of a
//! model: what is recorded is what the composed form computes, and tests hold the kernels against that form.
//!
//! A step knows the steps it depends on by what is in them: a tensor that was recorded before is found again by its
//! numbers, so that blocks need not know each other's names.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// One intermediate of a forward pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where it stands in the model: scopes and its own name, with dots between, such as `encoder.0.attention`.
    pub name: String,
    /// The operation by which it follows from [`Self::from`] and [`Self::parameters`].
    pub operation: Operation,
    /// Paper and section.
    pub source: &'static str,
    /// The meaning of each axis of the values, such as `head`.
    pub axes: Vec<String>,
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// The values, the last axis fastest.
    pub values: Vec<f32>,
    /// Names of the steps that it is computed from, in the order of the operation.
    pub from: Vec<String>,
    /// Names of the parameters in the operation.
    pub parameters: Vec<String>,
    /// A word for each index of the last axis, such as why a node is barred; empty where there are none.
    pub notes: Vec<String>,
}

/// A parameter of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name of the step, and what the parameter is to it, such as `encoder.0.query.weight`.
    pub name: String,
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// The values, the last axis fastest.
    pub values: Vec<f32>,
}

/// Steps and parameters, in the order in which it was computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The intermediates.
    pub steps: Vec<Step>,
    /// The parameters that they name.
    pub parameters: Vec<Parameter>,
}

/// The operation by which a step follows from others. `x`, `y`, `z` are the steps it is from, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Is given.
    Input,
    /// `x W + b`, or `x W` where there is no `b`, for the last axis of `x`.
    Linear,
    /// Dot products of the rows of `x` and `y`, in each head: `[head, row of x, row of y]`.
    Dot {
        /// Heads, side by side in the rows.
        heads: usize,
    },
    /// `x · factor`.
    Scale {
        /// The factor.
        factor: f32,
    },
    /// The sum of all; what is shorter is repeated along the axes before its own.
    Sum,
    /// `x y`, element by element; `y` is repeated as in a sum.
    Product,
    /// `x`, at least `-limit` and at most `limit`.
    Clamp {
        /// The limit.
        limit: f32,
    },
    /// `exp(x) / Σ exp(x)` along the last axis. With `y`, where that is 0 the result is 0 and nothing is added.
    Softmax,
    /// Sums of the rows of `y` weighted by `x`: `[head, row of x, channel of the head]`.
    WeightedSum {
        /// Heads, side by side in the rows of `y`.
        heads: usize,
    },
    /// The heads of `x`, side by side in each row.
    Merge,
    /// `γ (x - mean) / √(variance + eps) + β`.
    Norm {
        /// `batch` with the running mean and variance of the training, `instance` over the rows, `layer` over a row,
        /// `set` over all rows and channels.
        kind: &'static str,
        /// Added to the variance.
        eps: f32,
    },
    /// `max(x, 0)`.
    Relu,
    /// `x Φ(x)`.
    Gelu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `clip · tanh(x)`.
    ClippedTanh {
        /// The bound.
        clip: f32,
    },
    /// `ln(softmax(x))` along the last axis; with `y`, `-∞` where that is 0.
    LogSoftmax,
    /// `exp(x)`.
    Exp,
    /// Mean over the rows of `x`.
    Mean,
    /// Sum over the rows of `x`.
    Total,
    /// Largest of the rows of `x`, in each channel.
    Largest,
    /// All one after another, along the last axis.
    Concat,
    /// All one after another, along the first axis.
    Stack,
    /// Some rows of `x`.
    Rows {
        /// Which.
        rows: Vec<usize>,
    },
    /// Some columns of `x`: `count` from `start` on.
    Columns {
        /// The first.
        start: usize,
        /// The number of them.
        count: usize,
    },
    /// The last two axes of `x` turned over and made one.
    Flattened,
    /// Windows of `patch` values of `x`, `stride` apart, the last value repeated at the end.
    Patches {
        /// Length of a window.
        patch: usize,
        /// From one start to the next.
        stride: usize,
    },
    /// Rows of a table `w`, by their numbers in `x`.
    Lookup,
    /// `x w`, channel by channel.
    Channels,
    /// `x + y w`: to each row of `x` its number in `y` times the row `w`.
    Outer,
    /// `x[source] ⊙ y[target] · scale` for each edge; the last step it is from holds source and target.
    EdgeProduct {
        /// The scale.
        scale: f32,
    },
    /// Sums over the channels of each head.
    HeadSums {
        /// Heads, side by side in the rows.
        heads: usize,
    },
    /// `exp(x) / (Σ exp(x) + epsilon)` over the edges into the same node; the last step it is from holds source and target.
    EdgeSoftmax {
        /// Added to the sum.
        epsilon: f32,
    },
    /// Sum over the edges into a node of `x y[source]`, in each head; the last step it is from holds source and target.
    /// A node without such edges has the value `isolated`.
    EdgeSum {
        /// Heads, side by side in the rows of `y`.
        heads: usize,
        /// The value of a node without edges.
        isolated: f32,
    },
    /// Sum over the edges into a node; the last step it is from holds source and target.
    EdgeTotal,
    /// Sums of `x [feature, row, column]` over the features, with the weights `w [head, feature]`: `[head, row, column]`.
    PairSum,
    /// The operation that the formula states.
    Formula(Cow<'static, str>),
}

impl Operation {
    /// The operation in a formula of the papers.
    pub fn formula(&self) -> String {
        match self {
            Self::Input => String::new(),
            Self::Linear => "x W + b".into(),
            Self::Dot { heads } => format!("x yᵀ in each of {heads} heads"),
            Self::Scale { factor } => format!("x · {factor}"),
            Self::Sum => "x + y + …".into(),
            Self::Product => "x ⊙ y".into(),
            Self::Clamp { limit } => format!("min(max(x, -{limit}), {limit})"),
            Self::Softmax => "softmax(x), 0 where the mask y is 0".into(),
            Self::WeightedSum { heads } => format!("x y in each of {heads} heads"),
            Self::Merge => "heads of x side by side".into(),
            Self::Norm { kind, eps } => format!("γ (x - mean) / √(variance + {eps}) + β, {kind} norm"),
            Self::Relu => "max(x, 0)".into(),
            Self::Gelu => "x Φ(x)".into(),
            Self::Sigmoid => "1 / (1 + exp(-x))".into(),
            Self::ClippedTanh { clip } => format!("{clip} · tanh(x)"),
            Self::LogSoftmax => "ln softmax(x), -∞ where the mask y is 0".into(),
            Self::Exp => "exp(x)".into(),
            Self::Mean => "mean over the rows of x".into(),
            Self::Total => "sum over the rows of x".into(),
            Self::Largest => "largest of each channel over the rows of x".into(),
            Self::Concat => "[x, y, …] side by side".into(),
            Self::Stack => "[x; y; …] one below the other".into(),
            Self::Rows { rows } => match &rows[..] {
                [row] => format!("row {row} of x"),
                _ => format!("{} rows of x", rows.len()),
            },
            Self::Columns { start, count } => format!("columns {start} to {} of x", start + count - 1),
            Self::Flattened => "xᵀ, flattened".into(),
            Self::Patches { patch, stride } => format!("{patch} values of x, {stride} apart"),
            Self::Lookup => "w[x]".into(),
            Self::Channels => "x ⊙ w".into(),
            Self::Outer => "x + y w".into(),
            Self::EdgeProduct { scale } => format!("x[source] ⊙ y[target] · {scale}"),
            Self::HeadSums { heads } => format!("Σ x over the channels of each of {heads} heads"),
            Self::EdgeSoftmax { epsilon } => {
                format!("exp(x) / (Σ exp(x) + {epsilon}) over the edges into the same node")
            }
            Self::EdgeSum { heads, .. } => {
                format!("Σ x y[source] over the edges into a node, in each of {heads} heads")
            }
            Self::EdgeTotal => "Σ x over the edges into a node".into(),
            Self::PairSum => "Σ w x over the features of a pair".into(),
            Self::Formula(text) => text.clone().into_owned(),
        }
    }
}

#[derive(Default)]
struct Recorder {
    recording: Recording,
    scopes: Vec<String>,
    /// New names of axes, the innermost last.
    axes: Vec<(&'static str, &'static str)>,
    /// New names of steps.
    names: Vec<(&'static str, &'static str)>,
    /// The steps with these numbers, in the order in which they were recorded.
    known: HashMap<(usize, u64), Vec<String>>,
    /// Notes of steps that are to come.
    notes: HashMap<String, Vec<String>>,
}

thread_local! {
    static OPEN: Cell<bool> = const { Cell::new(false) };
    static RECORDER: RefCell<Recorder> = RefCell::new(Recorder::default());
}

/// If true, this thread records.
pub fn recording() -> bool {
    OPEN.get()
}

/// Runs `compute` and records what its operations compute on this thread.
///
/// # Panics
/// If this thread is recording already.
pub fn record<T>(compute: impl FnOnce() -> T) -> (T, Recording) {
    /// Ends the recording, also when the computation panics.
    struct Open;
    impl Drop for Open {
        fn drop(&mut self) {
            OPEN.set(false);
        }
    }
    assert!(!recording(), "trace: a recording within a recording");
    RECORDER.take();
    OPEN.set(true);
    let open = Open;
    let result = compute();
    drop(open);
    (result, RECORDER.take().recording)
}

/// Runs `compute`, whose steps have names that begin with `name` and a dot.
pub fn scope<T>(name: impl FnOnce() -> String, compute: impl FnOnce() -> T) -> T {
    scope_with(name, &[], compute)
}

/// As [`scope`], with other names of axes. An axis named `""`, and a `batch`, are left out where their length is 1.
pub fn scope_with<T>(
    name: impl FnOnce() -> String,
    axes: &[(&'static str, &'static str)],
    compute: impl FnOnce() -> T,
) -> T {
    if !recording() {
        return compute();
    }
    let before = RECORDER.with_borrow_mut(|recorder| {
        recorder.scopes.push(name());
        recorder.axes.extend(axes);
        recorder.axes.len() - axes.len()
    });
    let result = compute();
    RECORDER.with_borrow_mut(|recorder| {
        recorder.scopes.pop();
        recorder.axes.truncate(before);
    });
    result
}

/// Runs `compute`, whose steps of one name are called by the other.
pub fn renamed<T>(names: &[(&'static str, &'static str)], compute: impl FnOnce() -> T) -> T {
    if !recording() {
        return compute();
    }
    let before = RECORDER.with_borrow_mut(|recorder| {
        recorder.names.extend(names);
        recorder.names.len() - names.len()
    });
    let result = compute();
    RECORDER.with_borrow_mut(|recorder| recorder.names.truncate(before));
    result
}

/// Begins a step; [`Draft::values`] ends it. Without a recording nothing happens.
pub fn step(name: &str, operation: Operation) -> Draft {
    Draft(recording().then(|| {
        Box::new(RECORDER.with_borrow(|recorder| Step {
            name: recorder.named(name),
            operation,
            source: "",
            axes: vec![],
            shape: vec![],
            values: vec![],
            from: vec![],
            parameters: vec![],
            notes: vec![],
        }))
    }))
}

/// Gives the next step of this name in the open scopes its [`Step::notes`].
pub fn note_next(name: &str, notes: Vec<String>) {
    if recording() {
        RECORDER.with_borrow_mut(|recorder| {
            let name = recorder.named(name);
            recorder.notes.insert(name, notes);
        });
    }
}

/// A step `x W + b` of a linear layer.
pub fn linear<const D: usize>(name: &str, linear: &Linear, x: &Tensor<D>, axes: [&'static str; D], y: &Tensor<D>) {
    if recording() {
        step(name, Operation::Linear)
            .from(x)
            .parameter("weight", || linear.weight.val())
            .optional_parameter("bias", || linear.bias.as_ref().map(Param::val))
            .values(axes, y);
    }
}

/// A step that is not finished.
#[must_use = "`values` records the step"]
pub struct Draft(Option<Box<Step>>);

impl Draft {
    /// Paper and section.
    pub fn source(mut self, source: &'static str) -> Self {
        if let Some(step) = &mut self.0 {
            step.source = source;
        }
        self
    }

    /// A tensor that the step is computed from: the last step with its numbers. One that was not recorded becomes a step
    /// that is given.
    pub fn from<const D: usize>(self, tensor: &Tensor<D>) -> Self {
        self.from_which(tensor, |_| true)
    }

    /// As [`Self::from`], where of several steps with the same numbers the last is meant whose own name, without scopes,
    /// `is_meant`.
    pub fn from_which<const D: usize>(mut self, tensor: &Tensor<D>, is_meant: impl Fn(&str) -> bool) -> Self {
        if let Some(step) = &mut self.0 {
            let values = numbers(tensor);
            let meant = |name: &&String| is_meant(name.rsplit('.').next().unwrap_or(name));
            let found = RECORDER.with_borrow(|recorder| {
                let same = recorder.known.get(&print_of(&values))?;
                same.iter().rfind(meant).or(same.last()).cloned()
            });
            let name = found.unwrap_or_else(|| {
                let name = format!("{}.input.{}", step.name, step.from.len());
                let shape: Vec<usize> = tensor.dims().to_vec();
                let axes = (0..shape.len()).map(|axis| format!("axis {axis}")).collect();
                let given = Step {
                    name: name.clone(),
                    operation: Operation::Input,
                    source: "",
                    axes,
                    shape,
                    values,
                    from: vec![],
                    parameters: vec![],
                    notes: vec![],
                };
                RECORDER.with_borrow_mut(|recorder| recorder.add(given));
                name
            });
            step.from.push(name);
        }
        self
    }

    /// A tensor that the step is computed from, where there is one.
    pub fn from_optional<const D: usize>(self, tensor: Option<&Tensor<D>>) -> Self {
        match tensor {
            Some(tensor) => self.from(tensor),
            None => self,
        }
    }

    /// A parameter of the operation.
    pub fn parameter<const D: usize>(self, name: &str, value: impl FnOnce() -> Tensor<D>) -> Self {
        self.optional_parameter(name, || Some(value()))
    }

    /// A parameter of the operation, where it has it.
    pub fn optional_parameter<const D: usize>(mut self, name: &str, value: impl FnOnce() -> Option<Tensor<D>>) -> Self {
        if let Some(step) = &mut self.0
            && let Some(value) = value()
        {
            let name = format!("{}.{name}", step.name);
            let parameter = Parameter { name: name.clone(), shape: value.dims().to_vec(), values: numbers(&value) };
            step.parameters.push(name);
            RECORDER.with_borrow_mut(|recorder| {
                if recorder.recording.parameters.iter().all(|known| known.name != parameter.name) {
                    recorder.recording.parameters.push(parameter);
                }
            });
        }
        self
    }

    /// Records the step. Axes have the meaning `axes` or what their scopes call them.
    pub fn values<const D: usize>(self, axes: [&'static str; D], tensor: &Tensor<D>) {
        let Some(mut step) = self.0 else { return };
        step.values = numbers(tensor);
        RECORDER.with_borrow_mut(|recorder| {
            for (axis, length) in axes.into_iter().zip(tensor.dims()) {
                let name = recorder.axis(axis);
                if name.is_empty() && length == 1 {
                    continue;
                }
                step.axes.push(if name.is_empty() { axis.to_owned() } else { name.to_owned() });
                step.shape.push(length);
            }
            recorder.add(*step);
        });
    }
}

impl Recorder {
    fn named(&self, name: &str) -> String {
        let mut whole: String = self.scopes.iter().filter(|scope| !scope.is_empty()).flat_map(|s| [s, "."]).collect();
        whole.push_str(self.names.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to));
        whole
    }

    /// The name that the scopes give an axis: an outer one may rename what an inner one calls it.
    fn axis(&self, name: &'static str) -> &'static str {
        let named = self.axes.iter().rev().fold(name, |name, (from, to)| if *from == name { to } else { name });
        if named == "batch" { "" } else { named }
    }

    fn add(&mut self, mut step: Step) {
        step.notes = self.notes.remove(&step.name).unwrap_or_default();
        self.known.entry(print_of(&step.values)).or_default().push(step.name.clone());
        self.recording.steps.push(step);
    }
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

/// A number that tells lists apart: their length, and FNV-1a of their bits.
fn print_of(values: &[f32]) -> (usize, u64) {
    let hash = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x100_0000_01b3)
    });
    (values.len(), hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn steps_name_what_they_are_computed_from() {
        let device = Device::flex();
        let compute = || {
            let x = Tensor::<2>::from_floats([[1.0, -2.0]], &device);
            step("x", Operation::Input).values(["row", "channel"], &x);
            scope_with(
                || "layer.0".into(),
                &[("row", "")],
                || {
                    let y = x.clone().mul_scalar(2.0);
                    step("double", Operation::Scale { factor: 2.0 }).from(&x).values(["row", "channel"], &y);
                    y
                },
            )
        };
        assert!(!recording());
        compute();
        let (_, recording) = record(compute);
        let [x, double] = &recording.steps[..] else { panic!("two steps: {recording:?}") };
        assert_eq!((x.name.as_str(), &x.shape[..]), ("x", &[1, 2][..]));
        assert_eq!((double.name.as_str(), &double.from[..]), ("layer.0.double", &["x".to_owned()][..]));
        assert_eq!((&double.axes[..], &double.values[..]), (&["channel".to_owned()][..], &[2.0, -4.0][..]));
        assert!(!super::recording());
    }
}
