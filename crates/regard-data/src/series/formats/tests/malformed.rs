//! Files that are refused, with what is said of them.

use super::*;

fn wide() -> ReadOptions {
    ReadOptions::default()
}

fn check(table: &[(&str, ReadOptions, &str)]) {
    for (text, options, expected) in table {
        assert_eq!(said(text, options), *expected, "{text:?}");
    }
}

#[test]
fn files_that_are_no_table() {
    check(&[
        ("", wide(), "a.csv: is empty, expected a header and rows of values"),
        ("# nothing\n\n", wide(), "a.csv: is empty, expected a header and rows of values"),
        ("date,a\n", wide(), "a.csv: has no rows below its header, expected at least one"),
        (
            "\u{0}\u{1}PNG",
            wide(),
            "a.csv:1: is not text, expected a table of comma-separated values | save the table as UTF-8",
        ),
        (
            "date\n2020-01-01\n",
            wide(),
            "a.csv:1: has no column for a series, expected at least one besides the dates | the columns are `date`",
        ),
        ("date,a,a\n", wide(), "a.csv:1: column `a` occurs twice, as number 2 and 3"),
        (
            "2020-01-01,1.5,2.5\n2020-01-02,1,2\n",
            wide(),
            "a.csv:1: is a row of values, expected a header that names the columns | write a first line with the names of the \
             columns, such as `date,value`",
        ),
        ("date,a\n\"2020-01-01,1\n", wide(), "a.csv:2: has a quote that is never closed"),
        (
            "date,a,b\n2020-01-01,1\n",
            wide(),
            "a.csv:2: has 2 fields, the header has 3 | put text that contains the separator in double quotes",
        ),
    ]);
}

#[test]
fn fields_that_are_no_number() {
    let missing = "missing values are empty, NaN, NA, null, none, `?` or `-`; give the columns to read if this column is not numeric";
    let none = "no column holds numbers for a series | write numbers without units and signs such as %, or name columns of \
                numbers by `--target` (`data.columns`); the columns are";
    check(&[
        (
            "date,a,b\n2020-01-01,1,2\n\n2020-01-02,1,x2\n",
            wide(),
            &format!("a.csv:4: field `b`: found `x2`, expected a number | {missing}"),
        ),
        (
            "date;a\n2020-01-01;1\n2020-01-02;1,25,0\n",
            wide(),
            "a.csv:3: field `a`: found `1,25,0`, expected a number | `--decimal comma` or `--decimal point` (`data.decimal`) gives the decimal mark of the numbers",
        ),
        (
            "date,a\n2020-01-01,-inf\n",
            wide(),
            "a.csv:2: field `a`: found `-inf`, expected a finite number | leave the field empty where a value is missing",
        ),
        ("date,a\n2020-01-01,1e39\n", wide(), "a.csv:2: field `a`: found `1e39`, expected a number below 3.4e38"),
        (
            "date,a,b\n2020-01-01,NaN,1\n2020-01-02,?,1\n",
            wide(),
            "a.csv: field `a`: has no value in any row, expected at least one | leave the column out: `--target` (`data.columns`) names those to read",
        ),
        (
            "date,shop,a\n2020-01-01,x,?\n2020-01-02,x,5 kg\n",
            wide(),
            &format!("a.csv:3: field `a`: found `5 kg`, expected a number: {none} `date`, `shop`, `a`"),
        ),
        (
            "date,a\n2020-01-01,TRUE\n",
            wide(),
            &format!("a.csv:2: field `a`: found `TRUE`, expected a number: {none} `date`, `a`"),
        ),
    ]);
}

#[test]
fn stamps_that_do_not_fit() {
    let one_way = "all dates of a file must have the same format, with an offset from UTC or without; `--date-format` (`data.date_format`) gives one that is not detected, such as `%d.%m.%Y %H:%M` or `excel`, and `--date` (`data.date`) names the column";
    let common = "the frequency is the most common distance between stamps; ";
    let round = "correct this one, or round all of them: a frequency with a step for all would leave most steps empty";
    let give = |frequency: &str| ReadOptions { frequency: Some(frequency.parse().unwrap()), ..wide() };
    check(&[
        (
            "date,a\n2020-01-01,1\n2020-02-30,2\n2020-01-02,1\n",
            wide(),
            &format!("a.csv:3: field `date`: found `2020-02-30`, expected a date like `2020-01-01` | {one_way}"),
        ),
        (
            "date,a\n2020-01-01,1\n01/02/2020,2\n",
            wide(),
            &format!("a.csv:3: field `date`: found `01/02/2020`, expected a date like `2020-01-01` | {one_way}"),
        ),
        (
            "date,a\n2020-01-01,1\n,2\n",
            wide(),
            &format!("a.csv:3: field `date`: is empty, expected a date like `2020-01-01` | {one_way}"),
        ),
        (
            "date,a\n2020-01-01,1\n2020-01-02,2\n2020-01-03,1\n2020-01-03,2\n",
            wide(),
            "a.csv:5: field `date`: stamp `2020-01-03` already occurs on line 4 | `--duplicates mean` or `--duplicates last` (`data.duplicates`) takes the mean or the last row of each stamp",
        ),
        (
            "id,date,y\n1,2020-01-01,1.5\n1,2020-01-02,2.5\n2,2020-01-01,1.5\n2,2020-01-02,2.5\n",
            wide(),
            "a.csv:4: field `date`: stamp `2020-01-01` already occurs on line 2 | where `id` names series, `--id id` (`data.id`) reads each of them; `--duplicates mean` or `--duplicates last` (`data.duplicates`) takes the mean or the last row of each stamp",
        ),
        (
            "year,month,y\n2020,1,1.5\n2020,2,2.5\n2021,1,1.5\n2021,2,2.5\n",
            wide(),
            "a.csv:4: field `month`: stamp `1` already occurs on line 2 | join `year`, `month` to one column `date`, with dates such as `2024-05` or `2024-05-17 09:00`",
        ),
        (
            "Datum;Uhrzeit;Wert\n2020-01-01;00:00;1\n2020-01-01;01:00;2\n2020-01-02;00:00;3\n",
            wide(),
            "a.csv:3: field `Datum`: stamp `2020-01-01` already occurs on line 2 | join `Datum`, `Uhrzeit` to one column `date`, with dates such as `2024-05` or `2024-05-17 09:00`",
        ),
        (
            "a,b,date,y\nA,x,2020-01-01,1\nA,y,2020-01-01,1\nB,x,2020-01-01,1\nB,y,2020-01-01,1\nA,x,2020-01-02,1\nA,y,2020-01-02,1\nB,x,2020-01-02,1\nB,y,2020-01-02,1\n",
            wide(),
            "a.csv:3: field `date`: stamp `2020-01-01` already occurs on line 2 | where `a` and `b` name series together, join these columns to one and name it by `--id` (`data.id`); `--duplicates mean` or `--duplicates last` (`data.duplicates`) takes the mean or the last row of each stamp",
        ),
        (
            "date,a\n2020-01-01 00:00,1\n2020-01-01 01:00,2\n2020-01-01 02:00,1\n2020-01-01 03:10,2\n",
            wide(),
            &format!(
                "a.csv:5: field `date`: does not match the frequency of the other stamps, expected `2020-01-01 03:00` or `2020-01-01 04:00`, every hour | {common}`--frequency \"10 minutes\"` (`data.frequency`) has a step for all of them"
            ),
        ),
        // The first stamp that is off, and not the last; seconds would leave nearly all steps empty.
        (
            "date,a\n2020-01-01 00:00:00,1\n2020-01-01 01:00:00,1\n2020-01-01 02:00:00,2\n2020-01-01 03:00:01,1\n2020-01-01 04:00:02,1\n",
            wide(),
            &format!(
                "a.csv:5: field `date`: does not match the frequency of the other stamps, expected `2020-01-01 03:00:00` or `2020-01-01 04:00:00`, every hour | {common}{round}"
            ),
        ),
        (
            "date,a\n2020-01-01 00:00,1\n2020-01-01 01:30,1\n2020-01-01 03:00,2\n",
            give("hour"),
            "a.csv:3: field `date`: does not match the frequency of the other stamps, expected `2020-01-01 01:00` or `2020-01-01 02:00`, every hour | `--frequency \"90 minutes\"` (`data.frequency`) has a step for all of them",
        ),
        (
            "t,a\n0,1\n10,1\n20,1\n25,2\n",
            wide(),
            &format!(
                "a.csv:5: field `t`: does not match the frequency of the other stamps, expected `20` or `30`, every 10 steps | {common}`--frequency \"5 steps\"` (`data.frequency`) has a step for all of them"
            ),
        ),
        (
            "date,a\n1/2/2020,1\n1/3/2020,2\n",
            wide(),
            "a.csv:1: field `date`: has dates whose day and month may be swapped in every row | give their format by `--date-format` (`data.date_format`): `%d/%m/%Y` or `%m/%d/%Y`",
        ),
        (
            "date,a\n2020-01-01,1\n",
            wide(),
            "a.csv: has no series with two time stamps, so the frequency cannot be derived | give it by `--frequency` (`data.frequency`), such as `day`",
        ),
        (
            "date,a\n2020-01-01,1\n",
            give("step"),
            "a.csv:1: has dates as stamps, expected a frequency of dates instead of `step`",
        ),
        ("t,a\n0,1\n", give("day"), "a.csv:1: has integers as stamps, expected `step` instead of `day`"),
        (
            "date,a\n2020-01-01 00:00:00,1\n2020-01-01 00:00:01,1\n9020-01-01 00:00:00,1\n",
            wide(),
            "a.csv: has 3 rows for 220898620801 steps of a second, expected at most 1000000 with gaps filled | \
             a date or the frequency may be wrong; `--frequency` (`data.frequency`) gives a coarser one",
        ),
        (
            "date,a\n2020-01-01,1\nnot a date,\n2020-01-02,1\n",
            wide(),
            "a.csv:3: found `not a date` above the rows from line 4 on, expected a row of values",
        ),
        (
            "day,a\n2020-01-01,1\n",
            ReadOptions { date: Some("date".into()), ..wide() },
            "a.csv:1: has no column `date` | the columns are `day`, `a`",
        ),
    ]);
}

#[test]
fn options_that_do_not_fit() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let text = "date,load,heat\n2020-01-01,1,2\n2020-01-02,1,2\n";
    check(&[
        (
            text,
            ReadOptions { columns: Some(names(&["laod"])), ..wide() },
            "a.csv:1: has no column `laod` | did you mean the column `load`?",
        ),
        (
            text,
            ReadOptions { columns: Some(names(&["heat"])), covariates: names(&["heat"]), ..wide() },
            "a.csv:1: column `heat` has two roles",
        ),
        (
            text,
            ReadOptions { label: Some("heat".into()), ..wide() },
            "a.csv:1: is read as a wide table, which has no label: each of its columns is a series | \
             name the columns of series by `--target` (`data.columns`), or set `data.layout=long`",
        ),
        (
            text,
            ReadOptions { layout: TableLayout::Long, ..wide() },
            "a.csv:1: has no column of ids, expected one of `unique_id`, `item_id`, `series_id`, `ts_id` | \
             name it by `--id` (`data.id`); the columns are `date`, `load`, `heat`",
        ),
        (
            text,
            ReadOptions { layout: TableLayout::Tfb, ..wide() },
            "a.csv:1: has no column `cols` | the columns are `date`, `load`, `heat`",
        ),
    ]);
}

#[test]
fn long_tables() {
    let labelled = || ReadOptions { label: Some("k".into()), statics: vec!["s".into()], ..wide() };
    let same = "a series has one label, the same in all its rows";
    check(&[
        (
            "unique_id,ds,y\n,2020-01-01,1\n",
            wide(),
            "a.csv:2: field `unique_id`: is empty, expected the id of a series",
        ),
        (
            "unique_id,ds,y\na,2020-01-01,1\nb,2020-01-01,1\nb,2020-01-01,1\n",
            wide(),
            "a.csv:4: field `ds`: stamp `2020-01-01` of series `b` already occurs on line 3 | `--duplicates mean` or `--duplicates last` (`data.duplicates`) takes the mean or the last row of each stamp",
        ),
        (
            "unique_id,ds,y\na,2020-01-01,1\nb,2020-01-02,\na,2020-01-02,\n",
            wide(),
            "a.csv: field `y`: series `b` has no value in any row, expected at least one",
        ),
        (
            "unique_id,ds,y,k,s\na,2020-01-01,1,p,1\na,2020-01-02,1,q,1\n",
            labelled(),
            &format!("a.csv:3: field `k`: found the label `q`, the series has `p` on line 2 | {same}"),
        ),
        (
            "unique_id,ds,y,k,s\na,2020-01-01,1,,1\n",
            labelled(),
            "a.csv:2: field `k`: is empty, expected the label of the series",
        ),
        (
            "unique_id,ds,y,k,s\na,2020-01-01,1,p,1\na,2020-01-02,1,p,1\nb,2020-01-01,1,p,x\nb,2020-01-02,1,p,x\n",
            labelled(),
            "a.csv:4: field `s`: found `x`, expected a number | missing values are empty, NaN, NA, null, none, `?` or `-`; give the columns to read if this column is not numeric",
        ),
        (
            "unique_id,ds,y,k,s\na,2020-01-01,1,p,1\na,2020-01-02,1,p,2\n",
            labelled(),
            "a.csv:3: field `s`: found the number `2`, the series has `1` on line 2 | a series has one number, the same in all its rows",
        ),
        (
            "unique_id,ds,y,k,s\na,2020-01,1,,1\nb,2020-01,1,p,1\n",
            ReadOptions { label_optional: true, ..labelled() },
            "a.csv:2: field `k`: is empty, expected the label of the series",
        ),
        (
            "unique_id,ds,y,z\na,2020-01,1,2\n",
            ReadOptions { columns: Some(vec!["y".into(), "z".into()]), ..wide() },
            "a.csv:1: is read as a long table, in which one column has the values of all series | name one column by `--target` (`data.columns`), or set `data.layout=wide`",
        ),
    ]);
}

#[test]
fn dates_in_a_header_and_steps_that_stamps_do_not_tell_apart() {
    let turned = "has dates in the names of its columns and no column of dates";
    let same = "in which steps of a";
    let every = |frequency: &str| ReadOptions { frequency: Some(frequency.parse().unwrap()), ..wide() };
    for (text, options, expected) in [
        ("shop,2023-01-01,2023-01-02,2023-01-03\na,1,2,3\nb,2,3,4\n", wide(), turned),
        ("Country,Code,1990,1991,1992\nAustria,AUT,1,2,3\nBelgium,BEL,2,3,4\n", wide(), turned),
        ("date,a\n2023-01-01,1\n2023-01-02,2\n", every("hour"), same),
        ("date,a\n1990Q1,1\n1990Q2,2\n", every("month"), same),
        ("date,a\n2018-01,1\n2018-02,2\n", every("day"), same),
    ] {
        let error = parse(text, Path::new("a.csv"), &options).unwrap_err();
        assert!(error.to_string().contains(expected) && error.hint().is_some(), "{text}: {error}");
    }
    // Years name the columns of a table of months.
    let months = "month,2019,2020,2021\n2020-01,1,2,3\n2020-02,2,3,4\n";
    assert_eq!(parse(months, Path::new("a.csv"), &wide()).unwrap().panel.len(), 3);
    let coarser = "date,a\n2023-01-01,1\n2023-01-08,2\n";
    assert_eq!(parse(coarser, Path::new("a.csv"), &every("week")).unwrap().panel.steps(), 2);
}

#[test]
fn cut_and_damaged_texts_never_panic() {
    let long = ReadOptions { label: Some("k".into()), label_optional: true, covariates: vec!["x".into()], ..wide() };
    for text in [
        "# c\ndate,a,\"b\"\n2020-01-01 10:00:00+01:00,1,2\n2020-01-01 12:00:00+01:00,-4,5e1\nend\n",
        "unique_id,ds,y,x,k\na,2020Q1,1,2,u\na,2020Q3,3,4,u\nb,2020Q1,1,,v\n",
        "cols,date,data\na,5,1\na,7,2\nb,5,3\n",
    ] {
        for (at, old) in text.char_indices() {
            for options in [wide(), long.clone()] {
                let _ = parse(&text[..at], Path::new("a"), &options);
            }
            let after = &text[at + old.len_utf8()..];
            for new in ["", "-", "9", ",", ";", "\n", "\"", "\u{fc}", "\0", "\r"] {
                let damaged = format!("{}{new}{after}", &text[..at]);
                for options in [wide(), long.clone(), ReadOptions { duplicates: Duplicates::Mean, ..wide() }] {
                    let _ = parse(&damaged, Path::new("a"), &options);
                }
            }
        }
    }
}

#[test]
fn compressed_files_and_broken_ones() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"date,a\n2020-01-01,1\n2020-01-02,2\n").unwrap();
    let bytes = encoder.finish().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(crate::series::formats::read(&path, &wide()).unwrap().panel.steps(), 2);
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = crate::series::formats::read(&path, &wide()).unwrap_err().to_string();
    assert!(error.contains("a.csv.gz"), "{error}");
    assert!(crate::series::formats::read(folder.path(), &wide()).is_err());
}
