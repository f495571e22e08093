//! What a CSV file's columns cannot say: given by the caller, or in comments above the header.

use super::super::{number, shown};
use super::sheet::Sheet;
use crate::{Error, Result};

/// Numbers of an instance that belong to no node. What is `None` here is looked for in comments of
/// the file, such as `# capacity: 100`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    /// What a vehicle carries (`# capacity`).
    pub capacity: Option<f64>,
    /// The longest a route or an orienteering tour may be (`# max_length`).
    pub max_length: Option<f64>,
    /// What each visit adds to a route's length (`# service_time`).
    pub service_time: Option<f64>,
    /// Whether deliveries may be split (`# split: yes`).
    pub split: Option<bool>,
    /// The prize a prize-collecting tour must collect (`# required_prize`).
    pub required_prize: Option<f64>,
}

impl Options {
    /// These options, where they are open those of the comments, and the comments that are none.
    pub(super) fn and_comments(mut self, sheet: &Sheet<'_>) -> Result<(Self, String)> {
        let mut remarks = Vec::new();
        let mut told = Self::default();
        for (line, words) in &sheet.comments {
            if !told.take(sheet, *line, words)? {
                remarks.push(words.as_str());
            }
        }
        self.capacity = self.capacity.or(told.capacity);
        self.max_length = self.max_length.or(told.max_length);
        self.service_time = self.service_time.or(told.service_time);
        self.split = self.split.or(told.split);
        self.required_prize = self.required_prize.or(told.required_prize);
        Ok((self, remarks.join(" ")))
    }

    /// Whether a comment is `option: value`, which is then kept.
    fn take(&mut self, sheet: &Sheet<'_>, line: usize, words: &str) -> Result<bool> {
        let Some((name, value)) = words.split_once([':', '=']) else {
            return Ok(false);
        };
        let (name, value) = (plain(name), value.trim());
        let expected = |what: &str| {
            let reason = format!("found `{}`, expected {what}", shown(value));
            Error::parse(sheet.path, line, reason).in_field(&*name)
        };
        let above_zero = || number(value).filter(|v| *v > 0.0).ok_or_else(|| expected("a number above 0"));
        let not_negative = || number(value).filter(|v| *v >= 0.0).ok_or_else(|| expected("a number, 0 or more"));
        let twice = match name.as_str() {
            "capacity" => self.capacity.replace(above_zero()?).is_some(),
            "max_length" => self.max_length.replace(above_zero()?).is_some(),
            "service_time" => self.service_time.replace(not_negative()?).is_some(),
            "required_prize" => self.required_prize.replace(not_negative()?).is_some(),
            "split" => {
                let value = flag(value).ok_or_else(|| expected("yes or no"))?;
                self.split.replace(value).is_some()
            }
            _ => return Ok(false),
        };
        if twice {
            return Err(Error::parse(sheet.path, line, "is given a second time").in_field(&*name));
        }
        Ok(true)
    }
}

/// Whether a comment would be read as one of the options.
pub(super) fn is_option(words: &str) -> bool {
    const NAMES: [&str; 5] = ["capacity", "max_length", "service_time", "required_prize", "split"];
    words.split_once([':', '=']).is_some_and(|(name, _)| NAMES.contains(&plain(name).as_str()))
}

/// The name of an option, which people write in many ways.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Yes or no, as people write it.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "1" | "yes" | "true" => Some(true),
        "" | "0" | "no" | "false" => Some(false),
        _ => None,
    }
}
