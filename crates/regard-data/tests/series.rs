//! Published files of series, and the numbers that are known of them.

mod support;

use regard_data::series::formats::{Read, ReadOptions, read};
use regard_data::series::{Part, Scaler, Split, Windows, baseline};

fn shared(name: &str) -> Option<Read> {
    let path = support::shared(&format!("data/series/{name}"))?;
    Some(read(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}")))
}

/// Series, steps, gaps, frequency, season, and the first stamp after the last row.
#[test]
fn every_file_is_read() {
    for (name, [series, steps, gaps, season], frequency, next) in [
        ("AirPassengers.csv", [1, 144, 0, 12], "month", "1961-01"),
        ("ETTh1.csv", [7, 17420, 0, 24], "hour", "2018-06-26 20:00:00"),
        ("ETTh2.csv", [7, 17420, 0, 24], "hour", "2018-06-26 20:00:00"),
        ("australian_tourism.csv", [96, 36, 0, 1], "step", "36"),
        ("monthly-milk-incomplete.csv", [1, 168, 12, 12], "month", "1976-01"),
        ("national_illness.csv", [7, 966, 0, 52], "week", "2020-07-07 00:00:00"),
    ] {
        let Some(Read { panel, report }) = shared(name) else {
            return;
        };
        assert_eq!([panel.len(), panel.steps(), report.gaps, report.season], [series, steps, gaps, season], "{name}");
        assert_eq!((report.frequency.to_string().as_str(), panel.stamp(0, steps).unwrap().as_str()), (frequency, next));
        assert_eq!(report.rows, steps - gaps, "{name}");
        assert_eq!(report.date.is_none(), name == "australian_tourism.csv");
        assert!(report.missing.iter().all(|(_, missing)| *missing == gaps) && report.skipped.is_empty(), "{report}");
    }
}

#[test]
fn the_scaler_has_the_numbers_of_the_original() {
    let Some(Read { panel, .. }) = shared("ETTh1.csv") else {
        return;
    };
    let scaler = Scaler::fit(&panel, &Split::EttHourly.parts(&panel).unwrap()).unwrap();
    for (series, name, mean, deviation) in [(0, "HUFL", 7.937_742, 5.812_749), (6, "OT", 17.128_262, 9.176_491)] {
        assert_eq!(scaler.names()[series], name);
        assert!((scaler.mean()[series] - mean).abs() < 1e-6 && (scaler.deviation()[series] - deviation).abs() < 1e-6);
    }
}

/// Mean squared and mean absolute error of a forecast over all test windows of look-back 336 and horizon 96.
fn errors(name: &str, forecast: impl Fn(&[f32], &mut [f32])) -> Option<[f64; 2]> {
    let mut panel = shared(name)?.panel;
    let parts = Split::EttHourly.parts(&panel).unwrap();
    Scaler::fit(&panel, &parts).unwrap().apply(&mut panel).unwrap();
    let windows = Windows::new(&panel, &parts, Part::Test, 336, 96).unwrap();
    let (mut inputs, mut targets, mut observed) = (vec![0.0; 336], vec![0.0; 96], vec![true; 336]);
    let mut answer = vec![0.0; 96];
    let mut sums = [0.0; 2];
    for window in windows.iter() {
        window.copy_look_back(&panel, &mut inputs, &mut observed);
        window.copy_horizon(&panel, &mut targets, &mut observed[..96]);
        forecast(&inputs, &mut answer);
        for (a, b) in answer.iter().zip(&targets) {
            let error = f64::from(a - b);
            sums[0] += error * error;
            sums[1] += error.abs();
        }
    }
    Some(sums.map(|sum| sum / (windows.len() * 96) as f64))
}

#[test]
fn baselines_have_the_known_errors() {
    type Baseline = fn(&[f32], &mut [f32]);
    let seasonal: Baseline = |inputs, answer| baseline::seasonal_naive(inputs, 24, answer);
    for (name, forecast, expected) in [
        ("ETTh1.csv", baseline::naive as Baseline, [1.294, 0.713]),
        ("ETTh1.csv", seasonal, [0.512, 0.433]),
        ("ETTh1.csv", baseline::mean, [0.706, 0.567]),
        ("ETTh2.csv", baseline::naive, [0.432, 0.422]),
        ("ETTh2.csv", seasonal, [0.391, 0.380]),
        ("ETTh2.csv", baseline::mean, [0.385, 0.419]),
    ] {
        let Some(found) = errors(name, forecast) else {
            return;
        };
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 6e-4), "{name}: {found:?}, not {expected:?}");
    }
}
