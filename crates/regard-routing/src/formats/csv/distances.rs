//! Distances of the rows of a table from a file of their own, the same in both directions or not.
//!
//! The file is a square of numbers, from the node of its row to that of its column: with ids above and before it, with ids
//! above it alone, or without ids, in the order of the table; or it has a row for each pair, below a header such as
//! `from,to,distance`. Ids may be more than those of the table.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::{number, read_text, shown};
use super::roles::{TimeUnit, folded};
use super::sheet::check_fields;
use crate::formats::tsplib::MOST_EXPLICIT_NODES;
use crate::table::Cells;
use crate::table::numbers::{Decimal, Reading};
use crate::{DistanceMatrix, Error, Result};

/// Words for the columns of pairs.
const FROM: [&str; 8] = ["from", "origin", "source", "start", "von", "de", "da", "from_id"];
const TO: [&str; 9] = ["to", "destination", "target", "end", "nach", "a", "vers", "dest", "to_id"];

/// Pairs of nodes whose distances take no more than 128 MiB, however few numbers they come from.
const UNBOUNDED: usize = 1 << 24;
/// Pairs of nodes that one number of a larger table may serve.
const PAIRS_PER_NUMBER: usize = 16;

/// Settings of the table beside distances.
pub(super) struct Beside {
    /// The unit of its times.
    pub(super) unit: Option<TimeUnit>,
    /// The option by which distances become times, where it is given.
    pub(super) speed: Option<&'static str>,
}

/// The distances between the nodes with these ids.
pub(super) fn read(path: &Path, ids: &[String], decimal: Option<Decimal>, beside: &Beside) -> Result<DistanceMatrix> {
    let (nodes, (text, _)) = (ids.len(), read_text(path)?);
    if nodes > MOST_EXPLICIT_NODES {
        let reason = format!("{nodes} nodes are too many for a matrix, at most {MOST_EXPLICIT_NODES}");
        return Err(Error::parse(path, 0, reason).with_hint("leave --distances out: coordinates give distances too"));
    }
    let Cells { header, rows, top, separator, .. } = Cells::of(&text, path)?;
    if header.iter().all(String::is_empty) && rows.is_empty() {
        let reason = "is empty, expected a square of numbers or a row for each pair under `from,to,distance`";
        return Err(Error::parse(path, 0, reason));
    }
    let is_pairs = header.len() == 3 && FROM.contains(&&*folded(&header[0])) && TO.contains(&&*folded(&header[1]));
    let numbers_from = if is_pairs { 2 } else { 0 };
    let fields = rows.iter().flat_map(|(_, fields)| fields.iter().skip(numbers_from));
    let decimal = decimal.unwrap_or_else(|| match Reading::of(fields.map(String::as_str)) {
        Reading::Sure(decimal, _) => decimal,
        Reading::Either(field) if field.contains(',') && separator == b';' => Decimal::Comma,
        _ => Decimal::Point,
    });
    let found = rows.iter().map(|(_, fields)| fields.len().saturating_sub(numbers_from)).sum::<usize>();
    check_numbers(path, found + header.len(), nodes)?;
    let unit_of_pairs = is_pairs.then(|| TimeUnit::of(&header[2])).flatten();
    if let (Some(found), Some(speed)) = (unit_of_pairs, beside.speed) {
        let reason = format!("found {}, expected distances beside `{speed}`, by which they become times", found.name);
        let hint = format!("leave out `{speed}` where these are times, or name the column `distance`");
        return Err(Error::parse(path, top, reason).in_field(&header[2]).with_hint(hint));
    }
    if let (Some(found), Some(unit)) = (unit_of_pairs, beside.unit)
        && found != unit
    {
        let reason = format!("found {}, expected {} as the times of the table", found.name, unit.name);
        let hint = format!("convert them, or name the column `{}` where that is what they are", unit.name);
        return Err(Error::parse(path, top, reason).in_field(&header[2]).with_hint(hint));
    }
    let mut file = File { path, ids, decimal, found: vec![f64::NAN; nodes * nodes] };
    if is_pairs {
        file.pairs(&header, &rows)?;
    } else {
        file.square(&header, top, &rows)?;
    }
    file.matrix()
}

/// Refuses a file that cannot hold the distances of so many nodes, before there is memory for them: each number may serve
/// several pairs, as rows of one place share its distances, but only in small tables without bound.
fn check_numbers(path: &Path, numbers: usize, nodes: usize) -> Result<()> {
    if nodes * nodes <= UNBOUNDED.max(numbers.saturating_mul(PAIRS_PER_NUMBER)) {
        return Ok(());
    }
    let reason = format!("has {numbers} fields, too few for the distances between {nodes} nodes");
    Err(Error::parse(path, 0, reason).with_hint(
        "--distances takes a square of numbers or a row for each pair; `--duplicates sum` makes one stop of the rows of \
         one place",
    ))
}

/// A file of distances while it is read.
struct File<'a> {
    path: &'a Path,
    ids: &'a [String],
    decimal: Decimal,
    /// `[nodes, nodes]`, NaN where there is no distance yet.
    found: Vec<f64>,
}

type Rows = [(usize, Vec<String>)];

impl File<'_> {
    /// A row for each pair.
    fn pairs(&mut self, header: &[String], rows: &Rows) -> Result<()> {
        let nodes = self.places();
        for (line, fields) in rows {
            let [one, other, distance] = fields.as_slice() else {
                return Err(Error::parse(self.path, *line, format!("has {} fields, expected 3", fields.len())));
            };
            let (Some(from), Some(to)) = (nodes.get(one.as_str()), nodes.get(other.as_str())) else { continue };
            let distance = self.number(distance, *line, &header[2])?;
            for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
                let known = std::mem::replace(&mut self.found[from * self.ids.len() + to], distance);
                if known != distance && !known.is_nan() {
                    let has = |id: &str, node: &usize| nodes.get(id).is_some_and(|nodes| nodes.contains(node));
                    let first = rows.iter().find(|(_, fields)| has(&fields[0], from) && has(&fields[1], to));
                    let pair = format!("from `{}` to `{}`", shown(one), shown(other));
                    let reason = format!("found {distance} {pair}, expected {known} as");
                    let error = Error::parse(self.path, *line, reason).on_line(first.map_or(0, |(line, _)| *line));
                    let hint = "each direction of a pair may have a row of its own, and only one";
                    return Err(error.in_field(&header[2]).with_hint(hint));
                }
            }
        }
        Ok(())
    }

    /// A square of numbers.
    fn square(&mut self, header: &[String], top: usize, rows: &Rows) -> Result<()> {
        let (nodes, width) = (self.ids.len(), header.len());
        let is_number = |text: &String| self.decimal.number(text).is_some();
        let shape = |rows: usize| format!("has {rows} rows of {width} columns, expected {nodes} of {nodes}");
        let hint = "--distances takes a square of numbers, with ids above and before it or in the order of the table, or \
                    a row for each pair under `from,to,distance`";
        check_fields(self.path, "the first row", header, rows)?;
        if rows.len() + 1 == width && header.iter().all(is_number) {
            // The first row is one of numbers.
            if width != nodes {
                return Err(Error::parse(self.path, top, shape(width)).with_hint(hint));
            }
            let all = std::iter::once((top, header)).chain(rows.iter().map(|(line, row)| (*line, row.as_slice())));
            let above: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node]).collect();
            for (at, (line, row)) in all.enumerate() {
                self.row(&[at], line, row, &above)?;
            }
            return Ok(());
        }
        let places = self.places();
        let none: Vec<usize> = Vec::new();
        let of = |id: &str| places.get(id).unwrap_or(&none).clone();
        let above: Vec<Vec<usize>> = header.iter().map(|id| of(id)).collect();
        if rows.len() == width && above.iter().all(|nodes| !nodes.is_empty()) {
            self.check_distinct(header.iter().map(|id| (top, id)), &places)?;
            for ((line, row), nodes) in rows.iter().zip(&above) {
                self.row(nodes, *line, row, &above)?;
            }
            return Ok(());
        }
        if rows.len() + 1 != width {
            let unknown = header.iter().zip(&above).find(|(_, nodes)| nodes.is_empty());
            if let Some((id, _)) = unknown.filter(|_| rows.len() == width) {
                let reason = format!("found `{}` above the square, expected an id of the table", shown(id));
                let hint =
                    "ids above the square are those of the table; without them its rows are in the table's order";
                return Err(Error::parse(self.path, top, reason).with_hint(hint));
            }
            return Err(Error::parse(self.path, top, shape(rows.len())).with_hint(hint));
        }
        self.check_distinct(header[1..].iter().map(|id| (top, id)), &places)?;
        self.check_distinct(rows.iter().filter_map(|(line, row)| Some((*line, row.first()?))), &places)?;
        for (line, row) in rows {
            let Some((id, row)) = row.split_first() else { continue };
            self.row(&of(id), *line, row, &above[1..])?;
        }
        Ok(())
    }

    /// Refuses an id that stands above or before a square twice; `ids` are those of one side with their lines.
    fn check_distinct<'i>(
        &self,
        ids: impl Iterator<Item = (usize, &'i String)>,
        places: &HashMap<String, Vec<usize>>,
    ) -> Result<()> {
        let mut seen = HashSet::new();
        for (line, id) in ids.filter(|(_, id)| places.contains_key(*id)) {
            if !seen.insert(id) {
                let reason = format!("`{}` occurs a second time, expected each id once", shown(id));
                let hint = "rows of the table that have one id share its distances";
                return Err(Error::parse(self.path, line, reason).with_hint(hint));
            }
        }
        Ok(())
    }

    /// The distances from these nodes to those above each column.
    fn row(&mut self, from: &[usize], line: usize, row: &[String], above: &[Vec<usize>]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        for (text, to) in row.iter().zip(above) {
            for &to in to {
                let is_diagonal = from.contains(&to);
                let distance = if is_diagonal && text.is_empty() { 0.0 } else { self.number(text, line, "distance")? };
                from.iter().for_each(|from| self.found[from * self.ids.len() + to] = distance);
            }
        }
        Ok(())
    }

    fn number(&self, text: &str, line: usize, field: &str) -> Result<f64> {
        let value = number(text).filter(|_| self.decimal == Decimal::Point).or_else(|| self.decimal.number(text));
        value.filter(|value| *value >= 0.0 && value.is_finite()).ok_or_else(|| {
            let reason = format!("found `{}`, expected a number, 0 or more", shown(text));
            Error::parse(self.path, line, reason).in_field(field)
        })
    }

    /// The nodes of each id; rows that repeat an id are called `id#2` and so on.
    fn places(&self) -> HashMap<String, Vec<usize>> {
        let known: HashSet<&str> = self.ids.iter().map(String::as_str).collect();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (node, id) in self.ids.iter().enumerate() {
            places.entry(id.clone()).or_default().push(node);
            if let Some((first, count)) = id.rsplit_once('#')
                && count.parse::<usize>().is_ok()
                && known.contains(first)
            {
                places.entry(first.to_owned()).or_default().push(node);
            }
        }
        places
    }

    fn matrix(self) -> Result<DistanceMatrix> {
        let Self { path, ids, mut found, .. } = self;
        let nodes = ids.len();
        for (from, one) in ids.iter().enumerate() {
            found[from * nodes + from] = 0.0;
            if let Some(to) = (0..nodes).find(|to| found[from * nodes + to].is_nan()) {
                let reason = format!("has no distance from `{}` to `{}`", shown(one), shown(&ids[to]));
                return Err(Error::parse(path, 0, reason).with_hint("ids are those of the table, in any order"));
            }
        }
        DistanceMatrix::from_rows(nodes, found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TableOptions, parse_instance};
    use super::*;

    /// The distances from each node, by the reader of a table with these nodes.
    fn found(table: &str, text: &str) -> Result<Vec<Vec<f64>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, text).unwrap();
        let options = TableOptions { distances: Some(path), ..TableOptions::default() };
        let (instance, _) = parse_instance(table, "places.csv".as_ref(), &options)?;
        let sites = instance.sites();
        let all = 0..sites.len();
        Ok(all.clone().map(|from| all.clone().map(|to| sites.distance(from, to)).collect()).collect())
    }

    const PLACES: &str = "id,x,y\na,0,0\nb,1,0\nc,1,1\n";
    const EXPECTED: [[f64; 3]; 3] = [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.5, 0.0]];

    #[test]
    fn squares_and_pairs_give_the_same() {
        for text in [
            "0,1,2\n3,0,4\n5,6.5,0\n",
            "a,b,c\n0,1,2\n3,0,4\n5,6.5,0\n",
            ",a,b,c\na,0,1,2\nb,3,0,4\nc,5,6.5,0\n",
            "from/to;c;x;a;b\nc;;9;5;6,5\nb;4;9;3;\nx;1;0;2;3\na;2;9;0;1\n",
            "0,0;1,0;2,0\n3,0;0,0;4,0\n5,0;6,5;0,0\n",
            "0;1;2\n3;0;4\n5;6,5;0\n",
            "from,to,minutes\na,b,1\na,c,2\nb,a,3\nb,c,4\nc,a,5\nc,b,6.5\nx,a,not asked\n",
        ] {
            assert_eq!(found(PLACES, text).unwrap(), EXPECTED, "{text}");
        }
        // A table needs no coordinates then, and the depot moves to the front with its distances.
        assert_eq!(found("# capacity: 9\nid,demand\na,\nb,2\n", "0,1\n2,0\n").unwrap(), [[0.0, 1.0], [2.0, 0.0]]);
        let depot = "# capacity: 9\nid,is_depot,demand\na,0,1\nb,1,0\n";
        assert_eq!(found(depot, "0,1\n2,0\n").unwrap(), [[0.0, 2.0], [1.0, 0.0]]);
        // Stops at one place have its distances.
        let twice = "id,x,y\na,0,0\nb,1,0\nb,1,0\n";
        let expected = [[0.0, 1.0, 1.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
        assert_eq!(found(twice, "a,b\n0,1\n2,0\n").unwrap(), expected);
    }

    #[test]
    fn times_of_driving_are_in_the_unit_of_the_table() {
        let table = "# capacity: 9\nid,demand,due\na,,\nb,2,18:00\n";
        let pairs = |name: &str| format!("from,to,{name}\na,b,600\nb,a,600\n");
        for name in ["duration_min", "minutes", "distance", "km"] {
            assert_eq!(found(table, &pairs(name)).unwrap()[0][1], 600.0, "{name}");
        }
        for name in ["seconds", "time [s]", "duration_h"] {
            let error = found(table, &pairs(name)).unwrap_err().to_string();
            assert!(error.contains("expected minutes as the times of the table"), "{error}");
        }
        assert_eq!(found("id\na\nb\n", &pairs("seconds")).unwrap()[0][1], 600.0);
        // A speed makes times of distances.
        let speed = "# capacity: 9\n# speed: 60\nid,demand,due\na,,\nb,2,18:00\n";
        assert!(found(speed, &pairs("km")).is_ok());
        let error = found(speed, &pairs("minutes")).unwrap_err();
        let said = "field `minutes`: found minutes, expected distances beside `speed`, by which they become times";
        assert!(error.to_string().contains(said) && error.hint().is_some(), "{error}");
    }

    #[test]
    fn a_file_that_is_too_short_gets_no_memory() {
        let rows: String = (0..5_000).map(|row| format!("{row},0,0\n")).collect();
        for text in ["0,1\n2,0\n", "from,to,km\n1,2,3\n"] {
            let error = found(&format!("id,x,y\n{rows}"), text).unwrap_err().to_string();
            assert!(error.contains("too few for the distances between 5000 nodes"), "{error}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (text, expected) in [
            ("0,1\n2,0\n", "d.csv:1: has 2 rows of 2 columns, expected 3 of 3"),
            (",a,b\na,0,1\nb,2,0\n", "d.csv: has no distance from `a` to `c`"),
            ("from,to,km\na,b,1\n", "d.csv: has no distance from `a` to `c`"),
            ("0,1,2\n3,0,4\n5,-6,0\n", "d.csv:3: field `distance`: found `-6`, expected a number, 0 or more"),
            ("", "d.csv: is empty, expected a square"),
            ("0,1,2\n3,0,inf\n5,6,0\n", "d.csv:2: field `distance`: found `inf`"),
            ("0,1,2\n3,0,x\n5,6,0\n", "d.csv:2: field `distance`: found `x`"),
            ("from,to,km\na,b,far\n", "d.csv:2: field `km`: found `far`"),
            (
                "from,to,km\na,b,1\na,c,2\na,b,5\n",
                "d.csv:4: field `km`: found 5 from `a` to `b`, expected 1 as on line 2",
            ),
            ("a,b,b\n0,1,2\n3,0,4\n5,6,0\n", "d.csv:1: `b` occurs a second time, expected each id once"),
            (",a,b,c\na,0,1,2\nb,3,0,4\na,5,6,0\n", "d.csv:4: `a` occurs a second time"),
            ("0,1,2\n3,0,4,7\n5,6,0\n", "d.csv:2: has 4 fields, the first row has 3; `7` is too much"),
            (",a,b,c\na,0,1,2\nb,3,0,4,7\nc,5,6,0\n", "d.csv:3: has 5 fields, the first row has 4; `7` is too much"),
            ("a,b,c\n0,1,2\n", "has 1 rows of 3 columns, expected 3 of 3"),
            ("1,2,3\n0,1,2\n3,0,4\n5,6,0\n", "d.csv:1: found `1` above the square, expected an id of the table"),
        ] {
            let error = found(PLACES, text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
