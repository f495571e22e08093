//! A tour with the edges of one AB-cycle exchanged, as segments of the parent.
//!
//! Exchanging the edges of the cycle cuts the parent into segments and joins them to one or more
//! closed subtours. The smallest subtour is joined to another by the best exchange of two edges
//! near one of its nodes until one is left (Nagata and Kobayashi 2013, section 3.2, step 5). The
//! work grows with the edges changed and the nodes of the smaller subtours, not with the tour.

use super::super::{
    distances::Distances,
    neighbours::Neighbours,
    search::Search,
    tour::{ArrayTour, Node},
};

const NOWHERE: u32 = u32::MAX;

/// A stretch of the parent; its ends are numbered `2 * segment` and `2 * segment + 1`.
#[derive(Clone, Copy)]
struct Segment {
    first: u32,
    last: u32,
    /// The ends that follow on both sides.
    links: [u32; 2],
    subtour: u32,
}

/// An edge by the place of a node in the parent and the side on which the edge leaves it.
type Side = (u32, usize);

/// The exchange of an edge of a subtour and one of another.
struct Joint {
    gain: f64,
    own: Side,
    other: Side,
    /// The nodes named by `own` and `other` become neighbours; otherwise each the other's neighbour.
    parallel: bool,
}

/// A tour that differs from its parent in a few edges.
#[derive(Default)]
pub(super) struct Offspring {
    segments: Vec<Segment>,
    /// First place and number of every segment, in order.
    by_place: Vec<(u32, u32)>,
    /// Nodes of every subtour.
    sizes: Vec<u32>,
    cuts: Vec<u32>,
    pub(super) removed: Vec<(Node, Node)>,
    pub(super) added: Vec<(Node, Node)>,
    /// By how much it is shorter than its parent.
    pub(super) gain: f64,
    /// The nodes in visiting order after [`Self::descend`].
    pub(super) improved: Vec<Node>,
}

impl Offspring {
    /// Exchanges the edges of an AB-cycle; the result may be several subtours.
    pub(super) fn exchange(&mut self, parent: &ArrayTour, cycle: &[Node], distances: &Distances) {
        self.removed.clear();
        self.added.clear();
        self.cuts.clear();
        self.gain = 0.0;
        let end = parent.len() as u32 - 1;
        for (index, pair) in cycle.chunks_exact(2).enumerate() {
            let (a, b, c) = (pair[0], pair[1], cycle[(2 * index + 2) % cycle.len()]);
            self.removed.push((a, b));
            self.added.push((b, c));
            self.gain += distances.of(a, b) - distances.of(b, c);
            let (low, high) = (parent.place(a).min(parent.place(b)), parent.place(a).max(parent.place(b)));
            self.cuts.push(if low + 1 == high { low } else { high });
        }
        self.cuts.sort_unstable();
        let closed = self.cuts.last() != Some(&end);
        if closed {
            self.cuts.push(end);
        }
        self.segments.clear();
        self.by_place.clear();
        let mut first = 0;
        for &last in &self.cuts {
            self.by_place.push((first, self.segments.len() as u32));
            self.segments.push(Segment { first, last, links: [NOWHERE; 2], subtour: NOWHERE });
            first = last + 1;
        }
        if closed {
            self.link(0, 2 * self.segments.len() as u32 - 1);
        }
        for index in 0..self.added.len() {
            let (a, b) = self.added[index];
            let ends = [a, b].map(|node| self.open_end(parent.place(node)));
            self.link(ends[0], ends[1]);
        }
        self.find_subtours();
    }

    /// Joins the subtours to one tour; false if one of them has no neighbour elsewhere.
    pub(super) fn join(&mut self, parent: &ArrayTour, distances: &Distances, neighbours: &Neighbours) -> bool {
        for _ in 1..self.sizes.len() {
            let Some(smallest) = (0..self.sizes.len())
                .filter(|&subtour| self.sizes[subtour] > 0)
                .min_by_key(|&subtour| self.sizes[subtour])
            else {
                return false;
            };
            let Some(joint) = self.best_joint(smallest as u32, parent, distances, neighbours) else { return false };
            self.make(&joint, parent);
        }
        true
    }

    /// The nodes in visiting order.
    pub(super) fn nodes(&self, parent: &ArrayTour, nodes: &mut Vec<Node>) {
        nodes.clear();
        let mut end = 0;
        while nodes.len() < parent.len() {
            let Segment { first, last, links, .. } = self.segments[end as usize / 2];
            let stretch = &parent.order()[first as usize..=last as usize];
            if end % 2 == 0 {
                nodes.extend_from_slice(stretch);
            } else {
                nodes.extend(stretch.iter().rev());
            }
            end = links[1 - end as usize % 2];
        }
    }

    /// Makes the tour a local optimum near the edges that were exchanged.
    pub(super) fn descend(&mut self, parent: &ArrayTour, search: &mut Search<'_>, nodes: &mut Vec<Node>) {
        self.nodes(parent, nodes);
        search.restart(nodes, self.removed.iter().chain(&self.added).copied());
        self.gain += search.descend(|| false);
        let found = &search.tour;
        self.improved.clear();
        self.improved.extend_from_slice(found.order());
        let edges_of_one = |one: &ArrayTour, other: &ArrayTour, edges: &mut Vec<(Node, Node)>| {
            edges.clear();
            let all = one.order().iter().map(|&node| (node, one.next(node)));
            edges.extend(all.filter(|&(node, next)| !other.beside(node).contains(&next)));
        };
        edges_of_one(parent, found, &mut self.removed);
        edges_of_one(found, parent, &mut self.added);
    }

    fn link(&mut self, a: u32, b: u32) {
        self.segments[a as usize / 2].links[a as usize % 2] = b;
        self.segments[b as usize / 2].links[b as usize % 2] = a;
    }

    /// The segment at a place.
    fn segment_at(&self, place: u32) -> u32 {
        let after = self.by_place.partition_point(|&(first, _)| first <= place);
        self.by_place[after - 1].1
    }

    /// The end at a place that is not linked yet.
    fn open_end(&self, place: u32) -> u32 {
        let number = self.segment_at(place);
        let segment = &self.segments[number as usize];
        2 * number + u32::from(segment.first != place || segment.links[0] != NOWHERE)
    }

    fn find_subtours(&mut self) {
        self.sizes.clear();
        for start in 0..self.segments.len() {
            if self.segments[start].subtour != NOWHERE {
                continue;
            }
            let (mut end, mut size) = (2 * start as u32, 0);
            while self.segments[end as usize / 2].subtour == NOWHERE {
                let segment = &mut self.segments[end as usize / 2];
                segment.subtour = self.sizes.len() as u32;
                size += segment.last - segment.first + 1;
                end = segment.links[1 - end as usize % 2];
            }
            self.sizes.push(size);
        }
    }

    /// The place beside a place on a side.
    fn beside(&self, segment: &Segment, (place, side): Side) -> u32 {
        if place == [segment.first, segment.last][side] {
            let end = segment.links[side];
            let next = &self.segments[end as usize / 2];
            [next.first, next.last][end as usize % 2]
        } else if side == 0 {
            place - 1
        } else {
            place + 1
        }
    }

    fn best_joint(
        &self,
        subtour: u32,
        parent: &ArrayTour,
        distances: &Distances,
        neighbours: &Neighbours,
    ) -> Option<Joint> {
        let mut best: Option<Joint> = None;
        let order = parent.order();
        for segment in self.segments.iter().filter(|segment| segment.subtour == subtour) {
            for place in segment.first..=segment.last {
                let node = order[place as usize];
                let next = [0, 1].map(|side| order[self.beside(segment, (place, side)) as usize]);
                let out = next.map(|next| distances.of(node, next));
                for (near, length) in neighbours.of(node) {
                    let at = parent.place(near);
                    let other = &self.segments[self.segment_at(at) as usize];
                    if other.subtour == subtour {
                        continue;
                    }
                    for far_side in [0, 1] {
                        let far = order[self.beside(other, (at, far_side)) as usize];
                        let opened = distances.of(near, far);
                        for side in [0, 1] {
                            let taken = out[side] + opened;
                            let straight = taken - length - distances.of(next[side], far);
                            let crossed = taken - distances.of(node, far) - distances.of(next[side], near);
                            let gain = straight.max(crossed);
                            if best.as_ref().is_none_or(|best| gain > best.gain) {
                                let parallel = straight >= crossed;
                                best = Some(Joint { gain, own: (place, side), other: (at, far_side), parallel });
                            }
                        }
                    }
                }
            }
        }
        best
    }

    fn make(&mut self, joint: &Joint, parent: &ArrayTour) {
        let order = parent.order();
        let [small, large] =
            [joint.own, joint.other].map(|(place, _)| self.segments[self.segment_at(place) as usize].subtour);
        let own = self.open(joint.own);
        let other = self.open(joint.other);
        let node = |offspring: &Self, end: u32| {
            let segment = &offspring.segments[end as usize / 2];
            order[[segment.first, segment.last][end as usize % 2] as usize]
        };
        self.removed.extend([own, other].map(|(a, b)| (node(self, a), node(self, b))));
        let pairs =
            if joint.parallel { [(own.0, other.0), (own.1, other.1)] } else { [(own.0, other.1), (own.1, other.0)] };
        for (a, b) in pairs {
            self.added.push((node(self, a), node(self, b)));
            self.link(a, b);
        }
        self.gain += joint.gain;
        for segment in self.segments.iter_mut().filter(|segment| segment.subtour == small) {
            segment.subtour = large;
        }
        self.sizes[large as usize] += self.sizes[small as usize];
        self.sizes[small as usize] = 0;
    }

    /// Takes an edge out; returns the ends at its node and at the neighbour of the node.
    fn open(&mut self, (place, side): Side) -> (u32, u32) {
        let number = self.segment_at(place);
        let segment = self.segments[number as usize];
        if place == [segment.first, segment.last][side] {
            return (2 * number + side as u32, segment.links[side]);
        }
        let first = if side == 0 { place } else { place + 1 };
        let new = self.segments.len() as u32;
        let after = segment.links[1];
        self.segments.push(Segment { first, ..segment });
        self.segments[number as usize].last = first - 1;
        let rank = self.by_place.partition_point(|&(other, _)| other <= first);
        self.by_place.insert(rank, (first, new));
        self.link(2 * new + 1, after);
        if side == 0 { (2 * new, 2 * number + 1) } else { (2 * number + 1, 2 * new) }
    }
}
