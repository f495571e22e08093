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
    let (best, from) = table(instance, others);
    let all = (1 << others) - 1;
    let closed = |last: usize| best[all * others + last] + instance.distance(last, others);
    let mut last = (0..others).min_by(|&a, &b| closed(a).total_cmp(&closed(b))).unwrap_or(0);
    let mut tour = vec![others];
    let mut subset = all;
    for _ in 0..others {
        tour.push(last);
        let before = from[subset * others + last];
        subset &= !(1 << last);
        last = usize::from(before);
    }
    // The path was followed from its end.
    if !instance.is_symmetric() {
        tour[1..].reverse();
    }
    tour
}

/// Lengths and predecessors, both `[subset, last node]`; the paths start at node `others`.
fn table(instance: &Sites, others: usize) -> (Vec<f64>, Vec<u8>) {
    let mut best = vec![f64::INFINITY; (1 << others) * others];
    let mut from = vec![0_u8; best.len()];
    for last in 0..others {
        best[(1 << last) * others + last] = instance.distance(others, last);
    }
    for subset in 1_usize..1 << others {
        for last in (0..others).filter(|last| subset >> last & 1 == 1) {
            let before = subset & !(1 << last);
            for i in (0..others).filter(|i| before >> i & 1 == 1) {
                let length = best[before * others + i] + instance.distance(i, last);
                if length < best[subset * others + last] {
                    best[subset * others + last] = length;
                    from[subset * others + last] = i as u8;
                }
            }
        }
    }
    (best, from)
}
