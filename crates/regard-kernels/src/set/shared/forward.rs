//! Forward pass for shared queries.

use rayon::prelude::*;

use super::{
    Asked, Form, Saved,
    finish::{Finish, Shared},
    keys::Gather,
};
use crate::{
    buffer::Workspace,
    set::{
        Layer, Sets, Weights,
        keys::KeyProjection,
        plan::{Plan, parts},
        tail::Tail,
    },
    simd,
};

/// Partial weighted sums of every piece of the plan.
fn gather(form: &Form, weights: &Weights<'_>, asked: &Asked, y: &[f32], plan: &Plan) -> Workspace {
    let projection = (!form.folded).then(|| KeyProjection::of(&form.layer, weights));
    let mut slots = Workspace::lease(plan.pieces() * form.slot());
    let slot_parts = parts(&mut slots, plan.tasks.iter().map(|task| task.pieces.len() * form.slot()));
    plan.tasks.par_iter().zip(slot_parts).for_each(|(task, slots)| {
        let (folds, projection) = (&asked.scores[..], projection.as_ref());
        simd::run(Gather { form, folds, projection, y, task, slots });
    });
    slots
}

pub(in crate::set) fn forward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: &[f32],
    keys: Sets<'_>,
    save: bool,
) -> (Vec<f32>, Option<Saved>) {
    let form = Form::of(layer, queries, keys);
    let asked = Asked::of(&form, weights, queries, false);
    let plan = Plan::of(keys.offsets);
    let slots = gather(&form, weights, &asked, keys.rows, &plan);
    let tail = Tail::of(layer.width, weights, false);
    let (row, sets, group) = (form.queries * layer.width, form.sets, form.group());
    let kept = |keep: bool| if save && keep { row } else { 0 };
    let (attended_row, o_row) = (kept(tail.projects()), kept(tail.feeds()));
    let mut pooled = Workspace::lease(sets * form.pooled());
    let mut stats = Workspace::lease(sets * 2 * form.padded());
    let (mut attended, mut o) = (Workspace::lease(sets * attended_row), Workspace::lease(sets * o_row));
    let words = if save && tail.feeds() { form.gate_words() } else { 0 };
    let mut gates = vec![0; sets.div_ceil(group) * words];
    let mut out = vec![0.0; sets * row];
    let residual = asked.residual(layer, queries);
    let shared = Shared { form, weights, tail, residual, slots: &slots, of_sets: &plan.slots };
    let groups: Vec<usize> = (0..sets).step_by(group).map(|first| group.min(sets - first)).collect();
    let cut = |all, size: usize| parts(all, groups.iter().map(|count| count * size));
    cut(&mut out, row)
        .into_par_iter()
        .zip(cut(&mut pooled, form.pooled()))
        .zip(cut(&mut stats, 2 * form.padded()))
        .zip(cut(&mut attended, attended_row))
        .zip(cut(&mut o, o_row))
        .zip(parts(&mut gates, groups.iter().map(|_| words)))
        .enumerate()
        .for_each(|(g, (((((out, pooled), stats), attended), o), gates))| {
            simd::run(Finish { shared: &shared, first: g * group, pooled, stats, attended, o, gates, out });
        });
    (out, save.then_some(Saved { pooled, stats, attended, o, gates }))
}
