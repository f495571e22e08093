//! The columns of a table that are read, and their roles.

use super::super::ReadOptions;
use super::is_data;
use crate::Result;
use crate::error::shown;
use crate::table::values::looks_like_number;
use crate::table::{Column, Table};

/// The columns of a table with a header.
pub(super) struct Columns {
    pub(super) group: Column,
    pub(super) target: Option<Column>,
    pub(super) row_target: Option<Column>,
    pub(super) features: Vec<Column>,
    /// Columns in which nothing is a number, and those without a name.
    pub(super) skipped: Vec<String>,
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
            None => numeric(table, &taken)?,
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
fn listed(table: &Table<'_>, names: &[String], mut taken: Vec<Column>) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    for name in names {
        let column = find(table, name)?;
        if taken.contains(&column) {
            let reason = format!("column `{}` is a feature and something else, or a feature twice", shown(name));
            return Err(table.header.error(reason));
        }
        taken.push(column.clone());
        found.push(column);
    }
    if found.is_empty() {
        return Err(table.header.error("is read without any feature, expected at least one"));
    }
    Ok(found)
}

/// Every other column in which there are numbers, and the names of those without.
fn numeric(table: &Table<'_>, taken: &[Column]) -> Result<(Vec<Column>, Vec<String>)> {
    let mut numbers = vec![false; table.header.len()];
    let mut rows = 0;
    table.each_row(|row| {
        rows += 1;
        for (found, field) in numbers.iter_mut().zip(row.fields()) {
            *found = *found || looks_like_number(field);
        }
        Ok(())
    })?;
    let (mut features, mut skipped) = (Vec::new(), Vec::new());
    for column in table.header.columns().filter(|column| taken.iter().all(|other| other.at != column.at)) {
        match numbers[column.at] && !column.name.is_empty() {
            true => features.push(column),
            false => skipped.push(table.header.label(column.at)),
        }
    }
    if features.is_empty() && rows > 0 {
        let error = table.header.error("has no column of numbers left for features, expected at least one");
        return Err(error.with_hint(format!("the columns are {}", table.header.all())));
    }
    Ok((features, skipped))
}
