//! Instances from columns in memory, without a file: the numbers by their roles, as a table's header names them.

use std::path::Path;

use super::roles::{Head, Roles};
use super::sheet::Sheet;
use super::{ColumnKind, Notes, Options, TableOptions, instance_of, is_of_kind};
use crate::instance::Instance;
use crate::sites::check_point;
use crate::{DistanceMatrix, Error, Metric, Result, Sites};

/// The nodes of [`Columns`], by row.
#[derive(Debug, Clone)]
pub enum Nodes {
    /// Straight distances between places in the plane, `[rows, 2]`.
    Plane(Vec<[f64; 2]>),
    /// Great-circle kilometres between latitudes and longitudes in degrees, `[rows, 2]`.
    Earth(Vec<[f64; 2]>),
    /// Given distances; places in the plane, `[rows, 2]`, are for the network and for drawings.
    Distances(DistanceMatrix, Option<Vec<[f64; 2]>>),
}

/// An instance in memory.
#[derive(Debug, Clone)]
pub struct Columns<'a> {
    /// Name of the instance.
    pub name: &'a str,
    /// Its nodes.
    pub nodes: Nodes,
    /// Names of the nodes for reports, `[rows]`; empty where there are none.
    pub labels: Vec<String>,
    /// Columns of numbers by role, as problems declare them ([`FileSpec::csv`](crate::instance::FileSpec::csv)), each
    /// `[rows]`. Nodes are named by their rows, counted from 0; a number below 0 or NaN names none.
    pub numbers: Vec<(&'a str, Vec<f64>)>,
    /// The row of the depot, where the problem has one.
    pub depot: usize,
    /// Numbers that belong to no node.
    pub options: Options,
}

impl Columns<'_> {
    /// The instance of the problem that the columns decide, as those of a table do. Ids of its nodes are their rows,
    /// counted from 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the column and the row; columns that no problem has, and numbers that the problem needs
    /// or does not have.
    ///
    /// ```
    /// use regard_routing::formats::csv::{Columns, Nodes, Options};
    ///
    /// let columns = Columns {
    ///     name: "three",
    ///     nodes: Nodes::Plane(vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]),
    ///     labels: vec![],
    ///     numbers: vec![("demand", vec![0.0, 2.0, 2.0])],
    ///     depot: 0,
    ///     options: Options::default().with("capacity", Some(4.0)),
    /// };
    /// let instance = columns.instance()?;
    /// assert_eq!((instance.problem(), instance.value(&[1, 2])), ("cvrp", 12.0));
    /// # Ok::<(), regard_routing::Error>(())
    /// ```
    pub fn instance(self) -> Result<Instance> {
        let options = TableOptions { values: self.options.clone(), ..TableOptions::default() };
        let (path, depot) = (self.name.to_owned(), self.depot);
        self.sheet(Path::new(&path), &options)
            .and_then(|sheet| instance_of(sheet, &options))
            .map(|(instance, _)| instance)
            .map_err(|error| of_row(error, depot))
    }

    fn sheet<'p>(self, path: &'p Path, options: &TableOptions) -> Result<Sheet<'p>> {
        let Self { name, nodes, labels, numbers, depot, .. } = self;
        let flat = |points: Vec<[f64; 2]>| points.into_iter().map(|[x, y]| [x, y, 0.0]).collect();
        let sites = match nodes {
            Nodes::Plane(points) => {
                // As everywhere here, nodes are counted from 0.
                points.iter().enumerate().try_for_each(|(row, point)| check_point(point, row))?;
                Sites::new(name, Metric::Euclidean, flat(points))
            }
            Nodes::Earth(points) => {
                degrees(&points)?;
                Sites::new(name, Metric::GreatCircleKm, flat(points))
            }
            Nodes::Distances(matrix, places) => {
                let sites = Sites::new(name, Metric::Explicit(matrix), Vec::new());
                sites.and_then(|sites| places.map_or(Ok(sites.clone()), |places| sites.with_display(places)))
            }
        }?;
        let rows = sites.len();
        if let Some((role, values)) = numbers.iter().find(|(_, values)| values.len() != rows) {
            let reason = format!("has {} numbers, expected one for each of {rows} nodes", values.len());
            return Err(Error::invalid(format!("`{role}`"), reason));
        }
        if depot >= rows {
            return Err(Error::invalid("`depot`", format!("is {depot}, expected a row from 0 to {}", rows - 1)));
        }
        let header: Vec<String> = numbers.iter().map(|(role, _)| (*role).to_owned()).collect();
        let head = Head { path, line: 0, names: &header, full: &|_| true, distinct: &|_| true };
        let roles = Roles::of(&head, &[], &options.values, &mut Notes::default())?;
        if let Some(unknown) = header.iter().find(|name| roles.get(name).is_none()) {
            return Err(Error::invalid(format!("`{unknown}`"), "belongs to no problem"));
        }
        let ids: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
        let labels = if labels.is_empty() { labels } else { same_count(labels, rows)? };
        let sites = sites.with_ids(ids.clone())?.with_labels(labels);
        // A time that never ends is an empty field in a table, and so is a node that is none.
        let field = |role: &str, value: f64| {
            let never = value == f64::INFINITY && is_of_kind(role, ColumnKind::Time);
            let none = (value < 0.0 || value.is_nan()) && is_of_kind(role, ColumnKind::Node);
            if never || none { String::new() } else { value.to_string() }
        };
        let fields = |row: usize| numbers.iter().map(|(role, values)| field(role, values[row])).collect();
        // Errors name rows by the lines that a table would have below its header.
        let lines = (0..rows).map(|row| (row + 1, fields(row))).collect();
        let depot = (depot != 0).then(|| ids[depot].clone());
        Ok(Sheet::of_nodes(path, header, roles, lines, sites, depot))
    }
}

fn same_count(labels: Vec<String>, rows: usize) -> Result<Vec<String>> {
    match labels.len() == rows {
        true => Ok(labels),
        false => Err(Error::invalid("names", format!("are {}, expected one for each of {rows} nodes", labels.len()))),
    }
}

/// Refuses what are no degrees.
fn degrees(points: &[[f64; 2]]) -> Result<()> {
    for (row, [latitude, longitude]) in points.iter().enumerate() {
        let wrong = |what: &str, value: &f64, range: &str| {
            Err(Error::invalid(
                format!("{what} of node {row}"),
                format!("found {value}, expected degrees from {range}"),
            ))
        };
        if !(-90.0..=90.0).contains(latitude) {
            return wrong("latitude", latitude, "-90 to 90");
        }
        if !(-180.0..=360.0).contains(longitude) {
            return wrong("longitude", longitude, "-180 to 180");
        }
    }
    Ok(())
}

/// The error of a table as one of columns: with a row in place of the line.
fn of_row(error: Error, depot: usize) -> Error {
    match error {
        Error::Parse { line, field, reason, other_line, .. } => {
            let row = line.checked_sub(1).map(|row| match row == depot {
                true => format!(" of node {row}, the depot"),
                false => format!(" of node {row}"),
            });
            let column = if field.is_empty() { "the instance".to_owned() } else { format!("`{field}`") };
            let other = other_line.map_or(String::new(), |line| format!(" at node {}", line.saturating_sub(1)));
            Error::invalid(format!("{column}{}", row.unwrap_or_default()), reason + &other)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::csv::parse_instance;
    use crate::problems::cvrptw::Cvrptw;

    fn columns<'a>(numbers: Vec<(&'a str, Vec<f64>)>, options: Options) -> Columns<'a> {
        let nodes = Nodes::Plane(vec![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.1, 0.7]]);
        Columns { name: "arrays", nodes, labels: vec![], numbers, depot: 0, options }
    }

    #[test]
    fn columns_give_the_instance_of_the_same_table() {
        let text = "# capacity: 4\nx,y,demand\n0,0,\n3,0,2\n3,4,1.5\n0.1,0.7,0.1\n";
        let (table, _) = parse_instance(text, "arrays.csv".as_ref(), &TableOptions::default()).unwrap();
        let options = Options::default().with("capacity", Some(4.0));
        let arrays = columns(vec![("demand", vec![0.0, 2.0, 1.5, 0.1])], options).instance().unwrap();
        assert_eq!(arrays.problem(), table.problem());
        assert_eq!(arrays.amounts(), table.amounts());
        assert_eq!(arrays.sites().coordinates(), table.sites().coordinates());
        assert_eq!(arrays.route_bound(), Some(4.0));
        assert_eq!(arrays.sites().ids(), ["0", "1", "2", "3"]);
    }

    #[test]
    fn windows_may_have_no_end() {
        let options = Options::default().with("capacity", Some(4.0));
        let due = vec![f64::INFINITY, 9.0, f64::INFINITY, 5.0];
        let numbers = vec![("demand", vec![0.0, 2.0, 1.5, 0.1]), ("due", due.clone())];
        let instance = columns(numbers, options).instance().unwrap();
        assert_eq!(instance.downcast_ref::<Cvrptw>().unwrap().windows().due, due);
    }

    #[test]
    fn the_depot_moves_to_the_front_with_its_numbers() {
        let options = Options::default().with("capacity", Some(4.0));
        let mut moved = columns(vec![("demand", vec![1.0, 2.0, 0.0, 0.5])], options);
        moved.depot = 2;
        let moved = moved.instance().unwrap();
        assert_eq!(moved.sites().ids(), ["2", "0", "1", "3"]);
        assert_eq!(moved.amounts().unwrap().1, [0.0, 1.0, 2.0, 0.5]);
    }

    #[test]
    fn distances_need_no_places() {
        let matrix = DistanceMatrix::from_lower(3, vec![1.0, 2.0, 3.0]).unwrap();
        let nodes = Nodes::Distances(matrix, None);
        let columns =
            Columns { name: "m", nodes, labels: vec![], numbers: vec![], depot: 0, options: Options::default() };
        let instance = columns.instance().unwrap();
        assert_eq!((instance.problem(), instance.value(&[0, 1, 2])), ("tsp", 6.0));
    }

    #[test]
    fn errors_name_the_column_and_the_node() {
        let capacity = || Options::default().with("capacity", Some(4.0));
        let error = |numbers, options| columns(numbers, options).instance().unwrap_err().to_string();
        let found = error(vec![("demand", vec![0.0, 2.0, -1.0, 0.0])], capacity());
        assert_eq!(found, "`demand` of node 2: found -1, expected 0 or more");
        let found = error(vec![("demand", vec![0.0, 9.0, 1.0, 0.0])], capacity());
        assert!(found.starts_with("`demand` of node 1: found 9, which is above the capacity"), "{found}");
        let found = error(vec![("demand", vec![0.0, f64::NAN, 1.0, 0.0])], capacity());
        assert!(found.starts_with("`demand` of node 1: found `NaN`, expected a number"), "{found}");
        let found = error(vec![("demand", vec![1.0; 3])], capacity());
        assert_eq!(found, "`demand`: has 3 numbers, expected one for each of 4 nodes");
        let found = error(vec![("demand", vec![0.0, 1.0, 1.0, 0.0])], Options::default());
        assert!(found.contains("has no capacity"), "{found}");
        let found = error(vec![("colour", vec![0.0; 4])], Options::default());
        assert_eq!(found, "`colour`: belongs to no problem");
        let nodes = Nodes::Plane(vec![[0.0, 0.0], [f64::NAN, 0.0]]);
        let wrong = Columns { nodes, ..columns(vec![], Options::default()) }.instance().unwrap_err().to_string();
        assert!(wrong.starts_with("coordinate of node 1: NaN is not a number"), "{wrong}");
    }
}
