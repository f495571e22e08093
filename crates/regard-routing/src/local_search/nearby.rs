//! Nearest places on the plane, or in space, by a k-d tree.
//!
//! Bentley, "Multidimensional binary search trees used for associative searching", Communications
//! of the ACM 18 (1975). Splitting at the median of the wider side keeps clusters and duplicate
//! places as cheap as anything else.

use std::borrow::Cow;

/// Ranges of at most this many places are searched one by one.
const LEAF: usize = 8;

/// The position of a place that was removed.
const GONE: usize = usize::MAX;

/// A k-d tree: the places in tree order and, at the middle of each range, how the range is split.
pub(super) struct Nearby<'a, const D: usize = 2> {
    places: Cow<'a, [[f64; D]]>,
    order: Vec<usize>,
    axis: Vec<u8>,
    /// Once places were removed: the position of every place in the order, and the number of places left in every range,
    /// at its middle.
    positions: Vec<usize>,
    left: Vec<usize>,
}

impl<'a, const D: usize> Nearby<'a, D> {
    /// Sorts the places into a tree.
    pub(super) fn new(places: impl Into<Cow<'a, [[f64; D]]>>) -> Self {
        let places = places.into();
        let count = places.len();
        let (order, axis) = ((0..count).collect(), vec![0; count]);
        let mut tree = Self { places, order, axis, positions: Vec::new(), left: Vec::new() };
        tree.split(0, count);
        tree
    }

    /// Removes a place that was not removed before (Bentley, "K-d trees for semidynamic point sets", Proceedings of the
    /// 6th Symposium on Computational Geometry, 1990): ranges in which none is left are not searched any more.
    pub(super) fn remove(&mut self, place: usize) {
        let n = self.order.len();
        if self.left.is_empty() {
            self.positions = vec![0; n];
            self.order.iter().enumerate().for_each(|(position, &place)| self.positions[place] = position);
            self.left = vec![0; n];
            self.count(0, n);
        }
        let (position, mut low, mut high) = (self.positions[place], 0, n);
        loop {
            let middle = low + (high - low) / 2;
            self.left[middle] -= 1;
            if high - low <= LEAF || position == middle {
                break;
            }
            (low, high) = if position < middle { (low, middle) } else { (middle + 1, high) };
        }
        self.positions[place] = GONE;
    }

    /// Writes down the number of places in a range, and in all ranges inside.
    fn count(&mut self, low: usize, high: usize) {
        let middle = low + (high - low) / 2;
        if middle < high {
            self.left[middle] = high - low;
        }
        if high - low > LEAF {
            self.count(low, middle);
            self.count(middle + 1, high);
        }
    }

    /// The `count` places nearest to place `node`, without itself, in no particular order.
    pub(super) fn nearest(&self, node: usize, count: usize) -> Vec<usize> {
        let mut found = Found { from: self.places[node], node, count, list: Vec::with_capacity(count + 1) };
        self.search(0, self.order.len(), &mut found);
        found.list.into_iter().map(|(_, place)| place).collect()
    }

    fn split(&mut self, low: usize, high: usize) {
        if high - low <= LEAF {
            return;
        }
        let places = &self.places;
        let range = &mut self.order[low..high];
        let extent = |axis: usize| {
            let ends = range.iter().fold((f64::MAX, f64::MIN), |(least, most), &place| {
                (least.min(places[place][axis]), most.max(places[place][axis]))
            });
            ends.1 - ends.0
        };
        let axis = (1..D).fold(0, |widest, axis| if extent(axis) > extent(widest) { axis } else { widest });
        let middle = range.len() / 2;
        range.select_nth_unstable_by(middle, |&a, &b| places[a][axis].total_cmp(&places[b][axis]).then(a.cmp(&b)));
        self.axis[low + middle] = axis as u8;
        self.split(low, low + middle);
        self.split(low + middle + 1, high);
    }

    fn offer(&self, place: usize, found: &mut Found<D>) {
        if self.positions.get(place) != Some(&GONE) {
            found.offer(place, self.places[place]);
        }
    }

    fn search(&self, low: usize, high: usize, found: &mut Found<D>) {
        let middle = low + (high - low) / 2;
        if self.left.get(middle) == Some(&0) {
            return;
        }
        if high - low <= LEAF {
            self.order[low..high].iter().for_each(|&place| self.offer(place, found));
            return;
        }
        let place = self.order[middle];
        let axis = usize::from(self.axis[middle]);
        let beyond = found.from[axis] - self.places[place][axis];
        let (near, far) =
            if beyond < 0.0 { ((low, middle), (middle + 1, high)) } else { ((middle + 1, high), (low, middle)) };
        self.search(near.0, near.1, found);
        self.offer(place, found);
        if beyond * beyond < found.worst() {
            self.search(far.0, far.1, found);
        }
    }
}

/// The nearest places so far, nearest first, with squared distances.
struct Found<const D: usize> {
    from: [f64; D],
    node: usize,
    count: usize,
    list: Vec<(f64, usize)>,
}

impl<const D: usize> Found<D> {
    fn offer(&mut self, place: usize, at: [f64; D]) {
        let distance = (0..D).map(|axis| (at[axis] - self.from[axis]).powi(2)).sum();
        if place != self.node && distance < self.worst() {
            let rank = self.list.partition_point(|&(nearer, _)| nearer <= distance);
            self.list.insert(rank, (distance, place));
            self.list.truncate(self.count);
        }
    }

    /// A place as far as this is no longer wanted.
    fn worst(&self) -> f64 {
        match self.list.last() {
            Some(&(distance, _)) if self.list.len() == self.count => distance,
            _ => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn finds_what_a_full_sort_finds() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(3);
        // A coarse raster, so that many places coincide.
        let places: Vec<[f64; 2]> =
            (0..500).map(|_| [f64::from(random.random_range(0..12)), f64::from(random.random_range(0..40))]).collect();
        let tree = Nearby::new(&places[..]);
        for node in 0..places.len() {
            let distance = |&other: &usize| {
                (places[node][0] - places[other][0]).powi(2) + (places[node][1] - places[other][1]).powi(2)
            };
            let mut expected: Vec<f64> =
                (0..places.len()).filter(|&other| other != node).map(|other| distance(&other)).collect();
            expected.sort_by(f64::total_cmp);
            let found = tree.nearest(node, 7);
            assert!(!found.contains(&node));
            assert_eq!(found.iter().map(distance).collect::<Vec<_>>(), expected[..7]);
        }
    }
    #[test]
    fn places_that_were_removed_are_not_found() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
        for count in [1, 2, 9, 200] {
            let places: Vec<[f64; 2]> = (0..count)
                .map(|_| [f64::from(random.random_range(0..9)), f64::from(random.random_range(0..9))])
                .collect();
            let mut tree = Nearby::new(&places[..]);
            let mut left: Vec<usize> = (0..count).collect();
            while !left.is_empty() {
                let from = random.random_range(0..count);
                let distance = |&other: &usize| {
                    (places[from][0] - places[other][0]).powi(2) + (places[from][1] - places[other][1]).powi(2)
                };
                let others = left.iter().filter(|&&other| other != from);
                let expected = others.map(distance).min_by(f64::total_cmp);
                let found = tree.nearest(from, 1);
                assert!(found.iter().all(|place| left.contains(place)));
                assert_eq!(found.first().map(distance), expected);
                let gone = left.swap_remove(random.random_range(0..left.len()));
                tree.remove(gone);
            }
        }
    }
}
