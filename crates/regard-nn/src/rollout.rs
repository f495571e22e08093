//! Construction of whole solutions with a [`PointerDecoder`] (Kool et al. 2019, §3.2 and §5).
//!
//! On the CPU the rollout kernel runs from the embeddings to the finished solutions without a tensor
//! operation. On other devices each step is one call of the decoder, with the trajectories of an
//! instance as its steps. In both cases a [`State`], which is plain Rust, holds the rules of the problem.

use burn::tensor::{Tensor, TensorData};
use regard_kernels::rollout as kernel;
pub use regard_kernels::rollout::{NodeSelection, Outcome, State, StepInputs, beam_step};

use crate::ops::{DecoderWeights, DenseMask, MASKED, Mask, PolicyLoss, Tours, has_kernels, policy_loss};
use crate::trace::{self, Operation};
use crate::{DecoderTables, PointerDecoder};

/// A decoder and the composition of its step context.
#[derive(Clone, Debug)]
pub struct Rollout<'a> {
    /// The decoder.
    pub decoder: &'a PointerDecoder,
    /// Replaces the embeddings of the context before the first step, `[embeddings * width]`.
    pub placeholder: Option<Tensor<1>>,
    /// If true, the context begins with the embedding of the first node.
    pub uses_first: bool,
    /// Number of scalars in the context.
    pub scalars: usize,
    /// If true, the dynamic feature of a node is how near it is to the last one, whatever the problem: states have to write
    /// it.
    pub distances: bool,
}

impl Rollout<'_> {
    /// Constructs solutions for `embeddings [batch, nodes, width]`. `starts[b]` are the initial states of
    /// the trajectories of instance `b`. The results are in the same order. Where a probability is not a number,
    /// [`Outcome::log_probability`] is NaN and the state is not a solution.
    ///
    /// # Panics
    /// If `starts` and the batch differ in length, or the step projection does not match the context.
    pub fn construct<T: State + Clone>(
        &self,
        embeddings: Tensor<3>,
        starts: Vec<Vec<T>>,
        selection: NodeSelection,
    ) -> Vec<Vec<Outcome<T>>> {
        let nodes = embeddings.dims()[1];
        if has_kernels(&embeddings.device()) {
            let packed = self.pack();
            return kernel::rollout(&packed, nodes, &tensor_values(embeddings), starts, selection);
        }
        let steps = TensorDecoder::new(self, embeddings);
        let selector = |b, k| kernel::NodeSelector::new(selection, NodeSelection::stream(b, k));
        let mut selectors: Vec<Vec<_>> =
            starts.iter().enumerate().map(|(b, states)| (0..states.len()).map(|k| selector(b, k)).collect()).collect();
        let begin = |state| Outcome { state, log_probability: 0.0 };
        let mut all: Vec<Vec<_>> = starts.into_iter().map(|states| states.into_iter().map(begin).collect()).collect();
        for step in 0.. {
            if !all.iter().flatten().any(unfinished) {
                break;
            }
            let axes = [("query", ""), ("key", "node")];
            let rows = trace::scope_with(|| format!("decode.{step}"), &axes, || steps.log_probabilities(&all));
            for (b, entries) in all.iter_mut().enumerate() {
                for (k, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| unfinished(entry)) {
                    let row = rows.row(b, k);
                    if !has_probabilities(row) {
                        entry.log_probability = f32::NAN;
                        continue;
                    }
                    let node = selectors[b][k].select(row);
                    entry.log_probability += row[node];
                    entry.state.step(node);
                }
            }
        }
        all
    }

    /// Beam search over `embeddings [batch, nodes, width]` from one initial state for each instance.
    /// Returns the finished entries of each instance, most probable first; one entry with a log-probability of NaN
    /// where a probability is not a number.
    ///
    /// # Panics
    /// As [`Self::construct`].
    pub fn beam<T: State + Clone>(&self, embeddings: Tensor<3>, starts: Vec<T>, width: usize) -> Vec<Vec<Outcome<T>>> {
        let nodes = embeddings.dims()[1];
        if has_kernels(&embeddings.device()) {
            return kernel::beam(&self.pack(), nodes, &tensor_values(embeddings), starts, width);
        }
        let steps = TensorDecoder::new(self, embeddings);
        let mut all: Vec<Vec<_>> =
            starts.into_iter().map(|state| vec![Outcome { state, log_probability: 0.0 }]).collect();
        while all.iter().flatten().any(unfinished) {
            let rows = steps.log_probabilities(&all);
            let next = |(b, beam): (usize, Vec<Outcome<T>>)| {
                let count = beam.len();
                if beam.iter().any(|entry| entry.log_probability.is_nan()) {
                    return beam;
                }
                let broken = (0..count).find(|&k| unfinished(&beam[k]) && !has_probabilities(rows.row(b, k)));
                if let Some(k) = broken {
                    return vec![Outcome { state: beam[k].state.clone(), log_probability: f32::NAN }];
                }
                kernel::beam_step(beam, rows.rows(b, count), width.max(1))
            };
            all = all.into_iter().enumerate().map(next).collect();
        }
        all
    }

    /// Runs `steps` with the decoder of `embeddings [batch, nodes, width]`, by which `trajectories` trajectories of each
    /// instance are stepped together. Random numbers are those of instances numbered from `first`.
    ///
    /// # Panics
    /// If the context has the embedding of the first node.
    pub fn lockstep<T>(
        &self,
        embeddings: Tensor<3>,
        trajectories: usize,
        selection: NodeSelection,
        first: usize,
        steps: impl FnOnce(&mut LockstepDecoder<'_>) -> T,
    ) -> T {
        let nodes = embeddings.dims()[1];
        if has_kernels(&embeddings.device()) {
            let (packed, values) = (self.pack(), tensor_values(embeddings));
            let kernel = kernel::Lockstep::new(&packed, nodes, &values, trajectories, selection, first);
            return steps(&mut LockstepDecoder(Steps::Kernel(kernel)));
        }
        let batch = embeddings.dims()[0];
        let selector = |at: usize| {
            let stream = NodeSelection::stream(first + at / trajectories, at % trajectories);
            kernel::NodeSelector::new(selection, stream)
        };
        let selectors = (0..batch * trajectories).map(selector).collect();
        let decoder = Box::new(TensorDecoder::new(self, embeddings));
        steps(&mut LockstepDecoder(Steps::Tensor { decoder, trajectories, selectors }))
    }

    /// The REINFORCE loss `Σ coefficient · log-likelihood` of finished tours over
    /// `embeddings [batch, nodes, width]`, with one coefficient for each tour.
    ///
    /// # Panics
    /// If the context of the tours differs from that of the decoder, or shapes do not match.
    pub fn policy_loss(&self, embeddings: Tensor<3>, tours: &Tours, coefficient: Vec<f32>) -> PolicyLoss {
        let decoder = self.decoder;
        assert_eq!(self.scalars, tours.scalars(), "policy loss: number of scalars in the context");
        let weights = DecoderWeights {
            nodes: decoder.nodes.weight.val(),
            fixed: decoder.fixed.weight.val(),
            step: decoder.step.weight.val(),
            out: decoder.out.weight.val(),
            placeholder: self.placeholder.clone().filter(|_| self.uses_first),
            dynamic: decoder.dynamic.as_ref().map(|linear| linear.weight.val()),
            heads: decoder.heads,
            clip: decoder.clip,
        };
        policy_loss(embeddings, weights, tours, coefficient)
    }

    fn pack(&self) -> kernel::PackedDecoder {
        let decoder = self.decoder;
        let width = decoder.out.weight.dims()[0];
        let part = |index: usize| tensor_values(decoder.nodes.weight.val().narrow(1, index * width, width));
        let placeholder = self.placeholder.clone().map(tensor_values);
        let dynamic = decoder.dynamic.as_ref().map(|linear| tensor_values(linear.weight.val()));
        kernel::PackedDecoder::new(&kernel::Decoder {
            width,
            heads: decoder.heads,
            clip: decoder.clip,
            glimpse_key: &part(0),
            glimpse_value: &part(1),
            logit_key: &part(2),
            fixed: &tensor_values(decoder.fixed.weight.val()),
            step: &tensor_values(decoder.step.weight.val()),
            out: &tensor_values(decoder.out.weight.val()),
            placeholder: placeholder.as_deref(),
            uses_first: self.uses_first,
            scalars: self.scalars,
            dynamic: dynamic.as_deref(),
        })
    }
}

/// The decoder of trajectories that are stepped together: by kernels, or by tensor operations.
pub struct LockstepDecoder<'a>(Steps<'a>);

enum Steps<'a> {
    Kernel(kernel::Lockstep<'a>),
    Tensor { decoder: Box<TensorDecoder<'a>>, trajectories: usize, selectors: Vec<kernel::NodeSelector> },
}

impl LockstepDecoder<'_> {
    /// Selects the next node of every active trajectory, with its log-probability; NaN where a probability is not a number
    /// or no node is allowed.
    ///
    /// # Panics
    /// If the inputs do not have the sizes of [`StepInputs`].
    pub fn select(&mut self, inputs: &StepInputs<'_>) -> Vec<(u32, f32)> {
        match &mut self.0 {
            Steps::Kernel(kernel) => kernel.select(inputs),
            Steps::Tensor { decoder, trajectories, selectors } => {
                let (rows, nodes) = (decoder.of_inputs(inputs, *trajectories), decoder.shape[1]);
                let chosen = rows.chunks_exact(nodes).zip(inputs.active).map(|(row, trajectory)| {
                    if !has_probabilities(row) {
                        return (0, f32::NAN);
                    }
                    let node = selectors[*trajectory as usize].select(row);
                    (node as u32, row[node])
                });
                chosen.collect()
            }
        }
    }

    /// Log-probabilities of the next node of every active trajectory, `[active, nodes]`; NaN in rows where a probability is
    /// not a number or no node is allowed.
    ///
    /// # Panics
    /// As [`Self::select`].
    pub fn log_probabilities(&self, inputs: &StepInputs<'_>) -> Vec<f32> {
        match &self.0 {
            Steps::Kernel(kernel) => kernel.log_probabilities(inputs),
            Steps::Tensor { decoder, trajectories, .. } => {
                let mut rows = decoder.of_inputs(inputs, *trajectories);
                let nodes = decoder.shape[1];
                rows.chunks_exact_mut(nodes).filter(|row| !has_probabilities(row)).for_each(|row| row.fill(f32::NAN));
                rows
            }
        }
    }
}

/// A row of [`StepInputs`] as a state of the decoder of tensor operations.
#[derive(Clone)]
struct InputRow<'a> {
    allowed: &'a [bool],
    scalars: &'a [f32],
    dynamic: &'a [f32],
    last: usize,
}

impl State for InputRow<'_> {
    fn done(&self) -> bool {
        self.allowed.is_empty()
    }

    fn allowed(&self, allowed: &mut [bool]) {
        if !self.allowed.is_empty() {
            allowed.copy_from_slice(self.allowed);
        }
    }

    fn last(&self) -> Option<usize> {
        Some(self.last)
    }

    fn scalars(&self, out: &mut [f32]) {
        if !self.scalars.is_empty() {
            out.copy_from_slice(self.scalars);
        }
    }

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        if !self.dynamic.is_empty() {
            out.copy_from_slice(self.dynamic);
        }
    }

    fn step(&mut self, _: usize) {}
}

/// The values of a tensor, without a copy if they are in CPU memory already.
pub(crate) fn tensor_values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let tensor_values = tensor.into_data().try_into_vec_as::<f32>();
    tensor_values.unwrap_or_else(|error| unreachable!("floats convert to f32: {error:?}"))
}

/// True if a trajectory goes on: its state is not done, and its probabilities are numbers so far.
fn unfinished<T: State>(entry: &Outcome<T>) -> bool {
    !entry.state.done() && !entry.log_probability.is_nan()
}

/// True if log-probabilities are numbers, of which at least one is not masked.
fn has_probabilities(row: &[f32]) -> bool {
    row.iter().all(|value| !value.is_nan()) && row.iter().any(|value| value.is_finite() && *value > MASKED)
}

/// Runs the decoder step by step with tensor operations.
struct TensorDecoder<'a> {
    rollout: &'a Rollout<'a>,
    tables: DecoderTables,
    /// `[batch, nodes, width]`.
    embeddings: Vec<f32>,
    placeholder: Vec<f32>,
    shape: [usize; 3],
    device: burn::tensor::Device,
}

/// Log-probabilities, `[batch, trajectories, nodes]`.
struct Rows {
    all: Vec<f32>,
    trajectories: usize,
    nodes: usize,
}

impl Rows {
    fn row(&self, b: usize, k: usize) -> &[f32] {
        &self.all[(b * self.trajectories + k) * self.nodes..][..self.nodes]
    }

    fn rows(&self, b: usize, count: usize) -> &[f32] {
        &self.all[b * self.trajectories * self.nodes..][..count * self.nodes]
    }
}

impl<'a> TensorDecoder<'a> {
    fn new(rollout: &'a Rollout<'a>, embeddings: Tensor<3>) -> Self {
        Self {
            rollout,
            tables: trace::scope_with(
                || "decoder".into(),
                &[("row", "node")],
                || rollout.decoder.precompute(embeddings.clone()),
            ),
            placeholder: rollout.placeholder.clone().map(tensor_values).unwrap_or_default(),
            shape: embeddings.dims(),
            device: embeddings.device(),
            embeddings: tensor_values(embeddings),
        }
    }

    /// Log-probabilities of the next step of every trajectory. Rows of finished trajectories, and rows
    /// beyond the trajectories of an instance, are undefined.
    fn log_probabilities<T: State>(&self, all: &[Vec<Outcome<T>>]) -> Rows {
        let [batch, nodes, _] = self.shape;
        let trajectories = all.iter().map(Vec::len).max().unwrap_or(0);
        let width = self.rollout.decoder.step.weight.dims()[0];
        let mut context = vec![0.0; batch * trajectories * width];
        let mut allowed = vec![false; batch * trajectories * nodes];
        let has_dynamic = self.rollout.decoder.dynamic.is_some();
        let mut dynamic = vec![0.0; if has_dynamic { allowed.len() } else { 0 }];
        for (b, entries) in all.iter().enumerate() {
            for (k, entry) in entries.iter().enumerate() {
                let at = b * trajectories + k;
                self.context(b, &entry.state, &mut context[at * width..][..width]);
                let allowed = &mut allowed[at * nodes..][..nodes];
                entry.state.allowed(allowed);
                if has_dynamic {
                    entry.state.dynamic(allowed, &mut dynamic[at * nodes..][..nodes]);
                }
            }
        }
        let context = TensorData::new(context, [batch, trajectories, width]);
        let context = Tensor::from_data(context, &self.device);
        if let (true, Some(entry)) = (trace::recording(), all.first().and_then(|entries| entries.first())) {
            self.record_context(&entry.state, &context);
        }
        let mask = Mask::from(DenseMask::new([batch, trajectories, nodes], allowed));
        let decoder = self.rollout.decoder;
        let log_p = match has_dynamic {
            true => {
                let dynamic = TensorData::new(dynamic, [batch, trajectories, nodes]);
                let dynamic = Tensor::from_data(dynamic, &self.device);
                let source = if self.rollout.distances { "" } else { "Kool et al. 2019, appendix C.2" };
                trace::step("dynamic", Operation::Input).source(source).values(["batch", "query", "key"], &dynamic);
                decoder.log_probabilities_dynamic(&self.tables, dynamic, context, &mask)
            }
            false => decoder.log_probabilities(&self.tables, context, &mask),
        };
        Rows { all: tensor_values(log_p), trajectories, nodes }
    }

    /// Log-probabilities `[active, nodes]` of the next step of trajectories that are stepped together.
    fn of_inputs(&self, inputs: &StepInputs<'_>, trajectories: usize) -> Vec<f32> {
        let [batch, nodes, _] = self.shape;
        let scalars = self.rollout.scalars;
        let ended = InputRow { allowed: &[], scalars: &[], dynamic: &[], last: 0 };
        let ended = Outcome { state: ended, log_probability: 0.0 };
        let mut all = vec![vec![ended; trajectories]; batch];
        for (at, &trajectory) in inputs.active.iter().enumerate() {
            let dynamic = if inputs.dynamic.is_empty() { &[][..] } else { &inputs.dynamic[at * nodes..][..nodes] };
            let (b, k) = (trajectory as usize / trajectories, trajectory as usize % trajectories);
            all[b][k].state = InputRow {
                allowed: &inputs.allowed[at * nodes..][..nodes],
                scalars: &inputs.scalars[at * scalars..][..scalars],
                dynamic,
                last: inputs.last[at] as usize,
            };
        }
        let rows = self.log_probabilities(&all);
        let row = |trajectory: &u32| {
            rows.row(*trajectory as usize / trajectories, *trajectory as usize % trajectories).iter().copied()
        };
        inputs.active.iter().flat_map(row).collect()
    }

    /// Records the parts of the context of one trajectory, and why nodes are barred.
    fn record_context<T: State>(&self, state: &T, context: &Tensor<3>) {
        const SOURCE: &str = "Kool et al. 2019, §3.2, eq. 4";
        let [_, nodes, width] = self.shape;
        let embeddings: Tensor<2> =
            Tensor::from_data(TensorData::new(self.embeddings.clone(), [nodes, width]), &self.device);
        let numbers =
            |values: &[f32]| Tensor::<1>::from_data(TensorData::new(values.to_vec(), [values.len()]), &self.device);
        let first = if self.rollout.uses_first { Some(("first", state.first())) } else { None };
        let mut parts = Vec::new();
        for (place, (name, node)) in first.into_iter().chain([("last", state.last())]).enumerate() {
            let (row, draft) = match node {
                Some(node) => {
                    let draft = trace::step(name, Operation::Rows { rows: vec![node] }).from(&embeddings);
                    (numbers(&self.embeddings[node * width..][..width]), draft)
                }
                None => {
                    let row = numbers(&self.placeholder[place * width..][..width]);
                    (row, trace::step(&format!("{name}_placeholder"), Operation::Input))
                }
            };
            draft.source(SOURCE).values(["channel"], &row);
            parts.push(row);
        }
        if self.rollout.scalars > 0 {
            let mut scalars = vec![0.0; self.rollout.scalars];
            state.scalars(&mut scalars);
            let scalars = numbers(&scalars);
            trace::step("scalars", Operation::Input)
                .source("Kool et al. 2019, appendix C")
                .values(["scalar"], &scalars);
            parts.push(scalars);
        }
        let draft = trace::step("context", Operation::Concat).source(SOURCE);
        parts.iter().fold(draft, trace::Draft::from).values(["batch", "query", "context channel"], context);
        let mut allowed = vec![false; nodes];
        state.allowed(&mut allowed);
        let reason = |(node, allowed): (usize, &bool)| if *allowed { "" } else { state.reason(node) };
        trace::note_next("mask", allowed.iter().enumerate().map(reason).map(str::to_owned).collect());
    }

    fn context<T: State>(&self, b: usize, state: &T, out: &mut [f32]) {
        let [_, nodes, width] = self.shape;
        let (ends, scalars) = out.split_at_mut(out.len() - self.rollout.scalars);
        let first = if self.rollout.uses_first { Some(state.first()) } else { None };
        let visited: Vec<Option<usize>> = first.into_iter().chain([state.last()]).collect();
        for (place, node) in visited.into_iter().enumerate() {
            let from = match node {
                Some(node) => &self.embeddings[(b * nodes + node) * width..][..width],
                None => &self.placeholder[place * width..][..width],
            };
            ends[place * width..][..width].copy_from_slice(from);
        }
        state.scalars(scalars);
    }
}
