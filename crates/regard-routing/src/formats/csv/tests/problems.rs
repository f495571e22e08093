//! Files with demands, prizes and penalties.

use super::*;
use crate::problems::{cvrp::Cvrp, op::Op, sdvrp::Sdvrp, spctsp::Spctsp};

fn of<I: SolverInstance>(text: &str) -> I {
    read(text).unwrap().downcast_ref::<I>().unwrap().clone()
}

fn render(instance: &Instance) -> Result<String> {
    instance.render(ENDING)
}

fn read(text: &str) -> Result<Instance> {
    parse_instance(text, Path::new("cities.csv"), &TableOptions::default()).map(|(instance, _)| instance)
}

const ROUTES: &str =
    "# made up\n# capacity: 10\n# Max Length = 30\n# service_time: 2\nid,x,y,demand\nd,0,0,\na,3,0,4\nb,3,4,10\n";
const SPLIT: &str = "# split: yes\n# capacity: 10\nlat;lon;demand;depot\n1;2;25;0\n1;3;0;1\n";
const PRIZES: &str = "# max_length: 8\nid,x,y,prize\nd,0,0,1\na,3,0,4\n";
const PENALTIES: &str =
    "# required_prize: 1\nid,x,y,prize,penalty,real_prize\nd,0,0,,,\na,3,0,0.5,2,0.25\nb,3,4,0.75,1,1\n";

reader_suite! {
    laws,
    parse: read,
    render: render,
    valid: [ROUTES, SPLIT, PRIZES, PENALTIES, "x,y\n1,2\n"],
    malformed: [
        ("", &["cities.csv: is empty"][..]),
        ("x,demand\n1,2\n", &["found the columns `x,demand`, expected `id,x,y`"]),
        ("x,y,demand\n0,0,0\n1,1,1\n", &["cities.csv: has no capacity, which vehicle routing needs", "`--capacity 100`", "`# capacity: 100`"]),
        ("x,y,prize\n0,0,0\n1,1,1\n", &["has no max_length, which orienteering needs", "`# max_length: 40`"]),
        ("x,y,prize,penalty\n0,0,0,0\n", &["has no required_prize, which prize collecting needs"]),
        ("# capacity: much\nx,y,demand\n0,0,0\n", &["cities.csv:1: field `capacity`: found `much`, expected a number above 0"]),
        ("# capacity: 0\nx,y,demand\n0,0,0\n", &["field `capacity`: found `0`"]),
        ("# capacity: 5\n# capacity: 6\nx,y,demand\n0,0,0\n", &["cities.csv:2: field `capacity`: is given a second time"]),
        ("# capacity: 1\n# split: yes\nx,y,demand\n0,0,0\n1,1,3e8\n", &["cities.csv:5: field `demand`: found 300000000 with the capacity 1 takes more than 1000000 routes"]),
        ("# capacity: 5\n# split: perhaps\nx,y,demand\n0,0,0\n", &["cities.csv:2: field `split`: found `perhaps`, expected yes or no"]),
        ("# required_prize: -1\nx,y,prize,penalty\n0,0,0,0\n", &["field `required_prize`: found `-1`, expected a number, 0 or more"]),
        ("# capacity: 5\nx,y,demand\n0,0,0\n1,1,6\n", &["cities.csv:4: field `demand`: found 6, which is above the capacity (5)"]),
        ("# capacity: 5\nx,y,demand\n0,0,0\n1,1,-1\n", &["cities.csv:4: field `demand`: found -1, expected 0 or more"]),
        ("# capacity: 5\nx,y,demand\n0,0,2\n1,1,1\n", &["cities.csv:3: field `demand`: found 2 for the depot, expected 0"]),
        ("# capacity: 5\nx,y,demand\n0,0,0\n1,1,\n", &["cities.csv:4: field `demand`: is missing, expected a number"]),
        ("# capacity: 5\nx,y,demand\n0,0,0\n1,1,nan\n", &["cities.csv:4: field `demand`: found `nan`, expected a number"]),
        ("# capacity: 5\nx,y,demand\n0,0,0\n1,inf,1\n", &["cities.csv:4: field `y`: found `inf`"]),
        ("# capacity: 5\nx,y,demand\n", &["cities.csv: has no rows below its header"]),
        ("# capacity: 5\nx,y,demand,demand\n0,0,0,0\n", &["cities.csv:2: column `demand` occurs twice"]),
        ("# capacity: 5\nx,y,demand,prize\n0,0,0,0\n", &["cities.csv:2: has the columns `demand`, `prize`; no problem has this combination", "orienteering (op): prize;"]),
        ("x,y,penalty\n0,0,0\n", &["has the columns `penalty`; no problem has this combination", "prize collecting (pctsp): prize, penalty"]),
        ("x,y,real_prize,prize\n0,0,0,0\n", &["has the columns `prize`, `real_prize`; no problem has this combination"]),
        ("# capacity: 5\nx,y,demand,depot\n0,0,0,0\n", &["cities.csv:2: field `depot`: marks no row with 1"]),
        ("# capacity: 5\nx,y,demand,depot\n0,0,0,1\n1,1,0,1\n", &["cities.csv:4: field `depot`: marks a second depot, the first is on line 3", "several depots"]),
        ("# capacity: 5\nx,y,demand,depot\n0,0,0,here\n", &["cities.csv:3: field `depot`: found `here`, expected 1 for the depot, else 0"]),
    ],
}

#[test]
fn demands_make_it_vehicle_routing() {
    let instance: Cvrp = of(ROUTES);
    assert_eq!((instance.demands(), instance.capacity()), (&[0.0, 4.0, 10.0][..], 10.0));
    assert_eq!((instance.limit(), instance.service()), (Some(30.0), 2.0));
    assert_eq!((instance.sites().comment(), instance.sites().name()), ("made up", "cities"));
    assert_eq!(instance.cost(&[vec![1], vec![2]]), 16.0);
}

#[test]
fn a_column_may_mark_the_depot() {
    let split: Sdvrp = of(SPLIT);
    let instance = split.routing();
    assert_eq!((instance.sites().ids(), instance.demands()), (&["2", "1"].map(String::from)[..], &[0.0, 25.0][..]));
    assert_eq!(instance.sites().unit(), "km");
}

#[test]
fn prizes_make_it_orienteering_and_with_penalties_prize_collecting() {
    let instance: Op = of(PRIZES);
    assert_eq!((instance.prizes(), instance.max_length()), (&[1.0, 4.0][..], 8.0));
    let stochastic: Spctsp = of(PENALTIES);
    let instance = stochastic.expected();
    assert_eq!((instance.prizes(), instance.penalties()), (&[0.0, 0.5, 0.75][..], &[0.0, 2.0, 1.0][..]));
    assert_eq!((instance.required(), stochastic.real_prizes()), (1.0, &[0.0, 0.25, 1.0][..]));
}

#[test]
fn the_caller_outranks_the_comments() {
    let values = Options::default().with("capacity", Some(20.0)).with("max_length", None);
    let options = TableOptions { values, ..TableOptions::default() };
    let (instance, _) = parse_instance(ROUTES, Path::new("a.csv"), &options).unwrap();
    assert_eq!(instance.downcast_ref::<Cvrp>().unwrap().capacity(), 20.0);
}

#[test]
fn comments_that_look_like_options_stay_comments() {
    let sites = read("x,y\n0,0\n1,1\n").unwrap().sites().clone().with_comment("Capacity: much");
    let instance = Cvrp::new(sites, vec![0.0, 3.0], 5.0).unwrap();
    let again = read(&render(&instance.into()).unwrap()).unwrap();
    assert_eq!((again.problem(), again.sites().comment()), ("cvrp", "note: Capacity: much"));
}

#[test]
fn the_reader_of_the_tsp_ignores_these_columns() {
    assert_eq!(super::read(ROUTES).unwrap().len(), 3);
    let text = "# capacity: much\nx,y,depot\n1,2,?\n";
    let (instance, notes) = parse_instance(text, Path::new("a.csv"), &TableOptions::default()).unwrap();
    assert_eq!(instance.problem(), "tsp");
    assert_eq!(notes.texts().len(), 2, "{notes:?}");
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cities.csv");
    write(&path, &of::<Spctsp>(PENALTIES)).unwrap();
    assert_eq!(crate::formats::read_instance(&path).unwrap().problem(), "spctsp");
}
