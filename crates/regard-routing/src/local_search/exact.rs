//! The shortest tour of a few nodes by dynamic programming over subsets.
//!
//! Held and Karp, "A dynamic programming approach to sequencing problems", Journal of SIAM 10
//! (1962): `best[S][j]`, the shortest path from the last node through all of `S` that ends in `j`,
//! is the minimum over `i` in `S` without `j` of `best[S - j][i] + d(i, j)`.

use crate::Sites;

/// Up to this many nodes the shortest tour is found outright: 2^11 subsets of eleven nodes take
/// under a millisecond.
pub(super) const EXACT_UP_TO: usize = 12;

/// A shortest tour.
///
/// `instance` has at most [`EXACT_UP_TO`] nodes.
pub(super) fn shortest(instance: &Sites) -> Vec<usize> {
    let n = instance.len();
    if n <= 2 || n == 3 && instance.is_symmetric() {
        return (0..n).collect();
    }
    let others = n - 1;
    let trips = Trips::new(others, |a, b| instance.distance(a, b));
    let mut tour = trips.shortest(trips.all());
    // The path was followed from its end.
    if instance.is_symmetric() {
        tour.reverse();
    }
    tour.insert(0, others);
    tour
}

/// The shortest round trips from a depot through every choice of a few nodes.
pub(super) struct Trips {
    /// Number of nodes beside the depot.
    others: usize,
    /// Length of the shortest path from the depot through a subset, `[subset, last node]`.
    best: Vec<f64>,
    /// The node before the last one on it, `[subset, last node]`.
    from: Vec<u8>,
    /// The way from each node to the depot.
    back: Vec<f64>,
}

impl Trips {
    /// The trips through nodes `0..others` from the depot, which `distance` knows as node `others`.
    pub(super) fn new(others: usize, distance: impl Fn(usize, usize) -> f64) -> Self {
        let mut best = vec![f64::INFINITY; (1 << others) * others];
        let mut from = vec![0_u8; best.len()];
        for last in 0..others {
            best[(1 << last) * others + last] = distance(others, last);
        }
        for subset in 1_usize..1 << others {
            for last in (0..others).filter(|last| subset >> last & 1 == 1) {
                let before = subset & !(1 << last);
                for i in (0..others).filter(|i| before >> i & 1 == 1) {
                    let length = best[before * others + i] + distance(i, last);
                    if length < best[subset * others + last] {
                        best[subset * others + last] = length;
                        from[subset * others + last] = i as u8;
                    }
                }
            }
        }
        let back = (0..others).map(|node| distance(node, others)).collect();
        Self { others, best, from, back }
    }

    /// The subset of all nodes. Node `i` is in a subset whose bit `i` is set.
    pub(super) fn all(&self) -> usize {
        (1 << self.others) - 1
    }

    /// The last node of the shortest round trip through a subset, and its length; `None` for no nodes.
    fn last(&self, subset: usize) -> Option<(usize, f64)> {
        let closed = |last: usize| (last, self.best[subset * self.others + last] + self.back[last]);
        let inside = (0..self.others).filter(|last| subset >> last & 1 == 1);
        inside.map(closed).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Length of the shortest round trip through a subset.
    pub(super) fn length(&self, subset: usize) -> f64 {
        self.last(subset).map_or(0.0, |(_, length)| length)
    }

    /// The nodes of the shortest round trip through a subset, without the depot.
    pub(super) fn shortest(&self, subset: usize) -> Vec<usize> {
        let Some((mut last, _)) = self.last(subset) else { return Vec::new() };
        let (mut left, mut visits) = (subset, Vec::new());
        while left != 0 {
            visits.push(last);
            let before = self.from[left * self.others + last];
            left &= !(1 << last);
            last = usize::from(before);
        }
        visits.reverse();
        visits
    }
}
