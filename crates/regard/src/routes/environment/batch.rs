//! Problems whose partial solutions are stepped together, by rules that know whole batches of them.

use std::sync::Arc;

use burn::tensor::Tensor;
use regard_nn::ops::{StepRecord, Tours};
use regard_nn::{LockstepDecoder, NodeSelection, Outcome, Rollout, State, StepInputs, beam_step};
use regard_routing::generate::GeneratorConfig;
use regard_routing::{ProblemSpec, VisitOnce};

use super::problem::spread;
use super::{Environment, RolloutOptions, Rollouts, Start, Walk};
use crate::{Error, Result};

/// Masks and contexts of a batch of partial solutions before a step.
#[derive(Clone, Debug, Default)]
pub struct BatchInputs {
    /// Nodes that may be chosen, `[states, nodes]`.
    pub allowed: Vec<bool>,
    /// Scalars of the context, `[states, scalars]`.
    pub scalars: Vec<f32>,
    /// Dynamic feature of the nodes, `[states, nodes]`; empty for a problem without one.
    pub dynamic: Vec<f32>,
}

/// A routing problem whose rules know batches. Errors are those of its own code, and end the decoding or the step of the
/// training.
///
/// For problems that visit every node once the rules are known, and neither [`Self::reset`] nor what follows from it is
/// called.
pub trait BatchProblem: Send + Sync + 'static {
    /// Instances of one size.
    type Instances: Send + Sync;
    /// Partial solutions, one for each row of some instances.
    type States;

    /// The facts of the problem.
    fn spec(&self) -> &'static ProblemSpec;
    /// `count` random instances of `size` nodes, a depot not counted.
    ///
    /// # Errors
    /// Those of its own code, as for all methods.
    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Self::Instances>;
    /// Number of instances and of nodes of each.
    fn size(&self, instances: &Self::Instances) -> [usize; 2];
    /// The instances at these places, some of them several times.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn select(&self, instances: &Self::Instances, places: &[u32]) -> Result<Self::Instances>;
    /// Instances in so many views, `[instances · views]`; the first view is the instance itself.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn views(&self, instances: &Self::Instances, views: usize) -> Result<Self::Instances>;
    /// Features, `[instances, nodes, features]`.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn features(&self, instances: &Self::Instances) -> Result<Vec<f32>>;
    /// Costs of one solution of each instance, `[instances]`.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn costs(&self, instances: &Self::Instances, solutions: &[&[usize]]) -> Result<Vec<f64>>;
    /// The empty solution of every instance, and which of them are finished already.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn reset(&self, instances: &Self::Instances) -> Result<(Self::States, Vec<bool>)>;
    /// Masks and contexts of the next step.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn inputs(&self, states: &Self::States) -> Result<BatchInputs>;
    /// Visits a node in every state, and tells which are finished.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn step(&self, states: Self::States, nodes: &[u32]) -> Result<(Self::States, Vec<bool>)>;
    /// The states at these places, some of them several times or not at all.
    ///
    /// # Errors
    /// As [`Self::draw`].
    fn select_states(&self, states: &Self::States, places: &[u32]) -> Result<Self::States>;
}

/// One of the instances of a batch.
pub struct BatchInstance<B: BatchProblem> {
    batch: Arc<B::Instances>,
    place: u32,
}

impl<B: BatchProblem> Clone for BatchInstance<B> {
    fn clone(&self) -> Self {
        Self { batch: self.batch.clone(), place: self.place }
    }
}

/// The environment of a problem whose partial solutions are stepped together.
pub struct BatchEnvironment<B>(Arc<B>);

impl<B> Clone for BatchEnvironment<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Nodes of all states that are stepped together, at most: the arrays of a step then stay in cache. One instance may have
/// more.
const TOGETHER: usize = 1 << 17;
/// Nodes whose tables are held at a time.
const TABLES: usize = 1 << 15;
/// A solution that has more steps for each of its nodes never ends.
const MOST_STEPS_PER_NODE: usize = 8;

impl<B: BatchProblem> BatchEnvironment<B> {
    /// The environment of a problem.
    pub fn new(problem: Arc<B>) -> Self {
        Self(problem)
    }

    /// The problem.
    pub fn problem(&self) -> &B {
        &self.0
    }

    /// The instances of a batch, each by itself.
    pub fn instances(&self, batch: B::Instances) -> Vec<BatchInstance<B>> {
        let [count, _] = self.0.size(&batch);
        let batch = Arc::new(batch);
        (0..count as u32).map(|place| BatchInstance { batch: batch.clone(), place }).collect()
    }

    /// Instances as one batch, each of them so many times; shared where they are a batch already.
    fn together(&self, instances: &[BatchInstance<B>], times: usize) -> Result<Arc<B::Instances>> {
        let Some(first) = instances.first() else {
            return Err(Error::Unsupported { what: "a batch".into(), reason: "has no instances".into() });
        };
        if !instances.iter().all(|one| Arc::ptr_eq(&one.batch, &first.batch)) {
            let reason = "instances of several batches cannot be stepped together".into();
            return Err(Error::Unsupported { what: self.0.spec().name.to_owned(), reason });
        }
        let places = || instances.iter().map(|one| one.place);
        let is_whole =
            times == 1 && self.0.size(&first.batch)[0] == instances.len() && places().eq(0..places().len() as u32);
        if is_whole {
            return Ok(first.batch.clone());
        }
        let places: Vec<u32> = places().flat_map(|place| std::iter::repeat_n(place, times)).collect();
        Ok(Arc::new(self.0.select(&first.batch, &places)?))
    }

    /// Refuses a decoder that sees distances: what the coordinates of a batch are, its own code alone knows.
    fn without_distances(&self, rollout: &Rollout<'_>) -> Result<()> {
        if !rollout.distances {
            return Ok(());
        }
        let reason = "its policy cannot see distances; use a network with `distances` false".into();
        Err(Error::Unsupported { what: self.0.spec().name.to_owned(), reason })
    }

    /// Instances that are stepped together: the begin and the end of each block.
    fn blocks(&self, instances: usize, nodes: usize, trajectories: usize) -> Vec<(usize, usize)> {
        let most = (TOGETHER / (nodes * trajectories).max(1)).min(TABLES / nodes.max(1)).max(1);
        // Blocks of one length, rather than a short one at the end.
        let length = instances.div_ceil(instances.div_ceil(most).max(1)).max(1);
        (0..instances).step_by(length).map(|begin| (begin, (begin + length).min(instances))).collect()
    }

    /// Rollouts of one block, whose first instance has this number.
    fn block(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[BatchInstance<B>],
        options: RolloutOptions,
        first: usize,
    ) -> Result<(Vec<Walk>, Vec<StepRecord>)> {
        let nodes = embeddings.dims()[1];
        let count = options.start.trajectories();
        let batch = self.together(instances, count)?;
        rollout.lockstep(embeddings, count, options.selection, first, |decoder| {
            let walks = Walks::new(self.0.as_ref(), &batch, nodes, options.record.is_some())?;
            walks.run(decoder, options.start)
        })
    }
}

/// Partial solutions of a block that are constructed together.
struct Walks<'a, B: BatchProblem> {
    problem: &'a B,
    nodes: usize,
    states: B::States,
    /// Trajectories that go on; row `i` of the states is that of `active[i]`.
    active: Vec<u32>,
    last: Vec<u32>,
    orders: Vec<Vec<usize>>,
    totals: Vec<f64>,
    /// Empty where nothing is recorded.
    records: Vec<StepRecord>,
}

impl<'a, B: BatchProblem> Walks<'a, B> {
    fn new(problem: &'a B, batch: &B::Instances, nodes: usize, records: bool) -> Result<Self> {
        let [count, _] = problem.size(batch);
        let (states, done) = problem.reset(batch)?;
        let mut walks = Self {
            problem,
            nodes,
            states,
            active: (0..count as u32).collect(),
            last: vec![0; count],
            orders: vec![Vec::new(); count],
            totals: vec![0.0; count],
            records: if records { vec![StepRecord::default(); count] } else { Vec::new() },
        };
        walks.check_length(done.len(), "which solutions are finished")?;
        walks.keep(&done)?;
        Ok(walks)
    }

    fn run(mut self, decoder: &mut LockstepDecoder<'_>, start: Start) -> Result<(Vec<Walk>, Vec<StepRecord>)> {
        let trajectories = start.trajectories();
        if let Start::Spread(_) = start
            && !self.active.is_empty()
        {
            let inputs = self.inputs(0)?;
            let (nodes, depot) = (self.nodes, self.problem.spec().depot);
            let first = |(at, trajectory): (usize, &u32)| {
                let open = spread(&inputs.allowed[at * nodes..][..nodes], depot);
                (open[*trajectory as usize % trajectories * open.len() / trajectories] as u32, 0.0)
            };
            let chosen: Vec<(u32, f32)> = self.active.iter().enumerate().map(first).collect();
            self.step(&chosen, &inputs)?;
        }
        for step in 1.. {
            if self.active.is_empty() {
                break;
            }
            if step > MOST_STEPS_PER_NODE * self.nodes.max(8) {
                let reason = format!("a solution has {step} steps for {} nodes and does not end", self.nodes);
                return Err(self.broken(&reason));
            }
            let inputs = self.inputs(step)?;
            let chosen = decoder.select(&StepInputs {
                active: &self.active,
                allowed: &inputs.allowed,
                scalars: &inputs.scalars,
                dynamic: &inputs.dynamic,
                last: &self.last,
            });
            self.step(&chosen, &inputs)?;
        }
        let walks = self.orders.into_iter().zip(self.totals);
        let walk = |(nodes, total): (Vec<usize>, f64)| Walk { nodes, log_probability: total as f32 };
        Ok((walks.map(walk).collect(), self.records))
    }

    /// Masks and contexts, checked.
    fn inputs(&self, step: usize) -> Result<BatchInputs> {
        let (spec, count) = (self.problem.spec(), self.active.len());
        let inputs = self.problem.inputs(&self.states)?;
        self.check_length(inputs.allowed.len() / self.nodes.max(1), "masks")?;
        self.check_length(inputs.scalars.len().checked_div(spec.scalars).unwrap_or(count), "contexts")?;
        let rows = if spec.dynamic { inputs.dynamic.len() / self.nodes.max(1) } else { count };
        self.check_length(rows, "dynamic features")?;
        if let Some(at) = inputs.allowed.chunks_exact(self.nodes.max(1)).position(|row| !row.contains(&true)) {
            let done = self.orders[self.active[at] as usize].len();
            let reason = format!(
                "the mask of step {} forbids every node, after {done} steps of a solution that is not finished",
                step.max(1)
            );
            return Err(self.broken(&reason));
        }
        if inputs.scalars.iter().chain(&inputs.dynamic).any(|value| !value.is_finite()) {
            return Err(self.broken(&format!("the context of step {} has a number that is not finite", step.max(1))));
        }
        Ok(inputs)
    }

    /// Visits the chosen nodes, and leaves out solutions that are finished or whose probabilities are not numbers.
    fn step(&mut self, chosen: &[(u32, f32)], inputs: &BatchInputs) -> Result<()> {
        let (nodes, scalars) = (self.nodes, self.problem.spec().scalars);
        let mut broken = vec![false; chosen.len()];
        for (at, ((node, log_probability), &trajectory)) in chosen.iter().zip(&self.active).enumerate() {
            let trajectory = trajectory as usize;
            self.totals[trajectory] += f64::from(*log_probability);
            if log_probability.is_nan() {
                broken[at] = true;
                continue;
            }
            self.orders[trajectory].push(*node as usize);
            if let Some(record) = self.records.get_mut(trajectory) {
                let dynamic = if inputs.dynamic.is_empty() { &[][..] } else { &inputs.dynamic[at * nodes..][..nodes] };
                let context = &inputs.scalars[at * scalars..][..scalars];
                record.push(*node, &inputs.allowed[at * nodes..][..nodes], context, dynamic);
            }
            self.last[at] = *node;
        }
        self.keep(&broken)?;
        let chosen: Vec<u32> = self.last.clone();
        let done = self.replace(|problem, states| problem.step(states, &chosen))?;
        self.check_length(done.len(), "which solutions are finished")?;
        self.keep(&done)
    }

    /// Replaces the states by what a function makes of them.
    fn replace<T>(&mut self, change: impl FnOnce(&B, B::States) -> Result<(B::States, T)>) -> Result<T> {
        // No states are better than those of an earlier step, if there is an error.
        let none = self.problem.select_states(&self.states, &[])?;
        let states = std::mem::replace(&mut self.states, none);
        let (states, found) = change(self.problem, states)?;
        self.states = states;
        Ok(found)
    }

    /// Leaves out the rows that are marked.
    fn keep(&mut self, out: &[bool]) -> Result<()> {
        if !out.contains(&true) {
            return Ok(());
        }
        let places: Vec<u32> = (0..out.len() as u32).filter(|&at| !out[at as usize]).collect();
        self.states = self.problem.select_states(&self.states, &places)?;
        self.active = places.iter().map(|&at| self.active[at as usize]).collect();
        self.last = places.iter().map(|&at| self.last[at as usize]).collect();
        Ok(())
    }

    fn check_length(&self, found: usize, what: &str) -> Result<()> {
        match self.active.len() {
            expected if expected == found => Ok(()),
            expected => Err(self.broken(&format!("{what}: found {found} rows for {expected} solutions"))),
        }
    }

    fn broken(&self, reason: &str) -> Error {
        Error::Unsupported { what: self.problem.spec().name.to_owned(), reason: reason.to_owned() }
    }
}

/// An entry of a beam: the row of the state that it continues, and the node that it visits.
#[derive(Clone, Debug)]
struct BeamEntry {
    parent: u32,
    node: Option<u32>,
    order: Vec<usize>,
    done: bool,
}

impl State for BeamEntry {
    fn done(&self) -> bool {
        self.done
    }

    fn allowed(&self, _: &mut [bool]) {}

    fn last(&self) -> Option<usize> {
        self.order.last().copied()
    }

    fn scalars(&self, _: &mut [f32]) {}

    fn step(&mut self, node: usize) {
        self.node = Some(node as u32);
        self.order.push(node);
    }
}

impl<B: BatchProblem> BatchEnvironment<B> {
    /// Beam search of one block.
    fn beam_block(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[BatchInstance<B>],
        width: usize,
    ) -> Result<Vec<Vec<Walk>>> {
        let [count, nodes, _] = embeddings.dims();
        let batch = self.together(instances, 1)?;
        // Entries of instance `b` are trajectories from `b · width`.
        rollout.lockstep(embeddings, width, NodeSelection::Greedy, 0, |decoder| {
            let mut walks = Walks::new(self.0.as_ref(), &batch, nodes, false)?;
            let finished = |b: usize| !walks.active.contains(&(b as u32));
            let entry = |b: usize| BeamEntry { parent: 0, node: None, order: vec![], done: finished(b) };
            let begin = |b: usize| vec![Outcome { state: entry(b), log_probability: 0.0 }];
            let mut beams: Vec<Vec<Outcome<BeamEntry>>> = (0..count).map(begin).collect();
            number(&mut beams, &mut walks, width);
            for step in 1.. {
                if walks.active.is_empty() {
                    break;
                }
                if step > MOST_STEPS_PER_NODE * nodes.max(8) {
                    return Err(walks.broken("a solution of a beam does not end"));
                }
                let inputs = walks.inputs(step)?;
                let rows = decoder.log_probabilities(&StepInputs {
                    active: &walks.active,
                    allowed: &inputs.allowed,
                    scalars: &inputs.scalars,
                    dynamic: &inputs.dynamic,
                    last: &walks.last,
                });
                beams = expanded(beams, &rows, nodes, width);
                let open = || beams.iter().flatten().filter(|entry| !entry.state.done);
                let parents: Vec<u32> = open().map(|entry| entry.state.parent).collect();
                let chosen: Vec<u32> = open().filter_map(|entry| entry.state.node).collect();
                let states = self.0.select_states(&walks.states, &parents)?;
                let (states, done) = self.0.step(states, &chosen)?;
                if done.len() != chosen.len() {
                    return Err(walks.broken(&format!("found {} rows for {} solutions", done.len(), chosen.len())));
                }
                let mut ends = done.iter();
                for entry in beams.iter_mut().flatten().filter(|entry| !entry.state.done) {
                    entry.state.done = ends.next().copied().unwrap_or(true);
                    entry.state.node = None;
                }
                let places: Vec<u32> = (0..done.len() as u32).filter(|&at| !done[at as usize]).collect();
                walks.states = self.0.select_states(&states, &places)?;
                number(&mut beams, &mut walks, width);
            }
            let walk =
                |entry: Outcome<BeamEntry>| Walk { nodes: entry.state.order, log_probability: entry.log_probability };
            Ok(beams.into_iter().map(|beam| beam.into_iter().map(walk).collect()).collect())
        })
    }
}

/// Numbers the open entries of all beams as the rows of the states.
fn number<B: BatchProblem>(beams: &mut [Vec<Outcome<BeamEntry>>], walks: &mut Walks<'_, B>, width: usize) {
    (walks.active, walks.last) = (Vec::new(), Vec::new());
    for (b, beam) in beams.iter_mut().enumerate() {
        for (k, entry) in beam.iter_mut().filter(|entry| !entry.state.done).enumerate() {
            entry.state.parent = walks.active.len() as u32;
            walks.active.push((b * width + k) as u32);
            walks.last.push(entry.state.order.last().map_or(0, |node| *node as u32));
        }
    }
    let count = walks.active.len();
    walks.orders = vec![Vec::new(); count.max(walks.orders.len())];
}

/// One step of all beams, whose open entries have the `rows` of log-probabilities. A beam in which one is not a number ends
/// with that entry, whose log-probability is NaN.
fn expanded(
    beams: Vec<Vec<Outcome<BeamEntry>>>,
    rows: &[f32],
    nodes: usize,
    width: usize,
) -> Vec<Vec<Outcome<BeamEntry>>> {
    let one = |beam: Vec<Outcome<BeamEntry>>| {
        let mut all = vec![f32::NEG_INFINITY; beam.len() * nodes];
        for (entry, out) in beam.iter().zip(all.chunks_exact_mut(nodes)).filter(|(entry, _)| !entry.state.done) {
            let row = &rows[entry.state.parent as usize * nodes..][..nodes];
            if row.iter().any(|value| value.is_nan()) {
                let state = BeamEntry { done: true, ..entry.state.clone() };
                return vec![Outcome { state, log_probability: f32::NAN }];
            }
            out.copy_from_slice(row);
        }
        if beam.iter().all(|entry| entry.state.done) { beam } else { beam_step(beam, &all, width) }
    };
    beams.into_iter().map(one).collect()
}

impl<B: BatchProblem> Environment for BatchEnvironment<B> {
    type Instance = BatchInstance<B>;

    fn spec(&self) -> &'static ProblemSpec {
        self.0.spec()
    }

    fn draw(&self, config: &GeneratorConfig, seed: u64, count: usize, size: usize) -> Result<Vec<Self::Instance>> {
        let batch = self.0.draw(config, seed, count, size)?;
        let [found, nodes] = self.0.size(&batch);
        if found != count || nodes == 0 {
            let reason = format!("{count} instances were asked for, and there are {found} of {nodes} nodes");
            return Err(Error::Unsupported { what: self.spec().name.to_owned(), reason });
        }
        Ok(self.instances(batch))
    }

    fn nodes(&self, instance: &Self::Instance) -> usize {
        self.0.size(&instance.batch)[1]
    }

    fn views(&self, instances: &[Self::Instance], views: usize) -> Result<Vec<Self::Instance>> {
        match views {
            1 => Ok(instances.to_vec()),
            _ => Ok(self.instances(self.0.views(&*self.together(instances, 1)?, views)?)),
        }
    }

    fn features(&self, instances: &[Self::Instance]) -> Result<Vec<f32>> {
        let nodes = instances.first().map_or(0, |first| self.nodes(first));
        let features = self.0.features(&*self.together(instances, 1)?)?;
        let expected = vec![instances.len(), nodes, self.spec().features];
        if features.len() != expected.iter().product::<usize>() {
            let found = vec![features.len()];
            return Err(Error::Shape { what: format!("features of `{}`", self.spec().name), expected, found });
        }
        if features.iter().any(|value| !value.is_finite()) {
            let reason = "a feature is not finite".to_owned();
            return Err(Error::Unsupported { what: self.spec().name.to_owned(), reason });
        }
        Ok(features)
    }

    fn rollouts(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[Self::Instance],
        options: RolloutOptions,
    ) -> Result<Rollouts> {
        self.without_distances(rollout)?;
        let [batch, nodes, _] = embeddings.dims();
        let count = options.start.trajectories();
        if self.spec().every_node_once {
            return Ok(visit_once(rollout, embeddings, options, self.spec().depot));
        }
        let (mut walks, mut records) = (Vec::with_capacity(batch), Vec::new());
        for (begin, end) in self.blocks(batch, nodes, count) {
            let part = embeddings.clone().narrow(0, begin, end - begin);
            let (found, recorded) = self.block(rollout, part, &instances[begin..end], options, begin)?;
            let mut found = found.into_iter();
            walks.extend((begin..end).map(|_| found.by_ref().take(count).collect::<Vec<Walk>>()));
            records.extend(recorded);
        }
        let finite = walks.iter().flatten().all(|walk: &Walk| walk.log_probability.is_finite());
        let tours = options.record.filter(|_| finite);
        let tours = tours.map(|forced| Tours::recorded([batch, count, nodes], &records, forced));
        Ok(Rollouts { walks, tours })
    }

    fn beam(
        &self,
        rollout: &Rollout<'_>,
        embeddings: Tensor<3>,
        instances: &[Self::Instance],
        width: usize,
    ) -> Result<Vec<Vec<Walk>>> {
        self.without_distances(rollout)?;
        let [batch, nodes, _] = embeddings.dims();
        if self.spec().every_node_once {
            let starts = (0..batch).map(|_| VisitOnce::new(nodes)).collect();
            return Ok(rollout.beam(embeddings, starts, width).into_iter().map(of_permutations).collect());
        }
        let width = width.max(1);
        let mut all = Vec::with_capacity(batch);
        for (begin, end) in self.blocks(batch, nodes, width) {
            let part = embeddings.clone().narrow(0, begin, end - begin);
            all.extend(self.beam_block(rollout, part, &instances[begin..end], width)?);
        }
        Ok(all)
    }

    fn costs(&self, instances: &[Self::Instance], solutions: &[Vec<&[usize]>]) -> Result<Vec<Vec<f64>>> {
        // Blocks bound the size of what the problem's code gets, and instances need not have the same number of solutions.
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); instances.len()];
        let most = solutions.iter().map(Vec::len).max().unwrap_or(0);
        let nodes = instances.first().map_or(1, |first| self.nodes(first));
        for (begin, end) in self.blocks(instances.len(), nodes, most.max(1)) {
            let (instances, solutions) = (&instances[begin..end], &solutions[begin..end]);
            let each =
                instances.iter().zip(solutions).flat_map(|(one, own)| std::iter::repeat_n(one.clone(), own.len()));
            let each: Vec<Self::Instance> = each.collect();
            if each.is_empty() {
                continue;
            }
            let flat: Vec<&[usize]> = solutions.iter().flatten().copied().collect();
            let found = self.0.costs(&*self.together(&each, 1)?, &flat)?;
            if found.len() != flat.len() || found.iter().any(|cost| !cost.is_finite()) {
                let reason = match found.iter().find(|cost| !cost.is_finite()) {
                    Some(cost) => format!("the cost of a solution is {cost}"),
                    None => format!("found {} costs for {} solutions", found.len(), flat.len()),
                };
                return Err(Error::Unsupported { what: self.spec().name.to_owned(), reason });
            }
            let mut found = found.into_iter();
            for (own, solutions) in all[begin..end].iter_mut().zip(solutions) {
                own.extend(found.by_ref().take(solutions.len()));
            }
        }
        Ok(all)
    }
}

/// Rollouts of a problem that visits every node once, by the rollout kernel.
fn visit_once(rollout: &Rollout<'_>, embeddings: Tensor<3>, options: RolloutOptions, depot: bool) -> Rollouts {
    let [batch, nodes, _] = embeddings.dims();
    let RolloutOptions { start, selection, record } = options;
    let count = start.trajectories();
    let firsts = spread(&vec![true; nodes], depot);
    let state = |k: usize| {
        let mut state = VisitOnce::new(nodes);
        if let Start::Spread(_) = start
            && nodes > 0
        {
            state.step(firsts[k * firsts.len() / count]);
        }
        state
    };
    let starts = (0..batch).map(|_| (0..count).map(state).collect()).collect();
    let walks: Vec<Vec<Walk>> =
        rollout.construct(embeddings, starts, selection).into_iter().map(of_permutations).collect();
    let finite = walks.iter().flatten().all(|walk| walk.log_probability.is_finite());
    let tours = record.filter(|_| finite).map(|forced| {
        let order = walks.iter().flatten().flat_map(|walk| walk.nodes.iter().map(|&node| node as u32)).collect();
        Tours::new([batch, count, nodes], order, forced)
    });
    Rollouts { walks, tours }
}

fn of_permutations(outcomes: Vec<Outcome<VisitOnce>>) -> Vec<Walk> {
    let walk = |outcome: Outcome<VisitOnce>| Walk {
        nodes: outcome.state.order().iter().map(|&node| node as usize).collect(),
        log_probability: outcome.log_probability,
    };
    outcomes.into_iter().map(walk).collect()
}
