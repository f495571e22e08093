//! Vehicle routing, with whole and with split deliveries.

use regard_data::routes::cvrp::{Cvrp, routes_of};
use regard_data::routes::tsp::Tsp;

use super::Solvable;
use crate::Result;
use crate::routes::improve::ImproveOptions;
use crate::routes::improve::fleet::{self, Fleet, FleetOptions};
use crate::routes::{cvrp, sdvrp};

/// The search that vehicles get for so much work at so many nodes.
fn fleet_options(nodes: usize, work: &ImproveOptions) -> FleetOptions {
    let iterations = work.kicks_per_node.saturating_mul(nodes).saturating_mul(ITERATIONS_PER_KICK);
    let threads = if work.deadline.is_some() { rayon::current_num_threads() } else { 1 };
    FleetOptions { seed: work.seed, iterations, deadline: work.deadline, threads }
}

/// Removals and insertions for a kick of the travelling salesman's search.
const ITERATIONS_PER_KICK: usize = 50;

fn fleet(instance: &Cvrp) -> Fleet<'_> {
    let limit = instance.limit();
    Fleet::new(instance.sites(), instance.demands(), instance.capacity()).with_limit(limit, instance.service())
}

/// Routes one after another, the depot between them.
fn walk_of(routes: &[Vec<usize>]) -> Vec<usize> {
    routes.iter().filter(|route| !route.is_empty()).map(Vec::as_slice).collect::<Vec<_>>().join(&0)
}

/// Routes cut where one more customer would make them too long.
fn cut_to_limit(instance: &Cvrp, routes: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let Some(limit) = instance.limit() else { return routes };
    let total = |route: &[usize]| {
        let way = instance.cost(std::slice::from_ref(&route.to_vec()));
        way + instance.service() * route.len() as f64
    };
    let mut cut: Vec<Vec<usize>> = Vec::new();
    for route in routes {
        let mut part = Vec::new();
        for node in route {
            part.push(node);
            if total(&part) > limit && part.len() > 1 {
                part.pop();
                cut.push(std::mem::replace(&mut part, vec![node]));
            }
        }
        cut.push(part);
    }
    cut
}

impl Solvable for Cvrp {
    type Problem = cvrp::VehicleRouting;

    const SEARCH: &'static str = "ruin and recreate";

    fn sites(&self) -> &Tsp {
        Cvrp::sites(self)
    }

    fn problem(&self) -> cvrp::VehicleRouting {
        cvrp::VehicleRouting::new(Cvrp::sites(self).unit_square(), self.demands().to_vec(), self.capacity())
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        Cvrp::cost(self, &routes_of(solution))
    }

    fn mended(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        let walk = walk_of(&cut_to_limit(self, routes_of(&solution)));
        Solvable::check(self, &walk).is_ok().then_some(walk)
    }

    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        Some(("savings", walk_of(&fleet::construct(&fleet(self)))))
    }

    fn improve(&self, solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize> {
        walk_of(&fleet::improve(&fleet(self), routes_of(&solution), &fleet_options(self.len(), work), None).routes)
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(Cvrp::check(self, &routes_of(solution))?)
    }
}

/// Vehicle routing where deliveries may be split.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a>(pub &'a Cvrp);

impl Split<'_> {
    /// Full vehicles to whoever needs one, and what is left for the tours.
    fn full_loads(&self) -> (Vec<Vec<usize>>, Vec<f64>) {
        let (capacity, mut rest) = (self.0.capacity(), self.0.demands().to_vec());
        let mut routes = Vec::new();
        for (node, demand) in rest.iter_mut().enumerate().skip(1) {
            while *demand > capacity {
                *demand -= capacity;
                routes.push(vec![node]);
            }
        }
        (routes, rest)
    }
}

impl Solvable for Split<'_> {
    type Problem = sdvrp::SplitDelivery;

    const SEARCH: &'static str = "ruin and recreate, whole deliveries";

    fn sites(&self) -> &Tsp {
        self.0.sites()
    }

    fn problem(&self) -> sdvrp::SplitDelivery {
        sdvrp::SplitDelivery::new(self.0.sites().unit_square(), self.0.demands().to_vec(), self.0.capacity())
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.cost(&routes_of(solution))
    }

    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        let (mut routes, rest) = self.full_loads();
        routes.extend(fleet::construct(&Fleet::new(self.0.sites(), &rest, self.0.capacity())));
        Some(("savings", walk_of(&routes)))
    }

    fn improve(&self, solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize> {
        let (mut routes, rest) = self.full_loads();
        let fleet = Fleet::new(self.0.sites(), &rest, self.0.capacity());
        let given = routes_of(&solution);
        let start = if routes.is_empty() && fleet.keeps(&given) { given } else { fleet::construct(&fleet) };
        routes.extend(fleet::improve(&fleet, start, &fleet_options(self.sites().len(), work), None).routes);
        let walk = walk_of(&routes);
        if self.cost(&walk) < self.cost(&solution) { walk } else { solution }
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.0.check(&routes_of(solution))?)
    }
}
