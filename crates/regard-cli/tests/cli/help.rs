//! The texts of `--help`, and the shells' completions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use regex_lite::Regex;

use crate::program::{command, regard};

#[test]
fn help_of_every_command() {
    let here = Path::new(".");
    for (name, arguments) in [
        ("regard", vec!["--help"]),
        ("solve", vec!["solve", "--help"]),
        #[cfg(feature = "serve")]
        ("serve", vec!["serve", "--help"]),
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
        ("merge", vec!["merge", "--help"]),
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

/// The texts of a source file, without comments and tests.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let (mut texts, mut rest) = (Vec::new(), source.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            // A letter, of which a quote may be one; lifetimes have no second quote.
            '\'' => {
                let letter: String = rest.clone().take(3).collect();
                let skipped = if letter.starts_with('\\') { 3 } else { 2 };
                if letter.chars().nth(skipped - 1) == Some('\'') {
                    rest.nth(skipped - 1);
                }
            }
            'r' if matches!(rest.peek(), Some('"' | '#')) => {
                let hashes = std::iter::from_fn(|| rest.next_if_eq(&'#')).count();
                if rest.next_if_eq(&'"').is_none() {
                    continue;
                }
                let end = format!("\"{}", "#".repeat(hashes));
                let mut text = String::new();
                while !text.ends_with(&end) {
                    let Some(c) = rest.next() else { break };
                    text.push(c);
                }
                texts.push(text);
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => {
                            rest.next();
                        }
                        c => text.push(c),
                    }
                }
                texts.push(text);
            }
            _ => {}
        }
    }
    texts
}

/// All source files below a folder, but those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && !name.ends_with("tests.rs") => found.push(path),
            _ => {}
        }
    }
}

/// All source files of the workspace, but those of tests.
fn all_sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in std::fs::read_dir(&crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() && !source.to_string_lossy().contains("regard-testing") {
            sources(&source, &mut files);
        }
    }
    files
}

#[test]
fn every_option_and_setting_that_a_message_names_exists() {
    let option = Regex::new(r"(^|[^a-z0-9-])(--[a-z][a-z0-9-]*[a-z0-9])").unwrap();
    let setting = Regex::new(r"(^|[^a-z0-9_./-])((task|data|model|train|eval)\.[a-z_]+)\b").unwrap();
    let page = |name: &str| regard(Path::new("."), &["reference", name]).done().out;
    let (commands, settings) = (page("commands"), page("settings"));
    // Those of other programs, and the hidden name of an option.
    let mut known: BTreeSet<String> = ["--features", "--release"].map(str::to_owned).into();
    known.extend(option.captures_iter(&commands).map(|found| found[2].to_owned()));
    let mut section = String::new();
    for line in settings.lines() {
        if let Some(rest) = line.strip_prefix("### `[") {
            section = rest.split(']').next().unwrap().to_owned();
        } else if let Some(rest) = line.strip_prefix("| `") {
            known.insert(format!("{section}.{}", rest.split('`').next().unwrap()));
        }
    }
    assert!(known.contains("--capacity") && known.contains("train.learning_rate"), "{known:?}");
    // The setting that decides which others exist, keys of a model's configuration, files, and a method of PyTorch.
    let configuration = ["model.format", "model.horizon", "model.kind", "model.level", "model.problem", "model.task"];
    let others = ["task.family", "model.safetensors", "data.pkl", "model.state_dict"];
    known.extend(configuration.into_iter().chain(others).map(str::to_owned));
    let mut count = 0;
    let mut unknown = BTreeSet::new();
    for file in all_sources() {
        // The settings of a network check the entries of `config.json` too, which no experiment has.
        let entries = file.components().any(|part| part.as_os_str() == "model");
        for text in literals(&std::fs::read_to_string(&file).unwrap()) {
            let named = option.captures_iter(&text).chain(setting.captures_iter(&text));
            for name in named.map(|found| found[2].to_owned()) {
                count += 1;
                let is_known = known.contains(&name) || entries && text == name;
                if !is_known {
                    unknown.insert(format!("{name} in {}: {text}", file.display()));
                }
            }
        }
    }
    assert!(count > 150, "only {count} names were found");
    assert!(unknown.is_empty(), "{unknown:#?}");
    let bare: BTreeSet<&str> = known.iter().filter_map(|name| name.split_once('.')).map(|(_, name)| name).collect();
    assert_eq!(bare_settings("give it as `group_by` (the columns are `id`)", &bare), ["group_by"]);
    assert_eq!(bare_settings("rows can be left out (`skip_bad`)", &bare), ["skip_bad"]);
    assert_eq!(bare_settings("name it by `--smiles` (`data.smiles`)", &bare), Vec::<String>::new());
    let mut wrong = BTreeSet::new();
    for file in all_sources() {
        for text in literals(&std::fs::read_to_string(&file).unwrap()) {
            let names = bare_settings(&text, &bare).into_iter();
            wrong.extend(names.map(|name| format!("{name} without its section in {}: {text}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Settings that a message names as what to give, without their section: nobody can give them so.
fn bare_settings(text: &str, settings: &BTreeSet<&str>) -> Vec<String> {
    let asked = Regex::new(r"(?:give it as|given? by|named? it by|set by|set|\() ?`([a-z][a-z_]*)`").unwrap();
    asked.captures_iter(text).map(|found| found[1].to_owned()).filter(|name| settings.contains(name.as_str())).collect()
}

/// Faults of the commands in a text: `regard WORDS`, in which the longest run of words that is a command decides, and
/// the options up to the end of the command. `commands` has the help text of each.
fn wrong_commands(text: &str, commands: &BTreeMap<String, String>) -> Vec<String> {
    let named = Regex::new(r"(?:^|[`:(]\s?|\n\s+)regard ([a-z][a-z-]*)((?: [^`;\n]*)?)").unwrap();
    let option = Regex::new(r"(?:^|\s)(--[a-z][a-z0-9-]*[a-z0-9])").unwrap();
    let mut wrong = Vec::new();
    for found in named.captures_iter(text) {
        let (mut command, rest) = (found[1].to_owned(), &found[2]);
        if !commands.contains_key(&command) {
            wrong.push(format!("`regard {command}` is no command"));
            continue;
        }
        for word in rest.split_whitespace() {
            let longer = format!("{command} {word}");
            let is_group = commands.keys().any(|known| known.starts_with(&format!("{command} ")));
            if !commands.contains_key(&longer) {
                if is_group && word.chars().all(|c| c.is_ascii_lowercase()) {
                    wrong.push(format!("`regard {longer}` is no command"));
                }
                break;
            }
            command = longer;
        }
        for name in option.captures_iter(rest).map(|found| found[1].to_owned()) {
            let has = |text: &str| option.captures_iter(text).any(|known| known[1] == name);
            if !has(&commands[&command]) && !has(&commands[""]) {
                wrong.push(format!("`regard {command}` has no {name}"));
            }
        }
    }
    wrong
}

#[test]
fn every_command_that_a_message_names_exists_with_its_options() {
    let page = regard(Path::new("."), &["reference", "commands"]).done().out;
    let mut commands: BTreeMap<String, String> = BTreeMap::new();
    for section in page.split("\n##").skip(1) {
        let (head, text) = section.trim_start_matches('#').split_once('\n').unwrap();
        commands.insert(head.trim().trim_start_matches("regard").trim().to_owned(), text.to_owned());
    }
    assert!(commands.contains_key("data verify") && commands[""].contains("--json"), "{:?}", commands.keys());
    // A page of the book is written by a hidden command, and a file of positions begins so.
    ["reference", "positions"].into_iter().for_each(|name| drop(commands.insert(name.into(), String::new())));
    for (text, expected) in [
        ("use: regard solve FILE --model DIR", vec![]),
        ("`regard slove FILE`", vec!["`regard slove` is no command"]),
        ("`regard data verfy F` or `regard data`", vec!["`regard data verfy` is no command"]),
        ("`regard predict --model M --out FILE`", vec!["`regard predict` has no --out"]),
        ("with regard to", vec![]),
    ] {
        assert_eq!(wrong_commands(text, &commands), expected, "{text}");
    }
    let mut count = 0;
    let mut wrong = BTreeSet::new();
    for file in all_sources() {
        for text in literals(&std::fs::read_to_string(&file).unwrap()) {
            count += text.matches("regard ").count();
            let found = wrong_commands(&text, &commands);
            wrong.extend(found.into_iter().map(|what| format!("{what}, in {}: {text}", file.display())));
        }
    }
    assert!(count > 30, "only {count} commands were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
