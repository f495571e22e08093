//! Files of routing instances and their solutions. No format knows a problem by name: problems declare what they read
//! ([`FileSpec`], [`Problem::SET_FIELDS`](crate::Problem::SET_FIELDS)).

pub mod best_known;
pub mod csv;
pub mod sets;
pub mod sol;
pub mod solution;
#[cfg(test)]
pub(crate) mod suite;
#[cfg(test)]
mod tests;
pub mod tour;
pub mod tsplib;

use std::path::Path;

use self::tsplib::header;
use self::tsplib::layout::Layout;
use crate::file::{Encoding, read_text_and_encoding};
use crate::instance::{FileSpec, SolverInstance};
use crate::registry::{self, ProblemVisitor, with_problem};
use crate::sites::is_coordinate;
use crate::{Result, shown};

pub use crate::instance::Instance;

/// Endings of instance files: that of CSV, those of TSPLIB's descendants and those of problems' own formats.
#[must_use]
pub fn endings() -> Vec<&'static str> {
    let mut endings = vec![csv::ENDING];
    let of_tsplib = header::types().flat_map(|(.., tsplib)| tsplib.endings.iter().copied());
    for ending in of_tsplib.chain(own_endings()) {
        if !endings.contains(&ending) {
            endings.push(ending);
        }
    }
    endings
}

/// Endings as a sentence lists them: `.csv, .tsp`.
pub fn listed(endings: impl IntoIterator<Item = &'static str>) -> String {
    endings.into_iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ")
}

/// The ending of files that hold an instance of the problem of this name with a matrix of distances; `None` where no
/// format does.
#[must_use]
pub fn ending_with_matrix(problem: &str) -> Option<&'static str> {
    let (_, files) = registry::with_files().find(|(spec, _)| spec.name == problem)?;
    files.tsplib?.endings.first().copied()
}

/// Endings of the formats that problems have for themselves.
fn own_endings() -> impl Iterator<Item = &'static str> {
    registry::with_files().filter_map(|(_, files)| Some(files.own?.ending))
}

/// Reads an instance of any problem with its best-known cost, if one is found ([`best_known`]).
///
/// A name ending in `.csv` is read as [`csv`], where the columns decide the problem; one in `.tsp`, `.atsp`, `.vrp` or `.oplib`
/// as [`tsplib`], where `TYPE` decides the problem and the name only where there is no `TYPE`. Of any other name the
/// content decides, and of every name where it is a problem's own format ([`FileSpec::own`]).
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be read, and [`Error::Parse`](crate::Error::Parse) with file,
/// line and expectation when it is malformed.
pub fn read_instance(path: impl AsRef<Path>) -> Result<Instance> {
    read_instance_with(path, &csv::TableOptions::default()).map(|(instance, _)| instance)
}

/// Reads an instance as [`read_instance`], a table with these options, and gives notes on what was guessed, skipped or
/// not used.
///
/// # Errors
/// As [`read_instance`], and where options are given for a file that is no table.
pub fn read_instance_with(path: impl AsRef<Path>, options: &csv::TableOptions) -> Result<(Instance, csv::Notes)> {
    let path = path.as_ref();
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    if ending.as_deref().is_some_and(|ending| sets::ENDINGS.contains(&ending)) && path.is_file() {
        let reason = "holds a set of instances; one instance is expected here";
        let hint = format!("`regard eval --data {}` evaluates a model on all of them", path.display());
        return Err(crate::Error::parse(path, 0, reason).with_hint(hint));
    }
    let (text, encoding) = read_text(path)?;
    let has = |tsplib: &header::TsplibType| ending.as_deref().is_some_and(|ending| tsplib.endings.contains(&ending));
    let by_name = header::types().find(|(.., tsplib)| has(tsplib));
    let own = with_own_format(&text);
    let is_csv =
        own.is_none() && (ending.as_deref() == Some(csv::ENDING) || (by_name.is_none() && !tsplib::looks_like(&text)));
    let is_json = ["json", "geojson"].map(Some).contains(&ending.as_deref()) || text.trim_start().starts_with('{');
    if is_csv && is_json {
        // A table of its braces would be refused for its columns, which says nothing.
        let hint = format!("give a table of the places (.csv); instance files end in {}", listed(endings()));
        return Err(crate::Error::parse(path, 0, "holds JSON, which is no format of instances").with_hint(hint));
    }
    let parsed = match (is_csv, options.first_given(), own) {
        (true, ..) => csv::parse_instance(&text, path, options),
        (false, None, Some(name)) => of_own_format(&text, path, name).map(|found| (found, csv::Notes::default())),
        (false, None, None) => of_tsplib(&text, path, by_name.map(|(name, ..)| name)),
        (false, Some(flag), _) => {
            let reason = format!("{flag} is for tables (CSV); this file says everything itself");
            return Err(crate::Error::parse(path, 0, reason).with_hint("leave it out"));
        }
    };
    let (instance, mut notes) = parsed.map_err(|error| match error {
        // What an instance refuses belongs to no line.
        crate::Error::Invalid { what, reason } => crate::Error::parse(path, 0, format!("{what}: {reason}")),
        other => other,
    })?;
    if let Some(note) = encoding.note().filter(|_| is_csv) {
        notes.add(note);
    }
    if !instance.sites().is_symmetric() {
        notes.add("distances differ by direction");
    }
    instance.note().into_iter().for_each(|note| notes.add(note));
    let best = best_known::of_instance(path, &instance)?;
    Ok((instance.with_best_known(best), notes))
}

/// Reads a text file and says its encoding; carriage returns without line feeds, the line ends of old programs, become line
/// feeds.
fn read_text(path: &Path) -> Result<(String, Encoding)> {
    let (text, encoding) = read_text_and_encoding(path)?;
    let has_old_ends = text.contains('\r') && !text.contains('\n');
    Ok((if has_old_ends { text.replace('\r', "\n") } else { text }, encoding))
}

/// The problem with a format of its own that a text is in.
fn with_own_format(text: &str) -> Option<&'static str> {
    let is_own = |files: &FileSpec| files.own.is_some_and(|own| (own.recognises)(text));
    registry::with_files().find(|(_, files)| is_own(files)).map(|(spec, _)| spec.name)
}

fn of_own_format(text: &str, path: &Path, name: &str) -> Result<Instance> {
    struct Read<'a>(&'a str, &'a Path);
    impl ProblemVisitor for Read<'_> {
        type Output = Result<Instance>;

        fn run<I: SolverInstance>(self) -> Result<Instance> {
            I::read_own(self.0, self.1).map(Instance::from)
        }
    }
    let unknown = || Err(crate::Error::parse(path, 0, format!("no problem `{name}`")));
    with_problem(name, Read(text, path)).unwrap_or_else(unknown)
}

fn of_tsplib(text: &str, path: &Path, by_name: Option<&'static str>) -> Result<(Instance, csv::Notes)> {
    struct Read<'a>(&'a Layout<'a>, usize);
    impl ProblemVisitor for Read<'_> {
        type Output = Result<Instance>;

        fn run<I: SolverInstance>(self) -> Result<Instance> {
            tsplib::read::<I>(self.0, self.1).map(Instance::from)
        }
    }
    let layout = Layout::of(text, path)?;
    let name = header::problem_of(&layout)?.or(by_name).unwrap_or(registry::DEFAULT);
    let unknown = || Err(layout.error(0, format!("no problem `{name}`")));
    let instance = with_problem(name, Read(&layout, text.len())).unwrap_or_else(unknown)?;
    let own = instance.files().and_then(|files| files.tsplib).map_or(&[][..], |tsplib| tsplib.keywords);
    let mut notes = csv::Notes::default();
    layout.unused(own).for_each(|note| notes.add(note));
    Ok((instance, notes))
}

/// If true, a file is a table (CSV), by its name.
#[must_use]
pub fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(csv::ENDING))
}

/// If true, a file in a folder of instances is one: its name ends as theirs do, and it is none of the tables of best-known
/// costs that lie beside them. Of a name that ends as a problem's own format the content decides, for it may be a note.
#[must_use]
pub fn is_instance_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let table = [best_known::TABLE, best_known::OPLIB_TABLE].iter().any(|name| path.ends_with(name));
    if own_endings().any(|ending| extension.eq_ignore_ascii_case(ending)) {
        return read_text(path).is_ok_and(|(text, _)| with_own_format(&text).is_some());
    }
    !table && endings().iter().any(|ending| extension.eq_ignore_ascii_case(ending))
}

/// The name of a file without folder and extension; the name of an instance that has none.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A number as people write it in a file: finite, and not so large that distances overflow.
fn number(token: &str) -> Option<f64> {
    token.parse().ok().filter(|v| is_coordinate(*v))
}

/// The whole number of at least 1, and at most a thousand million, that a number is.
pub(crate) fn whole(value: f64) -> Option<usize> {
    (value.fract() == 0.0 && (1.0..=1e9).contains(&value)).then_some(value as usize)
}
