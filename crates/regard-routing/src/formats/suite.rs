//! Laws that every reader keeps, whatever its format.

use std::fmt::Debug;

use crate::{Error, Result};

/// Tests of one reader.
///
/// `parse: &str -> Result<T>`, `render: &T -> Result<String>`, `valid` texts, and `malformed`
/// texts each with what its error must say.
macro_rules! reader_suite {
    ($name:ident, parse: $parse:expr, render: $render:expr, valid: $valid:expr, malformed: $malformed:expr $(,)?) => {
        mod $name {
            use super::*;
            use crate::formats::suite;

            #[test]
            fn malformed_texts_are_refused_with_place_and_expectation() {
                suite::refuses($parse, &$malformed);
            }

            #[test]
            fn cut_and_damaged_texts_never_panic() {
                suite::survives($parse, &$valid);
            }

            #[test]
            fn what_was_written_reads_as_the_same() {
                suite::round_trips($parse, $render, &$valid);
            }

            #[test]
            fn line_ends_of_dos_change_nothing() {
                suite::ignores_line_ends($parse, $render, &$valid);
            }
        }
    };
}
pub(crate) use reader_suite;

/// Every malformed text gives a parse error with all the fragments expected of it.
pub(crate) fn refuses<T: Debug>(parse: impl Fn(&str) -> Result<T>, table: &[(&str, &[&str])]) {
    for (text, fragments) in table {
        let error = match parse(text) {
            Ok(value) => panic!("accepted {text:?} as {value:?}"),
            Err(error) => error,
        };
        assert!(matches!(error, Error::Parse { .. }), "{text:?}: {error:?}");
        let said = format!("{error}\n{}", error.hint().unwrap_or(""));
        for fragment in *fragments {
            assert!(said.contains(fragment), "{text:?}\n  said {said:?}\n  without {fragment:?}");
        }
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// No prefix of a valid text and no damage to one character makes the reader panic.
pub(crate) fn survives<T>(parse: impl Fn(&str) -> Result<T>, valid: &[&str]) {
    for text in valid {
        for (at, old) in text.char_indices() {
            let _ = parse(&text[..at]);
            let after = &text[at + old.len_utf8()..];
            for new in ["", "-", "9", "x", ":", ",", "\n", "\"", "\u{fc}"] {
                let _ = parse(&format!("{}{new}{after}", &text[..at]));
            }
        }
    }
}

/// Reading what was written and writing it again gives the same text.
pub(crate) fn round_trips<T>(parse: impl Fn(&str) -> Result<T>, render: impl Fn(&T) -> Result<String>, valid: &[&str]) {
    for text in valid {
        let once = render(&parse(text).unwrap()).unwrap();
        let twice = render(&parse(&once).unwrap()).unwrap();
        assert_eq!(once, twice);
    }
}

/// CRLF line ends, spaces before them and a missing last line end are read alike.
pub(crate) fn ignores_line_ends<T>(
    parse: impl Fn(&str) -> Result<T>,
    render: impl Fn(&T) -> Result<String>,
    valid: &[&str],
) {
    for text in valid {
        let read = |text: &str| render(&parse(text).unwrap()).unwrap();
        let expected = read(text);
        assert_eq!(read(&text.replace('\n', "\r\n")), expected);
        assert_eq!(read(&text.replace('\n', " \t\n")), expected);
        assert_eq!(read(text.trim_end()), expected);
    }
}
