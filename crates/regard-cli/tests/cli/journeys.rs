//! Whole ways of users with files as people have them: from a table to an answer, with every command on the way.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::program::{Said, regard};

/// Visits of patients: a text column, missing numbers, a column of free text and one of identifiers. One in seven
/// patients is ill, and then one of the visits has a high pulse on the ward `b`.
fn visits(patients: usize) -> String {
    let mut text = "visit,patient,ward,pulse,pressure,note,ill\n".to_owned();
    for patient in 0..patients {
        let ill = patient % 7 == 0;
        for visit in 0..2 + patient % 4 {
            let high = ill && visit == 1;
            let ward = if high { "b" } else { ["a", "c", "b"][(patient + visit) % 3] };
            let pulse = if high { 130 } else { 60 + (7 * patient + 3 * visit) % 25 };
            let pressure = match (patient + visit) % 5 {
                0 => "NA".to_owned(),
                rest => (110 + 4 * rest + patient % 9).to_string(),
            };
            let ill = if ill { "yes" } else { "no" };
            writeln!(text, "v{patient}-{visit},p{patient},{ward},{pulse},{pressure},note {patient} {visit},{ill}")
                .unwrap();
        }
    }
    text
}

/// Alkanes and alcohols with their length; two rows that are wrong, and one target that is missing.
fn molecules() -> String {
    let mut text = "name,smiles,length,kind\n".to_owned();
    for length in 1..=24 {
        writeln!(text, "alkane {length},{},{length}.5,plain", "C".repeat(length)).unwrap();
        writeln!(text, "alcohol {length},{}O,{length}.5,polar", "C".repeat(length)).unwrap();
    }
    for length in 0..6 {
        writeln!(text, "benzene {length},c1ccccc1{},{}.5,plain", "C".repeat(length), 6 + length).unwrap();
        writeln!(text, "ring {length},C1CCCCC1{},{}.5,plain", "C".repeat(length), 6 + length).unwrap();
    }
    text.push_str("broken,C1CC,3.5,plain\nmissing,CCCCC,,plain\nodd,C(((,1,plain\n");
    text
}

/// Two years of daily sales of two shops, the second of which opened later; a gap, and a week in them.
fn sales() -> String {
    let mut text = "unique_id,ds,y,town\n".to_owned();
    let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let dates = (2022..2024).flat_map(|year| {
        days.iter()
            .enumerate()
            .flat_map(move |(month, days)| (1..=*days).map(move |day| format!("{year}-{:02}-{day:02}", month + 1)))
    });
    for (at, date) in dates.enumerate() {
        let week = [9.0, 3.0, 3.5, 4.0, 6.0, 12.0, 14.0][at % 7];
        let noise = ((at * 7919) % 13) as f64 / 13.0;
        if at % 97 != 5 {
            writeln!(text, "north,{date},{:.2},Ulm", 50.0 + week + noise + at as f64 / 100.0).unwrap();
        }
        if at >= 300 {
            writeln!(text, "south,{date},{:.2},Bonn", 20.0 + 0.5 * week + noise).unwrap();
        }
    }
    text
}

/// Deliveries of a day as Excel saves them in German: semicolons, decimal commas, a customer with two orders, a row
/// without values, a column of times and a sum at the end. The first row is the warehouse.
fn deliveries(sum: bool) -> String {
    let mut text = "Kunde;Stra\u{df}e;Breite;L\u{e4}nge;Gewicht (kg);von;bis\n".to_owned();
    text.push_str("Lager N\u{fc}rnberg;Hafenstr. 1;49,4103;11,0549;;;\n");
    for stop in 0..24 {
        let (latitude, longitude) =
            (49.0 + ((stop * 37) % 90) as f64 / 100.0, 10.5 + ((stop * 53) % 120) as f64 / 100.0);
        let weight = 20 + (stop * 29) % 90;
        let row = format!("B\u{e4}ckerei {stop};Ring {stop};{latitude:.4};{longitude:.4};{weight},5;8:00;12:00\n");
        text.push_str(&row.replace('.', ","));
        if stop == 7 {
            text.push_str(&row.replace('.', ",").replace(&format!("{weight},5"), "12,25"));
            text.push_str(";;;;;;\n");
        }
    }
    if sum {
        text.push_str("Summe;;;;1.578,25;;\n");
    }
    text
}

fn folder(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

/// Runs the commands of a model's card with a file in the place of `FILE.csv`; gives what they said.
fn run_card(folder: &Path, model: &str, file: &str) -> Vec<Said> {
    let card = fs::read_to_string(folder.join(model).join("README.md")).unwrap();
    let commands: Vec<&str> = card.lines().filter_map(|line| line.strip_prefix("regard ")).collect();
    assert!(commands.len() >= 3, "{card}");
    let run = |command: &&str| {
        let command = command.replace("FILE.csv", file);
        regard(folder, &command.split(' ').collect::<Vec<_>>()).done()
    };
    commands.iter().map(run).collect()
}

#[test]
fn a_data_scientist_classifies_groups_of_rows() {
    let folder = folder("visits.csv", &visits(70));
    let columns = [
        "--set",
        "data.path=visits.csv",
        "--set",
        "data.group_by=patient",
        "--set",
        "data.target=ill",
        "--set",
        "model.width=32",
        "--set",
        "train.epochs=2",
        "--set",
        "train.learning_rate=0.003",
    ];
    let folds = [&["eval", "sets/mil"][..], &columns, &["--folds", "3"]].concat();
    let said = regard(folder.path(), &folds).done();
    // Everything that was left out, filled or decided is said.
    for part in [
        "left out: columns visit (more than 32",
        "note (more than 32",
        "missing values: ",
        "of `pressure`",
        "a class is rare",
    ] {
        assert!(said.err.contains(part), "no `{part}` in {said:?}");
    }
    for part in ["blend", "95 % interval", "network", "base", "auc", "balanced_accuracy", "average_precision"] {
        assert!(said.out.contains(part), "no `{part}` in {said:?}");
    }
    let json = regard(folder.path(), &[&folds[..], &["--json"]].concat()).done().json();
    let of = |part: &serde_json::Value| part["auc"].as_f64().unwrap();
    assert!(of(&json) > 0.95 && of(&json["members"]["base"]) > 0.95, "{json}");
    assert!(json["balanced_accuracy"].as_f64().unwrap() > 0.9, "{json}");

    let train =
        [&["train", "sets/mil"][..], &columns, &["--set", "train.class_weights=true", "--out", "models/ill"]].concat();
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("base learners: ") && said.err.contains("missing values: "), "{said:?}");
    for said in run_card(folder.path(), "models/ill", "visits.csv") {
        assert!(!said.out.is_empty(), "{said:?}");
    }
    // New rows lack a column's values, and have a ward that training did not have.
    let new = "patient,pressure,pulse,ward\nx,,131,b\nx,120,61,z\ny,120,62,a\n";
    fs::write(folder.path().join("new.csv"), new).unwrap();
    let predict = ["predict", "--model", "models/ill", "new.csv", "--json"];
    let said = regard(folder.path(), &predict).done();
    assert!(said.err.contains("missing values: 1 of `pressure`"), "{said:?}");
    let found = said.json();
    let ill = |at: usize| found[at]["probabilities"]["yes"].as_f64().unwrap();
    assert!(ill(0) > ill(1), "{found}");
    // What is predicted is what the evaluation decides by, though the other class is more probable.
    assert_eq!(
        (found[0]["prediction"].as_str(), found[1]["prediction"].as_str()),
        (Some("yes"), Some("no")),
        "{found}"
    );
}

#[test]
fn a_chemist_predicts_a_property_of_molecules() {
    let folder = folder("molecules.csv", &molecules());
    let columns = [
        "--set",
        "data.path=molecules.csv",
        "--set",
        "data.id=name",
        "--set",
        "model.width=16",
        "--set",
        "model.layers=2",
        "--set",
        "train.epochs=3",
    ];
    let number =
        [&["eval", "graphs/molecules"][..], &columns, &["--set", "data.target=length", "--folds", "3"]].concat();
    let refused = regard(folder.path(), &number);
    assert!(refused.code == Some(2) && refused.err.contains("skip_bad"), "{refused:?}");
    let said = regard(folder.path(), &[&number[..], &["--skip-bad", "--json"]].concat()).done();
    assert!(said.err.contains("skipped 2 rows: line 62"), "{said:?}");
    // Acyclic molecules, benzenes and cyclohexanes are a fold each.
    let scaffolds = [&number[..], &["--skip-bad", "--scaffold-folds", "--only", "base", "--json"]].concat();
    let of_scaffolds = regard(folder.path(), &scaffolds).done().json();
    assert!(of_scaffolds["rmse"].as_f64().unwrap() > 2.0 * said.json()["rmse"].as_f64().unwrap(), "{of_scaffolds}");
    let json = said.json();
    for part in [&json, &json["members"]["network"], &json["members"]["base"]] {
        for metric in ["rmse", "mae", "r2"] {
            assert!(part[metric].as_f64().is_some_and(f64::is_finite), "{metric}: {json}");
        }
    }
    assert!(json["r2"].as_f64().unwrap() > 0.9, "{json}");
    let train = [
        &["train", "graphs/molecules"][..],
        &columns,
        &["--set", "data.target=kind", "--skip-bad", "--out", "models/kind"],
    ]
    .concat();
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("base learners: "), "{said:?}");
    let good: String = molecules()
        .lines()
        .filter(|line| !line.contains("((") && !line.contains("C1CC"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(folder.path().join("good.csv"), good).unwrap();
    let said = run_card(folder.path(), "models/kind", "good.csv");
    assert!(said[0].out.starts_with("id,nodes,edges,prediction,p(plain),p(polar)"), "{:?}", said[0]);
    assert!(said[1].out.contains("base") && said[1].out.contains("blend"), "{:?}", said[1]);
    fs::write(folder.path().join("new.csv"), "smiles,name\nCCCCCCO,a\nCCCCCCC,b\n").unwrap();
    let found = regard(folder.path(), &["predict", "--model", "models/kind", "new.csv", "--json"]).done().json();
    assert_eq!((found[0]["prediction"].as_str(), found[1]["prediction"].as_str()), (Some("polar"), Some("plain")));
}

#[test]
fn a_planner_forecasts_sales() {
    let folder = folder("sales.csv", &sales());
    let ask = ["forecast", "sales.csv", "--horizon", "14", "--levels", "80,95", "--time", "20s", "--json"];
    let said = regard(folder.path(), &ask).done();
    let json = said.json();
    let rows = json["forecast"].as_array().unwrap();
    assert_eq!(rows.len(), 28);
    for row in rows {
        let value = row["forecast"].as_f64().unwrap();
        let of = |level: usize, end: &str| row["intervals"][level][end].as_f64().unwrap();
        assert!(of(0, "low") <= value && value <= of(0, "high") && row["ds"].is_string(), "{row}");
        assert!(of(1, "low") <= of(0, "low") && of(0, "high") <= of(1, "high"), "{row}");
    }
    let of = |key: &str| json["backtest"][key].as_f64().unwrap();
    assert!(of("mase") <= 1.02 * of("seasonal_naive_mase"), "{json}");
    let members = json["members"].as_array().unwrap();
    let weights: f64 = members.iter().map(|member| member["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-6 && members.iter().all(|member| member["name"].is_string()), "{json}");
    // The last week of the weekly pattern is seen in the forecast: a weekend sells more than its Monday.
    let north: Vec<f64> =
        rows.iter().filter(|row| row["unique_id"] == "north").map(|row| row["forecast"].as_f64().unwrap()).collect();
    let spread = north.iter().copied().fold(f64::MIN, f64::max) - north.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread > 6.0, "{north:?}");
    assert!(said.err.contains("missing") || said.err.contains("gap"), "{said:?}");

    // A network of one's own on a history that is short for its usual look-back, with a text that is the same in all
    // rows of a series.
    let train = [
        "train",
        "series/forecast",
        "--set",
        "data.path=sales.csv",
        "--set",
        "task.horizon=14",
        "--set",
        "data.static_covariates=[\"town\"]",
        "--set",
        "train.epochs=1",
        "--out",
        "models/sales",
    ];
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("the look-back is"), "{said:?}");
    let said = run_card(folder.path(), "models/sales", "sales.csv");
    assert!(said.iter().all(|said| !said.out.is_empty()), "{said:?}");
}

#[test]
fn tables_of_nodes_and_edges_may_have_text_and_missing_values() {
    let mut nodes = "id,job,age,follows\n".to_owned();
    let mut edges = "source,target,kind,years\n".to_owned();
    for node in 0..60 {
        let follows = node % 3 == 0;
        let job = if follows { "baker" } else { ["smith", "clerk"][node % 2] };
        let age = if node % 5 == 0 { String::new() } else { (20 + node % 40).to_string() };
        writeln!(nodes, "n{node},{job},{age},{}", if follows { "yes" } else { "no" }).unwrap();
        let years = if node % 4 == 0 { "NA".to_owned() } else { (node % 9).to_string() };
        writeln!(edges, "n{node},n{},{},{years}", (node + 1) % 60, ["friend", "kin"][node % 2]).unwrap();
    }
    let folder = folder("nodes.csv", &nodes);
    fs::write(folder.path().join("edges.csv"), &edges).unwrap();
    let train = [
        "train",
        "graphs/cora",
        "--set",
        "data.path=nodes.csv",
        "--set",
        "data.target=follows",
        "--set",
        "train.epochs=30",
        "--out",
        "run",
    ];
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("nodes: missing values: 12 of `age`"), "{said:?}");
    assert!(said.err.contains("edges: missing values: 15 of `years`"), "{said:?}");
    let said = regard(folder.path(), &["predict", "--model", "run", "nodes.csv", "--json"]).done();
    assert!(!said.err.contains("far outside"), "{said:?}");
    let found = said.json();
    let months = edges.replace(",friend,8\n", ",friend,96\n");
    assert_ne!(months, edges);
    fs::write(folder.path().join("months.csv"), months).unwrap();
    let said = regard(folder.path(), &["predict", "--model", "run", "nodes.csv", "--edges", "months.csv"]).done();
    let note = "edges: values far outside those of training: `years` (96; 0 to 8 in training)";
    assert!(said.err.contains(note), "{said:?}");
    let nodes = found[0]["nodes"].as_array().unwrap();
    let right = nodes.iter().enumerate().filter(|(at, node)| (node["prediction"] == "yes") == (at % 3 == 0)).count();
    assert!(right > 50, "{right} of 60: {found}");
}

#[test]
fn a_dispatcher_plans_the_routes_of_a_day() {
    let folder = folder("deliveries.csv", &deliveries(true));
    let root = folder.path();
    let ask = ["solve", "deliveries.csv", "--column", "demand=Gewicht", "--capacity", "300", "--time", "300ms"];
    // A sum below the table is no place; the hint is followed.
    let refused = regard(root, &ask);
    assert!(refused.code == Some(2) && refused.out.is_empty(), "{refused:?}");
    assert!(refused.err.contains("deliveries.csv:29: field `Breite`: is missing"), "{refused:?}");
    assert!(refused.err.contains("--skip-bad"), "{refused:?}");
    let ask = [&ask[..], &["--skip-bad"]].concat();
    let said = regard(root, &ask).done();
    for part in [
        "column `Breite` is read as `lat` (--column lat=NAME changes it)",
        "column `L\u{e4}nge` is read as `lon`",
        "column `Kunde` is read as `id`",
        "`49,4103` is read as 49.4103 (--decimal point changes it)",
        "skipped 1 row without values (line 12)",
        "skipped 1 row that cannot be read (--skip-bad): line 29",
        "1 row repeats an id (`B\u{e4}ckerei 7` on line 11)",
        "column `von` is read as `ready`",
        "column `bis` is read as `due`",
        "columns not used: `Stra\u{df}e`",
        "improve",
    ] {
        assert!(said.err.contains(part), "no `{part}` in {said:?}");
    }
    // The answer is the routes: stops in order, with load and length.
    for part in [
        "route 1   ",
        "stops   load ",
        " of 300   length ",
        "Lager N\u{fc}rnberg (",
        " \u{2192} B\u{e4}ckerei ",
        "feasible",
    ] {
        assert!(said.out.contains(part), "no `{part}` in {said:?}");
    }
    assert!(said.out.contains("B\u{e4}ckerei 7#2") && !said.out.contains("ruin and recreate"), "{said:?}");

    let json = regard(root, &[&ask[..], &["--json"]].concat()).done().json();
    let numbers = |key: &str| -> Vec<f64> {
        json[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let (loads, lengths) = (numbers("loads"), numbers("lengths"));
    assert!(loads.iter().all(|load| *load <= 300.0) && (loads.iter().sum::<f64>() - 1578.25).abs() < 1e-9, "{json}");
    assert!((lengths.iter().sum::<f64>() - json["cost"].as_f64().unwrap()).abs() < 1e-6, "{json}");
    assert!(json["seconds"].as_f64().unwrap() > 0.0, "{json}");

    // For the office, the map and the navigation device.
    for out in ["routes.csv", "routes.geojson", "routes.gpx", "routes.json", "routes.sol"] {
        let said = regard(root, &[&ask[..], &["--out", out]].concat()).done();
        assert!(said.out.contains(&format!("wrote {out}")) && !said.out.contains("\u{2192}"), "{said:?}");
    }
    let table = fs::read_to_string(root.join("routes.csv")).unwrap();
    assert!(
        table
            .starts_with("route,order,id,lat,lon,demand,arrival,waiting,load,length\n1,0,Lager N\u{fc}rnberg,49.4103,"),
        "{table}"
    );
    let stops = table.lines().filter(|line| line.contains("B\u{e4}ckerei")).count();
    assert_eq!(stops, 25, "{table}");
    let map: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root.join("routes.geojson")).unwrap()).unwrap();
    let features = map["features"].as_array().unwrap();
    let lines = features.iter().filter(|feature| feature["geometry"]["type"] == "LineString").count();
    assert_eq!(lines, loads.len(), "{map}");
    assert!(fs::read_to_string(root.join("routes.gpx")).unwrap().contains("<rtept lat=\"49.4103\" lon=\"11.0549\">"));

    // The same options serve the other commands, and every written solution is checked and a start.
    let table = ["deliveries.csv", "--column", "demand=Gewicht", "--capacity", "300", "--skip-bad"];
    for solution in ["routes.csv", "routes.json", "routes.sol"] {
        let verify = [&["data", "verify", table[0], solution], &table[1..], &["--json"]].concat();
        let verified = regard(root, &verify).done().json();
        let warm = [&ask[..], &["--warm-start", solution, "--json"]].concat();
        let warm = regard(root, &warm).done().json();
        assert_eq!(warm["stages"][0]["name"], "warm start", "{warm}");
        let cost = |found: &serde_json::Value| found["cost"].as_f64().unwrap();
        assert!(cost(&warm) <= cost(&verified) + 1e-9, "{warm} {verified}");
    }
    let shown = regard(root, &[&["data", "show"], &table[..], &["--json"]].concat()).done().json();
    assert_eq!((&shown["problem"], &shown["n"]), (&"cvrptw".into(), &26.into()));
    regard(root, &[&["data", "check"], &table[..]].concat()).done();

    // Another day's file, with both orders on one stop.
    fs::write(root.join("next.csv"), deliveries(false)).unwrap();
    let next = ["solve", "next.csv", "--capacity", "300", "--duplicates", "sum", "--time", "200ms", "--json"];
    let said = regard(root, &next).done();
    assert!(said.err.contains("column `Gewicht (kg)` is read as `demand`"), "{said:?}");
    assert!(said.err.contains("one stop with the sum of their amounts"), "{said:?}");
    assert_eq!(said.json()["n"], 25);
}

#[test]
fn a_researcher_reproduces_a_table_and_trains_a_variant() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let model = format!("{}/../../models/regard-tsp20", env!("CARGO_MANIFEST_DIR"));
    let generate = ["data", "generate", "--n", "20", "--instances", "40", "--seed", "7", "--out", "set.pkl"];
    regard(root, &generate).done();

    // Greedy, then sampling, with gaps to the best that the model finds.
    let eval = |more: &[&str]| {
        let all = [&["eval", "--model", &model, "--data", "set.pkl", "--json"][..], more].concat();
        regard(root, &all).done().json()
    };
    let best = eval(&["--decode", "multistart", "--augment", "8", "--improve"])["mean_cost"].as_f64().unwrap();
    let reference = best.to_string();
    let greedy = eval(&["--reference", &reference, "--out", "solutions.jsonl"]);
    let sampled = eval(&["--decode", "sample:64", "--reference", &reference]);
    assert_eq!(greedy["instances"], 40);
    let gap = |found: &serde_json::Value| found["gap"].as_f64().unwrap();
    assert!(gap(&greedy) > gap(&sampled) && gap(&sampled) >= -1e-9 && gap(&greedy) < 0.1, "{greedy} {sampled}");
    let plain = regard(root, &["eval", "--model", &model, "--data", "set.pkl", "--reference", &reference]).done();
    assert!(plain.out.contains("gap") && plain.out.contains('%'), "{plain:?}");
    let solutions = fs::read_to_string(root.join("solutions.jsonl")).unwrap();
    let costs: Vec<f64> = solutions
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["cost"].as_f64().unwrap())
        .collect();
    assert_eq!(costs.len(), 40);
    assert!((costs.iter().sum::<f64>() / 40.0 - greedy["mean_cost"].as_f64().unwrap()).abs() < 1e-9);

    // One instance by itself, with a solution that is checked by other code.
    regard(root, &["data", "generate", "--n", "20", "--seed", "7", "--out", "one.csv"]).done();
    regard(root, &["solve", "one.csv", "--model", &model, "--decode", "greedy", "--out", "one.json"]).done();
    let verified = regard(root, &["data", "verify", "one.csv", "one.json", "--json"]).done();
    assert!(verified.json()["ok"] == true, "{verified:?}");

    // A variant is trained for a few steps, resumed, measured and shown.
    let variant = [
        "train",
        "routes/tsp20",
        "--set",
        "train.batch_size=16",
        "--set",
        "train.learning_rate=0.0003",
        "--set",
        "eval.instances=32",
        "--out",
        "variant",
        "--json",
    ];
    let begun = regard(root, &[&variant[..], &["--steps", "3"]].concat()).done().json();
    assert_eq!((begun["steps"].as_u64(), begun["ended"].as_str()), (Some(3), Some("steps")));
    let resumed = regard(root, &["train", "--resume", "--out", "variant", "--steps", "5", "--json"]).done().json();
    assert_eq!(resumed["steps"].as_u64(), Some(5));
    let found = regard(root, &["eval", "--model", "variant", "--data", "set.pkl", "--json"]).done().json();
    assert!(found["mean_cost"].as_f64().unwrap() > greedy["mean_cost"].as_f64().unwrap(), "{found}");
    let shown = regard(root, &["model", "show", "variant", "--json"]).done().json();
    assert_eq!(shown["manifest"]["experiment"]["train"]["learning_rate"].as_f64(), Some(0.0003), "{shown}");

    // What goes wrong on the way says what to do.
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = regard(root, arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "no `{word}` in {said:?}"));
    };
    let routes = ["data", "generate", "--problem", "cvrp", "--n", "10", "--instances", "3", "--out", "cvrp.pkl"];
    regard(root, &routes).done();
    refused(&["eval", "--model", &model, "--data", "cvrp.pkl"], &["cvrp.pkl", "`cvrp`", "`tsp`"]);
    let bytes = fs::read(root.join("set.pkl")).unwrap();
    fs::write(root.join("cut.pkl"), &bytes[..bytes.len() / 2]).unwrap();
    refused(&["eval", "--model", &model, "--data", "cut.pkl"], &["cut.pkl"]);
    refused(
        &["train", "routes/tsp20", "--set", "train.learning_rat=1e-4", "--out", "other"],
        &["did you mean `learning_rate`"],
    );
    refused(&[&variant[..], &["--resume", "--set", "train.batch_size=8"]].concat(), &["train.batch_size", "hint: "]);
    refused(&["eval", "--model", "variant", "--paper-set", "tps20"], &["tps20"]);
    assert!(!root.join("other").exists());
}
