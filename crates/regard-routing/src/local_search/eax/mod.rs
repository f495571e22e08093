//! Recombination of good tours by edge assembly crossover (EAX).
//!
//! Nagata and Kobayashi, "A powerful genetic algorithm using edge assembly crossover for the
//! traveling salesman problem", INFORMS Journal on Computing 25 (2013).
//!
//! The edges that two tours do not share form AB-cycles. Each of up to [`OFFSPRING`] cycles gives
//! one offspring: the first tour with the edges of that cycle exchanged, its subtours joined. Of the
//! offspring that are shorter, the one with the largest gain for the entropy of the population's
//! edges that it costs replaces the first tour (section 3.4, "EAX-single" with entropy selection).
//! The tours here are local optima from the start, so that small populations converge within
//! some tens of generations; the paper's second phase with block exchanges is left out.
//!
//! Where distances differ by direction, two tours have few AB-cycles and long ones, and subtours can be joined in one
//! way only. There each offspring is made a local optimum first.

mod ab_cycles;
mod edge_counts;
mod offspring;

use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use self::{ab_cycles::AbCycles, edge_counts::EdgeCounts, offspring::Offspring};
use super::{clock::Clock, distances::Distances, neighbours::Neighbours, search::Search, tour::ArrayTour};

/// Offspring of one pair of tours in one generation.
const OFFSPRING: usize = 30;

/// Generations without a shorter best tour after which the population is taken to have converged.
const PATIENCE: usize = 20;

/// Diversity lost below this counts as none.
const LEAST_LOSS: f64 = 1e-9;

/// A tour of the population.
pub(super) struct Individual {
    pub(super) tour: ArrayTour,
    pub(super) length: f64,
}

/// Recombines tours with each other until they have nothing more to give or the clock stops.
///
/// Every tour is replaced by the offspring that gains most for the diversity it costs. No tour
/// becomes longer.
pub(super) fn evolve(
    population: &mut [Individual],
    distances: &Distances,
    neighbours: &Neighbours,
    tolerance: f64,
    random: &mut Pcg64Mcg,
    clock: &mut Clock,
) {
    let Some(n) = population.first().map(|first| first.tour.len()) else { return };
    let mut counts = EdgeCounts::new(n, population.iter().map(|individual| &individual.tour));
    let mut cycles = AbCycles::new(n);
    let (mut trial, mut best, mut nodes) = (Offspring::default(), Offspring::default(), Vec::new());
    let mut ranks: Vec<usize> = (0..population.len()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut repair = distances.shortest_way().map(|_| {
        let order: Vec<usize> = population[0].tour.nodes().collect();
        Search::new(distances, neighbours, &order, tolerance)
    });
    let (mut shortest, mut waited) = (f64::INFINITY, 0);
    while waited < PATIENCE {
        ranks.shuffle(random);
        let mut replaced = false;
        for pair in 0..ranks.len() {
            let (a, b) = (ranks[pair], ranks[(pair + 1) % ranks.len()]);
            cycles.split(&population[a].tour, &population[b].tour, random);
            chosen.clear();
            chosen.extend(0..cycles.len());
            let (mut value, parent) = (0.0, &population[a].tour);
            for &mut cycle in chosen.partial_shuffle(random, OFFSPRING).0 {
                if clock.is_over() {
                    return;
                }
                trial.exchange(parent, cycles.get(cycle), distances);
                if !trial.join(parent, distances, neighbours) {
                    continue;
                }
                if let Some(search) = &mut repair {
                    trial.descend(parent, search, &mut nodes);
                }
                if trial.gain <= tolerance {
                    continue;
                }
                let loss = -counts.entropy_change(&trial.removed, &trial.added);
                let worth = trial.gain / loss.max(LEAST_LOSS);
                if worth > value {
                    value = worth;
                    std::mem::swap(&mut trial, &mut best);
                }
            }
            if value > 0.0 {
                match repair {
                    Some(_) => nodes.clone_from(&best.improved),
                    None => best.nodes(parent, &mut nodes),
                }
                counts.replace(&best.removed, &best.added);
                population[a].tour.set(&nodes);
                population[a].length -= best.gain;
                replaced = true;
            }
        }
        let least = population.iter().map(|individual| individual.length).fold(f64::INFINITY, f64::min);
        waited = if least < shortest - tolerance { 0 } else { waited + 1 };
        shortest = least;
        if !replaced {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::neighbours::Choice;
    use super::*;
    use crate::Sites;

    fn individual(instance: &Sites, nodes: &[usize]) -> Individual {
        Individual { tour: ArrayTour::new(nodes), length: instance.tour_length(nodes) }
    }

    fn nodes_of(tour: &ArrayTour) -> Vec<usize> {
        tour.nodes().collect()
    }

    /// Random points, some of them doubled, and tours through them in random order.
    fn population(seed: u64, n: usize, size: usize) -> (Sites, Vec<Individual>) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut points: Vec<[f64; 2]> = (0..n).map(|_| [random.random(), random.random()]).collect();
        points[n / 2] = points[0];
        let instance = Sites::euclidean("random", points).unwrap();
        let mut nodes: Vec<usize> = (0..n).collect();
        let tours = (0..size).map(|_| {
            nodes.shuffle(&mut random);
            individual(&instance, &nodes)
        });
        let tours = tours.collect();
        (instance, tours)
    }

    fn differing(a: &ArrayTour, b: &ArrayTour) -> usize {
        (0..a.len() as u32).filter(|&node| !b.beside(node).contains(&a.next(node))).count()
    }

    #[test]
    fn every_offspring_is_a_tour_whose_gain_is_the_difference_in_length() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for seed in 0..40 {
            let n = 13 + 3 * seed as usize;
            let (instance, tours) = population(seed, n, 2);
            let mut clock = Clock::new(None);
            let distances = Distances::new(&instance, &mut clock);
            let neighbours = Neighbours::new(&instance, &distances, 10, Choice::Quadrants, &mut clock);
            let (a, b) = (&tours[0].tour, &tours[1].tour);
            let mut cycles = AbCycles::new(n);
            cycles.split(a, b, &mut random);
            let edges: usize = (0..cycles.len()).map(|cycle| cycles.get(cycle).len()).sum();
            assert_eq!(edges, 2 * differing(a, b), "n = {n}");
            let (mut offspring, mut nodes) = (Offspring::default(), Vec::new());
            for cycle in 0..cycles.len() {
                let cycle = cycles.get(cycle);
                for edge in cycle.chunks_exact(2) {
                    assert!(a.beside(edge[0]).contains(&edge[1]), "n = {n}");
                }
                offspring.exchange(a, cycle, &distances);
                if !offspring.join(a, &distances, &neighbours) {
                    continue;
                }
                offspring.nodes(a, &mut nodes);
                let child: Vec<usize> = nodes.iter().map(|&node| node as usize).collect();
                crate::check::tour(instance.ids(), &child).unwrap();
                let difference = tours[0].length - instance.tour_length(&child);
                assert!((offspring.gain - difference).abs() < 1e-9, "n = {n}");
                let child = ArrayTour::new(&child);
                assert!(offspring.added.iter().filter(|&&(x, y)| child.beside(x).contains(&y)).count() > 0);
            }
        }
    }

    #[test]
    fn no_tour_becomes_longer_and_the_entropy_is_that_of_the_new_tours() {
        for seed in 0..5 {
            let (instance, mut tours) = population(seed, 60, 12);
            let mut clock = Clock::new(None);
            let distances = Distances::new(&instance, &mut clock);
            let neighbours = Neighbours::new(&instance, &distances, 10, Choice::Quadrants, &mut clock);
            let before: Vec<f64> = tours.iter().map(|tour| tour.length).collect();
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            evolve(&mut tours, &distances, &neighbours, 1e-9, &mut random, &mut clock);
            for (tour, before) in tours.iter().zip(before) {
                let nodes = nodes_of(&tour.tour);
                crate::check::tour(instance.ids(), &nodes).unwrap();
                assert!((tour.length - instance.tour_length(&nodes)).abs() < 1e-9);
                // Random tours are far from good, so that all of them improve.
                assert!(tour.length < 0.7 * before, "{} from {before}", tour.length);
            }
        }
    }
}
