//! The policy loss in its two bodies: value, log-likelihoods and every gradient.

mod agreement;

use agreement::{Leaves, agree, same};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_nn::ops::{TourWeights, Tours, policy_loss, policy_loss_composed};
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

fn weights(x: &Leaves, heads: usize, clip: f32) -> TourWeights {
    let (nodes, fixed, step, out) = (x.get(1), x.get(2), x.get(3), x.get(4));
    TourWeights { nodes, fixed, step, out, placeholder: Some(x.get(5)), dynamic: None, heads, clip }
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

#[test]
fn log_likelihoods_stand_beside_the_loss_and_carry_no_gradient() {
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
#[should_panic(expected = "no permutation")]
fn a_node_visited_twice() {
    Tours::new([1, 1, 3], vec![0, 1, 1], 0);
}
