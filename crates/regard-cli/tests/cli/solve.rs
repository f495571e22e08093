//! `regard solve`.

use std::fs;

use serde_json::json;

use crate::files::{PENTAGON, folder, folder_with};
use crate::program::regard;

const SOLVE: [&str; 4] = ["solve", "--model", "model", "in.tsp"];

#[test]
fn stages_are_reported_and_the_tour_is_written() {
    let folder = folder_with("in.tsp", PENTAGON);
    let arguments = [&SOLVE[..], &["--out", "in.tour", "--plot", "in.svg", "--best", "585"]].concat();
    let said = regard(folder.path(), &arguments).done();
    insta::assert_snapshot!("solve_pentagon", said.to_string());
    let tour = fs::read_to_string(folder.path().join("in.tour")).unwrap();
    assert!(tour.contains("TOUR_SECTION") && tour.contains("DIMENSION"), "{tour}");
    assert!(said.err.contains("3-opt + EAX") && !said.out.contains("3-opt"), "{said:?}");
    assert!(fs::read_to_string(folder.path().join("in.svg")).unwrap().contains("<svg"));
    let check = regard(folder.path(), &["data", "check", "in.tsp", "--tour", "in.tour"]).done();
    assert!(check.out.contains("ok"), "{check:?}");
}

#[test]
fn without_a_file_the_tour_is_printed() {
    let folder = folder_with("in.tsp", PENTAGON);
    let said = regard(folder.path(), &SOLVE).done();
    let tour = said.out.lines().nth(2).unwrap().trim();
    let mut ids: Vec<&str> = tour.split(" \u{2192} ").collect();
    assert_eq!((ids.len(), ids.first()), (6, ids.last()), "{said:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids, ["1", "2", "3", "4", "5"], "{said:?}");
    // A pipe gets all of a long tour, in lines of the width of the page.
    regard(folder.path(), &["data", "generate", "--n", "300", "--out", "long.csv"]).done();
    let said = regard(folder.path(), &["solve", "--model", "model", "long.csv", "--decode", "greedy"]).done();
    assert_eq!(said.out.matches('\u{2192}').count(), 300, "{said:?}");
    assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{said:?}");
}

#[test]
fn parts_of_split_deliveries_are_shown() {
    let table = "# capacity: 10\n# split: yes\nid,x,y,demand\ndepot,0,0,\nhotel,5,0,13\nbakery,1,0,8\n";
    let folder = folder_with("in.csv", table);
    let said = regard(folder.path(), &["solve", "in.csv"]).done();
    let parts = said.out.contains("hotel (10 of 13)") && said.out.contains("hotel (3 of 13)");
    assert!(parts && !said.out.contains("bakery ("), "{said:?}");
    let json = regard(folder.path(), &["solve", "in.csv", "--json"]).done().json();
    let (routes, deliveries) = (json["routes"].as_array().unwrap(), json["deliveries"].as_array().unwrap());
    assert_eq!(routes.len(), deliveries.len());
    let (mut hotel, mut bakery) = (0.0, 0.0);
    for (route, amounts) in routes.iter().zip(deliveries) {
        let (stops, amounts) = (route.as_array().unwrap(), amounts.as_array().unwrap());
        assert_eq!(stops.len(), amounts.len());
        for (stop, amount) in stops.iter().zip(amounts) {
            *if stop == "hotel" { &mut hotel } else { &mut bakery } += amount.as_f64().unwrap();
        }
    }
    assert_eq!((hotel, bakery), (13.0, 8.0), "{json}");
}

#[test]
fn a_search_starts_from_a_solution_and_is_never_worse() {
    let folder = folder();
    regard(folder.path(), &["data", "generate", "--n", "60", "--seed", "3", "--out", "in.csv"]).done();
    let solve = |more: &[&str]| {
        let json =
            regard(folder.path(), &[&["solve", "--model", "model", "in.csv", "--json"], more].concat()).done().json();
        (json["cost"].as_f64().unwrap(), json)
    };
    let (best, _) = solve(&["--time", "1s", "--out", "good.csv"]);
    for (more, by) in
        [(&["--warm-start", "good.csv"][..], "start"), (&["--warm-start", "good.csv", "--time", "50ms"], "start")]
    {
        let (cost, json) = solve(more);
        assert!(cost <= best + 1e-12, "{json}");
        assert_eq!(
            (&json["stages"][0]["by"], &json["stages"][0]["name"]),
            (&json!(by), &json!("warm start")),
            "{json}"
        );
        assert!((json["stages"][0]["cost"].as_f64().unwrap() - best).abs() < 1e-12, "{json}");
    }
}

#[test]
fn a_tiny_required_prize_gives_numbers() {
    let text = "x,y,prize,penalty\n0,0,0,0\n1,0,3,1\n0,1,2,1\n1,1,5,0.5\n2,1,4,0.1\n";
    let folder = folder_with("in.csv", text);
    for prize in ["1e-308", "0", "1e-30"] {
        let said = regard(folder.path(), &["solve", "in.csv", "--required-prize", prize]).done();
        let all = format!("{}{}", said.out, said.err).to_lowercase();
        assert!(!all.contains("nan") && !all.contains("inf "), "{said:?}");
    }
}

#[test]
fn json_has_the_promised_keys() {
    let folder = folder_with("in.tsp", PENTAGON);
    let json = regard(folder.path(), &[&SOLVE[..], &["--json", "--best", "585"]].concat()).done().json();
    assert_eq!(json["instance"], "pentagon");
    assert_eq!(json["n"], 5);
    assert_eq!(json["best_known"], 585.0);
    let cost = json["cost"].as_f64().unwrap();
    assert!((json["gap"].as_f64().unwrap() - (cost / 585.0 - 1.0)).abs() < 1e-12);
    let mut ids: Vec<i64> = json["tour"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    assert_eq!((&json["metric"], &json["unit"], &json["checked"]), (&json!("EUC_2D"), &json!(""), &json!(true)));
    assert_eq!(json["model"], "model");
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    let stages = json["stages"].as_array().unwrap();
    let by: Vec<&str> = stages.iter().map(|stage| stage["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["network", "network", "improve"]);
    assert_eq!(stages[2]["cost"], json["cost"]);
}

#[test]
fn solutions_of_stages_are_part_of_the_json_alone() {
    let folder = folder_with("in.tsp", PENTAGON);
    let solve = ["solve", "in.tsp", "--model", "model", "--stage-solutions"];
    let said = regard(folder.path(), &solve);
    crate::errors::refused(&said, &["--stage-solutions needs --json", "hint: add --json"]);
    let json = regard(folder.path(), &[&solve[..], &["--json"]].concat()).done().json();
    assert_eq!(json["stages"][0]["tour"].as_array().unwrap().len(), 5);
}

#[test]
fn without_a_best_known_cost_there_is_no_gap() {
    let folder = folder_with("in.tsp", PENTAGON);
    let json = regard(folder.path(), &[&SOLVE[..], &["--json"]].concat()).done().json();
    assert!(json["best_known"].is_null() && json["gap"].is_null());
}

#[test]
fn several_files_give_one_line_each() {
    let folder = folder_with("in.tsp", PENTAGON);
    fs::write(folder.path().join("b.csv"), "id,x,y\nhome,0,0\nwork,0,3\nshop,4,3\ngym,4,0\n").unwrap();
    let arguments = [&SOLVE[..], &["b.csv", "--json", "--out", "tours"]].concat();
    let said = regard(folder.path(), &arguments).done();
    let lines: Vec<serde_json::Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["cost"], 14.0);
    assert!(lines[1]["tour"].as_array().unwrap().contains(&json!("home")));
    assert!(folder.path().join("tours/in.tour").is_file() && folder.path().join("tours/b.tour").is_file());
}

#[test]
fn an_instance_that_nobody_can_solve_is_said_with_its_file() {
    let rows = "id,x,y,demand,due\nd,0,0,0,100\na,30,30,4,43\nb,-30,-30,2,43\n";
    let folder = folder_with("late.csv", &format!("# capacity: 10\n# vehicles: 1\n{rows}"));
    let said = regard(folder.path(), &["solve", "late.csv", "--time", "1s"]);
    assert!(said.code == Some(2) && said.out.is_empty(), "{said:?}");
    let parts = ["late.csv: not a solution: there are 2 routes, the number of vehicles is 1", "more vehicles than 1"];
    for part in parts {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    // Others of a list are solved, and those of a folder.
    fs::create_dir(folder.path().join("all")).unwrap();
    fs::copy(folder.path().join("late.csv"), folder.path().join("all/late.csv")).unwrap();
    fs::write(folder.path().join("all/two.csv"), format!("# capacity: 10\n# vehicles: 2\n{rows}")).unwrap();
    let list = ["solve", "all/late.csv", "all/two.csv", "--time", "1s", "--json", "--quiet"];
    for arguments in [&list[..], &["bench", "lib", "all", "--time", "1s", "--json", "--quiet"]] {
        let said = regard(folder.path(), arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(parts[0]) && said.err.contains("for 1 of 2 files"), "{said:?}");
        assert!(said.out.contains("two") && !said.out.contains("late"), "{said:?}");
    }
}

#[test]
fn distances_may_differ_by_direction() {
    // One way round is short.
    let way = |from: usize, to: usize| if (from + 1) % 15 == to { 1 } else { 9 + (from * 7 + to * 3) % 5 };
    let square: String =
        (0..15).map(|a| (0..15).map(|b| way(a, b).to_string()).collect::<Vec<_>>().join(",") + "\n").collect();
    let rows: String = (0..15).map(|stop| format!("s{stop},{}\n", if stop == 0 { "" } else { "1" })).collect();
    let folder = folder_with("in.csv", &format!("# capacity: 5\nid,demand\n{rows}"));
    fs::write(folder.path().join("tour.csv"), format!("id\n{}", rows.replace(",1", "").replace(',', ""))).unwrap();
    fs::write(folder.path().join("ways.csv"), square).unwrap();
    let solve =
        |file| regard(folder.path(), &["solve", file, "--distances", "ways.csv", "--json", "--out", "out.csv"]).done();
    let tour = solve("tour.csv");
    assert_eq!(tour.json()["cost"], 15.0, "{}", tour.out);
    assert!(tour.err.contains("distances differ by direction"), "{}", tour.err);
    let routes = solve("in.csv").json();
    assert_eq!(routes["problem"], "cvrp");
    let lines = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(lines.lines().count() > 15, "{lines}");
    let verify = ["data", "verify", "in.csv", "out.csv", "--distances", "ways.csv"];
    assert!(regard(folder.path(), &verify).done().out.contains("feasible"));
    let three = "TYPE: ATSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 9 1\n1 0 9\n9 1 0\n";
    fs::write(folder.path().join("three.atsp"), three).unwrap();
    assert_eq!(regard(folder.path(), &["solve", "three.atsp", "--json"]).done().json()["cost"], 3.0);
    let refused = regard(folder.path(), &["solve", "three.atsp", "--distances", "ways.csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("--distances is for tables"), "{}", refused.err);
}

#[test]
fn one_two_and_three_places_have_one_tour() {
    for (rows, cost) in [("a,5,5\n", 0.0), ("a,0,0\nb,3,4\n", 10.0), ("a,0,0\nb,3,0\nc,0,4\n", 12.0)] {
        let folder = folder_with("in.csv", &format!("id,x,y\n{rows}"));
        let arguments = ["solve", "--model", "model", "in.csv", "--json", "--out", "in.tour", "--plot", "in.png"];
        let json = regard(folder.path(), &arguments).done().json();
        assert_eq!(json["cost"], cost, "{rows}");
        assert_eq!(json["n"].as_u64(), Some(rows.lines().count() as u64));
        assert_eq!(json["stages"], json!([]));
        assert!(folder.path().join("in.png").is_file());
    }
}

#[test]
fn equal_places_are_solved_like_others() {
    let same: String = (1..=6).map(|i| format!("{i},7.5,7.5\n")).collect();
    let twice = "1,0,0\n2,0,0\n3,1,0\n4,1,0\n5,1,1\n6,1,1\n7,0,1\n8,0,1\n";
    for (rows, cost) in [(same.as_str(), 0.0), (twice, 4.0)] {
        let folder = folder_with("in.csv", &format!("id,x,y\n{rows}"));
        let arguments = ["solve", "--model", "model", "in.csv", "--json", "--plot", "in.svg"];
        let json = regard(folder.path(), &arguments).done().json();
        assert_eq!(json["cost"], cost, "{rows}");
    }
}

#[test]
fn every_way_of_decoding() {
    let folder = folder_with("in.tsp", PENTAGON);
    for decode in ["greedy", "sample:8", "multistart", "multistart:3", "beam:4"] {
        let arguments = [&SOLVE[..], &["--json", "--no-improve", "--augment", "8", "--decode", decode]].concat();
        let json = regard(folder.path(), &arguments).done().json();
        assert!(json["stages"].as_array().unwrap().iter().all(|stage| stage["by"] == "network"), "{decode}");
    }
}

#[test]
fn the_same_seed_gives_the_same_tour() {
    let folder = folder();
    let generate = ["data", "generate", "--n", "40", "--seed", "3", "--out", "in.csv"];
    regard(folder.path(), &generate).done();
    let solve = ["solve", "--model", "model", "in.csv", "--json", "--decode", "sample:4", "--seed", "5"];
    let [first, second] = [1, 2].map(|threads| {
        let threads = threads.to_string();
        regard(folder.path(), &[&solve[..], &["--threads", &threads]].concat()).done().json()
    });
    assert_eq!(first["tour"], second["tour"]);
    assert_eq!(first["cost"], second["cost"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_search_that_timeout_ends_gives_its_solution() {
    let folder = tempfile::tempdir().unwrap();
    regard(folder.path(), &["data", "generate", "--n", "600", "--out", "places.csv"]).done();
    // It sends two signals, one right after the other.
    let output = std::process::Command::new("timeout")
        .args(["3", env!("CARGO_BIN_EXE_regard"), "solve", "places.csv", "--time", "10m", "--json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["cost"].as_f64().unwrap() > 0.0, "{found}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_search_gives_the_best_solution_so_far() {
    let folder = tempfile::tempdir().unwrap();
    for (problem, file) in [("tsp", "places.csv"), ("cvrp", "customers.csv")] {
        regard(folder.path(), &["data", "generate", "--problem", problem, "--n", "600", "--out", file]).done();
        let out = format!("{file}.json");
        for time in [&["--time", "10m"][..], &[]] {
            let arguments = [&["solve", file, "--json", "--out", &out][..], time].concat();
            let said = crate::series::terminated(folder.path(), &arguments);
            let err = String::from_utf8_lossy(&said.stderr);
            assert_eq!(said.status.code(), Some(0), "{err}");
            let found: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
            assert!(found["cost"].as_f64().unwrap() > 0.0 && found["seconds"].as_f64().unwrap() < 60.0, "{found}");
            assert!(err.contains("stopping after the best solution so far"), "{err}");
            let verify = ["data", "verify", file, &out];
            regard(folder.path(), &verify).done();
        }
    }
}
