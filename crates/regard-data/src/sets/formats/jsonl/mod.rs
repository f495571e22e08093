//! Bags as JSON lines, one bag a line:
//!
//! ```json
//! {"id": "ann", "items": [[9.5, 1], [7, 0]], "target": 1}
//! {"id": "bob", "items": [], "target": 0}
//! ```
//!
//! `id` may be a word or a number, and is the number of the bag where it is missing; `target` may be
//! a number, a word or a truth value, for all bags or for none; `item_targets` is a list with a label
//! for each item. A first line `{"features": ["amount", "online"]}` names the features.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::error::shown;
use crate::file::place;
use crate::sets::bags::Origin;
use crate::sets::{Bags, FeatureNames, Labels};
use crate::table::json_lines::{Object, each};
use crate::{Error, Result};

const KEYS: [&str; 4] = ["id", "items", "target", "item_targets"];

/// Reads bags from JSON lines; `path` names them in errors.
///
/// # Errors
/// [`Error::Parse`] naming line and key, e.g.
/// ``bags.jsonl:3: field `items`: item 2 has 3 numbers, expected 2``.
///
/// ```
/// use regard_data::sets::formats::jsonl;
///
/// let text = "{\"id\": 7, \"items\": [[1, 2]], \"target\": \"a\"}\n{\"items\": [], \"target\": \"b\"}\n";
/// let bags = jsonl::parse(text, "bags.jsonl".as_ref())?;
/// assert_eq!((bags.ids(), bags.offsets()), (&["7".into(), "2".into()][..], &[0, 1, 1][..]));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Bags> {
    let mut all = Reader::new(path);
    let example = "each line is a bag such as {\"id\": \"a\", \"items\": [[1, 2]], \"target\": 0}";
    let mut names = None;
    each(text, path, example, |object| match feature_names(object)? {
        Some(list) if all.order.is_empty() && names.is_none() => {
            all.width = Some((list.len(), object.line));
            all.header = object.line;
            names = Some(list);
            Ok(())
        }
        Some(_) => Err(object.error("features", "is given below the first line, expected bags")),
        None => all.bag(object),
    })?;
    all.finish(names)
}

/// The names of the features, where this line is nothing else.
fn feature_names(object: &Object<'_>) -> Result<Option<Vec<String>>> {
    let Some(list) = object.map.get("features") else {
        return Ok(None);
    };
    if object.map.len() > 1 {
        return Err(object.error("features", "is given together with other keys, expected its own line"));
    }
    let names = list.as_array().and_then(|list| list.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    let names: Vec<String> = names.ok_or_else(|| object.error("features", "is not a list of names"))?;
    if names.is_empty() {
        return Err(object.error("features", "is empty, expected at least one name"));
    }
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => Err(object.error("features", format!("has `{}` twice", shown(name)))),
        None => Ok(Some(names)),
    }
}

fn items<'o>(object: &'o Object<'_>) -> Result<&'o [Value]> {
    let items = object.map.get("items").ok_or_else(|| object.error("items", "is missing, expected a list of rows"))?;
    items.as_array().map(Vec::as_slice).ok_or_else(|| object.error("items", "is not a list of rows"))
}

fn row<'v>(object: &Object<'_>, item: usize, value: &'v Value) -> Result<&'v [Value]> {
    let wrong = || object.error("items", format!("item {} is not a list of numbers", item + 1));
    value.as_array().map(Vec::as_slice).filter(|row| !row.is_empty()).ok_or_else(wrong)
}

/// All bags so far.
struct Reader<'p> {
    path: &'p Path,
    /// The line of each id.
    ids: HashMap<String, usize>,
    order: Vec<String>,
    /// The line that names the features; 0 where none does.
    header: usize,
    /// The number of features of a row, and the line that decides it.
    width: Option<(usize, usize)>,
    features: Vec<f32>,
    offsets: Vec<usize>,
    lines: Vec<usize>,
    labels: Vec<Option<String>>,
    bag_lines: Vec<usize>,
    row_labels: Vec<String>,
    /// A line without labels of items although it has items.
    unlabelled_rows: Option<usize>,
}

impl<'p> Reader<'p> {
    fn new(path: &'p Path) -> Self {
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

    fn bag(&mut self, object: &Object<'_>) -> Result<()> {
        object.check_keys(&KEYS, Some("features are numbers in `items`; leave other keys out"))?;
        let id = object
            .label("id", object.map.get("id"))?
            .unwrap_or_else(|| (place(self.path).rows + self.order.len() + 1).to_string());
        if let Some(first) = self.ids.insert(id.clone(), object.line) {
            return Err(object.error("id", format!("`{}` occurs a second time, first on line {first}", shown(&id))));
        }
        self.order.push(id);
        let items = items(object)?;
        for (item, value) in items.iter().enumerate() {
            self.row(object, item, value)?;
        }
        self.offsets.push(self.lines.len());
        self.labels.push(object.label("target", object.map.get("target"))?);
        self.bag_lines.push(object.line);
        self.labels_of_items(object, items.len())
    }

    fn row(&mut self, object: &Object<'_>, item: usize, value: &Value) -> Result<()> {
        let row = row(object, item, value)?;
        let (width, line) = *self.width.get_or_insert((row.len(), object.line));
        if row.len() != width {
            let reason = format!("item {} has {} numbers, expected {width} as on line {line}", item + 1, row.len());
            return Err(object.error("items", reason));
        }
        for (feature, value) in row.iter().enumerate() {
            let place = || format!("item {}, feature {}", item + 1, feature + 1);
            self.features.push(object.number("items", value, place)?);
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

    fn finish(mut self, names: Option<Vec<String>>) -> Result<Bags> {
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
