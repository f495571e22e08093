//! How the progress of a training is worded.

use super::{Length, Started, Step, Valid};
use crate::report::number;

/// What is going to be trained.
pub(super) fn started(started: &Started<'_>) -> String {
    let Started { experiment, steps, steps_per_epoch, first_step, parameters, device, threads } = *started;
    let epochs = steps.div_ceil(steps_per_epoch.max(1));
    let mut text = format!(
        "training {experiment}: {}, {} in {}, on {device} with {}",
        counted(parameters as u64, "parameter"),
        counted(steps, "step"),
        counted(epochs, "epoch"),
        counted(threads as u64, "thread"),
    );
    if first_step > 0 {
        text += &format!(", going on after step {}", count(first_step));
    }
    text
}

/// For example `epoch 3/100`.
pub(super) fn epoch(epoch: u64, length: &Length) -> String {
    format!("epoch {}/{}", epoch.min(length.epochs()), length.epochs())
}

/// What stands right of the bar and below it.
pub(super) fn bar(step: &Step, valid: Option<f64>, length: &Length) -> String {
    let (done, of) = length.within_epoch(step);
    let valid = valid.map(|cost| format!("  valid {cost:.3}")).unwrap_or_default();
    format!(
        "{} of {}  {}\n  {}{valid}  {}",
        count(done),
        counted(of, "step"),
        pace(step, length),
        costs(step, false),
        gradient(step)
    )
}

/// A line about a step.
pub(super) fn step(step: &Step, length: &Length) -> String {
    let (steps, of) = (count(step.step), count(length.steps));
    let (epoch, costs, gradient) = (epoch(step.epoch + 1, length), costs(step, true), gradient(step));
    format!("{epoch}  step {steps} of {of}  {costs}  {gradient}  {}", pace(step, length))
}

/// A line about a validation.
pub(super) fn valid(valid: &Valid, length: &Length) -> String {
    let mut text = format!("{}  valid {:.3}", epoch(valid.epoch, length), valid.cost);
    if let Some(previous) = valid.previous.filter(|&previous| previous != 0.0) {
        text += &format!(" ({})", number::change(valid.cost / previous - 1.0));
    }
    if let Some(gap) = valid.gap {
        text += &format!("  gap {}", number::gap(gap));
    }
    for measure in &valid.measures.0 {
        text += &format!("  {} {:.3}", measure.name(), measure.value());
    }
    match valid.baseline_updated {
        Some(true) => text += "  new baseline",
        Some(false) => text += "  baseline kept",
        None => {}
    }
    text
}

/// What is told of the policy's costs, and the loss; where there are costs the loss says little and
/// may be left out.
fn costs(step: &Step, with_loss: bool) -> String {
    let value = |name: &str| step.measures.get(name).map(|value| format!("{name} {value:.3}"));
    let costs: Vec<String> = ["cost", "baseline"].into_iter().filter_map(value).collect();
    let loss = if with_loss || costs.is_empty() { value("loss") } else { None };
    costs.into_iter().chain(loss).collect::<Vec<_>>().join("  ")
}

fn gradient(step: &Step) -> String {
    let value = |name: &str| step.measures.get(name).unwrap_or(f64::NAN);
    format!("grad {}  lr {:.1e}", norm(value("grad_norm")), value("learning_rate"))
}

/// Two decimals; an exponent where these would say nothing or too much.
fn norm(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (0.01..1e4).contains(&value.abs());
    if plain { format!("{value:.2}") } else { format!("{value:.1e}") }
}

/// Speed, and time to the end of the run.
fn pace(step: &Step, length: &Length) -> String {
    let speed = speed(step.instances_per_second);
    match length.seconds_left(step) {
        Some(left) => format!("{speed}  eta {}", time(left)),
        None => speed,
    }
}

/// For example `3,190 instances/s`.
fn speed(instances_per_second: f64) -> String {
    if instances_per_second >= 99.95 {
        format!("{} instances/s", number::quantity(instances_per_second.round(), ""))
    } else {
        format!("{instances_per_second:.1} instances/s")
    }
}

/// A time in its two largest units, for example `40 s`, `4 min 10 s`, `2 h 41 min` or `3 d 4 h`.
fn time(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    let seconds = seconds.max(0.0).round() as u64;
    let minutes = (seconds + 30) / 60;
    let hours = (seconds + 1800) / 3600;
    if seconds < 60 {
        format!("{seconds} s")
    } else if seconds < 3600 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else if minutes < 24 * 60 {
        format!("{} h {} min", minutes / 60, minutes % 60)
    } else {
        format!("{} d {} h", hours / 24, hours % 24)
    }
}

fn counted(value: u64, one: &str) -> String {
    format!("{} {one}{}", count(value), if value == 1 { "" } else { "s" })
}

fn count(value: u64) -> String {
    number::count(usize::try_from(value).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        for (seconds, expected) in [
            (0.2, "0 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (250.0, "4 min 10 s"),
            (3599.7, "1 h 0 min"),
            (9660.0, "2 h 41 min"),
            (86_399.0, "1 d 0 h"),
            (273_600.0, "3 d 4 h"),
            (-3.0, "0 s"),
            (f64::INFINITY, "unknown"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(time(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn speeds_and_norms_have_useful_digits() {
        assert_eq!(speed(3190.4), "3,190 instances/s");
        assert_eq!(speed(99.96), "100 instances/s");
        assert_eq!(speed(3.21), "3.2 instances/s");
        assert_eq!(norm(0.612), "0.61");
        assert_eq!(norm(0.000_04), "4.0e-5");
        assert_eq!(norm(123_456.0), "1.2e5");
        assert_eq!(norm(f64::NAN), "NaN");
    }
}
