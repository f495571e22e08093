//! Distances as the search wants them: looked up where a table fits, computed where it does not.

use crate::{Metric, Sites};

use super::{clock::Clock, tour::Node};

/// Instances up to this size get a table (at most 72 MiB).
const TABLE_UP_TO: usize = 3072;

/// An upper estimate of the seconds that one pair of nodes takes in a table.
const SECONDS_PER_PAIR: f64 = 2e-8;

/// The share of the time that a table may take.
const SHARE: f64 = 0.05;

/// The distances of one instance, exactly as the instance gives them.
pub(super) struct Distances<'a> {
    instance: &'a Sites,
    symmetric: bool,
    table: Table,
}

enum Table {
    None,
    /// Every distance is a number that `f32` holds exactly, as nearly all TSPLIB distances are:
    /// half the memory, same sums.
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
}

/// The distances from one node, for loops over many others.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    Narrow(&'a [f32]),
    Wide(&'a [f64]),
    Computed(&'a Sites),
}

impl<'a> Distances<'a> {
    /// Fills the table if the instance is small enough and that takes a small part of the time only.
    pub(super) fn new(instance: &'a Sites, clock: &mut Clock) -> Self {
        let n = instance.len();
        let has_time = clock.left().is_none_or(|left| (n * n) as f64 * SECONDS_PER_PAIR < left * SHARE);
        let table = if n <= TABLE_UP_TO && has_time { full(instance, clock) } else { Table::None };
        Self { instance, symmetric: instance.is_symmetric(), table }
    }

    /// Distances that are computed whenever they are asked for: there at once.
    pub(super) fn computed(instance: &'a Sites) -> Self {
        Self { instance, symmetric: instance.is_symmetric(), table: Table::None }
    }

    /// If true, all distances are the same in both directions.
    #[inline]
    pub(super) fn are_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The shortest way between different nodes where they have entrances and exits.
    pub(super) fn shortest_way(&self) -> Option<f64> {
        match self.instance.metric() {
            Metric::Explicit(matrix) => matrix.shortest_way(),
            _ => None,
        }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.instance.len()
    }

    /// The distance from one node to another.
    #[inline]
    pub(super) fn of(&self, a: Node, b: Node) -> f64 {
        let (a, b) = (a as usize, b as usize);
        match &self.table {
            Table::Narrow(table) => f64::from(table[a * self.instance.len() + b]),
            Table::Wide(table) => table[a * self.instance.len() + b],
            Table::None => self.instance.distance(a, b),
        }
    }

    /// The distances from one node.
    #[inline]
    pub(super) fn row(&self, node: Node) -> Row<'_> {
        let (n, node) = (self.instance.len(), node as usize);
        match &self.table {
            Table::Narrow(table) => Row::Narrow(&table[node * n..(node + 1) * n]),
            Table::Wide(table) => Row::Wide(&table[node * n..(node + 1) * n]),
            Table::None => Row::Computed(self.instance),
        }
    }
}

fn full(instance: &Sites, clock: &mut Clock) -> Table {
    let n = instance.len();
    let mut wide = vec![0.0; n * n];
    for a in 0..n {
        if clock.is_over() {
            return Table::None;
        }
        for b in 0..a {
            let distance = instance.distance(a, b);
            wide[a * n + b] = distance;
            wide[b * n + a] = if instance.is_symmetric() { distance } else { instance.distance(b, a) };
        }
    }
    if wide.iter().all(|&distance| f64::from(distance as f32) == distance) {
        Table::Narrow(wide.into_iter().map(|distance| distance as f32).collect())
    } else {
        Table::Wide(wide)
    }
}
