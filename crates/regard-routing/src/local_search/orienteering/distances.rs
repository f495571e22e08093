//! Distances as the search wants them: looked up where a table fits, computed where it does not.

use super::Clock;

/// Instances up to this size get a table (at most 72 MB).
const TABLE_UP_TO: usize = 3000;

/// A node number; `u32` halves the memory the search walks through.
pub(super) type Node = u32;

/// The distance of two nodes as the instance gives it: symmetric, finite, in the instance's unit.
type Metric<'a> = dyn Fn(usize, usize) -> f64 + Sync + 'a;

/// The distances of one instance, exactly as the instance gives them.
pub(super) struct Distances<'a> {
    nodes: usize,
    metric: Box<Metric<'a>>,
    table: Vec<f64>,
}

impl<'a> Distances<'a> {
    /// Fills the table if the instance is small enough and the clock does not stop before.
    pub(super) fn new(nodes: usize, metric: Box<Metric<'a>>, clock: &mut Clock) -> Self {
        let mut table = Vec::new();
        if nodes <= TABLE_UP_TO {
            table.resize(nodes * nodes, 0.0);
            for a in 0..nodes {
                if clock.is_over() {
                    table.clear();
                    break;
                }
                for b in 0..a {
                    let distance = metric(a, b);
                    table[a * nodes + b] = distance;
                    table[b * nodes + a] = distance;
                }
            }
        }
        Self { nodes, metric, table }
    }

    /// The number of nodes, the depot among them.
    pub(super) fn len(&self) -> usize {
        self.nodes
    }

    /// The distance between two nodes, 0 from a node to itself.
    #[inline]
    pub(super) fn of(&self, a: Node, b: Node) -> f64 {
        let (a, b) = (a as usize, b as usize);
        match self.table.get(a * self.nodes + b) {
            Some(&distance) => distance,
            None if a == b => 0.0,
            None => (self.metric)(a, b),
        }
    }

    /// Cost of a visit of `node` between `a` and `b`, which are adjacent in a route.
    #[inline]
    pub(super) fn detour(&self, a: Node, node: Node, b: Node) -> f64 {
        self.of(a, node) + self.of(node, b) - self.of(a, b)
    }
}
