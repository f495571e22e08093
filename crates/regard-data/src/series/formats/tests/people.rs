//! Files as people have them.

use super::*;

fn column(name: &str, dates: &[&str]) -> String {
    let rows: String = dates.iter().zip(1..).map(|(date, value)| format!("{date},{value}\n")).collect();
    format!("{name},sold\n{rows}")
}

#[test]
fn years_of_two_digits_are_years_of_a_century() {
    for (dates, first, last) in [
        (["30.12.20", "31.12.20", "01.01.21"], "30.12.20", "01.01.21"),
        (["1/12/21", "1/13/21", "1/14/21"], "1/12/21", "1/14/21"),
        (["12/30/98", "12/31/98", "01/01/99"], "12/30/98", "01/01/99"),
        (["30-Jan-21", "31-Jan-21", "01-Feb-21"], "30-Jan-21", "01-Feb-21"),
        (["21-01-30", "21-01-31", "21-02-01"], "21-01-30", "21-02-01"),
        (["30-01-21", "31-01-21", "01-02-21"], "30-01-21", "01-02-21"),
    ] {
        let found = read(&column("date", &dates));
        assert_eq!(found.report.frequency.to_string(), "day", "{dates:?}");
        assert_eq!(found.report.span, (first.to_owned(), last.to_owned()));
    }
    let said = |dates: &[&str]| said(&column("date", dates), &ReadOptions::default());
    let swapped = said(&["01/02/21", "02/02/21"]);
    assert!(swapped.contains("`%d/%m/%y` or `%m/%d/%y`") && swapped.contains("--date-format"), "{swapped}");
    let swapped = said(&["21-01-01", "21-01-02"]);
    assert!(swapped.contains("day, month and year") && swapped.contains("`%d-%m-%y` or `%y-%m-%d`"), "{swapped}");
    let options = ReadOptions { date_pattern: Some("%y-%m-%d".into()), ..ReadOptions::default() };
    let found = parse(&column("date", &["21-01-01", "21-01-02"]), Path::new("a.csv"), &options).unwrap();
    assert_eq!(found.panel.stamp(0, 2).unwrap(), "21-01-03");
}

#[test]
fn quarters_months_and_weeks_are_dates() {
    for (dates, frequency, next) in [
        (["Q1 2000", "Q2 2000", "Q3 2000"], "quarter", "Q4 2000"),
        (["2000Q1", "2000Q2", "2000Q3"], "quarter", "2000Q4"),
        (["Jan-00", "Feb-00", "Mar-00"], "month", "Apr-00"),
        (["Jan 2000", "Feb 2000", "Mar 2000"], "month", "Apr 2000"),
        (["2000-01", "2000-02", "2000-03"], "month", "2000-04"),
        (["2020-W52", "2020-W53", "2021-W01"], "week", "2021-W02"),
        (
            ["Friday, 01 January 2021", "Saturday, 02 January 2021", "Sunday, 03 January 2021"],
            "day",
            "Monday, 04 January 2021",
        ),
    ] {
        let rows: String = dates.iter().zip(1..).map(|(date, value)| format!("\"{date}\",{value}\n")).collect();
        let found = read(&format!("date,sold\n{rows}"));
        assert_eq!((found.report.frequency.to_string().as_str(), found.panel.len()), (frequency, 1), "{dates:?}");
        assert_eq!(found.panel.stamp(0, 3).unwrap(), next);
    }
}

#[test]
fn a_first_row_of_values_is_no_header_beside_columns_of_text_too() {
    let refused = said("2020-01-01,5,ok\n2020-01-02,6,ok\n", &ReadOptions::default());
    assert!(refused.contains("header"), "{refused}");
}

#[test]
fn a_column_of_text_is_known_below_a_header_of_any_length() {
    for length in [54_000, 65_530, 65_536, 70_000] {
        let name = "x".repeat(length);
        let found = read(&format!("date,{name},comment\n2020-01-01,5,good day\n2020-01-02,6,rain\n"));
        assert!(found.panel.names().eq([name.as_str()]), "{length}");
    }
}

#[test]
fn dates_that_are_not_understood_name_no_series() {
    for (name, date) in [
        ("date", "2021-W00"),
        ("Datum", "erster Januar"),
        ("ds", "Q7 2000"),
        ("time", "noon"),
        ("Order Date", "31.02.2021"),
        ("date", ""),
    ] {
        let error = said(&column(name, &[date, "x", "y"]), &ReadOptions::default());
        assert!(error.contains("--date-format") && error.contains(name), "{name}: {error}");
        let long = format!("unique_id,{name},y\na,{date},1\na,x,2\n");
        assert!(said(&long, &ReadOptions::default()).contains("--date-format"), "{long}");
    }
    let dated = read("date,time,sold\n2021-01-01,noon,1\n2021-01-02,noon,2\n");
    assert_eq!(dated.panel.names().collect::<Vec<_>>(), ["sold"]);
}

#[test]
fn columns_of_notes_name_no_series() {
    let rows: String = (1..25).map(|day| format!("2021-01-{day:02},{day},seen {}\n", day % 9)).collect();
    for name in ["comment", "who"] {
        let found = read(&format!("date,sales,{name}\n{rows}"));
        assert_eq!((found.report.guessed.clone(), found.panel.len()), (None, 1));
        let said = found.report.to_string();
        assert!(said.contains(&format!("left out: `{name}`")) && said.contains("`--target`"), "{said}");
    }
}

#[test]
fn texts_beside_the_names_of_series_are_left_out() {
    let text = "store,date,sales,extra\na,2021-01-01,1,x\na,2021-01-02,2,y\nb,2021-01-01,3,x\nb,2021-01-02,4,z\n";
    let found = read(text);
    assert_eq!(found.report.guessed, Some(["store".into(), "sales".into()]));
    assert_eq!((found.panel.len(), found.report.skipped.clone()), (2, vec!["extra".to_owned()]));
    assert!(
        found.report.to_string().contains("columns not read: extra; `--target` (`data.columns`) and `--covariates`")
    );
    let two = said(&text.replace(",x", ",5").replace(",y", ",5").replace(",z", ",5"), &ReadOptions::default());
    assert!(two.contains("`store`") && two.contains("`--target sales`"), "{two}");
    let one = ReadOptions { columns: Some(vec!["extra".into()]), ..ReadOptions::default() };
    let text = text.replace(",x", ",5").replace(",y", ",6").replace(",z", ",7");
    assert_eq!(parse(&text, Path::new("a.csv"), &one).unwrap().panel.series()[1].values(), [5.0, 7.0]);
}

#[test]
fn six_digits_are_weeks_where_they_are_no_months() {
    let read = |name: &str, stamps: &[&str], frequency: Option<&str>| {
        let frequency = frequency.map(|word| word.parse().unwrap());
        let options = ReadOptions { frequency, ..ReadOptions::default() };
        let found = parse(&column(name, stamps), Path::new("a.csv"), &options).unwrap();
        (found.report.frequency.to_string(), found.report.stamps.unwrap_or_default())
    };
    let weeks = ["202051", "202052", "202053", "202101", "202102"];
    for name in ["week", "KW", "date"] {
        let (frequency, notes) = read(name, &weeks, None);
        assert_eq!(frequency, "week", "{name}");
        assert!(notes.contains("are years and ISO weeks, 202051 begins on 2020-12-14"), "{notes}");
    }
    // Months where they may be, but for the name; a counter under another one.
    let both = ["202009", "202010", "202011", "202012"];
    assert_eq!(read("week", &both, None).0, "week");
    assert_eq!(read("date", &both, None).0, "month");
    assert_eq!(read("t", &["200049", "200050", "200051", "200052"], None).0, "step");
    assert_eq!(read("week", &both, Some("step")), ("step".into(), String::new()));
    assert_eq!(read("t", &weeks, Some("week")).0, "week");
}

#[test]
fn days_of_excel_are_dates_under_a_name_of_dates() {
    let found = read(&column("date", &["44197", "44198", "44200"]));
    assert_eq!((found.report.frequency.to_string().as_str(), found.panel.steps()), ("day", 4));
    assert_eq!(found.panel.stamp(0, 4).unwrap(), "44201");
    let note = found.report.stamps.unwrap();
    assert!(note.contains("44197 is 2021-01-01") && note.contains("`--frequency step`"), "{note}");
    let hours = read(&column("Order date", &["44197.5", "44197.75", "44198"]));
    assert_eq!(
        (hours.report.frequency.to_string().as_str(), hours.report.date.as_deref()),
        ("6 hours", Some("Order date"))
    );
    let steps = ReadOptions { frequency: Some("step".parse().unwrap()), ..ReadOptions::default() };
    let text = column("date", &["44197", "44198"]);
    assert_eq!(parse(&text, Path::new("a.csv"), &steps).unwrap().report.frequency.to_string(), "step");
    assert_eq!(read(&column("step", &["44197", "44198"])).report.frequency.to_string(), "step");
    let excel = ReadOptions { date_pattern: Some("excel".into()), ..ReadOptions::default() };
    let found = parse(&column("when", &["11", "12", "13"]), Path::new("a.csv"), &excel).unwrap();
    assert_eq!((found.report.frequency.to_string().as_str(), found.panel.len()), ("day", 1));
}

#[test]
fn marks_between_thousands_are_read() {
    let found = read("date,sold\n2021-01-01,\"1,000\"\n2021-01-02,\"12,500.5\"\n2021-01-03,7\n");
    assert_eq!(values(&found, 0), [1000.0, 12500.5, 7.0]);
    let found = read("date,sold\n2021-01-01,\"1,000\"\n2021-01-02,\"2,000\"\n");
    assert_eq!((values(&found, 0), found.report.marks.is_some()), (vec![1000.0, 2000.0], true));
    assert!(found.report.to_string().contains("`1,000` is read as 1000 (`--decimal comma`"));
    let comma = ReadOptions { decimal: Some(Decimal::Comma), ..ReadOptions::default() };
    let text = "date,sold\n2021-01-01,\"1,000\"\n2021-01-02,\"2,000\"\n";
    assert_eq!(values(&parse(text, Path::new("a.csv"), &comma).unwrap(), 0), [1.0, 2.0]);
    assert_eq!(values(&read("date;sold\n2021-01-01;1 000\n2021-01-02;2'000\n"), 0), [1000.0, 2000.0]);
    // All numbers of a column may have them.
    assert_eq!(values(&read("date,a\n2021-01-01,\"1,000.50\"\n2021-01-02,\"2,000.00\"\n"), 0), [1000.5, 2000.0]);
    assert_eq!(values(&read("date,a\n2021-01-01,\"1,000,000\"\n2021-01-02,\"2,000,000\"\n"), 0), [1e6, 2e6]);
    assert_eq!(values(&read("date;a\n2021-01-01;1.000,5\n2021-01-02;2.000,0\n"), 0), [1000.5, 2000.0]);
}

#[test]
fn thousands_beside_decimal_commas_are_thousands_in_every_row() {
    let rows = |count: usize, last: &str| {
        let day = |day: usize| format!("{};{};12,3\n", day + 1, 904 + day % 80);
        (0..count).map(day).chain([format!("{};{last};12,7", count + 1)]).collect::<String>()
    };
    // A last line without an end, and one behind all that the marks are known by.
    for count in [20, 9000] {
        let found = read(&format!("step;sold;price\n{}", rows(count, "1.012")));
        assert_eq!(found.panel.series()[0].values()[count], 1012.0, "{count}");
    }
    // Points in another column leave it open, which is said.
    let found = read("step;sold;price;warm\n1;900;12,3;5.3\n2;1.000;12,4;6.1\n");
    assert_eq!(values(&found, 0), [900.0, 1.0]);
    let marks = found.report.marks.unwrap();
    assert!(marks.contains("`1.000` is read as 1 (`--decimal comma`"), "{marks}");
}

#[test]
fn texts_that_are_known_in_the_future_are_encoded() {
    let text = "date,sold,promo,price\n2021-01-01,1,yes,3\n2021-01-02,2,no,4\n2021-01-03,,yes,5\n";
    let options = ReadOptions { covariates: vec!["promo".into(), "price".into()], ..ReadOptions::default() };
    let found = parse(text, Path::new("a.csv"), &options).unwrap();
    let names = ["promo=no", "promo=yes", "price"].map(String::from);
    assert_eq!((found.panel.covariates(), found.panel.steps(), found.report.future), (&names[..], 2, 1));
    let covariates = found.panel.series()[0].covariates();
    assert_eq!([&covariates[0][..], &covariates[1][..]], [&[0.0, 1.0, 0.0][..], &[1.0, 0.0, 1.0][..]]);
    let known = ReadOptions { known_covariates: Some(names.to_vec()), ..options.clone() };
    let found = parse(&text.replace("no,4", "maybe,4"), Path::new("a.csv"), &known).unwrap();
    assert_eq!(found.panel.covariates(), names);
    assert_eq!(found.panel.series()[0].covariates()[1][..], [1.0, 0.0, 1.0]);
    assert!(found.report.to_string().contains("column `promo`: `maybe` did not occur in training"));
    // Nothing can be learnt about a text that has no value beside it, and what is missing is said.
    let later = text.replace(",,yes,5", ",,maybe,5").replace("no,4", ",4");
    let found = parse(&later, Path::new("a.csv"), &options).unwrap();
    assert_eq!(found.panel.covariates(), ["promo=yes", "price"]);
    let said_of = found.report.to_string();
    assert!(said_of.contains("`promo`: `maybe` did not occur in a row with a value, and counts as none"), "{said_of}");
    assert!(
        said_of.contains("column `promo`: 1 row has no value, which networks take from the row before"),
        "{said_of}"
    );
    let long = "unique_id,ds,y,promo\na,2021-01-01,1,yes\na,2021-01-02,2,no\na,2021-01-03,,yes\n";
    let options = ReadOptions { covariates: vec!["promo".into()], ..ReadOptions::default() };
    let found = parse(long, Path::new("a.csv"), &options).unwrap();
    assert_eq!((found.panel.covariates(), found.report.future), (&names[..2], 1));
}

#[test]
fn the_layout_of_the_m4_competition_is_recognised() {
    let text = "\"V1\",\"V2\",\"V3\",\"V4\"\n\"M1\",\"1.5\",\"2\",\"3\"\n\"M2\",\"4\",\"\",\"\"\n\"M3\",\"7\",\"8\"\n";
    let found = read(text);
    assert_eq!(found.panel.names().collect::<Vec<_>>(), ["M1", "M2", "M3"]);
    assert_eq!(
        (values(&found, 0), values(&found, 1), values(&found, 2)),
        (vec![1.5, 2.0, 3.0], vec![4.0], vec![7.0, 8.0])
    );
    assert_eq!(
        (found.panel.clock().season(), found.report.rows, found.panel.stamp(1, 1).unwrap()),
        (12, 3, "1".into())
    );
    let said_of = found.report.to_string();
    assert!(
        said_of.contains("M4 competition") && said_of.contains("season of 12 as ids such as `M1` have"),
        "{said_of}"
    );
    let daily = ReadOptions { frequency: Some("day".parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(parse(text, Path::new("a.csv"), &daily).unwrap().panel.clock().season(), 7);
    let one = ReadOptions { columns: Some(vec!["M3".into()]), ..ReadOptions::default() };
    assert_eq!(parse(text, Path::new("a.csv"), &one).unwrap().panel.len(), 1);
    let long = format!("{text}\"M4\",\"1\",\"2\",\"3\",\"4\"\n");
    assert!(said(&long, &ReadOptions::default()).contains("has 5 fields, the header has 4"));
    assert!(said(&format!("{text}\"M4\",\"\"\n"), &ReadOptions::default()).contains("`M4` has no value"));
}

fn with_future(history: &str, future: &str, covariates: &[&str]) -> crate::Result<Read> {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&a, history).unwrap();
    std::fs::write(&b, future).unwrap();
    let covariates = covariates.iter().map(|name| (*name).to_owned()).collect();
    read_with_future(&a, &b, &ReadOptions { covariates, ..ReadOptions::default() })
}

#[test]
fn values_of_the_future_may_stand_in_a_file_of_their_own() {
    let history = "date,sold,price,note\n2021-01-01,1,10,x\n2021-01-02,2,11,y\n2021-01-03,3,12,z";
    let future = "price;date;weather\n13;2021-01-04;sun\n14;2021-01-05;rain\n";
    let read = with_future(history, future, &["price"]).unwrap();
    let one = &read.panel.series()[0];
    assert_eq!((one.len(), &one.covariates()[0][..]), (3, &[10.0, 11.0, 12.0, 13.0, 14.0][..]));
    assert_eq!(read.report.future, 2);
    assert!(
        read.report.to_string().contains("columns not read: weather; `--covariates` (`data.future_covariates`)"),
        "{}",
        read.report
    );
    let long = "store;date;sold;promo\nn;2021-01-01;1;yes\nn;2021-01-02;2;no\ns;2021-01-01;3;no\ns;2021-01-02;4;no\n";
    let ahead = "date,store,promo\n2021-01-03,s,no\n2021-01-03,n,yes\n2021-01-04,s,yes\n2021-01-04,n,no\n";
    let read = with_future(long, ahead, &["promo"]).unwrap();
    assert_eq!(read.panel.series()[0].covariates()[1][..], [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(read.panel.series()[1].covariates()[1][..], [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn values_of_the_future_may_have_marks_of_their_own_and_a_footer_may_stand_above_them() {
    let commas = "date;sold;price\n2021-01-01;1;10,5\n2021-01-02;2;1.011,25\n";
    let points = "date,price\n2021-01-03,12.125\n2021-01-04,1013\n";
    let prices = |read: &Read| read.panel.series()[0].covariates()[0].to_vec();
    let read = with_future(&format!("{commas}Source: our till;;\n"), points, &["price"]).unwrap();
    assert_eq!(
        (prices(&read), read.report.footer.as_deref()),
        (vec![10.5, 1011.25, 12.125, 1013.0], Some("Source: our till"))
    );
    let history = "date;sold;price\n2021-01-01;1;10.5\n2021-01-02;2;11.25\n";
    let read = with_future(history, "date;price\n2021-01-03;1.012,5\n2021-01-04;13,125\n", &["price"]).unwrap();
    assert_eq!(prices(&read), [10.5, 11.25, 1012.5, 13.125]);
    let notes = read.report.to_string();
    assert!(notes.contains("b.csv: numbers have a decimal comma"), "{notes}");
    // What may be read in both ways is read as in the other file.
    let ahead = |number: &str| format!("date;price\n2021-01-03;{number}\n2021-01-04;1\n");
    assert_eq!(prices(&with_future(commas, &ahead("1.250"), &["price"]).unwrap())[2], 1250.0);
    assert_eq!(prices(&with_future(history, &ahead("1,250"), &["price"]).unwrap())[2], 1250.0);
    assert_eq!(prices(&with_future(history, &ahead("1.250"), &["price"]).unwrap())[2], 1.25);
    let text = format!("{commas}Total;;\n2021-01-03;3;1,5\n");
    let error = with_future(&text, points, &["price"]).unwrap_err().to_string();
    assert!(error.contains("a.csv:4: found `Total` above the rows from line 5 on"), "{error}");
}

#[test]
fn a_future_that_does_not_go_on_where_series_end_is_refused() {
    let history = "date,sold,price\n2021-01-01,1,10\n2021-01-02,2,11\n2021-01-03,3,12\n";
    let said = |future: &str, covariates: &[&str]| {
        let error = with_future(history, future, covariates).unwrap_err();
        let text = format!("{error} | {}", error.hint().unwrap_or_default());
        assert!(text.contains("b.csv"), "{text}");
        text
    };
    assert!(said("date,price\n2021-01-05,1\n", &["price"]).contains("has no row for `2021-01-04`"));
    let twice = said("date,price\n2021-01-03,1\n2021-01-04,1\n", &["price"]);
    assert!(twice.contains("b.csv:2") && twice.contains("after the last value"), "{twice}");
    assert!(twice.contains("already occurs on line 4 of ") && twice.contains("a.csv"), "{twice}");
    let own = said("date,price\n2021-01-04,1\n2021-01-04,1\n", &["price"]);
    assert!(own.contains("b.csv:3") && own.contains("already occurs on line 2 |"), "{own}");
    assert!(said("date,cost\n2021-01-04,1\n", &["price"]).contains("has no column `price`"));
    assert!(said("date,price\n2021-01-04,x\n", &["price"]).contains("b.csv:2: field `price`: found `x`"));
    assert!(said("date,price\n2021-01-04,1\n", &[]).contains("--covariates"));
    assert!(said("date,price\n", &["price"]).contains("has no rows below its header"));
    let long = "unique_id,ds,y,p\na,2021-01-01,1,1\na,2021-01-02,2,1\nb,2021-01-01,1,1\nb,2021-01-02,2,1\n";
    let unknown = with_future(long, "unique_id,ds,p\nc,2021-01-03,1\n", &["p"]).unwrap_err().to_string();
    assert!(unknown.contains("b.csv:2: field `unique_id`: found `c`"), "{unknown}");
    let none = with_future(long, "unique_id,ds,p\na,2021-01-03,1\n", &["p"]).unwrap_err().to_string();
    assert!(none.contains("series `b` has no rows of the future"), "{none}");
}

#[test]
fn without_dates_rows_are_steps_whatever_they_lack() {
    let found = read("a;b\n1;2\n;\n3;4\n;\n99,5;\n");
    assert_eq!((values(&found, 0), found.report.rows, found.report.footer.clone()), (vec![1.0, 3.0, 99.5], 3, None));
    let note =
        "2 rows without any value, skipped: no steps; write `nan` for steps whose values are missing, or give dates";
    assert!(found.report.to_string().contains(note), "{}", found.report);
    assert_eq!(read("a;b\n1;2\nNA;\n").report.rows, 2);
    // With dates a stamp without a row is said.
    assert!(!read("date;a\n2021-01-01;2\n;\n2021-01-02;2\n").report.to_string().contains("without any value"));
}
