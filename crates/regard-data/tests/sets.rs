//! Bags as they come: published files, and programs that write them.

use regard_data::metrics::mean_ndcg;
use regard_data::sets::baseline::Ridge;
use regard_data::sets::formats::{ReadOptions, read};
use regard_data::sets::{FeatureNames, Labels, Standardiser};
use regard_data::split;

/// Rows, bags, features and bags of the second class.
const MIL: [(&str, [usize; 4]); 2] = [("musk1", [476, 92, 166, 47]), ("elephant", [1391, 200, 230, 100])];

#[test]
fn multiple_instance_sets_are_read_and_split() {
    for (name, [rows, bags, width, positive]) in MIL {
        let Some(path) = regard_testing::shared(&format!("data/sets/mil/{name}.csv")) else {
            return;
        };
        let mut all = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!([all.rows(), all.len(), all.width()], [rows, bags, width], "{name}");
        assert_eq!((all.names(), all.line(rows - 1)), (&FeatureNames::Count(width), Some(rows)));
        let classes = all.labels().unwrap().classes();
        assert_eq!(classes.names, ["0", "1"]);
        assert_eq!(classes.of.iter().sum::<usize>(), positive, "{name}");
        let folds = split::stratified_folds(&classes.of, 10, 3).unwrap();
        assert!(folds.iter().all(|fold| fold.len().abs_diff(bags / 10) <= 1));
        let training = split::others(bags, &folds[0]);
        Standardiser::learn(&all, &training).unwrap().apply(&mut all).unwrap();
        assert!(all.features().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn a_label_that_changes_within_a_bag_is_refused() {
    let Some(path) = regard_testing::shared("data/sets/mil/musk1.csv") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap().replacen("1,1,", "0,1,", 1);
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.csv");
    std::fs::write(&broken, text).unwrap();
    let error = read(&broken, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.ends_with("broken.csv:2: field `label`: bag `1` has the label `1` here and `0` on line 1"),
        "{error}"
    );
}

#[test]
fn the_ranking_example_is_read_and_ranked_by_a_line() {
    let Some(folder) = regard_testing::shared("data/sets/ltr") else {
        return;
    };
    let train = read(folder.join("lgbm_rank.train"), &ReadOptions::default()).unwrap();
    assert_eq!([train.rows(), train.len(), train.width()], [3005, 201, 300]);
    assert_eq!(train.row_labels().unwrap().classes().names, ["0", "1", "2", "3", "4"]);
    let known = ReadOptions { width: Some(train.width()), ..ReadOptions::default() };
    let test = read(folder.join("lgbm_rank.test"), &known).unwrap().align(train.names()).unwrap();
    assert_eq!([test.rows(), test.len(), test.width()], [768, 50, 300]);
    let Some(Labels::Numbers(relevance)) = train.row_labels() else {
        panic!("relevances are numbers");
    };
    let ridge = Ridge::fit(&train, relevance, &(0..train.len()).collect::<Vec<_>>(), 300.0).unwrap();
    let truth = test.row_labels().unwrap().numbers().unwrap();
    let ranked = mean_ndcg(&ridge.scores(&test).unwrap(), &truth, test.offsets(), 5);
    let unranked = mean_ndcg(&vec![0.0; test.rows()], &truth, test.offsets(), 5);
    println!("NDCG@5: ridge {ranked:.4}, order of the file {unranked:.4}");
    assert!(ranked > unranked + 0.05 && ranked < 1.0, "{ranked} {unranked}");
}

#[test]
fn the_name_decides_then_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { group_by: Some("id".into()), ..ReadOptions::default() };
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let json = "{\"id\": \"u\", \"items\": [[1]]}\n";
    write("rank.query", "1\n");
    write("rank.svm.query", "1\n");
    for (name, text) in [
        ("a.csv", "id,x\nu,1\n"),
        ("a.TSV", "id\tx\nu\t1\n"),
        ("a", "id;x\nu;1\n"),
        ("a.jsonl", json),
        ("a.txt", json),
        ("rank", "0 1:1\n"),
        ("rank.svm", "0 1:1\n"),
    ] {
        let bags = read(write(name, text), &options).unwrap();
        assert_eq!((bags.len(), bags.features()), (1, &[1.0][..]), "{name}");
    }
    let missing = read(folder.path().join("none.csv"), &options).unwrap_err();
    assert!(missing.to_string().contains("none.csv") && missing.hint().is_some());
    let not_npz = read(write("a.npz", "id,x\n"), &options).unwrap_err();
    assert!(not_npz.to_string().contains("is not a readable archive"), "{not_npz}");
}
