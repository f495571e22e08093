//! Properties of the log-likelihood of tours over all nodes: it agrees with its definition in double
//! precision, its gradients with finite differences of that definition, and its bits do not depend on the
//! number of threads.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::rollout::{Decoder, NodeSelection, PackedDecoder, State, beam, rollout};
use regard_kernels::tour::{Gradients, Tours, log_likelihood, policy_gradient};

/// The inputs: embeddings, three node projections, fixed, step, out, placeholder.
#[derive(Clone)]
struct Inputs {
    width: usize,
    heads: usize,
    clip: f32,
    parts: [Vec<f32>; 8],
}

struct Case {
    inputs: Inputs,
    batch: usize,
    trajectories: usize,
    nodes: usize,
    forced: usize,
    order: Vec<u32>,
    coefficient: Vec<f32>,
}

fn random(len: usize, scale: f32, generator: &mut Pcg64Mcg) -> Vec<f32> {
    (0..len).map(|_| scale * (2.0 * generator.random::<f32>() - 1.0)).collect()
}

impl Case {
    fn new([batch, trajectories, nodes, width, heads]: [usize; 5], forced: usize, clip: f32) -> Self {
        let mut generator = Pcg64Mcg::seed_from_u64((nodes * 31 + width) as u64);
        let square = width * width;
        let sizes = [batch * nodes * width, square, square, square, square, 2 * square, square, 2 * width];
        let scales = [1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 1.0];
        let parts = std::array::from_fn(|i| random(sizes[i], scales[i], &mut generator));
        let mut order = Vec::new();
        for _ in 0..batch * trajectories {
            let mut tour: Vec<u32> = (0..nodes as u32).collect();
            tour.shuffle(&mut generator);
            order.extend(tour);
        }
        let coefficient = random(batch * trajectories, 1.0, &mut generator);
        Self { inputs: Inputs { width, heads, clip, parts }, batch, trajectories, nodes, forced, order, coefficient }
    }

    fn tours(&self) -> Tours<'_> {
        let Self { batch, trajectories, nodes, forced, .. } = *self;
        Tours::of_all_nodes([batch, trajectories, nodes], forced, &self.order)
    }

    fn gradients(&self) -> (Vec<f32>, Gradients) {
        policy_gradient(&self.inputs.decoder(), &self.tours(), &self.inputs.parts[0], &self.coefficient)
    }

    /// Log-likelihoods computed from their definition.
    fn definition(&self, parts: &[Vec<f64>; 8]) -> Vec<f64> {
        let (n, d) = (self.nodes, self.inputs.width);
        let tours = self.order.chunks_exact(n).enumerate();
        tours
            .map(|(index, tour)| {
                let b = index / self.trajectories;
                let tour: Vec<usize> = tour.iter().map(|&node| node as usize).collect();
                let embeddings = &parts[0][b * n * d..][..n * d];
                (self.forced..n).map(|t| self.log_p(parts, embeddings, &tour, t)).sum()
            })
            .collect()
    }

    fn log_p(&self, parts: &[Vec<f64>; 8], h: &[f64], tour: &[usize], t: usize) -> f64 {
        let (n, d, heads) = (self.nodes, self.inputs.width, self.inputs.heads);
        let [_, key, value, logit, fixed, step, out, placeholder] = parts;
        let row = |node: usize| &h[node * d..][..d];
        let mean: Vec<f64> = (0..d).map(|c| (0..n).map(|i| row(i)[c]).sum::<f64>() / n as f64).collect();
        let context = match t {
            0 => placeholder.clone(),
            _ => [row(tour[0]), row(tour[t - 1])].concat(),
        };
        let query: Vec<f64> =
            product(&mean, fixed, d).iter().zip(product(&context, step, d)).map(|(a, b)| a + b).collect();
        let allowed = &tour[t..];
        let head = d / heads;
        let mut glimpse = vec![0.0; d];
        for part in 0..heads {
            let at = part * head..(part + 1) * head;
            let score = |node: usize| {
                let key = product(row(node), key, d);
                at.clone().map(|c| query[c] * key[c]).sum::<f64>() / (head as f64).sqrt()
            };
            let weights: Vec<f64> = allowed.iter().map(|&node| score(node).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for (weight, &node) in weights.iter().zip(allowed) {
                let value = product(row(node), value, d);
                at.clone().for_each(|c| glimpse[c] += weight / sum * value[c]);
            }
        }
        let glimpse = product(&glimpse, out, d);
        let clip = f64::from(self.inputs.clip);
        let logits: Vec<f64> = allowed
            .iter()
            .map(|&node| {
                let key = product(row(node), logit, d);
                let raw = glimpse.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() / (d as f64).sqrt();
                if clip > 0.0 { clip * raw.tanh() } else { raw }
            })
            .collect();
        logits[0] - logits.iter().map(|u| u.exp()).sum::<f64>().ln()
    }
}

impl Inputs {
    fn decoder(&self) -> Decoder<'_> {
        let [_, glimpse_key, glimpse_value, logit_key, fixed, step, out, placeholder] = &self.parts;
        Decoder {
            width: self.width,
            heads: self.heads,
            clip: self.clip,
            glimpse_key,
            glimpse_value,
            logit_key,
            fixed,
            step,
            out,
            placeholder: Some(placeholder),
            uses_first: true,
            scalars: 0,
            dynamic: None,
        }
    }

    fn double(&self) -> [Vec<f64>; 8] {
        std::array::from_fn(|i| self.parts[i].iter().map(|&x| f64::from(x)).collect())
    }
}

/// `x · matrix` for a matrix `[x.len(), d]`.
fn product(x: &[f64], matrix: &[f64], d: usize) -> Vec<f64> {
    (0..d).map(|j| x.iter().enumerate().map(|(i, x)| x * matrix[i * d + j]).sum()).collect()
}

/// Batch, trajectories, nodes, width, heads; forced steps; clip.
const CASES: [([usize; 5], usize, f32); 7] = [
    ([2, 1, 7, 8, 2], 0, 10.0),
    ([3, 4, 5, 12, 3], 1, 10.0),
    ([1, 1, 1, 4, 1], 0, 10.0),
    ([2, 2, 2, 4, 2], 1, 10.0),
    ([1, 1, 53, 16, 1], 0, 2.5),
    ([2, 3, 19, 6, 2], 0, 0.0),
    ([20, 1, 8, 8, 2], 0, 10.0),
];

#[test]
fn log_likelihoods_agree_with_their_definition() {
    for (sizes, forced, clip) in CASES {
        let case = Case::new(sizes, forced, clip);
        let expected = case.definition(&case.inputs.double());
        let found = log_likelihood(&case.inputs.decoder(), &case.tours(), &case.inputs.parts[0]);
        let with_gradients = case.gradients().0;
        assert_eq!(found, with_gradients, "{sizes:?}: with and without gradients");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (f64::from(*found) - expected).abs() < 2e-5 * expected.abs().max(1.0),
                "{sizes:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    for (sizes, forced, clip) in CASES {
        let case = Case::new(sizes, forced, clip);
        let (_, gradients) = case.gradients();
        let loss = |parts: &[Vec<f64>; 8]| -> f64 {
            case.definition(parts).iter().zip(&case.coefficient).map(|(value, c)| value * f64::from(*c)).sum()
        };
        let Gradients { embeddings, nodes, fixed, step, out, placeholder, dynamic: _ } = gradients;
        let d = case.inputs.width;
        let third = |part: usize| nodes.chunks_exact(3 * d).flat_map(|row| row[part * d..][..d].to_vec()).collect();
        let found: [Vec<f32>; 8] = [embeddings, third(0), third(1), third(2), fixed, step, out, placeholder];
        let mut generator = Pcg64Mcg::seed_from_u64(5);
        for (place, gradient) in found.iter().enumerate() {
            assert_eq!(gradient.len(), case.inputs.parts[place].len(), "{sizes:?}, input {place}");
            for _ in 0..3 {
                let direction: Vec<f64> =
                    random(gradient.len(), 1.0, &mut generator).into_iter().map(f64::from).collect();
                let along = |length: f64| {
                    let mut parts = case.inputs.double();
                    parts[place].iter_mut().zip(&direction).for_each(|(x, v)| *x += length * v);
                    loss(&parts)
                };
                let slope = (along(1e-4) - along(-1e-4)) / 2e-4;
                let products = gradient.iter().zip(&direction).map(|(g, v)| f64::from(*g) * v);
                let (sum, size) = products.fold((0.0, 0.0f64), |(sum, size), x| (sum + x, size + x.abs()));
                assert!(
                    (sum - slope).abs() < 1e-4 * size.max(1e-2),
                    "{sizes:?}, input {place}: {sum} expected {slope}"
                );
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new([37, 3, 11, 16, 4], 1, 10.0);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| case.gradients())
    };
    let (values, gradients) = on(1);
    for threads in [2, 3, 8] {
        let (other, same) = on(threads);
        assert_eq!(values, other, "{threads} threads");
        assert_eq!(gradients.embeddings, same.embeddings, "{threads} threads");
        assert_eq!(gradients.nodes, same.nodes, "{threads} threads");
        assert_eq!(gradients.step, same.step, "{threads} threads");
        assert_eq!(gradients.out, same.out, "{threads} threads");
        assert_eq!((gradients.fixed.clone(), gradients.placeholder.clone()), (same.fixed, same.placeholder));
    }
}

#[derive(Clone)]
struct Path(Vec<usize>, usize);

impl State for Path {
    fn done(&self) -> bool {
        self.0.len() == self.1
    }
    fn allowed(&self, allowed: &mut [bool]) {
        allowed.fill(true);
        self.0.iter().for_each(|&node| allowed[node] = false);
    }
    fn first(&self) -> Option<usize> {
        self.0.first().copied()
    }
    fn last(&self) -> Option<usize> {
        self.0.last().copied()
    }
    fn scalars(&self, _: &mut [f32]) {}
    fn step(&mut self, node: usize) {
        self.0.push(node);
    }
}

#[test]
fn rollout_and_log_likelihood_agree() {
    let mut case = Case::new([9, 4, 21, 16, 4], 0, 10.0);
    let starts = vec![vec![Path(vec![], case.nodes); 4]; case.batch];
    let selection = NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed: 3 };
    let sampled =
        rollout(&PackedDecoder::new(&case.inputs.decoder()), case.nodes, &case.inputs.parts[0], starts, selection);
    let outcomes: Vec<_> = sampled.into_iter().flatten().collect();
    case.order = outcomes.iter().flat_map(|found| found.state.0.iter().map(|&node| node as u32)).collect();
    let found = log_likelihood(&case.inputs.decoder(), &case.tours(), &case.inputs.parts[0]);
    for (value, sampled) in found.iter().zip(&outcomes) {
        assert!((value - sampled.log_probability).abs() < 1e-4, "{value} {}", sampled.log_probability);
    }
}

#[test]
fn grouped_trajectories_agree_with_single_ones() {
    let case = Case::new([5, 1, 19, 16, 4], 0, 10.0);
    let packed = PackedDecoder::new(&case.inputs.decoder());
    let paths = |count: usize, selection: NodeSelection| {
        let starts = vec![vec![Path(vec![], case.nodes); count]; case.batch];
        rollout(&packed, case.nodes, &case.inputs.parts[0], starts, selection)
    };
    for selection in [NodeSelection::Greedy, NodeSelection::Sample { temperature: 1.0, top_p: 1.0, seed: 9 }] {
        let (alone, many) = (paths(3, selection), paths(70, selection));
        let mut equal = 0;
        for (alone, many) in alone.iter().zip(&many) {
            assert_eq!(many.len(), 70);
            for (a, b) in alone.iter().zip(many) {
                // In rare cases rounding changes a sampled node.
                equal += usize::from(a.state.0 == b.state.0);
                if a.state.0 == b.state.0 {
                    assert!((a.log_probability - b.log_probability).abs() < 1e-4);
                }
            }
        }
        assert!(equal >= 14, "{equal} of 15, {selection:?}");
    }
}

#[test]
fn a_rollout_ends_where_a_probability_is_not_a_number() {
    let mut case = Case::new([2, 1, 19, 16, 4], 0, 10.0);
    // The second instance overflows.
    let half = case.inputs.parts[0].len() / 2;
    case.inputs.parts[0][half..].fill(1e38);
    let packed = PackedDecoder::new(&case.inputs.decoder());
    let start = || Path(vec![], case.nodes);
    let embeddings = &case.inputs.parts[0];
    for selection in [NodeSelection::Greedy, NodeSelection::Sample { temperature: 1.0, top_p: 0.9, seed: 9 }] {
        for count in [1, 3, 40] {
            let starts = vec![vec![start(); count]; 2];
            let found = rollout(&packed, case.nodes, embeddings, starts, selection);
            assert!(found[0].iter().all(|one| one.state.done() && one.log_probability.is_finite()));
            assert_eq!(found[1].len(), count);
            assert!(found[1].iter().all(|one| !one.state.done() && one.log_probability.is_nan()));
        }
    }
    let found = beam(&packed, case.nodes, embeddings, vec![start(), start()], 3);
    assert!(found[0].iter().all(|one| one.state.done() && one.log_probability.is_finite()));
    assert!(found[1].len() == 1 && found[1][0].log_probability.is_nan());
}

#[test]
#[should_panic(expected = "not a permutation")]
fn tours_with_a_repeated_node_are_refused() {
    let mut case = Case::new([1, 1, 4, 4, 1], 0, 10.0);
    case.order[0] = case.order[1];
    case.gradients();
}
