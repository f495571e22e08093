use super::*;
use crate::sets::Labels;

fn said(text: &str, sizes: Option<&str>, options: &ReadOptions) -> String {
    let sizes = sizes.map(|sizes| (sizes, Path::new("rank.query")));
    let error = match parse(text, Path::new("rank"), sizes, options) {
        Ok(bags) => panic!("accepted {text:?} as {bags:?}"),
        Err(error) => error,
    };
    error.hint().map_or(error.to_string(), |hint| format!("{error} | {hint}"))
}

#[test]
fn queries_come_from_sizes_or_from_the_rows() {
    let text = "2 1:0.5 3:-1 # first\n\n0 2:1e1\n1\n";
    let sizes = ("2\n0\n1\n", Path::new("rank.query"));
    let bags = parse(text, Path::new("rank"), Some(sizes), &ReadOptions::default()).unwrap();
    assert_eq!((bags.offsets(), bags.width()), (&[0, 2, 2, 3][..], 3));
    assert_eq!(bags.features(), [0.5, 0.0, -1.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(bags.row_labels(), Some(&Labels::Numbers(vec![2.0, 0.0, 1.0])));
    assert_eq!((bags.line(1), bags.labels()), (Some(3), None));
    let by_rows =
        parse("1 qid:5 1:1\n0 qid:9 1:2\n2 qid:5 1:3\n", Path::new("rank"), None, &ReadOptions::default()).unwrap();
    assert_eq!((by_rows.ids(), by_rows.bag(0)), (&["5".to_owned(), "9".to_owned()][..], &[1.0, 3.0][..]));
}

#[test]
fn the_number_of_features_may_be_given() {
    let wide = ReadOptions { width: Some(4), ..ReadOptions::default() };
    assert_eq!(parse("1 qid:1 2:1\n", Path::new("rank"), None, &wide).unwrap().bag(0), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(said("1 qid:1 5:1\n", None, &wide), "rank:1: field `5`: is beyond the 4 features there are");
    let from_0 = ReadOptions { zero_based: true, ..ReadOptions::default() };
    assert_eq!(parse("1 qid:1 0:7 1:1\n", Path::new("rank"), None, &from_0).unwrap().bag(0), [7.0, 1.0]);
}

#[test]
fn malformed_rows_are_refused_with_place_and_expectation() {
    let beside = "put the sizes into a file of the same name with `.query` after it";
    for (text, sizes, expected) in [
        ("# none\n", Some(""), "rank: has no rows, expected at least one".into()),
        ("1\n", Some("1"), "rank: has no features, expected at least one".into()),
        (
            "1 1:2\n",
            None,
            format!("rank:1: has no `qid:`, and there is no file with the sizes of the queries | {beside}"),
        ),
        ("1 1:2\n", Some("2\n"), "rank.query: has 1 queries of 2 rows together, expected 1 rows".into()),
        ("1 1:2\n", Some("1\nx\n"), "rank.query:2: found `x`, expected the number of rows of a query".into()),
        ("1 1:2\n", Some("-1\n"), "rank.query:1: found `-1`, expected the number of rows of a query".into()),
        ("1 1:2\n\nx 1:2\n", Some("2"), "rank:3: field `label`: found `x`, expected a number".into()),
        ("nan 1:2\n", Some("1"), "rank:1: field `label`: found `nan`, expected a number".into()),
        ("1 1:2 7\n", Some("1"), "rank:1: found `7`, expected `feature:value`".into()),
        ("1 1:2 -7:1\n", Some("1"), "rank:1: found `-7:1`, expected `feature:value`".into()),
        ("1 17:x\n", Some("1"), "rank:1: field `17`: found `x`, expected a number".into()),
        ("1 17:inf\n", Some("1"), "rank:1: field `17`: found `inf`, expected a finite number".into()),
        (
            "1 2:1 2:1\n",
            Some("1"),
            "rank:1: field `2`: comes after a feature of the same or a higher number | features of a row \
             are in rising order, each at most once"
                .into(),
        ),
        (
            "1 0:1\n",
            Some("1"),
            "rank:1: field `0`: is the number of a feature, expected 1 or more | say that features are \
             counted from 0 (`zero_based`)"
                .into(),
        ),
        (
            "1 4000000000:1\n",
            Some("1"),
            "rank: would be 1 rows of 4000000000 features when made dense, which is too much | number \
             the features that occur from 1 on, without gaps"
                .into(),
        ),
        (
            "1 18446744073709551615:1\n1 1:1\n",
            Some("2"),
            "rank: would be 2 rows of 18446744073709551615 features when made dense, which is too much | \
             number the features that occur from 1 on, without gaps"
                .into(),
        ),
    ] {
        assert_eq!(said(text, sizes, &ReadOptions::default()), expected, "{text:?}");
    }
}

#[test]
fn the_format_is_recognised() {
    for (text, expected) in [
        ("# c\n1 3:0.5\n", true),
        ("2 qid:1 1:1\n", true),
        ("a,b\n1,2\n", false),
        ("1,2\n", false),
        ("", false),
        ("1 2 3\n", false),
    ] {
        assert_eq!(looks_like(text), expected, "{text:?}");
    }
}
