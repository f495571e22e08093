//! Search for the shortest round trip on which some nodes come after others, as a delivery comes after its pickup. What
//! comes after the network, or instead of it.
//!
//! A stretch of the trip or the surroundings of a node are taken out, each node with those that belong to it, and put back
//! where they add least, a pickup together with its delivery ("ruin and recreate": Schrimpf, Schneider, Stamm-Wilbrandt and
//! Dueck, "Record breaking optimization results using the ruin and recreate principle", Journal of Computational Physics
//! 159, 2000; Ropke and Pisinger, "An adaptive large neighborhood search heuristic for the pickup and delivery problem with
//! time windows", Transportation Science 40, 2006). Some of the best places are passed over at random (Christiaens and
//! Vanden Berghe, "Slack induction by string removals for vehicle routing problems", Transportation Science 54, 2020), and
//! the outcome is kept by simulated annealing.
//!
//! ```
//! use regard_routing::Sites;
//! use regard_routing::local_search::precedence::{Options, Problem, construct, improve};
//!
//! # fn main() -> regard_routing::Result<()> {
//! // Around a square: the load for node 1 is picked up at node 2, so it is driven the other way round.
//! let square = Sites::euclidean("square", vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
//! let problem = Problem::new(&square, &[None, Some(2), None, None]);
//! let (_, visits) = construct(&problem, None);
//! assert_eq!(improve(&problem, visits, &Options::default(), None), [3, 2, 1]);
//! # Ok(())
//! # }
//! ```

use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use regard_data::cancel::{CancellationToken, run_under};

use super::clock::Clock;
use super::distances::Distances;
use super::neighbours::{Choice, Neighbours};
use super::quick::{GRACE, quick_tour};
use super::tour::Node;
use crate::{Sites, depot};

pub use super::orienteering::Options;

/// The width of the neighbour lists.
const NEIGHBOURS: usize = 24;
/// A node is tried at all places of a trip with so many, beyond only beside its neighbours.
const EVERYWHERE_UP_TO: usize = 200;
/// Nodes that are taken out, on average.
const REMOVED: usize = 10;
/// Probability that these are the surroundings of a node, not a stretch of the trip.
const SURROUNDINGS: f64 = 0.3;
/// A node is taken out with all that belong to it where these are at most so many.
const TOGETHER_UP_TO: usize = 4;
/// Probability that a place is passed over.
const BLINK: f64 = 0.01;
/// Temperatures at the start and at the end, in mean ways between neighbours.
const TEMPERATURES: [f64; 2] = [2.0, 0.02];
/// Larger instances are not constructed by insertion, whose time grows with the square.
const INSERTED_UP_TO: usize = 1000;
/// Rounds of a tour on which deliveries that are not on board wait for the next one.
const ROUNDS: usize = 8;
/// Longer than any search takes.
const NEVER: Duration = Duration::from_secs(1 << 32);
/// Gains of less than this share of the length are the rounding of sums in another order.
const ROUNDING: f64 = 1e-12;

/// A depot (node 0), and nodes of which some come after others.
pub struct Problem<'a> {
    sites: &'a Sites,
    /// The node that each has to come after, 0 where there is none.
    before: Vec<Node>,
    /// The nodes that have to come after each.
    after: Vec<Vec<Node>>,
    /// Nodes that belong together, each behind the one that it comes after.
    groups: Vec<Vec<Node>>,
    /// The group of each node.
    group_of: Vec<usize>,
    /// The place of each node in its group.
    rank: Vec<usize>,
}

impl<'a> Problem<'a> {
    /// Prepares an instance in which each node comes after that of `before [nodes]`, where there is one. No node comes after
    /// itself, not even by way of others.
    ///
    /// # Panics
    /// When `before` has another length than there are nodes, or names a node that is not there.
    #[must_use]
    pub fn new(sites: &'a Sites, before: &[Option<usize>]) -> Self {
        let nodes = sites.len();
        assert_eq!(before.len(), nodes, "one entry for each node");
        let before: Vec<Node> = before.iter().map(|first| first.unwrap_or(0) as Node).collect();
        let mut after = vec![Vec::new(); nodes];
        (1..nodes).filter(|&node| before[node] != 0).for_each(|node| after[before[node] as usize].push(node as Node));
        let (mut groups, mut group_of, mut rank) = (Vec::new(), vec![0; nodes], vec![0; nodes]);
        for root in (1..nodes).filter(|&node| before[node] == 0) {
            let mut group = vec![root as Node];
            let mut at = 0;
            while at < group.len() {
                let node = group[at] as usize;
                (group_of[node], rank[node]) = (groups.len(), at);
                group.extend(&after[node]);
                at += 1;
            }
            groups.push(group);
        }
        Self { sites, before, after, groups, group_of, rank }
    }

    /// Length of the round trip from the depot through these nodes.
    fn length(&self, visits: &[Node]) -> f64 {
        depot::round_trip(self.sites, &visits_of(visits))
    }
}

/// Nodes as callers number them.
fn visits_of(nodes: &[Node]) -> Vec<usize> {
    nodes.iter().map(|&node| node as usize).collect()
}

/// A round trip from the depot, and the name of how it was found: each group of nodes where it adds least, or, where that
/// takes too long, a tour through all nodes on which deliveries wait for their pickups.
#[must_use]
pub fn construct(problem: &Problem<'_>, deadline: Option<Instant>) -> (&'static str, Vec<usize>) {
    let mut clock = Clock::new(deadline.and_then(|deadline| deadline.checked_add(GRACE)));
    if problem.sites.len() <= INSERTED_UP_TO {
        let distances = Distances::new(problem.sites, &mut clock);
        let search = Search { problem, distances: &distances, neighbours: None };
        let mut trip = Trip::new(problem.sites.len());
        // Far groups give the trip its shape.
        let mut order: Vec<usize> = (0..problem.groups.len()).collect();
        let far = |group: &usize| {
            let out = |&node: &Node| distances.of(0, node);
            problem.groups[*group].iter().map(out).fold(0.0, f64::max)
        };
        order.sort_by(|a, b| far(b).total_cmp(&far(a)));
        for group in order {
            if clock.is_over() {
                break;
            }
            trip.put_in(&search, &problem.groups[group], &mut |_| false);
        }
        if trip.nodes.len() + 1 == problem.sites.len() {
            return ("insertion", visits_of(&trip.nodes));
        }
    }
    let (_, tour) = quick_tour(problem.sites, deadline.unwrap_or_else(|| Instant::now() + NEVER));
    let depot = tour.iter().position(|&node| node == 0).unwrap_or(0);
    let mut waiting: Vec<Node> = tour[depot..].iter().chain(&tour[..depot]).skip(1).map(|&node| node as Node).collect();
    let (mut nodes, mut is_there) = (Vec::with_capacity(waiting.len()), vec![false; problem.sites.len()]);
    is_there[0] = true;
    for _ in 0..ROUNDS {
        waiting.retain(|&node| {
            let comes = is_there[problem.before[node as usize] as usize];
            if comes {
                is_there[node as usize] = true;
                nodes.push(node);
            }
            !comes
        });
    }
    // Long chains would need as many rounds.
    nodes.extend(problem.groups.iter().flatten().filter(|&&node| !is_there[node as usize]));
    ("tour, deliveries when they are on board", visits_of(&nodes))
}

/// The trip through these nodes improved; never a longer one. `progress` receives the length of better trips.
#[must_use]
pub fn improve(
    problem: &Problem<'_>,
    visits: Vec<usize>,
    options: &Options,
    progress: Option<&(dyn Fn(f64) + Sync)>,
) -> Vec<usize> {
    let mut clock = Clock::new(options.deadline);
    let distances = Distances::new(problem.sites, &mut clock);
    let neighbours = Neighbours::new(problem.sites, &distances, NEIGHBOURS, Choice::Nearest, &mut clock);
    if visits.len() < 2 || !neighbours.is_complete() {
        return visits;
    }
    let search = Search { problem, distances: &distances, neighbours: Some(&neighbours) };
    let nodes: Vec<Node> = visits.iter().map(|&node| node as Node).collect();
    let before = problem.length(&nodes);
    let start = Trip::of(&search, nodes);
    let found = |at: u64| {
        let mut trip = start.clone();
        let mut clock = Clock::new(options.deadline);
        trip.descend(&search, &mut clock);
        let seed = options.seed.wrapping_add(at);
        if options.iterations > 0 || options.deadline.is_some() {
            trip = anneal(&search, trip, &Options { seed, ..options.clone() }, progress);
        }
        (problem.length(&trip.nodes), trip.nodes)
    };
    let threads = if options.deadline.is_some() { rayon::current_num_threads() as u64 } else { 1 };
    let found: Vec<(f64, Vec<Node>)> = if threads == 1 {
        vec![found(0)]
    } else {
        // Threads of the pool do not know of the token of this one.
        let cancellation = CancellationToken::current();
        (0..threads).into_par_iter().map(|at| run_under(cancellation.clone(), || found(at))).collect()
    };
    match found.into_iter().min_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((length, nodes)) if length < before => visits_of(&nodes),
        _ => visits,
    }
}

/// The best trip that simulated annealing finds from another one.
fn anneal(search: &Search<'_>, start: Trip, options: &Options, progress: Option<&(dyn Fn(f64) + Sync)>) -> Trip {
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut clock = Clock::new(options.deadline);
    let total = clock.left();
    let unit = start.length.abs() / start.nodes.len() as f64;
    let tolerance = ROUNDING * start.length.abs();
    let (mut current, mut best) = (start.clone(), start.clone());
    let (mut trial, mut removed, mut is_out) = (start, Vec::new(), vec![false; search.problem.sites.len()]);
    let mut temperature = 0.0;
    for iteration in 0_usize.. {
        if clock.is_over() || (total.is_none() && iteration == options.iterations) {
            break;
        }
        if iteration.is_multiple_of(64) {
            let done = match (total, clock.left()) {
                (Some(total), Some(left)) => 1.0 - left / total.max(f64::MIN_POSITIVE),
                _ => iteration as f64 / options.iterations as f64,
            };
            let [first, last] = TEMPERATURES;
            temperature = unit * first * (last / first).powf(done);
        }
        trial.clone_from(&current);
        trial.ruin(search, &mut removed, &mut is_out, &mut random);
        trial.recreate(search, &mut removed, &mut random);
        let uphill = -temperature * (1.0 - random.random::<f64>()).ln();
        if trial.length >= current.length + uphill {
            continue;
        }
        std::mem::swap(&mut current, &mut trial);
        if current.length < best.length - tolerance {
            best.clone_from(&current);
            if let Some(progress) = progress {
                progress(best.length);
            }
        }
    }
    // Sums of many small differences are rounded.
    best.descend(search, &mut clock);
    best
}

/// Everything that a search looks up.
struct Search<'s> {
    problem: &'s Problem<'s>,
    distances: &'s Distances<'s>,
    /// `None` where a node is tried everywhere.
    neighbours: Option<&'s Neighbours>,
}

/// A round trip from the depot through some of the nodes.
#[derive(Debug)]
struct Trip {
    nodes: Vec<Node>,
    /// The place of each node among them, [`OUT`] where it is none of them.
    places: Vec<Node>,
    length: f64,
    /// Places that are tried, kept for their memory.
    gaps: Vec<usize>,
}

const OUT: Node = Node::MAX;

impl Clone for Trip {
    fn clone(&self) -> Self {
        Self { nodes: self.nodes.clone(), places: self.places.clone(), length: self.length, gaps: Vec::new() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.nodes.clone_from(&other.nodes);
        self.places.clone_from(&other.places);
        self.length = other.length;
    }
}

impl Trip {
    fn new(nodes: usize) -> Self {
        Self { nodes: Vec::with_capacity(nodes), places: vec![OUT; nodes], length: 0.0, gaps: Vec::new() }
    }

    fn of(search: &Search<'_>, nodes: Vec<Node>) -> Self {
        let length = search.problem.length(&nodes);
        let mut trip = Self { nodes, length, ..Self::new(search.problem.sites.len()) };
        trip.renumber(0);
        trip
    }

    /// Notes the places of the nodes from one on.
    fn renumber(&mut self, from: usize) {
        for (at, &node) in self.nodes.iter().enumerate().skip(from) {
            self.places[node as usize] = at as Node;
        }
    }

    /// The nodes around a gap: gap `g` lies before the node at place `g`, the last one before the return.
    fn around(&self, gap: usize) -> [Node; 2] {
        [if gap == 0 { 0 } else { self.nodes[gap - 1] }, self.nodes.get(gap).copied().unwrap_or(0)]
    }

    /// The length that a node adds in a gap.
    fn added(&self, search: &Search<'_>, node: Node, gap: usize) -> f64 {
        let [last, next] = self.around(gap);
        let of = |a, b| search.distances.of(a, b);
        of(last, node) + of(node, next) - of(last, next)
    }

    fn insert(&mut self, node: Node, gap: usize, added: f64) {
        self.nodes.insert(gap, node);
        self.length += added;
        self.renumber(gap);
    }

    /// Takes nodes out that are marked.
    fn take_out(&mut self, search: &Search<'_>, is_out: &[bool]) {
        let of = |a, b| search.distances.of(a, b);
        let (mut last, mut kept, mut count) = (0, 0, 0);
        let mut gain = 0.0;
        for at in 0..=self.nodes.len() {
            let node = self.nodes.get(at).copied().unwrap_or(0);
            let stays = !is_out[node as usize];
            if !stays || last != kept {
                gain += of(last, node);
            }
            if stays && last != kept {
                gain -= of(kept, node);
            }
            last = node;
            if stays {
                kept = node;
                if at < self.nodes.len() {
                    self.nodes[count] = node;
                    count += 1;
                }
            } else {
                self.places[node as usize] = OUT;
            }
        }
        self.nodes.truncate(count);
        self.length -= gain;
        self.renumber(0);
    }

    /// The gaps in which a node may be put: behind those that it comes after, and before those that come after it, also by
    /// way of nodes that are taken out.
    fn window(&self, problem: &Problem<'_>, node: Node) -> [usize; 2] {
        let mut first = problem.before[node as usize];
        while first != 0 && self.places[first as usize] == OUT {
            first = problem.before[first as usize];
        }
        let low = if first == 0 { 0 } else { self.places[first as usize] as usize + 1 };
        let (mut high, mut later) = (self.nodes.len(), problem.after[node as usize].clone());
        while let Some(after) = later.pop() {
            match self.places[after as usize] {
                OUT => later.extend(&problem.after[after as usize]),
                place => high = high.min(place as usize),
            }
        }
        [low, high]
    }

    /// Adds the gaps in which a node is tried to a list.
    fn gaps_of(&self, search: &Search<'_>, node: Node, [low, high]: [usize; 2], gaps: &mut Vec<usize>) {
        match search.neighbours.filter(|_| high - low > EVERYWHERE_UP_TO) {
            None => gaps.extend(low..=high),
            Some(neighbours) => {
                gaps.extend([low, high]);
                for (near, _) in neighbours.of(node) {
                    let place = self.places[near as usize];
                    if place != OUT {
                        gaps.extend(
                            [place as usize, place as usize + 1].into_iter().filter(|gap| (low..=high).contains(gap)),
                        );
                    }
                }
            }
        }
    }

    /// Puts nodes that belong together in where they add least, each behind the one that it comes after; places for which
    /// `blink` is true are passed over.
    fn put_in(&mut self, search: &Search<'_>, nodes: &[Node], blink: &mut impl FnMut(usize) -> bool) {
        let problem = search.problem;
        let is_pair = |first: Node, second: Node| {
            problem.before[second as usize] == first && problem.groups[problem.group_of[first as usize]].len() == 2
        };
        match *nodes {
            [first, second] if is_pair(first, second) => self.put_in_pair(search, first, second, blink),
            _ => nodes.iter().for_each(|&node| self.put_in_one(search, node, blink)),
        }
    }

    fn put_in_one(&mut self, search: &Search<'_>, node: Node, blink: &mut impl FnMut(usize) -> bool) {
        let window = self.window(search.problem, node);
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        self.gaps_of(search, node, window, &mut gaps);
        let mut best = (f64::INFINITY, window[0]);
        for &gap in &gaps {
            let added = self.added(search, node, gap);
            if added < best.0 && (best.0 == f64::INFINITY || !blink(gap)) {
                best = (added, gap);
            }
        }
        self.gaps = gaps;
        self.insert(node, best.1, best.0);
    }

    /// Puts a pickup and its delivery in.
    fn put_in_pair(&mut self, search: &Search<'_>, first: Node, second: Node, blink: &mut impl FnMut(usize) -> bool) {
        let of = |a, b| search.distances.of(a, b);
        let window = [0, self.nodes.len()];
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        self.gaps_of(search, first, window, &mut gaps);
        if window[1] > EVERYWHERE_UP_TO && search.neighbours.is_some() {
            self.gaps_of(search, second, window, &mut gaps);
            gaps.sort_unstable();
            gaps.dedup();
        }
        let between = of(first, second);
        // The best gap so far for the first, and that for both.
        let (mut alone, mut both) = ((f64::INFINITY, 0), (f64::INFINITY, 0, 0));
        for &gap in &gaps {
            let [last, next] = self.around(gap);
            let [way, to, from] = [of(last, next), of(last, first), of(second, next)];
            let together = to + between + from - way;
            let apart = alone.0 + of(last, second) + from - way;
            let (added, at) = if together <= apart { (together, gap) } else { (apart, alone.1) };
            if added < both.0 && (both.0 == f64::INFINITY || !blink(gap)) {
                both = (added, at, gap);
            }
            let added = to + of(first, next) - way;
            if added < alone.0 {
                alone = (added, gap);
            }
        }
        self.gaps = gaps;
        let (added, at, later) = both;
        self.insert(first, at, added);
        self.insert(second, later + 1, 0.0);
    }

    /// Takes nodes out, each with those that belong to it: a stretch of the trip or the surroundings of a node.
    fn ruin(&mut self, search: &Search<'_>, removed: &mut Vec<Vec<Node>>, is_out: &mut [bool], random: &mut Pcg64Mcg) {
        let problem = search.problem;
        removed.clear();
        let count = random.random_range(1..=(2 * REMOVED - 1).min(self.nodes.len()));
        let seed = random.random_range(0..self.nodes.len());
        let mut take = |node: Node| {
            let group = &problem.groups[problem.group_of[node as usize]];
            let taken = if group.len() <= TOGETHER_UP_TO { &group[..] } else { &[node][..] };
            if node != 0 && !is_out[node as usize] {
                taken.iter().for_each(|&node| is_out[node as usize] = true);
                removed.push(taken.to_vec());
            }
        };
        match search.neighbours.filter(|_| random.random_bool(SURROUNDINGS)) {
            Some(neighbours) => {
                take(self.nodes[seed]);
                neighbours.of(self.nodes[seed]).take(count - 1).for_each(|(near, _)| take(near));
            }
            None => self.nodes.iter().skip(seed.min(self.nodes.len() - count)).take(count).for_each(|&node| take(node)),
        }
        self.take_out(search, is_out);
        removed.iter().flatten().for_each(|&node| is_out[node as usize] = false);
    }

    /// Puts back what was taken out, in random order.
    fn recreate(&mut self, search: &Search<'_>, removed: &mut [Vec<Node>], random: &mut Pcg64Mcg) {
        removed.shuffle(random);
        // Of a large group, nodes were taken one by one: each comes in behind the one that it comes after.
        removed.sort_by_key(|nodes| if nodes.len() == 1 { search.problem.rank[nodes[0] as usize] } else { 0 });
        for nodes in removed.iter() {
            self.put_in(search, nodes, &mut |_| random.random_bool(BLINK));
        }
    }

    /// Moves each group of nodes to its best places until none gains.
    fn descend(&mut self, search: &Search<'_>, clock: &mut Clock) {
        let mut is_out = vec![false; search.problem.sites.len()];
        let mut trial = self.clone();
        let tolerance = ROUNDING * self.length.abs();
        let mut gains = true;
        while gains {
            gains = false;
            for group in &search.problem.groups {
                let parts = if group.len() <= TOGETHER_UP_TO { group.len() } else { 1 };
                for nodes in group.chunks(parts) {
                    if clock.is_over() {
                        return;
                    }
                    nodes.iter().for_each(|&node| is_out[node as usize] = true);
                    trial.take_out(search, &is_out);
                    nodes.iter().for_each(|&node| is_out[node as usize] = false);
                    trial.put_in(search, nodes, &mut |_| false);
                    match trial.length < self.length - tolerance {
                        true => {
                            self.clone_from(&trial);
                            gains = true;
                        }
                        false => trial.clone_from(self),
                    }
                }
            }
        }
    }
}
