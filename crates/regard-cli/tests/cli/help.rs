//! The texts of `--help`, and the shells' completions.

use std::path::Path;
use std::process::Stdio;

use crate::program::{command, regard};

#[test]
fn help_of_every_command() {
    let here = Path::new(".");
    for (name, arguments) in [
        ("regard", vec!["--help"]),
        ("solve", vec!["solve", "--help"]),
        ("train", vec!["train", "--help"]),
        ("settings", vec!["settings", "--help"]),
        ("plot", vec!["plot", "--help"]),
        ("eval", vec!["eval", "--help"]),
        ("predict", vec!["predict", "--help"]),
        ("forecast", vec!["forecast", "--help"]),
        ("explain", vec!["explain", "attention", "--help"]),
        ("model_import", vec!["model", "import", "kool", "--help"]),
        ("model_show", vec!["model", "show", "--help"]),
        ("data_generate", vec!["data", "generate", "--help"]),
        ("data_check", vec!["data", "check", "--help"]),
        ("data_verify", vec!["data", "verify", "--help"]),
        ("bench_lib", vec!["bench", "lib", "--help"]),
        ("bench_paper", vec!["bench", "paper", "--help"]),
        ("data_show", vec!["data", "show", "--help"]),
    ] {
        let said = regard(here, &arguments).done();
        insta::assert_snapshot!(format!("help_{name}"), said.out);
    }
}

#[test]
fn the_reference_pages_of_the_book_are_current() {
    for page in ["settings", "commands"] {
        let path = format!("{}/../../book/src/reference/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let current = regard(Path::new("."), &["reference", page]).done().out;
        assert!(committed == current, "write it anew: regard reference {page} > book/src/reference/{page}.md");
    }
}

#[test]
fn no_command_shows_the_help_and_is_an_error() {
    let said = regard(Path::new("."), &[]);
    assert_eq!(said.code, Some(2));
    assert!(said.out.is_empty() && said.err.contains("Usage: regard"), "{said:?}");
}

#[test]
fn version_is_printed() {
    let said = regard(Path::new("."), &["--version"]).done();
    assert_eq!(said.out, format!("regard {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = regard(Path::new("."), &["completions", shell]).done();
        assert!(said.out.contains("regard") && said.out.contains("solve"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = command(Path::new("."), &["completions", "bash"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_doctor_reports_the_machine() {
    let folder = crate::files::folder();
    let said = command(folder.path(), &["doctor", "--json", "--threads", "1"]).env("REGARD_MODEL", "model").output();
    let json = crate::program::said(said.unwrap()).done().json();
    assert_eq!(json["threads"], 1);
    assert_eq!(json["devices"][0], "cpu");
    assert!(json["cores"].as_u64().is_some_and(|cores| cores > 0));
    assert_eq!(json["model"], "model, model");
    let said = regard(folder.path(), &["doctor"]);
    assert!(said.out.contains("kernels run on"), "{said:?}");
}
