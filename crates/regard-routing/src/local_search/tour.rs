//! A closed tour in an array with the position of every node.
//!
//! The only change ever made is the reversal of a stretch, of the stretch itself or of the rest of
//! the tour, whichever is shorter (the two give the same undirected tour). Reversals are written
//! down, so that everything since a mark can be taken back in the time it took to do.

/// A node number; `u32` halves the memory the search walks through.
pub(super) type Node = u32;

/// A closed tour over the nodes `0..n`.
pub(super) struct ArrayTour {
    order: Vec<Node>,
    position: Vec<u32>,
    /// Reversals done since [`ArrayTour::mark`]: first position and length.
    journal: Vec<(u32, u32)>,
}

impl ArrayTour {
    /// Takes a permutation of `0..n`.
    pub(super) fn new(tour: &[usize]) -> Self {
        let order: Vec<Node> = tour.iter().map(|&node| node as Node).collect();
        let mut position = vec![0; order.len()];
        for (place, &node) in order.iter().enumerate() {
            position[node as usize] = place as u32;
        }
        Self { order, position, journal: Vec::new() }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The node at a position, counted around the tour.
    pub(super) fn at(&self, position: usize) -> Node {
        self.order[position % self.order.len()]
    }

    /// The nodes in visiting order.
    pub(super) fn order(&self) -> &[Node] {
        &self.order
    }

    /// The place of a node in the order.
    #[inline]
    pub(super) fn place(&self, node: Node) -> u32 {
        self.position[node as usize]
    }

    /// The nodes before and after a node.
    #[inline]
    pub(super) fn beside(&self, node: Node) -> [Node; 2] {
        [self.prev(node), self.next(node)]
    }

    /// Takes another order of the same nodes.
    pub(super) fn set(&mut self, order: &[Node]) {
        self.journal.clear();
        self.order.copy_from_slice(order);
        for (place, &node) in order.iter().enumerate() {
            self.position[node as usize] = place as u32;
        }
    }

    /// The node after `node`.
    #[inline]
    pub(super) fn next(&self, node: Node) -> Node {
        let position = self.position[node as usize] as usize + 1;
        self.order[if position == self.order.len() { 0 } else { position }]
    }

    /// The node before `node`.
    #[inline]
    pub(super) fn prev(&self, node: Node) -> Node {
        let position = self.position[node as usize] as usize;
        self.order[if position == 0 { self.order.len() - 1 } else { position - 1 }]
    }

    /// The node after `node`, or before it when not going forwards.
    #[inline]
    pub(super) fn step(&self, node: Node, forwards: bool) -> Node {
        if forwards { self.next(node) } else { self.prev(node) }
    }

    /// If true, `node` is met on the way from `first` to `last`, ends included.
    #[inline]
    pub(super) fn on_the_way(&self, first: Node, node: Node, last: Node, forwards: bool) -> bool {
        let place = |node: Node| self.position[node as usize];
        let (first, node, last) = (place(first), place(node), place(last));
        let (first, last) = if forwards { (first, last) } else { (last, first) };
        if first <= last { first <= node && node <= last } else { first <= node || node <= last }
    }

    /// Replaces the edges `(a, b)` and `(c, d)` by `(a, c)` and `(b, d)`.
    ///
    /// Either `b` follows `a` and `d` follows `c`, or `b` precedes `a` and `d` precedes `c`.
    #[inline]
    pub(super) fn exchange(&mut self, a: Node, b: Node, c: Node, d: Node) {
        if self.next(a) == b {
            self.reverse_path(b, c);
        } else {
            self.reverse_path(a, d);
        }
    }

    /// Reverses the stretch of `length` nodes that starts at a position.
    pub(super) fn reverse(&mut self, start: usize, length: usize) {
        self.journal.push((start as u32, length as u32));
        self.swap_ends(start, length);
    }

    /// Forgets the past: [`ArrayTour::take_back`] returns to this moment.
    pub(super) fn mark(&mut self) {
        self.journal.clear();
    }

    /// Returns to the last mark.
    pub(super) fn take_back(&mut self) {
        self.take_back_to(0);
    }

    /// The number of reversals since the mark.
    pub(super) fn steps(&self) -> usize {
        self.journal.len()
    }

    /// Takes back the latest reversals until `steps` of them are left.
    pub(super) fn take_back_to(&mut self, steps: usize) {
        while self.journal.len() > steps {
            if let Some((start, length)) = self.journal.pop() {
                self.swap_ends(start as usize, length as usize);
            }
        }
    }

    /// The nodes in visiting order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&node| node as usize)
    }

    /// Reverses the stretch from `first` forwards to `last`, or everything else if that is shorter.
    fn reverse_path(&mut self, first: Node, last: Node) {
        let n = self.order.len();
        let start = self.position[first as usize] as usize;
        let end = self.position[last as usize] as usize;
        let length = if end >= start { end - start + 1 } else { end + n - start + 1 };
        if 2 * length <= n {
            self.reverse(start, length);
        } else {
            self.reverse(if end + 1 == n { 0 } else { end + 1 }, n - length);
        }
    }

    fn swap_ends(&mut self, start: usize, length: usize) {
        let n = self.order.len();
        let mut low = start;
        let mut high = start + length.max(1) - 1;
        if high < n {
            self.swap_within(low, high);
            return;
        }
        high -= n;
        for _ in 0..length / 2 {
            self.swap(low, high);
            low = if low + 1 == n { 0 } else { low + 1 };
            high = if high == 0 { n - 1 } else { high - 1 };
        }
    }

    /// The reversal of a stretch that does not run over the end of the array.
    fn swap_within(&mut self, low: usize, high: usize) {
        self.order[low..=high].reverse();
        for (offset, &node) in self.order[low..=high].iter().enumerate() {
            self.position[node as usize] = (low + offset) as u32;
        }
    }

    #[inline]
    fn swap(&mut self, low: usize, high: usize) {
        self.order.swap(low, high);
        self.position[self.order[low] as usize] = low as u32;
        self.position[self.order[high] as usize] = high as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(tour: &ArrayTour) -> Vec<(usize, usize)> {
        let nodes: Vec<usize> = tour.nodes().collect();
        let mut edges: Vec<_> = (0..nodes.len())
            .map(|i| (nodes[i], nodes[(i + 1) % nodes.len()]))
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        edges.sort_unstable();
        edges
    }

    #[test]
    fn an_exchange_changes_two_edges_whatever_the_direction() {
        let n = 9;
        for first in 0..n {
            for second in (0..n).filter(|&second| second != first) {
                for forwards in [true, false] {
                    let mut tour = ArrayTour::new(&[4, 0, 7, 2, 8, 1, 3, 6, 5]);
                    let before = edges(&tour);
                    let (a, c) = (tour.at(first), tour.at(second));
                    let step = |node| if forwards { tour.next(node) } else { tour.prev(node) };
                    let (b, d) = (step(a), step(c));
                    tour.exchange(a, b, c, d);
                    let mut expected = before.clone();
                    for gone in [(a, b), (c, d)].map(|(x, y)| (x.min(y) as usize, x.max(y) as usize)) {
                        expected.remove(expected.iter().position(|&edge| edge == gone).unwrap());
                    }
                    expected.extend([(a, c), (b, d)].map(|(x, y)| (x.min(y) as usize, x.max(y) as usize)));
                    expected.sort_unstable();
                    if b != c && d != a {
                        assert_eq!(edges(&tour), expected, "{a} {b} {c} {d}");
                    }
                    tour.take_back();
                    assert_eq!(tour.nodes().collect::<Vec<_>>(), [4, 0, 7, 2, 8, 1, 3, 6, 5]);
                }
            }
        }
    }

    #[test]
    fn positions_follow_reversals_over_the_end() {
        let mut tour = ArrayTour::new(&[0, 1, 2, 3, 4, 5, 6]);
        tour.reverse(5, 4);
        assert_eq!(tour.nodes().collect::<Vec<_>>(), [6, 5, 2, 3, 4, 1, 0]);
        for node in 0..7 {
            assert_eq!(tour.prev(tour.next(node)), node);
            assert_eq!(tour.next(tour.prev(node)), node);
        }
    }
}
