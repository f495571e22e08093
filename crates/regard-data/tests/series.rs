//! Published files of series, and the numbers that are known of them.

use regard_data::metrics::forecast::{BatchMeans, ForecastErrors, mase_scale};
use regard_data::series::formats::{Read, ReadOptions, read};
use regard_data::series::{Part, Scaler, Split, Windows, baseline};

fn shared(name: &str) -> Option<Read> {
    let path = regard_testing::shared(&format!("data/series/{name}"))?;
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
        ("monthly-milk-incomplete.csv", [1, 168, 13, 12], "month", "1976-01"),
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

/// Errors of a forecast over all test windows of look-back 336 and horizon 96, and as batches of 128 with the
/// last one dropped.
fn errors(name: &str, forecast: impl Fn(&[f32], &mut [f32])) -> Option<(ForecastErrors, BatchMeans)> {
    let mut panel = shared(name)?.panel;
    let parts = Split::EttHourly.parts(&panel).unwrap();
    Scaler::fit(&panel, &parts).unwrap().apply(&mut panel).unwrap();
    let windows = Windows::new(&panel, &parts, Part::Test, 336, 96).unwrap();
    let (mut inputs, mut targets, mut observed) = (vec![0.0; 336], vec![0.0; 7 * 96], vec![true; 7 * 96]);
    let mut answers = vec![0.0; 7 * 96];
    let (mut errors, mut batches) = (ForecastErrors::new(7, 96), BatchMeans::new(128));
    for start in 0..windows.starts().unwrap() {
        for series in 0..7 {
            let of = series * 96..(series + 1) * 96;
            let window = windows.window(series, start);
            window.copy_look_back(&panel, &mut inputs, &mut observed[..336]);
            window.copy_horizon(&panel, &mut targets[of.clone()], &mut observed[of.clone()]);
            forecast(&inputs, &mut answers[of.clone()]);
            errors.add(series, &answers[of.clone()], &targets[of.clone()], &observed[of]);
        }
        batches.add(&answers, &targets, &observed);
    }
    Some((errors, batches))
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
        let Some((errors, batches)) = errors(name, forecast) else {
            return;
        };
        let total = errors.total();
        let found = [total.mse, total.mae];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 6e-4), "{name}: {found:?}, not {expected:?}");
        assert_eq!((total.count, batches.dropped()), (2785 * 7 * 96, 97));
        // The dropped windows are a small part, but not nothing.
        assert!((batches.mse() - total.mse).abs() < 0.1 && batches.mse() != total.mse);
    }
}

#[test]
fn the_last_year_of_passengers_is_forecast_by_the_year_before() {
    let Some(Read { panel, .. }) = shared("AirPassengers.csv") else {
        return;
    };
    let parts = Split::Last { validation: 0, test: 12 }.parts(&panel).unwrap();
    let window = Windows::new(&panel, &parts, Part::Test, 24, 12).unwrap().get(0);
    let (mut inputs, mut targets, mut answer) = ([0.0; 24], [0.0; 12], [0.0; 12]);
    window.copy_look_back(&panel, &mut inputs, &mut [true; 24]);
    window.copy_horizon(&panel, &mut targets, &mut [true; 12]);
    baseline::seasonal_naive(&inputs, panel.clock().season(), &mut answer);
    let mut errors = ForecastErrors::new(1, 12);
    errors.add(0, &answer, &targets, &[true; 12]);
    assert_eq!((answer[0], targets[0], targets[11]), (360.0, 417.0, 432.0));
    assert!((errors.total().mae - 47.833_333).abs() < 1e-5, "{}", errors.total().mae);
    let scale = mase_scale(&panel.series()[0].values()[parts[0].training.clone()], 12);
    assert!((errors.mase(&[scale]) - 47.833_333 / scale).abs() < 1e-6 && (scale - 30.3).abs() < 2.0, "{scale}");
}
