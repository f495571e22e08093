//! Reading an instance of whatever problem its file holds.

use std::path::Path;

use super::tsplib::header::Problem;
use super::tsplib::layout::Layout;
use super::{Instance, best_known, csv, oplib, tsplib, vrplib};
use crate::Result;
use crate::file::read_text;

/// Reads an instance of any problem with its best-known cost, if one is found ([`best_known`]).
///
/// A name ending in `.csv` is read as [`csv`], where the columns tell the problem; one in `.tsp`,
/// `.vrp` or `.oplib` as TSPLIB and its descendants, where `TYPE` tells the problem and the name
/// only where there is no `TYPE`. Of any other name the content decides.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be read, and
/// [`Error::Parse`](crate::Error::Parse) with file, line and expectation when it is malformed.
pub fn read_instance(path: impl AsRef<Path>) -> Result<Instance> {
    read_instance_with(path, &csv::Options::default())
}

/// Reads an instance as [`read_instance`], with `options` for what the columns of a CSV file cannot
/// say; other files say it themselves and ignore them.
///
/// # Errors
/// As [`read_instance`].
pub fn read_instance_with(path: impl AsRef<Path>, options: &csv::Options) -> Result<Instance> {
    let path = path.as_ref();
    let text = read_text(path)?;
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let by_name = match extension.as_deref() {
        Some("tsp") => Some(Problem::Tsp),
        Some("vrp") => Some(Problem::Cvrp),
        Some("oplib") => Some(Problem::Orienteering),
        _ => None,
    };
    let is_csv = extension.as_deref() == Some("csv") || (by_name.is_none() && !tsplib::looks_like(&text));
    let instance = match is_csv {
        true => csv::parse_instance(&text, path, options)?,
        false => of_tsplib(&text, path, by_name)?,
    };
    let best = match &instance {
        Instance::Orienteering(orienteering) => best_known::find_score(path, orienteering.sites().name())?,
        Instance::Tsp(tsp) => best_known::find(path, tsp)?,
        other => best_known::find_in_set(path, other.sites())?,
    };
    Ok(instance.with_best_known(best))
}

fn of_tsplib(text: &str, path: &Path, by_name: Option<Problem>) -> Result<Instance> {
    let layout = Layout::of(text, path)?;
    match Problem::of(&layout)?.or(by_name).unwrap_or(Problem::Tsp) {
        Problem::Tsp => tsplib::read(&layout, text.len()).map(Instance::Tsp),
        Problem::Cvrp | Problem::Sdvrp => vrplib::read(&layout, text.len()).map(Instance::Cvrp),
        Problem::Orienteering => oplib::read(&layout, text.len()).map(Instance::Orienteering),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

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
        let error = read_as("a.vrp", "TYPE: VRPTW\n").unwrap_err().to_string();
        assert!(error.contains("VRPTW (time windows) is not supported, expected CVRP"), "{error}");
        let error = read_as("a", "TYPE: ATSP\n").unwrap_err().to_string();
        assert!(error.contains("expected TSP"), "{error}");
    }

    #[test]
    fn the_reader_of_the_tsp_names_the_other_problem() {
        let folder = tempfile::tempdir().unwrap();
        for (word, expected) in [("CVRP", "CVRP (vehicle routing)"), ("OP", "OP (orienteering)")] {
            let path = folder.path().join("a.txt");
            std::fs::write(&path, format!("TYPE: {word}\n")).unwrap();
            let error = super::super::read(&path).unwrap_err().to_string();
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
        assert!(matches!(read_instance("no/such/file.vrp"), Err(Error::Io { .. })));
    }
}
