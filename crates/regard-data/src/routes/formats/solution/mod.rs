//! Files of solutions of any problem: routes as `.sol` (CVRPLIB), everything else as TSPLIB tours;
//! any of them as JSON.

mod json;

use std::path::Path;

use super::{Instance, sol, tour};
use crate::Result;
use crate::routes::instance::visits_of;

/// A solution as a file gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Nodes in the order visited, the depot (node 0) between routes; see [`Instance::value`].
    pub solution: Vec<usize>,
    /// The cost that the file says, which may be wrong.
    pub stated_cost: Option<f64>,
}

/// The ending of a solution's file: `sol` for vehicle routing, else `tour`.
#[must_use]
pub fn extension(instance: &Instance) -> &'static str {
    if matches!(instance, Instance::Cvrp(_)) { "sol" } else { "tour" }
}

/// Reads a solution of `instance`, from a name ending in `.json` as `regard solve` writes it there; whether it obeys the rules is for [`Instance::check`] to say.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be read, and
/// [`Error::Parse`](crate::Error::Parse) when it is malformed or names unknown nodes.
pub fn read(path: impl AsRef<Path>, instance: &Instance) -> Result<Read> {
    let path = path.as_ref();
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        return json::read(path, instance);
    }
    Ok(match instance {
        Instance::Tsp(tsp) => Read { solution: tour::read(path, tsp)?, stated_cost: None },
        Instance::Cvrp(cvrp) => {
            let sol::Solution { routes, stated_cost } = sol::read(path, cvrp)?;
            Read { solution: routes.join(&0), stated_cost }
        }
        other => Read { solution: tour::visits::read(path, other.sites())?, stated_cost: None },
    })
}

/// Writes a solution, under a temporary name first.
///
/// # Errors
/// [`Error::Infeasible`](crate::Error::Infeasible) when it breaks a rule,
/// [`Error::Io`](crate::Error::Io) when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Instance, solution: &[usize]) -> Result<()> {
    match instance {
        Instance::Tsp(tsp) => tour::write(path, tsp, solution),
        Instance::Cvrp(cvrp) => sol::write(path, cvrp, &instance.routes(solution)),
        Instance::Orienteering(op) => tour::visits::write(path, op, &visits_of(solution)),
        Instance::PrizeCollecting(pctsp) => tour::visits::write(path, pctsp, &visits_of(solution)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::cvrp::Cvrp;
    use crate::routes::orienteering::Orienteering;
    use crate::routes::prize_collecting::PrizeCollecting;
    use crate::routes::tsp::Tsp;

    fn instances() -> Vec<(Instance, Vec<usize>, f64)> {
        let sites = || Tsp::euclidean("square", vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]).unwrap();
        let ones = || vec![0.0, 1.0, 1.0, 1.0];
        let cvrp = Cvrp::new(sites(), ones(), 2.0).unwrap();
        let op = Orienteering::new(sites(), ones(), 4.0).unwrap();
        let pctsp = PrizeCollecting::new(sites(), ones(), ones(), 2.0).unwrap();
        vec![
            (Instance::Tsp(sites()), vec![0, 1, 2, 3], 4.0),
            (Instance::Cvrp(cvrp), vec![3, 0, 1, 2], 2.0 + 2.0 + 2f64.sqrt()),
            (Instance::Orienteering(op), vec![1, 2, 3], 3.0),
            (Instance::PrizeCollecting(pctsp), vec![1, 3], 2.0 + 2f64.sqrt() + 1.0),
        ]
    }

    #[test]
    fn what_was_written_reads_as_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for (instance, solution, value) in instances() {
            let path = folder.path().join("s").with_extension(extension(&instance));
            write(&path, &instance, &solution).unwrap();
            let found = read(&path, &instance).unwrap();
            assert_eq!(found.solution, solution, "{}", instance.problem());
            instance.check(&found.solution).unwrap();
            assert!((instance.value(&solution) - value).abs() < 1e-12, "{}", instance.problem());
        }
    }

    fn json(instance: &Instance, text: &str) -> Result<Read> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        std::fs::write(&path, text).unwrap();
        read(&path, instance)
    }

    #[test]
    fn json_names_nodes_by_their_ids() {
        let all = instances();
        let found = json(&all[0].0, r#"{"instance": "square", "cost": 4, "tour": [2, "1", 4, 3]}"#).unwrap();
        assert_eq!(found, Read { solution: vec![1, 0, 3, 2], stated_cost: Some(4.0) });
        let found = json(&all[1].0, r#"{"routes": [[4], [2, 3]]}"#).unwrap();
        assert_eq!(found, Read { solution: vec![3, 0, 1, 2], stated_cost: None });
        let wrong = [
            ("{", "s.json:1: is no JSON"),
            ("[1]", "holds no JSON object"),
            ("{}", "expected either `tour` or `routes`"),
            (r#"{"tour": [1], "routes": []}"#, "expected either `tour` or `routes`"),
            (r#"{"tour": [9]}"#, "field `tour`: node 9 is not in the instance"),
            (r#"{"tour": 3}"#, "field `tour`: is 3, expected a list"),
            (r#"{"routes": [3]}"#, "field `routes`: is 3, expected a list"),
            (r#"{"routes": 3}"#, "field `routes`: is 3, expected a list of routes"),
            (r#"{"cost": "x", "tour": []}"#, "field `cost`: is \"x\", expected a number"),
        ];
        for (text, expected) in wrong {
            let error = json(&all[0].0, text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn what_breaks_a_rule_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        for (instance, solution, _) in instances() {
            let twice = [&solution[..], &solution[..]].concat();
            let path = folder.path().join("s").with_extension(extension(&instance));
            assert!(matches!(write(&path, &instance, &twice), Err(crate::Error::Infeasible { .. })));
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_gap_is_worse_above_zero_for_costs_and_prizes() {
        let better = |instance: Instance, best| instance.with_best_known(Some(best));
        let gaps: Vec<f64> = instances()
            .into_iter()
            .map(|(instance, solution, value)| {
                let best = if instance.maximises() { 2.0 * value } else { value / 2.0 };
                let instance = better(instance, best);
                instance.gap(instance.value(&solution)).unwrap()
            })
            .collect();
        assert_eq!(gaps.iter().map(|gap| gap.signum()).collect::<Vec<_>>(), [1.0; 4], "{gaps:?}");
    }
}
