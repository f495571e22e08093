//! Numbers as text for people.

/// A cost or a length: integers as they are, others with about five digits; thousands are
/// grouped. From 10^15 on the power of ten stands behind five digits.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    let number = if value.is_finite() && value.abs() >= 1e15 {
        format!("{value:.4e}")
    } else if value.fract() == 0.0 {
        grouped(value, 0)
    } else {
        let before_point = (value.abs().log10().floor().max(0.0) as usize).saturating_add(1);
        grouped(value, 5_usize.saturating_sub(before_point))
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// An integer with its thousands grouped.
pub(crate) fn count(value: usize) -> String {
    group(&value.to_string())
}

/// An integer with its noun, which gets an `s` after any number but 1.
pub(crate) fn of(value: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A fraction as percent with its sign, for example `-3.1 %`.
pub(crate) fn change(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    if percent.abs() < 0.005 {
        "0.0 %".to_owned()
    } else if percent.abs() < 1.0 {
        format!("{percent:+.2} %")
    } else {
        format!("{percent:+.1} %")
    }
}

/// A gap as percent with two decimals, for example `0.34 %`.
pub(crate) fn gap(fraction: f64) -> String {
    // Rounding must not leave a minus sign before zero.
    let percent = (10_000.0 * fraction).round() / 100.0;
    format!("{:.2} %", if percent == 0.0 { 0.0 } else { percent })
}

/// A time, for example `3 ms`, `2.0 s` or `4 min 10 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 0.000_95 {
        format!("{:.1} ms", 1000.0 * seconds)
    } else if seconds < 0.9995 {
        format!("{:.0} ms", 1000.0 * seconds)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round();
        format!("{:.0} min {:.0} s", (whole / 60.0).floor(), whole % 60.0)
    }
}

/// An amount of memory, for example `2.7 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}{rest}", group(whole))
}

/// Puts commas between groups of three digits.
fn group(digits: &str) -> String {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.to_owned();
    }
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_about_five_digits() {
        for (value, unit, expected) in [
            (426.0, "", "426"),
            (25_914.34, "km", "25,914 km"),
            (3.855_62, "", "3.8556"),
            (428.871_8, "", "428.87"),
            (0.001_23, "", "0.0012"),
            (0.0, "", "0"),
            (-1234.5, "", "-1,234.5"),
            (1_234_567.0, "", "1,234,567"),
            (f64::INFINITY, "", "inf"),
            (-1.5e308, "km", "-1.5000e308 km"),
        ] {
            assert_eq!(quantity(value, unit), expected);
        }
    }

    #[test]
    fn fractions_become_percent() {
        assert_eq!(change(-0.0313), "-3.1 %");
        assert_eq!(change(-0.0042), "-0.42 %");
        assert_eq!(change(0.0), "0.0 %");
        assert_eq!(gap(0.003_41), "0.34 %");
        assert_eq!(gap(-1e-9), "0.00 %");
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(seconds(0.0004), "0.4 ms");
        assert_eq!(seconds(0.0413), "41 ms");
        assert_eq!(seconds(2.04), "2.0 s");
        assert_eq!(seconds(250.2), "4 min 10 s");
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!(bytes(2_848_409), "2.7 MiB");
    }
}
