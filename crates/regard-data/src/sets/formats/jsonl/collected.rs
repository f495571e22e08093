//! Bags put together line by line.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::object::Object;
use crate::error::shown;
use crate::sets::bags::Origin;
use crate::sets::{Bags, FeatureNames, Labels};
use crate::{Error, Result};

/// All bags so far.
pub(super) struct Collected<'p> {
    path: &'p Path,
    /// The line of each id.
    ids: HashMap<String, usize>,
    pub(super) order: Vec<String>,
    /// The line that names the features; 0 where none does.
    pub(super) header: usize,
    /// How many features a row has, and the line that says so.
    pub(super) width: Option<(usize, usize)>,
    features: Vec<f32>,
    offsets: Vec<usize>,
    lines: Vec<usize>,
    labels: Vec<Option<String>>,
    bag_lines: Vec<usize>,
    row_labels: Vec<String>,
    /// A line without labels of items although it has items.
    unlabelled_rows: Option<usize>,
}

impl<'p> Collected<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        Self {
            path,
            ids: HashMap::new(),
            order: Vec::new(),
            header: 0,
            width: None,
            features: Vec::new(),
            offsets: vec![0],
            lines: Vec::new(),
            labels: Vec::new(),
            bag_lines: Vec::new(),
            row_labels: Vec::new(),
            unlabelled_rows: None,
        }
    }

    pub(super) fn bag(&mut self, object: &Object<'_>) -> Result<()> {
        object.check_keys()?;
        let id = object.label("id", object.map.get("id"))?.unwrap_or_else(|| (self.order.len() + 1).to_string());
        if let Some(first) = self.ids.insert(id.clone(), object.line) {
            return Err(object.error("id", format!("`{}` occurs a second time, first on line {first}", shown(&id))));
        }
        self.order.push(id);
        let items = object.items()?;
        for (item, value) in items.iter().enumerate() {
            self.row(object, item, value)?;
        }
        self.offsets.push(self.lines.len());
        self.labels.push(object.label("target", object.map.get("target"))?);
        self.bag_lines.push(object.line);
        self.labels_of_items(object, items.len())
    }

    fn row(&mut self, object: &Object<'_>, item: usize, value: &Value) -> Result<()> {
        let row = object.row(item, value)?;
        let (width, line) = *self.width.get_or_insert((row.len(), object.line));
        if row.len() != width {
            let reason = format!("item {} has {} numbers, expected {width} as on line {line}", item + 1, row.len());
            return Err(object.error("items", reason));
        }
        for (feature, value) in row.iter().enumerate() {
            self.features.push(object.number(item, feature, value)?);
        }
        self.lines.push(object.line);
        Ok(())
    }

    fn labels_of_items(&mut self, object: &Object<'_>, items: usize) -> Result<()> {
        const FIELD: &str = "item_targets";
        let Some(labels) = object.map.get(FIELD) else {
            if items > 0 {
                self.unlabelled_rows.get_or_insert(object.line);
            }
            return Ok(());
        };
        let labels = labels.as_array().filter(|labels| labels.len() == items);
        let labels =
            labels.ok_or_else(|| object.error(FIELD, format!("is not a list of {items} labels, one for each item")))?;
        for label in labels {
            let label = object.label(FIELD, Some(label))?;
            self.row_labels.push(label.ok_or_else(|| object.error(FIELD, "has an empty label"))?);
        }
        Ok(())
    }

    pub(super) fn finish(mut self, names: Option<Vec<String>>) -> Result<Bags> {
        if self.order.is_empty() {
            return Err(Error::parse(self.path, 0, "has no bags, expected at least one"));
        }
        let Some((width, _)) = self.width else {
            let error = Error::parse(self.path, 0, "has only empty bags, so the number of features is not known");
            return Err(error.with_hint("name the features on the first line: {\"features\": [\"a\", \"b\"]}"));
        };
        let labels = self.labels_of_bags()?;
        let names = names.map_or(FeatureNames::Count(width), FeatureNames::Named);
        let origin = Origin { path: self.path.to_path_buf(), header: self.header, lines: self.lines };
        let mut bags = Bags::new(names, self.features, self.offsets)?.with_ids(self.order)?;
        if let Some(labels) = labels {
            bags = bags.with_labels(labels)?;
        }
        if !self.row_labels.is_empty() {
            if let Some(line) = self.unlabelled_rows {
                let error =
                    Error::parse(self.path, line, "is missing, expected a label for each item as in other bags");
                return Err(error.in_field("item_targets"));
            }
            bags = bags.with_row_labels(Labels::of_texts(self.row_labels))?;
        }
        Ok(bags.with_origin(origin))
    }

    /// Labels of all bags, or of none.
    fn labels_of_bags(&mut self) -> Result<Option<Labels>> {
        if self.labels.iter().all(Option::is_none) {
            return Ok(None);
        }
        if let Some(at) = self.labels.iter().position(Option::is_none) {
            let reason = "is missing, expected a label as other bags have one";
            return Err(Error::parse(self.path, self.bag_lines[at], reason).in_field("target"));
        }
        Ok(Some(Labels::of_texts(std::mem::take(&mut self.labels).into_iter().flatten().collect())))
    }
}
