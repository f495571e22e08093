//! Every step of a trace follows from the steps that it names, by its formula; the last one is the model's answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::explain::{AttentionInput, AttentionMask, Context, Projection, Trace, TraceStep, attention};
use regard::graphs::experiment::GraphData;
use regard::graphs::predict::GraphModel;
use regard::routes::decode::DecodeOptions;
use regard::routes::model::{AttentionModel, AttentionModelConfig};
use regard::routing::formats;
use regard::series::predict::SeriesModel;
use regard::sets::experiment::SetData;
use regard::sets::model::{SetTransformer, SetTransformerConfig};
use regard::sets::predict::SetModel;
use regard::store::Array;
use regard_nn::trace::{Operation, Step};
use regard_testing::{Case, Checks, Golden};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// An array in double precision.
#[derive(Clone, Debug)]
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Numbers {
    fn of(shape: &[usize], values: &[f32]) -> Self {
        Self { shape: shape.to_vec(), values: values.iter().map(|&value| f64::from(value)).collect() }
    }

    /// The length of the last axis.
    fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks(self.width().max(1))
    }

    fn by_row(&self, rule: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
        self.rows().flat_map(rule).collect()
    }

    fn by_element(&self, rule: impl Fn(f64) -> f64) -> Vec<f64> {
        self.values.iter().map(|&value| rule(value)).collect()
    }

    /// The values of `[blocks, rows, width]`, where what is before the last two axes is blocks.
    fn blocks(&self) -> (usize, usize, usize) {
        let width = self.width();
        let rows = if self.shape.len() > 1 { self.shape[self.shape.len() - 2] } else { 1 };
        (self.values.len() / (rows * width).max(1), rows, width)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn normal_cdf(x: f64) -> f64 {
    // Φ by its series, which converges for the values of a hidden layer.
    if x.abs() > 6.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut k) = (x, x, 0.0);
    while term.abs() > 1e-17 * (1.0 + sum.abs()) {
        k += 1.0;
        term *= -x * x * (2.0 * k - 1.0) / (2.0 * k * (2.0 * k + 1.0));
        sum += term;
    }
    0.5 + sum / (2.0 * std::f64::consts::PI).sqrt()
}

/// Softmax of a row, over the places that are allowed.
fn softmax(row: &[f64], allowed: &[bool]) -> Vec<f64> {
    let kept = || row.iter().zip(allowed).filter(|(_, allowed)| **allowed).map(|(x, _)| *x);
    let max = kept().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = kept().map(|x| (x - max).exp()).sum();
    let share = |(x, allowed): (&f64, &bool)| if *allowed { (x - max).exp() / total } else { 0.0 };
    row.iter().zip(allowed).map(share).collect()
}

/// Which places of each row of `x` a mask allows; it is repeated over the axes before its own.
fn allowed(x: &Numbers, mask: Option<&Numbers>) -> Vec<Vec<bool>> {
    let width = x.width();
    let rows = x.values.len() / width.max(1);
    match mask {
        None => vec![vec![true; width]; rows],
        Some(mask) => {
            let all: Vec<Vec<bool>> = mask.rows().map(|row| row.iter().map(|x| *x != 0.0).collect()).collect();
            (0..rows).map(|row| all[row % all.len()].clone()).collect()
        }
    }
}

/// `x y`, where `y` is repeated over the axes before its own.
fn combined(x: &Numbers, y: &Numbers, rule: fn(f64, f64) -> f64) -> Numbers {
    let (long, short) = if x.values.len() >= y.values.len() { (x, y) } else { (y, x) };
    let values = long.values.iter().enumerate().map(|(at, a)| rule(*a, short.values[at % short.values.len()]));
    Numbers { shape: long.shape.clone(), values: values.collect() }
}

/// The step's values by its operation; `None` where only its formula says how.
fn recomputed(step: &Step, from: &[Numbers], parameters: &[Numbers]) -> Option<Vec<f64>> {
    let x = from.first();
    let x = || x.unwrap_or_else(|| panic!("{}: is from nothing", step.name));
    let ends = || from.last().unwrap().rows().map(|row| (row[0] as usize, row[1] as usize)).collect::<Vec<_>>();
    Some(match &step.operation {
        Operation::Input => return None,
        Operation::Formula(text) => return by_formula(step, text, from, parameters),
        Operation::Linear => {
            let (weight, bias) = (&parameters[0], parameters.get(1));
            let outputs = weight.width();
            x().by_row(|row| {
                let of = |output: usize| {
                    let product: f64 =
                        row.iter().enumerate().map(|(input, x)| x * weight.values[input * outputs + output]).sum();
                    product + bias.map_or(0.0, |bias| bias.values[output])
                };
                (0..outputs).map(of).collect()
            })
        }
        Operation::Dot { heads } => {
            // Axes of one index are left out: how many rows there are follows from the numbers.
            let (keys, width) = (*step.shape.last().unwrap(), x().width());
            let blocks = from[1].values.len() / (keys * width);
            let (rows, each) = (x().values.len() / (blocks * width), width / heads);
            let mut values = Vec::new();
            for block in 0..blocks {
                for head in 0..*heads {
                    for query in 0..rows {
                        for key in 0..keys {
                            let a = &x().values[(block * rows + query) * width + head * each..][..each];
                            let b = &from[1].values[(block * keys + key) * width + head * each..][..each];
                            values.push(dot(a, b));
                        }
                    }
                }
            }
            values
        }
        Operation::WeightedSum { heads } => {
            let (keys, width) = (x().width(), from[1].width());
            let weights = from[1].values.len() / (keys * width);
            let (rows, each) = (x().values.len() / (heads * keys * weights), width / heads);
            let mut values = Vec::new();
            for block in 0..weights {
                for head in 0..*heads {
                    for row in 0..rows {
                        for channel in 0..each {
                            let at = |key: usize| (block * keys + key) * width + head * each + channel;
                            let weight = |key: usize| x().values[((block * heads + head) * rows + row) * keys + key];
                            values.push((0..keys).map(|key| weight(key) * from[1].values[at(key)]).sum());
                        }
                    }
                }
            }
            values
        }
        Operation::Merge => {
            // [block, head, row, channel] to [block, row, head, channel]
            let (width, each) = (*step.shape.last().unwrap(), x().width());
            let heads = width / each;
            let rows = if x().shape.len() > 2 { x().shape[x().shape.len() - 2] } else { 1 };
            let blocks = x().values.len() / (heads * rows * each);
            let place = |block, row, head, channel| ((block * heads + head) * rows + row) * each + channel;
            let mut values = Vec::new();
            for block in 0..blocks {
                for row in 0..rows {
                    for head in 0..heads {
                        values.extend((0..each).map(|channel| x().values[place(block, row, head, channel)]));
                    }
                }
            }
            values
        }
        Operation::Scale { factor } => x().by_element(|x| x * f64::from(*factor)),
        Operation::Sum => from[1..].iter().fold(x().clone(), |sum, part| combined(&sum, part, |a, b| a + b)).values,
        Operation::Product => combined(x(), &from[1], |a, b| a * b).values,
        Operation::Clamp { limit } => x().by_element(|x| x.clamp(-f64::from(*limit), f64::from(*limit))),
        Operation::Softmax => {
            let allowed = allowed(x(), from.get(1));
            x().rows().zip(&allowed).flat_map(|(row, allowed)| softmax(row, allowed)).collect()
        }
        Operation::LogSoftmax => {
            let allowed = allowed(x(), from.get(1));
            x().rows().zip(&allowed).flat_map(|(row, allowed)| softmax(row, allowed)).map(f64::ln).collect()
        }
        Operation::Norm { kind, eps } => {
            let ([gamma, beta], width) = ([&parameters[0], &parameters[1]], x().width());
            let rows: Vec<&[f64]> = x().rows().collect();
            let spread = |values: Vec<f64>| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
            };
            let statistics = |row: usize, channel: usize| match *kind {
                "layer" => spread(rows[row].to_vec()),
                "set" => spread(x().values.clone()),
                "instance" => spread(rows.iter().map(|row| row[channel]).collect()),
                _ => (parameters[2].values[channel], parameters[3].values[channel]),
            };
            (0..rows.len() * width)
                .map(|at| {
                    let (mean, variance) = statistics(at / width, at % width);
                    let factor = gamma.values[at % width] / (variance + f64::from(*eps)).sqrt();
                    (x().values[at] - mean) * factor + beta.values[at % width]
                })
                .collect()
        }
        Operation::Relu => x().by_element(|x| x.max(0.0)),
        Operation::Gelu => x().by_element(|x| x * normal_cdf(x)),
        Operation::Sigmoid => x().by_element(|x| 1.0 / (1.0 + (-x).exp())),
        Operation::ClippedTanh { clip } => x().by_element(|x| f64::from(*clip) * x.tanh()),
        Operation::Exp => x().by_element(f64::exp),
        Operation::Mean | Operation::Total | Operation::Largest => {
            let rows: Vec<&[f64]> = x().rows().collect();
            let of = |channel: usize| {
                let column = rows.iter().map(|row| row[channel]);
                match step.operation {
                    Operation::Mean => column.sum::<f64>() / rows.len() as f64,
                    Operation::Total => column.sum(),
                    _ => column.fold(f64::NEG_INFINITY, f64::max),
                }
            };
            (0..x().width()).map(of).collect()
        }
        Operation::Concat | Operation::Stack => from.iter().flat_map(|part| part.values.clone()).collect(),
        Operation::Rows { rows } => {
            let all: Vec<&[f64]> = x().rows().collect();
            rows.iter().flat_map(|row| all[*row].to_vec()).collect()
        }
        Operation::Columns { start, count } => x().by_row(|row| row[*start..start + count].to_vec()),
        Operation::Flattened => {
            let (blocks, rows, width) = x().blocks();
            let value = |at: usize| {
                let (block, within) = (at / (rows * width), at % (rows * width));
                x().values[block * rows * width + within % rows * width + within / rows]
            };
            (0..blocks * rows * width).map(value).collect()
        }
        Operation::Patches { patch, stride } => {
            let count = step.shape[step.shape.len() - 2];
            x().by_row(|row| {
                let place = |at: usize| (at / patch * stride + at % patch).min(row.len() - 1);
                (0..count * patch).map(|at| row[place(at)]).collect()
            })
        }
        Operation::Lookup => {
            let table: Vec<&[f64]> = parameters[0].rows().collect();
            x().values.iter().flat_map(|index| table[*index as usize].to_vec()).collect()
        }
        Operation::Channels => x().by_row(|row| row.iter().zip(&parameters[0].values).map(|(x, w)| x * w).collect()),
        Operation::Outer => {
            let direction = &parameters[0].values;
            let rows = x().rows().zip(&from[1].values);
            rows.flat_map(|(row, y)| row.iter().zip(direction).map(|(x, w)| x + y * w).collect::<Vec<_>>()).collect()
        }
        Operation::EdgeProduct { scale } => {
            let (keys, queries): (Vec<&[f64]>, Vec<&[f64]>) = (x().rows().collect(), from[1].rows().collect());
            let product = |(source, target): (usize, usize)| {
                keys[source].iter().zip(queries[target]).map(|(k, q)| k * q * f64::from(*scale)).collect::<Vec<_>>()
            };
            ends().into_iter().flat_map(product).collect()
        }
        Operation::HeadSums { heads } => {
            let each = x().width() / heads;
            x().by_row(|row| row.chunks(each).map(|head| head.iter().sum()).collect())
        }
        Operation::EdgeSoftmax { epsilon } => {
            let (ends, heads) = (ends(), x().width());
            let rows: Vec<&[f64]> = x().rows().collect();
            let share = |at: usize| {
                let (edge, head) = (at / heads, at % heads);
                let beside = ends.iter().enumerate().filter(|(_, (_, target))| *target == ends[edge].1);
                let total: f64 = beside.map(|(other, _)| (rows[other][head] - rows[edge][head]).exp()).sum();
                // Without the largest score taken off, as in the formula.
                let epsilon = f64::from(*epsilon) * (-rows[edge][head]).exp();
                1.0 / (total + epsilon)
            };
            (0..x().values.len()).map(share).collect()
        }
        Operation::EdgeSum { heads, isolated } => {
            let (ends, width) = (ends(), from[1].width());
            let values: Vec<&[f64]> = from[1].rows().collect();
            let mut sums = vec![0.0; values.len() * width];
            let mut met = vec![false; values.len()];
            for ((source, target), weights) in ends.iter().zip(x().rows()) {
                met[*target] = true;
                for channel in 0..width {
                    sums[target * width + channel] += weights[channel * heads / width] * values[*source][channel];
                }
            }
            for (node, _) in met.iter().enumerate().filter(|(_, met)| !**met) {
                sums[node * width..][..width].fill(f64::from(*isolated));
            }
            sums
        }
        Operation::EdgeTotal => {
            let (ends, width) = (ends(), x().width());
            let mut sums = vec![0.0; step.values.len()];
            for ((_, target), row) in ends.iter().zip(x().rows()) {
                row.iter().enumerate().for_each(|(channel, x)| sums[target * width + channel] += x);
            }
            sums
        }
        Operation::PairSum => {
            let (weights, features) = (&parameters[0], x().shape[0]);
            let pairs = x().values.len() / features;
            let of_head = |weights: &[f64]| -> Vec<f64> {
                let sum = |pair: usize| (0..features).map(|k| weights[k] * x().values[k * pairs + pair]).sum();
                (0..pairs).map(sum).collect()
            };
            weights.rows().flat_map(of_head).collect()
        }
    })
}

/// The values of a step whose formula alone states its operation; `None` for those that a test of their own checks.
fn by_formula(step: &Step, text: &str, from: &[Numbers], parameters: &[Numbers]) -> Option<Vec<f64>> {
    // Numbers `[series]` or `[series, 1]` for the rows of `x [series, …]`.
    let of_row = |numbers: &Numbers, row: usize| numbers.values[row % numbers.values.len()];
    let number = || text.rsplit("+ ").next().unwrap().trim_end_matches(')').parse::<f64>().unwrap();
    let x = from.first()?;
    // Of one series the axis is left out: its window is one row.
    let there = |row: usize, at: usize, mask: Option<&Numbers>| {
        mask.is_none_or(|mask| mask.values[row * x.width() + at] != 0.0)
    };
    let known = |row: usize, values: &[f64], mask: Option<&Numbers>| -> Vec<f64> {
        (0..values.len()).filter(|&at| there(row, at, mask)).map(|at| values[at]).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let rows = || x.rows().enumerate();
    let (scale, shift) = (parameters.first(), parameters.get(1));
    Some(match step.name.as_str() {
        "window.center" => rows()
            .map(|(row, values)| match text.starts_with("last") {
                true => *values.last().unwrap(),
                false => mean(&known(row, values, from.get(1))),
            })
            .collect(),
        "window.deviation" => rows()
            .map(|(row, values)| {
                let values = known(row, values, from.get(1));
                let middle = mean(&values);
                (mean(&values.iter().map(|x| (x - middle).powi(2)).collect::<Vec<_>>()) + number()).sqrt()
            })
            .collect(),
        "window.normalized" => rows()
            .flat_map(|(row, values)| {
                let normed = |x: f64| (x - of_row(&from[1], row)) / of_row(&from[2], row);
                let mapped = |x: f64| match (scale, shift) {
                    (Some(scale), Some(shift)) => normed(x) * of_row(scale, row) + of_row(shift, row),
                    _ => normed(x),
                };
                let shown = |(at, x): (usize, &f64)| if there(row, at, from.get(3)) { mapped(*x) } else { 0.0 };
                values.iter().enumerate().map(shown).collect::<Vec<_>>()
            })
            .collect(),
        "forecast" | "forecast_of_map" => rows()
            .flat_map(|(row, values)| {
                let unmapped = |x: f64| match (scale, shift) {
                    (Some(scale), Some(shift)) => (x - of_row(shift, row)) / (of_row(scale, row) + 1e-10),
                    _ => x,
                };
                values.iter().map(|x| unmapped(*x) * of_row(&from[2], row) + of_row(&from[1], row)).collect::<Vec<_>>()
            })
            .collect(),
        "forecast.in_units" if text.starts_with("median") => return None,
        "forecast.in_units" | "forecast_of_map.in_units" => rows()
            .flat_map(|(row, values)| {
                values.iter().map(|x| x * of_row(&from[2], row) + of_row(&from[1], row)).collect::<Vec<_>>()
            })
            .collect(),
        "forecast_of_network.in_units" => combined(x, &from[1], |a, b| a - b).values,
        "edge_logarithm" => x.by_element(|x| x.signum() * x.abs().ln_1p()),
        "positions.laplacian.eigenvalues" => return None,
        "positions.values" if text.starts_with("(x - mean)") => x.by_row(|row| {
            row.iter().enumerate().map(|(at, x)| (x - scale.unwrap().values[at]) / shift.unwrap().values[at]).collect()
        }),
        name if name.ends_with(".choice") => {
            let largest = x.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            vec![x.values.iter().position(|x| *x == largest).unwrap() as f64]
        }
        _ => return None,
    })
}

/// As [`recomputed`], for each of a batch alone: what has an axis `batch` is cut along it.
fn recomputed_by_item(step: &TraceStep, from: &[Numbers], parameters: &[Numbers], trace: &Trace) -> Option<Vec<f64>> {
    let batched = |step: &TraceStep| step.axes.first().is_some_and(|axis| axis.name == "batch");
    if !batched(step) {
        return recomputed(&step.recorded, from, parameters);
    }
    let items = step.recorded.shape[0];
    let one = Step { shape: step.recorded.shape[1..].to_vec(), ..step.recorded.clone() };
    let cut = |item: usize| {
        let parts = step.recorded.from.iter().zip(from).map(|(name, numbers)| {
            if !batched(trace.step(name).unwrap()) {
                return numbers.clone();
            }
            let size = numbers.values.len() / items;
            let values = numbers.values[item * size..][..size].to_vec();
            Numbers { shape: numbers.shape[1..].to_vec(), values }
        });
        recomputed(&one, &parts.collect::<Vec<_>>(), parameters)
    };
    let all: Option<Vec<Vec<f64>>> = (0..items).map(cut).collect();
    all.map(|all| all.concat())
}

/// Checks every step; `given` are the formulas that no operation states and that are checked elsewhere.
fn check(trace: &Trace, what: &str) {
    let parameters: HashMap<&str, Numbers> =
        trace.parameters.iter().map(|found| (found.name.as_str(), Numbers::of(&found.shape, &found.values))).collect();
    let mut before: HashMap<&str, Numbers> = HashMap::new();
    assert!(trace.steps.len() >= 10, "{what}: {} steps", trace.steps.len());
    for step in &trace.steps {
        let recorded = &step.recorded;
        let place = format!("{what}: {}", recorded.name);
        assert!(!before.contains_key(recorded.name.as_str()), "{place}: a name twice");
        assert!(!recorded.name.contains(".input."), "{place}: is from what was not recorded");
        assert_eq!(recorded.shape.iter().product::<usize>(), recorded.values.len(), "{place}");
        let lengths: Vec<usize> = step.axes.iter().map(|axis| axis.labels.len()).collect();
        assert_eq!(lengths, recorded.shape, "{place}: a name for each index");
        let from = |name: &String| before.get(name.as_str()).unwrap_or_else(|| panic!("{place}: {name} comes later"));
        let from: Vec<Numbers> = recorded.from.iter().map(from).cloned().collect();
        let own: Vec<Numbers> = recorded.parameters.iter().map(|name| parameters[name.as_str()].clone()).collect();
        if let Some(expected) = recomputed_by_item(step, &from, &own, trace) {
            assert_eq!(expected.len(), recorded.values.len(), "{place}: {:?}", recorded.shape);
            // A sum that comes near 0 has the rounding of its largest parts.
            let largest = expected.iter().filter(|x| x.is_finite()).fold(1.0_f64, |most, x| most.max(x.abs()));
            for (found, expected) in recorded.values.iter().zip(&expected) {
                let found = f64::from(*found);
                let close = found == *expected || (found - expected).abs() <= 1e-5 * largest;
                assert!(close || found.is_nan() && expected.is_nan(), "{place}: {found}, by its formula {expected}");
            }
        }
        before.insert(&recorded.name, Numbers::of(&recorded.shape, &recorded.values));
    }
}

fn values<'t>(trace: &'t Trace, name: &str) -> &'t [f32] {
    &trace.step(name).unwrap_or_else(|| panic!("no step {name}")).recorded.values
}

/// No vehicle that goes elsewhere first is in time at `c`, none that goes there is in time at `e`.
const PLACES: &str = "\
id,x,y,demand,prize,penalty,real_prize,ready,due,service,pickup
d,0.5,0.5,0,0,0,0,0,9,0,
a,0.1,0.2,3,0.3,0.2,0.4,0,5,0.1,
b,0.9,0.1,4,0.5,0.1,0.6,0,5,0.1,a
c,0.4,0.8,2,0.2,0.3,0.1,0,0.5,0.1,
e,0.7,0.6,5,0.6,0.2,0.5,0,0.3,0.1,c
f,0.2,0.9,1,0.4,0.1,0.4,0.5,5,0.1,
";

fn instance(problem: &str) -> regard::routing::Instance {
    let columns: &[&str] = match problem {
        "tsp" => &["id", "x", "y"],
        "cvrp" | "sdvrp" => &["id", "x", "y", "demand"],
        "cvrptw" => &["id", "x", "y", "demand", "ready", "due", "service"],
        "pdp" => &["id", "x", "y", "pickup"],
        "op" => &["id", "x", "y", "prize"],
        "spctsp" => &["id", "x", "y", "prize", "penalty", "real_prize"],
        _ => &["id", "x", "y", "prize", "penalty"],
    };
    let all: Vec<&str> = PLACES.lines().next().unwrap().split(',').collect();
    let kept: Vec<usize> = columns.iter().map(|name| all.iter().position(|found| found == name).unwrap()).collect();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        kept.iter().map(|&at| fields[at]).collect::<Vec<_>>().join(",") + "\n"
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places.csv");
    std::fs::write(&path, PLACES.lines().map(line).collect::<String>()).unwrap();
    let options = formats::csv::TableOptions {
        values: formats::csv::Options::default()
            .with("capacity", ["cvrp", "cvrptw", "sdvrp"].contains(&problem).then_some(7.0))
            .with("split", (problem == "sdvrp").then_some(1.0))
            .with("required_prize", ["pctsp", "spctsp"].contains(&problem).then_some(1.0))
            .with("max_length", (problem == "op").then_some(2.0)),
        ..formats::csv::TableOptions::default()
    };
    formats::read_instance_with(&path, &options).unwrap().0
}

#[test]
fn steps_of_routes_follow_from_each_other() {
    for (problem, barred) in [
        ("tsp", "visited"),
        ("cvrp", "capacity"),
        ("sdvrp", "served"),
        ("op", ""),
        ("pctsp", "prize"),
        ("spctsp", "prize"),
        ("cvrptw", "time window"),
        ("pdp", "not picked up"),
    ] {
        let instance = instance(problem);
        assert_eq!(instance.problem(), problem);
        let folder = repository(&format!("models/regard-{problem}"));
        let (model, _) = AttentionModel::load(&folder, &Device::flex()).unwrap();
        let trace = model.explain("a model", &instance).unwrap();
        check(&trace, problem);
        let steps = decisions(&trace);
        let mut likelihood = 0.0;
        let mut reasons = Vec::new();
        for step in 0..steps {
            let name = |of: &str| format!("decode.{step}.{of}");
            let probability = values(&trace, &name("probability"));
            assert!((probability.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{problem}, step {step}");
            likelihood += probability.iter().copied().fold(0.0, f32::max).ln();
            let mask = &trace.step(&name("mask")).unwrap().recorded;
            let explained =
                mask.values.iter().zip(&mask.notes).all(|(allowed, note)| (*allowed == 1.0) == note.is_empty());
            assert!(explained && mask.notes.len() == mask.values.len(), "{problem}: {mask:?}");
            reasons.extend(mask.notes.clone());
            for name in ["glimpse", "logits", "clipped", "context"].map(name) {
                assert!(trace.step(&name).is_some(), "{problem}: {name}");
            }
        }
        let total = values(&trace, &format!("decode.{}.log_likelihood", steps - 1))[0];
        assert!((total - likelihood).abs() < 1e-4, "{problem}: {total} against {likelihood}");
        let cost = values(&trace, "solution.cost");
        assert!(cost.windows(2).all(|pair| pair[1] <= pair[0] + 1e-4), "{problem}: {cost:?}");
        let regret = trace.step("decode.0.regret").unwrap();
        let open = values(&trace, "decode.0.probability").iter().filter(|probability| **probability > 0.0).count();
        assert_eq!(regret.axes[0].labels.len(), (open - 1).min(3), "{problem}");
        assert!(regret.recorded.values.iter().all(|cost| cost.is_finite()));
        assert!(reasons.iter().any(|reason| reason == barred), "{problem}: {reasons:?}");
        assert!(trace.step("encoder.0.attention").is_some());
        regrets_follow_from_the_policy(&model, &instance, &trace);
        let decoded = decoded(&model, &instance);
        assert!((decoded - likelihood).abs() < 1e-4, "{problem}: {decoded} against {likelihood}");
    }
}

/// The regret of each node instead is what the policy's solution costs from there on, less what its own costs: each is
/// completed alone, by tensor operations, from the choices in the trace.
fn regrets_follow_from_the_policy(model: &AttentionModel, instance: &regard::routing::Instance, trace: &Trace) {
    use burn::tensor::{Tensor, TensorData};
    use regard::nn::ops::with_kernels;
    use regard::routing::{Problem, ProblemVisitor, SolverInstance, State, registry::with_problem};
    struct Check<'a>(&'a AttentionModel, &'a regard::routing::Instance, &'a Trace);
    impl ProblemVisitor for Check<'_> {
        type Output = ();
        fn run<I: SolverInstance>(self) {
            let Self(model, instance, trace) = self;
            let instance = instance.downcast_ref::<I>().unwrap();
            let problem = instance.in_unit_square();
            let shape = [1, problem.nodes(), <I::Problem as Problem>::FEATURES];
            let completed = |state| {
                let features = Tensor::from_data(TensorData::new(problem.features(), shape), &Device::flex());
                let construct = || model.construct_greedily::<I::Problem>(features, vec![state]);
                instance.cost(&with_kernels(false, construct).tours[0])
            };
            let own = completed(problem.start());
            let (mut state, mut checked) = (problem.start(), 0);
            for step in 0.. {
                let Some(choice) = trace.step(&format!("decode.{step}.choice")) else { break };
                let regret = trace.step(&format!("decode.{step}.regret")).unwrap();
                for (id, expected) in regret.axes[0].labels.iter().zip(&regret.recorded.values) {
                    let mut other = state.clone();
                    other.step(instance.sites().ids().iter().position(|known| known == id).unwrap());
                    let found = completed(other) - own;
                    let bound = 1e-5 * own.abs().max(1.0);
                    assert!((found - f64::from(*expected)).abs() < bound, "step {step}, {id}: {found}, {expected}");
                    checked += 1;
                }
                state.step(choice.recorded.values[0] as usize);
            }
            assert!(checked > 0);
        }
    }
    with_problem(instance.problem(), Check(model, instance, trace)).unwrap();
}

/// The log-likelihood of the greedy solution, by the kernels.
fn decoded(model: &AttentionModel, instance: &regard::routing::Instance) -> f32 {
    use regard::routing::{ProblemVisitor, SolverInstance, registry::with_problem};
    struct Decode<'a>(&'a AttentionModel, &'a regard::routing::Instance);
    impl ProblemVisitor for Decode<'_> {
        type Output = f32;
        fn run<I: SolverInstance>(self) -> f32 {
            let problem = self.1.downcast_ref::<I>().unwrap().in_unit_square();
            let found = self.0.decode(&[problem], &|_, _| 0.0, &DecodeOptions::default()).unwrap();
            found[0].log_likelihood
        }
    }
    with_problem(instance.problem(), Decode(model, instance)).unwrap()
}

#[test]
fn steps_of_other_norms_follow_from_each_other() {
    let device = Device::flex();
    for norm in ["instance", "layer", "batch"] {
        let json = serde_json::json!({
            "kind": "attention-model", "format": 1, "problem": "tsp", "width": 16, "heads": 2, "layers": 2,
            "feedforward_width": 24, "norm": norm, "tanh_clipping": 10.0,
        });
        let config = AttentionModelConfig::from_json(&json).unwrap();
        let model = AttentionModel::new(&config, &device).unwrap();
        check(&model.explain("a model", &instance("tsp")).unwrap(), norm);
    }
}

#[test]
fn steps_of_networks_that_see_distances_follow_from_each_other() {
    use regard::routing::generate::{GeneratedSet, GeneratorConfig, Points};
    let device = Device::flex();
    for (problem, directed) in [("tsp", false), ("tsp", true), ("cvrp", false), ("cvrp", true), ("op", false)] {
        let config = AttentionModelConfig {
            problem: problem.into(),
            distances: true,
            distance_bias: true,
            width: 16,
            heads: 2,
            feedforward_width: 24,
            ..AttentionModelConfig::regard_cvrp()
        };
        let mut weights = AttentionModel::new(&config, &device).unwrap().to_weights();
        let of_distances = |name: &str| name == "project_node_step.weight" || name.ends_with("W_pair");
        for (_, array) in weights.iter_mut().filter(|(name, _)| of_distances(name)) {
            array.data.iter_mut().enumerate().for_each(|(at, weight)| *weight = (at as f32).sin());
        }
        let model = AttentionModel::from_weights(&config, &weights, &device).unwrap();
        let hills = GeneratorConfig { points: Points::Hills, ..GeneratorConfig::default() };
        let instance = match directed {
            true => GeneratedSet::random(problem, &hills, 1, 1, 9).unwrap().instance(0, "hills", false).unwrap(),
            false => instance(problem),
        };
        let trace = model.explain("a model", &instance).unwrap();
        check(&trace, problem);
        if !directed {
            regrets_follow_from_the_policy(&model, &instance, &trace);
        }
        let (seen, nodes) = (trace.step("distances").unwrap(), instance.sites().len());
        assert_eq!(seen.recorded.shape, [nodes, nodes]);
        let asymmetric = (0..nodes * nodes).any(|at| {
            let [there, back] = [at, at % nodes * nodes + at / nodes].map(|at| seen.recorded.values[at]);
            (there - back).abs() > 1e-3
        });
        assert_eq!(asymmetric, directed, "{problem}");
        assert!(values(&trace, "encoder.0.score_bias").iter().any(|bias| *bias != 0.0), "{problem}");
        let steps = decisions(&trace);
        let seen: Vec<f32> =
            (0..steps).flat_map(|step| values(&trace, &format!("decode.{step}.dynamic")).to_vec()).collect();
        assert!(seen.iter().all(|value| *value <= 0.0) && seen.iter().any(|value| *value < 0.0), "{problem}: {seen:?}");
        let likelihood = values(&trace, &format!("decode.{}.log_likelihood", steps - 1))[0];
        let decoded = decoded(&model, &instance);
        assert!((decoded - likelihood).abs() < 1e-4, "{problem}: {decoded} against {likelihood}");
    }
}

/// Number of steps of the policy in a trace.
fn decisions(trace: &Trace) -> usize {
    (0..).take_while(|step| trace.step(&format!("decode.{step}.probability")).is_some()).count()
}

const ROWS: &str = "bag,x\na,3\na,41\na,17\nb,5\n";

#[test]
fn steps_of_sets_follow_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, ROWS).unwrap();
    let device = Device::flex();
    let model = SetModel::open(&repository("models/regard-max"), &device).unwrap();
    let data = SetData { group_by: "bag".into(), ..SetData::default() };
    let bags = model.read(&path, &data, false).unwrap();
    let trace = model.explain("regard-max", &bags, 0).unwrap();
    check(&trace, "regard-max");
    let predicted = model.network.forward(regard_nn::Ragged::new(
        burn::tensor::Tensor::from_data([[3.0_f32], [41.0], [17.0]], &device),
        vec![0, 3],
    ));
    let regard::sets::model::Answers::Sets(predicted) = predicted else { panic!("sets") };
    let answer = predicted.into_data().iter::<f32>().next().unwrap();
    assert!((values(&trace, "answer")[0] - answer).abs() < 1e-4 * answer.abs());
    let weights = trace.step("pooling.attention").unwrap();
    assert_eq!(weights.axes.last().unwrap().labels, ["row 1", "row 2", "row 3"]);
    let switches = [
        serde_json::json!({"preset": "set-transformer-2019", "encoder": "isab", "inducing_points": 2, "num_seeds": 2}),
        serde_json::json!({"preset": "set-transformer-paper", "encoder": "sab"}),
        serde_json::json!({"preset": "deep-sets-2017"}),
        serde_json::json!({"preset": "regard-set"}),
        serde_json::json!({"preset": "regard-set", "pooling": "gated", "max_instance": true, "num_seeds": 1}),
    ];
    for switches in switches {
        let what = switches.to_string();
        let config = settings(&switches);
        let network = SetTransformer::new(&config, &device).unwrap();
        let other = SetModel::new(config, network, None, &device);
        check(&other.explain("a model", &bags, 0).unwrap(), &what);
    }
}

#[test]
fn responsibilities_follow_from_the_mixture_of_the_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.csv");
    std::fs::write(&path, "bag,x,y\na,0.5,1\na,-2,0.25\na,1,-3\na,0.1,0.9\n").unwrap();
    let device = Device::flex();
    let data = SetData { group_by: "bag".into(), ..SetData::default() };
    for decoding in ["isotropic-mixture", "diagonal-mixture"] {
        let sets: Vec<String> =
            ["model.width=16", "model.heads=4", &format!("model.decoding={decoding}")].map(str::to_owned).to_vec();
        let text = "[task]\nfamily = \"sets\"\nkind = \"clustering\"\n[data]\nsource = \"mixtures\"\n";
        let config = regard::sets::SetExperiment::parse(text, Path::new("test.toml"), &sets).unwrap().model;
        let outputs = if decoding == "isotropic-mixture" { 4 } else { 5 };
        let config = SetTransformerConfig { inputs: 2, outputs, min_std: 0.125, ..config };
        let network = SetTransformer::new(&config, &device).unwrap();
        let model = SetModel::new(config, network, None, &device);
        let bags = model.read(&path, &data, false).unwrap();
        let trace = model.explain("a model", &bags, 0).unwrap();
        check(&trace, decoding);
        let shape = &trace.step("mixture.responsibility").unwrap().recorded.shape;
        let (seeds, rows) = (shape[0], shape[1]);
        let answer: Vec<Vec<f64>> =
            values(&trace, "answer").chunks(outputs).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
        let weights = softmax(&answer.iter().map(|row| row[0]).collect::<Vec<_>>(), &vec![true; seeds]);
        let deviation = |seed: usize, axis: usize| {
            let x = answer[seed][(3 + axis).min(outputs - 1)];
            (1.0 + x.exp()).ln() + 0.125
        };
        let close = |name: &str, at: usize, expected: f64| {
            let found = f64::from(values(&trace, name)[at]);
            assert!((found - expected).abs() < 1e-5, "{decoding}, {name} {at}: {found}, expected {expected}");
        };
        let points = [[0.5, 1.0], [-2.0, 0.25], [1.0, -3.0], [0.1, 0.9]];
        for (row, point) in points.iter().enumerate() {
            let density = |seed: usize| -> f64 {
                let of_axis = |axis: usize| {
                    let by = deviation(seed, axis);
                    let normed = (point[axis] - answer[seed][1 + axis]) / by;
                    (-0.5 * normed * normed).exp() / by
                };
                weights[seed] * of_axis(0) * of_axis(1)
            };
            let total: f64 = (0..seeds).map(density).sum();
            (0..seeds).for_each(|seed| close("mixture.responsibility", seed * rows + row, density(seed) / total));
        }
        for (seed, weight) in weights.iter().enumerate() {
            close("mixture.weight", seed, *weight);
            (0..2).for_each(|axis| close("mixture.deviation", 2 * seed + axis, deviation(seed, axis)));
        }
        let pooled = trace.step("pooling.attention").unwrap();
        assert_eq!(pooled.recorded.shape[1..], [seeds, rows], "beside the weights of the seeds");
    }
}

/// The settings of a network for rows of one number, with these of an experiment's `[model]`.
fn settings(switches: &serde_json::Value) -> SetTransformerConfig {
    let sets = switches.as_object().unwrap().iter().map(|(key, value)| format!("model.{key}={value}"));
    let sets: Vec<String> = sets.chain(["model.width=16", "model.heads=4"].map(str::to_owned)).collect();
    let text = "[task]\nfamily = \"sets\"\nkind = \"regression\"\n[data]\nsource = \"max\"\n";
    let config = regard::sets::SetExperiment::parse(text, Path::new("test.toml"), &sets).unwrap().model;
    SetTransformerConfig { inputs: 1, ..config }
}

/// Columns of a table of molecules for the model, which has no split.
fn columns(model: &GraphModel) -> GraphData {
    let data = model.experiment.as_ref().map(|found| found.data.clone()).unwrap_or_default();
    let none = String::new;
    GraphData { split: none(), path: none(), edges: none(), cache: none(), smiles: "smiles".into(), ..data }
}

#[test]
fn steps_of_graphs_follow_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("molecules.csv");
    std::fs::write(&path, "smiles\nCC(=O)Oc1ccccc1C(=O)O\nCCO\n").unwrap();
    for name in ["regard-solubility", "regard-zinc"] {
        let model = GraphModel::open(&repository(&format!("models/{name}")), &Device::flex()).unwrap();
        let examples = model.read(&path, &columns(&model), false).unwrap();
        let trace = model.explain(name, &examples, 0).unwrap();
        check(&trace, name);
        let vectors = &trace.step("positions.laplacian.vectors").unwrap().recorded;
        let lambda = values(&trace, "positions.laplacian.eigenvalues");
        assert_eq!(lambda.len(), vectors.shape[1]);
        assert!(lambda.windows(2).all(|pair| pair[0] <= pair[1] + 1e-5), "{lambda:?}");
        assert!(lambda.iter().all(|value| (-1e-6..=2.0 + 1e-6).contains(value)));
        for name in ["score", "clamped", "attention"].map(|name| format!("layer.0.{name}")) {
            assert_eq!(trace.step(&name).unwrap().axes[0].name, "edge");
        }
        walk_follows_from_edges(&trace, name);
        vectors_follow_from_edges(&trace, name);
    }
}

/// `L v = λ v` for each eigenvector, with the Laplacian of the edges.
fn vectors_follow_from_edges(trace: &Trace, what: &str) {
    let vectors = &trace.step("positions.laplacian.vectors").unwrap().recorded;
    let lambda = values(trace, "positions.laplacian.eigenvalues");
    let (nodes, count) = (vectors.shape[0], vectors.shape[1]);
    let mut joined = vec![0.0_f64; nodes * nodes];
    for pair in values(trace, "edges").chunks(2) {
        let (a, b) = (pair[0] as usize, pair[1] as usize);
        (joined[a * nodes + b], joined[b * nodes + a]) = (1.0, 1.0);
    }
    let degree: Vec<f64> = joined.chunks(nodes).map(|row| row.iter().sum::<f64>().max(1.0)).collect();
    assert_eq!(lambda.len(), count, "{what}");
    for (column, lambda) in lambda.iter().enumerate() {
        let at = |node: usize| f64::from(vectors.values[node * count + column]);
        if (0..nodes).all(|node| at(node) == 0.0) {
            continue;
        }
        for node in 0..nodes {
            let beside =
                |other: usize| joined[node * nodes + other] * at(other) / (degree[node] * degree[other]).sqrt();
            let product = at(node) - (0..nodes).map(beside).sum::<f64>();
            let expected = f64::from(*lambda) * at(node);
            assert!((product - expected).abs() < 1e-4, "{what}, vector {column}, node {node}: {product}, {expected}");
        }
    }
}

#[test]
fn steps_of_graphs_with_laplacian_positions_follow_from_each_other() {
    use regard::graphs::model::{GraphTransformer, PositionKind, SoftmaxKind};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("molecules.csv");
    std::fs::write(&path, "smiles\nCC(=O)Oc1ccccc1C(=O)O\n").unwrap();
    let device = Device::flex();
    let shipped = GraphModel::open(&repository("models/regard-solubility"), &device).unwrap();
    for (edge_stream, layer_norm, positions, messages) in [
        (true, false, PositionKind::Laplacian, true),
        (false, true, PositionKind::Laplacian, true),
        (true, true, PositionKind::LaplacianSafe, false),
    ] {
        let mut config = shipped.config.clone();
        (config.edge_stream, config.layer_norm, config.batch_norm) = (edge_stream, layer_norm, !layer_norm);
        (config.positions, config.position_size, config.softmax) = (positions, 6, SoftmaxKind::Clamped);
        (config.messages, config.edge_updates) = (messages, !messages);
        (config.edge_sums, config.data.position_mean, config.data.position_std) = (false, vec![], vec![]);
        let network = GraphTransformer::new(&config, &device).unwrap();
        let model = GraphModel::new(config, network, None, &device);
        let examples = model.read(&path, &columns(&shipped), false).unwrap();
        let trace = model.explain("a model", &examples, 0).unwrap();
        let what = format!("{edge_stream}, {layer_norm}, {positions:?}");
        check(&trace, &what);
        vectors_follow_from_edges(&trace, &what);
        let taken = &trace.step("positions.values").unwrap().recorded;
        assert_eq!(taken.from, ["positions.laplacian.vectors"], "{what}");
        assert!(!taken.operation.formula().is_empty(), "{what}");
        assert!(trace.step("layer.0.clamped").is_some(), "{what}");
    }
}

/// Random-walk positions by powers of the transition matrix, and what the network takes of them.
fn walk_follows_from_edges(trace: &Trace, what: &str) {
    let walk = &trace.step("positions.random_walk").unwrap().recorded;
    let (nodes, steps) = (walk.shape[0], walk.shape[1]);
    let mut transition = vec![0.0; nodes * nodes];
    for pair in values(trace, "edges").chunks(2) {
        transition[pair[0] as usize * nodes + pair[1] as usize] += 1.0;
    }
    for row in transition.chunks_mut(nodes) {
        let degree = row.iter().sum::<f64>().max(1.0);
        row.iter_mut().for_each(|x| *x /= degree);
    }
    let mut power = transition.clone();
    for step in 0..steps {
        for node in 0..nodes {
            let (found, expected) = (f64::from(walk.values[node * steps + step]), power[node * nodes + node]);
            assert!((found - expected).abs() < 1e-5, "{what}, node {node}, step {step}: {found}, expected {expected}");
        }
        let cell =
            |at: usize| (0..nodes).map(|k| power[at / nodes * nodes + k] * transition[k * nodes + at % nodes]).sum();
        power = (0..nodes * nodes).map(cell).collect();
    }
    let taken = &trace.step("positions.values").unwrap().recorded;
    if taken.from == ["positions.random_walk"] {
        let parameter = |name: &str| {
            let found = trace.parameters.iter().find(|found| found.name == format!("positions.values.{name}"));
            found.map(|found| found.values.clone())
        };
        let (mean, deviation) = (parameter("mean"), parameter("deviation"));
        for (at, (found, raw)) in taken.values.iter().zip(&walk.values).enumerate() {
            let shift = mean.as_ref().map_or(0.0, |mean| mean[at % steps]);
            let expected = (raw - shift) / deviation.as_ref().map_or(1.0, |by| by[at % steps]);
            assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0), "{what}: {found}, {expected}");
        }
    }
    assert_eq!(trace.step("positions.embedding").unwrap().recorded.from, ["positions.values"], "{what}");
}

#[test]
fn steps_of_series_follow_from_each_other() {
    let model = SeriesModel::open(&repository("models/regard-etth1"), &Device::flex()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let names = model.config.data.names.clone();
    let rows = (0..model.config.look_back + 10).map(|hour| {
        let value = |at: usize| ((hour as f64 / 24.0 + at as f64) * std::f64::consts::TAU).sin() * 3.0 + at as f64;
        let values: Vec<String> = (0..names.len()).map(|at| format!("{:.4}", value(at))).collect();
        format!("2021-{:02}-{:02} {:02}:00:00,{}\n", 1 + hour / 672, 1 + hour / 24 % 28, hour % 24, values.join(","))
    });
    std::fs::write(&path, format!("date,{}\n{}", names.join(","), rows.collect::<String>())).unwrap();
    let series = model.read(&path, &model.columns()).unwrap();
    let trace = model.explain("regard-etth1", &series.panel, 0).unwrap();
    check(&trace, "regard-etth1");
    assert!(trace.step("layer.0.attention").is_some());
    let [center, deviation] = ["window.center", "window.deviation"].map(|name| f64::from(values(&trace, name)[0]));
    // The last steps are in the unit of the file, and the forecast there is that of the program.
    let printed = model.forecast(&series.panel, model.config.horizon, &[]).unwrap().rows();
    let own = printed.iter().take(model.config.horizon).map(|row| row.forecast);
    for (found, printed) in values(&trace, "forecast.in_units").iter().zip(own) {
        assert!((f64::from(*found) - f64::from(printed)).abs() < 1e-4, "{found}, printed {printed}");
    }
    let [of_map, of_network] =
        ["forecast_of_map.in_units", "forecast_of_network.in_units"].map(|name| values(&trace, name));
    for (whole, (of_map, of_network)) in values(&trace, "forecast.in_units").iter().zip(of_map.iter().zip(of_network)) {
        assert!((whole - of_map - of_network).abs() < 1e-4);
    }
    let answers = values(&trace, "answer");
    for (found, answer) in values(&trace, "forecast").iter().zip(answers) {
        let expected = f64::from(*answer) * deviation + center;
        assert!((f64::from(*found) - expected).abs() < 1e-4 * expected.abs().max(1.0));
    }
}

#[test]
fn steps_of_series_presets_follow_from_each_other() {
    use regard::series::model::{PatchTst, PatchTstConfig, SeriesPreparation};
    let device = Device::flex();
    let shipped = SeriesModel::open(&repository("models/regard-etth1"), &device).unwrap();
    let names = shipped.config.data.names.clone();
    for (preset, affine) in
        [("patchtst-official", true), ("patchtst-official", false), ("patchtst-tslib", false), ("patchtst-tfb", false)]
    {
        let config = PatchTstConfig {
            look_back: 48,
            horizon: 12,
            patch_len: 8,
            stride: 4,
            layers: 2,
            width: 16,
            heads: 2,
            feedforward_width: 24,
            channels: if affine { names.len() } else { 0 },
            affine,
            data: SeriesPreparation { interval_levels: vec![], interval_widths: vec![], ..shipped.config.data.clone() },
            ..PatchTstConfig::preset(preset).unwrap()
        };
        let what = format!("{preset}, affine {affine}");
        let network = PatchTst::new(&config, &device).unwrap();
        let model = SeriesModel::new(config, network, None, &device);
        let clock = regard_data::series::Clock::new("2020-01-01", "day".parse().unwrap()).unwrap();
        let series = names.iter().enumerate().map(|(at, name)| {
            let value = |day: usize| ((day + 3 * at) as f32 * 0.7).sin() + 0.1 * (day % 7) as f32;
            regard_data::series::Series::new(name.clone(), 0, (0..60).map(value).collect())
        });
        let panel = regard_data::series::Panel::new(clock, series.collect()).unwrap();
        let trace = model.explain("a model", &panel, 0).unwrap();
        check(&trace, &what);
        let ahead = &trace.step("forecast.in_units").unwrap().axes.last().unwrap().labels;
        assert_eq!(ahead[0], "1 at 2020-03-01", "{what}");
    }
}

/// Eigenvalues in a trace are those of the original code, and eigenvectors are so up to their sign.
#[test]
fn the_spectrum_agrees_with_the_golden_cases() {
    use regard::data::graphs::{Graph, Graphs, Kinds};
    use regard::graphs::Spectrum;
    let cases = Golden::open().cases("graph_transformer/lappe_");
    assert!(!cases.is_empty());
    for case in &cases {
        let nodes = case.size("n");
        let mut graph = Graph::new("golden", nodes);
        for (source, target) in case.get("input.src").data.iter().zip(&case.get("input.dst").data) {
            graph.add(*source as u32, *target as u32, 0);
        }
        let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![graph]).unwrap();
        let Spectrum { values, vectors } = Spectrum::of(&graphs, 0);
        let (lambda, expected) = (&case.get("output.eigenvalues").data, &case.get("output.eigenvectors").data);
        assert!(values.len() >= 3.min(nodes - 1), "{}", case.name);
        for (column, value) in values.iter().enumerate() {
            assert!((f64::from(*value) - lambda[column + 1]).abs() < 1e-5, "{} {column}", case.name);
        }
        for column in case.config["columns_unique_up_to_sign"].as_array().unwrap() {
            let column = column.as_u64().unwrap() as usize;
            if column > values.len() {
                continue;
            }
            let shown = |node: usize| f64::from(vectors[node * values.len() + column - 1]);
            let dot: f64 = (0..nodes).map(|node| shown(node) * expected[node * nodes + column]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-5, "{} column {column}: {dot}", case.name);
        }
    }
}

/// An array of a golden case.
fn array(case: &Case, name: &str) -> Option<Array> {
    let values = case.find(name)?;
    Some(Array { shape: values.shape.clone(), data: values.f32() })
}

/// The input of a golden case of an attention layer; weights are stored `[outputs, inputs]` there.
fn layer_input(case: &Case) -> AttentionInput {
    let projection = |name: &str| {
        let stored = array(case, &format!("weight.{name}_projection.weight")).unwrap();
        let [outputs, inputs] = stored.shape[..] else { panic!("a matrix") };
        let turned = (0..inputs * outputs).map(|at| stored.data[at % outputs * inputs + at / outputs]).collect();
        let bias = array(case, &format!("weight.{name}_projection.bias")).map(|bias| bias.data);
        Projection { weight: Array { shape: vec![inputs, outputs], data: turned }, bias }
    };
    let own = array(case, "input.x");
    let query = own.clone().or_else(|| array(case, "input.queries")).unwrap();
    let causal = case.config["mask_flag"].as_bool().unwrap_or(false);
    let mut input = AttentionInput::self_attention(query, case.size("n_heads"));
    if own.is_none() {
        let key = array(case, "input.keys").unwrap();
        input.key_tokens = (0..key.shape[1]).map(|key| format!("key {key}")).collect();
        input.context = Context::Other { key, value: array(case, "input.values") };
    }
    input.query_projection = projection("query");
    input.key_projection = projection("key");
    input.value_projection = projection("value");
    input.output_projection = projection("out");
    input.mask = if causal { AttentionMask::Causal } else { AttentionMask::None };
    input.destationary = array(case, "input.tau").map(|tau| (tau.data, array(case, "input.delta").unwrap()));
    input
}

#[test]
fn an_attention_layer_agrees_with_the_golden_cases_and_its_formulas() {
    for case in Golden::open().cases("attention_layer/") {
        let trace = attention(&case.name, &layer_input(&case), &Device::flex()).unwrap();
        check(&trace, &case.name);
        let mut checks = Checks::new(&case, "trace");
        for (golden, step) in [("output.attn", "attention"), ("output.y", "output")] {
            let found: Vec<f64> = values(&trace, step).iter().map(|&value| f64::from(value)).collect();
            // An axis of one input is left out of a trace.
            checks.values(golden, &case.get(golden).shape, &found);
        }
        checks.finish();
    }
}

#[test]
fn every_option_of_an_attention_layer_follows_its_formulas() {
    let text = r#"{"query": [[[1, 2], [0.5, -1]], [[3, 0], [1, 1]]], "key": [[[1, 0, 1], [0, 1, -2], [1, 1, 0]],
        [[2, 0, 1], [0.3, 1, 0], [0, 0, 1]]], "heads": 2, "scale": 0.3, "tau": [2, 0.5], "delta": [[0, 1, -1], [1, 2, 3]],
        "query_weights": [[1, 0.5, 0, 1], [0, 1, -0.25, 0]], "key_weights": [[1, 0, 0, 2], [0, 1, 3, 0], [1, 1, 0, 0]],
        "value_weights": [[1, 2], [0.1, 0], [0, 0.7]], "value_bias": [0.5, -0.5], "output_weights": [[1, 0, 1], [0, 1, 1]],
        "mask": [[1, 0, 1], [0, 1, 1]], "score_bias": [[0, 1, 2], [0.5, 0, -1]]}"#;
    let input = AttentionInput::parse(text, Path::new("in.json")).unwrap();
    let trace = attention("in.json", &input, &Device::flex()).unwrap();
    check(&trace, "all options");
    let names: Vec<&str> = trace.steps.iter().map(|step| step.recorded.name.as_str()).collect();
    let expected = ["stretched_query", "scaled_delta", "score_bias_and_delta", "raw_score", "biased", "mask", "merged"];
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn what_does_not_fit_into_memory_is_refused_before_it_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bags.csv");
    let rows: String = (0..20_000).map(|row| format!("a,{row}\n")).collect();
    std::fs::write(&path, format!("bag,x\n{rows}")).unwrap();
    let model = SetModel::open(&repository("models/regard-max"), &Device::flex()).unwrap();
    let data = SetData { group_by: "bag".into(), ..SetData::default() };
    let bags = model.read(&path, &data, false).unwrap();
    let error = model.explain("regard-max", &bags, 0).unwrap_err().to_string();
    assert!(error.contains("set a") && error.contains("has 20000 rows, whose trace would be"), "{error}");
    assert!(error.contains("rows fit"), "{error}");
}
