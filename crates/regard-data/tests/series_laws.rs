//! Laws of series that hold for random ones: what is written reads as the same, in any order and layout.

use std::fmt::Write as _;

use proptest::prelude::*;
use regard_data::series::formats::{Duplicates, Read, ReadOptions, parse};
use regard_data::series::{Clock, Part, Scaler, Split, Windows};

/// First stamps and frequencies of all kinds.
const CLOCKS: [(&str, &str); 14] = [
    ("2016-07-01 00:00:00", "hour"),
    ("2016-02-28T23:45:00Z", "15 minutes"),
    ("2020-10-25 00:30:00+02:00", "30 minutes"),
    ("2024-02-27", "day"),
    ("2024-02-29", "business day"),
    ("2002/01/01", "week"),
    ("1949-11", "month"),
    ("2019-10-31", "month end"),
    ("31.12.2019", "3 month ends"),
    ("1990Q3", "quarter"),
    ("1899", "year"),
    ("12/30/1999 11:00 PM", "hour"),
    ("Nov 1999", "month"),
    ("0", "step"),
];

fn read(text: &str, options: &ReadOptions) -> Read {
    parse(text, "a.csv".as_ref(), options).unwrap_or_else(|error| panic!("{error} | {:?}\n{text}", error.hint()))
}

/// Values of two series for each step, some missing; the first and the last steps have both.
fn values() -> impl Strategy<Value = Vec<[Option<f32>; 2]>> {
    let value = prop_oneof![3 => (-1e6f32..1e6).prop_map(Some), 1 => Just(None)];
    let both = (-9f32..9.0, -9f32..9.0).prop_map(|(a, b)| [Some(a), Some(b)]);
    (proptest::collection::vec([value.clone(), value], 40..60), proptest::collection::vec(both, 4)).prop_map(
        |(mut all, ends)| {
            all[..2].copy_from_slice(&ends[..2]);
            all.extend(&ends[2..]);
            all
        },
    )
}

fn cell(value: Option<f32>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn same(values: &[f32], expected: impl Iterator<Item = Option<f32>>) -> bool {
    values.iter().map(|value| (!value.is_nan()).then_some(*value)).eq(expected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_reads_as_the_same(
        at in 0..CLOCKS.len(),
        values in values(),
        order in Just((0..44usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let (first, frequency) = CLOCKS[at];
        let clock = Clock::new(first, frequency.parse().unwrap()).unwrap();
        let rows: Vec<String> = (0..values.len()).map(|step| clock.stamp(step).unwrap()).collect();
        // Rows in which nothing is known are left out, except some: both are gaps.
        let kept = |step: &usize| *step < values.len() && (step.is_multiple_of(5) || values[*step].iter().any(Option::is_some));
        let order: Vec<usize> = order.into_iter().chain(44..values.len()).filter(kept).collect();
        let (mut wide, mut long) = (String::from("date,a,b\n"), String::from("ds,unique_id,y\n"));
        for step in &order {
            let [a, b] = values[*step];
            writeln!(wide, "{},{},{}", rows[*step], cell(a), cell(b)).unwrap();
            for (name, value) in [("a", a), ("b", b)] {
                if step.is_multiple_of(5) || value.is_some() {
                    writeln!(long, "{},{name},{}", rows[*step], cell(value)).unwrap();
                }
            }
        }
        for text in [&wide, &long] {
            let Read { panel, report } = read(text, &ReadOptions::default());
            prop_assert_eq!(report.frequency.to_string(), frequency);
            prop_assert_eq!(panel.steps(), values.len());
            for (series, one) in panel.series().iter().enumerate() {
                let column = usize::from(one.name() == "b");
                prop_assert!(same(one.values(), values.iter().map(|row| row[column])), "{}", text);
                prop_assert_eq!(panel.stamp(series, values.len() - 1).unwrap(), &rows[values.len() - 1][..]);
            }
        }
    }

    #[test]
    fn rows_that_occur_twice_change_nothing_when_merged(at in 0..CLOCKS.len(), values in values()) {
        let (first, frequency) = CLOCKS[at];
        let clock = Clock::new(first, frequency.parse().unwrap()).unwrap();
        let mut text = String::from("date,a,b\n");
        for (step, [a, b]) in values.iter().enumerate() {
            writeln!(text, "{},{},{}", clock.stamp(step).unwrap(), cell(*a), cell(*b)).unwrap();
        }
        let once = read(&text, &ReadOptions::default());
        text.push_str(&text.clone()["date,a,b\n".len()..]);
        for duplicates in [Duplicates::Mean, Duplicates::Last] {
            let twice = read(&text, &ReadOptions { duplicates, ..ReadOptions::default() });
            prop_assert_eq!(twice.report.duplicates, values.len());
            for (a, b) in once.panel.series().iter().zip(twice.panel.series()) {
                prop_assert!(same(a.values(), b.values().iter().map(|v| (!v.is_nan()).then_some(*v))));
            }
        }
        prop_assert!(parse(&text, "a.csv".as_ref(), &ReadOptions::default()).is_err());
    }

    #[test]
    fn every_target_of_a_part_is_that_of_as_many_windows_as_reach_it(
        values in values(), look_back in 1..6usize, horizon in 1..6usize,
    ) {
        let rows: String = values.iter().map(|[a, b]| format!("{},{}\n", cell(*a), cell(*b))).collect();
        let options = ReadOptions { without_dates: true, ..ReadOptions::default() };
        // Rows without values are no rows of such a file.
        let mut panel = read(&format!("a,b\n{}", rows.replace("\n,\n", "\n")), &options).panel;
        let parts = Split::Last { validation: 8, test: 8 }.parts(&panel).unwrap();
        Scaler::fit(&panel, &parts).unwrap().apply(&mut panel).unwrap();
        for part in [Part::Training, Part::Validation, Part::Test] {
            let windows = Windows::new(&panel, &parts, part, look_back, horizon).unwrap();
            let targets = parts[0].of(part);
            let mut reached = vec![0usize; panel.steps()];
            for window in windows.iter().filter(|window| window.series == 0) {
                prop_assert!(window.start + look_back >= targets.start && window.target() + horizon <= targets.end);
                (window.target()..window.target() + horizon).for_each(|step| reached[step] += 1);
            }
            let first = targets.start.max(look_back);
            for (step, reached) in reached.into_iter().enumerate() {
                let inside = (first..targets.end).contains(&step);
                let most = (step + 1).saturating_sub(first).min(targets.end.saturating_sub(step));
                let starts = targets.end - first - horizon + 1;
                prop_assert_eq!(reached, if inside { most.min(horizon).min(starts) } else { 0 });
            }
        }
    }
}
