//! Tables of `regard bench`.

use std::path::Path;

use regard::data::stats;
use regard::routes::decode::Decode;
use regard::routes::evaluate::Evaluation;
use regard::routes::solve::{Solution, describe};
use regard::routing::paper::PaperSet;
use regard::routing::{Instance, registry};
use serde::Serialize;

use super::{Align, Table, number};

/// One instance of `regard bench lib`.
#[derive(Debug, Serialize)]
pub(crate) struct Solved {
    name: String,
    file: String,
    problem: &'static str,
    n: usize,
    /// Cost in the file's own metric, or the prize.
    cost: f64,
    best_known: Option<f64>,
    /// Gap to the best-known cost, as a fraction.
    gap: Option<f64>,
    seconds: f64,
}

impl Solved {
    pub(crate) fn new(path: &Path, instance: &Instance, solution: &Solution) -> Self {
        let cost = instance.value(&solution.tour);
        Self {
            name: instance.sites().name().to_owned(),
            file: path.display().to_string(),
            problem: instance.problem(),
            n: instance.sites().len(),
            cost,
            best_known: instance.best_known(),
            gap: instance.gap(cost),
            seconds: solution.seconds,
        }
    }
}

/// The result of `regard bench lib`.
#[derive(Debug, Serialize)]
pub(crate) struct Library {
    folder: String,
    instances: Vec<Solved>,
    /// Mean over the instances with a best-known value, as a fraction.
    mean_gap: Option<f64>,
    worst_gap: Option<f64>,
    seconds: f64,
}

impl Library {
    pub(crate) fn new(folder: &Path, instances: Vec<Solved>) -> Self {
        let gaps: Vec<f64> = instances.iter().filter_map(|solved| solved.gap).collect();
        Self {
            folder: folder.display().to_string(),
            mean_gap: (!gaps.is_empty()).then(|| stats::mean(&gaps)),
            worst_gap: gaps.iter().copied().reduce(f64::max),
            seconds: instances.iter().map(|solved| solved.seconds).sum(),
            instances,
        }
    }

    pub(crate) fn plain(&self) -> String {
        let aligns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
        let mut table = Table::new(&aligns);
        table.row(["instance", "problem", "nodes", "cost", "best known", "gap", "time"].map(str::to_owned));
        for solved in &self.instances {
            table.row([
                solved.name.clone(),
                solved.problem.to_owned(),
                number::count(solved.n),
                number::quantity(solved.cost, ""),
                solved.best_known.map(|best| number::quantity(best, "")).unwrap_or_default(),
                solved.gap.map(number::gap).unwrap_or_default(),
                number::seconds(solved.seconds),
            ]);
        }
        let counted = self.instances.iter().filter(|solved| solved.gap.is_some()).count();
        let mean = match (self.mean_gap, self.worst_gap) {
            (Some(mean), Some(worst)) => {
                format!(
                    "mean gap {} over {} instances, worst {}",
                    number::gap(mean),
                    number::count(counted),
                    number::gap(worst)
                )
            }
            _ => "no instance has a best-known value".to_owned(),
        };
        format!("{}\n{}{mean}", self.folder, table.render(2, 2))
    }
}

/// Table 1 of Kool et al. 2019: set, objective and gap in per cent of greedy decoding and of 1280
/// samples.
const KOOL: [(&str, [f64; 2], [f64; 2]); 18] = [
    ("tsp20", [3.85, 0.34], [3.84, 0.08]),
    ("tsp50", [5.80, 1.76], [5.73, 0.52]),
    ("tsp100", [8.12, 4.53], [7.94, 2.26]),
    ("cvrp20", [6.40, 4.97], [6.25, 2.49]),
    ("cvrp50", [10.98, 5.86], [10.62, 2.40]),
    ("cvrp100", [16.80, 7.34], [16.23, 3.72]),
    ("sdvrp20", [6.39, 2.34], [6.25, 0.0]),
    ("sdvrp50", [10.92, 3.08], [10.59, 0.0]),
    ("sdvrp100", [16.83, 3.42], [16.27, 0.0]),
    ("op_dist20", [5.19, 3.64], [5.30, 1.56]),
    ("op_dist50", [15.64, 3.23], [16.07, 0.60]),
    ("op_dist100", [31.62, 4.75], [32.68, 1.55]),
    ("pctsp_det20", [3.18, 1.62], [3.15, 0.45]),
    ("pctsp_det50", [4.60, 2.66], [4.52, 0.74]),
    ("pctsp_det100", [6.25, 4.46], [6.08, 1.67]),
    ("pctsp_stoch20", [3.26, 0.00], [f64::NAN, f64::NAN]),
    ("pctsp_stoch50", [4.65, 0.33], [f64::NAN, f64::NAN]),
    ("pctsp_stoch100", [6.32, 2.69], [f64::NAN, f64::NAN]),
];

/// Mean cost of the best method in the paper's table on a set, negative for prizes: the objective of the Attention Model
/// without its gap.
pub(crate) fn best_of_paper(set: &PaperSet) -> Option<f64> {
    let name = set.to_string();
    let (_, greedy, sampled) = KOOL.iter().find(|(known, ..)| *known == name)?;
    // The smaller the gap, the less its rounding matters.
    let [objective, gap] = if sampled[0].is_finite() { *sampled } else { *greedy };
    let maximises = registry::spec(set.problem()).is_some_and(|spec| spec.maximises);
    Some(if maximises { -objective / (1.0 - gap / 100.0) } else { objective / (1.0 + gap / 100.0) })
}

/// One model on one set, decoded in one way.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    set: String,
    decode: String,
    /// Objective of the paper for this set and way of decoding.
    paper: Option<f64>,
    /// Gap of the paper to the best of its methods, as a fraction.
    paper_gap: Option<f64>,
    model: String,
    /// Our objective: mean cost, or mean prize.
    objective: f64,
    /// Two standard errors of it, of several instances.
    two_standard_errors: Option<f64>,
    instances: usize,
    seconds: f64,
    #[serde(skip)]
    place: usize,
    /// Solutions that are tried of each instance, at most.
    #[serde(skip)]
    trajectories: usize,
}

impl Row {
    pub(crate) fn new(set: &PaperSet, (decode, augment): (Decode, usize), model: &str, found: &Evaluation) -> Self {
        let name = set.to_string();
        let place = KOOL.iter().position(|(known, ..)| *known == name);
        let of_paper = place.and_then(|place| match decode {
            Decode::Greedy => Some(KOOL[place].1),
            Decode::Sample(_) => Some(KOOL[place].2),
            _ => None,
        });
        let of_paper = of_paper.filter(|[objective, _]| objective.is_finite());
        let maximises = registry::spec(set.problem()).is_some_and(|spec| spec.maximises);
        let sign = if maximises { -1.0 } else { 1.0 };
        Self {
            set: name,
            decode: describe(decode, augment),
            paper: of_paper.map(|[objective, _]| objective),
            paper_gap: of_paper.map(|[_, gap]| gap / 100.0),
            model: model.to_owned(),
            objective: sign * found.mean_cost,
            two_standard_errors: found.std_error.map(|error| 2.0 * error),
            instances: found.instances,
            seconds: found.seconds,
            place: place.unwrap_or(KOOL.len()),
            trajectories: match decode {
                Decode::Greedy => 1,
                Decode::Sample(count) | Decode::Beam(count) | Decode::MultiStart(Some(count)) => count,
                Decode::MultiStart(None) => usize::MAX,
            },
        }
    }

    /// Sort key of the row.
    pub(crate) fn order(&self) -> (usize, &str, usize, &str) {
        (self.place, &self.set, self.trajectories, &self.model)
    }
}

/// The result of `regard bench paper`.
#[derive(Debug, Serialize)]
pub(crate) struct PaperTable {
    table: String,
    /// The processor the times were taken on.
    hardware: String,
    rows: Vec<Row>,
}

impl PaperTable {
    pub(crate) fn new(table: &str, rows: Vec<Row>) -> Self {
        Self { table: table.to_owned(), hardware: hardware(), rows }
    }

    pub(crate) fn plain(&self) -> String {
        let aligns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Right];
        let mut table = Table::new(&aligns);
        let heading = ["set", "decoding", "paper", "paper's gap", "model", "ours ± 2 s.e.", "time"];
        table.row(heading.map(str::to_owned));
        for row in &self.rows {
            table.row([
                row.set.clone(),
                row.decode.clone(),
                row.paper.map(|objective| format!("{objective:.2}")).unwrap_or_default(),
                row.paper_gap.map(number::gap).unwrap_or_default(),
                row.model.clone(),
                match row.two_standard_errors {
                    Some(error) => format!("{:.4} ± {error:.4}", row.objective),
                    None => format!("{:.4}", row.objective),
                },
                number::seconds(row.seconds),
            ]);
        }
        let count = self.rows.first().map_or(0, |row| row.instances);
        format!("{}{} instances of each set; {}", table.render(2, 2), number::count(count), self.hardware)
    }
}

fn hardware() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or("unknown processor", |(_, name)| name.trim());
    format!("{name}, {} threads", rayon::current_num_threads())
}
