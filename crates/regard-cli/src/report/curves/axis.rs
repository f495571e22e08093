//! Axes: ranges, round numbers on them, and how these are written.

use crate::report::number;

/// A range of values and the places of its ends in the picture.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Axis {
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
    /// Where `low` lies.
    pub(in crate::report) from: f64,
    /// Where `high` lies.
    pub(in crate::report) to: f64,
}

impl Axis {
    /// Where a value lies.
    pub(in crate::report) fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Whether a value lies on the axis.
    pub(in crate::report) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// About `count` round values with their names; a value is named in multiples of `unit`.
    pub(in crate::report) fn ticks(&self, count: usize, unit: f64) -> Vec<(f64, String)> {
        let (low, high) = (self.low / unit, self.high / unit);
        let step = round_step((high - low) / count.max(1) as f64);
        if !(step.is_finite() && step > 0.0) {
            return Vec::new();
        }
        // A little more than the range, lest rounding loses an end.
        let first = (low / step - 1e-6).ceil() as i64;
        let last = (high / step + 1e-6).floor() as i64;
        (first..=last).map(|i| i as f64 * step).map(|value| (value * unit, name(value, step, high))).collect()
    }
}

/// 1, 2 or 5 times a power of ten, whichever is nearest by its ratio.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = match step / power {
        ..1.414 => 1.0,
        ..3.162 => 2.0,
        ..7.071 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// A multiple of `step` on an axis up to `high`, with the digits that tell it from its neighbours.
fn name(value: f64, step: f64, high: f64) -> String {
    if value.abs() < 0.5 * step {
        return "0".to_owned();
    }
    if high.abs() < 0.01 || high.abs() >= 1e7 {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (-step.log10() - 1e-6).ceil().max(0.0) as usize;
    if decimals == 0 { number::quantity(value.round(), "") } else { format!("{value:.decimals$}") }
}

/// A range for values of which few may lie far above the rest: these are left out when they would
/// press the others together. `share` of the values must stay inside.
///
/// Returns the ends, with room around them, and the largest value when it is left out.
pub(in crate::report) fn range(
    values: impl Iterator<Item = f64>,
    floor: Option<f64>,
    share: f64,
) -> (f64, f64, Option<f64>) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (Some(&lowest), Some(&highest)) = (values.first(), values.last()) else {
        return (0.0, 1.0, None);
    };
    let low = floor.unwrap_or(lowest);
    let usual = values[((values.len() - 1) as f64 * share) as usize];
    let far = highest - low > 2.5 * (usual - low) && usual > low;
    let high = if far { low + 1.25 * (usual - low) } else { highest };
    // Equal values still need a range.
    let room = if high > low { 0.06 * (high - low) } else { (0.1 * high.abs()).max(1e-6) };
    (floor.unwrap_or(low - room), high + room, far.then_some(highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(low: f64, high: f64, count: usize) -> Vec<String> {
        let axis = Axis { low, high, from: 0.0, to: 1.0 };
        axis.ticks(count, 1.0).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(names(3.81, 4.22, 4), ["3.9", "4.0", "4.1", "4.2"].map(str::to_owned));
        assert_eq!(names(0.0, 1.1e-4, 1), ["0", "1e-4"]);
        assert_eq!(names(0.0, 1.1e-4, 2), ["0", "5e-5", "1e-4"]);
        assert_eq!(names(0.0, 1.28e-2, 3), ["0", "0.005", "0.010"]);
        assert_eq!(names(0.0, 5000.0, 3), ["0", "2,000", "4,000"]);
        assert_eq!(names(-0.5, 0.5, 2), ["-0.5", "0", "0.5"]);
        assert!(names(1.0, 1.0, 3).is_empty());
    }

    #[test]
    fn units_divide_the_names_only() {
        let axis = Axis { low: 0.0, high: 2.5e6, from: 100.0, to: 200.0 };
        let ticks = axis.ticks(5, 1e6);
        assert_eq!(ticks[1], (5e5, "0.5".to_owned()));
        assert_eq!(axis.place(ticks[5].0), 200.0);
    }

    #[test]
    fn a_steep_start_does_not_press_the_rest_together() {
        let costs = || (0..1000).map(|i| 3.8 + 6.0 * (-f64::from(i) / 5.0).exp() + 0.1 * f64::from(i % 3));
        let (low, high, cut) = range(costs(), None, 0.97);
        assert!(low < 3.8 && low > 3.7 && high > 4.0 && high < 4.3 && cut.unwrap() > 9.0, "{low} {high} {cut:?}");
        let (_, high, cut) = range(costs().take(20), None, 0.97);
        assert!(high > 9.8 && cut.is_none());
        assert_eq!(range([].into_iter(), None, 0.9), (0.0, 1.0, None));
        let (low, high, _) = range([2.0].into_iter(), None, 0.9);
        assert!(low < 2.0 && high > 2.0);
    }
}
