//! One decoding step of one trajectory: from query to logits.

use pulp::Simd;

use super::{State, decoder::Table};
use crate::pointer;
use crate::vector::{add_assign, axpy, dot, exponentials, maximum, split, split_mut};

/// Scratch memory of one trajectory.
pub(super) struct Scratch {
    base: Vec<f32>,
    /// The first node that `base` was computed for; `None` before it was computed.
    base_of: Option<Option<usize>>,
    query: Vec<f32>,
    glimpse: Vec<f32>,
    /// `[heads, padded]`.
    weights: Vec<f32>,
    scalars: Vec<f32>,
    /// Dynamic feature of the nodes, `[padded]`; empty if the decoder has no weights for it.
    dynamic: Vec<f32>,
    allowed: Vec<bool>,
    allowed_nodes: Vec<u32>,
    /// Mask added to the scores: 0 for allowed nodes, −∞ for the others and the padding.
    mask: Vec<f32>,
    /// Clipped logits, −∞ where masked.
    pub(super) logits: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(table: &Table<'_>) -> Self {
        let packed = table.packed;
        Self {
            base: vec![0.0; packed.width],
            base_of: None,
            query: vec![0.0; packed.width],
            glimpse: vec![0.0; packed.width],
            weights: vec![0.0; packed.heads * table.padded],
            scalars: vec![0.0; packed.scalars],
            dynamic: vec![0.0; if packed.dynamic.is_some() { table.padded } else { 0 }],
            allowed: vec![false; table.nodes],
            allowed_nodes: Vec::with_capacity(table.nodes),
            mask: vec![f32::NEG_INFINITY; table.padded],
            logits: vec![0.0; table.padded],
        }
    }

    fn read_state(&mut self, state: &dyn State) {
        state.allowed(&mut self.allowed);
        state.scalars(&mut self.scalars);
        if !self.dynamic.is_empty() {
            state.dynamic(&self.allowed, &mut self.dynamic[..self.allowed.len()]);
        }
        self.allowed_nodes.clear();
        for (node, (&allowed, mask)) in self.allowed.iter().zip(&mut self.mask).enumerate() {
            *mask = if allowed { 0.0 } else { f32::NEG_INFINITY };
            if allowed {
                self.allowed_nodes.push(node as u32);
            }
        }
    }
}

/// Computes the logits of the next step into `scratch.logits`; returns their log-sum-exp.
#[inline(always)]
pub(super) fn logits<S: Simd>(simd: S, table: &Table<'_>, state: &dyn State, scratch: &mut Scratch) -> f32 {
    scratch.read_state(state);
    let first = state.first();
    if scratch.base_of != Some(first) {
        table.base(simd, first, &mut scratch.base);
        scratch.base_of = Some(first);
    }
    table.query(simd, &scratch.base, state.last(), &scratch.scalars, &mut scratch.query);
    glimpse(simd, table, scratch);
    products(simd, &scratch.glimpse, table.logit_keys, table.padded, &mut scratch.logits);
    if let Some(dynamic) = &table.packed.dynamic {
        let along = dot(simd, &scratch.glimpse, &dynamic.logit_key);
        axpy(simd, along, &scratch.dynamic, &mut scratch.logits);
    }
    add_assign(simd, &scratch.mask, &mut scratch.logits);
    pointer::logits(simd, table.packed.clip, &mut scratch.logits)
}

/// The glimpse: masked multi-head attention of the query over the nodes.
#[inline(always)]
fn glimpse<S: Simd>(simd: S, table: &Table<'_>, scratch: &mut Scratch) {
    let (heads, width, padded) = (table.packed.heads, table.packed.width, table.padded);
    let head = width / heads;
    for h in 0..heads {
        let keys = &table.glimpse_keys[h * head * padded..][..head * padded];
        let weights = &mut scratch.weights[h * padded..][..padded];
        let query = &scratch.query[h * head..][..head];
        products(simd, query, keys, padded, weights);
        if let Some(dynamic) = &table.packed.dynamic {
            let along = dot(simd, query, &dynamic.glimpse_key[h * head..][..head]);
            axpy(simd, along, &scratch.dynamic, weights);
        }
        add_assign(simd, &scratch.mask, weights);
        let max = maximum(simd, weights);
        let inverse = 1.0 / exponentials(simd, weights, max);
        crate::vector::scale(simd, inverse, weights);
    }
    scratch.glimpse.fill(0.0);
    if head.is_multiple_of(S::F32_LANES) {
        let registers = width / S::F32_LANES;
        let mut from = 0;
        while from < registers {
            let count = (registers - from).min(8);
            match count {
                8 => weighted_values::<S, 8>(simd, table, scratch, from),
                4..8 => weighted_values::<S, 4>(simd, table, scratch, from),
                _ => weighted_values::<S, 1>(simd, table, scratch, from),
            }
            from += match count {
                8 => 8,
                4..8 => 4,
                _ => 1,
            };
        }
    } else {
        for &node in &scratch.allowed_nodes {
            let value = table.value(node as usize);
            for h in 0..heads {
                let weight = scratch.weights[h * padded + node as usize];
                let at = h * head..(h + 1) * head;
                for (sum, value) in scratch.glimpse[at.clone()].iter_mut().zip(&value[at]) {
                    *sum = weight.mul_add(*value, *sum);
                }
            }
        }
    }
    if let Some(dynamic) = &table.packed.dynamic {
        for h in 0..heads {
            let sum = dot(simd, &scratch.weights[h * padded..][..padded], &scratch.dynamic);
            let at = h * head..(h + 1) * head;
            axpy(simd, sum, &dynamic.glimpse_value[at.clone()], &mut scratch.glimpse[at]);
        }
    }
}

/// `R` registers of the glimpse, starting at register `from`: the weighted sum of the values of the
/// allowed nodes.
#[inline(always)]
fn weighted_values<S: Simd, const R: usize>(simd: S, table: &Table<'_>, scratch: &mut Scratch, from: usize) {
    let (padded, head) = (table.padded, table.packed.width / table.packed.heads);
    let mut rows = [0; R];
    for (r, row) in rows.iter_mut().enumerate() {
        *row = (from + r) * S::F32_LANES / head * padded;
    }
    let mut sums = [simd.splat_f32s(0.0); R];
    for &node in &scratch.allowed_nodes {
        let node = node as usize;
        let value = &split::<S>(table.value(node)).0[from..from + R];
        for r in 0..R {
            let weight = simd.splat_f32s(scratch.weights[rows[r] + node]);
            sums[r] = simd.mul_add_f32s(weight, value[r], sums[r]);
        }
    }
    split_mut::<S>(&mut scratch.glimpse).0[from..from + R].copy_from_slice(&sums);
}

/// `out[j] = Σ_c x[c] · table[c, j]` for a table whose rows are `padded` apart.
#[inline(always)]
fn products<S: Simd>(simd: S, x: &[f32], table: &[f32], padded: usize, out: &mut [f32]) {
    let registers = padded / S::F32_LANES;
    let mut from = 0;
    while from < registers {
        let left = registers - from;
        // With few columns the adders wait for dependent sums, so more rows are processed side by side.
        let done = match left {
            1 => strip::<S, 1, 8>(simd, x, table, padded, from, out),
            2 | 3 => strip::<S, 2, 4>(simd, x, table, padded, from, out),
            4..7 => strip::<S, 4, 2>(simd, x, table, padded, from, out),
            _ => strip::<S, 7, 1>(simd, x, table, padded, from, out),
        };
        from += done;
    }
}

/// `V` registers of [`products`], with `U` rows side by side.
#[inline(always)]
fn strip<S: Simd, const V: usize, const U: usize>(
    simd: S,
    x: &[f32],
    table: &[f32],
    padded: usize,
    from: usize,
    out: &mut [f32],
) -> usize {
    let mut sums = [[simd.splat_f32s(0.0); V]; U];
    let whole = x.len() / U * U;
    for (x, rows) in x[..whole].chunks_exact(U).zip(table.chunks_exact(U * padded)) {
        for u in 0..U {
            let factor = simd.splat_f32s(x[u]);
            let row = &split::<S>(&rows[u * padded..][..padded]).0[from..from + V];
            for v in 0..V {
                sums[u][v] = simd.mul_add_f32s(factor, row[v], sums[u][v]);
            }
        }
    }
    for c in whole..x.len() {
        let factor = simd.splat_f32s(x[c]);
        let row = &split::<S>(&table[c * padded..][..padded]).0[from..from + V];
        for v in 0..V {
            sums[0][v] = simd.mul_add_f32s(factor, row[v], sums[0][v]);
        }
    }
    let out = &mut split_mut::<S>(out).0[from..from + V];
    for (v, out) in out.iter_mut().enumerate() {
        let mut sum = sums[0][v];
        for other in &sums[1..] {
            sum = simd.add_f32s(sum, other[v]);
        }
        *out = sum;
    }
    V
}
