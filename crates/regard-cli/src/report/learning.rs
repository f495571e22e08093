//! The tables of one training step of a policy.

use regard::explain::{Trace, TraceStep};
use regard::train::BaselineComparison;

use super::train::test_text;
use super::{Align, Table, number};

/// Nodes of a tour and tours of an instance that are printed.
const MOST: usize = 12;

/// Tours with their costs, the loss, the gradient and the test; empty for the trace of anything but a training step.
pub(super) fn tables(found: &Trace, full: bool) -> String {
    if found.step("sampled.cost").is_none() {
        return String::new();
    }
    let most = if full { usize::MAX } else { MOST };
    let mut text = format!("\ntours\n{}", tours(found, most));
    text += &format!("\nloss {:.5}, gradient {}\n", value(found, "loss"), gradient(found));
    text += &layers(found);
    text + &comparison(found)
}

fn numbers<'t>(found: &'t Trace, name: &str) -> &'t [f32] {
    found.step(name).map_or(&[], |step| &step.recorded.values)
}

fn value(found: &Trace, name: &str) -> f32 {
    numbers(found, name).first().copied().unwrap_or(f32::NAN)
}

/// A line for each sampled tour.
fn tours(found: &Trace, most: usize) -> String {
    let (Some(costs), Some(sampled)) = (found.step("sampled.cost"), found.step("sampled.tour")) else {
        return String::new();
    };
    let each = costs.recorded.shape[1];
    let frozen = found.step("baseline.tour");
    let mut align = vec![Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    let mut head = vec!["instance", "sampled tour", "cost", "log-probability", "baseline", "advantage"];
    if frozen.is_some() {
        align.extend([Align::Left, Align::Right]);
        head.extend(["tour of the baseline", "cost"]);
    }
    let mut table = Table::new(&align);
    table.row(head);
    let columns = ["sampled.cost", "sampled.log_likelihood", "baseline", "advantage"].map(|name| numbers(found, name));
    let mut left_out = 0;
    for (at, tour) in rows(sampled).enumerate() {
        let (instance, number) = (at / each, at % each);
        if number >= most {
            left_out += 1;
            continue;
        }
        let mut row = vec![instance.to_string(), walk(tour, most)];
        row.extend(columns.map(|column| four(column[at])));
        if let Some(frozen) = frozen.filter(|_| number == 0) {
            row.push(rows(frozen).nth(instance).map_or_else(String::new, |tour| walk(tour, most)));
            row.push(four(numbers(found, "baseline.rollout")[instance]));
        }
        table.row(row);
    }
    let more = format!("  … {} more tours; --full prints them\n", number::count(left_out));
    table.render(2, 2) + if left_out > 0 { &more } else { "" }
}

/// Four digits after the point, without a sign where these are zeros.
fn four(value: f32) -> String {
    format!("{:.4}", if value.abs() < 5e-5 { 0.0 } else { value })
}

fn rows(step: &TraceStep) -> impl Iterator<Item = &[f32]> {
    step.recorded.values.chunks(step.recorded.shape.last().copied().unwrap_or(1).max(1))
}

/// The nodes of a tour, without the zeros after its end.
fn walk(tour: &[f32], most: usize) -> String {
    let end = tour.iter().rposition(|&node| node != 0.0).map_or(1, |last| last + 1);
    // A tour that ends in node 0 by choice looks like one that ended before it: both are at the depot.
    let permutation = tour.iter().filter(|&&node| node == 0.0).count() == 1;
    let tour = if permutation { tour } else { &tour[..end.min(tour.len())] };
    let nodes: Vec<String> = tour.iter().take(most).map(|node| format!("{node:.0}")).collect();
    nodes.join(" ") + if tour.len() > most { " …" } else { "" }
}

/// `0.8123, learning rate 1.0e-4`, and the factor where the gradient is clipped.
fn gradient(found: &Trace) -> String {
    let factor = value(found, "gradient.factor");
    let clipped = if factor < 1.0 { format!(", clipped by the factor {factor:.4}") } else { String::new() };
    let rate = value(found, "gradient.learning_rate");
    format!("{:.5}{clipped}, learning rate {rate:.1e}", value(found, "gradient.norm"))
}

fn layers(found: &Trace) -> String {
    let Some(step) = found.step("gradient.layer") else { return String::new() };
    let mut table = Table::new(&[Align::Left, Align::Right]);
    table.row(["layer", "norm of the gradient"]);
    for (name, norm) in step.axes[0].labels.iter().zip(&step.recorded.values) {
        table.row([name.clone(), format!("{norm:.5}")]);
    }
    table.render(2, 2)
}

/// The paired t-test of the rollout baseline.
fn comparison(found: &Trace) -> String {
    let Some(updated) = found.step("comparison.baseline_updated") else { return String::new() };
    let optional = |name: &str| found.step(name).map(|step| f64::from(step.recorded.values[0]));
    let test = BaselineComparison {
        baseline_updated: updated.recorded.values[0] == 1.0,
        mean_difference: f64::from(value(found, "comparison.mean_difference")),
        t_statistic: optional("comparison.t"),
        p_value: optional("comparison.p"),
    };
    let instances = number::count(numbers(found, "comparison.difference").len());
    let reason = updated.recorded.notes.first().cloned().unwrap_or_default();
    format!(
        "\nthe policy after the step against that of the baseline, on {instances} instances: {}\n{reason}\n",
        test_text(&test)
    )
}
