//! Future values of covariates in a file of their own.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::stamps::Stamps;
use super::{Extent, Read, ReadOptions, by_row, long, parse};
use crate::error::shown;
use crate::table::numbers::Decimal;
use crate::table::write::quoted;
use crate::table::{Column, Footer, Header, Row, Rows, Text};
use crate::{Error, Result};

/// Rows of the future, as they stand below those of the other file.
struct Rest {
    path: PathBuf,
    /// In the columns of the other file, and with its decimal marks.
    text: String,
    /// The line of the other file's text below its table, above which the rows go.
    footer: Option<usize>,
    /// The line of each row in its own file.
    lines: Vec<usize>,
    /// The number of rows of each series; of all under an empty name where rows are shared.
    rows: HashMap<String, usize>,
    notes: Vec<String>,
}

/// Reads series from a file, and the future values of their covariates from another: rows after the end of the series,
/// with the same columns of dates, of series' names (where there is one) and of covariates.
///
/// # Errors
/// As [`super::read`] for both files; also when rows of the future do not begin after the last value of a series, or
/// leave out a stamp.
pub fn read_with_future(path: &Path, future: &Path, options: &ReadOptions) -> Result<Read> {
    if options.covariates.is_empty() {
        let error = Error::parse(future, 0, "has future values of covariates, but no covariates are named");
        return Err(error.with_hint("name them by `--covariates` (`data.future_covariates`)"));
    }
    let Text { mut text, delimiter, encoding } = Text::read(path)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let rows = Rows::of_text(&text, path, options.delimiter.or(delimiter))?;
    let rows = rows.with_marks(options.decimal, options.likely_decimal)?;
    let separator = rows.separator();
    let (names, rest) = rest(rows, future, options)?;
    let before = rest.footer.map_or(usize::MAX, |line| line - 1).min(text.matches('\n').count());
    let end: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    text.insert_str(end, &rest.text);
    let options = ReadOptions { delimiter: Some(separator), ..options.clone() };
    let mut read = parse(&text, path, &options).map_err(|error| rest.placed(error, path, before))?;
    read.report.notes.extend(rest.notes.iter().cloned());
    read.report.encoding = encoding.note().map(str::to_owned);
    rest.check(&read, names.as_ref())?;
    Ok(read)
}

/// The column of series' names, where there is one, and the rows of the future in the columns of the other file.
fn rest<'p>(mut rows: Rows<'p>, future: &Path, options: &ReadOptions) -> Result<(Option<Column>, Rest)> {
    let beginning = rows.beginning()?;
    let header = Header::of(&mut rows, "a header and rows of values")?;
    if by_row::looks_like(&header, &beginning) {
        let reason = "has a row for each series and no covariates, so that it has no future values of any";
        return Err(header.error(reason));
    }
    let date = Stamps::find(&header, &mut rows, options, &beginning)?;
    let id = match long::id(&header, options)? {
        Some(id) => Some(id),
        None => {
            long::guessed(&header, &mut rows, options, &beginning)?.map(|[id, _]| header.column(&id)).transpose()?
        }
    };
    let mut wanted: Vec<Column> = date.clone().into_iter().chain(id.clone()).collect();
    wanted.extend(options.covariates.iter().map(|name| header.column(name)).collect::<Result<Vec<_>>>()?);
    let separator = char::from(rows.separator()).to_string();
    let (mut known, mut footer): (HashSet<String>, _) = (HashSet::new(), Footer::default());
    let stamps = Stamps::of(date, options, &beginning, Extent::Whole);
    while let Some(row) = rows.next()? {
        let may_be_text = if id.is_some() { row.len() == 1 } else { header.len() > 1 };
        if may_be_text && footer.takes(row, |text| id.is_none() && stamps.may_be(text)) {
            continue;
        }
        // Text above rows of values is no footer, which is said when the table is read.
        footer = Footer::default();
        if let Some(name) = id.as_ref().map(|id| row.text(id.at)).filter(|name| !known.contains(*name)) {
            known.insert(name.to_owned());
        }
    }
    let Text { text, delimiter, encoding } = Text::read(future)?;
    let ahead = Rows::of_text(&text, future, options.delimiter.or(delimiter))?;
    // What may be read in both ways is read as in the other file.
    let mut ahead = ahead.with_marks(options.decimal, rows.decimal().or(options.likely_decimal))?;
    let names = Header::of(&mut ahead, "a header and rows of the future")?;
    names.check_distinct()?;
    let places: Vec<(usize, Column)> =
        wanted.iter().map(|column| Ok((column.at, names.column(&column.name)?))).collect::<Result<_>>()?;
    let unread: Vec<String> = (0..names.len())
        .filter(|at| places.iter().all(|(_, column)| column.at != *at))
        .map(|at| names.label(at))
        .collect();
    let notes = ahead.note().map(str::to_owned).into_iter();
    let notes = notes.chain(encoding.note().map(|note| format!("the file {note}")));
    let mut rest = Rest {
        path: future.to_path_buf(),
        text: String::new(),
        footer: footer.line(),
        lines: vec![],
        rows: HashMap::new(),
        notes: notes.map(|note| format!("{}: {note}", future.display())).collect(),
    };
    let covariates = places.len() - options.covariates.len()..places.len();
    if !unread.is_empty() {
        let (file, unread) = (future.display(), unread.join(", "));
        rest.notes.push(format!(
            "{file}: columns not read: {unread}; `--covariates` (`data.future_covariates`) names those of the future"
        ));
    }
    while let Some(row) = ahead.next()? {
        row.check_fields(names.len(), "the header has")?;
        let mut fields = vec![String::new(); header.len()];
        for (which, (at, column)) in places.iter().enumerate() {
            let number = if covariates.contains(&which) { number_with_marks(row, column)? } else { None };
            fields[*at] = match number {
                Some(number) => written(number, rows.mark(*at)),
                None => row.get(column).replace(['\n', '\r'], " "),
            };
        }
        let series = id.as_ref().map_or("", |id| fields[id.at].as_str());
        if let Some(id) = id.as_ref().filter(|_| !known.contains(series)) {
            return Err(row.error(&id.name, format!("found `{}`, expected a series of the other file", shown(series))));
        }
        if places[covariates.clone()].iter().all(|(at, _)| fields[*at].trim().is_empty()) {
            return Err(row.error(&options.covariates[0], "is empty, expected its value in the future"));
        }
        *rest.rows.entry(series.to_owned()).or_default() += 1;
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        rest.text.push_str(&fields.join(&separator));
        rest.text.push('\n');
        rest.lines.push(row.line);
    }
    if rest.lines.is_empty() {
        return Err(Error::parse(future, 0, "has no rows below its header, expected those of the future"));
    }
    Ok((id, rest))
}

/// The number of a field that has a mark, which may be another one than that of the other file.
fn number_with_marks(row: Row<'_>, column: &Column) -> Result<Option<f64>> {
    let plain = row.value(column)?;
    let has_mark = row.get(column).contains(['.', ',']) || *plain != *row.get(column);
    Ok(plain.parse().ok().filter(|number: &f64| has_mark && number.is_finite()))
}

/// A number with a decimal mark, so that no mark can be taken for one between thousands.
fn written(number: f64, mark: Option<Decimal>) -> String {
    let text = number.to_string();
    match (mark, text.split_once('.')) {
        (Some(Decimal::Comma), _) => text.replace('.', ","),
        (_, Some((_, fraction))) if fraction.len() == 3 => text + "0",
        _ => text,
    }
}

impl Rest {
    /// An error in these rows, where they stand in their own file.
    fn placed(&self, error: Error, path: &Path, before: usize) -> Error {
        let own = |line: usize| self.lines.get(line - before - 1).copied().unwrap_or(0);
        match error {
            Error::Parse { line, field, reason, other_line, hint, .. } if line > before => {
                let at = own(line);
                let error = match other_line {
                    Some(other) if other > before => Error::parse(&self.path, at, reason).on_line(own(other)),
                    Some(other) => {
                        Error::parse(&self.path, at, format!("{reason} on line {other} of {}", path.display()))
                    }
                    None => Error::parse(&self.path, at, reason),
                };
                let error = error.in_field(field);
                let hint = hint.unwrap_or_else(|| "the columns are those of the other file".to_owned());
                error.with_hint(format!("rows of the future come after the last value of their series; {hint}"))
            }
            other => other,
        }
    }

    /// Refuses rows that do not go on where the series end.
    fn check(&self, read: &Read, id: Option<&Column>) -> Result<()> {
        let panel = &read.panel;
        for (at, one) in panel.series().iter().enumerate() {
            let Some(first) = one.covariates().first() else { continue };
            let rows = self.rows.get(if id.is_some() { one.name() } else { "" }).copied().unwrap_or(0);
            let whose = if id.is_some() { format!("series `{}` has ", shown(one.name())) } else { "has ".to_owned() };
            let fail = |what: String| {
                let error = Error::parse(&self.path, 0, format!("{whose}{what}"));
                Err(error.with_hint("give a row for each stamp after the last value of the series, without a gap"))
            };
            if rows == 0 {
                return fail("no rows of the future, expected those after its last value".into());
            }
            let nothing = |step: &usize| one.covariates().iter().all(|values| values[*step].is_nan());
            if let Some(gap) = (one.len()..first.len()).find(nothing) {
                return fail(format!("no row for `{}`", panel.stamp(at, gap)?));
            }
            if first.len() - one.len() < rows {
                let reason = format!(
                    "{} of {rows} rows that are not after the last value, at `{}`",
                    rows - (first.len() - one.len()),
                    panel.stamp(at, one.len() - 1)?
                );
                return fail(reason);
            }
        }
        Ok(())
    }
}
