use super::*;

#[test]
fn generated_sets_read_as_the_same() {
    use crate::generate::{GeneratedSet, GeneratorConfig, Prizes};
    use crate::registry::{ProblemVisitor, with_problem};

    struct RoundTrip(GeneratorConfig);
    impl ProblemVisitor for RoundTrip {
        type Output = ();

        fn run<I: SolverInstance>(self) {
            let drawn = I::Problem::draw(&self.0, 7, 3, 6);
            let values = |all: &[I::Problem]| -> Vec<_> {
                all.iter()
                    .map(|problem| (problem.points().to_vec(), problem.set_values(), problem.features()))
                    .collect()
            };
            for ending in ENDINGS {
                let bytes = render(&drawn, ending).unwrap();
                let set = parse(&bytes, format!("set.{ending}").as_ref()).unwrap();
                assert!(set.problems().contains(&I::Problem::NAME), "{ending}");
                assert_eq!(
                    values(&set.instances::<I::Problem>().unwrap()),
                    values(&drawn),
                    "{} {ending}",
                    I::Problem::NAME
                );
            }
        }
    }
    for name in crate::registry::NAMES {
        for prizes in Prizes::ALL {
            let config = GeneratorConfig { prizes, ..GeneratorConfig::default() };
            with_problem(name, RoundTrip(config)).unwrap();
        }
        let set = GeneratedSet::random(name, &GeneratorConfig::default(), 1, 2, 5).unwrap();
        assert!(set.render("csv").unwrap_err().to_string().contains("expected .pkl or .npz"));
    }
}
use crate::problems::cvrp::CvrpEnv;
use crate::problems::op::OpEnv;
use crate::problems::pctsp::PctspEnv;
use crate::problems::spctsp::SpctspEnv;
use crate::problems::tsp::TspEnv;

mod arrays;
mod hostile;
mod written;
mod written_arrays;

fn read(pickle: &[u8]) -> Result<InstanceSet> {
    parse(pickle, "set.pkl".as_ref())
}

fn said(pickle: &[u8]) -> String {
    let error = read(pickle).map(|set| panic!("read as {set:?}")).unwrap_err();
    assert!(matches!(error, Error::Parse { .. }), "{error:?}");
    let (text, hint) = (error.to_string(), error.hint().unwrap_or(""));
    assert_eq!(text.lines().count(), 1, "{text}");
    format!("{text} | {hint}")
}

/// A list of protocol 0.
fn list(items: &[&str]) -> String {
    format!("({}l", items.concat())
}

fn tuple(items: &[&str]) -> String {
    format!("({}t", items.concat())
}

/// A list of numbers, those with a point being floats.
fn numbers(values: &str) -> String {
    list(&values.split_whitespace().map(number).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
}

fn number(value: &str) -> String {
    let integer = value.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if integer { format!("I{value}\n") } else { format!("F{value}\n") }
}

/// A set of one instance of four parts with two customers.
fn four(values: &str, bound: &str) -> Vec<u8> {
    let locs = list(&[&numbers(".1 .2"), &numbers(".3 .4")]);
    let instance = tuple(&[&numbers(".5 .5"), &locs, &numbers(values), &number(bound)]);
    (list(&[&instance]) + ".").into_bytes()
}

fn two_points() -> Vec<[f32; 2]> {
    vec![[0.25, 0.5], [0.75, 1.0]]
}

#[test]
fn travelling_salesman_sets_of_every_protocol() {
    for pickle in written::TSP {
        let expected = [two_points(), vec![[0.0, 0.125], [0.5, 0.5]]].map(TspEnv::new);
        let set = read(pickle).unwrap();
        assert_eq!(set.instances::<TspEnv>().unwrap(), expected);
        assert_eq!((set.len(), set.problems(), set.is_empty()), (2, &["tsp"][..], false));
        assert!(set.instances::<CvrpEnv>().is_err());
    }
}

#[test]
fn vehicle_routing_sets() {
    let first = CvrpEnv::new(vec![[0.5, 0.5], [0.25, 0.5], [0.75, 1.0]], vec![0.0, 3.0, 9.0], 30.0);
    let second = CvrpEnv::new(vec![[0.5, 0.25], [0.0, 0.5], [1.0, 1.0]], vec![0.0, 1.0, 2.0], 30.0);
    for pickle in written::CVRP {
        let set = read(pickle).unwrap();
        assert_eq!(set.instances::<CvrpEnv>().unwrap(), [first.clone(), second.clone()]);
        assert_eq!(set.problems(), ["cvrp", "sdvrp"]);
    }
}

#[test]
fn orienteering_and_prize_collecting_sets() {
    let points = [vec![[0.5, 0.5]], two_points()].concat();
    let orienteering = OpEnv::new(points.clone(), vec![0.0, 0.5, 1.0], 2.0);
    assert_eq!(read(written::ORIENTEERING).unwrap().instances::<OpEnv>().unwrap(), [orienteering]);
    let (penalties, prizes) = (vec![0.0, 0.125, 0.25], vec![0.0, 0.5, 1.0]);
    let set = read(written::PRIZE_COLLECTING).unwrap();
    let known = PctspEnv::new(points.clone(), prizes.clone(), penalties.clone());
    assert_eq!(set.instances::<PctspEnv>().unwrap(), [known]);
    let revealed = SpctspEnv::new(points, prizes, vec![0.0, 0.75, 0.0], penalties);
    assert_eq!(set.instances::<SpctspEnv>().unwrap(), [revealed]);
}

#[test]
fn demands_and_prizes_are_told_apart() {
    for (values, bound, problem) in [
        ("1 1", "30.0", "cvrp"),
        ("3.0 1.0", "30.0", "cvrp"),
        ("1.0 1.0", "2.0", "op"),
        ("0.01 1.0", "2.5", "op"),
        ("1 1", "2.5", "op"),
    ] {
        assert_eq!(read(&four(values, bound)).unwrap().problems()[0], problem, "{values} {bound}");
    }
}

#[test]
fn wrong_numbers_are_refused_with_their_place() {
    for (values, bound, expected) in [
        ("-3 4", "30.0", "set.pkl: field `instance 1`: demand -3 of customer 1, expected an integer of at least 0"),
        ("3 41", "40.0", "demand 41 of customer 2 is above the capacity, 40"),
        ("3.5 4.0", "40.0", "demand 3.5 of customer 1, expected an integer"),
        ("3 4", "0.0", "capacity 0, expected an integer of at least 1"),
        ("3 4", "inf", "capacity inf, expected an integer"),
        ("3 4 5", "40.0", "3 values of demands for 2 customers"),
        ("nan 0.5", "2.0", "prize NaN of customer 1, expected a finite number"),
        ("-0.5 0.5", "2.0", "prize -0.5 of customer 1, expected a finite number of at least 0"),
        ("0.5 0.5", "nan", "maximum length NaN, expected a finite number above 0"),
        ("0.5 0.5", "0.0", "maximum length 0, expected a finite number above 0"),
        ("0.5", "2.0", "1 values of prize for 2 customers"),
    ] {
        let text = said(&four(values, bound));
        assert!(text.contains(expected), "{values} {bound}: {text}");
    }
    for (point, expected) in [
        ("nan .5", "instance 1`: coordinate NaN of node 0, expected 0 to 1"),
        ("0.5 1.25", "coordinate 1.25 of node 0, expected 0 to 1"),
        ("0.5 -0.25", "coordinate -0.25 of node 0"),
        ("0.5", "a point has 1 coordinates, expected 2"),
        ("1e999 0.5", "coordinate inf"),
    ] {
        let pickle = list(&[&list(&[&numbers(point), &numbers(".1 .2")])]) + ".";
        assert!(said(pickle.as_bytes()).contains(expected), "{point}: {}", said(pickle.as_bytes()));
    }
}

#[test]
fn other_shapes_are_refused() {
    let point = numbers(".1 .2");
    let locs = list(&[&point, &point]);
    let one = |parts: &[&str]| list(&[&tuple(parts)]);
    for (pickle, expected) in [
        (number("7"), "set.pkl: found 7, expected a list of instances"),
        (list(&[]), "holds no instances"),
        (numbers("1 2"), "instance 1`: found 1, expected a list of points or a tuple"),
        (locs.clone(), "starts with 0.1, expected a point; a set of one instance is a list of one"),
        (list(&[&list(&[])]), "starts with nothing, expected a point"),
        (one(&[&point, &locs]), "has 2 parts, expected 4 (depot, locs, demand, capacity) or"),
        (one(&[&point, &locs, &point]), "pickup 0.1 of customer 1, expected a node from 0 to 2"),
        (one(&[&point, &locs, &point, &point]), "found a list of 2, expected a number"),
        (one(&[&point, &locs, &number("1"), &number("1")]), "found 1, expected a list of numbers"),
        (one(&[&point, &locs, &point, &point, &number("1.5")]), "found 1.5, expected a list of numbers"),
        (one(&[&locs, &locs, &point, &number("1")]), "found a list of 2, expected a number"),
        (list(&[&list(&[&point, &point]), &tuple(&[&point, &locs, &point, &number("1")])]), "instance 2`: found"),
        (
            list(&[&tuple(&[&point, &locs, &point, &number("1")]), &list(&[&point])]),
            "has 1 parts, expected 4 as the first",
        ),
        (list(&[&list(&[&point]), &list(&[])]), "instance 2`: has an empty list of points"),
    ] {
        let text = said((pickle.clone() + ".").as_bytes());
        assert!(text.contains(expected), "{pickle:?}: {text}");
    }
}

#[test]
fn files_are_read_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.pkl");
    std::fs::write(&path, written::ORIENTEERING).unwrap();
    assert_eq!(super::read(&path).unwrap().problems(), ["op"]);
    std::fs::write(&path, b"PK\x03\x04").unwrap();
    assert!(super::read(&path).unwrap_err().to_string().contains("is not a readable archive"));
    assert!(matches!(super::read(folder.path().join("none.pkl")), Err(Error::Io { .. })));
}

#[test]
fn demands_that_are_no_small_integers_are_kept() {
    use crate::problem::Locations;
    use crate::problems::cvrptw::{CvrptwEnv, TimeWindows};

    let points = || Locations::from(vec![[0.5_f32, 0.5], [0.25, 0.5], [0.75, 1.0]]);
    for (demands, capacity) in [([0.0, 0.25, 1.0], 1.0), ([0.0, 3e9, 7.0], 4e9)] {
        let windows = TimeWindows { ready: vec![0.0; 3], due: vec![9.0; 3], service: vec![0.0; 3] };
        let problem = CvrptwEnv::new(points(), demands.to_vec(), capacity, windows);
        let bytes = render(&[problem], "pkl").unwrap();
        let found = read(&bytes).unwrap().instances::<CvrptwEnv>().unwrap();
        assert_eq!(found[0].demands(), demands);
    }
}
