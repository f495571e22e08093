use super::*;

fn said(text: &str, options: &ReadOptions) -> String {
    let error = match parse(text, Path::new("a.csv"), options) {
        Ok(read) => panic!("accepted {text:?} as {read:?}"),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Parse { .. }), "{error:?}");
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
