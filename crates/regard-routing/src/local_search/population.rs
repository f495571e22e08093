//! The whole search: one tour that is perturbed and repaired, or many that are recombined.
//!
//! Where there is time for several tours, each starts from a random greedy tour, is made a local
//! optimum and perturbed a little; then the tours are recombined until they agree ([`super::eax`]).
//! What few perturbations leave to be improved differs from tour to tour, and recombination keeps
//! the best of each part: from the same time a shorter tour comes out than from one tour that is
//! perturbed throughout. While there is time, another population follows, and the best tours of all
//! populations are recombined with each other. Where there is not, one tour is perturbed throughout.

use std::time::Instant;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::{
    BestCost, COUNTED_AT_LEAST, COUNTED_AT_MOST, LocalSearchOptions,
    clock::Clock,
    distances::Distances,
    eax::{self, Individual},
    greedy,
    neighbours::Neighbours,
    search::Search,
    tour::ArrayTour,
};

/// Tours of a population for every 5 perturbations per node; a tour of it takes the time of so many.
const TOURS_PER_FIVE: usize = 11;

/// Fewer tours are not recombined.
const LEAST: usize = 8;

/// The most tours of a population.
const MOST: usize = 300;

/// A tour of a population is perturbed once for so many nodes.
const NODES_PER_PERTURBATION: usize = 5;

/// The share of the time that is left in which the tours of the first population are built; recombining them takes less.
const BUILDING: f64 = 0.45;

/// The same where distances differ by direction, and each offspring is made a local optimum.
const BUILDING_DIRECTED: f64 = 0.15;

/// The share of the time that is left which another population may take.
const OF_THE_REST: f64 = 0.9;

/// One search and its sources of chance and time.
pub(super) struct Run<'a> {
    distances: &'a Distances<'a>,
    neighbours: &'a Neighbours,
    tolerance: f64,
    clock: Clock,
    random: Pcg64Mcg,
    moves: u64,
    best: BestCost,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        distances: &'a Distances<'a>,
        neighbours: &'a Neighbours,
        tolerance: f64,
        clock: Clock,
        options: &LocalSearchOptions,
    ) -> Self {
        let random = Pcg64Mcg::seed_from_u64(options.seed);
        Self { distances, neighbours, tolerance, clock, random, moves: 0, best: options.best.clone() }
    }

    /// The tour found from `tour`, and the moves kept.
    pub(super) fn search(mut self, tour: &[usize], options: &LocalSearchOptions) -> (Vec<usize>, u64) {
        let n = tour.len();
        let perturbations = options.perturbations_per_node.saturating_mul(n.clamp(COUNTED_AT_LEAST, COUNTED_AT_MOST));
        let tours = perturbations.saturating_mul(TOURS_PER_FIVE) / (5 * n.max(COUNTED_AT_LEAST));
        if tours < LEAST {
            let found = self.improve(tour, perturbations);
            return (found.tour.nodes().collect(), self.moves);
        }
        let first = self.improve(tour, n / NODES_PER_PERTURBATION);
        let (best, left) = self.recombine(first, tours);
        let mut tour = best.map_or_else(|| tour.to_vec(), |best| best.tour.nodes().collect());
        if left > 0 && !self.clock.is_over() {
            tour = self.improve(&tour, perturbations).tour.nodes().collect();
        }
        (tour, self.moves)
    }

    /// A local optimum from `tour`, perturbed and repaired so many times.
    fn improve(&mut self, tour: &[usize], perturbations: usize) -> Individual {
        let mut search = Search::new(self.distances, self.neighbours, tour, self.tolerance);
        search.descend(|| self.clock.is_over());
        search.perturb_and_repair(perturbations, &mut self.random, &mut self.clock);
        self.moves += search.moves;
        let length = self.length(&search.tour);
        self.best.offer(length);
        Individual { tour: search.tour, length }
    }

    /// The best of populations of `tours` tours in all, and the tours that there was no time for; `first` is one of
    /// the tours of the first population.
    fn recombine(&mut self, first: Individual, tours: usize) -> (Option<Individual>, usize) {
        let (mut left, mut seconds_per_tour) = (tours, None);
        let mut population = vec![first];
        let mut winners: Vec<Individual> = Vec::new();
        loop {
            let begun = Instant::now();
            let fitting = match (self.clock.left(), seconds_per_tour) {
                (Some(seconds), Some(each)) => (OF_THE_REST * seconds / each) as usize,
                _ => MOST,
            };
            let size = fitting.min(MOST).min(left);
            if size >= LEAST {
                let share = if self.distances.shortest_way().is_some() { BUILDING_DIRECTED } else { BUILDING };
                let seconds =
                    if seconds_per_tour.is_none() { self.clock.left().map(|left| share * left) } else { None };
                self.build(&mut population, size, seconds);
            }
            let is_whole = population.len() >= LEAST;
            if is_whole {
                left -= population.len().min(left);
                left = if left < LEAST { 0 } else { left };
                self.evolve(&mut population);
                seconds_per_tour = Some(begun.elapsed().as_secs_f64() / population.len() as f64);
            }
            winners.extend(population.drain(..).min_by(shorter));
            if winners.len() > 1 {
                self.evolve(&mut winners);
            }
            if !is_whole || self.clock.is_over() {
                return (winners.into_iter().min_by(shorter), left);
            }
        }
    }

    /// Adds tours until there are `size`; none where fewer than [`LEAST`] could be built in so many seconds.
    fn build(&mut self, population: &mut Vec<Individual>, size: usize, seconds: Option<f64>) {
        let (begun, given) = (Instant::now(), population.len());
        let perturbations = self.distances.len() / NODES_PER_PERTURBATION;
        while population.len() < size && !self.clock.is_over() {
            let Some(start) = greedy::construct(self.distances, self.neighbours, &mut self.random, &mut self.clock)
            else {
                return;
            };
            let individual = self.improve(&start, perturbations);
            population.push(individual);
            if let Some(seconds) = seconds {
                let passed = begun.elapsed().as_secs_f64();
                let fitting = seconds / passed * (population.len() - given) as f64;
                if passed > seconds || (population.len() + 2 * LEAST < size && fitting < LEAST as f64) {
                    return;
                }
            }
        }
    }

    fn evolve(&mut self, population: &mut [Individual]) {
        eax::evolve(population, self.distances, self.neighbours, self.tolerance, &mut self.random, &mut self.clock);
        population.iter().for_each(|individual| self.best.offer(individual.length));
    }

    fn length(&self, tour: &ArrayTour) -> f64 {
        tour.order().iter().map(|&node| self.distances.of(node, tour.next(node))).sum()
    }
}

fn shorter(a: &Individual, b: &Individual) -> std::cmp::Ordering {
    a.length.total_cmp(&b.length)
}
