//! Distances between nodes, as networks see them: the decoder those from the last node, the encoder those of all pairs.

use std::sync::Arc;

use burn::tensor::{Bool, Tensor};
use regard_nn::State;
use regard_nn::trace::{self, Operation};
use regard_routing::Problem;

use super::AttentionModel;
use crate::{Error, Result};

/// Distance that is added to each, in sides of the unit square: two nodes may be at the same place.
const SMALLEST: f32 = 1e-4;

/// Distances between the nodes of one instance, as decoders with `distances` see them.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    nodes: usize,
    /// `ln(distance + SMALLEST)`, from the node of the row to that of the column, `[nodes, nodes]`.
    logarithms: Arc<[f32]>,
}

impl Distances {
    /// The distances of an instance.
    pub(crate) fn of<P: Problem>(problem: &P) -> Self {
        let places = problem.points();
        match problem.matrix() {
            Some(matrix) => Self::by(problem.nodes(), |from, to| matrix.get(from, to) as f32),
            None => Self::by(problem.nodes(), |from, to| straight(&places[from], &places[to])),
        }
    }

    /// The distances of nodes with the rows of [`AttentionModel::encode`](super::AttentionModel::encode): two coordinates
    /// among so many features, and distances to all nodes where they are not straight.
    pub(crate) fn in_rows(rows: &[f32], nodes: usize, features: usize) -> Self {
        let rows: Vec<&[f32]> = rows.chunks_exact(rows.len() / nodes.max(1)).collect();
        match rows.first() {
            Some(first) if first.len() > features => Self::by(nodes, |from, to| rows[from][features + to]),
            _ => Self::by(nodes, |from, to| straight(rows[from], rows[to])),
        }
    }

    fn by(nodes: usize, distance: impl Fn(usize, usize) -> f32) -> Self {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let logarithms = pairs.map(|(from, to)| (distance(from, to).max(0.0) + SMALLEST).ln()).collect();
        Self { nodes, logarithms }
    }
}

/// Distance between two nodes whose features begin with their coordinates.
fn straight(a: &[f32], b: &[f32]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// A partial solution whose nodes have a dynamic feature if distances are given: how near each is to the last one, in
/// comparison with the nearest one that may be chosen, `ln(nearest / distance)`. It is 0 for the nearest and below 0 for the
/// others, and depends on neither the number of nodes nor the scale.
#[derive(Clone, Debug)]
pub(crate) struct WithDistances<S> {
    pub(crate) state: S,
    distances: Option<Distances>,
}

impl<S> WithDistances<S> {
    pub(crate) fn new(state: S, distances: Option<Distances>) -> Self {
        Self { state, distances }
    }
}

impl<S: State> State for WithDistances<S> {
    fn done(&self) -> bool {
        self.state.done()
    }

    fn allowed(&self, allowed: &mut [bool]) {
        self.state.allowed(allowed);
    }

    fn first(&self) -> Option<usize> {
        self.state.first()
    }

    fn last(&self) -> Option<usize> {
        self.state.last()
    }

    fn scalars(&self, out: &mut [f32]) {
        self.state.scalars(out);
    }

    fn dynamic(&self, allowed: &[bool], out: &mut [f32]) {
        let Some(Distances { nodes, logarithms }) = &self.distances else { return self.state.dynamic(allowed, out) };
        let Some(last) = self.state.last() else { return out.fill(0.0) };
        let row = &logarithms[last * nodes..][..*nodes];
        // The last node itself may be open, as the depot is: it takes no part.
        let mut nearest = f32::INFINITY;
        for (node, (logarithm, allowed)) in row.iter().zip(allowed).enumerate() {
            let open = *allowed && node != last;
            out[node] = if open { *logarithm } else { f32::INFINITY };
            nearest = nearest.min(out[node]);
        }
        for out in out.iter_mut() {
            *out = if out.is_finite() { nearest - *out } else { 0.0 };
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        self.state.reason(node)
    }

    fn step(&mut self, node: usize) {
        self.state.step(node);
    }
}

/// Numbers of a pair of nodes, a query and a key, that the encoder sees: `ln(nearest / distance)` from the query to the key, where
/// the nearest is that after the query, or that before the key; the distance in comparison with the mean one; the same
/// three from the key to the query; and 1 where both are the same node. None of them depends on the scale.
pub(crate) const PAIR_FEATURES: [&str; 7] = [
    "nearness after the query",
    "nearness before the key",
    "distance to the key",
    "nearness after the key",
    "nearness before the query",
    "distance from the key",
    "same node",
];

/// Pairs of nodes whose features are in memory at a time, where no gradients are needed.
pub(super) const PAIRS_AT_ONCE: usize = 1 << 20;

/// Largest number of nodes of an instance whose pairs an encoder sees: with some forty numbers for each, 2.5 GiB.
const MOST_NODES: usize = 4096;

impl AttentionModel {
    /// Checks that what the encoder sees of the pairs of so many nodes fits in memory; `name` is that of the instance.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it does not.
    pub(crate) fn check_pairs(&self, name: &str, nodes: usize) -> Result<()> {
        if self.distance_bias { check_nodes(name, nodes) } else { Ok(()) }
    }
}

fn check_nodes(name: &str, nodes: usize) -> Result<()> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    let reason = format!("has {nodes} nodes; a network whose encoder sees distances takes at most {MOST_NODES}");
    let error = Error::Unsupported { what: name.to_owned(), reason };
    Err(error.with_hint("use a model without `model.distance_bias` (see `regard model show`)"))
}

/// [`PAIR_FEATURES`] of all pairs of nodes with the `rows [batch, nodes, features]` of
/// [`AttentionModel::encode`](super::AttentionModel::encode), which begin with so many features:
/// `[batch, PAIR_FEATURES, nodes, nodes]`.
pub(super) fn pairs(rows: Tensor<3>, features: usize) -> Tensor<4> {
    const PAIRS: [&str; 3] = ["batch", "query", "key"];
    let ([batch, nodes, wide], device) = (rows.dims(), rows.device());
    let distances = match wide > features {
        true => {
            let given = rows.narrow(2, features, nodes).clamp_min(0.0);
            trace::step("distances", Operation::Input).values(PAIRS, &given);
            given
        }
        false => {
            let along = |axis: usize| {
                let own = rows.clone().narrow(2, axis, 1);
                (own.clone() - own.swap_dims(1, 2)).square()
            };
            let straight = (along(0) + along(1)).sqrt();
            let formula = "distance between the places in the first two columns of x";
            trace::step("distances", Operation::Formula(formula.into())).from(&rows).values(PAIRS, &straight);
            straight
        }
    };
    let own: Tensor<3, Bool> = Tensor::<2, Bool>::diag_mask([nodes, nodes], 0, &device).bool_not().unsqueeze();
    let own = own.expand([batch, nodes, nodes]);
    let logarithms = distances.clone().add_scalar(SMALLEST).log();
    let others = logarithms.clone().mask_fill(own.clone(), f32::MAX);
    let after = (others.clone().min_dim(2) - logarithms.clone()).mask_fill(own.clone(), 0.0);
    let before = (others.min_dim(1) - logarithms).mask_fill(own.clone(), 0.0);
    let mean = distances.clone().mean_dim(2).mean_dim(1).add_scalar(SMALLEST);
    let relative = distances.clone() / mean;
    let turned = |of: &Tensor<3>| of.clone().swap_dims(1, 2);
    let back = [turned(&after), turned(&before), turned(&relative)];
    let all = [after, before, relative].into_iter().chain(back).chain([own.float()]);
    let pairs = Tensor::stack(all.collect(), 1);
    let formula =
        format!("of x: ln(nearest / x), x / mean, each both ways, and the same node; with {SMALLEST} added to x");
    trace::step("pairs", Operation::Formula(formula.into()))
        .from(&distances)
        .values(["batch", "pair feature", "query", "key"], &pairs);
    pairs
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn pairs_are_what_their_names_say() {
        // Three nodes with one feature beside the coordinates, and the distances of a matrix.
        let rows: [[f32; 6]; 3] =
            [[0.0, 0.0, 9.0, 0.0, 1.0, 4.0], [1.0, 0.0, 9.0, 2.0, 0.0, 8.0], [0.0, 2.0, 9.0, 3.0, 5.0, 0.0]];
        let tensor = |wide: usize| {
            let values: Vec<f32> = rows.iter().flat_map(|row| row[..wide].to_vec()).collect();
            Tensor::<3>::from_data(TensorData::new(values, [1, 3, wide]), &Device::flex())
        };
        for given in [true, false] {
            let distance = |from: usize, to: usize| match given {
                true => rows[from][3 + to],
                false => straight(&rows[from], &rows[to]),
            };
            let values: Vec<f32> = pairs(tensor(if given { 6 } else { 3 }), 3).try_into_vec_as().unwrap();
            let ln = |from: usize, to: usize| (distance(from, to) + SMALLEST).ln();
            let least = |far: &dyn Fn(usize) -> f32, own: usize| {
                (0..3).filter(|&other| other != own).map(far).fold(f32::INFINITY, f32::min)
            };
            let all = (0..9).map(|at| distance(at / 3, at % 3));
            let mean = all.sum::<f32>() / 9.0 + SMALLEST;
            for (query, key) in (0..3).flat_map(|query| (0..3).map(move |key| (query, key))) {
                let after = |from: usize, to: usize| least(&|other| ln(from, other), from) - ln(from, to);
                let before = |from: usize, to: usize| least(&|other| ln(other, to), to) - ln(from, to);
                let same = f32::from(u8::from(query == key));
                let other = 1.0 - same;
                let expected = [
                    after(query, key) * other,
                    before(query, key) * other,
                    distance(query, key) / mean,
                    after(key, query) * other,
                    before(key, query) * other,
                    distance(key, query) / mean,
                    same,
                ];
                for (feature, expected) in expected.into_iter().enumerate() {
                    let found = values[feature * 9 + query * 3 + key];
                    assert!((found - expected).abs() < 1e-5, "{} of {query}, {key}: {found}", PAIR_FEATURES[feature]);
                }
            }
        }
    }

    #[test]
    fn distances_of_the_decoder_are_those_of_the_matrix() {
        let rows = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 2.0, 0.0];
        let given = Distances::in_rows(&rows, 2, 2);
        let expected = [0.0, 1.0, 2.0, 0.0].map(|distance: f32| (distance + SMALLEST).ln());
        assert_eq!(&given.logarithms[..], expected);
        let straight = Distances::in_rows(&[0.0, 0.0, 3.0, 4.0], 2, 2);
        assert_eq!(straight.logarithms[1], (5.0 + SMALLEST).ln());
    }

    #[test]
    fn too_many_pairs_are_refused() {
        assert!(check_nodes("a file", MOST_NODES).is_ok());
        let error = check_nodes("a file", MOST_NODES + 1).unwrap_err().to_string();
        assert!(error.contains("a file: has 4097 nodes"), "{error}");
    }
}
