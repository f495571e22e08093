//! The nodes still to be looked at: Bentley's "don't-look bits" (1992, section 4) kept as a queue.

use std::collections::VecDeque;

use super::tour::Node;

/// A first-in, first-out queue in which every node stands at most once.
pub(super) struct Queue {
    waiting: VecDeque<Node>,
    inside: Vec<bool>,
}

impl Queue {
    /// An empty queue for `n` nodes.
    pub(super) fn new(n: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(n), inside: vec![false; n] }
    }

    /// Adds a node unless it waits already.
    #[inline]
    pub(super) fn push(&mut self, node: Node) {
        if !std::mem::replace(&mut self.inside[node as usize], true) {
            self.waiting.push_back(node);
        }
    }

    /// The node that has waited longest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Node> {
        let node = self.waiting.pop_front()?;
        self.inside[node as usize] = false;
        Some(node)
    }
}
