//! Finished tours, and what their steps saw.

use std::sync::Arc;

use regard_kernels::rollout::State;
use regard_kernels::tour as kernel;

/// Finished tours, in the order visited.
#[derive(Clone, Debug)]
pub struct Tours {
    shape: [usize; 3],
    steps: usize,
    forced: usize,
    order: Arc<Vec<u32>>,
    /// `None` where every node is visited once: what was open follows from the order.
    record: Option<Arc<Record>>,
}

/// What every step saw, rows of finished tours zeros.
#[derive(Debug, Default)]
struct Record {
    /// Steps of each tour.
    lengths: Vec<u32>,
    /// One bit a node, `[batch, trajectories, steps, words]`.
    open: Vec<u64>,
    /// Numbers of a context.
    count: usize,
    /// `[batch, trajectories, steps, count]`.
    scalars: Vec<f32>,
    /// `[batch, trajectories, steps, nodes]`; empty where nodes do not change.
    dynamic: Vec<f32>,
}

impl Tours {
    /// Tours `[batch, trajectories, nodes]` that visit every node once, row-major; the first
    /// `forced` steps of each were given and not chosen, so they have no probability.
    ///
    /// # Panics
    /// Unless each tour is a permutation of its nodes.
    pub fn new(shape: [usize; 3], order: Vec<u32>, forced: usize) -> Self {
        let [batch, trajectories, nodes] = shape;
        assert_eq!(order.len(), batch * trajectories * nodes, "tours {shape:?}: number of steps");
        let mut seen = vec![usize::MAX; nodes];
        for (index, tour) in order.chunks_exact(nodes.max(1)).enumerate() {
            for &node in tour {
                let fresh = (node as usize) < nodes && std::mem::replace(&mut seen[node as usize], index) != index;
                assert!(fresh, "tour {index} is no permutation of {nodes} nodes");
            }
        }
        Self { shape, steps: nodes, forced, order: Arc::new(order), record: None }
    }

    /// Tours of any problem: `walks [batch][trajectories]` are walked again from `starts`, one an
    /// instance, and what each step sees is written down: open nodes, `scalars` numbers of the
    /// context and, where nodes are `dynamic`, their numbers.
    ///
    /// # Panics
    /// If instances have different numbers of walks, or a step takes a node that is not open.
    pub fn walked<T: State + Clone>(
        starts: &[T],
        walks: &[Vec<Vec<u32>>],
        [nodes, scalars, forced]: [usize; 3],
        dynamic: bool,
    ) -> Self {
        let trajectories = walks.first().map_or(0, Vec::len);
        assert!(walks.iter().all(|walks| walks.len() == trajectories), "as many walks for every instance");
        assert_eq!(starts.len(), walks.len(), "one start for every instance");
        let steps = walks.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut record = Record { count: scalars, ..Record::default() };
        let mut order = Vec::with_capacity(walks.len() * trajectories * steps);
        let mut open = vec![false; nodes];
        for (start, walk) in
            starts.iter().zip(walks).flat_map(|(start, walks)| walks.iter().map(move |walk| (start, walk)))
        {
            let mut state = start.clone();
            for &node in walk {
                state.allowed(&mut open);
                assert!(open[node as usize], "node {node} was not open");
                record.look(&state, &open, dynamic);
                state.step(node as usize);
            }
            order.extend(walk);
            record.lengths.push(walk.len() as u32);
            let rows = record.lengths.len() * steps;
            order.resize(rows, 0);
            record.open.resize(rows * kernel::words(nodes), 0);
            record.scalars.resize(rows * scalars, 0.0);
            record.dynamic.resize(if dynamic { rows * nodes } else { 0 }, 0.0);
        }
        let shape = [walks.len(), trajectories, nodes];
        Self { shape, steps, forced, order: Arc::new(order), record: Some(Arc::new(record)) }
    }

    /// `[batch, trajectories, nodes]`.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The nodes in the order visited, `[batch, trajectories, steps]` row-major; 0 after the end.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Steps of a tour, at most.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// First steps that were given and not chosen.
    pub fn forced(&self) -> usize {
        self.forced
    }

    /// Numbers of a context beside embeddings.
    pub fn scalars(&self) -> usize {
        self.record.as_ref().map_or(0, |record| record.count)
    }

    /// Whether there is no step at all.
    pub(super) fn is_empty(&self) -> bool {
        self.shape.contains(&0) || self.steps == 0
    }

    /// The numbers of all contexts, `[batch, trajectories, steps, scalars]`.
    pub(super) fn context_numbers(&self) -> &[f32] {
        self.record.as_ref().map_or(&[], |record| &record.scalars)
    }

    /// The numbers of all nodes at all steps, `[batch, trajectories, steps, nodes]`.
    pub(super) fn dynamic(&self) -> &[f32] {
        self.record.as_ref().map_or(&[], |record| &record.dynamic)
    }

    /// Whether step `step` of tour `index` was chosen: it is none of the forced ones, and not
    /// after the end.
    pub(super) fn chosen(&self, index: usize, step: usize) -> bool {
        let end = self.record.as_ref().map_or(self.steps, |record| record.lengths[index] as usize);
        (self.forced..end).contains(&step)
    }

    /// What each node is called in [`Self::open`], for tours that visit every node once: its
    /// position in the tour.
    pub(super) fn positions(&self) -> Vec<usize> {
        let nodes = self.shape[2];
        let mut positions = vec![0; if self.record.is_some() { 0 } else { self.order.len() }];
        for (tour, positions) in self.order.chunks_exact(nodes).zip(positions.chunks_exact_mut(nodes)) {
            tour.iter().enumerate().for_each(|(step, &node)| positions[node as usize] = step);
        }
        positions
    }

    /// Whether `node` was open to step `step` of tour `index`. After the end the depot is.
    pub(super) fn open(&self, positions: &[usize], index: usize, step: usize, node: usize) -> bool {
        let nodes = self.shape[2];
        let Some(record) = &self.record else { return positions[index * nodes + node] >= step };
        let row = (index * self.steps + step) * kernel::words(nodes);
        let ended = step >= record.lengths[index] as usize;
        if ended { node == 0 } else { record.open[row + node / 64] >> (node % 64) & 1 == 1 }
    }

    /// As the kernel reads them, with the numbers of the nodes where the decoder `moves` nodes by them.
    pub(super) fn view(&self, moves: bool) -> kernel::Tours<'_> {
        let [batch, trajectories, nodes] = self.shape;
        let sight = match &self.record {
            None => kernel::Sight::Unvisited,
            Some(record) => {
                let Record { lengths, open, scalars, dynamic, .. } = &**record;
                let dynamic = if moves { dynamic } else { &[][..] };
                kernel::Sight::Recorded { lengths, open, scalars, dynamic }
            }
        };
        kernel::Tours { batch, trajectories, nodes, steps: self.steps, forced: self.forced, order: &self.order, sight }
    }
}

impl Record {
    /// Writes down what a step sees.
    fn look<T: State>(&mut self, state: &T, open: &[bool], dynamic: bool) {
        for nodes in open.chunks(64) {
            let bits = nodes.iter().enumerate().map(|(bit, &open)| u64::from(open) << bit);
            self.open.push(bits.sum());
        }
        let at = self.scalars.len();
        self.scalars.resize(at + self.count, 0.0);
        state.scalars(&mut self.scalars[at..]);
        if dynamic {
            let at = self.dynamic.len();
            self.dynamic.resize(at + open.len(), 0.0);
            state.dynamic(&mut self.dynamic[at..]);
        }
    }
}
