use std::path::Path;

use super::*;
use crate::Result;
use crate::formats::suite::reader_suite;
use crate::formats::tsplib::{parse, render, write};
use crate::problems::sdvrp::Sdvrp;

fn read(text: &str) -> Result<Cvrp> {
    parse(text, Path::new("t.vrp"))
}

fn read_split(text: &str) -> Result<Sdvrp> {
    parse(text, Path::new("t.vrp"))
}

const PLANE: &str = "NAME : t-n4-k2\nCOMMENT : (Somebody, Optimal value: 12)\nTYPE : CVRP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY : 10\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\n4 0 5\nDEMAND_SECTION\n1 0\n2 5\n3 10\n4 1\nDEPOT_SECTION\n 1\n -1\nEOF\n";
const LIMITED: &str = "TYPE: DCVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 10\nDISTANCE: 25\nSERVICE_TIME: 10\nNODE_COORD_SECTION\n10 0 0\n20 3 0\n30 3 4\nDEMAND_SECTION\n30 0\n20 4\n10 5.5\nDEPOT_SECTION\n30\n-1\n";
const TABLE: &str = "TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_ROW\nDISPLAY_DATA_TYPE: NO_DISPLAY\nCAPACITY: 10\nEDGE_WEIGHT_SECTION\n 5\n 6 7\nDEMAND_SECTION\n1 3\n2 0\n3 4\nDEPOT_SECTION\n2\n-1\nEOF\n";
const DRAWN: &str = "TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_ROW\nCAPACITY: 10\nEDGE_WEIGHT_SECTION\n 5\n 6 7\nNODE_COORD_SECTION\n4 0 0\n6 1 0\n5 2 0\nDEMAND_SECTION\n4 3\n5 2\n6 0\nDEPOT_SECTION\n6\n-1\nEOF\n";
const DIRECTED: &str = "TYPE: ACVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nCAPACITY: 10\nEDGE_WEIGHT_SECTION\n 0 1 2\n 3 0 4\n 5 6 0\nDEMAND_SECTION\n1 3\n2 0\n3 4\nDEPOT_SECTION\n2\n-1\nEOF\n";
const SPLIT: &str = "TYPE: SDVRP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 10\nNODE_COORD_SECTION\n1 0 0\n2 3 0\nDEMAND_SECTION\n1 0\n2 25\nDEPOT_SECTION\n1\n-1\nEOF\n";

/// A file of three nodes with these keywords and these rows after the coordinates.
macro_rules! three {
    ($keywords:literal, $rows:literal) => {
        concat!(
            "TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n",
            $keywords,
            "\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\n",
            $rows,
            "\n"
        )
    };
}

reader_suite! {
    laws,
    parse: read,
    render: render,
    valid: [PLANE, LIMITED, TABLE, DRAWN, DIRECTED],
    malformed: [
        ("", &["t.vrp: has no EDGE_WEIGHT_TYPE"][..]),
        ("\u{0}\u{1}\u{2}", &["t.vrp:1: found `"]),
        ("TYPE: TSP\n", &["t.vrp:1: field `TYPE`: TSP (one tour through all nodes) is not CVRP, expected CVRP"]),
        ("TYPE: VRPTW\n", &["VRPTW (vehicle routing with time windows) is not CVRP, expected CVRP"]),
        ("TYPE: OP\n", &["OP (orienteering) is not CVRP"]),
        ("TYPE: FOO\n", &["found `FOO`, expected CVRP"]),
        ("TYPE: CVRP\nDIMENSION: 1000000000\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["t.vrp:2: field `DIMENSION`: found 1000000000, but the whole file has only"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1"), &["t.vrp: has no DEPOT_SECTION, which CVRP needs"]),
        (three!("CAPACITY: 9", "DEPOT_SECTION\n1\n-1"), &["t.vrp: has no DEMAND_SECTION, which CVRP needs"]),
        (three!("COMMENT: c", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp: has no CAPACITY", "capacity of a vehicle"]),
        (three!("CAPACITY: 0", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:4: field `CAPACITY`: found `0`, expected a number above 0"]),
        (three!("CAPACITY: nan", "DEMAND_SECTION"), &["field `CAPACITY`: found `nan`, expected a number above 0"]),
        (three!("CAPACITY: 9\nCAPACITY: 8", "DEMAND_SECTION"), &["t.vrp:5: field `CAPACITY`: is given a second time, first on line 4"]),
        (three!("CAPACITY: 9\nDISTANCE: -5", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:5: field `DISTANCE`: found `-5`, expected a number above 0"]),
        (three!("CAPACITY: 9\nDISTANCE: 5\nSERVICE_TIME: x", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:6: field `SERVICE_TIME`: found `x`, expected a number, 0 or more"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:11: field `DEMAND_SECTION`: ends without node 3 (2 of 3 nodes given)"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\nDEPOT_SECTION\n1\n-1"), &["t.vrp:9: field `DEMAND_SECTION`: ends without node 1 (0 of 3 nodes given)"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:12: field `DEMAND_SECTION`: node 2 occurs a second time, first on line 11"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n4 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:12: field `DEMAND_SECTION`: found node `4`, expected one of the 3 nodes"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1 1\n3 1"), &["t.vrp:11: field `DEMAND_SECTION`: found `2 1 1`, expected `id demand`"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 -1\n3 1"), &["t.vrp:11: field `DEMAND_SECTION`: node 2: found -1, expected a demand of 0 or more"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 inf\n3 1"), &["node 2: found `inf`, expected a number"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 10\nDEPOT_SECTION\n1\n-1"), &["t.vrp:12: field `DEMAND_SECTION`: node 3 has demand 10, which is above CAPACITY (9)"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 2\n2 1\n3 1\nDEPOT_SECTION\n1\n-1"), &["t.vrp:10: field `DEMAND_SECTION`: node 1 is the depot and has demand 2, expected 0"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n2\n-1"), &["t.vrp:15: field `DEPOT_SECTION`: names 2 depots (1, 2), expected one", "several depots are not supported"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1 2 3 -1"), &["names 3 depots (1, 2, ...)"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n-1"), &["t.vrp:13: field `DEPOT_SECTION`: names no depot, expected one", "then -1"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n4\n-1"), &["t.vrp:14: field `DEPOT_SECTION`: found `4`, expected the id of one of the 3 nodes"]),
        (three!("CAPACITY: 9", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1\n2"), &["t.vrp:16: field `DEPOT_SECTION`: found `2` after the end of the section (-1)"]),
        (three!("CAPACITY: 9", "1 0 0\n"), &["t.vrp:9: field `NODE_COORD_SECTION`: more rows than DIMENSION, which is 3"]),
        (three!("CAPACITY: 9", "TIME_WINDOW_SECTION\n1 0 9"), &["field `TIME_WINDOW_SECTION`: time windows belong to vehicle routing with time windows (TYPE : VRPTW), expected CVRP"]),
        (three!("CAPACITY: 9", "NODE_SCORE_SECTION\n1 0"), &["field `NODE_SCORE_SECTION`: scores belong to orienteering, expected CVRP"]),
        ("TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 9\nNODE_COORD_SECTION\n1 0 0\n2 nan 0\n", &["t.vrp:7: field `x`: node 2: found `nan`, expected a number"]),
        ("TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 9\nNODE_COORD_SECTION\n1 0 0\n2 1 0\n2 3 4\n", &["t.vrp:8: node 2 occurs a second time, first on line 7"]),
        ("TYPE: CVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 9\nNODE_COORD_SECTION\n1 0 0\n2 1 0\n", &["t.vrp:7: field `NODE_COORD_SECTION`: ends after 2 nodes, DIMENSION is 3"]),
    ],
}

#[test]
fn keywords_and_sections_are_read() {
    let instance = read(PLANE).unwrap();
    assert_eq!((instance.sites().name(), instance.capacity()), ("t-n4-k2", 10.0));
    assert_eq!((instance.demands(), instance.limit()), (&[0.0, 5.0, 10.0, 1.0][..], None));
    assert_eq!(instance.cost(&[vec![1, 3], vec![2]]), 3.0 + 6.0 + 5.0 + 10.0);
    assert_eq!(read_split(SPLIT).unwrap().routing().demands(), [0.0, 25.0]);
}

#[test]
fn the_depot_becomes_node_0_and_keeps_its_id() {
    let instance = read(LIMITED).unwrap();
    assert_eq!(instance.sites().ids(), ["30", "10", "20"]);
    assert_eq!((instance.demands(), instance.service()), (&[0.0, 5.5, 4.0][..], 10.0));
    assert_eq!((instance.sites().distance(0, 1), instance.sites().distance(0, 2)), (5.0, 4.0));
    assert!(instance.check(&[vec![1], vec![2]]).is_ok());
    let said = instance.check(&[vec![1, 2]]).unwrap_err().to_string();
    assert!(said.contains("route 1 has length 32 with service, the limit is 25"), "{said}");
}

#[test]
fn tables_follow_the_depot() {
    for text in [TABLE, DRAWN] {
        let instance = read(text).unwrap();
        let sites = instance.sites();
        let depot = text.lines().skip_while(|l| *l != "DEPOT_SECTION").nth(1).unwrap();
        assert_eq!(sites.ids()[0], depot);
        let again = read(&render(&instance).unwrap()).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                assert_eq!(again.sites().distance(i, j), sites.distance(i, j), "{text}");
            }
        }
        assert_eq!(again.demands(), instance.demands());
    }
    assert_eq!(read(TABLE).unwrap().sites().distance(0, 2), 7.0);
    // Rows count ids 4, 5, 6: the last row belongs to the depot.
    assert_eq!(read(DRAWN).unwrap().sites().distance(0, 1), 6.0);
}

#[test]
fn rounding_can_be_dropped() {
    let instance = read(&PLANE.replace("3 3 4", "3 1 1")).unwrap();
    assert_eq!(instance.cost(&[vec![2]]), 2.0);
    assert_eq!(instance.unrounded().cost(&[vec![2]]), 2.0 * 2f64.sqrt());
}

#[test]
fn what_tsplib_cannot_say_is_not_written() {
    assert!(render(&read(PLANE).unwrap().unrounded()).unwrap_err().to_string().contains("write CSV"));
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.vrp");
    write(&path, &read(LIMITED).unwrap()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(render(&parse::<Cvrp>(&text, &path).unwrap()).unwrap(), text);
}

reader_suite! {
    laws_with_split_deliveries,
    parse: read_split,
    render: render,
    valid: [SPLIT],
    malformed: [
        ("TYPE: CVRP\n", &["t.vrp:1: field `TYPE`: CVRP (vehicle routing) is not SDVRP, expected SDVRP"][..]),
        ("TYPE: SDVRP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 1\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n3 4 0\nDEMAND_SECTION\n1 0\n2 3\n3 1e100\nDEPOT_SECTION\n1\n-1\n", &["t.vrp:12: field `DEMAND_SECTION`: node 3 has demand 1", "with the capacity 1 takes more than 1000000 routes of full vehicles in all"]),
        ("TYPE: SDVRP\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n", &["has no CAPACITY, which SDVRP needs"]),
    ],
}
