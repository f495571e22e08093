//! `regard bench paper --table set-transformer`: the experiments of Lee et al. 2019 that can be drawn
//! anew, trained and measured, with the paper's numbers beside ours.

use std::path::Path;

use regard::Device;
use regard::sets::SetExperiment;
use regard::sets::predict::SetModel;
use regard::sets::train::{Training, train};
use regard::train::{Event, Limits};
use serde::Serialize;

use crate::args::BenchPaperArgs;
use crate::commands::Outcome;
use crate::commands::train::interrupt;
use crate::failure::Failure;
use crate::report::progress::Progress;
use crate::report::{Align, Printer, Table};

/// A row of the paper: its name, the experiment it is like, what differs, and the paper's numbers.
struct Planned {
    name: &'static str,
    experiment: &'static str,
    sets: &'static [&'static str],
    measures: [&'static str; 2],
    paper: [Option<f64>; 2],
}

const MAE: [&str; 2] = ["mae", "rmse"];
const LIKELIHOOD: [&str; 2] = ["ll0", "ll1"];

const fn row(
    name: &'static str,
    experiment: &'static str,
    sets: &'static [&'static str],
    measures: [&'static str; 2],
    paper: [Option<f64>; 2],
) -> Planned {
    Planned { name, experiment, sets, measures, paper }
}

/// §5.1, table 1 (max regression), and §5.3, table 3 (amortised clustering).
const ROWS: [Planned; 11] = [
    row(
        "max: rFF + mean",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=mean", "model.decoder=1"],
        MAE,
        [Some(2.133), None],
    ),
    row(
        "max: rFF + sum",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=sum", "model.decoder=1"],
        MAE,
        [Some(1.902), None],
    ),
    row(
        "max: rFF + max",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=max", "model.decoder=1"],
        MAE,
        [Some(0.1355), None],
    ),
    row("max: SAB + PMA", "sets/max", &[], MAE, [Some(0.2085), None]),
    row(
        "clustering: rFF + mean",
        "sets/clustering-2019",
        &["model.preset=deep-sets-2017"],
        LIKELIHOOD,
        [Some(-2.0006), Some(-1.6186)],
    ),
    row(
        "clustering: rFF + PMA",
        "sets/clustering-2019",
        &["model.encoder=rows", "model.layers=4"],
        LIKELIHOOD,
        [Some(-1.6680), Some(-1.5409)],
    ),
    row(
        "clustering: ISAB16 + mean",
        "sets/clustering-2019",
        &["model.inducing=16", "model.pooling=mean", "model.decoder=3"],
        LIKELIHOOD,
        [Some(-1.6955), Some(-1.4742)],
    ),
    row(
        "clustering: ISAB16 + PMA",
        "sets/clustering-2019",
        &["model.inducing=16"],
        LIKELIHOOD,
        [Some(-1.5009), Some(-1.4530)],
    ),
    row("clustering: ISAB32 + PMA", "sets/clustering-2019", &[], LIKELIHOOD, [Some(-1.4963), Some(-1.4524)]),
    row(
        "clustering: paper's text",
        "sets/clustering-2019",
        &["model.preset=set-transformer-paper"],
        LIKELIHOOD,
        [None, None],
    ),
    row("clustering: regard-set", "sets/clustering", &[], LIKELIHOOD, [None, None]),
];

/// A row as it was measured.
#[derive(Debug, Serialize)]
struct Measured {
    name: &'static str,
    measures: [&'static str; 2],
    ours: [Option<f64>; 2],
    paper: [Option<f64>; 2],
    /// Mean log-likelihood under the mixtures the points were drawn from.
    oracle: Option<f64>,
    steps: u64,
    seconds: f64,
}

/// Trains and measures the rows, and prints the table.
pub(in crate::commands) fn set_transformer(
    args: &BenchPaperArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let planned: Vec<&Planned> = ROWS.iter().filter(|row| row.name.contains(&args.rows)).collect();
    if planned.is_empty() {
        let names = ROWS.map(|row| row.name).join(", ");
        return Err(Failure::new(format!("no row is called `{}`", args.rows)).hint(format!("rows: {names}")).into());
    }
    let interrupt = interrupt()?;
    let mut measured = Vec::new();
    for row in planned {
        let limits =
            Limits { steps: args.steps.map(|steps| steps as u64), interrupt: interrupt.clone(), ..Limits::default() };
        measured.push(measure(row, &args.out, limits, device, printer)?);
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    if printer.json() {
        printer.object(&measured)?;
    } else {
        printer.result(&table(&measured))?;
    }
    Ok(Outcome::Done)
}

fn measure(row: &Planned, out: &Path, limits: Limits, device: &Device, printer: &Printer) -> anyhow::Result<Measured> {
    let sets: Vec<String> = row.sets.iter().map(|set| (*set).to_owned()).collect();
    let experiment = SetExperiment::load(row.experiment, &sets)?;
    let folder = out.join(row.name.replace([':', '+', ' ', '\''], "-").replace("---", "-").replace("--", "-"));
    let resume = folder.join("experiment.toml").is_file();
    printer.note(row.name);
    let progress = Progress::new(printer, experiment.steps() as usize, "steps");
    let training = Training {
        experiment,
        out: folder.clone(),
        resume,
        limits,
        command: format!("regard bench paper, row {}", row.name),
    };
    let trained = train(&training, device, &mut |event: &Event| {
        if let Event::Step(step) = event {
            progress.set(step.step as usize);
        }
    })?;
    drop(progress);
    let found = SetModel::open(&folder, device)?.measure_generated(None)?.measures;
    let ours = row.measures.map(|name| found.get(name));
    let (name, measures, paper) = (row.name, row.measures, row.paper);
    Ok(Measured {
        name,
        measures,
        ours,
        paper,
        oracle: found.get("oracle"),
        steps: trained.steps,
        seconds: trained.seconds,
    })
}

fn table(rows: &[Measured]) -> String {
    let mut table =
        Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["row", "measure", "ours", "paper", "oracle", "steps", "minutes"].map(str::to_owned));
    let number = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    for row in rows {
        for (at, measure) in row.measures.iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            table.row([
                first(row.name.to_owned()),
                (*measure).to_owned(),
                number(row.ours[at]),
                number(row.paper[at]),
                number(row.oracle),
                first(row.steps.to_string()),
                first(format!("{:.0}", row.seconds / 60.0)),
            ]);
        }
    }
    table.render(0, 2)
}
