//! The known name nearest to a misspelt one.

/// ` (did you mean `name`?)` for the nearest known name within a third of its letters, else
/// nothing.
pub(crate) fn suggestion<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let written = written.to_lowercase();
    let nearest = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&written, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, name)) if distance <= name.chars().count().div_ceil(3) => {
            format!(" (did you mean `{name}`?)")
        }
        _ => String::new(),
    }
}

/// `` `a`, `b`, `c` ``.
pub(crate) fn list<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    known.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(suggestion("widht", ["heads", "width"]), " (did you mean `width`?)");
        assert_eq!(suggestion("Kool2019", ["kool-2019", "regard-tsp"]), " (did you mean `kool-2019`?)");
        assert_eq!(suggestion("colour", ["heads", "width"]), "");
        assert_eq!(suggestion("x", []), "");
    }
}
