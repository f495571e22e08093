//! The nearest node that is left, again and again: what a walk to the nearest neighbour asks for.

use super::nearby::Nearby;
use crate::{Metric, Sites};

/// Nodes that leave one by one.
pub(super) enum NearestLeft<'a> {
    /// On the plane.
    Plane(Nearby<'a>),
    /// On a sphere, in space: the nearest place straight through it is the nearest one on it.
    Sphere(Nearby<'a, 3>),
    /// By any distance: those that are left, in no order, and the position of every node.
    List { left: Vec<usize>, positions: Vec<usize>, distance: Box<dyn Fn(usize, usize) -> f64 + 'a> },
}

impl<'a> NearestLeft<'a> {
    /// All nodes of an instance: near on the plane or the sphere, or by their distances where these are a table.
    pub(super) fn of_sites(sites: &'a Sites) -> Self {
        match sites.metric() {
            Metric::Explicit(..) => Self::by_distance(sites.len(), |a, b| sites.distance(a, b)),
            metric if metric.on_sphere() => {
                let in_space = |[latitude, longitude]: &[f64; 2]| {
                    [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
                };
                Self::Sphere(Nearby::new(sites.radians().iter().map(in_space).collect::<Vec<_>>()))
            }
            _ => Self::Plane(Nearby::new(sites.places())),
        }
    }

    /// So many nodes, near by any distance; each answer compares all that are left.
    pub(super) fn by_distance(nodes: usize, distance: impl Fn(usize, usize) -> f64 + 'a) -> Self {
        let all = || (0..nodes).collect();
        Self::List { left: all(), positions: all(), distance: Box::new(distance) }
    }

    /// The nearest node that is left, but not the node itself.
    pub(super) fn nearest(&self, from: usize) -> Option<usize> {
        match self {
            Self::Plane(tree) => tree.nearest(from, 1).pop(),
            Self::Sphere(tree) => tree.nearest(from, 1).pop(),
            Self::List { left, distance, .. } => {
                let others = left.iter().filter(|&&node| node != from).map(|&node| (distance(from, node), node));
                others.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, node)| node)
            }
        }
    }

    /// Removes a node that is left.
    pub(super) fn remove(&mut self, node: usize) {
        match self {
            Self::Plane(tree) => tree.remove(node),
            Self::Sphere(tree) => tree.remove(node),
            Self::List { left, positions, .. } => {
                let gap = positions[node];
                left.swap_remove(gap);
                if let Some(&moved) = left.get(gap) {
                    positions[moved] = gap;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_tree_and_the_list_find_the_same() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(6);
        let points = (0..300).map(|_| [random.random(), random.random()]).collect();
        let plane = Sites::euclidean("random", points).unwrap();
        // From pole to pole, and all around.
        let degrees = (0..300).map(|_| [180.0 * random.random::<f64>() - 90.0, 360.0 * random.random::<f64>(), 0.0]);
        let sphere = Sites::new("sphere", Metric::GreatCircleKm, degrees.collect()).unwrap();
        for sites in [plane, sphere] {
            let mut near = NearestLeft::of_sites(&sites);
            let mut listed = NearestLeft::by_distance(300, |a, b| sites.distance(a, b));
            let mut here = 0;
            for visited in 1.. {
                near.remove(here);
                listed.remove(here);
                assert_eq!(near.nearest(here), listed.nearest(here));
                let Some(next) = near.nearest(here) else {
                    assert_eq!(visited, 300);
                    break;
                };
                here = next;
            }
        }
    }
}
