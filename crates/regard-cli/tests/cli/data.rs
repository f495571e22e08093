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
fn files_are_named_after_problem_and_distribution() {
    let folder = folder();
    for (more, file) in [
        (&["--distribution", "hills"][..], "hills6-0001.tsp"),
        (&["--problem", "sdvrp", "--distribution", "asymmetric"], "sdvrp-asymmetric6-0001.vrp"),
        (&["--problem", "cvrp"], "cvrp6-0001.csv"),
        (&["--problem", "cvrp", "--distribution", "cluster"], "cvrp-cluster6-0001.csv"),
    ] {
        regard(folder.path(), &[&["data", "generate", "--n", "6", "--out", "out"][..], more].concat()).done();
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
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

#[test]
fn a_malformed_file_keeps_no_other_from_being_checked() {
    let folder = folder_with("in.tsp", PENTAGON);
    for name in ["bad.tsp", "worse.tsp"] {
        fs::write(folder.path().join(name), PENTAGON.replacen("1 ", "1 ? ", 1)).unwrap();
    }
    let said = regard(folder.path(), &["data", "check", "bad.tsp", "in.tsp", "worse.tsp"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.out.contains("in.tsp") && !said.out.contains("bad.tsp"), "{said:?}");
    // What is wrong with the arguments is said once.
    fs::write(folder.path().join("drugs.csv"), "id,smiles\na,CCO\n").unwrap();
    let column = regard(folder.path(), &["data", "check", "drugs.csv", "in.tsp", "--column", "x=lon"]);
    assert!(column.code == Some(2) && column.out.is_empty(), "{column:?}");
    assert!(column.err.contains("--column applies to") && !column.err.contains("of 2 files"), "{column:?}");
    for fragment in ["error: bad.tsp:", "error: worse.tsp:", "error: 2 of 3 files cannot be read"] {
        assert!(said.err.contains(fragment), "{fragment}: {said:?}");
    }
}

#[test]
fn files_of_graphs_of_all_formats_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("molecules.csv", "name,SMILES,toxic\nethanol,CCO,0\nphenol,Oc1ccccc1,\nsalt,[Na+].[Cl-],1\n");
    write("nodes.csv", "id,x,label\na,1.5,p\nb,2.5,q\nc,3.5,p\n");
    write("edges.csv", "source,target\na,b\nb,c\n");
    write("graphs.jsonl", "{\"x\": [0, 1, 0], \"e\": [[0, 1, 1], [1, 2, 1]], \"y\": 2.5}\n");
    write("MUTAG.txt", "1\n3 0\n0 1 1\n0 2 0 2\n1 1 1\n");
    write("TU/TU_A.txt", "1, 2\n2, 1\n");
    write("TU/TU_graph_indicator.txt", "1\n1\n");
    write("TU/TU_graph_labels.txt", "1\n");
    let show = |arguments: &[&str]| regard(folder.path(), &[&["data", "show"], arguments].concat());
    let cases: [(&[&str], [u64; 3]); 6] = [
        (&["molecules.csv", "--targets", "toxic", "--id", "name"], [3, 12, 18]),
        (&["nodes.csv"], [1, 3, 4]),
        (&["nodes.csv", "--edges", "edges.csv", "--targets", "label"], [1, 3, 4]),
        (&["graphs.jsonl"], [1, 3, 4]),
        (&["MUTAG.txt"], [1, 3, 4]),
        (&["TU"], [1, 2, 2]),
    ];
    for (arguments, [graphs, nodes, edges]) in cases {
        let json = show(&[arguments, &["--json"]].concat()).done().json();
        assert_eq!(json["kind"], "graphs", "{arguments:?}");
        let found = ["graphs", "nodes", "directed_edges"].map(|key| json[key].as_u64().unwrap());
        assert_eq!(found, [graphs, nodes, edges], "{arguments:?}: {json}");
        let first = &json["first"][0];
        assert_eq!(first["nodes"].as_array().map(|all| all.len() > 1), Some(true), "{arguments:?}");
        let text = show(arguments).done().out;
        assert!(
            text.contains("degree") && text.contains(&format!("graph {}", first["id"].as_str().unwrap())),
            "{text}"
        );
    }
    let json = show(&["molecules.csv", "--targets", "toxic", "--first", "0", "--json"]).done().json();
    assert_eq!((&json["isolated_nodes"], &json["first"]), (&2.into(), &serde_json::json!([])));
    assert_eq!(json["targets"][0]["values"], serde_json::json!([["0", 1], ["1", 1]]));
    assert_eq!(json["targets"][0]["missing"], 1);
    let counted = json["node_features"]["types"].as_array().unwrap();
    assert!(counted.contains(&serde_json::json!(["C", 8])), "{json}");
    assert_eq!(json["degree"]["max"], 3.0);

    let said = show(&["molecules.csv"]).done();
    assert!(said.err.contains("SMILES in `SMILES`") && said.out.contains("--targets names their columns"), "{said:?}");
    let checked = regard(folder.path(), &["data", "check", "molecules.csv", "TU"]).done();
    assert!(checked.out.contains("3 graphs   12 nodes   18 directed edges   ok"), "{}", checked.out);
    write("molecules.csv", "smiles\nCCO\nC1CC\n");
    crate::errors::refused(&show(&["molecules.csv"]), &["molecules.csv:3", "ring 1"]);
    let said = show(&["molecules.csv", "--skip-bad"]).done();
    assert!(said.err.contains("molecules.csv:3: left out") && said.out.contains("rows left out   1"), "{said:?}");
    crate::errors::refused(&show(&["molecules.csv", "--capacity", "3"]), &["--capacity", "is read as graphs"]);
    write("places.csv", "id,x,y\na,0,0\nb,1,1\n");
    assert!(show(&["places.csv"]).done().out.contains("cost in file order"));
    crate::errors::refused(&show(&["places.csv", "--first", "1"]), &["--first applies to files of graphs"]);
}

#[test]
fn generating_refuses_options_without_effect() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, fragment) in [
        ("--n 5 --prizes const", "--prizes does not apply to --problem tsp"),
        ("--problem cvrp --n 5 --prizes const", "it is for op"),
        ("--problem op --n 5 --distribution cluster", "--distribution does not apply to --problem op"),
        ("--problem pctsp --n 5 --distribution cluster", "it is for tsp, cvrp, sdvrp, cvrptw, pdp; leave it out"),
        // No format of files holds the distances of these two.
        ("--problem pdp --n 5 --distribution hills", "--distribution hills does not apply to --problem pdp"),
        ("--problem pdp --n 5 --distribution asymmetric", "it is for tsp, cvrp, sdvrp, cvrptw; leave it out"),
        ("--problem op --n 5 --distribution hills", "it is for tsp, cvrp, sdvrp, cvrptw; leave it out"),
        ("--paper-set tsp20 --problem tsp", "--problem does not apply to --paper-set tsp20"),
        ("--paper-set tsp20 --distribution cluster", "--distribution does not apply to --paper-set tsp20"),
        ("--paper-set op_dist20 --prizes const", "--prizes does not apply to --paper-set op_dist20"),
    ] {
        let words: Vec<&str> = ["data", "generate", "--out", "x"].into_iter().chain(arguments.split(' ')).collect();
        let said = regard(folder.path(), &words);
        assert!(said.code == Some(2) && said.err.contains(fragment), "{arguments}: {said:?}");
    }
    regard(folder.path(), &["data", "generate", "--problem", "op", "--n", "5", "--prizes", "const", "--out", "op"])
        .done();
    regard(folder.path(), &["data", "generate", "--n", "5", "--distribution", "cluster", "--out", "tsp"]).done();
    let pdp = ["data", "generate", "--problem", "pdp", "--n", "6", "--distribution", "cluster", "--out", "pdp"];
    regard(folder.path(), &pdp).done();
    for problem in ["tsp", "cvrp", "sdvrp", "cvrptw"] {
        let hills = ["data", "generate", "--problem", problem, "--n", "5", "--distribution", "hills", "--out", "hills"];
        regard(folder.path(), &hills).done();
    }
}

#[test]
fn a_set_of_instances_is_no_instance() {
    let folder = tempfile::tempdir().unwrap();
    regard(folder.path(), &["data", "generate", "--n", "5", "--instances", "3", "--out", "g.pkl"]).done();
    for command in [&["data", "show"][..], &["data", "check"], &["solve"]] {
        let said = regard(folder.path(), &[command, &["g.pkl"]].concat());
        assert!(said.code == Some(2) && said.err.contains("holds a set of instances"), "{said:?}");
        assert!(said.err.contains("regard eval --data g.pkl"), "{said:?}");
    }
}

#[test]
fn a_file_of_solomons_is_solved_by_his_rule() {
    let folder = tempfile::tempdir().unwrap();
    let text = "C101\n\nVEHICLE\nNUMBER     CAPACITY\n  25         200\n\nCUSTOMER\nCUST NO.  XCOORD.   YCOORD.    \
                DEMAND   READY TIME  DUE DATE   SERVICE TIME\n\n    0      40         50          0          0       \
                1236          0\n    1      45         68         10        912        967         90\n";
    std::fs::write(folder.path().join("c101.txt"), text).unwrap();
    let json = regard(folder.path(), &["solve", "c101.txt", "--json"]).done().json();
    assert_eq!((&json["problem"], &json["cost"]), (&"cvrptw".into(), &37.2.into()), "{json}");
    // The vehicle leaves so late that it does not wait.
    let near = |found: &serde_json::Value, expected: [f64; 3]| {
        let found: Vec<f64> = found[0].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9)
    };
    assert!(near(&json["arrivals"], [893.4, 912.0, 1020.6]) && near(&json["waiting"], [0.0; 3]), "{json}");
    let said = regard(folder.path(), &["solve", "c101.txt"]).done();
    assert!(said.out.contains("0 (893.40) \u{2192} 1 (912) \u{2192} 0 (1,020.6)"), "{said:?}");
    crate::errors::refused(
        &regard(folder.path(), &["solve", "c101.txt", "--capacity", "5"]),
        &["--capacity is for tables (CSV)"],
    );
}

#[test]
fn a_required_prize_out_of_reach_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "id,x,y,prize,penalty\n0,0,0,0,0\n1,1,0,2,1\n2,0,1,3,1\n";
    std::fs::write(folder.path().join("prizes.csv"), rows).unwrap();
    let check = |prize| regard(folder.path(), &["data", "check", "prizes.csv", "--required-prize", prize]).done();
    let said = check("100");
    assert!(said.err.contains("all prizes together are 5, so the required prize 100 cannot be reached"), "{said:?}");
    assert!(!check("5").err.contains("cannot be reached"));
}
