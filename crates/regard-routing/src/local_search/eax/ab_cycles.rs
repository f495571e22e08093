//! The AB-cycles of two tours: closed walks that take an edge of one tour and of the other by turns.
//!
//! The edges that only one of the tours has fall into such cycles, because every node has as many of
//! them from one tour as from the other (Nagata and Kobayashi 2013, section 3.1).

use rand::{RngExt, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use super::super::tour::{ArrayTour, Node};

const NOWHERE: u32 = u32::MAX;

/// The neighbours that a node has in one tour only.
#[derive(Clone, Copy, Default)]
struct Ends {
    nodes: [Node; 2],
    count: u8,
}

impl Ends {
    fn new(own: [Node; 2], others: [Node; 2]) -> Self {
        let mut ends = Self::default();
        for node in own.into_iter().filter(|node| !others.contains(node)) {
            ends.nodes[usize::from(ends.count)] = node;
            ends.count += 1;
        }
        ends
    }

    fn take_at(&mut self, place: usize) -> Node {
        let node = self.nodes[place];
        self.nodes[place] = self.nodes[1];
        self.count -= 1;
        node
    }

    fn remove(&mut self, node: Node) {
        let place = usize::from(self.nodes[0] != node);
        self.take_at(place);
    }

    fn take(&mut self, random: &mut Pcg64Mcg) -> Option<Node> {
        match self.count {
            0 => None,
            1 => Some(self.take_at(0)),
            _ => Some(self.take_at(usize::from(random.random::<bool>()))),
        }
    }
}

/// The AB-cycles of a pair of tours; keeps its lists between pairs.
pub(super) struct AbCycles {
    /// Edges not yet in a cycle, of the first and of the second tour.
    rest: [Vec<Ends>; 2],
    /// Nodes with an edge that only one tour has.
    differing: Vec<Node>,
    path: Vec<Node>,
    /// The even and the odd place of a node in the path.
    place: [Vec<u32>; 2],
    nodes: Vec<Node>,
    ends: Vec<usize>,
}

impl AbCycles {
    pub(super) fn new(n: usize) -> Self {
        Self {
            rest: [vec![Ends::default(); n], vec![Ends::default(); n]],
            differing: Vec::new(),
            path: Vec::new(),
            place: [vec![NOWHERE; n], vec![NOWHERE; n]],
            nodes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The number of cycles.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The nodes of a cycle; the first edge, the third and so on are of the first tour.
    pub(super) fn get(&self, cycle: usize) -> &[Node] {
        let start = if cycle == 0 { 0 } else { self.ends[cycle - 1] };
        &self.nodes[start..self.ends[cycle]]
    }

    /// Divides the differing edges of two tours into cycles at random.
    pub(super) fn split(&mut self, a: &ArrayTour, b: &ArrayTour, random: &mut Pcg64Mcg) {
        self.nodes.clear();
        self.ends.clear();
        self.differing.clear();
        for node in 0..a.len() as Node {
            let (of_a, of_b) = (a.beside(node), b.beside(node));
            let ends = Ends::new(of_a, of_b);
            self.rest[0][node as usize] = ends;
            if ends.count > 0 {
                self.rest[1][node as usize] = Ends::new(of_b, of_a);
                self.differing.push(node);
            }
        }
        let mut starts = std::mem::take(&mut self.differing);
        starts.shuffle(random);
        for &start in &starts {
            while self.rest[0][start as usize].count > 0 {
                self.walk(start, random);
            }
        }
        self.differing = starts;
    }

    /// Walks from `start` until it is back there, and cuts off every cycle that closes on the way.
    fn walk(&mut self, start: Node, random: &mut Pcg64Mcg) {
        self.path.clear();
        self.path.push(start);
        self.place[0][start as usize] = 0;
        loop {
            let end = self.path.len() - 1;
            let from = self.path[end];
            let Some(to) = self.rest[end % 2][from as usize].take(random) else { break };
            self.rest[end % 2][to as usize].remove(from);
            let (index, parity) = (end + 1, (end + 1) % 2);
            match self.place[parity][to as usize] {
                NOWHERE => {
                    self.place[parity][to as usize] = index as u32;
                    self.path.push(to);
                }
                closed => self.cut_off(closed as usize),
            }
        }
        self.place[0][start as usize] = NOWHERE;
    }

    /// Makes a cycle of the path from a place on.
    fn cut_off(&mut self, first: usize) {
        let begun = self.nodes.len();
        self.nodes.extend_from_slice(&self.path[first..]);
        if first % 2 == 1 {
            self.nodes[begun..].rotate_left(1);
        }
        self.ends.push(self.nodes.len());
        for index in first + 1..self.path.len() {
            self.place[index % 2][self.path[index] as usize] = NOWHERE;
        }
        self.path.truncate(first + 1);
    }
}
