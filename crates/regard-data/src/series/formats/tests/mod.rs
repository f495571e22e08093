mod malformed;
mod people;

use super::*;

fn said(text: &str, options: &ReadOptions) -> String {
    let error = match parse(text, Path::new("a.csv"), options) {
        Ok(read) => panic!("accepted {text:?} as {read:?}"),
        Err(error) => error,
    };
    assert!(matches!(error, crate::Error::Parse { .. }), "{error:?}");
    assert_eq!(error.to_string().lines().count(), 1);
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

fn read(text: &str) -> Read {
    parse(text, Path::new("a.csv"), &ReadOptions::default()).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn values(read: &Read, series: usize) -> Vec<f32> {
    read.panel.series()[series].values().to_vec()
}

#[test]
fn gaps_are_filled_and_rows_sorted() {
    let found = read("date,a,b\n2020-01-03,3,30\n2020-01-01,1,?\n\n2020-01-02,2,nan\n2020-01-05,5,50\n");
    assert_eq!((found.report.gaps, found.report.out_of_order, found.report.rows), (1, 2, 4));
    assert_eq!(values(&found, 0)[..3], [1.0, 2.0, 3.0]);
    assert!(values(&found, 0)[3].is_nan() && values(&found, 0)[4] == 5.0);
    assert_eq!(found.report.missing, [("a".into(), 1), ("b".into(), 3)]);
    assert_eq!(found.report.span, ("2020-01-01".into(), "2020-01-05".into()));
}

#[test]
fn separators_line_ends_and_quotes_change_nothing() {
    let text = "date,a,\"b\"\n\"2020-01-01\",1,2\n2020-01-02,3,4\n";
    let expected = values(&read(text), 1);
    for other in [
        text.replace(',', ";"),
        text.replace(',', "\t"),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\n\n"),
        text.trim_end().to_owned(),
        format!("\u{feff}{text}"),
        format!("# made up\n\n{text}"),
        text.replace(',', " , "),
    ] {
        assert_eq!(values(&read(&other), 1), expected, "{other:?}");
        assert_eq!(read(&other).report.span.1, "2020-01-02");
    }
}

#[test]
fn dates_of_mixed_width_are_read() {
    for (dates, last) in [
        (["04/9/2021", "04/10/2021", "4/11/2021", "04/30/2021"], "4/30/2021"),
        (["9.4.2021", "10.04.2021", "11.04.2021", "30.04.2021"], "30.4.2021"),
        (["2021-4-9", "2021-04-10", "2021-04-11", "2021-4-30"], "2021-4-30"),
        (["4/9/2021 9:05", "4/10/2021 09:05", "4/11/2021 9:05", "4/30/2021 9:05"], "4/30/2021 9:05"),
    ] {
        let rows: String = dates.iter().zip(1..).map(|(date, value)| format!("{date},{value}\n")).collect();
        let found = read(&format!("date,sold\n{rows}"));
        assert_eq!(found.report.span.1, last);
        assert_eq!((found.report.frequency.to_string().as_str(), found.report.gaps), ("day", 18));
        assert_eq!(values(&found, 0)[21], 4.0);
    }
    let swapped = said("date,sold\n4/9/2021,1\n04/10/2021,2\n", &ReadOptions::default());
    assert!(swapped.contains("may be swapped") && swapped.contains("--date-format"), "{swapped}");
    let options = ReadOptions { date_pattern: Some("%m/%d/%Y".into()), ..ReadOptions::default() };
    let found = parse("date,sold\n04/9/2021,1\n4/10/2021,2\n", Path::new("a.csv"), &options).unwrap();
    assert_eq!(found.panel.steps(), 2);
}

#[test]
fn a_column_of_text_names_the_series() {
    let text =
        "Datum,Filiale,Menge,Preis\n2021-01-01,Nord,1,5\n2021-01-01,Süd,2,5\n2021-01-02,Nord,3,5\n2021-01-02,Süd,4,5\n";
    let one = read(&text.replace(",Preis", "").replace(",5\n", "\n"));
    assert_eq!(one.report.guessed, Some(["Filiale".into(), "Menge".into()]));
    assert_eq!((one.panel.names().collect::<Vec<_>>(), values(&one, 1)), (vec!["Nord", "Süd"], vec![2.0, 4.0]));
    assert!(one.report.to_string().contains("`Filiale` names the series") && one.report.to_string().contains("--id"));
    // Of two columns of numbers neither is called like values.
    assert!(said(text, &ReadOptions::default()).contains("`Filiale`"));
    let called = read(&text.replace("Preis", "y"));
    assert_eq!(
        (called.report.guessed, called.report.skipped),
        (Some(["Filiale".into(), "y".into()]), vec!["Menge".into()])
    );
}

#[test]
fn long_tables_have_series_of_their_own() {
    let text = "unique_id,ds,y,price,size,kind\nb,2020-01-02,5,1,9,shop\na,2020-01-01,1,2,8,web\na,2020-01-03,3,3,8,web\n\
                b,2020-01-01,4,4,9,shop\na,2020-01-04,,5,8,web\n";
    let options = ReadOptions {
        covariates: vec!["price".into()],
        statics: vec!["size".into()],
        label: Some("kind".into()),
        ..ReadOptions::default()
    };
    let Read { panel, report } = parse(text, Path::new("a.csv"), &options).unwrap();
    assert_eq!(panel.names().collect::<Vec<_>>(), ["b", "a"]);
    let (b, a) = (&panel.series()[0], &panel.series()[1]);
    assert_eq!((b.start(), b.values(), &b.covariates()[0][..]), (0, &[4.0, 5.0][..], &[4.0, 1.0][..]));
    assert_eq!((a.len(), a.values()[1].is_nan(), a.covariates()[0][3], a.statics()), (3, true, 5.0, &[8.0][..]));
    assert_eq!(panel.labels().unwrap().classes().names, ["shop", "web"]);
    assert_eq!((report.gaps, report.out_of_order, report.future, report.rows), (1, 1, 1, 5));
    assert_eq!((panel.covariates(), panel.statics()), (&["price".to_owned()][..], &["size".to_owned()][..]));
    // A text and a missing number are features too, and those of a model are read again.
    let text = "unique_id,ds,y,shop,size\na,2020-01-01,1,web,\na,2020-01-02,2,web,\nb,2020-01-01,3,mall,2\n\
                b,2020-01-02,4,mall,2.0\n";
    let options = ReadOptions { statics: vec!["shop".into(), "size".into()], ..ReadOptions::default() };
    let panel = parse(text, Path::new("a.csv"), &options).unwrap().panel;
    let names = ["shop=mall", "shop=web", "size", "missingindicator_size"].map(String::from);
    assert_eq!((panel.statics(), panel.series()[1].statics()), (&names[..], &[1.0, 0.0, 2.0, 0.0][..]));
    let a = panel.series()[0].statics();
    assert!(a[2].is_nan() && [a[0], a[1], a[3]] == [0.0, 1.0, 1.0], "{a:?}");
    let known = ReadOptions { known_statics: Some(names.to_vec()), ..ReadOptions::default() };
    let new = "unique_id,ds,y,shop,size\nc,2020-01-01,1,kiosk,7\nc,2020-01-02,2,kiosk,7\n";
    let found = parse(new, Path::new("a.csv"), &known).unwrap().panel;
    assert_eq!(found.series()[0].statics(), [0.0, 0.0, 7.0, 0.0]);
}

#[test]
fn dates_without_a_name_and_the_column_of_values_are_those_of_long_tables_too() {
    let text = ",unique_id,y,sold\n2020-01-03,a,3,7\n2020-01-01,a,1,6\n2020-01-01,b,5,4\n2020-01-02,b,6,4\n";
    let found = read(text);
    assert_eq!((found.panel.series()[0].len(), found.report.gaps, found.report.out_of_order), (3, 1, 1));
    assert_eq!(found.panel.stamp(0, 0).unwrap(), "2020-01-01");
    // Numbers of rows are no dates.
    let numbered = read(",unique_id,y\n0,a,3\n1,a,1\n2,b,5\n3,b,6\n");
    assert_eq!((numbered.report.date, numbered.panel.len()), (None, 2));
    let sold = ReadOptions { columns: Some(vec!["sold".into()]), ..ReadOptions::default() };
    let found = parse(text, Path::new("a.csv"), &sold).unwrap();
    assert_eq!((found.panel.len(), values(&found, 1)), (2, vec![4.0, 4.0]));
}

#[test]
fn columns_of_long_tables_that_are_not_named_are_left_out() {
    let text = "unique_id,ds,y,price,size,kind\nb,2020-01-02,5,1,9,shop\na,2020-01-01,1,2,8,web\na,2020-01-03,3,3,8,web\n\
                b,2020-01-01,4,4,9,shop\na,2020-01-04,,5,8,web\n";
    let plain = read(text);
    assert_eq!(
        (plain.panel.series()[1].len(), plain.report.skipped),
        (4, vec!["price".into(), "size".into(), "kind".into()])
    );
    let unlabelled = ReadOptions { label: Some("class".into()), label_optional: true, ..ReadOptions::default() };
    assert_eq!(parse(text, Path::new("a.csv"), &unlabelled).unwrap().panel.labels(), None);
}

#[test]
fn tables_of_tfb_and_tables_without_dates_are_long_too() {
    let tfb = read("date,data,cols\n2020-01-01,1,x\n2020-01-02,2,x\n2020-01-01,3,y\n2020-01-02,4,y\n");
    assert_eq!((tfb.panel.names().collect::<Vec<_>>(), values(&tfb, 1)), (vec!["x", "y"], vec![3.0, 4.0]));
    assert!(tfb.panel.is_aligned());
    let counted = read("unique_id,y\na,1\nb,5\na,2\na,3\nb,6\n");
    assert_eq!((values(&counted, 0), values(&counted, 1)), (vec![1.0, 2.0, 3.0], vec![5.0, 6.0]));
    assert_eq!((counted.report.date, counted.report.out_of_order), (None, 0));
}

#[test]
fn covariates_of_wide_tables_go_on_into_the_future() {
    let text = "date,a,b,holiday\n2020-01-01,1,4,0\n2020-01-02,2,,1\n2020-01-03,,,0\n2020-01-04,,,1\n";
    let options = ReadOptions { covariates: vec!["holiday".into()], ..ReadOptions::default() };
    let Read { panel, report } = parse(text, Path::new("a.csv"), &options).unwrap();
    assert_eq!((panel.steps(), report.future, panel.series()[0].covariates()[0].len()), (2, 2, 4));
    assert_eq!(report.missing, [("a".into(), 0), ("b".into(), 1)]);
}

#[test]
fn duplicates_are_merged_when_asked_for() {
    let text = "date,a,b\n2020-01-01,1,5\n2020-01-02,2,6\n2020-01-02,4,\n2020-01-03,5,7\n";
    let merged = |duplicates| {
        let options = ReadOptions { duplicates, ..ReadOptions::default() };
        let read = parse(text, Path::new("a.csv"), &options).unwrap();
        assert_eq!((read.report.duplicates, read.panel.steps()), (1, 3));
        [values(&read, 0)[1], values(&read, 1)[1]]
    };
    assert_eq!(merged(Duplicates::Mean), [3.0, 6.0]);
    let [last, missing] = merged(Duplicates::Last);
    assert!(last == 4.0 && missing.is_nan());
}

#[test]
fn columns_of_dates_are_found() {
    for (text, date, frequency) in [
        ("a,when\n1,2020-01-01\n2,2020-01-02\n", Some("when"), "day"),
        ("year,a\n1990,1\n1991,2\n", Some("year"), "year"),
        (",a\n0,1\n1,2\n", Some(""), "step"),
        ("t,a\n10,1\n20,2\n", Some("t"), "10 steps"),
        (",date,a\n0,2020-01-01,1\n1,2020-02-01,2\n", Some("date"), "month"),
        ("hour,stamp,a\n0,2020-01-01 00:00,1\n1,2020-01-01 01:00,2\n", Some("stamp"), "hour"),
        ("a,b\n1990,1\n1991,2\n", None, "step"),
        ("ds,a\n13/1/2020,1\n2/2/2020,1\n", Some("ds"), "20 days"),
        ("date,a\n1990Q1,1\n", Some("date"), "quarter"),
    ] {
        let found = read(text).report;
        assert_eq!((found.date.as_deref(), found.frequency.to_string().as_str()), (date, frequency), "{text}");
    }
    let steps = ReadOptions { without_dates: true, columns: Some(vec!["a".into()]), ..ReadOptions::default() };
    let found = parse("date,a\nx,1\ny,2\n", Path::new("a.csv"), &steps).unwrap().report;
    assert_eq!((found.date, found.skipped), (None, vec!["date".into()]));
    let pattern = ReadOptions { date_pattern: Some("%m/%d/%Y".into()), ..ReadOptions::default() };
    let found = parse("date,a\n01/02/2020,1\n01/03/2020,2\n", Path::new("a.csv"), &pattern).unwrap();
    assert_eq!(found.panel.stamp(0, 2).unwrap(), "01/04/2020");
}

#[test]
fn text_below_a_table_is_no_row() {
    let text = "Month,milk\n1962-01,589\n1962-02,561\nMonthly milk production: pounds per cow,\nJan 62 - Feb 62\n";
    let found = read(text).report;
    assert_eq!(
        (found.rows, found.footer.as_deref()),
        (2, Some("Monthly milk production: pounds per cow Jan 62 - Feb 62"))
    );
    assert!(found.to_string().contains("below the table: Monthly milk"), "{found}");
}

#[test]
fn a_change_to_summer_time_is_neither_a_gap_nor_a_duplicate() {
    let hours = "2021-03-28T00:00:00+01:00,1\n2021-03-28T01:00:00+01:00,2\n2021-03-28T03:00:00+02:00,3\n\
                 2021-03-28T02:00:00Z,4\n2021-03-28T05:00:00+02:00,5\n";
    let found = read(&format!("date,load\n{hours}"));
    assert_eq!((found.report.gaps, found.report.duplicates, found.panel.steps()), (0, 0, 5));
    assert_eq!(found.panel.stamp(0, 5).unwrap(), "2021-03-28T05:00:00+01:00");
    let zones = found.report.stamps.unwrap();
    assert!(zones.contains("counted in UTC") && zones.contains("`+01:00`"), "{zones}");
    let autumn = "2021-10-31 01:00+02:00,1\n2021-10-31 02:00+02:00,2\n2021-10-31 02:00+01:00,3\n\
                  2021-10-31 03:00+01:00,4\n";
    let found = read(&format!("date,load\n{autumn}"));
    assert_eq!((found.report.gaps, found.report.duplicates, found.panel.steps()), (0, 0, 4));
    // Midnights of a place lie 23 hours apart on one day of the year.
    let days = "2021-03-26T00:00:00+01:00,1\n2021-03-27T00:00:00+01:00,2\n2021-03-28T00:00:00+01:00,3\n\
                2021-03-29T00:00:00+02:00,4\n2021-03-30T00:00:00+02:00,5\n";
    let found = read(&format!("date,load\n{days}"));
    assert_eq!((found.report.frequency.to_string().as_str(), found.report.gaps, found.panel.steps()), ("day", 0, 5));
    assert_eq!(found.panel.stamp(0, 5).unwrap(), "2021-03-31T00:00:00+02:00");
    assert!(found.report.to_string().contains("local calendar and written with `+02:00`"), "{}", found.report);
    let one = read("date,load\n2021-03-28T00:00:00Z,1\n2021-03-28T01:00:00Z,2\n");
    assert_eq!((one.report.stamps, one.panel.stamp(0, 2).unwrap()), (None, "2021-03-28T02:00:00Z".into()));
    let without = said("date,load\n2021-03-28T00:00:00Z,1\n2021-03-28T01:00:00,2\n", &ReadOptions::default());
    assert!(without.contains("with an offset from UTC or without"), "{without}");
}

#[test]
fn a_first_row_with_a_date_of_mixed_width_is_no_header() {
    for first in ["04/9/2021", "04/09/2021", "2021-4-09"] {
        let refused = said(&format!("{first},7\n04/10/2021,8\n"), &ReadOptions::default());
        assert!(refused.contains("is a row of values"), "{first}: {refused}");
    }
}
