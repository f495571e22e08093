//! Any bytes are a set of instances or refused; what is read is whole and within its bounds.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_routing::formats::sets::{self, InstanceSet};
use regard_routing::registry::{ProblemVisitor, with_problem};
use regard_routing::{Problem, SolverInstance};

/// Checks the instances of a set as those of one problem.
struct Check<'a>(&'a InstanceSet);

impl ProblemVisitor for Check<'_> {
    type Output = ();

    fn run<I: SolverInstance>(self) {
        let all = self.0.instances::<I::Problem>().expect("was read as this problem");
        assert_eq!(all.len(), self.0.len());
        for instance in all {
            assert!(!instance.points().is_empty());
            assert!(instance.points().iter().flatten().all(|v| (0.0..=1.0).contains(v)));
            let features = instance.features();
            assert_eq!(features.len(), instance.nodes() * I::Problem::FEATURES);
            assert!(features.iter().all(|v| v.is_finite() && *v >= 0.0));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(set) = sets::parse(bytes, Path::new("fuzz.pkl")) else {
        return;
    };
    assert!(!set.is_empty());
    for problem in set.problems() {
        with_problem(problem, Check(&set)).expect("a registered problem");
    }
});
