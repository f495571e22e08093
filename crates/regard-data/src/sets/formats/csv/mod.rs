//! Rows of bags as CSV or TSV.
//!
//! With a header, one column groups rows into bags (`group_by`), one may hold the bag's label
//! (`target`), one the row's (`row_target`); features are the columns asked for, or every other one:
//! numbers as they are, and text with at most 32 different values as one feature for each value,
//! `column=value`, which is 1 or 0. Where numbers are missing they are NaN, if that is allowed, and one more
//! feature, `missingindicator_column`, is 1. Columns without a name (an index) and text with more values are
//! left out ([`Bags::notes`]). Rows of a bag need not stand together; bags keep the order in which
//! they first occur.
//!
//! Without a header, rows are the bag's label, its id, then the features: the layout of the
//! multiple-instance data sets.
//!
//! Fields are separated by commas, semicolons or tabs. Lines starting with `#` above the first row
//! are comments.

mod columns;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use self::columns::Columns;
use super::builder::BagsBuilder;
use super::{Layout, ReadOptions};
use crate::error::shown;
use crate::labels::Labels;
use crate::sets::{Bags, FeatureNames};
use crate::table::values::is_missing_text;
use crate::table::{Column, Header, Row, Rows, Table};
use crate::{Error, Result};

/// Reads bags from CSV text; `path` names it in errors.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g.
/// ``visits.csv:7: field `pulse`: found `abc`, expected a number``; also when columns are missing,
/// when a bag has two labels, and when there are no rows.
///
/// ```
/// use regard_data::sets::formats::{ReadOptions, csv};
///
/// let text = "customer,left,amount\nann,0,9.5\nbob,1,3\nann,0,7\n";
/// let options = ReadOptions { group_by: Some("customer".into()), target: Some("left".into()), ..Default::default() };
/// let bags = csv::parse(text, "visits.csv".as_ref(), &options)?;
/// assert_eq!((bags.ids(), bags.bag(0)), (&["ann".into(), "bob".into()][..], &[9.5, 7.0][..]));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, options: &ReadOptions) -> Result<Bags> {
    let mut rows = Rows::of_text(text, path, options.delimiter)?.with_marks(options.decimal, options.likely_decimal)?;
    let first = Header::of(&mut rows, "rows of bags")?;
    rows.unread();
    let fields = rows.next()?.map(|row| (0..row.len()).map(|at| row.plain(at).into_owned()).collect::<Vec<_>>());
    let fields = fields.unwrap_or_default();
    let headerless = match options.layout {
        Layout::Headerless => true,
        Layout::Header => false,
        Layout::Auto => !options.names_columns() && is_data(&fields),
    };
    if headerless {
        rows.unread();
        return without_header(rows, &first, options);
    }
    let table = Table::of(text, path, (options.delimiter, [options.decimal, options.likely_decimal]), "rows of bags")?;
    with_header(&table, Columns::of(&table, options)?, options)
}

fn with_header(table: &Table<'_>, columns: Columns, options: &ReadOptions) -> Result<Bags> {
    let mut gathered = BagsBuilder::new(table.path);
    table.each_row(|row| {
        let bag = gathered.bag(row.filled(&columns.group, "the id of a bag")?);
        if let Some(target) = &columns.target {
            gathered.label(bag, &label_of(&row, target, options)?, row.line, &target.name)?;
        }
        if let Some(target) = &columns.row_target {
            row.filled(target, "the label of the row")?;
            gathered.row_labels.push(row.value(target)?.into_owned());
        }
        for feature in &columns.features.all {
            gathered.features.push(feature.of(&row)?);
        }
        gathered.row(bag, row.line);
        Ok(())
    })?;
    if gathered.is_empty() {
        return Err(Error::parse(table.path, 0, "has no rows below its header, expected at least one"));
    }
    let names = FeatureNames::Named(columns.features.names());
    let target = columns.target.as_ref().map(|column| column.name.as_str());
    let bags = gathered.finish(names, table.header.line, target, options.target_optional)?;
    let notes = columns.features.notes.into_iter().chain(note_on_labels(&bags)).collect();
    Ok(bags.with_notes(notes).with_decimal(table.shown))
}

fn without_header(mut rows: Rows<'_>, first: &Header<'_>, options: &ReadOptions) -> Result<Bags> {
    const BEFORE_FEATURES: usize = 2;
    let (fields, line) = (first.len(), first.line);
    if fields <= BEFORE_FEATURES {
        let error = first.error(format!("has {fields} fields, expected label, bag and features"));
        return Err(error.with_hint("fields are separated by commas, semicolons or tabs"));
    }
    let mut gathered = BagsBuilder::new(rows.path);
    let (label, bag) = (Column::new(0, "label"), Column::new(1, "bag"));
    let features: Vec<Column> =
        (BEFORE_FEATURES..fields).map(|at| Column::new(at, &format!("column {}", at + 1))).collect();
    while let Some(row) = rows.next()? {
        row.check_fields(fields, &format!("line {line} has"))?;
        let bag = gathered.bag(row.filled(&bag, "the id of a bag")?);
        gathered.label(bag, &label_of(&row, &label, options)?, row.line, &label.name)?;
        for column in &features {
            let number = if options.may_miss { row.number_or_nan(column) } else { row.number(column) };
            gathered.features.push(number?);
        }
        gathered.row(bag, row.line);
    }
    let (note, decimal) = (rows.note().map(str::to_owned), rows.decimal());
    let bags = gathered.finish(FeatureNames::Count(features.len()), 0, Some(&label.name), options.target_optional)?;
    let notes = note.into_iter().chain(note_on_labels(&bags)).collect();
    Ok(bags.with_notes(notes).with_decimal(decimal))
}

/// A sentence about a label that may say that there is none.
fn note_on_labels(bags: &Bags) -> Option<String> {
    let Some(Labels::Words(words)) = bags.labels() else { return None };
    let missing: Vec<&String> = words.iter().filter(|word| is_missing_text(word)).collect();
    let (first, count) = (missing.first()?, missing.len());
    let bags = if count == 1 { "1 bag".to_owned() } else { format!("{count} bags") };
    Some(format!("label `{}` of {bags} is a class like any other; leave out their rows if it is missing", shown(first)))
}

/// The label that a row says.
fn label_of<'r>(row: &Row<'r>, column: &Column, options: &ReadOptions) -> Result<Cow<'r, str>> {
    if !options.target_optional {
        row.filled(column, "the label of the bag")?;
    }
    row.value(column)
}

/// If true, fields are label, bag and features rather than names: numbers from the third on, and not the numbers of
/// columns, which some programs write as a header.
fn is_data(fields: &[String]) -> bool {
    let numbers: Vec<Option<f64>> = fields.iter().map(|field| field.parse().ok()).collect();
    let [label, bag, features @ ..] = &numbers[..] else {
        return false;
    };
    let counted = |from: usize, fields: &[Option<f64>]| (from..).zip(fields).all(|(at, v)| *v == Some(at as f64));
    let header = match (label, bag) {
        (Some(_), Some(_)) => counted(0, &numbers),
        _ => counted(0, features) || counted(1, features),
    };
    !features.is_empty() && features.iter().all(Option::is_some) && !header
}
