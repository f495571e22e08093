use std::path::Path;

use super::*;
use crate::Result;
use crate::formats::suite::reader_suite;
use crate::formats::tsplib::{parse, render, write};

fn read(text: &str) -> Result<Op> {
    parse(text, Path::new("t.oplib"))
}

const PLANE: &str = "NAME : t\nCOMMENT : three (Optimum 426)\nTYPE : OP\nDIMENSION : 3\nCOST_LIMIT : 9\nTSPSOL : 12\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nNODE_SCORE_SECTION\n1 2\n2 10\n3 20\nDEPOT_SECTION\n1\n-1\nEOF\n";
const TABLE: &str = "TYPE: OP\nDIMENSION: 3\nCOST_LIMIT: 12\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n5 6\n7\nNODE_SCORE_SECTION\n1 1\n2 2\n3 0\nDEPOT_SECTION\n3\n-1\n";

/// A file of two nodes with these keywords and these rows after the coordinates.
macro_rules! two {
    ($keywords:literal, $rows:literal) => {
        concat!(
            "TYPE: OP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\n",
            $keywords,
            "\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n",
            $rows,
            "\n"
        )
    };
}

reader_suite! {
    laws,
    parse: read,
    render: render,
    valid: [PLANE, TABLE],
    malformed: [
        ("", &["t.oplib: has no EDGE_WEIGHT_TYPE"][..]),
        ("\u{0}\u{1}\u{2}", &["t.oplib:1: found `"]),
        ("TYPE: CVRP\n", &["t.oplib:1: field `TYPE`: CVRP (vehicle routing) is not OP, expected OP"]),
        ("TYPE: OP\nDIMENSION: 1000000000\nEDGE_WEIGHT_TYPE: EUC_2D\n", &["field `DIMENSION`: found 1000000000, but the whole file has only"]),
        (two!("COMMENT: c", "NODE_SCORE_SECTION\n1 0\n2 1\nDEPOT_SECTION\n1\n-1"), &["t.oplib: has no COST_LIMIT, which OP needs", "maximum length of a tour"]),
        (two!("COST_LIMIT: inf", "NODE_SCORE_SECTION"), &["t.oplib:4: field `COST_LIMIT`: found `inf`, expected a number above 0"]),
        (two!("COST_LIMIT: 5", "DEPOT_SECTION\n1\n-1"), &["has no NODE_SCORE_SECTION, which OP needs"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n2 1"), &["has no DEPOT_SECTION, which OP needs"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n2 -1"), &["t.oplib:10: field `NODE_SCORE_SECTION`: node 2: found -1, expected a score of 0 or more"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n2 nan"), &["node 2: found `nan`, expected a number"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n1 1"), &["t.oplib:10: field `NODE_SCORE_SECTION`: node 1 occurs a second time, first on line 9"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n"), &["t.oplib:9: field `NODE_SCORE_SECTION`: ends without node 2 (1 of 2 nodes given)"]),
        (two!("COST_LIMIT: 5", "NODE_SCORE_SECTION\n1 0\n2 1\nDEPOT_SECTION\n1\n2\n-1"), &["names 2 depots (1, 2)"]),
        (two!("COST_LIMIT: 5", "DEMAND_SECTION\n1 0"), &["field `DEMAND_SECTION`: depots and demands belong to vehicle routing, expected OP"]),
        ("TYPE: OP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 -inf 0\n", &["t.oplib:6: field `x`: node 2: found `-inf`"]),
    ],
}

#[test]
fn scores_and_limit_are_read_and_the_depot_counts() {
    let instance = read(PLANE).unwrap();
    assert_eq!((instance.max_length(), instance.prizes()), (9.0, &[2.0, 10.0, 20.0][..]));
    assert_eq!((instance.prize(&[1]), instance.length(&[1])), (12.0, 6.0));
    assert!(instance.check(&[1]).is_ok() && instance.check(&[1, 2]).is_err());
    assert_eq!(instance.best_known(), None);
}

#[test]
fn the_depot_becomes_node_0() {
    let instance = read(TABLE).unwrap();
    assert_eq!(
        (instance.sites().ids(), instance.prizes()),
        (&["3", "1", "2"].map(String::from)[..], &[0.0, 1.0, 2.0][..])
    );
    assert_eq!((instance.length(&[1]), instance.length(&[2])), (12.0, 14.0));
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.oplib");
    write(&path, &read(TABLE).unwrap()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(render(&parse::<Op>(&text, &path).unwrap()).unwrap(), text);
}
