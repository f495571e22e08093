//! Features of nodes or edges: a type, numbers, both or neither.

use crate::error::shown;
use crate::names::FeatureNames;
use crate::{Error, Result};

/// Most types that nodes or edges may have; a network keeps a row of weights for each.
pub const MOST_TYPES: usize = 65_536;

/// The meaning of the values of nodes or edges: names of the types, names of the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds {
    /// Names of the types, at most [`MOST_TYPES`]; empty where there are none.
    pub types: Vec<String>,
    /// The numbers beside the type; [`FeatureNames::Count`]`(0)` where there are none.
    pub columns: FeatureNames,
}

impl Default for Kinds {
    fn default() -> Self {
        Self { types: Vec::new(), columns: FeatureNames::Count(0) }
    }
}

impl Kinds {
    /// Types of these names, without numbers.
    #[must_use]
    pub fn types(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { types: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Types that are called by their numbers, `0..count`.
    #[must_use]
    pub fn counted(count: usize) -> Self {
        Self::types((0..count).map(|at| at.to_string()))
    }

    /// Numbers without a type.
    #[must_use]
    pub fn columns(columns: FeatureNames) -> Self {
        Self { types: Vec::new(), columns }
    }
}

/// Values of all nodes, or of all edges, of a data set or a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    pub(super) kinds: Kinds,
    /// `[count]`, or empty where there are no types.
    pub(super) types: Vec<u32>,
    /// `[count, width]`.
    pub(super) dense: Vec<f32>,
}

impl Features {
    /// The meaning of the values.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The type of each node or edge, an index of the types' names; `None` where there are none.
    #[must_use]
    pub fn types(&self) -> Option<&[u32]> {
        (!self.kinds.types.is_empty()).then_some(&self.types)
    }

    /// Names of the types; empty where there are none.
    #[must_use]
    pub fn type_names(&self) -> &[String] {
        &self.kinds.types
    }

    /// The number of numbers of each node or edge.
    #[must_use]
    pub fn width(&self) -> usize {
        self.kinds.columns.len()
    }

    /// The numbers, `[count, width]` row-major.
    #[must_use]
    pub fn dense(&self) -> &[f32] {
        &self.dense
    }

    /// The same values where types are those of `training`, matched by name.
    ///
    /// # Errors
    /// The place of the first value whose type is none of them and that type, where no type is called
    /// `other`; or that one side has types and the other none.
    pub(super) fn align(&mut self, training: &[String], other: Option<&str>) -> Result<(), UnknownType> {
        if self.kinds.types == training {
            return Ok(());
        }
        if self.kinds.types.is_empty() || training.is_empty() {
            return Err(UnknownType { at: None, name: String::new() });
        }
        let place = |name: &str| training.iter().position(|known| known == name);
        let fallback = other.and_then(place);
        let places: Vec<Option<usize>> = self.kinds.types.iter().map(|name| place(name).or(fallback)).collect();
        for (at, kind) in self.types.iter_mut().enumerate() {
            match places[*kind as usize] {
                Some(new) => *kind = new as u32,
                None => return Err(UnknownType { at: Some(at), name: self.kinds.types[*kind as usize].clone() }),
            }
        }
        self.kinds.types = training.to_vec();
        Ok(())
    }
}

/// A type that is not in the training data.
#[derive(Debug)]
pub(super) struct UnknownType {
    /// The node or edge; `None` where only one side has types at all.
    pub(super) at: Option<usize>,
    pub(super) name: String,
}

/// Types as they are met in a file, counted from 0.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    codes: std::collections::HashMap<String, u32>,
    names: Vec<String>,
}

impl Vocabulary {
    /// The types that are known from the start.
    pub(super) fn of(names: &[&str]) -> Self {
        let mut all = Self::default();
        for name in names {
            let _ = all.code(name);
        }
        all
    }

    /// The number of a type, a new one for a name that was not met before; `None` when there are too
    /// many.
    pub(super) fn code(&mut self, name: &str) -> Option<u32> {
        if let Some(code) = self.codes.get(name) {
            return Some(*code);
        }
        if self.names.len() >= MOST_TYPES {
            return None;
        }
        let code = self.names.len() as u32;
        self.codes.insert(name.to_owned(), code);
        self.names.push(name.to_owned());
        Some(code)
    }

    /// The names in the order of their numbers.
    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// The names by value where all are numbers and by text otherwise, and the types of `values` counted
    /// in that order: the same whatever the order of the file.
    pub(super) fn into_sorted(self, values: &mut [u32]) -> Vec<String> {
        let classes = crate::labels::Labels::of_texts(self.names.clone()).classes();
        // Two spellings of one number would be one class but are two types.
        let order = if classes.names.len() == self.names.len() {
            classes.of
        } else {
            let mut by_text: Vec<usize> = (0..self.names.len()).collect();
            by_text.sort_by(|&a, &b| self.names[a].cmp(&self.names[b]));
            let mut rank = vec![0; by_text.len()];
            by_text.into_iter().enumerate().for_each(|(place, at)| rank[at] = place);
            rank
        };
        let mut names = vec![String::new(); self.names.len()];
        for (name, place) in self.names.into_iter().zip(&order) {
            names[*place] = name;
        }
        values.iter_mut().for_each(|value| *value = order[*value as usize] as u32);
        names
    }
}

/// Refuses too many types, and two of one name.
pub(super) fn check_kinds(kinds: &Kinds, what: &str) -> Result<()> {
    if kinds.types.len() > MOST_TYPES {
        return Err(Error::invalid(
            what,
            format!("have {} types, at most {MOST_TYPES} are possible", kinds.types.len()),
        ));
    }
    let mut seen = std::collections::HashSet::new();
    match kinds.types.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::invalid(what, format!("have the type `{}` twice", shown(name)))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_numbered_the_same_whatever_the_order() {
        for order in [["10", "2", "1"], ["1", "10", "2"]] {
            let mut all = Vocabulary::default();
            let mut values: Vec<u32> = order.iter().map(|name| all.code(name).unwrap()).collect();
            let names = all.into_sorted(&mut values);
            assert_eq!(names, ["1", "2", "10"]);
            assert!(values.iter().zip(order).all(|(value, name)| names[*value as usize] == name));
        }
        let mut spelled = Vocabulary::of(&["1.0", "1", "a"]);
        assert_eq!(spelled.code("1"), Some(1));
        assert_eq!(spelled.into_sorted(&mut []), ["1", "1.0", "a"]);
    }

    #[test]
    fn unseen_types_are_told_or_called_other() {
        let features = || Features { kinds: Kinds::types(["b", "x"]), types: vec![0, 1, 0], dense: Vec::new() };
        let training = ["a".to_owned(), "b".to_owned(), "other".to_owned()];
        let mut strict = features();
        let unseen = strict.align(&training, None).unwrap_err();
        assert_eq!((unseen.at, unseen.name.as_str()), (Some(1), "x"));
        let mut lenient = features();
        lenient.align(&training, Some("other")).unwrap();
        assert_eq!(lenient.types(), Some(&[1, 2, 1][..]));
    }
}
