//! Rows of bags as CSV or TSV.
//!
//! With a header, one column groups rows into bags (`group_by`), one may hold the bag's label
//! (`target`), one the row's (`row_target`); features are the columns asked for, or every other one
//! in which there are numbers. Columns without a name (an index) and those without any number are
//! left out ([`Bags::skipped`]). Rows of a bag need not stand together; bags keep the order in which
//! they first occur.
//!
//! Without a header, rows are the bag's label, its id, then the features: the layout of the
//! multiple-instance data sets.
//!
//! Fields are separated by commas, semicolons or tabs. Lines starting with `#` above the first row
//! are comments.

pub(crate) mod columns;
pub(crate) mod sheet;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::columns::Columns;
use self::sheet::{Row, Sheet};
use super::gathered::Gathered;
use super::{Layout, ReadOptions};
use crate::sets::{Bags, FeatureNames};
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
    let sheet = Sheet::of(text, path, options.delimiter);
    let first = sheet.first()?;
    let headerless = match options.layout {
        Layout::Headerless => true,
        Layout::Header => false,
        Layout::Auto => !options.names_columns() && first.as_ref().is_some_and(|(_, fields)| sheet::is_data(fields)),
    };
    let Some((line, fields)) = first else {
        return Err(Error::parse(path, 0, "is empty, expected rows of bags"));
    };
    if headerless {
        return without_header(&sheet, fields.len(), line, options);
    }
    with_header(&sheet, &Columns::of(&sheet, line, &fields, options)?, options)
}

fn with_header(sheet: &Sheet<'_>, columns: &Columns, options: &ReadOptions) -> Result<Bags> {
    let mut gathered = Gathered::new(sheet.path);
    sheet.each(true, |row| {
        row.has_fields(columns.count, "the header has")?;
        let bag = gathered.bag(row.filled(&columns.group, "the id of a bag")?);
        if let Some(target) = &columns.target {
            let text =
                if options.target_optional { row.get(target) } else { row.filled(target, "the label of the bag")? };
            gathered.label(bag, text, row.line, &target.name)?;
        }
        if let Some(target) = &columns.row_target {
            gathered.row_labels.push(row.filled(target, "the label of the row")?.to_owned());
        }
        for column in &columns.features {
            gathered.features.push(row.feature(column.at, &column.name)?);
        }
        gathered.row(bag, row.line);
        Ok(())
    })?;
    if gathered.is_empty() {
        return Err(Error::parse(sheet.path, 0, "has no rows below its header, expected at least one"));
    }
    let names = FeatureNames::Named(columns.features.iter().map(|column| column.name.clone()).collect());
    let target = columns.target.as_ref().map(|column| column.name.as_str());
    let bags = gathered.finish(names, columns.line, target, options.target_optional)?;
    Ok(bags.with_skipped(columns.skipped.clone()))
}

fn without_header(sheet: &Sheet<'_>, fields: usize, line: usize, options: &ReadOptions) -> Result<Bags> {
    const BEFORE_FEATURES: usize = 2;
    if fields <= BEFORE_FEATURES {
        let reason = format!("has {fields} fields, expected label, bag and features");
        return Err(
            Error::parse(sheet.path, line, reason).with_hint("fields are separated by commas, semicolons or tabs")
        );
    }
    let mut gathered = Gathered::new(sheet.path);
    let (label, bag) = (columns::Column::new(0, "label"), columns::Column::new(1, "bag"));
    sheet.each(false, |row: Row<'_>| {
        row.has_fields(fields, &format!("line {line} has"))?;
        let bag = gathered.bag(row.filled(&bag, "the id of a bag")?);
        let text = if options.target_optional { row.get(&label) } else { row.filled(&label, "the label of the bag")? };
        gathered.label(bag, text, row.line, &label.name)?;
        for at in BEFORE_FEATURES..fields {
            gathered.features.push(row.feature_in_column(at)?);
        }
        gathered.row(bag, row.line);
        Ok(())
    })?;
    gathered.finish(FeatureNames::Count(fields - BEFORE_FEATURES), 0, Some(&label.name), options.target_optional)
}
