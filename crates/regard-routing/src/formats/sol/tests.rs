use super::super::suite::reader_suite;
use super::*;
use crate::formats::solution;
use crate::problems::cvrp::Cvrp;

fn five() -> Cvrp {
    let sites = Sites::euclidean("five", (0..6).map(|i| [f64::from(i), 0.0]).collect()).unwrap();
    Cvrp::new(sites, vec![0.0, 1.0, 1.0, 1.0, 1.0, 1.0], 3.0).unwrap()
}

fn written(routes: &[Vec<usize>]) -> Result<String> {
    solution::render(&five().into(), &routes.join(&0))
}

fn read_text(text: &str) -> Result<Solution> {
    parse(text, Path::new("a.sol"), five().sites())
}

const FULL: &str = "Route #1: 5 1 2\nRoute #2: 3 4\nCost 20\n";
const LOOSE: &str = "Instance: five\nroute 1 : 5 1\n\nROUTE #2:\nRoute #3: 3 4 2\ncost: 20.0\nTime: 0.1 s\n";

reader_suite! {
    laws,
    parse: read_text,
    render: |solution: &Solution| written(&solution.routes),
    valid: [FULL, LOOSE],
    malformed: [
        ("", &["a.sol: has no routes", "`Route #1: 5 12 3`"][..]),
        ("Cost 5\n", &["has no routes"]),
        ("\u{0}\u{1}PNG\n", &["a.sol:1: found `", "expected `Route #1: ...` or `Cost ...`"]),
        ("1 2 3\n", &["a.sol:1: found `1 2 3`"]),
        ("Rout #1: 1 2\n", &["a.sol:1: found `Rout #1: 1 2`"]),
        ("Route #1 1 2\n", &["a.sol:1: field `Route`: found `#1 1 2`, expected `#1: customers`"]),
        ("Route #a: 1 2\n", &["field `Route`: found `a`, expected the number of a route"]),
        ("Route #1: 1\nRoute #2: 2 6\n", &["a.sol:2: field `Route`: found `6`, expected a customer of five, 1 to 5", "counted from 1"]),
        ("Route #1: 0 1 0\n", &["found `0`, expected a customer"]),
        ("Route #1: -1\n", &["found `-1`"]),
        ("Route #1: 1.5\n", &["found `1.5`"]),
        ("Route #1: 99999999999999999999\n", &["found `99999999999999999999`"]),
        ("Route #1: 1\nCost many\n", &["a.sol:2: field `Cost`: found `many`, expected a number"]),
        ("Route #1: 1\nCost nan\n", &["field `Cost`: found `nan`"]),
        ("Route #1: 1\nCost 1e999\n", &["field `Cost`: found `1e999`"]),
        ("Cost 5\nRoute #1: 1\nCost 5\n", &["a.sol:3: field `Cost`: occurs a second time, first on line 1"]),
    ],
}

#[test]
fn the_stated_cost_is_reported_and_not_checked() {
    let solution = read_text(&FULL.replace("20", "17.5")).unwrap();
    assert_eq!(solution.stated_cost, Some(17.5));
    assert_eq!(five().cost(&solution.routes), 20.0);
    assert_eq!(read_text("Route #1: 1\n").unwrap().stated_cost, None);
}

#[test]
fn what_is_read_may_break_rules_and_the_checker_says_so() {
    let solution = read_text("Route #1: 1 2\nRoute #2: 2\n").unwrap();
    let error = five().check(&solution.routes).unwrap_err().to_string();
    assert!(error.contains("node 3 is visited twice, in route 1 and route 2"), "{error}");
    assert!(matches!(written(&solution.routes), Err(Error::Infeasible { .. })));
}

#[test]
fn empty_routes_are_left_out_and_cost_follows() {
    assert_eq!(written(&[vec![], vec![5, 1, 2], vec![3, 4]]).unwrap(), FULL);
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sol");
    let routes = vec![vec![5, 1, 2], vec![3, 4]];
    solution::write(&path, &five().into(), &routes.join(&0)).unwrap();
    assert_eq!(read(&path, five().sites()).unwrap(), Solution { routes, stated_cost: Some(20.0) });
    assert!(matches!(read(folder.path().join("none.sol"), five().sites()), Err(Error::Io { .. })));
}
