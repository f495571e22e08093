//! A route from the depot through some of the nodes and back, and the nodes it leaves out.

use super::distances::Node;

/// The depot; it stands first in the route and never moves.
pub(super) const DEPOT: Node = 0;

/// Visited nodes in order, with the depot first, and the others in no order.
#[derive(Debug)]
pub(super) struct Route {
    order: Vec<Node>,
    left_out: Vec<Node>,
    /// The index of a node in `order` or in `left_out`.
    place: Vec<u32>,
    visited: Vec<bool>,
}

impl Clone for Route {
    fn clone(&self) -> Self {
        Self {
            order: self.order.clone(),
            left_out: self.left_out.clone(),
            place: self.place.clone(),
            visited: self.visited.clone(),
        }
    }

    /// Keeps the memory: the search copies a route in every iteration.
    fn clone_from(&mut self, other: &Self) {
        self.order.clone_from(&other.order);
        self.left_out.clone_from(&other.left_out);
        self.place.clone_from(&other.place);
        self.visited.clone_from(&other.visited);
    }
}

impl Route {
    /// The route that stays at the depot, of an instance of `nodes` nodes (at least the depot).
    pub(super) fn new(nodes: usize) -> Self {
        let mut visited = vec![false; nodes];
        visited[DEPOT as usize] = true;
        Self {
            order: vec![DEPOT],
            left_out: (1..nodes as Node).collect(),
            place: (0..nodes as u32).map(|node| node.saturating_sub(1)).collect(),
            visited,
        }
    }

    /// The depot and the visited nodes, in order.
    #[inline]
    pub(super) fn order(&self) -> &[Node] {
        &self.order
    }

    /// The nodes not visited.
    #[inline]
    pub(super) fn left_out(&self) -> &[Node] {
        &self.left_out
    }

    /// If true, the route visits the node; the depot it always does.
    #[inline]
    pub(super) fn is_visited(&self, node: Node) -> bool {
        self.visited[node as usize]
    }

    /// The position of a visited node; 0 is the depot's.
    #[inline]
    pub(super) fn position(&self, node: Node) -> usize {
        self.place[node as usize] as usize
    }

    /// The node after a visited node.
    #[inline]
    pub(super) fn next(&self, node: Node) -> Node {
        let position = self.position(node) + 1;
        self.order[if position == self.order.len() { 0 } else { position }]
    }

    /// The node before a visited node.
    #[inline]
    pub(super) fn prev(&self, node: Node) -> Node {
        let position = self.position(node);
        self.order[if position == 0 { self.order.len() - 1 } else { position - 1 }]
    }

    /// The node after a visited node, or before it when not going forwards.
    #[inline]
    pub(super) fn step(&self, node: Node, forwards: bool) -> Node {
        if forwards { self.next(node) } else { self.prev(node) }
    }

    /// If true, an edge of the route joins the two nodes.
    #[inline]
    pub(super) fn joins(&self, a: Node, b: Node) -> bool {
        self.is_visited(a) && self.is_visited(b) && (self.next(a) == b || self.prev(a) == b)
    }

    /// Visits these nodes, which it left out so far, before all others.
    pub(super) fn prepend(&mut self, nodes: &[Node]) {
        for &node in nodes.iter().rev() {
            self.take(node);
        }
        self.order.splice(1..1, nodes.iter().copied());
        self.number(1, self.order.len());
    }

    /// Takes a node from those left out.
    fn take(&mut self, node: Node) {
        let gap = self.place[node as usize] as usize;
        self.left_out.swap_remove(gap);
        if let Some(&moved) = self.left_out.get(gap) {
            self.place[moved as usize] = gap as u32;
        }
        self.visited[node as usize] = true;
    }

    /// Visits a node between two that the route joins.
    pub(super) fn insert(&mut self, node: Node, a: Node, b: Node) {
        self.take(node);
        let (a, b) = (self.position(a), self.position(b));
        // The edge from the last node back to the depot also has the depot's position.
        let after = if a.abs_diff(b) <= 1 { a.min(b) } else { a.max(b) };
        self.order.insert(after + 1, node);
        self.number(after + 1, self.order.len());
    }

    /// Leaves out a visited node other than the depot.
    pub(super) fn remove(&mut self, node: Node) {
        let position = self.position(node);
        self.order.remove(position);
        self.number(position, self.order.len());
        self.visited[node as usize] = false;
        self.place[node as usize] = self.left_out.len() as u32;
        self.left_out.push(node);
    }

    /// Reverses the stretch between two positions, both included; the depot's 0 is none of them.
    pub(super) fn reverse(&mut self, first: usize, last: usize) {
        self.order[first..=last].reverse();
        self.number(first, last + 1);
    }

    /// Moves `length` nodes from position `start` into the gap after position `gap`, which lies
    /// outside them.
    pub(super) fn shift(&mut self, start: usize, length: usize, gap: usize) {
        let (first, end) = if gap < start { (gap + 1, start + length) } else { (start, gap + 1) };
        if gap < start {
            self.order[first..end].rotate_right(length);
        } else {
            self.order[first..end].rotate_left(length);
        }
        self.number(first, end);
    }

    fn number(&mut self, first: usize, end: usize) {
        for (offset, &node) in self.order[first..end].iter().enumerate() {
            self.place[node as usize] = (first + offset) as u32;
        }
    }
}
