//! Pairs of neighbours such that as many nodes as possible have a partner (J. Edmonds, "Paths, trees, and
//! flowers", 1965).

use std::collections::VecDeque;

const NONE: usize = usize::MAX;

/// The edge that joins each node with its partner in a largest matching; `neighbours` are the other end
/// and the edge, of each node.
pub(super) fn matching(neighbours: &[Vec<(usize, usize)>]) -> Vec<Option<usize>> {
    let count = neighbours.len();
    let mut search = Search {
        neighbours,
        partner: vec![NONE; count],
        parent: vec![NONE; count],
        base: (0..count).collect(),
        used: vec![false; count],
    };
    search.greedy();
    for (root, others) in neighbours.iter().enumerate() {
        if search.partner[root] == NONE && !others.is_empty() {
            let end = search.augmenting_path(root);
            search.flip(end);
        }
    }
    let edge = |node: usize| {
        let partner = search.partner[node];
        neighbours[node].iter().find(|(other, _)| *other == partner).map(|(_, edge)| *edge)
    };
    (0..count).map(edge).collect()
}

struct Search<'n> {
    neighbours: &'n [Vec<(usize, usize)>],
    partner: Vec<usize>,
    /// The node before, on the way from the root, of nodes at odd distance.
    parent: Vec<usize>,
    /// The first node of the flower that a node has been drawn into.
    base: Vec<usize>,
    used: Vec<bool>,
}

impl Search<'_> {
    /// Walks from atom to atom as they hang together and pairs each with its first free neighbour.
    fn greedy(&mut self) {
        let mut seen = vec![false; self.partner.len()];
        for root in 0..self.partner.len() {
            let mut waiting = VecDeque::from([root]);
            while let Some(node) = waiting.pop_front() {
                if std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                if self.partner[node] == NONE
                    && let Some((other, _)) = self.neighbours[node].iter().find(|(o, _)| self.partner[*o] == NONE)
                {
                    (self.partner[node], self.partner[*other]) = (*other, node);
                }
                waiting.extend(self.neighbours[node].iter().map(|(other, _)| *other).filter(|other| !seen[*other]));
            }
        }
    }

    /// The end of a path from `root` on which every second edge is in the matching, or [`NONE`].
    fn augmenting_path(&mut self, root: usize) -> usize {
        self.used.fill(false);
        self.parent.fill(NONE);
        (0..self.base.len()).for_each(|node| self.base[node] = node);
        self.used[root] = true;
        let mut waiting = VecDeque::from([root]);
        while let Some(node) = waiting.pop_front() {
            for &(other, _) in &self.neighbours[node] {
                if self.base[node] == self.base[other] || self.partner[node] == other {
                    continue;
                }
                let odd = self.partner[other] != NONE && self.parent[self.partner[other]] != NONE;
                if other == root || odd {
                    self.contract(node, other, &mut waiting);
                } else if self.parent[other] == NONE {
                    self.parent[other] = node;
                    let partner = self.partner[other];
                    if partner == NONE {
                        return other;
                    }
                    self.used[partner] = true;
                    waiting.push_back(partner);
                }
            }
        }
        NONE
    }

    /// Draws an odd cycle together.
    fn contract(&mut self, a: usize, b: usize, waiting: &mut VecDeque<usize>) {
        let base = self.common_base(a, b);
        let mut flower = vec![false; self.base.len()];
        self.mark(a, base, b, &mut flower);
        self.mark(b, base, a, &mut flower);
        for node in 0..self.base.len() {
            if flower[self.base[node]] {
                self.base[node] = base;
                if !std::mem::replace(&mut self.used[node], true) {
                    waiting.push_back(node);
                }
            }
        }
    }

    fn common_base(&self, a: usize, b: usize) -> usize {
        let mut on_way = vec![false; self.base.len()];
        let mut node = a;
        loop {
            node = self.base[node];
            on_way[node] = true;
            if self.partner[node] == NONE {
                break;
            }
            node = self.parent[self.partner[node]];
        }
        let mut node = b;
        loop {
            node = self.base[node];
            if on_way[node] {
                return node;
            }
            node = self.parent[self.partner[node]];
        }
    }

    fn mark(&mut self, mut node: usize, base: usize, mut child: usize, flower: &mut [bool]) {
        while self.base[node] != base {
            let partner = self.partner[node];
            flower[self.base[node]] = true;
            flower[self.base[partner]] = true;
            self.parent[node] = child;
            child = partner;
            node = self.parent[partner];
        }
    }

    /// Exchanges the edges of a path that ends in `end`.
    fn flip(&mut self, mut end: usize) {
        while end != NONE {
            let before = self.parent[end];
            let next = self.partner[before];
            (self.partner[end], self.partner[before]) = (before, end);
            end = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    /// The size of a largest matching, by trying everything.
    fn best(edges: &[(usize, usize)], taken: u32) -> usize {
        let Some((&(a, b), rest)) = edges.split_first() else {
            return 0;
        };
        let without = best(rest, taken);
        if taken & (1 << a | 1 << b) != 0 { without } else { without.max(1 + best(rest, taken | 1 << a | 1 << b)) }
    }

    #[test]
    fn as_many_as_possible_have_a_partner() {
        let mut draws = Draws::new(3);
        for _ in 0..300 {
            let nodes = 2 + draws.index(9);
            let mut edges = Vec::new();
            for a in 0..nodes {
                edges.extend((a + 1..nodes).filter(|_| draws.unit() < 0.3).map(|b| (a, b)));
            }
            let mut neighbours = vec![Vec::new(); nodes];
            for (at, (a, b)) in edges.iter().enumerate() {
                neighbours[*a].push((*b, at));
                neighbours[*b].push((*a, at));
            }
            let partners = matching(&neighbours);
            let paired = partners.iter().flatten().count();
            assert_eq!(paired, 2 * best(&edges, 0), "{edges:?}");
            for (node, edge) in partners.iter().enumerate().filter_map(|(node, edge)| Some((node, (*edge)?))) {
                let (a, b) = edges[edge];
                assert!((a == node || b == node) && partners[a] == partners[b]);
            }
        }
    }
}
