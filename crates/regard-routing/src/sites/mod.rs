//! The nodes of an instance: ids, coordinates, distances and what is known of them.

pub mod matrix;
pub mod metric;
mod places;
mod scaling;

use std::collections::HashSet;
use std::sync::OnceLock;

use self::metric::Metric;
use crate::{Error, Result};

/// Coordinates are refused beyond this, so that no distance and no cost can overflow.
const LARGEST: f64 = 1e100;

/// The nodes of an instance with their distances, a depot first where there is one. Only a table
/// ([`Metric::Explicit`]) has distances that differ by direction.
///
/// Nodes are numbered from 0 in the order of the file; [`ids`](Self::ids) are the names the file
/// gives them.
#[derive(Debug, Clone)]
pub struct Sites {
    name: String,
    comment: String,
    ids: Vec<String>,
    /// Names beside the ids; empty where there are none.
    labels: Vec<String>,
    metric: Metric,
    /// As in the file, the third 0 in the plane; empty for a table.
    coordinates: Vec<[f64; 3]>,
    /// Latitude and longitude, for the metrics on the sphere only.
    radians: Vec<[f64; 2]>,
    /// Where the file wants the nodes of a table drawn.
    display: Option<Vec<[f64; 2]>>,
    /// Latitude and longitude of the nodes of a table, as in the file; empty where it has none.
    located: Vec<[f64; 2]>,
    places: OnceLock<Vec<[f64; 2]>>,
    best_known: Option<f64>,
}

impl Sites {
    /// Instance in the plane with straight, unrounded distances.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no point or a coordinate is not finite.
    pub fn euclidean(name: impl Into<String>, points: Vec<[f64; 2]>) -> Result<Self> {
        let points = points.into_iter().map(|[x, y]| [x, y, 0.0]).collect();
        Self::new(name, Metric::Euclidean, points)
    }

    /// Instance with the distances of `metric`; `coordinates` are `[nodes, 3]`, the third being
    /// ignored in the plane and on the sphere, and are left empty for [`Metric::Explicit`].
    ///
    /// Ids are "1", "2", ...; see [`with_ids`](Self::with_ids).
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no node, a coordinate is not finite or beyond 1e100, or
    /// coordinates are given for a table.
    pub fn new(name: impl Into<String>, metric: Metric, coordinates: Vec<[f64; 3]>) -> Result<Self> {
        let nodes = match &metric {
            Metric::Explicit(_) if !coordinates.is_empty() => {
                return Err(Error::invalid("coordinates", "a distance matrix takes none"));
            }
            Metric::Explicit(matrix) => matrix.len(),
            _ => coordinates.len(),
        };
        if nodes == 0 {
            return Err(Error::invalid("nodes", "an instance needs at least one"));
        }
        for (i, point) in coordinates.iter().enumerate() {
            check_point(point, i + 1)?;
        }
        let radians = match metric.on_sphere() {
            true => coordinates.iter().map(|p| metric.radians(p)).collect(),
            false => Vec::new(),
        };
        Ok(Self {
            name: name.into(),
            comment: String::new(),
            ids: (1..=nodes).map(|i| i.to_string()).collect(),
            labels: Vec::new(),
            metric,
            coordinates,
            radians,
            display: None,
            located: Vec::new(),
            places: OnceLock::new(),
            best_known: None,
        })
    }

    /// The same instance with these node ids, one per node, all different.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is wrong or an id occurs twice.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        if ids.len() != self.len() {
            let reason = format!("{} given for {} nodes", ids.len(), self.len());
            return Err(Error::invalid("ids", reason));
        }
        let mut seen = HashSet::with_capacity(ids.len());
        if let Some(twice) = ids.iter().find(|id| !seen.insert(id.as_str())) {
            return Err(Error::invalid("ids", format!("`{twice}` occurs twice")));
        }
        self.ids = ids;
        Ok(self)
    }

    /// The same instance with names of its nodes beside their ids; none where their number is another.
    #[must_use]
    pub fn with_labels(mut self, labels: Vec<String>) -> Self {
        self.labels = if labels.len() == self.len() { labels } else { Vec::new() };
        self
    }

    /// The same instance with a comment.
    #[must_use]
    pub fn with_comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = comment.into();
        self
    }

    /// The same instance with places `[nodes, 2]` at which the nodes of a table are drawn and
    /// shown to the network. Metrics with coordinates of their own ignore them.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is wrong or a coordinate is not finite.
    pub fn with_display(mut self, display: Vec<[f64; 2]>) -> Result<Self> {
        if display.len() != self.len() || !display.iter().flatten().all(|v| is_coordinate(*v)) {
            let reason = format!("expected {} finite pairs", self.len());
            return Err(Error::invalid("display data", reason));
        }
        self.display = Some(display);
        self.places = OnceLock::new();
        Ok(self)
    }

    /// The same instance with latitude and longitude `[nodes, 2]` of the nodes of a table, for maps.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the count is wrong.
    pub fn with_degrees(mut self, degrees: Vec<[f64; 2]>) -> Result<Self> {
        if degrees.len() != self.len() {
            return Err(Error::invalid("latitudes and longitudes", format!("expected {} pairs", self.len())));
        }
        self.located = degrees;
        Ok(self)
    }

    /// The same instance with straight distances that are not rounded, where they are `EUC_2D`;
    /// other metrics stay. Some sets are measured this way although their files say `EUC_2D`.
    #[must_use]
    pub fn unrounded(mut self) -> Self {
        if self.metric == Metric::Euc2d {
            self.metric = Metric::Euclidean;
        }
        self
    }

    /// The same instance with straight distances that are cut to one decimal ([`Metric::Tenths`]), where they are
    /// `EUC_2D`; other metrics stay.
    #[must_use]
    pub fn in_tenths(mut self) -> Self {
        if self.metric == Metric::Euc2d {
            self.metric = Metric::Tenths;
        }
        self
    }

    /// The same instance with another best-known cost.
    #[must_use]
    pub fn with_best_known(mut self, cost: Option<f64>) -> Self {
        self.best_known = cost;
        self
    }

    /// Name of the instance.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Comment of the file, in one line; may be empty.
    #[must_use]
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Number of nodes, at least 1.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// If true, there are no nodes; never true of an instance that was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Node ids as in the file, by index.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Metric of the distances.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Name of the metric, see [`Metric::name`].
    #[must_use]
    pub fn metric_name(&self) -> &'static str {
        self.metric.name()
    }

    /// Unit of distances: `"km"` or empty.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.metric.unit()
    }

    /// Coordinates as in the file, `[nodes, 3]` with 0 as the third in the plane and on the
    /// sphere; empty for a table.
    #[must_use]
    pub fn coordinates(&self) -> &[[f64; 3]] {
        &self.coordinates
    }

    /// Latitude and longitude of every node in radians; empty where the metric is not one on a sphere.
    pub(crate) fn radians(&self) -> &[[f64; 2]] {
        &self.radians
    }

    /// Latitude and longitude of a node as in the file, also where distances are those of a table; `None` for other
    /// places.
    ///
    /// # Panics
    /// When the index is not below [`len`](Self::len).
    #[must_use]
    pub fn degrees(&self, node: usize) -> Option<[f64; 2]> {
        match self.metric {
            Metric::GreatCircleKm => Some([self.coordinates[node][0], self.coordinates[node][1]]),
            _ => (!self.located.is_empty()).then(|| self.located[node]),
        }
    }

    /// The places a file gives for drawing a table of distances.
    #[must_use]
    pub fn display(&self) -> Option<&[[f64; 2]]> {
        self.display.as_deref()
    }

    /// If true, all distances are the same in both directions.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        !matches!(&self.metric, Metric::Explicit(matrix) if !matrix.is_symmetric())
    }

    /// Distance from one node to another in the file's own metric; 0 from a node to itself.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        match &self.metric {
            Metric::Explicit(matrix) => matrix.get(i, j),
            _ if i == j => 0.0,
            metric if metric.on_sphere() => metric.spherical(&self.radians[i], &self.radians[j]),
            metric => metric.flat(&self.coordinates[i], &self.coordinates[j]),
        }
    }

    /// Length of the closed tour through the nodes in this order, in the file's own metric.
    ///
    /// The list is taken as it is, whether it is a tour or not.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    #[must_use]
    pub fn tour_length(&self, tour: &[usize]) -> f64 {
        let Some((&first, &last)) = tour.first().zip(tour.last()) else {
            return 0.0;
        };
        let path: f64 = tour.windows(2).map(|pair| self.distance(pair[0], pair[1])).sum();
        path + self.distance(last, first)
    }

    /// Places in the plane, `[nodes, 2]`, for the network and for plots; computed on first use.
    ///
    /// The file's coordinates where distances are measured in the plane. Latitude and longitude
    /// become kilometres east and north (equirectangular about the mean latitude, cut at the
    /// widest empty range of longitudes). Points in space are seen along their direction of least
    /// extent. A table uses the file's display data, else classical multidimensional scaling, of the
    /// mean of both directions.
    /// Costs never use these places.
    #[must_use]
    pub fn places(&self) -> &[[f64; 2]] {
        self.places.get_or_init(|| places::of(self))
    }

    /// [`places`](Self::places) shifted and scaled by one factor, so that they touch the lower
    /// sides of the unit square and fill it in their longer direction; `[nodes, 2]`.
    ///
    /// All zeros when all places are equal.
    #[must_use]
    pub fn unit_square(&self) -> Vec<[f32; 2]> {
        places::unit_square(self.places())
    }

    /// Length of the longer side of the places, which is 1 in [`unit_square`](Self::unit_square); 0
    /// when all places are equal.
    #[must_use]
    pub fn side(&self) -> f64 {
        places::side(self.places())
    }

    /// [`side`](Self::side), or 1 where it is 0 or not finite.
    #[must_use]
    pub(crate) fn positive_side(&self) -> f64 {
        let side = self.side();
        if side > 0.0 && side.is_finite() { side } else { 1.0 }
    }

    /// The name of a node beside its id, where the file gives one.
    #[must_use]
    pub fn label(&self, node: usize) -> Option<&str> {
        self.labels.get(node).map(String::as_str).filter(|label| !label.is_empty())
    }

    /// If true, the file gives names beside ids.
    #[must_use]
    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// The best cost known for this instance, in its own metric.
    #[must_use]
    pub fn best_known(&self) -> Option<f64> {
        self.best_known
    }
}

/// Refuses a point of the node with this number that has no coordinates.
pub(crate) fn check_point(point: &[f64], node: usize) -> Result<()> {
    match point.iter().find(|value| !is_coordinate(**value)) {
        Some(bad) => {
            let reason = format!("{bad} is not a number between -1e100 and 1e100");
            Err(Error::invalid(format!("coordinate of node {node}"), reason))
        }
        None => Ok(()),
    }
}

/// If true, a number can be a coordinate: finite and far from overflow when squared.
pub(crate) fn is_coordinate(value: f64) -> bool {
    value.abs() <= LARGEST
}
