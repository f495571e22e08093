//! Rows of a paper's table that are trained and measured here, one after another.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use regard::Device;
use regard::data::stats::{mean, standard_deviation};
use regard::supervised::{Family, Model, SupervisedExperiment, Training, train};
use regard::train::{Event, Limits, Measures, Trained};
use serde::Serialize;

use super::{graph_transformer, patchtst, set_transformer};
use crate::args::BenchPaperArgs;
use crate::commands::Outcome;
use crate::commands::families;
use crate::commands::train::interrupt;
use crate::failure::Failure;
use crate::report::progress::Progress;
use crate::report::{Align, Printer, Table};

/// A row of the paper: its name, the experiment it is like, what differs, and the paper's numbers.
pub(super) struct Planned {
    pub(super) name: &'static str,
    pub(super) experiment: &'static str,
    sets: &'static [&'static str],
    measures: &'static [&'static str],
    paper: &'static [Option<f64>],
}

pub(super) const fn row(
    name: &'static str,
    experiment: &'static str,
    sets: &'static [&'static str],
    measures: &'static [&'static str],
    paper: &'static [Option<f64>],
) -> Planned {
    Planned { name, experiment, sets, measures, paper }
}

/// Options of the training of a row.
pub(super) struct Run<'a> {
    /// Settings that differ from the experiment's.
    pub(super) sets: Vec<String>,
    /// Folder of the data files that an experiment names.
    pub(super) data: Option<PathBuf>,
    folder: PathBuf,
    resume: bool,
    limits: Limits,
    command: String,
    printer: &'a Printer,
}

impl<'a> Run<'a> {
    /// Trains the experiment of the row, and opens the model in its folder.
    pub(super) fn train<F: Family>(
        self,
        experiment: SupervisedExperiment<F>,
        device: &Device,
    ) -> regard::Result<(Model<F>, Trained)> {
        let mut observer = self.observer();
        let Self { folder, resume, limits, command, .. } = self;
        let training = Training { experiment, out: folder, resume, limits, command };
        let trained = train(&training, device, &mut observer)?;
        Ok((Model::open(&training.out, device)?, trained))
    }

    /// Shows the progress of a training.
    fn observer(&self) -> impl FnMut(&Event) + use<'a> {
        let printer = self.printer;
        let mut progress: Option<Progress> = None;
        move |event: &Event| match event {
            Event::Started { steps, .. } => {
                progress = Some(Progress::new(printer, *steps as usize, "steps"));
            }
            Event::Step(step) => {
                if let Some(progress) = &progress {
                    progress.set(step.step as usize);
                }
            }
            Event::Warning(text) | Event::Note(text) => printer.note(text),
            Event::Valid(_) | Event::Saved { .. } => {}
        }
    }
}

/// The result of a row.
pub(super) struct RowResult {
    pub(super) measures: Measures,
    pub(super) trained: Trained,
}

/// Trains and measures a row.
type Measure = fn(&Planned, Run<'_>, &Device) -> anyhow::Result<RowResult>;

/// A row as it was measured: means over the seeds whose trainings ended, and the steps and seconds of those.
#[derive(Debug, Serialize)]
struct Measured {
    name: &'static str,
    measures: &'static [&'static str],
    ours: Vec<Option<f64>>,
    /// Standard deviations over these seeds; none for one seed.
    deviations: Vec<Option<f64>>,
    paper: &'static [Option<f64>],
    seeds: Vec<u64>,
    /// Seeds whose trainings diverged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diverged: Vec<u64>,
    steps: u64,
    seconds: f64,
}

/// Trains and measures the rows of a paper's table, and prints it.
pub(in crate::commands) fn trained(
    args: &BenchPaperArgs,
    seed: Option<u64>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let (rows, measure): (&[Planned], Measure) = match args.table.as_str() {
        "graph-transformer" => (&graph_transformer::ROWS, graph_transformer::measure),
        "patchtst" => (&patchtst::ROWS, patchtst::measure),
        _ => (&set_transformer::ROWS, set_transformer::measure),
    };
    // A full name selects its row alone, also where others contain it.
    let named: Vec<&Planned> = rows.iter().filter(|row| row.name == args.rows).collect();
    let holding = || rows.iter().filter(|row| row.name.contains(&args.rows)).collect();
    let planned = if named.is_empty() { holding() } else { named };
    if planned.is_empty() {
        let names = rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        return Err(Failure::new(format!("no row has `{}` in its name", args.rows))
            .hint(format!("rows: {names}"))
            .into());
    }
    let interrupt = interrupt("this step")?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&args.table));
    let mut measured = Vec::new();
    for row in planned {
        let mut sets: Vec<String> = row.sets.iter().map(|set| (*set).to_owned()).chain(args.set.clone()).collect();
        sets.extend(seed.map(|seed| format!("train.seed={seed}")));
        let first = families::load(row.experiment, &sets)?.seed();
        let (mut found, mut diverged) = (Vec::new(), Vec::new());
        for seed in (first..).take(args.seeds) {
            let mut name = row.name.replace([':', '+', ' ', '\''], "-").replace("---", "-").replace("--", "-");
            let mut sets = sets.clone();
            if seed != first {
                name = format!("{name}-seed-{seed}");
                sets.push(format!("train.seed={seed}"));
            }
            let folder = out.join(name);
            let run = Run {
                sets,
                data: args.data.clone(),
                resume: folder.join("experiment.toml").is_file(),
                folder,
                limits: Limits {
                    steps: args.steps.map(|steps| steps as u64),
                    time: args.time,
                    interrupt: interrupt.clone(),
                },
                command: format!("regard bench paper --table {}, row {}, seed {seed}", args.table, row.name),
                printer,
            };
            let of_seed = if args.seeds > 1 { format!(", seed {seed}") } else { String::new() };
            printer.note(&format!("{}{of_seed}", row.name));
            match measure(row, run, device) {
                Ok(result) => found.push((seed, result)),
                // Hours of other seeds are not lost for one that diverges.
                Err(error) if args.seeds > 1 && is_divergence(&error) => {
                    printer.note(&format!("{error}; seed {seed} is not in the mean"));
                    diverged.push(seed);
                }
                Err(error) => return Err(error),
            }
            if interrupt.load(Ordering::Relaxed) {
                break;
            }
        }
        measured.push(Measured::of(row, &found, diverged));
        if interrupt.load(Ordering::Relaxed) {
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

/// If true, a training ended because its numbers were no longer finite.
fn is_divergence(error: &anyhow::Error) -> bool {
    let root = error.downcast_ref::<regard::Error>().map(regard::Error::root);
    matches!(root, Some(regard::Error::Diverged { .. }))
}

impl Measured {
    fn of(row: &Planned, found: &[(u64, RowResult)], diverged: Vec<u64>) -> Self {
        let of_seeds = |name: &&str| {
            let values: Option<Vec<f64>> = found.iter().map(|(_, one)| one.measures.get(name)).collect();
            values.filter(|values| !values.is_empty())
        };
        let values: Vec<Option<Vec<f64>>> = row.measures.iter().map(of_seeds).collect();
        let several =
            |values: &Option<Vec<f64>>| values.as_deref().filter(|values| values.len() > 1).map(standard_deviation);
        Self {
            name: row.name,
            measures: row.measures,
            ours: values.iter().map(|values| values.as_deref().map(mean)).collect(),
            deviations: values.iter().map(several).collect(),
            paper: row.paper,
            seeds: found.iter().map(|(seed, _)| *seed).collect(),
            diverged,
            steps: found.iter().map(|(_, one)| one.trained.steps).sum(),
            seconds: found.iter().fold(0.0, |sum, (_, one)| sum + one.trained.seconds),
        }
    }
}

fn table(rows: &[Measured]) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["row", "measure", "ours", "paper", "steps", "minutes"].map(str::to_owned));
    let number = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    for row in rows {
        for (at, measure) in row.measures.iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            table.row([
                first(row.name.to_owned()),
                (*measure).to_owned(),
                format!(
                    "{}{}",
                    number(row.ours[at]),
                    row.deviations[at].map(|value| format!(" ± {value:.4}")).unwrap_or_default()
                ),
                number(row.paper.get(at).copied().flatten()),
                first(row.steps.to_string()),
                first(format!("{:.0}", row.seconds / 60.0)),
            ]);
        }
    }
    table.render(0, 2)
}
