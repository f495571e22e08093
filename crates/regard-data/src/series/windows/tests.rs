use super::*;
use crate::series::{Clock, Series, Split};

const MISSING: f32 = f32::NAN;

fn panel(series: &[(usize, &[f32])]) -> Panel {
    let series = series.iter().enumerate();
    let series = series.map(|(at, (start, values))| Series::new(at.to_string(), *start, values.to_vec())).collect();
    Panel::new(Clock::steps(), series).unwrap()
}

#[test]
fn windows_are_counted_as_in_the_originals() {
    let panel = panel(&[(0, &[0.0; 17420]), (0, &[0.0; 17420])]);
    let parts = Split::EttHourly.parts(&panel).unwrap();
    let count =
        |part, look_back, horizon| Windows::new(&panel, &parts, part, look_back, horizon).unwrap().starts().unwrap();
    assert_eq!(count(Part::Training, 336, 96), 8209);
    assert_eq!(count(Part::Training, 336, 720), 7585);
    for (horizon, expected) in [(96, 2785), (192, 2689), (336, 2545), (720, 2161)] {
        for look_back in [96, 336, 512] {
            assert_eq!(count(Part::Validation, look_back, horizon), expected);
            assert_eq!(count(Part::Test, look_back, horizon), expected);
        }
    }
    let test = Windows::new(&panel, &parts, Part::Test, 336, 96).unwrap();
    assert_eq!((test.len(), test.get(2785).series, test.get(0).target()), (5570, 1, 11520));
    assert_eq!(test.get(2784).target() + 96, 14400);
    assert_eq!(test.with_stride(100).starts(), Some(28));
}

#[test]
fn series_of_unequal_length_have_windows_of_their_own() {
    let panel = panel(&[(0, &[0.0; 10]), (3, &[0.0; 4]), (1, &[0.0; 7])]);
    let parts = Split::Last { validation: 0, test: 2 }.parts(&panel).unwrap();
    let windows = Windows::new(&panel, &parts, Part::Training, 3, 2).unwrap();
    assert_eq!((0..3).map(|at| windows.of_series(at)).collect::<Vec<_>>(), [4, 0, 1]);
    assert_eq!((windows.len(), windows.starts(), windows.short().collect::<Vec<_>>()), (5, None, vec![1]));
    assert_eq!(windows.iter().collect::<Vec<_>>(), (0..5).map(|at| windows.get(at)).collect::<Vec<_>>());
    assert_eq!((windows.get(4).series, windows.get(4).start), (2, 0));
    // Inputs of the test may lie before it, but not before the series.
    let test = Windows::new(&panel, &parts, Part::Test, 3, 1).unwrap();
    assert_eq!((0..3).map(|at| test.of_series(at)).collect::<Vec<_>>(), [2, 1, 2]);
}

#[test]
fn missing_values_are_filled_and_marked() {
    let panel = panel(&[(0, &[MISSING, 1.0, MISSING, 4.0, MISSING, 5.0, 1.0])]);
    let parts = Split::Last { validation: 0, test: 2 }.parts(&panel).unwrap();
    let windows = Windows::new(&panel, &parts, Part::Training, 3, 2).unwrap();
    let (mut inputs, mut targets, mut seen, mut known) = ([0.0; 3], [0.0; 2], [true; 3], [true; 2]);
    windows.get(0).copy_look_back(&panel, &mut inputs, &mut seen);
    windows.get(0).copy_horizon(&panel, &mut targets, &mut known);
    assert_eq!((inputs, seen), ([1.0, 1.0, 1.0], [false, true, false]));
    assert_eq!((targets, known), ([4.0, 0.0], [true, false]));
    let mut values = [MISSING, 2.0, 4.0];
    fill(&mut values);
    assert_eq!(values, [3.0, 2.0, 4.0]);
    let mut nothing = [MISSING; 2];
    fill(&mut nothing);
    assert_eq!(nothing, [0.0; 2]);
    let last = Window::last(&panel, 0, 4, 10).unwrap();
    assert_eq!((last.start, last.target()), (3, 7));
}

#[test]
fn covariates_reach_into_the_future() {
    let one = Series::new("a", 0, vec![1.0, 2.0, 3.0]).with_covariates(vec![vec![0.0, 1.0, MISSING, 3.0, 4.0].into()]);
    let clock = Clock::new("2020-01", "month".parse().unwrap()).unwrap();
    let panel = Panel::with_names(clock, vec![one], vec!["heat".into()], vec![]).unwrap();
    let mut values = [9.0; 4];
    Window::last(&panel, 0, 2, 2).unwrap().copy_covariates(&panel, &mut values);
    assert_eq!(values, [1.0, 1.0, 3.0, 4.0]);
    let said = Window::last(&panel, 0, 2, 3).unwrap_err().to_string();
    assert_eq!(said, "series `a`: has `heat` for 2 future steps, expected 3, until 2020-06");
    let said = Window::last(&panel, 0, 4, 1).unwrap_err().to_string();
    assert_eq!(said, "series `a`: has 3 rows; expected at least 4, the look-back");
}

#[test]
fn panels_that_are_too_short_say_how_much_is_needed() {
    let panel = panel(&[(0, &[0.0; 9]), (0, &[0.0; 20])]);
    let parts = Split::Last { validation: 3, test: 5 }.parts(&panel).unwrap();
    let said =
        |part, look_back, horizon| Windows::new(&panel, &parts, part, look_back, horizon).unwrap_err().to_string();
    assert_eq!(
        said(Part::Training, 336, 96),
        "series `1`: has 20 rows; look-back 336 and horizon 96 need at least 432"
    );
    assert_eq!(
        said(Part::Training, 10, 3),
        "series `1`: has 12 rows for training, of 20; look-back 10 and horizon 3 need at least 13 there"
    );
    assert_eq!(
        said(Part::Test, 2, 6),
        "series `0`: has 5 rows for test, of 9; look-back 2 and horizon 6 need at least 6 there"
    );
    assert_eq!(said(Part::Test, 0, 6), "look-back: is 0, expected at least 1 step");
    assert_eq!(
        said(Part::Test, usize::MAX, 6),
        format!("series `0`: has 9 rows; look-back {0} and horizon 6 need at least {0}", usize::MAX)
    );
}
