//! Cross-validates base learners and their stack on a matrix, fold by fold, and prints the metrics as JSON.
//!
//! ```text
//! cargo run --release -p regard-base --example tabular -- TABLE.csv classes [SEED] [LEARNER,...]
//! ```
//!
//! The table has a header; its first two columns are the target and the fold of each row, all others features. Empty
//! fields are missing values. Columns whose names begin with `count:` are a view of their own. A third column named
//! `example` makes rows the instances of examples; those of an example follow each other.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use regard_base::tabular::{Metrics, Stack, StackOptions, Target, View, candidates};

type Failure = Box<dyn std::error::Error>;

struct Table {
    views: Vec<View>,
    target: Target,
    folds: Vec<usize>,
}

fn read(path: &str, classes: bool) -> Result<Table, Failure> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("the table is empty")?.split(',').collect();
    let instances = names.get(2) == Some(&"example");
    let first = if instances { 3 } else { 2 };
    let is_count: Vec<bool> = names[first..].iter().map(|name| name.starts_with("count:")).collect();
    let (mut targets, mut folds, mut examples) = (Vec::new(), Vec::new(), Vec::<String>::new());
    let (mut counts, mut others, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for (row, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        if !instances || examples.last().is_none_or(|last| last != fields[2]) {
            targets.push(fields[0].parse::<f64>()?);
            folds.push(fields[1].parse::<usize>()?);
            offsets.push(row);
            examples.push(fields[first - 1].to_owned());
        }
        for (field, is_count) in fields[first..].iter().zip(&is_count) {
            let value = if field.is_empty() { f32::NAN } else { field.parse()? };
            if *is_count { counts.push(value) } else { others.push(value) }
        }
    }
    offsets.push(text.lines().count() - 1);
    let wide = is_count.iter().filter(|is_count| **is_count).count();
    let mut views = Vec::new();
    for (name, values, columns) in [("features", others, is_count.len() - wide), ("counts", counts, wide)] {
        if columns > 0 {
            views.push(if instances {
                View::instances(name, values, columns, offsets.clone())?
            } else {
                View::new(name, values, columns)?
            });
        }
    }
    let target = if classes {
        let of: Vec<usize> = targets.iter().map(|class| *class as usize).collect();
        Target::Classes { count: of.iter().max().map_or(2, |most| most + 1).max(2), of }
    } else {
        Target::Numbers(targets)
    };
    Ok(Table { views, target, folds })
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, kind, rest @ ..] = arguments.as_slice() else { return Err("expected TABLE.csv classes|numbers".into()) };
    let seed: u64 = rest.first().map_or(Ok(0), |seed| seed.parse())?;
    let table = read(path, kind == "classes")?;
    let mut list = candidates(&table.views);
    if let Some(wanted) = rest.get(1) {
        list.retain(|candidate| wanted.split(',').any(|name| name == candidate.learner.name()));
    }
    let mut out = Vec::new();
    let folds = table.folds.iter().max().map_or(0, |most| most + 1);
    for fold in 0..folds {
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..table.target.len()).partition(|example| table.folds[*example] == fold);
        let target = table.target.of(&test);
        let begun = Instant::now();
        let options = StackOptions { seed, ..StackOptions::default() };
        let fit = Stack::fit(&table.views, &table.target, &list, &train, &options)?;
        let seconds = begun.elapsed().as_secs_f64();
        let metrics = Metrics::of(&target, &fit.stack.predict(&table.views, &test)?);
        let mut members = Vec::new();
        for candidate in &list {
            let view = table.views.iter().find(|view| view.name() == candidate.view).ok_or("no view")?;
            let begun = Instant::now();
            let options = regard_base::tabular::Options { seed, ..Default::default() };
            let Ok(model) = candidate.learner.fit(view, &table.target, &train, &options) else { continue };
            let found = Metrics::of(&target, &model.predict(view, &test)?);
            members.push(serde_json::json!({
                "name": candidate.name, "metrics": found, "seconds": begun.elapsed().as_secs_f64(),
            }));
        }
        out.push(serde_json::json!({
            "fold": fold, "stack": metrics, "seconds": seconds, "out_of_fold": fit.metrics,
            "reports": fit.members, "left_out": fit.left_out, "members": members,
        }));
    }
    println!("{}", serde_json::to_string(&out)?);
    Ok(())
}
