//! Tables with a row for each value.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::covariates::{Covariates, Encoded};
use super::stamps::{Stamps, is_called_date};
use super::timeline::{Placing, Timeline, Track};
use super::{Extent, Read, ReadOptions, ReadReport, TableLayout, report_of};
use crate::error::shown;
use crate::labels::Labels;
use crate::series::{Panel, Series};
use crate::table::values::{is_missing, is_missing_text, looks_like_number};
use crate::table::{
    Beginning, Column, Feature, Footer, Header, MOST_CATEGORIES, Precision, Row, Rows, Spread, part_of_column, unseen,
};
use crate::{Error, Result};

/// Names that a column of ids has.
const IDS: [&str; 4] = ["unique_id", "item_id", "series_id", "ts_id"];
/// Names that a column of values has.
const TARGETS: [&str; 4] = ["y", "target", "value", "data"];

/// The columns of a long table.
pub(super) struct Columns {
    pub(super) id: Column,
    pub(super) target: Column,
    pub(super) label: Option<Column>,
    /// Columns of static features, each once.
    pub(super) statics: Vec<Column>,
    pub(super) covariates: Vec<Column>,
    pub(super) skipped: Vec<String>,
}

/// If true, a table is long by its header, or by the options.
pub(super) fn looks_like(header: &Header<'_>, options: &ReadOptions) -> bool {
    options.id.is_some() || header.find_any(&IDS).is_some() || is_tfb(header)
}

/// `date`, `data` and `cols`, the layout of TFB (Qiu et al. 2024).
fn is_tfb(header: &Header<'_>) -> bool {
    ["date", "data", "cols"].iter().all(|name| header.names.iter().any(|column| column == name))
}

/// The column of series' names in a table that is long by its header or by the options.
pub(super) fn id(header: &Header<'_>, options: &ReadOptions) -> Result<Option<Column>> {
    match &options.id {
        Some(name) => header.column(name).map(Some),
        None if is_tfb(header) => header.column("cols").map(Some),
        None => Ok(header.find_any(&IDS)),
    }
}

/// The columns of series' names and of values in a table whose header does not tell that it is long: one column holds
/// text that names series, and one of the others is called like values or is the only one. `None` for a wide table.
///
/// # Errors
/// Where a column names series, and each of several others may hold their values.
pub(super) fn guessed(
    header: &Header<'_>,
    rows: &mut Rows<'_>,
    options: &ReadOptions,
    beginning: &Beginning,
) -> Result<Option<[String; 2]>> {
    let date = Stamps::find(header, rows, options, beginning)?;
    let one = match options.columns.as_deref() {
        None => options.target.as_ref(),
        Some([one]) => Some(one),
        Some(_) => return Ok(None),
    };
    let taken = |column: &Column| {
        let named = options.covariates.iter().chain(&options.statics).chain(options.label.as_ref());
        date.as_ref() == Some(column) || named.into_iter().any(|name| *name == column.name)
    };
    let free: Vec<Column> = header.columns().filter(|column| !column.name.is_empty() && !taken(column)).collect();
    let (texts, numbers): (Vec<&Column>, Vec<&Column>) = free.iter().partition(|column| beginning.is_text(column.at));
    let dates = date.as_ref().map(|date| beginning.column(date.at));
    let texts = texts.into_iter().filter(|column| !is_called_date(&column.name));
    let kinds = texts.filter_map(|column| Some((series_named(beginning.column(column.at), dates)?, column)));
    let Some((count, id)) = kinds.min_by_key(|(count, _)| *count) else { return Ok(None) };
    let target = match (one, numbers.as_slice()) {
        (Some(name), _) => Some(name.clone()),
        (None, [only]) => Some(only.name.clone()),
        (None, _) => header.find_any(&TARGETS).map(|column| column.name),
    };
    match target {
        Some(target) if id.name != target => Ok(Some([id.name.clone(), target])),
        None if count > 1 && !numbers.is_empty() => {
            let names: Vec<String> = numbers.iter().map(|column| format!("`{}`", shown(&column.name))).collect();
            let reason = format!(
                "has the names of series in column `{}`, and their values may stand in {}",
                shown(&id.name),
                names.join(", ")
            );
            let hint = format!("name the column of values: `--target {}` (`data.columns`)", shown(&numbers[0].name));
            Err(header.error(reason).with_hint(hint))
        }
        _ => Ok(None),
    }
}

/// The number of series that the texts of a column name; `None` where they rather say something of rows. Names repeat, as
/// dates do in rows of several series, and no name has a date twice.
fn series_named(texts: &[String], dates: Option<&[String]>) -> Option<usize> {
    let is_word = |text: &String| !is_missing(text) && text.chars().any(char::is_alphabetic);
    if !texts.iter().all(is_word) {
        return None;
    }
    let rows = texts.len();
    let names = texts.iter().collect::<HashSet<_>>().len();
    let Some(dates) = dates else { return (names * 2 <= rows).then_some(names) };
    let stamps = dates.iter().collect::<HashSet<_>>().len();
    if stamps == rows {
        return (names == 1).then_some(1);
    }
    let pairs = texts.iter().zip(dates).collect::<HashSet<_>>().len();
    let repeat = names * 2 <= rows || stamps * 2 <= rows;
    (repeat && pairs * 10 >= rows * 9).then_some(names)
}

/// The columns of a wide table that may name series whose rows it has below each other: one of them, or several together.
pub(super) fn ids(header: &Header<'_>, beginning: &Beginning, date: Option<&Column>) -> Vec<String> {
    let Some(dates) = date.map(|date| beginning.column(date.at)) else { return vec![] };
    let is_name =
        |text: &String| text.parse::<i64>().is_ok() || !is_missing(text) && text.contains(char::is_alphabetic);
    let free: Vec<Column> = header.columns().filter(|column| Some(column) != date && !column.name.is_empty()).collect();
    // One column has the values.
    let names =
        free.iter().take(free.len().saturating_sub(1)).filter(|column| beginning.column(column.at).iter().all(is_name));
    let names: Vec<&Column> = names.collect();
    let tell_apart = |columns: &[&Column]| {
        let stamps = dates.iter().collect::<HashSet<_>>().len();
        let of = |row: usize| columns.iter().map(|column| beginning.column(column.at).get(row)).collect::<Vec<_>>();
        let series = (0..dates.len()).map(of).collect::<HashSet<_>>().len();
        let rows = (0..dates.len()).map(|row| (of(row), &dates[row])).collect::<HashSet<_>>().len();
        // The first series may be longer than the beginning of the table.
        rows == dates.len() && if stamps == rows { series == 1 } else { series * 2 <= rows && stamps * 2 <= rows }
    };
    let of = |columns: &[&Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let one = names.iter().find(|column| tell_apart(&[column]));
    match one {
        Some(column) => of(&[column]),
        None if names.len() > 1 && tell_apart(&names) => of(&names),
        None => vec![],
    }
}

/// Reads the rows below a header.
pub(super) fn read<'p>(
    mut rows: Rows<'p>,
    header: &Header<'p>,
    options: &ReadOptions,
    beginning: &Beginning,
    extent: Extent<'_>,
) -> Result<Read> {
    let target = options.target_of_long_table();
    if options.columns.is_some() && (target.is_none() || options.target.is_some()) {
        let reason = "is read as a long table, in which one column has the values of all series";
        let hint = "name one column by `--target` (`data.columns`), or set `data.layout=wide`";
        return Err(header.error(reason).with_hint(hint));
    }
    let options = &ReadOptions { columns: None, target, ..options.clone() };
    // Rows that are numbered without a name have no dates.
    let first = |column: &Column| beginning.column(column.at).first().cloned();
    let is_number = |column: &Column| first(column).is_some_and(|field| field.parse::<i64>().is_ok());
    let date = Stamps::find(header, &mut rows, options, beginning)?
        .filter(|column| !column.name.is_empty() || !is_number(column));
    let columns = Columns::of(header, date.as_ref(), options)?;
    let date_name = date.as_ref().map(|column| column.name.clone());
    let covariates = Covariates::of(&columns.covariates, options, beginning);
    let stamps = Stamps::of(date, options, beginning, extent);
    let (mut table, stamps) = Table::read(&mut rows, header, &columns, (stamps, covariates), options)?;
    let lines = std::mem::take(&mut table.lines);
    let placing = Placing {
        path: rows.path,
        header,
        options,
        lines: &lines,
        names: &table.names,
        ids: &[],
        width: 1 + table.covariates.len(),
    };
    let timeline = placing.place(stamps, std::mem::take(&mut table.rows))?;
    let read = table.finish(&timeline, header, &columns, options, extent)?;
    let empty_rows = rows.empty().count;
    let report = ReadReport { rows: lines.len(), empty_rows, date: date_name, skipped: columns.skipped, ..read.report };
    Ok(Read { report, ..read })
}

impl Columns {
    fn of(header: &Header<'_>, date: Option<&Column>, options: &ReadOptions) -> Result<Self> {
        let mut taken: Vec<Column> = date.cloned().into_iter().collect();
        let tfb = options.layout == TableLayout::Tfb || is_tfb(header);
        let known = |asked: &Option<String>, of_tfb: &str, names: &[&str], [what, option]: [&str; 2]| match asked {
            Some(name) => header.column(name),
            None if tfb => header.column(of_tfb),
            None => header.find_any(names).ok_or_else(|| {
                let error = header.error(format!("has no column of {what}, expected one of `{}`", names.join("`, `")));
                error.with_hint(format!("name it by {option}; the columns are {}", header.all()))
            }),
        };
        let id = known(&options.id, "cols", &IDS, ["ids", "`--id` (`data.id`)"])?;
        header.assign(&id, &mut taken)?;
        let target = known(&options.target, "data", &TARGETS, ["values", "`--target` (`data.columns`)"])?;
        header.assign(&target, &mut taken)?;
        let label = match &options.label {
            Some(name) if options.label_optional && !header.names.contains(name) => None,
            Some(name) => Some(header.column(name)?),
            None => None,
        };
        label.iter().try_for_each(|label| header.assign(label, &mut taken))?;
        let mut statics: Vec<Column> = Vec::new();
        for name in options.known_statics.as_ref().unwrap_or(&options.statics) {
            let column = match part_of_column(header, name) {
                Some(part) => part.column().clone(),
                None => header.column(name)?,
            };
            // Several features of training may be parts of one column.
            if options.known_statics.is_none() || !statics.contains(&column) {
                header.assign(&column, &mut taken)?;
                statics.push(column);
            }
        }
        let covariates = header.assign_all(&options.covariates, &mut taken)?;
        let all = header.columns();
        let skipped = all.filter(|column| !taken.contains(column)).map(|column| header.label(column.at)).collect();
        Ok(Self { id, target, label, statics, covariates, skipped })
    }
}

/// The rows as far as they are kept.
pub(super) struct Table {
    /// Names of the series, in the order in which they first occur.
    pub(super) names: Vec<String>,
    /// The rows of each series.
    pub(super) rows: Vec<Vec<u32>>,
    /// The line of each row.
    pub(super) lines: Vec<u32>,
    pub(super) values: Vec<f32>,
    pub(super) covariates: Covariates,
    /// The text of each series in each of `static_columns`, with its line.
    pub(super) statics: Vec<Constant<String>>,
    pub(super) static_columns: Vec<Column>,
    pub(super) path: PathBuf,
    pub(super) labels: Constant<String>,
    pub(super) footer: Option<String>,
    pub(super) precision: Precision,
}

impl Table {
    fn read(
        rows: &mut Rows<'_>,
        header: &Header<'_>,
        columns: &Columns,
        (mut stamps, covariates): (Stamps, Covariates),
        options: &ReadOptions,
    ) -> Result<(Self, Stamps)> {
        let mut table = Self {
            names: Vec::new(),
            rows: Vec::new(),
            lines: Vec::new(),
            values: Vec::new(),
            covariates,
            statics: columns.statics.iter().map(|_| Constant::default()).collect(),
            static_columns: columns.statics.clone(),
            path: rows.path.to_path_buf(),
            labels: Constant::default(),
            footer: None,
            precision: Precision::new(Spread::Changes),
        };
        let (mut places, mut footer) = (std::collections::HashMap::new(), Footer::default());
        while let Some(row) = rows.next()? {
            if row.len() == 1 && footer.takes(row, |_| false) {
                continue;
            }
            footer.ends_before(row, "a row of values")?;
            row.check_fields(header.len(), "the header has")?;
            let series = table.series_of(row, &columns.id, &mut places)?;
            stamps.push(row, table.rows[series].len())?;
            table.rows[series].push(table.lines.len() as u32);
            table.push(row, series, columns, options)?;
        }
        if table.lines.is_empty() {
            return Err(Error::parse(rows.path, 0, "has no rows below its header, expected at least one"));
        }
        table.footer = footer.text();
        Ok((table, stamps))
    }

    /// The number of a row's series. Rows of one series usually follow each other.
    fn series_of(
        &mut self,
        row: Row<'_>,
        id: &Column,
        places: &mut std::collections::HashMap<String, usize>,
    ) -> Result<usize> {
        let name = row.text(id.at);
        if name.is_empty() {
            return Err(row.error(&id.name, "is empty, expected the id of a series"));
        }
        if let Some(known) = places.get(name) {
            return Ok(*known);
        }
        places.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.rows.push(Vec::new());
        Ok(self.names.len() - 1)
    }

    /// Keeps what a row says besides id and stamp.
    fn push(&mut self, row: Row<'_>, series: usize, columns: &Columns, options: &ReadOptions) -> Result<()> {
        self.values.push(self.precision.single(series, row.exact_or_nan(&columns.target)?));
        self.covariates.push(row)?;
        for (of, column) in self.statics.iter_mut().zip(&columns.statics) {
            // `1` is `1.0`.
            let text = &*row.value(column)?;
            let (text, what) = match text.parse::<f32>() {
                Ok(number) => (number.to_string(), "number"),
                Err(_) => (text.to_owned(), "value"),
            };
            of.note(series, text, row, &column.name, what)?;
        }
        if let Some(column) = &columns.label {
            let label = row.text(column.at);
            if label.is_empty() && !options.label_optional {
                return Err(row.error(&column.name, "is empty, expected the label of the series"));
            }
            self.labels.note(series, label.to_owned(), row, &column.name, "label")?;
        }
        self.lines.push(row.line as u32);
        Ok(())
    }

    /// The panel of the rows, which are placed.
    pub(super) fn finish(
        mut self,
        timeline: &Timeline,
        header: &Header<'_>,
        columns: &Columns,
        options: &ReadOptions,
        extent: Extent<'_>,
    ) -> Result<Read> {
        let mut future = 0;
        let (statics, mut notes) = self.static_features(header, options)?;
        let covariates = std::mem::take(&mut self.covariates).encoded(header, |row| !self.values[row].is_nan())?;
        notes.extend(covariates.notes.iter().cloned());
        notes.extend(self.precision.note("series", |at| Some(self.names[at].as_str())));
        let series = (0..self.names.len()).map(|at| {
            let series = self.series(at, timeline, (&covariates, &statics), options)?;
            future += timeline.series[at].len - series.len();
            match extent.is_whole() && (series.is_empty() || series.missing() == series.len()) {
                true => Err(no_value(&self.path, &self.names[at], &columns.target.name)),
                false => Ok(series),
            }
        });
        let series = series.collect::<Result<_>>()?;
        let of_statics = statics.iter().map(Feature::name).collect();
        let panel = Panel::with_names(timeline.clock.clone(), series, covariates.names, of_statics)?;
        let labels = self.labels.labels(&self.path, columns.label.as_ref(), options.label_optional)?;
        let report = ReadReport { future, footer: self.footer, notes, ..report_of(&panel, Some(timeline))? };
        Ok(Read { panel: panel.with_labels(labels)?, report })
    }

    /// A series; with covariates it ends with the last value that is there.
    fn series(
        &self,
        at: usize,
        timeline: &Timeline,
        (covariates, statics): (&Encoded, &[Feature]),
        options: &ReadOptions,
    ) -> Result<Series> {
        let track: &Track = &timeline.series[at];
        let of = |values: &[f32]| track.values(Cow::Borrowed(values), options.duplicates);
        let mut values = of(&self.values);
        let covariates: Vec<Arc<[f32]>> = covariates.values.iter().map(|all| of(all).into()).collect();
        if !covariates.is_empty() {
            values.truncate(values.iter().rposition(|value| !value.is_nan()).map_or(0, |last| last + 1));
        }
        let statics = statics.iter().map(|feature| self.static_of(feature, at)).collect::<Result<_>>()?;
        Ok(Series::new(&self.names[at], track.start, values).with_covariates(covariates).with_statics(statics))
    }

    /// The features of the static columns: those of training, or numbers and few different texts; and sentences on texts
    /// that training did not have.
    fn static_features(&self, header: &Header<'_>, options: &ReadOptions) -> Result<(Vec<Feature>, Vec<String>)> {
        let number = |column: &Column| Feature::Number { column: column.clone(), may_miss: true };
        if let Some(names) = &options.known_statics {
            let known = |name: &String| match part_of_column(header, name) {
                Some(part) => Ok(part),
                None => header.column(name).map(|column| number(&column)),
            };
            let features: Vec<Feature> = names.iter().map(known).collect::<Result<_>>()?;
            let of_column = |column: &Column| -> Vec<&str> {
                let of_column = features.iter().filter_map(|feature| match feature {
                    Feature::Category { column: own, value } if own == column => Some(value.as_str()),
                    _ => None,
                });
                of_column.collect()
            };
            let notes = self.static_columns.iter().zip(&self.statics).filter_map(|(column, texts)| {
                let encoded = of_column(column);
                let new = |text: &&str| !is_missing(text) && !encoded.contains(text);
                let texts: BTreeSet<&str> = texts.0.iter().map(|(text, _)| text.as_str()).filter(new).collect();
                let texts: Vec<String> = texts.into_iter().map(|text| format!("`{}`", shown(text))).collect();
                (!encoded.is_empty() && !texts.is_empty()).then(|| unseen(&column.name, &texts, "in training"))
            });
            let notes = notes.collect();
            return Ok((features, notes));
        }
        let (mut features, mut indicators) = (Vec::new(), Vec::new());
        for (column, texts) in self.static_columns.iter().zip(&self.statics) {
            let texts: BTreeSet<&str> =
                texts.0.iter().map(|(text, _)| if is_missing_text(text) { "" } else { text }).collect();
            if texts.iter().any(|text| looks_like_number(text)) || texts.iter().all(|text| is_missing(text)) {
                features.push(number(column));
                if texts.iter().any(|text| is_missing(text)) {
                    indicators.push(Feature::Missing(column.clone()));
                }
            } else if texts.len() <= MOST_CATEGORIES {
                let part = |value: &&str| Feature::Category { column: column.clone(), value: (*value).to_owned() };
                features.extend(texts.iter().map(part));
            } else {
                let reason = format!(
                    "column `{}` has {} different texts, at most {MOST_CATEGORIES} are encoded",
                    shown(&column.name),
                    texts.len()
                );
                return Err(header.error(reason).with_hint("leave it out of `data.static_covariates`"));
            }
        }
        features.extend(indicators);
        Ok((features, Vec::new()))
    }

    /// The value of a static feature of a series.
    fn static_of(&self, feature: &Feature, series: usize) -> Result<f32> {
        let column = feature.column();
        let place = self.static_columns.iter().position(|known| known == column);
        let (text, line) = &self.statics[place.unwrap_or(0)].0[series];
        feature.of_field(text).map_err(|fault| fault.in_line(&self.path, *line, &column.name))
    }
}

/// The error of a series without values.
pub(super) fn no_value(path: &Path, name: &str, target: &str) -> Error {
    let reason = format!("series `{}` has no value in any row, expected at least one", shown(name));
    Error::parse(path, 0, reason).in_field(shown(target))
}

/// A value for each series, with the line on which it was found first.
pub(super) struct Constant<T>(pub(super) Vec<(T, usize)>);

impl<T> Default for Constant<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq + ToString> Constant<T> {
    /// Notes the value of a row; series are counted in the order in which they first occur.
    pub(super) fn note(&mut self, series: usize, value: T, row: Row<'_>, field: &str, what: &str) -> Result<()> {
        match self.0.get(series) {
            None => self.0.push((value, row.line)),
            Some((known, _)) if *known == value => {}
            Some((known, line)) => {
                let (here, there) = (shown(&value.to_string()), shown(&known.to_string()));
                let reason = format!("found the {what} `{here}`, the series has `{there}`");
                let error = row.error(field, reason).on_line(*line);
                return Err(error.with_hint(format!("a series has one {what}, the same in all its rows")));
            }
        }
        Ok(())
    }
}

impl Constant<String> {
    /// The labels of all series; none when they are optional and nowhere given.
    pub(super) fn labels(self, path: &Path, column: Option<&Column>, optional: bool) -> Result<Option<Labels>> {
        let Some(column) = column else {
            return Ok(None);
        };
        let missing = self.0.iter().find(|(label, _)| label.is_empty()).map(|(_, line)| *line);
        match missing {
            None => Ok(Some(Labels::of_texts(self.0.into_iter().map(|(label, _)| label).collect()))),
            Some(_) if optional && self.0.iter().all(|(label, _)| label.is_empty()) => Ok(None),
            Some(line) => {
                Err(Error::parse(path, line, "is empty, expected the label of the series").in_field(&column.name))
            }
        }
    }
}
