//! The order of places along Hilbert's curve: a fair tour where there is no time for a better one.
//!
//! Platzman and Bartholdi, "Spacefilling curves and the planar travelling salesman problem", Journal
//! of the ACM 36 (1989).

use crate::{Metric, Sites};

/// The curve visits a raster of two to the power of this many cells a side.
const DEPTH: u32 = 16;

/// All nodes along the curve; in the order of the file where distances are a table.
pub(super) fn order(instance: &Sites) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..instance.len()).collect();
    if matches!(instance.metric(), Metric::Explicit(..)) {
        return nodes;
    }
    let places = instance.places();
    let ends = |axis: usize| {
        let values = places.iter().map(|place| place[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (across, along) = (ends(0), ends(1));
    let cells = f64::from((1_u32 << DEPTH) - 1);
    let scale = cells / (across.1 - across.0).max(along.1 - along.0).max(f64::MIN_POSITIVE);
    let cell = |value: f64, low: f64| ((value - low) * scale).clamp(0.0, cells) as u32;
    nodes.sort_by_cached_key(|&node| position(cell(places[node][0], across.0), cell(places[node][1], along.0)));
    nodes
}

/// The position of a cell along the curve.
fn position(mut x: u32, mut y: u32) -> u64 {
    let mut position = 0;
    for bit in (0..DEPTH).rev() {
        let (right, up) = (x >> bit & 1, y >> bit & 1);
        position = position << 2 | u64::from((3 * right) ^ up);
        if up == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_cells_follow_each_other() {
        // The corner of the raster, cell by cell: the curve is continuous.
        let side = 16;
        let mut cells: Vec<(u64, u32, u32)> =
            (0..side).flat_map(|x| (0..side).map(move |y| (position(x, y), x, y))).collect();
        cells.sort_unstable();
        for pair in cells.windows(2) {
            let ((_, a, b), (_, c, d)) = (pair[0], pair[1]);
            assert_eq!(a.abs_diff(c) + b.abs_diff(d), 1, "{pair:?}");
        }
    }

    #[test]
    fn places_that_coincide_are_no_trouble() {
        let sites = Sites::euclidean("one place", vec![[2.0, 3.0]; 5]).unwrap();
        assert_eq!(order(&sites), [0, 1, 2, 3, 4]);
    }
}
