//! Names: of features and their order, and the known name nearest to a misspelt one.

use std::collections::{HashMap, HashSet};

use crate::error::shown;

/// The features of a row: their names, or only their number (files without a header).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureNames {
    /// Distinct names, in the order of the columns.
    Named(Vec<String>),
    /// This number of features without names.
    Count(usize),
}

impl FeatureNames {
    /// The number of features.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Named(names) => names.len(),
            Self::Count(count) => *count,
        }
    }

    /// If true, there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a feature, or its number from 1 where it has none.
    #[must_use]
    pub fn name(&self, at: usize) -> String {
        match self {
            Self::Named(names) if at < names.len() => names[at].clone(),
            _ => (at + 1).to_string(),
        }
    }

    /// For each feature of `wanted`, where it stands here; `None` when the order is the same already.
    pub(crate) fn places_of(&self, wanted: &Self) -> Result<Option<Vec<usize>>, Misfit> {
        let (Self::Named(here), Self::Named(wanted)) = (self, wanted) else {
            return if self.len() == wanted.len() {
                Ok(None)
            } else {
                Err(Misfit::Count { here: self.len(), wanted: wanted.len() })
            };
        };
        if here == wanted {
            return Ok(None);
        }
        let known: HashMap<&str, usize> = here.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let place =
            |name: &String| known.get(name.as_str()).copied().ok_or_else(|| Misfit::missing(name, here, wanted));
        let places: Vec<usize> = wanted.iter().map(place).collect::<Result<_, _>>()?;
        let expected: HashSet<&String> = wanted.iter().collect();
        match here.iter().find(|name| !expected.contains(name)) {
            Some(name) => Err(Misfit::Unknown { name: name.clone() }),
            None => Ok(Some(places)),
        }
    }
}

/// The reason why features are not those of training.
#[derive(Debug)]
pub(crate) enum Misfit {
    Missing { name: String, nearest: Option<String> },
    Unknown { name: String },
    Count { here: usize, wanted: usize },
}

impl Misfit {
    fn missing(name: &str, here: &[String], wanted: &[String]) -> Self {
        // A column that has a place already is not the misspelt one.
        let free: Vec<&String> = here.iter().filter(|n| !wanted.contains(n)).collect();
        Self::Missing {
            name: name.to_owned(),
            nearest: nearest(name, free.iter().map(|n| n.as_str())).map(str::to_owned),
        }
    }

    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Missing { name, .. } => format!("the training column `{}` is missing", shown(name)),
            Self::Unknown { name } => format!("the column `{}` is not in the training data", shown(name)),
            Self::Count { here, wanted } => format!("has {here} features, expected {wanted} as in training"),
        }
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Missing { nearest: Some(near), .. } => format!("did you mean the column `{}`?", shown(near)),
            Self::Missing { .. } => "columns may be in any order, but all are required".into(),
            Self::Unknown { .. } => "remove the column, or list the features to read".into(),
            Self::Count { .. } => "without names, features are taken in the order of training".into(),
        }
    }
}

/// Number of letters that are missing, too many, different or exchanged with their neighbour between two names. Upper and
/// lower case are the same.
#[must_use]
pub fn distance(name: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase())
}

/// The most similar of some names, if one is similar at all: at most a third of its letters differ, and not all
/// of those that were written.
/// Upper and lower case are the same.
///
/// ```
/// use regard_data::names::nearest;
///
/// assert_eq!(nearest("widht", ["heads", "width"]), Some("width"));
/// assert_eq!(nearest("colour", ["heads", "width"]), None);
/// ```
#[must_use]
pub fn nearest<'n>(name: &str, among: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let (distance, best) =
        among.into_iter().map(|known| (distance(name, known), known)).min_by_key(|(distance, _)| *distance)?;
    (distance <= best.chars().count().div_ceil(3) && distance < name.to_lowercase().chars().count()).then_some(best)
}

/// ` (did you mean `name`?)` for the [`nearest`] name, else nothing: the end of a message.
#[must_use]
pub fn suggestion<'n>(name: &str, among: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, among).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// `` `a`, `b`, `c` ``.
#[must_use]
pub fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The first `most` of some names and how many more there are.
///
/// ```
/// use regard_data::names::first_of;
///
/// let names = || ["a", "b", "c"].into_iter().map(String::from);
/// assert_eq!(first_of(2, names()), "a, b and 1 more");
/// assert_eq!(first_of(3, names()), "a, b, c");
/// ```
#[must_use]
pub fn first_of(most: usize, names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(most);
    let shown = names.take(most).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> FeatureNames {
        FeatureNames::Named(names.iter().map(|n| (*n).to_owned()).collect())
    }

    #[test]
    fn the_same_names_in_another_order_are_found() {
        let (here, wanted) = (named(&["b", "c", "a"]), named(&["a", "b", "c"]));
        assert_eq!(here.places_of(&wanted).unwrap(), Some(vec![2, 0, 1]));
        assert_eq!(here.places_of(&here).unwrap(), None);
        assert_eq!(here.places_of(&FeatureNames::Count(3)).unwrap(), None);
    }

    #[test]
    fn other_names_are_refused() {
        let wanted = named(&["age", "weight"]);
        let misfit = named(&["age", "wieght"]).places_of(&wanted).unwrap_err();
        assert_eq!(misfit.reason(), "the training column `weight` is missing");
        assert_eq!(misfit.hint(), "did you mean the column `wieght`?");
        let misfit = named(&["age", "weight", "eye"]).places_of(&wanted).unwrap_err();
        assert_eq!(misfit.reason(), "the column `eye` is not in the training data");
        let misfit = FeatureNames::Count(3).places_of(&wanted).unwrap_err();
        assert_eq!(misfit.reason(), "has 3 features, expected 2 as in training");
    }

    #[test]
    fn names_far_from_all_have_no_nearest() {
        assert_eq!(nearest("target", ["targt", "x"]), Some("targt"));
        assert_eq!(nearest("Target", ["TARGET"]), Some("TARGET"));
        assert_eq!(nearest("tren", ["train", "model"]), Some("train"));
        assert_eq!(nearest("target", ["x", "feature"]), None);
        assert_eq!(nearest("target", []), None);
        assert_eq!(nearest("y", ["a", "b"]), None);
        assert_eq!(suggestion("Kool2019", ["kool-2019", "regard-tsp"]), " (did you mean `kool-2019`?)");
        assert_eq!(suggestion("x", []), "");
    }
}
