//! Instances of the problems from golden cases.

use regard::routing::Problem;
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::problems::op::OpEnv;
use regard::routing::problems::pctsp::PctspEnv;
use regard::routing::problems::sdvrp::SdvrpEnv;
use regard::routing::problems::spctsp::SpctspEnv;
use regard::routing::problems::tsp::TspEnv;
use regard_testing::{Case, Values};

/// A problem whose instances golden cases hold.
pub(crate) trait FromCase: Problem {
    /// Instance `item` of a case, its rules in single precision as the original code has them.
    fn from_case(case: &Case, item: usize) -> Self;
}

/// Row `item` of `[items, …]`.
fn row(values: &Values, item: usize) -> Vec<f32> {
    let size = values.data.len() / values.shape[0];
    values.data[item * size..][..size].iter().map(|&value| value as f32).collect()
}

fn points(case: &Case, item: usize) -> Vec<[f32; 2]> {
    let depot = case.find("input.depot").map(|depot| row(depot, item)).unwrap_or_default();
    let all = [depot, row(case.get("input.loc"), item)].concat();
    all.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// One number a node, 0 for the depot.
fn numbers(case: &Case, name: &str, item: usize) -> Vec<f64> {
    let customers = row(case.get(name), item).into_iter().map(f64::from);
    std::iter::once(0.0).chain(customers).collect()
}

impl FromCase for TspEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        Self::new(points(case, item))
    }
}

impl FromCase for CvrpEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        Self::new(points(case, item), numbers(case, "input.demand", item), 1.0).in_single_precision()
    }
}

impl FromCase for SdvrpEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        Self::new(points(case, item), numbers(case, "input.demand", item), 1.0).in_single_precision()
    }
}

impl FromCase for OpEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        let most = case.get("input.max_length").data[item];
        Self::new(points(case, item), numbers(case, "input.prize", item), most).in_single_precision()
    }
}

impl FromCase for PctspEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        let prizes = numbers(case, "input.deterministic_prize", item);
        Self::new(points(case, item), prizes, numbers(case, "input.penalty", item)).in_single_precision()
    }
}

impl FromCase for SpctspEnv {
    fn from_case(case: &Case, item: usize) -> Self {
        let expected = numbers(case, "input.deterministic_prize", item);
        let real = numbers(case, "input.stochastic_prize", item);
        Self::new(points(case, item), expected, real, numbers(case, "input.penalty", item)).in_single_precision()
    }
}
