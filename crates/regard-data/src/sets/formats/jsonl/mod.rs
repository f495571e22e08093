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

mod collected;
mod object;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::collected::Collected;
use self::object::Object;
use crate::Result;
use crate::sets::Bags;

/// Whether a text begins as an object does.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Reads bags from JSON lines; `path` names them in errors.
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) naming line and key, e.g.
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
    let mut all = Collected::new(path);
    let mut names = None;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let object = Object::of(line, path, at + 1)?;
        match object.names()? {
            Some(list) if all.order.is_empty() && names.is_none() => {
                all.width = Some((list.len(), at + 1));
                all.header = at + 1;
                names = Some(list);
            }
            Some(_) => return Err(object.error("features", "is given below the first line, expected bags")),
            None => all.bag(&object)?,
        }
    }
    all.finish(names)
}
