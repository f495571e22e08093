//! Backward pass over key rows.
//!
//! With `P` the attention weights and `U` the gradient of the weighted means: `dS = P∘(f·Uᵀ − centre)`, a
//! row of features receives `dS·F + P·U`, and the folded queries `F` receive `dSᵀ·f`.

use pulp::{Simd, WithSimd};

use super::{
    Asked, Form, Gathers,
    keys::{Features, gather, scores},
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    set::{
        Sums,
        keys::{KEY_SUMS, KeyProjection, KeyProjectionBack},
        plan::{BLOCK, Piece, Task},
    },
    transpose::transpose,
    vector::{exp, split, split_mut},
};

/// Data shared by all tasks.
pub(super) struct Shared<'a> {
    pub(super) form: Form,
    pub(super) asked: &'a Asked,
    /// Both projections, unless they are folded into the queries.
    pub(super) projection: Option<(KeyProjection, KeyProjectionBack)>,
    pub(super) y: &'a [f32],
    /// `[sets, 2, padded]`.
    pub(super) stats: &'a [f32],
    /// `[sets, columns, feature]`.
    pub(super) means: &'a [f32],
    /// `[sets, padded]`.
    pub(super) centres: &'a [f32],
}

pub(super) struct Scatter<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) task: &'a Task,
    /// Gradient of the rows; empty if it is not required.
    pub(super) dy: &'a mut [f32],
}

/// Number of sums of a task: projections of keys and values, unless folded, and the folded queries,
/// transposed.
pub(super) const SUMS: usize = KEY_SUMS + 1;

impl Shared<'_> {
    pub(super) fn sizes(&self) -> [usize; SUMS] {
        let [matrix, bias] = self.projection.as_ref().map_or([0, 0], |(_, back)| back.sizes());
        [matrix, bias, self.form.pooled()]
    }

    /// Turns the scores of a piece into weights and computes the gradients of its scores.
    #[inline(always)]
    fn gradients<S: Simd>(
        &self,
        simd: S,
        piece: &Piece,
        features: (&[f32], usize),
        turned: &[f32],
        weights: &mut [f32],
        deltas: &mut [f32],
    ) {
        let padded = self.form.padded();
        let Gathers { heads, queries, feature } = self.form.gathers();
        let size = Size { m: piece.rows.len(), n: self.form.score_columns(), k: feature };
        for h in 0..heads {
            let left = Lhs::rows(&features.0[h * feature..], features.1);
            let right = Rhs::rows::<S>(&turned[h * feature * padded..], padded);
            gemm(simd, size, left, right, &mut deltas[h * queries..], padded, Store);
        }
        let stats = &self.stats[piece.set * 2 * padded..][..2 * padded];
        let (max, inverse) = stats.split_at(padded);
        let centre = split::<S>(&self.centres[piece.set * padded..][..padded]).0;
        let (max, inverse) = (split::<S>(max).0, split::<S>(inverse).0);
        for (weights, deltas) in weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded)) {
            let cells = split_mut::<S>(weights).0.iter_mut().zip(split_mut::<S>(deltas).0);
            for ((weight, delta), ((max, inverse), centre)) in cells.zip(max.iter().zip(inverse).zip(centre)) {
                *weight = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, *max)), *inverse);
                *delta = simd.mul_f32s(*weight, simd.sub_f32s(*delta, *centre));
            }
        }
    }

    /// Transposes the gradients of the means of a set, `[heads, feature, padded]`.
    #[inline(always)]
    fn turn(&self, set: usize, out: &mut [f32]) {
        let Gathers { heads, queries, feature } = self.form.gathers();
        let padded = self.form.padded();
        for h in 0..heads {
            let means = &self.means[set * self.form.pooled() + h * queries * feature..];
            transpose(means, feature, queries, feature, padded, &mut out[h * feature * padded..]);
        }
    }

    /// `out (+)= P·U` of a piece.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, piece: &Piece, weights: &[f32], out: &mut [f32], ld: usize) {
        let Gathers { heads, queries, feature } = self.form.gathers();
        let size = Size { m: piece.rows.len(), n: feature, k: queries };
        for h in 0..heads {
            let left = Lhs::rows(&weights[h * queries..], self.form.padded());
            let means = &self.means[piece.set * self.form.pooled() + h * queries * feature..];
            let (right, out) = (Rhs::rows::<S>(means, feature), &mut out[h * feature..]);
            if self.form.folded {
                gemm(simd, size, left, right, out, ld, Accumulate);
            } else {
                gemm(simd, size, left, right, out, ld, Store);
            }
        }
    }

    /// `out = dS·F` of a block.
    #[inline(always)]
    fn keys<S: Simd>(&self, simd: S, rows: usize, deltas: &[f32], out: &mut [f32], ld: usize) {
        let Gathers { queries, feature, .. } = self.form.gathers();
        let size = Size { m: rows, n: feature, k: queries };
        for (h, fold) in self.asked.back.iter().enumerate() {
            let left = Lhs::rows(&deltas[h * queries..], self.form.padded());
            gemm(simd, size, left, fold.rhs(), &mut out[h * feature..], ld, Store);
        }
    }
}

impl WithSimd for Scatter<'_> {
    type Output = Sums<SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<SUMS> {
        let Self { shared, task, dy } = self;
        let form = &shared.form;
        let (padded, wide, pair) = (form.padded(), form.layer.key_width, 2 * form.layer.width);
        let Gathers { heads, feature, .. } = form.gathers();
        let mut sums = Sums::zeros(shared.sizes());
        let mut turned = Workspace::lease(heads * feature * padded);
        // With several heads the padding columns are not written: zeros keep them finite.
        let mut found = Workspace::zeros(2 * BLOCK * padded);
        let (weights, deltas) = found.split_at_mut(BLOCK * padded);
        let mut scratch: [Workspace; 2] =
            std::array::from_fn(|_| Workspace::lease(if form.folded { 0 } else { BLOCK * pair }));
        let [kv, dkv] = &mut scratch;
        let mut open = None;
        for block in task.blocks() {
            let rows = block.len();
            let y = &shared.y[block.start * wide..block.end * wide];
            let projection = shared.projection.as_ref().map(|(projection, _)| projection);
            let features = Features::of(simd, form, projection, y, kv);
            scores(simd, form, &shared.asked.scores, rows, features, weights);
            let local = |piece: &Piece, ld: usize| (piece.rows.start - block.start) * ld;
            for piece in task.pieces_of(block.clone()) {
                if open != Some(piece.set) {
                    open = Some(piece.set);
                    shared.turn(piece.set, &mut turned);
                }
                let (at, size) = (local(&piece, padded), piece.rows.len() * padded);
                let values = (&features.values[local(&piece, features.ld)..], features.ld);
                let (weights, deltas) = (&mut weights[at..][..size], &mut deltas[at..][..size]);
                shared.gradients(simd, &piece, values, &turned, weights, deltas);
            }
            gather(simd, form, rows, deltas, (features.keys, features.ld), &mut sums.0[KEY_SUMS]);
            let dy_at = (block.start - task.rows.start) * wide;
            let (out, ld, offset) = match &shared.projection {
                Some(_) => (&mut dkv[..rows * pair], pair, form.layer.width),
                None if dy.is_empty() => continue,
                None => (&mut dy[dy_at..][..rows * wide], wide, 0),
            };
            shared.keys(simd, rows, deltas, out, ld);
            for piece in task.pieces_of(block.clone()) {
                let weights = &weights[local(&piece, padded)..];
                shared.values(simd, &piece, weights, &mut out[offset + local(&piece, ld)..], ld);
            }
            if let Some((_, back)) = &shared.projection {
                let dy = dy.get_mut(dy_at..).unwrap_or_default();
                back.rows(simd, (y, &dkv[..rows * pair]), dy, &mut sums, 0);
            }
        }
        sums
    }
}
