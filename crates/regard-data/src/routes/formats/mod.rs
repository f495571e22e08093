//! Files of routing instances and their solutions.

mod any;
pub mod best_known;
pub mod csv;
pub mod kool;
pub mod npz;
pub mod oplib;
pub mod sol;
pub mod solution;
pub mod tour;
pub mod tsplib;
pub mod vrplib;

#[cfg(test)]
mod suite;

use std::path::Path;

use crate::Result;
use crate::error::shown;
use crate::file::read_text;
use crate::routes::tsp::Tsp;

pub use self::any::{read_instance, read_instance_with};
pub use crate::routes::instance::Instance;

/// Endings of instance files.
pub const ENDINGS: [&str; 4] = ["tsp", "vrp", "oplib", "csv"];

/// Reads a TSP instance with its best-known cost, if one is found ([`best_known`]); for the other
/// problems see [`read_instance`].
///
/// A name ending in `.tsp` is read as [`tsplib`], one in `.csv` as [`csv`]; of any other name the
/// content decides.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be read, and
/// [`Error::Parse`](crate::Error::Parse) with file, line and expectation when it is malformed.
pub fn read(path: impl AsRef<Path>) -> Result<Tsp> {
    let path = path.as_ref();
    let text = read_text(path)?;
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let instance = match extension.as_deref() {
        Some("tsp") => tsplib::parse(&text, path)?,
        Some("csv") => csv::parse(&text, path)?,
        _ if tsplib::looks_like(&text) => tsplib::parse(&text, path)?,
        _ => csv::parse(&text, path)?,
    };
    let best = best_known::find(path, &instance)?;
    Ok(instance.with_best_known(best))
}

/// Whether a file in a folder of instances is one, by its name: it ends as they do, and is none of the
/// tables of best-known costs that lie beside them.
pub fn is_instance_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let table = [best_known::TABLE, best_known::OPLIB_TABLE].iter().any(|name| path.ends_with(name));
    !table && ENDINGS.iter().any(|ending| extension.eq_ignore_ascii_case(ending))
}

/// The name of a file without folder and extension; the name of an instance that has none.
fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A number as people write it in a file: finite, and not so large that distances overflow.
fn number(token: &str) -> Option<f64> {
    token.parse().ok().filter(|v| super::tsp::is_coordinate(*v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(name: &str, content: &str) -> Result<Tsp> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        read(&path)
    }

    const TSPLIB: &str = "NAME: t\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n";

    #[test]
    fn the_name_decides_then_the_content() {
        assert_eq!(read_as("a.TSP", TSPLIB).unwrap().metric_name(), "EUC_2D");
        assert_eq!(read_as("a.txt", TSPLIB).unwrap().metric_name(), "EUC_2D");
        assert_eq!(read_as("a.csv", "x,y\n1,2\n").unwrap().metric_name(), "euclidean");
        assert_eq!(read_as("a", "x,y\n1,2\n").unwrap().metric_name(), "euclidean");
    }

    #[test]
    fn tables_beside_instances_are_none() {
        for (name, is) in
            [("a.TSP", true), ("lib/b.csv", true), ("lib/best_known.csv", false), ("c.sol", false), ("d", false)]
        {
            assert_eq!(is_instance_file(Path::new(name)), is, "{name}");
        }
    }

    #[test]
    fn a_missing_file_is_an_io_error() {
        let error = read("no/such/file.tsp").unwrap_err();
        assert!(matches!(error, crate::Error::Io { .. }));
        assert!(error.to_string().contains("file.tsp"));
    }

    #[test]
    fn numbers_must_be_finite_and_moderate() {
        assert_eq!(number("1.0e+02"), Some(100.0));
        assert_eq!(number("-.5"), Some(-0.5));
        for bad in ["", "nan", "inf", "1e999", "1e101", "1,5", "0x10"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }
}
