//! Features of the rows of a table: columns of numbers, columns of few different texts, and missing values.

use std::collections::BTreeSet;

use super::values::{exact_or_nan, is_missing, is_missing_text, looks_like_number, number, number_or_nan};
use super::{Column, Header, Precision, Row, Spread, Table};
use crate::Result;
use crate::error::{Fault, shown};

/// A feature of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Feature {
    /// The number in a column, NaN where it is missing and may be.
    Number { column: Column, may_miss: bool },
    /// 1 where a text column has this value, else 0 (one-hot encoding); an empty one stands for missing texts. A value that
    /// is not encoded is 0 in all features of the column.
    Category { column: Column, value: String },
    /// 1 where the number in a column is missing, else 0.
    Missing(Column),
}

/// The features of a table, and what was done with its columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features {
    pub(crate) all: Vec<Feature>,
    /// Columns that were left out, and columns with missing values, a sentence each.
    pub(crate) notes: Vec<String>,
    /// Number of rows.
    pub(crate) rows: usize,
}

/// Options of [`Features::of`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureOptions<'o> {
    /// The features to read, in this order: columns, or `column=value` for one value of a text column; `None` takes
    /// every column that has no other role.
    pub(crate) listed: Option<&'o [String]>,
    /// Names of the features in training: text columns have the same values then, and the same columns an indicator of
    /// missing values.
    pub(crate) training: Option<&'o [String]>,
    /// If true, numbers may be missing: they are NaN, and another feature says so.
    pub(crate) may_miss: bool,
    /// The setting that names features, for messages.
    pub(crate) setting: &'static str,
}

/// Text columns with more values than this are identifiers, dates or free text.
pub(crate) const MOST_CATEGORIES: usize = 32;
/// Rows that a value has on average at least.
const ROWS_OF_CATEGORY: usize = 5;
/// The beginning of the name of a feature that says where numbers are missing, as scikit-learn calls it.
const INDICATOR: &str = "missingindicator_";

impl Feature {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Number { column, .. } => column.name.clone(),
            Self::Category { column, value } => format!("{}={value}", column.name),
            Self::Missing(column) => format!("{INDICATOR}{}", column.name),
        }
    }

    /// The column it is read from.
    pub(crate) fn column(&self) -> &Column {
        match self {
            Self::Number { column, .. } | Self::Category { column, .. } | Self::Missing(column) => column,
        }
    }

    /// The value of a field of its column.
    pub(crate) fn of_field(&self, field: &str) -> Result<f32, Fault> {
        match self {
            Self::Number { may_miss: true, .. } => number_or_nan(field),
            Self::Number { may_miss: false, .. } => number(field),
            Self::Category { value, .. } => {
                let is_so = if value.is_empty() { is_missing_text(field) } else { field == value };
                Ok(f32::from(u8::from(is_so)))
            }
            Self::Missing(_) => Ok(f32::from(u8::from(is_missing(field)))),
        }
    }

    /// The value of a row.
    pub(crate) fn of(&self, row: &Row<'_>) -> Result<f32> {
        let column = self.column();
        self.of_field(&row.value(column)?).map_err(|fault| row.fault(&column.name, fault))
    }
}

impl Features {
    /// The features of a table whose columns `taken` have other roles.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) for a listed column that is not there or has another role.
    pub(crate) fn of(table: &Table<'_>, taken: &[Column], options: &FeatureOptions<'_>) -> Result<Self> {
        let contents = Contents::of(table)?;
        let mut found = Self { rows: contents.rows, ..Self::default() };
        match options.listed {
            Some(names) => found.listed(table, names, taken, &contents, options)?,
            None => found.inferred(table, taken, &contents, options),
        }
        found.indicate(table, &contents, options);
        found.notes.extend(contents.precision.note("column", |at| found.number_in(at)));
        if let Some(names) = options.training {
            found.differences(table, taken, &contents, names);
        }
        Ok(found)
    }

    /// Notes what differs from training: columns it did not have, and texts that did not occur in it.
    fn differences(&mut self, table: &Table<'_>, taken: &[Column], contents: &Contents, training: &[String]) {
        let of_column = |column: &Column| self.all.iter().any(|feature| feature.column().at == column.at);
        let is_taken = |column: &Column| taken.iter().any(|other| other.at == column.at);
        let unread: Vec<String> = table
            .header
            .named()
            .filter(|column| !is_taken(column) && !of_column(column))
            .map(|column| format!("`{}`", shown(&column.name)))
            .collect();
        let mut notes = Vec::new();
        if !unread.is_empty() {
            let columns = if unread.len() == 1 { "column" } else { "columns" };
            notes.push(format!("{columns} not read, which training did not have: {}", unread.join(", ")));
        }
        for column in table.header.named().filter(of_column) {
            let prefix = format!("{}=", column.name);
            let known: Vec<&str> = training.iter().filter_map(|name| name.strip_prefix(&prefix)).collect();
            let new = |text: &&String| !is_missing(text) && !known.contains(&text.as_str());
            let has_number = contents.is_number[column.at] && known.iter().all(|text| text.parse::<f64>().is_err());
            let number = has_number.then(|| "a number".to_owned());
            let texts = contents.texts[column.at].iter().filter(new).map(|text| format!("`{}`", shown(text)));
            let texts: Vec<String> = number.into_iter().chain(texts).collect();
            if !known.is_empty() && !texts.is_empty() {
                notes.push(unseen(&column.name, &texts, "in training"));
            }
        }
        self.notes.extend(notes);
    }

    /// The name of a column that is read as numbers.
    fn number_in(&self, column: usize) -> Option<&str> {
        let is_number = |feature: &&Feature| matches!(feature, Feature::Number { column: own, .. } if own.at == column);
        self.all.iter().find(is_number).map(|feature| feature.column().name.as_str())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.all.iter().map(Feature::name).collect()
    }

    fn listed(
        &mut self,
        table: &Table<'_>,
        names: &[String],
        taken: &[Column],
        contents: &Contents,
        options: &FeatureOptions<'_>,
    ) -> Result<()> {
        let mut taken = taken.to_vec();
        for name in names {
            if let Some(part) = part_of_column(&table.header, name) {
                self.all.push(part);
                continue;
            }
            let column = table.header.column(name)?;
            if taken.contains(&column) {
                let reason = format!("column `{}` is a feature and something else, or a feature twice", shown(name));
                return Err(table.header.error(reason));
            }
            taken.push(column.clone());
            match contents.categories(&column) {
                Some(values) if options.training.is_none() => self.all.extend(values),
                _ => self.all.push(Feature::Number { column, may_miss: options.may_miss }),
            }
        }
        Ok(())
    }

    /// Every other column: numbers as they are, text with few different values encoded.
    fn inferred(&mut self, table: &Table<'_>, taken: &[Column], contents: &Contents, options: &FeatureOptions<'_>) {
        let mut left_out = Vec::new();
        for column in table.header.columns().filter(|column| taken.iter().all(|other| other.at != column.at)) {
            let values = &contents.texts[column.at];
            let most = MOST_CATEGORIES.min(contents.rows / ROWS_OF_CATEGORY);
            let prefix = format!("{}=", column.name);
            let encoded = |value: &str| Feature::Category { column: column.clone(), value: value.to_owned() };
            let known = options.training.map(|names| names.contains(&column.name));
            match options.training {
                _ if column.name.is_empty() => left_out.push(format!("{} (no name)", table.header.label(column.at))),
                Some(names) if names.iter().any(|name| name.starts_with(&prefix)) => {
                    self.all.extend(names.iter().filter_map(|name| name.strip_prefix(&prefix)).map(encoded));
                }
                _ if contents.missing[column.at] == contents.rows && known != Some(true) => {
                    left_out.push(format!("{} (no values)", column.name));
                }
                _ if contents.is_number[column.at] || known == Some(true) => {
                    self.all.push(Feature::Number { column, may_miss: options.may_miss });
                }
                None if (2..=most).contains(&values.len()) => {
                    self.all.extend(values.iter().map(|value| encoded(value)));
                }
                _ => {
                    let why = match values.len() {
                        0 | 1 => "one text in all rows".to_owned(),
                        count if count > MOST_CATEGORIES => format!("more than {MOST_CATEGORIES} different texts"),
                        count => format!("{count} different texts in {} rows", contents.rows),
                    };
                    left_out.push(format!("{} ({why})", column.name));
                }
            }
        }
        if !left_out.is_empty() && options.training.is_none() {
            let columns = if left_out.len() == 1 { "column" } else { "columns" };
            let hint = if options.setting.is_empty() {
                String::new()
            } else {
                format!("; {} names the features to read", options.setting)
            };
            self.notes.push(format!("left out: {columns} {}{hint}", left_out.join(", ")));
        }
    }

    /// Adds indicators of missing values: in training for columns that have any, afterwards for those of training.
    fn indicate(&mut self, table: &Table<'_>, contents: &Contents, options: &FeatureOptions<'_>) {
        let numbers: Vec<Column> = self.all.iter().filter_map(Feature::number_that_may_miss).cloned().collect();
        let (mut missing, mut said) = (Vec::new(), false);
        for column in numbers {
            let count = contents.missing[column.at];
            if count > 0 {
                missing.push(format!("{count} of `{}`", shown(&column.name)));
            }
            let indicator = Feature::Missing(column);
            let name = indicator.name();
            let wanted = match options.training {
                Some(names) => names.contains(&name),
                None => count > 0,
            };
            said |= wanted;
            if wanted && table.header.find(&name).is_none() && !self.all.contains(&indicator) {
                self.all.push(indicator);
            }
        }
        self.notes.extend(table.marks.clone());
        for column in table.header.columns().filter(|column| contents.missing_texts[column.at] > 0) {
            let value_of = |feature: &'_ Feature| match feature {
                Feature::Category { column: own, value } if *own == column => Some(value.is_empty()),
                _ => None,
            };
            let mut are_missing = self.all.iter().filter_map(value_of).peekable();
            if are_missing.peek().is_none() {
                continue;
            }
            let place = match are_missing.any(|is_missing| is_missing) {
                true => "which are a feature of their own",
                false => "which count as none of its texts",
            };
            let count = contents.missing_texts[column.at];
            self.notes.push(format!("missing texts: {count} of `{}`, {place}", shown(&column.name)));
        }
        if !missing.is_empty() {
            let rest = if said { ", and another feature says where" } else { "" };
            let mean = "the mean of the training rows stands in their place";
            self.notes.push(format!("missing values: {}; {mean}{rest}", missing.join(", ")));
        }
    }
}

impl Feature {
    fn number_that_may_miss(&self) -> Option<&Column> {
        match self {
            Self::Number { column, may_miss: true } => Some(column),
            _ => None,
        }
    }
}

/// A sentence on texts of a column that did not occur in a place such as `in training`.
pub(crate) fn unseen(column: &str, texts: &[String], place: &str) -> String {
    const MOST: usize = 5;
    let more = if texts.len() > MOST { ", …" } else { "" };
    let all = texts.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    let counts = if texts.len() == 1 { "counts" } else { "count" };
    format!("column `{}`: {all}{more} did not occur {place}, and {counts} as none of its texts", shown(column))
}

/// The feature of a part of a column that a name means, where no column has the whole name.
pub(crate) fn part_of_column(header: &Header<'_>, name: &str) -> Option<Feature> {
    if header.find(name).is_some() {
        return None;
    }
    if let Some(column) = name.strip_prefix(INDICATOR).and_then(|column| header.find(column)) {
        return Some(Feature::Missing(column));
    }
    let (column, value) = name.split_once('=')?;
    Some(Feature::Category { column: header.find(column)?, value: value.to_owned() })
}

/// The contents of the columns of a table.
struct Contents {
    rows: usize,
    /// If true, a field of the column is a number.
    is_number: Vec<bool>,
    /// Fields that say that there is no value.
    missing: Vec<usize>,
    /// Fields that say that there is no text.
    missing_texts: Vec<usize>,
    /// The different texts of columns without numbers, as far as they are few; an empty one for those that are missing.
    texts: Vec<BTreeSet<String>>,
    /// Digits of the numbers in each column.
    precision: Precision,
}

impl Contents {
    /// A feature for each value of a column of few different texts; `None` for a column of numbers or many texts.
    fn categories(&self, column: &Column) -> Option<Vec<Feature>> {
        let values = &self.texts[column.at];
        let is_text = !self.is_number[column.at] && self.missing[column.at] < self.rows;
        let of = |value: &String| Feature::Category { column: column.clone(), value: value.clone() };
        (is_text && values.len() <= MOST_CATEGORIES).then(|| values.iter().map(of).collect())
    }

    fn of(table: &Table<'_>) -> Result<Self> {
        let columns = table.header.len();
        let mut found = Self {
            rows: 0,
            is_number: vec![false; columns],
            missing: vec![0; columns],
            missing_texts: vec![0; columns],
            texts: vec![BTreeSet::new(); columns],
            precision: Precision::new(Spread::Deviation),
        };
        table.each_row(|row| {
            found.rows += 1;
            for at in 0..row.len() {
                let field = &*row.plain(at);
                if is_missing(field) {
                    found.missing[at] += 1;
                } else {
                    found.is_number[at] = found.is_number[at] || looks_like_number(field);
                    if found.is_number[at] {
                        // What is no number is an error when it is read.
                        found.precision.single(at, exact_or_nan(field).unwrap_or(f64::NAN));
                    }
                }
                let is_missing_text = is_missing_text(field);
                found.missing_texts[at] += usize::from(is_missing_text);
                let field = if is_missing_text { "" } else { field };
                let texts = &mut found.texts[at];
                if !found.is_number[at] && texts.len() <= MOST_CATEGORIES && !texts.contains(field) {
                    texts.insert(field.to_owned());
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const OPTIONS: FeatureOptions<'_> =
        FeatureOptions { listed: None, training: None, may_miss: true, setting: "`data.features`" };

    /// Names, values and notes of a text.
    fn read(text: &str, options: &FeatureOptions<'_>) -> (Vec<String>, Vec<Vec<f32>>, Vec<String>) {
        let table = Table::of(text, Path::new("a.csv"), (None, [None; 2]), "rows").unwrap();
        let found = Features::of(&table, &[], options).unwrap();
        let mut rows = Vec::new();
        table
            .each_row(|row| {
                rows.push(found.all.iter().map(|feature| feature.of(&row)).collect::<Result<_>>()?);
                Ok(())
            })
            .unwrap();
        (found.names(), rows, found.notes)
    }

    #[test]
    fn numbers_that_are_missing_have_an_indicator() {
        let (names, rows, notes) = read("a,b\n1,2\nNA,3\n4,\n5,6\n", &OPTIONS);
        assert_eq!(names, ["a", "b", "missingindicator_a", "missingindicator_b"]);
        assert!(rows[1][0].is_nan() && rows[2][1].is_nan());
        assert_eq!((rows[1][2], rows[1][3], rows[2][3], rows[3][3]), (1.0, 0.0, 1.0, 0.0));
        assert!(notes[0].starts_with("missing values: 1 of `a`, 1 of `b`; the mean"), "{notes:?}");
        let strict = Feature::Number { column: Column::new(0, "a"), may_miss: false };
        let table = Table::of("a\nNA\n", Path::new("a.csv"), (None, [None; 2]), "rows").unwrap();
        assert!(table.each_row(|row| strict.of(&row).map(|_| ())).is_err());
    }

    #[test]
    fn missing_texts_are_one_feature_and_said() {
        let text = "a,colour\n1,red\n2,\n3,NA\n4,none\n5,red\n".to_owned() + &"6,red\n7,none\n".repeat(8);
        let (names, rows, notes) = read(&text, &OPTIONS);
        assert_eq!(names, ["a", "colour=", "colour=none", "colour=red"]);
        assert_eq!([rows[1][1], rows[2][1], rows[3][1], rows[3][2]], [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(notes, ["missing texts: 2 of `colour`, which are a feature of their own"]);
        let training = ["a", "colour=none", "colour=red"].map(String::from);
        let (_, rows, notes) = read("a,colour\n1,null\n", &FeatureOptions { training: Some(&training), ..OPTIONS });
        assert_eq!(rows, [[1.0, 0.0, 0.0]]);
        assert_eq!(notes, ["missing texts: 1 of `colour`, which count as none of its texts"]);
    }

    #[test]
    fn the_features_are_those_of_training() {
        let training =
            ["colour=red".to_owned(), "colour=blue".to_owned(), "a".to_owned(), "missingindicator_a".to_owned()];
        let options = FeatureOptions { training: Some(&training), ..OPTIONS };
        // Nothing is missing here, a colour is new, and `b` is missing although it was not in training.
        let (names, rows, notes) = read("a,colour,b\n1,red,\n2,green,5\n", &options);
        assert!(
            notes.contains(
                &"column `colour`: `green` did not occur in training, and counts as none of its texts".into()
            )
        );
        let notes = read("a,colour,b\n1,2,\n2,red,5\n", &options).2;
        assert!(
            notes.contains(
                &"column `colour`: a number did not occur in training, and counts as none of its texts".into()
            )
        );
        assert_eq!(names, ["a", "colour=red", "colour=blue", "b", "missingindicator_a"]);
        assert_eq!(rows[0][..3], [1.0, 1.0, 0.0]);
        assert_eq!((rows[1][1], rows[1][2], rows[1][4]), (0.0, 0.0, 0.0));
        let listed = ["a".to_owned(), "colour=red".to_owned()];
        let fewer = FeatureOptions { listed: Some(&listed), ..options };
        let notes = read("a,colour,b\n1,red,2\n", &fewer).2;
        assert_eq!(notes, ["column not read, which training did not have: `b`"]);
        // A column that was numbers in training is one where all its values are missing.
        let (names, rows, _) = read("a,colour\n,red\nNA,blue\n", &options);
        assert_eq!(names[0], "a");
        assert!(rows.iter().all(|row| row[0].is_nan()));
    }

    #[test]
    fn numbers_that_lose_digits_are_said() {
        let rows =
            |step: u32| (0..60).map(move |at| format!("{},{at}\n", 1_700_000_000 + step * at)).collect::<String>();
        let (_, _, notes) = read(&format!("time,a\n{}", rows(60)), &OPTIONS);
        assert!(notes[0].starts_with("column `time`: values near 17000") && notes.len() == 1, "{notes:?}");
        assert!(read(&format!("time,a\n{}", rows(1_000_000)), &OPTIONS).2.is_empty());
        // A column that is not read loses nothing.
        let only = ["a".to_owned()];
        let options = FeatureOptions { listed: Some(&only), ..OPTIONS };
        assert!(read(&format!("time,a\n{}", rows(60)), &options).2.is_empty());
    }

    #[test]
    fn columns_that_are_left_out_are_named_with_the_reason() {
        let mut text = ",id,same,empty,x\n".to_owned();
        (0..40).for_each(|row| text.push_str(&format!("{row},n{row},k,NA,{row}\n")));
        let (names, _, notes) = read(&text, &OPTIONS);
        assert_eq!(names, ["x"]);
        let expected = "left out: columns column 1 (no name), id (more than 32 different texts), \
                        same (one text in all rows), empty (no values); `data.features` names the features to read";
        assert_eq!(notes, [expected]);
    }

    #[test]
    fn features_that_are_listed_may_be_parts_of_columns() {
        let listed = ["b".to_owned(), "c=x".to_owned(), "missingindicator_a".to_owned()];
        let options = FeatureOptions { listed: Some(&listed), ..OPTIONS };
        let (names, rows, _) = read("a,b,c\n1,2,x\n,3,y\n", &options);
        assert_eq!(names, listed);
        assert_eq!(rows, [[2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]);
        let whole = ["c".to_owned()];
        let (names, ..) = read("a,b,c\n1,2,x\n,3,y\n", &FeatureOptions { listed: Some(&whole), ..OPTIONS });
        assert_eq!(names, ["c=x", "c=y"]);
        let table = Table::of("a,b\n1,2\n", Path::new("a.csv"), (None, [None; 2]), "rows").unwrap();
        let twice = ["a".to_owned(), "a".to_owned()];
        let options = FeatureOptions { listed: Some(&twice), ..OPTIONS };
        assert!(Features::of(&table, &[], &options).is_err());
        assert!(
            Features::of(&table, &[Column::new(1, "b")], &FeatureOptions { listed: Some(&listed), ..OPTIONS }).is_err()
        );
    }
}
