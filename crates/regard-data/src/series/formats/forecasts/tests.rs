use super::*;
use crate::series::formats::{ReadOptions, parse};

fn one(name: &str, start: usize, values: &[f32]) -> Forecast {
    Forecast { name: name.into(), start, values: values.to_vec(), intervals: Vec::new() }
}

#[test]
fn forecasts_are_read_back_as_series() {
    let clock = Clock::new("2020-01-05T10:00:00Z", "15 minutes".parse().unwrap()).unwrap();
    let forecasts = vec![one("a,b", 4, &[1.5, 0.1]), one("c", 5, &[-2.0, f32::NAN, 3.0])];
    let forecasts = Forecasts::new(&clock, forecasts).unwrap();
    assert_eq!(
        forecasts.wide_csv("when"),
        "when,\"a,b\",c\n2020-01-05T11:00:00Z,1.5,\n2020-01-05T11:15:00Z,0.1,-2\n2020-01-05T11:30:00Z,,\n\
         2020-01-05T11:45:00Z,,3\n"
    );
    let options = ReadOptions { target: Some("forecast".into()), ..ReadOptions::default() };
    let panel = parse(&forecasts.csv(), "f.csv".as_ref(), &options).unwrap().panel;
    assert_eq!(panel.names().collect::<Vec<_>>(), ["a,b", "c"]);
    assert_eq!((panel.series()[1].start(), panel.series()[0].values()), (1, &[1.5, 0.1][..]));
    assert_eq!(panel.stamp(1, 2).unwrap(), "2020-01-05T11:45:00Z");
}

#[test]
fn json_has_a_row_for_each_step() {
    let mut forecast = one("a", 0, &[1.0, f32::NAN]);
    let plain = Forecasts::new(&Clock::steps(), vec![forecast.clone()]).unwrap();
    let json = serde_json::to_string(&plain.rows()).unwrap();
    assert_eq!(json, r#"[{"unique_id":"a","ds":"0","forecast":1.0},{"unique_id":"a","ds":"1","forecast":null}]"#);
    forecast.intervals = vec![Interval { level: 97.5, low: vec![0.0, 0.5], high: vec![2.0, 3.0] }];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    Forecasts::new(&Clock::steps(), vec![forecast]).unwrap().write_json(&path).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(json[1]["intervals"][0], serde_json::json!({"level": 97.5, "low": 0.5, "high": 3.0}));
}

#[test]
fn what_does_not_fit_is_refused() {
    let said = |forecasts| Forecasts::new(&Clock::new("9999-12-31", "day".parse().unwrap()).unwrap(), forecasts);
    let said = |forecasts| said(forecasts).unwrap_err().to_string();
    let mut short = one("a", 0, &[1.0]);
    short.intervals = vec![Interval { level: 80.0, low: vec![], high: vec![1.0] }];
    assert_eq!(said(vec![short.clone()]), "forecast of `a`: has intervals of another length than its values");
    short.intervals[0].low = vec![0.0];
    assert_eq!(said(vec![short, one("b", 0, &[1.0])]), "forecast of `b`: has other levels of intervals than the first");
    assert_eq!(said(vec![one("a", 1, &[1.0])]), "step 1: is outside the calendar, with one step per day");
}
