//! `regard eval`.

use crate::files::folder;
use crate::program::regard;

#[test]
fn a_paper_set_gives_mean_error_and_speed() {
    let folder = folder();
    let eval = ["eval", "--model", "model", "--paper-set", "tsp20", "--limit", "64", "--json"];
    let json = regard(folder.path(), &eval).done().json();
    assert_eq!(json["instances"], 64);
    let (mean, error) = (json["mean_cost"].as_f64().unwrap(), json["std_error"].as_f64().unwrap());
    assert!((3.5..12.0).contains(&mean) && (0.001..1.0).contains(&error), "{json}");
    assert!(json["seconds"].as_f64().unwrap() > 0.0 && json["instances_per_second"].as_f64().unwrap() > 0.0);
    assert!(json["gap"].is_null());
    let improved = regard(folder.path(), &[&eval[..], &["--improve", "--reference", "3.84"]].concat()).done().json();
    assert_eq!(improved["mean_cost_network"], json["mean_cost"]);
    assert!(improved["mean_cost"].as_f64().unwrap() < mean);
    let gap = improved["mean_cost"].as_f64().unwrap() / 3.84 - 1.0;
    assert!((improved["gap"].as_f64().unwrap() - gap).abs() < 1e-12);
}

#[test]
fn the_size_of_a_batch_changes_nothing() {
    let folder = folder();
    let eval = ["eval", "--model", "model", "--paper-set", "tsp12", "--limit", "10", "--json", "--batch"];
    let [one, many] = ["1", "7"].map(|batch| regard(folder.path(), &[&eval[..], &[batch]].concat()).done().json());
    assert_eq!(one["mean_cost"], many["mean_cost"]);
}

#[test]
fn files_of_several_sizes_are_evaluated_together() {
    let folder = folder();
    for (n, out) in [("1", "a.csv"), ("6", "b.csv"), ("9", "c.csv")] {
        regard(folder.path(), &["data", "generate", "--n", n, "--out", out]).done();
    }
    let eval = ["eval", "--model", "model", "--data", "a.csv", "b.csv", "c.csv"];
    let json = regard(folder.path(), &[&eval[..], &["--json"]].concat()).done().json();
    assert_eq!(json["instances"], 3);
    let plain = regard(folder.path(), &eval).done();
    assert!(plain.out.contains("mean cost") && plain.out.contains("±"), "{plain:?}");
}
