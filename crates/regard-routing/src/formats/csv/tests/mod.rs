use super::*;
use crate::formats::suite::reader_suite;

use crate::problems::tsp::Tsp;

fn read(text: &str) -> Result<Sites> {
    let options = TableOptions::default();
    let mut sheet = Sheet::of(text, Path::new("cities.csv"), &options)?;
    sheet.settle(&options)?;
    Tsp::read_csv(&sheet, &options.values).map(|tsp| tsp.sites().clone())
}

fn render(sites: &Sites) -> Result<String> {
    super::render(&Tsp::from(sites.clone()))
}

const PLANE: &str = "# made up\nid,x,y\na,0,0\n\"b,c\",3,0\n d ,3,4.5e0\n";
const EARTH: &str = "Name;population;Latitude;LNG\nQuito;5;-0.18;-78.47\nSuva;6;-18.14;178.44\n";
const TABS: &str = "y\tx\n1\t2\n";

reader_suite! {
    laws,
    parse: read,
    render: render,
    valid: [PLANE, EARTH, TABS],
    malformed: [
        ("", &["cities.csv: is empty, expected a header such as `id,x,y` or `id,lat,lon`"][..]),
        ("# capacity: 5\n", &["cities.csv: has only comments, expected a header"]),
        ("1,2.5,3.5\n2,1,1\n", &["cities.csv:1: found the columns `1,2.5,3.5`"]),
        ("id,x\n1,2\n", &["expected `id,x,y`"]),
        ("id,lat,y\n1,2,3\n", &["found the columns `id,lat,y`"]),
        ("x,y,lat,lon\n1,2,3,4\n", &["both x, y and latitude, longitude"]),
        ("x,y,X\n1,2,3\n", &["column `x` occurs twice"]),
        ("id,x,y\n", &["cities.csv: has no rows below its header, expected at least one node"]),
        ("# note\n\nid,x,y\n1,0,0\n\n2,abc,0\n", &["cities.csv:6: field `x`: found `abc`, expected a number"]),
        ("id,x,y\n1,0,0\n2,1\n", &["cities.csv:3: field `y`: is missing, expected a number"]),
        ("id,x,y\n1,,0\n", &["cities.csv:2: field `x`: is missing"]),
        ("id,x,y\n1,NaN,0\n", &["field `x`: found `NaN`"]),
        ("id,x,y\n1,0,inf\n", &["field `y`: found `inf`"]),
        ("id,x,y\n1,0,1e200\n", &["field `y`: found `1e200`"]),
        ("x,y\n0,5,1,5\n", &["cities.csv:2: has 4 fields, the header has 2; `1` is too much", "another separator"]),
        ("id;x;y\n1;0,5;1\n2;0.5;1\n", &["cities.csv:2: field `x`: found `0,5`, expected a number", "`--decimal comma`"]),
        ("id,x,y\n1,0,0\n2,1,1\n1,2,2\n", &["cities.csv:4: field `id`: `1` occurs a second time, first on line 2"]),
        ("id,x,y\n ,0,0\n", &["cities.csv:2: field `id`: is empty"]),
        ("lat,lon\n95,100\n", &["field `lat`: found 95, expected degrees from -90 to 90"]),
        ("Lat,Lon\n139.7,35.6\n", &["field `Lat`: found 139.7", "`--column lat=Lon --column lon=Lat` swaps latitude and"]),
        ("latitude,longitude\n0,-181\n", &["field `longitude`: found -181, expected degrees"]),
    ],
}

#[test]
fn columns_are_found_by_name_in_any_order_and_case() {
    let instance = read("Y,extra,X,City\n2,?,1,Ulm\n").unwrap();
    assert_eq!((instance.coordinates()[0], &*instance.ids()[0]), ([1.0, 2.0, 0.0], "Ulm"));
    assert_eq!((instance.name(), instance.metric_name()), ("cities", "euclidean"));
    // A town of many rows names none of them.
    let town = |second: &str| read(&format!("id,x,y,city\n1,1,2,Ulm\n2,3,4,{second}\n")).unwrap();
    assert_eq!((town("Bonn").label(1), town("Ulm").label(1)), (Some("Bonn"), None));
    let both = read("name,id,x,y\nUlm,7,1,2\n").unwrap();
    assert_eq!(both.ids(), ["7"]);
}

#[test]
fn a_first_line_may_name_the_separator() {
    let instance = read("sep=;\nid;x;y\nUlm;0,5;1\nBonn;2,5;3\n").unwrap();
    assert_eq!((instance.ids(), instance.coordinates()[1]), (&["Ulm", "Bonn"].map(String::from)[..], [2.5, 3.0, 0.0]));
    let error = read("sep=;\nid;x;y\nUlm;a;1\n").unwrap_err().to_string();
    assert_eq!(error, "cities.csv:3: field `x`: found `a`, expected a number");
}

#[test]
fn rows_without_ids_are_counted() {
    assert_eq!(read("x,y\n1,2\n1,2\n").unwrap().ids(), ["1", "2"]);
}

#[test]
fn comments_above_the_header_are_kept() {
    assert_eq!(read(PLANE).unwrap().comment(), "made up");
    assert_eq!(read(PLANE).unwrap().ids(), ["a", "b,c", "d"]);
}

#[test]
fn great_circle_distances_are_kilometres() {
    let instance = read(EARTH).unwrap();
    assert_eq!((instance.unit(), instance.metric_name()), ("km", "great-circle"));
    assert!((instance.distance(0, 1) - 11_383.182_5).abs() < 0.001, "{}", instance.distance(0, 1));
    // Over the date line, not around the world.
    let east = instance.places();
    assert!((east[0][0] - east[1][0]).abs() < 12_000.0, "{east:?}");
}

#[test]
fn lines_are_counted_over_empty_ones_whatever_ends_them() {
    for end in ["\n", "\r\n"] {
        let text = ["", "# a", "x,y", "", "1,2", "", "", "3,q", ""].join(end);
        let error = read(&text).unwrap_err().to_string();
        assert_eq!(error, "cities.csv:8: field `y`: found `q`, expected a number");
    }
}

#[test]
fn rows_without_any_value_are_skipped() {
    assert_eq!(read("x,y\n1,2\n , \n  \n3,4\n,,,\n").unwrap().len(), 2);
}

#[test]
fn small_sizes_have_their_trivial_tours() {
    for (text, tour, cost) in
        [("x,y\n1,1\n", &[0][..], 0.0), ("x,y\n0,0\n3,4\n", &[1, 0], 10.0), ("x,y\n0,0\n3,4\n3,4\n", &[2, 0, 1], 10.0)]
    {
        let instance = read(text).unwrap();
        crate::check::tour(instance.ids(), tour).unwrap();
        assert_eq!(instance.tour_length(tour), cost);
    }
}

#[test]
fn other_metrics_are_not_written() {
    let instance = Sites::new("a", Metric::Geo, vec![[1.0, 2.0, 0.0]]).unwrap();
    assert!(render(&instance).unwrap_err().to_string().contains("write TSPLIB"));
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cities.csv");
    write(&path, &Tsp::from(read(PLANE).unwrap())).unwrap();
    assert_eq!(crate::formats::read_instance(&path).unwrap().sites().ids(), ["a", "b,c", "d"]);
}

mod people;
mod problems;
