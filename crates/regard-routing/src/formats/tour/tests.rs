use super::super::suite::reader_suite;
use super::*;
use crate::formats::solution;
use crate::problems::tsp::Tsp;
use crate::{Instance, check};

fn render(sites: &Sites, tour: &[usize]) -> Result<String> {
    solution::render(&Instance::from(Tsp::from(sites.clone())), tour)
}

fn cities() -> Sites {
    let ids = ["1", "2", "New York", "4"].map(String::from).to_vec();
    let corners = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.5]];
    Sites::euclidean("cities", corners).unwrap().with_ids(ids).unwrap()
}

fn read_text(text: &str) -> Result<Vec<usize>> {
    parse(text, Path::new("a.tour"), &cities())
}

const FULL: &str =
    "NAME : x\nCOMMENT : Length = 3\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n4\nNew York\n2 \n1\n-1\nEOF\n";
const SHORT: &str = "tour_section\n  4 1\n2\nNew York\n";

reader_suite! {
    laws,
    parse: read_text,
    render: |tour: &Vec<usize>| render(&cities(), tour),
    valid: [FULL, SHORT, "TOUR_SECTION :\n1 2\nNew York\n4 -1 -1\n"],
    malformed: [
        ("", &["a.tour: has no TOUR_SECTION", "node ids, -1"][..]),
        ("1 2 3\n", &["has no TOUR_SECTION"]),
        ("TYPE: TSP\nTOUR_SECTION\n", &["a.tour:1: field `TYPE`: found `TSP`, expected TOUR"]),
        ("DIMENSION: 5\nTOUR_SECTION\n", &["a.tour:1: field `DIMENSION`: found `5`, expected 4, the nodes of cities", "another instance"]),
        ("DIMENSION: many\nTOUR_SECTION\n", &["found `many`, expected 4"]),
        ("TOUR_SECTION\n1\n9\n", &["a.tour:3: field `TOUR_SECTION`: found `9`, expected a node of cities", "from `1` to `4`"]),
        ("TOUR_SECTION\n1\nYork\n", &["a.tour:3", "found `York`"]),
        ("TOUR_SECTION\n1 2 4 -1\n2 1 4 -1\n", &["a.tour:3: found `2` after the end of the tour"]),
    ],
}

#[test]
fn endings_and_line_breaks_are_free() {
    assert_eq!(read_text(FULL).unwrap(), [3, 2, 1, 0]);
    assert_eq!(read_text(SHORT).unwrap(), [3, 0, 1, 2]);
    assert_eq!(read_text("TOUR_SECTION\n1 2 EOF\nrubbish").unwrap(), [0, 1]);
}

#[test]
fn what_is_read_may_not_be_a_tour_and_the_checker_says_so() {
    let tour = read_text("TOUR_SECTION\n1\n2\n2\n-1\n").unwrap();
    let error = check::tour(cities().ids(), &tour).unwrap_err().to_string();
    assert!(error.contains("node 2 is visited twice"), "{error}");
}

#[test]
fn the_cost_is_in_the_comment() {
    let text = render(&cities(), &[0, 1, 2, 3]).unwrap();
    let cost = cities().tour_length(&[0, 1, 2, 3]);
    assert!(text.contains(&format!("COMMENT : Length {cost}\n")), "{text}");
    assert!(text.ends_with("TOUR_SECTION\n1\n2\nNew York\n4\n-1\nEOF\n"), "{text}");
}

#[test]
fn no_tour_and_no_writable_ids_are_refused() {
    assert!(matches!(render(&cities(), &[0, 1]), Err(Error::Infeasible { .. })));
    for id in ["-1", "EOF", "", " a", "a\nb"] {
        let one = Sites::euclidean("one", vec![[0.0; 2]]).unwrap().with_ids(vec![id.into()]).unwrap();
        assert!(matches!(render(&one, &[0]), Err(Error::Invalid { .. })), "{id:?}");
    }
}

#[test]
fn written_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tour");
    solution::write(&path, &Tsp::from(cities()).into(), &[2, 0, 1, 3]).unwrap();
    assert_eq!(read(&path, &cities()).unwrap(), [2, 0, 1, 3]);
    let missing = read(folder.path().join("none.tour"), &cities());
    assert!(matches!(missing, Err(Error::Io { .. })));
}
