use std::path::Path;

use super::super::suite::reader_suite;
use super::*;
use crate::problems::tsp::Tsp;

fn read(text: &str) -> Result<Sites> {
    parse::<Tsp>(text, Path::new("t.tsp")).map(|tsp| tsp.sites().clone())
}

fn render(sites: &Sites) -> Result<String> {
    super::render(&Tsp::from(sites.clone()))
}

const PLANE: &str = "NAME : t\nCOMMENT : three (Optimum 12)\nTYPE : TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3.0e+00 0\n3 3 4\nEOF\n";
const SPACE: &str = "NAME: s\nTYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_3D\nNODE_COORD_TYPE: THREED_COORDS\nNODE_COORD_SECTION\n10 0 0 0\n20 1 2 2\n";
const TABLE: &str = "NAME: e\nTYPE: TSP (M.~Hofmeister)\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_DIAG_ROW \nDISPLAY_DATA_TYPE: TWOD_DISPLAY\nEDGE_WEIGHT_SECTION\n 0 5\n 0 6 7 0\nDISPLAY_DATA_SECTION\n3 1 1\n1 0 0\n2 1 0\nEOF\n";
const SINGLE: &str =
    "DIMENSION: 1\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\nEOF\n";
const DIRECTED: &str = "NAME: a\nTYPE: ATSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n 99 1 2\n 3 99 4\n 5 6 99\nEOF\n";

/// A file of three nodes with these lines of specification and rows.
macro_rules! plane {
    ($kind:literal, $rows:literal) => {
        concat!("TYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: ", $kind, "\nNODE_COORD_SECTION\n", $rows, "\nEOF\n")
    };
}
macro_rules! table {
    ($format:literal, $rows:literal) => {
        concat!(
            "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: ",
            $format,
            "\nEDGE_WEIGHT_SECTION\n",
            $rows,
            "\n"
        )
    };
}

reader_suite! {
    laws,
    parse: read,
    render: render,
    valid: [PLANE, SPACE, TABLE, SINGLE, DIRECTED],
    malformed: [
        ("", &["t.tsp: has no EDGE_WEIGHT_TYPE"][..]),
        ("hello\n", &["t.tsp:1: found `hello`, expected `KEYWORD : value`", "starts with NAME"]),
        ("1 2 3\n", &["t.tsp:1: found `1 2 3`"]),
        ("EDGE_WEIGHT_TYPE: EUC_2D\n", &["t.tsp: has no DIMENSION"]),
        ("DIMENSION: 3\n", &["has no EDGE_WEIGHT_TYPE", "expected EXPLICIT, EUC_2D"]),
        ("DIMENSION: three\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["t.tsp:1: field `DIMENSION`: found `three`, expected an integer"]),
        ("DIMENSION: -3\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["found `-3`, expected an integer"]),
        ("DIMENSION: 3.0\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["found `3.0`, expected an integer"]),
        ("DIMENSION:\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["found ``, expected an integer"]),
        ("DIMENSION: 0\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n", &["t.tsp:1: field `DIMENSION`: found 0", "at least one"]),
        ("DIMENSION: 1000000000\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n", &["t.tsp:1: field `DIMENSION`", "1000000000", "the whole file has only 72 bytes"]),
        ("DIMENSION: 99999999999999999999999\nEDGE_WEIGHT_TYPE: GEO\n", &["99999999999999999999999", "only"]),
        ("DIMENSION: 3\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: GEO\n", &["t.tsp:2: field `DIMENSION`: is given a second time, first on line 1"]),
        ("TYPE: CVRP\n", &["CVRP (vehicle routing)", "expected TSP"]),
        ("TYPE: SOP\n", &["SOP"]),
        ("TYPE: HCP\n", &["HCP"]),
        ("TYPE: TOUR\n", &["this is a tour, expected an instance"]),
        ("TYPE: FOO\n", &["found `FOO`, expected TSP"]),
        ("EDGE_WEIGHT_TYPE: XRAY1\n", &["XRAY1 is not supported"]),
        ("EDGE_WEIGHT_TYPE: XRAY2\n", &["XRAY2 is not supported"]),
        ("EDGE_WEIGHT_TYPE: SPECIAL\n", &["field `EDGE_WEIGHT_TYPE`: SPECIAL is not supported"]),
        ("EDGE_WEIGHT_TYPE: EUC_4D\n", &["found `EUC_4D`, expected EXPLICIT, EUC_2D"]),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\n", &["has no EDGE_WEIGHT_FORMAT", "FULL_MATRIX"]),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FUNCTION\n", &["t.tsp:3: field `EDGE_WEIGHT_FORMAT`: found `FUNCTION`, expected one of FULL_MATRIX"]),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_TYPE: ROUND\n", &["t.tsp:3: field `NODE_COORD_TYPE`: found `ROUND`"]),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["has no NODE_COORD_SECTION, which EDGE_WEIGHT_TYPE EUC_2D needs"]),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n", &["has no EDGE_WEIGHT_SECTION, which EDGE_WEIGHT_TYPE EXPLICIT needs"]),
        (plane!("EUC_2D", "1 0 0\n2 3"), &["t.tsp:6: node 2 has 1 coordinate, expected 2", "NODE_COORD_SECTION requires `id x y` on each line"]),
        (plane!("EUC_2D", "1 0 0 0"), &["t.tsp:5: node 1 has 3 coordinates, expected 2"]),
        (plane!("EUC_3D", "1 0 0"), &["node 1 has 2 coordinates, expected 3", "`id x y z`"]),
        (plane!("EUC_2D", "1 0 0\n2 abc 1"), &["t.tsp:6: field `x`: node 2: found `abc`, expected a number"]),
        (plane!("EUC_2D", "1 0 nan"), &["field `y`: node 1: found `nan`"]),
        (plane!("EUC_2D", "1 inf 0"), &["found `inf`, expected a number"]),
        (plane!("EUC_2D", "1 1e300 0"), &["found `1e300`, expected a number"]),
        (plane!("EUC_2D", "a 0 0"), &["t.tsp:5: found `a`, expected an integer as node id"]),
        (plane!("EUC_2D", "1 0 0\n2 1 1\n1 2 2"), &["t.tsp:7: node 1 occurs a second time, first on line 5"]),
        (plane!("EUC_2D", "1 0 0\n2 1 1"), &["t.tsp:6: field `NODE_COORD_SECTION`: ends after 2 nodes, DIMENSION is 3"]),
        (plane!("EUC_2D", "1 0 0\n2 1 1\n3 2 2\n4 3 3"), &["t.tsp:8: field `NODE_COORD_SECTION`: more rows than DIMENSION, which is 3"]),
        (plane!("EUC_2D", "1 0 0\nNODE_COORD_SECTION\n"), &["t.tsp:6: field `NODE_COORD_SECTION`: occurs a second time, first on line 4"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nFIXED_EDGES_SECTION\n1 2\n-1"), &["t.tsp:8: field `FIXED_EDGES_SECTION`", "not supported"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nDEPOT_SECTION\n1\n-1"), &["field `DEPOT_SECTION`", "vehicle routing"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nTOUR_SECTION\n1\n-1"), &["field `TOUR_SECTION`: this is a tour"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nEDGE_DATA_SECTION\n1 2"), &["field `EDGE_DATA_SECTION`"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nFOO_SECTION\n1 2"), &["field `FOO_SECTION`: this section is not known"]),
        (plane!("EUC_2D", "1 0 0\n2 0 0\n3 0 0\nEDGE_WEIGHT_SECTION\n1 2 3"), &["weights are given although EDGE_WEIGHT_TYPE is EUC_2D", "EXPLICIT"]),
        (table!("UPPER_ROW", "1 2"), &["t.tsp:4: field `EDGE_WEIGHT_SECTION`: has 2 numbers, expected 3 for 3 nodes"]),
        (table!("UPPER_ROW", "0 1 2\n0 3\n0"), &["has 6 numbers, expected 3", "6 numbers would be UPPER_DIAG_ROW or LOWER_DIAG_ROW"]),
        (table!("LOWER_DIAG_ROW", "0 1 2\n1 0 3\n2 3 0"), &["9 numbers would be FULL_MATRIX"]),
        (table!("UPPER_ROW", "1\nx 2"), &["t.tsp:6: field `EDGE_WEIGHT_SECTION`: found `x`, expected a number"]),
        (table!("UPPER_ROW", "1 inf 2"), &["t.tsp:5", "found `inf`"]),
        ("DIMENSION: 20001\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n", &["only"]),
    ],
}

#[test]
fn keywords_with_and_without_spaces_and_after_sections() {
    let shuffled =
        "node_coord_section:\n1 0 0\n2 3 0\n3 3 4\nedge_weight_type=EUC_2D\nDIMENSION 3\nSOURCE: here\nEOF\nrubbish";
    let instance = read(shuffled).unwrap();
    assert_eq!((instance.name(), instance.tour_length(&[0, 1, 2])), ("t", 12.0));
}

#[test]
fn the_end_of_file_mark_of_dos_and_an_indented_eof_are_ignored() {
    let text = PLANE.replace("EOF\n", " EOF \n\u{1a}");
    assert_eq!(read(&text).unwrap().len(), 3);
    assert_eq!(read(&PLANE.replace("EOF\n", "\u{1a}")).unwrap().len(), 3);
}

#[test]
fn name_comment_and_ids_are_kept() {
    let instance = read(PLANE).unwrap();
    assert_eq!((instance.name(), instance.comment()), ("t", "three (Optimum 12)"));
    assert_eq!(read(SPACE).unwrap().ids(), ["10", "20"]);
    assert_eq!(read(SPACE).unwrap().tour_length(&[0, 1]), 6.0);
}

#[test]
fn a_third_coordinate_is_allowed_in_the_plane_when_announced() {
    let text = SPACE.replace("EUC_3D", "EUC_2D");
    assert_eq!(read(&text).unwrap().distance(0, 1), 2.0);
}

#[test]
fn a_table_keeps_its_costs_and_takes_its_places_from_the_display() {
    let instance = read(TABLE).unwrap();
    assert_eq!(instance.tour_length(&[0, 1, 2]), 18.0);
    assert_eq!(instance.places(), [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
}

#[test]
fn a_table_without_display_is_scaled() {
    let text = table!("UPPER_ROW", "3 5 4");
    let places = read(text).unwrap().places().to_vec();
    let apart = |a: usize, b: usize| {
        let [dx, dy] = [0, 1].map(|k| places[a][k] - places[b][k]);
        dx.hypot(dy)
    };
    for (a, b, expected) in [(0, 1, 3.0), (0, 2, 5.0), (1, 2, 4.0)] {
        assert!((apart(a, b) - expected).abs() < 1e-9, "{places:?}");
    }
}

#[test]
fn metrics_without_a_name_in_tsplib_are_not_written() {
    let instance = Sites::euclidean("a", vec![[0.0, 0.5]]).unwrap();
    assert!(render(&instance).unwrap_err().to_string().contains("write CSV"));
    let named = Sites::new("a", Metric::Euc2d, vec![[0.0; 3]]).unwrap().with_ids(vec!["Ulm".into()]);
    assert!(render(&named.unwrap()).unwrap_err().to_string().contains("`Ulm`"));
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tsp");
    write(&path, &Tsp::from(read(TABLE).unwrap())).unwrap();
    let again = crate::formats::read_instance(&path).unwrap().sites().clone();
    assert_eq!((again.tour_length(&[0, 1, 2]), again.places()[2]), (18.0, [1.0, 1.0]));
}

#[test]
fn distances_that_differ_by_direction_keep_their_direction() {
    let sites = read(DIRECTED).unwrap();
    assert_eq!((sites.distance(0, 1), sites.distance(1, 0), sites.distance(2, 2)), (1.0, 3.0, 0.0));
    assert_eq!((sites.tour_length(&[0, 1, 2]), sites.tour_length(&[0, 2, 1])), (10.0, 11.0));
    let text = render(&sites).unwrap();
    assert!(text.contains("TYPE : ATSP\n") && text.contains("FULL_MATRIX\n"), "{text}");
}
