//! Walks that start and end at the depot, which is node 0 of every instance that has one.

use crate::sites::is_coordinate;
use crate::{Error, Metric, Result, Sites};

/// The same nodes with `depot` moved to the front, the others in their order.
pub(crate) fn first(sites: Sites, depot: usize) -> Result<Sites> {
    if depot == 0 {
        return Ok(sites);
    }
    let order: Vec<usize> = std::iter::once(depot).chain((0..sites.len()).filter(|i| *i != depot)).collect();
    selected(&sites, &order)
}

/// These nodes alone, in this order.
pub(crate) fn selected(sites: &Sites, order: &[usize]) -> Result<Sites> {
    let metric = match sites.metric() {
        Metric::Explicit(matrix) => Metric::Explicit(matrix.select(order)?),
        other => other.clone(),
    };
    let points = sites.coordinates();
    let coordinates = if points.is_empty() { Vec::new() } else { order.iter().map(|&i| points[i]).collect() };
    let ids = order.iter().map(|&i| sites.ids()[i].clone()).collect();
    let labels = order.iter().filter(|_| sites.has_labels()).map(|&i| sites.label(i).unwrap_or("").to_owned());
    let moved = Sites::new(sites.name(), metric, coordinates)?
        .with_ids(ids)?
        .with_labels(labels.collect())
        .with_comment(sites.comment())
        .with_best_known(sites.best_known());
    let degrees: Option<Vec<[f64; 2]>> = order.iter().map(|&i| sites.degrees(i)).collect();
    let moved = match degrees.filter(|_| sites.coordinates().is_empty()) {
        Some(degrees) => moved.with_degrees(degrees)?,
        None => moved,
    };
    match sites.display() {
        Some(display) => moved.with_display(order.iter().map(|&i| display[i]).collect()),
        None => Ok(moved),
    }
}

/// Refuses distances that differ by direction, for problems whose search does not know them.
pub(crate) fn symmetric(sites: &Sites) -> Result<()> {
    match sites.is_symmetric() {
        true => Ok(()),
        false => Err(Error::invalid(
            "distances",
            "differ by direction, which only tours and vehicle routes allow; the mean of both directions does not",
        )),
    }
}

/// Length from the depot through `visits` and back, added up in this order; 0 without visits.
pub(crate) fn round_trip(sites: &Sites, visits: &[usize]) -> f64 {
    let Some((&first, &last)) = visits.first().zip(visits.last()) else {
        return 0.0;
    };
    let inside: f64 = visits.windows(2).map(|pair| sites.distance(pair[0], pair[1])).sum();
    sites.distance(0, first) + inside + sites.distance(last, 0)
}

/// If true, `value` keeps to `bound`: exactly for integers, and with 1e-9 of the bound for
/// what rounding adds to a sum of fractions.
pub(crate) fn within(value: f64, bound: f64) -> bool {
    let fractions = value.fract() != 0.0 || bound.fract() != 0.0;
    value <= bound || (fractions && value <= bound * (1.0 + 1e-9))
}

/// Cuts a walk, with 0 for the depot, into routes; empty ones are dropped.
///
/// ```
/// use regard_routing::routes_of;
///
/// assert_eq!(routes_of(&[0, 3, 1, 0, 0, 2]), [vec![3, 1], vec![2]]);
/// ```
#[must_use]
pub fn routes_of(sequence: &[usize]) -> Vec<Vec<usize>> {
    sequence.split(|node| *node == 0).filter(|route| !route.is_empty()).map(<[usize]>::to_vec).collect()
}

/// The nodes of a walk that visits some of them, without the depot.
#[must_use]
pub fn visits_of(solution: &[usize]) -> Vec<usize> {
    solution.iter().copied().filter(|&node| node != 0).collect()
}

/// Checks amounts given by a caller: one per node, none negative, none so large that sums overflow.
pub(crate) fn amounts(what: &str, sites: &Sites, values: &[f64]) -> Result<()> {
    if values.len() != sites.len() {
        let reason = format!("{} given for {} nodes", values.len(), sites.len());
        return Err(Error::invalid(format!("{what} of each node"), reason));
    }
    match values.iter().position(|v| *v < 0.0 || !is_coordinate(*v)) {
        Some(bad) => {
            let reason = format!("{} is not a number from 0 to 1e100", values[bad]);
            Err(Error::invalid(format!("{what} of node {}", sites.ids()[bad]), reason))
        }
        None => Ok(()),
    }
}

/// Checks that the depot's own amount is 0.
pub(crate) fn no_amount_at_depot(what: &str, sites: &Sites, values: &[f64]) -> Result<()> {
    match values.first() {
        Some(&amount) if amount != 0.0 => {
            let reason = format!("found {amount}, the depot's must be 0");
            Err(Error::invalid(format!("{what} of node {}", sites.ids()[0]), reason))
        }
        _ => Ok(()),
    }
}

/// Checks a bound given by a caller: above 0 and finite.
pub(crate) fn bound(what: &str, value: f64) -> Result<()> {
    if value > 0.0 && is_coordinate(value) {
        return Ok(());
    }
    Err(Error::invalid(what, format!("{value} is not a number above 0 and at most 1e100")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DistanceMatrix;

    #[test]
    fn moving_a_node_keeps_every_distance() {
        let order = [2, 0, 1, 3];
        let points = vec![[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [3.0, 4.0, 0.0], [9.0, 9.0, 0.0]];
        let plane = Sites::new("a", Metric::Euc2d, points).unwrap().with_comment("c").with_best_known(Some(7.0));
        let lower = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let table = Metric::Explicit(DistanceMatrix::from_lower(4, lower).unwrap());
        let corners = vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]];
        let table = Sites::new("b", table, vec![]).unwrap().with_display(corners.clone()).unwrap();
        let rows = Metric::Explicit(DistanceMatrix::from_rows(4, (0..16).map(f64::from).collect()).unwrap());
        let directed = Sites::new("c", rows, vec![]).unwrap().with_display(corners).unwrap();
        for sites in [plane, table, directed] {
            let moved = first(sites.clone(), 2).unwrap();
            assert_eq!(moved.ids(), ["3", "1", "2", "4"]);
            assert_eq!((moved.comment(), moved.best_known()), (sites.comment(), sites.best_known()));
            for (i, &old) in order.iter().enumerate() {
                assert_eq!(moved.places()[i], sites.places()[old]);
                for (j, &other) in order.iter().enumerate() {
                    assert_eq!(moved.distance(i, j), sites.distance(old, other));
                }
            }
        }
    }

    #[test]
    fn bounds_are_exact_for_whole_numbers() {
        assert!(within(100.0, 100.0) && !within(101.0, 100.0) && !within(1e12 + 1.0, 1e12));
        assert!(within(1.000_000_000_000_2, 1.0) && !within(1.000_001, 1.0));
    }
}
