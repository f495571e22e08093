//! `regard train --list`, `regard settings`, and the pages of the book that are generated from them.

use std::path::Path;

use clap::CommandFactory;
use regard::experiment::{Section, Setting, built_in, description, find};
use serde_json::{Value, json};

use super::Outcome;
use super::families::describe;
use crate::args::{Cli, ReferencePage, SettingsArgs};
use crate::failure::Failure;
use crate::report::{Printer, wrap};

/// Headings of the families in lists, in the order of the built-in experiments.
const FAMILIES: [(&str, &str); 4] =
    [("routes", "Routes"), ("sets", "Sets"), ("graphs", "Graphs"), ("series", "Time series")];

/// Lists the built-in experiments by family.
pub(super) fn list(printer: &mut Printer) -> anyhow::Result<Outcome> {
    let all: Vec<(&str, String)> =
        built_in().iter().map(|(name, text)| (name.trim_end_matches(".toml"), description(text))).collect();
    if printer.json() {
        let all: Vec<_> = all.iter().map(|(name, text)| json!({ "name": name, "description": text })).collect();
        printer.object(&all)?;
        return Ok(Outcome::Done);
    }
    let column = 4 + all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut page = String::new();
    for (folder, heading) in FAMILIES {
        page += &format!("{heading}\n");
        for (name, text) in all.iter().filter(|(name, _)| name.split('/').next() == Some(folder)) {
            page += &hanging(&format!("  {name}"), column, text, printer.width());
        }
        page.push('\n');
    }
    page += "Settings of an experiment: regard settings NAME\n";
    printer.result(&page)?;
    Ok(Outcome::Done)
}

/// Prints the settings of an experiment.
pub(super) fn settings(args: &SettingsArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (text, path) = find(&args.experiment)?;
    let mut sections = describe(&text, &path, &args.set)?;
    if let Some(name) = &args.section {
        let names: Vec<String> = sections.iter().map(|section| section.name.clone()).collect();
        sections.retain(|section| section.name == *name);
        if sections.is_empty() {
            return Err(Failure::new(format!("--section {name}: unknown section"))
                .hint(format!("sections: {}", names.join(", ")))
                .into());
        }
    }
    if printer.json() {
        let settings: Vec<&Setting> = sections.iter().flat_map(|section| &section.settings).collect();
        printer.object(&json!({
            "experiment": path.display().to_string().trim_end_matches(".toml"),
            "description": description(&text),
            "settings": settings,
        }))?;
        return Ok(Outcome::Done);
    }
    let width = printer.width();
    let mut page = wrap(&description(&text), width).join("\n") + "\n";
    for section in &sections {
        page += &format!("\n[{}] {}\n", section.name, section.meaning);
        let column = 4 + section.settings.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
        for setting in &section.settings {
            page += &plain(setting, column, width);
        }
    }
    let end = "The experiment gives the values marked with *; the others are defaults. \
               Change a value with --set SECTION.KEY=VALUE.";
    page += &format!("\n{}\n", wrap(end, width).join("\n"));
    printer.result(&page)?;
    Ok(Outcome::Done)
}

/// A setting in lines: key, value and type, then meaning and allowed words from `column` on.
fn plain(setting: &Setting, column: usize, width: usize) -> String {
    let star = if setting.given { " *" } else { "" };
    let mut text =
        hanging(&format!("  {}", setting.key), column, &format!("{}{star}   {}", value(setting), kind(setting)), width);
    let blank = " ".repeat(column);
    for line in wrap(&setting.meaning, width.saturating_sub(column)) {
        text += &format!("{blank}{line}\n");
    }
    let described = || setting.words.iter().filter(|word| !word.meaning.is_empty());
    let words = column + 4 + described().map(|word| word.word.len()).max().unwrap_or(0);
    for word in described() {
        text += &hanging(&format!("{blank}  {}", word.word), words, &word.meaning, width);
    }
    text
}

/// `head`, then `text` from `column` on, wrapped at `width`.
fn hanging(head: &str, column: usize, text: &str, width: usize) -> String {
    let lines = wrap(text, width.saturating_sub(column));
    let lines = lines.iter().enumerate();
    let lines = lines.map(|(at, line)| format!("{:column$}{line}\n", if at == 0 { head } else { "" }));
    lines.collect()
}

fn value(setting: &Setting) -> String {
    setting.default.as_ref().map_or_else(|| "from the data".to_owned(), Value::to_string)
}

/// Type and range, with words that need no explanation.
fn kind(setting: &Setting) -> String {
    let plain = setting.words.iter().filter(|word| word.meaning.is_empty());
    let plain = plain.map(|word| word.word.as_str()).collect::<Vec<_>>().join(", ");
    match (&setting.range, plain.is_empty()) {
        (_, false) => format!("{} {plain}", setting.kind),
        (Some(range), true) => format!("{}, {range}", setting.kind),
        (None, true) if !setting.words.is_empty() => "one of the values below".to_owned(),
        (None, true) => setting.kind.clone(),
    }
}

/// Prints a page of the book.
pub(super) fn reference(page: ReferencePage, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let text = match page {
        ReferencePage::Settings => settings_page()?,
        ReferencePage::Commands => commands_page(),
    };
    printer.result(&text)?;
    Ok(Outcome::Done)
}

/// Every setting of every family.
fn settings_page() -> anyhow::Result<String> {
    let mut page = "\
# Settings

<!-- Generated from the doc comments of the code: `regard reference settings > book/src/reference/settings.md`. -->

An experiment is a TOML file with the sections `[task]`, `[data]`, `[model]`, `[train]` and `[eval]`. Every key has a
default. `task.family` is `routes`, `sets`, `graphs` or `series`; it determines which keys exist.
`regard settings EXPERIMENT` prints this page for one experiment, with its values; `--set section.key=value`
changes a value. The defaults on this page are those of the first preset of each family.
"
    .to_owned();
    for (family, heading) in FAMILIES {
        page += &format!("\n## {heading}\n");
        let text = format!("[task]\nfamily = \"{family}\"\n");
        let with = |sets: &[String]| describe(&text, Path::new(family), sets);
        let sections = with(&[])?;
        for section in &sections {
            page += &format!("\n### `[{}]` of {family}\n\n{}\n\n", section.name, section.meaning);
            page += "| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
            section.settings.iter().for_each(|setting| page += &row(setting));
        }
        page += &presets(family, &sections, with)?;
    }
    Ok(page)
}

/// A row of the table of a section.
fn row(setting: &Setting) -> String {
    let described = setting.words.iter().filter(|word| !word.meaning.is_empty());
    let words: String = described.map(|word| format!("<br>`{}`: {}", word.word, word.meaning)).collect();
    let value = setting.default.as_ref().map_or_else(|| value(setting), |value| format!("`{value}`"));
    let cells = [format!("`{}`", setting.key), kind(setting), value, setting.meaning.clone() + &words];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// The settings in which the presets of a family differ.
fn presets(
    family: &str,
    sections: &[Section],
    with: impl Fn(&[String]) -> regard::Result<Vec<Section>>,
) -> anyhow::Result<String> {
    let of = |name: &str| sections.iter().find(|section| section.name == name);
    let preset = |name: &str| of(name).and_then(|section| section.settings.iter().find(|one| one.key == "preset"));
    // Where [train] has presets, that of [model] follows.
    let Some((section, setting)) = ["train", "model"].iter().find_map(|name| Some((name, preset(name)?))) else {
        return Ok(String::new());
    };
    let names: Vec<&str> = setting.words.iter().map(|word| word.word.as_str()).collect();
    let columns = names.iter().map(|name| with(&[format!("{section}.preset={name}")]));
    let columns = columns.collect::<regard::Result<Vec<_>>>()?;
    let mut page = format!("\n### Presets of {family}\n\nOnly the settings that differ between the presets.\n\n");
    page += &format!("| Setting | `{}` |\n|---{}|\n", names.join("` | `"), "|---".repeat(names.len()));
    for (at, section) in sections.iter().enumerate() {
        for (key, setting) in section.settings.iter().enumerate().filter(|(_, setting)| setting.key != "preset") {
            let values: Vec<String> = columns.iter().map(|column| value(&column[at].settings[key])).collect();
            if values.iter().any(|value| *value != values[0]) {
                page += &format!("| `{}.{}` | `{}` |\n", section.name, setting.key, values.join("` | `"));
            }
        }
    }
    Ok(page)
}

/// The help of every command.
fn commands_page() -> String {
    let mut page = "\
# Commands

<!-- Generated from the help texts of the code: `regard reference commands > book/src/reference/commands.md`. -->

The text of `regard COMMAND --help` for every command. The global options are listed once, under `regard`.
"
    .to_owned();
    let mut command = Cli::command();
    command.build();
    help(&command, 2, &mut page);
    page
}

fn help(command: &clap::Command, depth: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or("regard");
    let mut shown = command.clone().term_width(100);
    if depth > 2 {
        shown = shown.mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    }
    let text = shown.render_help().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    *page += &format!("\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(depth.min(4)), lines.join("\n").trim_end());
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    visible.for_each(|one| help(one, depth + 1, page));
}
