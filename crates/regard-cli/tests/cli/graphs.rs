//! `regard train`, `eval` and `predict` on graphs.

use std::fs;

use crate::program::regard;

const MOLECULES: &str = "\
name,smiles,length
a,C,1
b,CC,2
c,CCC,3
d,CCO,3
e,CCCC,4
f,OCCO,4
g,c1ccccc1,6
h,CC(C)C,4
i,CO,2
j,CCCCC,5
";

/// The settings of a small network on the molecules.
const SMALL: [&str; 14] = [
    "--set",
    "data.path=molecules.csv",
    "--set",
    "data.id=name",
    "--set",
    "data.targets=[\"length\"]",
    "--set",
    "model.width=16",
    "--set",
    "model.layers=2",
    "--set",
    "train.epochs=3",
    "--set",
    "train.batch_size=4",
];

fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("molecules.csv"), MOLECULES).unwrap();
    let train = [&["train", "graphs/molecules", "--out", "run", "--json"][..], &SMALL].concat();
    let json = regard(folder.path(), &train).done().json();
    assert_eq!((json["steps"].as_u64(), json["ended"].as_str()), (Some(6), Some("complete")));
    folder
}

#[test]
fn a_model_of_molecules_is_trained_measured_and_asked() {
    let folder = trained();
    let measured = regard(folder.path(), &["eval", "--model", "run", "--training-data", "--json"]).done().json();
    assert!(measured["mae"].as_f64().is_some_and(f64::is_finite), "{measured}");
    let file = ["eval", "--model", "run", "--data", "molecules.csv", "--json"];
    let on_file = regard(folder.path(), &file).done().json();
    assert!(on_file["rmse"].as_f64().is_some_and(f64::is_finite), "{on_file}");

    fs::write(folder.path().join("new.csv"), "smiles,name\nCCO,x\nCCCC,y\n").unwrap();
    let asked =
        ["predict", "--model", "run", "new.csv", "--attention", "edges.csv", "--plot", "y.svg", "--example", "y"];
    let plain = regard(folder.path(), &asked).done();
    assert!(plain.out.starts_with("id,nodes,edges,length\nx,3,4,"), "{plain:?}");
    let edges = fs::read_to_string(folder.path().join("edges.csv")).unwrap();
    assert!(edges.starts_with("graph,source,target,layer,head,weight\nx,"), "{edges}");
    // Four and six directed edges, two layers, eight heads.
    assert_eq!(edges.lines().count(), 1 + 10 * 2 * 8);
    assert!(fs::read_to_string(folder.path().join("y.svg")).unwrap().contains("4 nodes"));
    let json = regard(folder.path(), &["predict", "--model", "run", "new.csv", "--json"]).done().json();
    assert_eq!((json[0]["id"].as_str(), json.as_array().map(Vec::len)), (Some("x"), Some(2)));
    let shown = regard(folder.path(), &["model", "show", "run", "--json"]).done().json();
    assert_eq!(shown["kind"].as_str(), Some("graph-transformer"));
}

#[test]
fn what_is_wrong_with_molecules_is_named() {
    let folder = trained();
    let refused = |text: &str, more: &[&str], expected: &[&str]| {
        fs::write(folder.path().join("new.csv"), text).unwrap();
        let said = regard(folder.path(), &[&["predict", "--model", "run", "new.csv"], more].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(expected.iter().all(|part| said.err.contains(part)), "{expected:?}: {said:?}");
    };
    refused("smiles,name\nC1CC,x\n", &[], &["new.csv:2", "smiles"]);
    let unseen = ["error: new.csv:2", "Br", "not in the training data", "hint: skip it with `--skip-bad`"];
    refused("smiles,name\nCBr,x\n", &[], &unseen);
    refused("smile,name\nC,x\n", &[], &["smiles"]);
    fs::write(folder.path().join("new.csv"), "smiles,name\nC1CC,x\nCCO,y\n").unwrap();
    let said = regard(folder.path(), &["predict", "--model", "run", "new.csv", "--skip-bad"]).done();
    assert!(said.out.contains("\ny,3,4,") && !said.out.contains("\nx,"), "{said:?}");
    assert!(said.err.contains("skipped 1 row: line 2: "), "{said:?}");
    refused("smiles,name\nCC,x\n", &["--importance"], &["--attention"]);
    refused("smiles,name\nCC,x\n", &["--rows", "rows.csv"], &["--rows applies only to models on sets"]);
    refused("smiles,name\nCC,x\n", &["--plot", "a.svg", "--example", "z"], &["no such graph", "x"]);
    let folds = regard(folder.path(), &[&["eval", "graphs/molecules", "--folds", "20"][..], &SMALL].concat());
    assert!(folds.code == Some(2) && folds.err.contains("--folds 20: expected 2 to "), "{folds:?}");
    let family = regard(folder.path(), &["train", "graphs/zink"]);
    assert!(family.code == Some(2) && family.err.contains("zinc"), "{family:?}");
}

#[test]
fn what_training_did_not_have_is_left_out_or_counts_as_rare() {
    let folder = trained();
    fs::write(folder.path().join("new.csv"), "smiles,name\nCBr,x\nCCO,y\nC1,z\n").unwrap();
    let ask = |more: &[&str]| regard(folder.path(), &[&["predict", "new.csv"], more].concat());
    let strict = ask(&["--model", "run", "--skip-bad"]).done();
    assert!(strict.out.lines().count() == 2 && strict.out.contains("\ny,3,4,"), "{strict:?}");
    assert!(strict.err.contains("skipped 2 rows: line 2: atom 2 has the type `Br`"), "{strict:?}");
    assert!(strict.err.contains("line 4: "), "{strict:?}");

    // Four oxygens among more carbons: one type, which stands for bromine too.
    let train = ["train", "graphs/molecules", "--set", "data.min_type_count=6", "--out", "rare"];
    regard(folder.path(), &[&train[..], &SMALL].concat()).done();
    let kept = ask(&["--model", "rare", "--skip-bad"]).done();
    assert!(kept.out.lines().count() == 3 && kept.out.contains("\nx,2,2,"), "{kept:?}");
    assert!(kept.err.contains("2 nodes of types that are rare or absent in the training data"), "{kept:?}");
    let eval = ["eval", "graphs/molecules", "--set", "data.min_type_count=6", "--folds", "2", "--json"];
    assert!(regard(folder.path(), &[&eval[..], &SMALL].concat()).done().json()["rmse"].as_f64().is_some());
}

#[test]
fn an_experiment_is_cut_into_folds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("molecules.csv"), MOLECULES).unwrap();
    let eval = |more: &[&str]| regard(folder.path(), &[&["eval", "graphs/molecules.toml"][..], &SMALL, more].concat());
    let json = eval(&["--folds", "5", "--json"]).done().json();
    assert!(json["rmse"].as_f64().is_some_and(|rmse| rmse >= json["mae"].as_f64().unwrap()), "{json}");
    assert_eq!((json["graphs"].as_u64(), json["folds"].as_u64()), (Some(10), Some(5)));
    assert_eq!((json["of_folds"].as_array().unwrap().len(), json["deviation_over"].as_str()), (5, Some("folds")));
    let plain = eval(&["--folds", "5", "--repeats", "2"]).done();
    assert!(plain.out.contains("10 graphs, 5 folds, repeats: 2\n"), "{plain:?}");

    fs::create_dir(folder.path().join("lists")).unwrap();
    fs::write(folder.path().join("lists/train_idx-1.txt"), "0\n1\n2\n3\n4\n5\n6\n7\n").unwrap();
    fs::write(folder.path().join("lists/test_idx-1.txt"), "8\n9\n").unwrap();
    let json = eval(&["--folds-from", "lists", "--json"]).done().json();
    assert_eq!((json["folds"].as_u64(), json["std"].as_object().unwrap().len()), (Some(1), 0));
    fs::write(folder.path().join("lists/test_idx-1.txt"), "8\n10\n").unwrap();
    let said = eval(&["--folds-from", "lists"]);
    assert!(said.code == Some(2) && said.err.contains("test_idx-1.txt:2"), "{said:?}");
}

/// Something of the repository.
fn of_repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_shipped_models_know_molecules_however_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let molecules =
        ["Cc1ccccc1O", "Oc1ccccc1C", "CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O", "CCO", "c1ccc2cc3ccccc3cc2c1"];
    fs::write(folder.path().join("new.csv"), format!("smiles\n{}\n", molecules.join("\n"))).unwrap();
    for model in ["models/regard-solubility", "models/regard-zinc"] {
        let asked = ["predict", "--model", &of_repository(model), "new.csv", "--json"];
        let json = regard(folder.path(), &asked).done().json();
        let predicted: Vec<f64> =
            json.as_array().unwrap().iter().map(|row| row["prediction"].as_f64().unwrap()).collect();
        assert!(
            (predicted[0] - predicted[1]).abs() < 1e-3 && (predicted[2] - predicted[3]).abs() < 1e-3,
            "{model}: {predicted:?}"
        );
        // Spirit mixes with water, anthracene does not: 1.1 and -6.4 were measured. Both models order them.
        assert!((predicted[4] - predicted[5]).abs() > 3.0, "{model}: {predicted:?}");
        if model.ends_with("solubility") {
            assert!((predicted[4] - 1.1).abs() < 0.7 && (predicted[5] + 6.4).abs() < 1.0, "{predicted:?}");
        }
    }
}

#[test]
fn predicted_numbers_of_molecules_have_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let table = |seed: usize, count: usize| {
        let row = |at: usize| {
            let mixed = ((at + 1000 * seed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let noise = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
            let noise = noise as usize % 1000;
            let smiles = ["C".repeat(1 + at % 6), "O".repeat(at / 6 % 2)].concat();
            format!("m{at},{smiles},{},{}\n", at % 6 + noise / 250, noise)
        };
        ["name,smiles,length,noise\n".to_owned(), (0..count).map(row).collect()].concat()
    };
    fs::write(folder.path().join("molecules.csv"), table(1, 160)).unwrap();
    fs::write(folder.path().join("new.csv"), table(2, 100)).unwrap();
    let targets =
        [&SMALL[..], &["--set", "data.targets=[\"length\",\"noise\"]", "--set", "data.validation_fraction=0.4"]];
    let train = [&["train", "graphs/molecules", "--out", "run"][..], &targets.concat()].concat();
    regard(folder.path(), &train).done();
    let said = regard(folder.path(), &["predict", "--model", "run", "new.csv", "--levels", "80"]).done();
    let mut lines = said.out.lines();
    let head = "id,nodes,edges,length,length-lo-80,length-hi-80,noise,noise-lo-80,noise-hi-80";
    assert_eq!(lines.next(), Some(head), "{said:?}");
    let truth = table(2, 100);
    let within = lines.zip(truth.lines().skip(1)).filter(|(predicted, truth)| {
        let predicted: Vec<&str> = predicted.split(',').collect();
        let noise: f64 = truth.rsplit(',').next().unwrap().parse().unwrap();
        (predicted[7].parse::<f64>().unwrap()..=predicted[8].parse().unwrap()).contains(&noise)
    });
    let within = within.count();
    assert!((70..=90).contains(&within), "{within} of 100");
    let json =
        regard(folder.path(), &["predict", "--model", "run", "new.csv", "--levels", "80", "--json"]).done().json();
    assert!(json[0]["intervals"]["noise"][0]["high"].is_f64(), "{}", json[0]);
}

#[test]
fn a_model_of_molecules_is_measured_on_any_table_and_refuses_options_of_routes() {
    let folder = trained();
    let eval = |more: &[&str]| regard(folder.path(), &[&["eval", "--model", "run"][..], more].concat());
    fs::write(folder.path().join("bad.csv"), format!("{MOLECULES}k,C((,1\n")).unwrap();
    let refused = eval(&["--data", "bad.csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("bad.csv"), "{refused:?}");
    let skipped = eval(&["--data", "bad.csv", "--skip-bad", "--json"]).done();
    assert!(skipped.err.contains("k") && skipped.json()["mae"].is_f64(), "{skipped:?}");
    for flags in [&["--depot", "a"][..], &["--decode", "greedy"], &["--paper-set", "tsp20"], &["--capacity", "3"]] {
        let data: &[&str] = if flags[0] == "--paper-set" { &[] } else { &["--data", "molecules.csv"] };
        let refused = eval(&[data, flags].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(&format!("{} applies only to models for routes", flags[0])), "{refused:?}");
    }
    let refused = eval(&["--data", "molecules.csv", "bad.csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("one file"), "{refused:?}");
}

/// Sodium chloride has two atoms and no bond.
const SALTS: &str = "name,smiles,length\na,C=C,2\nb,CC,2\nc,[Na+].[Cl-],2\nd,CCO,3\ne,CCC,3\nf,CCCC,4\n";

#[test]
fn an_atom_without_bonds_is_named_before_training_and_in_prediction() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("molecules.csv"), SALTS).unwrap();
    let preset = ["--set", "model.preset=graph-transformer-2021", "--set", "model.edge_stream=false"];
    let train = [&["train", "graphs/molecules", "--out", "run"][..], &preset, &SMALL].concat();
    let said = regard(folder.path(), &train);
    let expected = ["model.softmax", "node 1", "Na", "graph `c`", "model.softmax=stable", "model.edge_stream=true"];
    crate::errors::refused(&said, &expected);
    assert!(!folder.path().join("run").exists(), "before training starts");

    // Without the salt it is trained; the salt is then named in prediction.
    fs::write(folder.path().join("molecules.csv"), SALTS.replace("c,[Na+].[Cl-],2\n", "c,CO,2\n")).unwrap();
    regard(folder.path(), &train).done();
    fs::write(folder.path().join("new.csv"), "name,smiles\nx,CC\ny,C.C\n").unwrap();
    let said = regard(folder.path(), &["predict", "--model", "run", "new.csv"]);
    crate::errors::refused(&said, &["new.csv", "node 1", "graph `y`", "no edge ends"]);
}

#[test]
fn a_run_without_a_model_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("run")).unwrap();
    fs::write(folder.path().join("run/experiment.toml"), "[task]\nfamily = \"graphs\"\n").unwrap();
    fs::write(folder.path().join("new.csv"), "name,smiles\nx,CC\n").unwrap();
    let said = regard(folder.path(), &["predict", "--model", "run", "new.csv", "--attention", "edges.csv"]);
    crate::errors::refused(&said, &["run", "has not saved a model", "--resume"]);
    assert!(!said.err.contains("sets"), "{said:?}");
}

#[test]
fn a_shipped_model_is_measured_on_columns_of_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let model = format!("{}/../../models/regard-solubility", env!("CARGO_MANIFEST_DIR"));
    let text = "name,structure,measured\nethanol,CCO,\"0,5\"\nhexane,CCCCCC,\"-4,0\"\nbenzene,c1ccccc1,\"-1,6\"\n";
    std::fs::write(folder.path().join("m.csv"), text).unwrap();
    let measure = ["eval", "--model", &model, "--data", "m.csv", "--smiles", "structure", "--id", "name", "--target"];
    let found = regard(folder.path(), &[&measure[..], &["measured", "--decimal", "comma", "--json"]].concat());
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.json()["mae"].as_f64().is_some_and(f64::is_finite), "{found:?}");
    let refused = regard(folder.path(), &[&measure[..], &["measured", "--group-by", "name"]].concat());
    assert!(refused.code == Some(2) && refused.err.contains("--group-by does not apply"), "{refused:?}");
}
