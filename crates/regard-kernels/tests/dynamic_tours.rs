//! Properties of the log-likelihood of tours with a dynamic feature: it agrees with its definition in double
//! precision, its gradients with finite differences of that definition, and its bits do not depend on the
//! number of threads.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::rollout::Decoder;
use regard_kernels::tour::{Gradients, StepInputs, Tours, log_likelihood, policy_gradient, words};

/// Number of inputs: embeddings, three node projections, fixed, step, out, weights of the dynamic feature.
const PARTS: usize = 8;

/// Random tours with random masks and features.
struct Case {
    sizes: Sizes,
    parts: [Vec<f32>; PARTS],
    order: Vec<u32>,
    lengths: Vec<u32>,
    allowed: Vec<u64>,
    scalars: Vec<f32>,
    dynamic: Vec<f32>,
    coefficient: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    trajectories: usize,
    nodes: usize,
    steps: usize,
    width: usize,
    heads: usize,
    scalars: usize,
    forced: usize,
    clip: f32,
}

const fn sizes(
    [batch, trajectories, nodes, steps]: [usize; 4],
    [width, heads, scalars]: [usize; 3],
    forced: usize,
    clip: f32,
) -> Sizes {
    Sizes { batch, trajectories, nodes, steps, width, heads, scalars, forced, clip }
}

/// Heads of whole registers and of parts, one and two words of bits, one and several blocks of steps.
const CASES: [Sizes; 7] = [
    sizes([2, 1, 7, 9], [8, 2, 1], 0, 10.0),
    sizes([3, 4, 5, 6], [12, 3, 1], 1, 10.0),
    sizes([1, 1, 2, 3], [4, 1, 0], 0, 10.0),
    sizes([2, 2, 70, 11], [32, 2, 1], 0, 2.5),
    sizes([2, 3, 19, 23], [6, 2, 2], 0, 0.0),
    sizes([20, 1, 8, 13], [16, 4, 1], 0, 10.0),
    sizes([1, 5, 33, 41], [32, 4, 1], 1, 10.0),
];

fn random(len: usize, scale: f32, generator: &mut Pcg64Mcg) -> Vec<f32> {
    (0..len).map(|_| scale * (2.0 * generator.random::<f32>() - 1.0)).collect()
}

impl Case {
    fn new(sizes: Sizes) -> Self {
        let Sizes { batch, trajectories, nodes, steps, width, scalars, .. } = sizes;
        let mut generator = Pcg64Mcg::seed_from_u64((nodes * 31 + width) as u64);
        let (square, tours) = (width * width, batch * trajectories);
        let rows = (width + scalars) * width;
        let lens = [batch * nodes * width, square, square, square, square, rows, square, 3 * width];
        let parts = std::array::from_fn(|i| random(lens[i], if i == 0 { 1.0 } else { 0.6 }, &mut generator));
        let features = [tours * steps * scalars, tours * steps * nodes, tours];
        let [scalars, dynamic, coefficient] = features.map(|len| random(len, 1.0, &mut generator));
        let lengths = (0..tours).map(|_| generator.random_range(steps / 2..=steps) as u32).collect();
        let (mut order, mut allowed) = (vec![], vec![0; tours * steps * words(nodes)]);
        for bits in allowed.chunks_exact_mut(words(nodes)) {
            let chosen = generator.random_range(0..nodes);
            order.push(chosen as u32);
            for node in (0..nodes).filter(|&node| node == chosen || generator.random_bool(0.6)) {
                bits[node / 64] |= 1 << (node % 64);
            }
        }
        Self { sizes, parts, order, lengths, allowed, scalars, dynamic, coefficient }
    }

    fn decoder(&self) -> Decoder<'_> {
        let [_, glimpse_key, glimpse_value, logit_key, fixed, step, out, dynamic] = &self.parts;
        Decoder {
            width: self.sizes.width,
            heads: self.sizes.heads,
            clip: self.sizes.clip,
            glimpse_key,
            glimpse_value,
            logit_key,
            fixed,
            step,
            out,
            placeholder: None,
            uses_first: false,
            scalars: self.sizes.scalars,
            dynamic: Some(dynamic),
        }
    }

    fn tours(&self) -> Tours<'_> {
        let Sizes { batch, trajectories, nodes, steps, forced, .. } = self.sizes;
        let Self { lengths, allowed, scalars, dynamic, order, .. } = self;
        let inputs = StepInputs::Recorded { lengths, allowed, scalars, dynamic };
        Tours { batch, trajectories, nodes, steps, forced, order, inputs }
    }

    fn gradients(&self) -> (Vec<f32>, Gradients) {
        policy_gradient(&self.decoder(), &self.tours(), &self.parts[0], &self.coefficient)
    }

    fn double(&self) -> [Vec<f64>; PARTS] {
        std::array::from_fn(|i| self.parts[i].iter().map(|&x| f64::from(x)).collect())
    }

    /// Log-likelihoods computed from their definition.
    fn definition(&self, parts: &[Vec<f64>; PARTS]) -> Vec<f64> {
        let tour =
            |(k, &length): (usize, &u32)| (self.sizes.forced..length as usize).map(|t| self.log_p(parts, k, t)).sum();
        self.lengths.iter().enumerate().map(tour).collect()
    }

    /// Log-probability of step `t` of tour `k`, with the tables of that step.
    fn log_p(&self, parts: &[Vec<f64>; PARTS], k: usize, t: usize) -> f64 {
        let Sizes { trajectories, nodes: n, steps, width: d, heads, scalars, clip, .. } = self.sizes;
        let [h, key, value, logit, fixed, step, out, dynamic] = parts;
        let h = &h[k / trajectories * n * d..][..n * d];
        let row = |node: usize| &h[node * d..][..d];
        let at = k * steps + t;
        let table = |weight: &[f64], part: usize, node: usize| -> Vec<f64> {
            let feature = f64::from(self.dynamic[at * n + node]);
            let change = dynamic[part * d..][..d].iter().map(|w| w * feature);
            product(row(node), weight, d).into_iter().zip(change).map(|(x, m)| x + m).collect()
        };
        let mean: Vec<f64> = (0..d).map(|c| (0..n).map(|i| row(i)[c]).sum::<f64>() / n as f64).collect();
        let last = if t == 0 { 0 } else { self.order[at - 1] as usize };
        let features = self.scalars[at * scalars..][..scalars].iter().map(|&x| f64::from(x));
        let context: Vec<f64> = row(last).iter().copied().chain(features).collect();
        let query: Vec<f64> =
            product(&mean, fixed, d).iter().zip(product(&context, step, d)).map(|(a, b)| a + b).collect();
        let bits = &self.allowed[at * words(n)..][..words(n)];
        let allowed: Vec<usize> = (0..n).filter(|node| bits[node / 64] >> (node % 64) & 1 == 1).collect();
        let head = d / heads;
        let mut glimpse = vec![0.0; d];
        for part in 0..heads {
            let at = part * head..(part + 1) * head;
            let score = |node: usize| {
                let key = table(key, 0, node);
                at.clone().map(|c| query[c] * key[c]).sum::<f64>() / (head as f64).sqrt()
            };
            let weights: Vec<f64> = allowed.iter().map(|&node| score(node).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for (weight, &node) in weights.iter().zip(&allowed) {
                let value = table(value, 1, node);
                at.clone().for_each(|c| glimpse[c] += weight / sum * value[c]);
            }
        }
        let (glimpse, clip) = (product(&glimpse, out, d), f64::from(clip));
        let u = |node: usize| {
            let raw: f64 = glimpse.iter().zip(table(logit, 2, node)).map(|(a, b)| a * b).sum();
            let raw = raw / (d as f64).sqrt();
            if clip > 0.0 { clip * raw.tanh() } else { raw }
        };
        u(self.order[at] as usize) - allowed.iter().map(|&node| u(node).exp()).sum::<f64>().ln()
    }
}

/// `x · matrix` for a matrix `[x.len(), d]`.
fn product(x: &[f64], matrix: &[f64], d: usize) -> Vec<f64> {
    (0..d).map(|j| x.iter().enumerate().map(|(i, x)| x * matrix[i * d + j]).sum()).collect()
}

#[test]
fn log_likelihoods_agree_with_their_definition() {
    for sizes in CASES {
        let case = Case::new(sizes);
        let expected = case.definition(&case.double());
        let found = log_likelihood(&case.decoder(), &case.tours(), &case.parts[0]);
        assert_eq!(found, case.gradients().0, "{sizes:?}: with and without gradients");
        for (found, expected) in found.iter().zip(expected) {
            let close = (f64::from(*found) - expected).abs() < 2e-5 * expected.abs().max(1.0);
            assert!(close, "{sizes:?}: {found} {expected}");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    for sizes in CASES {
        let case = Case::new(sizes);
        let (_, gradients) = case.gradients();
        let loss = |parts: &[Vec<f64>; PARTS]| -> f64 {
            case.definition(parts).iter().zip(&case.coefficient).map(|(value, c)| value * f64::from(*c)).sum()
        };
        let Gradients { embeddings, nodes, fixed, step, out, placeholder, dynamic } = gradients;
        assert!(placeholder.is_empty());
        let d = sizes.width;
        let third = |part: usize| nodes.chunks_exact(3 * d).flat_map(|row| row[part * d..][..d].to_vec()).collect();
        let found: [Vec<f32>; PARTS] = [embeddings, third(0), third(1), third(2), fixed, step, out, dynamic];
        let mut generator = Pcg64Mcg::seed_from_u64(5);
        for (place, gradient) in found.iter().enumerate() {
            assert_eq!(gradient.len(), case.parts[place].len(), "{sizes:?}, input {place}");
            // The weights for keys, values and logit keys are tested one by one: a common random direction would
            // not show an error in a small one.
            let third = |third: usize, at: usize| place + 1 < PARTS || at / d == third;
            for draw in 0..3 {
                let direction: Vec<f64> = random(gradient.len(), 1.0, &mut generator)
                    .into_iter()
                    .enumerate()
                    .map(|(at, v)| if third(draw, at) { f64::from(v) } else { 0.0 })
                    .collect();
                let along = |length: f64| {
                    let mut parts = case.double();
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
fn a_dynamic_feature_of_zero_changes_nothing() {
    for sizes in CASES {
        let mut case = Case::new(sizes);
        case.dynamic.fill(0.0);
        let (values, dynamic_feature) = case.gradients();
        let decoder = Decoder { dynamic: None, ..case.decoder() };
        let StepInputs::Recorded { lengths, allowed, scalars, .. } = case.tours().inputs else { unreachable!() };
        let inputs = StepInputs::Recorded { lengths, allowed, scalars, dynamic: &[] };
        let still = Tours { inputs, ..case.tours() };
        let (expected, staying) = policy_gradient(&decoder, &still, &case.parts[0], &case.coefficient);
        assert_eq!(values, expected, "{sizes:?}");
        assert_eq!(dynamic_feature.embeddings, staying.embeddings, "{sizes:?}");
        assert_eq!(dynamic_feature.nodes, staying.nodes, "{sizes:?}");
        assert_eq!((dynamic_feature.step, dynamic_feature.out), (staying.step, staying.out), "{sizes:?}");
        assert!(dynamic_feature.dynamic.iter().all(|&x| x == 0.0) && staying.dynamic.is_empty());
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let case = Case::new(sizes([37, 3, 11, 17], [16, 4, 1], 0, 10.0));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| case.gradients())
    };
    let (values, gradients) = on(1);
    assert!(gradients.dynamic.iter().all(|&x| x != 0.0));
    for threads in [2, 3, 8] {
        let (other, same) = on(threads);
        assert_eq!(values, other, "{threads} threads");
        assert_eq!(gradients.embeddings, same.embeddings, "{threads} threads");
        assert_eq!(gradients.nodes, same.nodes, "{threads} threads");
        assert_eq!(gradients.dynamic, same.dynamic, "{threads} threads");
        assert_eq!((&gradients.fixed, &gradients.step), (&same.fixed, &same.step), "{threads} threads");
        assert_eq!(gradients.out, same.out, "{threads} threads");
    }
}

#[test]
#[should_panic(expected = "one dynamic feature for each node and step")]
fn a_missing_dynamic_feature_is_refused() {
    let mut case = Case::new(CASES[0]);
    case.dynamic.clear();
    case.gradients();
}
