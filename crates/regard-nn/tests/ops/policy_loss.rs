//! The policy loss with kernels and composed: value, log-likelihoods and every gradient.

use crate::agreement::{Leaves, agree, same};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_nn::State;
use regard_nn::ops::{DecoderWeights, Tours, policy_loss, policy_loss_composed};
use regard_testing::values_of;

fn random_tours(shape: [usize; 3], forced: usize, seed: u64) -> (Tours, Vec<f32>) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut order = Vec::new();
    for _ in 0..shape[0] * shape[1] {
        let mut tour: Vec<u32> = (0..shape[2] as u32).collect();
        tour.shuffle(&mut random);
        order.extend(tour);
    }
    let coefficient = (0..shape[0] * shape[1]).map(|_| random.random::<f32>() - 0.5).collect();
    (Tours::new(shape, order, forced), coefficient)
}

fn weights(x: &Leaves, heads: usize, clip: f32) -> DecoderWeights {
    DecoderWeights { placeholder: Some(x.get(5)), ..without_placeholder(x, heads, clip) }
}

fn without_placeholder(x: &Leaves, heads: usize, clip: f32) -> DecoderWeights {
    let (nodes, fixed, step, out) = (x.get(1), x.get(2), x.get(3), x.get(4));
    DecoderWeights { nodes, fixed, step, out, placeholder: None, dynamic: None, heads, clip }
}

fn shapes([batch, nodes, width]: [usize; 3]) -> [Vec<usize>; 6] {
    let square = vec![width, width];
    [vec![batch, nodes, width], vec![width, 3 * width], square.clone(), vec![2 * width, width], square, vec![2 * width]]
}

#[test]
fn policy_loss_in_random_shapes() {
    for (seed, (batch, trajectories, nodes, heads, head, forced)) in [
        (1, 1, 1, 1, 3, 0),
        (3, 1, 9, 2, 4, 0),
        (2, 5, 5, 3, 2, 1),
        (4, 1, 33, 2, 8, 0),
        (2, 3, 2, 1, 5, 1),
        (2, 2, 17, 4, 4, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let (tours, coefficient) = random_tours([batch, trajectories, nodes], forced, seed as u64);
        let shapes = shapes([batch, nodes, heads * head]);
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        agree(&shapes, |x| {
            let found = policy_loss(x.get(0), weights(x, heads, 10.0), &tours, coefficient.clone());
            found.loss.reshape([1, 1, 1])
        });
    }
}

/// Split deliveries: a visit halves the demand of a node, and a demand below a quarter is served.
#[derive(Clone)]
struct Halving {
    left: Vec<f32>,
    tour: Vec<u32>,
}

impl State for Halving {
    fn done(&self) -> bool {
        self.left.iter().all(|&left| left < 0.25)
    }

    fn allowed(&self, allowed: &mut [bool]) {
        allowed.iter_mut().zip(&self.left).for_each(|(allowed, &left)| *allowed = left >= 0.25);
        allowed[0] |= !self.tour.is_empty();
    }

    fn last(&self) -> Option<usize> {
        Some(self.tour.last().map_or(0, |&node| node as usize))
    }

    fn scalars(&self, out: &mut [f32]) {
        out[0] = self.tour.len() as f32 / 10.0;
    }

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        out.copy_from_slice(&self.left);
    }

    fn step(&mut self, node: usize) {
        self.left[node] /= 2.0;
        self.tour.push(node as u32);
    }
}

fn dynamic_tours([batch, trajectories, nodes]: [usize; 3], forced: usize, seed: u64) -> (Tours, Vec<f32>) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut allowed = vec![false; nodes];
    let (mut starts, mut sequences) = (vec![], vec![]);
    for _ in 0..batch {
        let left = (0..nodes).map(|_| 0.3 + random.random::<f32>()).collect();
        let start = Halving { left, tour: vec![] };
        let tour = |_| {
            let mut state = start.clone();
            while !state.done() {
                state.allowed(&mut allowed);
                let nodes: Vec<usize> = (0..nodes).filter(|&node| allowed[node]).collect();
                state.step(nodes[random.random_range(0..nodes.len())]);
            }
            state.tour
        };
        sequences.push((0..trajectories).map(tour).collect());
        starts.push(start);
    }
    let coefficient = (0..batch * trajectories).map(|_| random.random::<f32>() - 0.5).collect();
    (Tours::replay(&starts, &sequences, [nodes, 1, forced], true), coefficient)
}

/// Weights for a dynamic feature: no placeholder, one scalar in the context.
fn dynamic_weights(x: &Leaves, heads: usize, clip: f32) -> DecoderWeights {
    DecoderWeights { dynamic: Some(x.get(5)), ..without_placeholder(x, heads, clip) }
}

fn dynamic_shapes([batch, nodes, width]: [usize; 3]) -> [Vec<usize>; 6] {
    let [embeddings, tables, square, _, out, _] = shapes([batch, nodes, width]);
    [embeddings, tables, square, vec![width + 1, width], out, vec![1, 3 * width]]
}

#[test]
fn policy_loss_with_a_dynamic_feature() {
    for (seed, (batch, trajectories, nodes, heads, head, forced)) in
        [(1, 1, 1, 1, 3, 0), (3, 1, 9, 2, 4, 0), (2, 5, 5, 3, 2, 1), (4, 1, 33, 2, 8, 0), (2, 3, 66, 2, 16, 0)]
            .into_iter()
            .enumerate()
    {
        let (tours, coefficient) = dynamic_tours([batch, trajectories, nodes], forced, seed as u64);
        let shapes = dynamic_shapes([batch, nodes, heads * head]);
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        agree(&shapes, |x| {
            let found = policy_loss(x.get(0), dynamic_weights(x, heads, 10.0), &tours, coefficient.clone());
            found.loss.reshape([1, 1, 1])
        });
    }
}

/// A tour of all nodes whose context has the first node, with a dynamic feature that depends on the last one.
#[derive(Clone)]
struct Touring {
    nodes: usize,
    tour: Vec<u32>,
}

impl State for Touring {
    fn done(&self) -> bool {
        self.tour.len() == self.nodes
    }

    fn allowed(&self, allowed: &mut [bool]) {
        allowed.iter_mut().enumerate().for_each(|(node, allowed)| *allowed = !self.tour.contains(&(node as u32)));
    }

    fn first(&self) -> Option<usize> {
        self.tour.first().map(|&node| node as usize)
    }

    fn last(&self) -> Option<usize> {
        self.tour.last().map(|&node| node as usize)
    }

    fn scalars(&self, _: &mut [f32]) {}

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        let last = self.last().unwrap_or(0);
        out.iter_mut().enumerate().for_each(|(node, out)| *out = ((last * 7 + node * 3) as f32).sin());
    }

    fn step(&mut self, node: usize) {
        self.tour.push(node as u32);
    }
}

#[test]
fn policy_loss_with_a_dynamic_feature_and_the_first_node() {
    for (seed, (batch, trajectories, nodes, heads, head, forced)) in
        [(1, 1, 2, 1, 3, 0), (3, 1, 9, 2, 4, 0), (2, 5, 5, 3, 2, 1), (2, 2, 33, 2, 8, 0)].into_iter().enumerate()
    {
        let mut random = Pcg64Mcg::seed_from_u64(seed as u64);
        let starts = vec![Touring { nodes, tour: vec![] }; batch];
        let mut tour = || {
            let mut tour: Vec<u32> = (0..nodes as u32).collect();
            tour.shuffle(&mut random);
            tour
        };
        let sequences: Vec<Vec<Vec<u32>>> = (0..batch).map(|_| (0..trajectories).map(|_| tour()).collect()).collect();
        let tours = Tours::replay(&starts, &sequences, [nodes, 0, forced], true);
        let coefficient: Vec<f32> = (0..batch * trajectories).map(|at| (at as f32 * 0.7).cos()).collect();
        let mut shapes: Vec<Vec<usize>> = shapes([batch, nodes, heads * head]).to_vec();
        shapes.push(vec![1, 3 * heads * head]);
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        agree(&shapes, |x| {
            let weights = DecoderWeights { dynamic: Some(x.get(6)), ..weights(x, heads, 10.0) };
            policy_loss(x.get(0), weights, &tours, coefficient.clone()).loss.reshape([1, 1, 1])
        });
    }
}

#[test]
#[should_panic(expected = "the tours do not record one")]
fn tours_without_a_dynamic_feature_are_refused() {
    let shapes = dynamic_shapes([2, 7, 8]);
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let ((tours, coefficient), x) = (random_tours([2, 3, 7], 0, 3), Leaves::new(&shapes));
    policy_loss(x.get(0), dynamic_weights(&x, 2, 10.0), &tours, coefficient);
}

#[test]
fn log_likelihoods_have_no_gradient() {
    let (tours, coefficient) = random_tours([2, 3, 7], 1, 3);
    let shapes = shapes([2, 7, 8]);
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let x = Leaves::new(&shapes);
    let found = policy_loss(x.get(0), weights(&x, 2, 10.0), &tours, coefficient.clone());
    let composed = policy_loss_composed(x.get(0), weights(&x, 2, 10.0), &tours, coefficient.clone());
    let values = values_of(&found.log_likelihood);
    same(&values, &values_of(&composed.log_likelihood), "log-likelihoods");
    assert!(values.iter().all(|&value| value < 0.0));
    let sum: f32 = values.iter().zip(&coefficient).map(|(value, c)| value * c).sum();
    same(&values_of(&found.loss), &[sum], "loss");
    assert!(!found.log_likelihood.is_require_grad());
}

#[test]
#[should_panic(expected = "not a permutation")]
fn repeated_nodes_are_refused() {
    Tours::new([1, 1, 3], vec![0, 1, 1], 0);
}
