use super::*;

fn array(shape: &[usize], values: &[f64]) -> Array {
    Array { shape: shape.to_vec(), values: values.to_vec() }
}

fn made(parts: &[(&str, Array)]) -> Result<Bags> {
    let arrays = parts.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
    assemble(arrays, Path::new("bags.npz")).map_err(|fault| fault.in_file(Path::new("bags.npz")))
}

fn three() -> [(&'static str, Array); 2] {
    [("features", array(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), ("offsets", array(&[4], &[0.0, 2.0, 2.0, 3.0]))]
}

fn with(name: &'static str, more: Array) -> Result<Bags> {
    let mut parts = three().to_vec();
    parts.retain(|(known, _)| *known != name);
    parts.push((name, more));
    made(&parts)
}

#[test]
fn bags_are_read_empty_ones_too() {
    let bags = made(&three()).unwrap();
    assert_eq!((bags.offsets(), bags.size(1), bags.labels()), (&[0, 2, 2, 3][..], 0, None));
    assert_eq!(bags.bag(2), [5.0, 6.0]);
    assert_eq!((bags.line(0), bags.path()), (None, Path::new("bags.npz")));
    let labelled = with("targets", array(&[3, 1], &[1.0, 0.0, 2.5])).unwrap();
    assert_eq!(labelled.labels(), Some(&Labels::Numbers(vec![1.0, 0.0, 2.5])));
    assert_eq!(with("row_targets", array(&[3], &[1.0; 3])).unwrap().row_labels().map(Labels::len), Some(3));
    assert_eq!(with("ids", array(&[3], &[7.0, 5.0, 9.0])).unwrap().ids(), ["7", "5", "9"]);
    let empty = [("features", array(&[0, 2], &[])), ("offsets", array(&[2], &[0.0, 0.0]))];
    assert_eq!(made(&empty).unwrap().size(0), 0);
}

#[test]
fn malformed_archives_are_refused_by_array() {
    let hint = "rows and columns are counted from 0, as numpy does";
    for (found, expected) in [
        (made(&three()[..1]), "bags.npz: has no array `offsets`".to_owned()),
        (made(&three()[1..]), "bags.npz: has no array `features`".into()),
        (
            with("feature", array(&[1], &[1.0])),
            "bags.npz: holds the array `feature`, expected some of features, offsets, targets, \
             row_targets, ids | leave out what is not part of the bags"
                .into(),
        ),
        (
            with("features", array(&[6], &[1.0; 6])),
            "bags.npz: field `features`: has the shape (6,), expected (rows, features)".into(),
        ),
        (
            with("features", array(&[3, 0], &[])),
            "bags.npz: field `features`: has the shape (3, 0), expected at least one feature".into(),
        ),
        (
            with("features", array(&[3, 1], &[1.0, f64::NAN, 1.0])),
            format!(
                "bags.npz: field `features`: found NaN in row 1, column 0, expected a finite number in \
             single precision | {hint}"
            ),
        ),
        (
            with("features", array(&[3, 1], &[1.0, 1.0, 1e39])),
            format!(
                "bags.npz: field `features`: found {} in row 2, column 0, expected a finite number in single \
             precision | {hint}",
                1e39
            ),
        ),
        (
            with("offsets", array(&[1], &[0.0])),
            "bags.npz: field `offsets`: has the shape (1,), expected at least one bag, (bags + 1,)".into(),
        ),
        (
            with("offsets", array(&[2, 1], &[0.0, 3.0])),
            "bags.npz: field `offsets`: has the shape (2, 1), expected (bags + 1,)".into(),
        ),
        (
            with("offsets", array(&[2], &[0.0, 2.5])),
            "bags.npz: field `offsets`: found 2.5 at 1, expected an integer from 0 to 3".into(),
        ),
        (
            with("offsets", array(&[2], &[0.0, 1e18])),
            "bags.npz: field `offsets`: found 1000000000000000000 at 1, expected an integer from 0 \
             to 3"
                .into(),
        ),
        (with("offsets", array(&[2], &[1.0, 3.0])), "bags.npz: field `offsets`: begins with 1, expected 0".into()),
        (
            with("offsets", array(&[4], &[0.0, 2.0, 1.0, 3.0])),
            "bags.npz: field `offsets`: falls from 2 to 1 at 2".into(),
        ),
        (
            with("offsets", array(&[2], &[0.0, 2.0])),
            "bags.npz: field `offsets`: ends at 2, expected 3, the rows of `features`".into(),
        ),
        (
            with("targets", array(&[2], &[0.0; 2])),
            "bags.npz: field `targets`: has the shape (2,), expected (3,)".into(),
        ),
        (
            with("targets", array(&[3], &[0.0, f64::INFINITY, 0.0])),
            "bags.npz: field `targets`: found inf at 1, expected a finite number".into(),
        ),
        (
            with("row_targets", array(&[2], &[0.0; 2])),
            "bags.npz: field `row_targets`: has the shape (2,), expected (3,)".into(),
        ),
        (with("ids", array(&[3], &[0.5; 3])), "bags.npz: field `ids`: found 0.5, expected integers".into()),
        (with("ids", array(&[3], &[1.0; 3])), "bags.npz: id `1`: occurs twice, at 1 and 2".into()),
        (
            parse(b"PK", Path::new("bags.npz")),
            "bags.npz: is not a readable archive: invalid Zip archive: Could not find EOCD".into(),
        ),
    ] {
        let error = found.map(|bags| panic!("accepted {bags:?}, {expected}")).unwrap_err();
        let said = error.hint().map_or(error.to_string(), |hint| format!("{error} | {hint}"));
        assert_eq!(said, expected);
    }
}
