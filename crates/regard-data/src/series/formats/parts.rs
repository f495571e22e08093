//! Files of series of any size, read part by part: what is kept in memory are the values alone.
//!
//! A part is a table of neighbouring rows, read as any other table is. Its series are joined to those of the parts before:
//! each has its values on the steps of one clock. What has to be known of all rows at once is read whole.

use std::collections::HashMap;
use std::path::Path;

use super::timeline::most_steps;
use super::{Duplicates, Extent, Read, ReadOptions, ReadReport, TableLayout, long, report_of, table, wide};
use crate::file::{is_in_memory, is_read_once};
use crate::progress::{self, Stage};
use crate::series::{Clock, Panel, Series};
use crate::table::Rows;
use crate::table::stream::{Division, PART, Part, Stream, read_in_order};
use crate::{Error, Result};

/// Reads a file that is larger than 256 MiB part by part; `None` for one that is read whole: a smaller one, one whose
/// rows say more than stamp and value, one whose parts have stamps in common, or one that is not understood in parts. A
/// pipe of which the ends of series are asked for is read here, whatever its size.
///
/// # Errors
/// Those of a part, as [`super::read`] has them; a larger pipe that cannot be read in parts.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Option<Read>> {
    let is_piped = is_read_once(path);
    if !is_divisible(options) || is_in_memory(path) || is_piped && options.last.is_none() {
        return Ok(None);
    }
    of_stream(Stream::open(path, Division::Table, PART)?, is_piped, path, options)
}

/// If true, a part of the rows can be understood without the others.
fn is_divisible(options: &ReadOptions) -> bool {
    let has_more = !options.covariates.is_empty() || !options.statics.is_empty() || options.label.is_some();
    !has_more && options.duplicates != Duplicates::Mean
}

fn of_stream(mut stream: Stream<'_>, is_piped: bool, path: &Path, options: &ReadOptions) -> Result<Option<Read>> {
    // What came through a pipe is not there a second time.
    match stream.is_divided() {
        false if is_piped => match stream.next().transpose()? {
            Some(all) => all.open(|| super::whole(path, options)).map(Some),
            None => Ok(None),
        },
        false => Ok(None),
        true => match in_parts(stream, path, options, is_piped)? {
            None if is_piped => Err(only_together(path, TOGETHER)),
            found => Ok(found),
        },
    }
}

/// Why a pipe is refused.
const TOGETHER: &str = "has rows that are understood only together with all others, and a pipe of more than 256 MiB is read part \
                        by part";

fn only_together(path: &Path, reason: &str) -> Error {
    let hint = "give the name of a file, or where each row has one time stamp, sort the rows by it";
    Error::parse(path, 0, reason).with_hint(hint)
}

/// Reads parts and joins them; `None` where that is not possible.
fn in_parts(mut stream: Stream<'_>, path: &Path, options: &ReadOptions, is_piped: bool) -> Result<Option<Read>> {
    let size = path.metadata().map_or(0, |meta| meta.len());
    let of_part = |part: &Part, options: &ReadOptions, extent: Extent<'_>| {
        part.open(|| table(Rows::open(path, options.delimiter)?, options, extent))
    };
    // All others are read as the first one is.
    let Some(first) = stream.next().transpose()? else { return Ok(None) };
    let (first, layout) = match of_part(&first, options, Extent::First) {
        Ok((first, Some(layout))) => (first, layout),
        // What is wrong with a file is said when it is read whole, which a pipe cannot be.
        Err(error) if is_piped => {
            return Err(only_together(path, &format!("{TOGETHER}; of the first part alone: {error}")));
        }
        Ok((_, None)) | Err(_) => return Ok(None),
    };
    let (known, clock) = (known(&first, layout, options), first.panel.clock().clone());
    let Some(mut joined) = Joined::of(first, layout, options.last) else { return Ok(None) };
    let next = || {
        let part = stream.next().transpose()?;
        if let Some(done) = stream.bytes() {
            progress::report(Stage::Reading { path, done, size });
        }
        Ok(part.map(|part| (part, ())))
    };
    let read = |part: &Part| of_part(part, &known, Extent::Rest(&clock));
    let added = read_in_order(next, read, |read, ()| match read {
        // What is wrong with the rows of a part together is not known of the file.
        Err(Error::Parse { line: 0, .. }) => Err(Stop::Unjoined),
        Err(error) => Err(Stop::Failed(error)),
        Ok((read, _)) => joined.add(read).then_some(()).ok_or(Stop::Unjoined),
    });
    match added {
        Ok(()) => joined.finish(path, &known),
        Err(Stop::Unjoined) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Why no more parts are read.
enum Stop {
    /// The file has to be read whole.
    Unjoined,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The options by which all parts are read as the first one was.
fn known(first: &Read, layout: TableLayout, options: &ReadOptions) -> ReadOptions {
    let guessed = first.report.guessed.clone();
    let is_wide = layout == TableLayout::Wide;
    let target = if is_wide { options.target.clone() } else { options.target_of_long_table() };
    let [id, target] = guessed.map_or([options.id.clone(), target], |names| names.map(Some));
    ReadOptions {
        layout,
        date: first.report.date.clone(),
        without_dates: first.report.date.is_none(),
        frequency: Some(first.panel.clock().frequency()),
        columns: options.columns.clone().filter(|_| is_wide),
        id,
        target,
        ..options.clone()
    }
}

/// The series of the parts so far.
struct Joined {
    clock: Clock,
    layout: TableLayout,
    /// Steps at the end of each series that are kept; `None` for all.
    last: Option<usize>,
    series: Vec<Pieces>,
    places: HashMap<String, usize>,
    /// That of the first part, with the counts of all.
    report: ReadReport,
    /// Rows with a stamp that no row of their series had before.
    distinct: usize,
}

impl Joined {
    /// The series of the first part; `None` where it cannot be joined with others.
    fn of(first: Read, layout: TableLayout, last: Option<usize>) -> Option<Self> {
        let report = &first.report;
        let nothing = ReadReport {
            rows: 0,
            gaps: 0,
            out_of_order: 0,
            duplicates: 0,
            empty_rows: 0,
            footer: None,
            ..report.clone()
        };
        let mut joined = Self {
            clock: first.panel.clock().clone(),
            layout,
            last,
            series: Vec::with_capacity(first.panel.len()),
            places: HashMap::with_capacity(first.panel.len()),
            report: nothing,
            distinct: 0,
        };
        joined.add(first).then_some(joined)
    }

    /// Adds the next part; `false` where it cannot be joined.
    fn add(&mut self, part: Read) -> bool {
        let Read { panel, report } = part;
        // Stamps that could be read in another way need all rows, and what is below a table stands at its end.
        if report.stamps.is_some() || self.report.footer.is_some() {
            return false;
        }
        let Some(first) = self.clock.steps_to(panel.clock()) else { return false };
        let has_dates = report.date.is_some();
        let mut is_behind = false;
        for one in panel.into_series() {
            let start = first + one.start() as i64;
            let (name, values) = one.into_parts();
            let at = self.places.get(&name).copied().unwrap_or_else(|| {
                self.places.insert(name.clone(), self.series.len());
                self.series.push(Pieces::new(name));
                self.series.len() - 1
            });
            let series = &mut self.series[at];
            // Rows without dates are counted on.
            match series.add(if has_dates { start } else { series.end }, values) {
                Added::After => {}
                // How many rows of each series of a long table a part has is not known.
                Added::Before if self.layout == TableLayout::Wide => is_behind = true,
                Added::Before | Added::Not => return false,
            }
            if let Some(last) = self.last {
                series.forget_before(last);
            }
        }
        let all = &mut self.report;
        all.rows += report.rows;
        all.out_of_order += if is_behind { report.rows } else { report.out_of_order };
        all.duplicates += report.duplicates;
        all.empty_rows += report.empty_rows;
        all.footer = report.footer;
        all.encoding = all.encoding.take().or(report.encoding);
        self.distinct += report.rows - report.duplicates;
        true
    }

    /// The series of all parts; `None` where a wrong stamp would fill the memory.
    fn finish(self, path: &Path, options: &ReadOptions) -> Result<Option<Read>> {
        let first = self.series.iter().map(|one| one.start).min().unwrap_or(0);
        // The series of a wide table share their rows.
        let is_wide = self.layout == TableLayout::Wide;
        let (tracks, width) = if is_wide { (1, self.series.len()) } else { (self.series.len(), 1) };
        let steps: usize = self.series.iter().take(tracks).map(Pieces::len).sum();
        let Some(clock) = self.clock.moved(first).filter(|_| steps <= most_steps(self.report.rows, width)) else {
            return Ok(None);
        };
        let target = options.target.as_deref().unwrap_or_default();
        let missing = self.series.iter().map(|one| (one.name.clone(), one.len() - one.known)).collect();
        let series = self.series.into_iter().map(|mut one| {
            if let Some(last) = self.last {
                one.start = one.start.max(one.end - last as i64);
            }
            let start = (one.start - first) as usize;
            let has_values = one.known > 0;
            let (name, values) = one.filled();
            match has_values {
                false if is_wide => Err(wide::no_value(path, &name)),
                false => Err(long::no_value(path, &name, target)),
                true => Ok(Series::new(name, start, values)),
            }
        });
        let panel = Panel::new(clock, series.collect::<Result<_>>()?)?;
        let span = report_of(&panel, None)?.span;
        let gaps = steps.saturating_sub(self.distinct);
        Ok(Some(Read { panel, report: ReadReport { gaps, span, missing, ..self.report } }))
    }
}

/// The values of one series: pieces with the step of their first value, which have no step in common.
struct Pieces {
    name: String,
    pieces: Vec<(i64, Vec<f32>)>,
    /// Values that are not missing, of all pieces there ever were.
    known: usize,
    /// The first step of all.
    start: i64,
    /// The step after the last of all.
    end: i64,
}

/// The place of a piece that was added.
enum Added {
    /// After all others.
    After,
    /// Before all others.
    Before,
    /// Among them: it was not added.
    Not,
}

impl Pieces {
    fn new(name: String) -> Self {
        Self { name, pieces: Vec::new(), known: 0, start: 0, end: 0 }
    }

    /// Steps from the first to the last.
    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Adds the values from a step on.
    fn add(&mut self, start: i64, values: Vec<f32>) -> Added {
        let end = start + values.len() as i64;
        let added = match start >= self.end || self.start == self.end {
            true => Added::After,
            false if end <= self.start => Added::Before,
            false => return Added::Not,
        };
        let gap = (start - self.end) as usize;
        self.known += values.iter().filter(|value| !value.is_nan()).count();
        match self.pieces.last_mut() {
            // A longer gap is filled once it is known that there is room for it.
            Some((first, last)) if *first + last.len() as i64 == self.end && start >= self.end && gap <= last.len() => {
                let more = gap + values.len();
                if last.capacity() - last.len() < more {
                    // Twice as much as there is could be gigabytes that are never needed.
                    last.reserve_exact(more + last.len() / 8);
                }
                last.resize(last.len() + gap, f32::NAN);
                last.extend_from_slice(&values);
            }
            _ => self.pieces.push((start, values)),
        }
        let is_first = self.start == self.end;
        (self.start, self.end) = if is_first { (start, end) } else { (self.start.min(start), self.end.max(end)) };
        added
    }

    /// Frees what lies before the last steps.
    fn forget_before(&mut self, last: usize) {
        let from = self.end - last as i64;
        self.pieces.retain(|(start, values)| start + values.len() as i64 > from);
        for (start, values) in &mut self.pieces {
            let before = usize::try_from(from - *start).unwrap_or(0);
            // Few values are not worth moving the others for.
            if before > last {
                values.drain(..before);
                values.shrink_to_fit();
                *start = from;
            }
        }
    }

    /// The name, and the values of all steps from the first on, NaN where no row is.
    fn filled(mut self) -> (String, Vec<f32>) {
        let len = self.len();
        let mut values = match &self.pieces[..] {
            [(start, values)] if *start == self.start && values.len() == len => self.pieces.swap_remove(0).1,
            _ => vec![f32::NAN; len],
        };
        for (start, piece) in self.pieces {
            let known = &piece[usize::try_from(self.start - start).unwrap_or(0).min(piece.len())..];
            let at = (start.max(self.start) - self.start) as usize;
            values[at..at + known.len()].copy_from_slice(known);
        }
        values.shrink_to_fit();
        (self.name, values)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// A file read in parts of so many bytes, and read whole.
    fn both(text: &str, options: &ReadOptions, part: usize) -> (Result<Option<Read>>, Result<Read>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let parts = Stream::of_large(&path, Division::Table, part, 0);
        let parts = parts.and_then(|stream| of_stream(stream, false, &path, options));
        (parts, super::super::read(&path, options))
    }

    /// Asserts that a file is read in parts as it is read whole.
    fn same(text: &str, options: &ReadOptions) {
        let mut in_parts = 0;
        for part in [200, 999, 5000] {
            let (parts, whole) = both(text, options, part);
            let whole = whole.unwrap();
            let Some(found) = parts.unwrap() else { continue };
            in_parts += 1;
            assert_eq!(found.report, whole.report, "{part}");
            assert_eq!(found.panel.clock(), whole.panel.clock(), "{part}");
            let series = |panel: &Panel| format!("{:?}", panel.series());
            assert_eq!(series(&found.panel), series(&whole.panel), "{part}");
            let last = 1 + part / 40;
            let found = both(text, &ReadOptions { last: Some(last), ..options.clone() }, part).0.unwrap().unwrap();
            assert_eq!(found.report, whole.report, "{part}");
            let ends = whole.panel.series().iter().map(|one| {
                let before = one.len().saturating_sub(last);
                Series::new(one.name(), one.start() + before, one.values()[before..].to_vec())
            });
            assert_eq!(series(&found.panel), format!("{:?}", ends.collect::<Vec<_>>()), "{part}");
        }
        assert!(in_parts > 0, "no part was read as the file was");
    }

    /// Asserts that parts of a file cannot be joined, so that it is read whole.
    fn whole(text: &str, options: &ReadOptions) {
        for part in [200, 999] {
            assert!(both(text, options, part).0.unwrap().is_none(), "{part}");
        }
    }

    fn value(at: usize) -> f32 {
        (at * 37 % 101) as f32 / 8.0
    }

    /// Hours of January 2020, with some that are missing.
    fn hours() -> Vec<String> {
        let hour = |at: usize| format!("2020-01-{:02} {:02}:00:00", 1 + at / 24, at % 24);
        (0..500).filter(|at| at % 91 != 7 && !(200..230).contains(at)).map(hour).collect()
    }

    fn table(header: &str, rows: impl Iterator<Item = String>) -> String {
        rows.fold(format!("{header}\n"), |text, row| text + &row + "\n")
    }

    #[test]
    fn wide_tables_are_joined_in_time() {
        let options = ReadOptions::default();
        let hours = hours();
        let rows = || (0..).zip(&hours).map(|(at, hour)| format!("{hour},{},{}", value(at), value(at + 9)));
        same(&table("date,a,b", rows()), &options);
        // Newest first, the index of a data frame without a name, columns of text, and missing values.
        same(&table("date,a,b", rows().collect::<Vec<_>>().into_iter().rev()), &options);
        same(&table(",a,b", rows()), &options);
        same(&table("date,a,b,c", rows().map(|row| format!("{row},x"))), &options);
        let missing = |(at, row): (usize, String)| {
            if at % 3 == 0 { row.rsplit_once(',').unwrap().0.to_owned() + "," } else { row }
        };
        same(&table("date,a,b", rows().enumerate().map(missing)), &options);
        same(&table("date;a;b", rows().map(|row| row.replace(',', ";").replace('.', ","))), &options);
        same(&table("date,a,b", rows()), &ReadOptions { columns: Some(vec!["b".into()]), ..options.clone() });
        // Neighbours that are swapped, and a stamp that is there twice, lie in one part or make it be read whole.
        let mut swapped: Vec<String> = rows().collect();
        swapped.swap(3, 4);
        swapped.insert(10, swapped[9].replace(",", ",1"));
        same(&table("date,a,b", swapped.into_iter()), &ReadOptions { duplicates: Duplicates::Last, ..options.clone() });
        same(&(table("date,a,b", rows()) + "Source: made up\n"), &options);
        same(&table("a,b", (0..300).map(|at| format!("{},{}", value(at), value(at + 1)))), &options);
        same(&table("step,a", (0..300).map(|at| format!("{},{}", 10 + at * 2, value(at)))), &options);
    }

    #[test]
    fn long_tables_are_joined_series_by_series() {
        let options = ReadOptions::default();
        let hours = hours();
        let row = |id: usize, at: usize| format!("s{id},{},{}", hours[at], value(at + id));
        let by_series = || (0..7).flat_map(|id| (id..hours.len() - 3 * id).map(move |at| (id, at)));
        let mut by_time: Vec<(usize, usize)> = by_series().collect();
        by_time.sort_by_key(|(id, at)| (*at, *id));
        let text = |header: &str, order: &[(usize, usize)]| table(header, order.iter().map(|(id, at)| row(*id, *at)));
        same(&text("unique_id,ds,y", &by_series().collect::<Vec<_>>()), &options);
        same(&text("unique_id,ds,y", &by_time), &options);
        same(&text("shop,ds,sold", &by_time), &options);
        same(&text("cols,date,data", &by_time), &options);
        let named = ReadOptions { id: Some("a".into()), target: Some("c".into()), ..options.clone() };
        same(&text("a,b,c", &by_time), &named);
        let more = by_time.iter().map(|(id, at)| format!("{},{}", row(*id, *at), value(3 * at)));
        let sold = ReadOptions { columns: Some(vec!["sold".into()]), ..options.clone() };
        same(&table("unique_id,ds,y,sold", more), &sold);
        // Rows without dates are counted series by series.
        let counted = by_time.iter().map(|(id, at)| format!("s{id},{}", value(at + id)));
        same(&table("unique_id,y", counted), &options);
        by_time.reverse();
        whole(&text("unique_id,ds,y", &by_time), &options);
    }

    #[test]
    fn dates_are_understood_by_the_beginning() {
        let options = ReadOptions::default();
        let day =
            |at: usize| format!("{:02}/{:02}/20{:02},{}", 1 + at % 28, 1 + at / 28 % 12, 10 + at / 336, value(at));
        // Days of a part may be months as well.
        let (parts, read) = both(&table("date,a", (0..336).map(day)), &options, 500);
        assert_eq!(parts.unwrap().unwrap().report, read.unwrap().report);
        let summer = |at: usize| format!("2020-03-29 {:02}:00:00+0{}:00,{}", at + at / 12, 1 + at / 12, value(at));
        whole(&table("date,a", (0..22).map(summer)), &options);
        // Offsets change between parts.
        let part = table("date,a", (0..12).map(summer)).len() - 10;
        assert!(both(&table("date,a", (0..22).map(summer)), &options, part).0.unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_is_said_as_of_the_whole_file() {
        let options = ReadOptions::default();
        let hours = hours();
        let rows = |change: &dyn Fn(usize, String) -> String| {
            let rows =
                (0..).zip(&hours).map(|(at, hour)| change(at, format!("{hour},{},{}", value(at), value(at + 9))));
            table("date,a,b", rows)
        };
        let alike = |text: &str, options: &ReadOptions| {
            let (parts, whole) = both(text, options, 400);
            let (parts, whole) = (parts.unwrap_err().to_string(), whole.unwrap_err().to_string());
            let name = |text: &str| text.split_once("a.csv").unwrap().1.to_owned();
            assert_eq!(name(&parts), name(&whole));
        };
        alike(&rows(&|at, row| if at == 300 { row + "x" } else { row }), &options);
        alike(&rows(&|at, row| if at == 300 { row + ",1" } else { row }), &options);
        alike(&rows(&|_, row| row.rsplit_once(',').unwrap().0.to_owned() + ","), &options);
        alike(&rows(&|at, row| if at == 300 { row.replace(":00:00", ":00:01") } else { row }), &options);
        alike(&rows(&|at, row| if at == 300 { format!("soon{row}") } else { row }), &options);
        let mut long = String::from("unique_id,ds,y\n");
        for (at, hour) in hours.iter().enumerate() {
            let _ = writeln!(long, "a,{hour},{}\nb,{hour},", value(at));
        }
        alike(&long, &ReadOptions { target: Some("y".into()), ..options.clone() });
        // A stamp that is there again, text between rows, and a date that would fill the memory are found as a whole.
        let again = rows(&|_, row| row) + &format!("{},1,2\n", hours[5]);
        whole(&again, &options);
        assert!(both(&again, &options, 400).1.unwrap_err().to_string().contains("already occurs on line"));
        let between = rows(&|at, row| if at == 250 { format!("total\n{row}") } else { row });
        [200, 999]
            .into_iter()
            .for_each(|part| assert!(!matches!(both(&between, &options, part).0, Ok(Some(_))), "{part}"));
        whole(&rows(&|at, row| if at == 300 { row.replace("2020", "9020") } else { row }), &options);
    }

    #[test]
    fn the_end_of_a_long_series_takes_no_more_memory() {
        let mut series = Pieces::new("a".into());
        for part in 0..1000 {
            series.add(part * 100 + part / 500, vec![part as f32; 100]);
            series.forget_before(30);
            assert!(series.pieces.iter().map(|(_, values)| values.capacity()).sum::<usize>() <= 300);
        }
        assert_eq!((series.len(), series.known), (100_001, 100_000));
    }

    #[test]
    fn a_pipe_that_cannot_be_joined_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let rows = |order: &mut dyn Iterator<Item = usize>| {
            let hours = hours();
            table("date,a", order.map(|at| format!("{},{}", hours[at], value(at))))
        };
        let options = ReadOptions { last: Some(20), ..ReadOptions::default() };
        let read = |text: &str, small: u64| {
            std::fs::write(&path, text).unwrap();
            of_stream(Stream::of_large(&path, Division::Table, 200, small).unwrap(), true, &path, &options)
        };
        let mixed = rows(&mut (0..300).map(|at| at * 7 % 300));
        let error = read(&mixed, 0).unwrap_err();
        assert!(error.to_string().contains("only together with all others"), "{error}");
        let sorted = rows(&mut (0..300));
        // What is not divided is read whole.
        for (text, small) in [(&sorted, 0), (&sorted, 1 << 20), (&mixed, 1 << 20)] {
            let found = read(text, small).unwrap().unwrap();
            let values = found.panel.series()[0].values();
            assert_eq!((found.report.rows, &values[values.len() - 3..]), (300, &[297, 298, 299].map(value)[..]));
        }
    }

    #[test]
    fn covariates_classes_and_means_are_read_whole() {
        let more = || vec!["more".to_owned()];
        assert!(is_divisible(&ReadOptions::default()));
        assert!(!is_divisible(&ReadOptions { covariates: more(), ..ReadOptions::default() }));
        assert!(!is_divisible(&ReadOptions { statics: more(), ..ReadOptions::default() }));
        assert!(!is_divisible(&ReadOptions { label: Some("more".into()), ..ReadOptions::default() }));
        assert!(!is_divisible(&ReadOptions { duplicates: Duplicates::Mean, ..ReadOptions::default() }));
    }
}
