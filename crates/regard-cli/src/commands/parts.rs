//! Files that are read part by part: the answers of all parts are that of the whole file.

use std::path::Path;
use std::time::Instant;

use regard::data::table::stream::{Division, PART, Stream};

use crate::report::progress::Progress;
use crate::report::{Printer, number};

/// Prints the `answer`, a table or a list in JSON, for each part of a file. While it is computed, readers of the file find
/// the part.
pub(super) fn in_parts(
    file: &Path,
    division: Division<'_>,
    printer: &mut Printer,
    answer: &dyn Fn(&Printer) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut joined = Joined::default();
    let is_divided = each_part(file, division, printer, &mut |printer, is_divided| {
        let text = answer(printer)?;
        match is_divided {
            true => printer.write(joined.next(&text))?,
            false => printer.result(&text)?,
        }
        Ok(())
    })?;
    if is_divided {
        printer.write(joined.end())?;
    }
    Ok(())
}

/// The results of `of_part` for all parts of a file, joined by `append`.
pub(super) fn over_parts<T>(
    file: &Path,
    division: Division<'_>,
    printer: &mut Printer,
    of_part: &dyn Fn(&Printer) -> anyhow::Result<T>,
    append: fn(&mut T, T),
) -> anyhow::Result<Option<T>> {
    let mut all: Option<T> = None;
    each_part(file, division, printer, &mut |printer, _| {
        let more = of_part(printer)?;
        match &mut all {
            Some(all) => append(all, more),
            None => all = Some(more),
        }
        Ok(())
    })?;
    Ok(all)
}

/// Calls `visit` for each part of a file and says how long all of it took; true if the file was divided. While it runs,
/// readers of the file find the part.
fn each_part(
    file: &Path,
    division: Division<'_>,
    printer: &mut Printer,
    visit: &mut dyn FnMut(&mut Printer, bool) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let next = |stream: &mut Stream<'_>| stream.next().transpose().map_err(regard::Error::from);
    let mut stream = Stream::open(file, division, PART).map_err(regard::Error::from)?;
    if !stream.is_divided() {
        while let Some(part) = next(&mut stream)? {
            part.open(|| visit(printer, false))?;
        }
        return Ok(false);
    }
    let begun = Instant::now();
    printer.note_once();
    let progress = Progress::of_stream(printer, "rows");
    while let Some(part) = next(&mut stream)? {
        part.open(|| visit(printer, true))?;
        progress.set(stream.rows());
    }
    drop(progress);
    let (rows, seconds) = (stream.rows(), begun.elapsed().as_secs_f64());
    let rate = number::count((rows as f64 / seconds.max(1e-9)) as usize);
    let (rows, time) = (number::count(rows), number::seconds(seconds));
    printer.note(&format!("read part by part: {rows} rows in {time}, {rate} a second"));
    Ok(true)
}

/// Tables under the header of the first, or lists as one.
#[derive(Default)]
struct Joined {
    /// The header with its line break; empty for a list.
    header: Option<String>,
    is_list: bool,
    has_entries: bool,
    text: String,
}

impl Joined {
    /// The text to print for the next part.
    fn next(&mut self, text: &str) -> &str {
        self.text.clear();
        let is_first = self.header.is_none();
        if is_first {
            self.is_list = text.starts_with('[');
            let header = if self.is_list { "[" } else { text.split_inclusive('\n').next().unwrap_or_default() };
            self.text.push_str(header);
            self.header = Some(header.to_owned());
        }
        let rows = text.strip_prefix(self.header.as_deref().unwrap_or_default()).unwrap_or(text);
        let rows = if self.is_list { rows.trim_end().strip_suffix(']').unwrap_or(rows) } else { rows };
        if self.is_list && !rows.is_empty() && std::mem::replace(&mut self.has_entries, true) {
            self.text.push(',');
        }
        self.text.push_str(rows);
        if !self.is_list && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        &self.text
    }

    /// The text to print after all parts.
    fn end(&self) -> &'static str {
        if self.is_list { "]\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[&str]) -> String {
        let mut joined = Joined::default();
        let mut text: String = parts.iter().map(|part| joined.next(part).to_owned()).collect();
        text.push_str(joined.end());
        text
    }

    #[test]
    fn parts_of_tables_and_lists_are_joined() {
        assert_eq!(joined(&["id,y\na,1\nb,2\n", "id,y\nc,3", "id,y\n", "id,y\nd,4\n"]), "id,y\na,1\nb,2\nc,3\nd,4\n");
        assert_eq!(joined(&["[{\"a\":[1]},2]", "[]", "[[3]]"]), "[{\"a\":[1]},2,[3]]\n");
        assert_eq!(joined(&["[]", "[1]"]), "[1]\n");
    }
}
