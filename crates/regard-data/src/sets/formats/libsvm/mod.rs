//! Ranking data in libsvm's format, as LightGBM and the LETOR collections have it:
//! `label feature:value feature:value ... # comment`, one row a line.
//!
//! Rows belong to queries, which are the bags here: either by `qid:7` behind the label, or by a
//! second file with the number of rows of each query in turn. The label of a row is its relevance.
//! Features that a row does not mention are 0; they are made dense, which is refused where it would
//! take far more memory than the text.

use std::path::Path;

use super::ReadOptions;
use super::builder::BagsBuilder;
use crate::error::shown;
use crate::sets::{Bags, FeatureNames};
use crate::table::values;
use crate::{Error, Result};

/// Dense values that are always taken (64 MiB).
const VALUES_ALWAYS: usize = 1 << 24;
/// Dense values for each byte of text.
const VALUES_PER_BYTE: usize = 16;

/// If true, the first row is a label followed by `feature:value`.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    let mut words = text.lines().map(row).find(|row| !row.is_empty()).unwrap_or("").split_whitespace();
    let label = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
    label
        && words
            .next()
            .and_then(|word| word.split_once(':'))
            .is_some_and(|(key, _)| key == "qid" || key.parse::<u32>().is_ok())
}

/// Reads queries from libsvm text; `path` names it in errors. `sizes` is the text with the size of
/// each query, and its path; without it, rows need `qid:`. Of the options, `width` and `zero_based`
/// matter.
///
/// # Errors
/// [`Error::Parse`] naming line and feature, e.g.
/// ``rank.train:3: field `17`: found `x`, expected a number``; also when the sizes do not add up to
/// the rows.
///
/// ```
/// use regard_data::sets::formats::{ReadOptions, libsvm};
///
/// let sizes = ("2\n1\n", "rank.query".as_ref());
/// let options = ReadOptions::default();
/// let bags = libsvm::parse("2 1:0.5\n0 3:1\n1 2:1\n", "rank".as_ref(), Some(sizes), &options)?;
/// assert_eq!((bags.offsets(), bags.bag(0)), (&[0, 2, 3][..], &[0.5, 0.0, 0.0, 0.0, 0.0, 1.0][..]));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, sizes: Option<(&str, &Path)>, options: &ReadOptions) -> Result<Bags> {
    let shape = Shape::of(text, path, options)?;
    let mut gathered = BagsBuilder::new(path);
    let mut queries = sizes.map(|(sizes, file)| Queries::of(sizes, file, shape.rows)).transpose()?;
    if let Some(queries) = &queries {
        (1..=queries.sizes.len()).for_each(|query| {
            gathered.bag(&query.to_string());
        });
    }
    for (at, words) in rows(text) {
        let line = Line { path, line: at, words };
        let bag = match (&mut queries, line.query()) {
            (Some(queries), _) => queries.next(),
            (None, Some(id)) => gathered.bag(id),
            (None, None) => {
                let error = Error::parse(path, at, "has no `qid:`, and there is no file with the sizes of the queries");
                return Err(error.with_hint("put the sizes into a file of the same name with `.query` after it"));
            }
        };
        gathered.row_labels.push(line.label()?.to_owned());
        let start = gathered.features.len();
        gathered.features.resize(start + shape.width, 0.0);
        line.fill(&mut gathered.features[start..], usize::from(!options.zero_based))?;
        gathered.row(bag, at);
    }
    gathered.finish(FeatureNames::Count(shape.width), 0, None, true)
}

/// A line without its comment.
fn row(line: &str) -> &str {
    line.split_once('#').map_or(line, |(row, _)| row).trim()
}

/// Lines that have a row on them.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().map(row).enumerate().filter(|(_, row)| !row.is_empty()).map(|(at, row)| (at + 1, row))
}

/// One row.
struct Line<'t> {
    path: &'t Path,
    line: usize,
    words: &'t str,
}

impl<'t> Line<'t> {
    fn label(&self) -> Result<&'t str> {
        let label = self.words.split_whitespace().next().unwrap_or("");
        match label.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(label),
            _ => Err(self.error("label", format!("found `{}`, expected a number", shown(label)))),
        }
    }

    fn query(&self) -> Option<&'t str> {
        self.words.split_whitespace().nth(1)?.strip_prefix("qid:")
    }

    /// The features that are mentioned, by number.
    fn features(&self) -> impl Iterator<Item = Result<(usize, &'t str)>> {
        let words = self.words.split_whitespace().skip(1 + usize::from(self.query().is_some()));
        words.map(|word| {
            let pair = word.split_once(':').and_then(|(key, value)| Some((key.parse().ok()?, value)));
            pair.ok_or_else(|| self.error("", format!("found `{}`, expected `feature:value`", shown(word))))
        })
    }

    fn fill(&self, row: &mut [f32], first: usize) -> Result<()> {
        let mut before = None;
        for pair in self.features() {
            let (key, text) = pair?;
            if before.is_some_and(|before| before >= key) {
                let error = self.error(&key.to_string(), "comes after a feature of the same or a higher number");
                return Err(error.with_hint("features of a row are in rising order, each at most once"));
            }
            before = Some(key);
            row[key - first] = values::number(text).map_err(|fault| self.error(&key.to_string(), fault.reason()))?;
        }
        Ok(())
    }

    fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }
}

/// The size of the dense rows.
struct Shape {
    rows: usize,
    width: usize,
}

impl Shape {
    /// Looks at all numbers of features before memory is taken for any.
    fn of(text: &str, path: &Path, options: &ReadOptions) -> Result<Self> {
        let first = usize::from(!options.zero_based);
        let (mut count, mut width) = (0, options.width.unwrap_or(0));
        for (at, words) in rows(text) {
            let line = Line { path, line: at, words };
            count += 1;
            for pair in line.features() {
                let (key, _) = pair?;
                if key < first {
                    let error = line.error("0", "is the number of a feature, expected 1 or more");
                    return Err(error.with_hint("say that features are counted from 0 (`zero_based`)"));
                }
                let end = (key - first).saturating_add(1);
                match options.width {
                    Some(known) if end > known => {
                        return Err(line.error(&key.to_string(), format!("is beyond the {known} features there are")));
                    }
                    _ => width = width.max(end),
                }
            }
        }
        let allowed = text.len().saturating_mul(VALUES_PER_BYTE).saturating_add(VALUES_ALWAYS);
        match (count, width) {
            (0, _) => Err(Error::parse(path, 0, "has no rows, expected at least one")),
            (_, 0) => Err(Error::parse(path, 0, "has no features, expected at least one")),
            _ if width.checked_mul(count).is_none_or(|values| values > allowed) => {
                let reason = format!("would be {count} rows of {width} features when made dense, which is too much");
                Err(Error::parse(path, 0, reason).with_hint("number the features that occur from 1 on, without gaps"))
            }
            _ => Ok(Self { rows: count, width }),
        }
    }
}

/// The sizes of all queries, and how far they are used up.
struct Queries {
    sizes: Vec<usize>,
    at: usize,
    used: usize,
}

impl Queries {
    fn of(text: &str, path: &Path, rows: usize) -> Result<Self> {
        let mut sizes = Vec::new();
        let mut sum: usize = 0;
        for (at, word) in text.lines().map(str::trim).enumerate().filter(|(_, word)| !word.is_empty()) {
            let size: usize = word.parse().map_err(|_| {
                Error::parse(path, at + 1, format!("found `{}`, expected the number of rows of a query", shown(word)))
            })?;
            sum = sum.saturating_add(size);
            sizes.push(size);
        }
        if sum == rows {
            return Ok(Self { sizes, at: 0, used: 0 });
        }
        Err(Error::parse(path, 0, format!("has {} queries of {sum} rows together, expected {rows} rows", sizes.len())))
    }

    /// The query of the next row.
    fn next(&mut self) -> usize {
        while self.used == self.sizes[self.at] {
            (self.at, self.used) = (self.at + 1, 0);
        }
        self.used += 1;
        self.at
    }
}

#[cfg(test)]
mod tests;
