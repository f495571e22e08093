//! Tables with a column for each series.

use std::path::Path;
use std::sync::Arc;

use super::covariates::{Covariates, Encoded};
use super::long;
use super::stamps::Stamps;
use super::timeline::Placing;
use super::{Extent, Read, ReadOptions, ReadReport, report_of};
use crate::error::shown;
use crate::series::{Panel, Series};
use crate::table::values::is_missing;
use crate::table::{Beginning, Column, Footer, Header, Precision, Rows, Spread};
use crate::{Error, Result};

/// The columns of a wide table.
struct Columns {
    series: Vec<Column>,
    covariates: Vec<Column>,
    skipped: Vec<String>,
    /// A sentence about columns of text.
    note: Option<String>,
}

/// Reads the rows below a header.
pub(super) fn read<'p>(
    mut rows: Rows<'p>,
    header: &Header<'p>,
    options: &ReadOptions,
    beginning: &Beginning,
    extent: Extent<'_>,
) -> Result<Read> {
    refuse_roles(header, options)?;
    let date = Stamps::find(header, &mut rows, options, beginning)?;
    let columns = Columns::of(header, date.as_ref(), options, beginning, &mut rows)?;
    let ids = long::ids(header, beginning, date.as_ref());
    let covariates = Covariates::of(&columns.covariates, options, beginning);
    let stamps = Stamps::of(date, options, beginning, extent);
    let mut table = Table::read(&mut rows, header, &columns, stamps, covariates)?;
    let Encoded { names, values: covariates, notes } =
        table.covariates.encoded(header, |row| table.values.iter().any(|values| !values[row].is_nan()))?;
    let wanted = std::mem::take(&mut table.values).into_iter().chain(covariates);
    let date = table.stamps.column.as_ref().map(|column| column.name.clone());
    let all: Vec<u32> = (0..table.lines.len() as u32).collect();
    let width = columns.series.len() + names.len();
    let placing = Placing { path: rows.path, header, options, lines: &table.lines, names: &[], ids: &ids, width };
    let timeline = placing.place(table.stamps, vec![all])?;
    let track = &timeline.series[0];
    let mut placed = wanted.map(|values| track.values(values.into(), options.duplicates));
    let mut values: Vec<Vec<f32>> = placed.by_ref().take(columns.series.len()).collect();
    let covariates: Vec<Arc<[f32]>> = placed.map(Arc::from).collect();
    for (column, values) in columns.series.iter().zip(&values) {
        if extent.is_whole() && values.iter().all(|value| value.is_nan()) {
            return Err(no_value(rows.path, &column.name));
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
    let panel = Panel::with_names(timeline.clock.clone(), series, names, Vec::new())?;
    let report = ReadReport {
        rows: table.lines.len(),
        date,
        future,
        skipped: columns.skipped,
        empty_rows: rows.empty().count,
        footer: table.footer,
        notes: columns.note.into_iter().chain(notes).chain(table.lost).collect(),
        ..report_of(&panel, Some(&timeline))?
    };
    Ok(Read { panel, report })
}

/// The error of a column without values.
pub(super) fn no_value(path: &Path, column: &str) -> Error {
    let reason = "has no value in any row, expected at least one";
    let error = Error::parse(path, 0, reason).in_field(shown(column));
    error.with_hint("leave the column out: `--target` (`data.columns`) names those to read")
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
    fn of(
        header: &Header<'_>,
        date: Option<&Column>,
        options: &ReadOptions,
        beginning: &Beginning,
        rows: &mut Rows<'_>,
    ) -> Result<Self> {
        let (mut note, mut texts) = (None, Vec::new());
        let mut taken: Vec<Column> = date.cloned().into_iter().collect();
        let covariates = header.assign_all(&options.covariates, &mut taken)?;
        let mut skipped = Vec::new();
        let series = match &options.columns {
            Some(names) => header.assign_all(names, &mut taken)?,
            None => {
                let free = header.columns().filter(|column| !taken.contains(column));
                let (named, unnamed): (Vec<_>, Vec<_>) = free.partition(|column| !column.name.is_empty());
                skipped.extend(unnamed.iter().map(|column| header.label(column.at)));
                let numbers: Vec<Column>;
                (texts, numbers) = named.into_iter().partition(|column| beginning.is_text(column.at));
                numbers
            }
        };
        if series.is_empty() {
            if let Some(error) = not_numbers(&texts, beginning, header, rows)? {
                return Err(error);
            }
            let error = header.error("has no column for a series, expected at least one besides the dates");
            return Err(error.with_hint(format!("the columns are {}", header.all())));
        }
        if !texts.is_empty() {
            let names: Vec<String> = texts.iter().map(|column| format!("`{}`", shown(&column.name))).collect();
            note = Some(format!(
                "columns of text are left out: {}; `--covariates` (`data.future_covariates`) takes those that are \
                 known in the future, `--id` (`data.id`) the one that names series, `--target` (`data.columns`) columns of \
                 numbers",
                names.join(", ")
            ));
        }
        if options.columns.is_some() {
            let all = header.columns();
            skipped.extend(all.filter(|c| !taken.contains(c) && !series.contains(c)).map(|c| header.label(c.at)));
        }
        Ok(Self { series, covariates, skipped, note })
    }
}

/// The error of columns of which none holds numbers, at the first value of the one that is the most like numbers.
fn not_numbers(
    texts: &[Column],
    beginning: &Beginning,
    header: &Header<'_>,
    rows: &mut Rows<'_>,
) -> Result<Option<Error>> {
    let has_digit = |column: &&Column| {
        let first = beginning.column(column.at).iter().find(|field| !is_missing(field));
        first.is_some_and(|field| field.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    };
    let Some(column) = texts.iter().find(has_digit).or(texts.last()) else { return Ok(None) };
    while let Some(row) = rows.next()? {
        if is_missing(row.get(column)) {
            continue;
        }
        let reason =
            format!("found `{}`, expected a number: no column holds numbers for a series", shown(row.get(column)));
        let hint = format!(
            "write numbers without units and signs such as %, or name columns of numbers by `--target` \
             (`data.columns`); the columns are {}",
            header.all()
        );
        return Ok(Some(row.error(&column.name, reason).with_hint(hint)));
    }
    Ok(None)
}

/// The rows as far as they are kept.
struct Table {
    stamps: Stamps,
    /// The line of each row.
    lines: Vec<u32>,
    /// A value for each row of each series.
    values: Vec<Vec<f32>>,
    covariates: Covariates,
    footer: Option<String>,
    /// A sentence about digits that values lose.
    lost: Option<String>,
}

impl Table {
    fn read(
        rows: &mut Rows<'_>,
        header: &Header<'_>,
        columns: &Columns,
        mut stamps: Stamps,
        mut covariates: Covariates,
    ) -> Result<Self> {
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); columns.series.len()];
        let (mut lines, mut footer, mut precision) = (Vec::new(), Footer::default(), Precision::new(Spread::Changes));
        while let Some(row) = rows.next()? {
            if header.len() > 1 && footer.takes(row, |text| stamps.may_be(text)) {
                continue;
            }
            footer.ends_before(row, "a row of values")?;
            row.check_fields(header.len(), "the header has")?;
            stamps.push(row, lines.len())?;
            for (at, (values, column)) in values.iter_mut().zip(&columns.series).enumerate() {
                values.push(precision.single(at, row.exact_or_nan(column)?));
            }
            covariates.push(row)?;
            lines.push(row.line as u32);
        }
        if lines.is_empty() {
            return Err(Error::parse(rows.path, 0, "has no rows below its header, expected at least one"));
        }
        let lost = precision.note("series", |at| Some(columns.series[at].name.as_str()));
        Ok(Self { stamps, lines, values, covariates, footer: footer.text(), lost })
    }
}
