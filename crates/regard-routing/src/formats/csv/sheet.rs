//! A CSV text cut into comments, header and rows, with the lines they stand on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::super::{number, shown, stem};
use super::roles::{Head, Roles, TimeUnit};
use super::{ColumnKind, Duplicates, Notes, TableOptions, flag, is_of_kind, known_options, problem_of};
use crate::instance::FileSpec;
use crate::registry;
use crate::sites::is_coordinate;
use crate::table::Cells;
use crate::table::numbers::{Decimal, Reading};
use crate::{DistanceMatrix, Error, Metric, Result, Sites};

/// A text cut into comments, header and rows, whose numbers are written plainly.
pub struct Sheet<'t> {
    pub(super) path: &'t Path,
    /// Lines starting with `#` above the header, without the sign, with their numbers.
    pub(super) comments: Vec<(usize, String)>,
    /// The line of the header.
    pub(super) top: usize,
    /// Names of the columns as the file writes them.
    header: Vec<String>,
    roles: Roles,
    /// Rows with any value in them, with their lines.
    rows: Vec<(usize, Vec<String>)>,
    /// Ids of the rows, all different.
    ids: Vec<String>,
    /// The id of the depot, where the caller names it.
    pub(super) depot: Option<String>,
    /// Notes on the table.
    pub(super) notes: Notes,
    /// The nodes, where they are not read from the columns.
    nodes: Option<Sites>,
    /// If true, distances have a file of their own, so that there may be no coordinates.
    has_distances: bool,
    /// These distances, once the rows are known.
    pub(super) distances: Option<DistanceMatrix>,
    /// Columns with times of day.
    clocks: BTreeMap<usize, Clock>,
    /// The unit of the times, where columns name one.
    unit: Option<TimeUnit>,
}

/// A column with times of day.
struct Clock {
    /// The first of them, as the file writes it, and its line.
    example: (usize, String),
    /// Lines of other values: a plain number may be hours or minutes. 0 is the same in both.
    others: BTreeSet<usize>,
}

/// If true, a field looks like a time of day before 10 o'clock that is written without a colon, such as `0930`.
fn is_without_colon(field: &str) -> bool {
    let minutes = field.get(2..).and_then(|minutes| minutes.parse::<u8>().ok());
    field.len() == 4
        && field.starts_with('0')
        && minutes.is_some_and(|minutes| minutes < 60)
        && field.bytes().all(|byte| byte.is_ascii_digit())
}

/// Columns of one kind by their names.
fn columns(files: &'static FileSpec, kind: ColumnKind) -> impl Iterator<Item = &'static str> {
    files.csv.iter().filter(move |column| column.kind == kind).map(|column| column.names[0])
}

/// Columns whose rows are added up for one stop.
fn amounts(files: &'static FileSpec) -> impl Iterator<Item = &'static str> {
    columns(files, ColumnKind::Amount)
}

/// The hint for a field that is no time of day beside others that are, or no time at all.
fn time_hint(field: &str) -> Option<&'static str> {
    let is_number = || number(field).is_some() || Decimal::Comma.number(field).is_some();
    match field.contains(':') {
        true => Some(
            "a time of day is H:MM or H:MM:SS, also with AM or PM, without a date; hours go to 48, as 30:00 is 6:00 of the next \
             day",
        ),
        false => is_number().then_some("a plain number may be hours or minutes"),
    }
}

/// Minutes since midnight of a time of day such as `8:30`, `08:30:00` or `8:30 PM`.
fn minutes(field: &str) -> Option<f64> {
    const NOON: u32 = 12;
    let field = field.trim().to_ascii_lowercase();
    let ends = |end: &str| field.strip_suffix(end).map(str::trim_end);
    let (time, half) = match (ends("am").or_else(|| ends("a.m.")), ends("pm").or_else(|| ends("p.m."))) {
        (Some(time), _) => (time, Some(0)),
        (None, Some(time)) => (time, Some(NOON)),
        (None, None) => (ends("uhr").unwrap_or(&field), None),
    };
    let mut parts = time.split(':');
    let mut part = |most: u32| parts.next()?.trim().parse::<u32>().ok().filter(|part| *part <= most);
    let (hours, minutes) = (part(48)?, part(59)?);
    let seconds = if time.matches(':').count() == 2 { part(59)? } else { 0 };
    let whole = parts.next().is_none();
    let hours = match half {
        Some(half) => (1..=NOON).contains(&hours).then_some(hours % NOON + half)?,
        None => hours,
    };
    whole.then(|| f64::from(60 * hours + minutes) + f64::from(seconds) / 60.0)
}

impl<'t> Sheet<'t> {
    /// Cuts a text and finds the roles of its columns; `path` names it in errors.
    pub(super) fn of(text: &str, path: &'t Path, options: &TableOptions) -> Result<Self> {
        let Cells { comments, title, top, header, rows, empty, separator } = Cells::of(text, path)?;
        if header.iter().all(String::is_empty) && rows.is_empty() {
            let what = if comments.is_empty() { "is empty" } else { "has only comments" };
            let reason = format!("{what}, expected a header such as `id,x,y` or `id,lat,lon`, and a row for each node");
            return Err(Error::parse(path, 0, reason));
        }
        let mut notes = Notes::default();
        title.into_iter().for_each(|title| notes.add(title));
        let full = |at: usize| rows.iter().all(|(_, fields)| fields.get(at).is_some_and(|field| !field.is_empty()));
        let distinct = |at: usize| {
            let mut seen = HashSet::new();
            rows.iter().filter_map(|(_, fields)| fields.get(at)).all(|field| field.is_empty() || seen.insert(field))
        };
        let head = Head { path, line: top, names: &header, full: &full, distinct: &distinct };
        let known = options.values.clone().and_known_comments(&comments);
        let roles = Roles::of(&head, &options.columns, &known, &mut notes)?;
        if empty.count > 0 {
            let rows = if empty.count == 1 { "1 row" } else { &*format!("{} rows", empty.count) };
            notes.add(format!(
                "skipped {rows} without values (line {}{})",
                empty.first,
                if empty.count > 1 { ", ..." } else { "" }
            ));
        }
        let depot = options.depot.clone();
        let mut sheet = Self {
            path,
            comments,
            top,
            header,
            roles,
            rows,
            ids: Vec::new(),
            depot,
            notes,
            nodes: None,
            has_distances: options.distances.is_some(),
            distances: None,
            clocks: BTreeMap::new(),
            unit: None,
        };
        Ok({
            check_fields(path, "the header", &sheet.header, &sheet.rows)?;
            sheet.read_numbers(options.decimal, separator);
            sheet.read_units(known.in_minutes().is_some());
            sheet
        })
    }

    /// A table of numbers beside nodes that are known.
    pub(super) fn of_nodes(
        path: &'t Path,
        header: Vec<String>,
        roles: Roles,
        rows: Vec<(usize, Vec<String>)>,
        nodes: Sites,
        depot: Option<String>,
    ) -> Self {
        let (ids, notes) = (nodes.ids().to_vec(), Notes::default());
        Self {
            path,
            comments: Vec::new(),
            top: 0,
            header,
            roles,
            rows,
            ids,
            depot,
            notes,
            nodes: Some(nodes),
            has_distances: false,
            distances: None,
            clocks: BTreeMap::new(),
            unit: None,
        }
    }

    /// The problem of the table, after which its rows are known: bad ones are skipped where that is allowed, and
    /// duplicates are treated.
    pub(super) fn settle(&mut self, options: &TableOptions) -> Result<&'static str> {
        let name = problem_of(self, &options.values)?;
        let files = registry::spec(name).and_then(|spec| spec.files);
        let files = files.ok_or_else(|| Error::parse(self.path, 0, format!("no problem `{name}`")))?;
        self.check_options(files, options)?;
        let head = Head { path: self.path, line: self.top, names: &self.header, full: &|_| true, distinct: &|_| true };
        let nodes = ["id", "name", "x", "y", "lat", "lon"];
        let has_depot = !files.csv.is_empty();
        let used = |role: &str| {
            let of_problem = || files.csv.iter().any(|column| column.names[0] == role);
            nodes.contains(&role) || (role == "depot" && has_depot) || of_problem()
        };
        let field = |at: usize| {
            let fields = self.rows.iter().filter_map(move |(_, fields)| fields.get(at));
            fields.map(String::as_str).filter(|field| !field.is_empty())
        };
        let clock = |at: usize| field(at).next().is_some() && field(at).all(|field| minutes(field).is_some());
        let known = options.values.clone().and_known_comments(&self.comments);
        self.roles.note_unused(&head, used, clock, &known, &mut self.notes);
        if options.skip_bad {
            self.skip_bad(files)?;
        }
        if self.nodes.is_none() {
            self.name_rows(files, options.duplicates)?;
        }
        Ok(name)
    }

    /// Refuses numbers and a depot that the problem does not have, and notes such comments.
    fn check_options(&mut self, files: &FileSpec, options: &TableOptions) -> Result<()> {
        let own = |name: &str| files.csv_options.iter().any(|option| option.name == name);
        let present = files.csv.iter().map(|column| column.names[0]).filter(|name| self.roles.get(name).is_some());
        let present: Vec<&str> = present.collect();
        let missing = |name: &str| {
            let mut owners =
                registry::with_files().filter(|(_, other)| other.csv_options.first().is_some_and(|o| o.name == name));
            // A column that the others allow.
            let has = |other: &FileSpec, name: &str| other.csv.iter().any(|column| column.names[0] == name);
            let owner = owners.find(|(_, other)| present.iter().all(|name| has(other, name)));
            let column = owner.and_then(|(_, other)| other.csv.last()).map(|column| column.names[0]);
            match column.filter(|column| self.roles.get(column).is_none()) {
                Some(column) => format!("`--column {column}=NAME` names the column of the table that holds `{column}`"),
                None => "leave it out".to_owned(),
            }
        };
        for option in known_options() {
            if options.values.get(option.name).is_some() && !own(option.name) {
                let flag = super::roles::option_flag(option.name);
                let reason = format!("{flag} does not apply: the table is {}", described(files));
                return Err(Error::parse(self.path, 0, reason).with_hint(missing(option.name)));
            }
        }
        if self.depot.is_some() && files.csv.is_empty() {
            let reason = format!("--depot does not apply: the table is {}", described(files));
            return Err(Error::parse(self.path, 0, reason).with_hint("leave it out"));
        }
        let mut unused = Vec::new();
        for (line, words) in &self.comments {
            let (name, value) = words.split_once([':', '=']).unwrap_or_default();
            let name = super::plain(name);
            let known = known_options().find(|option| option.name == name).map(|option| option.name);
            let meant = known.or_else(|| number(value.trim()).and_then(|_| super::option_meant(&name)));
            let Some(meant) = meant.filter(|meant| known.is_none() || !own(meant)) else { continue };
            let way = match meant {
                _ if own(meant) => format!("did you mean `{meant}: N`?"),
                "vehicles" => "the number of vehicles is not limited".to_owned(),
                _ => format!("the table is {}", described(files)),
            };
            unused.push(format!("line {line}: `{}` is not used: {way}", shown(words)));
        }
        unused.into_iter().for_each(|note| self.notes.add(note));
        Ok(())
    }

    /// Writes the numbers of all columns with a role plainly, whatever marks they have.
    fn read_numbers(&mut self, given: Option<Decimal>, separator: u8) {
        let texts = ["id", "name", "depot"];
        let columns: Vec<(&'static str, Column)> = super::roles::role_names()
            .into_iter()
            .filter(|role| !texts.contains(role) && !is_of_kind(role, ColumnKind::Node))
            .filter_map(|role| Some((role, self.roles.get(role)?.clone())))
            .collect();
        for (_, (at, name)) in columns.iter().filter(|(role, _)| is_of_kind(role, ColumnKind::Time)) {
            let (mut example, mut others, mut without_colon) = (None, BTreeSet::new(), None);
            for (line, fields) in &mut self.rows {
                let Some(field) = fields.get_mut(*at) else { continue };
                if let Some(value) = minutes(field) {
                    let written = std::mem::replace(field, value.to_string());
                    example.get_or_insert((*line, written, value));
                } else if !field.is_empty() && number(field) != Some(0.0) {
                    others.insert(*line);
                    if without_colon.is_none() && is_without_colon(field) {
                        without_colon = Some(field.clone());
                    }
                }
            }
            if let Some((line, written, value)) = example {
                self.notes.add_on(name, format!(": `{written}` is read as {value} minutes"));
                self.clocks.insert(*at, Clock { example: (line, written), others });
            } else if let Some(written) = without_colon {
                let (hour, minute) = written.split_at(2);
                let value = number(&written).unwrap_or_default();
                let note =
                    format!(": `{written}` is read as the number {value}; as a time of day it is `{hour}:{minute}`");
                self.notes.add_on(name, note);
            }
        }
        let reading =
            |at: usize| Reading::of(self.rows.iter().map(|(_, fields)| fields.get(at).map_or("", String::as_str)));
        let readings: Vec<Reading> = columns.iter().map(|(_, (at, _))| reading(*at)).collect();
        let sure =
            |decimal| readings.iter().any(|reading| matches!(reading, Reading::Sure(found, _) if *found == decimal));
        let (commas, points) = (sure(Decimal::Comma), sure(Decimal::Point));
        for ((role, (at, name)), reading) in columns.iter().zip(&readings) {
            let is_degree = ["lat", "lon"].contains(role);
            let decimal = match (given, reading) {
                (Some(given), _) => given,
                (None, Reading::Sure(decimal, _)) => *decimal,
                (None, Reading::Plain | Reading::Mixed) => Decimal::Point,
                // No degrees are thousands.
                (None, Reading::Either(field)) if is_degree => {
                    if field.contains(',') {
                        Decimal::Comma
                    } else {
                        Decimal::Point
                    }
                }
                (None, Reading::Either(_)) if commas != points => {
                    if commas {
                        Decimal::Comma
                    } else {
                        Decimal::Point
                    }
                }
                (None, Reading::Either(field)) if field.contains(',') && separator == b';' => Decimal::Comma,
                (None, Reading::Either(_)) => Decimal::Point,
            };
            if given.is_none() {
                note_marks(&mut self.notes, name, reading, decimal);
            }
            for field in self.rows.iter_mut().filter_map(|(_, fields)| fields.get_mut(*at)) {
                let plain = decimal == Decimal::Point && number(field).is_some();
                if let Some(value) = decimal.number(field).filter(|value| !plain && is_coordinate(*value)) {
                    *field = value.to_string();
                }
            }
        }
    }

    /// Takes times to minutes where columns say another unit and something else of the table is in minutes: times of day, a
    /// speed or a column of another unit. Notes the unit otherwise, as one unit is as good as another.
    fn read_units(&mut self, in_minutes: bool) {
        let times = super::roles::role_names().into_iter().filter(|role| is_of_kind(role, ColumnKind::Time));
        let times: Vec<Column> = times.filter_map(|role| self.roles.get(role).cloned()).collect();
        let units: Vec<Option<TimeUnit>> = times.iter().map(|(_, name)| TimeUnit::of(name)).collect();
        let named: Vec<TimeUnit> = units.iter().copied().flatten().collect();
        let Some(first) = named.first().copied() else { return };
        let differ = named.iter().any(|unit| *unit != first);
        let are_minutes = in_minutes || differ || !self.clocks.is_empty();
        self.unit = Some(if are_minutes { TimeUnit::MINUTES } else { first });
        if !are_minutes {
            if first != TimeUnit::MINUTES {
                let text = format!(
                    ": times are {unit}, and so are those of driving: a unit of distance takes one",
                    unit = first.name
                );
                let column =
                    times.iter().zip(&units).find(|(_, unit)| unit.is_some()).map(|((_, name), _)| name.clone());
                self.notes.add_on(&column.unwrap_or_default(), text);
            }
            return;
        }
        for ((at, name), unit) in times.iter().zip(units) {
            let Some(unit) = unit.filter(|unit| *unit != TimeUnit::MINUTES && !self.clocks.contains_key(at)) else {
                continue;
            };
            let mut example = None;
            for field in self.rows.iter_mut().filter_map(|(_, fields)| fields.get_mut(*at)) {
                if let Some(value) = number(field) {
                    let scaled = (value * unit.minutes).to_string();
                    let written = std::mem::replace(field, scaled);
                    example.get_or_insert((written, value * unit.minutes));
                }
            }
            if let Some((written, value)) = example {
                self.notes.add_on(name, format!(": `{written}` is read as {value} minutes"));
            }
        }
    }

    /// The unit of the times, where the table says one.
    pub(super) fn unit_of_times(&self) -> Option<TimeUnit> {
        self.unit.or_else(|| self.has_times_of_day().then_some(TimeUnit::MINUTES))
    }

    /// Drops the rows whose numbers cannot be read.
    fn skip_bad(&mut self, files: &'static FileSpec) -> Result<()> {
        let nodes = self.node_columns()?;
        let depot_column = self.roles.get("depot").cloned();
        let mut is_bad = vec![false; self.rows.len()];
        for (at, (line, fields)) in self.rows.iter().enumerate() {
            let row = Row { path: self.path, line: *line, fields };
            let is_depot = match (&depot_column, &self.depot) {
                (_, Some(depot)) => nodes.id(&row, at + 1).is_ok_and(|id| id == *depot),
                (Some((column, _)), None) => flag(row.field(*column)) == Some(true),
                (None, None) => at == 0,
            };
            let amount = |role: &str| {
                let Some(column) = self.roles.get(role) else { return true };
                (is_depot && row.field(column.0).is_empty()) || row.number(column).is_ok_and(|value| value >= 0.0)
            };
            let time = |role: &str| {
                let Some(column) = self.roles.get(role) else { return true };
                row.field(column.0).is_empty() || self.time(&row, column).is_ok()
            };
            let good = nodes.id(&row, at + 1).is_ok()
                && nodes.point(&row).is_ok()
                && amounts(files).all(amount)
                && columns(files, ColumnKind::Time).all(time);
            if !good && is_depot && !files.csv.is_empty() {
                let reason = "is the depot and cannot be read; --skip-bad skips other rows alone";
                let hint = "correct the row, or name another depot with `--depot ID`";
                return Err(Error::parse(self.path, *line, reason).with_hint(hint));
            }
            is_bad[at] = !good;
        }
        self.mark_without_others(files, &nodes, &mut is_bad)?;
        let bad: Vec<usize> =
            self.rows.iter().zip(&is_bad).filter(|(_, bad)| **bad).map(|((line, _), _)| *line).collect();
        if bad.is_empty() {
            return Ok(());
        }
        const MOST: usize = 8;
        let mut lines: Vec<String> = bad.iter().take(MOST).map(usize::to_string).collect();
        lines.extend((bad.len() > MOST).then(|| "...".to_owned()));
        let (rows, line) = if bad.len() == 1 { ("row", "line") } else { ("rows", "lines") };
        let text =
            format!("skipped {} {rows} that cannot be read (--skip-bad): {line} {}", bad.len(), lines.join(", "));
        self.notes.add(text);
        let mut is_bad = is_bad.into_iter();
        self.rows.retain(|_| is_bad.next() != Some(true));
        Ok(())
    }

    /// Marks the rows that name a row which is not there or is marked, until none is left.
    fn mark_without_others(&self, files: &'static FileSpec, nodes: &NodeColumns, is_bad: &mut [bool]) -> Result<()> {
        let naming: Vec<&Column> = columns(files, ColumnKind::Node).filter_map(|role| self.roles.get(role)).collect();
        if naming.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, (line, fields))| nodes.id(&Row { path: self.path, line: *line, fields }, at + 1))
            .map(Result::unwrap_or_default)
            .collect();
        // Of each id the rows that are left, and of each name the rows that have it in a field.
        let mut left: HashMap<&str, usize> = HashMap::new();
        let mut named_by: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (_, fields)) in self.rows.iter().enumerate().filter(|(at, _)| !is_bad[*at]) {
            *left.entry(&ids[at]).or_default() += 1;
            let names = naming.iter().filter_map(|(column, _)| fields.get(*column)).filter(|name| !name.is_empty());
            names.for_each(|name| named_by.entry(name).or_default().push(at));
        }
        let rows_of = |left: &HashMap<&str, usize>, id: &str| left.get(id).copied().unwrap_or(0);
        // Rows that repeat an id are called `id#2` and so on.
        let is_known = |left: &HashMap<&str, usize>, name: &str| {
            let repeated = name.rsplit_once('#').and_then(|(id, number)| Some((id, number.parse::<usize>().ok()?)));
            rows_of(left, name) > 0 || repeated.is_some_and(|(id, number)| number >= 2 && number <= rows_of(left, id))
        };
        let lost = named_by.iter().filter(|(name, _)| !is_known(&left, name));
        let mut open: Vec<usize> = lost.flat_map(|(_, rows)| rows.iter().copied()).collect();
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut is_bad[at], true) {
                continue;
            }
            let id = ids[at].as_str();
            let count = rows_of(&left, id);
            left.insert(id, count.saturating_sub(1));
            let name = if count > 1 { format!("{id}#{count}") } else { id.to_owned() };
            if !is_known(&left, &name) {
                open.extend(named_by.get(name.as_str()).into_iter().flatten());
            }
        }
        match self.rows.iter().zip(&*is_bad).find(|(_, bad)| **bad) {
            Some(((line, _), _)) if nodes.id.is_none() && !named_by.is_empty() => {
                let reason = "cannot be skipped: rows are named by their numbers, which would change";
                Err(Error::parse(self.path, *line, reason).with_hint("`--column id=NAME` names a column of ids"))
            }
            _ => Ok(()),
        }
    }

    /// Gives every row an id; rows of one id are separate stops, one stop or an error.
    fn name_rows(&mut self, files: &'static FileSpec, duplicates: Option<Duplicates>) -> Result<()> {
        let nodes = self.node_columns()?;
        let summed: Vec<usize> = amounts(files).filter_map(|role| Some(self.roles.get(role)?.0)).collect();
        // For each row: the row that has its id, and the number of rows of that id so far.
        let mut first: HashMap<String, (usize, usize)> = HashMap::new();
        let mut ids: Vec<Option<String>> = Vec::with_capacity(self.rows.len());
        let mut again = Vec::new();
        for (at, (line, fields)) in self.rows.iter().enumerate() {
            let row = Row { path: self.path, line: *line, fields };
            let id = nodes.id(&row, at + 1)?;
            let Some((begin, count)) = first.get_mut(&id) else {
                first.insert(id.clone(), (at, 1));
                ids.push(Some(id));
                continue;
            };
            *count += 1;
            let same_place = {
                let (line, fields) = &self.rows[*begin];
                let begin = Row { path: self.path, line: *line, fields };
                nodes.point(&begin)? == nodes.point(&row)?
            };
            // A word may name something that is no id, so that equal ones at different places are no fault.
            let by_default = duplicates.is_none() && nodes.id.is_some() && (same_place || self.roles.id_is_guessed);
            let keeps = duplicates == Some(Duplicates::Keep) || by_default;
            if keeps {
                ids.push(Some(format!("{id}#{count}")));
            } else if matches!(duplicates, None | Some(Duplicates::Error)) {
                let reason = format!("`{}` occurs a second time, first", shown(&id));
                let hint = "--duplicates says what to do with them: keep, sum, first or last";
                return Err(row.error(nodes.id_name(), reason).on_line(self.rows[*begin].0).with_hint(hint));
            } else {
                if duplicates == Some(Duplicates::Sum) {
                    let (first_line, first) = &self.rows[*begin];
                    if !same_place {
                        let reason =
                            format!("stands at another place than on line {first_line}, and one stop has one place");
                        let hint = "`--duplicates keep` makes them stops of their own";
                        return Err(row.error(nodes.id_name(), reason).with_hint(hint));
                    }
                    self.check_alike(files, &row, &Row { path: self.path, line: *first_line, fields: first })?;
                }
                ids.push(None);
            }
            again.push((at, *begin, *line, id));
        }
        self.treat(&again, duplicates.unwrap_or(Duplicates::Keep), &summed);
        let keep: Vec<bool> = ids.iter().map(Option::is_some).collect();
        let mut kept = keep.iter();
        self.rows.retain(|_| kept.next().is_none_or(|keep| *keep));
        self.ids = ids.into_iter().flatten().collect();
        // An id such as `a#2` may stand in the file too.
        let mut seen = HashMap::new();
        for (at, id) in self.ids.iter().enumerate() {
            if let Some(other) = seen.insert(id.clone(), at) {
                let line = self.rows.get(at).map_or(0, |(line, _)| *line);
                let reason = format!("`{}` occurs a second time, first", shown(id));
                return Err(Error::parse(self.path, line, reason)
                    .on_line(self.rows[other].0)
                    .in_field(nodes.id_name()));
            }
        }
        Ok(())
    }

    /// Refuses a row that would be one stop with another one, whose times or other nodes differ.
    fn check_alike(&self, files: &'static FileSpec, row: &Row<'_>, first: &Row<'_>) -> Result<()> {
        let roles = columns(files, ColumnKind::Time).chain(columns(files, ColumnKind::Node));
        for (at, name) in roles.filter_map(|role| self.roles.get(role)) {
            if row.field(*at) != first.field(*at) {
                let reason = format!("differs from line {}, expected the same in all rows of one stop", first.line);
                let hint = "`--duplicates keep` makes them stops of their own";
                return Err(row.error(name, reason).with_hint(hint));
            }
        }
        Ok(())
    }

    /// Carries values from rows of an id that occurred before to its first row, and notes them.
    fn treat(&mut self, again: &[(usize, usize, usize, String)], duplicates: Duplicates, summed: &[usize]) {
        let Some((_, _, line, id)) = again.first() else { return };
        for (at, begin, ..) in again {
            let fields = self.rows[*at].1.clone();
            let first = &mut self.rows[*begin].1;
            match duplicates {
                Duplicates::Last => *first = fields,
                Duplicates::Sum => {
                    for column in summed {
                        let value = |fields: &[String]| fields.get(*column).and_then(|field| number(field));
                        if let (Some(one), Some(other)) = (value(first), value(&fields)) {
                            first[*column] = (one + other).to_string();
                        }
                    }
                }
                _ => {}
            }
        }
        let what = match duplicates {
            Duplicates::Sum => "are one stop with the sum of their amounts",
            Duplicates::First => "are left out",
            Duplicates::Last => "replace the earlier ones",
            _ => "are stops of their own, as `NAME#2`",
        };
        let rows = if again.len() == 1 {
            "1 row repeats an id".to_owned()
        } else {
            format!("{} rows repeat ids", again.len())
        };
        let example = format!("`{}` on line {line}", shown(id));
        self.notes.add(format!("{rows} ({example}): they {what} (--duplicates keep, sum, first, last or error)"));
    }

    /// The column of a role.
    pub(super) fn column(&self, role: &str) -> Option<Column> {
        self.roles.get(role).cloned()
    }

    /// The rows, ready to be read.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, fields)| Row { path: self.path, line: *line, fields })
    }

    /// If true, the table has times of day.
    pub(super) fn has_times_of_day(&self) -> bool {
        !self.clocks.is_empty()
    }

    /// The time in a column of a row: a number, or a time of day where the column has those.
    pub(super) fn time(&self, row: &Row<'_>, column: &Column) -> Result<f64> {
        let (at, name) = column;
        let out = format!("`--column {name}=` leaves the column out");
        if let Some(Clock { example: (line, example), others }) = self.clocks.get(at)
            && others.contains(&row.line)
        {
            let field = row.field(*at);
            let reason = format!("found `{}`, expected a time of day such as `{example}`", shown(field));
            let hint = time_hint(field).map_or_else(|| out.clone(), |hint| format!("{hint}; {out}"));
            return Err(row.error(name, reason).on_line(*line).with_hint(hint));
        }
        let value = row.number(column).map_err(|error| {
            let colon = time_hint(row.field(*at)).filter(|_| row.field(*at).contains(':'));
            error.with_hint(format!("{}; {out}", colon.unwrap_or("a time is a number or a time of day such as 8:30")))
        })?;
        if value < 0.0 {
            return Err(row.error(name, format!("found {value}, expected 0 or more")));
        }
        Ok(value)
    }

    /// Ids of the rows.
    pub(super) fn ids(&self) -> &[String] {
        &self.ids
    }

    fn node_columns(&self) -> Result<NodeColumns> {
        NodeColumns::of(&self.roles, &self.header, self.path, self.top, !self.has_distances)
    }

    /// All comments in one line.
    pub(crate) fn all_comments(&self) -> String {
        self.comments.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Ids, names and coordinates of all rows as nodes, with this comment.
    pub(crate) fn sites(&self, comment: &str) -> Result<Sites> {
        if let Some(nodes) = &self.nodes {
            return Ok(nodes.clone());
        }
        let name = stem(self.path);
        if self.ids.is_empty() {
            return Err(Error::parse(self.path, 0, "has no rows below its header, expected at least one node"));
        }
        let columns = self.node_columns()?;
        let points = self.rows().map(|row| columns.point(&row)).collect::<Result<Vec<_>>>()?;
        let sites = match &self.distances {
            None => Sites::new(name, columns.metric(), points)?,
            Some(matrix) => {
                let sites = Sites::new(name.clone(), Metric::Explicit(matrix.clone()), vec![])?;
                let sites = match columns.on_earth {
                    true => sites.with_degrees(points.iter().map(|&[lat, lon, _]| [lat, lon]).collect())?,
                    false => sites,
                };
                match columns.values.is_some() {
                    // Pictures and the network have the coordinates.
                    true => sites.with_display(Sites::new(name, columns.metric(), points)?.places().to_vec())?,
                    false => sites,
                }
            }
        };
        let sites = sites.with_ids(self.ids.clone())?.with_comment(comment);
        Ok(match self.roles.get("name") {
            Some((at, _)) => sites.with_labels(self.rows().map(|row| row.field(*at).to_owned()).collect()),
            None => sites,
        })
    }
}

/// A problem with the columns of its tables.
fn described(files: &FileSpec) -> String {
    let columns: Vec<&str> = files.csv.iter().map(|column| column.names[0]).collect();
    match columns.is_empty() {
        true => format!("{}, without amounts", files.title),
        false => format!("{} ({})", files.title, columns.join(", ")),
    }
}

/// Refuses rows with more values than `first`, the row that `above` names: a decimal comma may have cut a number.
pub(super) fn check_fields(path: &Path, above: &str, first: &[String], rows: &[(usize, Vec<String>)]) -> Result<()> {
    for (line, fields) in rows {
        if let Some(surplus) = fields.iter().skip(first.len()).find(|field| !field.is_empty()) {
            let (found, expected) = (fields.len(), first.len());
            let reason = format!("has {found} fields, {above} has {expected}; `{}` is too much", shown(surplus));
            return Err(Error::parse(path, *line, reason).with_hint(
                "decimal commas need another separator, such as `;`; put text with a comma in double quotes",
            ));
        }
    }
    Ok(())
}

/// Notes a decimal comma, and a mark that may have meant something else.
fn note_marks(notes: &mut Notes, name: &str, reading: &Reading, decimal: Decimal) {
    let (field, certain) = match reading {
        Reading::Sure(Decimal::Comma, field) => (field, true),
        Reading::Either(field) => (field, false),
        _ => return,
    };
    // A decimal point that may mark thousands is what it seems to be almost always.
    if !certain && decimal == Decimal::Point && !field.contains(',') {
        return;
    }
    let Some(value) = decimal.number(field) else { return };
    let other = decimal.other().name();
    notes.add_on(name, format!(": `{}` is read as {value} (--decimal {other} changes it)", shown(field)));
}

/// A column by its place in a row and its name in the header.
pub(super) type Column = (usize, String);

/// Where in a row the id and the two coordinates stand.
pub(super) struct NodeColumns {
    id: Option<Column>,
    on_earth: bool,
    /// x and y, or latitude and longitude, where there are any.
    values: Option<[Column; 2]>,
}

impl NodeColumns {
    /// Finds the columns among the roles of the header, which stands on `line`.
    fn of(roles: &Roles, header: &[String], path: &Path, line: usize, needs_coordinates: bool) -> Result<Self> {
        let pair = |first: &str, second: &str| roles.get(first).cloned().zip(roles.get(second).cloned());
        let fault = |reason: String, hint: &str| Err(Error::parse(path, line, reason).with_hint(hint));
        let (on_earth, (first, second)) = match (pair("x", "y"), pair("lat", "lon")) {
            (Some(_), Some(_)) => {
                return fault(
                    "has both x, y and latitude, longitude, expected one of them".into(),
                    "`--column x=` leaves x and y out, `--column lat=` latitude and longitude",
                );
            }
            (Some(plane), None) => (false, plane),
            (None, Some(earth)) => (true, earth),
            (None, None) if !needs_coordinates => {
                return Ok(Self { id: roles.get("id").cloned(), on_earth: false, values: None });
            }
            (None, None) => {
                let lower: Vec<String> = header.iter().map(|name| name.to_lowercase()).collect();
                let found = shown(&lower.join(","));
                return fault(
                    format!("found the columns `{found}`, expected `id,x,y` or `id,lat,lon`"),
                    "the first line names the columns, e.g. `id,x,y` or `id,lat,lon`; \
                     `--column x=NAME --column y=NAME` says which they are, `--distances FILE` gives distances instead",
                );
            }
        };
        Ok(Self { id: roles.get("id").cloned(), on_earth, values: Some([first, second]) })
    }

    /// Straight lines for x and y, great circles for latitude and longitude.
    pub(super) fn metric(&self) -> Metric {
        if self.on_earth { Metric::GreatCircleKm } else { Metric::Euclidean }
    }

    /// The id of a row, or how many rows there are with it.
    pub(super) fn id(&self, row: &Row<'_>, counted: usize) -> Result<String> {
        let Some((column, name)) = &self.id else {
            return Ok(counted.to_string());
        };
        match row.field(*column) {
            "" => Err(row.error(name, "is empty").with_hint("`--skip-bad` skips rows that cannot be read")),
            id => Ok(id.to_owned()),
        }
    }

    /// The name of the column of ids.
    pub(super) fn id_name(&self) -> &str {
        self.id.as_ref().map_or(super::ID[0], |(_, name)| name)
    }

    /// The coordinates of a row, checked; 0 where there are none.
    pub(super) fn point(&self, row: &Row<'_>) -> Result<[f64; 3]> {
        let Some(values) = &self.values else { return Ok([0.0; 3]) };
        let [first, second] = [row.number(&values[0])?, row.number(&values[1])?];
        let is_latitude = |value| (-90.0..=90.0).contains(&value);
        // Some sources count longitudes eastwards all the way round.
        let is_longitude = |value| (-180.0..=360.0).contains(&value);
        let outside = |at: usize, value: f64, range: &str, swap: &str| {
            let reason = format!("found {value}, expected degrees from {range}");
            Err(row
                .error(&values[at].1, reason)
                .with_hint(format!("{swap}`--skip-bad` skips rows that cannot be read")))
        };
        if self.on_earth && !is_latitude(first) {
            let [lat, lon] = values.each_ref().map(|(_, name)| shown(name));
            let swap = format!("`--column lat={lon} --column lon={lat}` swaps latitude and longitude; ");
            let may_be_swapped = is_longitude(first) && is_latitude(second);
            return outside(0, first, "-90 to 90", if may_be_swapped { &swap } else { "" });
        }
        if self.on_earth && !is_longitude(second) {
            return outside(1, second, "-180 to 180", "");
        }
        Ok([first, second, 0.0])
    }
}

/// The first of `wanted` among the names; an error when that one occurs twice.
pub(super) fn find(names: &[String], wanted: &[&str]) -> Result<Option<Column>, String> {
    let Some(name) = wanted.iter().find(|name| names.iter().any(|n| n == *name)) else {
        return Ok(None);
    };
    let mut places = names.iter().enumerate().filter(|(_, n)| n == name).map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(Some((at, (*name).to_owned()))),
        _ => Err(format!("column `{name}` occurs twice")),
    }
}

/// One row with its place in the file.
pub(super) struct Row<'r> {
    pub(super) path: &'r Path,
    pub(super) line: usize,
    pub(super) fields: &'r [String],
}

impl Row<'_> {
    /// The field in a column; empty where the row is too short.
    pub(super) fn field(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", String::as_str)
    }

    /// The number in a column.
    pub(super) fn number(&self, (column, name): &Column) -> Result<f64> {
        const SKIP: &str = "`--skip-bad` skips rows that cannot be read";
        let found = self.field(*column);
        if found.is_empty() {
            return Err(self.error(name, "is missing, expected a number").with_hint(SKIP));
        }
        number(found).ok_or_else(|| {
            let error = self.error(name, format!("found `{}`, expected a number", shown(found)));
            error.with_hint(match found.contains(',') {
                true => "`--decimal comma` reads decimal commas, `--decimal point` commas between thousands",
                false => SKIP,
            })
        })
    }

    /// An error about a field of this row.
    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }
}
