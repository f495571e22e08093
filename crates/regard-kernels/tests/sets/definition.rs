//! The set attention block computed from its definition in double precision.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::set::{Layer, Linear, Queries, Residual, Sets, Weights};

pub(crate) fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    (0..len).map(|_| 2.0 * generator.random::<f32>() - 1.0).collect()
}

/// A block with random weights on random sets.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) layer: Layer,
    shared: bool,
    pub(crate) query_offsets: Vec<usize>,
    pub(crate) key_offsets: Vec<usize>,
    /// Queries, keys, then weight and bias of query, key, value, out, feed; empty if absent.
    pub(crate) tensors: Tensors,
}

/// Tensors that are printed as their lengths only.
pub(crate) struct Tensors(Vec<Vec<f32>>);

impl std::fmt::Debug for Tensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(Vec::len)).finish()
    }
}

impl std::ops::Deref for Tensors {
    type Target = [Vec<f32>];
    fn deref(&self) -> &[Vec<f32>] {
        &self.0
    }
}

fn offsets(sizes: &[usize]) -> Vec<usize> {
    let ends = sizes.iter().scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Widths of queries, keys and block, and number of heads.
type Widths = (usize, usize, usize, usize);
/// Residual, output projection, feed-forward part.
type Switches = (Residual, bool, bool);

impl Case {
    pub(crate) fn own(widths: Widths, switches: Switches, queries: &[usize], keys: &[usize]) -> Self {
        let query_offsets = offsets(queries);
        let rows = queries.iter().sum();
        Self::new(widths, switches, rows, query_offsets, offsets(keys), false)
    }

    pub(crate) fn shared(widths: Widths, switches: Switches, queries: usize, keys: &[usize]) -> Self {
        let query_offsets = offsets(&vec![queries; keys.len()]);
        Self::new(widths, switches, queries, query_offsets, offsets(keys), true)
    }

    fn new(
        (query_width, key_width, width, heads): Widths,
        (residual, out, feed): Switches,
        rows: usize,
        query_offsets: Vec<usize>,
        key_offsets: Vec<usize>,
        shared: bool,
    ) -> Self {
        let scale = 1.3 / (width as f32).sqrt();
        let layer = Layer { query_width, key_width, width, heads, scale, residual };
        let keys = key_offsets[key_offsets.len() - 1];
        let square = |if_present: bool| if if_present { width * width } else { 0 };
        let bias = |if_present: bool| if if_present { width } else { 0 };
        let sizes = [rows * query_width, keys * key_width, query_width * width, width, key_width * width, width];
        let sizes =
            sizes.into_iter().chain([key_width * width, width, square(out), bias(out), square(feed), bias(feed)]);
        let tensors = sizes.enumerate().map(|(i, size)| {
            let spread = if i < 2 { 1.0 } else { 2.0 / (width as f32).sqrt() };
            random(size, 10 + i as u64).iter().map(|x| spread * x).collect()
        });
        Self { layer, shared, query_offsets, key_offsets, tensors: Tensors(tensors.collect()) }
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        let linear = |i: usize| Linear { weight: &self.tensors[i], bias: &self.tensors[i + 1] };
        let if_present = |i: usize| (!self.tensors[i].is_empty()).then(|| linear(i));
        Weights { query: linear(2), key: linear(4), value: linear(6), out: if_present(8), feed: if_present(10) }
    }

    pub(crate) fn queries(&self) -> Queries<'_> {
        let rows = &self.tensors[0];
        if self.shared { Queries::Shared(rows) } else { Queries::Own(Sets { rows, offsets: &self.query_offsets }) }
    }

    pub(crate) fn keys(&self) -> Sets<'_> {
        Sets { rows: &self.tensors[1], offsets: &self.key_offsets }
    }

    /// Number of rows of the result.
    pub(crate) fn rows(&self) -> usize {
        self.query_offsets[self.query_offsets.len() - 1]
    }

    /// The tensors in double precision.
    pub(crate) fn wide(&self) -> Vec<Vec<f64>> {
        self.tensors.iter().map(|tensor| tensor.iter().map(|x| f64::from(*x)).collect()).collect()
    }

    /// For each set, its range of query rows (of the tensor) and of key rows.
    fn sets(&self) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>)> {
        let bounds = self.query_offsets.windows(2).zip(self.key_offsets.windows(2));
        bounds.map(|(q, k)| (if self.shared { 0..q[1] - q[0] } else { q[0]..q[1] }, k[0]..k[1]))
    }
}

/// `x·weight + bias` for one row.
fn linear(x: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let mut out = bias.to_vec();
    for (x, row) in x.iter().zip(weight.chunks_exact(bias.len())) {
        out.iter_mut().zip(row).for_each(|(out, weight)| *out += x * weight);
    }
    out
}

fn rows_of(x: &[f64], width: usize, weight: &[f64], bias: &[f64]) -> Vec<Vec<f64>> {
    x.chunks_exact(width).map(|x| linear(x, weight, bias)).collect()
}

/// The attention weights of every set, `[heads, queries, keys]`.
pub(crate) fn attention(case: &Case, t: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let layer = &case.layer;
    let head = layer.width / layer.heads;
    let q = rows_of(&t[0], layer.query_width, &t[2], &t[3]);
    let k = rows_of(&t[1], layer.key_width, &t[4], &t[5]);
    let of_set = |(queries, keys): (std::ops::Range<usize>, std::ops::Range<usize>)| {
        let mut all = Vec::new();
        for h in 0..layer.heads {
            for i in queries.clone() {
                let span = h * head..(h + 1) * head;
                let dot =
                    |j: usize| -> f64 { q[i][span.clone()].iter().zip(&k[j][span.clone()]).map(|(q, k)| q * k).sum() };
                let scores: Vec<f64> = keys.clone().map(|j| f64::from(layer.scale) * dot(j)).collect();
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = scores.iter().map(|score| (score - max).exp()).sum();
                all.extend(scores.iter().map(|score| (score - max).exp() / sum));
            }
        }
        all
    };
    case.sets().map(of_set).collect()
}

/// The result of the block.
pub(crate) fn definition(case: &Case, t: &[Vec<f64>]) -> Vec<f64> {
    let Layer { query_width, key_width, width, heads, residual, .. } = case.layer;
    let q = rows_of(&t[0], query_width, &t[2], &t[3]);
    let v = rows_of(&t[1], key_width, &t[6], &t[7]);
    let mut out = Vec::new();
    for ((queries, keys), weights) in case.sets().zip(attention(case, t)) {
        for (row, i) in queries.clone().enumerate() {
            let mut o = vec![0.0; width];
            for (column, o) in o.iter_mut().enumerate() {
                let h = column / (width / heads);
                let weights = &weights[(h * queries.len() + row) * keys.len()..][..keys.len()];
                *o = weights.iter().zip(&v[keys.clone()]).map(|(weight, v)| weight * v[column]).sum();
            }
            if !t[8].is_empty() {
                o = linear(&o, &t[8], &t[9]);
            }
            for (column, o) in o.iter_mut().enumerate() {
                *o += match residual {
                    Residual::Projected => q[i][column],
                    Residual::Raw => t[0][i * query_width + column],
                    Residual::None => 0.0,
                };
            }
            if !t[10].is_empty() {
                let fed = linear(&o, &t[10], &t[11]);
                o.iter_mut().zip(fed).for_each(|(o, fed)| *o += fed.max(0.0));
            }
            out.extend(o);
        }
    }
    out
}
