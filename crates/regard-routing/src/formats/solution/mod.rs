//! Files of solutions of any problem: routes as `.sol` (CVRPLIB), everything else as TSPLIB tours; any of them as
//! `regard solve` writes them in JSON (`tour`, or `routes` of vehicles, by node ids) and in CSV (a row for each stop).
//! GeoJSON and GPX are written for places with latitude and longitude.

mod geographic;
mod stops;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

pub(crate) use self::stops::rounded;
use super::{Instance, sol, tour};
use crate::file::{read_text, write_atomic};
use crate::{Error, Result, visits_of};

/// The form of a problem's solutions in files and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolutionFormat {
    /// One closed tour through all nodes: a `.tour` file.
    Tour,
    /// Routes of vehicles: a `.sol` file.
    Routes,
    /// One tour from the depot that may leave nodes out: a `.tour` file that begins with the depot.
    Visits,
}

impl SolutionFormat {
    /// Ending of the files.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Routes => "sol",
            Self::Tour | Self::Visits => "tour",
        }
    }
}

/// A solution as a file gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Nodes in the order visited, the depot (node 0) between routes; see [`Instance::value`].
    pub solution: Vec<usize>,
    /// The cost that the file says, which may be wrong.
    pub stated_cost: Option<f64>,
}

/// Endings of all files that hold a solution; JSON is written by the program.
pub const ENDINGS: [&str; 6] = ["tour", "sol", "json", "csv", "geojson", "gpx"];

/// The ending of a name in lower case.
fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Checks that a file of this name can hold a solution of the instance.
///
/// # Errors
/// [`Error::Invalid`] with what can.
pub fn check_ending(path: &Path, instance: &Instance) -> Result<()> {
    let (ending, own) = (ending(path), instance.solution_format().ending());
    let reason = match ending.as_str() {
        "geojson" | "gpx" if instance.sites().degrees(0).is_none() => format!(
            "a .{ending} file needs places with latitude and longitude, and these have {} distances; \
             a .csv file holds the same stops",
            instance.sites().metric_name()
        ),
        "tour" | "sol" if ending != own => {
            format!("a .{ending} file cannot hold a solution of `{}`; write .{own} or .csv", instance.problem())
        }
        _ => return Ok(()),
    };
    Err(Error::invalid(path.display().to_string(), reason))
}

/// Reads a solution of `instance`, from a name ending in `.json` or `.csv` as `regard solve` writes it there; whether it
/// obeys the rules is for [`Instance::check`] to say.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] when it is malformed or names unknown nodes.
pub fn read(path: impl AsRef<Path>, instance: &Instance) -> Result<Read> {
    let (path, sites) = (path.as_ref(), instance.sites());
    match ending(path).as_str() {
        "json" => return read_json(path, instance),
        "csv" => {
            let solution = stops::parse(&read_text(path)?, path, instance)?;
            return Ok(Read { solution, stated_cost: None });
        }
        "geojson" | "gpx" => {
            let error = Error::parse(path, 0, "is for maps, expected a solution in .tour, .sol, .json or .csv");
            return Err(error.with_hint("`regard solve --out` writes each of them"));
        }
        _ => {}
    }
    Ok(match instance.solution_format() {
        SolutionFormat::Tour => Read { solution: tour::read(path, sites)?, stated_cost: None },
        SolutionFormat::Routes => {
            let sol::Solution { routes, stated_cost } = sol::read(path, sites)?;
            Read { solution: routes.join(&0), stated_cost }
        }
        SolutionFormat::Visits => Read { solution: tour::read_visits(path, sites)?, stated_cost: None },
    })
}

/// Writes a solution, under a temporary name first: as CSV, GeoJSON or GPX where the name ends so, otherwise in the form
/// of its problem.
///
/// # Errors
/// Those of [`check_ending`] and [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Instance, solution: &[usize]) -> Result<()> {
    let text = text(path.as_ref(), instance, solution)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of a solution in a file of this name: CSV, GeoJSON or GPX where the name ends so, otherwise in the form of
/// its problem.
///
/// # Errors
/// Those of [`check_ending`] and [`render`].
pub fn text(path: &Path, instance: &Instance, solution: &[usize]) -> Result<String> {
    check_ending(path, instance)?;
    Ok(match ending(path).as_str() {
        "csv" => render_stops(instance, solution)?,
        "geojson" => {
            instance.check(solution)?;
            geographic::geojson(instance, solution)
        }
        "gpx" => {
            instance.check(solution)?;
            geographic::gpx(instance, solution)
        }
        _ => render(instance, solution)?,
    })
}

/// The text of a solution file.
///
/// # Errors
/// [`Error::Infeasible`] when the solution breaks a rule, [`Error::Invalid`] when an id cannot stand in the file.
pub fn render(instance: &Instance, solution: &[usize]) -> Result<String> {
    instance.check(solution)?;
    let comment = instance.solution_comment(solution);
    match instance.solution_format() {
        SolutionFormat::Tour => tour::render(instance.sites(), &comment, solution),
        SolutionFormat::Routes => Ok(sol::render(&instance.routes(solution), instance.value(solution))),
        SolutionFormat::Visits => {
            let nodes = [&[0], &visits_of(solution)[..]].concat();
            tour::render(instance.sites(), &comment, &nodes)
        }
    }
}

/// The text of a table of stops.
///
/// # Errors
/// [`Error::Infeasible`] when the solution breaks a rule.
pub fn render_stops(instance: &Instance, solution: &[usize]) -> Result<String> {
    instance.check(solution)?;
    Ok(stops::render(instance, solution))
}

/// Reads `tour` or `routes` by node ids, and `cost` where it is given; other keys are ignored.
fn read_json(path: &Path, instance: &Instance) -> Result<Read> {
    let text = read_text(path)?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Error::parse(path, error.line(), format!("is not JSON: {error}")))?;
    let fault = |field: &str, reason: String| Error::parse(path, 0, reason).in_field(field);
    let Value::Object(file) = value else {
        return Err(Error::parse(path, 0, "holds no JSON object, expected one with `tour` or `routes`"));
    };
    let ids = instance.sites().ids();
    let nodes: HashMap<&str, usize> = ids.iter().enumerate().map(|(node, id)| (id.as_str(), node)).collect();
    let list = |field: &str, value: &Value| -> Result<Vec<usize>> {
        let list = value.as_array().ok_or_else(|| fault(field, format!("is {value}, expected a list of node ids")))?;
        let node = |id: &Value| {
            let name = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            nodes.get(name.as_str()).copied().ok_or_else(|| fault(field, format!("node {id} is not in the instance")))
        };
        list.iter().map(node).collect()
    };
    let stated_cost = stated(&file).map_err(|reason| fault("cost", reason))?;
    let solution = match (file.get("tour"), file.get("routes")) {
        (Some(tour), None) => list("tour", tour)?,
        (None, Some(Value::Array(routes))) => {
            let routes = routes.iter().map(|route| list("routes", route)).collect::<Result<Vec<_>>>()?;
            routes.join(&0)
        }
        (None, Some(other)) => return Err(fault("routes", format!("is {other}, expected a list of routes"))),
        _ => return Err(Error::parse(path, 0, "expected either `tour` or `routes`")),
    };
    Ok(Read { solution, stated_cost })
}

fn stated(file: &Map<String, Value>) -> Result<Option<f64>, String> {
    match file.get("cost") {
        None | Some(Value::Null) => Ok(None),
        Some(cost) => cost.as_f64().map(Some).ok_or_else(|| format!("is {cost}, expected a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sites;
    use crate::formats::csv::{TableOptions, parse_instance};
    use crate::problems::{cvrp::Cvrp, op::Op, pctsp::Pctsp, tsp::Tsp};

    fn instances() -> Vec<(Instance, Vec<usize>, f64)> {
        let sites = || Sites::euclidean("square", vec![[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]).unwrap();
        let ones = || vec![0.0, 1.0, 1.0, 1.0];
        let cvrp = Cvrp::new(sites(), ones(), 2.0).unwrap();
        let op = Op::new(sites(), ones(), 4.0).unwrap();
        let pctsp = Pctsp::new(sites(), ones(), ones(), 2.0).unwrap();
        vec![
            (Tsp::from(sites()).into(), vec![0, 1, 2, 3], 4.0),
            (cvrp.into(), vec![3, 0, 1, 2], 2.0 + 2.0 + 2f64.sqrt()),
            (op.into(), vec![1, 2, 3], 3.0),
            (pctsp.into(), vec![1, 3], 2.0 + 2f64.sqrt() + 1.0),
        ]
    }

    #[test]
    fn what_was_written_reads_as_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for (instance, solution, value) in instances() {
            let path = folder.path().join("s").with_extension(instance.solution_format().ending());
            write(&path, &instance, &solution).unwrap();
            let found = read(&path, &instance).unwrap();
            assert_eq!(found.solution, solution, "{}", instance.problem());
            instance.check(&found.solution).unwrap();
            assert!((instance.value(&solution) - value).abs() < 1e-12, "{}", instance.problem());
        }
    }

    #[test]
    fn tables_of_stops_read_as_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        for (instance, solution, _) in instances() {
            write(&path, &instance, &solution).unwrap();
            assert_eq!(read(&path, &instance).unwrap().solution, solution, "{}", instance.problem());
        }
        let (instance, solution, _) = &instances()[1];
        let text = render_stops(instance, solution).unwrap();
        let expected = "route,order,id,x,y,demand,arrival,load,length\n1,0,1,0,0,0,0,1,2\n1,1,4,1,0,1,1,1,2\n1,2,1,0,0,0,2,1,2\n\
            2,0,1,0,0,0,0,2,3.414214\n";
        assert!(text.starts_with(expected), "{text}");
        for (wrong, expected) in [
            ("route,id\n1,1\n", "s.csv:1: has no column `order`"),
            ("route,order,id\n1,1,9\n", "s.csv:2: field `id`: node `9` is not in the instance"),
            ("route,order,id\n1,x,1\n", "s.csv:2: field `order`: found `x`, expected a whole number"),
        ] {
            std::fs::write(&path, wrong).unwrap();
            let error = read(&path, instance).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn maps_have_lines_and_stops_in_degrees() {
        let text = "# capacity: 5\nid,lat,lon,demand,name\nd,48,10,,Lager & Co\na,49,10,2,A\nb,48,350,4,\n";
        let options = crate::formats::csv::TableOptions::default();
        let (instance, _) = crate::formats::csv::parse_instance(text, "p.csv".as_ref(), &options).unwrap();
        let map: Value = serde_json::from_str(&geographic::geojson(&instance, &[1, 0, 2])).unwrap();
        let features = map["features"].as_array().unwrap();
        assert_eq!(features.len(), 2 * 4);
        assert_eq!(
            features[0]["geometry"]["coordinates"],
            serde_json::json!([[10.0, 48.0], [10.0, 49.0], [10.0, 48.0]])
        );
        assert_eq!((&features[0]["properties"]["load"], &features[0]["properties"]["stops"]), (&2.0.into(), &1.into()));
        let stop = &features[6]["properties"];
        assert_eq!((&stop["id"], &stop["name"], &stop["demand"]), (&"b".into(), &"b".into(), &4.0.into()));
        assert_eq!(features[6]["geometry"]["coordinates"], serde_json::json!([-10.0, 48.0]));
        let tracks = geographic::gpx(&instance, &[1, 0, 2]);
        assert_eq!((tracks.matches("<rte>").count(), tracks.matches("<rtept ").count()), (2, 6));
        assert!(tracks.contains("<rtept lat=\"49\" lon=\"10\">\n      <name>A</name>"), "{tracks}");
        assert!(tracks.contains("<name>Lager &amp; Co</name>"), "{tracks}");
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("a.geojson"), &instance, &[1, 0, 2]).unwrap();
        write(folder.path().join("a.GPX"), &instance, &[1, 0, 2]).unwrap();
        let plane = &instances()[0].0;
        let error = write(folder.path().join("b.gpx"), plane, &[0, 1, 2, 3]).unwrap_err().to_string();
        assert!(error.contains("needs places with latitude and longitude") && error.contains(".csv"), "{error}");
        let error = write(folder.path().join("b.sol"), plane, &[0, 1, 2, 3]).unwrap_err().to_string();
        assert!(error.contains("write .tour or .csv"), "{error}");
    }

    fn json(instance: &Instance, text: &str) -> Result<Read> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        std::fs::write(&path, text).unwrap();
        read(&path, instance)
    }

    #[test]
    fn json_names_nodes_by_their_ids() {
        let all = instances();
        let found = json(&all[0].0, r#"{"instance": "square", "cost": 4, "tour": [2, "1", 4, 3]}"#).unwrap();
        assert_eq!(found, Read { solution: vec![1, 0, 3, 2], stated_cost: Some(4.0) });
        let found = json(&all[1].0, r#"{"routes": [[4], [2, 3]]}"#).unwrap();
        assert_eq!(found, Read { solution: vec![3, 0, 1, 2], stated_cost: None });
        let wrong = [
            ("{", "s.json:1: is not JSON"),
            ("[1]", "holds no JSON object"),
            ("{}", "expected either `tour` or `routes`"),
            (r#"{"tour": [1], "routes": []}"#, "expected either `tour` or `routes`"),
            (r#"{"tour": [9]}"#, "field `tour`: node 9 is not in the instance"),
            (r#"{"tour": 3}"#, "field `tour`: is 3, expected a list"),
            (r#"{"routes": [3]}"#, "field `routes`: is 3, expected a list"),
            (r#"{"routes": 3}"#, "field `routes`: is 3, expected a list of routes"),
            (r#"{"cost": "x", "tour": []}"#, "field `cost`: is \"x\", expected a number"),
        ];
        for (text, expected) in wrong {
            let error = json(&all[0].0, text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn places_with_distances_of_their_own_go_on_a_map() {
        let folder = tempfile::tempdir().unwrap();
        let distances = folder.path().join("d.csv");
        std::fs::write(&distances, "from,to,km\na,d,3\nd,a,4\n").unwrap();
        let options = TableOptions { distances: Some(distances), ..TableOptions::default() };
        let text = "# capacity: 9\nid,lat,lon,demand,depot\na,50,8,1,0\nd,51,9,0,1\n";
        let (instance, _) = parse_instance(text, "places.csv".as_ref(), &options).unwrap();
        assert_eq!((instance.value(&[1]), instance.sites().degrees(0)), (7.0, Some([51.0, 9.0])));
        let map: Value = serde_json::from_str(&geographic::geojson(&instance, &[1])).unwrap();
        assert_eq!(map["features"][0]["geometry"]["coordinates"][1], serde_json::json!([8.0, 50.0]));
        assert!(check_ending("a.gpx".as_ref(), &instance).is_ok());
        let table = stops::render(&instance, &[1]);
        assert!(table.starts_with("route,order,id,lat,lon,") && table.contains("1,0,d,51,9,"), "{table}");
    }

    #[test]
    fn what_breaks_a_rule_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        for (instance, solution, _) in instances() {
            let twice = [&solution[..], &solution[..]].concat();
            let path = folder.path().join("s").with_extension(instance.solution_format().ending());
            assert!(matches!(write(&path, &instance, &twice), Err(crate::Error::Infeasible { .. })));
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_gap_is_worse_above_zero_for_costs_and_prizes() {
        let better = |instance: Instance, best| instance.with_best_known(Some(best));
        let gaps: Vec<f64> = instances()
            .into_iter()
            .map(|(instance, solution, value)| {
                let best = if instance.maximises() { 2.0 * value } else { value / 2.0 };
                let instance = better(instance, best);
                instance.gap(instance.value(&solution)).unwrap()
            })
            .collect();
        assert_eq!(gaps.iter().map(|gap| gap.signum()).collect::<Vec<_>>(), [1.0; 4], "{gaps:?}");
    }
}
