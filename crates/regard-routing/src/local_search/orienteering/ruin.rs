//! Leaving nodes out of a route, where and how many by chance.

use rand::{RngExt, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;

use super::{Problem, distances::Node, plan::Plan, route::DEPOT};

/// The most nodes left out at once.
const MOST: usize = 16;

impl Plan {
    /// Leaves out a stretch of the route, the surroundings of a node, or what stands in the way of a
    /// node not visited so far. The nodes left out are written to `removed`.
    pub(super) fn ruin(&mut self, problem: &Problem, removed: &mut Vec<Node>, random: &mut Pcg64Mcg) {
        removed.clear();
        let most = MOST.min(self.route.order().len() / 2).max(1);
        let count = random.random_range(1..=most);
        match random.random_range(0..4) {
            0 => self.ruin_stretch(count, removed, random),
            1 => self.ruin_around(problem, count, removed, random),
            2 => self.ruin_scattered(count, removed, random),
            _ => {
                self.force(problem, random);
                return;
            }
        }
        for &node in removed.iter() {
            self.remove(problem, node);
        }
    }

    fn ruin_stretch(&self, count: usize, removed: &mut Vec<Node>, random: &mut Pcg64Mcg) {
        let order = self.route.order();
        let start = random.random_range(0..order.len());
        let stretch = (start..start + count).map(|position| order[position % order.len()]);
        removed.extend(stretch.filter(|&node| node != DEPOT));
    }

    fn ruin_around(&self, problem: &Problem, count: usize, removed: &mut Vec<Node>, random: &mut Pcg64Mcg) {
        let centre = random.random_range(0..problem.len() as Node);
        let near = problem.neighbours.of(centre).iter().copied();
        let visited = std::iter::once(centre).chain(near).filter(|&node| self.route.is_visited(node));
        removed.extend(visited.filter(|&node| node != DEPOT).take(count));
    }

    fn ruin_scattered(&self, count: usize, removed: &mut Vec<Node>, random: &mut Pcg64Mcg) {
        for _ in 0..count.div_ceil(2) {
            if let Some(&node) = self.route.order().choose(random)
                && node != DEPOT
                && !removed.contains(&node)
            {
                removed.push(node);
            }
        }
    }

    /// Visits a node left out so far, and leaves out others until the route is short enough.
    fn force(&mut self, problem: &Problem, random: &mut Pcg64Mcg) {
        let Some(&node) = self.route.left_out().choose(random) else { return };
        if !self.refresh(problem) {
            return;
        }
        self.insert(problem, node);
        while self.length > problem.terms.limit {
            let alone = self.route.order().len() == 2;
            self.drop_least(problem, (!alone).then_some(node));
            if alone {
                break;
            }
        }
    }
}
