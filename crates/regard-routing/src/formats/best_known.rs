//! The best cost known for an instance: from a table beside its file, or from its own comment.

use std::path::Path;

use super::{number, shown, stem};
use crate::file::{is_file, read_text};
use crate::table::Cells;
use crate::{Error, Instance, Result, Sites};

/// Where the best-known value of a problem's instances is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BestKnown {
    /// [`find`]: a table in the folder of the file, else the comment.
    Cost,
    /// [`find_in_set`]: also the table of the folder above.
    CostOfSet,
    /// [`find_score`]: a table of scores.
    Score,
}

/// The best-known value of the instance read from `path`.
///
/// # Errors
/// As [`find`].
pub fn of_instance(path: &Path, instance: &Instance) -> Result<Option<f64>> {
    let sites = instance.sites();
    match instance.files().map(|files| files.best_known) {
        Some(BestKnown::Cost) | None => find(path, sites),
        Some(BestKnown::CostOfSet) => find_in_set(path, sites),
        Some(BestKnown::Score) => find_score(path, sites.name()),
    }
}

/// Name of the table looked for in the folder of an instance.
pub const TABLE: &str = "best_known.csv";

/// Headers of the column of names, without case, spaces and signs.
const NAMES: [&str; 4] = ["name", "instance", "problem", "file"];

/// Headers of the column of costs, without case, spaces and signs.
const COSTS: [&str; 9] = ["bks", "bestknown", "bestknowncost", "best", "optimum", "optimal", "opt", "cost", "value"];

/// Name of the table of OPLib with the scores its authors' algorithm reached (EA4OP), looked for in
/// the folder of an instance and the one above it.
pub const OPLIB_TABLE: &str = "ea4op.csv";

/// Headers of the column of scores, without case, spaces and signs.
const SCORES: [&str; 10] =
    ["bks", "bestknown", "bestknownscore", "best", "optimum", "optimal", "opt", "score", "ea4opscore", "prize"];

/// The best-known cost of the instance read from `path`: that of [`TABLE`] in the same folder,
/// found by the name of the file or of the instance, else that of the comment.
///
/// # Errors
/// [`Error::Parse`] when the table is malformed, [`Error::Io`] when it is there and cannot be
/// read.
pub fn find(path: &Path, instance: &Sites) -> Result<Option<f64>> {
    let listed = beside(path, TABLE, instance.name(), &COSTS)?;
    Ok(listed.or_else(|| in_comment(instance.comment())))
}

/// The best-known cost of an instance of a set whose folders lie beside its table, as in CVRPLIB:
/// as [`find`], with the [`TABLE`] of the folder above when there is none in the same folder or it
/// does not list the instance.
///
/// # Errors
/// As [`find`].
pub fn find_in_set(path: &Path, instance: &Sites) -> Result<Option<f64>> {
    for table in [Path::new(TABLE), &Path::new("..").join(TABLE)] {
        if let Some(cost) = beside(path, table, instance.name(), &COSTS)? {
            return Ok(Some(cost));
        }
    }
    Ok(in_comment(instance.comment()))
}

/// The best-known score of the instance of that name read from `path`: that of
/// [`TABLE`] in the same folder, else that of [`OPLIB_TABLE`] there or one folder up. The comment is
/// not read: in files made from TSPLIB it gives the length of a tour.
///
/// # Errors
/// As [`find`].
pub fn find_score(path: &Path, name: &str) -> Result<Option<f64>> {
    for table in [Path::new(TABLE), Path::new(OPLIB_TABLE), &Path::new("..").join(OPLIB_TABLE)] {
        if let Some(score) = beside(path, table, name, &SCORES)? {
            return Ok(Some(score));
        }
    }
    Ok(None)
}

/// Value that a table in the folder of the instance at `path` gives for it.
fn beside(path: &Path, table: impl AsRef<Path>, name: &str, columns: &[&str]) -> Result<Option<f64>> {
    let table = path.with_file_name("").join(table);
    match is_file(&table) && table != path {
        true => look_up(&read_text(&table)?, &table, &[&stem(path), name], columns),
        false => Ok(None),
    }
}

/// The cost that a table gives for the first of `names` that it lists, ignoring case.
///
/// # Errors
/// [`Error::Parse`] when a column is missing or the cost found is not a number.
pub fn in_table(text: &str, path: &Path, names: &[&str]) -> Result<Option<f64>> {
    look_up(text, path, names, &COSTS)
}

/// The number of the first of `columns` that there is, in the row of the first of `names`.
fn look_up(text: &str, path: &Path, names: &[&str], columns: &[&str]) -> Result<Option<f64>> {
    let Cells { header, rows, .. } = Cells::with_separator(text, path, b',')?;
    let plain = |text: &str| -> String { text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect() };
    let column = |wanted: &[&str]| wanted.iter().find_map(|name| header.iter().position(|found| plain(found) == *name));
    let (Some(name), Some(cost)) = (column(&NAMES), column(columns)) else {
        let found = shown(&header.join(","));
        let reason = format!("found the columns `{found}`, expected a name and a cost");
        return Err(Error::parse(path, 1, reason).with_hint("e.g. `name,bks` as the first line"));
    };
    let mut best: Option<(usize, usize, String)> = None;
    for (line, row) in rows {
        let field = |at: usize| row.get(at).map_or("", String::as_str);
        let Some(rank) = names.iter().position(|n| n.eq_ignore_ascii_case(field(name))) else {
            continue;
        };
        if best.as_ref().is_none_or(|(other, ..)| rank < *other) {
            best = Some((rank, line, field(cost).to_owned()));
        }
    }
    match best {
        Some((_, line, text)) if !text.is_empty() => number(&text).map(Some).ok_or_else(|| {
            let reason = format!("found `{}`, expected a number", shown(&text));
            Error::parse(path, line, reason).in_field(&header[cost])
        }),
        _ => Ok(None),
    }
}

/// The cost a comment names, as in "(Optimum 426)", "Optimal value: 784", "best known = 7,542".
///
/// ```
/// use regard_routing::formats::best_known::in_comment;
///
/// assert_eq!(in_comment("51-city problem (Optimum 426)"), Some(426.0));
/// assert_eq!(in_comment("29 cities, optimum solution"), None);
/// ```
#[must_use]
pub fn in_comment(comment: &str) -> Option<f64> {
    const CUES: [&str; 4] = ["optimum", "optimal", "best", "bks"];
    const BETWEEN: [&str; 10] =
        ["known", "value", "cost", "length", "tour", "solution", "objective", "distance", "is", "bks"];
    let lower = comment.to_lowercase();
    let signs = |c: char| c.is_whitespace() || "()[]{}:;=<>~-_\"'`/|*".contains(c);
    let words: Vec<&str> = lower.split(signs).filter(|w| !w.is_empty()).collect();
    let after_cue = words.iter().enumerate().filter(|(_, w)| CUES.contains(w)).map(|(at, _)| at + 1);
    after_cue.filter_map(|at| words[at..].iter().find(|w| !BETWEEN.contains(w))).find_map(|word| cost(word))
}

/// A number in running text: punctuation after it, commas between thousands.
fn cost(word: &str) -> Option<f64> {
    let word = word.trim_end_matches(['.', ',', '!', '?']);
    let (head, tail) = word.split_once(',').unwrap_or((word, ""));
    let grouped = !tail.is_empty()
        && head.len() <= 3
        && tail.split('.').next().is_some_and(|t| t.split(',').all(|group| group.len() == 3));
    let plain = if grouped { word.replace(',', "") } else { word.to_owned() };
    let numeric = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if numeric { number(&plain) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_name_a_cost() {
        for (comment, expected) in [
            ("(Optimum 426)", 426.0),
            ("optimal 426", 426.0),
            ("best known 426", 426.0),
            ("best known: 426", 426.0),
            ("Best-known cost = 426.5.", 426.5),
            ("(Augerat et al, No of trucks: 5, Optimal value: 784)", 784.0),
            ("52 places, BKS 7,542 (Groetschel)", 7542.0),
            ("optimum solution found, best value 12", 12.0),
            ("Optimal tour length 1,234,567.25", 1_234_567.25),
        ] {
            assert_eq!(in_comment(comment), Some(expected), "{comment}");
        }
    }

    #[test]
    fn comments_that_do_not() {
        for comment in [
            "",
            "drilling problem (Ludwig)",
            "Optimum solution of bayg29",
            "100-city problem A (Krolak/Felts/Nelson)",
            "optimal",
            "the best 5x5 grid",
            "suboptimal 5",
        ] {
            assert_eq!(in_comment(comment), None, "{comment}");
        }
    }

    fn table(text: &str) -> Result<Option<f64>> {
        in_table(text, Path::new("best_known.csv"), &["a", "B2"])
    }

    #[test]
    fn tables_in_any_order() {
        assert_eq!(table("name,bks\na,5\n").unwrap(), Some(5.0));
        assert_eq!(table("Best Known,kind,Instance\n7,x,b2\n5,x,A\n").unwrap(), Some(5.0));
        assert_eq!(table("instance,optimum\nb2,7.5\n").unwrap(), Some(7.5));
        assert_eq!(table("name,bks\nc,5\n").unwrap(), None);
        assert_eq!(table("name,bks\na,\n").unwrap(), None);
    }

    #[test]
    fn broken_tables_are_named() {
        let error = table("city,size\na,5\n").unwrap_err();
        assert!(error.to_string().starts_with("best_known.csv:1: found the columns `city,size`"));
        let error = table("name,bks\nz,q\na,many\n").unwrap_err().to_string();
        assert_eq!(error, "best_known.csv:3: field `bks`: found `many`, expected a number");
    }

    #[test]
    fn the_table_beside_the_file_wins_over_the_comment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let instance = Sites::euclidean("y", vec![[0.0; 2]]).unwrap().with_comment("optimum 3");
        assert_eq!(find(&path, &instance).unwrap(), Some(3.0));
        std::fs::write(folder.path().join(TABLE), "name,bks\ny,2\nX,1\n").unwrap();
        assert_eq!(find(&path, &instance).unwrap(), Some(1.0));
        assert_eq!(find(&folder.path().join("other.csv"), &instance).unwrap(), Some(2.0));
    }

    #[test]
    fn scores_come_from_tables_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("gen1")).unwrap();
        let path = folder.path().join("gen1").join("x.oplib");
        assert_eq!(find_score(&path, "y").unwrap(), None);
        std::fs::write(folder.path().join(OPLIB_TABLE), "gen,instance,ea4op_score,ea4op_cost\ngen1,x,7,99\n").unwrap();
        assert_eq!(find_score(&path, "y").unwrap(), Some(7.0));
        assert_eq!(find_score(Path::new("z.oplib"), "y").unwrap(), None);
        std::fs::write(path.with_file_name(TABLE), "name,score\nx,8\n").unwrap();
        assert_eq!(find_score(&path, "y").unwrap(), Some(8.0));
    }
}
