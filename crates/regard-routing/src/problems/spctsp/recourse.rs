//! Execution of a plan while real prizes are revealed.
//!
//! The nodes of a plan are visited in their order until enough is collected, which is revealed on the way. From there
//! everything is known, and the plan ends where no further node is worth its detour. If the whole plan collects too
//! little, other nodes follow.

use crate::problem::Locations;

/// The facts that are known in advance, the depot first.
pub(super) struct Known<'a> {
    /// Places, `[nodes, 2]`.
    pub(super) points: &'a Locations,
    /// Penalties of nodes that are left out, `[nodes]`.
    pub(super) penalties: &'a [f64],
}

impl Known<'_> {
    /// The nodes visited, in their order and without the depot. `enough` is called after every
    /// visit, and once before the first, and returns true when no more has to be collected.
    pub(super) fn execute(&self, plan: &[usize], mut enough: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
        let mut left: Vec<bool> = vec![true; self.points.len()];
        let mut planned = plan.iter().copied();
        let mut walk: Vec<usize> = Vec::with_capacity(plan.len());
        while !enough(&walk) {
            let Some(next) = planned.next().or_else(|| self.cheapest(&walk, &left)) else { return walk };
            left[next] = false;
            walk.push(next);
        }
        let rest: Vec<usize> = planned.collect();
        walk.extend_from_slice(&rest[..self.worth(&walk, &rest)]);
        walk
    }

    /// The node whose detour costs the least, its penalty taken off.
    fn cheapest(&self, walk: &[usize], left: &[bool]) -> Option<usize> {
        let from = walk.last().copied().unwrap_or(0);
        let costs = |node: usize| self.leg(from, node) + self.leg(node, 0) - self.penalties[node];
        (1..left.len()).filter(|&node| left[node]).min_by(|&a, &b| costs(a).total_cmp(&costs(b)))
    }

    fn worth(&self, walk: &[usize], rest: &[usize]) -> usize {
        worth(walk, rest, |a, b| self.leg(a, b), |node| self.penalties[node])
    }

    fn leg(&self, a: usize, b: usize) -> f64 {
        self.points.distance(a, b)
    }
}

/// Number of the planned nodes in `rest` that are worth their way behind `walk`, which has collected enough: from here on
/// everything is known.
pub(super) fn worth(
    walk: &[usize],
    rest: &[usize],
    leg: impl Fn(usize, usize) -> f64,
    penalty: impl Fn(usize) -> f64,
) -> usize {
    let mut at = walk.last().copied().unwrap_or(0);
    let (mut so_far, mut best, mut count) = (0.0, leg(at, 0), 0);
    for (visited, &node) in rest.iter().enumerate() {
        so_far += leg(at, node) - penalty(node);
        at = node;
        if so_far + leg(at, 0) < best {
            (best, count) = (so_far + leg(at, 0), visited + 1);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [[f32; 2]; 5] = [[0.0, 0.0], [0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.0, 0.5]];

    /// Visits until these prizes make 1.
    fn walk(plan: &[usize], penalties: [f64; 5], real: [f64; 5]) -> Vec<usize> {
        let known = Known { points: &POINTS.to_vec().into(), penalties: &penalties };
        known.execute(plan, |walk| walk.iter().map(|&node| real[node]).sum::<f64>() >= 1.0)
    }

    #[test]
    fn a_plan_ends_where_nothing_more_is_worth_its_way() {
        let real = [0.0, 0.5, 0.5, 0.5, 0.5];
        assert_eq!(walk(&[1, 2, 3], [0.0; 5], real), [1, 2]);
        assert_eq!(walk(&[1, 2, 3], [0.0, 0.0, 0.0, 0.3, 0.0], real), [1, 2, 3]);
        // What lies behind a node that is not worth it may be.
        assert_eq!(walk(&[3, 2, 4, 1], [0.0, 0.6, 0.0, 0.0, 0.6], real), [3, 2, 4, 1]);
    }

    #[test]
    fn others_follow_where_the_plan_collects_too_little() {
        assert_eq!(walk(&[1], [0.0; 5], [0.0, 0.4, 0.4, 0.4, 0.4]), [1, 2, 3]);
        assert_eq!(walk(&[], [0.0, 0.0, 0.0, 0.0, 2.0], [0.0, 0.1, 0.1, 0.1, 0.1]), [4, 1, 2, 3]);
    }

    #[test]
    fn prizes_of_nodes_not_visited_are_not_known() {
        for other in [0.0, 5.0] {
            assert_eq!(walk(&[2, 1], [0.0; 5], [0.0, 0.6, 0.6, other, other]), [2, 1]);
        }
    }
}
