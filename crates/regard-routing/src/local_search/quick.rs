//! A tour that is there at once: what a search with a time limit falls back on, however little of the processor it gets.
//!
//! Greedy edges (Bentley, "Fast algorithms for geometric traveling salesman problems", ORSA Journal on Computing 4, 1992)
//! and exchanges of two and three edges between a few near neighbours from a k-d tree. Nothing of it is quadratic in the
//! number of places, and no distance is kept in a table: a thousand places take a few milliseconds.

use std::time::{Duration, Instant};

use super::{
    clock::Clock,
    curve,
    directed::Entrances,
    distances::Distances,
    exact::EXACT_UP_TO,
    greedy,
    neighbours::{Choice, Neighbours},
    rounding,
    search::Search,
};
use crate::Sites;

/// The width of the neighbour lists.
const NEAR: usize = 7;

/// The time after the deadline in which the first tour or routes are still finished.
pub(super) const GRACE: Duration = Duration::from_millis(10);

/// The name of routes along the curve.
pub(super) const CURVE: &str = "space-filling curve";

/// A closed tour, and the name of how it was found: along a space-filling curve where the deadline passed long ago.
pub(crate) fn quick_tour(instance: &Sites, deadline: Instant) -> (&'static str, Vec<usize>) {
    let Some(entrances) = Entrances::of(instance) else { return symmetric(instance, deadline) };
    let (name, tour) = symmetric(entrances.sites(), deadline);
    match entrances.without_entrances(&tour) {
        Some(tour) => (name, tour),
        None => (CURVE, curve::order(instance)),
    }
}

fn symmetric(instance: &Sites, deadline: Instant) -> (&'static str, Vec<usize>) {
    let mut clock = Clock::new(deadline.checked_add(GRACE));
    let distances = Distances::computed(instance);
    let neighbours = Neighbours::new(instance, &distances, NEAR, Choice::Nearest, &mut clock);
    let greedy =
        if neighbours.is_complete() { greedy::shortest_edges(&distances, &neighbours, &mut clock) } else { None };
    let Some(tour) = greedy else { return (CURVE, curve::order(instance)) };
    if instance.len() <= EXACT_UP_TO {
        return ("greedy edges", tour);
    }
    let mut search = Search::new(&distances, &neighbours, &tour, rounding(instance, &tour));
    search.descend(|| clock.is_over());
    ("greedy edges, 3-opt", search.tour.nodes().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_search::{LocalSearchOptions, improve};
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_tour_is_no_worse_than_a_descent_from_another() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(4);
        for n in [4, 12, 13, 300, 1000] {
            let points = (0..n).map(|_| [random.random(), random.random()]).collect();
            let sites = Sites::euclidean("random", points).unwrap();
            let (_, tour) = quick_tour(&sites, Instant::now() + Duration::from_secs(60));
            crate::check::tour(sites.ids(), &tour).unwrap();
            let mut other = curve::order(&sites);
            let options = LocalSearchOptions { perturbations_per_node: 0, ..LocalSearchOptions::default() };
            improve(&sites, &mut other, &options);
            let (found, other) = (sites.tour_length(&tour), sites.tour_length(&other));
            assert!(n <= EXACT_UP_TO || found <= 1.02 * other, "{n}: {found} against {other}");
        }
    }

    #[test]
    fn what_was_not_done_is_not_named() {
        let sites =
            Sites::euclidean("line", (0..600).map(|i| [f64::from(i * i % 101), f64::from(i)]).collect()).unwrap();
        let now = Instant::now();
        assert_eq!(quick_tour(&sites, now + Duration::from_secs(60)).0, "greedy edges, 3-opt");
        let past = now.checked_sub(Duration::from_secs(1)).unwrap();
        let (name, tour) = quick_tour(&sites, past);
        assert_eq!(name, CURVE);
        crate::check::tour(sites.ids(), &tour).unwrap();
    }
}
