use super::*;
use crate::sets::{FeatureNames, Labels};

fn read(text: &str) -> Result<Bags> {
    parse(text, Path::new("bags.jsonl"))
}

#[test]
fn bags_are_read_with_names_and_labels() {
    let text = "{\"features\": [\"a\", \"b\"]}\n\n\
        {\"id\": \"u\", \"items\": [[1, 2], [3, 4.5]], \"target\": \"high\", \"item_targets\": [0, 1]}\n\
        {\"id\": 7, \"items\": [], \"target\": \"low\", \"item_targets\": []}\n";
    let bags = read(text).unwrap();
    assert_eq!(bags.names(), &FeatureNames::Named(vec!["a".into(), "b".into()]));
    assert_eq!((bags.ids(), bags.offsets()), (&["u".to_owned(), "7".to_owned()][..], &[0, 2, 2][..]));
    assert_eq!(bags.bag(0), [1.0, 2.0, 3.0, 4.5]);
    assert_eq!((bags.line(0), bags.line(1)), (Some(3), Some(3)));
    assert_eq!(bags.labels(), Some(&Labels::Words(vec!["high".into(), "low".into()])));
    assert_eq!(bags.row_labels(), Some(&Labels::Numbers(vec![0.0, 1.0])));
}

#[test]
fn ids_and_labels_may_be_missing() {
    let bags = read("{\"items\": [[1]]}\r\n{\"items\": [[2], [3]], \"target\": null}\r\n").unwrap();
    assert_eq!((bags.ids(), bags.labels(), bags.row_labels()), (&["1".to_owned(), "2".to_owned()][..], None, None));
    let truths = read("{\"items\": [[1]], \"target\": true}").unwrap();
    assert_eq!(truths.labels(), Some(&Labels::Words(vec!["true".into()])));
}

#[test]
fn malformed_lines_are_refused_with_place_and_expectation() {
    for (text, expected) in [
        ("", "bags.jsonl: has no bags, expected at least one"),
        ("{\"features\": [\"a\"]}", "bags.jsonl: has no bags, expected at least one"),
        (
            "{\"items\": [[1]]}\n[1]\n",
            "bags.jsonl:2: is not an object | each line is a bag such as {\"id\": \"a\", \"items\": [[1, \
             2]], \"target\": 0}",
        ),
        ("{\"items\": [[1]}\n", "bags.jsonl:1: is not JSON at column 15: expected `,` or `]`"),
        ("{\"items\": [[NaN]]}\n", "bags.jsonl:1: is not JSON at column 13: expected value"),
        ("{\"items\": [[1e999]]}\n", "bags.jsonl:1: is not JSON at column 17: number out of range"),
        ("{\"id\": 1}\n", "bags.jsonl:1: field `items`: is missing, expected a list of rows"),
        ("{\"items\": 5}\n", "bags.jsonl:1: field `items`: is not a list of rows"),
        ("{\"items\": [5]}\n", "bags.jsonl:1: field `items`: item 1 is not a list of numbers"),
        ("{\"items\": [[]]}\n", "bags.jsonl:1: field `items`: item 1 is not a list of numbers"),
        (
            "{\"items\": [[1, \"x\"]]}\n",
            "bags.jsonl:1: field `items`: item 1, feature 2: found `\"x\"`, expected a number",
        ),
        (
            "{\"items\": [[1], [null]]}\n",
            "bags.jsonl:1: field `items`: item 2, feature 1: found `null`, expected a number",
        ),
        (
            "{\"items\": [[1e39]]}\n",
            "bags.jsonl:1: field `items`: item 1, feature 1: found \
             `1e+39`, expected a number below 3.4e38",
        ),
        (
            "{\"items\": [[1, 2]]}\n{\"items\": [[1, 2], [1]]}\n",
            "bags.jsonl:2: field `items`: item 2 has 1 numbers, expected 2 as on line 1",
        ),
        (
            "{\"features\": [\"a\"]}\n{\"items\": [[1, 2]]}\n",
            "bags.jsonl:2: field `items`: item 1 has 2 numbers, expected 1 as on line 1",
        ),
        (
            "{\"items\": [], \"id\": \"a\"}\n",
            "bags.jsonl: has only empty bags, so the number of features is not known | name the features \
             on the first line: {\"features\": [\"a\", \"b\"]}",
        ),
        (
            "{\"items\": [[1]], \"id\": \"a\"}\n{\"items\": [], \"id\": \"a\"}\n",
            "bags.jsonl:2: field `id`: `a` occurs a second time, first on line 1",
        ),
        (
            "{\"items\": [[1]], \"target\": 1}\n{\"items\": []}\n",
            "bags.jsonl:2: field `target`: is missing, expected a label as other bags have one",
        ),
        (
            "{\"items\": [[1]], \"target\": [1]}\n",
            "bags.jsonl:1: field `target`: found `[1]`, expected a number or a word",
        ),
        (
            "{\"items\": [[1]], \"tagret\": 1}\n",
            "bags.jsonl:1: has the key `tagret`, expected id, items, target, item_targets | did you mean `target`?",
        ),
        (
            "{\"items\": [[1]], \"price\": 1}\n",
            "bags.jsonl:1: has the key `price`, expected id, items, target, item_targets | features are \
             numbers in `items`; leave other keys out",
        ),
        (
            "{\"items\": [[1]], \"item_targets\": [1, 2]}\n",
            "bags.jsonl:1: field `item_targets`: is not a list of 1 labels, one for each item",
        ),
        (
            "{\"items\": [[1]], \"item_targets\": [1]}\n{\"items\": [[1]]}\n",
            "bags.jsonl:2: field `item_targets`: is missing, expected a label for each item as in other bags",
        ),
        (
            "{\"items\": [[1]]}\n{\"features\": [\"a\"]}\n",
            "bags.jsonl:2: field `features`: is given below the first line, expected bags",
        ),
        (
            "{\"features\": [\"a\"], \"items\": []}\n",
            "bags.jsonl:1: field `features`: is given together with other keys, expected its own line",
        ),
        ("{\"features\": [\"a\", \"a\"]}\n", "bags.jsonl:1: field `features`: has `a` twice"),
        ("{\"features\": []}\n", "bags.jsonl:1: field `features`: is empty, expected at least one name"),
        ("{\"features\": [1]}\n", "bags.jsonl:1: field `features`: is not a list of names"),
    ] {
        let error = read(text).map(|bags| panic!("accepted {text:?} as {bags:?}")).unwrap_err();
        let said = error.hint().map_or(error.to_string(), |hint| format!("{error} | {hint}"));
        assert_eq!(said, expected, "{text:?}");
    }
}

#[test]
fn deep_nesting_is_no_trouble() {
    assert!(read(&"[".repeat(100_000)).is_err());
    assert!(read(&format!("{{\"items\": {}", "[".repeat(100_000))).is_err());
}

#[test]
fn cut_and_damaged_texts_never_panic() {
    let text = "{\"features\": [\"a\"]}\n{\"id\": \"u\", \"items\": [[1], [-2e1]], \"target\": 0, \
             \"item_targets\": [1, 2]}\n";
    for (at, old) in text.char_indices() {
        let _ = read(&text[..at]);
        let after = &text[at + old.len_utf8()..];
        for new in ["", "-", "9", ",", "[", "]", "\n", "\"", "\u{fc}"] {
            let _ = read(&format!("{}{new}{after}", &text[..at]));
        }
    }
}
