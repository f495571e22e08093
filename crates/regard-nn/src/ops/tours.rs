//! Finished tours with the masks and contexts of their steps.

use std::sync::Arc;

use regard_kernels::{rollout::State, tour as kernel};

/// Finished tours; the nodes are in the order in which they were visited.
#[derive(Clone, Debug)]
pub struct Tours {
    shape: [usize; 3],
    steps: usize,
    forced: usize,
    order: Arc<Vec<u32>>,
    /// `None` if every node is visited once: then the masks follow from the order.
    record: Option<Arc<Record>>,
}

/// Masks and contexts of every step; rows after the end of a tour are zeros.
#[derive(Debug, Default)]
struct Record {
    /// Number of steps of each tour.
    lengths: Vec<u32>,
    /// Allowed nodes, one bit a node, `[batch, trajectories, steps, words]`.
    allowed: Vec<u64>,
    /// Number of scalars of a context.
    count: usize,
    /// Scalars, `[batch, trajectories, steps, count]`.
    scalars: Vec<f32>,
    /// Dynamic feature, `[batch, trajectories, steps, nodes]`; empty without one.
    dynamic: Vec<f32>,
}

impl Tours {
    /// Creates tours `[batch, trajectories, nodes]`, row-major, that visit every node once. The first
    /// `forced` steps of each are prescribed, so they do not count in the probability.
    ///
    /// # Panics
    /// If a tour is not a permutation of its nodes.
    pub fn new(shape: [usize; 3], order: Vec<u32>, forced: usize) -> Self {
        let [batch, trajectories, nodes] = shape;
        assert_eq!(order.len(), batch * trajectories * nodes, "tours {shape:?}: number of steps");
        let mut last_tour = vec![usize::MAX; nodes];
        for (index, tour) in order.chunks_exact(nodes.max(1)).enumerate() {
            for &node in tour {
                let is_new =
                    (node as usize) < nodes && std::mem::replace(&mut last_tour[node as usize], index) != index;
                assert!(is_new, "tour {index} is not a permutation of {nodes} nodes");
            }
        }
        Self { shape, steps: nodes, forced, order: Arc::new(order), record: None }
    }

    /// Creates tours of any problem. The node sequences `sequences [batch][trajectories]` are replayed from the
    /// initial states `starts`, one for each instance, and the mask, the `scalars` scalars and, if
    /// `dynamic` is true, the dynamic feature of every step are recorded.
    ///
    /// # Panics
    /// If instances have different numbers of tours, or a step visits a masked node.
    pub fn replay<T: State + Clone>(
        starts: &[T],
        sequences: &[Vec<Vec<u32>>],
        [nodes, scalars, forced]: [usize; 3],
        dynamic: bool,
    ) -> Self {
        let trajectories = sequences.first().map_or(0, Vec::len);
        assert!(
            sequences.iter().all(|sequences| sequences.len() == trajectories),
            "the same number of tours for every instance"
        );
        assert_eq!(starts.len(), sequences.len(), "one initial state for every instance");
        let steps = sequences.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut record = Record { count: scalars, ..Record::default() };
        let mut order = Vec::with_capacity(sequences.len() * trajectories * steps);
        let mut allowed = vec![false; nodes];
        for (start, sequence) in starts
            .iter()
            .zip(sequences)
            .flat_map(|(start, sequences)| sequences.iter().map(move |sequence| (start, sequence)))
        {
            let mut state = start.clone();
            for &node in sequence {
                state.allowed(&mut allowed);
                assert!(allowed[node as usize], "node {node} is masked");
                record.record_step(&state, &allowed, dynamic);
                state.step(node as usize);
            }
            order.extend(sequence);
            record.lengths.push(sequence.len() as u32);
            let rows = record.lengths.len() * steps;
            order.resize(rows, 0);
            record.allowed.resize(rows * kernel::words(nodes), 0);
            record.scalars.resize(rows * scalars, 0.0);
            record.dynamic.resize(if dynamic { rows * nodes } else { 0 }, 0.0);
        }
        let shape = [sequences.len(), trajectories, nodes];
        Self { shape, steps, forced, order: Arc::new(order), record: Some(Arc::new(record)) }
    }

    /// Creates tours of any problem whose steps were recorded while they were made; the first `forced` steps of each are
    /// prescribed.
    ///
    /// # Panics
    /// If there are not `batch · trajectories` records.
    pub fn recorded([batch, trajectories, nodes]: [usize; 3], records: &[StepRecord], forced: usize) -> Self {
        assert_eq!(records.len(), batch * trajectories, "one record for every tour");
        let steps = records.iter().map(|record| record.order.len()).max().unwrap_or(0);
        let count = records.first().map_or(0, |record| record.count);
        let has_dynamic = records.iter().any(|record| !record.dynamic.is_empty());
        let mut all = Record { count, ..Record::default() };
        let mut order = Vec::with_capacity(records.len() * steps);
        for record in records {
            order.extend(&record.order);
            all.allowed.extend(&record.allowed);
            all.scalars.extend(&record.scalars);
            all.dynamic.extend(&record.dynamic);
            all.lengths.push(record.order.len() as u32);
            let rows = all.lengths.len() * steps;
            order.resize(rows, 0);
            all.allowed.resize(rows * kernel::words(nodes), 0);
            all.scalars.resize(rows * count, 0.0);
            all.dynamic.resize(if has_dynamic { rows * nodes } else { 0 }, 0.0);
        }
        Self { shape: [batch, trajectories, nodes], steps, forced, order: Arc::new(order), record: Some(Arc::new(all)) }
    }

    /// `[batch, trajectories, nodes]`.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The nodes in visiting order, `[batch, trajectories, steps]` row-major; 0 after the end of a tour.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Maximum number of steps of a tour.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Number of first steps that are prescribed, not chosen.
    pub fn forced(&self) -> usize {
        self.forced
    }

    /// Number of scalars in a context.
    pub fn scalars(&self) -> usize {
        self.record.as_ref().map_or(0, |record| record.count)
    }

    /// Returns true if there is no step.
    pub(super) fn is_empty(&self) -> bool {
        self.shape.contains(&0) || self.steps == 0
    }

    /// The scalars of all contexts, `[batch, trajectories, steps, scalars]`.
    pub(super) fn context_scalars(&self) -> &[f32] {
        self.record.as_ref().map_or(&[], |record| &record.scalars)
    }

    /// The dynamic feature of all nodes at all steps, `[batch, trajectories, steps, nodes]`.
    pub(super) fn dynamic(&self) -> &[f32] {
        self.record.as_ref().map_or(&[], |record| &record.dynamic)
    }

    /// Returns true if step `step` of tour `index` was chosen: it is not prescribed and not after the end
    /// of the tour.
    pub(super) fn chosen(&self, index: usize, step: usize) -> bool {
        let end = self.record.as_ref().map_or(self.steps, |record| record.lengths[index] as usize);
        (self.forced..end).contains(&step)
    }

    /// For tours that visit every node once: the position of each node in its tour, an argument of
    /// [`Self::allowed`].
    pub(super) fn positions(&self) -> Vec<usize> {
        let nodes = self.shape[2];
        let mut positions = vec![0; if self.record.is_some() { 0 } else { self.order.len() }];
        for (tour, positions) in self.order.chunks_exact(nodes).zip(positions.chunks_exact_mut(nodes)) {
            tour.iter().enumerate().for_each(|(step, &node)| positions[node as usize] = step);
        }
        positions
    }

    /// Returns true if `node` was allowed in step `step` of tour `index`. After the end only the depot is.
    pub(super) fn allowed(&self, positions: &[usize], index: usize, step: usize, node: usize) -> bool {
        let nodes = self.shape[2];
        let Some(record) = &self.record else { return positions[index * nodes + node] >= step };
        let row = (index * self.steps + step) * kernel::words(nodes);
        let ended = step >= record.lengths[index] as usize;
        if ended { node == 0 } else { record.allowed[row + node / 64] >> (node % 64) & 1 == 1 }
    }

    /// The tours in the form that the kernel reads, with the dynamic feature if the decoder uses it.
    pub(super) fn view(&self, has_dynamic: bool) -> kernel::Tours<'_> {
        let [batch, trajectories, nodes] = self.shape;
        let inputs = match &self.record {
            None => kernel::StepInputs::Unvisited,
            Some(record) => {
                let Record { lengths, allowed, scalars, dynamic, .. } = &**record;
                let dynamic = if has_dynamic { dynamic } else { &[][..] };
                kernel::StepInputs::Recorded { lengths, allowed, scalars, dynamic }
            }
        };
        kernel::Tours { batch, trajectories, nodes, steps: self.steps, forced: self.forced, order: &self.order, inputs }
    }
}

/// A mask as one bit a node.
fn words(allowed: &[bool]) -> impl Iterator<Item = u64> {
    allowed.chunks(64).map(|nodes| nodes.iter().enumerate().map(|(bit, &allowed)| u64::from(allowed) << bit).sum())
}

/// The steps of one tour with their masks and contexts, recorded one after another.
#[derive(Clone, Debug, Default)]
pub struct StepRecord {
    order: Vec<u32>,
    allowed: Vec<u64>,
    count: usize,
    scalars: Vec<f32>,
    dynamic: Vec<f32>,
}

impl StepRecord {
    /// Records a step to `node`, and what was known before it; `dynamic` is empty without a dynamic feature.
    pub fn push(&mut self, node: u32, allowed: &[bool], scalars: &[f32], dynamic: &[f32]) {
        self.order.push(node);
        self.allowed.extend(words(allowed));
        self.count = scalars.len();
        self.scalars.extend(scalars);
        self.dynamic.extend(dynamic);
    }

    /// The nodes in visiting order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}

impl Record {
    /// Records mask and context of a step.
    fn record_step<T: State>(&mut self, state: &T, allowed: &[bool], dynamic: bool) {
        self.allowed.extend(words(allowed));
        let at = self.scalars.len();
        self.scalars.resize(at + self.count, 0.0);
        state.scalars(&mut self.scalars[at..]);
        if dynamic {
            let at = self.dynamic.len();
            self.dynamic.resize(at + allowed.len(), 0.0);
            state.dynamic(allowed, &mut self.dynamic[at..]);
        }
    }
}
