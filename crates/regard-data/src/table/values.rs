//! The values of fields: numbers in single precision, and the words for a missing value.

use super::numbers::Decimal;
use crate::error::{Fault, shown};

/// The way out where a comma stands in a place where no number of the column has one.
const MARKS: &str = "`--decimal comma` or `--decimal point` (`data.decimal`) gives the decimal mark of the numbers";

/// A number in single precision, which has to be there and be finite.
pub(crate) fn number(text: &str) -> Result<f32, Fault> {
    const GAP: &str = "fill the gap, or leave the row or the column out";
    if text.is_empty() {
        return Err(Fault::whole("is empty, expected a number").hint(GAP));
    }
    let found = |expected: &str| Fault::whole(format!("found `{}`, expected {expected}", shown(text)));
    match text.parse::<f64>() {
        Ok(value) if !value.is_finite() => Err(found("a finite number").hint(GAP)),
        Ok(value) if !(value as f32).is_finite() => {
            Err(found("a number below 3.4e38").hint("features are kept in single precision"))
        }
        Ok(value) => Ok(value as f32),
        Err(_) if text.contains(',') => Err(found("a number").hint(MARKS)),
        Err(_) => grouped(text).map(|value| value as f32).ok_or_else(|| found("a number")),
    }
}

/// A number in single precision, NaN where it is [missing](is_missing).
pub(crate) fn number_or_nan(text: &str) -> Result<f32, Fault> {
    exact_or_nan(text).map(|value| value as f32)
}

/// As [`number_or_nan`], with all digits.
pub(crate) fn exact_or_nan(text: &str) -> Result<f64, Fault> {
    if is_missing(text) {
        return Ok(f64::NAN);
    }
    let found = |expected: &str| Fault::whole(format!("found `{}`, expected {expected}", shown(text)));
    match text.parse::<f64>() {
        Ok(value) if (value as f32).is_finite() => Ok(value),
        Ok(value) if value.is_finite() => Err(found("a number below 3.4e38")),
        Ok(_) => Err(found("a finite number").hint("leave the field empty where a value is missing")),
        Err(_) if text.contains(',') => Err(found("a number").hint(MARKS)),
        Err(_) => grouped(text).ok_or_else(|| {
            found("a number").hint(
            "missing values are empty, NaN, NA, null, none, `?` or `-`; give the columns to read if this column is not numeric",
            )
        }),
    }
}

/// A number with spaces or apostrophes between its thousands.
fn grouped(text: &str) -> Option<f64> {
    Decimal::Point.number(text).filter(|number| (*number as f32).is_finite())
}

/// If true, the field of a column of numbers says that there is no value.
pub(crate) fn is_missing(field: &str) -> bool {
    const WORDS: [&str; 10] = ["nan", "na", "n/a", "null", "none", "?", "-", "#n/a", "<na>", "."];
    field.is_empty() || field.len() <= 4 && WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// If true, the field of a column of texts says that there is none. Words such as `none` may be texts.
pub(crate) fn is_missing_text(field: &str) -> bool {
    const WORDS: [&str; 5] = ["", "nan", "na", "n/a", "null"];
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// The text of a target, or none where the field says that it is missing.
pub(crate) fn target(text: &str) -> Option<String> {
    (!is_missing_text(text)).then(|| text.to_owned())
}

/// If true, the field is a number or was meant as one: `nan`, or with a decimal comma.
pub(crate) fn looks_like_number(field: &str) -> bool {
    number(field).is_ok() || field.parse::<f64>().is_ok() || field.replacen(',', ".", 1).parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_missing_where_they_may_be() {
        for word in ["", "NaN", "na", "N/A", "?", "-", "#N/A"] {
            assert!(number_or_nan(word).is_ok_and(f32::is_nan), "{word}");
            assert!(number(word).is_err(), "{word}");
        }
        assert_eq!((target("none").as_deref(), target("NULL")), (Some("none"), None));
    }

    #[test]
    fn decimal_commas_are_no_numbers_but_columns_of_them_are_meant_as_numbers() {
        assert!(looks_like_number("1,5") && looks_like_number("nan") && !looks_like_number("a"));
        assert!(number("1,5").is_err() && number_or_nan("1,5").is_err());
        assert_eq!((number("1e-3").ok(), number("1e39").is_err()), (Some(1e-3), true));
    }
}
