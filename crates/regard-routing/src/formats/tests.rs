use super::*;
use crate::Error;
use crate::problems::tsp::Tsp;

fn read_as(name: &str, content: &str) -> Result<Instance> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_instance(&path)
}

fn problem(name: &str, content: &str) -> &'static str {
    read_as(name, content).unwrap().problem()
}

const PLACES: &str = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n";
const DEMANDS: &str = "CAPACITY: 5\nDEMAND_SECTION\n1 0\n2 5\nDEPOT_SECTION\n1\n-1\n";
const SCORES: &str = "COST_LIMIT: 5\nNODE_SCORE_SECTION\n1 0\n2 5\nDEPOT_SECTION\n1\n-1\n";

#[test]
fn type_decides_then_sections_then_the_name() {
    let (vrp, op) = (format!("{PLACES}{DEMANDS}"), format!("{PLACES}{SCORES}"));
    for name in ["a.tsp", "a.vrp", "a.oplib", "a.txt", "a"] {
        assert_eq!(problem(name, &format!("TYPE: TSP\n{PLACES}")), "tsp", "{name}");
        assert_eq!(problem(name, &format!("TYPE: CVRP\n{vrp}")), "cvrp", "{name}");
        assert_eq!(problem(name, &format!("TYPE: SDVRP\n{vrp}")), "sdvrp", "{name}");
        assert_eq!(problem(name, &format!("TYPE: OP\n{op}")), "op", "{name}");
        assert_eq!((problem(name, &vrp), problem(name, &op)), ("cvrp", "op"), "{name}");
    }
    let error = read_as("a.vrp", PLACES).unwrap_err().to_string();
    assert!(error.ends_with("has no CAPACITY, which CVRP needs"), "{error}");
    assert_eq!(problem("a", PLACES), "tsp");
}

#[test]
fn unknown_types_are_refused_by_the_reader_of_the_name() {
    let error = read_as("a.vrp", "TYPE: MDVRP\n").unwrap_err().to_string();
    assert!(error.contains("found `MDVRP`, expected CVRP"), "{error}");
    let error = read_as("a", "TYPE: SOP\n").unwrap_err().to_string();
    assert!(error.contains("expected TSP"), "{error}");
}

#[test]
fn the_reader_of_the_tsp_names_the_other_problem() {
    let folder = tempfile::tempdir().unwrap();
    for (word, expected) in [("CVRP", "CVRP (vehicle routing)"), ("OP", "OP (orienteering)")] {
        let path = folder.path().join("a.txt");
        std::fs::write(&path, format!("TYPE: {word}\n")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let error = tsplib::parse::<Tsp>(&text, &path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.ends_with("expected TSP"), "{error}");
    }
}

#[test]
fn columns_decide_in_csv() {
    assert_eq!(problem("a.csv", "x,y\n1,2\n"), "tsp");
    assert_eq!(problem("a", "# capacity: 5\nx,y,demand\n1,2,\n1,3,4\n"), "cvrp");
    assert_eq!(problem("a.csv", "# max_length: 5\nx,y,prize\n1,2,0\n1,3,4\n"), "op");
    assert_eq!(problem("a.csv", "# required_prize: 1\nx,y,prize,penalty\n1,2,0,0\n1,3,4,1\n"), "pctsp");
}

#[test]
fn the_best_known_value_is_found() {
    let vrp = format!("COMMENT: (Optimal value: 10)\n{PLACES}{DEMANDS}");
    assert_eq!(read_as("a.vrp", &vrp).unwrap().best_known(), Some(10.0));
    let op = format!("COMMENT: (Optimum 10)\n{PLACES}{SCORES}");
    assert_eq!(read_as("a.oplib", &op).unwrap().best_known(), None);
}

#[test]
fn a_missing_file_is_an_io_error() {
    let error = read_instance("no/such/file.vrp").unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(error.to_string().contains("file.vrp"));
}

const TSPLIB: &str = "NAME: t\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n";

#[test]
fn the_name_decides_then_the_content() {
    assert_eq!(read_as("a.TSP", TSPLIB).unwrap().sites().metric_name(), "EUC_2D");
    assert_eq!(read_as("a.txt", TSPLIB).unwrap().sites().metric_name(), "EUC_2D");
    assert_eq!(read_as("a.csv", "x,y\n1,2\n").unwrap().sites().metric_name(), "euclidean");
    assert_eq!(read_as("a", "x,y\n1,2\n").unwrap().sites().metric_name(), "euclidean");
}

#[test]
fn tables_beside_instances_are_none() {
    for (name, is) in [
        ("a.TSP", true),
        ("a.atsp", true),
        ("lib/b.csv", true),
        ("lib/best_known.csv", false),
        ("c.sol", false),
        ("d", false),
    ] {
        assert_eq!(is_instance_file(Path::new(name)), is, "{name}");
    }
}

#[test]
fn numbers_must_be_finite_and_moderate() {
    assert_eq!(number("1.0e+02"), Some(100.0));
    assert_eq!(number("-.5"), Some(-0.5));
    for bad in ["", "nan", "inf", "1e999", "1e101", "1,5", "0x10"] {
        assert_eq!(number(bad), None, "{bad}");
    }
}

#[test]
fn json_is_refused_with_the_formats_that_are_read() {
    let collection = r#"{"type": "FeatureCollection", "features": []}"#;
    for (name, text) in [("a.geojson", collection), ("a.json", "[]"), ("a.csv", collection), ("a", collection)] {
        let error = read_as(name, text).unwrap_err();
        assert!(error.to_string().ends_with("holds JSON, which is no format of instances"), "{error}");
        assert!(error.hint().unwrap().contains("instance files end in .csv, .tsp"), "{error:?}");
    }
}
