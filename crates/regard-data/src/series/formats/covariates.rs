//! Columns that are known in the future: numbers, and texts of which each is a feature.

use std::collections::HashMap;

use super::ReadOptions;
use crate::Result;
use crate::error::shown;
use crate::table::{Beginning, Column, Header, MOST_CATEGORIES, Row, unseen};

/// The code of a text that is missing.
const MISSING: u32 = u32::MAX;

/// Columns of covariates with their values, row by row.
#[derive(Default)]
pub(super) struct Covariates {
    columns: Vec<Values>,
}

struct Values {
    column: Column,
    values: Content,
}

enum Content {
    Numbers(Vec<f32>),
    Texts {
        codes: HashMap<String, u32>,
        rows: Vec<u32>,
        /// The texts of training, where they are known.
        training: Option<Vec<String>>,
    },
}

/// Covariates as features.
pub(super) struct Encoded {
    pub(super) names: Vec<String>,
    /// A value for each row of each feature, NaN where it is missing.
    pub(super) values: Vec<Vec<f32>>,
    /// Sentences on texts that training did not have, and on values that are missing.
    pub(super) notes: Vec<String>,
}

impl Covariates {
    /// The columns; those of text are the ones that training encoded, or that hold no number in the beginning of the
    /// table.
    pub(super) fn of(columns: &[Column], options: &ReadOptions, beginning: &Beginning) -> Self {
        let of = |column: &Column| {
            let prefix = format!("{}=", column.name);
            let known = options.known_covariates.as_ref();
            let texts =
                known.map(|names| names.iter().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned));
            let training: Option<Vec<String>> = texts.map(Iterator::collect).filter(|texts: &Vec<_>| !texts.is_empty());
            let is_number = known.is_some_and(|names| names.contains(&column.name));
            let values = if training.is_some() || (!is_number && beginning.is_text(column.at)) {
                Content::Texts { codes: HashMap::new(), rows: Vec::new(), training }
            } else {
                Content::Numbers(Vec::new())
            };
            Values { column: column.clone(), values }
        };
        Self { columns: columns.iter().map(of).collect() }
    }

    /// Columns of numbers, with a value for each row.
    pub(super) fn of_numbers(columns: Vec<(Column, Vec<f32>)>) -> Self {
        let of = |(column, numbers)| Values { column, values: Content::Numbers(numbers) };
        Self { columns: columns.into_iter().map(of).collect() }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Keeps what a row says.
    pub(super) fn push(&mut self, row: Row<'_>) -> Result<()> {
        for Values { column, values } in &mut self.columns {
            match values {
                Content::Numbers(numbers) => numbers.push(row.number_or_nan(column)?),
                Content::Texts { codes, rows, .. } => {
                    let text = row.get(column);
                    let next = codes.len() as u32;
                    rows.push(match codes.get(text) {
                        _ if text.is_empty() => MISSING,
                        Some(code) => *code,
                        None => {
                            codes.insert(text.to_owned(), next);
                            next
                        }
                    });
                }
            }
        }
        Ok(())
    }

    /// The features: a number as it is, and for each text of a column 1 where it stands and else 0. A text is no feature
    /// where `is_known` says of none of its rows that it has a value of a series: nothing can be learnt about it.
    pub(super) fn encoded(self, header: &Header<'_>, is_known: impl Fn(usize) -> bool) -> Result<Encoded> {
        let mut found = Encoded { names: Vec::new(), values: Vec::new(), notes: Vec::new() };
        for Values { column, values } in self.columns {
            match values {
                Content::Numbers(numbers) => {
                    found.note_missing(&column, numbers.iter().filter(|number| number.is_nan()).count());
                    found.names.push(column.name);
                    found.values.push(numbers);
                }
                Content::Texts { codes, rows, training } => {
                    found.note_missing(&column, rows.iter().filter(|code| **code == MISSING).count());
                    found.texts(header, &column, (&codes, &rows), training, &is_known)?;
                }
            }
        }
        Ok(found)
    }
}

impl Encoded {
    fn note_missing(&mut self, column: &Column, rows: usize) {
        if rows > 0 {
            let (name, have) = (shown(&column.name), if rows == 1 { "row has" } else { "rows have" });
            self.notes.push(format!(
                "column `{name}`: {rows} {have} no value, which networks take from the row before (fill it in the file to \
                 change that)"
            ));
        }
    }

    fn texts(
        &mut self,
        header: &Header<'_>,
        column: &Column,
        (codes, rows): (&HashMap<String, u32>, &[u32]),
        training: Option<Vec<String>>,
        is_known: &impl Fn(usize) -> bool,
    ) -> Result<()> {
        let mut texts: Vec<String> = codes.keys().cloned().collect();
        texts.sort_unstable();
        if training.is_none() && texts.len() > MOST_CATEGORIES {
            let (name, count) = (shown(&column.name), texts.len());
            let reason = format!("column `{name}` has {count} different texts, at most {MOST_CATEGORIES} are encoded");
            let hint = "leave it out of `--covariates` (`data.future_covariates`)";
            return Err(header.error(reason).with_hint(hint));
        }
        let (known, place) = match training {
            Some(training) => (training, "in training"),
            None => {
                let mut beside_values = vec![false; codes.len()];
                let rows = rows.iter().enumerate().filter(|(row, code)| **code != MISSING && is_known(*row));
                rows.for_each(|(_, code)| beside_values[*code as usize] = true);
                let known = texts.iter().filter(|text| beside_values[codes[*text] as usize]).cloned().collect();
                (known, "in a row with a value")
            }
        };
        let new: Vec<String> =
            texts.iter().filter(|text| !known.contains(text)).map(|text| format!("`{}`", shown(text))).collect();
        if !new.is_empty() {
            self.notes.push(unseen(&column.name, &new, place));
        }
        for text in known {
            let code = codes.get(&text).copied();
            let value = |row: &u32| if *row == MISSING { f32::NAN } else { f32::from(u8::from(Some(*row) == code)) };
            self.names.push(format!("{}={text}", column.name));
            self.values.push(rows.iter().map(value).collect());
        }
        Ok(())
    }
}
