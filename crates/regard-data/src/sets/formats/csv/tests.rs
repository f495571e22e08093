use super::*;
use crate::sets::Labels;

fn options() -> ReadOptions {
    ReadOptions { group_by: Some("id".into()), target: Some("y".into()), ..ReadOptions::default() }
}

fn read(text: &str) -> Result<Bags> {
    parse(text, Path::new("bags.csv"), &options())
}

fn said(text: &str, options: &ReadOptions) -> String {
    let error = match parse(text, Path::new("bags.csv"), options) {
        Ok(bags) => panic!("accepted {text:?} as {bags:?}"),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Parse { .. }), "{error:?}");
    assert_eq!(error.to_string().lines().count(), 1);
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

fn names(bags: &Bags) -> Vec<String> {
    (0..bags.width()).map(|at| bags.names().name(at)).collect()
}

#[test]
fn rows_of_a_bag_need_not_stand_together() {
    let bags = read("# made up\nid,y,a,b\nann,1,1,10\nbob,0,2,20\nann,1,3,30\n\nann,1.0,4,40\n").unwrap();
    assert_eq!((bags.ids(), bags.offsets()), (&["ann".to_owned(), "bob".to_owned()][..], &[0, 3, 4][..]));
    assert_eq!(bags.bag(0), [1.0, 10.0, 3.0, 30.0, 4.0, 40.0]);
    assert_eq!((bags.line(0), bags.line(2), bags.line(3)), (Some(3), Some(7), Some(4)));
    assert_eq!(bags.labels(), Some(&Labels::Numbers(vec![1.0, 0.0])));
    assert_eq!(names(&bags), ["a", "b"]);
}

#[test]
fn separators_line_ends_and_quotes_change_nothing() {
    let text = "id,y,a,b\n\"x\",1,1,2\nz,0,3,4\n";
    let expected = read(text).unwrap();
    assert_eq!(read(&text.replace(',', ";")).unwrap(), expected);
    assert_eq!(read(&text.replace(',', "\t")).unwrap(), expected);
    assert_eq!(read(&text.replace('\n', "\r\n")).unwrap(), expected);
    assert_eq!(read(text.trim_end()).unwrap(), expected);
    let pipes = ReadOptions { delimiter: Some(b'|'), ..options() };
    assert_eq!(parse(&text.replace(',', "|"), Path::new("bags.csv"), &pipes).unwrap(), expected);
}

#[test]
fn features_are_the_columns_asked_for_or_those_with_numbers() {
    let text = ",id,y,date,a,note,b\n0,u,1,2020-01-01,1,,2\n1,v,0,2020-01-02,3,x,4\n";
    let bags = read(text).unwrap();
    assert_eq!(names(&bags), ["a", "b"]);
    let note = "left out: columns column 1 (no name), date (2 different texts in 2 rows), note (2 different texts in 2 \
                rows); `data.features` names the features to read";
    assert_eq!(bags.notes(), [note]);
    let asked = ReadOptions { features: Some(vec!["b".into(), "a".into()]), ..options() };
    let bags = parse(text, Path::new("bags.csv"), &asked).unwrap();
    assert_eq!((names(&bags), bags.bag(0)), (vec!["b".into(), "a".into()], &[2.0, 1.0][..]));
}

#[test]
fn missing_numbers_are_read_where_they_may_be() {
    let text = "id,y,a\nu,1,1\nu,1,NA\nv,0,\n";
    let said = read(text).unwrap_err().to_string();
    assert_eq!(said.lines().next(), Some("bags.csv:3: field `a`: found `NA`, expected a number"));
    let bags = parse(text, Path::new("bags.csv"), &ReadOptions { may_miss: true, ..options() }).unwrap();
    assert_eq!(names(&bags), ["a", "missingindicator_a"]);
    assert_eq!((bags.bag(0)[..2].to_vec(), bags.bag(0)[3], bags.bag(1)[1]), (vec![1.0, 0.0], 1.0, 1.0));
    assert!(bags.bag(0)[2].is_nan() && bags.bag(1)[0].is_nan());
    let plain = ReadOptions { may_miss: true, ..ReadOptions::default() };
    let bags = parse("1,a,5\n0,b,\n", Path::new("mil.csv"), &plain).unwrap();
    assert!(bags.bag(1)[0].is_nan() && bags.width() == 1);
}

#[test]
fn text_with_few_values_is_encoded() {
    let row = |at: usize| format!("{},{},{},{}\n", at / 4, at % 2, ["red", "blue", "a=b"][at % 3], at);
    let text: String = std::iter::once("id,y,colour,a\n".to_owned()).chain((0..20).map(|at| row(at / 4 * 4))).collect();
    let bags = read(&text).unwrap();
    assert_eq!(names(&bags), ["colour=a=b", "colour=blue", "colour=red", "a"]);
    assert!(bags.notes().is_empty());
    // A new file has the features of training: values that it lacks, and none for values that are new.
    let new = "id,colour,a\nu,green,1\nu,blue,2\n";
    let training: Vec<String> = names(&bags);
    let again = ReadOptions { encoded: Some(training.clone()), target_optional: true, ..options() };
    let found = parse(new, Path::new("bags.csv"), &again).unwrap();
    assert_eq!((names(&found), found.bag(0)), (training, &[0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0][..]));
    let listed = ReadOptions { features: Some(vec!["a".into(), "colour=blue".into()]), ..again };
    assert_eq!(parse(new, Path::new("bags.csv"), &listed).unwrap().bag(0), [1.0, 0.0, 2.0, 1.0]);
}

#[test]
fn labels_are_of_bags_of_rows_or_of_neither() {
    let text = "id,y,r,a\nu,low,2,1\nv,high,0,3\nu,low,1,4\n";
    let both = ReadOptions { row_target: Some("r".into()), ..options() };
    let bags = parse(text, Path::new("bags.csv"), &both).unwrap();
    assert_eq!(bags.labels().unwrap().classes().names, ["high", "low"]);
    assert_eq!(bags.row_labels(), Some(&Labels::Numbers(vec![2.0, 1.0, 0.0])));
    let rows = ReadOptions { target: None, ..both.clone() };
    assert_eq!(
        said(text, &ReadOptions { row_target: None, target: Some("r".into()), ..options() }).matches("bag `u`").count(),
        1
    );
    assert!(parse(text, Path::new("bags.csv"), &rows).is_ok());
    let optional = ReadOptions { target_optional: true, ..options() };
    for unlabelled in ["id,a\nu,1\n", "id,y,a\nu,,1\n", "id,y,a\nu,1,1\nv,,1\n"] {
        let bags = parse(unlabelled, Path::new("bags.csv"), &optional).unwrap();
        assert_eq!((bags.labels(), bags.width()), (None, 1));
    }
}

#[test]
fn files_without_a_header_are_label_bag_features() {
    let plain = ReadOptions::default();
    let bags = parse("1,7,0.5,1\n0,8,2,3\n1,7,4,5\n", Path::new("mil.csv"), &plain).unwrap();
    assert_eq!((bags.ids(), bags.bag(0)), (&["7".to_owned(), "8".to_owned()][..], &[0.5, 1.0, 4.0, 5.0][..]));
    assert_eq!(bags.names(), &FeatureNames::Count(2));
    let words = parse("yes,b1,1.5,3\nno,b2,2,4\n", Path::new("mil.csv"), &plain).unwrap();
    assert_eq!((words.len(), words.width()), (2, 2));
    for header in ["label,bag,0,1\nyes,b1,1.5,3\n", "label,bag,1,2\nyes,b1,1.5,3\n", "label,bag\n1,2\n"] {
        assert!(said(header, &plain).contains("has a header"), "{header}");
    }
    let asked = ReadOptions { layout: Layout::Headerless, ..plain };
    let bags = parse("yes,b1,1\nno,b2,2\n", Path::new("mil.csv"), &asked).unwrap();
    assert_eq!(
        (bags.labels().unwrap().classes().names, bags.ids()[0].as_str()),
        (vec!["no".into(), "yes".into()], "b1")
    );
    assert_eq!(parse("0,1,2\n", Path::new("mil.csv"), &asked).unwrap().bag(0), [2.0]);
}

#[test]
fn malformed_tables_are_refused_with_place_and_expectation() {
    let plain = ReadOptions::default();
    let headerless = ReadOptions { layout: Layout::Headerless, ..ReadOptions::default() };
    let rows = |name: &str| ReadOptions { row_target: Some(name.into()), ..options() };
    let asked =
        |names: &[&str]| ReadOptions { features: Some(names.iter().map(|n| (*n).into()).collect()), ..options() };
    let disagree = "the label of a bag is the same in all its rows; labels of rows are another column";
    let fill = "fill the gap, or leave the row or the column out";
    for (text, options, expected) in [
        ("", options(), "bags.csv: is empty, expected rows of bags".into()),
        ("# only\n\n", options(), "bags.csv: is empty, expected rows of bags".into()),
        ("id,y,a\n", options(), "bags.csv: has no rows below its header, expected at least one".into()),
        ("ID2,y,a\n1,2,3\n", options(), "bags.csv:1: has no column `id` | did you mean the column `ID2`?".into()),
        (
            "id,target,a\n1,2,3\n",
            options(),
            "bags.csv:1: has no column `y` | the columns are `id`, `target`, `a`".into(),
        ),
        ("id,y,a\nu,1,2\n", rows("rel"), "bags.csv:1: has no column `rel` | the columns are `id`, `y`, `a`".into()),
        (
            "id,y,amount\nu,1,2\n",
            asked(&["amuont"]),
            "bags.csv:1: has no column `amuont` | did you mean the column `amount`?".into(),
        ),
        (
            "id,y,a\nu,1,2\n",
            asked(&["a", "a"]),
            "bags.csv:1: column `a` is a feature and something else, or a feature twice".into(),
        ),
        (
            "id,y,a\nu,1,2\n",
            asked(&["y"]),
            "bags.csv:1: column `y` is a feature and something else, or a feature twice".into(),
        ),
        ("id,y,a\nu,1,2\n", asked(&[]), "bags.csv:1: is read without any feature, expected at least one".into()),
        ("id,y,a\nu,1,2\n", rows("y"), "bags.csv:1: column `y` has two roles".into()),
        ("id,y,a,a\n1,2,3,4\n", options(), "bags.csv:1: column `a` occurs twice, as number 3 and 4".into()),
        ("id,y,a\nu,1,2\nv,1,x1\n", options(), "bags.csv:3: field `a`: found `x1`, expected a number".into()),
        ("id,y,a\nu,1,2\nv,1,\n", options(), format!("bags.csv:3: field `a`: is empty, expected a number | {fill}")),
        (
            "id,y,a\nu,1,2\nv,1,NaN\n",
            options(),
            format!("bags.csv:3: field `a`: found `NaN`, expected a finite number | {fill}"),
        ),
        (
            "id,y,a\nu,1,-inf\n",
            options(),
            format!("bags.csv:2: field `a`: found `-inf`, expected a finite number | {fill}"),
        ),
        (
            "id,y,a\nu,1,1e39\n",
            options(),
            "bags.csv:2: field `a`: found `1e39`, expected a number below 3.4e38 | features are kept in \
             single precision"
                .into(),
        ),
        (
            "id;y;a\nu;1;1\nu;1;1,25,0\n",
            options(),
            "bags.csv:3: field `a`: found `1,25,0`, expected a number | `--decimal comma` or `--decimal point` (`data.decimal`) \
             gives the decimal mark of the numbers"
                .into(),
        ),
        (
            "id,y,a\nu,1,x\nv,1,z\n",
            options(),
            "bags.csv:1: has no column of numbers left for features, expected at least one | the columns \
             are `id`, `y`, `a`"
                .into(),
        ),
        (
            "id,y,a\nu,1,2\nv,1,2\n\nu,0,2\n",
            options(),
            format!("bags.csv:5: field `y`: bag `u` has the label `0` here and `1` on line 2 | {disagree}"),
        ),
        ("id,y,a\n,1,2\n", options(), "bags.csv:2: field `id`: is empty, expected the id of a bag".into()),
        ("id,y,a\nu,,2\n", options(), "bags.csv:2: field `y`: is empty, expected the label of the bag".into()),
        ("id,y,r,a\nu,1,,2\n", rows("r"), "bags.csv:2: field `r`: is empty, expected the label of the row".into()),
        (
            "id,y,a\nu,1\n",
            options(),
            "bags.csv:2: has 2 fields, the header has 3 | put text that contains the separator in double \
             quotes"
                .into(),
        ),
        (
            "id,y,a\nu,1,2,3\n",
            options(),
            "bags.csv:2: has 4 fields, the header has 3 | put text that contains the separator in double \
             quotes"
                .into(),
        ),
        (
            "id,y,a\n1,1,2\n",
            plain.clone(),
            "bags.csv:1: has a header, but no column of bag identifiers is given | give it \
             by `--group-by` (`data.group_by`); the columns are `id`, `y`, `a`"
                .into(),
        ),
        (
            "0,1,2,3\n1,1,5,6\n",
            plain.clone(),
            "bags.csv:1: has a header, but no column of bag identifiers is given | give it \
             by `--group-by` (`data.group_by`); the columns are `0`, `1`, `2`, `3`"
                .into(),
        ),
        (
            "1,7,0.5\n0,7,2\n",
            plain.clone(),
            format!("bags.csv:2: field `label`: bag `7` has the label `0` here and `1` on line 1 | {disagree}"),
        ),
        ("1,7,0.5\n0,8,x\n", plain.clone(), "bags.csv:2: field `column 3`: found `x`, expected a number".into()),
        (
            "1,7,0.5\n0,8\n",
            plain.clone(),
            "bags.csv:2: has 2 fields, line 1 has 3 | put text that contains the separator in double \
             quotes"
                .into(),
        ),
        (
            "1,7\n",
            headerless.clone(),
            "bags.csv:1: has 2 fields, expected label, bag and features | fields are separated by \
             commas, semicolons or tabs"
                .into(),
        ),
        (
            "1,7,0.5\n",
            options(),
            "bags.csv:1: has no column `id` | the first line looks like data: without a header \
             rows are label, bag, features; name no column"
                .into(),
        ),
    ] {
        assert_eq!(said(text, &options), expected, "{text:?}");
    }
}

#[test]
fn cut_and_damaged_texts_never_panic() {
    let text = "# c\nid,y,a,\"b\"\nu,1,2,3\nv,0,-4,5e1\n";
    for (at, old) in text.char_indices() {
        let _ = read(&text[..at]);
        let after = &text[at + old.len_utf8()..];
        for new in ["", "-", "9", ",", ";", "\n", "\"", "\u{fc}"] {
            let damaged = format!("{}{new}{after}", &text[..at]);
            let _ = read(&damaged);
            let _ =
                parse(&damaged, Path::new("a"), &ReadOptions { layout: Layout::Headerless, ..ReadOptions::default() });
        }
    }
}

#[test]
fn labels_that_may_be_missing_are_said() {
    let read = |text: &str| parse(text, Path::new("bags.csv"), &options()).unwrap().notes().to_vec();
    let expected = ["label `NA` of 2 bags is a class like any other; leave out their rows if it is missing"];
    assert_eq!(read("id,y,a\nu,NA,1\nv,yes,2\nw,NA,3\nw,NA,4\n"), expected);
    assert!(read("id,y,a\nu,no,1\nv,yes,2\n").is_empty());
}

#[test]
fn a_decimal_comma_that_numbers_show_is_known() {
    let read = |text: &str| parse(text, Path::new("bags.csv"), &options()).unwrap().decimal();
    let comma = Some(crate::table::numbers::Decimal::Comma);
    assert_eq!(read("id;y;a\nu;1;4.123,56\nv;0;12,5\n"), comma);
    assert_eq!(read("id;y;a\nu;1;4.000\nv;0;6.000\n"), None);
    assert_eq!(read("id,y,a\nu,1,4.5\nv,0,6\n"), None);
}

#[test]
fn numbers_have_the_decimal_mark_that_is_given() {
    let text = "id,y,a\nu,1,\"1,000\"\nv,1,\"2,500\"\n";
    let read = |decimal| parse(text, Path::new("bags.csv"), &ReadOptions { decimal, ..options() }).unwrap();
    let found = read(None);
    assert_eq!((found.bag(0), found.bag(1)), (&[1000.0][..], &[2500.0][..]));
    assert!(found.notes()[0].contains("`1,000` is read as 1000 (`--decimal comma`"), "{:?}", found.notes());
    assert_eq!(read(Some(crate::table::numbers::Decimal::Comma)).bag(1), [2.5]);
}
