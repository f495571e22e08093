//! Which of several solutions is the answer.

use regard_nn::Outcome;

use super::{Decode, Decoded};
use crate::routes::problem::Problem;

/// What a solution costs.
type Cost<'a> = &'a dyn Fn(&[usize]) -> f64;

/// Solutions of an instance in each of its views.
type Views<'a, P> = &'a [Vec<Outcome<<P as Problem>::State>>];

/// The cheapest solution of all views.
pub(super) fn best<P: Problem>(views: Views<'_, P>, cost: Cost<'_>) -> Decoded {
    let outcome = cheapest::<P>(views, cost).and_then(|place| views.iter().flatten().nth(place));
    let Some(outcome) = outcome else { return Decoded { tour: vec![], cost: f64::INFINITY, log_likelihood: 0.0 } };
    let tour = P::solution(&outcome.state);
    Decoded { cost: cost(&tour), tour, log_likelihood: outcome.log_probability }
}

/// The place of the cheapest solution, counted through all views.
fn cheapest<P: Problem>(views: Views<'_, P>, cost: Cost<'_>) -> Option<usize> {
    let costs = views.iter().flatten().map(|outcome| cost(&P::solution(&outcome.state)));
    costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
}

/// What came of the way that promised the most: `plans` are solutions of the instance as it is expected,
/// `real` those that began in the same views and at the same nodes and saw what showed. A beam tries and throws
/// away, so its plan is kept to.
pub(super) fn carried_out<P: Problem>(
    [expected, problem]: [&P; 2],
    [plans, real]: [Views<'_, P>; 2],
    decode: Decode,
    cost: Cost<'_>,
) -> Decoded {
    let Some(place) = cheapest::<P>(plans, &|tour| expected.cost(tour)) else { return best::<P>(&[], cost) };
    let walked = if matches!(decode, Decode::Beam(_)) { plans } else { real };
    let Some(outcome) = walked.iter().flatten().nth(place) else { return best::<P>(&[], cost) };
    let tour = problem.carried_out(&P::solution(&outcome.state));
    Decoded { cost: cost(&tour), tour, log_likelihood: outcome.log_probability }
}
