//! The columns of a table that are read, and their roles.

use super::super::ReadOptions;
use super::is_data;
use crate::Result;
use crate::table::{Column, FeatureOptions, Features, Table};

/// The columns of a table with a header.
pub(super) struct Columns {
    pub(super) group: Column,
    pub(super) target: Option<Column>,
    pub(super) row_target: Option<Column>,
    pub(super) features: Features,
}

impl Columns {
    pub(super) fn of(table: &Table<'_>, options: &ReadOptions) -> Result<Self> {
        let header = &table.header;
        let Some(group) = &options.group_by else {
            let reason = "has a header, but no column of bag identifiers is given";
            return Err(header
                .error(reason)
                .with_hint(format!("give it by `--group-by` (`data.group_by`); the columns are {}", header.all())));
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
        let settings = FeatureOptions {
            listed: options.features.as_deref(),
            training: options.encoded.as_deref(),
            may_miss: options.may_miss,
            setting: "`data.features`",
        };
        let features = Features::of(table, &taken, &settings)?;
        if features.all.is_empty() && (features.rows > 0 || options.features.is_some()) {
            if options.features.is_some() {
                return Err(header.error("is read without any feature, expected at least one"));
            }
            let error = header.error("has no column of numbers left for features, expected at least one");
            return Err(error.with_hint(format!("the columns are {}", header.all())));
        }
        Ok(Self { group, target, row_target, features })
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
