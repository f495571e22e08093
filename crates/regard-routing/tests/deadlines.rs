//! Construction and local search of every problem end in time on instances that they cannot finish.

use std::time::{Duration, Instant};

use regard_routing::generate::GeneratorConfig;
use regard_routing::registry::with_problem;
use regard_routing::{LocalSearchOptions, Problem, ProblemVisitor, Sites, SolverInstance};

const NODES: usize = 50_000;
const TIME: Duration = Duration::from_millis(50);
/// Far more than any machine needs to notice that the time is over, far less than the whole work takes.
const PATIENCE: Duration = Duration::from_millis(600);

struct Solve;

impl ProblemVisitor for Solve {
    type Output = ();

    fn run<S: SolverInstance>(self) {
        let name = S::Problem::NAME;
        let problem = S::Problem::draw(&GeneratorConfig::default(), 5, 1, NODES).remove(0);
        let points = problem.points().iter().map(|point| point.map(f64::from)).collect();
        let instance = S::from_unit_square(&problem, Sites::euclidean(name, points).unwrap(), 1.0).unwrap();
        let begun = Instant::now();
        let (_, constructed) = instance.construct(Some(begun + TIME)).unwrap();
        let passed = begun.elapsed();
        assert!(passed < TIME + PATIENCE, "{name}: constructed in {passed:?}");
        instance.check(&constructed).unwrap();
        let begun = Instant::now();
        assert_eq!(instance.repair(constructed.clone()), Some(constructed.clone()), "{name}");
        let passed = begun.elapsed();
        assert!(passed < PATIENCE, "{name}: repaired in {passed:?}");
        let begun = Instant::now();
        let options = LocalSearchOptions {
            perturbations_per_node: usize::MAX,
            deadline: Some(begun + TIME),
            ..LocalSearchOptions::default()
        };
        let improved = instance.local_search(constructed.clone(), &options);
        let passed = begun.elapsed();
        assert!(passed < TIME + PATIENCE, "{name}: improved in {passed:?}");
        instance.check(&improved).unwrap();
        assert!(instance.cost(&improved) <= instance.cost(&constructed), "{name}");
    }
}

#[test]
fn the_end_is_met_where_there_is_no_time_to_prepare() {
    for problem in regard_routing::registry::NAMES {
        with_problem(problem, Solve).unwrap();
    }
}
