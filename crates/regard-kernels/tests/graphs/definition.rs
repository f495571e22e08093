//! Edge attention computed from its definition in double precision.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::graph::{EdgeList, HeadLayout, Inputs, Layer, Nodes, Softmax};

pub(crate) fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    (0..len).map(|_| 2.0 * generator.random::<f32>() - 1.0).collect()
}

/// An edge list from pairs of source and target; edges of a target keep their order.
pub(crate) fn list(nodes: usize, pairs: &[(usize, usize)]) -> EdgeList {
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| pair.1);
    let offsets = (0..=nodes).map(|node| pairs.partition_point(|pair| pair.1 < node)).collect();
    EdgeList::new(offsets, pairs.iter().map(|pair| pair.0 as u32).collect())
}

/// Random pairs of nodes, with self loops, parallel edges and isolated nodes.
pub(crate) fn random_pairs(nodes: usize, edges: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    let mut node = || generator.random_range(0..nodes);
    (0..edges).map(|_| (node(), node())).collect()
}

/// Inputs that a case has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub(crate) packed: bool,
    pub(crate) edge: bool,
    pub(crate) bias: bool,
}

/// Attention with random inputs.
pub(crate) struct Case {
    pub(crate) layer: Layer,
    pub(crate) given: Given,
    pub(crate) graph: EdgeList,
    /// Query, key, value, edge factors, bias; the last two are empty if absent.
    pub(crate) tensors: [Vec<f32>; 5],
    packed: Vec<f32>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, edges) = (self.graph.nodes(), self.graph.edges());
        write!(f, "{:?} {:?}, {nodes} nodes, {edges} edges", self.layer, self.given)
    }
}

/// A layer with the scale of the paper and without dropout.
pub(crate) fn layer(width: usize, heads: usize, layout: HeadLayout, softmax: Softmax) -> Layer {
    let scale = 1.0 / ((width / heads) as f32).sqrt();
    Layer { width, heads, layout, scale, softmax, dropout: None }
}

impl Case {
    /// A random case; queries are multiplied with `spread`, so that scores reach the clamp.
    pub(crate) fn new(layer: Layer, given: Given, graph: EdgeList, spread: f32) -> Self {
        let (nodes, edges) = (graph.nodes() * layer.width, graph.edges());
        let if_present = |if_present: bool, len: usize| if if_present { len } else { 0 };
        let sizes = [
            nodes,
            nodes,
            nodes,
            if_present(given.edge, edges * layer.width),
            if_present(given.bias, edges * layer.heads),
        ];
        let mut seed = 10;
        let mut tensors = sizes.map(|size| {
            seed += 1;
            random(size, seed)
        });
        tensors[0].iter_mut().for_each(|x| *x *= spread);
        Self::of(layer, given, graph, tensors)
    }

    pub(crate) fn of(layer: Layer, given: Given, graph: EdgeList, tensors: [Vec<f32>; 5]) -> Self {
        let rows =
            tensors[0].chunks(layer.width).zip(tensors[1].chunks(layer.width)).zip(tensors[2].chunks(layer.width));
        let packed = rows.flat_map(|((query, key), value)| [query, key, value].concat()).collect();
        Self { layer, given, graph, tensors, packed }
    }

    pub(crate) fn inputs(&self) -> Inputs<'_> {
        let [query, key, value, edge, bias] = &self.tensors;
        let nodes = match self.given.packed {
            true => Nodes::Packed(&self.packed[..]),
            false => Nodes::Separate { query: &query[..], key: &key[..], value: &value[..] },
        };
        Inputs { nodes, edge: self.given.edge.then_some(edge), bias: self.given.bias.then_some(bias) }
    }

    /// The tensors in double precision.
    pub(crate) fn wide(&self) -> [Vec<f64>; 5] {
        self.tensors.each_ref().map(|tensor| tensor.iter().map(|x| f64::from(*x)).collect())
    }

    /// Index of a channel in a row.
    fn channel(&self, head: usize, channel: usize) -> usize {
        let Layer { width, heads, layout, .. } = self.layer;
        match layout {
            HeadLayout::Blocks => head * (width / heads) + channel,
            HeadLayout::Interleaved => channel * heads + head,
        }
    }
}

/// Results of edge attention.
pub(crate) struct Definition {
    /// `[nodes, width]`.
    pub(crate) out: Vec<f64>,
    /// `[edges, width]`, if there is an edge stream.
    pub(crate) products: Vec<f64>,
    /// `[edges, heads]`, without dropout.
    pub(crate) weights: Vec<f64>,
}

pub(crate) fn definition(case: &Case, [query, key, value, edge, bias]: &[Vec<f64>; 5]) -> Definition {
    let Layer { width, heads, scale, softmax, dropout, .. } = case.layer;
    let (offsets, sources) = (case.graph.offsets(), case.graph.sources());
    let mut found = Definition {
        out: vec![0.0; query.len()],
        products: vec![0.0; edge.len()],
        weights: vec![0.0; sources.len() * heads],
    };
    for target in 0..case.graph.nodes() {
        let edges = offsets[target]..offsets[target + 1];
        for h in 0..heads {
            let channels: Vec<usize> = (0..width / heads).map(|c| case.channel(h, c)).collect();
            let mut scores = Vec::new();
            for e in edges.clone() {
                let mut score = if bias.is_empty() { 0.0 } else { bias[e * heads + h] };
                for c in &channels {
                    let mut product =
                        f64::from(scale) * query[target * width + c] * key[sources[e] as usize * width + c];
                    if !edge.is_empty() {
                        product *= edge[e * width + c];
                        found.products[e * width + c] = product;
                    }
                    score += product;
                }
                scores.push(score);
            }
            let (weights, epsilon, isolated): (Vec<f64>, f32, f32) = match softmax {
                Softmax::Clamped { limit, epsilon, isolated } => {
                    let limit = f64::from(limit);
                    (scores.iter().map(|score| score.clamp(-limit, limit).exp()).collect(), epsilon, isolated)
                }
                Softmax::Stable => {
                    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    (scores.iter().map(|score| (score - max).exp()).collect(), 0.0, 0.0)
                }
            };
            let sum = weights.iter().sum::<f64>() + f64::from(epsilon);
            for c in &channels {
                found.out[target * width + c] = if edges.is_empty() { f64::from(isolated) } else { 0.0 };
            }
            for (e, weight) in edges.clone().zip(weights) {
                found.weights[e * heads + h] = weight / sum;
                let factor = dropout.map_or(1.0, |dropout| f64::from(dropout.factor(e, h)));
                for c in &channels {
                    found.out[target * width + c] += weight / sum * factor * value[sources[e] as usize * width + c];
                }
            }
        }
    }
    found
}
