//! What has to hold for the parts of bags.

use std::collections::HashMap;

use crate::error::shown;
use crate::sets::labels::Labels;
use crate::{Error, Result};

/// The number of rows that well-formed offsets end at.
pub(super) fn check_offsets(offsets: &[usize]) -> Result<usize> {
    let (Some(0), Some(rows)) = (offsets.first(), offsets.last()) else {
        return Err(Error::invalid("offsets", "must begin with 0 and have one more entry than there are bags"));
    };
    match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(bag) => {
            let reason = format!("fall from {} to {} at bag {}", offsets[bag], offsets[bag + 1], bag + 1);
            Err(Error::invalid("offsets", reason))
        }
        None => Ok(*rows),
    }
}

pub(super) fn same_count(what: &str, found: usize, expected: usize, of: &str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid(what, format!("are {found}, expected one for each of {expected} {of}")))
}

pub(super) fn finite(labels: &Labels) -> Result<()> {
    match labels {
        Labels::Numbers(numbers) => match numbers.iter().position(|v| !v.is_finite()) {
            Some(at) => Err(Error::invalid(
                format!("label {}", at + 1),
                format!("is {}, expected a finite number", numbers[at]),
            )),
            None => Ok(()),
        },
        Labels::Words(_) => Ok(()),
    }
}

pub(super) fn distinct(names: &[String], what: &str) -> Result<()> {
    let mut seen = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let reason = format!("occurs twice, at {} and {}", first + 1, at + 1);
            return Err(Error::invalid(format!("{what} `{}`", shown(name)), reason));
        }
    }
    Ok(())
}
