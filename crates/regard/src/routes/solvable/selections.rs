//! Problems that choose which nodes to visit: orienteering and prize collecting.

use regard_data::routes::instance::visits_of;
use regard_data::routes::orienteering::Orienteering;
use regard_data::routes::prize_collecting::PrizeCollecting;
use regard_data::routes::tsp::Tsp;

use super::Solvable;
use crate::Result;
use crate::routes::improve::ImproveOptions;
use crate::routes::improve::selection::{self, Objective};
use crate::routes::{op, pctsp};

/// The search that selections of nodes get for so much work at so many nodes.
fn selection_options(nodes: usize, work: &ImproveOptions) -> selection::Options {
    let iterations = work.kicks_per_node.saturating_mul(nodes).saturating_mul(SELECTIONS_PER_KICK);
    selection::Options { seed: work.seed, deadline: work.deadline, iterations }
}

/// Selections tried for a kick of the travelling salesman's search.
const SELECTIONS_PER_KICK: usize = 10;

fn searched<'a>(sites: &'a Tsp, objective: Objective<'a>) -> selection::Problem<'a> {
    selection::Problem::new(sites.len(), |i, j| sites.distance(i, j), objective)
}

/// Length of the longer side of the places, which the network sees as 1; 1 where there is none.
fn side(sites: &Tsp) -> f64 {
    let side = sites.side();
    if side > 0.0 && side.is_finite() { side } else { 1.0 }
}

fn orienteering(instance: &Orienteering) -> selection::Problem<'_> {
    let (prizes, max_length) = (instance.prizes(), instance.max_length());
    searched(instance.sites(), Objective::Orienteering { prizes, max_length })
}

impl Solvable for Orienteering {
    type Problem = op::Orienteering;

    const SEARCH: &'static str = "insert, drop and replace";
    const MAXIMISES: bool = true;

    fn sites(&self) -> &Tsp {
        Orienteering::sites(self)
    }

    fn problem(&self) -> op::Orienteering {
        let sites = Orienteering::sites(self);
        let most = self.prizes().iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        // The depot's prize is collected in any case.
        let prize = |(node, prize): (usize, &f64)| if node == 0 { 0.0 } else { prize / most };
        let prizes = self.prizes().iter().enumerate().map(prize).collect();
        op::Orienteering::new(sites.unit_square(), prizes, self.max_length() / side(sites))
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        -self.prize(&visits_of(solution))
    }

    fn mended(&self, solution: Vec<usize>) -> Option<Vec<usize>> {
        let work = selection::Options { iterations: 0, ..selection::Options::default() };
        let visits = selection::improve(&orienteering(self), visits_of(&solution), &work).visits;
        Solvable::check(self, &visits).is_ok().then_some(visits)
    }

    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        Some(("insertion", selection::construct(&orienteering(self))))
    }

    fn improve(&self, solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize> {
        selection::improve(&orienteering(self), visits_of(&solution), &selection_options(self.len(), work)).visits
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(Orienteering::check(self, &visits_of(solution))?)
    }
}

/// Prize collecting as the network knows it.
pub(in crate::routes) fn as_shares<const STOCHASTIC: bool>(
    instance: &PrizeCollecting,
) -> pctsp::PrizeCollecting<STOCHASTIC> {
    let sites = instance.sites();
    let scaled = |values: &[f64], by: f64| values.iter().map(|value| value / by).collect::<Vec<f64>>();
    let required = instance.required().max(f64::MIN_POSITIVE);
    let expected = scaled(instance.prizes(), required);
    let real = scaled(instance.real_prizes().unwrap_or(instance.prizes()), required);
    pctsp::PrizeCollecting::new(sites.unit_square(), expected, real, scaled(instance.penalties(), side(sites)))
}

impl Solvable for PrizeCollecting {
    type Problem = pctsp::PrizeCollecting;

    const SEARCH: &'static str = "insert, drop and replace";

    fn sites(&self) -> &Tsp {
        PrizeCollecting::sites(self)
    }

    fn problem(&self) -> pctsp::PrizeCollecting {
        as_shares(self)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        PrizeCollecting::cost(self, &visits_of(solution))
    }

    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        Some(("insertion", selection::construct(&prize_collecting(self))))
    }

    fn improve(&self, solution: Vec<usize>, work: &ImproveOptions) -> Vec<usize> {
        selection::improve(&prize_collecting(self), visits_of(&solution), &selection_options(self.len(), work)).visits
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(PrizeCollecting::check(self, &visits_of(solution))?)
    }
}

fn prize_collecting(instance: &PrizeCollecting) -> selection::Problem<'_> {
    let (prizes, penalties, required) = (instance.prizes(), instance.penalties(), instance.required());
    searched(instance.sites(), Objective::PrizeCollecting { prizes, penalties, required })
}

/// Prize collecting where the real prizes show on the way: there is nothing to search for
/// afterwards that would not know them in advance.
#[derive(Clone, Copy, Debug)]
pub struct Stochastic<'a>(pub &'a PrizeCollecting);

impl Solvable for Stochastic<'_> {
    type Problem = pctsp::StochasticPrizeCollecting;

    const SEARCH: &'static str = "";

    fn sites(&self) -> &Tsp {
        self.0.sites()
    }

    fn problem(&self) -> pctsp::StochasticPrizeCollecting {
        as_shares(self.0)
    }

    fn cost(&self, solution: &[usize]) -> f64 {
        self.0.cost(&visits_of(solution))
    }

    /// All nodes in the order of a tour planned with the expected prizes, those left out at its
    /// end, cut as soon as enough is collected.
    fn construct(&self) -> Option<(&'static str, Vec<usize>)> {
        let mut visits = selection::construct(&prize_collecting(self.0));
        let mut left: Vec<bool> = vec![true; self.0.len()];
        visits.iter().for_each(|&node| left[node] = false);
        visits.extend((1..self.0.len()).filter(|&node| left[node]));
        let enough = (0..=visits.len()).find(|&count| self.0.check(&visits[..count]).is_ok());
        visits.truncate(enough.unwrap_or(visits.len()));
        Some(("insertion by expected prizes", visits))
    }

    fn improve(&self, solution: Vec<usize>, _: &ImproveOptions) -> Vec<usize> {
        solution
    }

    fn check(&self, solution: &[usize]) -> Result<()> {
        Ok(self.0.check(&visits_of(solution))?)
    }
}
