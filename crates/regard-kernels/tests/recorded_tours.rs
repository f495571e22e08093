//! Properties of the log-likelihood of tours that a rollout recorded: it agrees with the rollout, with and
//! without a dynamic feature, and its gradients agree with finite differences.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::rollout::{Decoder, NodeSelection, Outcome, PackedDecoder, State, rollout};
use regard_kernels::tour::{StepInputs, Tours, log_likelihood, policy_gradient, words};

/// Embeddings, three node projections, fixed, step, out, and the weights of the dynamic feature.
#[derive(Clone)]
struct Inputs {
    width: usize,
    heads: usize,
    parts: [Vec<f32>; 8],
}

impl Inputs {
    fn new(batch: usize, nodes: usize, width: usize, heads: usize, seed: u64) -> Self {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let square = width * width;
        let sizes = [batch * nodes * width, square, square, square, square, (width + 1) * width, square, 3 * width];
        let mut random = |len: usize| (0..len).map(|_| generator.random::<f32>() - 0.5).collect::<Vec<f32>>();
        Self { width, heads, parts: sizes.map(&mut random) }
    }

    fn decoder(&self, dynamic_feature: bool) -> Decoder<'_> {
        let [_, glimpse_key, glimpse_value, logit_key, fixed, step, out, dynamic] = &self.parts;
        Decoder {
            width: self.width,
            heads: self.heads,
            clip: 10.0,
            glimpse_key,
            glimpse_value,
            logit_key,
            fixed,
            step,
            out,
            placeholder: None,
            uses_first: false,
            scalars: 1,
            dynamic: dynamic_feature.then_some(dynamic),
        }
    }
}

/// A vehicle of capacity three: customers are visited once, the depot between trips.
#[derive(Clone)]
struct Shuttle {
    visited: Vec<bool>,
    tour: Vec<u32>,
    load: usize,
    records: Vec<StepRecord>,
}

/// Mask, scalar and dynamic feature of a step.
#[derive(Clone)]
struct StepRecord {
    allowed: Vec<bool>,
    scalar: f32,
    features: Vec<f32>,
}

impl Shuttle {
    fn new(nodes: usize) -> Self {
        Self { visited: vec![false; nodes], tour: vec![], load: 0, records: vec![] }
    }
}

impl State for Shuttle {
    fn done(&self) -> bool {
        self.visited[1..].iter().all(|&visited| visited)
    }

    fn allowed(&self, allowed: &mut [bool]) {
        for (allowed, visited) in allowed.iter_mut().zip(&self.visited).skip(1) {
            *allowed = !visited && self.load < 3;
        }
        allowed[0] = self.tour.last().is_some_and(|&last| last != 0);
    }

    fn last(&self) -> Option<usize> {
        Some(self.tour.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = 1.0 - self.load as f32 / 3.0;
    }

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        for (node, (out, visited)) in out.iter_mut().zip(&self.visited).enumerate() {
            *out = if *visited { -0.5 } else { (node + self.tour.len()) as f32 / self.visited.len() as f32 };
        }
    }

    fn step(&mut self, node: usize) {
        let (mut allowed, mut scalars, mut features) =
            (vec![false; self.visited.len()], [0.0], vec![0.0; self.visited.len()]);
        self.allowed(&mut allowed);
        self.scalars(&mut scalars);
        self.dynamic(&[], &mut features);
        assert!(allowed[node], "a barred node was chosen");
        self.records.push(StepRecord { allowed, scalar: scalars[0], features });
        self.tour.push(node as u32);
        self.visited[node] = node != 0;
        self.load = if node == 0 { 0 } else { self.load + 1 };
    }
}

struct Recorded {
    steps: usize,
    lengths: Vec<u32>,
    order: Vec<u32>,
    allowed: Vec<u64>,
    scalars: Vec<f32>,
    dynamic: Vec<f32>,
}

impl Recorded {
    fn of(outcomes: &[Vec<Outcome<Shuttle>>], nodes: usize, dynamic_feature: bool) -> Self {
        let states = || outcomes.iter().flatten().map(|outcome| &outcome.state);
        let steps = states().map(|state| state.tour.len()).max().unwrap();
        let mut all = Self { steps, lengths: vec![], order: vec![], allowed: vec![], scalars: vec![], dynamic: vec![] };
        for state in states() {
            all.lengths.push(state.tour.len() as u32);
            for step in 0..steps {
                all.order.push(state.tour.get(step).copied().unwrap_or(0));
                let mut bits = vec![0; words(nodes)];
                let records = state.records.get(step);
                if let Some(StepRecord { allowed, .. }) = records {
                    (0..nodes).filter(|&node| allowed[node]).for_each(|node| bits[node / 64] |= 1 << (node % 64));
                }
                all.allowed.extend(bits);
                all.scalars.push(records.map_or(0.0, |records| records.scalar));
                if dynamic_feature {
                    all.dynamic.extend(records.map_or(vec![0.0; nodes], |records| records.features.clone()));
                }
            }
        }
        all
    }

    fn tours(&self, batch: usize, trajectories: usize, nodes: usize) -> Tours<'_> {
        let Self { lengths, allowed, scalars, dynamic, .. } = self;
        let inputs = StepInputs::Recorded { lengths, allowed, scalars, dynamic };
        Tours { batch, trajectories, nodes, steps: self.steps, forced: 0, order: &self.order, inputs }
    }
}

fn sampled(decoder: &Decoder<'_>, inputs: &Inputs, [batch, per, nodes]: [usize; 3]) -> Vec<Vec<Outcome<Shuttle>>> {
    let starts = vec![vec![Shuttle::new(nodes); per]; batch];
    let selection = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed: 5 };
    rollout(&PackedDecoder::new(decoder), nodes, &inputs.parts[0], starts, selection)
}

#[test]
fn log_likelihoods_agree_with_the_rollout() {
    // 70 nodes need two words of bits; 1 and 3 trajectories are constructed alone, 9 as a group.
    let sizes = [[3, 1, 7], [2, 3, 70], [5, 9, 11]];
    for (sizes, dynamic_feature) in sizes.into_iter().flat_map(|sizes| [(sizes, false), (sizes, true)]) {
        let [batch, trajectories, nodes] = sizes;
        let inputs = Inputs::new(batch, nodes, 32, 4, 3);
        let decoder = inputs.decoder(dynamic_feature);
        let outcomes = sampled(&decoder, &inputs, sizes);
        let recorded = Recorded::of(&outcomes, nodes, dynamic_feature);
        let values = log_likelihood(&decoder, &recorded.tours(batch, trajectories, nodes), &inputs.parts[0]);
        for (value, outcome) in values.iter().zip(outcomes.iter().flatten()) {
            let expected = outcome.log_probability;
            assert!((value - expected).abs() < 1e-4 * expected.abs().max(1.0), "{sizes:?}: {value} {expected}");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (batch, trajectories, nodes) = (2, 3, 9);
    let inputs = Inputs::new(batch, nodes, 16, 2, 8);
    let recorded = Recorded::of(&sampled(&inputs.decoder(false), &inputs, [batch, trajectories, nodes]), nodes, false);
    let coefficient: Vec<f32> = (0..batch * trajectories).map(|k| k as f32 / 3.0 - 1.0).collect();
    let tours = recorded.tours(batch, trajectories, nodes);
    let (_, found) = policy_gradient(&inputs.decoder(false), &tours, &inputs.parts[0], &coefficient);
    let loss = |parts: &Inputs| -> f64 {
        let values = log_likelihood(&parts.decoder(false), &tours, &parts.parts[0]);
        values.iter().zip(&coefficient).map(|(value, c)| f64::from(*value) * f64::from(*c)).sum()
    };
    let (width, square) = (16, 16 * 16);
    let part = |index: usize| -> Vec<f32> {
        found.nodes.chunks_exact(3 * width).flat_map(|row| &row[index * width..][..width]).copied().collect()
    };
    let gradients = [
        found.embeddings.clone(),
        part(0),
        part(1),
        part(2),
        found.fixed.clone(),
        found.step.clone(),
        found.out.clone(),
    ];
    assert_eq!(found.step.len(), square + width, "the scalar's row is among the step's");
    assert!(found.placeholder.is_empty() && found.dynamic.is_empty());
    for (index, gradient) in gradients.iter().enumerate() {
        let largest = gradient.iter().fold(0f32, |max, x| max.max(x.abs()));
        assert!(largest > 0.0, "part {index} has no gradient");
        for at in (0..gradient.len()).step_by(gradient.len().div_ceil(9)).chain([gradient.len() - 1]) {
            let (mut up, mut down) = (inputs.clone(), inputs.clone());
            up.parts[index][at] += 1e-2;
            down.parts[index][at] -= 1e-2;
            let slope = (loss(&up) - loss(&down)) / 2e-2;
            let error = (slope - f64::from(gradient[at])).abs();
            assert!(error < 2e-2 * f64::from(largest).max(0.05), "part {index} at {at}: {slope} {}", gradient[at]);
        }
    }
}
