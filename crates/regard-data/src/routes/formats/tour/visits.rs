//! Tours that leave nodes out (orienteering, prize collecting): a tour file that begins with the
//! depot and lists the visited nodes only. `DIMENSION` is that of the instance.

use std::path::Path;

use super::{is_writable, shown};
use crate::file::{read_text, write_atomic};
use crate::routes::orienteering::Orienteering;
use crate::routes::prize_collecting::PrizeCollecting;
use crate::routes::tsp::Tsp;
use crate::{Error, Result};

/// A problem whose tours begin at the depot and may leave nodes out.
pub trait Selective {
    /// Depot and customers.
    fn sites(&self) -> &Tsp;

    /// Checks a tour, see [`Orienteering::check`] and [`PrizeCollecting::check`].
    ///
    /// # Errors
    /// [`Error::Infeasible`] naming the first violated constraint.
    fn check(&self, visits: &[usize]) -> Result<()>;

    /// What a tour is worth, in one line.
    fn worth(&self, visits: &[usize]) -> String;
}

impl Selective for Orienteering {
    fn sites(&self) -> &Tsp {
        self.sites()
    }

    fn check(&self, visits: &[usize]) -> Result<()> {
        self.check(visits)
    }

    fn worth(&self, visits: &[usize]) -> String {
        format!("Prize {}, length {}", self.prize(visits), self.length(visits))
    }
}

impl Selective for PrizeCollecting {
    fn sites(&self) -> &Tsp {
        self.sites()
    }

    fn check(&self, visits: &[usize]) -> Result<()> {
        self.check(visits)
    }

    fn worth(&self, visits: &[usize]) -> String {
        let (cost, length, prize) = (self.cost(visits), self.length(visits), self.collected(visits));
        format!("Cost {cost}, length {length}, prize {prize}")
    }
}

/// Reads the visits of a tour of `sites` in their order, without the depot.
///
/// Every id is one of the instance's; whether the visits obey its rules is for its `check` to say.
///
/// # Errors
/// Those of [`read`](super::read), and [`Error::Parse`] when the tour does not begin with the
/// depot.
pub fn read(path: impl AsRef<Path>, sites: &Tsp) -> Result<Vec<usize>> {
    let path = path.as_ref();
    parse(&read_text(path)?, path, sites)
}

/// Reads visits from the text of a tour; `path` names it in errors. See [`read`].
///
/// # Errors
/// As [`read`], without those of the file system.
pub fn parse(text: &str, path: &Path, sites: &Tsp) -> Result<Vec<usize>> {
    let mut tour = super::parse(text, path, sites)?;
    let depot = shown(&sites.ids()[0]);
    match tour.first() {
        Some(0) => {
            tour.remove(0);
            Ok(tour)
        }
        Some(&other) => {
            let reason = format!("begins with `{}`, expected the depot (`{depot}`)", shown(&sites.ids()[other]));
            Err(Error::parse(path, 0, reason).in_field("TOUR_SECTION"))
        }
        None => {
            let reason = format!("is empty, expected at least the depot (`{depot}`)");
            Err(Error::parse(path, 0, reason).in_field("TOUR_SECTION"))
        }
    }
}

/// Writes a tour with the ids of the file and what it is worth as the comment, under a temporary
/// name first.
///
/// # Errors
/// [`Error::Infeasible`] when it breaks a rule of `instance`, [`Error::Invalid`] when an id cannot
/// stand in a tour file, [`Error::Io`] when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &impl Selective, visits: &[usize]) -> Result<()> {
    let text = render(instance, visits)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of a tour file. See [`write()`].
///
/// # Errors
/// As [`write()`], without those of the file system.
pub fn render(instance: &impl Selective, visits: &[usize]) -> Result<String> {
    instance.check(visits)?;
    let sites = instance.sites();
    if let Some(bad) = sites.ids().iter().find(|id| !is_writable(id)) {
        let reason = format!("`{}` cannot stand in a tour file", shown(bad));
        return Err(Error::invalid("node id", reason));
    }
    let nodes = std::iter::once(&0).chain(visits);
    Ok(super::lay_out(sites, &instance.worth(visits), nodes))
}

#[cfg(test)]
mod tests {
    use super::super::super::suite::reader_suite;
    use super::*;

    fn cities() -> Orienteering {
        let ids = ["7", "New York", "3", "4"].map(String::from).to_vec();
        let sites = Tsp::euclidean("cities", (0..4).map(|i| [f64::from(i), 0.0]).collect()).unwrap();
        Orienteering::new(sites.with_ids(ids).unwrap(), vec![0.0, 1.0, 2.0, 4.0], 5.0).unwrap()
    }

    fn read_text(text: &str) -> Result<Vec<usize>> {
        parse(text, Path::new("a.tour"), cities().sites())
    }

    const FULL: &str = "NAME : cities.tour\nCOMMENT : Prize 3, length 4\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n7\n3\nNew York\n-1\nEOF\n";

    reader_suite! {
        laws,
        parse: read_text,
        render: |visits: &Vec<usize>| render(&cities(), visits),
        valid: [FULL, "TOUR_SECTION\n7 -1\n"],
        malformed: [
            ("", &["a.tour: has no TOUR_SECTION"][..]),
            ("TOUR_SECTION\n-1\n", &["a.tour: field `TOUR_SECTION`: is empty, expected at least the depot (`7`)"]),
            ("TOUR_SECTION\n3\n7\n-1\n", &["field `TOUR_SECTION`: begins with `3`, expected the depot (`7`)"]),
            ("TOUR_SECTION\n7\n5\n-1\n", &["a.tour:3", "found `5`, expected a node of cities"]),
            ("DIMENSION: 2\nTOUR_SECTION\n7\n", &["found `2`, expected 4, the nodes of cities"]),
        ],
    }

    #[test]
    fn the_depot_comes_first_and_is_no_visit() {
        assert_eq!(read_text(FULL).unwrap(), [2, 1]);
        assert_eq!(render(&cities(), &[2, 1]).unwrap(), FULL);
        assert!(matches!(render(&cities(), &[3]), Err(Error::Infeasible { .. })));
    }

    #[test]
    fn prize_collecting_states_its_cost() {
        let sites = cities().sites().clone();
        let instance = PrizeCollecting::new(sites, vec![0.0, 1.0, 1.0, 1.0], vec![0.0, 2.0, 2.0, 2.0], 1.0).unwrap();
        let text = render(&instance, &[1]).unwrap();
        assert!(text.contains("COMMENT : Cost 6, length 2, prize 1\n"), "{text}");
        assert!(render(&instance, &[]).is_err());
    }

    #[test]
    fn written_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tour");
        write(&path, &cities(), &[1, 2]).unwrap();
        assert_eq!(read(&path, cities().sites()).unwrap(), [1, 2]);
    }
}
