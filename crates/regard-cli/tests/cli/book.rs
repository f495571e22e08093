//! The pages of the book that show what commands print: every number in them is what the program prints today.

use std::path::{Path, PathBuf};

use crate::program::regard;

/// Lines of an output that a new block shows.
const MOST_LINES: usize = 24;
/// Processors round differently; pages show five digits.
const TOLERANCE: f64 = 3e-5;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Two lines with the same words, whose numbers are nearly equal.
fn same(shown: &str, printed: &str) -> bool {
    let number = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit() && c != '-').parse::<f64>().ok();
    let near = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= TOLERANCE * x.abs().max(1.0),
        _ => a == b,
    };
    let parts = |line: &str| -> Vec<String> {
        line.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (parts(shown), parts(printed));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| near((a, b)))
}

/// The page as it should be; `…` at the end of a block leaves out the rest of an output.
fn current(page: &str, update: bool, faults: &mut Vec<String>) -> String {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        let command = lines.next().expect("a command in the block");
        let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let arguments: Vec<&str> =
            command.strip_prefix("$ regard ").expect("a command of ours").split_whitespace().collect();
        let said = regard(&repository(), &arguments).done();
        let printed: Vec<&str> = said.out.trim_end().lines().map(str::trim_end).collect();
        let cut = shown.last() == Some(&"…");
        let kept = match (shown.is_empty(), cut) {
            (true, _) => printed.len().min(MOST_LINES),
            (false, true) => shown.len() - 1,
            (false, false) => printed.len(),
        };
        let whole = kept == printed.len();
        let expected = &printed[..kept.min(printed.len())];
        let body = &shown[..shown.len() - usize::from(cut)];
        let holds = body.len() == expected.len() && body.iter().zip(expected).all(|(a, b)| same(a, b));
        if !holds && !update {
            faults.push(format!("{command}\n shown: {body:#?}\n printed: {expected:#?}"));
        }
        let lines = if holds { body } else { expected };
        text += &format!("{command}\n{}\n", lines.join("\n"));
        text += if whole { "```\n" } else { "…\n```\n" };
    }
    text
}

/// `REGARD_UPDATE_BOOK=1` writes the pages anew.
#[test]
fn the_pages_show_what_the_program_prints() {
    let update = std::env::var_os("REGARD_UPDATE_BOOK").is_some();
    let folder = repository().join("book/src/walkthroughs");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() >= 5, "{pages:?}");
    pages.push(repository().join("book/src/explain.md"));
    let mut faults = Vec::new();
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains("```console"), "{path:?} shows nothing");
        let text = current(&page, update, &mut faults);
        if update && text != page {
            std::fs::write(&path, text).unwrap();
        }
    }
    assert!(faults.is_empty(), "REGARD_UPDATE_BOOK=1 writes the pages anew\n{}", faults.join("\n"));
}

#[test]
fn numbers_are_compared_as_numbers_and_words_as_words() {
    assert!(same("  a  0.66976  -1.5", "a 0.66977 -1.5"));
    assert!(!same("a 0.66976", "a 0.66996") && !same("a 1", "b 1") && !same("a 1", "a 1 2"));
    assert!(same("Riga +0.21301,", "Riga +0.21302,") && !same("Riga +0.213,", "Riga +0.223,"));
}
