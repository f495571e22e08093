//! Tables with a column for each series.

use std::sync::Arc;

use super::stamps::Stamps;
use super::timeline::Placing;
use super::{Read, ReadOptions, ReadReport, report_of};
use crate::error::shown;
use crate::series::{Panel, Series};
use crate::table::{Column, Footer, Header, Rows};
use crate::{Error, Result};

/// The columns of a wide table.
struct Columns {
    series: Vec<Column>,
    covariates: Vec<Column>,
    skipped: Vec<String>,
}

/// Reads the rows below a header.
pub(super) fn read<'p>(mut rows: Rows<'p>, header: &Header<'p>, options: &ReadOptions) -> Result<Read> {
    refuse_roles(header, options)?;
    let date = Stamps::find(header, &mut rows, options)?;
    let columns = Columns::of(header, date.as_ref(), options)?;
    let mut table = Table::read(&mut rows, header, &columns, Stamps::of(date, options))?;
    let wanted = std::mem::take(&mut table.values);
    let date = table.stamps.column.as_ref().map(|column| column.name.clone());
    let all: Vec<u32> = (0..table.lines.len() as u32).collect();
    let width = columns.series.len() + columns.covariates.len();
    let placing = Placing { path: rows.path, header, options, lines: &table.lines, names: &[], width };
    let timeline = placing.place(table.stamps, vec![all])?;
    let track = &timeline.series[0];
    let mut placed = wanted.into_iter().map(|values| track.values(values.into(), options.duplicates));
    let mut values: Vec<Vec<f32>> = placed.by_ref().take(columns.series.len()).collect();
    let covariates: Vec<Arc<[f32]>> = placed.map(Arc::from).collect();
    for (column, values) in columns.series.iter().zip(&values) {
        if values.iter().all(|value| value.is_nan()) {
            let reason = "has no value in any row, expected at least one";
            let error = Error::parse(rows.path, 0, reason).in_field(shown(&column.name));
            return Err(error.with_hint("leave the column out: `--target` (`data.columns`) names those to read"));
        }
    }
    let mut future = 0;
    if !covariates.is_empty() {
        let known = values.iter().filter_map(|values| values.iter().rposition(|value| !value.is_nan())).max();
        let len = known.map_or(0, |last| last + 1);
        future = track.len - len;
        values.iter_mut().for_each(|values| values.truncate(len));
    }
    let series = columns.series.iter().zip(values);
    let series = series
        .map(|(column, values)| Series::new(&column.name, 0, values).with_covariates(covariates.clone()))
        .collect();
    let names = columns.covariates.into_iter().map(|column| column.name).collect();
    let panel = Panel::with_names(timeline.clock.clone(), series, names, Vec::new())?;
    let rows = table.lines.len();
    let report = ReadReport {
        rows,
        date,
        future,
        skipped: columns.skipped,
        footer: table.footer,
        ..report_of(&panel, &timeline)?
    };
    Ok(Read { panel, report })
}

/// Refuses options of long tables.
fn refuse_roles(header: &Header<'_>, options: &ReadOptions) -> Result<()> {
    for (what, asked) in [
        ("id", options.id.is_some()),
        ("target", options.target.is_some()),
        ("label", options.label.is_some()),
        ("static features", !options.statics.is_empty()),
    ] {
        if asked {
            let reason = format!("is read as a wide table, which has no {what}: each of its columns is a series");
            return Err(header
                .error(reason)
                .with_hint("name the columns of series by `--target` (`data.columns`), or set `data.layout=long`"));
        }
    }
    Ok(())
}

impl Columns {
    fn of(header: &Header<'_>, date: Option<&Column>, options: &ReadOptions) -> Result<Self> {
        let mut taken: Vec<Column> = date.cloned().into_iter().collect();
        let covariates = header.assign_all(&options.covariates, &mut taken)?;
        let mut skipped = Vec::new();
        let series = match &options.columns {
            Some(names) => header.assign_all(names, &mut taken)?,
            None => {
                let free = header.columns().filter(|column| !taken.contains(column));
                let (named, unnamed): (Vec<_>, Vec<_>) = free.partition(|column| !column.name.is_empty());
                skipped.extend(unnamed.iter().map(|column| header.label(column.at)));
                named
            }
        };
        if series.is_empty() {
            let error = header.error("has no column for a series, expected at least one besides the dates");
            return Err(error.with_hint(format!("the columns are {}", header.all())));
        }
        if options.columns.is_some() {
            let all = header.columns();
            skipped.extend(all.filter(|c| !taken.contains(c) && !series.contains(c)).map(|c| header.label(c.at)));
        }
        Ok(Self { series, covariates, skipped })
    }
}

/// The rows as far as they are kept.
struct Table {
    stamps: Stamps,
    /// The line of each row.
    lines: Vec<u32>,
    /// Series and then covariates, a value for each row.
    values: Vec<Vec<f32>>,
    footer: Option<String>,
}

impl Table {
    fn read(rows: &mut Rows<'_>, header: &Header<'_>, columns: &Columns, mut stamps: Stamps) -> Result<Self> {
        let all: Vec<&Column> = columns.series.iter().chain(&columns.covariates).collect();
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); all.len()];
        let (mut lines, mut footer) = (Vec::new(), Footer::default());
        while let Some(row) = rows.next()? {
            if header.len() > 1 && footer.takes(row, |text| stamps.may_be(text)) {
                continue;
            }
            footer.ends_before(row, "a row of values")?;
            row.check_fields(header.len(), "the header has")?;
            stamps.push(row, lines.len())?;
            for (values, column) in values.iter_mut().zip(&all) {
                values.push(row.number_or_nan(column)?);
            }
            lines.push(row.line as u32);
        }
        if lines.is_empty() {
            return Err(Error::parse(rows.path, 0, "has no rows below its header, expected at least one"));
        }
        Ok(Self { stamps, lines, values, footer: footer.text() })
    }
}
