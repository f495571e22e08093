use super::*;

/// The preferred layout's pattern, its tick, and in how many ways the numbers may be read.
fn read(text: &str) -> Option<(String, i64, usize)> {
    let all = Layout::of(text);
    let is_number = |layout: &Layout| [Layout::Integer, Layout::Week(String::new())].contains(layout);
    let mut ticks: Vec<i64> = all.iter().filter(|(layout, ..)| !is_number(layout)).map(|found| found.2).collect();
    ticks.dedup();
    let (layout, _, tick) = all.into_iter().next()?;
    assert_eq!(layout.write(tick).as_deref(), Some(text));
    let pattern = match layout {
        Layout::Pattern { pattern, suffix, .. } => pattern + &suffix,
        Layout::Quarter(between) => format!("Y{between}q"),
        Layout::QuarterFirst(between) => format!("Qq{between}Y"),
        Layout::Week(between) => format!("Y{between}w"),
        Layout::Excel => "excel".into(),
        Layout::Integer => "integer".into(),
    };
    Some((pattern, tick, ticks.len()))
}

#[test]
fn stamps_are_written_back_as_they_were() {
    for (text, pattern, time) in [
        ("1949-01", "%Y-%m", "1949-01-01T00:00:00"),
        ("2016-07-01 00:00:00", "%Y-%m-%d %H:%M:%S", "2016-07-01T00:00:00"),
        ("2020-01-05T10:00:00Z", "%Y-%m-%dT%H:%M:%SZ", "2020-01-05T10:00:00"),
        ("2020-01-05 10:00:00 +00:00", "%Y-%m-%d %H:%M:%S +00:00", "2020-01-05T10:00:00"),
        ("2020-01-05 10:30-0500", "%Y-%m-%d %H:%M-0500", "2020-01-05T10:30:00"),
        ("2020/01/05", "%Y/%m/%d", "2020-01-05T00:00:00"),
        ("13.1.2020", "%-d.%-m.%Y", "2020-01-13T00:00:00"),
        ("1/15/2020 9:05", "%-m/%-d/%Y %-H:%M", "2020-01-15T09:05:00"),
        ("1/15/2020 9:05 PM", "%-m/%-d/%Y %-I:%M %p", "2020-01-15T21:05:00"),
        ("2020-01-05 10:00:00.250", "%Y-%m-%d %H:%M:%S%.3f", "2020-01-05T10:00:00.25"),
        ("20200105", "%Y%m%d", "2020-01-05T00:00:00"),
        ("202001", "%Y%m", "2020-01-01T00:00:00"),
        ("1990", "%Y", "1990-01-01T00:00:00"),
        ("1990Q3", "YQq", "1990-07-01T00:00:00"),
        ("1990-Q3", "Y-Qq", "1990-07-01T00:00:00"),
        ("Q3 1990", "Qq Y", "1990-07-01T00:00:00"),
        ("Q1-2000", "Qq-Y", "2000-01-01T00:00:00"),
        ("2021-W01", "Y-Ww", "2021-01-04T00:00:00"),
        ("2020W53", "YWw", "2020-12-28T00:00:00"),
        ("Jan-00", "%b-%y", "2000-01-01T00:00:00"),
        ("Jan-2000", "%b-%Y", "2000-01-01T00:00:00"),
        ("Friday, 01 January 2021", "%A, %d %B %Y", "2021-01-01T00:00:00"),
        ("01-Jan-21", "%d-%b-%y", "2021-01-01T00:00:00"),
        ("31.01.21", "%d.%m.%y", "2021-01-31T00:00:00"),
        ("1/31/99 9:05", "%-m/%-d/%y %-H:%M", "1999-01-31T09:05:00"),
        ("1990M11", "%YM%m", "1990-11-01T00:00:00"),
        ("Jan 1962", "%b %Y", "1962-01-01T00:00:00"),
        ("05-Mar-2001", "%d-%b-%Y", "2001-03-05T00:00:00"),
    ] {
        let (found, tick, ways) = read(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((found.as_str(), time_of(tick).unwrap().to_string().as_str(), ways), (pattern, time, 1), "{text}");
    }
    let (week, _, tick) = Layout::of("202053").remove(0);
    assert_eq!(
        (week, time_of(tick).unwrap().to_string().as_str()),
        (Layout::Week(String::new()), "2020-12-28T00:00:00")
    );
    for number in ["0", "17", "1400", "99999999", "20201301", "-3", "-619405", "202153", "202100"] {
        assert_eq!(read(number).map(|found| found.0).as_deref(), Some("integer"), "{number}");
    }
}

#[test]
fn days_and_months_that_may_be_swapped_are_told_apart() {
    assert_eq!(read("1/5/2020").unwrap().2, 2);
    assert_eq!(read("01-05-2020").unwrap().2, 2);
    assert_eq!(read("5/5/2020").unwrap().2, 1);
}

#[test]
fn offsets_are_taken_to_that_of_the_first() {
    let (layout, ..) = Layout::of("2020-03-29T00:00:00+01:00").remove(0);
    let summer = layout.tick("2020-03-29T03:00:00+02:00").unwrap();
    assert_eq!(layout.write(summer).as_deref(), Some("2020-03-29T02:00:00+01:00"));
    assert_eq!(layout.tick("2020-03-29T03:00:00"), None);
}

#[test]
fn what_is_no_stamp_has_no_layout() {
    for text in [
        "",
        "a",
        "2020-13-01",
        "2020-02-30",
        "1.5",
        "NaN",
        "Z",
        "99999999999999999999",
        "2020-01-01 25:00",
        "é:+1",
        "01",
        "+5",
    ] {
        assert_eq!(Layout::of(text), [], "{text}");
    }
}

#[test]
fn years_have_all_their_digits() {
    let any = |text: &str| -> Vec<(String, String)> {
        let found = Layout::all_of_any_width(text).into_iter();
        found.map(|(layout, _, tick)| (layout.pattern().unwrap(), time_of(tick).unwrap().date().to_string())).collect()
    };
    let of = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(pattern, date)| ((*pattern).to_owned(), (*date).to_owned())).collect()
    };
    assert_eq!(any("01.1.21"), of(&[("%d.%m.%y", "2021-01-01")]));
    assert_eq!(
        any("01/2/21"),
        of(&[("%d/%m/%y", "2021-02-01"), ("%m/%d/%y", "2021-01-02"), ("%y/%m/%d", "2001-02-21")])
    );
    assert_eq!(any("1/13/21"), of(&[("%m/%d/%y", "2021-01-13")]));
    assert_eq!(any("1/13/2021"), of(&[("%m/%d/%Y", "2021-01-13")]));
    assert_eq!(any("1/1/1"), of(&[]));
    assert_eq!(any("1/1/211"), of(&[]));
    let found: Vec<_> =
        Layout::of("21-01-01").into_iter().map(|(layout, first, _)| (layout.pattern(), first)).collect();
    assert_eq!(found, [(Some("%d-%m-%y".to_owned()), First::Day), (Some("%y-%m-%d".to_owned()), First::Year)]);
    for text in ["2021-W00", "2021-W54", "Q5 2000", "2000Q0"] {
        assert_eq!(Layout::of(text), [], "{text}");
    }
}

#[test]
fn days_of_excel_are_counted_from_1899() {
    for (text, time) in
        [("44197", "2021-01-01T00:00:00"), ("44197.25", "2021-01-01T06:00:00"), ("61", "1900-03-01T00:00:00")]
    {
        let tick = Layout::Excel.tick(text).unwrap();
        assert_eq!(
            (time_of(tick).unwrap().to_string().as_str(), Layout::Excel.write(tick).as_deref()),
            (time, Some(text))
        );
    }
    assert_eq!((Layout::Excel.tick("nan"), Layout::Excel.tick("2021-01-01")), (None, None));
    assert!(Layout::is_excel_day("44197") && !Layout::is_excel_day("1990") && !Layout::is_excel_day("20210101"));
}
