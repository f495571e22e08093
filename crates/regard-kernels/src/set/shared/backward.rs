//! Backward pass for shared queries.

use rayon::prelude::*;

use super::{
    Asked, Form, Gathers, Saved,
    finish_backward::{self, Finish},
    keys_backward::{self, Scatter},
    product,
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Panels, Size, Store},
    set::{
        Gradients, Layer, LinearGradients, Residual, Sets, Sums, Wanted, Weights,
        keys::{KeyProjection, KeyProjectionBack},
        plan::{Plan, parts},
        tail::Tail,
    },
    simd,
    vector::add,
};

pub(in crate::set) fn backward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: &[f32],
    keys: Sets<'_>,
    saved: &Saved,
    grad: &[f32],
    wanted: Wanted,
) -> Gradients {
    let form = Form::of(layer, queries, keys);
    assert_eq!(grad.len(), form.sets * form.queries * layer.width, "gradient and its sizes");
    let asked = Asked::of(&form, weights, queries, true);
    let plan = Plan::of(keys.offsets);
    let mut means = Workspace::lease(form.sets * form.pooled());
    let mut centres = Workspace::lease(form.sets * form.padded());
    let [wo, bo, wf, bf, wv, bv, residual] = finish(&form, weights, saved, grad, &plan, (&mut means, &mut centres));
    let projection =
        (!form.folded).then(|| (KeyProjection::of(layer, weights), KeyProjectionBack::of(layer, weights, wanted.keys)));
    let (asked, stats) = (&asked, &saved.stats);
    let shared =
        keys_backward::Shared { form, asked, projection, y: keys.rows, stats, means: &means, centres: &centres };
    let mut dy = vec![0.0; if wanted.keys { keys.rows.len() } else { 0 }];
    let wide = if wanted.keys { layer.key_width } else { 0 };
    let dy_parts = parts(&mut dy, plan.tasks.iter().map(|task| task.rows.len() * wide));
    let tasks = plan.tasks.par_iter().zip(dy_parts);
    let sums: Vec<Sums<{ keys_backward::SUMS }>> =
        tasks.map(|(task, dy)| simd::run(Scatter { shared: &shared, task, dy })).collect();
    let [matrix, bias, mut fold] = Sums::total(&sums, shared.sizes());
    drop(sums);
    fold.iter_mut().for_each(|fold| *fold *= layer.scale);
    let (mut q, key) = unfold(&form, weights, &asked.q, &fold);
    let linear = |weight, bias| LinearGradients { weight, bias };
    let (key, value) = match (&shared.projection, key) {
        (Some((_, back)), _) => back.split(&matrix, &bias),
        (None, key) => (linear(key, vec![0.0; layer.width]), linear(wv, bv)),
    };
    if layer.residual == Residual::Projected {
        add(&residual, &mut q);
    }
    let (queries, query) = project_back(&form, weights, queries, &q, &residual, wanted.queries);
    Gradients {
        queries,
        keys: wanted.keys.then_some(dy),
        query,
        key,
        value,
        out: weights.out.map(|_| linear(wo, bo)),
        feed: weights.feed.map(|_| linear(wf, bf)),
    }
}

/// Backward pass from the result to the weighted means of every set.
fn finish(
    form: &Form,
    weights: &Weights<'_>,
    saved: &Saved,
    grad: &[f32],
    plan: &Plan,
    (means, centres): (&mut [f32], &mut [f32]),
) -> [Vec<f32>; finish_backward::SUMS] {
    let layer = &form.layer;
    let tail = Tail::of(layer.width, weights, true);
    let value = form.folded.then(|| Panels::of_transposed(weights.value.weight, layer.width, layer.key_width));
    let shared = finish_backward::Shared { form: *form, tail, value, saved, grad, of_sets: &plan.slots };
    let group = form.group();
    let groups = means
        .par_chunks_mut((group * form.pooled()).max(1))
        .zip(centres.par_chunks_mut((group * form.padded()).max(1)))
        .enumerate();
    let sums: Vec<Sums<{ finish_backward::SUMS }>> = groups
        .map(|(g, (means, centres))| simd::run(Finish { shared: &shared, first: g * group, means, centres }))
        .collect();
    Sums::total(&sums, shared.sizes())
}

/// Gradients of the projected queries and, in the folded form, of the key projection, from that
/// of the folded queries `[columns, feature]`.
fn unfold(form: &Form, weights: &Weights<'_>, q: &[f32], fold: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let Form { layer, queries: m, .. } = *form;
    let (d, head, Gathers { feature, .. }) = (layer.width, layer.head(), form.gathers());
    let mut dq = vec![0.0; m * d];
    let mut dk = vec![0.0; if form.folded { feature * d } else { 0 }];
    for (h, fold) in fold.chunks_exact(m * feature).enumerate() {
        if form.folded {
            let size = Size { m, n: head, k: feature };
            let key = &weights.key.weight[h * head..];
            product(size, Lhs::rows(fold, feature), key, d, &mut dq[h * head..], d, Store);
            let size = Size { m: feature, n: head, k: m };
            product(size, Lhs::transposed(fold, feature), &q[h * head..], d, &mut dk[h * head..], d, Store);
        } else {
            for (dq, fold) in dq.chunks_exact_mut(d).zip(fold.chunks_exact(head)) {
                dq[h * head..][..head].copy_from_slice(fold);
            }
        }
    }
    (dq, dk)
}

/// Gradients of the queries and of their projection, from that of the projected queries.
fn project_back(
    form: &Form,
    weights: &Weights<'_>,
    x: &[f32],
    dq: &[f32],
    residual: &[f32],
    wanted: bool,
) -> (Option<Vec<f32>>, LinearGradients) {
    let Form { layer, queries: m, .. } = *form;
    let (d, wide) = (layer.width, layer.query_width);
    let mut weight = vec![0.0; wide * d];
    product(Size { m: wide, n: d, k: m }, Lhs::transposed(x, wide), dq, d, &mut weight, d, Store);
    let mut bias = vec![0.0; d];
    dq.chunks_exact(d).for_each(|row| add(row, &mut bias));
    let dx = wanted.then(|| {
        let mut dx = if layer.residual == Residual::Raw { residual.to_vec() } else { vec![0.0; m * wide] };
        let turned: Vec<f32> = (0..d * wide).map(|at| weights.query.weight[at % wide * d + at / wide]).collect();
        product(Size { m, n: wide, k: d }, Lhs::rows(dq, d), &turned, wide, &mut dx, wide, Accumulate);
        dx
    });
    (dx, LinearGradients { weight, bias })
}
