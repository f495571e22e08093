//! Instances as CSV: `id,x,y` in the plane, or `id,lat,lon` on the Earth.
//!
//! The header decides. Columns may stand in any order and be called as in [`ID`], [`LATITUDE`] and [`LONGITUDE`], in
//! any case, or by other words and nearly these, which is noted ([`Notes`]), as are columns that are not used and rows
//! that are skipped; the caller may name columns ([`ColumnRole`]). Without ids, rows are counted from 1. Fields are
//! separated by commas, semicolons or tabs, whichever the header has most of, or by the separator that a first line such
//! as `sep=;` names. Numbers have decimal points or decimal commas, which their column shows. Lines starting with `#` above
//! the header are the instance's comment. Distances may stand in a file of their own ([`TableOptions::distances`]).
//!
//! Problems declare further columns ([`CsvColumn`]), and numbers that belong to no node ([`CsvOption`]), which stand in
//! comments such as `# capacity: 100`. The columns decide the problem. A problem with a depot has it in the first row,
//! unless a column [`DEPOT`] marks one row with 1; the depot's own numbers may be left empty.

mod columns;
mod distances;
mod roles;
mod sheet;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use self::sheet::Column;
use super::{number, shown, whole};
use crate::file::write_atomic;
use crate::instance::{FileSpec, Instance, SolverInstance};
use crate::registry::{ProblemSpec, ProblemVisitor, with_files, with_problem};
use crate::table::numbers::Decimal;
use crate::table::write::quoted;
use crate::{Error, Metric, Result, Sites, depot};

pub use self::columns::{Columns, Nodes};
pub use self::roles::ColumnRole;
pub use self::sheet::Sheet;

/// Ending of CSV files.
pub const ENDING: &str = "csv";
/// Names of the column of ids, the preferred first.
pub const ID: [&str; 6] = ["id", "name", "city", "node", "place", "label"];
/// Names of the column of names beside ids.
pub const NAME: [&str; 6] = ["name", "label", "city", "place", "node", "title"];
/// Names of the column of latitudes in decimal degrees, north positive.
pub const LATITUDE: [&str; 2] = ["lat", "latitude"];
/// Names of the column of longitudes in decimal degrees, east positive.
pub const LONGITUDE: [&str; 4] = ["lon", "lng", "long", "longitude"];
/// Names of the column that marks the depot with 1.
pub const DEPOT: [&str; 2] = ["depot", "is_depot"];

/// Hint for an amount that only customers may have.
pub(crate) const ANOTHER_DEPOT: &str = "`--depot ID` names another depot than this row";

/// A column with one number for each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvColumn {
    /// Its names, the preferred first.
    pub names: &'static [&'static str],
    /// Words that people use for it, in lower case, without accents, `_` for spaces. They count where the problem's first
    /// option is given.
    pub words: &'static [&'static str],
    /// Kind of its values.
    pub kind: ColumnKind,
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// An amount, which every row but the depot's has. Several rows for one stop may be added up.
    Amount,
    /// A time. The column and any of its fields may be missing; a time of day such as `8:30` is minutes since midnight.
    Time,
    /// The id of another row; a field may be empty.
    Node,
}

/// Notes on a table that was read: guessed roles, columns that are not used, rows that were skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    texts: Vec<String>,
    /// The names of columns with a text of their own, and its place among the texts.
    of_columns: Vec<(String, usize)>,
}

impl Notes {
    /// The texts, a line each.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    pub(crate) fn add(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    /// Adds a text on a column, after its name.
    fn add_on(&mut self, column: &str, text: impl Display) {
        self.of_columns.push((column.to_owned(), self.texts.len()));
        self.add(format!("column `{}`{text}", shown(column)));
    }

    /// An error whose hint has the texts on its column, which may be the reason for it.
    fn explain(&self, error: Error) -> Error {
        let Error::Parse { field, hint, .. } = &error else { return error };
        let own = self.of_columns.iter().filter(|(column, _)| column == field).map(|(_, at)| self.texts[*at].as_str());
        let hints: Vec<&str> = hint.as_deref().into_iter().chain(own).collect();
        let all = hints.join("; ");
        if all.is_empty() { error } else { error.with_hint(all) }
    }
}

/// The treatment of rows that have the id of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Stops of their own.
    Keep,
    /// One stop with the sum of their amounts.
    Sum,
    /// The first row alone.
    First,
    /// The last row alone.
    Last,
    /// A fault.
    Error,
}

impl Duplicates {
    /// The treatments by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("keep", Self::Keep),
        ("sum", Self::Sum),
        ("first", Self::First),
        ("last", Self::Last),
        ("error", Self::Error),
    ];
}

/// The reading of a table, where its header and its comments do not say it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableOptions {
    /// Numbers of the instance that belong to no node.
    pub values: Options,
    /// Columns by role.
    pub columns: Vec<ColumnRole>,
    /// The decimal mark; `None` finds it out.
    pub decimal: Option<Decimal>,
    /// The id of the depot; `None` for the row that is marked, else the first one.
    pub depot: Option<String>,
    /// Rows that have the id of an earlier one; `None` keeps those at the same place and refuses others.
    pub duplicates: Option<Duplicates>,
    /// If true, rows that cannot be read are skipped.
    pub skip_bad: bool,
    /// The file of the distances between the rows; `None` for those of their coordinates, which need not be there
    /// otherwise.
    pub distances: Option<PathBuf>,
}

impl TableOptions {
    /// The first option that is given, as the command line writes it.
    #[must_use]
    pub fn first_given(&self) -> Option<String> {
        let others = [
            ("--column", !self.columns.is_empty()),
            ("--decimal", self.decimal.is_some()),
            ("--depot", self.depot.is_some()),
            ("--duplicates", self.duplicates.is_some()),
            ("--skip-bad", self.skip_bad),
            ("--distances", self.distances.is_some()),
        ];
        let value = self.values.0.keys().next().map(|name| roles::option_flag(name));
        value.or_else(|| others.iter().find(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned()))
    }
}

/// A number of an instance that belongs to no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvOption {
    name: &'static str,
    kind: OptionKind,
    only_in_files: bool,
    in_minutes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionKind {
    AboveZero,
    NotNegative,
    Count,
    Flag,
}

impl CsvOption {
    const fn of(name: &'static str, kind: OptionKind) -> Self {
        Self { name, kind, only_in_files: false, in_minutes: false }
    }

    /// A number above 0.
    pub const fn above_zero(name: &'static str) -> Self {
        Self::of(name, OptionKind::AboveZero)
    }

    /// A number of 0 or more.
    pub const fn not_negative(name: &'static str) -> Self {
        Self::of(name, OptionKind::NotNegative)
    }

    /// A whole number of at least 1.
    pub const fn count(name: &'static str) -> Self {
        Self::of(name, OptionKind::Count)
    }

    /// Yes (1) or no (0).
    pub const fn flag(name: &'static str) -> Self {
        Self::of(name, OptionKind::Flag)
    }

    /// An option that comments of a file give and no option of the command line.
    #[must_use]
    pub const fn only_in_files(self) -> Self {
        Self { only_in_files: true, ..self }
    }

    /// An option that makes all times minutes where it is given.
    #[must_use]
    pub const fn in_minutes(self) -> Self {
        Self { in_minutes: true, ..self }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The value that a text stands for, or what was expected.
    fn read(self, text: &str) -> Result<f64, &'static str> {
        match self.kind {
            OptionKind::AboveZero => number(text).filter(|v| *v > 0.0).ok_or("a number above 0"),
            OptionKind::NotNegative => number(text).filter(|v| *v >= 0.0).ok_or("a number, 0 or more"),
            OptionKind::Count => number(text).filter(|v| whole(*v).is_some()).ok_or("a whole number of at least 1"),
            OptionKind::Flag => flag(text).map(|yes| f64::from(u8::from(yes))).ok_or("yes or no"),
        }
    }
}

/// Numbers of an instance that belong to no node, by the names that problems declare ([`FileSpec::csv_options`]). Those
/// that are not set are looked for in comments of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(BTreeMap<String, f64>);

impl Options {
    /// The options with another one set; `None` leaves them as they are.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<f64>) -> Self {
        self.0.extend(value.map(|value| (name.to_owned(), value)));
        self
    }

    /// The value of an option.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The option that is given and makes times minutes.
    fn in_minutes(&self) -> Option<&'static str> {
        let given = known_options().find(|option| option.in_minutes && self.get(option.name).is_some());
        given.map(|option| option.name)
    }

    /// These options, where they are open those of the comments, as far as these are well written.
    fn and_known_comments(mut self, comments: &[(usize, String)]) -> Self {
        for (name, value) in comments.iter().filter_map(|(_, words)| words.split_once([':', '='])) {
            let known = known_options().find(|option| option.name == plain(name));
            if let Some(value) = known.and_then(|option| option.read(value.trim()).ok()) {
                self.0.entry(plain(name)).or_insert(value);
            }
        }
        self
    }

    /// These options, where they are open those of the comments, and the comments that are none.
    fn and_comments(&self, sheet: &Sheet<'_>) -> Result<(Self, String)> {
        let mut others = Vec::new();
        let mut found = Self::default();
        for (line, words) in &sheet.comments {
            if !found.take(sheet, *line, words)? {
                others.push(words.as_str());
            }
        }
        found.0.extend(self.0.clone());
        Ok((found, others.join(" ")))
    }

    /// If true, the comment is `option: value`, which is then kept.
    fn take(&mut self, sheet: &Sheet<'_>, line: usize, words: &str) -> Result<bool> {
        let Some((name, value)) = words.split_once([':', '=']) else {
            return Ok(false);
        };
        let (name, value) = (plain(name), value.trim());
        let Some(option) = known_options().find(|option| option.name == name) else {
            return Ok(false);
        };
        let number = option.read(value).map_err(|expected| {
            let reason = format!("found `{}`, expected {expected}", shown(value));
            Error::parse(sheet.path, line, reason).in_field(&*name)
        })?;
        if self.0.insert(name.clone(), number).is_some() {
            return Err(Error::parse(sheet.path, line, "is given a second time").in_field(&*name));
        }
        Ok(true)
    }
}

/// The options of all problems.
fn known_options() -> impl Iterator<Item = CsvOption> {
    with_files().flat_map(|(_, files)| files.csv_options.iter().copied())
}

/// If true, a comment would be read as one of the options.
fn is_option(words: &str) -> bool {
    let known = |name: &str| known_options().any(|option| option.name == plain(name));
    words.split_once([':', '=']).is_some_and(|(name, _)| known(name))
}

/// The name of an option, which people write in many ways.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// The option that a name may mean which is none, such as `max_vehicles` or `speed_kmh`.
fn option_meant(name: &str) -> Option<&'static str> {
    const OTHERS: [(&str, &str); 2] = [("fleet", "vehicles"), ("velocity", "speed")];
    let name = name.replace('_', "");
    let known = || known_options().map(|option| option.name);
    let stem = |option: &str| option.replace('_', "").trim_end_matches('s').to_owned();
    let within = || known().find(|option| option.len() > 3 && name.contains(&stem(option)));
    let other = || OTHERS.into_iter().find(|(word, _)| name.contains(word)).map(|(_, option)| option);
    // Short words are near to too much.
    let near = || regard_data::names::nearest(&name, known()).filter(|_| name.len() > 5);
    within().or_else(other).or_else(near)
}

/// Yes or no, as people write it.
fn flag(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "1" | "yes" | "true" | "x" | "ja" | "oui" | "si" | "sì" | "sí" => Some(true),
        "" | "0" | "no" | "false" | "nein" | "non" => Some(false),
        _ => None,
    }
}

/// Reads an instance of the problem that the columns decide; `path` names the file in errors and gives the instance its
/// name. `x` and `y` give straight, unrounded distances, latitude and longitude great-circle kilometres.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g. ``cities.csv:7: field `x`: found `abc`, expected a number``; also when
/// a number that the problem needs is neither in `options` nor in a comment of the file.
///
/// ```
/// use regard_routing::formats::csv::{self, TableOptions};
///
/// let text = "city,lat,lon\nParis,48.8566,2.3522\nBerlin,52.5200,13.4050\n";
/// let (two, _) = csv::parse_instance(text, "two.csv".as_ref(), &TableOptions::default())?;
/// assert_eq!(two.sites().distance(0, 1).round(), 877.0);
///
/// let text = "# capacity: 4\nid,x,y,demand\ndepot,0,0,\na,3,0,2\nb,3,4,2\n";
/// let (three, _) = csv::parse_instance(text, "three.csv".as_ref(), &TableOptions::default())?;
/// assert_eq!((three.problem(), three.value(&[1, 2])), ("cvrp", 12.0));
///
/// let text = "Ort;Breite;Laenge\nUlm;48,4;9,99\nBonn;50,73;7,1\n";
/// let (two, notes) = csv::parse_instance(text, "orte.csv".as_ref(), &TableOptions::default())?;
/// assert_eq!((two.sites().ids()[1].as_str(), two.sites().coordinates()[1][0]), ("Bonn", 50.73));
/// assert!(notes.texts()[0].starts_with("column `Breite` is read as `lat`"));
/// # Ok::<(), regard_routing::Error>(())
/// ```
pub fn parse_instance(text: &str, path: &Path, options: &TableOptions) -> Result<(Instance, Notes)> {
    instance_of(Sheet::of(text, path, options)?, options)
}

/// The instance of a table whose problem its columns decide.
fn instance_of(mut sheet: Sheet<'_>, options: &TableOptions) -> Result<(Instance, Notes)> {
    struct Read<'a>(&'a Sheet<'a>, &'a Options);
    impl ProblemVisitor for Read<'_> {
        type Output = Result<Instance>;

        fn run<I: SolverInstance>(self) -> Result<Instance> {
            I::read_csv(self.0, self.1).map(Instance::from)
        }
    }
    let mut read = || {
        let name = sheet.settle(options)?;
        if let Some(path) = &options.distances {
            let known = options.values.clone().and_known_comments(&sheet.comments);
            let beside = distances::Beside { unit: sheet.unit_of_times(), speed: known.in_minutes() };
            sheet.distances = Some(distances::read(path, sheet.ids(), options.decimal, &beside)?);
        }
        let unknown = || Err(Error::parse(sheet.path, 0, format!("no problem `{name}`")));
        with_problem(name, Read(&sheet, &options.values)).unwrap_or_else(unknown)
    };
    match read() {
        Ok(instance) => Ok((instance, sheet.notes)),
        Err(error) => Err(sheet.notes.explain(error)),
    }
}

/// Name of the problem whose columns a table has; of problems with the same columns the one whose flag is set.
fn problem_of(sheet: &Sheet<'_>, options: &Options) -> Result<&'static str> {
    let mut present: Vec<&str> = Vec::new();
    for (_, files) in with_files() {
        for column in files.csv {
            if sheet.column(column.names[0]).is_some() && !present.contains(&column.names[0]) {
                present.push(column.names[0]);
            }
        }
    }
    let mut fitting = fitting(&present);
    if fitting.is_empty() {
        // Times that the problem of the other columns does not know are noted, not refused.
        let amounts: Vec<&str> = present.iter().copied().filter(|name| !is_of_kind(name, ColumnKind::Time)).collect();
        fitting = self::fitting(&amounts);
    }
    let mut chosen = fitting.iter().find(|(_, files)| files.csv_flag.is_none());
    if fitting.iter().any(|(_, files)| files.csv_flag.is_some()) {
        let (options, _) = options.and_comments(sheet)?;
        let set = |files: &FileSpec| files.csv_flag.is_some_and(|flag| options.get(flag) == Some(1.0));
        chosen = fitting.iter().find(|(_, files)| set(files)).or(chosen);
    }
    chosen.map(|(spec, _)| spec.name).ok_or_else(|| {
        let reason = format!("has the columns `{}`; no problem has this combination", present.join("`, `"));
        let columns = |files: &FileSpec| files.csv.iter().map(|c| c.names[0]).collect::<Vec<_>>().join(", ");
        let known = with_files().filter(|(_, files)| !files.csv.is_empty() && files.csv_flag.is_none());
        let known: Vec<String> =
            known.map(|(spec, files)| format!("{} ({}): {}", files.title, spec.name, columns(files))).collect();
        let out = format!("`--column {}=` leaves one out", present.last().unwrap_or(&"demand"));
        Error::parse(sheet.path, sheet.top, reason)
            .with_hint(format!("columns of problems: {}; {out}", known.join("; ")))
    })
}

/// The problems whose columns are these, of which times may be missing.
fn fitting(present: &[&str]) -> Vec<(&'static ProblemSpec, &'static FileSpec)> {
    let fits = |files: &FileSpec| {
        let known = |name: &&str| files.csv.iter().any(|column| column.names[0] == *name);
        let needed = |column: &CsvColumn| column.kind == ColumnKind::Time || present.contains(&column.names[0]);
        present.iter().all(known) && files.csv.iter().all(needed)
    };
    with_files().filter(|(_, files)| fits(files)).collect()
}

/// If true, the column of that name holds values of this kind.
fn is_of_kind(name: &str, kind: ColumnKind) -> bool {
    let mut columns = with_files().flat_map(|(_, files)| files.csv);
    columns.any(|column| column.kind == kind && column.names.contains(&name))
}

/// A table of a problem with a depot.
pub struct DepotTable<'s, 't> {
    sheet: &'s Sheet<'t>,
    files: &'static FileSpec,
    options: Options,
    comment: String,
    columns: Vec<(&'static str, Column)>,
    /// The row that is the depot, counted from 0.
    depot: usize,
    sites: Sites,
}

impl<'s, 't> DepotTable<'s, 't> {
    /// Reads options, nodes and the depot.
    ///
    /// # Errors
    /// [`Error::Parse`] naming line and field.
    pub fn of(sheet: &'s Sheet<'t>, options: &Options, files: &'static FileSpec) -> Result<Self> {
        let (options, comment) = options.and_comments(sheet)?;
        let sites = sheet.sites(&comment)?;
        let mut columns = Vec::new();
        for column in files.csv {
            columns.extend(sheet.column(column.names[0]).map(|found| (column.names[0], found)));
        }
        let depot = depot_row(sheet, sheet.column(DEPOT[0]))?;
        Ok(Self { sheet, files, options, comment, columns, depot, sites })
    }

    /// The nodes, the depot first.
    ///
    /// # Errors
    /// None that a table that was read can cause.
    pub fn sites(&self) -> Result<Sites> {
        depot::first(self.sites.clone().with_comment(&*self.comment), self.depot)
    }

    /// The value of an option, by the caller or a comment.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<f64> {
        self.options.get(name)
    }

    /// The value of an option that the problem needs.
    ///
    /// # Errors
    /// [`Error::Parse`] when neither the caller nor a comment gives it; `example` is for the hint.
    pub fn required_option(&self, name: &str, example: &str) -> Result<f64> {
        self.option(name).ok_or_else(|| {
            let reason = format!("has no {name}, which {} needs", self.files.title);
            let comment = format!("`# {name}: {example}` as the first line");
            let hint = match roles::flag_of(name) {
                Some(flag) => format!("give it with `{flag} {example}`, or with {comment}"),
                None => format!("give it with {comment}"),
            };
            Error::parse(self.sheet.path, 0, reason).with_hint(hint)
        })
    }

    /// The times of a column, the depot's first; `default` of the depot or of another node where a field is empty or there
    /// is no such column.
    pub(crate) fn times(&self, column: &str, default: impl Fn(bool) -> f64) -> Result<Vec<f64>> {
        let found = self.columns.iter().find(|(preferred, _)| *preferred == column).map(|(_, found)| found);
        let mut values = Vec::new();
        for (number, row) in self.sheet.rows().enumerate() {
            values.push(match found.filter(|(at, _)| !row.field(*at).is_empty()) {
                Some(column) => self.sheet.time(&row, column)?,
                None => default(number == self.depot),
            });
        }
        if let Some(front) = values.get_mut(..=self.depot) {
            front.rotate_right(1);
        }
        Ok(values)
    }

    /// The nodes that a column names by their ids, the depot's first; `None` where a field is empty.
    pub(crate) fn nodes(&self, column: &str) -> Result<Vec<Option<usize>>> {
        let (at, name) = self.column(column)?;
        let ids = self.sheet.ids();
        let rows: HashMap<&str, usize> = ids.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
        let mut values = Vec::new();
        for row in self.sheet.rows() {
            let id = row.field(*at);
            values.push(match rows.get(id) {
                _ if id.is_empty() => None,
                Some(&row) => Some(self.node_of(row)),
                None => {
                    let error = row.error(name, format!("found `{}`, expected the id of a row or nothing", shown(id)));
                    return Err(match regard_data::names::nearest(id, ids.iter().map(String::as_str)) {
                        Some(near) => error.with_hint(format!("did you mean `{}`?", shown(near))),
                        None => error,
                    });
                }
            });
        }
        if let Some(front) = values.get_mut(..=self.depot) {
            front.rotate_right(1);
        }
        Ok(values)
    }

    /// The node of a row, the depot being node 0.
    fn node_of(&self, row: usize) -> usize {
        match row.cmp(&self.depot) {
            Ordering::Less => row + 1,
            Ordering::Equal => 0,
            Ordering::Greater => row,
        }
    }

    /// A column that the problem needs, with its name in the file.
    fn column(&self, column: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|(preferred, _)| *preferred == column);
        let missing = || Error::parse(self.sheet.path, self.sheet.top, format!("has no column `{column}`"));
        found.map(|(_, found)| found).ok_or_else(missing)
    }

    /// If true, the table has times of day.
    pub(crate) fn has_times_of_day(&self) -> bool {
        self.sheet.has_times_of_day()
    }

    /// An error about the value of an option, which the caller or a comment gives.
    pub(crate) fn error_in_option(&self, name: &str, reason: String) -> Error {
        let is_of = |words: &str| words.split_once([':', '=']).is_some_and(|(found, _)| plain(found) == name);
        let line = self.sheet.comments.iter().find(|(_, words)| is_of(words)).map_or(0, |(line, _)| *line);
        Error::parse(self.sheet.path, line, reason).in_field(name)
    }

    /// An error about a field of node `node`, the depot being node 0; `column` is its role.
    pub(crate) fn error_at(&self, node: usize, column: &str, reason: String) -> Error {
        let row = match node {
            0 => self.depot,
            before if before <= self.depot => before - 1,
            behind => behind,
        };
        let line = self.sheet.rows().nth(row).map_or(0, |row| row.line);
        let name =
            self.columns.iter().find(|(preferred, _)| *preferred == column).map_or(column, |(_, (_, name))| name);
        Error::parse(self.sheet.path, line, reason).in_field(name)
    }

    /// The numbers of a column, the depot's first. The depot's may be empty, and must be 0 where `zero_at_depot` is true.
    pub(crate) fn amounts(&self, column: &str, zero_at_depot: bool) -> Result<Vec<f64>> {
        let column = self.column(column)?;
        let (at, name) = column;
        let mut values = Vec::new();
        for (number, row) in self.sheet.rows().enumerate() {
            let is_depot = number == self.depot;
            let empty = row.field(*at).is_empty();
            let value = if is_depot && empty { 0.0 } else { row.number(column)? };
            if value < 0.0 {
                return Err(row.error(name, format!("found {value}, expected 0 or more")));
            }
            if is_depot && zero_at_depot && value != 0.0 {
                let error = row.error(name, format!("found {value} for the depot, expected 0"));
                return Err(error.with_hint(ANOTHER_DEPOT));
            }
            values.push(value);
        }
        if let Some(front) = values.get_mut(..=self.depot) {
            front.rotate_right(1);
        }
        Ok(values)
    }
}

/// The row that is the depot, counted from 0.
fn depot_row(sheet: &Sheet<'_>, depot: Option<Column>) -> Result<usize> {
    if let Some(id) = &sheet.depot {
        return sheet.ids().iter().position(|known| known == id).ok_or_else(|| {
            let error = Error::parse(sheet.path, 0, format!("has no row with the id `{}`, the depot", shown(id)));
            match regard_data::names::nearest(id, sheet.ids().iter().map(String::as_str)) {
                Some(near) => error.with_hint(format!("did you mean `--depot {}`?", shown(near))),
                None => error.with_hint("`--depot ID` takes an id of the table"),
            }
        });
    }
    let Some((column, name)) = &depot else {
        return Ok(0);
    };
    let mut marked: Option<(usize, usize)> = None;
    for (at, row) in sheet.rows().enumerate() {
        let found = row.field(*column);
        let Some(is_depot) = flag(found) else {
            return Err(row.error(name, format!("found `{}`, expected 1 for the depot, else 0", shown(found))));
        };
        match marked {
            Some((_, first)) if is_depot => {
                let error = row.error(name, "marks a second depot, the first is").on_line(first);
                return Err(error.with_hint("several depots are not supported; `--depot ID` chooses one"));
            }
            None if is_depot => marked = Some((at, row.line)),
            _ => {}
        }
    }
    let none = || Error::parse(sheet.path, sheet.top, "marks no row with 1, expected the depot").in_field(name);
    marked.map(|(at, _)| at).ok_or_else(none)
}

/// Columns of a table beside ids and coordinates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields<'a> {
    /// Options as comments.
    pub options: Vec<(&'static str, String)>,
    /// Columns by name, `[nodes]`.
    pub columns: Vec<(&'static str, &'a [f64])>,
    /// Columns that name other nodes, `[nodes]`.
    pub nodes: Vec<(&'static str, &'a [Option<usize>])>,
}

/// Writes an instance as CSV, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write<I: SolverInstance>(path: impl AsRef<Path>, instance: &I) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The CSV text that [`parse_instance`] reads as the same instance, but for its name, which is that of the file.
///
/// # Errors
/// [`Error::Invalid`] for metrics that CSV cannot hold (write TSPLIB instead).
pub fn render<I: SolverInstance>(instance: &I) -> Result<String> {
    let fields = instance.csv_fields();
    let header = match instance.sites().metric() {
        Metric::Euclidean => "id,x,y",
        Metric::GreatCircleKm => "id,lat,lon",
        other => {
            let otherwise = match I::FILES.tsplib {
                Some(tsplib) => format!("; write TSPLIB (.{})", tsplib.endings[0]),
                None => format!(", and {} has no other file type", I::FILES.title),
            };
            return Err(Error::invalid("metric", format!("CSV cannot hold {} distances{otherwise}", other.name())));
        }
    };
    Ok(table(header, instance.sites(), &fields))
}

/// The text with these options as comments and these columns after the id and the coordinates of `header`.
fn table(header: &str, sites: &Sites, Fields { options, columns, nodes }: &Fields<'_>) -> String {
    let mut text: String = options.iter().map(|(name, value)| format!("# {name}: {value}\n")).collect();
    for line in sites.comment().lines() {
        // A comment such as "capacity: 100" must not be read as the option.
        let mark = if !options.is_empty() && is_option(line) { "# note: " } else { "# " };
        text.push_str(&format!("{mark}{line}\n"));
    }
    text.push_str(header);
    let names = columns.iter().map(|(name, _)| name).chain(nodes.iter().map(|(name, _)| name));
    text.extend(names.map(|name| format!(",{name}")));
    for (node, (id, [first, second, _])) in sites.ids().iter().zip(sites.coordinates()).enumerate() {
        text.push_str(&format!("\n{},{first},{second}", quoted(id)));
        // What never ends has no number.
        let shown = |value: f64| if value.is_finite() { format!(",{value}") } else { ",".to_owned() };
        text.extend(columns.iter().map(|(_, values)| shown(values[node])));
        let named =
            |other: Option<usize>| other.map_or(",".to_owned(), |other| format!(",{}", quoted(&sites.ids()[other])));
        text.extend(nodes.iter().map(|(_, others)| named(others[node])));
    }
    text.push('\n');
    text
}
