//! The number of tours of a population that have an edge, and the diversity that follows from it.

use super::super::tour::{ArrayTour, Node};

/// Edges of a population by node.
pub(super) struct EdgeCounts {
    lists: Vec<Vec<(Node, u32)>>,
    /// `-p ln p` for every number of tours.
    terms: Vec<f64>,
}

impl EdgeCounts {
    /// Counts the edges of some tours.
    pub(super) fn new<'a>(n: usize, tours: impl ExactSizeIterator<Item = &'a ArrayTour>) -> Self {
        let size = tours.len() as f64;
        let share = |count: usize| count as f64 / size;
        let term = |count: usize| if count == 0 { 0.0 } else { -share(count) * share(count).ln() };
        let mut counts = Self { lists: vec![Vec::new(); n], terms: (0..=tours.len() + 1).map(term).collect() };
        for tour in tours {
            for node in 0..n as Node {
                counts.add(node, tour.next(node));
            }
        }
        counts
    }

    /// Change of the entropy when one tour replaces some edges.
    pub(super) fn entropy_change(&self, removed: &[(Node, Node)], added: &[(Node, Node)]) -> f64 {
        let lost: f64 = removed
            .iter()
            .map(|&edge| self.of(edge))
            .map(|now| self.terms[now.saturating_sub(1)] - self.terms[now])
            .sum();
        let won: f64 = added.iter().map(|&edge| self.of(edge)).map(|now| self.terms[now + 1] - self.terms[now]).sum();
        lost + won
    }

    /// Notes that one tour replaces some edges.
    pub(super) fn replace(&mut self, removed: &[(Node, Node)], added: &[(Node, Node)]) {
        for &(a, b) in added {
            self.add(a, b);
        }
        for &(a, b) in removed {
            for (from, to) in [(a, b), (b, a)] {
                let list = &mut self.lists[from as usize];
                if let Some(place) = list.iter().position(|&(other, _)| other == to) {
                    list[place].1 -= 1;
                    if list[place].1 == 0 {
                        list.swap_remove(place);
                    }
                }
            }
        }
    }

    fn of(&self, (a, b): (Node, Node)) -> usize {
        self.lists[a as usize].iter().find(|&&(other, _)| other == b).map_or(0, |&(_, count)| count as usize)
    }

    fn add(&mut self, a: Node, b: Node) {
        for (from, to) in [(a, b), (b, a)] {
            let list = &mut self.lists[from as usize];
            match list.iter_mut().find(|(other, _)| *other == to) {
                Some((_, count)) => *count += 1,
                None => list.push((to, 1)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entropy_is_that_of_the_counts() {
        let tours = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5]].map(|nodes| ArrayTour::new(&nodes));
        let entropy = |counts: &EdgeCounts| {
            let all = counts.lists.iter().flatten();
            all.map(|&(_, count)| -f64::from(count) / 3.0 * (f64::from(count) / 3.0).ln()).sum::<f64>() / 2.0
        };
        let mut counts = EdgeCounts::new(6, tours.iter());
        let (removed, added) = ([(0, 1), (2, 3)], [(0, 2), (1, 3)]);
        let (before, change) = (entropy(&counts), counts.entropy_change(&removed, &added));
        counts.replace(&removed, &added);
        assert!((before + change - entropy(&counts)).abs() < 1e-12);
        // Two of three tours now have the new edges, as many as had the old ones.
        assert!(change.abs() < 1e-12, "{change}");
        assert_eq!((counts.of((2, 0)), counts.of((1, 0)), counts.of((1, 2))), (2, 1, 3));
    }
}
