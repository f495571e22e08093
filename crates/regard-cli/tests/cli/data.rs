//! `regard data`.

use std::fs;

use crate::files::{PENTAGON, folder, folder_with};
use crate::program::regard;

#[test]
fn instances_are_generated_and_read_again() {
    let folder = folder();
    for (format, extension) in [("csv", "csv"), ("tsp", "tsp")] {
        let generate = ["data", "generate", "--problem", "tsp", "--n", "7", "--instances", "3", "--seed", "1"];
        let said = regard(folder.path(), &[&generate[..], &["--out", format, "--format", format]].concat()).done();
        assert!(said.out.contains("3 instances of 7 nodes, seed 1"), "{said:?}");
        assert_eq!(fs::read_dir(folder.path().join(format)).unwrap().count(), 3);
        let file = format!("{format}/uniform7-0002.{extension}");
        let json = regard(folder.path(), &["data", "show", &file, "--json"]).done().json();
        assert_eq!(json["n"], 7);
    }
    let low = |file: &str| {
        let json = regard(folder.path(), &["data", "show", file, "--json"]).done().json();
        json["extent"][0][0].as_f64().unwrap()
    };
    // TSPLIB knows whole distances only, so that its coordinates are a million times larger.
    let (csv, tsp) = (low("csv/uniform7-0001.csv"), low("tsp/uniform7-0001.tsp"));
    assert!((1e6 * csv - tsp).abs() <= 0.5, "{csv} {tsp}");
}

#[test]
fn the_papers_first_place_is_generated() {
    let folder = folder();
    let generate = ["data", "generate", "--paper-set", "tsp20", "--instances", "1", "--out", "one.csv"];
    regard(folder.path(), &generate).done();
    let text = fs::read_to_string(folder.path().join("one.csv")).unwrap();
    let place: Vec<f32> =
        text.lines().nth(1).unwrap().split(',').skip(1).map(|number| number.parse().unwrap()).collect();
    assert_eq!(place, [0.191_519_45, 0.622_108_76]);
}

#[test]
fn an_instance_is_described() {
    let folder = folder_with("in.tsp", PENTAGON);
    let said = regard(folder.path(), &["data", "show", "in.tsp"]).done();
    insta::assert_snapshot!("data_show", said.out);
}

#[test]
fn a_wrong_tour_is_the_answer_no() {
    let folder = folder_with("in.tsp", PENTAGON);
    let tour = |nodes: &str| format!("NAME: t\nTYPE: TOUR\nDIMENSION: 5\nTOUR_SECTION\n{nodes}\n-1\nEOF\n");
    fs::write(folder.path().join("good.tour"), tour("1\n3\n5\n2\n4")).unwrap();
    fs::write(folder.path().join("twice.tour"), tour("1\n3\n5\n2\n3")).unwrap();
    let good = regard(folder.path(), &["data", "check", "in.tsp", "--tour", "good.tour"]).done();
    assert!(good.out.contains("tour 585") || good.out.contains("tour 58"), "{good:?}");
    let twice = regard(folder.path(), &["data", "check", "in.tsp", "--tour", "twice.tour"]);
    assert_eq!(twice.code, Some(1), "{twice:?}");
    assert!(twice.out.contains("not a valid tour") && twice.out.contains('3'), "{twice:?}");
    let json = regard(folder.path(), &["data", "check", "in.tsp", "--tour", "twice.tour", "--json"]);
    assert_eq!((json.code, &json.json()["ok"]), (Some(1), &serde_json::json!(false)));
}
