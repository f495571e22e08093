//! Released checkpoints, imported and evaluated on the paper's test sets by the program itself.

use std::path::PathBuf;

use regard_testing::{Case, Golden};

use crate::files::folder;
use crate::program::regard;

/// Weights of a case: the safetensors of the manifest, and the original file where there is one.
fn checkpoints(golden: &Golden, case: &Case) -> Vec<PathBuf> {
    let weights = golden.path(case.config["weights"].as_str().unwrap());
    let stem = weights.file_stem().unwrap().to_string_lossy().into_owned();
    let mut files = vec![weights.clone()];
    for name in golden.names(&format!("kool/{stem}.")).iter().filter(|name| name.ends_with(".pt")) {
        let original = golden.case(name).unwrap();
        files.push(golden.path(original.entry["files"][0]["path"].as_str().unwrap()));
    }
    files
}

#[test]
fn golden_checkpoints_reach_their_mean_cost() {
    let Some(golden) = Golden::open_shared() else { return };
    let names = golden.names("kool/").into_iter().filter(|name| name.ends_with(".greedy"));
    let cases = names.filter_map(|name| golden.case(&name));
    for case in cases.filter(|case| case.config["problem"] == "tsp") {
        let expected = case.entry["mean_cost"].as_f64().unwrap();
        let set = format!("tsp{}", case.size("n"));
        let limit = case.size("mean_over").to_string();
        for (i, file) in checkpoints(&golden, &case).iter().enumerate() {
            let folder = folder();
            let out = format!("imported-{i}");
            regard(folder.path(), &["model", "import", "kool", file.to_str().unwrap(), "--out", &out]).done();
            let eval = ["eval", "--model", &out, "--paper-set", &set, "--limit", &limit, "--json"];
            let json = regard(folder.path(), &eval).done().json();
            let found = json["mean_cost"].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-3, "{}: {found}, expected {expected}", file.display());
        }
    }
}
