//! The roles of columns: named by the caller, by the names that formats declare, by words that people use for them, or by
//! a name that is nearly one of these.

use super::sheet::{Column, find};
use super::{ColumnKind, CsvColumn, DEPOT, ID, LATITUDE, LONGITUDE, NAME, Notes, Options, is_of_kind, known_options};
use crate::registry::with_files;
use crate::{Error, Result, shown};
use regard_data::names;
use std::collections::BTreeMap;
use std::path::Path;

/// Words for the columns of nodes in several languages, folded by [`folded`].
const ID_WORDS: &[&str] = &[
    "nr",
    "no",
    "number",
    "nummer",
    "key",
    "code",
    "customer",
    "customer_id",
    "stop",
    "location",
    "address",
    "kunde",
    "kunden",
    "kundennr",
    "kundennummer",
    "kundenname",
    "ort",
    "adresse",
    "standort",
    "halt",
    "firma",
    "client",
    "nom",
    "ville",
    "lieu",
    "arret",
    "cliente",
    "nombre",
    "ciudad",
    "lugar",
    "direccion",
    "nome",
    "citta",
    "indirizzo",
    "klant",
    "naam",
    "plaats",
];
const X_WORDS: &[&str] = &[
    "x_coord",
    "xcoord",
    "coord_x",
    "xcoordinate",
    "x_coordinate",
    "x_koordinate",
    "pos_x",
    "x_pos",
    "easting",
    "east",
    "e",
    "rechtswert",
    "ostwert",
];
const Y_WORDS: &[&str] = &[
    "y_coord",
    "ycoord",
    "coord_y",
    "ycoordinate",
    "y_coordinate",
    "y_koordinate",
    "pos_y",
    "y_pos",
    "northing",
    "north",
    "n",
    "hochwert",
    "nordwert",
];
const LATITUDE_WORDS: &[&str] = &[
    "breite",
    "breitengrad",
    "geo_breite",
    "gps_breite",
    "geo_lat",
    "gps_lat",
    "gps_latitude",
    "lat_deg",
    "latitud",
    "latitudine",
    "breedtegraad",
    "y_lat",
];
const LONGITUDE_WORDS: &[&str] = &[
    "lange",
    "laenge",
    "langengrad",
    "laengengrad",
    "geo_lange",
    "geo_laenge",
    "gps_lange",
    "gps_laenge",
    "geo_lon",
    "gps_lon",
    "gps_lng",
    "gps_longitude",
    "lon_deg",
    "longitud",
    "longitudine",
    "lengtegraad",
    "x_lon",
];

/// Names of columns whose fields may be places of several rows.
const PLACES: [&str; 3] = ["city", "place", "node"];

/// Words for columns that hold both ends of a time window, which no problem reads.
const WINDOWS_IN_ONE: &[&str] =
    &["time_window", "time_windows", "timewindow", "tw", "window", "zeitfenster", "lieferzeit", "creneau", "ventana"];

/// A unit of time that a name may give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeUnit {
    /// Its name.
    pub(super) name: &'static str,
    /// Minutes that it takes.
    pub(super) minutes: f64,
    words: &'static [&'static str],
}

const TIME_UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "minutes", minutes: 1.0, words: &["min", "mins", "minute", "minutes", "minuten"] },
    TimeUnit { name: "hours", minutes: 60.0, words: &["h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden"] },
    TimeUnit {
        name: "seconds",
        minutes: 1.0 / 60.0,
        words: &["s", "sec", "secs", "second", "seconds", "sek", "sekunden"],
    },
    TimeUnit { name: "days", minutes: 1440.0, words: &["day", "days", "tag", "tage"] },
];

impl TimeUnit {
    /// That of times of day.
    pub(super) const MINUTES: Self = TIME_UNITS[0];

    /// The unit that a word is.
    fn of_word(word: &str) -> Option<Self> {
        TIME_UNITS.into_iter().find(|unit| unit.words.contains(&word))
    }

    /// The unit that a name gives: in brackets, or as its last word.
    pub(super) fn of(name: &str) -> Option<Self> {
        if let Some((_, unit)) = name.split_once(['(', '[']) {
            return Self::of_word(&folded(unit.trim_end_matches([')', ']', ' '])));
        }
        let word = folded(name);
        let last = word.rsplit_once('_').map(|(_, last)| last);
        // A letter alone is a name.
        Self::of_word(last.unwrap_or(if word.len() > 1 { &word } else { "" }))
    }
}

/// A folded name without a unit of time behind it.
fn without_unit(word: &str) -> &str {
    word.rsplit_once('_').filter(|(_, last)| TimeUnit::of_word(last).is_some()).map_or(word, |(before, _)| before)
}

/// A name as words are compared: in lower case, without accents, units in brackets and signs.
pub(super) fn folded(name: &str) -> String {
    let outside = name.split(['(', '[']).next().unwrap_or("");
    let mut text = String::new();
    for c in outside.trim().to_lowercase().chars() {
        match c {
            'ä' | 'á' | 'à' | 'â' | 'ã' => text.push('a'),
            'é' | 'è' | 'ê' | 'ë' => text.push('e'),
            'í' | 'ì' | 'î' | 'ï' => text.push('i'),
            'ö' | 'ó' | 'ò' | 'ô' | 'õ' => text.push('o'),
            'ü' | 'ú' | 'ù' | 'û' => text.push('u'),
            'ç' => text.push('c'),
            'ñ' => text.push('n'),
            'ß' => text.push_str("ss"),
            // The second half of a letter that is written as two characters.
            '\u{300}'..='\u{36f}' => {}
            c if c.is_alphanumeric() => text.push(c),
            _ if text.ends_with('_') || text.is_empty() => {}
            _ => text.push('_'),
        }
    }
    text.trim_end_matches('_').to_owned()
}

/// The columns of a table by role.
#[derive(Debug, Default)]
pub(super) struct Roles {
    columns: BTreeMap<&'static str, Column>,
    /// Roles that the caller leaves without a column.
    closed: Vec<&'static str>,
    /// Columns that a note names as possible amounts.
    possible: Vec<usize>,
    /// If true, the column of ids was guessed by a word for it.
    pub(super) id_is_guessed: bool,
}

/// A role with its names.
#[derive(Clone, Copy)]
struct Role {
    name: &'static str,
    /// Names that have no other meaning, the preferred first.
    names: &'static [&'static str],
    /// Words that may have another meaning.
    words: &'static [&'static str],
}

const NODE_ROLES: [Role; 7] = [
    Role { name: "id", names: &ID, words: ID_WORDS },
    Role { name: "name", names: &NAME, words: &[] },
    Role { name: "x", names: &["x"], words: X_WORDS },
    Role { name: "y", names: &["y"], words: Y_WORDS },
    Role { name: "lat", names: &LATITUDE, words: LATITUDE_WORDS },
    Role { name: "lon", names: &LONGITUDE, words: LONGITUDE_WORDS },
    Role { name: "depot", names: &DEPOT, words: &[] },
];

/// The columns that problems declare, each once.
fn problem_columns() -> Vec<&'static CsvColumn> {
    let mut all: Vec<&'static CsvColumn> = Vec::new();
    for column in with_files().flat_map(|(_, files)| files.csv) {
        if !all.iter().any(|known| known.names[0] == column.names[0]) {
            all.push(column);
        }
    }
    all
}

fn role(name: &str) -> Option<Role> {
    let of_problem = |column: &&CsvColumn| column.names[0] == name;
    NODE_ROLES.into_iter().find(|role| role.name == name).or_else(|| {
        let column = problem_columns().into_iter().find(of_problem)?;
        Some(Role { name: column.names[0], names: column.names, words: column.words })
    })
}

/// The names of all roles.
pub(super) fn role_names() -> Vec<&'static str> {
    let nodes = NODE_ROLES.iter().map(|role| role.name);
    nodes.chain(problem_columns().iter().map(|column| column.names[0])).collect()
}

/// A column given to a role by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRole {
    role: &'static str,
    column: String,
}

impl ColumnRole {
    /// The names of all roles: those of any table, then those of the problems.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        role_names()
    }

    /// All names by which [`parse`](Self::parse) knows roles, in lower case, each once.
    #[must_use]
    pub fn all_names() -> Vec<&'static str> {
        let mut all = role_names();
        for name in role_names().into_iter().filter_map(role).flat_map(|role| role.names) {
            if !all.contains(name) {
                all.push(name);
            }
        }
        all
    }

    /// Reads `role=name`; an empty name leaves the role without a column.
    ///
    /// # Errors
    /// The expected form, or the known roles.
    ///
    /// ```
    /// use regard_routing::formats::csv::ColumnRole;
    ///
    /// assert!(ColumnRole::parse("demand=Weight").is_ok());
    /// assert!(ColumnRole::parse("demands=Weight").unwrap_err().contains("did you mean `demand`?"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, column) = text.split_once('=').ok_or("expected ROLE=NAME, for example demand=Weight")?;
        let name = name.trim();
        let known = role(name).or_else(|| {
            let alias = |role: &Role| role.names.iter().any(|known| known.eq_ignore_ascii_case(name));
            role_names().into_iter().filter_map(role).find(alias)
        });
        let Some(found) = known else {
            let names = role_names();
            let suggestion = names::suggestion(name, names.iter().copied());
            return Err(format!("no role `{}`{suggestion}; roles are {}", shown(name), names.join(", ")));
        };
        Ok(Self { role: found.name, column: column.trim().to_owned() })
    }
}

/// A table's header, for messages.
pub(super) struct Head<'h> {
    pub(super) path: &'h Path,
    pub(super) line: usize,
    /// Names as the file writes them.
    pub(super) names: &'h [String],
    /// Columns without an empty field.
    pub(super) full: &'h dyn Fn(usize) -> bool,
    /// Columns in which no field occurs twice.
    pub(super) distinct: &'h dyn Fn(usize) -> bool,
}

impl Head<'_> {
    fn error(&self, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason)
    }

    fn all(&self) -> String {
        names::list(self.names.iter().filter(|name| !name.is_empty()).map(|name| name.as_str()).take(20))
    }

    fn column(&self, at: usize) -> Column {
        (at, self.names[at].clone())
    }
}

impl Roles {
    /// The columns of a header, those of the caller first. Words for amounts count only where an option that a problem
    /// needs is given: a table with weights alone may be a tour. Every guess is noted.
    pub(super) fn of(head: &Head<'_>, given: &[ColumnRole], options: &Options, notes: &mut Notes) -> Result<Self> {
        let mut roles = Self::default();
        for ColumnRole { role, column } in given {
            roles.give(head, role, column)?;
        }
        let lower: Vec<String> = head.names.iter().map(|name| name.to_lowercase()).collect();
        for role in role_names().into_iter().filter_map(role) {
            roles.declared(head, &lower, role)?;
        }
        // A name may occur twice; where all rows of a town have its name, they are named by their ids.
        let is_of_many = |(at, name): &Column| PLACES.contains(&&*folded(name)) && !(head.distinct)(*at);
        if given.iter().all(|given| given.role != "name") && roles.get("name").is_some_and(is_of_many) {
            roles.columns.remove("name");
        }
        let wanted = wanted_columns(options);
        let missing_places = !(roles.has("x") && roles.has("y") || roles.has("lat") && roles.has("lon"));
        for (first, second) in [("lat", "lon"), ("x", "y")] {
            let complete = |roles: &Self| roles.has(first) && roles.has(second);
            if missing_places && !complete(&roles) && !(roles.has("lat") && roles.has("lon")) {
                roles.guess_pair(head, first, second, notes);
            }
        }
        for name in wanted {
            roles.guess(head, name, notes);
        }
        if !roles.has("id") {
            roles.guess_id(head, notes);
        }
        if wanted_columns(options).is_empty() {
            roles.note_possible(head, notes);
        }
        Ok(roles)
    }

    pub(super) fn get(&self, role: &str) -> Option<&Column> {
        self.columns.get(role)
    }

    fn has(&self, role: &str) -> bool {
        self.columns.contains_key(role)
    }

    fn is_open(&self, role: &str) -> bool {
        !self.has(role) && !self.closed.contains(&role)
    }

    fn is_free(&self, at: usize) -> bool {
        self.columns.values().all(|(taken, _)| *taken != at)
    }

    fn give(&mut self, head: &Head<'_>, role: &'static str, column: &str) -> Result<()> {
        if !self.is_open(role) {
            return Err(Error::invalid("--column", format!("`{role}` is given twice")));
        }
        if column.is_empty() {
            self.closed.push(role);
            return Ok(());
        }
        let exact = |name: &String| name == column;
        let alike = |name: &String| folded(name) == folded(column) && !name.is_empty();
        let at = head.names.iter().position(exact).or_else(|| head.names.iter().position(alike));
        let Some(at) = at else {
            let error = head.error(format!("has no column `{}` for `{role}`", shown(column)));
            let known = head.names.iter().map(String::as_str).filter(|name| !name.is_empty());
            return Err(error.with_hint(match names::nearest(column, known) {
                Some(near) => format!("did you mean `--column {role}={}`?", shown(near)),
                None => format!("the columns are {}", head.all()),
            }));
        };
        self.columns.insert(role, head.column(at));
        Ok(())
    }

    /// Takes the first of a role's own names that is a column.
    fn declared(&mut self, head: &Head<'_>, lower: &[String], role: Role) -> Result<()> {
        if !self.is_open(role.name) {
            return Ok(());
        }
        // A name that has a role already does not serve another one.
        let free: Vec<String> = lower
            .iter()
            .enumerate()
            .map(|(at, name)| if self.is_free(at) { name.clone() } else { String::new() })
            .collect();
        let found = find(&free, role.names).map_err(|reason| {
            let hint = format!("`--column {}=NAME` says which one; rename one of them", role.name);
            head.error(reason).with_hint(hint)
        })?;
        if let Some((at, _)) = found {
            self.columns.insert(role.name, head.column(at));
        }
        Ok(())
    }

    /// The free column that a word for a role names, or else the only one that is nearly so.
    fn candidate(&self, head: &Head<'_>, role: Role, nearly: bool) -> Option<usize> {
        let words = || role.names.iter().chain(role.words).copied();
        let free = || head.names.iter().enumerate().filter(|(at, name)| self.is_free(*at) && !name.is_empty());
        let exact = words().find_map(|word| free().find(|(_, name)| folded(name) == word).map(|(at, _)| at));
        let is_time = is_of_kind(role.name, ColumnKind::Time);
        let with_unit = || {
            let is = |name: &str, word: &str| is_time && without_unit(&folded(name)) == word;
            words().find_map(|word| free().find(|(_, name)| is(name, word)).map(|(at, _)| at))
        };
        // Short words are near to too much.
        let long = || words().filter(|word| word.len() >= 5);
        let near = || {
            let distance = |name: &str| long().map(|word| (names::distance(name, word), word)).min();
            let small = |(differ, word): &(usize, &str)| *differ <= 1 + word.len() / 8;
            let near = free().filter(|(_, name)| folded(name).len() >= 5);
            let near = near.filter_map(|(at, name)| Some((distance(&folded(name)).filter(small)?.0, at)));
            near.min().map(|(_, at)| at)
        };
        exact.or_else(with_unit).or_else(|| nearly.then(near).flatten())
    }

    fn guess(&mut self, head: &Head<'_>, name: &'static str, notes: &mut Notes) {
        if let Some(role) = role(name).filter(|_| self.is_open(name))
            && let Some(at) = self.candidate(head, role, true)
        {
            self.take(head, role, at, notes);
        }
    }

    /// Takes a column of ids by a word for it, where every row has one.
    fn guess_id(&mut self, head: &Head<'_>, notes: &mut Notes) {
        if let Some(role) = role("id").filter(|_| self.is_open("id"))
            && let Some(at) = self.candidate(head, role, false).filter(|at| (head.full)(*at))
        {
            self.take(head, role, at, notes);
            self.id_is_guessed = true;
        }
    }

    /// Takes both columns of a pair of coordinates, or none.
    fn guess_pair(&mut self, head: &Head<'_>, first: &'static str, second: &'static str, notes: &mut Notes) {
        let find = |roles: &Self, name: &'static str| {
            if let Some((at, _)) = roles.get(name) {
                return Some((None, *at));
            }
            let role = role(name).filter(|_| roles.is_open(name))?;
            roles.candidate(head, role, true).map(|at| (Some(role), at))
        };
        let (Some(one), Some(other)) = (find(self, first), find(self, second)) else { return };
        if one.1 == other.1 {
            return;
        }
        for (role, at) in [one, other] {
            if let Some(role) = role {
                self.take(head, role, at, notes);
            }
        }
    }

    fn take(&mut self, head: &Head<'_>, role: Role, at: usize, notes: &mut Notes) {
        let name = role.name;
        notes.add_on(&head.names[at], format!(" is read as `{name}` (--column {name}=NAME changes it)"));
        self.columns.insert(name, head.column(at));
    }

    /// Notes columns that may be amounts, where no option says that they are.
    fn note_possible(&mut self, head: &Head<'_>, notes: &mut Notes) {
        if problem_columns().iter().any(|column| self.has(column.names[0])) {
            return;
        }
        for (spec, files) in with_files() {
            let (Some(column), Some(option)) = (files.csv.first(), files.csv_options.first()) else { continue };
            let Some(role) = role(column.names[0]).filter(|role| self.is_open(role.name)) else { continue };
            if files.csv_flag.is_some() || files.csv.len() > 1 || spec.files.is_none() {
                continue;
            }
            if let Some(at) = self.candidate(head, role, false) {
                let option = option_flag(option.name);
                notes.add_on(&head.names[at], format!(" may be `{}`; it is used with {option}", role.name));
                self.possible.push(at);
            }
        }
    }

    /// Notes the columns without a role. Only those of problems that `used` accepts have one; `clock` is true for a column
    /// of times of day.
    pub(super) fn note_unused(
        &self,
        head: &Head<'_>,
        used: impl Fn(&str) -> bool,
        clock: impl Fn(usize) -> bool,
        options: &Options,
        notes: &mut Notes,
    ) {
        let has_role = |at: usize| self.columns.iter().any(|(role, (taken, _))| *taken == at && used(role));
        let (mut windows, mut times, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (at, name) in head.names.iter().enumerate() {
            if has_role(at) || name.is_empty() || self.possible.contains(&at) {
                continue;
            }
            let word = folded(name);
            let list = match word.as_str() {
                word if WINDOWS_IN_ONE.contains(&word) => &mut windows,
                word if is_word_for_time(word) || clock(at) => &mut times,
                _ => &mut others,
            };
            list.push(shown(name));
        }
        let list = |names: &[String]| names::list(names.iter().map(String::as_str));
        if !windows.is_empty() {
            notes.add(format!(
                "time windows are read from two columns, `ready` and `due`, and routes do not keep others: {} not used",
                list(&windows)
            ));
        }
        if !times.is_empty() {
            let needed = self.needed_for_times(options).map(|needed| format!("; {needed}")).unwrap_or_default();
            notes.add(format!("routes do not keep times: {} not used{needed}", list(&times)));
        }
        if !others.is_empty() {
            const MOST: usize = 12;
            let shown = names::first_of(MOST, others.iter().map(|name| format!("`{name}`")));
            notes.add(format!("columns not used: {shown} (--column ROLE=NAME gives one a role)"));
        }
    }

    /// The conditions under which times of a table count; `None` where it has columns of another problem.
    fn needed_for_times(&self, options: &Options) -> Option<String> {
        let is = |column: &&CsvColumn, kind| column.kind == kind;
        let (_, files) =
            with_files().find(|(_, files)| files.csv.iter().any(|column| is(&column, ColumnKind::Time)))?;
        let own = |name: &str| files.csv.iter().any(|column| column.names[0] == name);
        if problem_columns().iter().any(|column| self.has(column.names[0]) && !own(column.names[0])) {
            return None;
        }
        let amount = files.csv.iter().find(|column| is(column, ColumnKind::Amount))?;
        let option = files.csv_options.first()?;
        if !self.has(amount.names[0]) || options.get(option.name).is_none() {
            return Some(format!("they count with a column `{}` and {}", amount.names[0], option_flag(option.name)));
        }
        let foreign = |name: &&str| files.csv_options.iter().all(|option| option.name != *name);
        let given = |name: &&str| options.get(name).is_some();
        if let Some(foreign) = known_options().map(|option| option.name).filter(foreign).find(given) {
            return Some(format!("time windows and `{foreign}` do not go together"));
        }
        let open = files.csv.iter().filter(|column| is(column, ColumnKind::Time) && self.is_open(column.names[0]));
        let flags: Vec<String> = open.map(|column| format!("--column {}=NAME", column.names[0])).collect();
        (!flags.is_empty()).then(|| format!("{} gives one a role", names::list(flags.iter().map(String::as_str))))
    }
}

/// If true, a word names a column of times.
fn is_word_for_time(word: &str) -> bool {
    let mut times = problem_columns().into_iter().filter(|column| column.kind == ColumnKind::Time);
    times.any(|column| {
        [word, without_unit(word)].iter().any(|word| column.names.contains(word) || column.words.contains(word))
    })
}

/// The option of the command line for a number of a table; `None` for one that only comments give.
pub(super) fn flag_of(name: &str) -> Option<String> {
    let only_in_files = known_options().any(|option| option.name == name && option.only_in_files);
    (!only_in_files).then(|| format!("--{}", name.replace('_', "-")))
}

/// A number of a table as people give it: by an option of the command line where there is one, else by a comment.
pub(super) fn option_flag(name: &str) -> String {
    flag_of(name).unwrap_or_else(|| format!("`# {name}: N`"))
}

/// The columns of the problems that the given numbers belong to: all of them are a problem's, and the one that it needs
/// is among them.
fn wanted_columns(options: &Options) -> Vec<&'static str> {
    let given: Vec<&str> =
        known_options().map(|option| option.name).filter(|name| options.get(name).is_some()).collect();
    let mut columns = Vec::new();
    for (_, files) in with_files().filter(|(_, files)| files.csv_flag.is_none()) {
        let own = |name: &&str| files.csv_options.iter().any(|option| option.name == *name);
        let needed = files.csv_options.first().is_some_and(|option| given.contains(&option.name));
        // What is known only afterwards is never guessed.
        if needed && given.iter().all(own) {
            let more = files.csv.iter().map(|column| column.names[0]).filter(|name| !columns.contains(name));
            columns.extend(more.collect::<Vec<_>>());
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_accents_units_and_signs() {
        for (name, unit) in [
            ("Standzeit (h)", Some("hours")),
            ("service [sec]", Some("seconds")),
            ("service_time_min", Some("minutes")),
            ("ready (hh:mm)", None),
            ("service", None),
            ("s", None),
            ("seconds", Some("seconds")),
        ] {
            assert_eq!(TimeUnit::of(name).map(|unit| unit.name), unit, "{name}");
        }
        assert_eq!(["service_time_h", "service_time"].map(without_unit), ["service_time"; 2]);
        for (name, word) in [
            ("Länge", "lange"),
            ("La\u{308}nge", "lange"),
            (" Gewicht (kg) ", "gewicht"),
            ("X-Coord", "x_coord"),
            ("Quantité", "quantite"),
            ("Straße", "strasse"),
            ("E [m]", "e"),
        ] {
            assert_eq!(folded(name), word);
        }
    }

    #[test]
    fn no_word_has_two_roles() {
        let mut seen = BTreeMap::new();
        for role in role_names().into_iter().filter_map(role) {
            for word in role.names.iter().chain(role.words) {
                assert_eq!(folded(word), *word, "{word}");
                if let Some(other) = seen.insert(*word, role.name) {
                    assert!(
                        [other, role.name] == ["id", "name"],
                        "`{word}` is a word for `{other}` and `{}`",
                        role.name
                    );
                }
                assert!(!WINDOWS_IN_ONE.contains(word), "{word}");
            }
        }
    }
}
