use super::*;

fn named(names: &[&str]) -> FeatureNames {
    FeatureNames::Named(names.iter().map(|n| (*n).to_owned()).collect())
}

fn three() -> Bags {
    let features = vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
    let origin = Origin { path: "bags.csv".into(), header: 1, lines: vec![2, 3, 5] };
    Bags::new(named(&["a", "b"]), features, vec![0, 2, 2, 3])
        .and_then(|bags| bags.with_ids(["x", "y", "z"].map(String::from).to_vec()))
        .and_then(|bags| bags.with_labels(Labels::Numbers(vec![0.0, 1.0, 2.0])))
        .and_then(|bags| bags.with_row_labels(Labels::Numbers(vec![5.0, 6.0, 7.0])))
        .unwrap()
        .with_origin(origin)
}

#[test]
fn bags_are_selected_with_all_that_belongs_to_them() {
    let two = three().select(&[2, 1]);
    assert_eq!((two.ids(), two.offsets()), (&["z".to_owned(), "y".to_owned()][..], &[0, 1, 1][..]));
    assert_eq!((two.bag(0), two.bag(1)), (&[3.0, 30.0][..], &[][..]));
    assert_eq!(two.labels(), Some(&Labels::Numbers(vec![2.0, 1.0])));
    assert_eq!(two.row_labels(), Some(&Labels::Numbers(vec![7.0])));
    assert_eq!((two.line(0), two.line(1)), (Some(5), None));
    assert!(three().select(&[]).is_empty());
    assert_eq!(three().select(&[0, 1, 2]), three());
}

#[test]
fn data_sets_are_joined() {
    let both = Bags::concat(&[&three(), &three().select(&[1, 2])]).unwrap();
    assert_eq!((both.len(), both.offsets()), (5, &[0, 2, 2, 3, 3, 4][..]));
    assert_eq!((both.bag(0), both.bag(4)), (three().bag(0), three().bag(2)));
    assert!(both.labels().is_none() && Bags::concat(&[]).unwrap().is_empty());
    let narrow = Bags::new(FeatureNames::Count(1), vec![1.0], vec![0, 1]).unwrap();
    let error = Bags::concat(&[&three(), &narrow]).unwrap_err().to_string();
    assert_eq!(error, "features: are 2 in one data set and 1 in another");
}

#[test]
fn features_are_brought_into_the_order_of_training() {
    let aligned = three().align(&named(&["b", "a"])).unwrap();
    assert_eq!(aligned.features(), [10.0, 1.0, 20.0, 2.0, 30.0, 3.0]);
    assert_eq!(aligned.align(&named(&["a", "b"])).unwrap(), three());
    let unnamed = three().align(&FeatureNames::Count(2)).unwrap();
    assert_eq!(unnamed, three());
}

#[test]
fn other_features_are_refused_with_file_and_line() {
    let said = |names| {
        let error = three().align(&names).unwrap_err();
        format!("{error} | {}", error.hint().unwrap_or(""))
    };
    assert_eq!(
        said(named(&["a", "bb"])),
        "bags.csv:1: the training column `bb` is missing | did you mean the column `b`?"
    );
    assert_eq!(
        said(named(&["a"])),
        "bags.csv:1: the column `b` is not in the training data | remove the column, or list the features to read"
    );
    assert_eq!(
        said(FeatureNames::Count(5)),
        "bags.csv:1: has 2 features, expected 5 as in training | without names, features are taken \
             in the order of training"
    );
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let said = |names, features: &[f32], offsets: &[usize]| {
        Bags::new(names, features.to_vec(), offsets.to_vec()).unwrap_err().to_string()
    };
    let one = || FeatureNames::Count(1);
    for (error, expected) in [
        (said(one(), &[], &[]), "offsets: must begin with 0 and have one more entry than there are bags"),
        (said(one(), &[1.0], &[1]), "offsets: must begin with 0 and have one more entry than there are bags"),
        (said(one(), &[1.0], &[0, 2, 1]), "offsets: fall from 2 to 1 at bag 2"),
        (said(one(), &[1.0], &[0, 2]), "features: has 1 values, expected 2 rows of 1 features"),
        (
            said(FeatureNames::Count(usize::MAX), &[], &[0, 2]),
            "features: has 0 values, expected 2 rows of 18446744073709551615 features",
        ),
        (
            said(FeatureNames::Count(2), &[1.0, f32::NAN], &[0, 1]),
            "feature `2`: found NaN in row 1, expected a finite number",
        ),
        (said(named(&["a", "a"]), &[], &[0]), "feature `a`: occurs twice, at 1 and 2"),
        (three().with_ids(vec!["x".into()]).unwrap_err().to_string(), "ids: are 1, expected one for each of 3 bags"),
        (three().with_ids(vec!["x".into(); 3]).unwrap_err().to_string(), "id `x`: occurs twice, at 1 and 2"),
        (
            three().with_labels(Labels::Numbers(vec![])).unwrap_err().to_string(),
            "labels: are 0, expected one for each of 3 bags",
        ),
        (
            three().with_row_labels(Labels::Numbers(vec![1.0, f64::INFINITY, 1.0])).unwrap_err().to_string(),
            "label 2: is inf, expected a finite number",
        ),
    ] {
        assert_eq!(error, expected);
    }
}
