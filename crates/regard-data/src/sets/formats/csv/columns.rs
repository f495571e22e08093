//! The columns of a table that are read, and their roles.

use std::collections::BTreeSet;

use super::super::ReadOptions;
use super::is_data;
use crate::Result;
use crate::error::shown;
use crate::table::values::looks_like_number;
use crate::table::{Column, Row, Table};

/// The columns of a table with a header.
pub(super) struct Columns {
    pub(super) group: Column,
    pub(super) target: Option<Column>,
    pub(super) row_target: Option<Column>,
    pub(super) features: Vec<Feature>,
    /// Text columns with too many different values, and columns without a name.
    pub(super) skipped: Vec<String>,
}

/// A feature of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Feature {
    /// The number in a column.
    Number(Column),
    /// 1 where a text column has this value, else 0 (one-hot encoding). A value that is not encoded is 0 in all
    /// features of the column.
    Category { column: Column, value: String },
}

impl Feature {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Number(column) => column.name.clone(),
            Self::Category { column, value } => format!("{}={value}", column.name),
        }
    }

    pub(super) fn of(&self, row: &Row<'_>) -> Result<f32> {
        match self {
            Self::Number(column) => row.number(column),
            Self::Category { column, value } => Ok(f32::from(u8::from(row.get(column) == value))),
        }
    }
}

impl Columns {
    pub(super) fn of(table: &Table<'_>, options: &ReadOptions) -> Result<Self> {
        let header = &table.header;
        let Some(group) = &options.group_by else {
            let reason = "has a header, but no column of bag identifiers is given";
            return Err(header.error(reason).with_hint(format!(
                "give it as `group_by` (the columns are {}), or say that there is no header",
                header.all()
            )));
        };
        let optional = options.target_optional;
        let group = find(table, group)?;
        let given = |name: &Option<String>| match name {
            Some(name) if !optional || header.find(name).is_some() => find(table, name).map(Some),
            _ => Ok(None),
        };
        let (target, row_target) = (given(&options.target)?, given(&options.row_target)?);
        let mut taken = Vec::new();
        for column in [Some(&group), target.as_ref(), row_target.as_ref()].into_iter().flatten() {
            header.assign(column, &mut taken)?;
        }
        let (features, skipped) = match &options.features {
            Some(names) => (listed(table, names, taken)?, Vec::new()),
            None => inferred(table, &taken, options.encoded.as_deref())?,
        };
        Ok(Self { group, target, row_target, features, skipped })
    }
}

fn find(table: &Table<'_>, name: &str) -> Result<Column> {
    let found = table.header.column(name);
    if !is_data(&table.header.names) {
        return found;
    }
    found.map_err(|error| {
        error
            .with_hint("the first line looks like data: without a header rows are label, bag, features; name no column")
    })
}

/// The features that are named.
fn listed(table: &Table<'_>, names: &[String], mut taken: Vec<Column>) -> Result<Vec<Feature>> {
    let mut found: Vec<Feature> = Vec::new();
    for name in names {
        if let Some(category) = category(table, name) {
            found.push(category);
            continue;
        }
        let column = find(table, name)?;
        if taken.contains(&column) {
            let reason = format!("column `{}` is a feature and something else, or a feature twice", shown(name));
            return Err(table.header.error(reason));
        }
        taken.push(column.clone());
        found.push(Feature::Number(column));
    }
    if found.is_empty() {
        return Err(table.header.error("is read without any feature, expected at least one"));
    }
    Ok(found)
}

/// The encoded value of a text column that a feature is named after, where no column has the whole name.
fn category(table: &Table<'_>, name: &str) -> Option<Feature> {
    if table.header.find(name).is_some() {
        return None;
    }
    let (column, value) = name.split_once('=')?;
    Some(Feature::Category { column: table.header.find(column)?, value: value.to_owned() })
}

/// Text columns with more values than this are identifiers, dates or free text.
const MOST_CATEGORIES: usize = 32;
/// Rows that a value has on average at least.
const ROWS_OF_CATEGORY: usize = 5;

/// Every other column: numbers as they are, text with few different values encoded. With `encoded`, the names of the
/// features in training, the values are those. Then the names of columns that are left out.
fn inferred(table: &Table<'_>, taken: &[Column], encoded: Option<&[String]>) -> Result<(Vec<Feature>, Vec<String>)> {
    let mut numbers = vec![false; table.header.len()];
    let mut values = vec![BTreeSet::new(); table.header.len()];
    let mut rows = 0;
    table.each_row(|row| {
        rows += 1;
        for ((found, values), field) in numbers.iter_mut().zip(&mut values).zip(row.fields()) {
            *found = *found || looks_like_number(field);
            if !*found && values.len() <= MOST_CATEGORIES && !values.contains(field) {
                values.insert(field.to_owned());
            }
        }
        Ok(())
    })?;
    let (mut features, mut skipped) = (Vec::new(), Vec::new());
    for column in table.header.columns().filter(|column| taken.iter().all(|other| other.at != column.at)) {
        let values = &values[column.at];
        let few = (2..=MOST_CATEGORIES.min(rows / ROWS_OF_CATEGORY)).contains(&values.len());
        let prefix = format!("{}=", column.name);
        match encoded {
            _ if column.name.is_empty() => skipped.push(table.header.label(column.at)),
            Some(names) if names.iter().any(|name| name.starts_with(&prefix)) => {
                let values = names.iter().filter_map(|name| name.strip_prefix(&prefix));
                let of_value = |value: &str| Feature::Category { column: column.clone(), value: value.to_owned() };
                features.extend(values.map(of_value));
            }
            _ if numbers[column.at] => features.push(Feature::Number(column)),
            None if few => {
                let of_value = |value: &String| Feature::Category { column: column.clone(), value: value.clone() };
                features.extend(values.iter().map(of_value));
            }
            _ => skipped.push(table.header.label(column.at)),
        }
    }
    if features.is_empty() && rows > 0 {
        let error = table.header.error("has no column of numbers left for features, expected at least one");
        return Err(error.with_hint(format!("the columns are {}", table.header.all())));
    }
    Ok((features, skipped))
}
