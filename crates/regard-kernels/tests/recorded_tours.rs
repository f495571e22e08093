//! Laws of the pass over recorded tours: log-likelihoods are those of the rollout that made them,
//! gradients are the slopes of the log-likelihoods, and moving nodes are what moved tables give.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::rollout::{Decoder, Outcome, Pick, Prepared, State, rollout};
use regard_kernels::tour::{Sight, Tours, log_likelihood, policy_gradient, words};

/// Embeddings, three node projections, fixed, step, out, and the directions of moving nodes.
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

    fn decoder(&self, moving: bool) -> Decoder<'_> {
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
            dynamic: moving.then_some(dynamic),
        }
    }
}

/// Vehicles of three places: customers are visited once, the depot whenever it was left.
#[derive(Clone)]
struct Shuttle {
    visited: Vec<bool>,
    walk: Vec<u32>,
    load: usize,
    seen: Vec<(Vec<bool>, f32)>,
    moving: Vec<f32>,
}

impl Shuttle {
    fn new(nodes: usize) -> Self {
        let moving = (0..nodes).map(|node| node as f32 / nodes as f32).collect();
        Self { visited: vec![false; nodes], walk: vec![], load: 0, seen: vec![], moving }
    }
}

impl State for Shuttle {
    fn done(&self) -> bool {
        self.visited[1..].iter().all(|&visited| visited)
    }

    fn allowed(&self, open: &mut [bool]) {
        for (open, visited) in open.iter_mut().zip(&self.visited).skip(1) {
            *open = !visited && self.load < 3;
        }
        open[0] = self.walk.last().is_some_and(|&last| last != 0);
    }

    fn first(&self) -> Option<usize> {
        None
    }

    fn last(&self) -> Option<usize> {
        Some(self.walk.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = 1.0 - self.load as f32 / 3.0;
    }

    fn dynamic(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.moving);
    }

    fn step(&mut self, node: usize) {
        let (mut open, mut scalars) = (vec![false; self.visited.len()], [0.0]);
        self.allowed(&mut open);
        self.scalars(&mut scalars);
        assert!(open[node], "a barred node was chosen");
        self.seen.push((open, scalars[0]));
        self.walk.push(node as u32);
        self.visited[node] = node != 0;
        self.load = if node == 0 { 0 } else { self.load + 1 };
    }
}

struct Recorded {
    steps: usize,
    lengths: Vec<u32>,
    order: Vec<u32>,
    open: Vec<u64>,
    scalars: Vec<f32>,
}

impl Recorded {
    fn of(outcomes: &[Vec<Outcome<Shuttle>>], nodes: usize) -> Self {
        let states = || outcomes.iter().flatten().map(|outcome| &outcome.state);
        let steps = states().map(|state| state.walk.len()).max().unwrap();
        let mut all = Self { steps, lengths: vec![], order: vec![], open: vec![], scalars: vec![] };
        for state in states() {
            all.lengths.push(state.walk.len() as u32);
            for step in 0..steps {
                all.order.push(state.walk.get(step).copied().unwrap_or(0));
                let mut bits = vec![0; words(nodes)];
                if let Some((open, scalar)) = state.seen.get(step) {
                    (0..nodes).filter(|&node| open[node]).for_each(|node| bits[node / 64] |= 1 << (node % 64));
                    all.scalars.push(*scalar);
                } else {
                    all.scalars.push(0.0);
                }
                all.open.extend(bits);
            }
        }
        all
    }

    fn tours(&self, batch: usize, trajectories: usize, nodes: usize) -> Tours<'_> {
        let sight = Sight::Recorded { lengths: &self.lengths, open: &self.open, scalars: &self.scalars };
        Tours { batch, trajectories, nodes, steps: self.steps, forced: 0, order: &self.order, sight }
    }
}

fn sampled(inputs: &Inputs, batch: usize, trajectories: usize, nodes: usize) -> Vec<Vec<Outcome<Shuttle>>> {
    let starts = vec![vec![Shuttle::new(nodes); trajectories]; batch];
    let pick = Pick::Sample { temperature: 1.0, top_p: 1.0, seed: 5 };
    rollout(&Prepared::new(&inputs.decoder(false)), nodes, &inputs.parts[0], starts, pick)
}

#[test]
fn the_log_likelihoods_are_those_of_the_rollout() {
    // 70 nodes take two words of bits; 1, 3 and 9 trajectories go one by one and side by side.
    for (batch, trajectories, nodes) in [(3, 1, 7), (2, 3, 70), (5, 9, 11)] {
        let inputs = Inputs::new(batch, nodes, 32, 4, 3);
        let outcomes = sampled(&inputs, batch, trajectories, nodes);
        let recorded = Recorded::of(&outcomes, nodes);
        let values =
            log_likelihood(&inputs.decoder(false), &recorded.tours(batch, trajectories, nodes), &inputs.parts[0]);
        for (value, outcome) in values.iter().zip(outcomes.iter().flatten()) {
            let expected = outcome.log_probability;
            assert!((value - expected).abs() < 1e-4 * expected.abs().max(1.0), "{value} {expected}");
        }
    }
}

#[test]
fn the_gradients_are_the_slopes() {
    let (batch, trajectories, nodes) = (2, 3, 9);
    let inputs = Inputs::new(batch, nodes, 16, 2, 8);
    let recorded = Recorded::of(&sampled(&inputs, batch, trajectories, nodes), nodes);
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
    assert!(found.placeholder.is_empty());
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

/// A node's dynamic number moves its keys and values along the given directions: the same as
/// embeddings with one more channel that only those projections read.
#[test]
fn moving_nodes_are_what_moved_tables_give() {
    let (batch, nodes, width, heads) = (2, 13, 32, 4);
    let inputs = Inputs::new(batch, nodes, width, heads, 21);
    for trajectories in [1, 9] {
        let starts = vec![vec![Shuttle::new(nodes); trajectories]; batch];
        let pick = Pick::Sample { temperature: 1.0, top_p: 1.0, seed: 5 };
        let moved = rollout(&Prepared::new(&inputs.decoder(true)), nodes, &inputs.parts[0], starts, pick);
        for (b, outcomes) in moved.iter().enumerate() {
            for outcome in outcomes {
                let expected: f64 =
                    (0..outcome.state.walk.len()).map(|step| definition(&inputs, b, outcome, step)).sum();
                let found = f64::from(outcome.log_probability);
                assert!((found - expected).abs() < 1e-4 * expected.abs(), "{found} {expected}");
            }
        }
    }
}

/// Log-probability of one step by its definition, in double precision.
fn definition(inputs: &Inputs, b: usize, outcome: &Outcome<Shuttle>, step: usize) -> f64 {
    let (d, heads, state) = (inputs.width, inputs.heads, &outcome.state);
    let nodes = state.visited.len();
    let [h, key, value, logit, fixed, step_weight, out, dynamic] = &inputs.parts;
    let row = |node: usize| -> Vec<f64> { h[(b * nodes + node) * d..][..d].iter().map(|x| f64::from(*x)).collect() };
    let times = |x: &[f64], weight: &[f32]| -> Vec<f64> {
        (0..d).map(|j| x.iter().enumerate().map(|(i, x)| x * f64::from(weight[i * d + j])).sum()).collect()
    };
    let table = |weight: &[f32], part: usize, node: usize| -> Vec<f64> {
        let moved = dynamic[part * d..][..d].iter().map(|w| f64::from(*w) * f64::from(state.moving[node]));
        times(&row(node), weight).into_iter().zip(moved).map(|(x, m)| x + m).collect()
    };
    let mean: Vec<f64> = (0..d).map(|c| (0..nodes).map(|i| row(i)[c]).sum::<f64>() / nodes as f64).collect();
    let last = if step == 0 { 0 } else { state.walk[step - 1] as usize };
    let (open, scalar) = &state.seen[step];
    let context = [row(last), vec![f64::from(*scalar)]].concat();
    let query: Vec<f64> = times(&mean, fixed).iter().zip(times(&context, step_weight)).map(|(a, b)| a + b).collect();
    let width = d / heads;
    let mut glimpse = vec![0.0; d];
    for head in 0..heads {
        let at = head * width..(head + 1) * width;
        let score = |node: usize| -> f64 {
            let k = table(key, 0, node);
            at.clone().map(|c| query[c] * k[c]).sum::<f64>() / (width as f64).sqrt()
        };
        let weights: Vec<f64> = (0..nodes).map(|node| if open[node] { score(node).exp() } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        for (node, weight) in weights.iter().enumerate() {
            let v = table(value, 1, node);
            at.clone().for_each(|c| glimpse[c] += weight / total * v[c]);
        }
    }
    let glimpse = times(&glimpse, out);
    let logits: Vec<f64> = (0..nodes)
        .map(|node| {
            let product: f64 = table(logit, 2, node).iter().zip(&glimpse).map(|(l, g)| l * g).sum();
            10.0 * (product / (d as f64).sqrt()).tanh()
        })
        .collect();
    let total: f64 = (0..nodes).filter(|&node| open[node]).map(|node| logits[node].exp()).sum();
    logits[state.walk[step] as usize] - total.ln()
}
