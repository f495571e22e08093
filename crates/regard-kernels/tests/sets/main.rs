//! Properties of the set attention blocks: they agree with their definition in double precision, forward
//! and backward, and do not depend on the order of a set's rows; their bits do not depend on the number of
//! threads.

mod definition;

use definition::{Case, definition};
use proptest::prelude::*;
use regard_kernels::set::{Queries, RequiresGrad, Residual, Sets, attention_weights, backward, forward};

const BOTH: RequiresGrad = RequiresGrad { queries: true, keys: true };

fn close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |max, x| max.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*found) - expected).abs() < 5e-6 * scale, "{what} at {i}: {found} expected {expected}");
    }
}

/// The gradient of every tensor of a case, in the order of its tensors.
fn gradients(case: &Case, grad: &[f32], requires_grad: RequiresGrad) -> Vec<Option<Vec<f32>>> {
    let (_, saved) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), true);
    let saved = saved.expect("requested");
    let found = backward(&case.layer, &case.weights(), case.queries(), case.keys(), &saved, grad, requires_grad);
    let mut all = vec![found.queries, found.keys];
    for linear in [Some(found.query), Some(found.key), Some(found.value), found.out, found.feed] {
        let (weight, bias) = linear.map(|linear| (linear.weight, linear.bias)).unzip();
        all.extend([weight, bias]);
    }
    all
}

/// Derivative of `Σ result · grad` along a direction in one tensor.
fn slope(case: &Case, grad: &[f64], tensor: usize, direction: &[f64]) -> f64 {
    // A short step, so that almost no ReLU changes its state.
    const STEP: f64 = 1e-7;
    let at = |step: f64| -> f64 {
        let mut tensors = case.wide();
        tensors[tensor].iter_mut().zip(direction).for_each(|(x, direction)| *x += step * direction);
        definition(case, &tensors).iter().zip(grad).map(|(x, grad)| x * grad).sum()
    };
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

/// Compares every gradient with finite differences of the definition, along random directions of signs
/// and, if `axes` is true, along every axis.
fn check(case: &Case, axes: bool) {
    let expected = definition(case, &case.wide());
    let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
    close(&out, &expected, &format!("{case:?}"));
    let (saved_out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), true);
    close(&saved_out, &expected, &format!("{case:?}"));
    let grad = definition::random(out.len(), 99);
    let wide: Vec<f64> = grad.iter().map(|x| f64::from(*x)).collect();
    for (tensor, found) in gradients(case, &grad, BOTH).into_iter().enumerate() {
        assert_eq!(found.is_some(), tensor < 8 || !case.tensors[tensor].is_empty(), "{tensor}");
        let found = found.unwrap_or_default();
        assert_eq!(found.len(), case.tensors[tensor].len(), "{tensor}");
        let norm = found.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        let compare = |direction: &[f64], what: &str| {
            let expected = slope(case, &wide, tensor, direction);
            let found: f64 = found.iter().zip(direction).map(|(x, direction)| f64::from(*x) * direction).sum();
            assert!(
                (found - expected).abs() < 1e-5 * (1.0 + norm),
                "{what} of {tensor}: {found} expected {expected}: {case:?}"
            );
        };
        for seed in 0..3 {
            let signs: Vec<f64> =
                definition::random(found.len(), 200 + seed).iter().map(|x| f64::from(x.signum())).collect();
            compare(&signs, "signs");
        }
        for axis in 0..if axes { found.len() } else { 0 } {
            let mut direction = vec![0.0; found.len()];
            direction[axis] = 1.0;
            compare(&direction, &format!("axis {axis}"));
        }
    }
}

/// All options of a block.
fn switches() -> impl Iterator<Item = (Residual, bool, bool)> {
    [Residual::Projected, Residual::Raw, Residual::None].into_iter().flat_map(|residual| {
        [(false, false), (true, false), (false, true), (true, true)].map(|(out, feed)| (residual, out, feed))
    })
}

#[test]
fn own_queries_agree_with_their_definition() {
    for (residual, out, feed) in switches() {
        let wide = if residual == Residual::Raw { 6 } else { 3 };
        let case = Case::own((wide, 4, 6, 2), (residual, out, feed), &[2, 0, 1, 3], &[3, 2, 0, 1]);
        check(&case, true);
    }
}

#[test]
fn shared_queries_agree_with_their_definition() {
    for (residual, out, feed) in switches() {
        let wide = if residual == Residual::Raw { 6 } else { 5 };
        // With few key rows the projected form is used, with many the folded form.
        for keys in [&[2, 0, 1][..], &[20, 0, 3, 1]] {
            check(&Case::shared((wide, 3, 6, 3), (residual, out, feed), 3, keys), true);
        }
    }
}

#[test]
fn all_sizes_agree_with_their_definition() {
    let plain = (Residual::Projected, false, true);
    check(&Case::own((20, 16, 32, 4), plain, &[700, 5, 0, 130], &[32, 9, 3, 17]), false);
    check(&Case::own((7, 7, 24, 3), (Residual::None, true, true), &[40, 300], &[290, 45]), false);
    check(&Case::own((32, 32, 32, 2), (Residual::Raw, true, false), &[1, 9, 2, 0, 4], &[1, 9, 2, 0, 4]), false);
    check(&Case::shared((32, 16, 32, 4), plain, 8, &[1000, 0, 130, 3]), false);
    check(&Case::shared((8, 166, 8, 1), plain, 1, &[2, 40, 17, 0, 5]), false);
    check(&Case::shared((16, 24, 16, 2), (Residual::Raw, true, true), 40, &[300, 7]), false);
    check(&Case::shared((16, 16, 16, 4), plain, 130, &[5, 250]), false);
    check(&Case::shared((4, 2, 16, 4), plain, 4, &[600]), false);
}

#[test]
fn empty_inputs_give_empty_results() {
    let plain = (Residual::Projected, true, true);
    check(&Case::own((3, 4, 6, 2), plain, &[], &[]), false);
    check(&Case::own((3, 4, 6, 2), plain, &[0, 0], &[0, 3]), false);
    check(&Case::shared((3, 4, 6, 2), plain, 2, &[]), false);
    check(&Case::shared((3, 4, 6, 2), plain, 2, &[0, 0]), false);
}

#[test]
fn scores_of_hundreds_stay_finite() {
    for queries in [1, 40] {
        let mut case = Case::shared((8, 8, 8, 2), (Residual::Projected, false, true), queries, &[300, 20]);
        case.layer.scale = 60.0;
        let expected = definition(&case, &case.wide());
        let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
        assert!(expected.iter().zip(&out).all(|(x, y)| (x - f64::from(*y)).abs() < 1e-2), "{queries}");
        let all = gradients(&case, &out, BOTH);
        assert!(all.iter().flatten().flatten().all(|x| x.is_finite()));
    }
}

#[test]
fn unrequired_gradients_do_not_change_the_others() {
    let cases = [
        Case::own((5, 4, 6, 2), (Residual::Projected, true, true), &[30, 200], &[20, 31]),
        Case::shared((5, 4, 6, 2), (Residual::Projected, true, true), 3, &[300, 31]),
        Case::shared((5, 40, 6, 2), (Residual::Projected, true, true), 30, &[3, 31]),
    ];
    for case in cases {
        let grad = definition::random(case.rows() * 6, 5);
        let all = gradients(&case, &grad, BOTH);
        let none = gradients(&case, &grad, RequiresGrad { queries: false, keys: false });
        assert!(none[..2].iter().all(Option::is_none) && all[..2].iter().all(Option::is_some));
        assert_eq!(none[2..], all[2..]);
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let plain = (Residual::Projected, true, true);
    let cases = [
        Case::own((16, 16, 32, 4), plain, &[900, 3, 0, 130, 7], &[32, 3, 5, 130, 0]),
        Case::shared((16, 32, 32, 4), plain, 4, &[3000, 0, 130, 3]),
        Case::shared((16, 32, 32, 4), plain, 40, &[900, 20]),
    ];
    for case in cases {
        let step = || {
            let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), true);
            let weights = attention_weights(&case.layer, &case.weights(), case.queries(), case.keys());
            let (light, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
            let all = gradients(&case, &out, BOTH).into_iter().flatten().flatten();
            all.chain(out).chain(weights).chain(light).map(f32::to_bits).collect::<Vec<_>>()
        };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(step)
        };
        let one = with(1);
        assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one), "{case:?}");
    }
}

#[test]
fn weights_are_the_softmax_of_the_scores() {
    let own = Case::own((3, 4, 6, 2), (Residual::Projected, false, false), &[2, 0, 5, 3], &[30, 2, 0, 1]);
    let shared = Case::shared((3, 4, 6, 3), (Residual::None, true, true), 3, &[20, 0, 1]);
    for case in [own, shared] {
        let found = attention_weights(&case.layer, &case.weights(), case.queries(), case.keys());
        close(&found, &definition::attention(&case, &case.wide()).concat(), &format!("{case:?}"));
    }
}

/// The rows of a packed array in a random order inside each set, and that order.
fn permuted(rows: &[f32], width: usize, offsets: &[usize], seed: u64) -> (Vec<f32>, Vec<usize>) {
    let keys = definition::random(rows.len() / width, seed);
    let mut order: Vec<usize> = (0..rows.len() / width).collect();
    for bounds in offsets.windows(2) {
        order[bounds[0]..bounds[1]].sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
    }
    (order.iter().flat_map(|row| &rows[row * width..][..width]).copied().collect(), order)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_of_a_set_does_not_matter(
        sizes in prop::collection::vec((0usize..40, 0usize..200), 1..6),
        queries in 1usize..20,
        seed in 0u64..1000,
    ) {
        let (own, keys): (Vec<usize>, Vec<usize>) = sizes.into_iter().unzip();
        let plain = (Residual::Projected, false, true);
        let case = Case::own((5, 4, 12, 3), plain, &own, &keys);
        let (y, _) = permuted(&case.tensors[1], 4, &case.key_offsets, seed);
        let (x, order) = permuted(&case.tensors[0], 5, &case.query_offsets, seed + 1);
        let mixed = Queries::Own(Sets { rows: &x, offsets: &case.query_offsets });
        let mixed_keys = Sets { rows: &y, offsets: &case.key_offsets };
        let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
        let (found, _) = forward(&case.layer, &case.weights(), mixed, mixed_keys, false);
        let expected: Vec<f64> =
            order.iter().flat_map(|row| &out[row * 12..][..12]).map(|x| f64::from(*x)).collect();
        close(&found, &expected, "equivariant");

        let case = Case::shared((5, 4, 12, 3), plain, queries, &keys);
        let (y, _) = permuted(&case.tensors[1], 4, &case.key_offsets, seed);
        let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
        let mixed_keys = Sets { rows: &y, offsets: &case.key_offsets };
        let (found, _) = forward(&case.layer, &case.weights(), case.queries(), mixed_keys, false);
        close(&found, &out.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), "invariant");
    }

    #[test]
    fn a_batch_agrees_with_its_sets_one_by_one(sizes in prop::collection::vec((0usize..30, 0usize..300), 1..5)) {
        let (own, keys): (Vec<usize>, Vec<usize>) = sizes.into_iter().unzip();
        let case = Case::own((5, 4, 8, 2), (Residual::Projected, true, true), &own, &keys);
        let (out, _) = forward(&case.layer, &case.weights(), case.queries(), case.keys(), false);
        let mut separate = Vec::new();
        for set in 0..own.len() {
            let part = |rows: &[f32], width: usize, offsets: &[usize]| {
                rows[offsets[set] * width..offsets[set + 1] * width].to_vec()
            };
            let (x, y) =
                (part(&case.tensors[0], 5, &case.query_offsets), part(&case.tensors[1], 4, &case.key_offsets));
            let (x_offsets, y_offsets) = ([0, own[set]], [0, keys[set]]);
            let queries = Queries::Own(Sets { rows: &x, offsets: &x_offsets });
            let (one, _) =
                forward(&case.layer, &case.weights(), queries, Sets { rows: &y, offsets: &y_offsets }, false);
            separate.extend(one.into_iter().map(f64::from));
        }
        close(&out, &separate, "one by one");
    }
}
