//! A builder of bags from rows in any order.

use std::collections::HashMap;
use std::path::Path;

use crate::error::shown;
use crate::sets::bags::Origin;
use crate::sets::{Bags, FeatureNames, Labels};
use crate::{Error, Result};

/// Rows in the order of the file.
pub(super) struct BagsBuilder<'p> {
    path: &'p Path,
    bags: HashMap<String, usize>,
    ids: Vec<String>,
    /// The bag of each row.
    of_row: Vec<usize>,
    lines: Vec<usize>,
    /// `[rows, width]`.
    pub(super) features: Vec<f32>,
    /// The first row of each bag that has a label, with its line.
    labels: Vec<Option<(String, usize)>>,
    /// The line of the first row without a label, and how many there are.
    unlabelled: (usize, usize),
    pub(super) row_labels: Vec<String>,
}

impl<'p> BagsBuilder<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        Self {
            path,
            bags: HashMap::new(),
            ids: Vec::new(),
            of_row: Vec::new(),
            lines: Vec::new(),
            features: Vec::new(),
            labels: Vec::new(),
            unlabelled: (0, 0),
            row_labels: Vec::new(),
        }
    }

    /// The bag with this id, a new one when there is none.
    pub(super) fn bag(&mut self, id: &str) -> usize {
        if let Some(bag) = self.bags.get(id) {
            return *bag;
        }
        let bag = self.ids.len();
        self.bags.insert(id.to_owned(), bag);
        self.ids.push(id.to_owned());
        self.labels.push(None);
        bag
    }

    /// Notes a row of a bag; its features are pushed by the caller.
    pub(super) fn row(&mut self, bag: usize, line: usize) {
        self.of_row.push(bag);
        self.lines.push(line);
    }

    /// Notes the label that a row gives its bag; empty is none. All rows of a bag must agree.
    pub(super) fn label(&mut self, bag: usize, text: &str, line: usize, field: &str) -> Result<()> {
        if text.is_empty() {
            self.unlabelled =
                if self.unlabelled.1 == 0 { (line, 1) } else { (self.unlabelled.0, self.unlabelled.1 + 1) };
            return Ok(());
        }
        match &self.labels[bag] {
            None => self.labels[bag] = Some((text.to_owned(), line)),
            Some((first, _)) if same_label(first, text) => {}
            Some((first, above)) => {
                let reason = format!(
                    "bag `{}` has the label `{}` here and `{}` on line {above}",
                    shown(&self.ids[bag]),
                    shown(text),
                    shown(first)
                );
                let error = Error::parse(self.path, line, reason).in_field(field);
                return Err(error
                    .with_hint("the label of a bag is the same in all its rows; labels of rows are another column"));
            }
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_row.is_empty()
    }

    /// The bags, in the order in which they first occur. `field` is the column of labels.
    pub(super) fn finish(
        mut self,
        names: FeatureNames,
        header: usize,
        field: Option<&str>,
        optional: bool,
    ) -> Result<Bags> {
        let labels = match field {
            Some(field) => self.labels_of_bags(field, optional)?,
            None => None,
        };
        let (offsets, order) = self.order();
        let width = names.len();
        let in_order = order.iter().enumerate().all(|(at, row)| at == *row);
        if !in_order {
            self.features =
                order.iter().flat_map(|&row| self.features[row * width..(row + 1) * width].iter().copied()).collect();
            self.lines = order.iter().map(|&row| self.lines[row]).collect();
        }
        let mut bags = Bags::with_missing(names, self.features, offsets)?.with_ids(self.ids)?;
        if let Some(labels) = labels {
            bags = bags.with_labels(labels)?;
        }
        if !self.row_labels.is_empty() {
            let texts = order.iter().map(|&row| std::mem::take(&mut self.row_labels[row])).collect();
            bags = bags.with_row_labels(Labels::of_texts(texts))?;
        }
        Ok(bags.with_origin(Origin { path: self.path.to_path_buf(), header, lines: self.lines }))
    }

    /// `None` when labels are optional and some are missing: what does not ask for labels has no use for some of them.
    fn labels_of_bags(&mut self, field: &str, optional: bool) -> Result<Option<Labels>> {
        let (line, count) = self.unlabelled;
        if count > 0 && optional {
            return Ok(None);
        }
        if count > 0 {
            return Err(Error::parse(self.path, line, "is empty, expected the label of the bag").in_field(field));
        }
        let texts = self.labels.iter_mut().map(|label| label.take().map_or_else(String::new, |(text, _)| text));
        Ok(Some(Labels::of_texts(texts.collect())))
    }

    /// Where bags begin and end, and which row of the file comes where.
    fn order(&self) -> (Vec<usize>, Vec<usize>) {
        let mut offsets = vec![0; self.ids.len() + 1];
        self.of_row.iter().for_each(|bag| offsets[bag + 1] += 1);
        for bag in 0..self.ids.len() {
            offsets[bag + 1] += offsets[bag];
        }
        let mut next = offsets.clone();
        let mut order = vec![0; self.of_row.len()];
        for (row, &bag) in self.of_row.iter().enumerate() {
            order[next[bag]] = row;
            next[bag] += 1;
        }
        (offsets, order)
    }
}

/// Labels are compared as numbers where both are: `1` is `1.0`.
fn same_label(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}
