//! Distances that differ by direction, for a search that knows symmetric ones alone.
//!
//! Every node becomes an entrance and an exit (R. Jonker and T. Volgenant, "Transforming asymmetric into symmetric traveling
//! salesman problems", Operations Research Letters 2, 1983). A tour through both of each node, one right after the other, is a
//! tour in one direction, and its length is that of the tour plus the same number for all tours.

use super::tour::Node;
use crate::{Metric, Sites};

/// The entrances and exits of an instance: node `2 i` is the entrance of node `i`, node `2 i + 1` its exit.
pub(super) struct Entrances {
    sites: Sites,
    added: f64,
}

impl Entrances {
    /// `None` for an instance with symmetric distances.
    pub(super) fn of(instance: &Sites) -> Option<Self> {
        let Metric::Explicit(matrix) = instance.metric() else { return None };
        let (matrix, added) = matrix.with_entrances()?;
        let sites = Sites::new(instance.name(), Metric::Explicit(matrix), vec![]).ok()?;
        Some(Self { sites, added: added * instance.len() as f64 })
    }

    /// Entrances and exits as an instance with symmetric distances.
    pub(super) fn sites(&self) -> &Sites {
        &self.sites
    }

    /// The length that each tour has in addition.
    pub(super) fn added(&self) -> f64 {
        self.added
    }

    /// A tour through all nodes as one through entrances and exits.
    pub(super) fn with_entrances(&self, tour: &[usize]) -> Vec<usize> {
        tour.iter().flat_map(|node| [2 * node, 2 * node + 1]).collect()
    }

    /// The tour through all nodes; `None` where an exit does not follow its entrance.
    pub(super) fn without_entrances(&self, tour: &[usize]) -> Option<Vec<usize>> {
        let (&first, &second, &last) = (tour.first()?, tour.get(1)?, tour.last()?);
        let mut turned = tour.to_vec();
        // The first pair may be torn apart, and the whole may run backwards.
        if first / 2 != second / 2 && first / 2 == last / 2 {
            turned.rotate_left(1);
        }
        if turned[0] % 2 == 1 {
            turned.reverse();
        }
        let pairs = turned.chunks(2);
        pairs.map(|pair| (pair[0] % 2 == 0 && pair.get(1) == Some(&(pair[0] + 1))).then_some(pair[0] / 2)).collect()
    }
}

/// If true, two nodes are entrance and exit of one node, in an instance that has them.
pub(super) fn are_one(a: Node, b: Node) -> bool {
    a / 2 == b / 2
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_pcg::Pcg64Mcg;

    use super::super::{BestCost, LocalSearchOptions, exact, improve, quick};
    use super::*;
    use crate::{DistanceMatrix, check};

    /// Distances on the plane, longer uphill.
    fn hills(seed: u64, nodes: usize) -> Sites {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let places: Vec<[f64; 3]> = (0..nodes).map(|_| [(); 3].map(|()| random.random())).collect();
        let way = |a: &[f64; 3], b: &[f64; 3]| (a[0] - b[0]).hypot(a[1] - b[1]) + (b[2] - a[2]).max(0.0);
        let rows = places.iter().flat_map(|a| places.iter().map(move |b| way(a, b))).collect();
        Sites::new("hills", Metric::Explicit(DistanceMatrix::from_rows(nodes, rows).unwrap()), vec![]).unwrap()
    }

    #[test]
    fn tours_come_back_in_their_direction() {
        let sites = hills(1, 5);
        let entrances = Entrances::of(&sites).unwrap();
        let tour = vec![3, 0, 4, 1, 2];
        let both = entrances.with_entrances(&tour);
        let added = entrances.sites().tour_length(&both) - sites.tour_length(&tour);
        assert!((added - entrances.added()).abs() < 1e-9);
        for turned in [false, true] {
            for shift in 0..both.len() {
                let mut both = both.clone();
                if turned {
                    both.reverse();
                }
                both.rotate_left(shift);
                let mut back = entrances.without_entrances(&both).unwrap();
                let start = back.iter().position(|&node| node == 3).unwrap();
                back.rotate_left(start);
                assert_eq!(back, tour, "{turned} {shift}");
            }
        }
        assert_eq!(entrances.without_entrances(&[0, 2, 1, 3]), None);
        assert!(Entrances::of(&Sites::euclidean("plane", vec![[0.0, 0.0], [1.0, 0.0]]).unwrap()).is_none());
    }

    #[test]
    fn the_shortest_tour_of_few_nodes_has_a_direction() {
        for seed in 0..20 {
            let nodes = 3 + seed as usize % 5;
            let sites = hills(seed, nodes);
            let mut order: Vec<usize> = (1..nodes).collect();
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let found = sites.tour_length(&exact::shortest(&sites));
            for _ in 0..2000 {
                order.shuffle(&mut random);
                assert!(found <= sites.tour_length(&[&[0][..], &order].concat()) + 1e-12);
            }
        }
    }

    #[test]
    fn search_finds_the_shortest_tour_of_few_nodes() {
        for seed in 0..10 {
            let sites = hills(seed, exact::EXACT_UP_TO);
            let start: Vec<usize> = (0..sites.len()).collect();
            let best = BestCost::default();
            let options = LocalSearchOptions { best: best.clone(), ..LocalSearchOptions::default() };
            let (tour, _) = super::super::search_from(&sites, &start, &options);
            check::tour(sites.ids(), &tour).unwrap();
            let shortest = sites.tour_length(&exact::shortest(&sites));
            assert!((sites.tour_length(&tour) - shortest).abs() < 1e-9, "{seed}");
            assert!((best.get().unwrap() - shortest).abs() < 1e-6, "{seed}");
        }
    }

    #[test]
    fn more_search_gives_shorter_tours_and_the_first_node_stays() {
        let sites = hills(4, 150);
        let start: Vec<usize> = (0..150).map(|node| (node + 7) % 150).collect();
        let length = |perturbations_per_node: usize| {
            let mut tour = start.clone();
            let options = LocalSearchOptions { perturbations_per_node, ..LocalSearchOptions::default() };
            let found = improve(&sites, &mut tour, &options);
            check::tour(sites.ids(), &tour).unwrap();
            assert_eq!(tour[0], 7);
            assert!((found.after - sites.tour_length(&tour)).abs() < 1e-9);
            found.after
        };
        let (descent, search) = (length(0), length(20));
        assert!(search < 0.99 * descent && descent < 0.4 * sites.tour_length(&start), "{search} {descent}");
        let (name, quick) = quick::quick_tour(&sites, std::time::Instant::now() + std::time::Duration::from_secs(60));
        check::tour(sites.ids(), &quick).unwrap();
        assert!(name == "greedy edges, 3-opt" && sites.tour_length(&quick) < 1.2 * search, "{name}");
    }
}
