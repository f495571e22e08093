//! Random instances after RL4CO (F. Berto et al., "RL4CO: an extensive reinforcement learning for combinatorial
//! optimization benchmark", 2025; `rl4co/envs/routing/cvrptw/generator.py`).

use super::{CvrptwEnv, TimeWindows};
use crate::generate::{Points, with_depot};
use crate::problems::cvrp::generate::capacity;
use crate::random::Draws;

/// Side of RL4CO's square, in minutes of driving.
const SIDE: f64 = 150.0;

/// Closing time of the depot, in minutes.
const CLOSING: f64 = 480.0;

/// Longest service, in minutes.
const LONGEST_SERVICE: u32 = 10;

/// `instances` random instances of `n` customers: places, demands and capacities as of
/// [`cvrp::generate::draw`](crate::problems::cvrp::generate::draw).
///
/// As in RL4CO, the unit square is 150 minutes wide and the depot closes after 480. The two ends of a window are uniform
/// among the times at which a vehicle that serves this customer alone may begin its service, in whole minutes. Service
/// takes 0 to 10 whole minutes; RL4CO sets it to 0, from which a policy could not learn what it means. Where ways are longer
/// than in the square, the depot closes when the customer that is farthest away can be served.
///
/// ```
/// use regard_routing::Problem;
/// use regard_routing::generate::Points;
/// use regard_routing::problems::cvrptw::generate::draw;
///
/// let two = draw(Points::Uniform, 7, 2, 20);
/// assert_eq!(two[..1], draw(Points::Uniform, 7, 1, 20));
/// assert_eq!((two[0].nodes(), two[0].capacity()), (21, 30.0));
/// ```
#[must_use]
pub fn draw(points: Points, seed: u64, instances: usize, n: usize) -> Vec<CvrptwEnv> {
    let mut draws = Draws::new(seed);
    (0..instances).map(|_| instance(&mut draws, points, n)).collect()
}

fn instance(draws: &mut Draws, points: Points, n: usize) -> CvrptwEnv {
    let points = with_depot(draws, points, n);
    let mut demands = vec![0.0];
    demands.extend((0..n).map(|_| f64::from(1 + draws.below(9))));
    let far = |node: usize| SIDE * points.distance(0, node).max(points.distance(node, 0));
    let farthest = (1..points.len()).map(far).fold(0.0, f64::max);
    let closing = CLOSING.max((2.0 * farthest).ceil() + f64::from(LONGEST_SERVICE) + 2.0);
    let mut windows = TimeWindows { ready: vec![0.0], due: vec![single_above(closing / SIDE)], service: vec![0.0] };
    for node in 1..points.len() {
        let (ready, due, service) = window(draws, far(node), closing);
        windows.ready.push(single_below(ready / SIDE));
        windows.due.push(single_above(due / SIDE));
        windows.service.push(single_below(service / SIDE));
    }
    CvrptwEnv::new(points, demands, f64::from(capacity(n)), windows)
}

/// Begin and end of a window and the service time of a customer so far from the depot, which closes then, in minutes.
fn window(draws: &mut Draws, far: f64, closing: f64) -> (f64, f64, f64) {
    let service = f64::from(draws.below(LONGEST_SERVICE + 1));
    let latest = (closing - far - service).floor();
    let earliest = far.ceil().min(latest);
    let mut time = || (far + (latest - far) * draws.unit()).floor().clamp(earliest, latest);
    let (one, other) = (time(), time());
    let (ready, due) = (one.min(other), one.max(other));
    // A window has at least a minute.
    match ready < due {
        true => (ready, due, service),
        false => ((ready - 1.0).max(0.0), due.max(1.0), service),
    }
}

/// The next number in single precision, as sets hold them, that is not above this one: no vehicle is late by rounding.
fn single_below(time: f64) -> f64 {
    let near = time as f32;
    f64::from(if f64::from(near) > time { near.next_down() } else { near })
}

/// The next number in single precision that is not below this one.
fn single_above(time: f64) -> f64 {
    let near = time as f32;
    f64::from(if f64::from(near) < time { near.next_up() } else { near })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;

    #[test]
    fn more_instances_append_and_every_customer_can_be_served_alone() {
        for points in [Points::Uniform, Points::Cluster { centres: 3 }] {
            let all = draw(points, 3, 40, 30);
            assert_eq!(all[..2], draw(points, 3, 2, 30));
            for instance in &all {
                let alone = (1..31).collect::<Vec<_>>().iter().flat_map(|&node| [node, 0]).collect::<Vec<usize>>();
                instance.check(&alone).unwrap();
                let TimeWindows { ready, due, service } = instance.windows();
                assert!((1..31).all(|node| ready[node] < due[node] && due[node] < due[0] && service[node] <= 0.07));
            }
        }
        assert!(draw(Points::Uniform, 1, 0, 7).is_empty());
        assert_eq!(draw(Points::Uniform, 1, 1, 0)[0].nodes(), 1);
    }

    #[test]
    fn the_numbers_never_change() {
        let instance = &draw(Points::Uniform, 1234, 1, 2)[0];
        assert_eq!(instance.points()[0], [0.341_675_22, 0.312_307_95]);
        let minutes = |times: &[f64]| times[1..].iter().map(|time| (time * SIDE).round()).collect::<Vec<_>>();
        let TimeWindows { ready, due, service } = instance.windows();
        assert_eq!([minutes(ready), minutes(due), minutes(service)], NUMBERS.map(Vec::from));
    }

    /// Begins, ends and service times, in minutes.
    const NUMBERS: [[f64; 2]; 3] = [[73.0, 116.0], [262.0, 168.0], [10.0, 5.0]];
}
