use std::path::Path;

use super::*;
use crate::formats::csv::{self, TableOptions, parse_instance};
use crate::formats::suite::reader_suite;
use crate::formats::{read_instance, tsplib};
use crate::{Instance, Result, SolverInstance};

fn read_vrplib(text: &str) -> Result<Cvrptw> {
    tsplib::parse(text, Path::new("t.vrp"))
}

fn read_solomon(text: &str) -> Result<Cvrptw> {
    solomon::read(text, Path::new("c.txt"))
}

fn read_csv(text: &str) -> Result<Cvrptw> {
    let (instance, _) = parse_instance(text, Path::new("places.csv"), &TableOptions::default())?;
    instance.downcast_ref().cloned().ok_or_else(|| crate::Error::invalid("problem", instance.problem()))
}

/// A file of Solomon's with these rows.
macro_rules! solomon {
    ($fleet:literal, $rows:literal) => {
        concat!(
            "C1\n\nVEHICLE\nNUMBER     CAPACITY\n  ",
            $fleet,
            "\n\nCUSTOMER\nCUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME\n \n",
            $rows
        )
    };
}

const SOLOMON: &str = solomon!("3  200", "0 40 50 0 0 1236 0\n1 45 68 10 912 967 90\n2 45 70 30 825 870 90\n");
const VRPLIB: &str = "NAME : t\nTYPE : VRPTW\nDIMENSION : 3\nVEHICLES : 2\nCAPACITY : 20\nSERVICE_TIME : 9\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1 1\n3 3 4\nDEMAND_SECTION\n1 0\n2 5\n3 10\nTIME_WINDOW_SECTION\n1 0 100\n2 10 20\n3 5 60\nDEPOT_SECTION\n1\n-1\nEOF\n";
const SECTION: &str = "TYPE : CVRPTW\nDIMENSION : 3\nCAPACITY : 20\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_ROW\nEDGE_WEIGHT_SECTION\n 5\n 6 7\nDEMAND_SECTION\n1 3\n2 0\n3 4\nTIME_WINDOW_SECTION\n2 1 100\n1 10 20\n3 5 60\nSERVICE_TIME_SECTION\n3 4\n2 0\n1 2\nDEPOT_SECTION\n2\n-1\nEOF\n";

/// A VRPLIB file of two nodes with these rows after the demands.
macro_rules! two {
    ($keywords:literal, $rows:literal) => {
        concat!(
            "TYPE: VRPTW\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 9\n",
            $keywords,
            "\nNODE_COORD_SECTION\n1 0 0\n2 3 4\nDEMAND_SECTION\n1 0\n2 1\nDEPOT_SECTION\n1\n-1\n",
            $rows,
            "\n"
        )
    };
}

reader_suite! {
    laws_of_vrplib,
    parse: read_vrplib,
    render: tsplib::render,
    valid: [VRPLIB, SECTION],
    malformed: [
        ("", &["t.vrp: has no EDGE_WEIGHT_TYPE"][..]),
        ("TYPE: CVRP\n", &["t.vrp:1: field `TYPE`: CVRP (vehicle routing) is not VRPTW, expected VRPTW"]),
        (two!("COMMENT: c", "\n"), &["t.vrp: has no TIME_WINDOW_SECTION, which VRPTW needs"]),
        (two!("VEHICLES: 2.7", "TIME_WINDOW_SECTION\n1 0 9\n2 1 9"), &["t.vrp:5: field `VEHICLES`: found `2.7`, expected a whole number of at least 1"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 9\n2 1"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: found `2 1`, expected `id begin end`"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 9\n2 x 5"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: node 2: found `x`, expected a number"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 9\n2 -1 5"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: node 2: found -1, expected a begin of 0 or more"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 9"), &["t.vrp:16: field `TIME_WINDOW_SECTION`: ends without node 2 (1 of 2 nodes given)"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 90\n2 8 7"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: the window of node 2 ends at 7, before it begins at 8"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 90\n2 0 4"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: the window of node 2 ends at 4, and a vehicle straight from the depot is there at 5"]),
        (two!("SERVICE_TIME: 1", "TIME_WINDOW_SECTION\n1 0 13\n2 8 9"), &["t.vrp:17: field `TIME_WINDOW_SECTION`: the window of node 2 begins at 8: a vehicle is back at 14, and the depot closes at 13"]),
        (two!("COMMENT: c", "TIME_WINDOW_SECTION\n1 0 90\n2 0 9\nSERVICE_TIME_SECTION\n1 3\n2 1"), &["t.vrp:19: field `SERVICE_TIME_SECTION`: found 3 for the depot, expected 0"]),
        (two!("VEHICLES: 0", "TIME_WINDOW_SECTION\n1 0 90\n2 0 9"), &["t.vrp:5: field `VEHICLES`: found `0`, expected a whole number of at least 1"]),
        (two!("CAPACITY: 1", "TIME_WINDOW_SECTION\n1 0 90\n2 0 9"), &["field `CAPACITY`: is given a second time"]),
        (two!("DISTANCE: 100", "TIME_WINDOW_SECTION\n1 0 90\n2 0 9"), &["t.vrp:5: field `DISTANCE`: a limit on the length of routes is not supported", "remove the line"]),
        (two!("SERVICE_TIME: 1", "TIME_WINDOW_SECTION\n1 0 90\n2 0 9\nSERVICE_TIME_SECTION\n1 0\n2 1"), &["t.vrp:5: field `SERVICE_TIME`: is given beside SERVICE_TIME_SECTION"]),
        (two!("COMMENT: c", "NODE_SCORE_SECTION\n1 0"), &["scores belong to orienteering, expected VRPTW"]),
    ],
}

reader_suite! {
    laws_of_solomons_format,
    parse: read_solomon,
    render: solomon::render,
    valid: [SOLOMON],
    malformed: [
        ("", &["c.txt: ends before the line that begins with VEHICLE"][..]),
        ("2 200 1\n0 4 5 0 0 12 0 0 0\n1 4 6 -1 9 9 9 2 0\n", &["c.txt:1: pickup and delivery with time windows", "without time windows"]),
        ("C1\nCUSTOMER\n", &["c.txt:2: found `CUSTOMER`, expected a line that begins with VEHICLE"]),
        ("C1\nVEHICLE\nNUMBER CAPACITY\n", &["field `CAPACITY`: ends before the number of vehicles"]),
        ("C1\nVEHICLE\nNUMBER CAPACITY\n25\n", &["c.txt:4: found 1 numbers, expected 2", "NUMBER, CAPACITY"]),
        ("C1\nVEHICLE\nNUMBER CAPACITY\n0 200\n", &["c.txt:4: field `NUMBER`: found 0, expected a whole number of at least 1"]),
        ("C1\nVEHICLE\nNUMBER CAPACITY\n5 0\n", &["c.txt:4: field `CAPACITY`: found 0, expected a number above 0"]),
        ("C1\nVEHICLE\nNUMBER CAPACITY\n5 nan\n", &["c.txt:4: field `CAPACITY`: found `nan`, expected a number"]),
        (solomon!("3 200", ""), &["has no rows below its header", "each line has CUST NO., XCOORD."]),
        (solomon!("3 200", "0 40 50 0 0 1236\n"), &["c.txt:10: found 6 numbers, expected 7", "SERVICE TIME"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n1 45 x 10 912 967 90\n"), &["c.txt:11: field `YCOORD.`: found `x`, expected a number"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n1 45 68 -1 912 967 90\n"), &["c.txt:11: field `DEMAND`: found -1, expected a number of 0 or more"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n1 45 68 201 912 967 90\n"), &["c.txt:11: field `DEMAND`: node 1 has demand 201, which is above the capacity (200)"]),
        (solomon!("3 200", "0 40 50 7 0 1236 0\n"), &["c.txt:10: field `DEMAND`: node 0 is the depot and has demand 7, expected 0"]),
        (solomon!("3 200", "0 40 50 0 0 1236 5\n"), &["c.txt:10: field `SERVICE TIME`: found 5 for the depot, expected 0"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n0 45 68 10 912 967 90\n"), &["c.txt:11: field `CUST NO.`: node 0 occurs a second time, first on line 10"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n1 45 68 10 912 911 90\n"), &["c.txt:11: field `DUE DATE`: the window of node 1 ends at 911, before it begins at 912"]),
        (solomon!("3 200", "0 40 50 0 0 1236 0\n1 45 68 10 0 18 90\n"), &["c.txt:11: field `DUE DATE`: the window of node 1 ends at 18, and a vehicle straight from the depot is there at 18.6"]),
        (solomon!("3 200", "0 40 50 0 0 1000 0\n1 45 68 10 912 967 90\n"), &["c.txt:11: field `READY TIME`: the window of node 1 begins at 912: a vehicle is back at 1020.6"]),
    ],
}

reader_suite! {
    laws_of_tables,
    parse: read_csv,
    render: csv::render,
    valid: [
        "# capacity: 5\n# vehicles: 2\nid,x,y,demand,ready,due,service\nd,0,0,,,,\na,3,4,2,8,9.5,1\nb,0,1,2,,,2\n",
        "# capacity: 5\n# speed: 30\nid,lat,lon,depot,demand,due\na,50,8,,2,90\nd,50.1,8,1,0,600\nb,50.2,8,,1,\n",
    ],
    malformed: [
        ("x,y,demand,due\n0,0,0,9\n", &["places.csv: has no capacity, which vehicle routing with time windows needs", "--capacity 100"][..]),
        ("# capacity: 5\nx,y,demand,due\n0,0,0,9\n0,1,1,soon\n", &["places.csv:4: field `due`: found `soon`, expected a number", "a time of day such as 8:30", "--column due="]),
        ("# capacity: 5\nx,y,demand,due\n0,0,0,9\n0,1,1,8:61\n", &["places.csv:4: field `due`: found `8:61`"]),
        ("# capacity: 5\nx,y,demand,due\n0,0,0,9\n0,1,1,-3\n", &["places.csv:4: field `due`: found -3, expected 0 or more"]),
        ("# capacity: 5\nx,y,demand,due\n0,0,0,9\n0,1,6,3\n", &["places.csv:4: field `demand`: found 6, which is above the capacity (5)"]),
        ("# capacity: 5\nx,y,demand,ready_time,due_time\n0,0,0,0,99\n3,4,1,9,8\n", &["places.csv:4: field `due_time`: the window of node 2 ends at 8, before it begins at 9"]),
        ("# capacity: 5\nx,y,demand,depot,due\n3,4,1,0,4\n0,0,0,1,99\n", &["places.csv:3: field `due`: the window of node 1 ends at 4, and a vehicle straight from the depot is there at 5"]),
        ("# capacity: 5\nx,y,demand,due\n0,0,0,18:00\n0,1,1,8:30\n0,2,1,9\n", &["places.csv:5: field `due`: found `9`, expected a time of day such as `18:00` on line 3", "hours or minutes", "`18:00` is read as 1080 minutes"]),
        ("# capacity: 5\nx;y;demand;due\n0;0;0;9\n0;3;1;1,500\n", &["places.csv:4: field `due`: the window of node 2 ends at 1.5", "`1,500` is read as 1.5 (--decimal point changes it)"]),
        ("# capacity: 5\nx,y,demand,service\n0,0,0,5\n0,1,1,3\n", &["places.csv:3: field `service`: found 5 for the depot, expected 0", "--depot"]),
        ("# capacity: 5\n# vehicles: 0\nx,y,demand,due\n0,0,0,9\n", &["field `vehicles`: found `0`, expected a whole number of at least 1"]),
        ("# capacity: 5\n# vehicles: 2.7\nx,y,demand,due\n0,0,0,9\n", &["places.csv:2: field `vehicles`: found `2.7`, expected a whole number of at least 1"]),
    ],
}

#[test]
fn solomons_files_are_known_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["c101.txt", "c101", "c101.csv"] {
        let path = folder.path().join(name);
        std::fs::write(&path, SOLOMON).unwrap();
        let instance = read_instance(&path).unwrap();
        assert_eq!((instance.problem(), instance.sites().name()), ("cvrptw", "C1"));
        let found: &Cvrptw = instance.downcast_ref().unwrap();
        assert_eq!((found.vehicles(), found.routing().capacity()), (Some(3), 200.0));
        // The square root of 349 and of 425, cut.
        assert_eq!(instance.value(&[1, 0, 2]), 78.4);
        assert_eq!(found.windows().due, [1236.0, 967.0, 870.0]);
        assert!(instance.render("txt").unwrap().contains("VEHICLE"));
        assert!(instance.render("vrp").unwrap().contains("TYPE : VRPTW"));
    }
}

#[test]
fn solomons_files_may_have_comments_and_further_titles() {
    for above in ["# from the web\nC1\n", "C1\nhomogeneous fleet, 25 customers\n\n# best: 191.3\n"] {
        let (instance, _) = read_file("c.txt", &SOLOMON.replacen("C1\n", above, 1));
        assert_eq!((instance.problem(), instance.sites().name(), instance.sites().len()), ("cvrptw", "C1", 3));
    }
}

#[test]
fn notes_beside_solomons_files_are_no_instances() {
    let folder = tempfile::tempdir().unwrap();
    let (instance, note) = (folder.path().join("c.txt"), folder.path().join("README.txt"));
    std::fs::write(&instance, SOLOMON).unwrap();
    std::fs::write(&note, "Instances of 1987.\n").unwrap();
    assert!(crate::formats::is_instance_file(&instance) && !crate::formats::is_instance_file(&note));
}

#[test]
fn vrplib_files_say_windows_service_times_and_vehicles() {
    let instance = read_vrplib(VRPLIB).unwrap();
    assert_eq!((instance.vehicles(), instance.sites().distance(0, 1)), (Some(2), 1.4));
    let expected =
        TimeWindows { ready: vec![0.0, 10.0, 5.0], due: vec![100.0, 20.0, 60.0], service: vec![0.0, 9.0, 9.0] };
    assert_eq!(*instance.windows(), expected);
    let instance = read_vrplib(SECTION).unwrap();
    assert_eq!(instance.sites().ids(), ["2", "1", "3"]);
    let expected =
        TimeWindows { ready: vec![1.0, 10.0, 5.0], due: vec![100.0, 20.0, 60.0], service: vec![0.0, 2.0, 4.0] };
    assert_eq!((instance.windows(), instance.vehicles()), (&expected, None));
}

#[test]
fn sections_decide_where_there_is_no_type() {
    let (instance, notes) = read_file("a.vrp", &VRPLIB.replace("TYPE : VRPTW\n", ""));
    assert_eq!((instance.problem(), &notes[..]), ("cvrptw", &[][..]));
    let (_, notes) = read_file("a.vrp", &VRPLIB.replace("VEHICLES : 2\n", "COST_LIMIT : 2\n"));
    assert_eq!(notes, ["line 4: `COST_LIMIT: 2` is not used"]);
}

/// The instance of a file of this name and the notes on it.
fn read_file(name: &str, text: &str) -> (Instance, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let (instance, notes) = crate::formats::read_instance_with(&path, &TableOptions::default()).unwrap();
    (instance, notes.texts().to_vec())
}

#[test]
fn solomons_files_may_have_no_name_and_the_line_ends_of_old_programs() {
    let unnamed = SOLOMON.trim_start_matches("C1");
    for text in [unnamed.to_owned(), unnamed.replace('\n', "\r"), unnamed.trim_start().replace('\n', "\r\n")] {
        let (instance, _) = read_file("c.txt", &text);
        assert_eq!((instance.problem(), instance.sites().name()), ("cvrptw", "c"));
    }
}

#[test]
fn a_speed_that_nothing_gives_is_said() {
    let said = |comment: &str, places: &str, due: &str| {
        let text = format!("# capacity: 5\n{comment}{places},demand,due\n50,8,0,{due}\n50.1,8,1,\n");
        read_file("a.csv", &text).1.into_iter().filter(|note| note.contains("speed")).collect::<Vec<_>>()
    };
    let expected = "no speed is given: a kilometre takes a minute (60 km/h) (`# speed: N` above the header changes it)";
    assert_eq!(said("", "lat,lon", "18:00"), [expected]);
    assert!(said("", "x,y", "18:00")[0].contains("a unit of distance takes a minute"));
    // Kilometres are not the unit of times that are numbers either.
    assert!(said("", "lat,lon", "900")[0].contains("a kilometre takes a unit of time (60 km/h if times are minutes)"));
    assert!(said("# speed: 60\n", "lat,lon", "18:00").is_empty() && said("", "x,y", "900").is_empty());
}

#[test]
fn a_limit_of_vehicles_is_used_and_too_low_a_one_refused() {
    let rows = "id,x,y,demand,due\nd,0,0,0,99\na,1,1,8,50\nb,2,2,8,50\n";
    let (instance, notes) = table(&format!("# capacity: 10\n# vehicles: 2\n# fleet_size: 3\n{rows}"));
    assert_eq!(instance.downcast_ref::<Cvrptw>().unwrap().vehicles(), Some(2));
    assert_eq!(notes, ["line 3: `fleet_size: 3` is not used: did you mean `vehicles: N`?"]);
    let folder = tempfile::tempdir().unwrap();
    for (name, text, place) in [
        ("one.csv", format!("# capacity: 10\n# vehicles: 1\n{rows}"), "one.csv:2: field `vehicles`"),
        (
            "one.txt",
            solomon!("1 10", "0 0 0 0 0 99 0\n1 1 1 8 0 50 0\n2 2 2 8 0 50 0\n").to_owned(),
            "one.txt:5: field `NUMBER`",
        ),
        (
            "one.vrp",
            VRPLIB.replace("VEHICLES : 2", "VEHICLES : 1").replace(": 20", ": 10"),
            "one.vrp:4: field `VEHICLES`",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let said = read_instance(&path).unwrap_err().to_string();
        assert!(said.contains(&format!("{place}: 1 is given, expected at least 2: demands are 1")), "{said}");
    }
}

fn table(text: &str) -> (Instance, Vec<String>) {
    let (instance, notes) = parse_instance(text, Path::new("a.csv"), &TableOptions::default()).unwrap();
    (instance, notes.texts().to_vec())
}

#[test]
fn columns_of_times_choose_the_problem() {
    let problem = |columns: &str| table(&format!("# capacity: 5\nx,y,demand{columns}\n0,0,0\n1,1,1\n")).0.problem();
    assert_eq!(["", ",due", ",ready", ",service", ",due_time,ready_time"].map(problem), {
        ["cvrp", "cvrptw", "cvrptw", "cvrptw", "cvrptw"]
    });
    // Times of other problems are noted.
    let (instance, notes) = table("x,y,due\n0,0,5\n1,1,6\n");
    assert_eq!(instance.problem(), "tsp");
    assert_eq!(notes, ["routes do not keep times: `due` not used; they count with a column `demand` and --capacity"]);
    // A pickup is of another problem, in which times never count.
    let (instance, notes) = table("id,x,y,pickup,ready,due\nd,0,0,,0,9\na,1,1,,0,9\nb,2,1,a,0,9\n");
    assert_eq!(instance.problem(), "pdp");
    assert_eq!(notes, ["routes do not keep times: `ready`, `due` not used"]);
    let (instance, notes) = table("# capacity: 5\nx,y,demand,Zeitfenster\n0,0,0,\n1,1,1,8-9\n");
    assert_eq!(instance.problem(), "cvrp");
    assert!(notes[0].contains("two columns, `ready` and `due`"), "{notes:?}");
}

#[test]
fn times_of_day_are_minutes_and_a_speed_is_by_the_hour() {
    let text = "# capacity: 5\n# speed: 30\n# service_time: 4\nx,y,demand,von,bis\n0,0,0,6:00,18:00\n3,4,1,8:30,08:45:30\n0,1,1,,\n";
    let (instance, notes) = table(text);
    let found: &Cvrptw = instance.downcast_ref().unwrap();
    assert_eq!((found.pace(), &found.windows().service[..]), (2.0, &[0.0, 4.0, 4.0][..]));
    assert_eq!(found.windows().ready, [360.0, 510.0, 0.0]);
    assert_eq!(found.windows().due, [1080.0, 525.5, f64::INFINITY]);
    assert!(notes.iter().any(|note| note == "column `von`: `6:00` is read as 360 minutes"), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("column `bis` is read as `due`")), "{notes:?}");
    // Out 5 units, 10 minutes: the vehicle leaves at 8:20.
    let route = &crate::Itinerary::of(&instance, &[1, 2]).routes[0];
    assert_eq!(route.stops.iter().map(|stop| stop.arrival).collect::<Vec<_>>()[..2], [500.0, 510.0]);
    let stops = crate::formats::solution::render_stops(&instance, &[1, 2]).unwrap();
    assert_eq!(stops.lines().nth(1).unwrap(), "1,0,1,0,0,0,8:20,0,2,10.242641");
}

#[test]
fn hints_on_windows_speak_of_times_of_day_where_there_are_some() {
    let hint = |[ready, due]: [&str; 2]| {
        let text = format!("# capacity: 5\nx,y,demand,ready,due\n0,0,0,,\n1,1,1,{ready},{due}\n");
        let error = parse_instance(&text, Path::new("a.csv"), &TableOptions::default()).unwrap_err();
        assert!(error.to_string().contains("the window of node 2"), "{error}");
        error.hint().unwrap_or_default().to_owned()
    };
    assert_eq!(hint(["9", "8"]), "");
    assert!(hint(["9:00", "8:00"]).starts_with("times of day are minutes"), "{}", hint(["9:00", "8:00"]));
}

#[test]
fn what_a_format_cannot_say_is_not_written() {
    let open = read_csv("# capacity: 5\nx,y,demand,due\n0,0,0,\n1,1,1,6\n").unwrap();
    for said in [tsplib::render(&open).unwrap_err(), solomon::render(&open).unwrap_err()] {
        assert!(said.to_string().contains("write CSV"), "{said}");
    }
    let solomon = read_solomon(SOLOMON).unwrap();
    assert!(csv::render(&solomon).unwrap_err().to_string().contains("euclidean-tenths"));
    let vrplib = tsplib::render(&solomon).unwrap();
    let again = read_vrplib(&vrplib).unwrap();
    assert_eq!(again.windows(), solomon.windows());
    assert_eq!(SolverInstance::value(&again, &[1, 2]), SolverInstance::value(&solomon, &[1, 2]));
}

#[test]
fn solutions_are_written_with_arrival_and_waiting_and_read_again() {
    let instance = Instance::from(read_solomon(SOLOMON).unwrap());
    let solution = [2, 0, 1];
    let folder = tempfile::tempdir().unwrap();
    for name in ["s.sol", "s.csv"] {
        let path = folder.path().join(name);
        crate::formats::solution::write(&path, &instance, &solution).unwrap();
        let again = crate::formats::solution::read(&path, &instance).unwrap();
        assert_eq!(instance.routes(&again.solution), instance.routes(&solution));
    }
    let text = std::fs::read_to_string(folder.path().join("s.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "route,order,id,x,y,demand,arrival,waiting,load,length");
    assert_eq!(lines[1], "1,0,0,40,50,0,804.4,0,30,41.2");
    assert_eq!(lines[2], "1,1,2,45,70,30,825,0,30,41.2");
    assert_eq!(lines[3], "1,2,0,40,50,0,935.6,0,30,41.2");
}

#[test]
fn many_rows_take_time_by_their_number() {
    let rows: String = (0..60_000).map(|row| format!("{row} {row} 0 0 0 1e8 0\n")).collect();
    let text = SOLOMON.split_once("0 40 50").map(|(head, _)| format!("{head}{rows}")).unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(read_solomon(&text).unwrap().sites().len(), 60_000);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
